"""The two laws: the same rows in any dress are the same laws."""

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg import PUScores
from noneg.prior import ScoreLaws


@given(samples(settings=("two-sample", "one-sample"), max_size=40))
def test_of_scores_is_from_arrays(sample):
    one = ScoreLaws.of(sample.build())
    p, u = sample.score[sample.flags], sample.score[~sample.flags]
    other = ScoreLaws.from_arrays(p, u, setting=sample.setting)
    for name in ("points", "positive", "unlabeled"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))
    assert one.labelled == pytest.approx(other.labelled)
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
    # Grouping neighbours moves the AUC by at most the mass that is tied.
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
        (lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="labelled"), "'setting'.*labelled"),
        (lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="one"), "'setting' must say"),
        (
            lambda: ScoreLaws.from_arrays([0.2], [np.nan], setting="two-sample", scale="logit"),
            "'unlabeled'.*nan in row 0",
        ),
        (
            lambda: ScoreLaws.from_arrays([0.2], [0.1], setting="two-sample", scale="odds"),
            "'scale'.*odds",
        ),
        (
            lambda: ScoreLaws.of(
                PUScores([0.9], [0.2], prior=0.7, setting="one-sample", propensity=[0.5])
            ),
            "'propensity' must not be given in one sample",
        ),
    ],
)
def test_bad_input_is_explained(make, match):
    with pytest.raises(ValueError, match=match):
        make()
