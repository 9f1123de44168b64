"""ROC and precision-recall curves, exact at every distinct score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noneg.laws import Ordered
from noneg.results import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noneg.scores import PUScores


@dataclass(frozen=True, kw_only=True, eq=False)
class RocCurve(Table):
    """Points of a ROC curve, thresholds falling.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    fpr, tpr : ndarray
        As estimated: without negatives noise may take the FPR out of [0, 1] or make it step back.
    """

    thresholds: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]

    _names = ("thresholds", "fpr", "tpr")


@dataclass(frozen=True, kw_only=True, eq=False)
class PrCurve(Table):
    """Points of a precision-recall curve, thresholds falling.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    recall, precision : ndarray
        At infinity 0 and, by convention, 1. Without negatives noise may take the precision above
        1; it is nan above the largest marginal score.
    """

    thresholds: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]

    _names = ("thresholds", "recall", "precision")


def roc(scores: PUScores, *, drop_intermediate: bool = False) -> RocCurve:
    r"""Return the ROC curve.

    .. math:: \mathrm{TPR}(t) = \mu_+(s \ge t), \qquad
        \mathrm{FPR}(t) = \frac{\mu(s \ge t) - \pi\,\mathrm{TPR}(t)}{1 - \pi}

    Parameters
    ----------
    scores : PUScores
    drop_intermediate : bool
        Leave out points on the straight line between their neighbours, as scikit-learn does by
        default. The area stays the same.

    Examples
    --------
    >>> from noneg import PUScores
    >>> curve = roc(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    >>> print(curve.fpr, curve.tpr)
    [0.  0.  0.5 0.5 1. ] [0.  0.5 0.5 1.  1. ]
    """
    steps = Ordered(scores)
    points = steps.thresholds, steps.fpr(scores.prior), steps.tpr
    if drop_intermediate:
        corner = steps.corners()
        points = points[0][corner], points[1][corner], points[2][corner]
    return RocCurve(thresholds=points[0], fpr=points[1], tpr=points[2])


def pr(scores: PUScores) -> PrCurve:
    r"""Return the precision-recall curve.

    .. math:: \mathrm{recall}(t) = \mu_+(s \ge t), \qquad
        \mathrm{precision}(t) = \pi\,\mu_+(s \ge t) / \mu(s \ge t)

    Examples
    --------
    >>> from noneg import PUScores
    >>> curve = pr(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    >>> print(curve.recall, curve.precision.round(3))
    [0.  0.5 0.5 1.  1. ] [1.    1.    0.5   0.667 0.5  ]
    """
    steps = Ordered(scores)
    precision = steps.precision(scores.prior)
    precision[0] = 1.0
    return PrCurve(thresholds=steps.thresholds, recall=steps.tpr, precision=precision)
