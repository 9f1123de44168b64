"""Proper scores: scikit-learn on labeled data, unbiasedness in known populations, and
components."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.metrics import brier_score_loss, log_loss as scikit_log_loss
from strategies import samples

from noneg import PUScores, ece
from noneg.bins import bin_scores
from noneg.calibration.proper import (
    brier,
    brier_interval,
    decomposition,
    decomposition_interval,
    log_loss,
    log_loss_interval,
)
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())
WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)
CALIBRATED = LogisticGaussian(beta0=0.0, beta1=2.0)
SETTINGS = ["two-sample", "one-sample", "labeled"]
PARTS = ["reliability", "resolution", "uncertainty", "remainder"]
EDGES = np.linspace(0, 1, 7)
SCORES = {"brier": (brier, brier_interval), "log": (log_loss, log_loss_interval)}


def draw(setting, seed, n=200, world=WORLD):
    if setting == "labeled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


def loss(score, s, q):
    """Return the mean loss of predicting s for rows with a share q of positives."""
    if score == "brier":
        return q * (1 - s) ** 2 + (1 - q) * s**2
    return -q * np.log(s) - (1 - q) * np.log1p(-s)


def truth(score, world=WORLD):
    def integrand(logits):
        return loss(score, expit(logits), world.posterior_of_logit(logits))

    return float(world.marginal_law().bin_integrals(integrand, [0.0, 1.0])[0])


def true_parts(score, world=WORLD):
    """Return the components over EDGES for the population."""
    law = bin_scores(world.draw(math.inf, math.inf, setting="two-sample", seed=0), edges=EDGES)
    m, y, q, prior = law.marginal, law.frequency, law.mean_score, world.prior
    # A divergence is not negative; a difference of losses may be, by rounding error.
    reliability = max(0.0, m @ (loss(score, q, y) - loss(score, y, y)))
    resolution = m @ (loss(score, prior, y) - loss(score, y, y))
    uncertainty = loss(score, prior, prior)
    return {
        "reliability": reliability,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "remainder": truth(score, world) - (reliability - resolution + uncertainty),
    }


@given(samples(settings=("labeled",)))
def test_labeled_scores_are_those_of_scikit_learn(sample):
    scores = sample.build()
    expected = brier_score_loss(sample.flags, sample.score)
    assert brier(scores) == pytest.approx(expected, abs=1e-12)
    expected = scikit_log_loss(sample.flags, sample.score, labels=[False, True])
    assert log_loss(scores) == pytest.approx(expected, abs=1e-9)


def test_the_clip_is_the_largest_loss():
    wrong = PUScores.from_labels([1, 0], [0.0, 1.0])
    assert log_loss(wrong) == pytest.approx(52 * math.log(2))
    assert log_loss(wrong, clip=1e-3) == pytest.approx(-math.log(1e-3))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("score", SCORES)
def test_scores_are_unbiased(score, setting):
    values = [SCORES[score][0](draw(setting, seed, n=60)) for seed in range(400)]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert abs(np.mean(values) - truth(score)) < 4 * error


def test_pu_scores_may_be_negative():
    scores = PUScores([0.9, 0.99], [0.1, 0.05, 0.02], prior=0.5, setting="two-sample")
    assert brier(scores) < 0
    assert log_loss(scores) < 0
    assert brier_interval(scores).value == 0.0
    assert brier_interval(scores).raw == brier(scores)


@given(samples(settings=("labeled",)))
def test_pu_scores_are_labeled_scores_when_nothing_is_hidden(sample):
    labeled = sample.build()
    if sample.flags.all():
        return
    separate = PUScores(
        sample.score[sample.flags], sample.score, prior=labeled.prior, setting="two-sample"
    )
    one = PUScores.from_pu_labels(
        sample.flags, sample.score, prior=labeled.prior, setting="one-sample"
    )
    for scores in (separate, one):
        assert brier(scores) == pytest.approx(brier(labeled), abs=1e-12)
        assert log_loss(scores) == pytest.approx(log_loss(labeled), rel=1e-12, abs=1e-12)
        for score in SCORES:
            a, b = (decomposition(x, score=score, edges=EDGES) for x in (scores, labeled))
            for part in PARTS:
                assert getattr(a, part) == pytest.approx(getattr(b, part), rel=1e-9, abs=1e-9)


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a, b = sample.build(), sample.take(order).build()
    assert brier(a) == pytest.approx(brier(b), abs=1e-12)
    assert log_loss(a) == pytest.approx(log_loss(b), rel=1e-12, abs=1e-12)


@given(samples())
def test_a_row_twice_is_a_row_of_weight_two(sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    for function in (brier_interval, log_loss_interval):
        a, b = function(twice), function(weighted)
        # The variance of equal losses is zero up to rounding, and its square root is taken.
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-5)


def test_parts_with_weights():
    scores = draw("one-sample", 0)
    (u, *_), (p, *_) = scores.in_order()
    flags = np.concatenate([np.zeros(u.size), np.ones(p.size)])
    weighted = PUScores.from_pu_labels(
        flags,
        np.concatenate([u, p]),
        prior=scores.prior,
        setting="one-sample",
        sample_weight=np.full(flags.size, 0.3),
        weight_kind="importance",
    )
    for score in SCORES:
        for part in PARTS:
            options = {"score": score, "part": part, "edges": EDGES}
            a, b = (decomposition_interval(x, **options) for x in (scores, weighted))
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-9)


@given(samples())
def test_ranges(sample):
    scores = sample.build()
    prior = scores.prior
    low, high = (0, 1) if sample.setting == "labeled" else (-prior, 1 + prior)
    assert low - 1e-12 <= brier(scores) <= high + 1e-12
    if sample.setting == "labeled":
        assert log_loss(scores) >= 0


def murphy(y, s, edges):
    """Murphy's decomposition for labeled data, bin by bin."""
    inside = np.searchsorted(edges[1:-1], s)
    reliability = resolution = 0.0
    for b in np.unique(inside):
        here = inside == b
        reliability += here.mean() * (s[here].mean() - y[here].mean()) ** 2
        resolution += here.mean() * (y[here].mean() - y.mean()) ** 2
    return reliability, resolution, y.mean() * (1 - y.mean())


