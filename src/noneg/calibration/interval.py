r"""Confidence intervals for calibration errors that cover, and a test of calibration.

A plug-in error is biased upward, so resampling it covers nothing when calibration is good. Here
both ends come from linear functions of the bins instead. For fixed bins write
:math:`\tau = \lVert\rho\rVert` for the target, :math:`d` for the estimated residuals and
:math:`T = \lVert d\rVert`. With the dual vector v of :math:`\rho` (its signs, when p = 1),
:math:`\tau = v\cdot\rho`.

Upper end
    :math:`T \ge v\cdot d = \tau + v\cdot\varepsilon`, hence
    :math:`\tau \le T + z_{1-\alpha/2}\,\mathrm{sd}(v\cdot d)`, with v estimated by that of d.
    For p = 1 the law of T is known well enough to do better. With standard errors
    :math:`\sigma_b` of the residuals and :math:`S = \sum_b \sigma_b`, the error :math:`\tau = k S`
    gives the smallest T when every residual is k standard errors: :math:`E T \ge S\,E|k + Z|` by
    convexity, and the variance is that of folded normals, between :math:`(1 - 2/\pi)\sum\sigma_b^2`
    at k = 0 and :math:`\mathrm{var}(v\cdot d)` far from it. The end is k S with the largest k at
    which :math:`E T - z\,\mathrm{sd}(T) \le T`.
Lower end
    Split the data in two halves; the dual vector of one half, applied to the other, cannot exceed
    :math:`\tau` on average. Both ways, averaged: e with standard error se. Over R random splits the
    median of :math:`e - z_{1-\alpha/4}\,\mathrm{se}` is valid (median at half the level). For p = 1
    the signs are those of sums over three neighboring bins, if there are six or more: noise in a
    single bin flips them less often, and any signs are valid.

Halves are made by adding and subtracting noise with the covariance of the sums in bins, which has
the law of a random split of many rows but needs these sums alone: the interval costs O(bins), does
not depend on the order of rows, and a row written twice is a row of weight two.

Other errors
    All of this holds for any convex function of the sums that is homogeneous of degree one: it has
    linear functions that touch it at one point and exceed it nowhere. `Convex` says what is asked
    of one; `error_limits` does the rest.
Two models on the same rows
    :math:`\tau_A - \tau_B \le T_A - e_B + z\,\mathrm{sd}` with the deviation of both signed sums
    together, which is small when the models make the same mistakes on the same rows. The median
    over random splits, at half the level, is the upper end; the lower end is the upper end of the
    difference the other way round. It is wide when both models are well calibrated, since then
    neither error can be told from zero.
Is the classifier calibrated? A test of :math:`\rho = 0`
    Under the null hypothesis the positive law has density :math:`s/\pi` against the marginal law,
    so positives are redrawn from the marginal sample in proportion to their scores; labels of
    labelled data are redrawn from the scores. A binned statistic depends on such a redraw only
    through counts in bins, which are drawn directly: multinomial (two-sample), or a binomial that
    has the mean and variance of the sum of unequal Bernoulli draws (one-sample, labelled). The
    noise of the marginal sample itself is added, without which the test would reject too often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from noneg.bins import Binned, bin_scores, square_roots
from noneg.calibration.over_priors import accepted_ends, announced_prior, best_in_set
from noneg.checks import check_level
from noneg.errors import InputError
from noneg.intervals import no_spread, over_prior_grid, z_score
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.intervals import Limits
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Dual = Callable[[Floats], Floats]
    # Sums in bins that an error is a function of, or its slopes in them.
    Sums = tuple[Floats, ...]

# Enough that the interval hardly depends on the seed.
SPLITS = 101
# Priors at which the ends are evaluated when the prior is only known to lie in an interval.
PRIOR_GRID, PAIRED_PRIOR_GRID = 41, 21
ZERO = 1e-12
METHOD = f"normal upper end, median of {SPLITS} split lower ends"
INVERTED = METHOD.replace("normal", "inverted")
PAIRED_METHOD = f"paired rows, median of {SPLITS} splits"
KS_BINS = 256
# Bins from which neighbors decide a sign together; fewer bins may rightly differ from them.
SMOOTHED = 6
# Variance of the absolute value of a standard normal.
NEAR = 1.0 - 2.0 / np.pi

# Bins on each side that tell what a labelled row of a bin weighs.
NEIGHBORS = 2
# Which of a, w, w s_A and w s_B are the sums of the first and of the second model.
_SUMS = ([0, 1, 2], [0, 1, 3])


@dataclass(frozen=True)
class Noise:
    """Draws of the noise in the sums of bins, shape (splits, bins) each, of mean zero."""

    positive: Floats
    marginal: Floats
    score: Floats

    @classmethod
    def draw(cls, binned: Binned, n: int, seed: int) -> Noise:
        """Draw Gaussian noise n times; the prior does not enter."""
        root = square_roots(binned.second)
        normal = stream(seed, "split").standard_normal((n, *root.shape[:1], 3))
        return cls(*np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0))

    @classmethod
    def signs(cls, binned: Binned, n: int, seed: int) -> Noise:
        """Draw signs for bins with few rows, whose sums are far from normal; no noise of scores.

        A bin with a single row then goes to one of the halves, as in a split of the rows.
        """
        root = square_roots(binned.second[:, :2, :2])
        one, other = stream(seed, "split").choice([-1.0, 1.0], size=(2, n, binned.n_bins))
        marginal = one * root[:, 1, 0] + other * root[:, 1, 1]
        return cls(one * root[:, 0, 0], marginal, np.zeros_like(marginal))

    def of_laws(self, binned: Binned) -> tuple[Floats, Floats, Floats]:
        """Return the noise of ``pi mu_plus(I_b)``, ``mu(I_b)`` and the integral of s, linearized.

        As in `Binned.influence`, both laws are normalized by their own totals.
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
        """Return the noise of the residuals."""
        positive, _, score = self.of_laws(binned)
        return positive - score


