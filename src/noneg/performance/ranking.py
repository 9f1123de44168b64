r"""Ranking quality: areas under the curves, and the curves themselves.

AUROC
    If PAUC is the probability that a labeled positive scores higher than an unlabeled row, where a
    tie counts as half,

    .. math:: \mathrm{AUC} - \tfrac12 = \frac{1 - \lambda}{1 - \pi}\,(\mathrm{PAUC} - \tfrac12),

    where :math:`\lambda` is the labeled share of the marginal sample. It is 0 in the two-sample
    setting, which gives :math:`(\mathrm{PAUC} - \pi/2)/(1-\pi)`. It is :math:`n_P/n` in the
    one-sample setting, which gives the same formula with the prior :math:`\bar\pi` of the unlabeled
    rows and is equivalent to comparing the positives with all rows. It is :math:`\pi` for labeled
    data, which gives the ordinary AUC.
Range
    With only a few PU rows, an estimate may leave its range. Functions that return a number do not
    clip it; functions that return an `Estimate` clip the value and keep the original number in
    `Estimate.raw`.
Variance of areas
    Computed from the influence of each row on the area (DeLong et al. 1988). Rows that belong to
    both samples are counted once, and for labeled data the prior varies with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from noneg import kernels
from noneg.checks import check_level, check_rate
from noneg.intervals import (
    area_limits,
    estimated,
    over_prior_grid,
    skewed_limits,
    t_score,
    with_unseen,
    z_score,
)
from noneg.laws import Ordered, influence
from noneg.registry import interval_of
from noneg.results import Estimate, Table
from noneg.rules import PRECISION, Curve
from noneg.selection import (
    LIMIT_GRID,
    Box,
    Cells,
    Law,
    Selected,
    bounded,
    height_limits,
    is_selected,
    running_wins,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats
    from noneg.intervals import Limits
    from noneg.scores import PUScores

    Steps = Ordered | Selected


METHOD = "delta method"
# Number of priors at which limits are evaluated if the prior is only known to lie in an interval.
PRIOR_GRID = 9
# Mean relative rank of positives that score like any other row.
RANDOM = 0.5
# Smallest spread of influences that determines a direction.
LEAST = 1e-9


def auroc(scores: PUScores) -> float:
    r"""Return the area under the ROC curve.

    This is the probability that a positive has a higher score than a negative; a tie counts as
    half. From positives and unlabeled rows it is
    :math:`\mathrm{AUC} = (\mathrm{PAUC} - \pi/2)/(1 - \pi)` in the two-sample setting; see
    `noneg.performance.ranking` for the other settings. Not clipped; nan when a class is empty.

    References
    ----------
    Proxy AUC: the PU benchmark paper, Def. 2. Bamber (1975) for ties.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.2, setting="two-sample")
    >>> round(auroc(scores), 4)
    0.9688
    """
    (u, *masses), (p, *others) = scores.in_order()
    if any(np.ndim(mass) for mass in (*masses, *others)):
        return _area(Ordered(scores), scores.known_prior).value
    if not (u.size and p.size):
        return float("nan")
    win = share_of_wins(scores)
    share = p.size / (u.size + p.size) if scores.pooled else 0.0
    return 0.5 + (win - 0.5) * _stretch(scores.known_prior, share, scores)


def share_of_wins(scores: PUScores) -> float:
    """Return how often a labeled positive beats an unlabeled row, for unweighted rows.

    A tie counts as half. The result is cached.
    """

    def compute() -> Floats:
        (u, *_), (p, *_) = scores.in_order()
        return np.array(kernels.doubled_wins(u, p) / (2.0 * u.size * p.size))

    return float(scores.kept("share of wins", compute))


def _auroc_curve(scores: PUScores) -> Curve:
    # AUC - 1/2 is a constant divided by 1 - prior, in both settings.
    constant = (auroc(scores) - 0.5) * (1.0 - scores.known_prior)
    return Curve.of(0.5 + constant, -0.5, 1.0, -1.0)


@interval_of(
    auroc,
    title="Area under the ROC curve",
    citation="DeLong et al. (1988); PU form by Charoenphakdee et al. (2019)",
    ranks=True,
    by_prior=_auroc_curve,
)
def auroc_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the area under the ROC curve with its interval.

    Uses DeLong's variance and Student's interval for the logit of PAUC, which stays in (0, 1). With
    hidden labels, the interval also allows for positives that score like any other row but are
    missing from the sample (`noneg.intervals.with_unseen`). With a ``prior_interval``, the ends are
    exact because they are monotone in the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(auroc_interval(scores))
    0.7500 [0.6196, 0.8468]
    """
    level, value = check_level(level), auroc(scores)
    if np.isnan(value):
        return undefined(scores, level, "no pair of a positive and another row")
    if is_selected(scores):
        return area_bounds(scores, value, level)
    pair, share = pair_limits(scores, value, level), scores.labeled_share
    ends = [
        0.5 + (end - 0.5) * _stretch(prior, share, scores)
        for prior in scores.prior_set
        for end in pair
    ]
    limits = min(ends), max(ends)
    return estimated(scores, value, limits, level, "DeLong variance, logit interval")


