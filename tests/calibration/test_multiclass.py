"""Multiclass errors through binary problems."""

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import classwise_ece, one_vs_rest, top_label

rng = np.random.default_rng(0)
prob = rng.dirichlet([1, 1, 1, 1], 500)
label = np.array([rng.choice(4, p=p) for p in prob])


def test_classwise_is_the_mean_of_one_against_rest():
    expected = np.mean(
        [
            np.abs(
                np.bincount(np.minimum((prob[:, k] * 10).astype(int), 9), (label == k) - prob[:, k])
            ).sum()
            / 500
            for k in range(4)
        ]
    )
    got = classwise_ece(one_vs_rest(label, prob), bins=10, binning="width")
    assert got == pytest.approx(expected, abs=1e-12)


def test_classwise_from_pu_samples_of_each_class():
    classes = [
        PUScores(prob[label == k, k], prob[:, k], prior=(label == k).mean(), setting="two-sample")
        for k in range(4)
    ]
    labeled = classwise_ece(one_vs_rest(label, prob), bins=8)
    assert classwise_ece(classes, bins=8) == pytest.approx(labeled, abs=1e-12)


def test_top_label_compares_confidence_with_hits():
    scores = top_label(label, prob)
    hit = prob.argmax(axis=1) == label
    assert scores.prior == pytest.approx(hit.mean())
    assert ece(scores, bins=1) == pytest.approx(abs(hit.mean() - prob.max(axis=1).mean()))


def test_a_class_without_rows_counts_its_scores():
    labels = np.where(label == 3, 0, label)
    assert ece(one_vs_rest(labels, prob)[3], bins=1) == pytest.approx(prob[:, 3].mean())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: top_label([0, 1], [0.1, 0.2]), "one column per class"),
        (lambda: top_label([0, 4], prob[:2]), "class numbers from 0 to 3"),
        (lambda: top_label(["a", "b"], prob[:2]), "class numbers"),
        (lambda: top_label([0], prob[:2]), "1 entries for 2 rows"),
        (lambda: classwise_ece([]), "one per class"),
        (lambda: classwise_ece(top_label(label, prob)), "sequence of PUScores"),
    ],
    ids=["vector", "range", "text", "length", "empty", "single"],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
