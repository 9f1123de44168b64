r"""Means under both score distributions with their covariance, and intervals for functions of them.

Every metric that is not a norm of the residuals is a smooth function of a handful of means
:math:`E_+[f_j]` and :math:`E[g_j]` and of the prior. One pass over the rows gives these means and
their covariance in any setting: rows that belong to both distributions are counted jointly, the
prior of labeled data is treated as another mean, and weights enter as in `noneg.laws`. The delta
method does the rest.

A share :math:`\hat p` of n rows has the exact binomial interval with mid-p tails, which stays in
[0, 1] and keeps its coverage near the ends, where the normal and Wilson intervals lose it. Two
devices extend it to other estimates.

Effective size
    Any estimate v in [0, 1] with variance V varies like a share of :math:`v(1-v)/V` rows; the
    binomial interval with that size is its interval (Korn & Graubard 1998). The size for a share of
    weighted rows is at most Kish's effective size, because a small sample may not show how unequal
    the weights of rare rows are. It is multiplied by :math:`(z/t)^2`, since the variance is
    estimated from rows as few as Kish's size.
Recovered variances (MOVER, Zou & Donner 2008)
    For a function :math:`h(x_1, ..., x_k)` of shares, let :math:`d_j` be the decrease of h when
    :math:`x_j` moves to the less favorable end of its own interval. Then

    .. math:: h - \Bigl(\sum_{jk} \rho_{jk}\, \epsilon_j \epsilon_k\, d_j d_k\Bigr)^{1/2},

    is the lower end, where :math:`\rho` are the correlations of the shares and :math:`\epsilon` the
    directions of the moves; the upper end is analogous. In large samples, this agrees with the
    delta method; in small ones, it inherits the asymmetry of the shares, and it needs no
    derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincinv, expit, logit, ndtri, stdtrit

from noneg.laws import UNEQUAL, few_weighted, row_shares
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores

    Limits = tuple[float, float]
    # Maps scores to values, or shares of shape (..., k) to values of shape (...).
    Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class LawMeans:
    """Means under both distributions.

    Attributes
    ----------
    positive : ndarray
        Estimates of ``E_plus[f_j]``.
    marginal : ndarray
        Estimates of ``E[g_j]``.
    prior : float
        The prior; nan if it is unknown.
    covariance : ndarray
        Covariance of all of the above, in this order; the row of the prior is zero unless the prior
        is estimated.
    cut : float
        The largest threshold of `tail_means`.
    """

    positive: Floats
    marginal: Floats
    prior: float
    covariance: Floats
    cut: float = np.nan

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
    """Return means of functions of the score under the positive and the marginal distribution.

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
    # Contribution of one row: a f_1 .. a f_p, a, w g_1 .. w g_m, w.
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
    return normalize(scores, first, second, p)


def tail_means(scores: PUScores, thresholds: ArrayLike) -> LawMeans:
    """Return the shares of both distributions with ``s >= threshold``, from cached sums.

    The result is the same as `law_means` of these indicators, but it needs no pass over rows that
    are already sorted; distributions known exactly (populations) also work and have no variance.

    Parameters
    ----------
    scores : PUScores
    thresholds : array-like
        In descending order, so that each tail contains the one before.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7], [0.8, 0.2], prior=0.4, setting="two-sample")
    >>> print(tail_means(scores, [0.8, 0.5]).positive)
    [0.5 1. ]
    """
    t = np.asarray(thresholds, dtype=np.float64)
    above = scores.sums_above(t)
    # Of two nested tails, the smaller one contains the rows that count in both.
    smaller = np.minimum.outer(np.arange(t.size + 1), np.arange(t.size + 1))
    aa, aw, ww = (above[:, column][smaller] for column in (3, 4, 6))
    first = np.concatenate([above[:, 0], above[:, 1]])
    means = normalize(scores, first, np.block([[aa, aw], [aw, ww]]), t.size)
    return replace(means, cut=float(t[0]))


