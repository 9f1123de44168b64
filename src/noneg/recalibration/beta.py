"""Beta calibration: logistic regression on log s and -log(1 - s)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration._logistic import LogisticCalibrator, log_odds_parts

if TYPE_CHECKING:
    from noneg.recalibration.contract import Floats


class BetaFamily(LogisticCalibrator):
    """Maps ``sigma(alpha log s - beta log(1 - s) + intercept)`` that never fall."""

    monotone = True
    coefficients = ("alpha", "beta", "intercept")
    bounded = (True, True, False)
    identity = (1.0, 1.0, 0.0)

    @staticmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return np.stack([first, second, np.ones_like(s)])

    @property
    def alpha_(self) -> float:
        """Factor of log s."""
        return float(self.state_["alpha"])

    @property
    def beta_(self) -> float:
        """Factor of -log(1 - s)."""
        return float(self.state_["beta"])

    @property
    def intercept_(self) -> float:
        """What is added to them."""
        return float(self.state_["intercept"])


class Beta(BetaFamily):
    r"""Logistic regression on the two halves of the logit.

    .. math:: g(s) = \sigma(\alpha \log s - \beta \log(1 - s) + c), \qquad \alpha, \beta \ge 0

    with the coefficients that minimise the PU log loss. The two ends of the scale may bend
    differently, which `Platt` (:math:`\alpha = \beta`) does not allow. It is the right family when
    the scores of both classes have beta laws.

    Attributes
    ----------
    alpha_, beta_, intercept_ : float

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beyond Sigmoids: How to Obtain Well-Calibrated Probabilities
    from Binary Classifiers with Beta Calibration.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> beta = Beta().fit(scores)
    >>> bool(abs(beta.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.05)
    True
    """

    name = "beta"
