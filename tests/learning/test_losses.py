"""uPU, nnPU and nnPU-GA: values, gradients, corrections."""

import math

import numpy as np
import pytest
import torch
from learning.margins import begin, gradient, loss_and_gradient as margins_of
from scipy.optimize import minimize
from torch.nn.functional import softplus

from noneg.learning.task import LOSSES, binary_entropy, find_loss, make_task, pu_risks

TASK = make_task(30, 70, setting="two-sample", prior=0.3)


def loss_and_gradient(name, p, u, task=TASK, **options):
    return margins_of(begin(name, p, u, task, **options), p, u)


@pytest.fixture
def margins():
    rng = torch.Generator().manual_seed(0)
    draw = lambda n: torch.randn(n, generator=rng, dtype=torch.float32)  # noqa: E731
    return draw(8) + 1.0, draw(8)


def test_upu_with_logistic_loss_has_the_short_form(margins):
    p, u = margins
    value, _ = loss_and_gradient("upu", p, u)
    assert float(value) == pytest.approx(float(-0.3 * p.mean() + softplus(u).mean()), abs=1e-6)


@pytest.mark.parametrize("name", ["nnpu", "nnpu-ga"])
def test_while_the_risk_on_negatives_is_positive_all_agree(name, margins):
    p, u = margins
    value, grad = loss_and_gradient(name, p - 1.0, u + 1.0)
    expected, wanted = loss_and_gradient("upu", p - 1.0, u + 1.0)
    torch.testing.assert_close((value, grad), (expected, wanted))


def test_clip_leaves_the_gradient_of_the_positive_risk(margins):
    p, u = margins[0] + 5.0, margins[1] - 5.0  # the risk on negatives is negative
    _, grad = loss_and_gradient("nnpu", p, u)
    p, u = p.requires_grad_(), u.requires_grad_()
    torch.testing.assert_close(grad, gradient(0.3 * softplus(-p).mean(), p, u))


def test_ascent_follows_minus_gamma_times_the_negative_risk(margins):
    p, u = margins[0] + 5.0, margins[1] - 5.0
    _, grad = loss_and_gradient("nnpu-ga", p, u, gamma=0.7)
    _, tolerant = loss_and_gradient("nnpu-ga", p, u, beta=100.0)
    p, u = p.requires_grad_(), u.requires_grad_()
    positive, negative = pu_risks(p, u, TASK, find_loss("logistic"))
    torch.testing.assert_close(grad, gradient(-0.7 * negative, p, u))
    positive, negative = pu_risks(p, u, TASK, find_loss("logistic"))
    torch.testing.assert_close(tolerant, gradient(positive + negative, p, u))


@pytest.mark.parametrize("up", [-2.0, 0.0, 8.0])
def test_bench_ascent_turns_the_whole_gradient_iff_the_whole_risk_is_negative(up, margins):
    p, u = margins[0] + up, margins[1] - up
    plain, wanted = loss_and_gradient("upu", p, u)
    _, grad = loss_and_gradient("nnpu-ga", p, u, variant="bench")
    torch.testing.assert_close(grad, -wanted if plain < 0 else wanted)
    assert (plain < 0) == (up == 8.0)


@pytest.mark.parametrize("name", ["upu", "nnpu", "nnpu-ga", "pusb"])
@pytest.mark.parametrize("up", [0.0, 8.0])
def test_batch_correction_at_half_is_balanced_training(name, up, margins):
    """With prior 1/2 and equal batches, the corrected methods are all P against U."""
    p, u = margins[0] + up, margins[1] - up
    task = make_task(300, 700, setting="one-sample", prior=0.5, correction="batch")
    got = loss_and_gradient(name, p, u, task, variant="bench")
    p, u = p.requires_grad_(), u.requires_grad_()
    value = (softplus(-p).mean() + softplus(u).mean()) / 2.0
    torch.testing.assert_close(got, (value.detach(), gradient(value, p, u)))


def test_weighted_correction_is_equation_8(margins):
    p, u = margins
    n_pos, n_unl, prior = 300, 700, 0.5
    c = n_pos / (prior * (n_pos + n_unl))
    task = make_task(n_pos, n_unl, setting="one-sample", prior=prior, correction="weighted")
    value, _ = loss_and_gradient("upu", p, u, task)
    on_pos = prior * (softplus(-p) + (c - 1.0) * softplus(p)).mean()
    expected = on_pos + (1.0 - c * prior) * softplus(u).mean()
    assert float(value) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("correction", ["weighted", "shift"])
