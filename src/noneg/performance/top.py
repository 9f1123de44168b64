r"""The top of the list: precision, lift and recall in the top k.

Let q be the score at which a share k of the marginal sample is reached from the top. The
positives in the top k are those above q; rows tied at q enter in proportion, which equals the
mean over all orders of the ties. The noise in q itself is part of the variance: to first order,
the share of positives found changes by :math:`\delta\mathrm{TPR} - r\,\delta\mathrm{PPR}`,
where r is the slope :math:`d\mathrm{TPR}/d\mathrm{PPR}` at q, estimated over a window on either
side. The steeper slope is used, because the two differ when the top contains exactly the
positives.

The enrichment factor of drug discovery is the lift of the top 1%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.bins import order_statistics
from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import (
    LawMeans,
    Shares,
    estimated,
    sample_sizes,
    share_limits,
    tail_means,
    trust_words,
    z_score,
)
from noneg.registry import add_metric, in_range
from noneg.results import Estimate
from noneg.selection import bounded, is_selected, widened

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats
    from noneg.intervals import Limits
    from noneg.scores import PUScores
    from noneg.selection import Law


# Tolerance for comparing ranks.
ROUNDING = 1e-9

METHOD = "binomial interval by effective size"
TRUCHON = "Truchon & Bayly (2007), Evaluating virtual screening methods"


def precision_at(scores: PUScores, *, k: float = 0.1) -> float:
    r"""Return the share of positives among the rows with the highest scores.

    .. math:: \pi\,\mathrm{TPR}_k / k

    Parameters
    ----------
    scores : PUScores
    k : float or int
        A float in (0, 1] is a share of the marginal sample; an int is a number of its rows. Ties at
        the border count in proportion.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> precision_at(scores, k=2)
    0.75
    """
    share = check_k(scores, k)
    return scores.known_prior * _found(scores, share) / share


@in_range
def precision_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the precision among the top k with its interval; see `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(precision_at_interval(scores, k=100))
    0.7500 [0.6668, 0.8213]
    """
    level, share = check_level(level), check_k(scores, k)
    value, prior = precision_at(scores, k=k), scores.known_prior
    if is_selected(scores):
        return _bounded_top(scores, value, share, level, lambda prior: prior / share)
    if scores.prior_is_estimated:
        by_prior = value / prior if prior > 0.0 else 0.0
        sides = _Top.sides(scores, share)
        variance = max(side.variance(prior / share, by_prior) for side in sides)
        low, high = share_limits(
            min(value, 1.0), variance, share * scores.effective_marginal, level
        )
    else:
        least, most = scores.prior_set
        found = _found_limits(scores, share, level)[0]
        low, high = found[0] * least / share, found[1] * most / share
    return estimated(scores, value, (low, high), level, METHOD)


def lift_at(scores: PUScores, *, k: float = 0.1) -> float:
    r"""Return the ratio of the positives in the top k to those expected in k random rows.

    .. math:: \mathrm{TPR}_k / k

    The prior is not used, and like other PU estimates, the result is not clipped. It is nan for
    labeled data without positives.

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
    return _found(scores, share) / share if scores.n_positive > 0.0 else float("nan")


@in_range
def lift_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the lift of the top k with its interval; see `lift_at`.

    Neither recall nor precision exceeds 1, so the lift is at most 1 / k and, if the prior is known,
    at most 1 / prior. Both the value and its interval are clipped to this range.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(lift_at_interval(scores, k=100))
    1.5000 [1.3345, 1.6472]
    """
    share = check_k(scores, k)
    return _multiple(scores, lift_at(scores, k=k), share, level, 1.0 / share)


def _multiple(scores: PUScores, value: float, share: float, level: float, scale: float) -> Estimate:
    """Return a fixed multiple of the recall in the top, not clipped, with its interval."""
    level = check_level(level)
    if is_selected(scores):
        return _bounded_top(scores, value, share, level, lambda _: scale)
    low, high = (end * scale for end in _found_limits(scores, share, level)[0])
    words = METHOD + trust_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def _lift_range(scores: PUScores, *, k: float = 0.1) -> Limits:
    """Return the possible lifts: neither recall nor, at a known prior, precision exceeds 1."""
    least = 0.0 if scores.prior is None else scores.prior_set[0]
    return 0.0, 1.0 / max(check_k(scores, k), least)


