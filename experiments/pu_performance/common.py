"""What the parts of this experiment share: seeds, tables, and the estimated curve itself."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noneg.performance.bounds import roc_bounds

sys.path.append(str(Path(__file__).parents[1]))
import pages

if TYPE_CHECKING:
    from noneg.performance.bounds import RocBounds
    from noneg.scores import PUScores

Row = dict[str, object]
write_csv = pages.write
GRID = np.concatenate([np.linspace(0.0, 0.05, 26), np.linspace(0.06, 1.0, 95)])
# At this level binomial quantiles are the count itself: both bounds are the estimated curve.
POINT = {"band": "pointwise", "level": 1e-9}


def seeded(*names: object) -> np.random.Generator:
    """Random numbers that depend on these names and on nothing else."""
    digest = hashlib.sha256("|".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def auc(y: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve of labelled rows, ties half."""
    from scipy.stats import rankdata

    n = np.count_nonzero(y)
    wins = rankdata(score)[y == 1].sum() - n * (n + 1) / 2
    return float(wins / (n * (y.size - n)))


def point_auc(scores: PUScores, beta: float) -> float:
    """Area under the estimated curve: the known positives' rank CDF taken at its word."""
    return roc_bounds(scores, beta=beta, **POINT).auc[0]


def on_grid(bounds: RocBounds) -> tuple[np.ndarray, np.ndarray]:
    """Both envelopes at the false positive rates of the grid; the upper end of vertical steps."""
    return tuple(at(*side.envelope(), GRID) for side in (bounds.lower, bounds.upper))


def at(x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Height of a curve whose x rises, at the upper end of vertical steps."""
    last = np.append(x[1:] > x[:-1], True)
    return np.interp(grid, x[last], y[last])
