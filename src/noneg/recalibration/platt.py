"""Platt scaling: a straight line on the logit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration._logistic import LogisticCalibrator, log_odds_parts

if TYPE_CHECKING:
    from noneg.recalibration.contract import Floats


class Platt(LogisticCalibrator):
    r"""Logistic regression on the logit of the score.

    .. math:: g(s) = \sigma(a \operatorname{logit} s + b)

    with the a and b that minimise the PU log loss
    :math:`-\pi\,E_+[z] + E[\log(1 + e^z)]`, :math:`z = a \operatorname{logit} s + b`. Two numbers
    are learned, so few positives suffice. The slope is free: scores that rank the wrong way give a
    falling map.

    Attributes
    ----------
    slope_, intercept_ : float

    References
    ----------
    Platt (1999), Probabilistic Outputs for Support Vector Machines, without its smoothed targets;
    du Plessis et al. (2014) for the PU log loss.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> platt = Platt().fit(scores)
    >>> bool(abs(platt.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.03)
    True
    """

    name = "platt"
    monotone = False
    coefficients = ("slope", "intercept")
    bounded = (False, False)
    identity = (1.0, 0.0)

    @staticmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return np.stack([first + second, np.ones_like(s)])

    @property
    def slope_(self) -> float:
        """Factor of the logit."""
        return float(self.state_["slope"])

    @property
    def intercept_(self) -> float:
        """What is added to it."""
        return float(self.state_["intercept"])
