"""Rows dealt to folds."""

import numpy as np
import pytest

from noneg import PUScores, evaluate
from noneg.recalibration import Auto
from noneg.recalibration.base import deal, splits, weighty_rows
from noneg.simulation import LogisticGaussian


def test_rows_of_no_weight_fill_no_fold():
    """Two unlabeled rows that count, among many that do not: each fold leaves one to fit on."""
    weight = np.array([3.0, 3.0, *[0.0] * 9, 2.0, 2.0])
    scores = PUScores.from_pu_labels(
        [1, 1, *[0] * 11],
        [0.4, 0.8, *np.linspace(0.1, 0.9, 11)],
        prior=0.5,
        setting="two-sample",
        sample_weight=weight,
        weight_kind="importance",
    )
    assert weighty_rows(scores) == (2, 2)
    for seed in range(20):
        for rest, _ in splits(scores, 2, seed):
            assert rest.effective_marginal == rest.effective_positive == 1
    with pytest.raises(ValueError, match="at most the number of unlabeled rows, which is 2"):
        next(splits(scores, 3, 0))
    assert Auto().fit(scores).reason_


def test_a_population_has_no_rows_to_hold_out():
    known = LogisticGaussian.calibrated().draw(np.inf, 50, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="'scores' must hold rows"):
        next(splits(known, 2, 0))
    with pytest.raises(ValueError, match="'scores' must hold rows"):
        Auto().fit(known)
    assert evaluate(known, recalibrate=True).recalibration is None


def test_ranks_do_not_decide_the_fold():
    """A fold that always takes the highest score is no random part of other data."""
    places = set()
    for seed in range(20):
        scores = LogisticGaussian.calibrated().draw(50, 500, setting="two-sample", seed=seed)
        tops = [positive[0].max() for _, positive in deal(scores, 5, seed=0)]
        places.add(int(np.argmax(tops)))
    assert len(places) > 1
