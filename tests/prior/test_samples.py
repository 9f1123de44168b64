"""Shares and their conversions, the two distributions, and feature tables."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import samples

from noneg import PUScores
from noneg.prior import (
    FeatureSamples,
    ScoreLaws,
    frequency_of_prior,
    prior_of_share,
    remove_overlap,
    share_of_frequency,
    share_of_prior,
)

X = np.random.default_rng(0).normal(size=(60, 2))
LABELED = np.arange(60) % 3 == 0
labeled = st.floats(0.0, 0.95)
share = st.floats(0.001, 1.0)


@given(share, labeled)
def test_there_and_back(a, ell):
    prior = prior_of_share(a, ell)
    assert share_of_prior(prior, ell) == pytest.approx(a, abs=1e-9)
    if ell > 0.001:
        frequency = frequency_of_prior(prior, ell)
        assert share_of_frequency(frequency, ell) == pytest.approx(a, rel=1e-6)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_counts_agree(labeled_positives, hidden, negatives):
    n = labeled_positives + hidden + negatives
    ell, a = labeled_positives / n, hidden / (hidden + negatives)
    assert prior_of_share(a, ell) == pytest.approx((labeled_positives + hidden) / n)
    c = labeled_positives / (labeled_positives + hidden)
    assert frequency_of_prior(prior_of_share(a, ell), ell) == pytest.approx(c)


def test_two_samples_need_no_conversion():
    assert prior_of_share(0.3, 0.0) == share_of_prior(0.3, 0.0) == 0.3


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.99))
def test_overlap_is_removed_exactly(a, kappa):
    identifiable = a + (1 - a) * kappa
    assert remove_overlap(identifiable, kappa) == pytest.approx(a, abs=1e-9)


def test_overlap_must_leave_negatives():
    with pytest.raises(ValueError, match=r"'overlap'.*got 1.0"):
        remove_overlap(0.4, 1.0)
    assert remove_overlap(0.1, 0.2) == 0.0
    assert np.isclose(remove_overlap(0.36, 0.2), 0.2)


@given(samples(settings=("two-sample", "one-sample"), max_size=40))
def test_of_scores_is_from_arrays(sample):
    one = ScoreLaws.of(sample.build())
    p, u = sample.score[sample.flags], sample.score[~sample.flags]
    other = ScoreLaws.from_arrays(p, u, setting=sample.setting)
    for name in ("points", "positive", "unlabeled"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))
    assert one.labeled == pytest.approx(other.labeled)
    assert (one.n_positive, one.n_unlabeled) == (p.size, u.size)


def test_the_prior_is_not_looked_at():
    scores = PUScores([0.9, 0.8], [0.8, 0.3, 0.1], prior=0.5, setting="two-sample")
    one, other = ScoreLaws.of(scores), ScoreLaws.of(scores.with_prior(0.9))
    assert (one.points == other.points).all()
    assert (one.unlabeled == other.unlabeled).all()


def test_separation_is_the_auc_of_all_pairs():
    rng = np.random.default_rng(0)
    p, u = rng.integers(3, 9, 30) / 10, rng.integers(0, 9, 40) / 10
    wins = np.mean([(a > b) + 0.5 * (a == b) for a in p for b in u])
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample")
    assert laws.separation == pytest.approx(wins)


@pytest.mark.parametrize("n_points", [8, 64, 1000])
def test_coarse_keeps_masses_and_ties(n_points):
    rng = np.random.default_rng(1)
    p = np.append(rng.random(500), np.ones(300))
    laws = ScoreLaws.from_arrays(p, rng.random(900), setting="two-sample")
    coarse = laws.coarse(n_points)
    assert coarse.points.size <= max(n_points, 1)
    assert coarse.positive.sum() == pytest.approx(1)
    assert coarse.unlabeled.sum() == pytest.approx(1)
    assert coarse.positive[-1] >= 300 / 800
    assert (np.diff(coarse.points) > 0).all()
    # Grouping neighbors changes the AUC by at most the tied mass.
    tied = (coarse.positive * coarse.unlabeled).sum()
    assert abs(coarse.separation - laws.separation) <= tied


def test_resampling_is_unbiased():
    laws = ScoreLaws.from_arrays([0.2, 0.5, 0.9], np.arange(10) / 10, setting="two-sample")
    rng = np.random.default_rng(2)
    drawn = [laws.resampled(rng) for _ in range(2000)]
    mean = np.mean([d.positive[d.points == 0.9].sum() for d in drawn])
    assert abs(mean - 1 / 3) < 4 * np.sqrt((1 / 3) * (2 / 3) / 3 / 2000)


def test_importance_weights_count_by_kish():
    scores = PUScores(
        [0.9, 0.8],
        [0.5, 0.2, 0.1],
        prior=0.5,
        setting="two-sample",
        positive_weight=[1, 3],
        unlabeled_weight=[1, 1, 2],
        weight_kind="importance",
    )
    laws = ScoreLaws.of(scores)
    assert laws.n_positive == pytest.approx(16 / 10)
    assert laws.n_unlabeled == pytest.approx(16 / 6)
    np.testing.assert_allclose(laws.unlabeled, [0.5, 0.25, 0.25, 0, 0])


def test_logits_stay_finite_and_in_order():
    laws = ScoreLaws.from_arrays([0.0, 0.5, 1.0], [0.2, 1.0], setting="two-sample")
    assert np.isfinite(laws.logits).all()
    assert (np.diff(laws.logits) > 0).all()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ScoreLaws.of([0.1, 0.2]), "'scores' must be PUScores or ScoreLaws, got list"),
        (lambda: ScoreLaws.of(PUScores.from_labels([0, 1], [0.2, 0.7])), "share of positives, 0.5"),
        (lambda: ScoreLaws.from_arrays([0.2], [1.2], setting="two-sample"), "'unlabeled'.*1.2"),
        (lambda: ScoreLaws.from_arrays([], [0.2], setting="two-sample"), "'positive'.*none"),
        (lambda: ScoreLaws.from_arrays([0.2], [], setting="two-sample"), "'unlabeled'.*none"),
        (lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="labeled"), "'setting'.*labeled"),
        (lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="one"), "'setting' must specify"),
        (
            lambda: ScoreLaws.from_arrays([0.2], [np.nan], setting="two-sample", scale="logit"),
            "'unlabeled'.*nan in row 0",
        ),
        (
            lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="two-sample", scale="odds"),
            "'scale'.*odds",
        ),
    ],
)
def test_bad_input_is_explained(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_features_need_a_setting_with_unlabeled_rows():
    with pytest.raises(ValueError, match="'setting' must be 'two-sample' or 'one-sample'"):
        FeatureSamples.of(X, LABELED, setting="labeled")


@pytest.mark.parametrize("table", [np.zeros((4, 0)), np.zeros((2, 2, 2))], ids=["no column", "3d"])
def test_features_must_be_a_table(table):
    with pytest.raises(ValueError, match="'X' must be a table"):
        FeatureSamples.of(table, [1, 0, 0, 0][: len(table)], setting="two-sample")


def test_one_feature_may_be_a_vector():
    one = FeatureSamples.of(X[:, 0], LABELED, setting="two-sample")
    assert one.positive.shape == (20, 1)


@pytest.mark.parametrize(
    ("X", "labeled", "match"),
    [
        ([[1.0], [np.nan], [2.0]], [1, 0, 0], "'X' must be finite, got nan in row 1, column 0"),
        ([["a"], ["b"]], [1, 0], "'X' must contain numbers"),
        ([[1.0], [2.0]], [1, 0, 0], "'labeled' must have one entry per row"),
        ([[1.0], [2.0]], [0, 0], "'labeled' must contain at least one labeled positive"),
        ([[1.0], [2.0]], [1, 1], "'labeled' must contain at least one unlabeled row"),
        (np.zeros((2, 0)), [1, 0], "'X' must be a table"),
    ],
)
def test_bad_tables_are_explained(X, labeled, match):
    with pytest.raises(ValueError, match=match):
        FeatureSamples.of(X, labeled, setting="two-sample")
