"""Robust-PU: the direction of the weights, their schedule, the fallback."""

import pytest
import torch
from learning.margins import begin, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.contract import Epoch, PUData
from noneg.learning.task import make_task

TASK = make_task(5, 5, setting="two-sample", prior=0.4)
GRID = torch.linspace(-2.0, 2.0, 5)


def started(variant, number=40, **options):
    method = begin("robust-pu", GRID, GRID, TASK, variant=variant, **options)
    data = PUData(GRID[:, None], GRID[:, None])
    optimizer = torch.optim.SGD(method.players["net"].parameters(), lr=0.1, momentum=0.9)
    method.players["net"].factor.grad = torch.zeros(())
    optimizer.step()
    for k in range(10 if variant == "bench" else 20, number):
        method.start_epoch(Epoch(k, k / 40, data, None, {"net": optimizer}))
    return method, optimizer


def test_original_weights_trust_easy_rows():
    method, optimizer = started("ref")
    assert (method.state["pos"].diff() > 0).all()
    assert (method.state["unl"].diff() < 0).all()
    assert not optimizer.state  # restarted in every episode


def test_bench_weights_are_reversed_on_unlabeled_rows():
    method, optimizer = started("bench")
    assert (method.state["pos"].diff() > 0).all()
    assert (method.state["unl"].diff() > 0).all()
    assert optimizer.state


def test_threshold_grows_and_stays():
    for episodes, threshold in ((1, 0.1), (6, 0.1 + 1.9 * 0.5), (11, 2.0), (15, 2.0)):
        method, _ = started("ref", 20 + episodes)
        d = softplus(-GRID)
        w = torch.exp(-d / threshold**2)
        torch.testing.assert_close(
            method.state["pos"], w if w.mean() > 1e-3 else torch.ones(5), msg=str(episodes)
        )


def test_a_class_without_weight_keeps_its_rows():
    method, _ = started("ref", 21)  # threshold .1: the easiest row has weight e^-13
    assert (method.state["unl"] == 1.0).all()


def test_weighted_loss_by_hand():
    method, _ = started("ref")
    value, _ = loss_and_gradient(method, GRID, GRID)
    w_pos, w_unl = method.state["pos"], method.state["unl"]
    expected = torch.cat([w_pos * softplus(-GRID), w_unl * softplus(GRID)]).mean()
    torch.testing.assert_close(value, expected)
    bench, _ = started("bench")
    value, _ = loss_and_gradient(bench, GRID, GRID)
    on_pos = (bench.state["pos"] * softplus(-GRID)).mean()
    torch.testing.assert_close(value, on_pos + (bench.state["unl"] * softplus(GRID)).mean())


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_pretraining_is_nnpu(variant):
    method = begin("robust-pu", GRID, GRID, TASK, variant=variant)
    name, options = ("nnpu-ga", {"loss_name": "sigmoid"}) if variant == "ref" else ("nnpu", {})
    other = begin(name, GRID, GRID, TASK, **options)
    for up in (0.0, 5.0):
        got = loss_and_gradient(method, GRID + up, GRID - up)
        torch.testing.assert_close(got, loss_and_gradient(other, GRID + up, GRID - up))
