"""Before and after on held-out rows: no row is used for its own fit, and intervals cover the
truth."""

import warnings
from functools import cache

import numpy as np
import pytest
from hard_problems import problems
from hypothesis import given, strategies as st
from strategies import samples

from noneg import PUScores, Sketch
from noneg.calibration import brier, ece
from noneg.knowledge import Knowledge
from noneg.laws import SplitRows, WeightedRows
from noneg.recalibration import (
    METHODS,
    Auto,
    CalibrationWarning,
    Isotonic,
    Platt,
    make,
)
from noneg.recalibration.base import Calibrator
from noneg.recalibration.choose import HeldOut, _coarse, find_calibrator, held_out, out_of_fold
from noneg.recalibration.folds import build, join, splits
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)
CALIBRATED = LogisticGaussian.calibrated()
# They preserve the curve of the scores, or change only its prior.
NO_REPAIR = ("identity", "prior-shift")
SETTINGS = ("two-sample", "one-sample", "labeled")
SCORES = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(100, 600, setting="two-sample", seed=3)


def deal(scores, folds, seed):
    """The rows of each fold: unlabeled rows and labeled positives."""
    return [held for _, held in splits(scores, folds, seed)]


def draw(world, setting, seed=0, n=2000):
    if setting == "labeled":
        return world.draw(n=n, setting=setting, seed=seed)
    return world.draw(n // 5, n, setting=setting, seed=seed)


def counts(groups):
    return [
        (np.repeat(group[0], np.broadcast_to(group[1], group[0].shape).astype(int)))
        for group in groups
    ]


class TestFolds:
    @given(samples(min_size=12), st.integers(2, 4), st.integers(0, 5))
    def test_every_row_is_dealt_once_and_evenly(self, sample, folds, seed):
        flags = np.arange(sample.score.size) % 3 == 0
        scores = PUScores.from_pu_labels(flags, sample.score, prior=0.9, setting="one-sample")
        parts = deal(scores, folds, seed)
        for group, whole in enumerate(scores.in_order()):
            dealt = [part[group][0] for part in parts]
            assert np.array_equal(np.sort(np.concatenate(dealt)), whole[0])
            sizes = [x.size for x in dealt]
            assert max(sizes) - min(sizes) <= 1

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_no_row_is_fitted_and_held_out_in_the_same_fold(self, setting):
        scores = draw(WORLD, setting, n=200)
        for train, held in splits(scores, 5, 0):
            for group, others in zip(held, train.in_order(), strict=True):
                assert group[0].size
                assert not np.isin(group[0], others[0]).any()

    def test_a_count_is_dealt_like_the_rows_it_stands_for(self):
        """30 rows at one score and 10 at another, split into 4 folds: hypergeometric mean and
        variance."""
        scores = PUScores(
            [0.2, 0.7],
            [0.1, 0.9],
            positive_weight=[30, 10],
            unlabeled_weight=[40, 40],
            prior=0.3,
            setting="two-sample",
        )
        first = []
        for seed in range(400):
            parts = deal(scores, 4, seed)
            rows = [counts(part)[1] for part in parts]
            assert [x.size for x in rows] == [10, 10, 10, 10]
            assert sum(x.size for x in rows) == 40
            first.append((rows[0] == 0.2).sum())
        variance = 10 * 0.75 * 0.25 * 30 / 39
        assert abs(np.mean(first) - 7.5) < 4 * np.sqrt(variance / 400)
        # The variance of a variance estimate is about 2 v^2 / n.
        assert abs(np.var(first) - variance) < 5 * variance * np.sqrt(2 / 400)

    def test_more_rows_than_numpy_deals_evenly(self):
        group = np.array([0.2, 0.8])
        rows = SplitRows(
            WeightedRows(group, np.array([3e9, 1e9]), None, None),
            WeightedRows(group, np.array([10.0, 30.0]), None, None),
        )
        scores = PUScores._build(rows, Knowledge.given(0.4), "two-sample")
        parts = deal(scores, 5, 0)
        total = sum(part[0][1] for part in parts)
        assert np.array_equal(total, [3e9, 1e9])
        shares = np.array([part[0][1] for part in parts]) / [3e9, 1e9]
        assert np.abs(shares - 0.2).max() < 5 * np.sqrt(0.16 / 1e9)

    def test_buckets_of_weighted_rows_are_split_and_nothing_is_lost(self):
        rng = np.random.default_rng(0)
        s, y = WORLD.draw_rows(3000, seed=4)
        sketch = Sketch(weight_kind="importance", setting="labeled")
        scores = sketch.update(y, np.round(s, 2), rng.random(3000) + 0.5).scores()
        parts = deal(scores, 4, 0)
        for group, whole in enumerate(scores.in_order()):
            masses = [(part[group][1] * part[group][3]).sum() for part in parts]
            assert sum(masses) == pytest.approx((whole[1] * whole[3]).sum())
            assert max(masses) < 1.2 * min(masses)
        # A bucket with many rows is not assigned as a unit.
        assert all(part[0][0].size > 0.5 * scores.in_order()[0][0].size for part in parts)
        assert held_out("platt", scores).improved["brier"]

    def test_importance_and_labeling_rates_travel_with_their_rows(self):
        rng = np.random.default_rng(0)
        positive, unlabeled = rng.random(40), rng.random(100)
        scores = PUScores(
            positive,
            unlabeled,
            positive_weight=positive + 1,
            unlabeled_weight=unlabeled + 2,
            weight_kind="importance",
            propensity=(1 + positive) / 2,
            prior=0.3,
            setting="two-sample",
        )
        for part in deal(scores, 3, 1):
            (s, f, _, w), (t, g, a, v) = part
            assert np.array_equal(w, s + 2)
            assert np.allclose(a, 2.0)
            assert np.array_equal(v, t + 1)
            assert (f == 1).all()
            assert (g == 1).all()
        again = build(join(deal(scores, 3, 1)), scores)
        assert ece(again) == pytest.approx(ece(scores), abs=1e-14)

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_folds_together_are_the_whole(self, setting):
        scores = draw(WORLD, setting)
        whole = build(join(deal(scores, 5, 3)), scores)
        assert whole.setting == setting
        assert whole.prior == pytest.approx(scores.prior, abs=1e-15)
        assert brier(whole) == pytest.approx(brier(scores), abs=1e-13)
        assert ece(whole) == pytest.approx(ece(scores), abs=1e-13)

    def test_a_prior_at_the_labeled_share_stays_possible_in_every_fold(self):
        labeled = np.arange(30) % 3 == 0
        score = np.linspace(0.01, 0.99, 30)
        scores = PUScores.from_pu_labels(labeled, score, prior=1 / 3, setting="one-sample")
        for train, _ in splits(scores, 4, 0):
            assert train.prior == scores.prior

    def test_too_few_positives_are_rejected(self):
        scores = PUScores([0.9, 0.8], [0.1, 0.2, 0.3, 0.4], prior=0.3, setting="two-sample")
        with pytest.raises(ValueError, match="'folds' must be at most the number of positives"):
            held_out("platt", scores, folds=3)
        with pytest.raises(ValueError, match="number of unlabeled rows, which is 4"):
            held_out("platt", PUScores([0.9] * 9, [0.1] * 4, prior=0.3, setting="two-sample"))

    @pytest.mark.parametrize("folds", [1, 0, 2.0, True, None])
    def test_folds_must_be_a_number(self, folds):
        with pytest.raises(ValueError, match="'folds' must be an integer of at least 2"):
            held_out("platt", draw(WORLD, "two-sample"), folds=folds)

    def test_a_population_has_no_folds(self):
        with pytest.raises(ValueError, match="'scores' must contain rows"):
            held_out("platt", WORLD.draw(100, np.inf, setting="two-sample", seed=0))


class Constant(Calibrator):
    """Predicts the prior for every row, which is easy to check by hand."""

    name = "constant"
    monotone = True

    def _fit(self, scores):
        return {"value": float(scores.prior)}

    def _map(self, s):
        return np.full(s.shape, self.state_["value"])

    def _check(self, state):
        pass


class TestHeldOut:
    def test_a_constant_by_hand(self):
        """Labeled data: each fold gets the share of positives among the others."""
        rng = np.random.default_rng(5)
        y, s = rng.random(50) < 0.4, rng.random(50)
        scores = PUScores.from_labels(y, s)
        total, n = 0.0, 0
        for train, (negative, positive) in splits(scores, 5, 0):
            p = train.prior
            total += positive[0].size * (1 - p) ** 2 + negative[0].size * p**2
            n += positive[0].size + negative[0].size
        found = held_out(Constant(), scores)
        assert n == 50
        assert found.after["brier"].value == pytest.approx(total / n, abs=1e-14)
        assert found.before["brier"].value == pytest.approx(np.mean((s - y) ** 2), abs=1e-14)

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_change_is_after_minus_before(self, setting):
        found = held_out("platt", draw(WORLD, setting))
        for name, gap in found.change.items():
            assert gap.value == pytest.approx(found.after[name].value - found.before[name].value)
            assert gap.low <= gap.value <= gap.high
        assert found.improved["brier"]
        assert found.improved["log_loss"]

    def test_in_sample_flatters_and_held_out_does_not(self):
        """There is nothing to repair: isotonic regression fits noise, and only its own rows reward
        that."""
        flattered, honest = [], []
        for seed in range(20):
            scores = draw(CALIBRATED, "labeled", seed=seed, n=300)
            fitted = Isotonic().fit(scores)
            own = build(tuple((fitted.transform(g[0]), *g[1:]) for g in scores.in_order()), scores)
            flattered.append(brier(own) - brier(scores))
            honest.append(held_out(Isotonic(), scores).change["brier"].value)
        assert np.mean(flattered) < -2 * np.std(flattered) / np.sqrt(20)
        assert np.mean(honest) > 2 * np.std(honest) / np.sqrt(20)

    @pytest.mark.filterwarnings("ignore::noneg.recalibration.CalibrationWarning")
    @pytest.mark.parametrize("setting", SETTINGS)
    def test_interval_of_the_change_covers_the_truth(self, setting):
        """Truth: mean over folds of E (g - eta)^2 - E (s - eta)^2, from 100,000 rows."""
        s, _ = WORLD.draw_rows(100_000, seed=99)
        eta = WORLD.posterior(s)
        covered, runs = 0, 40
        for seed in range(runs):
            scores = draw(WORLD, setting, seed=seed, n=1500)
            maps = [Platt().fit(train) for train, _ in splits(scores, 5, 0)]
            after = np.mean([(fitted.transform(s) - eta) ** 2 for fitted in maps])
            truth = after - np.mean((s - eta) ** 2)
            gap = held_out("platt", scores).change["brier"]
            covered += gap.low <= truth <= gap.high
        assert covered >= 0.95 * runs - 3 * np.sqrt(runs * 0.95 * 0.05)

    @pytest.mark.parametrize("method", [x for x in METHODS if x not in NO_REPAIR])
    @pytest.mark.parametrize("setting", SETTINGS)
    def test_every_method_repairs_the_population(self, method, setting):
        found = held_out(method, draw(WORLD, setting, n=5000))
        assert isinstance(found, HeldOut)
        assert found.method == method
        repaired = f"{method} must lower the Brier score; if it cannot, add it to NO_REPAIR"
        assert found.change["brier"].high < 0.0, repaired

    def test_buckets_of_a_sketch_answer_like_the_rows(self):
        """Scores rounded to 2^-10 with counts: a different assignment of the same rows, with the
        same result."""
        rng = np.random.default_rng(1)
        s, y = WORLD.draw_rows(40_000, seed=3)
        s = np.round(s * 1024) / 1024
        by_rows = held_out("platt", PUScores.from_labels(y, s), seed=1)
        at, place = np.unique(s + 2 * y, return_inverse=True)
        flags = at > 1.5 if (s < 1).all() else at >= 2
        order = rng.permutation(at.size)
        buckets = PUScores.from_labels(
            flags[order],
            (at - 2 * flags)[order],
            sample_weight=np.bincount(place)[order],
        )
        assert buckets.n_marginal == 40_000
        by_bucket = held_out("platt", buckets, seed=2)
        for name in ("brier", "log_loss", "ece"):
            assert by_bucket.before[name].value == pytest.approx(by_rows.before[name].value)
            gap = by_bucket.after[name].value - by_rows.after[name].value
            # Two assignments of the same rows: Platt's map hardly depends on them.
            width = by_rows.after[name].high - by_rows.after[name].low
            assert abs(gap) < 0.1 * width

    def test_a_row_of_weight_zero_counts_for_nothing(self):
        rng = np.random.default_rng(2)
        y, s = rng.random(100) < 0.5, rng.random(100)
        weight = np.ones(102)
        weight[100:] = 0
        more = PUScores.from_labels(
            np.append(y, [True, False]), np.append(s, [0.0, 1.0]), sample_weight=weight
        )
        plain = PUScores.from_labels(y, s, sample_weight=np.ones(100))
        one, other = held_out("platt", more), held_out("platt", plain)
        assert one.to_dict() == other.to_dict()

    def test_same_seed_same_answer_and_other_seed_another(self):
        scores = draw(WORLD, "two-sample")
        one, two, three = (held_out("isotonic", scores, seed=seed) for seed in (4, 4, 5))
        assert one.to_dict() == two.to_dict()
        assert one.to_dict() != three.to_dict()

    def test_a_prior_interval_widens_what_depends_on_it(self):
        scores = draw(WORLD, "two-sample")
        wide = scores.with_prior(scores.prior, interval=(0.4, 0.6))
        narrow, broad = (held_out("platt", x).change["brier"] for x in (scores, wide))
        assert broad.low < narrow.low
        assert broad.high > narrow.high

    def test_out_of_fold_scores_are_those_that_were_measured(self):
        scores = draw(WORLD, "one-sample")
        after = out_of_fold("platt", scores, seed=7)
        assert after.n_positive == scores.n_positive
        assert after.n_unlabeled == scores.n_unlabeled
        assert brier(after) == held_out("platt", scores, seed=7).after["brier"].value

    def test_the_given_calibrator_is_left_alone_and_its_parameters_are_used(self):
        calibrator = Platt()
        held_out(calibrator, draw(WORLD, "labeled"))
        assert not hasattr(calibrator, "state_")

    def test_table(self):
        found = held_out("platt", draw(WORLD, "labeled"), metrics=["brier", "ece"], level=0.9)
        table = found.columns()
        assert list(table["metric"]) == ["brier", "ece"]
        assert table["after_low"][1] == found.after["ece"].low
        assert found.frame("pandas").shape == (2, 10)
        assert found.to_dict()["level"] == 0.9

    def test_unknown_names_are_rejected(self):
        scores = draw(WORLD, "labeled")
        with pytest.raises(ValueError, match=r"'method' must be a calibrator or one of .*platt, "):
            held_out("plat", scores)
        with pytest.raises(ValueError, match="'metrics' must be among ece, log_loss, brier"):
            held_out("platt", scores, metrics=["auroc"])
        with pytest.raises(ValueError, match="'level'"):
            held_out("platt", scores, level=95)


SIMPLE = ("identity", "prior-shift", "temperature", "spline")


def true_change(world, calibrator):
    """The change of the Brier score in the population, up to quadrature error."""
    s = world.draw(1, 20_000, setting="two-sample", seed=999).in_order()[0][0]
    after, truth = calibrator.transform(s), world.posterior(s)
    return float(np.mean((after - truth) ** 2 - (s - truth) ** 2))


class TestNestedChoice:
    """Rows used to choose a method are not used to measure it."""

    def test_what_got_worse_is_seldom_shown_as_an_improvement(self):
        """There is nothing to repair: each map was chosen by chance. It once looked better in 22 of
        22 cases."""
        world, shown, method = LogisticGaussian.calibrated(), [], Auto("brier", candidates=SIMPLE)
        for seed in range(60):
            scores = world.draw(60, 600, setting="two-sample", seed=seed)
            chosen = find_calibrator(method).fit(scores)
            if chosen.chosen_.name != "identity" and true_change(world, chosen) > 0.0:
                shown.append(held_out(method, scores, metrics=["brier"]).change["brier"].value < 0)
        assert len(shown) > 4
        assert np.mean(shown) < 0.5 + 2.0 * np.sqrt(0.25 / len(shown))

    def test_the_change_is_that_of_the_population_on_average(self):
        """Overconfident scores that are left unchanged in some draws: the choice is part of the
        change."""
        world, gaps = LogisticGaussian(beta0=0.0, beta1=4.0), []
        method = Auto(candidates=SIMPLE[:3])
        for seed in range(30):
            scores = world.draw(150, 1500, setting="two-sample", seed=seed)
            maps = [find_calibrator(method).fit(rest) for rest, _ in splits(scores, 5, 0)]
            true = np.mean([true_change(world, one) for one in maps])
            found = held_out(method, scores, metrics=["brier"])
            gaps.append(found.change["brier"].value - true)
        assert abs(np.mean(gaps)) < 3.0 * np.std(gaps, ddof=1) / np.sqrt(len(gaps))

    def test_cells_choose_as_rows_do(self, monkeypatch):
        """Merged neighbors preserve masses, effective numbers and ties, so losses barely change."""
        rng = np.random.default_rng(0)
        y, s = rng.random(30_000) < 0.4, np.round(rng.random(30_000), 4)
        weight = rng.gamma(2.0, size=y.size)
        for options in ({}, {"sample_weight": weight, "weight_kind": "importance"}):
            scores = PUScores.from_labels(y, s, **options)
            joined = _coarse(scores)
            assert max(len(group[0]) for group in joined.in_order()) <= 5000
            for name in ("effective_positive", "effective_marginal", "prior"):
                assert getattr(joined, name) == pytest.approx(getattr(scores, name), rel=1e-3)
            assert brier(joined) == pytest.approx(brier(scores), abs=1e-6)
            by_cells = Auto(candidates=SIMPLE).fit(scores)
            monkeypatch.setattr("noneg.recalibration.choose.CELLS", y.size)
            by_rows = Auto(candidates=SIMPLE).fit(scores)
            monkeypatch.undo()
            assert by_cells.chosen_.name == by_rows.chosen_.name


def test_the_held_out_table_has_a_row_for_each_metric():
    found = held_out("platt", SCORES, folds=3)
    columns = found.columns()
    assert list(columns["metric"]) == list(found.change)
    for part, estimates in (("before", found.before), ("after", found.after)):
        assert columns[part].tolist() == [x.value for x in estimates.values()]
        assert columns[f"{part}_low"].tolist() == [x.low for x in estimates.values()]
    assert found.frame("pandas").shape == (len(found.change), 10)


@cache
def population(world, n=10_000):
    """Scores that represent equal shares of the population, and their posterior."""
    s = world.marginal_law().quantiles((np.arange(n) + 0.5) / n)
    return s, world.posterior(s)


def distance(calibrator, world):
    """L1 distance to the posterior."""
    s, posterior = population(world)
    return float(np.abs(calibrator.transform(s) - posterior).mean())


class TestAuto:
    def test_the_reason_is_stated(self):
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
        """Over many data sets, the variance of the loss difference between two methods is as
        stated."""
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
    @pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
    def test_calibrated_scores_are_left_alone_or_hardly_moved(self, score, setting):
        world = LogisticGaussian.calibrated()
        sizes = {"n": 5000} if setting == "labeled" else {"n_positive": 800, "n_unlabeled": 5000}
        moved = [
            distance(Auto(score=score).fit(world.draw(**sizes, setting=setting, seed=i)), world)
            for i in range(3)
        ]
        assert np.median(moved) < 0.01

    def test_one_positive_leaves_nothing_to_compare(self):
        auto = Auto().fit(PUScores([0.9], [0.1, 0.2, 0.3], prior=0.3, setting="two-sample"))
        assert auto.chosen_.name == "identity"
        assert "no methods were compared" in auto.reason_

    @pytest.mark.parametrize("folds", [1, 2.5, True])
    def test_folds_are_checked(self, folds):
        with pytest.raises(ValueError, match="'folds' must be an integer"):
            Auto(folds=folds).fit(WORLD.draw(10, 100, setting="two-sample", seed=0))


def test_auto_survives_hard_problems():
    for scores in problems(12, seed=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            assert np.isfinite(make("auto").fit(scores).transform([0.0, 0.5, 1.0])).all()


def test_ranks_do_not_decide_the_fold():
    """A fold that always takes the highest score is not a random part of the data."""
    places = set()
    for seed in range(20):
        scores = LogisticGaussian.calibrated().draw(50, 500, setting="two-sample", seed=seed)
        tops = [positive[0].max() for _, positive in deal(scores, 5, seed=0)]
        places.add(int(np.argmax(tops)))
    assert len(places) > 1
