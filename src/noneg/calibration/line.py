r"""Calibration as reported in clinical research: slope, intercept, and observed-to-expected ratio.

Slope
    The slope b of the line :math:`\operatorname{logit}\eta = a + b \operatorname{logit} s`. It is 1
    for calibrated scores and below 1 for scores that are too extreme.
Intercept
    The intercept of the line with slope 1 ("calibration in the large"). It is 0 for calibrated
    scores and below 0 for scores that are too high.
Observed to expected
    The prior divided by the mean score, O:E. It is 1 for scores that are right on average.

With all labels, the line fitted by logistic regression solves

.. math:: \pi\,E_+[x] = E[\sigma(a + b z)\,x], \qquad z = \operatorname{logit} s, \; x \in (1, z),

which needs no negatives. An interval contains the coefficients that a score test does not reject.
For each candidate coefficient, the difference between the two sides is a mean with a known
variance and skewness, whereas the estimated coefficient itself is unstable when only a few
positives lie far out. An end may be infinite. Scores of exactly 0 and 1 have no logit and are left
out.

References: Cox (1958); Van Calster et al. (2019), Calibration: the Achilles heel of predictive
analytics.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from noneg.checks import check_level
from noneg.intervals import (
    ROUNDING,
    effective_size,
    enclosing,
    exact_limits,
    law_means,
    no_spread,
    over_prior_grid,
    share_limits,
    skewed_limits,
    t_score,
)
from noneg.laws import row_shares
from noneg.likelihood import END, gather
from noneg.registry import interval_of
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats
    from noneg.intervals import Limits
    from noneg.registry import F, Number
    from noneg.scores import PUScores


VAN_CALSTER = "Van Calster et al. (2019), Calibration: the Achilles heel of predictive analytics"
# Number of priors at which ends are computed for a prior interval.
PRIOR_GRID = 9
METHOD = "coefficients that the score test does not reject"
FLAT = "undefined: no finite line, or all scores other than 0 and 1 are equal"
# Largest coefficient considered, in log odds per standard deviation of z.
LARGEST = 200.0
RATIO = "interval of the mean score, infinite if a few rows make it up"
FEW = 20
STEPS = 60


def _line_metric(function: Number, ideal: float, **entry: Any) -> Callable[[F], F]:  # noqa: ANN401
    """Register a metric of the calibration line with the decorated interval."""
    entry = {"range": (-np.inf, np.inf), "citation": VAN_CALSTER, "better": "closer"} | entry
    return interval_of(function, family="calibration line", ideal=ideal, **entry)


def calibration_slope(scores: PUScores) -> float:
    """Return the slope of the calibration line, or nan if all scores other than 0 and 1 are equal.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=4.0)  # log odds are twice as large as they ought
    >>> scores = world.draw(20_000, 100_000, setting="two-sample", seed=0)
    >>> print(round(calibration_slope(scores), 1))
    0.5
    """
    return _Line(scores, free=True).value(scores.known_prior)


@_line_metric(calibration_slope, 1.0, title="Calibration slope")
def calibration_slope_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the slope of the calibration line with its interval.

    If the rows do not determine the slope (separable or very few), an end is infinite.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(500, 5000, setting="two-sample", seed=1)
    >>> found = calibration_slope_interval(scores)
    >>> found.low < 1.0 < found.high
    True
    """
    return _interval(scores, check_level(level), free=True)


def calibration_intercept(scores: PUScores) -> float:
    """Return the intercept of the calibration line with slope 1, or calibration in the large.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=1.0, beta1=2.0)  # log odds are too large by one
    >>> scores = world.draw(20_000, 100_000, setting="two-sample", seed=0)
    >>> print(round(calibration_intercept(scores), 1))
    -1.0
    """
    return _Line(scores, free=False).value(scores.known_prior)


