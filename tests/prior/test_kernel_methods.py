"""Kernel means: the two rules, the distance to the hull, and the projection."""

import numpy as np
import pytest
from prior.worlds import blobs
from scipy.optimize import nnls

from noneg.prior import KernelMeanGradient, KernelMeanRoot
from noneg.prior.kernel_methods import Walk, project


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