def within(y, s, edges):
    """The two extra components of Stephenson et al.: variance, minus twice the covariance."""
    inside = np.searchsorted(edges[1:-1], s)
    total = 0.0
    for b in np.unique(inside):
        here = inside == b
        total += here.mean() * s[here].var()
        total -= 2 * here.mean() * np.mean((s[here] - s[here].mean()) * (y[here] - y[here].mean()))
    return total


@given(samples(settings=("labeled",)))
def test_labeled_parts_by_hand(sample):
    parts = decomposition(sample.build(), edges=EDGES)
    expected = murphy(sample.flags, sample.score, EDGES)
    got = (parts.reliability, parts.resolution, parts.uncertainty)
    assert got == pytest.approx(expected, abs=1e-12)
    assert parts.remainder == pytest.approx(within(sample.flags, sample.score, EDGES), abs=1e-12)


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labeled_parts_are_those_of_probcal(kind):
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    y = ((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int)
    parts = decomposition(PUScores.from_labels(y, s), bins=REFERENCE["bins"])
    for part in ("reliability", "resolution", "uncertainty"):
        peer = REFERENCE["values"][kind][f"probcal murphy {part}"]
        assert getattr(parts, part) == pytest.approx(peer, abs=1e-12)


OPTIONS = st.fixed_dictionaries(
    {
        "score": st.sampled_from(["brier", "log"]),
        "bins": st.integers(1, 8),
        "binning": st.sampled_from(["width", "mass"]),
    }
)


@given(samples(), OPTIONS)
def test_parts_add_up(sample, options):
    scores = sample.build()
    options = options | {"bins": max(1, min(options["bins"], int(scores.n_marginal) // 2))}
    try:
        parts = decomposition(scores, **options)
    except ValueError as error:
        assert "contains positives but no marginal row" in str(error)  # noqa: PT017
        return
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.remainder
    assert parts.value == pytest.approx(total, abs=1e-12)
    assert parts.value == SCORES[options["score"]][0](scores)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= -1e-12
    assert parts.to_dict()["score"] == options["score"]
    if options["score"] == "brier":
        del options["score"]
        assert parts.reliability == pytest.approx(ece(scores, p=2, **options) ** 2, abs=1e-12)


def test_equal_scores_in_a_bin_leave_no_remainder():
    s = np.repeat([0.1, 0.4, 0.7], 10)
    y = np.random.default_rng(0).random(30) < s
    for score in SCORES:
        parts = decomposition(PUScores.from_labels(y, s), score=score, edges=[0, 0.2, 0.5, 1])
        assert parts.remainder == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("score", SCORES)
def test_score_intervals_cover(score, setting):
    target, trials, covered = truth(score), 200, 0
    for seed in range(trials):
        interval = SCORES[score][1](draw(setting, seed))
        covered += interval.low <= target <= interval.high
    low, high = binom.ppf([0.0005, 0.9995], trials, 0.95)
    assert low <= covered <= high


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("part", PARTS)
def test_part_intervals_cover(part, score, setting):
    target, trials, covered = true_parts(score)[part], 80, 0
    for seed in range(trials):
        scores = draw(setting, seed, n=800)
        interval = decomposition_interval(scores, part=part, score=score, edges=EDGES)
        covered += interval.low - 1e-12 <= target <= interval.high + 1e-12
        assert interval.low <= interval.value <= interval.high
    assert covered >= binom.ppf(0.0005, trials, 0.94)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("score", SCORES)
def test_reliability_intervals_cover_at_perfect_calibration(score, setting):
    target, trials, covered = true_parts(score, CALIBRATED)["reliability"], 60, 0
    for seed in range(trials):
        scores = draw(setting, seed, world=CALIBRATED, n=400)
        interval = decomposition_interval(scores, score=score, edges=EDGES)
        covered += interval.low <= target <= interval.high
    assert covered >= binom.ppf(0.0005, trials, 0.95)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_an_unknown_prior_widens_intervals_to_hold_for_each(setting):
    scores = draw(setting, 1, n=400)
    unsure = scores.with_prior(0.5, interval=(0.4, 0.55))
    sure = [scores.with_prior(prior) for prior in np.linspace(0.4, 0.55, 7)]

    def check(function, **options):
        wide = function(unsure, **options)
        narrow = [function(x, **options) for x in sure]
        assert wide.low <= min(x.low for x in narrow) + 1e-9
        assert wide.high >= max(x.high for x in narrow) - 1e-9
        assert "every prior in [0.4, 0.55]" in wide.method

    check(brier_interval)
    check(log_loss_interval)
    for score in SCORES:
        for part in PARTS:
            check(decomposition_interval, part=part, score=score, edges=EDGES)


def test_the_interval_of_a_linear_score_is_that_of_its_ends():
    scores = draw("two-sample", 2)
    unsure = brier_interval(scores.with_prior(0.5, interval=(0.4, 0.6)))
    ends = [brier_interval(scores.with_prior(prior)) for prior in (0.4, 0.6)]
    assert unsure.low == min(x.low for x in ends)
    assert unsure.high == max(x.high for x in ends)


@settings(max_examples=40)
@given(samples(), st.sampled_from(PARTS), st.sampled_from(["brier", "log"]))
def test_part_intervals_are_numbers(sample, part, score):
    scores = sample.build()
    try:
        interval = decomposition_interval(scores, part=part, score=score, edges=EDGES)
    except ValueError as error:
        assert "contains positives but no marginal row" in str(error)  # noqa: PT017
        return
    assert interval.low <= interval.value <= interval.high
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)


DEGENERATE = {
    "all equal": PUScores.from_labels([0, 1, 1, 0], [0.3] * 4),
    "zeros and ones": PUScores.from_labels([0, 1, 1, 0], [0, 1, 0, 1]),
    "right zeros and ones": PUScores.from_labels([0, 1, 1, 0], [0, 1, 1, 0]),
    "no positive": PUScores.from_labels([0, 0, 0], [0.1, 0.2, 0.3]),
    "only positives": PUScores.from_labels([1, 1, 1], [0.1, 0.2, 0.3]),
    "one row": PUScores.from_labels([1], [0.4]),
    "one positive": PUScores([0.3], [0.1, 0.5, 0.9], prior=0.3, setting="two-sample"),
    "one unlabeled": PUScores([0.3, 0.4], [0.5], prior=0.5, setting="two-sample"),
}


@pytest.mark.parametrize("scores", DEGENERATE.values(), ids=DEGENERATE)
def test_poor_data_has_a_value(scores):
    for score, (_, interval_of) in SCORES.items():
        intervals = [interval_of(scores)]
        intervals += [
            decomposition_interval(scores, part=part, score=score, bins=1) for part in PARTS
        ]
        for interval in intervals:
            assert interval.low <= interval.value <= interval.high
            assert math.isfinite(interval.high - interval.low)


def test_one_positive_determines_only_the_range():
    scores = DEGENERATE["one positive"]
    assert (brier_interval(scores).low, brier_interval(scores).high) == (0, 1)
    assert log_loss_interval(scores, clip=0.01).high == pytest.approx(-math.log(0.01))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: log_loss(x, clip=0), r"'clip' must be a small number in \(0, 0.5\).*got 0"),
        (lambda x: log_loss(x, clip="a"), "'clip' must be a small number.*got 'a'"),
        (lambda x: decomposition(x, score="l3"), "'score' must be 'brier' or 'log', got 'l3'"),
        (lambda x: decomposition_interval(x, part="rest"), "'part' must be .* got 'rest'"),
        (lambda x: brier_interval(x, level=0), "confidence level"),
        (
            lambda x: decomposition(x, bins=2, binning="width"),
            r"bin \(0.5, 1\] contains positives but no marginal row",
        ),
    ],
)
def test_bad_options(call, words):
    scores = PUScores([0.9, 0.95], [0.1, 0.2, 0.2, 0.1, 0.1], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=words):
        call(scores)


