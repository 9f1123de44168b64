"""Temperature scaling: one slope on the logit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noneg.recalibration._logistic import LogisticCalibrator, log_odds_parts

if TYPE_CHECKING:
    from noneg.recalibration.contract import Floats


class Temperature(LogisticCalibrator):
    r"""Divide the logit by a temperature.

    .. math:: g(s) = \sigma(\operatorname{logit}(s) / T)

    with the slope :math:`1/T \ge 0` that minimises the PU log loss. One number is learned; a score
    of 1/2 stays where it is, so a wrong level (a shifted prior) cannot be repaired.

    Attributes
    ----------
    temperature_ : float
        T; infinite when the best slope is zero.

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1, 1, 0], [0.01, 0.02, 0.98, 0.99, 0.03, 0.97])
    >>> round(Temperature().fit(scores).temperature_, 1)
    4.5
    """

    name = "temperature"
    monotone = True
    coefficients = ("slope",)
    bounded = (True,)
    identity = (1.0,)

    @staticmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return (first + second)[None]

    @property
    def temperature_(self) -> float:
        """What the logit is divided by."""
        slope = float(self.state_["slope"])
        return 1.0 / slope if slope > 0.0 else math.inf
