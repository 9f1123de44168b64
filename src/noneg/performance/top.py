r"""How good is the top of the list: precision and lift among the rows with the highest scores.

Let q be the score at which a share k of the marginal sample is reached from the top. Positives
among the top k are counted at q; rows that tie there enter in proportion, which is the mean over
all orders of the ties. The noise of q itself is part of the variance: to first order the share of
positives found moves by :math:`\delta\mathrm{TPR} - r\,\delta\mathrm{PPR}`, with r the slope
:math:`d\mathrm{TPR}/d\mathrm{PPR}` at q, taken over a window around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import order_statistics
from noneg.checks import check_level, check_number
from noneg.functionals import LawMeans, tail_means
from noneg.intervals import prior_words, share_limits
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

# Ranks are compared with this much room.
ROUNDING = 1e-9
METHOD = "Wilson interval by effective size"


def precision_at(scores: PUScores, *, k: float = 0.1) -> float:
    r"""Return the share of positives among the rows with the highest scores.

    .. math:: \pi\,\mathrm{TPR}_k / k

    Parameters
    ----------
    scores : PUScores
    k : float or int
        A float is a share of the marginal sample, in (0, 1]; an int a number of its rows. Ties at
        the border count in proportion.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> precision_at(scores, k=2)
    0.75
    """
    share = check_k(scores, k)
    return scores.prior * _found(scores, share) / share


def precision_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the precision among the top k with its interval; see `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(precision_at_interval(scores, k=100))
    0.7500 [0.6656, 0.8189]
    """
    level, share = check_level(level), check_k(scores, k)
    value, prior = precision_at(scores, k=k), scores.prior
    top = _Top.look(scores, share)
    if scores.setting == "labelled":
        variance = top.variance(prior / share, value / prior if prior > 0.0 else 0.0)
        low, high = share_limits(
            min(value, 1.0), variance, share * scores.effective_marginal, level
        )
    else:
        least, most = scores.prior_interval or (prior, prior)
        found = _found_limits(scores, top, share, level)
        low, high = found[0] * least / share, found[1] * most / share
    words = METHOD + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def lift_at(scores: PUScores, *, k: float = 0.1) -> float:
    r"""Return how many times as many positives the top k holds as k rows drawn at random.

    .. math:: \mathrm{TPR}_k / k

    The prior does not enter. nan for labelled data without positives.

    Parameters
    ----------
    scores : PUScores
    k : float or int
        As in `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> lift_at(scores, k=0.5)
    1.5
    """
    share = check_k(scores, k)
    return _found(scores, share) / share if scores.prior > 0.0 else float("nan")


def lift_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the lift of the top k with its interval; see `lift_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(lift_at_interval(scores, k=100))
    1.5000 [1.3961, 1.5913]
    """
    level, share = check_level(level), check_k(scores, k)
    low, high = _found_limits(scores, _Top.look(scores, share), share, level)
    return Estimate(
        value=lift_at(scores, k=k),
        low=low / share,
        high=high / share,
        level=level,
        method=METHOD,
    )


def check_k(scores: PUScores, k: object) -> float:
    """Return the share of the marginal sample at the top."""
    rule = "a share in (0, 1], or a whole number of rows of the marginal sample"
    number = check_number(k, "k", rule)
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    share = number / scores.n_marginal if whole else number
    if isinstance(k, bool) or not 0.0 < share <= 1.0:
        msg = f"'k' must be {rule} ({scores.n_marginal:,.0f}), got {k!r}."
        raise ValueError(msg)
    return share


def _tails(scores: PUScores, first: float, last: float) -> LawMeans:
    """Return the shares strictly above the score that reaches `first`, and from `last` on."""
    q = np.array([1.0 - first, max(1.0 - last, 0.0)])
    cuts = scores.marginal_quantiles(q)
    if cuts is None:
        # The first score that exceeds the rank below it: the last row of the top itself.
        ranks = q * scores.effective_marginal * (1.0 + ROUNDING) + ROUNDING
        cuts = order_statistics(scores, ranks)
    # All rows are all positives too, even those below every marginal row.
    return tail_means(scores, [np.nextafter(cuts[0], 2.0), cuts[1] if last < 1.0 else 0.0])


def _found(scores: PUScores, share: float) -> float:
    """Return TPR among the top `share`."""
    return _Top.between(_tails(scores, share, share), share).found


def _found_limits(scores: PUScores, top: _Top, share: float, level: float) -> tuple[float, float]:
    value = min(_found(scores, share), 1.0)
    return share_limits(value, top.variance(1.0, 0.0), scores.effective_positive, level)


@dataclass(frozen=True, eq=False)
class _Top:
    """TPR where a share of the marginal sample is reached, between two thresholds.

    Attributes
    ----------
    means : LawMeans
        Shares above the upper and from the lower threshold on.
    place : float
        Where between them the share is reached, from 0 to 1.
    found, slope : float
        TPR at that place, and its slope as a function of PPR.
    """

    means: LawMeans
    place: float
    found: float
    slope: float

    @classmethod
    def between(cls, means: LawMeans, share: float) -> _Top:
        (t0, t1), (q0, q1) = means.positive, means.marginal
        place, slope = 0.0, 0.0
        if q1 > q0:
            place, slope = float(np.clip((share - q0) / (q1 - q0), 0.0, 1.0)), (t1 - t0) / (q1 - q0)
        return cls(means, place, float(t0 + place * (t1 - t0)), float(slope))

    @classmethod
    def look(cls, scores: PUScores, share: float) -> _Top:
        """Look at a window around the place, of a size that shrinks slowly with the rows."""
        rows = scores.effective_marginal * share
        reach = 0.5 * min(share, 1.0 - share) * max(rows, 1.0) ** -0.2
        return cls.between(_tails(scores, share - reach, share + reach), share)

    def variance(self, factor: float, d_prior: float) -> float:
        """Return the variance of ``factor * found``, plus the prior's part."""
        weight: NDArray[np.float64] = np.array([1.0 - self.place, self.place])
        gradient = [*(factor * weight), *(-factor * self.slope * weight), d_prior]
        return self.means.variance(gradient)


register(
    Metric(
        name="precision_at",
        title="Precision in the top 10 %",
        function=precision_at,
        interval=precision_at_interval,
    )
)
register(
    Metric(
        name="lift_at",
        title="Lift in the top 10 %",
        function=lift_at,
        interval=lift_at_interval,
        range=(0.0, np.inf),
        needs_prior=False,
    )
)
