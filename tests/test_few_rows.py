"""Intervals and tests with few labeled positives, in populations whose truth is known exactly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit, roots_hermitenorm
from scipy.stats import binom, spearmanr
from sklearn.linear_model import LogisticRegression

from noneg import PUScores, estimate, evaluate
from noneg.calibration import calibration_test, observed_expected_interval
from noneg.intervals import exact_limits, skewed_limits, t_score, with_unseen
from noneg.laws import row_shares
from noneg.metrics import METRICS
from noneg.performance import average_precision, bedroc, lift_at
from noneg.results import Estimate

TRIALS = 150
SLACK = 3.0 * np.sqrt(0.05 * 0.95 / TRIALS)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_skewed_means_of_thirty_rows_are_covered_on_both_sides(sign):
    rng = np.random.default_rng(0)
    draws = sign * rng.exponential(size=(4000, 30))
    plain, corrected = np.zeros((2, 4000, 2))
    for k, x in enumerate(draws):
        value, centered = x.mean(), x - x.mean()
        variance = centered @ centered / 29 / 30
        third = (centered**3).sum() / 30**3
        reach = t_score(0.95, 30) * np.sqrt(variance)
        plain[k] = value - reach, value + reach
        corrected[k] = skewed_limits(value, variance, third, 30, 0.95)
    misses = [
        np.array([(ends[:, 0] > sign).mean(), (ends[:, 1] < sign).mean()])
        for ends in (plain, corrected)
    ]
    assert misses[1].sum() < misses[0].sum()
    assert abs(misses[1][0] - misses[1][1]) < abs(misses[0][0] - misses[0][1])
    assert misses[1].sum() < 0.065


def test_without_skewness_it_is_students_interval():
    reach = t_score(0.9, 12) * 0.1
    assert_allclose(skewed_limits(1.0, 0.01, 0.0, 12, 0.9), [1.0 - reach, 1.0 + reach])


def five(rng, n, shares):
    return rng.choice([0.05, 0.2, 0.4, 0.6, 0.9], n, p=shares)


POSITIVE, NEGATIVE = (
    np.array([0.11, 0.22, 0.25, 0.24, 0.18]),
    np.array([0.49, 0.28, 0.15, 0.06, 0.02]),
)


def tied(seed, prior, n_positive):
    """Two samples with five distinct scores."""
    rng = np.random.default_rng(seed)
    return PUScores(
        five(rng, n_positive, POSITIVE),
        five(rng, 3000, prior * POSITIVE + (1 - prior) * NEGATIVE),
        prior=prior,
        setting="two-sample",
    )


def truth(name, prior):
    """Return the metric for the population of `tied`."""
    score = np.tile([0.05, 0.2, 0.4, 0.6, 0.9], 2)
    weight = np.concatenate([prior * POSITIVE, (1 - prior) * NEGATIVE])
    labels = np.repeat([1, 0], 5)
    every = PUScores.from_labels(labels, score, sample_weight=weight, weight_kind="importance")
    return METRICS[name].function(every)


@pytest.mark.parametrize("name", ["average_precision", "precision_at", "brier", "auroc", "risk"])
@pytest.mark.parametrize(("prior", "n_positive"), [(0.005, 300), (0.3, 30)])
def test_intervals_hold_with_five_distinct_scores(name, prior, n_positive):
    target = truth(name, prior)
    found = [METRICS[name].interval(tied(k, prior, n_positive)) for k in range(TRIALS)]
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


def test_average_precision_of_tied_scores_is_right_at_a_rare_prior():
    found = [average_precision(tied(k, 0.005, 300)) for k in range(TRIALS)]
    error = np.std(found) / np.sqrt(TRIALS)
    assert abs(np.mean(found) - truth("average_precision", 0.005)) < 3.0 * error


def test_each_end_of_the_interval_of_average_precision_holds_with_tied_scores():
    """Samples that underestimate it also underestimate its noise, so the upper end reaches on."""
    trials, target = 600, truth("average_precision", 0.3)
    found = [METRICS["average_precision"].interval(tied(k, 0.3, 60)) for k in range(trials)]
    slack = 3.0 * np.sqrt(0.025 * 0.975 / trials)
    assert np.mean([one.high < target for one in found]) < 0.025 + slack
    assert np.mean([one.low > target for one in found]) < 0.025 + slack


def rarely_one(rng, n, share):
    """Calibrated log odds, some of them replaced by scores of exactly 1."""
    return np.where(rng.random(n) < share, 1.0, expit(rng.normal(-1.0, 1.0, n)))


def test_the_intercept_allows_for_positives_at_one_that_the_sample_lacks():
    """With 4% of the positives at exactly 1, three samples of thirty in ten contain none."""
    prior, share, found = 0.3, 0.04, []
    rng = np.random.default_rng(5)
    for _ in range(TRIALS):
        known = rarely_one(rng, 30, share)
        rows = rarely_one(rng, 20_000, prior * share)
        scores = PUScores(known, rows, prior=prior, setting="two-sample")
        found.append(METRICS["calibration_intercept"].interval(scores))
    z, weight = roots_hermitenorm(60)
    target = brentq(
        lambda a: (
            (1.0 - prior * share) * (weight @ expit(z - 1.0 + a)) / weight.sum()
            - prior * (1.0 - share)
        ),
        -5.0,
        5.0,
    )
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


def test_the_slope_of_separable_rows_is_unbounded():
    """Far out, the moment equation holds up to rounding error, whose sign means nothing."""
    known = np.repeat([0.0, 0.01, 1.0], [19, 7, 4])
    rows = np.repeat([0.0, 0.01, 0.02, 0.03, 0.04, 1.0], [29_025, 605, 141, 53, 29, 147])
    scores = PUScores(known, rows, prior=0.005, setting="two-sample")
    found = METRICS["calibration_slope"].interval(scores)
    assert np.isnan(found.value)
    assert found.low == -np.inf


def test_the_boyce_index_allows_for_windows_without_positives():
    """Most positives have the lowest scores, but the few at the top make the index positive."""
    rng = np.random.default_rng(6)
    found, prior = [], 0.3
    positive = np.linspace(0.0, 1.0, 20_000) ** 40
    negative = rng.beta(2.5, 20.0, 20_000)
    labels = np.repeat([1, 0], 20_000)
    weight = np.repeat([prior, 1.0 - prior], 20_000)
    every = np.concatenate([positive, negative])
    whole = PUScores.from_labels(labels, every, sample_weight=weight, weight_kind="importance")
    target = METRICS["boyce_index"].function(whole)
    for _ in range(60):
        hidden = rng.random(3000) < prior
        rows = np.where(hidden, rng.choice(positive, 3000), rng.choice(negative, 3000))
        scores = PUScores(rng.choice(positive, 30), rows, prior=prior, setting="two-sample")
        found.append(METRICS["boyce_index"].interval(scores))
    held = np.mean([one.low <= target <= one.high for one in found])
    assert held > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 60)


def calibrated(seed, *, off=0.0, labeling=None):
    """Scores of two samples; positives are labeled at rates that increase with the score."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.0, 1.5, 30_000)
    score = expit(z)
    positive = score[rng.random(score.size) < score]
    rate = np.ones_like(positive) if labeling is None else labeling(positive)
    labeled = positive[rng.random(positive.size) < rate][:200]
    moved = expit(np.log(labeled / (1 - labeled)) + off), expit(z[:3000] + off)
    rates = {} if labeling is None else {"propensity": labeling(labeled)}
    return PUScores(*moved, prior=expit(z).mean(), setting="two-sample", **rates)


