"""P3MIX: partners, labels, pool, teacher."""

import pytest
import torch
from learning.fixed import Beta
from learning.margins import batch, begin, loss_and_gradient
from torch.nn.functional import binary_cross_entropy

from noneg.learning.algorithms.p3mix import P3MIXE, Pairs
from noneg.learning.contract import Epoch, PUData
from noneg.learning.networks import MLP
from noneg.learning.task import binary_entropy, make_task
from noneg.learning.training import Trainer

TASK = make_task(6, 6, setting="two-sample", prior=None)
P, U = torch.linspace(-1.0, 4.0, 6), torch.linspace(-3.0, 3.0, 6)


def make(name, *, first=False, share=None, **options):
    p3mix = begin(name, P, U, TASK, **options)
    p3mix.state["first"] = first
    if share is not None:
        p3mix.random = Beta(share)
    return p3mix


def epoch(algorithm, number):
    optimizer = torch.optim.SGD(algorithm.players["net"].parameters(), lr=1.0)
    algorithm.start_epoch(
        Epoch(number, 0.0, PUData(P[:, None], U[:, None]), None, {"net": optimizer})
    )
    return optimizer.param_groups[0]["lr"]


def test_marginal_rows_meet_boundary_positives_and_others_the_batch():
    q = torch.tensor([0.05, 0.2, 0.21, 0.5, 0.79, 0.8]).repeat(500)
    p3mix = make("p3mix-c", pool=4)
    pairs = p3mix.pairs(q, 6)
    near = (q > 1 - 0.8) & (q < 0.8)
    assert torch.equal(pairs.near, torch.cat([torch.zeros(6, dtype=torch.bool), near]))
    # Uniform draws: all four positives, and all parts of the batch.
    assert set(pairs.row[pairs.near].tolist()) == {0, 1, 2, 3}
    other = pairs.row[~pairs.near].double() / 3006
    assert float(other.mean()) == pytest.approx(0.5, abs=4 * (1 / 12 / len(other)) ** 0.5)
    assert 0.5 <= pairs.share <= 1.0


def test_no_row_is_marginal_when_everything_is_confident():
    assert not make("p3mix-c", gamma=0.5).pairs(torch.rand(1000), 3).near.any()


def test_first_epochs_pair_by_a_permutation():
    p3mix = make("p3mix-c", first=True)
    pairs = p3mix.pairs(torch.full((6,), 0.5), 6)
    assert sorted(pairs.row.tolist()) == list(range(12))
    assert not pairs.near.any()
    assert not p3mix.labels(torch.ones(6)).any()


def test_labels_are_corrected_from_gamma_on_and_only_by_c():
    q = torch.tensor([0.1, 0.79, 0.8, 0.9])
    assert make("p3mix-c").labels(q).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert make("p3mix-e").labels(q).tolist() == [0.0, 0.0, 0.0, 0.0]


def test_mixing():
    pairs = Pairs(torch.tensor([2, 0, 1]), torch.tensor([False, True, False]), 0.75)
    own, pool = torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]]), torch.tensor([[10.0, 20.0]])
    wanted = [[1.5, 1.0], [4.0, 5.0], [2.75, 3.0]]
    assert pairs.mix(own, pool).tolist() == wanted
    target = pairs.mix(torch.tensor([1.0, 0.0, 0.0]), torch.ones(1))
    negative = pairs.mix(torch.tensor([0.0, 1.0, 1.0]), torch.zeros(1))
    torch.testing.assert_close(target + negative, torch.ones(3))


def test_pool_holds_the_positives_of_largest_entropy():
    p3mix = begin("p3mix-c", P, U, TASK, pool=3)
    epoch(p3mix, 0)
    wanted = P[binary_entropy(P).topk(3).indices].sort().values
    torch.testing.assert_close(p3mix.state["pool"][:, 0].sort().values, wanted)
    many = begin("p3mix-c", P, U, TASK, pool=96)
    epoch(many, 0)
    assert len(many.state["pool"]) == len(P)


def test_rate_halves_every_twenty_epochs_five_times():
    p3mix = begin("p3mix-c", P, U, TASK)
    rates = {number: epoch(p3mix, number) for number in (0, 18, 19, 39, 98, 99, 300)}
    assert rates == {0: 1.0, 18: 1.0, 19: 0.5, 39: 0.25, 98: 1 / 16, 99: 1 / 32, 300: 1 / 32}


@pytest.mark.parametrize("name", ["p3mix-c", "p3mix-e"])
def test_loss_without_mixing(name):
    """A share of 1 leaves every row unchanged."""
    p3mix = make(name, share=1.0)
    value, _ = loss_and_gradient(p3mix, P, U)
    label = p3mix.labels(torch.sigmoid(U))
    s = torch.sigmoid(torch.cat([P, U]))
    wanted = binary_cross_entropy(s[:6], torch.ones(6)) + binary_cross_entropy(s[6:], label)
    wanted = wanted + p3mix.weight_entropy * binary_entropy(torch.cat([P, U])).mean()
    if name == "p3mix-e":  # the teacher is the same network
        wanted = wanted + 5.0 * torch.log(1 - s**2 - (1 - s) ** 2).mean()
    torch.testing.assert_close(value, wanted)


@pytest.mark.parametrize("name", ["p3mix-c", "p3mix-e"])
def test_finite_at_extreme_margins(name):
    far = torch.tensor([-1e3, 1e3, 0.0, 1e3, -1e3, 1e3])
    value, slope = loss_and_gradient(make(name, share=1.0), far, far)
    assert torch.isfinite(value)
    assert torch.isfinite(slope).all()


def test_teacher_is_the_mean_of_the_network_after_the_first_step_of_each_epoch():
    p3mix = begin("p3mix-e", P, U, TASK)
    network, teacher = p3mix.players["net"], p3mix.frozen["teacher"]
    for number, factor in enumerate((2.0, 5.0, 8.0)):
        epoch(p3mix, number)
        with torch.no_grad():
            network.factor.fill_(factor)
            p3mix.after_step(batch(P, U))
            network.factor.fill_(-100.0)
            p3mix.after_step(batch(P, U))  # not the first step: nothing moves
        assert float(teacher.factor) == pytest.approx(
            sum((2.0, 5.0, 8.0)[: number + 1]) / (number + 1)
        )


def test_teacher_gets_no_gradient_and_the_weight_is_capped(world):
    data, _ = world.two_sample(20, 20)
    fit = Trainer(steps=30, batch_size=20).fit(
        P3MIXE(keep=0.0), lambda: MLP(3, (4,)), data, setting="two-sample"
    )
    teacher = fit.algorithm.frozen["teacher"]
    # With one step per epoch and keep = 0, the teacher is a copy.
    for mine, theirs in zip(
        teacher.parameters(), fit.algorithm.players["net"].parameters(), strict=True
    ):
        torch.testing.assert_close(mine, theirs.detach())
        assert not mine.requires_grad
