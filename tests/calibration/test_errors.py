"""Binned errors: outside references, exact variances, and required properties.

The debiased error is unbiased in known populations; the sweep is compared with its definition.
"""

import json
import math
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom, foldnorm
from sklearn.calibration import calibration_curve
from strategies import samples

from noneg import PUScores, ece, kernels
from noneg.bins import bin_scores
from noneg.calibration import ece_by_prior, errors
from noneg.calibration.errors import (
    debiased_ece,
    debiased_ece_interval,
    debiased_total,
    frequency_variance,
    sweep_ece,
    sweep_ece_interval,
    sweep_edges,
)
from noneg.simulation import LogisticGaussian

PEERS = json.loads((Path(__file__).parents[1] / "reference" / "peers.json").read_text())


def peers_sample():
    """The sample from reference/make_peers.py."""
    i = np.arange(1, PEERS["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    return PUScores.from_labels(((i * 0.7548776662466927) % 1.0 < s**1.5).astype(int), s)


@pytest.mark.parametrize(
    ("peer", "options"),
    [
        ("netcal ECE, 15 equal widths", {"binning": "width"}),
        ("relplot binnedECE, 15 equal widths", {"binning": "width"}),
        ("torchmetrics binary_calibration_error, l1", {"binning": "width", "p": 1}),
        ("torchmetrics binary_calibration_error, l2", {"binning": "width", "p": 2}),
        ("torchmetrics binary_calibration_error, max", {"binning": "width", "p": math.inf}),
        ("uncertainty-calibration plugin_ce power 1, 15 equal masses", {"p": 1}),
        ("uncertainty-calibration plugin_ce power 2, 15 equal masses", {"p": 2}),
    ],
)
def test_labeled_error_is_that_of_other_libraries(peer, options):
    assert ece(peers_sample(), bins=PEERS["bins"], **options) == pytest.approx(
        PEERS["values"][peer], abs=1e-12
    )


@given(st.integers(0, 100), st.integers(1, 20))
def test_labeled_error_from_scikit_learn_curve(seed, n_bins):
    rng = np.random.default_rng(seed)
    s = rng.random(200)
    y = (rng.random(200) < s**2).astype(int)
    true, predicted = calibration_curve(y, s, n_bins=n_bins)
    share = np.histogram(s, bins=n_bins, range=(0, 1))[0] / s.size
    expected = (share[share > 0] * np.abs(true - predicted)).sum()
    got = ece(PUScores.from_labels(y, s), bins=n_bins, binning="width")
    assert got == pytest.approx(expected, abs=1e-12)


OPTIONS = st.fixed_dictionaries(
    {
        "bins": st.integers(1, 20),
        "binning": st.sampled_from(["width", "mass"]),
        "p": st.sampled_from([1, 1.5, 2, math.inf]),
    }
)


def fitting(options, n):
    """The same options, with no more mass bins than n rows allow."""
    return options | {"bins": max(1, min(options["bins"], int(n) // 2))}


@given(samples(settings=("labeled",)), OPTIONS)
def test_pu_error_is_the_labeled_error_when_nothing_is_hidden(sample, options):
    labeled = sample.build()
    positive = sample.score[sample.flags]
    options = fitting(options, labeled.n_marginal)
    if not sample.flags.all():
        separate = PUScores(positive, sample.score, prior=labeled.prior, setting="two-sample")
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labeled.prior, setting="one-sample"
        )
        expected = ece(labeled, **options)
        assert ece(separate, **options) == pytest.approx(expected, abs=1e-12)
        assert ece(one, **options) == pytest.approx(expected, abs=1e-12)


@given(samples(settings=("two-sample", "one-sample")), st.floats(0.01, 0.99), OPTIONS)
def test_a_wrong_prior_moves_the_error_by_no_more_than_itself(sample, other, options):
    """PU-ECE paper, Theorem 2."""
    scores = sample.build()
    if sample.setting == "one-sample":
        other = max(other, sample.flags.mean() + 1e-6)
        other = min(other, 1 - 1e-6)
    options = fitting(options, scores.n_marginal) | {"p": 1}
    gap = abs(ece(scores, **options) - ece(scores.with_prior(other), **options))
    assert gap <= abs(scores.prior - other) + 1e-12


@given(samples(), OPTIONS)
def test_norms_are_ordered_and_in_range(sample, options):
    scores = sample.build()
    options = fitting(options, scores.n_marginal)
    try:
        errors = [ece(scores, **options | {"p": p}) for p in (1, 1.5, 2, 10, math.inf)]
    except ValueError as error:
        assert "contains positives but no marginal row" in str(error)  # noqa: PT017
        return
    assert all(a <= b + 1e-12 for a, b in pairwise(errors))
    mean = bin_scores(scores, bins=1).score[0]
    assert abs(scores.prior - mean) - 1e-12 <= errors[0] <= scores.prior + mean + 1e-12


@given(samples(), st.integers(1, 10))
def test_merging_bins_never_raises_the_error(sample, factor):
    scores = sample.build()
    fine = bin_scores(scores, bins=factor * 3, binning="width")
    coarse = np.abs(fine.residual.reshape(3, factor).sum(axis=1)).sum()
    assert ece(scores, bins=3, binning="width") == pytest.approx(coarse, abs=1e-12)
    assert coarse <= ece(scores, bins=factor * 3, binning="width") + 1e-12


@given(samples(), st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_prior_curve_is_the_error_at_every_prior(sample, n_bins, binning):
    scores = sample.build()
    binned = bin_scores(
        scores, bins=max(1, min(n_bins, int(scores.n_marginal) // 2)), binning=binning
    )
    curve = ece_by_prior(scores, edges=binned.edges)
    for prior in (0.0, 0.05, scores.prior, 0.5, 1.0, *curve.prior[:5]):
        direct = np.abs(prior * binned.positive - binned.score).sum()
        assert float(curve(prior)) == pytest.approx(direct, abs=1e-12)
    low, high = curve.range(0.2, 0.7)
    grid = curve(np.linspace(0.2, 0.7, 101))
    assert low <= grid.min() + 1e-12
    assert high >= grid.max() - 1e-12
    assert (low, high) == pytest.approx((min(grid.min(), low), max(grid.max(), high)))
    assert float(curve(curve.best)) == pytest.approx(curve.error.min())


def test_frozen_edges_give_the_same_error():
    scores = LogisticGaussian(beta0=-0.5, beta1=1.5).draw(200, 900, setting="one-sample", seed=2)
    edges = bin_scores(scores, bins=9).edges
    assert ece(scores, edges=edges) == ece(scores, bins=9)


def test_infinite_samples_give_the_true_error():
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    scores = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    for binning in ("width", "mass"):
        binned = bin_scores(scores, bins=12, binning=binning)
        assert ece(scores, bins=12, binning=binning) == pytest.approx(
            world.binned_tce(binned.edges), abs=1e-9
        )


@pytest.mark.parametrize("n_positive", [300, math.inf])
@pytest.mark.parametrize("n_unlabeled", [3000, math.inf])
def test_the_error_converges_from_above(n_positive, n_unlabeled):
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    edges = np.linspace(0, 1, 11)
    errors = [
        ece(world.draw(n_positive, n_unlabeled, setting="two-sample", seed=seed), edges=edges)
        for seed in range(30)
    ]
    mean, error = np.mean(errors), np.std(errors, ddof=1) / math.sqrt(30)
    assert mean > world.binned_tce(edges) - 4 * error - 1e-9


@pytest.mark.parametrize("p", [0.5, 0, -1, "a", math.nan], ids=str)
def test_bad_norms(p):
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=r"'p' must be the order of a norm"):
        ece(scores, p=p)


def test_a_higher_norm_needs_marginal_rows_where_positives_are():
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    assert ece(scores, bins=2, binning="width") == pytest.approx(0.5 + 0.15)
    with pytest.raises(ValueError, match=r"bin \(0.5, 1\] contains positives but no marginal row"):
        ece(scores, bins=2, binning="width", p=2)


def test_the_bin_that_is_named_is_the_one_with_positives():
    """Empty bins before it are not a problem."""
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=r"got 2.0: bin \(0.8, 1\] contains positives"):
        ece(scores, bins=5, binning="width", p=2)


@pytest.mark.parametrize("p", [2, 7, math.inf])
def test_powers_of_tiny_gaps_do_not_vanish(p):
    scores = PUScores.from_labels([0, 0, 0], [1e-200] * 3)
    assert ece(scores, bins=1, p=p) == pytest.approx(1e-200, rel=1e-12)


SCORES = LogisticGaussian(beta0=-0.5, beta1=1.5).draw(80, 400, setting="two-sample", seed=1)


@pytest.mark.parametrize("options", [{}, {"bins": 7}, {"bins": 4, "binning": "width"}], ids=str)
def test_the_curve_has_the_bins_that_are_asked_for(options):
    assert float(ece_by_prior(SCORES, **options)(SCORES.prior)) == pytest.approx(
        ece(SCORES, **options), abs=1e-12
    )


def test_frozen_edges_win():
    edges = [0.0, 0.3, 1.0]
    assert float(ece_by_prior(SCORES, edges=edges)(SCORES.prior)) == pytest.approx(
        ece(SCORES, edges=edges), abs=1e-12
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.6, 0.8), (0.1, 0.2), (0.3, 0.9)])
def test_the_range_is_that_of_a_fine_grid(low, high):
    curve = ece_by_prior(SCORES, bins=6)
    inside = curve.prior[(curve.prior >= low) & (curve.prior <= high)]
    grid = curve(np.concatenate([np.linspace(low, high, 5001), inside]))
    assert curve.range(low, high) == pytest.approx((grid.min(), grid.max()), abs=1e-12)


def test_priors_of_the_curve_rise_from_zero_to_one():
    """A bin whose scores outweigh its positives would turn at a prior above one, which is
    impossible."""
    scores = PUScores([0.9, 0.1], [0.8, 0.9, 0.95], prior=0.4, setting="two-sample")
    curve = ece_by_prior(scores, bins=2, binning="width")
    assert curve.prior[0] == 0.0
    assert curve.prior[-1] == 1.0
    assert (np.diff(curve.prior) > 0.0).all()
    assert curve([0, 1]).tolist() == [curve(0), curve(1)]
    np.testing.assert_allclose(curve(1), abs(0.5) + abs(0.5 - 2.65 / 3))


REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())


WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}


EDGES = np.linspace(0, 1, 9)


def draw(world, setting, seed, n=150):
    if setting == "labeled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


def reference_sample(kind):
    """The samples from reference/make_errors.py."""
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    return PUScores.from_labels(((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int), s)


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labeled_errors_are_those_of_uncertainty_calibration(kind):
    scores, values = reference_sample(kind), REFERENCE["values"][kind]
    options = {"bins": REFERENCE["bins"]}
    square = debiased_total(scores, norm="l2", **options)
    root = debiased_ece(scores, norm="l2", **options)
    assert square == pytest.approx(values["uncertainty-calibration unbiased_square_ce"], abs=1e-12)
    for name in ("unbiased_l2_ce", "lower_bound_scaling_ce"):
        assert root == pytest.approx(values[f"uncertainty-calibration {name}"], abs=1e-12)
    # Their value is a mean over random draws.
    assert debiased_ece(scores, **options) == pytest.approx(
        values["uncertainty-calibration normal_debiased_ce"], abs=2e-4
    )


def by_hand(sample, scores, norm):
    """Labeled data, bin by bin, as in Kumar, Liang & Ma."""
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


@given(samples(settings=("labeled",)), st.sampled_from(["l1", "l2"]))
def test_labeled_errors_by_hand(sample, norm):
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_absolute_error_loses_much_of_its_bias(name, setting):
    world = WORLDS[name]
    truth = world.binned_tce(EDGES)
    drawn = [draw(world, setting, seed) for seed in range(200)]
    values = [debiased_total(scores, edges=EDGES) for scores in drawn]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    plain = np.mean([ece(scores, edges=EDGES) for scores in drawn]) - truth
    assert abs(np.mean(values) - truth) < 0.6 * plain + 3 * error


DEBIASED_OPTIONS = st.fixed_dictionaries(
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
        assert "contains positives but no marginal row" in str(error)  # noqa: PT017
        return None


@given(samples(), DEBIASED_OPTIONS, st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, options, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a = error_or_words(sample.build(), options)
    assert a == pytest.approx(error_or_words(sample.take(order).build(), options), abs=1e-7)


@given(samples(), DEBIASED_OPTIONS)
def test_a_row_twice_is_a_row_of_weight_two(sample, options):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a = error_or_words(twice, options)
    assert a == pytest.approx(error_or_words(weighted, options), abs=1e-7)


@given(samples(), DEBIASED_OPTIONS, st.floats(0.1, 10.0))
def test_importance_weights_have_no_scale(sample, options, scale):
    w = np.random.default_rng(0).random(sample.score.size) + 0.1
    options = options | {"edges": EDGES}
    a = sample.build(sample_weight=w, weight_kind="importance")
    b = sample.build(sample_weight=scale * w, weight_kind="importance")
    assert error_or_words(a, options) == pytest.approx(error_or_words(b, options), abs=1e-7)


@given(samples(), DEBIASED_OPTIONS)
def test_it_is_at_most_the_plain_error(sample, options):
    scores = sample.build()
    value = error_or_words(scores, options)
    if value is not None:
        options = options | {"bins": max(1, min(options["bins"], int(scores.n_marginal) // 2))}
        norm = options.pop("norm")
        assert 0 <= value <= ece(scores, p=1 if norm == "l1" else 2, **options) + 1e-12


def test_settings_differ_by_what_they_know_when_nothing_is_hidden():
    """The error is the same, but its noise depends on how the same rows were collected."""
    s, y = WORLDS["less"].draw_rows(40_000, seed=1)
    labeled = PUScores.from_labels(y, s)
    prior = labeled.prior
    one = PUScores.from_pu_labels(y, s, prior=prior, setting="one-sample")
    two = PUScores(s[y == 1], s, prior=prior, setting="two-sample")
    binned = {scores.setting: bin_scores(scores, bins=200) for scores in (labeled, one, two)}
    variance = {name: frequency_variance(b) for name, b in binned.items()}
    freq = binned["labeled"].frequency
    inner = (freq > 0.05) & (freq < 0.95)
    # This ignores terms of order 1 / bins: with a known prior, one narrow bin carries no
    # information about it, and a second sample makes the masses of both distributions vary
    # independently.
    base = variance["labeled"][inner]
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
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
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


WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)


def sweep_draw(setting, seed, n=200, world=WORLD):
    if setting == "labeled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labeled_error_is_that_of_the_authors(kind):
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
    """Row i of n is in bin floor(i B / n), together with later rows that have the same score."""
    n = len(marginal)
    bins, scores = [], sorted(marginal)
    for i, s in enumerate(scores):
        tie = i > 0 and s == scores[i - 1]
        bins.append(bins[-1] if tie else i * n_bins // n)
    return scores, bins


def by_definition(sample, prior):
    """Return the number of bins and the error, computed from rows."""
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
    assert errors._sweep(errors._Ties.of(scores)) == n_bins
    assert sweep_ece(scores) == pytest.approx(error, abs=1e-12)


@st.composite
def separated(draw_, max_size=60):
    """Labels that increase with the score, with a few exceptions."""
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
    rows = errors._Ties.of(scores)
    most = max(1, int(rows.n) - 1)
    n_bins = next((b for b in range(1, most) if not rows.rises(b + 1)), most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "AT_ONCE", at_once)
        assert errors._sweep_descents(rows, 1, most) == n_bins
        patch.setattr(errors, "ALL_BINS", 1)
        assert errors._sweep(rows) == n_bins


def test_rows_out_of_order_may_never_show():
    rows = errors._Ties.of(PUScores.from_labels([1, 0, 1], [0.1, 0.2, 0.3]))
    assert rows.descents.tolist() == [1]
    assert errors._sweep_descents(rows, 1, 2) == errors._sweep(rows) == 2


@given(samples(), st.randoms(use_true_random=False))
def test_sweep_row_order_is_irrelevant(sample, random):
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
    rows = errors._Ties.of(scores)
    n_bins = errors._sweep(rows)
    assert n_bins == 1 or rows.rises(n_bins)
    assert sweep_ece(scores) >= 0
    assert sweep_edges(scores).size <= n_bins + 1


@given(samples(settings=("labeled",)))
def test_sweep_pu_error_is_the_labeled_error_when_nothing_is_hidden(sample):
    labeled = sample.build()
    if not sample.flags.all():
        separate = PUScores(
            sample.score[sample.flags], sample.score, prior=labeled.prior, setting="two-sample"
        )
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labeled.prior, setting="one-sample"
        )
        for scores in (separate, one):
            assert sweep_ece(scores) == pytest.approx(sweep_ece(labeled), abs=1e-12)


@given(samples(settings=("two-sample",)), st.floats(0.01, 0.99))
def test_the_bins_do_not_depend_on_the_prior(sample, prior):
    scores = sample.build()
    assert np.array_equal(sweep_edges(scores), sweep_edges(scores.with_prior(prior)))


@settings(max_examples=30)
@given(samples(max_size=40))
def test_sweep_numba_rows_answer_like_numpy_rows(sample):
    plain = sample.build()
    edges, error = sweep_edges(plain), sweep_ece(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        patch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
        fast = sample.build()
        assert np.array_equal(sweep_edges(fast), edges)
        assert sweep_ece(fast) == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_more_rows_bring_more_bins_and_the_truth(setting):
    few = [sweep_edges(sweep_draw(setting, seed, 100)).size for seed in range(10)]
    many = [sweep_draw(setting, seed, 10_000) for seed in range(10)]
    assert np.mean([sweep_edges(scores).size for scores in many]) > np.mean(few)
    errors = [sweep_ece(scores) for scores in many]
    spread = np.std(errors, ddof=1) / math.sqrt(len(errors))
    # A bias of the size of the noise in the bins remains.
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_sweep_the_interval_covers(setting):
    calibrated, trials, covered = LogisticGaussian(beta0=0.0, beta1=2.0), 60, 0
    for seed in range(trials):
        interval = sweep_ece_interval(sweep_draw(setting, seed, world=calibrated))
        covered += interval.low <= 0.0 <= interval.high
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples())
def test_sweep_the_interval_holds_the_estimate(sample):
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


def test_sweep_an_unknown_prior_widens_the_interval():
    scores = sweep_draw("two-sample", 0)
    sure = sweep_ece_interval(scores)
    unsure = sweep_ece_interval(scores.with_prior(0.5, interval=(0.4, 0.6)))
    assert unsure.low <= sure.low
    assert unsure.high > sure.high
    assert "every prior in [0.4, 0.6]" in unsure.method


SWEEP_DEGENERATE = {
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


@pytest.mark.parametrize(("scores", "n_bins"), SWEEP_DEGENERATE.values(), ids=SWEEP_DEGENERATE)
def test_sweep_poor_data_has_a_value(scores, n_bins):
    assert sweep_edges(scores).size - 1 == n_bins
    interval = sweep_ece_interval(scores)
    assert 0 <= interval.low <= interval.value <= interval.high < math.inf


def test_scores_of_zero_can_be_a_bin():
    scores = PUScores.from_labels([0, 1, 0, 1, 1, 0], [0, 0, 0, 0.9, 0.9, 0.9])
    assert sweep_edges(scores).tolist() == [0, 0, 0.9, 1]
    assert sweep_ece(scores) == pytest.approx(1 / 6 + 0.7 / 6)


def test_a_population_is_rejected_with_a_message():
    scores = WORLD.draw(math.inf, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must contain rows for this metric"):
        sweep_ece(scores)
