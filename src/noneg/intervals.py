r"""Means under the two laws with their joint covariance, and intervals for functions of them.

Every metric that is not a norm of the residuals is a smooth function of a few means
:math:`E_+[f_j]` and :math:`E[g_j]` and of the prior. One pass over the rows gives them and their
covariance in any setting: rows of both laws are counted jointly, the prior of labelled data is a
mean like the others, and weights enter as in `noneg.laws`. The delta method does the rest.

A share :math:`\hat p` of n rows has Wilson's score interval, which stays in [0, 1] and keeps its
coverage near the ends, where the plain normal interval loses it. Two devices carry it further.

Effective size
    An estimate v in [0, 1] with variance V, whatever it is, varies like a share of
    :math:`v(1-v)/V` rows; Wilson's interval with that size is its interval (Kottas et al. 2014).
Recovered variances (MOVER, Zou & Donner 2008)
    For a function :math:`h(x_1, ..., x_k)` of shares, let :math:`d_j` be what h loses when
    :math:`x_j` moves to the less favorable end of its own interval. Then

    .. math:: h - \Bigl(\sum_{jk} \rho_{jk}\, \epsilon_j \epsilon_k\, d_j d_k\Bigr)^{1/2},

    with the correlations :math:`\rho` of the shares and the directions :math:`\epsilon` of the
    moves, is the lower end; the upper end likewise. In large samples this is the delta method;
    in small ones it inherits the asymmetry of the shares and needs no derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Limits = tuple[float, float]
    # Maps scores to values, or shares of shape (..., k) to values of shape (...).
    Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class LawMeans:
    """Means under both laws.

    Attributes
    ----------
    positive : ndarray
        Estimates of ``E_plus[f_j]``.
    marginal : ndarray
        Estimates of ``E[g_j]``.
    prior : float
        nan if it is not known.
    covariance : ndarray
        Of all of them in this order; the prior's row is zero unless it is estimated.
    """

    positive: NDArray[np.float64]
    marginal: NDArray[np.float64]
    prior: float
    covariance: NDArray[np.float64]

    def variance(self, gradient: ArrayLike) -> float:
        """Return the variance of a function with this gradient (means first, prior last)."""
        g = np.asarray(gradient, dtype=np.float64)
        return max(0.0, float(g @ self.covariance @ g))

    def estimate(self, value: float, gradient: ArrayLike, level: float) -> Estimate:
        """Return a function of the means with its normal interval (delta method)."""
        reach = float(ndtri(0.5 + level / 2.0)) * float(np.sqrt(self.variance(gradient)))
        return Estimate(
            value=value, low=value - reach, high=value + reach, level=level, method="delta method"
        )


def law_means(
    scores: PUScores, positive: Sequence[Function] = (), marginal: Sequence[Function] = ()
) -> LawMeans:
    """Return means of functions of the score under the positive and the marginal law.

    Parameters
    ----------
    scores : PUScores
    positive, marginal : sequence of callables
        Each maps an array of scores to an array of values.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7], [0.8, 0.2], prior=0.4, setting="two-sample")
    >>> means = law_means(scores, [lambda s: s], [lambda s: s])
    >>> print(round(float(means.positive[0]), 3), round(float(means.marginal[0]), 3))
    0.8 0.5
    """
    p, m = len(positive), len(marginal)
    # One row's contribution: a f_1 .. a f_p, a, w g_1 .. w g_m, w.
    first = np.zeros(p + m + 2)
    second = np.zeros((p + m + 2, p + m + 2))
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        row = np.zeros((p + m + 2, s.size))
        if in_positive:
            row[: p + 1] = [*(function(s) for function in positive), np.ones_like(s)]
            row[: p + 1] *= a
        if in_marginal:
            row[p + 1 :] = [*(function(s) for function in marginal), np.ones_like(s)]
            row[p + 1 :] *= w
        first += (row * f).sum(axis=1)
        second += (row * f) @ row.T
    return normalise(scores, first, second, p)


def tail_means(scores: PUScores, thresholds: ArrayLike) -> LawMeans:
    """Return the shares of both laws with ``s >= threshold``, from the sums kept in order.

    The same as `law_means` of these indicators, but without a pass over the rows once they are in
    order; laws that are known exactly (populations) work too and have no variance.

    Parameters
    ----------
    scores : PUScores
    thresholds : array-like
        Falling, so that each share contains the one before.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7], [0.8, 0.2], prior=0.4, setting="two-sample")
    >>> print(tail_means(scores, [0.8, 0.5]).positive)
    [0.5 1. ]
    """
    t = np.asarray(thresholds, dtype=np.float64)
    cuts = np.clip(np.nextafter(t, -np.inf), 0.0, 1.0)
    below = scores.sums_below(np.append(cuts, 1.0)).copy()
    total = below[-1].copy()
    below[np.append(t <= 0.0, True)] = 0.0
    above = total - below
    # Of two nested tails the smaller one holds the rows that count in both.
    smaller = np.minimum.outer(np.arange(t.size + 1), np.arange(t.size + 1))
    aa, aw, ww = (above[:, column][smaller] for column in (3, 4, 6))
    first = np.concatenate([above[:, 0], above[:, 1]])
    return normalise(scores, first, np.block([[aa, aw], [aw, ww]]), t.size)


def normalise(
    scores: PUScores, first: NDArray[np.float64], second: NDArray[np.float64], p: int
) -> LawMeans:
    """Return means and their covariance from sums over rows.

    A row contributes ``a f_1 .. a f_p, a, w g_1 .. w g_m, w``; `first` holds the sums of these, and
    `second` those of their products.
    """
    total_positive, total_marginal = first[p] or 1.0, first[-1]
    means_positive = first[:p] / total_positive
    means_marginal = first[p + 1 : -1] / total_marginal
    k, m = first.size, means_marginal.size
    influence = np.zeros((p + m + 1, k))
    influence[:p, :p] = np.eye(p) / total_positive
    influence[:p, p] = -means_positive / total_positive
    influence[p:-1, p + 1 : -1] = np.eye(m) / total_marginal
    influence[p:-1, -1] = -means_marginal / total_marginal
    if scores.prior_is_estimated:
        influence[-1, p] = 1.0 / total_marginal
        influence[-1, -1] = -scores.known_prior / total_marginal
    covariance = influence @ second @ influence.T
    prior = np.nan if scores.prior is None else scores.known_prior
    return LawMeans(means_positive, means_marginal, prior, covariance)


# Shares this close to 0 and 1 are taken for them: no row, or every row.
ROUNDING = 1e-12

# Priors tried in an interval of them, and how often the best one's neighbourhood is searched again.
PRIOR_GRID = 101

ZOOMS = 3


def z_score(level: float) -> float:
    """Return the normal quantile of a two-sided level."""
    return float(ndtri(0.5 + level / 2.0))


def t_score(level: float, rows: float) -> float:
    """Return Student's quantile of a two-sided level for a mean of this many rows."""
    return float(stdtrit(max(rows - 1.0, 1.0), 0.5 + level / 2.0))


