r"""Metrics from other fields: the top of the list, drug discovery and ecology.

Precision, lift and recall in the top k
    Let q be the score at which a share k of the marginal sample is reached from the top. The
    positives in the top k are those above q; rows tied at q enter in proportion, which equals the
    mean over all orders of the ties. The noise in q itself is part of the variance: to first order,
    the share of positives found changes by :math:`\delta\mathrm{TPR} - r\,\delta\mathrm{PPR}`,
    where r is the slope :math:`d\mathrm{TPR}/d\mathrm{PPR}` at q, estimated over a window on either
    side. The steeper slope is used, because the two differ when the top contains exactly the
    positives. The enrichment factor of drug discovery is the lift of the top 1%.
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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from noneg.bins import order_statistics
from noneg.calibration.reliability import ratio_limits
from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import (
    LawMeans,
    Shares,
    area_limits,
    estimated,
    no_spread,
    prior_words,
    sample_sizes,
    share_limits,
    tail_means,
    trust_words,
    z_score,
)
from noneg.laws import Ordered
from noneg.performance.ranking import undefined
from noneg.registry import interval_of
from noneg.results import Estimate
from noneg.selection import Law, bounded, is_selected, widened
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Flags, Floats
    from noneg.intervals import Limits
    from noneg.scores import PUScores


# Tolerance for comparing ranks.
ROUNDING = 1e-9

METHOD = "binomial interval by effective size"
TRUCHON = "Truchon & Bayly (2007), Evaluating virtual screening methods"
HIRZEL = "Hirzel et al. (2006), Evaluating the ability of habitat suitability models"
WINDOWS = 101
WIDTH = 0.1  # Width of a window, as a share of the range.
FEWEST = 3  # Windows that determine a correlation.
DIGITS = 10  # Ratios that agree to this many decimals are considered equal.
BY_RANKS = "ranks allowed by the limits of the ratios"


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
    top = Top(scores, check_k(scores, k))
    return scores.known_prior * top.border.found / top.share


@interval_of(precision_at, title="Precision in the top 10%")
def precision_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the precision among the top k with its interval; see `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(precision_at_interval(scores, k=100))
    0.7500 [0.6668, 0.8213]
    """
    level, top, prior = check_level(level), Top(scores, check_k(scores, k)), scores.known_prior
    value = prior * top.border.found / top.share
    if not scores.prior_is_estimated:
        return top.multiple(value, level, 1.0 / top.share, by_prior=True)
    by_prior = value / prior if prior > 0.0 else 0.0
    variance = max(side.variance(prior / top.share, by_prior) for side in top.sides)
    rows = top.share * scores.effective_marginal
    ends = share_limits(min(value, 1.0), variance, rows, level)
    return estimated(scores, value, ends, level, METHOD)


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
    return Top(scores, check_k(scores, k)).lift


def _lift_range(scores: PUScores, *, k: float = 0.1) -> Limits:
    """Return the possible lifts: neither recall nor, at a known prior, precision exceeds 1."""
    least = 0.0 if scores.prior is None else scores.prior_set[0]
    return 0.0, 1.0 / max(check_k(scores, k), least)


@interval_of(
    lift_at,
    title="Lift in the top 10%",
    range=(0.0, np.inf),
    needs_prior=False,
    bounds=_lift_range,
)
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
    top = Top(scores, check_k(scores, k))
    return top.multiple(top.lift, check_level(level), 1.0 / top.share)


def check_k(scores: PUScores, k: object) -> float:
    """Return k as a share of the marginal sample."""
    rule = "a share in (0, 1], or a whole number of rows of the marginal sample"
    number = check_number(k, "k", rule)
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    share = number / scores.n_marginal if whole else number
    if isinstance(k, bool) or not 0.0 < share <= 1.0:
        raise InputError("k", f"must be {rule} ({scores.n_marginal:,.0f})", value=k)
    return share


@dataclass(frozen=True, eq=False)
class Border:
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
    def between(cls, means: LawMeans, share: float) -> Border:
        """Return the border at which this share is reached."""
        (t0, t1), (q0, q1) = means.positive, means.marginal
        place, slope = 0.0, 0.0
        if q1 > q0:
            place, slope = min(max((share - q0) / (q1 - q0), 0.0), 1.0), (t1 - t0) / (q1 - q0)
        return cls(means, place, float(t0 + place * (t1 - t0)), float(slope))

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


