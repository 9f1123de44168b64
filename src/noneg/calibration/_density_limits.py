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

    def error(self, laws: Pair) -> float:
        """Return the error itself, given positives times the prior, and everyone."""
        return max(0.0, float(_apply(self.touching(laws), laws))) ** (1.0 / self.p)

    def touching(self, laws: Pair) -> Pair:
        """Return the linear function of both laws that equals the power here, and exceeds none."""
        g, f = self.blur(laws[0]), self.blur(laws[1])
        if self.p == 1:
            first = np.where(g - self.x * f < -ZERO, -1.0, 1.0)
            return self.blur(first), self.blur(-self.x * first)
        full = f > EMPTY * f.max(axis=-1, keepdims=True)
        gap = np.divide(g, f, out=np.zeros_like(f), where=full) - self.x * full
        first = self.p * np.sign(gap) * np.abs(gap) ** (self.p - 1.0)
        second = -self.x * first - (self.p - 1.0) * np.abs(gap) ** self.p
        return self.blur(first), self.blur(second)


def density_limits(
    scores: PUScores, binned: Binned, power: Power, *, level: float, seed: int
) -> tuple[float, float]:
    """Return limits for the error, as `norm_limits` does for norms of the residuals."""
    # Signs, not Gaussian noise: a kernel may hold so few rows that their sum is far from normal. A
    # bin with a single row then goes to one of the halves, as in a split of the rows.
    signs = stream(seed, "split").choice([-1.0, 1.0], size=(2, SPLITS, binned.n_bins))
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    priors = np.linspace(low, high, PRIOR_GRID if high > low else 1)
    grid = [replace(binned, prior=float(prior)) for prior in priors]
    upper, speed = zip(*(_upper_end(b, power, level) for b in grid), strict=True)
    # What may happen between two priors of the grid, as in `norm_limits`.
    slack = max(speed) * (high - low) / (2.0 * max(1, priors.size - 1))
    lower = min(_lower_end(b, power, level, signs) for b in grid)
    return max(0.0, lower - slack), max(upper) + slack


def _upper_end(binned: Binned, power: Power, level: float) -> tuple[float, float]:
    """Return the upper end, and how fast the error moves with the prior."""
    function = power.touching(_laws(binned))
    error = power.error(_laws(binned))
    # From the power to the error itself: it has less skew, and the line lies above the root.
    slope = 1.0 / (power.p * error ** (power.p - 1.0)) if error > 0.0 else float(power.p == 1)
    reach = float(ndtri(0.5 + level / 2.0) * np.sqrt(_variance(binned, function)))
    return error + slope * reach, slope * abs(float(function[0] @ binned.positive))


def _lower_end(binned: Binned, power: Power, level: float, signs: NDArray[np.float64]) -> float:
    (positive, marginal), (shift, turn) = _laws(binned), _noise(binned, signs)
    halves = (positive + shift, marginal + turn), (positive - shift, marginal - turn)
    z = float(ndtri(0.75 + level / 4.0))
    value, variance = np.zeros(SPLITS), np.zeros(SPLITS)
    for one, other in (halves, halves[::-1]):
        function = power.touching(other)
        value += _apply(function, one) / 2.0
        variance += 2.0 * _variance(binned, function) / 4.0
    return max(0.0, float(np.median(value - z * np.sqrt(variance)))) ** (1.0 / power.p)


def _laws(binned: Binned) -> Pair:
    return binned.prior * binned.positive, binned.marginal


def _apply(function: Pair, laws: Pair) -> NDArray[np.float64]:
    total: NDArray[np.float64] = (function[0] * laws[0] + function[1] * laws[1]).sum(axis=-1)
    return total


def _variance(binned: Binned, function: Pair) -> NDArray[np.float64]:
    """Return the variance of a linear function of both laws; see `Binned.variance`."""
    first, second = function
    centre_positive = (first @ binned.positive)[..., None]
    centre_marginal = (second @ binned.marginal)[..., None]
    if binned.prior_is_estimated:
        row = binned.prior * first, second - centre_marginal - binned.prior * centre_positive
    else:
        row = binned.prior * (first - centre_positive), second - centre_marginal
    square_positive, product, square_marginal = binned.second[:, [0, 0, 1], [0, 1, 1]].T
    total: NDArray[np.float64] = (
        row[0] ** 2 @ square_positive
        + 2.0 * (row[0] * row[1]) @ product
        + row[1] ** 2 @ square_marginal
    )
    return np.maximum(total, 0.0)


def _noise(binned: Binned, signs: NDArray[np.float64]) -> Pair:
    """Return noise with the covariance of both laws, shape (splits, bins) each."""
    root = square_roots(binned.second[:, :2, :2])
    positive = signs[0] * root[:, 0, 0]
    marginal = signs[0] * root[:, 1, 0] + signs[1] * root[:, 1, 1]
    total = marginal.sum(axis=1, keepdims=True)
    share = total if binned.prior_is_estimated else positive.sum(axis=1, keepdims=True)
    return (
        binned.prior * (positive - binned.positive * share),
        marginal - binned.marginal * total,
    )
