"""Venn-Abers calibration: two probabilities per row, whose distance reflects uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.errors import InputError
from noneg.recalibration.base import (
    Calibrator,
    check_fields,
    check_nodes,
    check_probabilities,
    check_unit,
    stored_array,
)
from noneg.recalibration.maps import MOST_NODES, cell_starts, laws_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.recalibration.base import State
    from noneg.scores import PUScores


class VennAbers(Calibrator):
    r"""Isotonic regression fitted twice: as if the row were negative, and as if it were positive.

    A row with score s is added to the marginal sample of n rows, once with label 0 and once with
    label 1: the points :math:`(\mu(s \le t),\ \pi\,\mu_+(s \le t))` gain a step
    :math:`(1/(n+1),\ y/(n+1))` at s, and the slopes of their greatest convex minorants at s are
    :math:`p_0 \le p_1`. They are far apart where the map is based on only a few rows. `transform`
    returns one number, :math:`p_1 / (1 - p_0 + p_1)`, which minimizes the regret in log loss.

    If every row is labeled, one of the two probabilities is calibrated exactly (Vovk, Petej &
    Fedorova 2015). **With positive and unlabeled rows, validity is only asymptotic**: the positive
    distribution is estimated from other rows, and its noise is not reflected in the distance
    between the two probabilities.

    Attributes
    ----------
    scores_ : ndarray
        Distinct scores in the data, at most 1,000; beyond that, merged into cells of equal mass.
    low_, high_ : ndarray
        Both probabilities at each of these scores.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.8, 0.9])
    >>> VennAbers().fit(scores).probabilities([0.1, 0.9]).round(3)
    array([[0.   , 0.333],
           [0.667, 1.   ]])
    """

    name = "venn-abers"
    learns = "any increasing map, with its uncertainty"
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        at, positive, marginal = _cells(*laws_at(scores))
        one = 1.0 / (scores.effective_marginal + 1.0)
        shrunk = 1.0 - one
        low, high = (
            added_slopes(marginal * shrunk, positive * shrunk, one, y * one) for y in (0.0, 1.0)
        )
        return {"scores": at.tolist(), "low": low.tolist(), "high": high.tolist()}

    def probabilities(self, s: ArrayLike) -> Floats:
        """Return both probabilities for each score, smaller first, shape (n, 2)."""
        self._require_fit()
        flat = check_unit(s).reshape(-1)
        ends = [np.interp(flat, self.scores_, end) for end in (self.low_, self.high_)]
        return np.stack(ends, axis=-1)

    def _map(self, s: Floats) -> Floats:
        low, high = self.probabilities(s).T
        return high / (1.0 - low + high)

    def _check(self, state: State) -> None:
        check_fields(state, scores=list, low=list, high=list)
        for name in ("low", "high"):
            check_nodes(state, "scores", name)
            check_probabilities(state, name)
            if (np.diff(state[name]) < 0.0).any():
                raise InputError(name, "must never fall")

    scores_ = stored_array("scores", "Scores at which both probabilities are stored.")
    low_ = stored_array("low", "Probability if the row were negative.")
    high_ = stored_array("high", "Probability if the row were positive.")


def _cells(at: Floats, positive: Floats, marginal: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distributions at a limited number of scores; each cell is placed at its mean."""
    if at.size <= MOST_NODES:
        return at, positive, marginal
    first = cell_starts(marginal)
    sums = [np.add.reduceat(x, first) for x in (marginal * at, positive, marginal)]
    return sums[0] / sums[2], sums[1], sums[2]


def added_slopes(width: Floats, rise: Floats, one: float, gain: float) -> Floats:
    """Return the slope of the convex minorant at each score after a step is added there.

    Parameters
    ----------
    width, rise : ndarray
        Steps between the points, one per score.
    one, gain : float
        The added step.

    Examples
    --------
    >>> added_slopes(np.array([0.4, 0.4]), np.array([0.0, 0.4]), 0.2, 0.2).round(3)
    array([0.333, 1.   ])
    """
    from scipy.optimize import isotonic_regression

    out = np.empty(width.size)
    for k in range(width.size):
        mass, total = width.copy(), rise.copy()
        mass[k] += one
        total[k] += gain
        out[k] = isotonic_regression(total / mass, weights=mass).x[k]
    # Slopes never decrease from one score to the next, except by rounding error.
    return np.maximum.accumulate(np.clip(out, 0.0, 1.0))
