"""Every registered metric: any number of threads, any row order, single or double precision."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from noneg import PUScores
from noneg.metrics import METRICS
from noneg.simulation import LogisticGaussian

SETTINGS = ["two-sample", "one-sample", "labeled"]
WORLD = LogisticGaussian.less_calibrated()


def rows(setting, seed=0):
    """Return flags and scores, positives first."""
    sizes = {"n": 3000} if setting == "labeled" else {"n_positive": 500, "n_unlabeled": 2500}
    unlabeled, positive = WORLD.draw(**sizes, setting=setting, seed=seed).in_order()
    flags = np.r_[np.ones(positive[0].size), np.zeros(unlabeled[0].size)].astype(bool)
    return flags, np.r_[positive[0], unlabeled[0]]


def build(setting, flags, score):
    if setting == "labeled":
        return PUScores.from_labels(flags, score)
    return PUScores.from_pu_labels(flags, score, prior=0.5, setting=setting)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_row_order_moves_a_metric_by_a_rounding(name, setting):
    flags, score = rows(setting)
    value = METRICS[name].function(build(setting, flags, score))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(score.size)
        other = METRICS[name].function(build(setting, flags[order], score[order]))
        assert other == pytest.approx(value, rel=1e-11, abs=1e-13), name


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_single_precision_is_read_exactly(name, setting):
    """A score in single precision is also a double, so both give the same metric."""
    flags, score = rows(setting)
    single = score.astype(np.float32)
    one = METRICS[name].function(build(setting, flags, single))
    other = METRICS[name].function(build(setting, flags, single.astype(np.float64)))
    assert one == other or (math.isnan(one) and math.isnan(other))


# Scores move by at most half a unit in the last place of single precision.
HALF_UNIT = 2.0**-25


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_rounding_scores_to_single_precision_moves_a_metric_little(name, setting):
    """By at most twice the largest change of a score, since the averaged function has slope at most
    2.

    No two scores coincide here, so equal-mass bins and ranks keep their rows. Only the logarithm
    is steeper, at most 1 / min(s, 1 - s).
    """
    flags, score = rows(setting)
    single = score.astype(np.float32).astype(np.float64)
    assert np.unique(single).size == score.size
    moved = np.abs(single - score).max()
    assert 0.0 < moved <= HALF_UNIT
    slope = 1.0 / min(score.min(), 1.0 - score.max()) if name == "log_loss" else 2.0
    one = METRICS[name].function(build(setting, flags, score))
    other = METRICS[name].function(build(setting, flags, single))
    assert abs(one - other) <= slope * moved


CODE = """
import json
from noneg.metrics import METRICS
from noneg.simulation import LogisticGaussian
scores = LogisticGaussian.less_calibrated().draw(40_000, 200_000, setting="two-sample", seed=0)
cheap = [name for name in METRICS if name not in ("tce_bpm", "kernel_ece")]
print(json.dumps({name: METRICS[name].function(scores) for name in cheap}))
"""


def test_the_number_of_threads_changes_nothing():
    """Enough rows for the compiled loops, with one process for each number of threads."""
    found = []
    for threads in ("1", "4"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        done = subprocess.run(
            [sys.executable, "-c", CODE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    for name, value in found[0].items():
        assert found[1][name] == pytest.approx(value, rel=1e-12, abs=1e-14, nan_ok=True), name
