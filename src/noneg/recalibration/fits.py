"""Calibrators whose curves maximize the likelihood of the labels, with confidence bands.

A curve is a logistic function of features of the score. `noneg.likelihood` fits it from positive
and unlabeled rows with the prior imposed. Scores of exactly 0 and 1 have no logit: if there are
any, each of the two gets its own value and does not affect the curve.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import expit, ndtri

from noneg.calibration.bpm_fit import LARGEST_GAP, LEAST_GAP_HIGH, LEAST_GAP_LOW
from noneg.checks import check_count, check_level
from noneg.errors import InputError
from noneg.likelihood import END, gather, profile_ends
from noneg.randomness import stream
from noneg.recalibration.base import (
    CalibrationWarning,
    Calibrator,
    State,
    check_fields,
    check_unit,
    score_range,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.likelihood import Fit, Sample
    from noneg.recalibration.base import Piece
    from noneg.scores import PUScores

Criterion = Literal["likelihood", "risk"]
CRITERIA = ("likelihood", "risk")
# Log odds of scores of exactly 0 and 1 in the state of a calibrator, if the data contain any.
ENDS = ("at_zero", "at_one")


class CurveCalibrator(Calibrator):
    """A curve on the log-odds scale, fitted by likelihood or by the PU log loss.

    Parameters
    ----------
    fit : {"likelihood", "risk"}
        Maximize the likelihood of the labels, or minimize the PU log loss, a moment-based fit that
        is noisier.
    """

    # `fit` is a method, so the parameter of this name is stored under another name.
    kept_as: ClassVar[dict[str, str]] = {"fit": "criterion"}
    # Whether the band comes from the profile likelihood or from refits on resampled rows.
    has_profile: ClassVar[bool] = False
    # Whether a ridge is part of the method, so that no warning is needed when it takes effect.
    is_stiff: ClassVar[bool] = False

    def __init__(self, fit: Criterion = "likelihood") -> None:
        self.criterion = fit

    @property
    def by_risk(self) -> bool:
        """Whether the fit minimizes the PU log loss."""
        if self.criterion not in CRITERIA:
            rule = f"must be one of {', '.join(CRITERIA)}"
            raise InputError("fit", rule, value=self.criterion)
        return self.criterion == "risk"

    @property
    def has_band(self) -> bool:
        """Whether `band` is available, which requires a fit by likelihood."""
        return not self.by_risk

    @abstractmethod
    def _best(self, sample: Sample, state: State) -> Fit:
        """Return the maximum-likelihood curve of a sample; `state` contains low and high."""

    @abstractmethod
    def _coefficients(self, fit: Fit, state: State) -> State:
        """Return the state of a fit, without the values at the ends of the scale."""

    @abstractmethod
    def _log_odds(self, s: Floats, state: State) -> Floats:
        """Return the log odds of scores, without special values at the ends of the scale."""

    def _by_likelihood(self, scores: PUScores) -> State:
        sample, limits = gather(scores), clip_limits(list(scores.chunks()))
        fit = self._best(sample, limits)
        if fit.unsure and not self.is_stiff:
            warn_open(self, scores.known_prior)
        return self._state(fit, limits)

    def _state(self, fit: Fit, limits: State) -> State:
        ends = [x for x, there in zip(ENDS, fit.curve.sample.at_ends, strict=True) if there]
        z = fit.curve.z(fit.theta)
        values = {name: float(z[0 if name == ENDS[0] else -1]) for name in ends}
        return {**self._coefficients(fit, limits), **limits, **values}

    def _map(self, s: Floats) -> Floats:
        return np.asarray(expit(self._all_log_odds(s, self.state_)), dtype=np.float64)

    def _all_log_odds(self, s: Floats, state: State) -> Floats:
        z = self._log_odds(s, state)
        if ENDS[0] in state:
            z[s < END] = state[ENDS[0]]
        if ENDS[1] in state:
            z[s == 1.0] = state[ENDS[1]]
        return z

    def band(
        self,
        scores: PUScores,
        s: ArrayLike,
        *,
        level: float = 0.95,
        draws: int = 200,
        seed: int = 0,
    ) -> tuple[Floats, Floats]:
        r"""Return a confidence band for the calibrated probability at scores s.

        At each score, the band covers the probability of a positive with the given confidence if
        the curve belongs to the family. For `Platt`, `Temperature` and `Beta`, it contains the
        curves that a likelihood-ratio test does not reject (profile likelihood, with the sandwich
        variance if the rows are weighted). Other curves are refitted to resampled rows, and the
        band is the central interval of these refits.

        Parameters
        ----------
        scores : PUScores
            The rows that the calibrator was fitted on.
        s : array-like
            Scores in [0, 1].
        level : float
            Confidence level at each score.
        draws, seed : int
            Number of resampled data sets and the seed for resampling, if needed.

        Returns
        -------
        low, high : ndarray
            Ends of the band, with the shape of `s`.

        Examples
        --------
        >>> from noneg.recalibration import Platt
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian(-1.0, 3.0).draw(300, 3000, setting="two-sample", seed=0)
        >>> low, high = Platt().fit(scores).band(scores, [0.1, 0.9])
        >>> bool((low < high).all())
        True
        """
        self._require_fit()
        if not self.has_band:
            rule, remedy = (
                "must use the likelihood criterion to have a band",
                "Fit another curve, such as platt.",
            )
            raise InputError("fit", rule, remedy=remedy)
        at, share = check_unit(s), 0.5 + check_level(level) / 2.0
        flat = at.reshape(-1)
        sample = gather(scores)
        if self.has_profile:
            ends = self._profile_band(sample, flat, float(ndtri(share)))
        else:
            ends = self._refit_band(sample, flat, share, check_count(draws, "draws", 2), seed)
        return ends[0].reshape(at.shape), ends[1].reshape(at.shape)

    def _profile_band(self, sample: Sample, s: Floats, reach: float) -> tuple[Floats, Floats]:
        """Return the ends of the curves that the likelihood-ratio test does not reject."""
        limits = {name: self.state_[name] for name in ("low", "high")}
        fit = self._best(sample, limits)
        low, high = profile_ends(fit, self._directions(s, fit, limits), reach)
        z = self._all_log_odds(s, self.state_)
        return expit(z + low), expit(z + high)

    def _directions(self, s: Floats, fit: Fit, limits: State) -> Floats:
        """Return the derivatives of the log odds with respect to all coefficients."""
        out, base = [], self._all_log_odds(s, self._state(fit, limits))
        for k in range(fit.theta.size):
            moved = replace(fit, theta=fit.theta + np.eye(fit.theta.size)[k])
            out.append(self._all_log_odds(s, self._state(moved, limits)) - base)
        return np.array(out)

    def _refit_band(
        self, sample: Sample, s: Floats, share: float, draws: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Return quantiles of curves fitted to resampled rows."""
        limits = {name: self.state_[name] for name in ("low", "high")}
        random, curves = stream(seed, "band"), []
        for _ in range(draws):
            fit = self._best(sample.resampled(random), limits)
            curves.append(self._all_log_odds(s, self._state(fit, limits)))
        low, high = np.quantile(curves, [1.0 - share, share], axis=0)
        return expit(low), expit(high)


