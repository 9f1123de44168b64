"""Means under two distributions: exact values, and variances that match repeated draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg.intervals import law_means
from noneg.simulation import LogisticGaussian

SQUARE = [lambda s: s**2, lambda s: (s > 0.5).astype(float)]


@given(samples())
def test_means_are_plain_means(sample):
    means = law_means(sample.build(), SQUARE, SQUARE)
    p = sample.score[sample.flags]
    m = sample.score[~sample.flags] if sample.setting == "two-sample" else sample.score
    np.testing.assert_allclose(means.positive, [f(p).mean() for f in SQUARE], atol=1e-12)
    np.testing.assert_allclose(means.marginal, [f(m).mean() for f in SQUARE], atol=1e-12)


@given(samples())
def test_two_samples_vary_apart(sample):
    means = law_means(sample.build(), SQUARE[:1], SQUARE[:1])
    if sample.setting == "two-sample":
        p, u = sample.score[sample.flags] ** 2, sample.score[~sample.flags] ** 2
        expected = np.diag([p.var() / p.size, u.var() / u.size, 0])
        np.testing.assert_allclose(means.covariance, expected, atol=1e-12)


@given(samples())
def test_a_row_twice_is_a_row_of_weight_two(sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = law_means(twice, SQUARE, SQUARE), law_means(weighted, SQUARE, SQUARE)
    np.testing.assert_allclose(a.covariance, b.covariance, atol=1e-12)
    np.testing.assert_allclose(a.positive, b.positive, atol=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_variance_matches_the_spread_of_repeated_draws(setting):
    world = LogisticGaussian.less_calibrated()
    sizes = {"n": 900} if setting == "labeled" else {"n_positive": 300, "n_unlabeled": 900}
    gradient = np.array([0.7, -0.4, 1.3, 0.2, -0.5])
    values, claimed = [], []
    for seed in range(600):
        means = law_means(world.draw(setting=setting, seed=seed, **sizes), SQUARE, SQUARE)
        prior = means.prior if setting == "labeled" else 0.0
        values.append(gradient @ [*means.positive, *means.marginal, prior])
        claimed.append(means.variance(gradient))
    assert abs(np.var(values, ddof=1) / np.mean(claimed) - 1) < 4 * math.sqrt(2 / 599)


def test_a_population_is_rejected_with_a_message():
    scores = LogisticGaussian.less_calibrated().draw(10, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must contain rows for this metric"):
        law_means(scores, SQUARE, SQUARE)
