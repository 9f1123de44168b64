"""Calibration errors: outside references, and the laws they must obey."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from strategies import samples

from noneg import PUScores, ece
from noneg.bins import bin_scores
from noneg.calibration import ece_by_prior
from noneg.simulation import LogisticGaussian

PEERS = json.loads((Path(__file__).parents[1] / "reference" / "peers.json").read_text())


def peers_sample():
    """The sample of reference/make_peers.py."""
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
def test_labelled_error_is_that_of_other_libraries(peer, options):
    assert ece(peers_sample(), bins=PEERS["bins"], **options) == pytest.approx(
        PEERS["values"][peer], abs=1e-12
    )


@given(st.integers(0, 100), st.integers(1, 20))
def test_labelled_error_from_scikit_learn_curve(seed, n_bins):
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
    """The same options with no more mass bins than n rows allow."""
    return options | {"bins": max(1, min(options["bins"], int(n) // 2))}


@given(samples(settings=("labelled",)), OPTIONS)
def test_pu_error_is_the_labelled_error_when_nothing_is_hidden(sample, options):
    labelled = sample.build()
    positive = sample.score[sample.flags]
    options = fitting(options, labelled.n_marginal)
    if not sample.flags.all():
        separate = PUScores(positive, sample.score, prior=labelled.prior, setting="two-sample")
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labelled.prior, setting="one-sample"
        )
        expected = ece(labelled, **options)
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
        assert "holds positives but no marginal row" in str(error)  # noqa: PT017
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
    with pytest.raises(ValueError, match=r"bin \(0.5, 1\] holds positives but no marginal row"):
        ece(scores, bins=2, binning="width", p=2)


def test_the_bin_that_is_named_is_the_one_with_positives():
    """Empty bins before it are none of the trouble."""
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=r"got 2.0: bin \(0.8, 1\] holds positives"):
        ece(scores, bins=5, binning="width", p=2)


@pytest.mark.parametrize("p", [2, 7, math.inf])
def test_powers_of_tiny_gaps_do_not_vanish(p):
    scores = PUScores.from_labels([0, 0, 0], [1e-200] * 3)
    assert ece(scores, bins=1, p=p) == pytest.approx(1e-200, rel=1e-12)