class Convex(ABC):
    """An error whose p-th power is convex and homogeneous of degree one in some sums of bins."""

    p: float

    @abstractmethod
    def sums(self, binned: Binned) -> Sums:
        """Return the sums."""

    @abstractmethod
    def noise(self, binned: Binned, noise: Noise) -> Sums:
        """Return the noise of the sums, shape (splits, bins) each."""

    @abstractmethod
    def touching(self, sums: Sums) -> Sums:
        """Return the linear function that equals the power at these sums, and exceeds it nowhere.

        Its slopes have the shape of the sums, (bins,) or (splits, bins).
        """

    def below(self, sums: Sums) -> Sums:
        """Return a linear function, found from these sums, that exceeds the power nowhere."""
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
        """Return the noise of the residuals."""
        return (noise.of_residual(binned),)

    def touching(self, sums: Sums) -> Sums:
        """Return the dual vectors."""
        residual = sums[0]
        return (self.dual(np.atleast_2d(residual)).reshape(residual.shape),)


class AbsoluteSum(Norm):
    """The sum of absolute residuals, whose signs and bias are simple (see the module)."""

    def __init__(self) -> None:
        super().__init__(_signs)

    def below(self, sums: Sums) -> Sums:
        """Return the signs of sums over three neighboring bins; of single ones if they are few."""
        if sums[0].shape[-1] < SMOOTHED:
            return (_signs(sums[0]),)
        padded = np.pad(sums[0], [(0, 0)] * (sums[0].ndim - 1) + [(1, 1)])
        return (_signs(padded[..., :-2] + padded[..., 1:-1] + padded[..., 2:]),)

    def upper(self, binned: Binned, value: float, deviation: float, level: float) -> float:
        """Return the upper end by inverting the least favorable law of the plug-in error."""
        own = np.sqrt(binned.variance(np.eye(binned.n_bins)))
        largest = max(deviation, float(np.sqrt(own @ own)))
        total, z = float(own.sum()), z_score(level)
        if total == 0.0:
            return value

        def excess(k: float) -> float:
            mean, spread = _folded(k)
            far = (spread - NEAR) / (1.0 - NEAR)
            variance = (1.0 - far) * NEAR * largest**2 + far * deviation**2
            return total * mean - z * float(np.sqrt(variance)) - value

        # A little room: at the end itself the excess may be zero, up to rounding.
        end = 1.01 * (value + z * largest) / total
        k = brentq(excess, 0.0, end) if excess(0.0) < 0.0 else 0.0
        return min(total * float(k), value + z * deviation)


