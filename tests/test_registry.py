"""Properties that every registered metric must have."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import Sample, samples, scores

from noneg import PUScores, estimate, performance as pf
from noneg.metrics import METRICS
from noneg.simulation import LogisticGaussian

NAMES = list(METRICS)
FEW = settings(max_examples=12)


def value(name, scores, **options):
    """Return the metric, or the message that explains why there is none."""
    try:
        return METRICS[name].function(scores, **options)
    except ValueError as error:
        return str(error)


def same(a, b, tolerance=1e-9):
    """Return whether the numbers are equal, both undefined, or both rejected."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == pytest.approx(b, abs=tolerance)


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(max_size=40), random=st.randoms(use_true_random=False))
@FEW
def test_row_order_is_irrelevant(name, sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    assert same(value(name, sample.build()), value(name, sample.take(order).build()))


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(max_size=30))
@FEW
def test_a_row_twice_is_a_row_of_weight_two(name, sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    assert same(value(name, twice), value(name, weighted), 1e-7)


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(settings=("labeled",), max_size=40))
@FEW
def test_with_everything_labeled_pu_is_the_labeled_value(name, sample):
    if sample.flags.all() or name in VARIANCE_BASED:
        return
    prior = sample.flags.mean()
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    # The optimal number of bins differs between PU and labeled data.
    options = {"bins": 5, "binning": "width"} if name == "ece" else {}
    assert same(value(name, one, **options), value(name, sample.build(), **options), 1e-7)


# The correction of a debiased error is a variance, which is smaller with a known prior.
VARIANCE_BASED = {"debiased_ece"}


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(max_size=30))
@FEW
def test_unit_weights_change_nothing(name, sample):
    for kind in ("frequency", "importance"):
        ones = sample.build(sample_weight=np.ones(sample.score.size), weight_kind=kind)
        assert same(value(name, sample.build()), value(name, ones), 1e-7)


DEGENERATE = {
    "all scores equal": ([1, 0, 0, 1], [0.4, 0.4, 0.4, 0.4]),
    "all zero or one": ([1, 0, 0, 1], [1.0, 0.0, 0.0, 1.0]),
    "all zero": ([1, 0, 0, 0], [0.0, 0.0, 0.0, 0.0]),
    "all one": ([1, 0, 1, 0], [1.0, 1.0, 1.0, 1.0]),
    "one positive": ([1, 0, 0, 0, 0], [0.7, 0.1, 0.2, 0.9, 0.5]),
    "one unlabeled": ([1, 1, 0], [0.7, 0.8, 0.2]),
    "ties everywhere": ([1, 0] * 20, [0.2, 0.2, 0.7, 0.7] * 10),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_gives_a_number_or_a_sentence(name, setting, case):
    flags, score = (np.array(x) for x in DEGENERATE[case])
    scores = Sample(setting, flags.astype(bool), score, 0.8).build()
    found = value(name, scores)
    if isinstance(found, str):
        assert found.startswith("'")
        assert found.endswith((".", ")"))
    else:
        may_lack = METRICS[name].family in ("performance", "calibration line")
        assert np.isfinite(found) or may_lack
        interval = estimate(name, scores)
        raw = interval.value if interval.raw is None else interval.raw
        assert raw == pytest.approx(found, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_the_interval_surrounds_the_value(name, setting):
    sizes = {"n": 600} if setting == "labeled" else {"n_positive": 150, "n_unlabeled": 900}
    scores = LogisticGaussian.less_calibrated().draw(setting=setting, seed=0, **sizes)
    metric = METRICS[name]
    found = estimate(name, scores, level=0.9)
    raw = found.value if found.raw is None else found.raw
    assert raw == pytest.approx(metric.function(scores))
    assert found.low <= found.value <= found.high
    assert found.level == 0.9
    wider = estimate(metric.function, scores, level=0.99)
    assert wider.low <= found.low + 1e-9
    assert found.high <= wider.high + 1e-9


# Options that change the range.
RANGES = {
    "partial_auc": [({"max_fpr": 0.4}, (0.0, 0.4)), ({"standardized": True}, (-0.03, 1.0))],
    "risk": [
        ({"loss": "log"}, (0.0, math.inf)),
        ({"loss": "cost-sensitive", "cost": (1.0, 5.0)}, (0.0, 5.0)),
    ],
    "lift_at": [({"k": 0.5}, (0.0, math.inf))],
    "recall_at": [({"k": 0.5}, (0.0, 1.0))],
}
# The largest values at a prior: neither precision nor recall of the top k exceeds 1.
LARGEST = {
    "lift_at": lambda prior, k=0.1: 1.0 / max(k, prior),
    "recall_at": lambda prior, k=0.1: 1.0 / max(k, prior) * k,
    "enrichment_factor": lambda prior: 1.0 / max(0.01, prior),
}


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(("two-sample", "one-sample"), max_size=30), width=st.floats(0.0, 0.2))
@settings(max_examples=25)
def test_estimates_and_intervals_from_pu_rows_stay_in_their_range(name, sample, width):
    scores = sample.build()
    if width > 0.1:
        ends = max(scores.prior * (1 - width), scores.least_prior), min(scores.prior + width, 0.995)
        scores = scores.with_prior(scores.prior, interval=ends)
    for options, (low, high) in [({}, METRICS[name].range), *RANGES.get(name, [])]:
        raw = value(name, scores, **options)
        if isinstance(raw, str):
            continue
        found = estimate(name, scores, **options)
        most = LARGEST[name](scores.prior_set[0], **options) if name in LARGEST else high
        assert low <= found.low <= found.high <= most
        assert math.isnan(raw) or found.low <= found.value <= found.high
        if found.raw is not None:
            assert same(found.raw, raw)
            assert found.raw < low or found.raw > most
            assert found.low < found.high  # noise put it there, so its interval has a width
            assert found.to_dict()["raw"] == found.raw


def test_an_interval_on_one_side_keeps_its_width_in_the_range():
    """Every kernel estimate in the resamples exceeds that of these five rows."""
    scores = PUScores([0.0, 0.0, 0.0], [0.9921875, 0.9921875], prior=0.5, setting="two-sample")
    found = estimate("kernel_ece", scores)
    assert found.raw == pytest.approx(1.492, abs=1e-3)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low < 0.9


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(("labeled",), max_size=30))
@FEW
def test_labeled_estimates_are_not_clipped(name, sample):
    metric, scores = METRICS[name], sample.build()
    if not isinstance(value(name, scores), str):
        bare = getattr(metric.interval, "__wrapped__", metric.interval)
        assert repr(metric.interval(scores)) == repr(bare(scores))


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_prior_widens_the_interval(name):
    scores = LogisticGaussian.less_calibrated().draw(300, 2000, setting="two-sample", seed=0)
    sure = estimate(name, scores)
    unsure = estimate(name, scores.with_prior(0.5, interval=(0.45, 0.55)))
    assert unsure.low <= sure.low + 1e-9
    assert sure.high <= unsure.high + 1e-9


