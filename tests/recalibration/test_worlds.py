"""Worlds whose posterior is known: every method comes closer to it, with labels and without."""

from functools import cache

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import bpm_curve
from noneg.recalibration import (
    BPM,
    METHODS,
    Auto,
    Histogram,
    Isotonic,
    Platt,
    ScalingBinning,
    Spline,
    make,
)
from noneg.simulation import BinomialProcess, LogisticGaussian
from noneg.theory import recalibration_bound, reuse_bound

WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)


@cache
def population(world, n=10_000):
    """Scores that stand for equal shares of the population, and their posterior."""
    s = world.marginal_law().quantiles((np.arange(n) + 0.5) / n)
    return s, world.posterior(s)


def distance(calibrator, world):
    """L1 distance to the posterior."""
    s, posterior = population(world)
    return float(np.abs(calibrator.transform(s) - posterior).mean())


def test_distance_to_the_posterior_over_thirty_seeds():
    draws = [WORLD.draw(1000, 10_000, setting="two-sample", seed=seed) for seed in range(30)]
    mean = {m: np.mean([distance(m().fit(d), WORLD) for d in draws]) for m in (Platt, Isotonic)}
    before = distance(make("identity").fit(draws[0]), WORLD)
    assert before == pytest.approx(0.0846, abs=0.001)
    assert WORLD.tce() == pytest.approx(0.0846, abs=1e-4)
    assert mean[Platt] <= 0.014
    assert mean[Isotonic] <= 0.034


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", [n for n in METHODS if n not in ("identity", "prior-shift")])
def test_every_method_comes_closer(name, setting):
    sizes = {"n": 10_000} if setting == "labelled" else {"n_positive": 2000, "n_unlabeled": 10_000}
    # Temperatures keep 1/2 where it is.
    world = BinomialProcess("D4") if name in ("temperature", "mix-n-match") else WORLD
    closer = make(name).fit(world.draw(**sizes, setting=setting, seed=2))
    before = make("identity").fit(world.draw(**sizes, setting=setting, seed=2))
    assert distance(closer, world) < 0.6 * distance(before, world)


def test_labels_help_but_are_not_needed():
    """With very many positives the PU fit is as good as the labelled one."""
    pu = Platt().fit(WORLD.draw(200_000, 200_000, setting="two-sample", seed=0))
    labelled = Platt().fit(WORLD.draw(n=200_000, setting="labelled", seed=0))
    s = np.linspace(0.01, 0.99, 99)
    assert np.abs(pu.transform(s) - labelled.transform(s)).max() < 0.02


class TestHistogram:
    def test_values_are_the_frequencies_of_the_bins(self):
        # At this prior no frequency exceeds 1.
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
        scores = WORLD.draw(n=4000, setting="labelled", seed=0)
        histogram = Histogram(bins=15).fit(scores)
        assert histogram.bound() == recalibration_bound(4000, bins=15)
        assert histogram.bound(fcmi=3.0) == reuse_bound(4000, bins=15, fcmi=3.0)

    def test_the_bound_for_two_samples_holds(self):
        """The mean error over fifty sets, which is known in this world, stays below."""
        sets = [WORLD.draw(300, 1000, setting="two-sample", seed=seed) for seed in range(50)]
        fitted = [Histogram(bins=8).fit(scores) for scores in sets]
        assert np.mean([binned_error(h) for h in fitted]) < fitted[0].bound().value
        assert fitted[0].bound().value < 0.5

    def test_unknown_bounds_are_refused(self):
        histogram = Histogram(bins=5).fit(WORLD.draw(300, 1000, setting="one-sample", seed=0))
        with pytest.raises(ValueError, match="no bound is known"):
            histogram.bound()

    def test_ties_and_empty_bins_are_merged(self):
        s = np.array([0.0] * 60 + [0.5] * 30 + [1.0] * 10)
        histogram = Histogram(bins=20).fit(PUScores.from_labels(s == 1.0, s))
        np.testing.assert_array_equal(histogram.inner_edges_, [0.0, 0.5])
        np.testing.assert_array_equal(histogram.values_, [0.0, 0.0, 1.0])