def check_k(scores: PUScores, k: object) -> float:
    """Return k as a share of the marginal sample."""
    rule = "a share in (0, 1], or a whole number of rows of the marginal sample"
    number = check_number(k, "k", rule)
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    share = number / scores.n_marginal if whole else number
    if isinstance(k, bool) or not 0.0 < share <= 1.0:
        raise InputError("k", f"must be {rule} ({scores.n_marginal:,.0f})", value=k)
    return share


def _tails(scores: PUScores, first: float, last: float) -> LawMeans:
    """Return the shares strictly above the score at `first`, and at or above the one at `last`."""
    q = np.array([1.0 - first, max(1.0 - last, 0.0)])
    cuts = scores.marginal_quantiles(q)
    if cuts is None:
        # The first score whose rank exceeds the given one, which is the last row in the top.
        ranks = q * scores.effective_marginal * (1.0 + ROUNDING) + ROUNDING
        cuts = order_statistics(scores, ranks)
    # The top 100% contains all positives, even those that score below every marginal row.
    return tail_means(scores, [np.nextafter(cuts[0], 2.0), cuts[1] if last < 1.0 else 0.0])


def _found(scores: PUScores, share: float) -> float:
    """Return the TPR in the top `share`."""
    return _Top.between(_tails(scores, share, share), share).found


def top_parts(scores: PUScores, share: float, level: float) -> dict[str, Any]:
    """Return the quantities that describe the top of the list, for computing a range.

    These are the TPR strictly above the border of the top and at or above it, the position between
    the two, the TPR in the top with its limits, the same widened by half a row
    (`Shares.continuous`), and its slope with respect to the share of rows.
    """
    means = _tails(scores, share, share)
    top, half = _Top.between(means, share), 0.5 / scores.effective_positive
    (low, high), slope = _found_limits(scores, share, level)
    return {
        "tpr": means.positive,
        "place": top.place,
        "found": top.found,
        "ends": (low, high),
        "limits": (max(low - half, 0.0), min(high + half, 1.0)),
        "slope": slope,
        "share": share,
    }


def _bounded_top(
    scores: PUScores, value: float, share: float, level: float, scale: Callable[[float], float]
) -> Estimate:
    """Return a multiple of the recall in the top, with its range over all unknowns."""
    top = top_parts(scores, share, level)

    def point(law: Law, prior: float) -> float:
        # Rows that tie at the border enter in proportion under every distribution.
        above, from_there = law(top["tpr"])
        return float(above + top["place"] * (from_there - above)) * scale(prior)

    def ends(law: Law, prior: float) -> Limits:
        found, one = min(top["found"], 1.0), point(law, prior)
        moved = (law(np.array(top["limits"])) - law(found)) * scale(prior)
        ends = one + float(moved[0]), one + float(moved[1])
        if law.near is None:
            return ends
        # Additional rows with high scores raise the cutoff of the top.
        gap = -float(law.slope(found)) * top["slope"] * (found - share) * scale(prior)
        added = law.drifted(0.0, law.drift(lambda near: point(near, prior)), gap)
        return widened(one, ends, z_score(level) ** 2 * added)

    return bounded(scores, value, point, ends, level, reach=(0.0, np.inf), method=METHOD)


def _found_limits(scores: PUScores, share: float, level: float) -> tuple[Limits, float]:
    """Return confidence limits for the TPR in the top, and the steeper slope at the border."""
    value, sides = min(_found(scores, share), 1.0), _Top.sides(scores, share)
    sizes = sample_sizes(scores, sides[0].means.cut, level)
    ends = [side.limits(value, share, sizes, level) for side in sides]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return (max(low, 0.0), min(high, 1.0)), max(side.slope for side in sides)


