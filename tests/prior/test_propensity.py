"""Positives labeled at known, unequal rates: after weighting, they are a random sample again."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from noneg import PUScores
from noneg.errors import InputError
from noneg.prior import estimate_prior
from noneg.prior.samples import FeatureSamples, ScoreLaws

PRIOR = 0.3


def world(seed, n=6000):
    """Two columns: the first separates the classes, and half of the positives have low values on
    it.

    Positives with high values are labeled nine times as often as those with low values.
    """
    rng = np.random.default_rng(seed)
    y = rng.random(n) < PRIOR
    high = rng.random(n) < 0.5
    X = rng.normal(size=(n, 2)) + np.where(y, np.where(high, 6.0, 3.0), -2.0)[:, None] * [1.0, 0.0]
    rate = np.where(X[:, 0] > 4.5, 0.9, 0.1)
    return X, y, rate, rng


def draw(seed, setting):
    X, y, rate, rng = world(seed)
    labeled = y & (rng.random(y.size) < rate)
    if setting == "one-sample":
        return X, labeled, rate
    others, *_ = world(seed + 1000)
    flags = np.repeat([True, False], [labeled.sum(), len(others)])
    return (
        np.concatenate([X[labeled], others]),
        flags,
        np.append(rate[labeled], np.ones(len(others))),
    )


def probability(X):
    return 1.0 / (1.0 + np.exp(-X[:, 0]))


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
@pytest.mark.parametrize("method", ["tightest", "quick", "dedpul", "bbe"])
def test_rates_repair_estimates_from_scores(method, setting):
    """The bound covers the prior; without the rates, low positives look like negatives."""
    error, naive, held = [], [], []
    for seed in range(5):
        X, labeled, rate = draw(seed, setting)
        scores = PUScores.from_pu_labels(labeled, probability(X), setting=setting, propensity=rate)
        found = estimate_prior(scores, method=method)
        plain = estimate_prior(
            PUScores.from_pu_labels(labeled, probability(X), setting=setting), method=method
        )
        error.append(found.value - PRIOR)
        naive.append(plain.value - PRIOR)
        held.append(found.low <= PRIOR <= found.high)
    assert all(held)
    # About 600 positives worth 350: a standard error of .03.
    assert abs(np.mean(error)) < 0.04
    assert np.mean(naive) < -0.08


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
@pytest.mark.parametrize("method", ["tightest", "elkan-noto-e2"])
def test_rates_repair_estimates_from_features(method, setting):
    X, labeled, rate = draw(0, setting)
    options = {"setting": setting, "method": method, "classifier": LogisticRegression()}
    # About 600 positives worth 350: a standard error of .03.
    assert abs(estimate_prior(X, labeled, propensity=rate, **options).value - PRIOR) < 0.06
    assert estimate_prior(X, labeled, **options).value < PRIOR - 0.08


def test_drawn_positives_follow_the_distribution_of_all():
    """Half of all positives have high values, but nine in ten of the labeled ones do."""
    X, y, rate, rng = world(0)
    labeled = y & (rng.random(y.size) < rate)
    assert (X[labeled, 0] > 4.5).mean() > 0.85
    samples = FeatureSamples.of(X, labeled, setting="one-sample", propensity=rate)
    low = labeled & (X[:, 0] <= 4.5)
    share = low.sum() / 0.1 / (1.0 / rate[labeled]).sum()
    noise = np.sqrt(share * (1.0 - share) / len(samples.positive))
    assert (samples.positive[:, 0] <= 4.5).mean() == pytest.approx(share, abs=4.0 * noise)
    assert share == pytest.approx(0.5, abs=0.1)


def test_equal_rates_change_nothing_in_two_samples():
    X, labeled, _ = draw(0, "two-sample")
    half = np.full(labeled.size, 0.5)
    scores = {
        key: PUScores.from_pu_labels(labeled, probability(X), setting="two-sample", **options)
        for key, options in (("rated", {"propensity": half}), ("plain", {}))
    }
    rated, plain = (ScoreLaws.of(scores[key]) for key in ("rated", "plain"))
    np.testing.assert_allclose(rated.positive, plain.positive, rtol=1e-12)
    assert (rated.labeled, rated.among) == (0.0, 0.0)
    assert rated.n_positive == pytest.approx(plain.n_positive)


def test_one_sample_compares_with_all_rows():
    flags, rate = [1, 1, 0, 0], [0.5, 1.0, 1.0, 1.0]
    scores = PUScores.from_pu_labels(
        flags, [0.9, 0.6, 0.4, 0.2], setting="one-sample", propensity=rate
    )
    laws = ScoreLaws.of(scores)
    np.testing.assert_allclose(laws.points, [0.2, 0.4, 0.6, 0.9])
    np.testing.assert_allclose(laws.positive, [0, 0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(laws.unlabeled, 0.25)
    assert (laws.labeled, laws.among) == (0.0, 0.5)
    samples = FeatureSamples.of(
        [[1.0], [2.0], [3.0], [4.0]], flags, setting="one-sample", propensity=rate
    )
    assert len(samples.unlabeled) == 4


def test_methods_without_support_for_rates_raise_an_error():
    X, labeled, rate = draw(0, "two-sample")
    options = {"setting": "two-sample", "propensity": rate}
    scores = PUScores.from_pu_labels(labeled, probability(X), setting="two-sample")
    with pytest.raises(InputError, match="sample_weight"):
        estimate_prior(X, labeled, classifier=make_pipeline(LogisticRegression()), **options)
    with pytest.raises(InputError, match="'tedn'"):
        estimate_prior(X, labeled, method="tedn", **options)
    with pytest.raises(InputError, match="with features"):
        estimate_prior(scores, propensity=rate)