def test_corrected_optimum_is_the_posterior_and_the_published_one_is_not(correction):
    """On a grid with exact densities, the minimizer of the corrected risk is p(y=1 | x)."""
    x = np.linspace(-4.0, 4.0, 161)
    pos, neg = (np.exp(-0.5 * (x - s) ** 2) for s in (1.0, -1.0))
    pos, neg = pos / pos.sum(), neg / neg.sum()
    prior, n_pos, n_unl = 0.4, 200, 800
    truth = prior * pos / (prior * pos + (1 - prior) * neg)

    def optimum(kind):
        task = make_task(n_pos, n_unl, setting="one-sample", prior=prior, correction=kind)
        a = task.unlabeled_prior
        unl = a * pos + (1 - a) * neg
        w_pos, w_unl = task.marginal
        weight = w_pos * pos + w_unl * unl  # gradient: weight * s = prior * pos
        return 1 / (1 + (weight / (task.prior * pos) - 1).clip(1e-12) * math.exp(-task.shift))

    assert np.abs(optimum(correction) - truth).max() < 1e-9
    assert np.abs(optimum("batch") - truth).max() > 0.05
    assert np.abs(optimum("none") - truth).max() > 0.05


def test_weighted_risk_fits_the_posterior_from_data(world):
    """The minimizer of Eq. (8) over linear logits recovers the true coefficients."""
    data, _ = world.one_sample(40_000, 0.5, seed=4)
    task = make_task(data.n_pos, data.n_unl, setting="one-sample", prior=0.4, correction="weighted")

    def risk(theta):
        theta = torch.tensor(theta, requires_grad=True)
        p, u = (x @ theta[:3] + theta[3] for x in (data.pos, data.unl))
        value = sum(pu_risks(p, u, task, find_loss("logistic")))
        return float(value.detach()), torch.autograd.grad(value, theta)[0].numpy()

    theta = minimize(risk, np.zeros(4), jac=True).x
    # Standard errors, by simulation over 40 seeds, are about .04.
    np.testing.assert_allclose(theta, [2.0, 0.0, 0.0, math.log(0.4 / 0.6)], atol=0.15)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_symmetric_and_positive(name):
    loss, f = find_loss(name), torch.linspace(-3.0, 3.0, 13)
    torch.testing.assert_close(loss.positive(f), loss.negative(-f))
    assert (loss.positive(f) >= 0).all()
    assert loss.positive(torch.tensor(-2.0)) > loss.positive(torch.tensor(0.5))


@pytest.mark.parametrize("name", ["logistic", "double-hinge"])
def test_convex_losses_satisfy_the_linear_condition(name):
    """l(f, +1) - l(f, -1) = -f makes the PU risk convex (du Plessis et al. 2015)."""
    loss, f = find_loss(name), torch.linspace(-3.0, 3.0, 13)
    torch.testing.assert_close(loss.positive(f) - loss.negative(f), -f)


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_proper_losses_have_the_probability_as_optimum(name):
    loss, f = find_loss(name), torch.linspace(-6.0, 6.0, 120_001, dtype=torch.float64)
    assert loss.proper
    for q in (0.1, 0.5, 0.8):
        best = f[(q * loss.positive(f) + (1 - q) * loss.negative(f)).argmin()]
        assert float(torch.sigmoid(loss.logit(best))) == pytest.approx(q, abs=1e-3)


def test_entropy_is_finite_everywhere():
    f = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4], requires_grad=True)
    h = binary_entropy(f)
    assert torch.isfinite(h).all()
    assert torch.isfinite(torch.autograd.grad(h.sum(), f)[0]).all()


def test_losses_work_under_vmap():
    p, u = torch.randn(5, 8), torch.randn(5, 8)
    loss = find_loss("logistic")
    many = torch.func.vmap(lambda a, b: sum(pu_risks(a, b, TASK, loss)))(p, u)
    one = torch.stack([sum(pu_risks(a, b, TASK, loss)) for a, b in zip(p, u, strict=True)])
    torch.testing.assert_close(many, one)