def warn_open(calibrator: object, prior: float) -> None:
    """Warn that the rows do not determine the coefficients, which a ridge then stabilizes."""
    warnings.warn(
        f"{type(calibrator).__name__}: no finite coefficients maximize the "
        "likelihood. Either the data are separable, there are too few rows, or the "
        f"prior {prior:.6g} is too large. A ridge penalty keeps the map close to the "
        "identity. Check the prior, or fit on more rows.",
        CalibrationWarning,
        stacklevel=2,
    )


def clip_limits(pieces: list[Piece]) -> State:
    """Return the distances from 0 and 1 at which scores of exactly 0 and 1 are placed.

    This is half the distance to the next score, as if the scores had been rounded to 0 or 1. If no
    score is exactly 0 (or 1), it is negligibly small.
    """
    first, last = score_range(pieces)
    below = above = 0.0
    if first == 0.0:
        below = min(s.min(where=s > 0.0, initial=1.0) for _, _, (s, *_) in pieces)
    if last == 1.0:
        above = 1.0 - max(s.max(where=s < 1.0, initial=0.0) for _, _, (s, *_) in pieces)
    low = float(np.clip(below / 2.0, LEAST_GAP_LOW, LARGEST_GAP))
    return {"low": low, "high": float(np.clip(above / 2.0, LEAST_GAP_HIGH, LARGEST_GAP))}


def check_numbers(state: State, names: tuple[str, ...]) -> None:
    """Reject a state that does not consist of these numbers and the score limits."""
    ends = [name for name in ENDS if name in state]
    check_fields(state, **dict.fromkeys((*names, "low", "high", *ends), float))
    check_limits(state)


def check_limits(state: State) -> None:
    """Reject distances from 0 and 1 that no fit produces."""
    for name in ("low", "high"):
        if not 0.0 < state[name] <= LARGEST_GAP:
            raise InputError(name, f"must lie in (0, {LARGEST_GAP}]")
