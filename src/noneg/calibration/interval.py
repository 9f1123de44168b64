r"""A confidence interval for the binned calibration error that covers.

The plug-in error is biased upward, so resampling it covers nothing when calibration is good. Here
both ends come from linear functions of the bins instead. For fixed bins write
:math:`\tau = \lVert\rho\rVert` for the target, :math:`d` for the estimated residuals and
:math:`T = \lVert d\rVert`. With the dual vector v of :math:`\rho` (its signs, when p = 1),
:math:`\tau = v\cdot\rho`.

Upper end
    :math:`T \ge v\cdot d = \tau + v\cdot\varepsilon`, hence
    :math:`\tau \le T + z_{1-\alpha/2}\,\mathrm{sd}(v\cdot d)`, with v estimated by that of d.
Lower end
    Split the data in two halves; the dual vector of one half, applied to the other, cannot exceed
    :math:`\tau` on average. Both ways, averaged: e with standard error se. Over R random splits the
    median of :math:`e - z_{1-\alpha/4}\,\mathrm{se}` is valid (median at half the level).

Halves are made by adding and subtracting Gaussian noise with the covariance of d, which has the law
of a random split of many rows but needs the sums in bins alone: the interval costs O(bins), does
not depend on the order of rows, and a row written twice is a row of weight two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri

from noneg.bins import Binned, bin_scores, check_p, square_roots
from noneg.calibration.errors import ece, ece_by_prior, norm, prior_curve
from noneg.checks import check_level
from noneg.intervals import prior_words
from noneg.randomness import stream
from noneg.registry import PU_ECE, Metric, register
from noneg.results import Estimate
from noneg.rules import Curve

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

    Dual = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Enough that the interval hardly depends on the seed.
SPLITS = 101
# Priors at which the ends are evaluated when the prior is only known to lie in an interval.
PRIOR_GRID = 41
ZERO = 1e-12
METHOD = f"normal upper end, median of {SPLITS} split lower ends"


def ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    p: float = 1,
    edges: ArrayLike | None = None,
    method: Literal["normal", "hoeffding"] = "normal",
    seed: int = 0,
) -> Estimate:
    """Return the calibration error with an interval for its population value over the same bins.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    bins, binning, p, edges
        As in `noneg.ece`.
    method : {"normal", "hoeffding"}
        Normal approximation (the default), or distribution-free bounds for p = 1 and bins chosen
        without these rows; the latter are much wider.
    seed : int
        Seed of the random splits of the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> estimate = ece_interval(scores)
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    level, p = check_level(level), check_p(p)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    value = norm(binned, p)
    if method == "hoeffding":
        low, high = _hoeffding(scores, binned, level, p)
        words = "Hoeffding"
    elif method == "normal":
        dual = power_dual(binned.marginal, p)
        low, high = norm_limits(scores, binned, dual, level=level, seed=seed)
        words = METHOD
    else:
        msg = f"'method' must be 'normal' or 'hoeffding', got {method!r}."
        raise ValueError(msg)
    return Estimate(
        value=value, low=low, high=high, level=level, method=words + prior_words(scores)
    )


@dataclass(frozen=True)
class Noise:
    """Draws of the noise in the sums of bins, shape (splits, bins) each, of mean zero."""

    positive: NDArray[np.float64]
    marginal: NDArray[np.float64]
    score: NDArray[np.float64]

    @classmethod
    def draw(cls, binned: Binned, n: int, seed: int) -> Noise:
        """Draw n times; the prior does not enter."""
        root = square_roots(binned.second)
        normal = stream(seed, "split").standard_normal((n, *root.shape[:1], 3))
        return cls(*np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0))

    def of_residual(self, binned: Binned) -> NDArray[np.float64]:
        """Return the noise of the residuals, linearised as in `Binned.influence`."""
        positive = binned.prior * self.positive
        marginal = self.marginal.sum(axis=1, keepdims=True)
        if binned.prior_is_estimated:
            return positive - self.score - binned.residual * marginal
        total = positive.sum(axis=1, keepdims=True)
        return positive - binned.positive * total - self.score + binned.score * marginal


def norm_limits(
    scores: PUScores, binned: Binned, dual: Dual, *, level: float, seed: int = 0
) -> tuple[float, float]:
    """Return limits for any norm of the residuals, given by its dual vectors.

    Parameters
    ----------
    scores : PUScores
        Says what is known of the prior.
    binned : Binned
        Bins fine enough that the norm can be computed from their residuals.
    dual : callable
        Maps residuals of shape (k, bins) to vectors v of the same shape with ``v . d = norm(d)``
        that no residual can beat: ``v . d' <= norm(d')`` for every other d'.
    level : float
    seed : int
    """
    if min(scores.effective_positive, scores.effective_marginal) < 2:
        # A single row has no spread to learn from: all that is known is the range of the target.
        return 0.0, max(1.0, _norm(binned, dual))
    noise = Noise.draw(binned, SPLITS, seed)
    if scores.prior_interval is None:
        return _lower_end(binned, noise, level, dual), _upper_end(binned, level, dual)
    priors = np.linspace(*scores.prior_interval, PRIOR_GRID)
    grid = [replace(binned, prior=float(prior)) for prior in priors]
    # A norm moves with the prior at most as fast as its dual vector weighs the positive law, which
    # bounds what happens between two points of the grid (PU-ECE paper, Theorem 2).
    speed = max(float(np.abs(dual(b.residual[None]) @ b.positive).max()) for b in grid)
    slack = speed * (priors[1] - priors[0]) / 2.0
    lower = min(_lower_end(b, noise, level, dual) for b in grid) - slack
    upper = max(_upper_end(b, level, dual) for b in grid) + slack
    return max(0.0, lower), upper


