"""Isotonic regression of the labels on the scores, from both laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration._law import table
from noneg.recalibration.contract import Calibrator, Floats, State, check_curve, check_fields

if TYPE_CHECKING:
    from noneg.scores import PUScores


class Isotonic(Calibrator):
    r"""The rising map that fits best, without any other assumption.

    Its value at a score is the slope there of the greatest convex minorant of the points
    :math:`(\mu(s \le t),\ \pi\,\mu_+(s \le t))`, moved into [0, 1]. It minimises the Brier score
    :math:`\pi\,E_+[1 - 2 g(s)] + E[g(s)^2]` over all rising g with values in [0, 1]. For labelled
    data it is scikit-learn's ``IsotonicRegression``.

    Between scores of the data the map is linear, outside of them constant.

    Attributes
    ----------
    scores_, values_ : ndarray
        Corners of the map.

    References
    ----------
    Zadrozny & Elkan (2002), Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates; Ayer et al. (1955) for the minorant.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.7, 0.9], [0.2, 0.4, 0.7, 0.9], prior=0.5, setting="two-sample")
    >>> Isotonic().fit(scores).transform([0.1, 0.4, 0.55, 0.9])
    array([0. , 0. , 0.5, 1. ])
    """

    name = "isotonic"
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        from scipy.optimize import isotonic_regression

        laws = table(scores)
        fitted = isotonic_regression(laws.positive / laws.marginal, weights=laws.marginal)
        values = np.clip(fitted.x, 0.0, 1.0)
        # Inside a block the line between its ends is the block.
        inner = np.zeros(values.size, dtype=np.bool_)
        inner[1:-1] = (values[1:-1] == values[:-2]) & (values[1:-1] == values[2:])
        return {"scores": laws.score[~inner].tolist(), "values": values[~inner].tolist()}

    def _map(self, s: Floats) -> Floats:
        return np.interp(s, self.scores_, self.values_)

    def _check(self, state: State) -> None:
        check_fields(state, scores=list, values=list)
        check_curve(state, "scores", "values", rising=True)

    @property
    def scores_(self) -> Floats:
        """Scores of the corners."""
        return np.array(self.state_["scores"])

    @property
    def values_(self) -> Floats:
        """Probabilities at the corners."""
        return np.array(self.state_["values"])
