"""PAN: the value, which player it updates, and clipping at the mean."""

import pytest
import torch
from learning.margins import batch, begin

from noneg.learning.task import make_task

TASK = make_task(6, 6, setting="two-sample", prior=None)
P = torch.linspace(-0.5, 3.0, 6)
U = torch.linspace(-2.5, 2.0, 6)
EPS = 0.01


def value(d_factor, c_factor, p, u, weight, *, clip):
    """V as sums, from the paper or (with clipping) its code, and its last part, unweighted."""
    d_pos, d_unl = torch.sigmoid(d_factor * p), torch.sigmoid(d_factor * u)
    c = torch.sigmoid(c_factor * u)
    level = torch.log(1 - d_unl.mean().detach() + EPS)
    last = (torch.log((1 - c + EPS) / (c + EPS)) * (2 * d_unl - 1)).sum()
    against = torch.log(1 - d_unl + EPS)
    against = torch.clamp(against - level, min=0.0) if clip else against
    return torch.log(d_pos + EPS).sum() + against.sum() + weight * last, last


def make(variant="ref", weight=0.3, task=TASK):
    pan = begin("pan", P, U, task, variant=variant, weight=weight)
    with torch.no_grad():
        pan.players["discriminator"].factor.fill_(0.7)
    return pan


def slopes(pan, player):
    for module in pan.players.values():
        module.zero_grad()
    pan.loss(player, batch(P, U)).backward()
    return {name: module.factor.grad for name, module in pan.players.items()}


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_each_player_follows_the_value_alone(variant):
    pan = make(variant)
    d, c = torch.tensor(0.7, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    whole, last = value(d, c, P, U, weight=0.3, clip=variant == "bench")
    slope_d = torch.autograd.grad(whole, d, retain_graph=True)[0]
    slope_c = torch.autograd.grad(last, c)[0]
    # The benchmark uses sums and the weight; the default uses means and no weight for the
    # classifier.
    scale = (1.0, 0.3) if variant == "bench" else (1 / 6, 1 / 6)
    first, second = slopes(pan, "discriminator"), slopes(pan, "net")
    torch.testing.assert_close(first["discriminator"], -scale[0] * slope_d)
    torch.testing.assert_close(second["net"], scale[1] * slope_c)
    assert first["net"] is None
    assert second["discriminator"] is None


def test_discriminator_moves_first():
    assert list(make().turns()) == ["discriminator", "net"]


def test_the_clip_of_the_code_leaves_rows_above_the_mean_alone():
    d = torch.tensor([0.1, 0.2, 0.8, 0.9], requires_grad=True)
    slope = {
        name: torch.autograd.grad(make(name).against(d.detach(), d), d)[0]
        for name in ("ref", "bench")
    }
    assert (slope["bench"][:2] < 0).all()
    assert (slope["bench"][2:] == 0).all()
    assert (slope["ref"] < 0).all()


def test_classifier_follows_the_sign_of_the_discriminator():
    f = torch.zeros(4, requires_grad=True)
    d = torch.tensor([0.1, 0.4, 0.6, 0.9])
    slope = torch.autograd.grad(make().agreement((d, d), (f.detach(), f)), f)[0]
    assert torch.equal(slope.sign(), torch.tensor([1.0, 1.0, -1.0, -1.0]))


def test_in_one_sample_labeled_rows_count_in_the_population():
    task = make_task(300, 700, setting="one-sample", prior=None, correction="weighted")
    d = torch.tensor([0.1, 0.2]), torch.tensor([0.3, 0.4])
    f = torch.tensor([0.5, 1.0]), torch.tensor([-1.0, 2.0])
    parts = [
        (torch.log((1 - c + EPS) / (c + EPS)) * (2 * judged - 1)).mean()
        for judged, c in zip(d, map(torch.sigmoid, f), strict=True)
    ]
    torch.testing.assert_close(make(task=task).agreement(d, f), 0.3 * parts[0] + 0.7 * parts[1])
