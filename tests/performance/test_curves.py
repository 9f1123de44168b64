"""ROC and PR curves and their areas: scikit-learn's values, DeLong's variance, coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri
from sklearn import metrics as sk
from strategies import samples, scores

from noneg import PUScores, kernels, kernels_numba, performance as pf
from noneg.laws import Ordered
from noneg.performance.ranking import _area
from noneg.simulation import LogisticGaussian

FEW = settings(max_examples=30)
SETTINGS = ["two-sample", "one-sample", "labeled"]
AREAS = {
    "auroc": {},
    "average_precision": {},
    "partial_auc": {"max_fpr": 0.3},
}


def triple(estimate):
    return [estimate.value, estimate.low, estimate.high]


def intervals(data):
    return [getattr(pf, f"{name}_interval")(data, **options) for name, options in AREAS.items()]


@given(sample=samples(settings=("labeled",)), weighted=st.booleans(), data=st.data())
def test_labeled_areas_are_those_of_scikit_learn(sample, weighted, data):
    y, s = sample.flags, sample.score
    weight = {"sample_weight": 1 + np.arange(y.size) % 3} if weighted else {}
    ours = sample.build(**weight)
    assert_allclose(pf.auroc(ours), sk.roc_auc_score(y, s, **weight), atol=1e-12)
    expected = sk.average_precision_score(y, s, **weight)
    assert_allclose(pf.average_precision(ours), expected, atol=1e-12)
    m = data.draw(st.floats(0.01, 0.99))
    expected = sk.roc_auc_score(y, s, max_fpr=m, **weight)
    assert_allclose(pf.partial_auc(ours, max_fpr=m, standardized=True), expected, atol=1e-12)
    raw = pf.partial_auc(ours, max_fpr=m)
    least, most = m * m / 2, m
    assert_allclose((1 + (raw - least) / (most - least)) / 2, expected, atol=1e-12)
    assert_allclose(pf.partial_auc(ours, max_fpr=1), pf.auroc(ours), atol=1e-12)


@given(sample=samples(settings=("labeled",)), importance=st.booleans())
def test_weighted_areas_are_those_of_scikit_learn(sample, importance):
    weight = np.random.default_rng(0).integers(1, 5, sample.score.size)
    weight = weight / 4 if importance else weight
    kind = "importance" if importance else "frequency"
    ours = sample.build(sample_weight=weight, weight_kind=kind)
    for name, reference in (
        ("auroc", sk.roc_auc_score),
        ("average_precision", sk.average_precision_score),
    ):
        expected = reference(sample.flags, sample.score, sample_weight=weight)
        assert_allclose(getattr(pf, name)(ours), expected, atol=1e-12)


@pytest.mark.parametrize("drop", [False, True])
@given(sample=samples(settings=("labeled",)))
def test_labeled_roc_curve_is_that_of_scikit_learn(drop, sample):
    curve = pf.roc(sample.build(), drop_intermediate=drop)
    expected = sk.roc_curve(sample.flags, sample.score, drop_intermediate=drop)
    for ours, theirs in zip((curve.fpr, curve.tpr, curve.thresholds), expected, strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


def test_a_weighted_point_off_the_line_is_kept():
    y, s, w = [1, 0, 1, 0, 1, 0], [0.9, 0.9, 0.7, 0.7, 0.5, 0.5], [1, 9, 9, 1, 1, 1]
    for kind in ("frequency", "importance"):
        weighted = PUScores.from_labels(y, s, sample_weight=w, weight_kind=kind)
        curve = pf.roc(weighted, drop_intermediate=True)
        area = np.trapezoid(curve.tpr, curve.fpr)
        assert_allclose(area, sk.roc_auc_score(y, s, sample_weight=w), atol=1e-12)
        assert area == pytest.approx(0.1694, abs=5e-5)


@given(sample=samples(), kind=st.sampled_from([None, "frequency", "importance"]), data=st.data())
def test_dropping_intermediate_points_keeps_the_area(sample, kind, data):
    options = {}
    if kind is not None:
        some = st.lists(st.integers(1, 3), min_size=sample.score.size, max_size=sample.score.size)
        options = {"sample_weight": data.draw(some), "weight_kind": kind}
    if sample.setting != "labeled" and data.draw(st.booleans()):
        rates = st.lists(
            st.sampled_from([0.25, 0.5, 1.0]),
            min_size=sample.score.size,
            max_size=sample.score.size,
        )
        options["propensity"] = data.draw(rates)
    try:
        built = sample.build(**options)
    except ValueError:  # weights may leave more labeled positives than the prior allows
        return
    areas = [
        np.trapezoid(curve.tpr, curve.fpr)
        for curve in (pf.roc(built), pf.roc(built, drop_intermediate=True))
    ]
    assert_allclose(areas[0], areas[1], atol=1e-11 / (1.0 - built.prior))


@given(sample=samples(settings=("labeled",)))
def test_labeled_pr_curve_is_that_of_scikit_learn(sample):
    curve = pf.pr(sample.build())
    precision, recall, thresholds = sk.precision_recall_curve(sample.flags, sample.score)
    assert_allclose(curve.precision[::-1], precision, atol=1e-12)
    assert_allclose(curve.recall[::-1], recall, atol=1e-12)
    assert_allclose(curve.thresholds[:0:-1], thresholds, atol=1e-12)


@FEW
@given(sample=samples(settings=("labeled",)))
def test_two_samples_that_hide_nothing_are_labeled_data(sample):
    labeled = sample.build()
    positives = sample.score[sample.flags]
    both = PUScores(positives, sample.score, prior=labeled.prior, setting="two-sample")
    tied = np.unique(sample.score).size < sample.score.size
    for name, options in AREAS.items():
        # That a positive is a row of the other sample is visible only if no other row has its
        # score.
        if name == "average_precision" and tied:
            continue
        function = getattr(pf, name)
        assert_allclose(function(both, **options), function(labeled, **options), atol=1e-12)
    a, b = pf.roc(both), pf.roc(labeled)
    assert_allclose(a.fpr, b.fpr, atol=1e-12)
    a, b = pf.pr(both), pf.pr(labeled)
    assert_allclose(a.precision, b.precision, atol=1e-12)


@given(sample=samples())
def test_auc_is_the_chance_that_a_positive_wins(sample):
    p, u = sample.score[sample.flags], sample.score[~sample.flags]
    win = np.mean((p[:, None] > u) + 0.5 * (p[:, None] == u))
    data = sample.build()
    share = {"two-sample": 0.0, "one-sample": p.size / sample.score.size, "labeled": None}
    latent = data.prior
    if sample.setting == "one-sample":  # the prior of the unlabeled rows
        c = share["one-sample"] / latent
        latent = (1 - c) * latent / (1 - c * latent)
    expected = win if sample.setting == "labeled" else (win - latent / 2) / (1 - latent)
    assert_allclose(pf.auroc(data), expected, rtol=1e-9, atol=1e-9)
    # From positives and all rows, and as the area under the curve.
    assert_allclose(_area(Ordered(data), data.prior).value, expected, rtol=1e-9, atol=1e-9)


def delong(y, s):
    """Return the variance of the AUC by DeLong, DeLong & Clarke-Pearson (1988), as in the paper."""
    p, u = s[y], s[~y]
    wins = (p[:, None] > u) + 0.5 * (p[:, None] == u)
    return np.var(wins.mean(axis=1), ddof=1) / p.size + np.var(wins.mean(axis=0), ddof=1) / u.size


@given(sample=samples(min_size=6))
def test_variance_of_the_area_is_delongs(sample):
    y, s = sample.flags, sample.score
    if min(y.sum(), (~y).sum()) < 2:
        return
    data = sample.build()
    steps = Ordered(data)
    variance = _area(steps, data.prior).variance(steps)
    if sample.setting == "labeled":
        assert_allclose(variance, delong(y, s), rtol=1e-6, atol=1e-12)
    elif sample.setting == "two-sample":
        p, u = s[y], s[~y]
        place = ((p[:, None] > u) + 0.5 * (p[:, None] == u)).mean(axis=1)
        worst = np.max((place - place.mean()) ** 2) / p.size**2  # counts twice
        expected = (delong(y, s) + worst) / (1 - data.prior) ** 2
        assert_allclose(variance, expected, rtol=1e-6, atol=1e-12)
    else:  # the share of labeled rows varies as well
        share = y.mean()
        fixed = delong(y, s) * ((1 - share) / (1 - data.prior)) ** 2
        assert variance >= fixed * (1 - 1e-6)


@FEW
@given(sample=samples(), seed=st.integers(0, 99))
def test_row_order_is_irrelevant_and_a_row_twice_has_weight_two(sample, seed):
    index = np.random.default_rng(seed).permutation(sample.score.size)
    twice = sample.take(np.repeat(index, 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    for a, b in zip(intervals(twice), intervals(weighted), strict=True):
        assert_allclose(triple(a), triple(b), rtol=1e-6, atol=1e-9)
    assert_allclose(pf.roc(twice).fpr, pf.roc(weighted).fpr, atol=1e-12)
    assert_allclose(pf.pr(twice).precision, pf.pr(weighted).precision, atol=1e-12)


@FEW
@given(sample=samples())
def test_scaled_importance_weights_change_nothing(sample):
    weight = 0.5 + np.arange(sample.score.size) % 5
    one, other = (
        sample.build(sample_weight=c * weight, weight_kind="importance") for c in (1.0, 7.0)
    )
    for a, b in zip(intervals(one), intervals(other), strict=True):
        assert_allclose(triple(a), triple(b), rtol=1e-6, atol=1e-9)


@given(sample=samples())
def test_intervals_contain_their_value_and_labeled_ones_stay_in_range(sample):
    for estimate in intervals(sample.build()):
        assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
        if sample.setting == "labeled":
            assert 0.0 <= estimate.low <= estimate.high <= 1.0


@pytest.mark.parametrize("name", AREAS)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_an_interval_of_priors_is_covered(setting, name):
    data = LogisticGaussian.less_calibrated(0.4).draw(80, 400, setting=setting, seed=3)
    interval = getattr(pf, f"{name}_interval")
    wide = interval(data.with_prior(0.4, (0.3, 0.6)), **AREAS[name])
    ends = [interval(data.with_prior(p), **AREAS[name]) for p in np.linspace(0.3, 0.6, 13)]
    # If the prior is so large that the estimate leaves its range, only the interval at that prior
    # is widened, not the union over priors.
    inside = [e for e in ends if e.raw is None]
    assert inside
    room = 1e-3 if len(inside) == len(ends) else np.inf
    assert -room <= wide.low - min(e.low for e in inside) <= 1e-3
    assert -1e-3 <= wide.high - max(e.high for e in inside) <= room
    assert wide.value == getattr(pf, name)(data, **AREAS[name])


def test_unequal_known_labeling_rates_are_undone():
    world, trials = LogisticGaussian.less_calibrated(0.3), 100
    expected = [*truth(0.3), 0.3 * ndtr(2 / 3) / (0.3 * ndtr(2 / 3) + 0.7 * ndtr(-4 / 3))]
    found = []
    for seed in range(trials):
        score, y = world.draw_rows(2500, seed)
        rate = 0.1 + 0.6 * score
        labeled = (np.random.default_rng(10_000 + seed).random(y.size) < rate) & (y == 1)
        data = PUScores.from_pu_labels(
            labeled, score, prior=0.3, setting="one-sample", propensity=rate
        )
        estimates = [*intervals(data), pf.precision_interval(data)]
        found.append([triple(estimate) for estimate in estimates])
    value, low, high = np.moveaxis(np.array(found), -1, 0)
    error = value.mean(axis=0) - expected
    assert (np.abs(error) < 4 * value.std(axis=0) / math.sqrt(trials)).all()
    covered = ((low <= expected) & (expected <= high)).mean(axis=0)
    assert covered.min() > 0.86


def test_separated_scores_still_have_an_interval():
    data = PUScores.from_labels([0] * 20 + [1] * 20, [0.1] * 20 + [0.9] * 20)
    for estimate in intervals(data):
        assert estimate.low < estimate.value <= estimate.high
    assert pf.auroc_interval(data).value == 1.0
    # Mid-p limit of 20 hits in 20: half of p^20 is 2.5%.
    assert pf.auroc_interval(data).low == pytest.approx(0.05 ** (1 / 20))


def test_one_row_of_a_kind_carries_no_information_about_noise():
    estimate = pf.auroc_interval(PUScores.from_labels([1, 0, 0], [0.5, 0.1, 0.7]))
    assert triple(estimate) == [0.5, 0.0, 1.0]


@pytest.mark.parametrize("label", [0, 1])
def test_without_two_classes_areas_are_undefined(label):
    data = PUScores.from_labels([label] * 3, [0.1, 0.5, 0.7])
    for estimate in (pf.auroc_interval(data), pf.partial_auc_interval(data)):
        assert math.isnan(estimate.value)
        assert (estimate.low, estimate.high) == (0.0, 1.0)
    assert math.isnan(pf.average_precision_interval(data).value) == (label == 0)


@pytest.mark.parametrize("max_fpr", [0, -0.1, 1.1, "most"])
def test_a_wrong_rate_is_rejected(max_fpr):
    data = PUScores.from_labels([0, 1], [0.1, 0.5])
    with pytest.raises(ValueError, match="'max_fpr' must be"):
        pf.partial_auc(data, max_fpr=max_fpr)


def test_curves_can_be_passed_on():
    data = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    assert pf.roc(data).frame("pandas").shape == (7, 3)
    assert pf.pr(data).to_dict()["recall"][:3] == [0.0, 0.5, 0.5]
    assert math.isnan(pf.pr(data).precision[1])  # no unlabeled row scores this high
    assert pf.roc(data).fpr.min() < 0.0


@given(scores(max_size=300), scores(max_size=300))
def test_numba_merges_equal_numpy_merges(one, other):
    one.sort()
    other.sort()
    assert kernels.doubled_wins.__wrapped__(one, other) == kernels_numba.doubled_wins(one, other)
    plain, fast = kernels.count_above.__wrapped__(one, other), kernels_numba.count_above(one, other)
    for a, b in zip(plain, fast, strict=True):
        assert np.array_equal(a, b)


def test_many_rows_take_the_fast_path():
    rng = np.random.default_rng(0)
    y = rng.random(300_000) < 0.3
    s = np.round(rng.beta(1 + y, 2 - y), 4)
    data = PUScores.from_labels(y, s)
    assert_allclose(pf.auroc(data), sk.roc_auc_score(y, s), atol=1e-12)
    assert_allclose(pf.average_precision(data), sk.average_precision_score(y, s), atol=1e-12)
    assert pf.roc(data).tpr.size == np.unique(s).size + 1


def truth(prior):
    """Areas in the population of LogisticGaussian: classes N(1, 1) and N(-1, 1), any increasing
    score."""
    x = np.linspace(-11, 11, 400_001)
    step = x[1] - x[0]
    density = np.exp(-((x - 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    tpr, fpr = ndtr(1 - x), ndtr(-1 - x)
    precision = prior * tpr / (prior * tpr + (1 - prior) * fpr)
    kept = x >= -1 - ndtri(0.3)
    negative = np.exp(-((x + 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    return np.array(
        [
            ndtr(math.sqrt(2)),
            float((precision * density).sum() * step),
            float((tpr * negative)[kept].sum() * step),
        ]
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_areas_are_right_on_average_and_intervals_cover(setting):
    trials, covered = 100, []
    for k, prior in enumerate((0.02, 0.1, 0.5)):
        world = LogisticGaussian.less_calibrated(prior)
        sizes = {
            "labeled": {"n": 4000},
            "two-sample": {"n_positive": 400, "n_unlabeled": 3600},
            "one-sample": {"n_positive": min(400, int(2000 * prior)), "n_unlabeled": 3600},
        }[setting]
        target = truth(prior)
        found = np.array(
            [
                [triple(estimate) for estimate in intervals(data)]
                for seed in range(trials)
                for data in [world.draw(setting=setting, seed=1000 * k + seed, **sizes)]
            ]
        )
        value, low, high = np.moveaxis(found, -1, 0)
        error = value.mean(axis=0) - target
        assert (np.abs(error) < 4 * value.std(axis=0) / math.sqrt(trials)).all()
        covered.append(((low <= target) & (target <= high)).mean(axis=0))
    assert np.min(covered) > 0.95 - 4 * math.sqrt(0.95 * 0.05 / trials)
    assert 0.92 < np.mean(covered) < 0.98