@pytest.mark.parametrize("statistic", ["ece", "ks", "both", "grouped"])
def test_the_test_keeps_its_level_with_unequal_propensities(statistic):
    def steep(s):
        return 0.05 + 0.9 * s

    found = [
        calibration_test(calibrated(k, labeling=steep), statistic=statistic, replicates=99).p_value
        for k in range(TRIALS)
    ]
    assert 0.0 < np.mean(np.array(found) <= 0.05) < 0.05 + SLACK


def test_both_statistics_together_find_a_level_that_is_off():
    def power(statistic):
        p = [
            calibration_test(calibrated(k, off=0.35), statistic=statistic, replicates=99).p_value
            for k in range(40)
        ]
        return np.mean(np.array(p) <= 0.05)

    assert power("both") > power("ece")


def rdkit_bedroc(labels, scores, alpha):
    """BEDROC as RDKit computes it, from ranks."""
    n, total = labels.sum(), labels.size
    rank = np.flatnonzero(labels[np.argsort(-scores)]) + 1
    share = n / total
    rie = np.exp(-alpha * rank / total).mean() * total * np.expm1(alpha / total)
    rie /= -np.expm1(-alpha)
    most = np.expm1(-alpha * share) / (share * np.expm1(-alpha))
    least = np.expm1(alpha * share) / (share * np.expm1(alpha))
    return (rie - least) / (most - least)


