"""Multiclass errors through binary questions."""

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import classwise_ece, one_vs_rest, top_label

RNG = np.random.default_rng(0)
PROB = RNG.dirichlet([1, 1, 1, 1], 500)
LABEL = np.array([RNG.choice(4, p=p) for p in PROB])


def test_classwise_is_the_mean_of_one_against_rest():
    expected = np.mean(
        [
            np.abs(
                np.bincount(np.minimum((PROB[:, k] * 10).astype(int), 9), (LABEL == k) - PROB[:, k])
            ).sum()
            / 500
            for k in range(4)
        ]
    )
    got = classwise_ece(one_vs_rest(LABEL, PROB), bins=10, binning="width")
    assert got == pytest.approx(expected, abs=1e-12)


def test_classwise_from_pu_samples_of_each_class():
    classes = [
        PUScores(PROB[LABEL == k, k], PROB[:, k], prior=(LABEL == k).mean(), setting="two-sample")
        for k in range(4)
    ]
    labelled = classwise_ece(one_vs_rest(LABEL, PROB), bins=8)
    assert classwise_ece(classes, bins=8) == pytest.approx(labelled, abs=1e-12)


def test_top_label_compares_confidence_with_hits():
    scores = top_label(LABEL, PROB)
    hit = PROB.argmax(axis=1) == LABEL
    assert scores.prior == pytest.approx(hit.mean())
    assert ece(scores, bins=1) == pytest.approx(abs(hit.mean() - PROB.max(axis=1).mean()))


def test_a_class_without_rows_counts_its_scores():
    labels = np.where(LABEL == 3, 0, LABEL)
    assert ece(one_vs_rest(labels, PROB)[3], bins=1) == pytest.approx(PROB[:, 3].mean())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: top_label([0, 1], [0.1, 0.2]), "one column a class"),
        (lambda: top_label([0, 4], PROB[:2]), "class numbers from 0 to 3"),
        (lambda: top_label(["a", "b"], PROB[:2]), "class numbers"),
        (lambda: top_label([0], PROB[:2]), "1 entries for 2 rows"),
        (lambda: classwise_ece([]), "one a class"),
        (lambda: classwise_ece(top_label(LABEL, PROB)), "sequence of PUScores"),
    ],
    ids=["vector", "range", "text", "length", "empty", "single"],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