def _signs(d: Floats) -> Floats:
    """Return signs, plus where a residual is zero up to rounding."""
    return np.where(np.abs(d) > ZERO, np.sign(d), 1.0)


def _folded(k: float) -> tuple[float, float]:
    """Return the mean of ``|k + Z|``, Z standard normal, and its variance."""
    density = float(np.exp(-0.5 * k * k) * np.sqrt(2.0 / np.pi))
    mean = density + k * (2.0 * float(ndtr(k)) - 1.0)
    return mean, float(np.clip(1.0 + k * k - mean * mean, NEAR, 1.0))


def norm_limits(
    scores: PUScores, binned: Binned, dual: Dual, *, level: float, seed: int = 0
) -> Limits:
    """Return limits for any norm of the residuals, given by its dual vectors (see `Norm`).

    Bins must be fine enough that the norm can be computed from their residuals.
    """
    return error_limits(scores, binned, Norm(dual), Noise.draw(binned, SPLITS, seed), level)


def power_limits(
    scores: PUScores, binned: Binned, p: float, *, level: float, seed: int = 0
) -> Limits:
    """Return limits for the L_p error over bins."""
    error = AbsoluteSum() if p == 1 else Norm(power_dual(binned.marginal, p))
    return error_limits(scores, binned, error, Noise.draw(binned, SPLITS, seed), level)


def error_limits(
    scores: PUScores, binned: Binned, error: Convex, noise: Noise, level: float
) -> Limits:
    """Return limits for an error over all priors that are possible."""
    if no_spread(scores):
        return 0.0, 1.0  # all that is known is the range of the target

    def ends(prior: float) -> tuple[float, float, float]:
        there = replace(binned, prior=prior)
        functions, values = _both_ways(there, error, noise)
        variance = sum(there.variance(*function) for function in functions) / 2.0
        power = max(0.0, split_median(values, variance, level))
        return power ** (1.0 / error.p), *_upper_end(there, error, level)

    # A norm moves with the prior at most as fast as its dual vector weighs the positive law (PU-ECE
    # paper, Theorem 2).
    low, high = over_prior_grid(ends, scores, PRIOR_GRID)
    return max(0.0, low), high


def error_value(error: Convex, sums: Sums) -> float:
    """Return the error at some sums."""
    return max(0.0, float(_apply(error.touching(sums), sums))) ** (1.0 / error.p)


def split_median(value: Floats, variance: Floats | float, level: float) -> float:
    """Return the median over splits of lower ends, which is valid at half the level."""
    return float(np.median(value - float(ndtri(0.75 + level / 4.0)) * np.sqrt(variance)))


def _upper_end(binned: Binned, error: Convex, level: float) -> tuple[float, float]:
    """Return the upper end, and how fast the error moves with the prior."""
    sums = error.sums(binned)
    function, value = error.touching(sums), error_value(error, sums)
    # From the power to the error itself: it has less skew, and the line lies above the root.
    slope = 1.0 / (error.p * value ** (error.p - 1.0)) if value > 0.0 else float(error.p == 1)
    deviation = slope * float(np.sqrt(binned.variance(*function)))
    speed = slope * abs(float(function[0] @ binned.positive))
    return error.upper(binned, value, deviation, level), speed


def _both_ways(binned: Binned, error: Convex, noise: Noise) -> tuple[list[Sums], Floats]:
    """Return the functions that touch one half, both ways, and their mean value in the other."""
    sums, shift = error.sums(binned), error.noise(binned, noise)
    one, other = (
        tuple(x + sign * d for x, d in zip(sums, shift, strict=True)) for sign in (1.0, -1.0)
    )
    functions = [error.below(half) for half in (other, one)]
    return functions, (_apply(functions[0], one) + _apply(functions[1], other)) / 2.0