@_line_metric(calibration_intercept, 0.0, title="Calibration intercept, slope 1")
def calibration_intercept_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the intercept of the calibration line with its interval; see `calibration_intercept`.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> found = calibration_intercept_interval(scores)
    >>> found.low < 0.0 < found.high
    True
    """
    return _interval(scores, check_level(level), free=False)


class _Line:
    """The line at the points of a sample, with its slope fixed at 1 or free.

    Parameters
    ----------
    scores : PUScores
    free : bool
        If true, the coefficient is the slope, and the intercept is solved for. If false, the
        coefficient is the intercept.
    confidence : float
        Nominal coverage of the limits.
    """

    def __init__(self, scores: PUScores, *, free: bool, confidence: float = 0.95) -> None:
        sample, self.free, self.confidence = gather(scores), free, confidence
        inside = (sample.s >= END) & (sample.s < 1.0)
        self.sample, self.inside = sample, inside.astype(np.float64)
        rows = sample.marginal
        self.n_positive, self.n_marginal = float(sample.labeled.sum()), float(rows.sum())
        self.positive = sample.labeled / (self.n_positive or 1.0)
        self.marginal = rows / self.n_marginal
        self.inside_share = float(self.positive @ self.inside)
        z = logit(np.where(inside, sample.s, 0.5))
        mass = self.marginal * self.inside
        self.total = float(mass.sum())
        self.center = float(mass @ z) / (self.total or 1.0)
        self.z = (z - self.center) * inside
        self.spread = float(np.sqrt(mass @ self.z**2 / (self.total or 1.0)))
        self.unit = self.spread if free and self.spread > 0.0 else 1.0
        self.most = LARGEST / self.unit
        self.level, self.start = 0.0, 1.0 if free else 0.0
        # Sums of cubes: exact for one row at each point, and for rows of equal weight.
        squares, sums = sample.squares[[0, 2]], np.array([sample.labeled, rows])
        self.cubes = np.divide(squares**2, sums, out=np.zeros_like(sums), where=sums > 0.0)
        self.size = scores.effective_positive
        self.rows = min(self.size, scores.effective_marginal)
        self.shares, self.unbiased = np.zeros_like(z), 1.0
        if sample.form != "labeled" and self.size > 1.0:
            self.shares, self.unbiased = row_shares(scores)(sample.s), self.size / (self.size - 1.0)

    @property
    def is_defined(self) -> bool:
        """Whether some scores are neither 0 nor 1, and differ if the slope is free."""
        return self.total > 0.0 and (not self.free or self.spread > ROUNDING)

    def probability(self, theta: float, prior: float) -> Floats:
        """Return the line's probabilities for a coefficient; 0 for scores of exactly 0 or 1."""
        if not self.free:
            return np.asarray(self.inside * expit(self.z + self.center + theta))
        wanted = prior * self.inside_share
        if not 0.0 < wanted < self.total:
            return np.full_like(self.z, np.nan)
        far = 50.0 + abs(theta) * float(np.abs(self.z).max(initial=0.0))
        low, high = -far, far
        # Newton steps for the logit of the mean, which is nearly linear, kept inside a bracket.
        for _ in range(STEPS):
            p = self.inside * expit(self.level + theta * self.z)
            mean, slope = float(self.marginal @ p), float(self.marginal @ (p * (1.0 - p)))
            if abs(mean - wanted) <= ROUNDING * wanted:
                break
            low, high = (self.level, high) if mean < wanted else (low, self.level)
            step, rest = np.nan, self.total - mean
            if min(mean, rest, slope) > 0.0:
                gap = np.log(mean / wanted * (self.total - wanted) / rest)
                step = self.level - gap * mean * rest / (slope * self.total)
            self.level = step if low < step < high else (low + high) / 2.0
        return np.asarray(p)

    def excess(self, theta: float, prior: float) -> tuple[float, float, float]:
        """Return the discrepancy in the moment equation, its variance and its third cumulant."""
        p = self.probability(theta, prior)
        x = self.inside
        if self.free:
            bend = self.marginal * p * (1.0 - p)
            x = self.inside * (self.z - float(bend @ self.z) / (float(bend.sum()) or 1.0))
        mean = float(self.positive @ x)
        value = prior * mean - float(self.marginal @ (p * x))
        one = np.zeros_like(x)
        if not self.by_share:
            one = prior * (x - mean) / (self.n_positive or 1.0)
        two = -(p * x - float(self.marginal @ (p * x))) / self.n_marginal
        if self.sample.form == "labeled":
            one, two = one + mean / self.n_marginal, two - prior * mean / self.n_marginal
        if self.sample.form != "separate":
            one = one + two
        both, cross, other = self.sample.squares
        variance = self.unbiased * float(both @ one**2) + 2.0 * float(cross @ (one * two))
        if self.free:
            variance = max(variance, self._if_true(p, x, prior))
        variance += float(other @ two**2)
        # A product, because a third power takes a hundred times as long.
        third = self.cubes[0] @ (one * one * one) + self.cubes[1] @ (two * two * two)
        return value, variance, 0.0 if self.sample.form == "labeled" else float(third)

    def _if_true(self, p: Floats, x: Floats, prior: float) -> float:
        """Return the variance due to positives if the line were true, also of unseen ones."""
        law = self.marginal * p / (prior or 1.0)
        square = (x - float(law @ x)) ** 2
        return prior**2 * float((law * self.shares) @ square)

    @property
    def by_share(self) -> bool:
        """Whether the positives count only through the share of them that is neither 0 nor 1."""
        return not self.free and self.sample.form != "labeled"

    def limits(self, theta: float, prior: float) -> Limits:
        """Return the interval for the excess at a coefficient."""
        value, variance, third = self.excess(theta, prior)
        low, high = skewed_limits(value, variance, third, self.rows, self.confidence)
        if not self.by_share:
            return low, high
        share, (least, most) = self.inside_share, self.inside_limits
        down, up = prior * (share - least), prior * (most - share)
        return value - float(np.hypot(value - low, down)), value + float(np.hypot(high - value, up))

    @cached_property
    def inside_limits(self) -> Limits:
        """Binomial limits for the share of positives that are neither 0 nor 1.

        Positives at 0 or 1 that the sample lacks may be heavier than those it has (`row_shares`).
        """
        share = np.array(self.inside_share)
        outside = self.inside == 0.0
        if not outside.any():
            return 1.0, 1.0
        largest = min(self.size, 1.0 / float(self.shares[outside].max()))
        one = (self.inside - share) / (self.n_positive or 1.0)
        variance = np.array(self.unbiased * float(self.sample.squares[0] @ one**2))
        size = np.minimum(effective_size(share, variance, np.array(largest)), largest)
        low, high = exact_limits(share, size, self.confidence)
        return float(low), float(high)

    def value(self, prior: float) -> float:
        """Return the coefficient without excess, or nan if it is undefined or infinite."""
        if not self.is_defined:
            return np.nan
        found = self.root(prior, lambda theta: self.excess(theta, prior)[0])
        return found if np.isfinite(found) else np.nan

    def root(self, prior: float, distance: Callable[[float], float]) -> float:
        """Return the coefficient at which a decreasing function is 0; infinite if there is none."""
        # Double the distance from the start until the sign changes. Where the classes separate,
        # the excess vanishes far out, and its sign there is that of a rounding error.
        start, noise = distance(self.start), ROUNDING * prior * self.unit
        if np.isnan(start):
            return np.nan
        if abs(start) <= noise:
            return self.start
        way, near, far, step = np.sign(start), self.start, self.start, self.most / 2.0**12
        while abs(far) < self.most:
            far = float(np.clip(far + way * step, -self.most, self.most))
            ahead, step = way * distance(far), 2.0 * step
            if ahead < -noise:
                return float(brentq(distance, near, far, xtol=1e-11))
            if ahead > noise:
                near = far
        return float(way * np.inf)


