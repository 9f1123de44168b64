r"""Limits for errors that compare blurred densities of the two laws.

The p-th power of such an error is a convex function of both laws and homogeneous of degree one.
Like a norm it therefore has linear functions that touch it at one point and exceed it nowhere, and
both ends of `ece_interval` carry over: `noneg.calibration.interval` explains them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from noneg.bins import Binned, square_roots
from noneg.calibration.interval import PRIOR_GRID, SPLITS, ZERO
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.calibration._cosine import Blur
    from noneg.scores import PUScores

    Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

# Share of its highest value below which a density in bins is rounding.
EMPTY = 1e-4


@dataclass(frozen=True)
class Power:
    """The p-th power of the error, a function of the masses of both laws in bins.

    Attributes
    ----------
    blur : callable
    x : ndarray
        Score in the middle of each bin.
    p : float
    """

    blur: Blur
    x: NDArray[np.float64]
    p: float

    def __call__(self, positive: NDArray[np.float64], marginal: NDArray[np.float64]) -> float:
        """Return the power for positives times the prior, and everyone."""
        return float(_apply(self.touching(positive, marginal), (positive, marginal)))

    def touching(self, positive: NDArray[np.float64], marginal: NDArray[np.float64]) -> Pair:
        """Return the linear function of both laws that equals the power here, and exceeds none."""
        g, f = self.blur(positive), self.blur(marginal)
        if self.p == 1:
            gap = g - self.x * f
            first = np.sign(np.where(np.abs(gap) > ZERO, gap, 0.0))
            return self.blur(first), self.blur(-self.x * first)
        full = f > EMPTY * f.max(axis=-1, keepdims=True)
        gap = np.divide(g, f, out=np.zeros_like(f), where=full) - self.x * full
        first = self.p * np.sign(gap) * np.abs(gap) ** (self.p - 1.0)
        second = -self.x * first - (self.p - 1.0) * np.abs(gap) ** self.p
        return self.blur(first), self.blur(second)


def _apply(function: Pair, laws: Pair) -> NDArray[np.float64]:
    total: NDArray[np.float64] = sum(
        (v * law).sum(axis=-1) for v, law in zip(function, laws, strict=True)
    )
    return total


def _laws(binned: Binned) -> Pair:
    return binned.prior * binned.positive, binned.marginal


def _variance(binned: Binned, function: Pair) -> NDArray[np.float64]:
    """Return the variance of a linear function of both laws; see `Binned.variance`."""
    first, second = function
    centre_positive = (first @ binned.positive)[..., None]
    centre_marginal = (second @ binned.marginal)[..., None]
    if binned.prior_is_estimated:
        row = binned.prior * first, second - centre_marginal - binned.prior * centre_positive
    else:
        row = binned.prior * (first - centre_positive), second - centre_marginal
    c = np.stack(row, axis=-1)
    total: NDArray[np.float64] = np.einsum("...bi,bij,...bj->...", c, binned.second[:, :2, :2], c)
    return np.maximum(total, 0.0)


def _noise(binned: Binned, normal: NDArray[np.float64]) -> Pair:
    """Return noise with the covariance of both laws, shape (splits, bins) each."""
    root = square_roots(binned.second[:, :2, :2])
    positive, marginal = np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0)
    total = marginal.sum(axis=1, keepdims=True)
    share = total if binned.prior_is_estimated else positive.sum(axis=1, keepdims=True)
    return (
        binned.prior * (positive - binned.positive * share),
        marginal - binned.marginal * total,
    )


def power_limits(
    scores: PUScores, binned: Binned, power: Power, level: float, seed: int
) -> tuple[float, float]:
    """Return limits for the power of the error, as `norm_limits` does for norms."""
    normal = stream(seed, "split").standard_normal((SPLITS, binned.n_bins, 2))
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    priors = np.linspace(low, high, PRIOR_GRID if high > low else 1)
    grid = [replace(binned, prior=float(prior)) for prior in priors]
    # What may happen between two priors of the grid, as in `norm_limits`.
    speed = max(abs(float(power.touching(*_laws(b))[0] @ b.positive)) for b in grid)
    slack = speed * (priors[1] - priors[0]) / 2.0 if high > low else 0.0
    lower = min(_lower_end(b, power, level, normal) for b in grid)
    return lower - slack, max(_upper_end(b, power, level) for b in grid) + slack


def _upper_end(binned: Binned, power: Power, level: float) -> float:
    function = power.touching(*_laws(binned))
    z = float(ndtri(0.5 + level / 2.0))
    return float(_apply(function, _laws(binned)) + z * np.sqrt(_variance(binned, function)))


def _lower_end(binned: Binned, power: Power, level: float, normal: NDArray[np.float64]) -> float:
    positive, marginal = _laws(binned)
    shift, turn = _noise(binned, normal)
    halves = (positive + shift, marginal + turn), (positive - shift, marginal - turn)
    z = float(ndtri(0.75 + level / 4.0))
    value, variance = np.zeros(SPLITS), np.zeros(SPLITS)
    for one, other in (halves, halves[::-1]):
        function = power.touching(*other)
        value += _apply(function, one) / 2.0
        variance += 2.0 * _variance(binned, function) / 4.0
    return float(np.median(value - z * np.sqrt(variance)))
