r"""Metrics of the whole order from other fields: drug discovery and ecology.

BEDROC
    The mean of :math:`e^{-\alpha u}` over the positives, where u is a positive's relative rank in
    the list, from 0 at the top to 1 at the bottom. It is scaled so that the worst order gets 0 and
    the best order 1 (Truchon & Bayly 2007). Given the ranks, it is linear in the positive
    distribution, so no negatives are needed.
Continuous Boyce index
    In moving windows :math:`W_t` over the range of the scores, :math:`F(t) = \mu_+(W_t)/\mu(W_t)`
    is the frequency of positives relative to that of all rows. The index is Spearman's correlation
    between F and t, after each run of windows with equal F is reduced to one window (Hirzel et al.
    2006). It needs neither negatives nor the prior.

    With only a few positives, noise in the ranks pulls the index toward zero, far more than
    resampling the rows would suggest. The interval is therefore not built around the index:
    confidence limits for F in every window determine the possible ranks of each window, and the
    ends of the interval are the smallest and largest correlations among such ranks. An end is wrong
    only if the limits of two windows exclude their true order, so limits with the nominal coverage
    in each window suffice. The interval is wide, because thirty positives carry little information
    about an ordering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from noneg.calibration.reliability import ratio_limits
from noneg.checks import check_level, check_number
from noneg.intervals import area_limits, estimated, no_spread, share_limits, trust_words
from noneg.laws import Ordered
from noneg.performance.ranking import undefined
from noneg.performance.top import METHOD, TRUCHON
from noneg.registry import add_metric, in_range
from noneg.results import Estimate
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from noneg.arrays import Flags, Floats
    from noneg.intervals import Limits
    from noneg.scores import PUScores


HIRZEL = "Hirzel et al. (2006), Evaluating the ability of habitat suitability models"
WINDOWS = 101
WIDTH = 0.1  # Width of a window, as a share of the range.
FEWEST = 3  # Windows that determine a correlation.
DIGITS = 10  # Ratios that agree to this many decimals are considered equal.
BY_RANKS = "ranks allowed by the limits of the ratios"


def bedroc(scores: PUScores, *, alpha: float = 20.0) -> float:
    r"""Return BEDROC, a measure of how early in the list the positives appear.

    .. math:: \frac{\mathrm{RIE} - \mathrm{RIE}_{min}}{\mathrm{RIE}_{max} - \mathrm{RIE}_{min}},
        \qquad \mathrm{RIE} = \frac{\alpha}{1 - e^{-\alpha}}\,E_+[e^{-\alpha u}]

    where u is the relative rank of a row among all rows, averaged over the width of a row and over
    ties. The RIE of the best and worst orders depends on the prior. For labeled data, the result
    matches RDKit's. It is nan when a class is empty.

    Parameters
    ----------
    scores : PUScores
    alpha : float
        A positive number; 20 gives the top 8% of the list 80% of the weight.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(bedroc(scores), 4)
    0.9934
    """
    early, *_ = _early(Ordered(scores), check_alpha(alpha))
    return _scaled(early, scores.known_prior, alpha)


@in_range
def bedroc_interval(scores: PUScores, *, level: float = 0.95, alpha: float = 20.0) -> Estimate:
    r"""Return BEDROC with its interval.

    The mean of :math:`e^{-\alpha u}` over the positives lies in [0, 1] and is dominated by those at
    the top of the list. The interval is binomial with an effective sample size, scaled like the
    mean itself.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(bedroc_interval(scores))
    0.9934 [0.9526, 0.9991]
    """
    level, steps = check_level(level), Ordered(scores)
    early = _early(steps, check_alpha(alpha))
    value = _scaled(early[0], scores.known_prior, alpha)
    if np.isnan(value):
        return undefined(scores, level, "an empty class")
    found = [_limits(steps, early, prior, alpha, level) for prior in scores.prior_set]
    lows, highs = zip(*found, strict=True)
    return estimated(scores, value, (min(lows), max(highs)), level, METHOD)


def _limits(
    steps: Ordered, found: tuple[float, Floats, Floats], prior: float, alpha: float, level: float
) -> Limits:
    """Return confidence limits at a given prior."""
    (early, by_t, by_q), (least, most) = found, _ends(prior, alpha)
    rows, width = steps.scores.effective_positive, most - least
    if steps.scores.prior_is_estimated:
        # The RIE of the worst and best orders varies with an estimated prior.
        step = 1e-6 * min(prior, 1.0 - prior)
        sides = [_scaled(early, prior + d, alpha) for d in (-step, step)]
        slope = (sides[1] - sides[0]) / (2.0 * step) if step > 0.0 else 0.0
        variance = steps.variance(by_t / width, by_q / width, slope)
        return area_limits(_scaled(early, prior, alpha), variance, rows, level)
    unit = alpha / -float(np.expm1(-alpha))
    mean = min(early / unit, 1.0)
    # A sample may lack positives at the top; if they were as dense there as below, E[y^2] = E[y]/2.
    least_variance = (mean / 2.0 - mean**2) / rows
    variance = max(steps.variance(by_t / unit, by_q / unit, 0.0), least_variance)
    ends = share_limits(mean, variance, rows, level)
    return (unit * ends[0] - least) / width, (unit * ends[1] - least) / width


def check_alpha(alpha: object) -> float:
    """Return alpha, the weight of the top of the list, after checking it."""
    return check_number(alpha, "alpha", "a number above 0, such as 20", lambda x: x > 0.0)


def _ends(prior: float, alpha: float) -> tuple[float, float]:
    """Return the RIE of the worst and best orders."""
    best = float(np.expm1(-alpha * prior) / (prior * np.expm1(-alpha))) if prior > 0.0 else np.nan
    return best * float(np.exp(-alpha * (1.0 - prior))), best


def _scaled(early: float, prior: float, alpha: float) -> float:
    least, most = _ends(prior, alpha)
    return float((early - least) / (most - least)) if most > least else float("nan")


def _early(steps: Ordered, alpha: float) -> tuple[float, Floats, Floats]:
    """Return RIE and its derivatives with respect to TPR and PPR at each step."""
    scale = alpha / -np.expm1(-alpha)
    first, last = steps.ppr[:-1], steps.ppr[1:]
    width, top, bottom = last - first, np.exp(-alpha * first), np.exp(-alpha * last)
    wide = width > 0.0
    safe = np.where(wide, width, 1.0)
    mean = np.where(wide, -top * np.expm1(-alpha * width) / (alpha * safe), top)
    mass = np.diff(steps.tpr)
    by_t, by_q = np.zeros((2, steps.tpr.size))
    by_t[1:] += mean
    by_t[:-1] -= mean
    by_q[:-1] += mass * np.where(wide, (mean - top) / safe, -alpha * top / 2.0)
    by_q[1:] += mass * np.where(wide, (bottom - mean) / safe, -alpha * top / 2.0)
    value = float(mass @ mean) * scale if steps.tpr[-1] > 0.0 else float("nan")
    return value, by_t * scale, by_q * scale


def boyce_index(scores: PUScores) -> float:
    """Return the continuous Boyce index; nan if fewer than three windows differ.

    Uses 101 windows, each covering a tenth of the range of all scores with both ends included, as
    in the R package ecospat, except that no row of the last window is left out.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(1000, 10_000, setting="two-sample", seed=0)
    >>> boyce_index(scores) > 0.9
    True
    """
    positive, marginal = _windows(scores)
    if positive.size < FEWEST:
        return float("nan")
    ratio = np.round(positive / marginal, DIGITS)
    ratio = ratio[_last_of_run(ratio[:-1] != ratio[1:])]
    return _correlation(rankdata(ratio)) if ratio.size >= FEWEST else float("nan")


@in_range
def boyce_index_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the Boyce index with an interval for its population value; see the module.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(1000, 10_000, setting="two-sample", seed=0)
    >>> print(boyce_index_interval(scores).high)
    1.0
    """
    level, value = check_level(level), boyce_index(scores)
    if np.isnan(value) or no_spread(scores):
        words = "undefined: fewer than three windows differ"
        return Estimate(value=value, low=-1.0, high=1.0, level=level, method=words)
    positive, marginal = _windows(scores)
    # Half of the error probability for each of the two shares.
    alpha = (1.0 - level) / 2.0
    low, high = ratio_limits(
        positive,
        clopper_pearson(positive, scores.effective_positive, alpha),
        marginal,
        clopper_pearson(marginal, scores.effective_marginal, alpha),
    )
    ends = [_extreme(low, high, sign) for sign in (-1.0, 1.0)]
    # Tied windows share a rank, which no strict ordering of the windows can produce.
    least, most = min(ends[0], value), max(ends[1], value)
    words = BY_RANKS + trust_words(scores)
    return Estimate(value=value, low=least, high=most, level=level, method=words)


