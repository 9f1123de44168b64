"""Count Loss: the distribution of the count against enumeration, gradients, both targets."""

from itertools import product

import numpy as np
import pytest
import torch
from learning.margins import begin, loss_and_gradient
from scipy.special import expit
from scipy.stats import binom
from torch.nn.functional import softplus

from noneg.learning.algorithms.count_loss import CountLoss, log_count_law
from noneg.learning.task import make_task


def enumerated(f):
    """Return P(C = j) and P(y_i = 1, C = j), by summing over all labels."""
    s = expit(np.asarray(f, dtype=float))
    law, joint = np.zeros(len(s) + 1), np.zeros((len(s), len(s) + 1))
    for labels in product((0, 1), repeat=len(s)):
        y = np.array(labels)
        mass = np.where(y, s, 1 - s).prod()
        law[y.sum()] += mass
        joint[:, y.sum()] += mass * y
    return law, joint


@pytest.fixture(params=[1, 2, 3, 5, 8, 10])
def f(request):
    return torch.randn(request.param, generator=torch.Generator().manual_seed(request.param)) * 2.0


def test_distribution_of_the_count(f):
    law, _ = enumerated(f)
    np.testing.assert_allclose(log_count_law(f.double()).exp().numpy(), law, atol=1e-12)


def test_gradient_of_the_exact_count_is_score_minus_posterior(f):
    law, joint = enumerated(f)
    for k in range(len(f) + 1):
        x = f.double().requires_grad_()
        slope = torch.autograd.grad(-log_count_law(x)[k], x)[0]
        q = joint[:, k] / law[k]
        assert q.sum() == pytest.approx(k)
        np.testing.assert_allclose(slope.numpy(), expit(f.double().numpy()) - q, atol=1e-10)


@pytest.mark.parametrize("n", [64, 127])
def test_nothing_underflows(n):
    """All rows are almost certainly positive, yet none is counted: log P is the sum, and the
    gradients are s."""
    f = torch.full((n,), 60.0, requires_grad=True)
    none = log_count_law(f)[0]
    assert float(none.detach()) == pytest.approx(-60.0 * n, rel=1e-5)
    slope = torch.autograd.grad(-none, f)[0]
    torch.testing.assert_close(slope, torch.ones(n))


def losses(prior, p, u, **options):
    task = make_task(len(p), len(u), setting="two-sample", prior=prior)
    return loss_and_gradient(begin("count-loss", p, u, task, **options), p, u)


def test_binomial_target_is_a_divergence():
    p, u = torch.linspace(-1.0, 3.0, 9), torch.linspace(-2.0, 2.0, 9)
    law, _ = enumerated(u)
    wanted = binom.pmf(np.arange(10), 9, 0.3)
    divergence = (wanted * np.log(wanted / law)).sum()
    value, _ = losses(0.3, p, u)
    assert float(value) == pytest.approx(
        10.0 * (float(softplus(-p).mean()) + divergence / 10), rel=1e-5
    )


def test_binomial_target_prefers_equal_scores():
    p, u = torch.full((8,), 50.0), torch.full((8,), float(torch.logit(torch.tensor(0.3))))
    value, slope = losses(0.3, p, u)
    assert abs(float(value)) < 1e-5
    assert slope.abs().max() < 1e-5


@pytest.mark.parametrize(("variant", "k", "weight"), [("ref", 4, 10.0), ("bench", 3, 1.0)])
def test_exact_target_rounds_and_the_benchmark_rounds_down(variant, k, weight):
    p, u = torch.linspace(-1.0, 3.0, 8), torch.linspace(-2.0, 2.0, 8)
    value, _ = losses(0.48, p, u, variant=variant, target="exact")
    wanted = weight * (softplus(-p).mean() - log_count_law(u)[k])
    torch.testing.assert_close(value, wanted)


def test_glws_has_the_gradient_of_the_exact_count_divided_by_the_rows():
    p, u = torch.linspace(-1.0, 3.0, 8), torch.linspace(-2.0, 2.0, 8)
    task = make_task(8, 8, setting="two-sample", prior=0.5)
    count, glws = (
        loss_and_gradient(begin(name, p, u, task, **options), p, u)[1]
        for name, options in (("count-loss", {"variant": "bench"}), ("glws", {}))
    )
    torch.testing.assert_close(glws[:8], count[:8])
    torch.testing.assert_close(glws[8:], count[8:] / 8)


@pytest.mark.parametrize("prior", [1e-6, 0.5, 1.0 - 1e-6])
@pytest.mark.parametrize("target", ["binomial", "exact"])
def test_finite_at_the_edges(prior, target):
    far = torch.tensor([-100.0, 100.0, 100.0, -100.0, 0.0])
    value, slope = losses(prior, far, far, target=target)
    assert torch.isfinite(value)
    assert torch.isfinite(slope).all()


def test_unknown_target_is_rejected():
    with pytest.raises(ValueError, match="'target' must be 'binomial' or 'exact', got 'mean'"):
        CountLoss(target="mean")
