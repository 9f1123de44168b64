"""What `PUScores` passes to estimators, compared with sums over plain rows."""

import math

import numpy as np
import pytest

from noneg import PUScores, Sketch
from noneg.bins import bin_scores, check_edges
from noneg.kernels import N_BUCKETS, Axis, bucket_of, run_ends
from noneg.simulation import LogisticGaussian

RNG = np.random.default_rng(0)
P, U = RNG.beta(3, 2, 40), RNG.beta(2, 3, 90)
SETTINGS = ["two-sample", "one-sample", "labeled"]


def build(setting):
    flags, s = np.r_[np.ones(40), np.zeros(90)], np.r_[P, U]
    if setting == "labeled":
        return PUScores.from_labels(flags, s)
    return PUScores(P, U, prior=0.6, setting=setting)


def rows_of(setting):
    """Return the scores of the positive and the marginal sample."""
    return P, U if setting == "two-sample" else np.r_[U, P]


@pytest.mark.parametrize("setting", SETTINGS)
def test_sums_by_bucket(setting):
    positive, marginal = rows_of(setting)
    found = build(setting).sums_by_bucket()
    count = [np.bincount(bucket_of(s), minlength=N_BUCKETS) for s in (positive, marginal)]
    total = np.bincount(bucket_of(marginal), weights=marginal, minlength=N_BUCKETS)
    np.testing.assert_array_equal(found[:, :2].T, count)
    np.testing.assert_allclose(found[:, 2], total)
    scores = build(setting)
    assert scores.sums_by_bucket() is scores.sums_by_bucket()
    assert scores.sums_by_bucket() is scores.kept("buckets", pytest.fail)


@pytest.mark.parametrize("setting", SETTINGS)
def test_sums_at_nodes_keep_mass_and_mean(setting):
    """Each row is divided between its two neighbors, which preserves totals and first moments."""
    positive, marginal = rows_of(setting)
    scores = build(setting)
    for n in (8, 16):
        axis = Axis(n)
        found = scores.sums_at_nodes(axis)
        np.testing.assert_allclose(
            found.sum(axis=0), [positive.size, marginal.size, marginal.sum()]
        )
        assert scores.sums_at_nodes(axis) is found
    assert scores.sums_at_nodes(Axis(8)).shape != scores.sums_at_nodes(Axis(16)).shape


@pytest.mark.parametrize("setting", SETTINGS)
def test_chunks_say_which_distribution_their_rows_belong_to(setting):
    positive, marginal = rows_of(setting)
    found = {"positive": [], "marginal": []}
    for in_positive, in_marginal, (s, count, a, w) in build(setting).chunks():
        assert (count, a, w) == (1.0, 1.0, 1.0)
        if in_positive:
            found["positive"].append(s)
        if in_marginal:
            found["marginal"].append(s)
    np.testing.assert_array_equal(np.sort(np.concatenate(found["positive"])), np.sort(positive))
    np.testing.assert_array_equal(np.sort(np.concatenate(found["marginal"])), np.sort(marginal))


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_another_prior_keeps_everything_else(setting):
    scores = build(setting)
    kept = scores.sums_by_width(5)
    other = scores.with_prior(0.7, interval=(0.65, 0.75))
    assert (other.prior, other.prior_interval, other.setting) == (0.7, (0.65, 0.75), setting)
    assert other.sums_by_width(5) is kept
    assert scores.prior_interval is None
    assert (other.n_positive, other.n_unlabeled) == (40, 90)


def test_words_about_rows():
    assert repr(build("labeled")) == "PUScores(40 positives, 130 labeled rows, prior 0.307692)"
    one = PUScores([0.5], [0.5], prior=0.4, setting="two-sample", prior_interval=(0.3, 0.45))
    assert (
        repr(one) == "PUScores(1 positive, 1 unlabeled row, two-sample, prior 0.4 in [0.3, 0.45])"
    )
    two = PUScores([0.5], [0.5, 0.2], prior=0.4, setting="two-sample")
    assert "2 unlabeled rows, two-sample" in repr(two)
    known = LogisticGaussian.calibrated().draw(math.inf, 5, setting="two-sample", seed=0)
    assert repr(known).startswith("PUScores(infinitely many positives, 5 unlabeled rows")


def test_labeled_rows_have_a_constructor_of_their_own():
    with pytest.raises(ValueError, match="from_labels instead"):
        PUScores.from_pu_labels([1, 0], [0.5, 0.5], prior=0.4, setting="labeled")
    with pytest.raises(ValueError, match="from_labels instead"):
        PUScores([0.5], [0.5], prior=0.4, setting="labeled")
    with pytest.raises(ValueError, match="cannot be set on labeled data"):
        build("labeled").with_prior(0.5)


def test_a_population_is_not_a_single_sample():
    known = LogisticGaussian.calibrated().draw(math.inf, math.inf, setting="two-sample", seed=0)
    sources = known._rows.sources
    with pytest.raises(ValueError, match="one-sample needs finite samples"):
        PUScores(sources[1].law, sources[0].law, prior=0.5, setting="one-sample")


