r"""How good is the ranking: areas under the curves, the top of the list, and the curves themselves.

AUROC
    With PAUC, the probability that a labelled positive beats an unlabeled row (ties half),

    .. math:: \mathrm{AUC} - \tfrac12 = \frac{1 - \lambda}{1 - \pi}\,(\mathrm{PAUC} - \tfrac12),

    where :math:`\lambda` is the labelled share of the marginal sample: 0 in two samples, which is
    :math:`(\mathrm{PAUC} - \pi/2)/(1-\pi)`; :math:`n_P/n` in one sample, which is the same formula
    with the prior :math:`\bar\pi` of the unlabeled rows, and the one that compares the positives
    with all rows; and :math:`\pi` for labelled data, which is the ordinary AUC.
Range
    With few PU rows an estimate may leave its range. Functions that return a number return it as
    it is; those that return an `Estimate` keep it in the range, with the number in `Estimate.raw`.
Variance of areas
    By the influence of each row on the area (DeLong et al. 1988); rows that tell of both laws are
    counted once, and the prior of labelled data varies with them.
Top of the list
    Let q be the score at which a share k of the marginal sample is reached from the top. Positives
    among the top k are counted at q; rows that tie there enter in proportion, which is the mean
    over all orders of the ties. The noise of q itself is part of the variance: to first order the
    share of positives found moves by :math:`\delta\mathrm{TPR} - r\,\delta\mathrm{PPR}`, with r the
    slope :math:`d\mathrm{TPR}/d\mathrm{PPR}` at q, taken over a window around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression

from noneg import kernels
from noneg.bins import order_statistics
from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import (
    LawMeans,
    area_limits,
    over_prior_grid,
    prior_words,
    share_limits,
    t_score,
    tail_means,
)
from noneg.laws import Ordered
from noneg.registry import Metric, in_range, register
from noneg.results import Estimate, Table
from noneg.rules import PRECISION, Curve
from noneg.selection import (
    LIMIT_GRID,
    Box,
    Cells,
    Selected,
    assembled,
    bounded,
    is_selected,
    over_box,
    running_wins,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.intervals import Limits
    from noneg.scores import PUScores
    from noneg.selection import Law

    Steps = Ordered | Selected

    Floats = NDArray[np.float64]

# Priors at which curves are integrated when the prior is only known to lie in an interval.
PRIOR_GRID = 9


def auroc(scores: PUScores) -> float:
    r"""Return the area under the ROC curve.

    The probability that a positive has a higher score than a negative, ties counted half; from
    positives and unlabeled rows by
    :math:`\mathrm{AUC} = (\mathrm{PAUC} - \pi/2)/(1 - \pi)` (two samples) and as in
    `noneg.performance.ranking` otherwise. Not clipped; nan when a class is empty.

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
    win = kernels.doubled_wins(u, p) / (2.0 * u.size * p.size)
    share = p.size / (u.size + p.size) if scores.pooled else 0.0
    return 0.5 + (win - 0.5) * _stretch(scores.known_prior, share, scores)


