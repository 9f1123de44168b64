r"""Confidence intervals with correct coverage for calibration errors.

A plug-in error is biased upward, so when calibration is good, bootstrap intervals for it fail to
cover. Here, both ends come from linear functions of the bins instead. For fixed bins, write
:math:`\tau = \lVert\rho\rVert` for the target, :math:`d` for the estimated residuals and
:math:`T = \lVert d\rVert`. With the dual vector v of :math:`\rho` (its signs, when p = 1),
:math:`\tau = v\cdot\rho`.

Upper end
    :math:`T \ge v\cdot d = \tau + v\cdot\varepsilon`, hence
    :math:`\tau \le T + z_{1-\alpha/2}\,\mathrm{sd}(v\cdot d)`, with v estimated from d. For p = 1,
    the distribution of T is known well enough to do better. With standard errors :math:`\sigma_b`
    of the residuals and :math:`S = \sum_b \sigma_b`, an error :math:`\tau = k S` gives the smallest
    T when every residual equals k standard errors: :math:`E T \ge S\,E|k + Z|` by convexity, and
    the variance is that of folded normals, between :math:`(1 - 2/\pi)\sum\sigma_b^2` at k = 0 and
    :math:`\mathrm{var}(v\cdot d)` for large k. The upper end is k S with the largest k for which
    :math:`E T - z\,\mathrm{sd}(T) \le T`.
Lower end
    Split the data into two halves; the dual vector of one half, applied to the other, cannot exceed
    :math:`\tau` on average. The average over both directions is e, with standard error se. Over R
    random splits, the median of :math:`e - z_{1-\alpha/4}\,\mathrm{se}` is a valid lower end (each
    split uses half the error rate). For p = 1 and six or more bins, signs come from sums over three
    neighboring bins: noise flips them less often than the signs of single bins, and any choice of
    signs is valid.

Halves are made by adding and subtracting noise with the covariance of the bin sums. This has the
distribution of a random split of many rows but needs only the sums, so the interval costs O(bins),
does not depend on the order of rows, and treats a duplicated row as a row of weight two.

Other errors
    All of this holds for any convex function of the sums that is homogeneous of degree one: it has
    linear functions that touch it at one point and never exceed it. `Convex` defines the interface
    for such functions; `error_limits` computes the limits.
Two models on the same rows
    :math:`\tau_A - \tau_B \le T_A - e_B + z\,\mathrm{sd}`, with the joint standard deviation of
    both signed sums, which is small when the models make the same mistakes on the same rows. The
    upper end is the median over random splits, each with half the error rate; the lower end comes
    from the upper end for the opposite difference. The interval is wide when both models are well
    calibrated, because then neither error can be distinguished from zero.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from noneg.bins import Binned, bin_scores, scaled, square_roots
from noneg.intervals import no_spread, over_prior_grid, z_score
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats, Places
    from noneg.intervals import Limits
    from noneg.scores import PUScores

    Dual = Callable[[Floats], Floats]
    # Bin sums that an error depends on, or its slopes with respect to them.
    Sums = tuple[Floats, ...]

# Enough splits that the interval hardly depends on the seed.
SPLITS = 101
# Number of priors at which the ends are evaluated for a prior interval.
PRIOR_GRID, PAIRED_PRIOR_GRID = 41, 21
ZERO = 1e-12
METHOD = f"normal upper end, median of {SPLITS} split lower ends"
INVERTED = METHOD.replace("normal", "inverted")
PAIRED_METHOD = f"paired rows, median of {SPLITS} splits"
# Fewest bins for sign smoothing; with fewer, neighboring bins may have genuinely different signs.
SMOOTHED = 6
# Variance of the absolute value of a standard normal.
NEAR = 1.0 - 2.0 / np.pi

# Indices of the first and the second model's sums among a, w, w s_A and w s_B.
_SUMS = ([0, 1, 2], [0, 1, 3])


@dataclass(frozen=True)
class Noise:
    """Mean-zero draws of the noise in the bin sums, shape (splits, bins) each."""

    positive: Floats
    marginal: Floats
    score: Floats

    @classmethod
    def draw(cls, binned: Binned, n: int, seed: int) -> Noise:
        """Draw Gaussian noise n times, independently of the prior."""
        root = square_roots(binned.second)
        normal = stream(seed, "split").standard_normal((n, *root.shape[:1], 3))
        return cls(*scaled(normal, root))

    @classmethod
    def signs(cls, binned: Binned, n: int, seed: int) -> Noise:
        """Draw random signs for sparse bins, whose sums are far from normal; scores get no noise.

        A bin with a single row then goes to one of the halves, as in a split of the rows.
        """
        root = square_roots(binned.second[:, :2, :2])
        one, other = stream(seed, "split").choice([-1.0, 1.0], size=(2, n, binned.n_bins))
        marginal = one * root[:, 1, 0] + other * root[:, 1, 1]
        return cls(one * root[:, 0, 0], marginal, np.zeros_like(marginal))

    def of_laws(self, binned: Binned) -> tuple[Floats, Floats, Floats]:
        """Return linearized noise in ``pi mu_plus(I_b)``, ``mu(I_b)`` and the integral of s.

        As in `Binned.influence`, both distributions are normalized by their own totals.
        """
        total = self.marginal.sum(axis=1, keepdims=True)
        estimated = binned.prior_is_estimated
        share = total if estimated else self.positive.sum(axis=1, keepdims=True)
        return (
            binned.prior * (self.positive - binned.positive * share),
            self.marginal - binned.marginal * total,
            self.score - binned.score * total,
        )

    def of_residual(self, binned: Binned) -> Floats:
        """Return the noise in the residuals."""
        positive, _, score = self.of_laws(binned)
        return positive - score


class Convex(ABC):
    """An error whose p-th power is convex and homogeneous of degree one in certain bin sums."""

    p: float

    def sums(self, binned: Binned) -> Sums:
        """Return the sums: ``pi mu_plus(I_b)``, ``mu(I_b)`` and the integral of s."""
        return binned.prior * binned.positive, binned.marginal, binned.score

    def noise(self, binned: Binned, noise: Noise) -> Sums:
        """Return the noise in the sums, shape (splits, bins) each."""
        return noise.of_laws(binned)

    @abstractmethod
    def touching(self, sums: Sums) -> Sums:
        """Return the linear function that equals the power at these sums and never exceeds it.

        Its slopes have the shape of the sums, (bins,) or (2, splits, bins).
        """

    def below(self, sums: Sums) -> Sums:
        """Return a linear function, chosen from these sums, that never exceeds the power."""
        return self.touching(sums)

    def upper(self, binned: Binned, value: float, deviation: float, level: float) -> float:
        """Return the upper end from the error and its standard deviation."""
        del binned
        return value + z_score(level) * deviation


@dataclass(frozen=True)
class Norm(Convex):
    """A norm of the residuals.

    Attributes
    ----------
    dual : callable
        Maps residuals of shape (k, bins) to vectors v of the same shape with ``v . d = norm(d)``
        that no residual can beat: ``v . d' <= norm(d')`` for every other d'.
    """

    dual: Dual
    p: float = 1.0

    def sums(self, binned: Binned) -> Sums:
        """Return the residuals."""
        return (binned.residual,)

    def noise(self, binned: Binned, noise: Noise) -> Sums:
        """Return the noise in the residuals."""
        return (noise.of_residual(binned),)

    def touching(self, sums: Sums) -> Sums:
        """Return the dual vectors."""
        residual = sums[0]
        flat = residual.reshape(-1, residual.shape[-1])
        return (self.dual(flat).reshape(residual.shape),)


class AbsoluteSum(Norm):
    """The sum of absolute residuals, with a sharper upper end (see the module docstring)."""

    def __init__(self) -> None:
        super().__init__(_signs)

    def below(self, sums: Sums) -> Sums:
        """Return signs of sums over three neighboring bins, or of single bins if there are few."""
        if sums[0].shape[-1] < SMOOTHED:
            return (_signs(sums[0]),)
        together = sums[0].copy()
        together[..., 1:] += sums[0][..., :-1]
        together[..., :-1] += sums[0][..., 1:]
        return (_signs(together),)

    def own(self, binned: Binned) -> Floats:
        """Return the standard error of each residual."""
        return np.sqrt(binned.variance(np.eye(binned.n_bins)))

    def upper(self, binned: Binned, value: float, deviation: float, level: float) -> float:
        """Return the upper end by inverting the least favorable distribution of the error."""
        own = self.own(binned)
        largest = max(deviation, float(np.sqrt(own @ own)))
        total, z = float(own.sum()), z_score(level)
        if total == 0.0:
            return value

        def excess(k: float) -> float:
            mean, spread = folded(k)
            far = (spread - NEAR) / (1.0 - NEAR)
            variance = (1.0 - far) * NEAR * largest**2 + far * deviation**2
            return total * mean - z * math.sqrt(variance) - value

        # Leave some room: at the end itself, the excess may be zero up to rounding error.
        end = 1.01 * (value + z * largest) / total
        k = brentq(excess, 0.0, end) if excess(0.0) < 0.0 else 0.0
        return min(total * float(k), value + z * deviation)


def _signs(d: Floats) -> Floats:
    """Return the signs, with +1 for residuals that are zero up to rounding error."""
    return np.where(np.abs(d) > ZERO, np.sign(d), 1.0)


def folded(k: float) -> tuple[float, float]:
    """Return the mean and variance of ``|k + Z|`` for standard normal Z."""
    density = math.exp(-0.5 * k * k) * math.sqrt(2.0 / math.pi)
    mean = density + k * (2.0 * float(ndtr(k)) - 1.0)
    return mean, min(max(1.0 + k * k - mean * mean, NEAR), 1.0)


def error_limits(
    scores: PUScores,
    binned: Binned,
    error: Convex,
    level: float,
    *,
    seed: int = 0,
    noise: Noise | None = None,
) -> Limits:
    """Return limits for an error over all possible priors.

    Bins must be fine enough that the error can be computed from their sums. Noise is drawn with the
    seed unless it is given.
    """
    if no_spread(scores):
        return 0.0, 1.0  # Only the range of the target is known.
    noise = noise or Noise.draw(binned, SPLITS, seed)

    def ends(prior: float) -> tuple[float, float, float]:
        there = replace(binned, prior=prior)
        functions, values = _both_ways(there, error, noise)
        variance = there.variance(*functions).mean(axis=0)
        power = max(0.0, split_median(values, variance, level))
        return power ** (1.0 / error.p), *_upper_end(there, error, level)

    # The prior changes a norm no faster than the dual vector applied to the positive distribution
    # (PU-ECE paper, Theorem 2).
    low, high = over_prior_grid(ends, scores, PRIOR_GRID)
    return max(0.0, low), high


def error_value(error: Convex, sums: Sums) -> float:
    """Return the error for the given sums."""
    return max(0.0, float(_apply(error.touching(sums), sums))) ** (1.0 / error.p)


def split_median(value: Floats, variance: Floats | float, level: float) -> float:
    """Return the median lower end over splits, each computed with half the error rate."""
    return float(np.median(value - float(ndtri(0.75 + level / 4.0)) * np.sqrt(variance)))


def _upper_end(binned: Binned, error: Convex, level: float) -> tuple[float, float]:
    """Return the upper end, and the derivative of the error with respect to the prior."""
    sums = error.sums(binned)
    function, value = error.touching(sums), error_value(error, sums)
    # Take the root of the power: the error has less skew, and the tangent lies above the root.
    slope = 1.0 / (error.p * value ** (error.p - 1.0)) if value > 0.0 else float(error.p == 1)
    deviation = slope * float(np.sqrt(binned.variance(*function)))
    speed = slope * abs(float(function[0] @ binned.positive))
    return error.upper(binned, value, deviation, level), speed


def _both_ways(binned: Binned, error: Convex, noise: Noise) -> tuple[Sums, Floats]:
    """Return the touching functions of both halves, and their mean value on the opposite half."""
    pairs = zip(error.sums(binned), error.noise(binned, noise), strict=True)
    halves = tuple(np.stack([x + shift, x - shift]) for x, shift in pairs)
    functions = error.below(tuple(x[::-1] for x in halves))
    return functions, _apply(functions, halves).mean(axis=0)


def _apply(function: Sums, sums: Sums) -> Floats:
    total: Floats = sum((f * x).sum(axis=-1) for f, x in zip(function, sums, strict=True))
    return total


def power_norm(mass: Floats, p: float) -> Norm:
    """Return the L_p error over bins with the given marginal masses.

    Where residuals are zero up to rounding error, any sign is valid, and +1 is used; a sign of 0
    would imply that the residual cannot vary.
    """
    if p == 1:
        return AbsoluteSum()

    def dual(d: Floats) -> Floats:
        gap = np.divide(d, mass, out=np.zeros_like(d), where=(mass > 0.0) & (np.abs(d) > ZERO))
        top = np.abs(gap).max(axis=1, keepdims=True)
        gap = np.divide(gap, top, out=np.zeros_like(gap), where=top > 0.0)
        return np.where(top > 0.0, _steepest(gap, mass, p), 1.0)

    return Norm(dual)


def _steepest(gap: Floats, mass: Floats, p: float) -> Floats:
    """Return the gradient of the L_p norm for gaps with maximum one."""
    if p == np.inf:
        at_top = np.abs(gap) == 1.0
        first = at_top & (np.cumsum(at_top, axis=1) == 1)
        return np.sign(gap) * first / np.where(mass > 0.0, mass, 1.0)
    v = np.sign(gap) * np.abs(gap) ** (p - 1.0)
    size = (mass * np.abs(gap) ** p).sum(axis=1, keepdims=True) ** ((p - 1.0) / p)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0.0)


@dataclass(frozen=True, eq=False)
class Masses:
    """The weight of each row.

    Attributes
    ----------
    count : ndarray
        Number of identical rows that each row represents.
    positive, marginal : ndarray
        Mass of each row in the positive and the marginal distribution; times the counts, each sums
        to one.
    """

    count: Floats
    positive: Floats
    marginal: Floats


class PairedErrors:
    """Two calibration errors over equal-mass bins, on the same rows.

    Rows are grouped into cells, each the intersection of a bin of one model with a bin of the
    other. The interval needs only the covariance of a cell's sums of a, w, w s_A and w s_B.

    Parameters
    ----------
    scores : pair of PUScores
        With a ``prior_interval``, the limits hold for every prior in it.
    columns : pair of ndarray
        The scores of both models, row by row.
    masses : Masses
    """

    def __init__(
        self, scores: tuple[PUScores, PUScores], columns: tuple[Floats, Floats], masses: Masses
    ) -> None:
        self.scores = scores[0]
        self.binned = tuple(bin_scores(one) for one in scores)
        there = masses.count * (masses.positive + masses.marginal) > 0.0
        f, a, w, *s = (x[there] for x in (masses.count, masses.positive, masses.marginal, *columns))
        place = [np.searchsorted(b.edges[1:-1], x) for b, x in zip(self.binned, s, strict=True)]
        n_bins = self.binned[1].n_bins
        code, cell = np.unique(place[0] * n_bins + place[1], return_inverse=True)
        self.bins = (code // n_bins, code % n_bins)
        self.second = _second_moments(np.stack([a, w, w * s[0], w * s[1]]), f, cell)
        self.noise = self._draw()

    def limits(self, level: float) -> Limits:
        """Return limits for the first error minus the second."""

        def ends(prior: float) -> tuple[float, float, float]:
            pair = [replace(binned, prior=prior) for binned in self.binned]
            signs = [_signs(binned.residual) for binned in pair]
            speed = abs(float(signs[0] @ pair[0].positive - signs[1] @ pair[1].positive))
            upper = [self._upper(k, pair, signs[k], level) for k in (0, 1)]
            return -upper[1], upper[0], speed

        return over_prior_grid(ends, self.scores, PAIRED_PRIOR_GRID)

    def _upper(self, k: int, pair: list[Binned], v: Floats, level: float) -> float:
        """Return the upper end for error k, whose signs are v, minus the other error."""
        one, other = pair[k], pair[1 - k]
        ((first, second),), lower = _both_ways(other, AbsoluteSum(), self.noise[1 - k])
        mean, half = (first + second) / 2.0, (first - second) / 2.0
        variance = one.variance(v) + other.variance(mean) + other.variance(half)
        variance = variance - 2.0 * self._covariance(k, one.influence(v), other.influence(mean))
        return -split_median(lower - v @ one.residual, np.maximum(variance, 0.0), level)

    def _covariance(self, k: int, one: Floats, others: Floats) -> Floats:
        """Return the covariance of a signed sum for model k with many sums for the other model."""
        block = self.second[:, _SUMS[k]][:, :, _SUMS[1 - k]]
        cells = np.einsum("ci,cij->cj", one[self.bins[k]], block)
        out: Floats = np.einsum("bj,rbj->r", self._by_bin(cells, 1 - k), others)
        return out

    def _draw(self) -> list[Noise]:
        """Draw noise in each model's sums, one split at a time because there are many cells."""
        root, random = square_roots(self.second), stream(0, "split")
        draws = [np.zeros((SPLITS, b.n_bins, 3)) for b in self.binned]
        for split in range(SPLITS):
            noise = np.einsum("cij,cj->ci", root, random.standard_normal((len(root), 4)))
            for k in (0, 1):
                draws[k][split] = self._by_bin(noise[:, _SUMS[k]], k)
        return [Noise(*np.moveaxis(draw, -1, 0)) for draw in draws]

    def _by_bin(self, cells: Floats, k: int) -> Floats:
        """Sum per-cell columns over the cells of each bin."""
        n_bins = self.binned[k].n_bins
        columns = [np.bincount(self.bins[k], weights=x, minlength=n_bins) for x in cells.T]
        return np.stack(columns, axis=-1)


def _second_moments(sums: Floats, count: Floats, cell: Places) -> Floats:
    """Return the sums of products over the rows of each cell, shape (cells, k, k)."""
    k, n = len(sums), int(cell.max()) + 1
    out = np.zeros((n, k, k))
    for i in range(k):
        for j in range(i, k):
            out[:, i, j] = np.bincount(cell, weights=count * sums[i] * sums[j], minlength=n)
            out[:, j, i] = out[:, i, j]
    return out