def _apply(function: Sums, sums: Sums) -> Floats:
    total: Floats = sum((f * x).sum(axis=-1) for f, x in zip(function, sums, strict=True))
    return total


def power_dual(mass: Floats, p: float) -> Dual:
    """Return the dual of the L_p error over bins of the given marginal mass.

    Where residuals are zero up to rounding any sign will do, and plus is taken: none at all would
    claim that the residual cannot vary.
    """

    def dual(d: Floats) -> Floats:
        if p == 1:
            return _signs(d)
        gap = np.divide(d, mass, out=np.zeros_like(d), where=(mass > 0.0) & (np.abs(d) > ZERO))
        top = np.abs(gap).max(axis=1, keepdims=True)
        gap = np.divide(gap, top, out=np.zeros_like(gap), where=top > 0.0)
        return np.where(top > 0.0, _steepest(gap, mass, p), 1.0)

    return dual


def _steepest(gap: Floats, mass: Floats, p: float) -> Floats:
    """Return the gradient of the L_p norm at gaps whose largest is one."""
    if p == np.inf:
        at_top = np.abs(gap) == 1.0
        first = at_top & (np.cumsum(at_top, axis=1) == 1)
        return np.sign(gap) * first / np.where(mass > 0.0, mass, 1.0)
    v = np.sign(gap) * np.abs(gap) ** (p - 1.0)
    size = (mass * np.abs(gap) ** p).sum(axis=1, keepdims=True) ** ((p - 1.0) / p)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0.0)


@dataclass(frozen=True, eq=False)
class Masses:
    """How much each row counts.

    Attributes
    ----------
    count : ndarray
        How many identical rows it stands for.
    positive, marginal : ndarray
        Its mass in the positive and in the marginal law; each is one in total, counts included.
    """

    count: Floats
    positive: Floats
    marginal: Floats