@pytest.mark.parametrize("alpha", [0.5, 20.0, 100.0])
def test_bedroc_of_labeled_rows_is_that_of_rdkit(alpha):
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.1
    scores = 0.6 * rng.random(300) + 0.3 * labels
    found = bedroc(PUScores.from_labels(labels, scores), alpha=alpha)
    assert found == pytest.approx(rdkit_bedroc(labels, scores, alpha), rel=1e-9)


@pytest.mark.parametrize("name", ["recall_at", "enrichment_factor", "bedroc"])
def test_early_recognition_is_covered_in_two_samples(name):
    target = truth(name, 0.3)
    found = [METRICS[name].interval(tied(k, 0.3, 100)) for k in range(TRIALS)]
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


def test_observed_to_expected_is_the_prior_over_the_mean_score():
    target = 0.3 / METRIC_MEAN
    found = [observed_expected_interval(tied(k, 0.3, 50)) for k in range(TRIALS)]
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK
    assert found[0].value == pytest.approx(target, rel=0.1)


METRIC_MEAN = np.array([0.05, 0.2, 0.4, 0.6, 0.9]) @ (0.3 * POSITIVE + 0.7 * NEGATIVE)


def test_estimates_outside_of_their_range_keep_an_interval_that_holds():
    """Normal estimates of a target near the end of its range: covered, and never a single point."""
    rng = np.random.default_rng(0)
    for target in (1.0, 0.98, 0.9):
        value = rng.normal(target, 0.05, 4000)
        kept = [
            Estimate(value=x, low=x - 0.098, high=x + 0.098, level=0.95, method="").within(0.0, 1.0)
            for x in value
        ]
        covered = np.mean([one.low <= target <= one.high for one in kept])
        assert covered > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 4000)
        assert min(one.high - one.low for one in kept) >= 0.098 - 1e-12
        assert all(0.0 <= one.low <= one.value <= one.high <= 1.0 for one in kept)


@pytest.mark.parametrize(
    ("raw", "low", "high"), [(1.3, 0.7, 1.0), (-0.2, 0.0, 0.2), (1.0, 1.0, 1.0)]
)
def test_an_interval_without_width_reaches_as_far_as_the_noise_that_is_visible(raw, low, high):
    one = Estimate(value=raw, low=raw, high=raw, level=0.95, method="").within(0.0, 1.0)
    assert (one.low, one.high) == pytest.approx((low, high))


def test_few_rows_with_equal_scores_do_not_make_an_impossible_error_certain():
    """All positives share one score, and so do the others: resampling them changes nothing."""
    found = estimate(
        "kernel_ece", PUScores([0.0] * 3, [127 / 128] * 2, prior=0.5, setting="two-sample")
    )
    assert found.raw > 1.0
    assert found.low < found.high == found.value == 1.0


def test_a_kind_of_positives_without_a_hit_moves_only_the_end_it_can_explain():
    """The mid-p limit for no hit in n rows has a tail of half of (1 - u)^n."""
    low, high = with_unseen(0.9, (0.9, 0.95), 0.5, 30, 0.95)
    unseen = (0.9 - low) / 0.4
    assert 0.5 * (1.0 - unseen) ** 30 == pytest.approx(0.025)
    assert high == pytest.approx(0.95)
    low, high = with_unseen(0.2, (0.1, 0.3), 0.5, 1e9, 0.95)
    assert (low, high) == pytest.approx((0.1, 0.3))


def nearly_separated(seed, bad, score_of_bad=None):
    """Thirty positives of a nearly perfect model; a share `bad` of them score like negatives."""
    rng = np.random.default_rng(seed)
    like_negative = expit(rng.normal(-6.0, 1.0, 30)) if score_of_bad is None else score_of_bad
    known = np.where(rng.random(30) < bad, like_negative, expit(rng.normal(2.0, 1.0, 30)))
    rows = expit(rng.normal(-6.0, 1.0, 2000))
    rows = rows if score_of_bad is None else np.where(rng.random(2000) < 0.4, score_of_bad, rows)
    return PUScores(known, rows, prior=0.001, setting="two-sample")