def normalize(scores: PUScores, first: Floats, second: Floats, p: int) -> LawMeans:
    """Return means and their covariance from sums over rows.

    A row contributes ``a f_1 .. a f_p, a, w g_1 .. w g_m, w``; `first` contains the sums of these
    contributions, and `second` the sums of their products.
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


# Shares this close to 0 or 1 are treated as exactly 0 or 1: no row, or every row.
ROUNDING = 1e-12

# Floor that keeps logarithms finite, and bisection steps in the search for a binomial limit.
LEAST, HALVINGS = 1e-300, 18

# Limits of more shares than this are evaluated at nodes and interpolated; so many entries next to
# both ends are always evaluated.
MANY, ENDS, NODES = 20_000, 1000, 4001

# Cells of equal width for means under the law that calibrated scores imply.
CELLS = 512

FOR_PRIORS = ", for every prior in [{:g}, {:g}]"
UNTRUSTED = "; not to be trusted: few positives of unequal weights"

# Number of priors tried in an interval, and number of refinements around the best one.
PRIOR_GRID = 101

ZOOMS = 3


def z_score(level: float) -> float:
    """Return the normal quantile for a two-sided level."""
    return float(ndtri(0.5 + level / 2.0))


def t_score(level: float, rows: float) -> float:
    """Return Student's quantile for a two-sided level and a mean of this many rows."""
    return float(stdtrit(max(rows - 1.0, 1.0), 0.5 + level / 2.0))


def skewed_limits(value: float, variance: float, third: float, rows: float, level: float) -> Limits:
    r"""Return an interval for a sum whose rows are skewed.

    With the skewness :math:`\gamma = \kappa_3/\sigma^3` of the estimate, the studentized distance T
    from the target is also skewed, by :math:`-2\gamma`. Hall's (1992) cubic :math:`((1 + \gamma
    T/3)^3 - 1)/\gamma + \gamma/6` is normal to second order and increasing, so its inverse gives
    the ends; Student's quantiles account for small samples.

    Parameters
    ----------
    value, variance, third : float
        The estimate, its variance and its third cumulant.
    rows : float
        Number of rows in the smaller sample.
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


def exact_limits(share: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    r"""Return mid-p binomial limits for shares of `size` rows; [0, 1] if there are no rows.

    Let x be the share times n. Each limit is the p at which the probability of counts beyond x,
    plus half the probability of x itself, equals :math:`\alpha/2`. Clopper and Pearson include all
    of the probability of x, which makes the interval too wide; Wilson's lower limit is too far from
    0 if x is one or two. Counts need not be whole numbers.

    Examples
    --------
    >>> low, high = exact_limits(np.array([0.0, 0.5]), np.array([10.0, 10.0]), 0.95)
    >>> print(low.round(3), high.round(3))
    [0.    0.212] [0.259 0.788]
    """
    tail = (1.0 - level) / 2.0
    with np.errstate(invalid="ignore"):
        hits = np.where(size > 0.0, share * size, 0.0)
        misses = np.where(size > 0.0, (1.0 - share) * size, 0.0)
    certain = np.isinf(size)
    low, rest = _mid_p(np.array([hits, misses]), np.array([misses, hits]), tail)
    return np.where(certain, share, low), np.where(certain, share, 1.0 - rest)


def _mid_p(hits: Floats, misses: Floats, tail: float) -> Floats:
    """Return lower limits, bracketed by the limits that count all of x and none of it.

    The logarithm of the tail is smooth in the logarithm of p, so bisection and one secant step find
    the limit.
    """
    found = (hits > 0.0) & np.isfinite(hits + misses)
    x, y = np.where(found, hits, 1.0), np.where(found, misses, 1.0)
    some, rest = y > 0.0, np.maximum(y, LEAST)

    def lack(p: Floats) -> Floats:
        beyond = betainc(x, y + 1.0, p) + np.where(some, betainc(x + 1.0, rest, p), 0.0)
        return np.log(np.maximum(beyond, LEAST) / (2.0 * tail))

    left = betaincinv(x, y + 1.0, tail)
    right = np.where(some, betaincinv(x + 1.0, rest, tail), 1.0)
    a, b = np.log(np.maximum(left, LEAST)), np.log(np.maximum(right, LEAST))
    for _ in range(HALVINGS):
        middle = (a + b) / 2.0
        above = lack(np.exp(middle)) > 0.0
        a, b = np.where(above, a, middle), np.where(above, middle, b)
    f, g = lack(np.exp(a)), lack(np.exp(b))
    place = np.divide(-f, g - f, out=np.zeros_like(f), where=g > f)
    return np.where(found, np.exp(a + np.clip(place, 0.0, 1.0) * (b - a)), 0.0)


def limits_at_nodes(
    share: Floats, limits: Callable[[Floats], tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Return limits of rising shares, evaluated at every share or, if there are many, at nodes.

    On the arcsin(sqrt(share)) scale, the margins are close to a sine, so linear interpolation
    between 4,001 nodes is off by less than 1e-9.
    """
    if share.size <= MANY:
        return limits(share)
    angle = np.arcsin(np.sqrt(share))
    even = np.searchsorted(angle, np.linspace(0.0, np.pi / 2, NODES)).clip(0, share.size - 1)
    ends = np.arange(ENDS)
    nodes = np.unique(np.concatenate([ends, even, share.size - 1 - ends]))
    low, high = (
        np.interp(angle, angle[nodes], end - share[nodes]) + share for end in limits(share[nodes])
    )
    return low.clip(0.0, 1.0), high.clip(0.0, 1.0)