class PairedErrors:
    """Two calibration errors over bins of equal mass, on the same rows.

    Rows are gathered in cells, a bin of one model and a bin of the other. The covariance of a
    cell's sums of a, w, w s_A and w s_B is all that the interval needs.

    Parameters
    ----------
    scores : pair of PUScores
        With a ``prior_interval`` the limits hold for every prior in it.
    columns : pair of ndarray
        The scores of both models, row by row.
    masses : Masses
    """

    def __init__(
        self, scores: tuple[PUScores, PUScores], columns: tuple[Floats, Floats], masses: Masses
    ) -> None:
        self.scores = scores[0]
        self.binned = tuple(bin_scores(one) for one in scores)
        self.norms = [AbsoluteSum() for _ in self.binned]
        there = masses.count * (masses.positive + masses.marginal) > 0.0
        f, a, w, *s = (x[there] for x in (masses.count, masses.positive, masses.marginal, *columns))
        place = [np.searchsorted(b.edges[1:-1], x) for b, x in zip(self.binned, s, strict=True)]
        n_bins = self.binned[1].n_bins
        code, cell = np.unique(place[0] * n_bins + place[1], return_inverse=True)
        self.bins = (code // n_bins, code % n_bins)
        self.second = _second_moments(np.stack([a, w, w * s[0], w * s[1]]), f, cell)
        self.noise = self._draw()

    def limits(self, level: float) -> Limits:
        """Return limits of the first error minus the second."""

        def ends(prior: float) -> tuple[float, float, float]:
            pair = [replace(binned, prior=prior) for binned in self.binned]
            signs = [self.norms[k].touching((pair[k].residual,))[0] for k in (0, 1)]
            speed = abs(float(signs[0] @ pair[0].positive - signs[1] @ pair[1].positive))
            upper = [self._upper(k, pair, signs[k], level) for k in (0, 1)]
            return -upper[1], upper[0], speed

        return over_prior_grid(ends, self.scores, PAIRED_PRIOR_GRID)

    def _upper(self, k: int, pair: list[Binned], v: Floats, level: float) -> float:
        """Return the upper end of error k, whose signs are v, minus the other one."""
        one, other = pair[k], pair[1 - k]
        (first, second), lower = _both_ways(other, self.norms[1 - k], self.noise[1 - k])
        mean, half = (first[0] + second[0]) / 2.0, (first[0] - second[0]) / 2.0
        variance = one.variance(v) + other.variance(mean) + other.variance(half)
        variance = variance - 2.0 * self._covariance(k, one.influence(v), other.influence(mean))
        return -split_median(lower - v @ one.residual, np.maximum(variance, 0.0), level)

    def _covariance(self, k: int, one: Floats, others: Floats) -> Floats:
        """Return the covariance of a signed sum of model k with many of the other model."""
        block = self.second[:, _SUMS[k]][:, :, _SUMS[1 - k]]
        cells = np.einsum("ci,cij->cj", one[self.bins[k]], block)
        out: Floats = np.einsum("bj,rbj->r", self._by_bin(cells, 1 - k), others)
        return out

    def _draw(self) -> list[Noise]:
        """Return draws of the noise in each model's sums, split by split: cells are many."""
        root, random = square_roots(self.second), stream(0, "split")
        draws = [np.zeros((SPLITS, b.n_bins, 3)) for b in self.binned]
        for split in range(SPLITS):
            noise = np.einsum("cij,cj->ci", root, random.standard_normal((len(root), 4)))
            for k in (0, 1):
                draws[k][split] = self._by_bin(noise[:, _SUMS[k]], k)
        return [Noise(*np.moveaxis(draw, -1, 0)) for draw in draws]

    def _by_bin(self, cells: Floats, k: int) -> Floats:
        """Return columns of numbers, one for each cell, summed over the cells of each bin."""
        n_bins = self.binned[k].n_bins
        columns = [np.bincount(self.bins[k], weights=x, minlength=n_bins) for x in cells.T]
        return np.stack(columns, axis=-1)


def _second_moments(sums: Floats, count: Floats, cell: NDArray[np.intp]) -> Floats:
    """Return the sums of products over the rows of each cell, shape (cells, k, k)."""
    k, n = len(sums), int(cell.max()) + 1
    out = np.zeros((n, k, k))
    for i in range(k):
        for j in range(i, k):
            out[:, i, j] = np.bincount(cell, weights=count * sums[i] * sums[j], minlength=n)
            out[:, j, i] = out[:, i, j]
    return out


@dataclass(frozen=True, kw_only=True)
class CalibrationTest:
    """Outcome of `calibration_test`.

    Attributes
    ----------
    p_value : float
        ``(1 + k) / (1 + R)``, k of R redraws at least as large as the value observed.
        If only a set of priors is known, the largest over the set.
    value : float
        The observed statistic, at the prior of the p-value.
    statistic : str
    replicates : int
    prior : float
        The prior of the p-value: the one given, or that with the largest p-value in the set.
    """

    p_value: float
    value: float
    statistic: str
    replicates: int
    prior: float

    def to_dict(self) -> dict[str, float | str | int]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


def _sum(residual: Floats) -> Floats:
    return np.abs(residual).sum(axis=-1)


def _largest_sum(residual: Floats) -> Floats:
    return np.abs(np.cumsum(residual, axis=-1)).max(axis=-1)


def _both(residual: Floats) -> Floats:
    # Noise moves the sum about twice as far as the largest cumulative sum.
    return _sum(residual) + 2.0 * _largest_sum(residual)


_STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "ece": _sum,
    "ks": _largest_sum,
    "both": _both,
}


