"""Questions about the prior that have no answer, and words about those that have."""

from dataclasses import replace

import numpy as np
import pytest

from noneg.prior import ESTIMATORS, estimate_prior
from noneg.prior.features import FeatureSamples
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian.calibrated(0.3).draw(200, 800, setting="two-sample", seed=0)
X = np.random.default_rng(0).normal(size=(60, 2))
LABELED = np.arange(60) % 3 == 0


def test_features_need_a_setting_with_unlabeled_rows():
    with pytest.raises(ValueError, match="'setting' must be 'two-sample' or 'one-sample'"):
        FeatureSamples.of(X, LABELED, setting="labelled")


@pytest.mark.parametrize("table", [np.zeros((4, 0)), np.zeros((2, 2, 2))], ids=["no column", "3d"])
def test_features_must_be_a_table(table):
    with pytest.raises(ValueError, match="'X' must be a table"):
        FeatureSamples.of(table, [1, 0, 0, 0][: len(table)], setting="two-sample")


def test_one_feature_may_be_a_vector():
    one = FeatureSamples.of(X[:, 0], LABELED, setting="two-sample")
    assert one.positive.shape == (20, 1)


def test_a_learner_of_features_takes_the_classifier():
    """`tedn` by name trains the classifier that is given, here one that tells nothing apart."""
    from sklearn.dummy import DummyClassifier

    found = estimate_prior(
        X, LABELED, setting="two-sample", method="tedn", classifier=DummyClassifier()
    )
    assert "tedn" in ESTIMATORS
    assert 0.0 <= found.value <= 1.0


def test_an_estimate_is_one_line():
    found = estimate_prior(SCORES)
    assert str(found) == f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}] by {found.method}"


@pytest.mark.parametrize(("value", "words"), [(0.0, "no unlabeled row"), (1.0, "no negatives")])
def test_an_extreme_estimate_cannot_be_applied(value, words):
    found = replace(estimate_prior(SCORES), value=value)
    with pytest.raises(ValueError, match=words):
        found.apply(SCORES)


def test_more_folds_than_positives_leaves_folds_without_any():
    labeled = [1] * 3 + [0] * 9
    found = estimate_prior(X[:12], labeled, setting="two-sample", method="elkan-noto-e1")
    assert 0.0 <= found.value <= 1.0