def effective_size(share: Floats, variance: Floats, fallback: Floats) -> Floats:
    """Return the number of rows that gives this variance; `fallback` if the share is 0 or 1."""
    spread = share * (1.0 - share)
    between = spread > ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        size = spread / variance
    return np.where(between, size, fallback)


def sample_sizes(scores: PUScores, threshold: float, level: float) -> Floats:
    """Return the largest effective size of TPR and PPR, and factors for an unknown variance.

    The size is Kish's. For few positives of unequal weights it is at most the one that TPR would
    have with calibrated scores, where rows that the sample lacks may be heavy (`row_shares`).

    Examples
    --------
    >>> from noneg import PUScores
    >>> rates = {"propensity": [0.5, 0.5, 0.1]}
    >>> scores = PUScores([0.9, 0.7, 0.2], [0.8, 0.2], prior=0.4, setting="two-sample", **rates)
    >>> print(sample_sizes(scores, 0.5, 0.95)[0].round(2))
    [1.68 2.  ]
    """
    kish = np.array([scores.effective_positive, scores.effective_marginal])
    unequal = scores.hidden & (kish < UNEQUAL * np.array([scores.n_positive, scores.n_marginal]))
    student = np.array([z_score(level) / t_score(level, rows) for rows in kish])
    sizes = kish.copy()
    if few_weighted(scores):
        s = (np.arange(CELLS) + 0.5) / CELLS
        law, above = scores.sums_by_width(CELLS)[:, 2], s >= threshold
        share = float(law @ above) / float(law.sum() or 1.0)
        spread = law @ (row_shares(scores)(s) * (above - share) ** 2) / (law.sum() or 1.0)
        if share * (1.0 - share) > ROUNDING and spread > 0.0:
            sizes[0] = min(sizes[0], share * (1.0 - share) / spread)
    return np.array([sizes, np.where(unequal, student**2, 1.0)])


def share_limits(value: float, variance: float, fallback: float, level: float) -> Limits:
    """Return the binomial interval with the effective size; a normal interval outside [0, 1]."""
    if abs(value - round(value)) < ROUNDING:
        value = float(round(value))
    if not 0.0 <= value <= 1.0:
        reach = z_score(level) * float(np.sqrt(variance))
        return value - reach, value + reach
    one = np.array(value)
    size = effective_size(one, np.array(variance), np.array(fallback))
    low, high = exact_limits(one, size, level)
    return float(low), float(high)