@dataclass(frozen=True, eq=False)
class _Top:
    """The TPR at which a share of the marginal sample is reached, between two thresholds.

    Attributes
    ----------
    means : LawMeans
        Shares above the upper threshold, and at or above the lower threshold.
    place : float
        Position between the thresholds at which the share is reached, from 0 to 1.
    found, slope : float
        TPR at that position, and its slope as a function of PPR.
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
    def sides(cls, scores: PUScores, share: float) -> list[_Top]:
        """Return one window on each side of the border; windows shrink slowly as rows increase.

        Noise can move the border to either side, and where the classes separate at the border, the
        slopes on the two sides differ.
        """
        rows = scores.effective_marginal * share
        # Stay within half the distance to either end, where there are no rows.
        reach = min(share, 1.0 - share) * max(rows, 32.0) ** -0.2
        tied = _tails(scores, share, share)
        # A score shared by many rows is a window of its own.
        if tied.marginal[1] - tied.marginal[0] > reach:
            return [cls.between(tied, share)]
        windows = (share - reach, share), (share, share + reach)
        return [cls.between(_tails(scores, *ends), share) for ends in windows]

    @property
    def weight(self) -> Floats:
        """Weights of the two thresholds."""
        return np.array([1.0 - self.place, self.place])

    def variance(self, factor: float, d_prior: float) -> float:
        """Return the variance of ``factor * found``, including the variation in the prior."""
        by_tpr, by_ppr = factor * self.weight, -factor * self.slope * self.weight
        return self.means.variance([*by_tpr, *by_ppr, d_prior])

    def limits(self, value: float, share: float, sizes: Floats, level: float) -> Limits:
        """Return limits for the TPR, allowing for its own noise and that of the border."""
        both = np.kron(np.eye(2), self.weight)
        covariance = both @ self.means.covariance[:-1, :-1] @ both.T
        shares = Shares.build(np.array([value, share]), covariance, sizes, level)
        low, high = shares.limits(lambda x: x[..., 0] - self.slope * (x[..., 1] - share))
        return float(low), float(high)


add_metric(precision_at, precision_at_interval, title="Precision in the top 10%")

add_metric(
    lift_at,
    lift_at_interval,
    title="Lift in the top 10%",
    range=(0.0, np.inf),
    needs_prior=False,
    bounds=_lift_range,
)


def recall_at(scores: PUScores, *, k: float = 0.1) -> float:
    """Return the share of all positives that lie in the top k rows; the prior is not used.

    Parameters
    ----------
    scores : PUScores
    k : float or int
        As in `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> recall_at(scores, k=0.5)
    0.75
    """
    return lift_at(scores, k=k) * check_k(scores, k)


@in_range
def recall_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the recall among the top k with its interval, limited as in `lift_at_interval`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(recall_at_interval(scores, k=100))
    0.7500 [0.6672, 0.8236]
    """
    return _multiple(scores, recall_at(scores, k=k), check_k(scores, k), level, 1.0)


def enrichment_factor(scores: PUScores, *, k: float = 0.01) -> float:
    """Return the enrichment factor of the top k, another name for `lift_at`; k is 1% by default.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> enrichment_factor(scores, k=0.25)
    2.0
    """
    return lift_at(scores, k=k)


@in_range
def enrichment_factor_interval(
    scores: PUScores, *, level: float = 0.95, k: float = 0.01
) -> Estimate:
    """Return the enrichment factor with its interval, limited as in `lift_at_interval`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(enrichment_factor_interval(scores, k=50))
    2.0000 [1.7056, 2.2610]
    """
    return lift_at_interval(scores, level=level, k=k)


add_metric(
    recall_at,
    recall_at_interval,
    title="Recall in the top 10%",
    needs_prior=False,
    bounds=lambda scores, k=0.1: (0.0, _lift_range(scores, k=k)[1] * check_k(scores, k)),
)

add_metric(
    enrichment_factor,
    enrichment_factor_interval,
    title="Enrichment factor of the top 1%",
    citation=TRUCHON,
    range=(0.0, np.inf),
    needs_prior=False,
)