@pytest.mark.parametrize("name", ["auroc", "proxy_auc"])
def test_areas_are_covered_if_most_samples_lack_the_positives_that_decide(name):
    # The others practically always win, and the prior is too small to matter.
    target, bad = 0.99, 0.02
    found = [METRICS[name].interval(nearly_separated(k, bad)) for k in range(TRIALS)]
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


def test_average_precision_is_covered_if_most_samples_lack_the_positives_at_the_top():
    """Most positives score below the negatives; 40% of the samples have none of those above."""
    rng = np.random.default_rng(0)

    def positives(n):
        return np.where(rng.random(n) < 0.03, rng.uniform(0.8, 1.0, n), rng.uniform(0.0, 0.2, n))

    def negatives(n):
        return rng.uniform(0.3, 0.7, n)

    # Those at the top have precision 1; one further down has all negatives above it.
    low = np.linspace(0.03, 1.0, 100_001)
    target = 0.03 + 0.97 * np.mean(0.05 * low / (0.95 + 0.05 * low))
    found = []
    for _ in range(TRIALS):
        hidden = rng.binomial(3000, 0.05)
        rows = np.concatenate([positives(hidden), negatives(3000 - hidden)])
        scores = PUScores(positives(30), rows, prior=0.05, setting="two-sample")
        found.append(METRICS["average_precision"].interval(scores))
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