def calibration_test(
    scores: PUScores,
    *,
    statistic: Literal["ece", "ks", "both"] = "ece",
    bins: int | Literal["optimal"] | None = None,
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    replicates: int = 999,
    seed: int = 0,
) -> CalibrationTest:
    """Test whether the scores are calibrated probabilities.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the p-value is the largest over it; without a prior, over all
        priors that are possible.
    statistic : {"ece", "ks", "both"}
        Sum of absolute residuals over bins, which finds curves of any shape; their largest
        cumulative sum, which finds scores that are too high or too low as a whole; or the first
        plus twice the second, which finds both and is what `noneg.evaluate` shows.
    bins, binning, edges
        As in `noneg.ece`; by default the optimal number for "ece" and up to 256 for "ks".
    replicates : int
        Number of redraws under the null hypothesis.
    seed : int

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> wrong = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> calibration_test(wrong.draw(n=2000, setting="labelled", seed=0)).p_value
    0.001
    """
    test = _posed(scores, statistic, bins, binning, edges, replicates, seed)
    p_value, prior = best_in_set(scores, test.p_value)
    return CalibrationTest(
        p_value=p_value,
        value=test.observed(prior),
        statistic=statistic,
        replicates=replicates,
        prior=prior,
    )


def consistent_priors(
    scores: PUScores,
    *,
    level: float = 0.95,
    statistic: Literal["ece", "ks", "both"] = "ece",
    edges: ArrayLike | None = None,
    replicates: int = 999,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Return the priors at which the scores pass for calibrated: a verdict that needs no prior.

    Parameters
    ----------
    scores : PUScores
        A prior in them only chooses the bins.
    level : float
        A prior is left out if `calibration_test` rejects at it with this confidence.
    statistic, edges, replicates, seed
        As in `calibration_test`.

    Returns
    -------
    (float, float) or None
        The smallest and the largest such prior; None if the scores are calibrated at no prior.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(1000, 8000, setting="two-sample", seed=0)
    >>> low, high = consistent_priors(scores)
    >>> 0.25 < low < 0.3 < high < 0.35
    True
    >>> wrong = LogisticGaussian(beta0=-0.5, beta1=3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> print(consistent_priors(wrong))
    None
    """
    alpha = 1.0 - check_level(level)
    test = _posed(scores, statistic, None, "mass", edges, replicates, seed)
    return accepted_ends(scores, test.p_value, alpha)


def _posed(
    scores: PUScores,
    statistic: str,
    bins: int | Literal["optimal"] | None,
    binning: Binning,
    edges: ArrayLike | None,
    replicates: int,
    seed: int,
) -> _TestAtPriors:
    if statistic not in _STATISTICS:
        raise InputError("statistic", "must be 'ece', 'ks' or 'both'", value=statistic)
    if replicates < 1:
        raise InputError("replicates", "must be at least 1", value=replicates)
    if bins is None:
        bins = ks_bins(scores) if statistic == "ks" else "optimal"
    if scores.prior is None:
        scores = scores.with_prior(announced_prior(scores))
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    return _TestAtPriors(scores, binned, _STATISTICS[statistic], replicates, seed)


@dataclass(frozen=True, eq=False)
class _TestAtPriors:
    """The test over fixed bins, at any prior."""

    scores: PUScores
    binned: Binned
    measure: Callable[[Floats], Floats]
    replicates: int
    seed: int

    def observed(self, prior: float) -> float:
        """Return the statistic."""
        return float(self.measure(self.at(prior).residual))

    def p_value(self, prior: float) -> float:
        """Return the share of redraws, the observation counted, that are at least as large."""
        null, observed = self.measure(self.null(prior)), self.observed(prior)
        # Redraws are compared with a little slack: ties in exact arithmetic must count as ties.
        beaten = int((null >= observed * (1.0 - 1e-9)).sum())
        return (1 + beaten) / (1 + self.replicates)

    def at(self, prior: float) -> Binned:
        """Return the bins under a prior; that of labelled data is its own."""
        return replace(self.binned, prior=prior)

    def null(self, prior: float) -> Floats:
        """Return residuals that noise alone produces."""
        if self.scores.pooled:
            return null_residuals(self.scores, self.at(prior), self.replicates, self.seed)
        level, slope = self._line
        return level + prior * slope

    @cached_property
    def _line(self) -> tuple[Floats, Floats]:
        """Noise of two samples as a straight line in the prior: draws need not be repeated."""
        none, all_ = (
            null_residuals(self.scores, self.at(prior), self.replicates, self.seed)
            for prior in (0.0, 1.0)
        )
        return none, all_ - none


def ks_bins(scores: PUScores) -> int:
    """Return the number of bins over which cumulative residuals are taken."""
    return int(max(1, min(KS_BINS, scores.n_marginal // 2)))


def null_residuals(scores: PUScores, binned: Binned, replicates: int, seed: int) -> Floats:
    """Draw the residuals that noise alone produces when calibration is perfect."""
    rng = stream(seed, "null")
    mean = binned.score.sum()
    if mean == 0.0:
        return np.zeros((replicates, binned.n_bins))
    share = binned.score / mean
    if not scores.pooled:
        return _two_sample(scores, binned, share, replicates, rng)
    n = scores.effective_marginal
    if scores.prior_is_estimated:
        return _bernoulli_sums(binned, n, 1.0, replicates, rng) / n - binned.score
    # A row of score s is labelled with probability c s, where c is that of its bin.
    weight = _row_weights(binned, scores.effective_positive)
    c = np.minimum(1.0, 1.0 / (binned.prior * n * weight))
    found = _law(_bernoulli_sums(binned, n, c, replicates, rng) * weight)
    variance = np.trace(binned.second.sum(axis=0)[2:, 2:]) - mean**2 / n
    shift = rng.normal(scale=np.sqrt(max(0.0, variance)), size=(replicates, 1))
    return binned.prior * (found - share) - share * shift


def _row_weights(binned: Binned, rows: float) -> Floats:
    """Return the share in the positive law of a labelled row in each bin.

    Unequal weights, such as inverse propensities, differ between bins. ``sum a^2 / sum a`` over the
    rows of a bin has the variance of rows that are equal; neighbors share it, since few rows tell.
    """
    near = np.ones(min(2 * NEIGHBORS + 1, binned.n_bins))
    first, second = (
        np.convolve(x, near, mode="same") for x in (binned.positive, binned.second[:, 0, 0])
    )
    known = first > 0.0
    if not known.any():
        return np.full(binned.n_bins, 1.0 / rows)
    place = np.arange(binned.n_bins)
    return np.interp(place, place[known], second[known] / first[known])


def _law(mass: Floats) -> Floats:
    """Return masses in bins as shares of their sum."""
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0.0)


def _two_sample(
    scores: PUScores, binned: Binned, share: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    residual = np.zeros((replicates, binned.n_bins))
    if np.isfinite(scores.effective_positive):
        weight = _row_weights(binned, scores.effective_positive)
        rate = share / weight
        n = max(1, round(float(rate.sum())))
        counts = rng.multinomial(n, rate / rate.sum(), size=replicates)
        residual += binned.prior * (_law(counts * weight) - share)
    if np.isfinite(scores.effective_marginal):
        residual -= _score_noise(binned, replicates, rng)
    return residual


def _score_noise(binned: Binned, replicates: int, rng: np.random.Generator) -> Floats:
    """Draw the sampling noise of the score's integral over each bin."""
    root = square_roots(binned.second[:, 1:, 1:])
    normal = rng.standard_normal((replicates, binned.n_bins, 2))
    mass, score = np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0)
    return score - binned.score * mass.sum(axis=1, keepdims=True)


def _bernoulli_sums(
    binned: Binned, n: float, c: Floats | float, replicates: int, rng: np.random.Generator
) -> Floats:
    """Draw sums of Bernoulli(c s_i) in bins, as binomials of the same mean and variance."""
    square = binned.second[:, 2, 2] * n
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = np.where(square > 0.0, np.ceil(n * binned.score**2 / square - 1e-9), 0.0)
        rate = np.where(trials > 0.0, c * n * binned.score / trials, 0.0)
    draws: Floats = rng.binomial(
        trials.astype(np.int64), np.minimum(rate, 1.0), size=(replicates, binned.n_bins)
    ).astype(np.float64)
    return draws