def skewed_limits(value: float, variance: float, third: float, rows: float, level: float) -> Limits:
    r"""Return an interval for a sum whose rows are skewed.

    With the skewness :math:`\gamma = \kappa_3/\sigma^3` of the estimate, the studentized distance
    T from the target is skewed too, by :math:`-2\gamma`. Hall's (1992) cubic
    :math:`((1 + \gamma T/3)^3 - 1)/\gamma + \gamma/6` of it is normal to second order, and rises,
    so that its inverse gives the ends; Student's quantiles allow for few rows.

    Parameters
    ----------
    value, variance, third : float
        The estimate, its variance and its third cumulant.
    rows : float
        Rows of the smaller sample.
    level : float

    Examples
    --------
    >>> low, high = skewed_limits(1.0, 0.01, 0.0003, 100, 0.95)
    >>> print(round(low, 3), round(high, 3))
    0.835 1.27
    """
    if not variance > 0.0:
        return value, value
    sd = float(np.sqrt(variance))
    skew, t = third / sd**3, t_score(level, rows)
    ends = np.array([t, -t])
    if abs(skew) > ROUNDING:
        ends = 3.0 / skew * (np.cbrt(1.0 + skew * (ends - skew / 6.0)) - 1.0)
    return value - sd * float(ends[0]), value - sd * float(ends[1])