def binned_error(histogram):
    """The true calibration error of a map with few values."""
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
    np.testing.assert_allclose(BPM().fit(scores).transform(s), bpm_curve(scores)(s), atol=1e-14)


class TestSpline:
    def test_the_mean_of_the_map_is_the_prior(self):
        """The ends of the curve are kept; here no value is moved into [0, 1]."""
        rng = np.random.default_rng(0)
        s = 0.2 + 0.5 * rng.random(500)
        positive = rng.choice(s, 400, p=s / s.sum())
        scores = PUScores(positive, s, prior=0.4, setting="two-sample")
        q = Spline().fit(scores).transform(s)
        assert 0.0 < q.min() < q.max() < 1.0
        assert q.mean() == pytest.approx(0.4, abs=1e-9)

    def test_a_cubic_residual_is_found_exactly(self):
        """Scores t on a line with posterior t + h'(t): the curve is h, a natural spline itself."""
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
        fitted = Spline(knots=12).fit(scores).transform(t)
        assert np.abs(fitted - np.clip(true, 0.0, 1.0))[1000:-1000].max() < 0.01

    @pytest.mark.parametrize("knots", [1, 2.5, "six"])
    def test_knots_are_checked(self, knots):
        with pytest.raises(ValueError, match="'knots' must be a whole number"):
            Spline(knots=knots).fit(WORLD.draw(10, 100, setting="two-sample", seed=0))


class TestAuto:
    def test_it_says_why(self):
        auto = Auto().fit(WORLD.draw(1000, 10_000, setting="two-sample", seed=1))
        assert auto.reason_.startswith(f"{auto.chosen_.name}: ")
        assert "held-out rows (5 folds)" in auto.reason_
        by_name = {row["method"]: row for row in auto.table_}
        assert by_name["identity"]["difference"] > 3.0 * by_name["identity"]["standard_error"]
        assert (
            by_name[auto.chosen_.name]["difference"]
            <= (by_name[auto.chosen_.name]["standard_error"])
        )

    def test_the_standard_error_is_that_of_the_difference(self):
        """Over many data sets the loss difference of two methods varies as it says."""
        tables = [
            Auto(candidates=["identity", "platt"])
            .fit(WORLD.draw(300, 1500, setting="two-sample", seed=seed))
            .table_
            for seed in range(60)
        ]
        difference = np.array([t[0]["loss"] - t[1]["loss"] for t in tables])
        stated = np.array([t[0]["standard_error"] + t[1]["standard_error"] for t in tables])
        assert stated.mean() == pytest.approx(difference.std(ddof=1), rel=0.35)

    @pytest.mark.parametrize("score", ["brier", "log"])
    @pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
    def test_calibrated_scores_are_left_alone_or_hardly_moved(self, score, setting):
        world = LogisticGaussian.calibrated()
        sizes = {"n": 5000} if setting == "labelled" else {"n_positive": 800, "n_unlabeled": 5000}
        moved = [
            distance(Auto(score=score).fit(world.draw(**sizes, setting=setting, seed=i)), world)
            for i in range(3)
        ]
        assert np.median(moved) < 0.01

    def test_one_positive_leaves_nothing_to_compare(self):
        auto = Auto().fit(PUScores([0.9], [0.1, 0.2, 0.3], prior=0.3, setting="two-sample"))
        assert auto.chosen_.name == "identity"
        assert "nothing is compared" in auto.reason_

    @pytest.mark.parametrize("folds", [1, 2.5, True])
    def test_folds_are_checked(self, folds):
        with pytest.raises(ValueError, match="'folds' must be a whole number"):
            Auto(folds=folds).fit(WORLD.draw(10, 100, setting="two-sample", seed=0))
