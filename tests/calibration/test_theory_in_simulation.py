"""Theorem 1 of the PU-ECE paper in a population whose truth is known."""

import numpy as np
import pytest

from noneg import ece
from noneg.bins import bin_scores
from noneg.simulation import LogisticGaussian
from noneg.theory import bias_bound, labeled_bias_bound

WORLD = LogisticGaussian.less_calibrated()
TRIALS, DELTA = 120, 0.2


def steepest(world):
    """Return the Lipschitz constant of P(Y = 1 | score), on a fine grid."""
    logits = np.linspace(-12, 12, 100_001)
    scores = 1 / (1 + np.exp(-logits))
    return float(np.max(np.abs(np.diff(world.posterior(scores)) / np.diff(scores))))


@pytest.mark.parametrize("binning", ["width", "mass"])
@pytest.mark.parametrize("sizes", [(50, 500), (400, 400)], ids=str)
def test_pu_bounds(binning, sizes):
    n_positive, n_unlabeled = sizes
    draws = [WORLD.draw(*sizes, setting="two-sample", seed=seed) for seed in range(TRIALS)]
    gaps = np.array([abs(ece(d, binning=binning) - WORLD.tce()) for d in draws])
    options = {"bins": bin_scores(draws[0]).n_bins, "binning": binning}
    options["lipschitz"] = steepest(WORLD)
    assert gaps.mean() <= bias_bound(n_positive, n_unlabeled, WORLD.prior, **options).value
    likely = bias_bound(n_positive, n_unlabeled, WORLD.prior, **options, delta=DELTA)
    assert (gaps > likely.value).mean() <= DELTA


def test_statistical_part_alone():
    """Lemma 2: the distance from the error over the same bins, excluding the binning bias."""
    draws = [WORLD.draw(40, 200, setting="two-sample", seed=seed) for seed in range(TRIALS)]
    binned = [bin_scores(d, bins=6, binning="width") for d in draws]
    gaps = [abs(np.abs(b.residual).sum() - WORLD.binned_tce(b.edges)) for b in binned]
    options = {"bins": 6, "binning": "width", "lipschitz": 1.0}
    assert np.mean(gaps) <= bias_bound(40, 200, WORLD.prior, **options).statistical
    likely = bias_bound(40, 200, WORLD.prior, **options, delta=DELTA).statistical
    assert np.mean(np.array(gaps) > likely) <= DELTA


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_labeled_bounds(binning):
    draws = [WORLD.draw(n=300, setting="labeled", seed=seed) for seed in range(TRIALS)]
    gaps = np.array([abs(ece(d, binning=binning) - WORLD.tce()) for d in draws])
    options = {"bins": 6, "binning": binning, "lipschitz": steepest(WORLD)}
    assert gaps.mean() <= labeled_bias_bound(300, **options).value
    assert (gaps > labeled_bias_bound(300, **options, delta=DELTA).value).mean() <= DELTA
