"""Bounds on curves and tables, compared with all completions of small data and hidden labels."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom, hypergeom
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from noneg import PUScores, intervals
from noneg.performance import bounds as bounds_module, contingency
from noneg.performance.bounds import (
    contingency_bounds,
    metric_bounds,
    pr_bounds,
    rank_cdf,
    roc_bounds,
    table_rules,
)
from noneg.performance.contingency import BANDS, band_limits, latent_fraction
from noneg.simulation import LogisticGaussian

SIDES = ("lower", "upper")
WORLD = LogisticGaussian.less_calibrated(prior=0.3)
SLACK = 1e-9


# --- every completion of a small data set --------------------------------------------------------


def small(seed, n_unlabeled=7, n_negative=2):
    """A few rows with ties: positives, unlabeled, known negatives; scores are eighths."""
    rng = np.random.default_rng(seed)
    draw = lambda n, shift: np.clip(rng.integers(0, 8, n) + shift, 0, 8) / 8  # noqa: E731
    return draw(5, 1), draw(n_unlabeled, 0), draw(n_negative, -1)


def pu(positive, unlabeled, beta=0.5):
    return PUScores(positive, unlabeled, prior=min(max(beta, 0.01), 0.99), setting="two-sample")


def completions(unlabeled, size, threshold):
    """Latent positives at or above each threshold, one row for every possible set of them."""
    above = unlabeled[:, None] >= threshold
    sets = [list(rows) for rows in combinations(range(unlabeled.size), size)]
    return np.array([above[rows].sum(axis=0) for rows in sets]).reshape(len(sets), threshold.size)


def above(scores, threshold):
    return (np.asarray(scores)[:, None] >= threshold).sum(axis=0)


class Truth:
    """Rates of all completions of a data set with a given number of latent positives."""

    def __init__(self, data, size, threshold, *, table="all"):
        positive, unlabeled, negative = data
        known = above(positive, threshold), above(negative, threshold)
        sizes = positive.size, negative.size
        if table == "unlabeled":
            known, sizes = (0, 0), (0, 0)
        self.latent = completions(unlabeled, size, threshold)
        self.size = size
        self.tp = known[0] + self.latent
        self.fp = known[1] + above(unlabeled, threshold) - self.latent
        self.fn = sizes[0] + size - self.tp
        self.tn = sizes[1] + unlabeled.size - size - self.fp
        with np.errstate(invalid="ignore", divide="ignore"):
            self.tpr, self.fpr = self.tp / (self.tp + self.fn), self.fp / (self.fp + self.tn)
            self.precision = self.tp / (self.tp + self.fp)

    def within(self, low, high):
        """Return whether the latent positives above each cutoff stay within the band."""
        return (self.latent >= low * self.size - SLACK) & (self.latent <= high * self.size + SLACK)


small_worlds = st.tuples(
    st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 3), st.sampled_from([0.3, 0.6, 0.9])
)


@settings(max_examples=60)
@given(small_worlds, st.sampled_from(["exact", "dkw", "pointwise", "prediction"]))
def test_tables_solve_equations_8_and_9(world, band):
    # The upper table has the smallest number of latent positives above the cutoff that reaches
    # T_ub, or as many as fit; the lower one has the largest number that stays below T_lb, or as
    # many as there must be.
    seed, size, n_negative, level = world
    data = small(seed, n_negative=n_negative)
    options = {"beta": size / 7, "band": band, "level": level}
    scores = pu(*data[:2], size / 7)
    bounds = contingency_bounds(scores, known_negatives=data[2], table="all", **options)
    cdf = rank_cdf(scores, known_negatives=data[2], band=band, level=level)
    truth = Truth(data, size, bounds.threshold)
    for column in range(bounds.threshold.size):
        possible = np.unique(truth.latent[:, column])
        enough = possible[possible >= cdf.high[column] * size - SLACK]
        few = possible[possible <= cdf.low[column] * size + SLACK]
        upper = enough.min() if enough.size else possible.max()
        lower = few.max() if few.size else possible.min()
        known = above(data[0], bounds.threshold)[column]
        assert bounds.upper.tp[column] - known == upper
        assert bounds.lower.tp[column] - known == lower


@settings(max_examples=60)
@given(small_worlds, st.sampled_from(["all", "unlabeled"]), st.sampled_from(["exact", "dkw"]))
def test_no_completion_within_the_band_lies_outside(world, table, band):
    seed, size, n_negative, level = world
    data = small(seed, n_negative=n_negative)
    scores = pu(*data[:2], size / 7)
    options = {"known_negatives": data[2], "beta": size / 7, "band": band, "level": level}
    bounds = contingency_bounds(scores, table=table, **options)
    cdf = rank_cdf(scores, known_negatives=data[2], band=band, level=level)
    truth = Truth(data, size, bounds.threshold, table=table)
    for rate, best, worst in (("fpr", "upper", "lower"), ("tpr", "lower", "upper")):
        value = np.where(truth.within(cdf.low, cdf.high), getattr(truth, rate), np.nan)
        low, high = getattr(getattr(bounds, best), rate), getattr(getattr(bounds, worst), rate)
        assert not np.any(value < low - SLACK)
        assert not np.any(value > high + SLACK)


@settings(max_examples=40)
@given(small_worlds, st.integers(0, 3), st.sampled_from(["all", "unlabeled"]))
def test_no_beta_of_an_interval_leads_outside(world, more, table):
    seed, size, n_negative, level = world
    sizes = range(size, min(size + more, 6) + 1)
    data = small(seed, n_negative=n_negative)
    scores = pu(*data[:2])
    options = {"known_negatives": data[2], "level": level, "band": "dkw", "table": table}
    beta = (sizes[0] / 7, sizes[-1] / 7)
    roc, pr = roc_bounds(scores, beta=beta, **options), pr_bounds(scores, beta=beta, **options)
    cdf = rank_cdf(scores, known_negatives=data[2], band="dkw", level=level)
    first = cdf.threshold.size - pr.lower.threshold.size
    for each in sizes:
        truth = Truth(data, each, cdf.threshold, table=table)
        kept = truth.within(cdf.low, cdf.high)

        def inside(value, low, high, kept=kept):
            value = np.where(kept[:, -value.shape[1] :], value, np.nan)
            assert not np.any(value < low - SLACK)
            assert not np.any(value > high + SLACK)

        inside(truth.fpr, roc.upper.fpr[1:], roc.lower.fpr[1:])
        inside(truth.tpr, roc.lower.extremes[1][1:], roc.upper.extremes[1][1:])
        inside(truth.precision[:, first:], pr.lower.precision, pr.upper.precision)
        inside(truth.tpr[:, first:], pr.lower.extremes[0], pr.upper.extremes[0])


def height(points, x, side):
    """Return the value of a monotone curve at x; at a vertical step, return the conservative
    end."""
    xs, ys = points
    last = np.searchsorted(xs, x, side="right") - 1
    first = np.searchsorted(xs, x, side="left")
    at = ys[np.clip(last if side == "upper" else first, 0, xs.size - 1)]
    return np.where(
        (first < xs.size) & (xs[np.minimum(first, xs.size - 1)] == x), at, between(points, x)
    )


def between(points, x):
    xs, ys = points
    right = np.clip(np.searchsorted(xs, x, side="right"), 1, xs.size - 1)
    width = np.where(xs[right] > xs[right - 1], xs[right] - xs[right - 1], 1.0)
    return ys[right - 1] + (x - xs[right - 1]) / width * (ys[right] - ys[right - 1])


@settings(max_examples=40)
@given(small_worlds, st.integers(0, 2))
def test_no_curve_within_the_band_crosses_an_envelope(world, more):
    seed, size, n_negative, _ = world
    sizes = range(size, min(size + more, 6) + 1)
    data = small(seed, n_negative=n_negative)
    scores = pu(*data[:2])
    options = {"known_negatives": data[2], "band": "dkw", "level": 0.5, "table": "all"}
    beta = (sizes[0] / 7, sizes[-1] / 7)
    roc, pr = roc_bounds(scores, beta=beta, **options), pr_bounds(scores, beta=beta, **options)
    cdf = rank_cdf(scores, known_negatives=data[2], band="dkw", level=0.5)
    for each in sizes:
        truth = Truth(data, each, cdf.threshold)
        for row in np.flatnonzero(truth.within(cdf.low, cdf.high).all(axis=1)):
            check_roc(roc, truth.fpr[row], truth.tpr[row])
            check_pr(pr, truth.tpr[row], truth.precision[row])


def check_roc(bounds, fpr, tpr):
    fpr, tpr = np.append(0.0, fpr), np.append(0.0, tpr)
    middle = (fpr[1:] + fpr[:-1]) / 2, (tpr[1:] + tpr[:-1]) / 2
    for x, y in ((fpr, tpr), middle):
        assert np.all(height(bounds.upper.envelope(), x, "upper") >= y - SLACK)
        assert np.all(height(bounds.lower.envelope(), x, "lower") <= y + SLACK)
    area = np.trapezoid(tpr, fpr)
    low, high = bounds.envelope_auc
    assert low - SLACK <= area <= high + SLACK


def check_pr(bounds, recall, precision):
    best = np.maximum.accumulate(precision[::-1])[::-1]
    area = np.diff(recall, prepend=0.0) @ best
    low, high = bounds.envelope_auc
    assert low - SLACK <= area <= high + SLACK


@settings(max_examples=40)
@given(small_worlds, st.sampled_from(sorted(table_rules())))
def test_metrics_are_bounded_and_the_bounds_attained(world, metric):
    seed, size, n_negative, level = world
    data = small(seed, n_negative=n_negative)
    scores = pu(*data[:2])
    options = {"known_negatives": data[2], "beta": size / 7, "level": level, "table": "all"}
    bounds = metric_bounds(scores, metric, **options)
    tables = contingency_bounds(scores, **options)
    truth = Truth(data, size, bounds.threshold)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = table_rules()[metric].of_table(
            *(x.astype(float) for x in (truth.tp, truth.fp, truth.fn, truth.tn))
        )
    kept = (truth.tp >= tables.lower.tp) & (truth.tp <= tables.upper.tp)
    value = np.where(kept, value, np.nan)
    for column in range(bounds.threshold.size):
        some = value[~np.isnan(value[:, column]), column]
        if some.size:
            assert some.min() == pytest.approx(bounds.low[column])
            assert some.max() == pytest.approx(bounds.high[column])


def test_metrics_agree_with_scikit_learn_on_labels():
    from sklearn import metrics as reference

    scores, y = WORLD.draw_rows(500, seed=3)
    names = {
        "accuracy": reference.accuracy_score,
        "balanced_accuracy": reference.balanced_accuracy_score,
        "cohen_kappa": reference.cohen_kappa_score,
        "f1": reference.f1_score,
        "jaccard": reference.jaccard_score,
        "mcc": reference.matthews_corrcoef,
        "precision": reference.precision_score,
        "recall": reference.recall_score,
    }
    for name, function in names.items():
        bounds = metric_bounds(PUScores.from_labels(y, scores), name, threshold=0.4)
        expected = function(y, scores >= 0.4)
        assert bounds.low[0] == bounds.high[0] == pytest.approx(expected)


# --- nothing hidden, nothing positive ------------------------------------------------------------


def test_bounds_of_labeled_data_are_the_curve():
    scores, y = WORLD.draw_rows(300, seed=1)
    scores = scores.round(2)
    labeled = PUScores.from_labels(y, scores)
    roc, pr = roc_bounds(labeled), pr_bounds(labeled)
    fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
    precision, recall, _ = precision_recall_curve(y, scores)
    for side in SIDES:
        np.testing.assert_allclose(getattr(roc, side).fpr, fpr)
        np.testing.assert_allclose(getattr(roc, side).tpr, tpr)
        np.testing.assert_allclose(getattr(pr, side).precision, precision[-2::-1])
        np.testing.assert_allclose(getattr(pr, side).recall, recall[-2::-1])
    assert roc.auc == pytest.approx([roc_auc_score(y, scores)] * 2)
    assert roc.envelope_auc == pytest.approx(roc.auc)


def test_without_latent_positives_unlabeled_rows_are_negatives():
    scores = WORLD.draw(100, 900, setting="one-sample", seed=2)
    (rest, *_), (positive, *_) = scores.in_order()
    y = np.repeat([0, 1], [rest.size, positive.size])
    expected = roc_auc_score(y, np.concatenate([rest, positive]))
    assert roc_bounds(scores, beta=0.0).auc == pytest.approx([expected] * 2)


def test_equal_scores_share_one_cut_off():
    bounds = roc_bounds(pu([0.5] * 4, [0.5] * 6))
    for side in (bounds.lower, bounds.upper):
        assert side.fpr.tolist() == side.tpr.tolist() == [0.0, 1.0]
        assert side.threshold.tolist() == [np.inf, 0.5]
    assert bounds.auc == bounds.envelope_auc == (0.5, 0.5)


def test_curves_start_at_the_origin_and_end_at_one():
    for band in BANDS:
        bounds = roc_bounds(WORLD.draw(40, 300, setting="two-sample", seed=4), band=band)
        for side in (bounds.lower, bounds.upper):
            assert (side.fpr[0], side.tpr[0]) == (0.0, 0.0)
            assert (side.fpr[-1], side.tpr[-1]) == (1.0, 1.0)
            assert np.all(np.diff(side.tpr) >= 0.0)
            assert np.all(np.diff(side.threshold) < 0.0)


def test_the_area_follows_the_points_in_order():
    bounds = roc_bounds(WORLD.draw(15, 400, setting="two-sample", seed=4))
    for side in (bounds.lower, bounds.upper):
        order = np.argsort(side.fpr, kind="stable")
        assert side.auc == pytest.approx(np.trapezoid(side.tpr[order], side.fpr[order]))
    assert bounds.envelope_auc[0] <= bounds.auc[0] < bounds.auc[1] <= bounds.envelope_auc[1]


# --- what must not matter -------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["two-sample", "one-sample"]))
def test_a_row_written_twice_is_a_weight_of_two(seed, setting):
    rng = np.random.default_rng(seed)
    score, labeled = rng.integers(0, 9, 30) / 8, rng.random(30) < 0.3
    labeled[:2] = True, False
    weight = rng.integers(0, 4, 30)
    weight[:2] = 1
    options = {"prior": 0.8, "setting": setting}
    weighted = PUScores.from_pu_labels(labeled, score, sample_weight=weight, **options)
    twice = PUScores.from_pu_labels(np.repeat(labeled, weight), np.repeat(score, weight), **options)
    for band in BANDS:
        one, two = (roc_bounds(s, band=band, resamples=5).columns() for s in (weighted, twice))
        for name in one if band != "bootstrap" else ("threshold",):
            np.testing.assert_allclose(one[name], two[name])


def test_blocks_do_not_matter(monkeypatch):
    scores = WORLD.draw(60, 500, setting="one-sample", seed=9)
    options = {"beta": (0.1, 0.4), "known_negatives": [0.1, 0.3, 0.35]}
    whole = [roc_bounds(scores, **options), pr_bounds(scores, **options)]
    metric = metric_bounds(scores, "mcc", **options)
    tables = contingency_bounds(scores, **options)
    monkeypatch.setattr(contingency, "_BLOCK", 7)
    monkeypatch.setattr(bounds_module, "_BLOCK", 7)
    for one, function in zip(whole, (roc_bounds, pr_bounds), strict=True):
        other = function(scores, **options)
        for name, column in one.columns().items():
            np.testing.assert_array_equal(column, other.columns()[name])
        assert one.auc == pytest.approx(other.auc)
        assert one.envelope_auc == pytest.approx(other.envelope_auc)
    again = metric_bounds(scores, "mcc", **options)
    np.testing.assert_array_equal(metric.low, again.low)
    np.testing.assert_array_equal(metric.high, again.high)
    for name, column in contingency_bounds(scores, **options).columns().items():
        np.testing.assert_array_equal(tables.columns()[name], column)


def test_a_threshold_between_scores_cuts_like_the_next_score_above():
    scores = WORLD.draw(50, 400, setting="one-sample", seed=5)
    everywhere = metric_bounds(scores, "f1")
    for t in (0.03, 0.4, 0.77):
        one = metric_bounds(scores, "f1", threshold=t)
        assert everywhere.at(t) == (one.low[0], one.high[0])
    with pytest.raises(ValueError, match=r"'threshold' must not exceed .*, got 2"):
        everywhere.at(2)


# --- bands ---------------------------------------------------------------------------------------


def test_bootstrap_tends_to_binomial_quantiles():
    share = np.linspace(0.0, 1.0, 201)
    low, high = band_limits(share, 200, band="pointwise", level=0.9)
    np.testing.assert_array_equal(low, binom.ppf(0.05, 200, share).clip(0) / 200)
    sampled = band_limits(share, 200, band="bootstrap", level=0.9, resamples=20_000, seed=1)
    assert np.abs(sampled[0] - low).max() < 1.01 / 200
    assert np.abs(sampled[1] - high).max() < 1.01 / 200


def test_bootstrap_in_blocks_has_the_distribution_of_whole_resamples(monkeypatch):

    monkeypatch.setattr(contingency, "_RESAMPLED", 20_000 * 9)
    share = np.linspace(0.0, 1.0, 41)
    low, high = band_limits(share, 40, band="bootstrap", level=0.9, resamples=20_000, seed=1)
    expected = band_limits(share, 40, band="pointwise", level=0.9)
    assert np.abs(low - expected[0]).max() < 1.01 / 40
    assert np.abs(high - expected[1]).max() < 1.01 / 40


@pytest.mark.parametrize("band", ["exact", "pointwise", "prediction"])
def test_long_tables_are_interpolated_closely(band, monkeypatch):

    n = 30_000
    share = np.arange(n + 1) / n
    options = {"band": band, "level": 0.95, "latent": 1e5}
    quick = band_limits(share, n, **options)
    monkeypatch.setattr(intervals, "MANY", n + 2)
    exact = band_limits(share, n, **options)
    # Binomial quantiles are integers, so a line between two may be off by one.
    tolerance = 1.01 / n if band == "pointwise" else 2e-8
    for one, other in zip(quick, exact, strict=True):
        assert np.abs(one - other).max() < tolerance


@pytest.mark.parametrize(("n", "latent"), [(20, 400), (30, 30), (50, 12), (100, 1), (10, 1000)])
def test_prediction_covers_latent_rows_of_any_number(n, latent):
    # Known rows are a random subset of all positives, so the number above a cutoff with k positives
    # above it is hypergeometric.
    shares = coverage(n, latent, "prediction", 0.95)
    assert shares.min() >= 0.95 - 0.004


def test_exact_covers_the_distribution_and_not_few_latent_rows():
    assert coverage(50, 1000, "exact", 0.95).min() >= 0.95 - 0.004
    assert coverage(50, 50, "exact", 0.95).min() < 0.9


def coverage(n, latent, band, level):
    """Return the probability that the table contains the truth, for every number of positives above
    a cutoff."""
    low, high = band_limits(np.arange(n + 1) / n, n, band=band, level=level, latent=latent)
    least, most = np.floor(low * latent + SLACK), np.ceil(high * latent - SLACK)
    total = np.arange(n + latent + 1)[:, None]
    k = np.arange(n + 1)
    inside = (total - k >= least) & (total - k <= most)
    return (hypergeom.pmf(k, n + latent, total, n) * inside).sum(axis=1)


def test_dkw_holds_for_the_whole_curve():
    kept = 0
    for trial in range(200):
        data, truth = hidden(100, 4000, seed=trial)
        bounds = contingency_bounds(data, beta=truth.mean(), band="dkw", table="unlabeled")
        tp = latent_above(data, truth, bounds.threshold)
        kept += np.all((bounds.lower.tp <= tp) & (tp <= bounds.upper.tp))
    assert kept >= 200 * 0.95 - 2 * np.sqrt(200 * 0.95 * 0.05)


# --- hidden-label populations ---------------------------------------------------------------------


def hidden(n_positive, n_unlabeled, seed):
    """Return a one-sample data set and the hidden labels of its unlabeled rows in increasing
    order."""
    rng = np.random.default_rng(seed)
    scores, y = WORLD.draw_rows(n_positive + n_unlabeled, rng)
    labeled = np.zeros(y.size, dtype=bool)
    labeled[rng.choice(np.flatnonzero(y), n_positive, replace=False)] = True
    rest = np.flatnonzero(~labeled)
    truth = y[rest[np.argsort(scores[rest], kind="stable")]]
    return PUScores.from_pu_labels(labeled, scores, prior=0.3, setting="one-sample"), truth


def latent_above(data, truth, threshold):
    rest = data.in_order()[0][0]
    from_the_top = np.append(0, np.cumsum(truth[::-1]))
    return from_the_top[rest.size - np.searchsorted(rest, threshold)]


@pytest.mark.parametrize(
    ("band", "n_positive", "n_unlabeled"),
    [("exact", 50, 4000), ("prediction", 50, 4000), ("prediction", 150, 700)],
)
def test_tables_contain_the_truth_in_the_nominal_share_of_trials(band, n_positive, n_unlabeled):
    threshold, trials = [0.05, 0.2, 0.5, 0.8], 300
    kept = np.zeros(4)
    for trial in range(trials):
        data, truth = hidden(n_positive, n_unlabeled, seed=trial)
        tables = contingency_bounds(data, threshold=threshold, beta=truth.mean(), band=band)
        known = above(data.in_order()[1][0], tables.threshold)
        tp = known + latent_above(data, truth, tables.threshold)
        kept += (tables.lower.tp <= tp) & (tp <= tables.upper.tp)
    assert np.all(kept >= trials * 0.95 - 2.5 * np.sqrt(trials * 0.95 * 0.05))


@pytest.mark.parametrize("band", ["pointwise", "bootstrap"])
def test_percentile_bands_come_close_to_their_level(band):
    kept, trials = 0, 150
    for trial in range(trials):
        data, truth = hidden(100, 3000, seed=trial)
        options = {"threshold": 0.4, "beta": truth.mean(), "band": band, "resamples": 400}
        tables = contingency_bounds(data, **options)
        known = above(data.in_order()[1][0], tables.threshold)
        tp = known + latent_above(data, truth, tables.threshold)
        kept += bool((tables.lower.tp <= tp) & (tp <= tables.upper.tp))
    assert kept >= trials * 0.9 - 2.5 * np.sqrt(trials * 0.9 * 0.1)


def test_areas_and_curves_contain_the_truth_of_all_rows():
    inside = 0
    for trial in range(60):
        data, truth = hidden(80, 1500, seed=trial)
        bounds = roc_bounds(data, beta=truth.mean(), band="dkw")
        (rest, *_), (positive, *_) = data.in_order()
        y = np.concatenate([truth, np.ones(positive.size)])
        scores = np.concatenate([rest, positive])
        fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
        safe = height(bounds.upper.envelope(), fpr, "upper") >= tpr - SLACK
        safe &= height(bounds.lower.envelope(), fpr, "lower") <= tpr + SLACK
        low, high = bounds.envelope_auc
        inside += np.all(safe) and low <= roc_auc_score(y, scores) <= high
    assert inside >= 60 * 0.95 - 3


def test_an_interval_for_chance_contains_the_share_of_latent_positives():
    for setting, sizes in (("one-sample", (100, 900)), ("two-sample", (50, 700))):
        kept = 0
        for trial in range(200):
            rng = np.random.default_rng(trial)
            if setting == "one-sample":
                data, truth = hidden(*sizes, seed=rng)
            else:
                unlabeled, truth = WORLD.draw_rows(sizes[1], rng)
                data = PUScores([0.5], unlabeled, prior=0.3, setting=setting)
            low, high = latent_fraction(data, level=0.9)
            kept += low <= truth.mean() <= high
        assert kept >= 200 * 0.9 - 2.5 * np.sqrt(200 * 0.09)


# --- what widens bounds (Table 1 of the paper) ---------------------------------------------------


def width(n_positive, n_unlabeled, beta, n_negative=0, **options):
    """Return the mean range of the area if a ranking of fixed quality is labeled more or less."""
    widths = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        world = LogisticGaussian(-0.5, 1.5, prior=beta)
        unlabeled, _ = world.draw_rows(n_unlabeled, rng)
        positive = world.positive_law().draw(n_positive, seed=rng)
        negative = world.negative_law().draw(n_negative, seed=rng) if n_negative else None
        scores = pu(positive, unlabeled, beta)
        low, high = roc_bounds(scores, known_negatives=negative, **options).auc
        widths.append(high - low)
    return np.mean(widths)


def test_bounds_shrink_with_known_positives():
    widths = [width(n, 2000, 0.3) for n in (25, 100, 400, 1600)]
    assert np.all(np.diff(widths) < 0.0)
    # The margin of a band decreases like the square root of the positives, and their own share is
    # certain.
    assert widths[0] > 1.7 * widths[1] > 1.7**2 * widths[2]


def test_bounds_widen_with_unlabeled_rows_and_with_beta():
    assert np.all(np.diff([width(100, n, 0.3) for n in (200, 800, 3200)]) > 0.0)
    assert np.all(np.diff([width(100, 2000, beta) for beta in (0.1, 0.3, 0.5)]) > 0.0)


def test_known_negatives_help_little_unless_the_bounds_rest_on_them():
    alone, some, many = (width(100, 2000, 0.3, n) for n in (0, 200, 1000))
    assert alone > some > many > 0.6 * alone
    reversed_, tighter = (width(100, 2000, 0.3, 1000, basis=b) for b in ("negatives", "tighter"))
    assert tighter <= min(many, reversed_) + 1e-12


def test_a_higher_level_is_wider():
    widths = [width(50, 800, 0.3, level=level) for level in (0.5, 0.9, 0.99)]
    assert np.all(np.diff(widths) > 0.0)
    assert width(50, 800, 0.3, band="dkw") > width(50, 800, 0.3, band="exact")


# --- beta ----------------------------------------------------------------------------------------


def test_lemma_4():
    # More positives at the same true positive rate mean fewer false ones, if better than random.
    positive, unlabeled, negative = small(3, n_unlabeled=2000, n_negative=50)
    scores = pu(np.tile(positive, 20), unlabeled)
    cdf = rank_cdf(scores, known_negatives=negative)
    rest = above(unlabeled, cdf.threshold) + above(negative, cdf.threshold)
    tables = {
        b: contingency_bounds(scores, beta=b, known_negatives=negative, table="all")
        for b in (0.2, 0.35)
    }
    for side, band in (("upper", cdf.high), ("lower", cdf.low)):
        few, many = (getattr(tables[b], side).fpr for b in (0.2, 0.35))
        margin = band - rest / 2050
        free = (few > 0.0) & (many > 0.0) & (few < 1.0)
        assert np.any(free & (margin > 0.01))
        assert np.all(many[free & (margin > 0.01)] < few[free & (margin > 0.01)])
        assert np.all(many[free & (margin < -0.01)] > few[free & (margin < -0.01)])


def test_ends_of_an_interval_bound_the_curve():
    scores = WORLD.draw(200, 3000, setting="two-sample", seed=1)
    both = roc_bounds(scores, beta=(0.25, 0.35))
    low, high = roc_bounds(scores, beta=0.25), roc_bounds(scores, beta=0.35)
    cdf = rank_cdf(scores)
    better = np.append(False, cdf.low > cdf.unlabeled + 0.01)
    np.testing.assert_array_equal(both.lower.fpr[better], low.lower.fpr[better])
    np.testing.assert_array_equal(both.lower.tpr[better], low.lower.tpr[better])
    better = np.append(False, cdf.high > cdf.unlabeled + 0.01)
    np.testing.assert_array_equal(both.upper.fpr[better], high.upper.fpr[better])
    np.testing.assert_array_equal(both.upper.tpr[better], high.upper.tpr[better])
    assert both.auc == pytest.approx((low.auc[0], high.auc[1]), abs=1e-4)
    # If worse than random, the ends are swapped.
    worse = pu(scores.in_order()[1][0] ** 8, scores.in_order()[0][0])
    both = roc_bounds(worse, beta=(0.25, 0.35))
    low, high = roc_bounds(worse, beta=0.25), roc_bounds(worse, beta=0.35)
    assert both.auc == pytest.approx((high.auc[0], low.auc[1]), abs=1e-3)
    assert high.auc[0] < low.auc[0] - 0.01


def test_precision_rises_with_beta_everywhere():
    scores = WORLD.draw(200, 3000, setting="two-sample", seed=1)
    low, high = (pr_bounds(scores, beta=b) for b in (0.2, 0.4))
    both = pr_bounds(scores, beta=(0.2, 0.4))
    for side in SIDES:
        assert np.all(getattr(low, side).precision <= getattr(high, side).precision)
    np.testing.assert_array_equal(both.lower.precision, low.lower.precision)
    np.testing.assert_array_equal(both.upper.precision, high.upper.precision)


def test_derivatives_by_beta():
    cdf = rank_cdf(WORLD.draw(200, 3000, setting="two-sample", seed=1))
    fpr = lambda b: (cdf.unlabeled - b * cdf.share) / (1 - b)  # noqa: E731
    np.testing.assert_allclose(
        cdf.fpr_by_beta(0.3), (fpr(0.3 + 1e-6) - fpr(0.3 - 1e-6)) / 2e-6, atol=1e-7
    )
    assert np.all((cdf.fpr_by_beta(0.3) < 0.0) == cdf.better_than_random)
    some = cdf.unlabeled > 0.0
    np.testing.assert_allclose(cdf.precision_by_beta()[some], (cdf.share / cdf.unlabeled)[some])
    assert np.isnan(cdf.precision_by_beta()[~some]).all()


def test_beta_follows_from_the_prior():
    two = PUScores([0.9], [0.1, 0.2], prior=0.4, setting="two-sample", prior_interval=(0.3, 0.5))
    assert latent_fraction(two) == (0.3, 0.5)
    assert roc_bounds(two).assumes.beta == (0.3, 0.5)
    data, _ = hidden(100, 900, seed=0)
    pi, c = 0.3, 100 / 300
    assert latent_fraction(data) == pytest.approx([(1 - c) * pi / (1 - c * pi)] * 2)
    few = PUScores([0.9] * 4, [0.1] * 6, prior=0.5, setting="one-sample", prior_interval=(0.2, 0.6))
    assert latent_fraction(few) == pytest.approx((0.0, 1 / 3))


# --- known negatives as the basis ----------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(sorted(set(BANDS) - {"bootstrap"})), st.booleans())
def test_known_negatives_give_the_mirror_image(seed, band, interval):
    positive, unlabeled, negative = small(seed, n_unlabeled=9, n_negative=4)
    beta = (3 / 9, 5 / 9) if interval else 4 / 9
    mirrored = (4 / 9, 6 / 9) if interval else 5 / 9
    options = {"band": band, "level": 0.8}
    one = roc_bounds(
        pu(positive, unlabeled), beta=beta, known_negatives=negative, basis="negatives", **options
    )
    other = roc_bounds(
        pu(1.0 - negative, 1.0 - unlabeled),
        beta=mirrored,
        known_negatives=1.0 - positive,
        **options,
    )
    for side in SIDES:
        a, b = getattr(one, side), getattr(other, side)
        np.testing.assert_allclose(a.fpr, 1.0 - b.tpr[::-1], atol=1e-12)
        np.testing.assert_allclose(a.tpr, 1.0 - b.fpr[::-1], atol=1e-12)


def test_the_tighter_basis_is_reported():
    rng = np.random.default_rng(0)
    unlabeled, _ = WORLD.draw_rows(1000, rng)
    positive = WORLD.positive_law().draw(20, seed=rng)
    negative = WORLD.negative_law().draw(2000, seed=rng)
    scores = PUScores(positive, unlabeled, prior=0.3, setting="two-sample")
    for function in (roc_bounds, pr_bounds):
        bounds = {b: function(scores, known_negatives=negative, basis=b) for b in BASES}
        assert bounds["tighter"].assumes.basis == "negatives"
        assert bounds["tighter"].auc == bounds["negatives"].auc
        assert np.ptp(bounds["negatives"].auc) < np.ptp(bounds["positives"].auc)
    metric = metric_bounds(scores, "f1", known_negatives=negative, basis="tighter", threshold=0.4)
    assert metric.assumes.basis == "negatives"
    tables = contingency_bounds(scores, known_negatives=negative, basis="tighter")
    assert tables.assumes.basis == "negatives"
    assert roc_bounds(scores, basis="tighter").assumes.basis == "positives"


BASES = ("positives", "negatives", "tighter")


# --- which rows a table counts -------------------------------------------------------------------


def test_precision_in_two_samples_is_that_of_the_unlabeled_rows():
    # Ten times as many labeled positives must not make positives look more common.
    few, many = (WORLD.draw(n, 2000, setting="two-sample", seed=1) for n in (500, 5000))
    bounds = [metric_bounds(s, "precision", threshold=0.0) for s in (few, many)]
    assert [b.low[0] for b in bounds] == [b.high[0] for b in bounds] == [0.3, 0.3]
    everyone = metric_bounds(many, "precision", threshold=0.0, table="all")
    assert everyone.low[0] == pytest.approx((5000 + 600) / 7000)
    assert pr_bounds(many).assumes.table == "unlabeled"
    assert roc_bounds(many).assumes.table == "all"
    assert pr_bounds(hidden(50, 500, seed=1)[0]).assumes.table == "all"


def test_labeling_rates_are_allowed_for():
    # Latent positives of one sample follow the known ones weighted by 1 / e - 1.
    rng = np.random.default_rng(1)
    kept, trials = 0, 100
    for _ in range(trials):
        scores, y = WORLD.draw_rows(3000, rng)
        rate = 0.02 + 0.3 * scores
        labeled = (rng.random(3000) < rate) & (y == 1)
        data = PUScores.from_pu_labels(
            labeled, scores, prior=0.3, setting="one-sample", propensity=rate
        )
        latent = y[~labeled]
        options = {"threshold": 0.6, "beta": latent.mean(), "table": "unlabeled"}
        tables = contingency_bounds(data, **options)
        tp = latent[scores[~labeled] >= 0.6].sum()
        kept += bool(tables.lower.tp[0] <= tp <= tables.upper.tp[0])
    assert kept >= trials * 0.95 - 2.5 * np.sqrt(trials * 0.95 * 0.05)


# --- refusals ------------------------------------------------------------------------------------

GOOD = pu([0.9, 0.6], [0.8, 0.5, 0.2, 0.1])
LABELED = PUScores.from_labels([0, 1, 1], [0.2, 0.6, 0.9])


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (GOOD, {"beta": 1.2}, r"'beta' must be the share .* got 1\.2"),
        (GOOD, {"beta": (0.5, 0.2)}, r"'beta' must be .*smaller first, got \(0\.5, 0\.2\)"),
        (GOOD, {"beta": "many"}, r"'beta' must be .* got 'many'"),
        (GOOD, {"beta": (0.1, 0.2, 0.3)}, r"'beta' must be .* got \(0\.1"),
        (GOOD, {"beta": 1.0}, r"'beta' must leave at least one negative row .* smaller beta"),
        (
            GOOD,
            {"beta": 0.0, "table": "unlabeled"},
            r"'beta' must leave .* positive .* larger beta",
        ),
        (GOOD, {"band": "normal"}, r"'band' must be one of .*'normal'.*Clopper"),
        (GOOD, {"level": 1.0}, r"'level' must be .* got 1\.0"),
        (GOOD, {"basis": "both"}, r"'basis' must be 'positives', .* got 'both'"),
        (GOOD, {"basis": "negatives"}, r"no known negatives.*known_negatives"),
        (GOOD, {"table": "known"}, r"'table' must be 'all' .* got 'known'"),
        (GOOD, {"known_negatives": [0.2, 1.5]}, r"'known_negatives' .* got 1\.5 in row 1"),
        (GOOD, {"resamples": 1}, r"'resamples' must be .* at least 2, got 1"),
        (GOOD, {"seed": -1}, r"'seed' must be .* got -1"),
        (LABELED, {"beta": 0.3}, r"'beta' must be omitted for labeled data.* got 0\.3"),
        (LABELED, {"table": "unlabeled"}, r"'table' must be 'all' for labeled"),
        (LABELED, {"known_negatives": [0.1]}, r"'known_negatives' must be omitted"),
        (PUScores.from_labels([1, 1], [0.2, 0.6]), {}, r"at least one negative row"),
        (PUScores.from_labels([0, 0], [0.2, 0.6]), {}, r"at least one positive row"),
    ],
)
def test_bad_options_are_rejected(scores, options, message):
    with pytest.raises(ValueError, match=message):
        roc_bounds(scores, **options)


def test_other_refusals():
    weighted = PUScores(
        [0.9, 0.6],
        [0.8, 0.3],
        prior=0.4,
        setting="two-sample",
        unlabeled_weight=[0.5, 1.5],
        weight_kind="importance",
    )
    with pytest.raises(ValueError, match=r"importance weights.*unlabeled rows.*propensity"):
        roc_bounds(weighted)
    rates = {"prior": 0.4, "setting": "two-sample", "propensity": [0.5, 0.8]}
    with pytest.raises(ValueError, match=r"'band' must be 'exact'.*got 'bootstrap'"):
        roc_bounds(PUScores([0.9, 0.6], [0.8, 0.3], **rates), band="bootstrap")
    with pytest.raises(ValueError, match=r"'metric' must be one of accuracy, .* got 'auc'"):
        metric_bounds(GOOD, "auc")
    with pytest.raises(ValueError, match=r"'scores' must have unlabeled rows"):
        rank_cdf(LABELED)
    with pytest.raises(ValueError, match=r"population"):
        roc_bounds(WORLD.draw(np.inf, 100, setting="two-sample", seed=0))
    with pytest.raises(ValueError, match=r"'beta' must leave at least one positive row"):
        pr_bounds(GOOD, beta=(0.0, 0.5))


def test_smallest_data():
    one = pu([0.5], [0.4])
    for band in BANDS:
        bounds = roc_bounds(one, beta=0.0, band=band)
        assert bounds.auc == (1.0, 1.0)
    assert pr_bounds(one, beta=1.0).auc == (1.0, 1.0)
    # With one class only the correlation is undefined, as in `mcc`.
    assert np.isnan(metric_bounds(one, "mcc", beta=1.0).low).all()


def test_answers_travel_as_columns_frames_and_json():
    import json

    options = {"beta": (0.2, 0.6)}
    answers = [f(GOOD, **options) for f in (roc_bounds, pr_bounds, contingency_bounds)]
    answers += [rank_cdf(GOOD), metric_bounds(GOOD, lambda tp, fp, fn, tn: tp - fp + fn + tn)]
    for answer in answers:
        json.dumps(answer.to_dict())
        assert list(answer.frame("pandas").columns) == list(answer.columns())
        assert answer.to_dict()["band"] == "exact"