def _interval(scores: PUScores, level: float, *, free: bool) -> Estimate:
    line = _Line(scores, free=free, confidence=level)
    value = line.value(scores.known_prior)
    if not line.is_defined or no_spread(scores):
        return Estimate(value=value, low=-np.inf, high=np.inf, level=level, method=FLAT)

    def limits(prior: float) -> Limits:
        low = line.root(prior, lambda theta: line.limits(theta, prior)[0])
        high = line.root(prior, lambda theta: line.limits(theta, prior)[1])
        low, high = -np.inf if np.isnan(low) else low, np.inf if np.isnan(high) else high
        # A lower end above the largest coefficient is set to it; an upper end, to its negative.
        return min(low, line.most), max(high, -line.most)

    return enclosing(scores, value, over_prior_grid(limits, scores, PRIOR_GRID), level, METHOD)


def observed_expected(scores: PUScores) -> float:
    """Return O:E, the share of positives divided by the mean score, or nan if all scores are zero.

    Examples
    --------
    >>> from noneg import PUScores
    >>> observed_expected(PUScores.from_labels([0, 0, 1, 1], [0.25, 0.25, 0.25, 0.25]))
    2.0
    """
    mean = float(law_means(scores, (), [lambda s: s]).marginal[0])
    return scores.known_prior / mean if mean > np.finfo(np.float64).tiny else float("nan")


@_line_metric(observed_expected, 1.0, title="Observed to expected, O:E", range=(0.0, np.inf))
def observed_expected_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return O:E with its interval, which follows from that of the mean score.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(observed_expected_interval(scores))
    1.0000 [0.9219, 1.0847]
    """
    level, value = check_level(level), observed_expected(scores)
    if not value > 0.0:
        words = "undefined, all scores or all labels are zero"
        return Estimate(value=value, low=0.0, high=np.inf, level=level, method=words)
    limits = _labeled_ratio if scores.prior_is_estimated else _pu_ratio
    return enclosing(scores, value, limits(scores, level), level, RATIO)


def _labeled_ratio(scores: PUScores, level: float) -> Limits:
    """Return Student limits for the logarithm of O:E, whose two parts are correlated."""
    means = law_means(scores, (), [lambda s: s])
    mean, prior = float(means.marginal[0]), scores.known_prior
    variance = means.variance([-1.0 / mean, 1.0 / prior])
    reach = t_score(level, scores.effective_marginal) * float(np.sqrt(variance))
    return prior / mean * float(np.exp(-reach)), prior / mean * float(np.exp(reach))


def _pu_ratio(scores: PUScores, level: float) -> Limits:
    """Return limits for O:E from those of the mean score, which may depend on a few high scores.

    One more row of the size that matters, :math:`E[s^3]/E[s^2]`, counts in the variance: the sample
    may lack others. If fewer than `FEW` rows make up the mean, no interval can be trusted.
    """
    means = law_means(scores, (), [lambda s: s, np.square, lambda s: s * s * s])
    mean, square, cube = means.marginal
    rows, (least, most) = scores.effective_marginal, scores.prior_set
    if not rows * mean**2 >= FEW * square > 0.0:
        return 0.0, np.inf
    variance = means.variance([1.0, 0.0, 0.0, 0.0]) + float(cube / square / rows) ** 2
    low, high = share_limits(float(mean), variance, rows, level)
    return least / high, most / low if low > 0.0 else np.inf