def area_limits(value: float, variance: float, rows: float, level: float) -> Limits:
    """Return an interval for an area in [0, 1] that is based on this many rows.

    The spread of an area shrinks like ``v (1 - v)``, so the spread of its logit stays the same, and
    the result is Student's interval for the logit (Pepe 2003). With no spread, or a value outside
    (0, 1), the result is that of `share_limits`.

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


def with_unseen(value: float, limits: Limits, other: float, rows: float, level: float) -> Limits:
    r"""Return limits that allow for a kind of positives that the sample lacks.

    A kind of positives with a share of up to :math:`u = 1 - (1 - \mathrm{level})^{1/n}`, the mid-p
    limit for no hit, may be missing from n rows. If such positives score like any other row, they
    move the metric from v to :math:`v + u(o - v)`, where o is the metric of positives of this kind
    alone. This move and the limit on that side are combined like recovered variances. With many
    rows, the result is nearly the same as `limits`.

    Parameters
    ----------
    value : float
    limits : (float, float)
    other : float
        The metric if all positives scored like any other row: 1/2 for an area.
    rows, level : float

    Examples
    --------
    >>> low, high = with_unseen(0.99, (0.97, 0.996), 0.5, 30, 0.95)
    >>> print(round(low, 3), round(high, 3))
    0.939 0.996
    """
    move = unseen_share(rows, level) * (other - value)
    low = np.hypot(limits[0] - value, min(move, 0.0))
    high = np.hypot(limits[1] - value, max(move, 0.0))
    return float(value - low), float(value + high)


def unseen_share(rows: float, level: float) -> float:
    """Return the largest share of a kind that may be missing from this many rows (mid-p limit)."""
    return float(exact_limits(np.zeros(()), np.array(rows), level)[1])


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares with their individual limits and their correlations.

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
    def build(cls, value: Floats, covariance: Floats, sizes: Floats, level: float) -> Shares:
        """Return shares with binomial limits.

        The rows of `sizes` are the largest size of each share, which also holds if the share is 0
        or 1, and the factor for its unknown variance (`sample_sizes`).
        """
        value = np.where(np.abs(value - np.round(value)) < ROUNDING, np.round(value), value)
        variance = np.maximum(np.diag(covariance), 0.0)
        largest, factor = sizes
        size = np.minimum(effective_size(value, variance, largest), largest) * factor
        low, high = exact_limits(value, size, level)
        varies = (variance > 0.0) & (value * (1.0 - value) > 0.0)
        scale = np.sqrt(np.where(varies, variance, np.inf))
        correlation = covariance / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        return cls(value, low, high, correlation)

    def continuous(self, rows: Floats) -> Shares:
        """Return the same shares with limits half a row further out, to avoid undercoverage.

        Rows come in whole numbers, so the coverage of each end of Wilson's interval oscillates
        around its level, by about 1.5 points for 100 rows.
        """
        low, high = self.low - 0.5 / rows, self.high + 0.5 / rows
        return replace(self, low=np.maximum(low, 0.0), high=np.minimum(high, 1.0))

    def limits(self, function: Function) -> tuple[Floats, Floats]:
        """Return limits for a function of the shares by recovered variances (see the module)."""
        value = function(self.value)
        moved = np.array([[function(x) for x in self._moves(end)] for end in (self.low, self.high)])
        change = moved - value
        # Direction of the less favorable move: -1 to the lower end of a share, 1 to its upper end.
        side = np.where(change[0] < change[1], -1.0, 1.0)
        loss = np.minimum(change.min(axis=0), 0.0) * side
        gain = np.maximum(change.max(axis=0), 0.0) * -side
        return value - self._size(loss), value + self._size(gain)

    def _moves(self, end: Floats) -> Floats:
        """Return copies of the shares, each with one share moved to its end."""
        return np.where(np.eye(end.size, dtype=np.bool_), end, self.value)

    def _size(self, moves: Floats) -> Floats:
        return np.sqrt(np.maximum(np.einsum("j...,jk,k...", moves, self.correlation, moves), 0.0))


def over_priors(
    limits: Callable[[Floats], tuple[Floats, Floats]],
    priors: tuple[float, float],
    points: int = PRIOR_GRID,
    zooms: int = ZOOMS,
) -> Limits:
    """Return the smallest lower and the largest upper end over priors in an interval.

    The search tries a grid of priors, then finer grids around its best points. The result is exact,
    up to rounding error, for functions of the prior with at most one turning point between grid
    neighbors.
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
    """Return the extremes of limits over equally spaced priors in the range of possible priors.

    Parameters
    ----------
    limits : callable
        Maps a prior to a lower end, an upper end and, if known, a bound on how fast they change
        with the prior, which covers changes between two points of the grid.
    scores : PUScores
        If the prior is known exactly, it is the only point.
    points : int
        Two are enough if the ends are monotone in the prior.
    """
    if scores.prior_interval is None:
        low, high, *_ = limits(scores.known_prior)
        return low, high
    grid = np.linspace(*scores.prior_interval, points)
    lows, highs, *speeds = zip(*(limits(float(prior)) for prior in grid), strict=True)
    slack = max(map(max, speeds), default=0.0) * float(grid[1] - grid[0]) / 2.0
    return min(lows) - slack, max(highs) + slack


def no_spread(scores: PUScores) -> bool:
    """Return whether a sample is a single row, from which no spread can be estimated."""
    return min(scores.effective_positive, scores.effective_marginal) < 2


def enclosing(
    scores: PUScores, value: float, limits: Limits, level: float, method: str
) -> Estimate:
    """Return `estimated` with limits that enclose the value."""
    ends = min(limits[0], value), max(limits[1], value)
    return estimated(scores, value, ends, level, method)


def estimated(
    scores: PUScores, value: float, limits: Limits, level: float, method: str
) -> Estimate:
    """Return an estimate whose method also describes the priors that it holds for."""
    words = method + prior_words(scores)
    return Estimate(value=value, low=limits[0], high=limits[1], level=level, method=words)


def trust_words(scores: PUScores) -> str:
    """Return the suffix for an interval that cannot be trusted; otherwise nothing."""
    return UNTRUSTED if few_weighted(scores) else ""


def prior_words(scores: PUScores) -> str:
    """Return the suffix for an interval that holds for many priors, or cannot be trusted."""
    many = "" if scores.prior_interval is None else FOR_PRIORS.format(*scores.prior_interval)
    return many + trust_words(scores)
