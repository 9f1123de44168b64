"""Prior shift: odds rescaled from one share of positives to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from noneg.calibration.bpm_fit import LEAST_GAP_HIGH, LEAST_GAP_LOW
from noneg.checks import check_prior
from noneg.recalibration._logistic import LEAST_PRIOR, log_odds, log_odds_parts
from noneg.recalibration.contract import Calibrator, Floats, State, check_fields

if TYPE_CHECKING:
    from noneg.scores import PUScores


class PriorShift(Calibrator):
    r"""Multiply the odds by a constant, as when the share of positives changes.

    .. math:: \frac{g(s)}{1 - g(s)} = \frac{s}{1 - s}\;e^{b}, \qquad
        e^{b} = \frac{\pi'/(1 - \pi')}{\pi/(1 - \pi)}

    If the scores were calibrated where the share of positives was :math:`\pi`, and only this share
    has changed, to :math:`\pi'`, the result is calibrated again. When :math:`\pi` is not known, b
    is chosen such that the mean of the result is the prior of the data, :math:`E[g(s)] = \pi'`;
    this needs no positives, only the prior.

    Parameters
    ----------
    source : float, optional
        Share of positives for which the scores were made. By default b is learned.
    target : float, optional
        Share of positives from now on; by default the prior of the scores that it is fitted on.

    Attributes
    ----------
    shift_ : float
        The constant b, in logits.

    References
    ----------
    Elkan (2001), The Foundations of Cost-Sensitive Learning, Theorem 2; Saerens, Latinne &
    Decaestecker (2002), Adjusting the Outputs of a Classifier to New a Priori Probabilities.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9], [0.5, 0.2], prior=0.2, setting="two-sample")
    >>> PriorShift(source=0.5).fit(scores).transform([0.0, 0.2, 0.5, 1.0]).round(4)
    array([0.    , 0.0588, 0.2   , 1.    ])
    """

    name = "prior-shift"
    monotone = True

    def __init__(self, source: float | None = None, target: float | None = None) -> None:
        self.source = source
        self.target = target

    def _fit(self, scores: PUScores) -> State:
        prior = scores.prior if self.target is None else check_prior(self.target, "target")
        if self.source is not None:
            target = check_prior(prior, "target")
            return {"shift": log_odds(target) - log_odds(check_prior(self.source, "source"))}
        return {"shift": _matching_shift(scores, prior)}

    def _map(self, s: Floats) -> Floats:
        return np.asarray(expit(_logit(s) + self.shift_), dtype=np.float64)

    def _check(self, state: State) -> None:
        check_fields(state, shift=float)

    @property
    def shift_(self) -> float:
        """What is added to the logit."""
        return float(self.state_["shift"])


def _logit(s: Floats) -> Floats:
    first, second = log_odds_parts(s, LEAST_GAP_LOW, LEAST_GAP_HIGH)
    return first + second


def _matching_shift(scores: PUScores, prior: float) -> float:
    """Return the shift that makes the mean of the result the prior.

    The mean rises with the shift, and the root lies where the smallest and the largest score alone
    would put it.
    """
    from scipy.optimize import brentq

    rows = [(s, np.broadcast_to(f * w, s.shape)) for _, m, (s, f, _, w) in scores.chunks() if m]
    logits = np.concatenate([_logit(s) for s, _ in rows])
    weight = np.concatenate([w for _, w in rows])
    weight = weight / weight.sum()
    level = log_odds(min(max(prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR))
    target = float(expit(level))

    def excess(shift: float) -> float:
        return float(weight @ expit(logits + shift)) - target

    low, high = level - float(logits.max()), level - float(logits.min())
    # Where all scores are equal there is nothing to search, but for a rounding.
    if not excess(low) < 0.0 < excess(high):
        return low if abs(excess(low)) < abs(excess(high)) else high
    return float(brentq(excess, low, high, xtol=1e-13, rtol=1e-14))