def test_frequencies_above_one_count_as_one_for_the_log_loss():
    scores = PUScores([0.9] * 3, [0.1, 0.2, 0.8], prior=0.5, setting="two-sample")
    parts = decomposition(scores, score="log", edges=[0, 0.5, 1])
    assert parts.reliability == pytest.approx(-math.log(0.8) / 3 - 2 * math.log(0.85) / 3)
    assert parts.resolution == pytest.approx(math.log(2))
    nowhere = PUScores([0.9] * 3, [0.1, 0.2, 0.3], prior=0.5, setting="two-sample")
    interval = decomposition_interval(nowhere, score="log", edges=[0, 0.5, 1])
    assert interval.value == pytest.approx(-math.log(0.8))


def test_a_population_is_rejected_with_a_message():
    scores = WORLD.draw(100, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must contain rows for this metric"):
        brier(scores)


@pytest.mark.parametrize(("setting", "passes"), [("labeled", 1), ("two-sample", 3)])
def test_an_interval_computes_each_mean_once(monkeypatch, setting, passes):
    # The two means; for PU rows, also those that guard against few positives, and the skewness.
    sample, counted, chunks = draw(setting, seed=0), [], PUScores.chunks
    monkeypatch.setattr(PUScores, "chunks", lambda self: counted.append(self) or chunks(self))
    brier_interval(sample)
    assert len(counted) == passes
