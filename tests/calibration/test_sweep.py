"""The sweep: its definition row by row, the authors' values, and data that never stops it."""

import json
import math
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import samples

from noneg import PUScores, ece, kernels
from noneg.calibration import errors
from noneg.calibration.errors import sweep_ece, sweep_ece_interval, sweep_edges
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())
WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)


def draw(setting, seed, n=200, world=WORLD):
    if setting == "labelled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labelled_error_is_that_of_the_authors(kind):
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    y = ((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int)
    scores, values = PUScores.from_labels(y, s), REFERENCE["values"][kind]
    edges = sweep_edges(scores)
    assert edges.size - 1 == values["caltrain number of bins"]
    assert sweep_ece(scores) == pytest.approx(values["caltrain em_ece_sweep, norm 1"], abs=1e-12)
    assert ece(scores, edges=edges, p=2) == pytest.approx(
        values["caltrain em_ece_sweep, norm 2"], abs=1e-12
    )


def bins_by_definition(marginal, n_bins):
    """Row i of n is in bin floor(i B / n), and so are the rows of the same score after it."""
    n = len(marginal)
    bins, scores = [], sorted(marginal)
    for i, s in enumerate(scores):
        tie = i > 0 and s == scores[i - 1]
        bins.append(bins[-1] if tie else i * n_bins // n)
    return scores, bins


def by_definition(sample, prior):
    """Return the number of bins and the error, from rows alone."""
    positive = sample.score[sample.flags].tolist()
    marginal = sample.score[~sample.flags] if sample.setting == "two-sample" else sample.score
    marginal = marginal.tolist()

    def rates_and_error(n_bins):
        scores, bins = bins_by_definition(marginal, n_bins)
        a, w, total = [0] * n_bins, [0] * n_bins, [0.0] * n_bins
        for s, b in zip(scores, bins, strict=True):
            w[b] += 1
            total[b] += s
        for s in positive:
            above = [b for t, b in zip(scores, bins, strict=True) if t >= s]
            a[above[0] if above else n_bins - 1] += 1
        rates = [Fraction(a[b], w[b]) if w[b] else math.inf for b in range(n_bins) if a[b] or w[b]]
        error = sum(
            abs(prior * a[b] / len(positive) - total[b] / len(marginal)) for b in range(n_bins)
        )
        return rates, error

    best = 1
    for n_bins in range(2, len(marginal)):
        rates, _ = rates_and_error(n_bins)
        if any(x > y for x, y in pairwise(rates)):
            break
        best = n_bins
    return best, rates_and_error(best)[1]


@settings(max_examples=200)
@given(st.one_of(samples(max_size=40), samples(max_size=8)))
def test_the_definition_row_by_row(sample):
    scores = sample.build()
    n_bins, error = by_definition(sample, scores.prior)
    assert errors._sweep(errors._Rows.of(scores)) == n_bins
    assert sweep_ece(scores) == pytest.approx(error, abs=1e-12)


@st.composite
def separated(draw_, max_size=60):
    """Labels that rise with the score, but for a few."""
    sample = draw_(samples(max_size=max_size))
    cut = draw_(st.floats(0, 1))
    flags = sample.score > cut
    for i in draw_(st.lists(st.integers(0, sample.score.size - 1), max_size=3)):
        flags[i] = ~flags[i]
    flags[0], flags[1] = True, False
    lowest = flags.mean() + 1e-6 if sample.setting == "one-sample" else sample.prior
    return type(sample)(sample.setting, flags, sample.score, min(0.99999, max(lowest, 0.01)))


@settings(max_examples=150)
@given(st.one_of(separated(), samples()), st.sampled_from([1, 7, 1000]))
def test_looking_where_rows_are_out_of_order_is_enough(sample, at_once):
    scores = sample.build()
    rows = errors._Rows.of(scores)
    most = max(1, int(rows.n) - 1)
    n_bins = next((b for b in range(1, most) if not rows.rises(b + 1)), most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "AT_ONCE", at_once)
        assert errors._sweep_descents(rows.ties, 1, most) == n_bins
        patch.setattr(errors, "ALL_BINS", 1)
        assert errors._sweep(rows) == n_bins


def test_rows_out_of_order_may_never_show():
    rows = errors._Rows.of(PUScores.from_labels([1, 0, 1], [0.1, 0.2, 0.3]))
    assert rows.ties.descents.tolist() == [1]
    assert errors._sweep_descents(rows.ties, 1, 2) == errors._sweep(rows) == 2


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a, b = sample.build(), sample.take(order).build()
    assert np.array_equal(sweep_edges(a), sweep_edges(b))
    assert sweep_ece(a) == pytest.approx(sweep_ece(b), abs=1e-12)


@given(samples(), st.lists(st.integers(1, 3), min_size=60, max_size=60))
def test_rows_repeated_are_rows_with_weights(sample, counts):
    weight = np.array(counts[: sample.score.size])
    try:
        repeated = sample.take(np.repeat(np.arange(sample.score.size), weight)).build()
    except ValueError:
        return
    weighted = sample.build(sample_weight=weight)
    assert np.array_equal(sweep_edges(repeated), sweep_edges(weighted))
    assert sweep_ece(repeated) == pytest.approx(sweep_ece(weighted), abs=1e-12)


@given(samples())
def test_equal_importance_weights_change_nothing(sample):
    w = np.full(sample.score.size, 0.1)
    weighted = sample.build(sample_weight=w, weight_kind="importance")
    assert np.array_equal(sweep_edges(weighted), sweep_edges(sample.build()))


@given(samples(), st.integers(0, 5))
def test_importance_weights_give_bins_that_rise(sample, seed):
    w = np.random.default_rng(seed).random(sample.score.size) + 0.1
    scores = sample.build(sample_weight=w, weight_kind="importance")
    rows = errors._Rows.of(scores)
    n_bins = errors._sweep(rows)
    assert n_bins == 1 or rows.rises(n_bins)
    assert sweep_ece(scores) >= 0
    assert sweep_edges(scores).size <= n_bins + 1


@given(samples(settings=("labelled",)))
def test_pu_error_is_the_labelled_error_when_nothing_is_hidden(sample):
    labelled = sample.build()
    if not sample.flags.all():
        separate = PUScores(
            sample.score[sample.flags], sample.score, prior=labelled.prior, setting="two-sample"
        )
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labelled.prior, setting="one-sample"
        )
        for scores in (separate, one):
            assert sweep_ece(scores) == pytest.approx(sweep_ece(labelled), abs=1e-12)


@given(samples(settings=("two-sample",)), st.floats(0.01, 0.99))
def test_the_bins_do_not_depend_on_the_prior(sample, prior):
    scores = sample.build()
    assert np.array_equal(sweep_edges(scores), sweep_edges(scores.with_prior(prior)))


@settings(max_examples=30)
@given(samples(max_size=40))
def test_numba_rows_answer_like_numpy_rows(sample):
    plain = sample.build()
    edges, error = sweep_edges(plain), sweep_ece(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        patch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
        fast = sample.build()
        assert np.array_equal(sweep_edges(fast), edges)
        assert sweep_ece(fast) == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
def test_more_rows_bring_more_bins_and_the_truth(setting):
    few = [sweep_edges(draw(setting, seed, 100)).size for seed in range(10)]
    many = [draw(setting, seed, 10_000) for seed in range(10)]
    assert np.mean([sweep_edges(scores).size for scores in many]) > np.mean(few)
    errors = [sweep_ece(scores) for scores in many]
    spread = np.std(errors, ddof=1) / math.sqrt(len(errors))
    # A bias of the size of the noise in the bins is left.
    assert abs(np.mean(errors) - WORLD.tce()) < 4 * spread + 0.005


def test_data_in_perfect_order_takes_as_many_bins_as_there_are():
    n = 200_000
    s = np.random.default_rng(0).random(n)
    start = time.perf_counter()
    perfect = sweep_edges(PUScores.from_labels(s > 0.5, s))
    spoilt = s > 0.5
    spoilt[np.argsort(s)[n // 2 - 9 : n // 2 + 9 : 3]] ^= True
    nearly = sweep_edges(PUScores.from_labels(spoilt, s))
    assert time.perf_counter() - start < 10
    assert perfect.size == n
    assert errors.ALL_BINS < nearly.size < n


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
def test_the_interval_covers(setting):
    calibrated, trials, covered = LogisticGaussian(beta0=0.0, beta1=2.0), 60, 0
    for seed in range(trials):
        interval = sweep_ece_interval(draw(setting, seed, world=calibrated))
        covered += interval.low <= 0.0 <= interval.high
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples())
def test_the_interval_holds_the_estimate(sample):
    scores = sample.build()
    interval = sweep_ece_interval(scores)
    assert 0 <= interval.low <= interval.value + 1e-12
    assert interval.value <= interval.high + 1e-12
    assert interval.value == sweep_ece(scores)


def test_the_interval_of_very_many_bins_uses_fewer():
    s = np.random.default_rng(0).random(2000)
    scores = PUScores.from_labels(s > 0.5, s)
    full = sweep_ece_interval(scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "INTERVAL_BINS", 64)
        quick = sweep_ece_interval(scores)
    assert quick.value == full.value
    assert quick.low <= quick.value <= quick.high
    assert quick.high == pytest.approx(full.high, abs=0.02)


def test_an_unknown_prior_widens_the_interval():
    scores = draw("two-sample", 0)
    sure = sweep_ece_interval(scores)
    unsure = sweep_ece_interval(scores.with_prior(0.5, interval=(0.4, 0.6)))
    assert unsure.low <= sure.low
    assert unsure.high > sure.high
    assert "every prior in [0.4, 0.6]" in unsure.method


DEGENERATE = {
    "all equal": (PUScores.from_labels([0, 1, 1, 0], [0.3] * 4), 2),
    "zeros and ones": (PUScores.from_labels([0, 1, 1, 0], [0, 1, 0, 1]), 2),
    "wrong zeros and ones": (PUScores.from_labels([0, 1, 1, 0], [1, 0, 0, 1]), 1),
    "no positive": (PUScores.from_labels([0, 0, 0], [0.1, 0.2, 0.3]), 2),
    "only positives": (PUScores.from_labels([1, 1, 1], [0.1, 0.2, 0.3]), 2),
    "one row": (PUScores.from_labels([1], [0.4]), 1),
    "one positive": (PUScores([0.7], [0.1, 0.5, 0.9], prior=0.5, setting="two-sample"), 2),
    "a positive above all": (PUScores([1], [0.1, 0.5, 0.9], prior=0.5, setting="two-sample"), 2),
    "above a tie": (PUScores([1], [0.1, 0.9, 0.9], prior=0.5, setting="two-sample"), 2),
    "one unlabeled": (PUScores([0.7, 0.8], [0.5], prior=0.5, setting="two-sample"), 1),
}


@pytest.mark.parametrize(("scores", "n_bins"), DEGENERATE.values(), ids=DEGENERATE)
def test_poor_data_has_a_value(scores, n_bins):
    assert sweep_edges(scores).size - 1 == n_bins
    interval = sweep_ece_interval(scores)
    assert 0 <= interval.low <= interval.value <= interval.high < math.inf


def test_scores_of_zero_can_be_a_bin():
    scores = PUScores.from_labels([0, 1, 0, 1, 1, 0], [0, 0, 0, 0.9, 0.9, 0.9])
    assert sweep_edges(scores).tolist() == [0, 0, 0.9, 1]
    assert sweep_ece(scores) == pytest.approx(1 / 6 + 0.7 / 6)


def test_a_population_is_refused_in_words():
    scores = WORLD.draw(math.inf, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must hold rows for this metric"):
        sweep_ece(scores)