def _norm(binned: Binned, dual: Dual) -> float:
    return float((dual(binned.residual[None]) @ binned.residual)[0])


def _upper_end(binned: Binned, level: float, dual: Dual) -> float:
    v = dual(binned.residual[None])[0]
    z = float(ndtri(0.5 + level / 2.0))
    return float(v @ binned.residual + z * np.sqrt(binned.variance(v)))


def _lower_end(binned: Binned, noise: Noise, level: float, dual: Dual) -> float:
    shift = noise.of_residual(binned)
    halves = binned.residual + shift, binned.residual - shift
    z = float(ndtri(0.75 + level / 4.0))
    value = np.zeros(len(shift))
    variance = np.zeros(len(shift))
    for one, other in (halves, halves[::-1]):
        v = dual(other)
        value += (v * one).sum(axis=1) / 2.0
        variance += 2.0 * binned.variance(v) / 4.0
    return max(0.0, float(np.median(value - z * np.sqrt(variance))))


def power_dual(mass: NDArray[np.float64], p: float) -> Dual:
    """Return the dual of the L_p error over bins of the given marginal mass.

    Where residuals are zero up to rounding any sign will do, and plus is taken: none at all would
    claim that the residual cannot vary.
    """

    def dual(d: NDArray[np.float64]) -> NDArray[np.float64]:
        if p == 1:
            return np.where(np.abs(d) > ZERO, np.sign(d), 1.0)
        gap = np.divide(d, mass, out=np.zeros_like(d), where=(mass > 0.0) & (np.abs(d) > ZERO))
        top = np.abs(gap).max(axis=1, keepdims=True)
        gap = np.divide(gap, top, out=np.zeros_like(gap), where=top > 0.0)
        return np.where(top > 0.0, _steepest(gap, mass, p), 1.0)

    return dual


def _steepest(gap: NDArray[np.float64], mass: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return the gradient of the L_p norm at gaps whose largest is one."""
    if p == np.inf:
        at_top = np.abs(gap) == 1.0
        first = at_top & (np.cumsum(at_top, axis=1) == 1)
        return np.sign(gap) * first / np.where(mass > 0.0, mass, 1.0)
    v = np.sign(gap) * np.abs(gap) ** (p - 1.0)
    size = (mass * np.abs(gap) ** p).sum(axis=1, keepdims=True) ** ((p - 1.0) / p)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0.0)


def _hoeffding(scores: PUScores, binned: Binned, level: float, p: float) -> tuple[float, float]:
    if p != 1:
        msg = f"'p' must be 1 for method='hoeffding', got {p!r}. Use method='normal'."
        raise ValueError(msg)
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    smallest, largest = prior_curve(binned).range(low, high)
    rate = _row_rate(scores, high)
    log = np.log(2.0 / (1.0 - level))
    lower = smallest - np.sqrt(2.0 * rate * (binned.n_bins * np.log(2.0) + log))
    return max(0.0, float(lower)), float(largest + np.sqrt(2.0 * rate * log))


def _row_rate(scores: PUScores, prior: float) -> float:
    """Return A such that a sign-weighted sum of residuals deviates like ``sqrt(2 A log)``.

    A labelled row of one sample contributes ``pi / n_P - s / n``, which lies within ``pi / n_P``
    of zero, or within ``1 / n`` where ``n_P > pi n``: both PU settings share one rate.
    """
    if scores.setting == "labelled":
        return 1.0 / scores.effective_marginal
    return prior**2 / scores.effective_positive + 1.0 / scores.effective_marginal


def _curve(scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
    found = ece_by_prior(scores, **options)
    slope = np.diff(found.error) / np.diff(found.prior)
    level = found.error[:-1] - slope * found.prior[:-1]
    pieces = np.stack([level, slope, np.ones_like(slope), np.zeros_like(slope)], axis=-1)
    return Curve(found.prior[1:-1], pieces)


register(
    Metric(
        name="ece",
        title="Expected calibration error",
        function=ece,
        interval=ece_interval,
        citation=PU_ECE,
        family="calibration error",
        better="lower",
        by_prior=_curve,
    )
)
