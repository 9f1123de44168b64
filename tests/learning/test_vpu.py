"""VPU: scale invariance, optimum, mixup term, normalization."""

import math

import pytest
import torch
from learning.fixed import Beta, rows
from learning.margins import batch, begin, gradient, loss_and_gradient
from torch.nn.functional import logsigmoid

from noneg.learning.algorithms.vpu import VPU
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer

TASK = make_task(8, 8, setting="two-sample", prior=None)
ONE = [
    make_task(300, 700, setting="one-sample", prior=None, correction=kind)
    for kind in ("weighted", "batch")
]


@pytest.fixture
def margins():
    rng = torch.Generator().manual_seed(0)
    return torch.randn(8, generator=rng) + 1.0, torch.randn(8, generator=rng)


@pytest.mark.parametrize("task", [TASK, *ONE])
def test_a_factor_of_phi_leaves_the_variational_part(task, margins):
    p, u = map(logsigmoid, margins)
    vpu = begin("vpu", *margins, task)
    torch.testing.assert_close(vpu.variational(p - 1.3, u - 1.3), vpu.variational(p, u))


@pytest.mark.parametrize("task", [TASK, *ONE])
def test_variational_part_by_definition(task, margins):
    p, u = map(torch.sigmoid, margins)
    got = begin("vpu", *margins, task).variational(p.log(), u.log())
    on_pos, on_unl = task.marginal
    wanted = (on_pos * p.mean() + on_unl * u.mean()).log() - p.log().mean()
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("factor", [0.2, 0.9])
def test_optimum_is_proportional_to_the_posterior(factor):
    """Three cells; the ratio of the distributions of P and U, times any factor, has gradient
    zero."""
    pos, unl = torch.tensor([1, 3, 6]), torch.tensor([6, 3, 6])
    cells = torch.logit(factor * pos.double() / unl).requires_grad_()
    p, u = (logsigmoid(cells[rows(n)[:, 0]]) for n in (pos, unl))
    vpu = begin("vpu", p, u, TASK)
    slope = torch.autograd.grad(vpu.variational(p, u), cells)[0]
    assert slope.abs().max() < 1e-9
    off = torch.autograd.grad(vpu.variational(p, u + 0.5 * torch.arange(15)), u)[0]
    assert off.abs().max() > 0.01


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_mixup_term(variant, margins):
    """All positives are equal, so the random order does not matter; the network is the identity."""
    p, u = torch.full((8,), 1.5), margins[1]
    vpu = begin("vpu", p, u, TASK, variant=variant, regularizer=0.7)
    vpu.random = Beta(0.25)
    value, slope = loss_and_gradient(vpu, p, u)
    p, u = p.requires_grad_(), u.requires_grad_()
    f, target = 0.25 * u + 0.75 * p, torch.log(0.25 * torch.sigmoid(u) + 0.75)
    # The benchmark uses the logit itself, and no gradient through the target.
    gap = target.detach() - f if variant == "bench" else target - logsigmoid(f)
    wanted = vpu.variational(logsigmoid(p), logsigmoid(u)) + 0.7 * gap.square().mean()
    torch.testing.assert_close(value, wanted.detach())
    wanted = gradient(wanted, p, u)
    torch.testing.assert_close(slope[8:], wanted[8:])
    torch.testing.assert_close(slope[:8].sum(), wanted[:8].sum())


def test_bench_takes_the_second_of_two_logits():
    network = torch.nn.Linear(1, 2)
    vpu = VPU(variant="bench")
    vpu.task, vpu.players, vpu.random = TASK, {"net": network}, Beta(0.5)
    vpu.generator = torch.Generator()
    one = batch(torch.ones(1), torch.zeros(1))
    z = network(torch.tensor([[0.5]]))[0]
    u = logsigmoid(torch.zeros(1))
    wanted = (math.log(0.5 * 0.5 + 0.5) - z[1]).square()
    torch.testing.assert_close(vpu.consistency("net", one, u), wanted)


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_extreme_margins_and_shares_stay_finite(variant, share):
    p, u = torch.tensor([-100.0, 100.0]), torch.tensor([-100.0, 100.0])
    vpu = begin("vpu", p, u, TASK, variant=variant)
    vpu.random = Beta(share)
    value, slope = loss_and_gradient(vpu, p, u)
    assert torch.isfinite(value)
    assert torch.isfinite(slope).all()


def test_largest_probability_of_training_rows_is_one(world):
    data, _ = world.two_sample(200, 600)
    fit = Trainer(steps=60).fit(VPU(), lambda: MLP(3, (8,)), data, setting="two-sample")
    x = torch.cat([data.pos, data.unl]).float()
    score = fit.algorithm.decision(x)
    assert float(torch.sigmoid(score).max()) == pytest.approx(1.0, abs=1e-6)
    phi = torch.sigmoid(fit.algorithm.margins(x))
    torch.testing.assert_close(torch.sigmoid(score), phi / phi.max(), atol=1e-5, rtol=0.0)