def area_bounds(
    scores: PUScores, value: float, level: float, *, box: Box | None = None, proxy: bool = False
) -> Estimate:
    """Return an area with its range over priors and distributions of the positives.

    The mean relative rank of the positives among all rows is linear in their distribution. Its
    running sums over the labeled positives, computed once, give the area for any selection. The
    proxy AUC is that mean itself.
    """
    tpr, wins = running_wins(scores)
    cells, rows = Cells(scores), min(scores.effective_positive, scores.effective_marginal)

    def area(place: float, prior: float) -> float:
        return place if proxy else (place - prior / 2.0) / (1.0 - prior)

    def point(law: Law, prior: float) -> float:
        return area(law.mean(tpr, wins), prior)

    def ends(law: Law, prior: float) -> Limits:
        # At prior zero, every row is a negative, and the area is the mean relative rank.
        steps, place = Selected(cells, law), law.mean(tpr, wins)
        slopes = _area(steps, 0.0).slopes()
        variance = steps.variance(*slopes)
        pairs = (
            area_limits(place, variance, rows, level),
            skewed_limits(place, variance, steps.third(slopes[0]), rows, level),
        )
        reach = min(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
        low, high = with_unseen(place, reach, RANDOM, scores.effective_positive, level)
        return area(low, prior), area(high, prior)

    method = "logit interval, or one corrected for skewness where it reaches further"
    return bounded(scores, value, point, ends, level, reach=(0.0, 1.0), method=method, box=box)


def pair_limits(
    scores: PUScores, area: float, level: float, *, prior: float | None = None
) -> Limits:
    """Return the interval for PAUC that corresponds to an area under the ROC curve.

    With hidden labels, it allows for a kind of positives that the sample lacks (`with_unseen`).
    """
    steps, share = Ordered(scores), scores.labeled_share
    prior = scores.known_prior if prior is None else prior
    stretch = _stretch(prior, share, scores)
    pair = 0.5 + (area - 0.5) / stretch
    variance = steps.variance(*_area(steps, prior).slopes(), unseen=False) / stretch**2
    rows = min(scores.effective_positive, scores.effective_marginal * (1.0 - share))
    ends = area_limits(pair, variance, rows, level)
    if not scores.hidden:
        return ends
    low, high = with_unseen(pair, ends, RANDOM, scores.effective_positive, level)
    return max(low, 0.0), min(high, 1.0)


def _stretch(prior: float, share: float, scores: PUScores) -> float:
    """Return the factor between AUC - 1/2 and PAUC - 1/2."""
    return (1.0 - share) / (1.0 - prior) if scores.hidden else 1.0


def partial_auc(scores: PUScores, *, max_fpr: float = 0.1, standardized: bool = False) -> float:
    r"""Return the area under the ROC curve up to a false-positive rate.

    Parameters
    ----------
    scores : PUScores
    max_fpr : float
        In (0, 1]. The curve is cut, by linear interpolation, where it first reaches this rate. For
        PU rows, the estimated rates are first replaced by the closest non-decreasing ones.
    standardized : bool
        If true, return McClish's :math:`\tfrac12\bigl(1 + \frac{A - m^2/2}{m - m^2/2}\bigr)` for
        the rate m instead of the area A. It is 1/2 for random scores and 1 for perfect ones, as in
        scikit-learn.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> (
    ...     partial_auc(scores, max_fpr=0.5),
    ...     round(partial_auc(scores, max_fpr=0.5, standardized=True), 4),
    ... )
    (0.25, 0.6667)
    """
    m = check_max_fpr(max_fpr)
    value = _area(Ordered(scores), scores.known_prior, m).value
    return float(_mcclish(value, m)) if standardized else value


def _partial_bounds(_: PUScores, *, max_fpr: float = 0.1, standardized: bool = False) -> Limits:
    ends = 0.0, check_max_fpr(max_fpr)
    return (_mcclish(0.0, ends[1]), 1.0) if standardized else ends


@interval_of(
    partial_auc,
    title="Partial area, FPR up to 0.1",
    citation="McClish (1989), Analyzing a portion of the ROC curve",
    range=(0.0, 0.1),
    bounds=_partial_bounds,
)
def partial_auc_interval(
    scores: PUScores, *, level: float = 0.95, max_fpr: float = 0.1, standardized: bool = False
) -> Estimate:
    """Return the partial area with its interval; see `partial_auc` and `auroc_interval`.

    Uses Student's interval for the logit of the mean height, which stays in its range, and for PU
    rows the upper end of Student's interval for the height itself if it is larger. If the FPR
    itself is known only up to half of `max_fpr`, so that the curve could be cut anywhere, the
    interval is the whole range.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(partial_auc_interval(scores, max_fpr=0.5))
    0.2500 [0.1717, 0.3283]
    """
    level, m, steps = check_level(level), check_max_fpr(max_fpr), Ordered(scores)
    value = partial_auc(scores, max_fpr=m, standardized=standardized)
    if np.isnan(value):
        return undefined(scores, level, "an empty class")

    def shown(area: float) -> float:
        return _mcclish(area, m) if standardized else area

    def limits(prior: float) -> Limits:
        area = _area(steps, prior, m)
        if scores.hidden and m < 1.0 and _cut_noise(scores, area.cut, prior) > m / 2.0:
            return shown(0.0), shown(m)
        low, high = _mean_limits(scores, area.value / m, area.variance(steps) / m**2, level)
        return shown(low * m), shown(high * m)

    if is_selected(scores):
        return _bounded_partial(scores, value, m, shown, level)

    ends = over_prior_grid(limits, scores, PRIOR_GRID)
    return estimated(scores, value, ends, level, METHOD)


def _bounded_partial(
    scores: PUScores, value: float, m: float, shown: Callable[[float], float], level: float
) -> Estimate:
    """Return the partial area with its range over priors and distributions of the positives.

    The point at which the curve is cut is itself noisy, and where the classes separate, a little
    noise moves it far, so a derivative is not informative there. Instead, all heights are moved to
    the ends of their intervals, which is at least as much as their joint noise. Like the heights,
    the resulting ends are monotone in the selection factor.
    """
    steps, box = Ordered(scores), Box.of(scores)
    free = box.without_caps().with_fewer_labeled(z_score(level))
    lowest, highest = height_limits(steps, level)

    def area(law: Law, prior: float, heights: tuple[Floats, Floats] | None = None) -> float:
        return shown(_area(Selected(steps, law, heights), prior, m).value)

    def ends(law: Law, prior: float) -> Limits:
        return area(law, prior, lowest), area(law, prior, highest)

    method, reach = "all heights at the ends of their binomial intervals", (shown(0.0), shown(m))
    return bounded(scores, value, area, ends, level, reach=reach, method=method, box=box, free=free)


def _cut_noise(scores: PUScores, tpr: float, prior: float) -> float:
    """Return the standard deviation of the FPR due to the positives, at least half a row of them.

    A partial area has no derivative to speak of if this is as large as its width.
    """
    rows = scores.effective_positive
    share = min(max(tpr, 0.5 / rows), 1.0 - 0.5 / rows)
    return prior / (1.0 - prior) * float(np.sqrt(share * (1.0 - share) / rows))


def _mean_limits(scores: PUScores, value: float, variance: float, level: float) -> Limits:
    rows = scores.effective_positive
    if scores.prior_is_estimated:
        return area_limits(min(value, 1.0), variance, rows, level)
    # Noise may push the value to an end or beyond, where a logit is not informative.
    sd = float(np.sqrt(variance))
    inside = min(max(value, min(sd, 0.5)), 1.0 - min(sd, 0.5))
    low, high = area_limits(inside, variance, rows, level)
    # Unlike that of a share, this noise does not shrink toward the upper end.
    return min(low, value), max(high, value + t_score(level, rows) * sd)


def average_precision(scores: PUScores) -> float:
    r"""Return the average precision, the mean precision at the scores of the positives.

    .. math:: \int \frac{\pi\,\mathrm{TPR}(t)}{\mathrm{PPR}(t)}\,d\mu_+(t),

    a sum over the positives without interpolation. At the score of positive i, let r of the
    :math:`n_P` positives and m of the n marginal rows lie at or above it. Its precision is

    .. math:: \frac{(\pi n - d)\,(r - 1)/(n_P - 1) + e}{m + 1 - d},

    the expected share of positives among these rows. Here d = 1 if i is one of the marginal rows
    (one sample, labeled data, or two samples with one row each at its score), else 0; e = 1 if
    d = 1 or m = 0, else 0. For labeled data this is r / m, and the result matches scikit-learn's.
    Without negatives, leaving i out of its own precision avoids both the bias and the division by
    zero that the plain ratio has at the top. Like other PU estimates, it is not clipped. It is nan
    if there are no positives.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(average_precision(scores), 4)
    0.8333
    """
    return _mean_precision(Ordered(scores), scores.known_prior).value


def _average_precision_curve(scores: PUScores) -> Curve:
    # For given rows it is linear in the prior, so two points determine it.
    one, other = scores.known_prior, (1.0 + scores.known_prior) / 2.0
    low, high = (average_precision(scores.with_prior(prior)) for prior in (one, other))
    slope = (high - low) / (other - one)
    return Curve.of(low - slope * one, slope)


@interval_of(
    average_precision,
    title="Average precision",
    ranks=True,
    by_prior=_average_precision_curve,
)
def average_precision_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the average precision with its interval.

    Uses the delta method and Student's interval, on the logit scale for labeled data and on the log
    scale otherwise, since the noise is then that of a ratio. On the log scale, the standard error
    changes along the interval: a sample in which few positives lie at the top underestimates both
    the value and its noise. If the positives score lower than other rows on average, the interval
    also allows for positives at the top that the sample lacks (`noneg.intervals.with_unseen`). With
    a ``prior_interval``, the ends are the extremes over a grid of nine priors; the estimate
    increases with the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(average_precision_interval(scores))
    0.8333 [0.7341, 0.9005]
    """
    level, steps = check_level(level), Ordered(scores)
    value = _mean_precision(steps, scores.known_prior).value
    if np.isnan(value):
        return undefined(scores, level, "no positive")
    reversed_order = scores.hidden and _area(steps, 0.0).value < RANDOM

    def limits(prior: float, steps: Steps = steps) -> Limits:
        area = _mean_precision(steps, prior)
        if scores.prior_is_estimated or not area.value > 0.0:
            return _mean_limits(scores, area.value, area.variance(steps), level)
        ends = _stable_limits(steps, lambda one: _mean_precision(one, prior), level)
        if reversed_order:
            return with_unseen(area.value, ends, 1.0, scores.effective_positive, level)
        return ends

    if is_selected(scores):
        return _bounded_mean_precision(scores, value, limits, level)
    ends = over_prior_grid(limits, scores, PRIOR_GRID)
    return estimated(scores, value, ends, level, METHOD)


def _stable_limits(steps: Steps, summary: Callable[[Steps], _Summary], level: float) -> Limits:
    r"""Return limits on the log scale with a standard error that changes along the interval.

    The standard error near an end is the one under the distribution of the positives tilted to it,
    with a density proportional to :math:`e^{\pm tg/\sqrt n}` for the standardized influence g of
    a positive. On the scale that makes the standard error constant, the reach to an end is t; if
    the standard error changes exponentially, it is approximately t times the geometric mean of the
    standard errors at both ends of the path.
    """
    one, rows = summary(steps), steps.scores.effective_positive
    t, error = t_score(level, rows), _relative_error(one, steps)
    found = steps.positive_steps()
    knots = np.append(0.0, steps.tpr[found])
    mass = np.diff(knots)
    per_row = influence(one.slopes()[0], steps.tpr, 1.0)[found - 1]
    spread = float(np.sqrt(mass @ per_row**2))
    errors = [error, error]
    if spread > LEAST and error > 0.0:
        steepness = t / np.sqrt(rows) * per_row / spread
        tilted = [Selected(steps, Law(knots, np.exp(tilt))) for tilt in (-steepness, steepness)]
        errors = [_relative_error(summary(near), near) for near in tilted]
    low, high = (t * float(np.sqrt(error * x)) for x in (errors[0], max(errors[1], error)))
    with np.errstate(over="ignore"):
        return one.value * float(np.exp(-low)), one.value * float(np.exp(high))


def _relative_error(summary: _Summary, steps: Steps) -> float:
    """Return the standard error relative to the value; infinite if rounding makes it 0 or less."""
    value, variance = summary.value, summary.variance(steps, unseen=False)
    return float(np.sqrt(variance)) / value if value > 0.0 else np.inf


def _bounded_mean_precision(
    scores: PUScores, value: float, limits: Callable[[float, Steps], Limits], level: float
) -> Estimate:
    """Return the average precision with an outer bound on its range.

    Without ties, it increases with the TPR at every threshold, except for the positive at which the
    density changes. That positive is left out of its own precision, so the bound is sharp up to a
    fraction of one row. Tied positives are all counted at the precision just below them, which may
    rise if some of them are removed; the bound is widened by the largest such change.
    """
    steps, box = Ordered(scores), Box.of(scores)
    found = steps.positive_steps()
    tied, rows = steps.tied_squares()[found - 1], steps.heights(found)[1]
    own = np.where(steps.shares_row(found), 0.0, steps.own_mass(found)[1])

    def point(law: Law, prior: float) -> Limits:
        one = Selected(steps, law)
        least, most = box.ends(prior)
        square = law.slope(steps.tpr[found]) ** 2
        room = prior * tied / 2.0 / (rows + own)
        middle = _mean_precision(one, prior).value
        low, high = room @ (square - least**2), room @ (most**2 - square)
        return middle - float(low), middle + float(high)

    def ends(law: Law, prior: float) -> Limits:
        return limits(prior, Selected(steps, law))

    return bounded(
        scores, value, point, ends, level, reach=(0.0, 1.0), method=METHOD, box=box, grid=LIMIT_GRID
    )


def undefined(scores: PUScores, level: float, why: str) -> Estimate:
    """Return an undefined share, whose interval is its whole range."""
    return estimated(scores, float("nan"), (0.0, 1.0), level, f"undefined, {why}")


def check_max_fpr(max_fpr: object) -> float:
    """Return the largest false-positive rate of a partial area after checking it."""
    return check_rate(max_fpr, "max_fpr", "the largest false-positive rate, in (0, 1]")


def _mcclish(area: float, m: float) -> float:
    return 0.5 * (1.0 + (area - m * m / 2.0) / (m - m * m / 2.0))


@dataclass(frozen=True, eq=False)
class _Summary:
    """A number computed from the heights of the curves, and its derivatives."""

    value: float
    slopes: Callable[[], tuple[Floats, Floats, float]]
    # The effect of one more marginal row at the very top.
    unseen: float = 0.0
    # The TPR where a partial area ends.
    cut: float = 1.0

    def variance(self, steps: Steps, *, unseen: bool = True) -> float:
        return steps.variance(*self.slopes(), unseen=unseen) + self.unseen**2


def _area(steps: Steps, prior: float, m: float = 1.0) -> _Summary:
    """Return the area under the ROC curve up to the FPR m, which is first reached in step k."""
    tpr, fpr = steps.tpr, steps.fpr(prior)
    if m < 1.0 and steps.scores.hidden:
        # Noise makes the estimate non-monotone, so it would first reach m too early.
        fpr = np.asarray(isotonic_regression(fpr).x)
    k = max(int(np.argmax(fpr >= m)), 1) if m < 1.0 else tpr.size - 1
    t, f = tpr[: k + 1], fpr[: k + 1]
    whole = float(np.diff(f[:-1]) @ (t[:-2] + t[1:-1])) / 2.0
    # The last step counts only up to m, with the height interpolated there.
    width, step = m - f[-2], f[-1] - f[-2]
    place = float(width / step) if m < 1.0 else 1.0
    rise = float(t[-1] - t[-2])
    value = whole + float(width * (t[-2] + place * rise / 2.0))

    def slopes() -> tuple[Floats, Floats, float]:
        by_t, by_f = np.zeros_like(tpr), np.zeros_like(tpr)
        by_t[: k - 1] += np.diff(f[:-1]) / 2.0
        by_t[1:k] += np.diff(f[:-1]) / 2.0
        by_f[: k - 1] -= (t[:-2] + t[1:-1]) / 2.0
        by_f[1:k] += (t[:-2] + t[1:-1]) / 2.0
        by_t[k - 1] += width * (1.0 - place / 2.0)
        by_t[k] += width * place / 2.0
        by_f[k - 1] -= t[-2] + place * rise - place**2 * rise / 2.0
        by_f[k] -= place**2 * rise / 2.0
        by_prior = float(by_f @ (fpr - tpr)) / (1.0 - prior)
        by_t -= by_f * (prior / (1.0 - prior))
        by_f /= 1.0 - prior
        return by_t, by_f, by_prior

    return _Summary(value, slopes, cut=float(t[-2] + place * rise))


def _mean_precision(steps: Steps, prior: float) -> _Summary:
    """Return the average precision in terms of the shares of the two distributions."""
    found = steps.positive_steps()
    t, q = steps.heights(found)
    mass = t - steps.heights(found - 1)[0]
    own_t, own_q = steps.own_mass(found)
    inside, rest = steps.shares_row(found), steps.mass_of_others(found)
    others = np.divide(t - own_t, rest, out=np.zeros_like(t), where=rest > 0.0)
    room = q + np.where(inside, 0.0, own_q)
    itself = np.where(inside | (q == 0.0), own_q, 0.0)
    precision = ((prior - np.where(inside, own_q, 0.0)) * others + itself) / room
    value = float(mass @ precision) if mass.size else float("nan")

    def slopes() -> tuple[Floats, Floats, float]:
        by_t, by_q = np.zeros((2, steps.thresholds.size))
        # The mass at a score is the difference of two heights.
        by_t[found] += precision + prior * mass / room
        by_t[found - 1] -= precision
        # The effect of losing one marginal row, not a derivative, since only a few may be left.
        by_q[found] -= np.divide(mass * precision, q, out=np.zeros_like(q), where=q > 0.0)
        return by_t, by_q, float((mass / room) @ t)

    # Near the top there are too few marginal rows for their noise to be visible in the data.
    top = float((mass * precision) @ (own_q / (q + own_q))) if steps.scores.hidden else 0.0
    return _Summary(value, slopes, top)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RocCurve(Table):
    """Points of a ROC curve, in decreasing order of threshold.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    fpr, tpr : ndarray
        Estimated rates. Without negatives, noise may move the FPR outside [0, 1] or make it
        non-monotone.
    """

    thresholds: Floats
    fpr: Floats
    tpr: Floats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrCurve(Table):
    """Points of a precision-recall curve, in decreasing order of threshold.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    recall, precision : ndarray
        At infinity, recall is 0 and precision is 1 by convention. Without negatives, noise may move
        the precision above 1; it is nan above the largest marginal score.
    """

    thresholds: Floats
    recall: Floats
    precision: Floats


def roc(scores: PUScores, *, drop_intermediate: bool = False) -> RocCurve:
    r"""Return the ROC curve.

    .. math:: \mathrm{TPR}(t) = \mu_+(s \ge t), \qquad
        \mathrm{FPR}(t) = \frac{\mu(s \ge t) - \pi\,\mathrm{TPR}(t)}{1 - \pi}

    Parameters
    ----------
    scores : PUScores
    drop_intermediate : bool
        Whether to drop points on the straight line between their neighbors, as scikit-learn does by
        default. The area does not change.

    Examples
    --------
    >>> from noneg import PUScores
    >>> curve = roc(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    >>> print(curve.fpr, curve.tpr)
    [0.  0.  0.5 0.5 1. ] [0.  0.5 0.5 1.  1. ]
    """
    steps = Ordered(scores)
    points = steps.thresholds, steps.fpr(scores.known_prior), steps.tpr
    if drop_intermediate:
        corner = steps.corners()
        points = points[0][corner], points[1][corner], points[2][corner]
    return RocCurve(thresholds=points[0], fpr=points[1], tpr=points[2])


def pr(scores: PUScores) -> PrCurve:
    r"""Return the precision-recall curve.

    .. math:: \mathrm{recall}(t) = \mu_+(s \ge t), \qquad
        \mathrm{precision}(t) = \pi\,\mu_+(s \ge t) / \mu(s \ge t)

    Examples
    --------
    >>> from noneg import PUScores
    >>> curve = pr(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    >>> print(curve.recall, curve.precision.round(3))
    [0.  0.5 0.5 1.  1. ] [1.    1.    0.5   0.667 0.5  ]
    """
    steps = Ordered(scores)
    precision = PRECISION(steps.tpr, steps.ppr, scores.known_prior)
    precision[0] = 1.0
    return PrCurve(thresholds=steps.thresholds, recall=steps.tpr, precision=precision)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectedCurve(RocCurve):
    """ROC and PR curves for one distribution of the positives, by decreasing threshold."""

    precision: Floats

    @property
    def recall(self) -> Floats:
        """The recall, which equals the TPR."""
        return self.tpr

    def envelope(self) -> tuple[Floats, Floats]:
        """Return the ROC curve."""
        return self.fpr, self.tpr


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectedCurves:
    """The highest and lowest curves that selection allows, at the prior of the scores.

    Attributes
    ----------
    upper, lower : SelectedCurve
        At each threshold, no allowed distribution of the positives has a larger (upper) or smaller
        (lower) TPR and precision.
    """

    upper: SelectedCurve
    lower: SelectedCurve


def selected_curves(scores: PUScores) -> SelectedCurves:
    """Return bounds on the ROC and precision-recall curves under selection.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.2, setting="two-sample")
    >>> curves = selected_curves(scores.with_selection(2))
    >>> print(curves.lower.tpr, curves.upper.tpr)
    [0.   0.25 0.25 1.   1.   1.   1.  ] [0.   0.75 0.75 1.   1.   1.   1.  ]
    """
    steps, box, prior = Ordered(scores), Box.of(scores), scores.known_prior
    views = (Selected(steps, box.law(prior, top=top)) for top in (True, False))
    upper, lower = (
        SelectedCurve(
            thresholds=steps.thresholds,
            fpr=np.clip(view.fpr(prior), 0.0, 1.0),
            tpr=view.tpr,
            # Undefined above the largest marginal score, where it counts as 1.
            precision=np.fmin(PRECISION(view.tpr, view.ppr, prior), 1.0),
        )
        for view in views
    )
    return SelectedCurves(upper=upper, lower=lower)
