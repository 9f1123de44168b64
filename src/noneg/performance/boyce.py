r"""The continuous Boyce index from habitat modeling: whether positives cluster at high scores.

In moving windows :math:`W_t` over the range of the scores, :math:`F(t) = \mu_+(W_t)/\mu(W_t)` is
the frequency of positives relative to that of all rows. The index is Spearman's correlation between
F and t, after each run of windows with equal F is reduced to one window (Hirzel et al. 2006). It
needs neither negatives nor the prior.

With only a few positives, noise in the ranks pulls the index toward zero, far more than resampling
the rows would suggest. The interval is therefore not built around the index: simultaneous
confidence limits for F in all windows determine the possible ranks of each window, and the ends of
the interval are the smallest and largest correlations among such ranks. The interval is valid but
wide, because thirty positives carry little information about an ordering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from noneg.calibration.reliability import clopper_pearson, ratio_limits
from noneg.checks import check_level
from noneg.intervals import no_spread, trust_words
from noneg.laws import Ordered
from noneg.registry import add_metric, in_range
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

HIRZEL = "Hirzel et al. (2006), Evaluating the ability of habitat suitability models"
WINDOWS = 101
WIDTH = 0.1  # Width of a window, as a share of the range.
DIGITS = 10  # Ratios that agree to this many decimals are considered equal.
METHOD = "ranks allowed by simultaneous limits of the ratios"


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
    ratio = _windows(scores)[0]
    if ratio.size < 3:
        return float("nan")
    return _correlation(rankdata(ratio))


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
    ratio, positive, marginal = _windows(scores)
    if np.isnan(value) or no_spread(scores):
        words = "undefined: fewer than three windows differ"
        return Estimate(value=value, low=-1.0, high=1.0, level=level, method=words)
    # Lower and upper limits for both shares in every window.
    alpha = (1.0 - level) / (2.0 * ratio.size)
    low, high = ratio_limits(
        positive,
        clopper_pearson(positive, scores.effective_positive, alpha),
        marginal,
        clopper_pearson(marginal, scores.effective_marginal, alpha),
    )
    ends = [_extreme(low, high, sign) for sign in (-1.0, 1.0)]
    # Tied windows share a rank, which no strict ordering of the windows can produce.
    least, most = min(ends[0], value), max(ends[1], value)
    words = METHOD + trust_words(scores)
    return Estimate(value=value, low=least, high=most, level=level, method=words)


def _windows(scores: PUScores) -> tuple[Floats, Floats, Floats]:
    """Return the ratios and the shares of positives and of all rows in the distinct windows."""
    s, positive, marginal = Ordered(scores).below()
    if not (positive[-1] > 0.0 and s[-1] > s[0]):
        return np.ones(0), np.ones(0), np.ones(0)
    start = s[0] + (1.0 - WIDTH) * (s[-1] - s[0]) * np.linspace(0.0, 1.0, WINDOWS)
    end = np.minimum(start + WIDTH * (s[-1] - s[0]), s[-1])
    end[-1] = s[-1]
    first, last = np.searchsorted(s, start), np.searchsorted(s, end, side="right")
    shares = [(x[last] - x[first]) / x[-1] for x in (positive, marginal)]
    some = shares[1] > 0.0
    positive, marginal = (x[some] for x in shares)
    ratio = np.round(positive / marginal, DIGITS)
    new = np.append(ratio[:-1] != ratio[1:], True)
    return ratio[new], positive[new], marginal[new]


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


add_metric(
    boyce_index,
    boyce_index_interval,
    title="Continuous Boyce index",
    citation=HIRZEL,
    range=(-1.0, 1.0),
    needs_prior=False,
)
