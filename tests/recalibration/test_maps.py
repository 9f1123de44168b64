"""Other kinds of maps, one at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from strategies import samples

from noneg import PUScores, ece
from noneg.calibration import bpm_curve
from noneg.recalibration import (
    BPM,
    Histogram,
    Isotonic,
    MixNMatch,
    Platt,
    PriorShift,
    ScalingBinning,
    Spline,
    VennAbers,
    load,
)
from noneg.simulation import BinomialProcess, LogisticGaussian
from noneg.theory import recalibration_bound, reuse_bound

GRID = np.linspace(0.0, 1.0, 1001)
WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("digits", [1, 2, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_labeled_map_is_that_of_scikit_learn(seed, digits, weighted):
    rng = np.random.default_rng(seed)
    n = 10 ** rng.integers(1, 5)
    s = np.round(rng.beta(*rng.uniform(0.3, 4, 2), n), digits)
    y = rng.random(n) < s ** rng.uniform(0.3, 3)
    w = rng.integers(0, 5, n) if weighted else None
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, sample_weight=w)
    fitted = Isotonic().fit(PUScores.from_labels(y, s, sample_weight=w))
    np.testing.assert_allclose(fitted.transform(GRID), reference.predict(GRID), atol=1e-9)
    np.testing.assert_allclose(fitted.transform(s), reference.predict(s), atol=1e-9)


def test_importance_weights_too():
    rng = np.random.default_rng(0)
    s, w = np.round(rng.random(500), 2), rng.exponential(size=500)
    y = rng.random(500) < s
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, sample_weight=w)
    scores = PUScores.from_labels(y, s, sample_weight=w, weight_kind="importance")
    np.testing.assert_allclose(Isotonic().fit(scores).transform(s), reference.predict(s), atol=1e-9)


def minorant_slopes(x, y):
    """Return the slopes of the greatest convex minorant from its definition, a max-min of
    slopes."""
    n = x.size - 1
    out = np.empty(n)
    for k in range(n):
        rise = (y[None, k + 1 :] - y[: k + 1, None]) / (x[None, k + 1 :] - x[: k + 1, None])
        out[k] = rise.min(axis=1).max()
    return out


@given(samples(settings=("two-sample", "one-sample"), max_size=25))
@settings(max_examples=60)
def test_pu_map_is_the_slope_of_the_convex_minorant(sample):
    scores, s = sample.build(), sample.score
    marginal = s if sample.setting == "one-sample" else s[~sample.flags]
    at = np.unique(marginal)
    x = np.array([0.0, *((marginal <= t).mean() for t in at)])
    positive = s[sample.flags]
    # Positives between two marginal scores count at the upper one, and those above all at the last.
    y = np.array([0.0, *((positive <= t).mean() for t in at)]) * sample.prior
    y[-1] = sample.prior
    expected = np.clip(minorant_slopes(x, y), 0.0, 1.0)
    np.testing.assert_allclose(Isotonic().fit(scores).transform(at), expected, atol=1e-9)


@given(samples(max_size=40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_no_other_rising_map_has_a_smaller_brier_score(sample, seed):
    if sample.setting == "two-sample" and sample.score[sample.flags].max() > (
        sample.score[~sample.flags].max()
    ):
        return  # positives above all marginal rows are limited only by the binning convention
    fitted = Isotonic().fit(scores := sample.build())
    rng = np.random.default_rng(seed)
    s = np.unique(sample.score)
    mixed = 0.9 * fitted.transform(s) + 0.1 * np.sort(rng.random(s.size))

    def brier(g):
        rows = {True: sample.score[sample.flags], False: sample.score[~sample.flags]}
        marginal = rows[False] if sample.setting == "two-sample" else sample.score
        gain = (1.0 - 2.0 * np.interp(rows[True], s, g)).mean()
        return scores.prior * gain + (np.interp(marginal, s, g) ** 2).mean()

    # Between marginal scores, the map is interpolated; the best one uses the next value there.
    steps = fitted.transform(s)
    marginal = sample.score if sample.setting != "two-sample" else sample.score[~sample.flags]
    known = np.unique(marginal)
    steps = fitted.transform(known[np.minimum(np.searchsorted(known, s), known.size - 1)])
    assert brier(steps) <= brier(mixed) + 1e-9


class TestPriorShift:
    def test_known_source_rescales_odds(self):
        scores = PUScores([0.9], [0.5, 0.2], prior=0.2, setting="two-sample")
        s = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
        ratio = (0.2 / 0.8) / (0.4 / 0.6)
        expected = s * ratio / (s * ratio + 1.0 - s)
        np.testing.assert_allclose(
            PriorShift(source=0.4).fit(scores).transform(s), expected, atol=1e-15
        )
        back = PriorShift(source=0.2, target=0.4).fit(scores).transform(expected)
        np.testing.assert_allclose(back, s, atol=1e-14)

    @pytest.mark.parametrize("prior", [1e-4, 0.3, 0.99])
    def test_the_mean_becomes_the_prior(self, prior):
        s = np.random.default_rng(0).beta(0.5, 2.0, 1000)
        shift = PriorShift().fit(PUScores([0.9], s, prior=prior, setting="two-sample"))
        assert shift.transform(s).mean() == pytest.approx(prior, rel=1e-9)

    def test_bad_shares_are_rejected(self):
        with pytest.raises(ValueError, match="'source' must be the share"):
            PriorShift(source=1.0).fit(PUScores([0.9], [0.5], prior=0.2, setting="two-sample"))


def test_mix_n_match_is_at_least_as_good_as_its_members():
    """Its loss is minimal over the simplex: no corner and no small step is better."""
    from noneg.recalibration.maps import _Loss

    scores = BinomialProcess("D4").draw(2000, 20_000, setting="two-sample", seed=0)
    mixed = MixNMatch().fit(scores)
    loss = _Loss(scores, 1.0 / mixed.temperature_, mixed.state_)
    best = loss(mixed.weights_)[0]
    rng = np.random.default_rng(0)
    for v in [*np.eye(3), *rng.dirichlet([0.5] * 3, 200)]:
        assert best <= loss(v)[0] + 1e-9
        near = 0.999 * mixed.weights_ + 0.001 * v
        assert best <= loss(near)[0] + 1e-9


class TestHistogram:
    def test_values_are_the_frequencies_of_the_bins(self):
        # At this prior, no frequency exceeds 1.
        scores = WORLD.draw(1000, 10_000, setting="two-sample", seed=0).with_prior(0.4)
        histogram = Histogram(bins=10).fit(scores)
        edges = [0.0, *histogram.inner_edges_, 1.0]
        after = PUScores(
            histogram.transform(scores.in_order()[1][0]),
            histogram.transform(scores.in_order()[0][0]),
            prior=scores.prior,
            setting="two-sample",
        )
        assert ece(scores, edges=edges) > 0.05
        assert ece(after, bins=1000, binning="width") < 1e-12

    def test_bounds_are_those_of_the_paper(self):
        scores = WORLD.draw(n=4000, setting="labeled", seed=0)
        histogram = Histogram(bins=15).fit(scores)
        assert histogram.bound() == recalibration_bound(4000, bins=15)
        assert histogram.bound(fcmi=3.0) == reuse_bound(4000, bins=15, fcmi=3.0)

    def test_the_bound_for_two_samples_holds(self):
        """The mean error over fifty data sets, which is known in this population, stays below."""
        sets = [WORLD.draw(300, 1000, setting="two-sample", seed=seed) for seed in range(50)]
        fitted = [Histogram(bins=8).fit(scores) for scores in sets]
        assert np.mean([binned_error(h) for h in fitted]) < fitted[0].bound().value
        assert fitted[0].bound().value < 0.5

    def test_unknown_bounds_are_rejected(self):
        histogram = Histogram(bins=5).fit(WORLD.draw(300, 1000, setting="one-sample", seed=0))
        with pytest.raises(ValueError, match="no bound is known"):
            histogram.bound()

    def test_ties_and_empty_bins_are_merged(self):
        s = np.array([0.0] * 60 + [0.5] * 30 + [1.0] * 10)
        histogram = Histogram(bins=20).fit(PUScores.from_labels(s == 1.0, s))
        np.testing.assert_array_equal(histogram.inner_edges_, [0.0, 0.5])
        np.testing.assert_array_equal(histogram.values_, [0.0, 0.0, 1.0])


def binned_error(histogram):
    """Return the true calibration error of a map with few values."""
    s = WORLD.draw(10, 50_000, setting="two-sample", seed=99).in_order()[0][0]
    cell = np.searchsorted(histogram.inner_edges_, s)
    gap = np.bincount(cell, WORLD.posterior(s) - histogram.transform(s)) / s.size
    return np.abs(gap).sum()


def test_scaling_binning_takes_means_of_the_scaled_scores():
    scores = WORLD.draw(1000, 5000, setting="two-sample", seed=0)
    binned, platt = ScalingBinning(bins=6).fit(scores), Platt().fit(scores)
    s = scores.in_order()[0][0]
    cell = np.searchsorted(binned.inner_edges_, s)
    means = np.bincount(cell, platt.transform(s)) / np.bincount(cell)
    np.testing.assert_allclose(binned.values_, means, rtol=1e-12)


def test_bpm_is_the_fitted_curve():
    scores = BinomialProcess("D5").draw(1000, 5000, setting="two-sample", seed=0)
    s = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(
        BPM(fit="risk").fit(scores).transform(s), bpm_curve(scores)(s), atol=1e-14
    )


class TestSpline:
    def test_the_mean_of_the_map_is_the_prior(self):
        """The ends of the curve are preserved; no value is clipped to [0, 1] here."""
        rng = np.random.default_rng(0)
        s = 0.2 + 0.5 * rng.random(500)
        positive = rng.choice(s, 400, p=s / s.sum())
        scores = PUScores(positive, s, prior=0.4, setting="two-sample")
        q = Spline(fit="risk").fit(scores).transform(s)
        assert 0.0 < q.min() < q.max() < 1.0
        assert q.mean() == pytest.approx(0.4, abs=1e-9)

    def test_a_cubic_residual_is_found_exactly(self):
        """Scores t on a line with posterior t + h'(t): the curve is h, which is itself a natural
        spline."""
        n = 100_000
        t = (np.arange(n) + 0.5) / n
        gap = 0.2 * np.cos(np.pi * t)  # h'' vanishes at both ends
        weight = t + gap
        scores = PUScores(
            t,
            t,
            prior=float(weight.mean()),
            setting="two-sample",
            positive_weight=weight - weight.min() + 1e-9,
            weight_kind="importance",
        )
        true = scores.prior * (weight - weight.min()) / (weight - weight.min()).mean()
        fitted = Spline(knots=12, fit="risk").fit(scores).transform(t)
        assert np.abs(fitted - np.clip(true, 0.0, 1.0))[1000:-1000].max() < 0.01

    @pytest.mark.parametrize("knots", [1, 2.5, "six"])
    def test_knots_are_checked(self, knots):
        with pytest.raises(ValueError, match="'knots' must be an integer"):
            Spline(knots=knots).fit(WORLD.draw(10, 100, setting="two-sample", seed=0))


def by_definition(y, s, at):
    """Isotonic regression on labeled rows and one additional row, with both labels."""
    ends = []
    for label in (0, 1):
        fit = IsotonicRegression().fit(np.append(s, at), np.append(y, label))
        ends.append(fit.predict([at])[0])
    return ends


def test_labeled_data_give_what_isotonic_regression_gives():
    rng = np.random.default_rng(0)
    s = np.sort(np.round(rng.random(60), 2))
    y = rng.random(60) < s
    found = VennAbers().fit(PUScores.from_labels(y, s))
    for at in np.unique(s)[::7]:
        assert found.probabilities([at])[0] == pytest.approx(by_definition(y, s, at), abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_both_probabilities_rise_and_close_around_isotonic_regression(setting):
    rng, widths = np.random.default_rng(1), []
    for n in (200, 5000):
        y = rng.random(10 * n) < 0.3
        x = rng.normal(size=10 * n) + 1.5 * y
        labeled = y & (rng.random(10 * n) < 0.5)
        p, u = expit(x[labeled]), expit(x if setting == "two-sample" else x[~labeled])
        scores = PUScores(p, u, prior=0.3, setting=setting)
        found, plain = VennAbers().fit(scores), Isotonic().fit(scores)
        grid = np.linspace(0.05, 0.95, 50)
        low, high = found.probabilities(grid).T
        assert (low <= high).all()
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        middle = found.transform(grid)
        assert ((low <= middle + 1e-12) & (middle <= high + 1e-12)).all()
        widths.append((high - low).mean())
        assert np.abs(middle - plain.transform(grid)).mean() < 0.05
    assert widths[1] < widths[0] / 4


def test_it_is_stored_and_restored():
    scores = PUScores([0.9, 0.7, 0.4], [0.5, 0.2, 0.1, 0.8], prior=0.4, setting="two-sample")
    fitted = VennAbers().fit(scores)
    again = load(fitted.to_json())
    assert np.array_equal(again.probabilities([0.1, 0.6]), fitted.probabilities([0.1, 0.6]))