@pytest.mark.parametrize(
    "edges", [[], [1.0], [0.0], [[0.0, 1.0]], [0.0, 0.6, 0.4, 1.0], [0.1, 1.0]], ids=str
)
def test_edges_that_are_none(edges):
    with pytest.raises(ValueError, match="'edges' must increase from 0 to 1"):
        check_edges(edges)


def test_whole_edges_become_doubles():
    assert check_edges([0, 1]).dtype == np.float64


def test_frequencies_are_missing_where_no_marginal_row_is():
    scores = PUScores([0.1, 0.9], [0.8, 0.9], prior=0.4, setting="two-sample")
    binned = bin_scores(scores, edges=[0.0, 0.5, 0.85, 1.0])
    np.testing.assert_allclose(binned.frequency, [np.nan, 0.0, 0.4])
    np.testing.assert_allclose(binned.mean_score, [np.nan, 0.8, 0.9])


def test_options_of_one_table_arrive():
    flags, s = ["b", "a", "a", "b"], [0.9, 0.4, 0.2, 0.6]
    options = {"prior": 0.5, "setting": "one-sample", "positive_label": "b"}
    scores = PUScores.from_pu_labels(flags, s, **options, prior_interval=(0.5, 0.6))
    assert (scores.n_positive, scores.prior_interval) == (2, (0.5, 0.6))
    with pytest.raises(ValueError, match=r"^'labeled'"):
        PUScores.from_pu_labels(flags, s, prior=0.5, setting="one-sample")


def test_the_prior_of_weighted_labels_is_their_share_of_the_weight():
    weight = [3.0, 0.5, 0.5, 1.0]
    scores = PUScores.from_labels(
        [1, 0, 0, 1], [0.9, 0.4, 0.2, 0.6], sample_weight=weight, weight_kind="importance"
    )
    assert scores.prior == pytest.approx(0.8)


def test_a_known_distribution_with_weighted_rows_is_an_infinite_sample():
    known = LogisticGaussian.calibrated().draw(math.inf, 5, setting="two-sample", seed=0)
    law, weight = known._rows.sources[1].law, {"weight_kind": "importance"}
    scores = PUScores(
        law, [0.2, 0.7], unlabeled_weight=[1.0, 3.0], prior=0.5, setting="two-sample", **weight
    )
    assert scores.effective_positive == math.inf
    assert scores.effective_marginal == pytest.approx(16 / 10)


def test_no_positives_have_an_effective_size_of_zero_with_and_without_weights():
    y, s = [0, 0, 0], [0.1, 0.2, 0.3]
    for options in ({}, {"sample_weight": [1.0, 1.0, 1.0], "weight_kind": "importance"}):
        scores = PUScores.from_labels(y, s, **options)
        assert (scores.effective_positive, scores.effective_marginal) == (0.0, 3.0)


def test_what_is_kept_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        build("two-sample").sums_by_width(3)[0] = 1.0


def test_a_prior_of_exactly_the_labeled_share_is_possible():
    assert PUScores([0.5], [0.5, 0.2, 0.3], prior=0.25, setting="one-sample").prior == 0.25


def test_edges_may_coincide():
    assert check_edges([0.0, 0.5, 0.5, 1.0]).size == 4


def test_bins_of_unequal_weights_follow_the_effective_size():
    """Kish's effective size of these weights is not an integer; ranks are floors of its shares."""
    s, weight = np.linspace(0.05, 0.95, 19), np.tile([1.0, 3.0], 10)[:19]
    scores = PUScores.from_labels(
        np.arange(19) % 2, s, sample_weight=weight, weight_kind="importance"
    )
    n = weight.sum() ** 2 / (weight**2).sum()
    assert not float(n).is_integer()
    share = np.cumsum(weight) / weight.sum()
    expected = [s[np.searchsorted(share, np.floor(n * b / 4) / n * (1 - 1e-12))] for b in (1, 2, 3)]
    np.testing.assert_allclose(bin_scores(scores, bins=4).edges, [0.0, *expected, 1.0])


def test_the_least_rank_of_few_effective_rows_is_one():
    """One row has nearly all the weight: half of 1.4 effective rows is less than one of them."""
    s, weight = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([1.0, 1.0, 20.0, 1.0, 1.0])
    scores = PUScores.from_labels(
        [0, 1, 0, 1, 0], s, sample_weight=weight, weight_kind="importance"
    )
    assert scores.effective_marginal == pytest.approx(24**2 / 404)
    # The first row at which a share of 1 / 1.4 of the weight is reached.
    assert bin_scores(scores, bins=2).edges[1] == 0.5


def test_unnamed_rows_are_scores():
    with pytest.raises(ValueError, match=r"^'scores' must contain at least one labeled positive"):
        Sketch(setting="two-sample", prior=0.5).scores()


def test_edges_inside_a_crowd_and_at_the_very_top():
    """Scores that differ by rounding share a run of buckets or are in two neighbors; 1 is in the
    last."""
    ends = run_ends()
    border = ends[np.searchsorted(ends, 0.5)]
    s = np.concatenate([border + 1e-13 * np.arange(-89, 91), np.ones(60)])
    scores = PUScores.from_labels(np.arange(240) % 2, s)
    expected = [s[240 * b // 40 - 1] for b in range(1, 40)]
    np.testing.assert_array_equal(bin_scores(scores, bins=40).edges, [0.0, *expected, 1.0])
