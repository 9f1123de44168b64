"""Counts: the exact posterior of labels, its limits and its gradient identity; and GLWS."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from learning.margins import batch, begin, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.algorithms.glws import count_posterior, released_posterior
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer

LOGITS = st.lists(st.floats(-30.0, 30.0), min_size=1, max_size=8)


def brute_force(f, k):
    """Sum over all outcomes, in log space."""
    outcomes = torch.tensor([y for y in product((0.0, 1.0), repeat=len(f)) if sum(y) == k])
    weight = torch.softmax(outcomes.double() @ f, 0)
    return weight @ outcomes.double()


@given(LOGITS, st.data())
def test_posterior_equals_brute_force(values, data):
    f = torch.tensor(values, dtype=torch.float64)
    k = data.draw(st.integers(0, len(values)))
    torch.testing.assert_close(count_posterior(f, k), brute_force(f, k), atol=1e-9, rtol=0)


def released(f, k):
    """The wrong term of the released recursion, outcome by outcome."""
    n, q = len(f), []
    outcomes = [y for y in product((0, 1), repeat=n) if sum(y) == k]
    for i in range(n):
        weight = [0.0, 0.0]
        for y in outcomes:
            last = max(t for t in range(n) if y[t])
            wrong = float(f[last]) if i <= last < n - 1 else 0.0
            weight[y[i]] += float(np.exp(np.dot(y, f.numpy()) - wrong))
        q.append(weight[1] / sum(weight))
    return torch.tensor(q, dtype=f.dtype)


@given(st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=6), st.data())
def test_released_posterior_equals_brute_force(values, data):
    f = torch.tensor(values, dtype=torch.float64)
    k = data.draw(st.integers(1, len(values) - 1))
    torch.testing.assert_close(released_posterior(f, k), released(f, k), atol=1e-9, rtol=0)


def test_released_posterior_makes_the_last_rows_positive():
    """Four rows look positive and eight are required: the exact posterior treats all others
    alike."""
    f = torch.cat([torch.full((4,), 5.0), torch.full((12,), -5.0)])
    exact, wrong = count_posterior(f, 8), released_posterior(f, 8)
    torch.testing.assert_close(exact[4:], exact[4].expand(12))
    assert wrong[-3:-1].min() > exact[4] + 0.2
    assert float(exact.sum()) == pytest.approx(8.0, abs=1e-4)
    assert float(wrong.sum()) > 8.3


def test_released_posterior_has_the_same_limits():
    f = torch.linspace(-1.0, 1.0, 5)
    for k in (0, 5):
        torch.testing.assert_close(released_posterior(f, k), count_posterior(f, k))


def test_bench_uses_the_released_posterior():
    p = u = torch.linspace(-1.0, 2.0, 10)
    task = make_task(10, 10, setting="two-sample", prior=0.37)
    _, grad = loss_and_gradient(begin("glws", p, u, task, variant="bench"), p, u)
    torch.testing.assert_close(grad[10:], (torch.sigmoid(u) - released_posterior(u, 3)) / 10)


@pytest.mark.parametrize("n", [2, 63, 64, 257])
def test_labels_sum_to_the_count(n):
    rng = torch.Generator().manual_seed(n)
    f = 20.0 * torch.randn(n, generator=rng)
    for k in (0, 1, n // 3, n - 1, n):
        q = count_posterior(f, k)
        assert float(q.sum()) == pytest.approx(k, abs=1e-4)
        assert (q >= 0).all()
        assert (q <= 1).all()


def test_gradient_of_the_count_is_score_minus_posterior():
    """d(-log P(C = k)) / df = s - q."""
    f = torch.randn(6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    f.requires_grad_()
    law = torch.ones(1, dtype=torch.float64)
    for s in torch.sigmoid(f):
        zero = torch.zeros(1, dtype=torch.float64)
        law = torch.cat([law * (1 - s), zero]) + torch.cat([zero, law * s])
    (grad,) = torch.autograd.grad(-law[2].log(), f)
    torch.testing.assert_close(grad, torch.sigmoid(f.detach()) - count_posterior(f.detach(), 2))


def test_glws_gradient_is_that_of_the_count_over_the_batch():
    p, u = torch.randn(10), torch.randn(10)
    task = make_task(10, 10, setting="two-sample", prior=0.3)
    _, grad = loss_and_gradient(begin("glws", p, u, task), p, u)
    torch.testing.assert_close(grad[:10], (torch.sigmoid(p) - 1.0) / 10)
    torch.testing.assert_close(grad[10:], (torch.sigmoid(u) - count_posterior(u, 3)) / 10)


def test_labels_of_the_weak_view_teach_the_strong_one():
    p, u, strong = (torch.randn(10) for _ in range(3))
    task = make_task(10, 10, setting="two-sample", prior=0.3)
    plain = batch(p, u)
    seen = replace(plain, unl=replace(plain.unl, strong=strong[:, None]))
    found = begin("glws", p, u, task).loss("net", seen)
    q = count_posterior(u, 3)
    expected = softplus(-p).mean() + (softplus(strong) - q * strong).mean()
    torch.testing.assert_close(found.detach(), expected)


def test_fractions_of_a_row_are_settled_by_chance():
    p = torch.zeros(10)
    task = make_task(10, 10, setting="two-sample", prior=0.37)
    method = begin("glws", p, p, task)
    drawn = [round(float(method.labels(p).sum()), 4) for _ in range(400)]
    assert set(drawn) == {3.0, 4.0}
    assert sum(drawn) / 400 == pytest.approx(3.7, abs=4 * (0.21 / 400) ** 0.5)
    bench = begin("glws", p, p, task, variant="bench").labels(p)
    torch.testing.assert_close(bench, released_posterior(p, 3))


def test_one_sample_counts_the_unlabeled_positives():
    p = torch.zeros(10)
    task = make_task(300, 700, setting="one-sample", prior=0.5, correction="shift")
    assert task.prior == pytest.approx(2 / 7)
    assert float(begin("glws", p, p, task).labels(p[:7]).sum()) == pytest.approx(2.0)


def test_count_must_fit():
    with pytest.raises(ValueError, match="'k' must be a number of rows from 0 to 3"):
        count_posterior(torch.zeros(3), 4)


@pytest.mark.parametrize("name", ["glws", "count-loss"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_moved_log_odds_are_the_posterior(name, setting, world):
    """Without the shift, the mean distance is .09 to .2: scores refer to batches of half P and half
    U."""
    draw = world.two_sample(1000, 4000) if setting == "two-sample" else world.one_sample(5000, 0.5)
    method = ALGORITHMS[name]()
    Trainer(epochs=8, batch_size=128).fit(
        method, lambda: MLP(3, (100,)), draw[0], setting=setting, prior=world.prior
    )
    x, _ = world.draw(5000, world.prior, 5)
    f, posterior = method.decision(torch.tensor(x, dtype=torch.float32)), world.posterior(x)
    assert np.abs(torch.sigmoid(f).numpy() - posterior).mean() < 0.05
    raw = torch.sigmoid(f - method.task.balanced_shift).numpy()
    assert np.abs(raw - posterior).mean() > 0.08


def test_fixed_point_of_the_two_equations():
    """On a grid with exact densities: s and q as in the docstring, with q a constant away from
    s."""
    x, a = torch.linspace(-4, 4, 81, dtype=torch.float64), 0.3
    pos, neg = (torch.softmax(-((x - m) ** 2) / 2, 0) for m in (1.0, -1.0))
    unl = a * pos + (1 - a) * neg
    q = a * pos / unl
    s = (pos + q * unl) / (pos + unl)
    assert float((q * unl).sum()) == pytest.approx(a)
    gap = torch.logit(s) - torch.logit(q)
    torch.testing.assert_close(gap, torch.full_like(gap, float(gap[0])))
    odds = (1 + a) / (1 - a) * pos / neg  # a share (1 + a) / 2 of positives
    torch.testing.assert_close(torch.logit(s), odds.log())
