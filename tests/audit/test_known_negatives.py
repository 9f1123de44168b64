"""Known negatives that were not drawn at random: what they bound and check."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from noneg.audit import known_negatives
from noneg.errors import InputError


def world(seed=0, n=4000, chosen="score"):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.7, 3.0, n)
    y = rng.random(n) < score
    looked = rng.random(n) < (0.3 * score if chosen == "score" else 0.1)
    known = y & (rng.random(n) < 0.4)
    return score, y, known, ~y & looked


def found(score, known, negative, **options):
    groups = (score[known], score[negative], score[~known & ~negative])
    return known_negatives(*groups, setting="one-sample", **options)


def test_counts_limit_the_prior_and_hold_it():
    score, y, known, negative = world()
    one = found(score, known, negative, prior=y.mean())
    low, high = one.prior_limits
    assert low == known.mean()
    assert high == pytest.approx(1 - negative.mean())
    assert low <= y.mean() <= high
    assert not one.contradicts
    wrong = found(score, known, negative, prior=0.999)
    assert wrong.contradicts
    assert wrong.auroc is None
    assert any("contradicts" in note for note in wrong.notes)


def test_the_bounds_hold_the_area_of_the_table():
    score, y, known, negative = world(1)
    one = found(score, known, negative, prior=y.mean())
    low, high = one.auroc
    assert low <= roc_auc_score(y, score) <= high
    reviewed = known | negative
    assert one.reviewed_auroc == pytest.approx(roc_auc_score(y[reviewed], score[reviewed]))
    assert one.reviewed_auroc < low
    assert one.to_dict()["auroc"] == [low, high]


def test_rows_chosen_by_score_are_distinguished_from_random_ones():
    score, _, known, negative = world(2)
    assert found(score, known, negative).p_value < 1e-6
    score, _, known, negative = world(2, chosen="at random")
    rest = ~known & ~negative
    # Known negatives exclude the hidden positives, so they cannot be exactly like the other rows.
    assert found(score, known, negative).rank < 0.5
    alike = np.random.default_rng(0).random(rest.sum()) < 0.1
    s = score[rest]
    assert known_negatives(score[known], s[alike], s[~alike], setting="two-sample").p_value > 0.01


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_every_group_is_needed(empty):
    groups = [[0.5], [0.4], [0.3]]
    groups[empty] = []
    with pytest.raises(InputError, match="must contain at least one row"):
        known_negatives(*groups, setting="one-sample")


def test_labeled_data_has_none():
    with pytest.raises(InputError, match="must not be 'labeled'"):
        known_negatives([0.5], [0.4], [0.3], setting="labeled")
