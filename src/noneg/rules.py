r"""Metrics that are ratios of linear functions of the prior: rules and their curves.

For given rows, TPR, PPR and all means under the two distributions are fixed, so a metric is a
function of the prior alone. For nearly all metrics, this function is piecewise of the form

.. math:: m(\pi) = \frac{a + b\,\pi}{c + d\,\pi}.

A `Curve` holds the pieces, so two models are equal at the roots of a quadratic polynomial. A `Rule`
is a metric of the confusion matrix, whose four coefficients are linear in TPR and PPR. Its value,
its interval, its curve and the computations of the report in the browser all follow from these
coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noneg.checks import check_level, check_number
from noneg.intervals import Shares, estimated, over_priors, sample_sizes, tail_means, z_score
from noneg.selection import Law, assembled, bounded, is_selected, widened

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.intervals import LawMeans
    from noneg.results import Estimate
    from noneg.scores import PUScores

Four: TypeAlias = "tuple[Floats | float, Floats | float, Floats | float, Floats | float]"

METHOD = "recovered variances of binomial intervals"
# Values and priors closer than this are equal up to rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric of one model as a function of the prior: piecewise ratios of linear functions.

    Attributes
    ----------
    inner : ndarray, shape (k - 1,)
        Priors at which the pieces meet, in ascending order.
    pieces : ndarray, shape (k, 4)
        Coefficients a, b, c, d of ``(a + b prior) / (c + d prior)`` on each piece.
    by_odds : bool
        Whether the result is multiplied by the square root of the odds ``prior / (1 - prior)``.

    Examples
    --------
    >>> Curve.of(0.2, 0.5)(0.4)
    array(0.4)
    """

    inner: Floats
    pieces: Floats
    by_odds: bool = False

    @classmethod
    def of(
        cls, a: float, b: float = 0.0, c: float = 1.0, d: float = 0.0, *, by_odds: bool = False
    ) -> Curve:
        """Return a curve with a single piece."""
        return cls(np.zeros(0), np.array([[a, b, c, d]], dtype=np.float64), by_odds)

    def __call__(self, prior: ArrayLike) -> Floats:
        """Return the metric at one or many priors; nan where it is undefined."""
        x = np.asarray(prior, dtype=np.float64)
        a, b, c, d = np.moveaxis(self.pieces[np.searchsorted(self.inner, x)], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (a + b * x) / (c + d * x)
        factor = np.sqrt(x / (1.0 - x)) if self.by_odds else 1.0
        out: Floats = np.where(np.isfinite(value), value * factor, np.nan)
        return out

    def crossings(self, other: Curve, low: float, high: float) -> Floats:
        """Return the priors between low and high at which two curves are equal.

        Coinciding curves have none.
        """
        inner = np.concatenate([self.inner, other.inner])
        ends = np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))
        middle = (ends[:-1] + ends[1:]) / 2.0
        a, b, c, d = self.pieces[np.searchsorted(self.inner, middle)].T
        p, q, r, s = other.pieces[np.searchsorted(other.inner, middle)].T
        roots = _quadratic_roots(
            _difference(a * r, p * c),
            _difference(a * s + b * r, p * d + q * c),
            _difference(b * s, q * d),
        )
        here = (roots >= ends[:-1] - ROUNDING) & (roots <= ends[1:] + ROUNDING)
        found: Floats = roots[here & (roots > low) & (roots < high)]
        return np.unique(found)


def _difference(x: Floats, y: Floats) -> Floats:
    """Return x - y, or zero where they are equal up to rounding error."""
    return np.where(np.abs(x - y) <= ROUNDING * (np.abs(x) + np.abs(y)), 0.0, x - y)


def _quadratic_roots(constant: Floats, linear: Floats, square: Floats) -> Floats:
    """Return the real roots without cancellation, shape (2, ...); nan if they do not exist."""
    with np.errstate(all="ignore"):
        root = np.sqrt(linear**2 - 4.0 * square * constant)
        pivot = -(linear + np.where(linear < 0.0, -root, root)) / 2.0
        return np.stack([pivot / square, constant / pivot])