def wilson(share: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval for shares of `size` rows; all of [0, 1] for no rows.

    Examples
    --------
    >>> low, high = wilson(np.array([0.0, 0.5]), np.array([10.0, 10.0]), 0.95)
    >>> print(low.round(3), high.round(3))
    [0.    0.237] [0.278 0.763]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = z_score(level) ** 2 / size
        centre = (share + ratio / 2.0) / (1.0 + ratio)
        reach = np.sqrt(ratio * share * (1.0 - share) + ratio**2 / 4.0) / (1.0 + ratio)
        low, high = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
    known = size > 0.0
    return np.where(known, low, 0.0), np.where(known, high, 1.0)


def effective_size(share: Floats, variance: Floats, fallback: Floats) -> Floats:
    """Return the rows a share varies like; `fallback` where it is 0 or 1 and shows no variance."""
    spread = share * (1.0 - share)
    between = spread > ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        size = spread / variance
    return np.where(between, size, fallback)


def share_limits(value: float, variance: float, fallback: float, level: float) -> Limits:
    """Return Wilson's interval by effective size; the plain normal one outside of [0, 1]."""
    if abs(value - round(value)) < ROUNDING:
        value = float(round(value))
    if not 0.0 <= value <= 1.0:
        reach = z_score(level) * float(np.sqrt(variance))
        return value - reach, value + reach
    one = np.array(value)
    size = effective_size(one, np.array(variance), np.array(fallback))
    low, high = wilson(one, size, level)
    return float(low), float(high)


def area_limits(value: float, variance: float, rows: float, level: float) -> Limits:
    """Return an interval for an area in [0, 1] that rests on this many rows.

    The spread of an area shrinks like ``v (1 - v)``, so that of its logit stays the same: Student's
    interval of the logit (Pepe 2003). Where there is no spread, or the value lies outside of
    (0, 1), as `share_limits`.

    Examples
    --------
    >>> low, high = area_limits(0.9, 0.0004, 50, 0.95)
    >>> print(round(low, 3), round(high, 3))
    0.852 0.934
    """
    if not (value * (1.0 - value) > ROUNDING and variance > 0.0):
        return share_limits(value, variance, rows, level)
    reach = t_score(level, rows) * float(np.sqrt(variance)) / (value * (1.0 - value))
    return float(expit(logit(value) - reach)), float(expit(logit(value) + reach))


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares with their own limits and their correlation.

    Attributes
    ----------
    value, low, high : ndarray, shape (k,)
    correlation : ndarray, shape (k, k)
    """

    value: Floats
    low: Floats
    high: Floats
    correlation: Floats

    @classmethod
    def build(cls, value: Floats, covariance: Floats, fallback: Floats, level: float) -> Shares:
        """Return shares with Wilson's limits; `fallback` counts the rows behind each."""
        value = np.where(np.abs(value - np.round(value)) < ROUNDING, np.round(value), value)
        variance = np.maximum(np.diag(covariance), 0.0)
        low, high = wilson(value, effective_size(value, variance, fallback), level)
        varies = (variance > 0.0) & (value * (1.0 - value) > 0.0)
        scale = np.sqrt(np.where(varies, variance, np.inf))
        correlation = covariance / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        return cls(value, low, high, correlation)

    def limits(self, function: Function) -> tuple[Floats, Floats]:
        """Return limits of a function of the shares, by recovered variances (see the module)."""
        value = function(self.value)
        moved = np.array([[function(x) for x in self._moves(end)] for end in (self.low, self.high)])
        change = moved - value
        # Direction of the less favourable move: -1 to the lower end of a share, 1 to its upper end.
        side = np.where(change[0] < change[1], -1.0, 1.0)
        loss = np.minimum(change.min(axis=0), 0.0) * side
        gain = np.maximum(change.max(axis=0), 0.0) * -side
        return value - self._size(loss), value + self._size(gain)

    def _moves(self, end: Floats) -> Floats:
        """Return the shares with one after the other moved to an end."""
        return np.where(np.eye(end.size, dtype=np.bool_), end, self.value)

    def _size(self, moves: Floats) -> Floats:
        return np.sqrt(np.maximum(np.einsum("j...,jk,k...", moves, self.correlation, moves), 0.0))


def over_priors(
    limits: Callable[[Floats], tuple[Floats, Floats]],
    priors: tuple[float, float],
    points: int = PRIOR_GRID,
    zooms: int = ZOOMS,
) -> Limits:
    """Return the smallest lower and the largest upper end for priors in an interval.

    A grid of priors is tried, then finer ones around its best points. The result is exact, up to
    rounding, for functions of the prior that turn at most once between neighbours of the grid.
    """
    if not priors[0] < priors[1]:
        low, high = limits(np.array(priors[:1]))
        return float(low[0]), float(high[0])
    ends = []
    for end, sign in ((0, 1.0), (1, -1.0)):
        left, right, best = *priors, np.inf
        for _ in range(zooms):
            grid = np.linspace(left, right, points)
            values = sign * limits(grid)[end]
            k = int(np.argmin(values))
            best = min(best, float(values[k]))
            left, right = grid[max(k - 1, 0)], grid[min(k + 1, grid.size - 1)]
        ends.append(sign * best)
    return ends[0], ends[1]


def over_prior_grid(
    limits: Callable[[float], tuple[float, ...]], scores: PUScores, points: int
) -> Limits:
    """Return the extremes of limits over equally spaced priors of what is known of the prior.

    Parameters
    ----------
    limits : callable
        Maps a prior to a lower end, an upper end and, where it is known, the speed at which they
        move with the prior. The speed bounds what may happen between two points of the grid.
    scores : PUScores
        A prior that is known exactly is the only point.
    points : int
        Two will do where the ends are monotone in the prior.
    """
    if scores.prior_interval is None:
        low, high, *_ = limits(scores.known_prior)
        return low, high
    grid = np.linspace(*scores.prior_interval, points)
    lows, highs, *speeds = zip(*(limits(float(prior)) for prior in grid), strict=True)
    slack = max(map(max, speeds), default=0.0) * float(grid[1] - grid[0]) / 2.0
    return min(lows) - slack, max(highs) + slack


def no_spread(scores: PUScores) -> bool:
    """Whether a sample is a single row, which has no spread to learn from."""
    return min(scores.effective_positive, scores.effective_marginal) < 2


def enclosing(
    scores: PUScores, value: float, limits: Limits, level: float, method: str
) -> Estimate:
    """Return an estimate with limits that enclose it, in words that tell of the priors as well."""
    low, high = min(limits[0], value), max(limits[1], value)
    words = method + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def prior_words(scores: PUScores) -> str:
    """Return what to add to the description of an interval that holds for many priors."""
    if scores.prior_interval is None:
        return ""
    return ", for every prior in [{:g}, {:g}]".format(*scores.prior_interval)
