"""The debiased error: other libraries' values, exact variances, no bias in known worlds."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, foldnorm
from strategies import samples

from noneg import PUScores, ece, kernels
from noneg.bins import bin_scores
from noneg.calibration.errors import (
    debiased_ece,
    debiased_ece_interval,
    debiased_total,
    frequency_variance,
)
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())
WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}
EDGES = np.linspace(0, 1, 9)


def draw(world, setting, seed, n=150):
    if setting == "labelled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


def reference_sample(kind):
    """The samples of reference/make_errors.py."""
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    return PUScores.from_labels(((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int), s)


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labelled_errors_are_those_of_uncertainty_calibration(kind):
    scores, values = reference_sample(kind), REFERENCE["values"][kind]
    options = {"bins": REFERENCE["bins"]}
    square = debiased_total(scores, norm="l2", **options)
    root = debiased_ece(scores, norm="l2", **options)
    assert square == pytest.approx(values["uncertainty-calibration unbiased_square_ce"], abs=1e-12)
    for name in ("unbiased_l2_ce", "lower_bound_scaling_ce"):
        assert root == pytest.approx(values[f"uncertainty-calibration {name}"], abs=1e-12)
    # Theirs is a mean over random draws.
    assert debiased_ece(scores, **options) == pytest.approx(
        values["uncertainty-calibration normal_debiased_ce"], abs=2e-4
    )


def by_hand(sample, scores, norm):
    """Labelled data, bin by bin, as Kumar, Liang & Ma write it."""
    inside = np.searchsorted(EDGES[1:-1], sample.score)
    total = 0.0
    for b in range(EDGES.size - 1):
        y, s = sample.flags[inside == b], sample.score[inside == b]
        if y.size == 0:
            continue
        gap = y.mean() - s.mean()
        variance = y.mean() * (1 - y.mean()) / (y.size - 1) if y.size > 1 else 0.0
        if norm == "l2":
            term = gap**2 - variance if y.size > 1 else 0.0
        else:
            sd = math.sqrt(variance)
            noisy = foldnorm(abs(gap) / sd, scale=sd).mean() if sd > 0 else abs(gap)
            term = abs(gap) - (noisy - abs(gap))
        total += y.size / scores.n_marginal * term
    return total


@given(samples(settings=("labelled",)), st.sampled_from(["l1", "l2"]))
def test_labelled_errors_by_hand(sample, norm):
    scores = sample.build()
    expected = by_hand(sample, scores, norm)
    assert debiased_total(scores, norm=norm, edges=EDGES) == pytest.approx(expected, abs=1e-9)
    floored = max(0.0, expected) ** (1 if norm == "l1" else 0.5)
    assert debiased_ece(scores, norm=norm, edges=EDGES) == pytest.approx(floored, abs=1e-7)


@given(samples(settings=("two-sample", "one-sample")))
def test_pu_variance_by_hand(sample):
    scores = sample.build()
    binned = bin_scores(scores, edges=EDGES)
    n_p, n, prior = scores.n_positive, scores.n_marginal, scores.prior
    p, m = binned.positive, binned.marginal
    y = np.divide(prior * p, m, out=np.zeros_like(p), where=m > 0)
    positive = prior**2 * p * (1 - p) / max(n_p - 1, 1)
    if sample.setting == "one-sample":
        positive *= 1 - 2 * y * n_p / (n * prior)
    expected = positive + y**2 * m * (1 - m) / max(n - 1, 1)
    np.testing.assert_allclose(frequency_variance(binned), expected, atol=1e-9)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
def test_variance_matches_the_spread_of_repeated_draws(setting):
    world, trials = WORLDS["less"], 600
    law = bin_scores(world.draw(math.inf, math.inf, setting="two-sample", seed=0), edges=EDGES)
    values, claimed = [], []
    for seed in range(trials):
        binned = bin_scores(draw(world, setting, seed), edges=EDGES)
        values.append(binned.prior * binned.positive - law.frequency * binned.marginal)
        claimed.append(frequency_variance(binned))
    ratio = np.var(values, axis=0, ddof=1) / np.mean(claimed, axis=0)
    assert (np.abs(ratio - 1) < 5 * math.sqrt(2 / (trials - 1))).all()


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_square_is_unbiased(name, setting):
    world, trials = WORLDS[name], 400
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    truth = ece(law, edges=EDGES, p=2) ** 2
    drawn = [draw(world, setting, seed) for seed in range(trials)]
    totals = [debiased_total(scores, norm="l2", edges=EDGES) for scores in drawn]
    error = np.std(totals, ddof=1) / math.sqrt(trials)
    assert abs(np.mean(totals) - truth) < 4 * error
    assert np.mean([ece(scores, edges=EDGES, p=2) ** 2 for scores in drawn]) > truth + 4 * error


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_absolute_error_loses_much_of_its_bias(name, setting):
    world = WORLDS[name]
    truth = world.binned_tce(EDGES)
    drawn = [draw(world, setting, seed) for seed in range(200)]
    values = [debiased_total(scores, edges=EDGES) for scores in drawn]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    plain = np.mean([ece(scores, edges=EDGES) for scores in drawn]) - truth
    assert abs(np.mean(values) - truth) < 0.6 * plain + 3 * error


OPTIONS = st.fixed_dictionaries(
    {
        "norm": st.sampled_from(["l1", "l2"]),
        "bins": st.integers(1, 12),
        "binning": st.sampled_from(["width", "mass"]),
    }
)


def error_or_words(scores, options):
    options = options | {"bins": max(1, min(options["bins"], int(scores.n_marginal) // 2))}
    try:
        return debiased_ece(scores, **options)
    except ValueError as error:
        assert "holds positives but no marginal row" in str(error)  # noqa: PT017
        return None


@given(samples(), OPTIONS, st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, options, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a = error_or_words(sample.build(), options)
    assert a == pytest.approx(error_or_words(sample.take(order).build(), options), abs=1e-7)


@given(samples(), OPTIONS)
def test_a_row_twice_is_a_row_of_weight_two(sample, options):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a = error_or_words(twice, options)
    assert a == pytest.approx(error_or_words(weighted, options), abs=1e-7)


@given(samples(), OPTIONS, st.floats(0.1, 10.0))
def test_importance_weights_have_no_scale(sample, options, scale):
    w = np.random.default_rng(0).random(sample.score.size) + 0.1
    options = options | {"edges": EDGES}
    a = sample.build(sample_weight=w, weight_kind="importance")
    b = sample.build(sample_weight=scale * w, weight_kind="importance")
    assert error_or_words(a, options) == pytest.approx(error_or_words(b, options), abs=1e-7)


@given(samples(), OPTIONS)
def test_it_is_at_most_the_plain_error(sample, options):
    scores = sample.build()
    value = error_or_words(scores, options)
    if value is not None:
        options = options | {"bins": max(1, min(options["bins"], int(scores.n_marginal) // 2))}
        norm = options.pop("norm")
        assert 0 <= value <= ece(scores, p=1 if norm == "l1" else 2, **options) + 1e-12


def test_settings_differ_by_what_they_know_when_nothing_is_hidden():
    """The error is the same; its noise is that of another way to collect the same rows."""
    s, y = WORLDS["less"].draw_rows(40_000, seed=1)
    labelled = PUScores.from_labels(y, s)
    prior = labelled.prior
    one = PUScores.from_pu_labels(y, s, prior=prior, setting="one-sample")
    two = PUScores(s[y == 1], s, prior=prior, setting="two-sample")
    binned = {scores.setting: bin_scores(scores, bins=200) for scores in (labelled, one, two)}
    variance = {name: frequency_variance(b) for name, b in binned.items()}
    freq = binned["labelled"].frequency
    inner = (freq > 0.05) & (freq < 0.95)
    # Beside what is left of order 1 / bins: a known prior tells nothing of one narrow bin, and a
    # second sample makes the masses of both laws vary on their own.
    base = variance["labelled"][inner]
    np.testing.assert_allclose(variance["one-sample"][inner], base, rtol=0.12)
    factor = (1 + freq[inner]) / (1 - freq[inner])
    np.testing.assert_allclose(variance["two-sample"][inner], base * factor, rtol=0.05)


def test_infinite_samples_need_no_correction():
    law = WORLDS["less"].draw(math.inf, math.inf, setting="two-sample", seed=0)
    for norm, p in (("l1", 1), ("l2", 2)):
        plain = ece(law, bins=12, binning="width", p=p)
        got = debiased_ece(law, norm=norm, bins=12, binning="width")
        assert got == pytest.approx(plain, abs=1e-14)


@settings(max_examples=30)
@given(samples(max_size=40), st.sampled_from(["l1", "l2"]))
def test_numba_rows_answer_like_numpy_rows(sample, norm):
    plain = debiased_ece(sample.build(), norm=norm)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        patch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
        assert debiased_ece(sample.build(), norm=norm) == pytest.approx(plain, abs=1e-7)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
def test_the_interval_covers(setting, norm):
    world, trials, covered = WORLDS["calibrated"], 60, 0
    for seed in range(trials):
        interval = debiased_ece_interval(draw(world, setting, seed), norm=norm, edges=EDGES)
        covered += interval.low <= 0.0 <= interval.high
        assert interval.low <= interval.value <= interval.high
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples(), st.sampled_from(["l1", "l2"]))
def test_the_interval_holds_the_estimate(sample, norm):
    scores = sample.build()
    try:
        interval = debiased_ece_interval(scores, norm=norm)
    except ValueError:
        assert norm == "l2"
        return
    assert 0 <= interval.low <= interval.value <= interval.high + 1e-12
    assert interval.value == debiased_ece(scores, norm=norm)


def test_an_unknown_prior_widens_the_interval():
    scores = draw(WORLDS["less"], "two-sample", 0)
    sure = debiased_ece_interval(scores)
    unsure = debiased_ece_interval(scores.with_prior(0.5, interval=(0.4, 0.6)))
    assert unsure.low <= sure.low
    assert unsure.high > sure.high
    assert "every prior in [0.4, 0.6]" in unsure.method


DEGENERATE = {
    "all equal": PUScores.from_labels([0, 1, 1, 0], [0.3] * 4),
    "zeros and ones": PUScores.from_labels([0, 1, 1, 0], [0, 1, 0, 1]),
    "right zeros and ones": PUScores.from_labels([0, 1, 1, 0], [0, 1, 1, 0]),
    "no positive": PUScores.from_labels([0, 0, 0], [0.1, 0.2, 0.3]),
    "one row": PUScores.from_labels([1], [0.4]),
    "one positive": PUScores([0.7], [0.1, 0.5, 0.9], prior=0.5, setting="two-sample"),
    "one unlabeled": PUScores([0.7, 0.8], [0.5], prior=0.5, setting="two-sample"),
    "one of each": PUScores([0.7], [0.5], prior=0.5, setting="one-sample"),
}


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("scores", DEGENERATE.values(), ids=DEGENERATE)
def test_poor_data_has_a_value(scores, norm):
    interval = debiased_ece_interval(scores, norm=norm)
    assert 0 <= interval.low <= interval.value <= interval.high
    assert math.isfinite(interval.high)


def test_bins_of_one_row():
    scores = PUScores.from_labels([1, 0], [0.8, 0.4])
    edges = [0, 0.5, 1]
    assert debiased_total(scores, norm="l2", edges=edges) == 0
    assert debiased_ece(scores, edges=edges) == pytest.approx(ece(scores, edges=edges))


def test_bad_options():
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=r"'norm' must be 'l1' .* got 'l3'"):
        debiased_ece(scores, norm="l3")
    with pytest.raises(ValueError, match=r"'norm' must be 'l1' here.*bin \(0.5, 1\]"):
        debiased_ece(scores, norm="l2", bins=2, binning="width")
    with pytest.raises(ValueError, match="confidence level"):
        debiased_ece_interval(scores, level=2)