@dataclass(frozen=True, eq=False)
class Rule:
    """A metric of the confusion matrix.

    Attributes
    ----------
    piece : callable
        Maps TPR and PPR to a, b, c and d in ``(a + b prior) / (c + d prior)``. Each of the four is
        a linear combination of 1, TPR and PPR.
    low, high : float
        Range of the metric.
    by_odds : bool
        Whether the ratio is multiplied by the square root of ``prior / (1 - prior)`` over
        ``PPR (1 - PPR)``.

    Examples
    --------
    >>> precision = Rule(lambda tpr, ppr: (0.0, tpr, ppr, 0.0))
    >>> precision(np.array(0.5), np.array(0.25), 0.4).round(3)
    np.float64(0.8)
    """

    piece: Callable[[Floats, Floats], Four]
    low: float = 0.0
    high: float = 1.0
    by_odds: bool = False

    def __call__(self, tpr: Floats, ppr: Floats, prior: Floats | float) -> Floats:
        """Return the metric; nan where it is undefined."""
        a, b, c, d = self.piece(tpr, ppr)
        prior = np.asarray(prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = a / c if self.is_free else (a + b * prior) / (c + d * prior)
            if self.by_odds:
                value = value * np.sqrt(prior / (1.0 - prior) / (ppr * (1.0 - ppr)))
        defined = np.isfinite(value)
        if self.needs_positives:
            defined &= prior != 0.0
        return np.where(defined, value, np.nan)[()]

    @cached_property
    def is_free(self) -> bool:
        """Whether the metric does not depend on the prior."""
        _, b, _, d = self.matrix
        return not (any(b) or any(d) or self.by_odds)

    @cached_property
    def needs_positives(self) -> bool:
        """Whether the metric is undefined without positives: at prior 0, it depends on the TPR."""
        (_, in_a, _), _, (_, in_c, _), _ = self.matrix
        return bool(in_a or in_c) and not self.by_odds

    def prior(self, scores: PUScores) -> float:
        """Return the prior of the scores; nan if it is neither known nor needed."""
        return np.nan if self.is_free and scores.prior is None else scores.known_prior

    @property
    def matrix(self) -> list[list[float]]:
        """For each of a, b, c and d, the constant and the coefficients of TPR and PPR."""
        # Three points determine a linear function: no rows, all positives, all rows.
        shares = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        found = np.array([np.broadcast_to(x, 3) for x in self.piece(*shares)])
        found[:, 1:] -= found[:, :1]
        table: list[list[float]] = found.tolist()
        return table

    def curve(self, scores: PUScores, threshold: float = 0.5) -> Curve:
        """Return the metric at a threshold as a function of the prior."""
        tpr, ppr = rates(tail_means(scores, [check_threshold(threshold)]))
        a, b, c, d = (float(x) for x in self.piece(tpr, ppr))
        scale = float(np.sqrt(ppr * (1.0 - ppr))) if self.by_odds else 1.0
        return Curve.of(a, b, c * scale, d * scale, by_odds=self.by_odds)

    def value(self, scores: PUScores, threshold: float) -> float:
        """Return the metric at a threshold."""
        return self._value(scores, tail_means(scores, [check_threshold(threshold)]))

    def _value(self, scores: PUScores, means: LawMeans) -> float:
        return self._within(float(self(*rates(means), self.prior(scores))), scores)

    def interval(self, scores: PUScores, threshold: float, level: float) -> Estimate:
        """Return the metric at a threshold with its interval (see `noneg.intervals`).

        The interval is based on TPR, FPR and the prior for labeled data, where these are
        uncorrelated, and on TPR and PPR for PU data. The estimate and its interval are kept within
        the metric's range, and they hold for every prior in ``scores.prior_interval``.
        """
        level = check_level(level)
        means = tail_means(scores, [check_threshold(threshold)])
        value = self._value(scores, means)
        if is_selected(scores):
            return self._bounded(scores, means, value, level).within(self.low, self.high)
        known = not np.isnan(value)
        ends = self.limits(scores, means, level) if known else (self.low, self.high)
        return estimated(scores, value, ends, level, METHOD).within(self.low, self.high)

    def _bounded(self, scores: PUScores, means: LawMeans, value: float, level: float) -> Estimate:
        """Return the metric with its range over priors and distributions of the positives."""
        reach = self.low, self.high
        if np.isnan(value):
            return assembled(scores, value, reach, reach, level, reach=reach, method=METHOD)
        (tpr, ppr), labeled = rates(means), np.array([scores.effective_positive, np.inf])
        shares = pu_shares(scores, means, level).continuous(labeled)

        def point(law: Law, prior: float, shift: float = 0.0) -> float:
            return float(self(law(tpr), ppr + shift * (tpr - ppr), prior))

        def ends(law: Law, prior: float) -> tuple[float, float]:
            low, high = shares.limits(lambda x: self(law(x[..., 0]), x[..., 1], prior))
            if law.near is None:
                return float(low), float(high)
            # Effect of moving the marginal distribution by `pull` toward the labeled distribution,
            # per unit.
            gap = (point(law, prior, law.pull) - point(law, prior, -law.pull)) / (2.0 * law.pull)
            added = law.drifted(0.0, law.drift(lambda near: point(near, prior)), gap)
            added *= z_score(level) ** 2
            return widened(point(law, prior), (float(low), float(high)), added)

        return bounded(scores, value, point, ends, level, reach=reach, method=METHOD)

    def _within(self, value: float, scores: PUScores) -> float:
        """Return the value, kept in its range for labeled data, where only rounding leaves it."""
        return float(np.clip(value, self.low, self.high)) if scores.prior_is_estimated else value

    def limits(self, scores: PUScores, means: LawMeans, level: float) -> tuple[float, float]:
        """Return the ends of the interval at the threshold of these means."""
        if scores.prior_is_estimated:
            low, high = labeled_shares(scores, means, level).limits(self._of_labeled)
            return self._within(float(low), scores), self._within(float(high), scores)
        shares = pu_shares(scores, means, level)
        priors = scores.prior_interval or (self.prior(scores),) * 2

        def limits(grid: Floats) -> tuple[Floats, Floats]:
            return shares.limits(lambda x: self(x[..., 0], x[..., 1], grid))

        return over_priors(limits, priors)

    def _of_labeled(self, x: Floats) -> Floats:
        """Return the metric from shares (TPR, FPR, prior), shape (..., 3)."""
        tpr, fpr, prior = np.moveaxis(x, -1, 0)
        return self(tpr, prior * tpr + (1.0 - prior) * fpr, prior)

    def of_table(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        """Return the metric for a contingency table."""
        total, positives = tp + fp + fn + tn, tp + fn
        with np.errstate(divide="ignore", invalid="ignore"):
            tpr = np.where(positives > 0.0, tp / positives, 0.0)
            return self(tpr, (tp + fp) / total, positives / total)


PRECISION = Rule(lambda t, p: (0.0, t, p, 0.0))
FALSE_POSITIVE_RATE = Rule(lambda t, p: (p, -t, 1.0, -1.0))


def check_threshold(threshold: object) -> float:
    """Return a threshold, checked to be a number."""
    return check_number(threshold, "threshold", "a number; scores at or above it count as positive")


def rates(means: LawMeans) -> tuple[Floats, Floats]:
    """Return TPR (0 without positives) and PPR at the only threshold of these means."""
    return means.positive[0], means.marginal[0]


def pu_shares(scores: PUScores, means: LawMeans, level: float) -> Shares:
    """Return TPR and PPR with their limits and correlation; kept, since all rules need them."""

    def build() -> Floats:
        value = np.concatenate([means.positive, means.marginal])
        sizes = sample_sizes(scores, means.cut, level)
        found = Shares.build(value, means.covariance[:-1, :-1], sizes, level)
        return np.array([found.value, found.low, found.high, *found.correlation])

    value, low, high, *correlation = scores.kept(("shares", scores.pooled, means.cut, level), build)
    return Shares(value, low, high, np.array(correlation))


def labeled_shares(scores: PUScores, means: LawMeans, level: float) -> Shares:
    """Return TPR, FPR and prior with limits and correlations (zero unless there are weights)."""
    (tpr, ppr), prior, n = rates(means), means.prior, scores.effective_marginal
    fpr, change = 0.0, np.eye(3)
    if prior < 1.0:
        fpr = float(np.clip(FALSE_POSITIVE_RATE(tpr, ppr, prior), 0.0, 1.0))
        change[1] = np.array([-prior, 1.0, fpr - tpr]) / (1.0 - prior)
    rows = np.array([scores.effective_positive, n * (1.0 - prior), n])
    covariance = change @ means.covariance @ change.T
    sizes = np.array([rows, np.ones(3)])
    return Shares.build(np.array([tpr, fpr, prior]), covariance, sizes, level)
