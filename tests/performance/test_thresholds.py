"""Metrics at a threshold: scikit-learn's values, exact symmetries, and intervals that cover."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri
from sklearn import metrics as sk
from strategies import HARD, samples

from noneg import PUScores, performance as pf
from noneg.intervals import (
    Shares,
    exact_limits,
    law_means,
    over_priors,
    share_limits,
    tail_means,
)
from noneg.performance.thresholds import ACCURACY, KAPPA, MCC, NPV, PRECISION, f_beta_rule
from noneg.registry import METRICS, registered_rules
from noneg.simulation import LogisticGaussian

# Number of examples for tests that loop over all metrics.
FEW = settings(max_examples=30)
THRESHOLDS = st.one_of(st.sampled_from([*HARD, 1.1, -0.1]), st.floats(0.0, 1.0))
# The proxy accuracy is the accuracy plus the prior, which no label determines.
NAMES = [name for name in registered_rules() if name != "proxy_accuracy"]
SETTINGS = ["two-sample", "one-sample", "labeled"]


def npv(y, z, **weight):
    return sk.precision_score(1 - y, 1 - z, zero_division=np.nan, **weight)


REFERENCES = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "precision": lambda y, z, **w: sk.precision_score(y, z, zero_division=np.nan, **w),
    "recall": sk.recall_score,
    "specificity": lambda y, z, **w: sk.recall_score(1 - y, 1 - z, **w),
    "false_positive_rate": lambda y, z, **w: 1 - sk.recall_score(1 - y, 1 - z, **w),
    "npv": npv,
    "f_beta": sk.f1_score,
    "mcc": sk.matthews_corrcoef,
    "cohen_kappa": sk.cohen_kappa_score,
}


def value(name, scores, threshold=0.5):
    return getattr(pf, name)(scores, threshold=threshold)


def interval(name, scores, **options):
    return getattr(pf, f"{name}_interval")(scores, **options)


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_has_values_to_compare_with(name):
    assert name in REFERENCES, f"add {name} to REFERENCES: labels, predictions, weights -> value"
    assert name in truth(0.3), f"add the value of {name} in the population to truth()"


@pytest.mark.parametrize("name", NAMES)
def test_coefficients_are_linear_in_both_rates(name):
    """The page in the browser computes with them."""
    rule, (t, p) = registered_rules()[name], np.random.default_rng(0).random((2, 20))
    expected = np.array(rule.matrix) @ np.array([np.ones(20), t, p])
    found = [np.broadcast_to(x, 20) for x in rule.piece(t, p)]
    assert_allclose(found, expected, atol=1e-12, err_msg=f"{name} is not a Rule: use interval_of")


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(settings=("labeled",)), threshold=THRESHOLDS, weighted=st.booleans())
def test_labeled_values_are_those_of_scikit_learn(name, sample, threshold, weighted):
    y, z = sample.flags.astype(int), (sample.score >= threshold).astype(int)
    weight = {"sample_weight": 1 + np.arange(y.size) % 3} if weighted else {}
    ours = value(name, sample.build(**weight), threshold)
    if name == "mcc" and z.min() == z.max():
        assert math.isnan(ours)  # undefined; scikit-learn returns 0
    else:
        assert_allclose(ours, REFERENCES[name](y, z, **weight), atol=1e-12)


@given(sample=samples(settings=("labeled",)), beta=st.sampled_from([0.5, 2, 3.5]))
def test_f_beta_is_that_of_scikit_learn(sample, beta):
    z = sample.score >= 0.5
    expected = sk.fbeta_score(sample.flags, z, beta=beta)
    assert_allclose(pf.f_beta(sample.build(), beta=beta), expected, atol=1e-12)


@FEW
@given(sample=samples(settings=("labeled",)), threshold=THRESHOLDS)
def test_two_samples_that_hide_nothing_are_labeled_data(sample, threshold):
    labeled = sample.build()
    positives = sample.score[sample.flags]
    if labeled.prior == 1.0:
        return
    both = PUScores(positives, sample.score, prior=labeled.prior, setting="two-sample")
    for name in NAMES:
        assert_allclose(value(name, both, threshold), value(name, labeled, threshold), atol=1e-12)
    for k in (1, 0.3, 1.0):
        assert_allclose(pf.precision_at(both, k=k), pf.precision_at(labeled, k=k), atol=1e-12)


@FEW
@given(sample=samples(), seed=st.integers(0, 100), threshold=THRESHOLDS)
def test_row_order_is_irrelevant(sample, seed, threshold):
    order = np.random.default_rng(seed).permutation(sample.score.size)
    one, other = sample.build(), sample.take(order).build()
    for name in NAMES:
        a, b = (interval(name, s, threshold=threshold) for s in (one, other))
        assert_allclose([a.value, a.low, a.high], [b.value, b.low, b.high], atol=1e-12)
    assert pf.lift_at(one, k=0.3) == pf.lift_at(other, k=0.3)


@FEW
@given(sample=samples(), threshold=THRESHOLDS)
def test_a_row_twice_is_a_row_of_weight_two(sample, threshold):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    for name in NAMES:
        a, b = (interval(name, s, threshold=threshold) for s in (twice, weighted))
        assert_allclose([a.value, a.low, a.high], [b.value, b.low, b.high], atol=1e-9)
    for name in ("lift_at", "precision_at"):
        a, b = (interval(name, s, k=0.4) for s in (twice, weighted))
        assert_allclose([a.value, a.low, a.high], [b.value, b.low, b.high], atol=1e-9)


@FEW
@given(sample=samples(), threshold=THRESHOLDS)
def test_scaled_importance_weights_change_nothing(sample, threshold):
    weight = 0.5 + np.arange(sample.score.size) % 5
    one, other = (
        sample.build(sample_weight=c * weight, weight_kind="importance") for c in (1.0, 7.0)
    )
    for name in NAMES:
        a, b = (interval(name, s, threshold=threshold) for s in (one, other))
        assert_allclose([a.value, a.low, a.high], [b.value, b.low, b.high], atol=1e-9)


def test_rounding_error_of_scaled_weights_does_not_move_an_interval():
    """At threshold 0 every row is predicted positive, so nothing varies but rounding error."""
    labeled = [True, False, False, False, False, False, True, True]
    score = [1 / 3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.9921875]
    weight = 0.5 + np.arange(8) % 5
    found = [
        pf.recall_interval(
            PUScores.from_pu_labels(
                labeled,
                score,
                prior=0.5,
                setting="one-sample",
                sample_weight=scale * weight,
                weight_kind="importance",
            ),
            threshold=0.0,
        )
        for scale in (1.0, 7.0)
    ]
    assert found[0].low == pytest.approx(found[1].low, abs=1e-12)


@FEW
@given(sample=samples(), threshold=THRESHOLDS)
def test_intervals_contain_their_value_and_labeled_ones_stay_in_range(sample, threshold):
    scores = sample.build()
    for name in NAMES:
        estimate = interval(name, scores, threshold=threshold)
        if not math.isnan(estimate.value):
            assert estimate.low - 1e-12 <= estimate.value <= estimate.high + 1e-12
        low, high = METRICS[name].range
        if sample.setting == "labeled" or name == "recall":
            assert low <= estimate.low <= estimate.high <= high


def test_what_is_undefined_is_nan_and_its_interval_the_range():
    scores = PUScores([0.9, 0.6], [0.8, 0.3], prior=0.4, setting="two-sample")
    none = pf.precision_interval(scores, threshold=0.95)
    assert math.isnan(none.value)
    assert (none.low, none.high) == (0.0, 1.0)
    everyone = pf.mcc_interval(scores, threshold=0.0)
    assert math.isnan(everyone.value)
    assert (everyone.low, everyone.high) == (-1.0, 1.0)
    assert math.isnan(pf.npv(scores, threshold=0.0))


def test_one_class_only():
    negatives = PUScores.from_labels([0, 0, 0], [0.1, 0.6, 0.4])
    assert pf.accuracy(negatives) == pytest.approx(2 / 3)
    assert math.isnan(pf.recall(negatives))
    assert math.isnan(pf.lift_at(negatives))
    assert math.isnan(float(pf.confusion(negatives).tpr))
    assert pf.accuracy_interval(negatives).high < 1.0
    positives = PUScores.from_labels([1, 1, 1], [0.1, 0.6, 0.4])
    assert pf.recall(positives) == pytest.approx(1 / 3)
    assert pf.accuracy(positives) == pytest.approx(1 / 3)
    assert math.isnan(pf.specificity(positives))
    assert pf.recall_interval(positives).high < 1.0


@given(sample=samples(), threshold=THRESHOLDS)
def test_tail_means_are_distribution_means_of_indicators(sample, threshold):
    lower = threshold / 2
    cuts = [lambda s: (s >= threshold) * 1.0, lambda s: (s >= lower) * 1.0]
    scores = sample.build()
    a, b = law_means(scores, cuts, cuts), tail_means(scores, [threshold, lower])
    if lower <= threshold:
        assert_allclose(a.positive, b.positive, atol=1e-12)
        assert_allclose(a.marginal, b.marginal, atol=1e-12)
        assert_allclose(a.covariance, b.covariance, atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("rule", [ACCURACY, PRECISION, NPV, MCC, KAPPA, f_beta_rule(2)])
def test_many_rows_give_the_delta_method(setting, rule):
    scores = draw(setting, 0.3, 0, n_positive=30_000, n_unlabeled=200_000)
    means = tail_means(scores, [0.4])
    x = np.array([means.positive[0], means.marginal[0], scores.prior])
    gradient = [(rule(*(x + h)) - rule(*(x - h))) / 2e-6 for h in 1e-6 * np.eye(3)]
    reach = float(ndtri(0.975)) * math.sqrt(means.variance(gradient))
    estimate = rule.interval(scores, 0.4, 0.95)
    assert_allclose(estimate.high - estimate.value, reach, rtol=0.02)
    assert_allclose(estimate.value - estimate.low, reach, rtol=0.02)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", NAMES)
def test_an_interval_of_priors_is_covered_exactly(setting, name):
    world = LogisticGaussian.less_calibrated(0.4)
    scores = world.draw(80, 400, setting=setting, seed=3)
    wide = interval(name, scores.with_prior(0.4, (0.25, 0.7)), threshold=0.45)
    ends = [
        interval(name, scores.with_prior(float(p)), threshold=0.45)
        for p in np.linspace(0.25, 0.7, 200)
    ]
    assert_allclose(wide.low, min(e.low for e in ends), atol=1e-6)
    assert_allclose(wide.high, max(e.high for e in ends), atol=1e-6)
    assert wide.value == value(name, scores, 0.45)
    assert "every prior in [0.25, 0.7]" in wide.method


def test_precision_at_holds_for_every_prior():
    world = LogisticGaussian.less_calibrated(0.4)
    scores = world.draw(80, 400, setting="two-sample", seed=3)
    wide = pf.precision_at_interval(scores.with_prior(0.4, (0.2, 0.6)))
    low, high = (pf.precision_at_interval(scores.with_prior(p)) for p in (0.2, 0.6))
    assert wide.raw > 1.0  # so its interval moves by the same amount as its value
    assert wide.low == pytest.approx(low.low + 1.0 - wide.raw)
    assert wide.high == pytest.approx(high.high)


def test_extremes_inside_an_interval_of_priors_are_found():
    def limits(prior):
        return (prior - 0.3) ** 2, 1 - (prior - 0.62345) ** 2

    low, high = over_priors(limits, (0.1, 0.8))
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high == pytest.approx(1.0, abs=1e-9)


@FEW
@given(sample=samples())
def test_all_thresholds_at_once(sample):
    scores = sample.build()
    table = pf.confusion_at_all(scores)
    assert_allclose(table.threshold, np.unique(sample.score)[::-1], atol=0)
    for k, t in enumerate(table.threshold):
        one = pf.confusion(scores, threshold=t)
        for name in ("tpr", "fpr", "ppr", "tp", "fp", "fn", "tn"):
            assert_allclose(getattr(table, name)[k], getattr(one, name), atol=1e-12)
    total = table.tp + table.fp + table.fn + table.tn
    assert_allclose(total, 1.0, atol=1e-12)


def test_a_table_of_thresholds_can_be_passed_on():
    scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    table = pf.confusion_at_all(scores)
    assert table.frame("pandas").shape == (4, 8)
    assert table.to_dict()["tpr"] == [0.5, 0.5, 1.0, 1.0]
    assert pf.confusion(scores).to_dict()["fp"] == 0.25
    assert pf.confusion(scores).frame("polars").shape == (1, 8)


@given(sample=samples(max_size=8), k=st.integers(1, 4))
def test_the_top_is_the_mean_over_all_orders_of_ties(sample, k):
    scores = sample.build()
    rows = ~sample.flags if sample.setting == "two-sample" else np.ones(sample.flags.size, bool)
    marginal, positive = sample.score[rows], sample.score[sample.flags]
    if k > marginal.size:
        return
    border = np.sort(marginal)[::-1][k - 1]
    above, at = (marginal > border).sum(), (marginal == border).sum()
    share = (k - above) / at
    found = (positive > border).mean() + share * (positive == border).mean()
    n = marginal.size
    if k == n:
        found = 1.0
    assert_allclose(pf.lift_at(scores, k=k), found * n / k, atol=1e-9)
    assert_allclose(pf.precision_at(scores, k=k), scores.prior * found * n / k, atol=1e-9)
    assert_allclose(pf.precision_at(scores, k=1.0), scores.prior, atol=1e-12)


@pytest.mark.parametrize("k", [0, 5, 0.0, 1.5, -1, True, "all", math.nan])
def test_a_wrong_k_is_rejected(k):
    scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    with pytest.raises(ValueError, match="'k' must be"):
        pf.precision_at(scores, k=k)


@FEW
@given(sample=samples())
def test_best_thresholds_beat_all_others(sample):
    scores = sample.build()
    ladder = np.unique(sample.score)
    cost = np.array([[0.0, 2.0], [5.0, -1.0]])

    def expected_cost(t):
        matrix = pf.confusion(scores, threshold=t)
        cells = [[matrix.tn, matrix.fp], [matrix.fn, matrix.tp]]
        return float((cost * np.array(cells, dtype=float)).sum())

    best = pf.best_threshold(scores, cost=cost)
    values = [expected_cost(t) for t in [*ladder, 2.0]]
    assert_allclose(best.value, min(values), atol=1e-12)
    assert_allclose(expected_cost(min(best.threshold, 2.0)), best.value, atol=1e-12)
    best = pf.best_threshold(scores, f_beta=0.5)
    values = [pf.f_beta(scores, beta=0.5, threshold=t) for t in ladder]
    assert_allclose(best.value, max(values), atol=1e-12)
    best = pf.best_threshold(scores, recall=0.6)
    reached = [t for t in ladder if pf.recall(scores, threshold=t) >= 0.6 - 1e-12]
    assert best.threshold == max(reached)
    values = {t: pf.precision(scores, threshold=t) for t in ladder}
    wanted = min(1.0, np.nanmax(list(values.values())))
    best = pf.best_threshold(scores, precision=wanted)
    assert best.threshold == min(t for t, v in values.items() if v >= wanted - 1e-12)
    assert_allclose(best.confusion.tpr, pf.recall(scores, threshold=best.threshold), atol=1e-12)


def test_best_threshold_describes_its_choice():
    scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    best = pf.best_threshold(scores, cost=(1, 3))
    assert (best.threshold, best.value, best.criterion) == (0.4, 0.25, "smallest expected cost")
    assert best.to_dict()["confusion"]["tpr"] == 1.0
    assert pf.best_threshold(scores, cost=(9, 1)).threshold == 0.9
    assert math.isinf(
        pf.best_threshold(PUScores.from_labels([0, 0], [0.1, 0.6]), cost=(1, 1)).threshold
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one of"),
        ({"cost": (1, 1), "recall": 0.5}, "got cost, recall"),
        ({"cost": (1, 2, 3)}, "'cost' must be a pair"),
        ({"cost": "dear"}, "'cost' must be a pair"),
        ({"f_beta": -1}, "'f_beta' must be"),
        ({"precision": 1.2}, "'precision' must be a rate"),
        ({"precision": 0.99}, "largest precision at any threshold is 0.5"),
    ],
)
def test_best_threshold_rejects_in_words(options, words):
    scores = PUScores.from_labels([0, 0, 1, 1], [0.9, 0.9, 0.9, 0.9])
    with pytest.raises(ValueError, match=words):
        pf.best_threshold(scores, **options)


def test_best_threshold_needs_a_positive():
    with pytest.raises(ValueError, match="must contain a positive"):
        pf.best_threshold(PUScores.from_labels([0, 0], [0.9, 0.4]), recall=0.5)


def test_wrong_options_are_rejected_with_a_message():
    scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    with pytest.raises(ValueError, match="'threshold' must be a number"):
        pf.accuracy(scores, threshold="high")
    with pytest.raises(ValueError, match="'level' must be"):
        pf.accuracy_interval(scores, level=1.5)


def test_a_known_population_has_no_noise():
    world = LogisticGaussian.less_calibrated(0.3)
    scores = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    expected = truth(0.3)
    for name in NAMES:
        estimate = interval(name, scores)
        assert_allclose(estimate.value, expected[name], atol=1e-9)
        assert_allclose([estimate.low, estimate.high], estimate.value, atol=1e-9)
    assert_allclose(pf.lift_at(scores, k=0.1), expected["lift_at"], atol=1e-6)


def test_lift_in_a_known_population_at_any_share():
    # X | Y = 1 is N(1, 1) and X | Y = 0 is N(-1, 1). No row lies at the cut of a known
    # distribution.
    scores = LogisticGaussian(-0.5, 1.5).draw(math.inf, math.inf, setting="two-sample", seed=0)
    cuts = np.linspace(-3.5, 3.5, 41)
    found, top = ndtr(1.0 - cuts), 0.5 * (ndtr(1.0 - cuts) + ndtr(-1.0 - cuts))
    lifts = [pf.lift_at(scores, k=float(k)) for k in top]
    assert_allclose(lifts, found / top, rtol=1e-9)


def test_shares_without_rows_say_nothing():
    low, high = exact_limits(np.array([0.5]), np.array([0.0]), 0.95)
    assert (low[0], high[0]) == (0.0, 1.0)
    assert share_limits(1.2, 0.01, 10, 0.95) == pytest.approx((1.004, 1.396), abs=1e-3)
    one = Shares.build(np.array([0.0, 1.0]), np.zeros((2, 2)), np.array([10.0, 20.0]), 0.95)
    assert_allclose(one.correlation, np.eye(2))


def truth(prior):
    """Values in the population of LogisticGaussian.less_calibrated at the threshold 0.5."""
    x = 1 / 3  # where the score is 0.5
    tp, fp = prior * ndtr(1 - x), (1 - prior) * ndtr(-1 - x)
    fn, tn = prior - tp, 1 - prior - fp
    chance = (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    grid = np.linspace(-6, 6, 400_001)
    marginal = prior * ndtr(1 - grid) + (1 - prior) * ndtr(-1 - grid)
    lift = ndtr(1 - np.interp(-0.1, -marginal, grid)) / 0.1
    return {
        "accuracy": tp + tn,
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "specificity": tn / (tn + fp),
        "false_positive_rate": fp / (tn + fp),
        "npv": tn / (tn + fn),
        "f_beta": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "cohen_kappa": (tp + tn - chance) / (1 - chance),
        "precision_at": prior * lift,
        "lift_at": lift,
    }


def draw(setting, prior, seed, n_positive=250, n_unlabeled=2250):
    world = LogisticGaussian.less_calibrated(prior)
    n = n_positive + n_unlabeled
    if setting == "labeled":
        return world.draw(n=n, setting=setting, seed=seed)
    if setting == "one-sample":
        n_positive = min(n_positive, int(prior * n / 2))
        n_unlabeled = n - n_positive
    return world.draw(n_positive, n_unlabeled, setting=setting, seed=seed)


@pytest.mark.parametrize("setting", SETTINGS)
def test_estimates_are_right_on_average_and_intervals_cover(setting):
    trials, names = 130, [*NAMES, "precision_at", "lift_at"]
    covered = []
    for prior in (0.02, 0.1, 0.5):
        target = truth(prior)
        found = np.array(
            [
                [
                    # Clipping to the range causes a small bias.
                    (e.value if e.raw is None else e.raw, e.low <= target[name] <= e.high)
                    for name in names
                    for e in [interval(name, scores)]
                ]
                for trial in range(trials)
                for scores in [draw(setting, prior, 1000 * round(100 * prior) + trial)]
            ]
        )
        estimates = found[:, :, 0]
        error = estimates.mean(axis=0) - np.array([target[name] for name in names])
        assert (np.abs(error) < 4 * estimates.std(axis=0) / math.sqrt(trials)).all()
        covered.append(found[:, :, 1].mean(axis=0))
    assert np.min(covered) > 0.95 - 4 * math.sqrt(0.95 * 0.05 / trials)
    assert 0.93 < np.mean(covered) < 0.97


@given(sample=samples(), threshold=THRESHOLDS)
def test_f_with_beta_zero_is_the_precision(sample, threshold):
    data = sample.build()
    assert_allclose(
        pf.f_beta(data, beta=0, threshold=threshold), pf.precision(data, threshold=threshold)
    )
    one, other = (
        pf.f_beta_interval(data, beta=0, threshold=threshold),
        pf.precision_interval(data, threshold=threshold),
    )
    assert_allclose([one.low, one.high], [other.low, other.high])