def _windows(scores: PUScores) -> tuple[Floats, Floats]:
    """Return the shares of positives and of all rows in windows that contain different rows."""
    s, positive, marginal = Ordered(scores).below()
    if not (positive[-1] > 0.0 and s[-1] > s[0]):
        return np.ones(0), np.ones(0)
    start = s[0] + (1.0 - WIDTH) * (s[-1] - s[0]) * np.linspace(0.0, 1.0, WINDOWS)
    end = np.minimum(start + WIDTH * (s[-1] - s[0]), s[-1])
    end[-1] = s[-1]
    first, last = np.searchsorted(s, start), np.searchsorted(s, end, side="right")
    kept = _last_of_run((np.diff(first) > 0) | (np.diff(last) > 0))
    kept &= marginal[last] > marginal[first]
    first, last = first[kept], last[kept]
    found = [(mass[last] - mass[first]) / mass[-1] for mass in (positive, marginal)]
    return found[0], found[1]


def _last_of_run(changes: Flags) -> Flags:
    """Return a mask of the last entry of each run, given where an entry differs from the next."""
    return np.append(changes, True)


def _correlation(rank: Floats) -> float:
    """Return the correlation of ranks with their positions; 0 if all ranks are equal."""
    place = np.arange(rank.size) - (rank.size - 1) / 2.0
    centered = rank - rank.mean()
    size = float(np.sqrt((centered @ centered) * (place @ place)))
    return float(np.clip(centered @ place / size, -1.0, 1.0)) if size > 0.0 else 0.0


def _extreme(low: Floats, high: Floats, sign: float) -> float:
    """Return the smallest (sign -1) or largest rank correlation that the limits allow."""
    n = low.size
    least = (high[None, :] < low[:, None]).sum(axis=1)
    most = n - 1 - (low[None, :] > high[:, None]).sum(axis=1)
    rank, place = np.arange(n), np.arange(n) - (n - 1) / 2.0
    allowed = (rank >= least[:, None]) & (rank <= most[:, None])
    cost = np.where(allowed, -sign * place[:, None] * rank, n**3)
    rows, ranks = linear_sum_assignment(cost)
    found = np.empty(n)
    found[rows] = ranks
    return _correlation(found)


add_metric(bedroc, bedroc_interval, title="BEDROC, alpha 20", citation=TRUCHON, ranks=True)

add_metric(
    boyce_index,
    boyce_index_interval,
    title="Continuous Boyce index",
    citation=HIRZEL,
    range=(-1.0, 1.0),
    needs_prior=False,
)