@dataclass(frozen=True, eq=False)
class Top:
    """The rows with the highest scores, which are a given share of the marginal sample."""

    scores: PUScores
    share: float

    @cached_property
    def border(self) -> Border:
        """The border between thresholds just above the lowest score in the top, and at it."""
        return self._between(self.share, self.share)

    @property
    def lift(self) -> float:
        """The TPR in the top over its share of the rows; nan without positives."""
        return self.border.found / self.share if self.scores.n_positive > 0.0 else float("nan")

    @cached_property
    def sides(self) -> list[Border]:
        """One window on each side of the border; windows shrink slowly as rows increase.

        Noise can move the border to either side, and where the classes separate at the border, the
        slopes on the two sides differ.
        """
        rows = self.scores.effective_marginal * self.share
        # Stay within half the distance to either end, where there are no rows.
        reach = min(self.share, 1.0 - self.share) * max(rows, 32.0) ** -0.2
        tied = self.border.means.marginal
        # A score shared by many rows is a window of its own.
        if tied[1] - tied[0] > reach:
            return [self.border]
        windows = (self.share - reach, self.share), (self.share, self.share + reach)
        return [self._between(*ends) for ends in windows]

    def _between(self, first: float, last: float) -> Border:
        """Return the border within the rows from the score at `first` down to that at `last`."""
        q = np.array([1.0 - first, max(1.0 - last, 0.0)])
        cuts = self.scores.marginal_quantiles(q)
        if cuts is None:
            # The first score whose rank exceeds the given one, which is the last row in the top.
            ranks = q * self.scores.effective_marginal * (1.0 + ROUNDING) + ROUNDING
            cuts = order_statistics(self.scores, ranks)
        # The top 100% contains all positives, even those that score below every marginal row.
        ends = [np.nextafter(cuts[0], 2.0), cuts[1] if last < 1.0 else 0.0]
        return Border.between(tail_means(self.scores, ends), self.share)

    def limits(self, level: float) -> Limits:
        """Return confidence limits for the TPR in the top."""
        value = min(self.border.found, 1.0)
        sizes = sample_sizes(self.scores, self.sides[0].means.cut, level)
        ends = [side.limits(value, self.share, sizes, level) for side in self.sides]
        return max(min(low for low, _ in ends), 0.0), min(max(high for _, high in ends), 1.0)

    def multiple(
        self, value: float, level: float, factor: float, *, by_prior: bool = False
    ) -> Estimate:
        """Return a multiple of the TPR in the top with its interval; the prior may be a factor."""
        scores, priors = self.scores, self.scores.prior_set if by_prior else (1.0, 1.0)
        if is_selected(scores):
            return self._bounded(value, level, lambda prior: factor * (prior if by_prior else 1.0))
        low, high = (
            end * factor * prior for end, prior in zip(self.limits(level), priors, strict=True)
        )
        words = METHOD + (prior_words if by_prior else trust_words)(scores)
        return Estimate(value=value, low=low, high=high, level=level, method=words)

    def _bounded(self, value: float, level: float, scale: Callable[[float], float]) -> Estimate:
        """Return a multiple of the recall in the top, with its range over all unknowns."""
        top = self.parts(level)

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
            gap = -float(law.slope(found)) * top["slope"] * (found - self.share) * scale(prior)
            added = law.drifted(0.0, law.drift(lambda near: point(near, prior)), gap)
            return widened(one, ends, z_score(level) ** 2 * added)

        reach = 0.0, np.inf
        return bounded(self.scores, value, point, ends, level, reach=reach, method=METHOD)

    def parts(self, level: float) -> dict[str, Any]:
        """Return the quantities that describe the top of the list, for computing a range.

        These are the TPR strictly above the border of the top and at or above it, the position
        between the two, the TPR in the top with its limits, the same widened by half a row
        (`Shares.continuous`), and its slope with respect to the share of rows.
        """
        half = 0.5 / self.scores.effective_positive
        low, high = self.limits(level)
        return {
            "tpr": self.border.means.positive,
            "place": self.border.place,
            "found": self.border.found,
            "ends": (low, high),
            "limits": (max(low - half, 0.0), min(high + half, 1.0)),
            "slope": max(side.slope for side in self.sides),
            "share": self.share,
        }


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
    top = Top(scores, check_k(scores, k))
    return top.lift * top.share


@interval_of(
    recall_at,
    title="Recall in the top 10%",
    needs_prior=False,
    bounds=lambda scores, k=0.1: (0.0, _lift_range(scores, k=k)[1] * check_k(scores, k)),
)
def recall_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the recall among the top k with its interval, limited as in `lift_at_interval`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(recall_at_interval(scores, k=100))
    0.7500 [0.6672, 0.8236]
    """
    top = Top(scores, check_k(scores, k))
    return top.multiple(top.lift * top.share, check_level(level), 1.0)


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


@interval_of(
    enrichment_factor,
    title="Enrichment factor of the top 1%",
    citation=TRUCHON,
    range=(0.0, np.inf),
    needs_prior=False,
)
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


@interval_of(bedroc, title="BEDROC, alpha 20", citation=TRUCHON, ranks=True)
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


@interval_of(
    boyce_index,
    title="Continuous Boyce index",
    citation=HIRZEL,
    range=(-1.0, 1.0),
    needs_prior=False,
)
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