def test_entries_are_complete():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.title[0].isupper()
        assert len(metric.citation) > 10
        assert metric.range[0] < metric.range[1]


@st.composite
def idle_rows(draw):
    """A sample, and the same sample with additional rows of weight zero."""
    # With weights of up to three, the share of positives stays below this prior.
    sample = replace(draw(samples(max_size=25)), prior=0.99)
    score = draw(scores(max_size=10))
    flags = np.array(draw(st.lists(st.booleans(), min_size=score.size, max_size=score.size)))
    more = Sample(
        sample.setting,
        np.append(sample.flags, flags),
        np.append(sample.score, score),
        sample.prior,
    )
    weight = 1.0 + np.arange(sample.score.size) % 3
    order = draw(st.permutations(range(more.score.size)))
    padded = np.append(weight, np.zeros(score.size))[list(order)]
    kind = draw(st.sampled_from(["frequency", "importance"]))
    rate = {} if sample.setting == "labeled" else {"propensity": 0.2 + 0.7 * sample.score}
    rates = {name: np.append(x, 0.5 * np.ones(score.size))[list(order)] for name, x in rate.items()}
    return (
        sample.build(sample_weight=weight, weight_kind=kind, **rate),
        more.take(list(order)).build(sample_weight=padded, weight_kind=kind, **rates),
    )


@pytest.mark.parametrize("name", NAMES)
@given(pair=idle_rows())
@FEW
def test_rows_of_weight_zero_change_no_metric(name, pair):
    plain, padded = pair
    assert same(value(name, plain), value(name, padded), 1e-12)


@given(pair=idle_rows())
def test_rows_of_weight_zero_are_no_thresholds(pair):
    plain, padded = pair
    assert repr(plain) == repr(padded)
    for curve in (pf.roc, pf.pr):
        one, other = curve(plain).columns(), curve(padded).columns()
        for name, column in one.items():
            np.testing.assert_allclose(other[name], column, atol=1e-12)
    for wanted in ({"cost": (1, 2)}, {"f_beta": 1}, {"recall": 0.5}):
        best = pf.best_threshold(plain, **wanted), pf.best_threshold(padded, **wanted)
        assert best[0].threshold == best[1].threshold


# The proxy accuracy is at most 1 plus the prior; the top of the list contains only some positives,
# and two distinct scores do not make a curve.
NOT_BEST = ("proxy_accuracy", "lift_at", "recall_at", "enrichment_factor", "boyce_index")


def test_perfect_scores_reach_the_end_of_the_range():
    perfect = PUScores.from_labels([0, 1] * 50, [0.0, 1.0] * 50)
    for name, metric in METRICS.items():
        best = metric.range[1] if metric.better == "higher" else metric.range[0]
        # Smoothing leaves a residual error.
        if metric.family in ("proper score", "performance") and name not in NOT_BEST:
            assert metric.function(perfect) == pytest.approx(best, abs=1e-9), name
