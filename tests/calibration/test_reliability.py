"""Points and bars in the reliability diagram."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binomtest
from strategies import samples

from noneg import PUScores
from noneg.calibration import reliability, smooth_reliability
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)


def true_frequency(result):
    edges = np.concatenate([result.left, result.right[-1:]])
    positive = WORLD.positive_law().moments(edges)[:, 0]
    return WORLD.prior * positive / WORLD.marginal_law().moments(edges)[:, 0]


@pytest.mark.parametrize(
    ("setting", "sizes"),
    [
        ("two-sample", {"n_positive": 400, "n_unlabeled": 1200}),
        ("one-sample", {"n_positive": 400, "n_unlabeled": 1200}),
        ("labeled", {"n": 1200}),
    ],
)
@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_intervals_cover(setting, sizes, band):
    hits = []
    for seed in range(200):
        result = reliability(WORLD.draw(setting=setting, seed=seed, **sizes), bins=8, band=band)
        truth = true_frequency(result)
        inside = (result.low <= truth) & (truth <= result.high)
        hits.append(inside.all() if band == "simultaneous" else inside.mean())
    # Exact binomial limits are conservative; 3.4 standard errors allow for chance.
    error = np.std(hits, ddof=1) / math.sqrt(200)
    assert np.mean(hits) >= 0.95 - 3.4 * max(error, math.sqrt(0.05 * 0.95 / 200))


def test_labeled_bars_are_clopper_pearson():
    rng = np.random.default_rng(0)
    s = rng.random(300)
    y = rng.random(300) < s
    result = reliability(PUScores.from_labels(y, s), bins=5)
    for b in range(5):
        inside = (s > result.left[b]) & (s <= result.right[b])
        k, n = int(y[inside].sum()), int(inside.sum())
        expected = binomtest(k, n).proportion_ci(0.95, method="exact")
        assert (result.low[b], result.high[b]) == pytest.approx((expected.low, expected.high))
        assert result.frequency[b] == pytest.approx(k / n)
        assert result.score[b] == pytest.approx(s[inside].mean())


@given(samples())
def test_bars_hold_their_points(sample):
    result = reliability(sample.build(), bins=7)
    assert (result.low <= result.frequency + 1e-9).all()
    assert (result.frequency <= result.high + 1e-9).all()
    assert (result.low >= 0).all()
    assert (result.marginal > 0).all()
    assert result.n_bins == 7


def test_too_large_a_prior_is_counted():
    world = LogisticGaussian.calibrated(0.3)
    scores = world.draw(3000, 9000, setting="two-sample", seed=0)
    assert reliability(scores, band="simultaneous").n_above_one == 0
    assert reliability(scores.with_prior(0.6), band="simultaneous").n_above_one >= 1


def test_infinite_samples_have_no_bars():
    scores = WORLD.draw(math.inf, math.inf, setting="two-sample", seed=0)
    result = reliability(scores, bins=6)
    np.testing.assert_allclose(result.frequency, true_frequency(result), atol=1e-9)
    np.testing.assert_allclose(result.low, result.high)


def test_as_a_table():
    result = reliability(PUScores.from_labels([0, 1, 1], [0.1, 0.4, 0.9]), bins=2)
    frame = result.frame("polars")
    assert frame.columns == list(result.columns())
    assert frame["frequency"].to_list() == [0.5, 1.0]
    assert result.frame("pandas")["gap" if "gap" in frame.columns else "score"].shape == (2,)
    assert result.to_dict()["band"] == "pointwise"
    assert result.gap.tolist() == pytest.approx([0.25, 0.1])
    with pytest.raises(ValueError, match="'backend' must be one of"):
        result.frame("excel")
    with pytest.raises(ValueError, match="'pointwise' or 'simultaneous'"):
        reliability(PUScores.from_labels([0, 1], [0.1, 0.4]), band="wide")


@pytest.mark.parametrize("width", [0.02, 0.2])
def test_smoothing_leaves_calibrated_scores_on_the_diagonal(width):
    """The score and the share of positives are averaged over the same windows, so neither is
    biased."""
    world = LogisticGaussian.calibrated(0.2)
    curve = smooth_reliability(
        world.draw(math.inf, math.inf, setting="two-sample", seed=0), width=width
    )
    np.testing.assert_allclose(curve.frequency, curve.score, atol=1e-9)
    np.testing.assert_allclose(curve.low, curve.high)
    assert (np.diff(curve.score) > 0.0).all()


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_the_band_of_the_smooth_curve_covers(setting):
    """At every score of a calibrated population, the band contains the diagonal at the stated
    rate."""
    world = LogisticGaussian.calibrated(0.2)
    size = {"n": 2000} if setting == "labeled" else {"n_positive": 100, "n_unlabeled": 2000}
    draws = 100
    curves = [
        smooth_reliability(world.draw(setting=setting, seed=seed, **size)) for seed in range(draws)
    ]
    inside = np.array([(one.low <= one.score) & (one.score <= one.high) for one in curves])
    error = math.sqrt(0.05 * 0.95 / draws)
    assert inside.mean() >= 0.95 - 3.0 * error
    assert inside.mean(axis=0).min() >= 0.95 - 5.0 * error  # the smallest over 81 points
