r"""The logistic family: maps :math:`\sigma(\theta\cdot x(s))` of maximum likelihood.

A member says what the features x of a score are, which coefficients must not be negative, and which
coefficients are the identity.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from noneg.calibration.bpm_fit import LARGEST_GAP, LEAST_GAP_HIGH, LEAST_GAP_LOW
from noneg.recalibration._newton import Problem, combined, minimise, sums
from noneg.recalibration.contract import (
    CalibrationWarning,
    Calibrator,
    Floats,
    State,
    check_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from noneg.rows import Chunk
    from noneg.scores import PUScores

    # Whether rows belong to the positive law, whether to the marginal law, and the rows.
    Piece = tuple[bool, bool, Chunk]

# The ridge on what the data leaves open weighs like one row in so many squared logits.
LOOSE = 2.0
# Labelled data may hold no positive, or nothing else.
LEAST_PRIOR = 1e-6


class LogisticCalibrator(Calibrator):
    """A logistic map with coefficients of maximum likelihood.

    Scores of exactly 0 and 1 count as half the distance of the next score away from there.
    """

    coefficients: ClassVar[tuple[str, ...]]
    bounded: ClassVar[tuple[bool, ...]]
    identity: ClassVar[tuple[float, ...]]

    @staticmethod
    @abstractmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        """Return the features of scores, shape (k, m)."""

    def _fit(self, scores: PUScores) -> State:
        pieces = list(scores.chunks())
        low, high = clip_limits(pieces)
        problem = self._problem(scores, low, high, pieces)
        theta = fit_theta(problem, scores, type(self).__name__)
        values = dict(zip(self.coefficients, theta.tolist(), strict=True))
        return {**values, "low": low, "high": high}

    def _problem(
        self, scores: PUScores, low: float, high: float, pieces: Iterable[Piece]
    ) -> Problem:
        features, weight, target = collect(pieces, lambda s: self._features(s, low, high))
        level = min(max(scores.prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR)
        start = [log_odds(level) if name == "intercept" else 0.0 for name in self.coefficients]
        return Problem(
            features=features,
            weight=weight,
            target=scores.prior * target,
            bounded=np.array(self.bounded),
            centre=np.array(self.identity),
            start=np.array(start),
        )

    def _map(self, s: Floats) -> Floats:
        x = self._features(s, self.state_["low"], self.state_["high"])
        theta = np.array([self.state_[name] for name in self.coefficients])
        return np.asarray(expit(combined(theta, x)), dtype=np.float64)

    def _check(self, state: State) -> None:
        check_fields(state, **dict.fromkeys((*self.coefficients, "low", "high"), float))
        for name in ("low", "high"):
            if not 0.0 < state[name] <= LARGEST_GAP:
                raise ValueError(f"'{name}' must lie in (0, {LARGEST_GAP}]")
        for name, bound in zip(self.coefficients, self.bounded, strict=True):
            if bound and state[name] < 0.0:
                raise ValueError(f"'{name}' must not be negative")


def fit_theta(problem: Problem, scores: PUScores, who: str) -> Floats:
    """Return the coefficients of maximum likelihood, held by a ridge where they do not exist."""
    found = minimise(problem)
    if found.exists:
        return found.theta
    n = min(scores.effective_marginal, scores.effective_positive / max(scores.prior, LEAST_PRIOR))
    held = replace(problem, ridge=1.0 / (LOOSE**2 * max(n, 1.0)))
    warnings.warn(
        f"{who}: no finite coefficients maximise the likelihood, because the positives score "
        "higher (or lower) than the marginal rows can follow: the data is separable, tiny, or the "
        f"prior {scores.prior:.6g} is too large. A ridge holds the map near the identity; check "
        "the prior, or fit on more rows.",
        CalibrationWarning,
        stacklevel=2,
    )
    return minimise(held).theta


def log_odds(p: float) -> float:
    """Return the logit of a probability."""
    return math.log(p) - math.log1p(-p)


def clip_limits(pieces: Iterable[Piece]) -> tuple[float, float]:
    """Return the distances from 0 and 1 that scores of exactly 0 and 1 are taken for.

    Half the distance of the next score, as if rounding had brought them there; next to nothing
    where no score is exactly 0 (or 1).
    """
    first, last, zero, one = np.inf, -np.inf, False, False
    for _, _, (s, _, _, _) in pieces:
        if s.size == 0:
            continue
        low, high = float(s.min()), float(s.max())
        zero, one = zero or low == 0.0, one or high == 1.0
        if low == 0.0 or high == 1.0:
            inside = s[(s > 0.0) & (s < 1.0)]
            low, high = float(inside.min(initial=np.inf)), float(inside.max(initial=-np.inf))
        first, last = min(first, low), max(last, high)
    below = first / 2.0 if zero else 0.0
    above = (1.0 - last) / 2.0 if one else 0.0
    return (
        float(np.clip(below, LEAST_GAP_LOW, LARGEST_GAP)),
        float(np.clip(above, LEAST_GAP_HIGH, LARGEST_GAP)),
    )


def log_odds_parts(s: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return ``log s`` and ``-log(1 - s)``, finite at s = 0 and s = 1."""
    return np.log(np.maximum(s, low)), -np.log(np.maximum(1.0 - s, high))


def collect(
    pieces: Iterable[Piece], features: Callable[[Floats], Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return features and masses of the marginal rows, and ``E_plus[x]``."""
    known = list(pieces)
    marginal = [rows for _, in_marginal, rows in known if in_marginal]
    weight = marginal_masses(marginal)
    x = np.empty((features(np.full(1, 0.5)).shape[0], weight.size))
    total, mass, filled = np.zeros(len(x)), 0.0, 0
    for in_positive, in_marginal, (s, f, a, _) in known:
        found = features(s)
        if in_positive:
            share = np.broadcast_to(f * a, s.shape)
            total, mass = total + sums(found, share), mass + float(share.sum())
        if in_marginal:
            x[:, filled : filled + s.size] = found
            filled += s.size
    return x, weight, total / (mass if mass > 0.0 else 1.0)


def marginal_masses(pieces: list[Chunk]) -> Floats:
    """Return the masses of rows, which sum to 1; equal ones take no memory."""
    masses = [f * w for _, f, _, w in pieces]
    if all(isinstance(mass, float) for mass in masses) and len(set(masses)) == 1:
        n = sum(s.size for s, _, _, _ in pieces)
        return np.broadcast_to(1.0 / n, n)
    columns = [np.broadcast_to(m, p[0].shape) for m, p in zip(masses, pieces, strict=True)]
    weight = np.concatenate(columns)
    weight /= weight.sum()
    return weight
