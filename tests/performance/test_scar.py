"""Test of random labels based on features."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from noneg.errors import InputError
from noneg.performance import scar_test
from noneg.performance.assumptions import _distances


def rows(seed, rate, gap=5.0, n=1500):
    """Draw features of two classes, and labels with a rate that may depend on the second
    feature."""
    random = np.random.default_rng(seed)
    y = np.arange(n) < 0.3 * n
    x = random.normal(size=(n, 3)) + gap * y[:, None] * [1, 0, 0]
    score = 1 / (1 + np.exp(-(gap * x[:, 0] - gap**2 / 2 - np.log(7 / 3))))
    return x, y & (random.random(n) < rate(x)), score


def at_random(x):
    return np.full(len(x), 0.4)


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    random = np.random.default_rng(0)
    x = np.round(random.normal(size=(60, 2)), 1)
    flags = random.random(60) < 0.4
    found = _distances(x, flags[None])[0]
    wanted = [ks_2samp(x[flags, k], x[:, k]).statistic for k in (0, 1)]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_random_labels_keep_the_level():
    found = [
        scar_test(*rows(seed, at_random), prior=0.3, replicates=99).p_value for seed in range(80)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 80)


def test_labels_that_follow_a_feature_are_found():
    found = scar_test(*rows(1, lambda x: 1 / (1 + np.exp(-x[:, 1]))), prior=0.3)
    assert found.p_value <= 0.01
    assert max(found.distances, key=found.distances.get) == "1"
    assert found.n_positive == 450
    assert found.to_dict()["replicates"] == 199


def test_overlapping_classes_break_the_condition():
    """The case that the documentation warns about: labels are random, yet the test rejects."""
    found = [
        scar_test(*rows(seed, at_random, gap=1.0), prior=0.3, replicates=99).p_value
        for seed in range(5)
    ]
    assert max(found) <= 0.05


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"prior": 0.05}, "'prior' must exceed the labeled share"),
        ({"names": ["a"]}, "'names' must name 3 features"),
    ],
)
def test_what_cannot_be_tested_is_rejected(change, match):
    x, labeled, score = rows(0, at_random)
    with pytest.raises(InputError, match=match):
        scar_test(x, labeled, score, **{"prior": 0.3} | change)
    with pytest.raises(InputError, match="'features' must be a table"):
        scar_test(x[:, 0], labeled, score, prior=0.3)
