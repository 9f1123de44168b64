"""The best threshold, searched over all distinct scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_number, percentage
from noneg.laws import Ordered
from noneg.losses import check_cost
from noneg.performance.thresholds import PRECISION, RECALL, Confusion, f_beta_rule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

# A wanted rate counts as reached up to a rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class BestThreshold:
    """A threshold and what it achieves.

    Attributes
    ----------
    threshold : float
        Predict positive from this score on; infinite if it is best never to do so.
    value : float
        What is achieved there: expected cost a row, F-measure, precision or recall.
    criterion : str
        What was asked for.
    confusion : Confusion
        The confusion matrix there.
    """

    threshold: float
    value: float
    criterion: str
    confusion: Confusion

    def __str__(self) -> str:
        names = ("tp", "fp", "fn", "tn")
        shares = ", ".join(f"{name} {getattr(self.confusion, name):.3f}" for name in names)
        return f"{self.threshold:.4g} for {self.criterion}: {self.value:.4g} ({shares})"

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers and text."""
        return {
            "threshold": self.threshold,
            "value": self.value,
            "criterion": self.criterion,
            "confusion": self.confusion.to_dict(),
        }


def best_threshold(
    scores: PUScores,
    *,
    cost: ArrayLike | None = None,
    f_beta: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
) -> BestThreshold:
    r"""Return the best threshold for one criterion, exactly, over all distinct scores.

    Parameters
    ----------
    scores : PUScores
    cost : array-like, optional
        Find the smallest expected cost. Either the pair (cost of a false positive, cost of a false
        negative), or the matrix ``[[tn, fp], [fn, tp]]``. Never predicting positive is considered.
    f_beta : float, optional
        Find the largest F-measure for this beta.
    precision : float, optional
        Find the smallest threshold whose precision is at least this: the most positives found at
        the wanted purity.
    recall : float, optional
        Find the largest threshold whose recall is at least this.

    Returns
    -------
    BestThreshold
        Of several equally good thresholds the largest. The value is that of the data the threshold
        was chosen on; estimate it anew on other data.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> best_threshold(scores, f_beta=1).threshold, best_threshold(scores, recall=0.5).threshold
    (0.4, 0.9)
    """
    wanted = {"cost": cost, "f_beta": f_beta, "precision": precision, "recall": recall}
    given = [name for name, value in wanted.items() if value is not None]
    if len(given) != 1:
        msg = (
            f"give exactly one of 'cost', 'f_beta', 'precision' and 'recall', got "
            f"{', '.join(given) or 'none'}."
        )
        raise ValueError(msg)
    steps, prior = Ordered(scores), scores.prior
    if cost is not None:
        values = _expected_cost(steps, prior, check_cost(cost))
        return _chosen(scores, steps, int(np.argmin(values)), values, "smallest expected cost")
    if f_beta is not None:
        values = f_beta_rule(f_beta)(steps.tpr, steps.ppr, prior)
        return _chosen(scores, steps, _largest(values), values, f"largest F with beta {f_beta:g}")
    if precision is not None:
        values = PRECISION(steps.tpr, steps.ppr, prior)
        k = _reach(values, precision, "precision")[-1]
        return _chosen(scores, steps, int(k), values, f"precision at least {precision:g}")
    values = RECALL(steps.tpr, steps.ppr, prior)
    return _chosen(
        scores,
        steps,
        int(_reach(values, recall, "recall")[0]),
        values,
        f"recall at least {recall:g}",
    )


def _expected_cost(steps: Ordered, prior: float, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    (tn, fp), (fn, tp) = cost
    tpr, fpr = np.nan_to_num(steps.tpr), np.nan_to_num(steps.fpr(prior))
    positive = prior * (fn + (tp - fn) * tpr)
    total: NDArray[np.float64] = positive + (1.0 - prior) * (tn + (fp - tn) * fpr)
    return total


def _largest(values: NDArray[np.float64]) -> int:
    if np.isnan(values[1:]).all():
        msg = "'scores' must hold a positive for this criterion, got none."
        raise ValueError(msg)
    return 1 + int(np.nanargmax(values[1:]))


def _reach(values: NDArray[np.float64], wanted: object, name: str) -> NDArray[np.intp]:
    """Return the steps, thresholds falling, at which a wanted rate is reached."""
    rule = "a rate in (0, 1]"
    rate = check_number(wanted, name, rule)
    if not 0.0 < rate <= 1.0:
        msg = f"'{name}' must be {rule}, got {wanted!r}.{percentage(rate)}"
        raise ValueError(msg)
    best = values[_largest(values)]
    places = 1 + np.flatnonzero(values[1:] >= rate - ROUNDING)
    if not places.size:
        msg = (
            f"'{name}' must be reachable: the largest {name} of any threshold is {best:.6g}, "
            f"got {rate:g}. Ask for no more than that."
        )
        raise ValueError(msg)
    return places


def _chosen(
    scores: PUScores, steps: Ordered, k: int, values: NDArray[np.float64], criterion: str
) -> BestThreshold:
    matrix = Confusion(
        threshold=steps.thresholds[k],
        tpr=steps.tpr[k],
        fpr=steps.fpr(scores.prior)[k],
        ppr=steps.ppr[k],
        prior=scores.prior,
    )
    return BestThreshold(
        threshold=float(steps.thresholds[k]),
        value=float(values[k]),
        criterion=criterion,
        confusion=matrix,
    )
