"""Recalibration by the curve of a binomial process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.calibration.bpm import bpm_curve
from noneg.recalibration.beta import BetaFamily

if TYPE_CHECKING:
    from noneg.recalibration.contract import State
    from noneg.scores import PUScores


class BPM(BetaFamily):
    r"""The calibration curve of binomial process modelling (Dong et al., Algorithm 1).

    The map is the curve of `noneg.calibration.bpm_curve`,
    :math:`g(s) = 1/(1 + s^{-\alpha} (1 - s)^{\beta} e^{-c})`. It has the form of `Beta`, but its
    coefficients are fitted to the frequencies in the bins of many binnings.

    Attributes
    ----------
    alpha_, beta_, intercept_ : float
        The intercept is minus the paper's c.

    References
    ----------
    Combining Priors with Experience: Confidence Calibration Based on Binomial Process Modeling
    (AAAI 2025).

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D5")
    >>> bpm = BPM().fit(world.draw(n=20_000, setting="labelled", seed=0))
    >>> bool(abs(bpm.transform([0.2, 0.5, 0.8]) - world.posterior([0.2, 0.5, 0.8])).max() < 0.02)
    True
    """

    name = "bpm"

    def _fit(self, scores: PUScores) -> State:
        curve = bpm_curve(scores)
        return {
            "alpha": curve.alpha,
            "beta": curve.beta,
            "intercept": -curve.c,
            "low": curve.low,
            "high": curve.high,
        }