@pytest.mark.parametrize(("k", "most"), [(0.1, 2.5), (0.5, 2.0)])
def test_the_interval_of_the_lift_ends_at_the_largest_possible_lift(k, most):
    """Precision and recall are at most 1, so the lift is at most 1 / prior and 1 / k."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = np.concatenate([rng.uniform(0.5, 1.0, 80), rng.uniform(0.0, 0.5, 120)])
        scores = PUScores(rng.uniform(0.6, 1.0, 30), rows, prior=0.4, setting="two-sample")
        lift = METRICS["lift_at"].interval(scores, k=k)
        found = METRICS["recall_at"].interval(scores, k=k)
        assert lift.low <= lift.value <= lift.high <= most
        assert found.value == pytest.approx(lift.value * k)
        assert (lift.raw is None) == (found.raw is None) == (lift_at(scores, k=k) <= most + 1e-12)
        unknown = scores.with_prior(None)
        assert METRICS["lift_at"].interval(unknown, k=k).high <= 1.0 / k


def test_the_log_loss_is_covered_if_most_samples_lack_scores_of_zero():
    bad, draws = 0.02, [nearly_separated(k, 0.02, 0.0) for k in range(TRIALS)]
    rng = np.random.default_rng(0)
    good, rest = expit(rng.normal(2.0, 1.0, 200_000)), expit(rng.normal(-6.0, 1.0, 200_000))
    worst = -np.log(np.finfo(float).eps)
    gain = (1.0 - bad) * np.mean(np.log1p(-good) - np.log(good)) + bad * worst
    target = 0.001 * gain - 0.6 * np.mean(np.log1p(-rest))
    found = [METRICS["log_loss"].interval(one) for one in draws]
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - SLACK


def test_a_partial_area_near_its_maximum_is_covered():
    """With perfect separation it is 0.1, but 30 positives leave the FPR uncertain."""
    found = []
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        hidden = rng.random(2000) < 0.3
        rows = np.where(hidden, rng.uniform(0.5, 1.0, 2000), rng.uniform(0.0, 0.5, 2000))
        known = rng.uniform(0.5, 1.0, 30)
        scores = PUScores(known, rows, prior=0.3, setting="two-sample")
        found.append(METRICS["partial_auc"].interval(scores))
    assert np.mean([one.high >= 0.1 - 1e-9 for one in found]) > 0.95 - SLACK


def test_binomial_limits_have_mid_p_tails():
    n, x = 30, np.arange(31)
    low, high = exact_limits(x / n, np.full(31, float(n)), 0.95)
    inner = x[1:]
    tail = binom.sf(inner, n, low[1:]) + 0.5 * binom.pmf(inner, n, low[1:])
    assert_allclose(tail, 0.025, rtol=1e-8)
    assert_allclose(low, 1.0 - high[::-1], atol=1e-12)
    for p in (0.002, 0.05, 0.3, 0.97):
        assert binom.pmf(x, n, p)[(low <= p) & (p <= high)].sum() > 0.935


def test_the_calibration_line_of_labeled_rows_is_that_of_logistic_regression():
    rng = np.random.default_rng(1)
    z = rng.normal(-0.5, 1.2, 4000)
    labels = rng.random(4000) < expit(0.3 + 0.6 * z)
    scores = PUScores.from_labels(labels, expit(z))
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(z[:, None], labels)
    assert METRICS["calibration_slope"].function(scores) == pytest.approx(
        model.coef_[0, 0], abs=1e-5
    )
    intercept = METRICS["calibration_intercept"].function(scores)
    assert expit(z + intercept).mean() == pytest.approx(labels.mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "target"), [("calibration_slope", 1.0), ("calibration_intercept", 0.0)]
)
def test_the_calibration_line_covers_from_positives_and_unlabeled_rows(name, target):
    found = [METRICS[name].interval(calibrated(k)) for k in range(60)]
    slack = 3.0 * np.sqrt(0.05 * 0.95 / 60)
    assert np.mean([one.low <= target <= one.high for one in found]) > 0.95 - slack


def test_the_boyce_index_is_spearmans_correlation_in_moving_windows():
    rng = np.random.default_rng(2)
    known, rows = rng.beta(3, 2, 200), rng.beta(2, 3, 3000)
    least, most = min(known.min(), rows.min()), max(known.max(), rows.max())
    places, ratios = [], []
    for start in np.linspace(least, most - (most - least) / 10, 101):
        end = start + (most - least) / 10 + 1e-12
        share = [np.mean((s >= start - 1e-12) & (s <= end)) for s in (known, rows)]
        if share[1] > 0.0:
            places.append(start)
            ratios.append(round(share[0] / share[1], 10))
    new = np.append(np.array(ratios[:-1]) != ratios[1:], True)
    expected = spearmanr(np.array(ratios)[new], np.array(places)[new]).statistic
    scores = PUScores(known, rows, prior=0.3, setting="two-sample")
    found = METRICS["boyce_index"].interval(scores)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert -1.0 <= found.low < found.value < found.high <= 1.0


def test_few_positives_of_unequal_weights_are_named():
    """If the rarest kinds may be missing from the sample, no interval can be trusted."""
    rng = np.random.default_rng(3)
    known = rng.beta(3, 2, 30)
    options = {"prior": 0.3, "setting": "two-sample"}
    for rates, named in ((0.1 + 0.9 * known, True), (None, False)):
        scores = PUScores(known, rng.beta(2, 3, 300), propensity=rates, **options)
        assert ("few_weighted" in [one.code for one in evaluate(scores).warnings]) == named


@pytest.mark.parametrize(
    "name", [n for n, one in METRICS.items() if one.family != "calibration error"]
)
def test_every_interval_from_few_positives_of_unequal_weights_says_so(name):
    rng = np.random.default_rng(3)
    known, rows = rng.beta(3, 2, 30), rng.beta(2, 3, 300)
    options = {"prior": 0.3, "setting": "two-sample"}
    for rates in (0.1 + 0.9 * known, None):
        found = METRICS[name].interval(PUScores(known, rows, propensity=rates, **options))
        assert ("not to be trusted" in found.method) == (rates is not None)


@pytest.mark.parametrize("score", [0.2, 0.511, 0.808, 0.95])
@pytest.mark.parametrize("n", [3, 19, 29])
def test_one_score_does_not_show_how_weights_change_with_it(score, n):
    rates = np.linspace(0.1, 0.9, n)
    scores = PUScores(
        np.full(n, score), [0.1, 0.9], prior=0.3, setting="two-sample", propensity=rates
    )
    shares = row_shares(scores)(np.linspace(0.0, 1.0, 11))
    # Every factor is a sum over n rows or a quotient of such sums.
    assert_allclose(shares, 1.0 / scores.effective_positive, rtol=10 * n * np.finfo(float).eps)