@in_range
def auroc_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the area under the ROC curve with its interval.

    DeLong's variance; Student's interval of the logit of PAUC, which stays in (0, 1). With a
    ``prior_interval`` the ends are exact: they are monotone in the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(auroc_interval(scores))
    0.7500 [0.6196, 0.8468]
    """
    level, value = check_level(level), auroc(scores)
    if np.isnan(value):
        return _unknown(scores, level, "no pair of a positive and another row")
    if is_selected(scores):
        return area_bounds(scores, value, level)
    pair, share = pair_limits(scores, value, level), scores.labelled_share
    ends = [
        0.5 + (end - 0.5) * _stretch(prior, share, scores)
        for prior in scores.prior_set
        for end in pair
    ]
    words = "DeLong variance, logit interval" + prior_words(scores)
    return Estimate(value=value, low=min(ends), high=max(ends), level=level, method=words)


def area_bounds(
    scores: PUScores, value: float, level: float, *, box: Box | None = None, proxy: bool = False
) -> Estimate:
    """Return an area with its range over priors and laws of the positives.

    The positives' mean place among all rows is linear in their law; running sums of it over the
    labelled positives, made once, give the area at any selection. The proxy is that mean itself.
    """
    tpr, wins = running_wins(scores)
    cells, rows = Cells(scores), min(scores.effective_positive, scores.effective_marginal)

    def area(place: float, prior: float) -> float:
        return place if proxy else (place - prior / 2.0) / (1.0 - prior)

    def point(law: Law, prior: float) -> float:
        return area(law.mean(tpr, wins), prior)

    def ends(law: Law, prior: float) -> Limits:
        # At prior zero every row is a negative, and the area is the mean place.
        steps = Selected(cells, law)
        pair = area_limits(law.mean(tpr, wins), _area(steps, 0.0).variance(steps), rows, level)
        return area(pair[0], prior), area(pair[1], prior)

    method = "variance of the influence, logit interval"
    return bounded(scores, value, point, ends, level, reach=(0.0, 1.0), method=method, box=box)


def pair_limits(scores: PUScores, area: float, level: float) -> Limits:
    """Return the interval of PAUC that an area under the ROC curve comes with."""
    steps, share = Ordered(scores), scores.labelled_share
    stretch = _stretch(scores.known_prior, share, scores)
    variance = _area(steps, scores.known_prior).variance(steps)
    rows = min(scores.effective_positive, scores.effective_marginal * (1.0 - share))
    return area_limits(0.5 + (area - 0.5) / stretch, variance / stretch**2, rows, level)


def _stretch(prior: float, share: float, scores: PUScores) -> float:
    """Return the factor between AUC - 1/2 and PAUC - 1/2."""
    return (1.0 - share) / (1.0 - prior) if scores.hidden else 1.0


def partial_auc(scores: PUScores, *, max_fpr: float = 0.1, standardised: bool = False) -> float:
    r"""Return the area under the ROC curve up to a false-positive rate.

    Parameters
    ----------
    scores : PUScores
    max_fpr : float
        In (0, 1]. The curve is cut, by linear interpolation, where it first reaches this rate;
        from PU rows, the rising rates that are closest to the estimated ones.
    standardised : bool
        Return McClish's :math:`\tfrac12\bigl(1 + \frac{A - m^2/2}{m - m^2/2}\bigr)` for the rate m
        instead of the area A: 1/2 for random and 1 for perfect scores, as scikit-learn does.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> (
    ...     partial_auc(scores, max_fpr=0.5),
    ...     round(partial_auc(scores, max_fpr=0.5, standardised=True), 4),
    ... )
    (0.25, 0.6667)
    """
    m = check_max_fpr(max_fpr)
    value = _area(Ordered(scores), scores.known_prior, m).value
    return float(_mcclish(value, m)) if standardised else value


@in_range
def partial_auc_interval(
    scores: PUScores, *, level: float = 0.95, max_fpr: float = 0.1, standardised: bool = False
) -> Estimate:
    """Return the partial area with its interval; see `partial_auc` and `auroc_interval`.

    Student's interval of the logit of the mean height, which stays in its range.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(partial_auc_interval(scores, max_fpr=0.5))
    0.2500 [0.1717, 0.3283]
    """
    level, m, steps = check_level(level), check_max_fpr(max_fpr), Ordered(scores)
    value = partial_auc(scores, max_fpr=m, standardised=standardised)
    if np.isnan(value):
        return _unknown(scores, level, "an empty class")

    def shown(area: float) -> float:
        return _mcclish(area, m) if standardised else area

    def limits(prior: float, steps: Steps = steps) -> Limits:
        area = _area(steps, prior, m)
        low, high = _mean_limits(scores, area.value / m, area.variance(steps) / m**2, level)
        return shown(low * m), shown(high * m)

    if is_selected(scores):
        return bounded(
            scores,
            value,
            lambda law, prior: shown(_area(Selected(steps, law), prior, m).value),
            lambda law, prior: limits(prior, Selected(steps, law)),
            level,
            reach=(shown(0.0), shown(m)),
            method="delta method",
        )

    low, high = over_prior_grid(limits, scores, PRIOR_GRID)
    words = "delta method" + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def _mean_limits(scores: PUScores, value: float, variance: float, level: float) -> Limits:
    rows = scores.effective_positive
    if scores.prior_is_estimated:
        return area_limits(min(value, 1.0), variance, rows, level)
    # Noise may put the value at an end or beyond, where a logit says nothing.
    sd = min(float(np.sqrt(variance)), 0.5)
    low, high = area_limits(min(max(value, sd), 1.0 - sd), variance, rows, level)
    return min(low, value), max(high, value)


def average_precision(scores: PUScores) -> float:
    r"""Return the average precision, the mean precision at the positives' own scores.

    .. math:: \int \frac{\pi\,\mathrm{TPR}(t)}{\mathrm{PPR}(t)}\,d\mu_+(t),

    a sum over the positives without interpolation. At the score of positive i, let r of the
    :math:`n_P` positives and m of the n marginal rows lie at or above it. Its precision is

    .. math:: \frac{(\pi n - d)\,(r - 1)/(n_P - 1) + e}{m + 1 - d},

    the positives expected among the rows there. d = 1 if i is one of the marginal rows (one sample,
    labelled data, or two samples with one row each at its score), else 0; e = 1 if d = 1 or m = 0,
    else 0. For labelled data it is r / m, and the result scikit-learn's. Without negatives, leaving
    i out of its own precision avoids the bias, and the division by zero, that the plain ratio has
    at the top. Like other PU numbers it is not clipped. nan without positives.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(average_precision(scores), 4)
    0.8333
    """
    return _mean_precision(Ordered(scores), scores.known_prior).value


@in_range
def average_precision_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the average precision with its interval.

    Delta method; Student's interval of the logit for labelled data and of the logarithm otherwise,
    where the noise is that of a ratio. With a ``prior_interval`` the ends are
    the extremes over a grid of nine priors; the estimate rises with the prior.

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
        return _unknown(scores, level, "no positive")

    def limits(prior: float, steps: Steps = steps) -> Limits:
        area = _mean_precision(steps, prior)
        if scores.prior_is_estimated or not area.value > 0.0:
            return _mean_limits(scores, area.value, area.variance(steps), level)
        t = t_score(level, scores.effective_positive)
        factor = float(np.exp(t * np.sqrt(area.variance(steps)) / area.value))
        return area.value / factor, area.value * factor

    if is_selected(scores):
        return _bounded_mean_precision(scores, value, limits, level)
    low, high = over_prior_grid(limits, scores, PRIOR_GRID)
    words = "delta method" + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def _bounded_mean_precision(
    scores: PUScores, value: float, limits: Callable[[float, Steps], Limits], level: float
) -> Estimate:
    """Return the average precision with an outer bound of its range.

    Without ties it rises with all TPR at once, and the bound is sharp. Positives that tie are
    counted at the precision below all of them, which may rise when some of them go; as much as
    that can change is added.
    """
    steps, box = Ordered(scores), Box.of(scores)
    tied = steps.tied_squares()

    def ends(law: Law, prior: float) -> Limits:
        one = Selected(steps, law)
        least, most = box.ends(prior)
        square = law.slope(steps.tpr[1:]) ** 2
        room = np.divide(prior * tied / 2.0, one.ppr[1:], out=np.zeros_like(tied), where=tied > 0.0)
        middle = _mean_precision(one, prior).value
        low, high = room @ (square - least**2), room @ (most**2 - square)
        return middle - float(low), middle + float(high)

    identified = over_box(scores, ends, box=box, grid=LIMIT_GRID)
    low, high = over_box(
        scores,
        lambda law, prior: limits(prior, Selected(steps, law)),
        box=box.without_caps(),
        grid=LIMIT_GRID,
    )
    return assembled(
        scores, value, identified, (low, high), level, reach=(0.0, 1.0), method="delta method"
    )


def _unknown(scores: PUScores, level: float, why: str) -> Estimate:
    words = f"undefined, {why}{prior_words(scores)}"
    return Estimate(value=float("nan"), low=0.0, high=1.0, level=level, method=words)


def check_max_fpr(max_fpr: object) -> float:
    """Return the largest false-positive rate of a partial area."""
    rule = "the largest false-positive rate, in (0, 1]"
    number = check_number(max_fpr, "max_fpr", rule)
    if not 0.0 < number <= 1.0:
        raise InputError("max_fpr", f"must be {rule}", value=max_fpr)
    return number


def _mcclish(area: float, m: float) -> float:
    return 0.5 * (1.0 + (area - m * m / 2.0) / (m - m * m / 2.0))


@dataclass(frozen=True, eq=False)
class _Summary:
    """A number computed from the heights of the curves, and its derivatives."""

    value: float
    slopes: Callable[[], tuple[Floats, Floats, float]]
    # What one more marginal row at the very top would do.
    unseen: float = 0.0

    def variance(self, steps: Steps) -> float:
        return steps.variance(*self.slopes()) + self.unseen**2


def _area(steps: Steps, prior: float, m: float = 1.0) -> _Summary:
    """Return the area under the ROC curve up to the FPR m, which is first reached in step k."""
    tpr, fpr = steps.tpr, steps.fpr(prior)
    if m < 1.0 and steps.scores.hidden:
        # Noise makes the estimate step back; where it first reaches m would come too early.
        fpr = np.asarray(isotonic_regression(fpr).x)
    k = max(int(np.argmax(fpr >= m)), 1) if m < 1.0 else tpr.size - 1
    t, f = tpr[: k + 1], fpr[: k + 1]
    whole = float(np.diff(f[:-1]) @ (t[:-2] + t[1:-1])) / 2.0
    # The last step, from f0 to f1, counts up to m, at the height interpolated there.
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

    return _Summary(value, slopes)


def _mean_precision(steps: Steps, prior: float) -> _Summary:
    """Return the average precision (see there), in shares of the two laws."""
    found = steps.positive_steps()
    t, q = steps.heights(found)
    mass = t - steps.heights(found - 1)[0]
    own_t, own_q = steps.own_mass(found)
    inside = steps.shares_row(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(own_t < 1.0, (t - own_t) / (1.0 - own_t), 0.0)
    room = q + np.where(inside, 0.0, own_q)
    itself = np.where(inside | (q == 0.0), own_q, 0.0)
    precision = ((prior - np.where(inside, own_q, 0.0)) * others + itself) / room
    value = float(mass @ precision) if mass.size else float("nan")

    def slopes() -> tuple[Floats, Floats, float]:
        by_t, by_q = np.zeros((2, steps.thresholds.size))
        # The mass at a score is the difference of two heights.
        by_t[found] += precision + prior * mass / room
        by_t[found - 1] -= precision
        # What the loss of one marginal row does, rather than a derivative: few may be left.
        by_q[found] -= np.divide(mass * precision, q, out=np.zeros_like(q), where=q > 0.0)
        return by_t, by_q, float((mass / room) @ t)

    # Above the highest marginal rows their number is small, and its noise does not show in them.
    top = float((mass * precision) @ (own_q / (q + own_q))) if steps.scores.hidden else 0.0
    return _Summary(value, slopes, top)


def _auroc_curve(scores: PUScores) -> Curve:
    # AUC - 1/2 is a constant divided by 1 - prior, in both settings.
    constant = (auroc(scores) - 0.5) * (1.0 - scores.known_prior)
    return Curve.of(0.5 + constant, -0.5, 1.0, -1.0)


def _average_precision_curve(scores: PUScores) -> Curve:
    # For given rows it is a straight line, which two points determine.
    one, other = scores.known_prior, (1.0 + scores.known_prior) / 2.0
    low, high = (average_precision(scores.with_prior(prior)) for prior in (one, other))
    slope = (high - low) / (other - one)
    return Curve.of(low - slope * one, slope)


def _partial_bounds(*, max_fpr: float = 0.1, standardised: bool = False) -> Limits:
    ends = 0.0, check_max_fpr(max_fpr)
    return (_mcclish(0.0, ends[1]), 1.0) if standardised else ends


register(
    Metric(
        name="auroc",
        title="Area under the ROC curve",
        function=auroc,
        interval=auroc_interval,
        citation="DeLong et al. (1988); PU form by Charoenphakdee et al. (2019)",
        ranks=True,
        by_prior=_auroc_curve,
    )
)

register(
    Metric(
        name="partial_auc",
        title="Partial area, FPR up to 0.1",
        function=partial_auc,
        interval=partial_auc_interval,
        citation="McClish (1989), Analyzing a portion of the ROC curve",
        range=(0.0, 0.1),
        bounds=_partial_bounds,
    )
)

register(
    Metric(
        name="average_precision",
        title="Average precision",
        function=average_precision,
        interval=average_precision_interval,
        ranks=True,
        by_prior=_average_precision_curve,
    )
)


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
    return scores.known_prior * _found(scores, share) / share


@in_range
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
    value, prior = precision_at(scores, k=k), scores.known_prior
    top = _Top.look(scores, share)
    if is_selected(scores):
        return _bounded_top(scores, value, share, level, per_row=True)
    if scores.prior_is_estimated:
        variance = top.variance(prior / share, value / prior if prior > 0.0 else 0.0)
        low, high = share_limits(
            min(value, 1.0), variance, share * scores.effective_marginal, level
        )
    else:
        least, most = scores.prior_set
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
    return _found(scores, share) / share if scores.n_positive > 0.0 else float("nan")


@in_range
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
    if is_selected(scores):
        return _bounded_top(scores, lift_at(scores, k=k), share, level, per_row=False)
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
        raise InputError("k", f"must be {rule} ({scores.n_marginal:,.0f})", value=k)
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


def top_parts(scores: PUScores, share: float, level: float) -> dict[str, Any]:
    """Return TPR above and from the border of the top on, where it lies between, and limits."""
    means = _tails(scores, share, share)
    top = _Top.between(means, share)
    limits = _found_limits(scores, _Top.look(scores, share), share, level)
    tpr = means.positive
    return {"tpr": tpr, "place": top.place, "found": top.found, "limits": limits, "share": share}


def _bounded_top(
    scores: PUScores, value: float, share: float, level: float, *, per_row: bool
) -> Estimate:
    """Return precision (per row) or lift at the top with its range over priors and laws."""
    top = top_parts(scores, share, level)

    def scale(prior: float) -> float:
        return prior / share if per_row else 1.0 / share

    def point(law: Law, prior: float) -> float:
        # Rows that tie at the border enter in proportion under every law.
        above, from_there = law(top["tpr"])
        return float(above + top["place"] * (from_there - above)) * scale(prior)

    def ends(law: Law, prior: float) -> Limits:
        moved = law(np.array(top["limits"])) - law(min(top["found"], 1.0))
        one = point(law, prior)
        return one + float(moved[0]) * scale(prior), one + float(moved[1]) * scale(prior)

    reach = (0.0, 1.0 if per_row else np.inf)
    return bounded(scores, value, point, ends, level, reach=reach, method=METHOD)


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
        tied = _tails(scores, share, share)
        # A score that many rows have is a window of its own.
        if tied.marginal[1] - tied.marginal[0] > reach:
            return cls.between(tied, share)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class RocCurve(Table):
    """Points of a ROC curve, thresholds falling.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    fpr, tpr : ndarray
        As estimated: without negatives noise may take the FPR out of [0, 1] or make it step back.
    """

    thresholds: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]

    _names = ("thresholds", "fpr", "tpr")


@dataclass(frozen=True, kw_only=True, eq=False)
class PrCurve(Table):
    """Points of a precision-recall curve, thresholds falling.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores; rows with ``s >= threshold`` are predicted positive.
    recall, precision : ndarray
        At infinity 0 and, by convention, 1. Without negatives noise may take the precision above
        1; it is nan above the largest marginal score.
    """

    thresholds: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]

    _names = ("thresholds", "recall", "precision")


def roc(scores: PUScores, *, drop_intermediate: bool = False) -> RocCurve:
    r"""Return the ROC curve.

    .. math:: \mathrm{TPR}(t) = \mu_+(s \ge t), \qquad
        \mathrm{FPR}(t) = \frac{\mu(s \ge t) - \pi\,\mathrm{TPR}(t)}{1 - \pi}

    Parameters
    ----------
    scores : PUScores
    drop_intermediate : bool
        Leave out points on the straight line between their neighbours, as scikit-learn does by
        default. The area stays the same.

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
