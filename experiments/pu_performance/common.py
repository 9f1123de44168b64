"""Code shared by the parts of this study: the estimated curve, and curves on one grid."""

import numpy as np
from scipy.stats import rankdata

from noneg.performance.bounds import RocBounds

GRID = np.concatenate([np.linspace(0.0, 0.05, 26), np.linspace(0.06, 1.0, 95)])


def auc(y: np.ndarray, score: np.ndarray) -> float:
    """Return the area under the ROC curve of labeled rows; ties count half."""
    n = np.count_nonzero(y)
    wins = rankdata(score)[y == 1].sum() - n * (n + 1) / 2
    return float(wins / (n * (y.size - n)))


def on_grid(bounds: RocBounds) -> tuple[np.ndarray, np.ndarray]:
    """Return both envelopes at the false positive rates of the grid, at the upper end of vertical
    steps."""
    return tuple(at(*side.envelope(), GRID) for side in (bounds.lower, bounds.upper))


def at(x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return the height of a curve with increasing x, at the upper end of vertical steps."""
    last = np.append(x[1:] > x[:-1], True)
    return np.interp(grid, x[last], y[last])


def areas(name: object, roc, pr, *, envelope: bool = False) -> dict[str, object]:
    """Return the bounds on the areas under both curves."""
    row = {"beta": name, "roc_lower": roc.auc[0], "roc_upper": roc.auc[1]}
    if envelope:
        row |= dict(
            zip(("roc_envelope_lower", "roc_envelope_upper"), roc.envelope_auc, strict=True)
        )
    return row | {"pr_lower": pr.auc[0], "pr_upper": pr.auc[1]}
