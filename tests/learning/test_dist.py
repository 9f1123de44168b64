"""Dist-PU: the distance between label distributions, mixing, and stages."""

import math

import pytest
import torch
from learning.fixed import Beta
from learning.margins import batch, begin, loss_and_gradient
from torch.nn.functional import binary_cross_entropy

from noneg.learning.contract import Epoch, PUData
from noneg.learning.task import binary_entropy, make_task

TASK = make_task(6, 6, setting="two-sample", prior=0.3)
P, U = torch.linspace(-1.0, 4.0, 6), torch.linspace(-3.0, 2.0, 6)


def epoch(number, progress, optimizer=None):
    data = PUData(P[:, None], U[:, None])
    return Epoch(number, progress, data, None, {"net": optimizer})


def sgd(algorithm):
    return torch.optim.SGD(algorithm.players["net"].parameters(), lr=1.0, momentum=0.9)


@pytest.mark.parametrize("seed", range(5))
def test_distance_is_the_histogram_loss_of_two_bins(seed):
    """Half the L1 distance between (negative, positive) shares; P is weighted by twice the
    prior."""
    rng = torch.Generator().manual_seed(seed)
    p, u, prior = (torch.rand(n, generator=rng, dtype=torch.float64) for n in (7, 9, 1))

    def half_l1(s, positive):
        share = torch.stack([1 - s.mean(), s.mean()])
        return (share - torch.stack([1 - positive, positive])).abs().sum() / 2

    one = torch.tensor(1.0, dtype=torch.float64)
    wanted = (2 * prior * half_l1(p, one) + half_l1(u, prior[0])) / (2 * prior)
    task = make_task(7, 9, setting="two-sample", prior=float(prior))
    got = begin("dist-pu", P, U, task).distance(p, u)
    torch.testing.assert_close(got, wanted[0])


def test_bench_distance_is_right_at_one_half_only():
    p, u = torch.sigmoid(P), torch.sigmoid(U)
    for prior, same in ((0.5, True), (0.3, False)):
        task = make_task(6, 6, setting="two-sample", prior=prior)
        ref, bench = (
            begin("dist-pu", P, U, task, variant=v).distance(p, u) for v in ("ref", "bench")
        )
        assert bool(torch.isclose(ref, bench)) is same


def second_stage(variant="ref", task=TASK):
    dist = begin("dist-pu", P, U, task, variant=variant)
    dist.random = Beta(0.25)
    dist.state |= {"second": True, "entropy": 0.0}
    return dist


def test_mixed_loss_is_cross_entropy_with_the_soft_target():
    """Two targets, g and 1 - g, or one mixed target give the same number."""
    dist = second_stage()
    soft = torch.linspace(0.1, 0.9, 6)
    dist.state["soft"] = soft.clone()
    again = dist.generator.get_state()
    got = dist.mixing("net", batch(P, U), P, U)
    order = torch.randperm(12, generator=dist.generator.set_state(again))
    x, label = torch.cat([P, U]), torch.cat([torch.ones(6), soft])
    f = 0.25 * x + 0.75 * x[order]
    s = torch.sigmoid(f)
    two = 0.25 * binary_cross_entropy(s, label) + 0.75 * binary_cross_entropy(s, label[order])
    torch.testing.assert_close(got, 5.0 * two + 0.04 * binary_entropy(f).mean())


def test_soft_labels_are_used_once_and_then_replaced():
    dist = second_stage()
    dist.state["soft"] = torch.linspace(0.1, 0.9, 6)
    used = dist.soft_labels(batch(P, U), U)
    torch.testing.assert_close(used, torch.linspace(0.1, 0.9, 6))
    torch.testing.assert_close(dist.state["soft"], torch.sigmoid(U))


@pytest.mark.parametrize(("correction", "rows"), [("none", 12), ("batch", 18)])
def test_bench_pair_is_positive_only_if_both_are(correction, rows):
    task = make_task(6, 14, setting="one-sample", prior=0.5, correction=correction)
    dist = second_stage("bench", task)
    again = dist.generator.get_state()
    got = dist.mixing("net", batch(P, U), P, U)
    order = torch.randperm(rows, generator=dist.generator.set_state(again))
    # With the batch correction, P occurs twice: as labeled, and as currently classified.
    x = torch.cat([P, U, P])[:rows]
    label = torch.cat([torch.ones(6), (U > 0).float(), (P > 0).float()])[:rows]
    f = 0.25 * x + 0.75 * x[order]
    both = torch.logical_and(label, label[order]).float()
    wanted = 5.0 * binary_cross_entropy(torch.sigmoid(f), both)
    torch.testing.assert_close(got, wanted + 0.04 * binary_entropy(f).mean())


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_finite_at_extreme_margins(variant):
    far = torch.tensor([-100.0, -100.0, 100.0, 100.0, -100.0, 100.0])
    dist = second_stage(variant)
    dist.state["entropy"] = 0.004
    value, slope = loss_and_gradient(dist, far, -far)
    assert torch.isfinite(value)
    assert torch.isfinite(slope).all()


def test_stages_of_the_original():
    dist = begin("dist-pu", P, U, TASK)
    optimizer = sgd(dist)
    dist.start_epoch(epoch(0, 0.0, optimizer))
    rate = [optimizer.param_groups[0]["lr"]]
    dist.start_epoch(epoch(5, 0.25, optimizer))
    rate.append(optimizer.param_groups[0]["lr"])
    assert rate == pytest.approx([1.0, 0.5])
    assert not dist.state["second"]
    optimizer.state["somewhere"] = {"momentum": 1}
    dist.start_epoch(epoch(10, 0.5, optimizer))
    assert dist.state["entropy"] == 0.0
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)
    assert not optimizer.state
    torch.testing.assert_close(dist.state["soft"], torch.sigmoid(U))
    dist.start_epoch(epoch(15, 0.75, optimizer))
    assert dist.state["entropy"] == pytest.approx(0.004 * (1 - math.cos(math.pi / 4)))
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.085)


def test_stages_of_the_benchmark():
    """(epoch - 7) / (E - 7) of the way, here with E = 27 epochs."""
    dist = begin("dist-pu", P, U, TASK, variant="bench")
    weights = []
    for number in (0, 6, 7, 17):
        dist.start_epoch(epoch(number, number / 27))
        weights.append(dist.state["entropy"])
    assert weights == pytest.approx([0.0, 0.0, 0.0, 0.004 * (1 - math.cos(math.pi / 4))])
    assert dist.state["second"]
