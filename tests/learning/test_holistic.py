"""Holistic-PU: trends, natural classes, both stages."""

import math

import numpy as np
import pytest
import torch
from learning.margins import batch, begin
from torch.nn.functional import softplus

from noneg.learning.algorithms.holistic import HolisticPU, natural_break, pseudo_labels, trend
from noneg.learning.contract import Batch, Epoch, PUData, View
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer

TASK = make_task(6, 6, setting="two-sample", prior=None)
P, U = torch.linspace(-1.0, 4.0, 6), torch.linspace(-3.0, 3.0, 6)


@pytest.mark.parametrize("seed", range(20))
def test_break_is_the_best_of_all_splits(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(np.round(rng.normal(size=rng.integers(2, 30)), 1))  # with ties

    def within(k):
        return ((x[:k] - x[:k].mean()) ** 2).sum() + ((x[k:] - x[k:].mean()) ** 2).sum()

    every = [within(k) for k in range(1, x.size)]
    at = natural_break(torch.tensor(rng.permutation(x)))
    found = [k for k in range(1, x.size) if x[k - 1] == at]
    assert min(within(k) for k in found) == pytest.approx(min(every), abs=1e-9)


def test_trend_by_definition():
    scores = torch.rand(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    d = np.diff(scores.numpy(), axis=0)
    np.testing.assert_allclose(trend(scores).numpy(), np.log(1 + d + d**2 / 2).mean(0))


def test_rising_rows_are_positive():
    t = torch.linspace(0.0, 1.0, 10)[:, None]
    rise, fall = 0.5 + t * torch.full((1, 4), 0.1), 0.5 - t * torch.linspace(0.2, 0.4, 6)
    assert pseudo_labels(torch.cat([rise, fall], 1)).tolist() == [1.0] * 4 + [0.0] * 6


def test_steep_rows_do_not_hide_the_others():
    """Rows above 0.2 / (records - 1) would form a separate class."""
    t = torch.linspace(0.0, 1.0, 10)[:, None]
    change = torch.tensor([[0.9, 0.9, 0.15, 0.15, 0.15, -0.1, -0.1, -0.1]])
    labels = pseudo_labels(0.1 + t * change)
    assert labels.tolist() == [1.0] * 5 + [0.0] * 3


def test_first_stage_loss():
    holistic = begin("holistic-pu", P, U, TASK)
    x = torch.cat([P, U])[:, None]
    strong = (P - 0.5)[:, None]
    one = Batch(x, View(x[:6], torch.arange(6), strong), View(x[6:], torch.arange(6), x[6:]), 0.1)

    def smoothed(f):  # torch's label smoothing of .1 for two classes
        two = torch.stack([torch.zeros_like(f), f], 1)
        loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
        return loss(two, torch.ones(len(f), dtype=torch.long))

    wanted = (smoothed(P) + smoothed(P - 0.5)) / 2 + softplus(U).mean()
    torch.testing.assert_close(holistic.loss("net", one).detach(), wanted)


def test_second_stage_loss():
    holistic = begin("holistic-pu", P, U, TASK)
    labels = torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    holistic.state |= {"begun": 0.4, "labels": labels}
    strong = 0.5 * U
    x = torch.cat([P, U])[:, None]
    one = Batch(
        x,
        View(x[:6], torch.arange(6), x[:6]),
        View(x[6:], torch.arange(6), strong[:, None]),
        0.7,
    )
    target = 0.5**0.8 * labels
    sure = torch.sigmoid(U.abs()) >= 0.9
    assert sure.tolist() == [True, False, False, False, False, True]
    cross = (target * softplus(-U) + (1 - target) * softplus(U)).mean()
    taught = (softplus(strong[0]) + softplus(-strong[5])) / 6
    wanted = softplus(-P).mean() + cross + taught
    torch.testing.assert_close(holistic.loss("net", one).detach(), wanted)


def test_ramp_stays_within_0_and_1():
    holistic = begin("holistic-pu", P, U, TASK)
    holistic.state["begun"] = 0.4
    ramp = [holistic.ramp(t) for t in np.linspace(0.0, 1.2, 25)]
    assert min(ramp) == 0.0
    assert max(ramp) == 1.0
    assert ramp == sorted(ramp)


def test_second_stage_begins_again_after_at_least_three_records():
    holistic = HolisticPU()
    data = PUData(torch.randn(6, 3), torch.randn(6, 3))
    holistic.begin(MLP(3, (4,)), TASK, data, 0)
    optimizer = torch.optim.SGD(holistic.players["net"].parameters(), lr=1.0)
    before = holistic.players["net"][1].weight.detach().clone()
    for number in range(4):
        assert not holistic.ready()
        holistic.start_epoch(Epoch(number, 0.3 * number, data, None, {"net": optimizer}))
    assert holistic.ready()
    assert holistic.state["records"].shape == (3, 6)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1.0)
    assert not torch.equal(before, holistic.players["net"][1].weight)


def test_average_follows_the_first_stage_only():
    holistic = begin("holistic-pu", P, U, TASK, keep=0.9)
    with torch.no_grad():
        holistic.players["net"].factor.fill_(3.0)
        holistic.after_step(batch(P, U))
        holistic.state["begun"] = 0.4
        holistic.after_step(batch(P, U))
    assert float(holistic.frozen["average"].factor) == pytest.approx(1.2)


class Normed(torch.nn.Sequential):
    def __init__(self):
        super().__init__(
            torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
        )


def test_prediction_does_not_depend_on_the_other_rows_and_pseudo_labels_are_right(world):
    data, hidden = world.two_sample(500, 1000)
    trainer = Trainer(epochs=20, batch_size=100, lr=0.01)
    fit = trainer.fit(HolisticPU(keep=0.9), Normed, data, setting="two-sample")
    x = data.unl.float()
    whole = fit.algorithm.decision(x)
    torch.testing.assert_close(
        torch.cat([fit.algorithm.decision(x[:1]), fit.algorithm.decision(x[1:])]), whole
    )
    right = (fit.algorithm.state["labels"].numpy() == hidden).mean()
    # Random labels with the right count have .52; the Bayes rule has .84.
    assert right > 0.75
    assert math.isfinite(float(whole.sum()))


def test_a_single_trend_is_its_own_break():
    assert natural_break(torch.tensor([3.5])) == 3.5
