"""Estimators from features: formulas, errors, and populations with a known share."""

import numpy as np
import pytest
from prior.worlds import blobs, table
from scipy.optimize import nnls
from sklearn.linear_model import LogisticRegression

from noneg.prior import (
    FROM_FEATURES,
    FeatureSamples,
    KernelMeanGradient,
    KernelMeanRoot,
    PenalizedL1,
    ReCPEFeatures,
    Tedn,
    Tice,
    discriminate,
    from_features,
)
from noneg.prior.from_features import Walk, project

TOLERANCE = {"tedn": 0.05, "km1": 0.12, "km2": 0.12, "tice": 0.15, "penl1": 0.15}


@pytest.mark.parametrize("name", list(TOLERANCE))
@pytest.mark.parametrize("share", [0.25, 0.6])
def test_separated_classes_are_recovered(name, share):
    options = {"classifier": LogisticRegression()} if name == "tedn" else {}
    estimator = FROM_FEATURES[name](**options)
    found = [estimator.find(blobs(share, 400, 800, seed=s)).share for s in range(1)]
    assert abs(np.mean(found) - share) < TOLERANCE[name]


def test_the_bound_of_a_pure_box_is_the_formula():
    """One column whose upper half is pure: 60 of 100 are labeled there among the estimation
    rows."""
    cells = np.repeat([[0], [3]], [400, 200], axis=0).astype(np.uint8)
    labels = np.zeros(600, dtype=bool)
    labels[400:460] = labels[500:560] = True
    in_tree = np.zeros(600, dtype=bool)
    in_tree[:200] = in_tree[400:500] = True
    delta = max(0.025, 1 / (1 + 0.004 * 300))
    exact = 0.6 - np.sqrt(0.25 * (1 - delta) / delta / 100)
    assert from_features.best_bound(cells, labels, in_tree, 0.5) == pytest.approx(exact)


def test_dropping_likely_positives_keeps_the_answer():
    samples = blobs(0.5, 300, 900, far=3.0)
    for rounds in (1, 3):
        tedn = Tedn(classifier=LogisticRegression(), rounds=rounds)
        assert tedn.find(samples).share == pytest.approx(0.5, abs=0.06)
    X, flags = table(samples)
    found = Tedn(classifier=LogisticRegression()).fit(X, flags, setting="two-sample")
    assert found.method == "tedn"
    assert found.low < 0.5 < found.high


@pytest.mark.parametrize("name", list(FROM_FEATURES))
def test_too_few_rows_are_answered_or_explained(name):
    X = np.random.default_rng(0).normal(size=(20, 2))
    estimator = FROM_FEATURES[name](resamples=2)
    for n in (1, 19):
        flags = np.arange(20) < n
        if hasattr(estimator, "classifier"):
            with pytest.raises(ValueError, match="'labeled' must mark at least two positives"):
                estimator.fit(X, flags, setting="two-sample")
            continue
        found = estimator.fit(X, flags, setting="two-sample")
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.warnings


def test_other_mistakes():
    X, flags = table(blobs(0.3, 20, 40))
    with pytest.raises(ValueError, match=r"'folds' must be at least 2, got 1"):
        discriminate(X, flags, setting="two-sample", classifier=LogisticRegression(), folds=1)
    with pytest.raises(ValueError, match=r"'rounds' must be at least 1, got 0"):
        Tedn(rounds=0).fit(X, flags, setting="two-sample")
    with pytest.raises(ValueError, match="'X' must differ"):
        KernelMeanGradient().fit(np.ones((30, 2)), np.arange(30) < 10, setting="two-sample")
    with pytest.raises(ValueError, match=r"'resamples' must be at least 2"):
        PenalizedL1(resamples=1).fit(X, flags, setting="two-sample")
    with pytest.raises(ValueError, match=r"'fraction'"):
        ReCPEFeatures(fraction=0.0)


def test_many_columns_become_components():
    rng = np.random.default_rng(0)
    samples = blobs(0.4, 300, 600, far=6.0)
    more = [
        np.hstack([x, 0.01 * rng.normal(size=(len(x), 60))])
        for x in (samples.positive, samples.unlabeled)
    ]
    found = Tice().find(FeatureSamples(*more, "two-sample"))
    assert abs(found.share - Tice().find(samples).share) < 0.15


def test_a_tree_that_may_look_at_one_node_only_knows_its_halves(monkeypatch):
    """The labeled share is 0.2 overall, and 0.8 in a corner that takes two cuts to find."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 4, (4000, 2)).astype(np.uint8)
    corner = (cells == 0).all(axis=1)
    labels = rng.random(4000) < np.where(corner, 0.8, 0.16)
    in_tree = np.arange(4000) % 2 == 0
    whole = from_features.best_bound(cells, labels, in_tree, 0.5)
    monkeypatch.setattr(from_features, "MOST_NODES", 1)
    first = from_features.best_bound(cells, labels, in_tree, 0.5)
    edge = labels[~in_tree & (cells == 0).any(axis=1)].mean()
    assert labels[~in_tree].mean() <= first < edge + 0.1 < whole < 0.8


def test_the_two_rules_of_kernel_means_differ():
    samples = blobs(0.3, 60, 90)
    walk = Walk.along(samples.positive, samples.unlabeled, steps=100)
    assert KernelMeanRoot().limit(walk) == pytest.approx(1 / np.sqrt(60))
    gradient = 0.8 * walk.distance(1.05) / 0.05 + 0.2 * walk.apart
    assert KernelMeanGradient().limit(walk) == pytest.approx(gradient, rel=1e-6)


def test_the_distance_to_the_hull_is_that_of_least_squares():
    samples = blobs(0.4, 40, 60, far=2.0)
    walk = Walk.along(samples.positive, samples.unlabeled, steps=2000)
    root = np.linalg.cholesky(walk.kernel + 1e-10 * np.eye(100)).T
    heavy = 1e4 * np.ones((1, 100))
    for at in (1.2, 2.0, 4.0):
        target = at * walk.unlabeled + (1 - at) * walk.positive
        v, _ = nnls(np.vstack([root, heavy]), np.append(root @ target, 1e4), maxiter=100_000)
        exact = np.sqrt((v - target) @ walk.kernel @ (v - target))
        assert walk.distance(at) == pytest.approx(exact, rel=0.02, abs=2e-3)
    assert walk.distance(1.0) == pytest.approx(0.0, abs=1e-9)


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=8)
        y = project(x)
        assert y.sum() == pytest.approx(1)
        assert (y >= 0).all()
        # Moving mass to any other corner increases the distance.
        assert ((x - y) @ (np.eye(8) - y).T <= 1e-12).all()
