r"""Calibration and performance by group, from positive and unlabeled data.

Groups are defined by the values of columns. The labels determine how positives are distributed over
groups: if labeled positives are a random sample of all positives, the prior of a group is

.. math:: \pi_g = \pi\,\nu(g) / \mu(g),

with the share :math:`\nu(g)` of labeled positives and the share :math:`\mu(g)` of rows in the
group. The overall prior is not the prior of a group.

Every metric of a group is a function of sums over *all* rows: the mass :math:`x_b = \pi\,\nu(b, g)`
of positives, the mass :math:`m_b = \mu(b, g)` of rows and the sum of scores in each bucket b of the
group. The noise of its prior is then part of the noise of these sums and needs no separate term, in
any setting and with any weights. The variance is `Binned.variance` of the derivatives with respect
to the sums, where the rows of other groups form one more bucket with derivative zero.

The intervals in a column hold for all groups at once (Sidak's correction, valid for two-sided
intervals of correlated normal estimates). With few positives, estimates are skewed, which matters
in the far tails that simultaneous intervals need. Ratios of counts therefore use the interval of a
Poisson count with the same relative variance; areas and rates use the wider of Student's interval
and the interval on the logit scale.

The test of equal calibration across groups compares :math:`\nu(g)` with the share of the expected
positives, :math:`E[s; g] / E[s]`. It needs no prior: every group is calibrated up to the same
factor if and only if the two are equal. Positives are redrawn under this hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaincinv

from noneg.bins import binned_sums
from noneg.calibration.errors import absolute_terms
from noneg.calibration.interval import AbsoluteSum, error_limits
from noneg.calibration.testing import null_residuals
from noneg.checks import check_level
from noneg.errors import InputError, did_you_mean
from noneg.intervals import ROUNDING, area_limits, effective_size, share_limits, t_score, z_score
from noneg.knowledge import Knowledge
from noneg.metrics import METRICS, RECOMMENDED
from noneg.registry import registered_rules
from noneg.results import SHOWN_ROWS, Estimate, Table, aligned, plain_fields
from noneg.shares import clopper_pearson
from noneg.tables.groups import Group, kish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from noneg.arrays import Flags, Floats
    from noneg.bins import Binned
    from noneg.intervals import Limits
    from noneg.rules import Rule
    from noneg.scores import PUScores
    from noneg.tables.groups import GroupSums, Slopes


# Titles of the columns in every table.
ALWAYS = {"prior": "Prior", "bias": "Prior minus mean score"}
BY_DEFAULT = (RECOMMENDED, "auroc", "precision", "recall")
# Groups with fewer rows or labeled positives are pooled.
FEWEST_ROWS, FEWEST_POSITIVES = 50, 10
# Number of priors tried if the prior is known only to lie in a set.
PRIORS = 21
# Priors of groups stay inside (0, 1).
INSIDE = 1e-6
# Number of redraws in the test, and the largest number of values drawn.
REDRAWS, NUMBERS = 999, 4_000_000
METHOD = "delta method, Sidak over {} groups"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupTable(Table):
    """Metrics of each group; the intervals in a column hold for all groups at once.

    Attributes
    ----------
    by : tuple of str
        Columns whose values define the groups.
    group : tuple of str
    rows, positives : ndarray
        Number of rows in the group, and number of labeled positives among them.
    metrics : dict of str to Estimate arrays
        Value, low and high of "prior", "bias" (the prior minus the mean score) and of each metric.
    pooled : int
        Number of small groups that are pooled in the last row.
    level : float
        Probability that all intervals in a column hold.
    p_value : float or None
        P-value for the hypothesis that all groups are calibrated up to the same factor; None for a
        single group, and if labeling may be selective.
    worst : str
        The group with the strongest evidence against it.
    worst_p_value : float or None
        P-value of the same test, based on the largest deviation of a single group.
    """

    by: tuple[str, ...]
    group: tuple[str, ...]
    rows: Floats
    positives: Floats
    metrics: dict[str, Floats]
    pooled: int
    level: float
    p_value: float | None
    worst: str
    worst_p_value: float | None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, such as ``auroc``, ``auroc_low`` and ``auroc_high``."""
        table = {"group": np.array(self.group), "rows": self.rows, "positives": self.positives}
        for name, (value, low, high) in self.metrics.items():
            table |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return table

    def estimate(self, group: str, metric: str) -> Estimate:
        """Return one metric of a group with its interval."""
        for argument, name, known in (
            ("group", group, self.group),
            ("metric", metric, tuple(self.metrics)),
        ):
            if name not in known:
                close = did_you_mean(name, known).lstrip()
                raise InputError(argument, "must be in the table", value=name, remedy=close)
        value, low, high = self.metrics[metric][:, self.group.index(group)].tolist()
        method = METHOD.format(len(self.group))
        return Estimate(value=value, low=low, high=high, level=self.level, method=method)

    def __repr__(self) -> str:
        shown = [
            (name, str(self.estimate(name, "prior")), str(self.estimate(name, "bias")))
            for name in self.group[:SHOWN_ROWS]
        ]
        more = [f"... {len(self.group):,} groups in all"] * (len(self.group) > SHOWN_ROWS)
        return "\n".join([aligned([(", ".join(self.by), *ALWAYS.values()), *shown]), *more])

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        facts = plain_fields(self, "by", "level", "pooled", "p_value", "worst", "worst_p_value")
        return {**facts, "table": super().to_dict()}


def by_group(
    scores: PUScores,
    groups: GroupSums,
    *,
    metrics: Iterable[str] = BY_DEFAULT,
    threshold: float = 0.5,
    level: float = 0.95,
    pool: bool = True,
    seed: int = 0,
) -> GroupTable:
    """Measure each group, with intervals that hold for all groups at once.

    Parameters
    ----------
    scores : PUScores
        All rows, with the overall prior or its range.
    groups : GroupSums
        The same rows by group; `noneg.evaluate` builds them from columns.
    metrics : iterable of str
        The calibration error, "auroc", and metrics of the confusion matrix.
    threshold : float
        Threshold for metrics that need one; it must be one of the cuts used for the sums.
    level : float
        Probability that all intervals in a column hold.
    pool : bool
        Whether small groups are pooled.
    seed : int
        Seed of the redraws in the test.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> from noneg.tables.groups import group_rows
    >>> score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    >>> region = np.where(np.arange(4000) % 4 == 0, "north", "south")
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels(label, score)
    >>> table = by_group(scores, group_rows(region, score, label == 1))
    >>> table.group, table.pooled
    (('north', 'south'), 0)
    """
    level = check_level(level)
    chosen = list(dict.fromkeys(metrics))
    measures = {name: _measure(name, threshold) for name in (*ALWAYS, *chosen)}
    small = _small(scores, groups) & pool
    pooled = groups.pooled(small, f"other ({int(small.sum())} groups)")
    each = level ** (1.0 / pooled.n_groups)
    found = {name: np.empty((3, pooled.n_groups)) for name in measures}
    # The rows of all groups, which determine the noise of shares.
    total = pooled.of_laws(scores, pooled.table.sum(axis=(0, 1)))
    for k in range(pooled.n_groups):
        group = Group(scores, pooled.ends, pooled.of_laws(scores, pooled.table[k]), total)
        for name, measure in measures.items():
            found[name][:, k] = measure(group, each)
    p_value, gaps, worst_p = _equal(scores, pooled, seed)
    # Two groups always deviate equally; then the bias decides.
    largest = gaps >= gaps.max() * (1.0 - ROUNDING)
    worst = int(np.argmax(np.where(largest, evidence(found["bias"]), -1.0)))
    return GroupTable(
        by=groups.by,
        group=tuple(pooled.names),
        rows=pooled.rows.sum(axis=1) if scores.pooled else pooled.rows[:, 0],
        positives=pooled.rows[:, 1],
        metrics=found,
        pooled=int(small.sum()),
        level=level,
        p_value=p_value,
        worst=pooled.names[worst],
        worst_p_value=worst_p,
    )


def evidence(bias: Floats) -> Floats:
    """Return the bias of each group relative to the width of its interval."""
    value, low, high = bias
    ratio: Floats = np.abs(value) / np.maximum(high - low, np.finfo(np.float64).tiny)
    return ratio


def members(table: GroupTable, names: NDArray[np.str_]) -> dict[str, Flags]:
    """Return the rows of each group in a table, with small groups pooled."""
    found = {name: names == name for name in table.group}
    if table.pooled:
        found[table.group[-1]] = ~np.isin(names, table.group[:-1])
    return found


def own_knowledge(scores: PUScores, table: GroupTable) -> dict[str, Knowledge]:
    """Return the knowledge about each group: its prior with its interval, and its selection factor.

    Selection affects both the distribution of positives over groups and their scores within a
    group, so the factor counts twice there.
    """
    found = {}
    for group, (value, low, high) in zip(table.group, table.metrics["prior"].T, strict=True):
        ends = np.clip([low, value, high], INSIDE, 1.0 - INSIDE).tolist()
        interval = (ends[0], ends[2]) if ends[0] < ends[2] else None
        factor = scores.selection**2
        found[group] = Knowledge.given(ends[1], interval, selection=factor)
    return found


def _small(scores: PUScores, groups: GroupSums) -> Flags:
    """Return the groups that are too small, plus enough others to make their pool large enough.

    The choice does not depend on the number of labeled positives: groups with many by chance would
    stay separate, and groups with few by chance would be pooled. It depends on rows and scores,
    which determine the expected number of positives.
    """
    unlabeled, positive = groups.rows.T
    rows = unlabeled + positive if scores.pooled else unlabeled
    expected = positive.sum() * _expected_shares(scores, groups)
    few = expected if scores.hidden else np.minimum(expected, rows - expected)
    small = (rows < FEWEST_ROWS) | (few < FEWEST_POSITIVES)
    for k in np.argsort(np.where(small, np.inf, few), kind="stable")[: small.size - small.sum()]:
        enough = rows[small].sum() >= FEWEST_ROWS and few[small].sum() >= FEWEST_POSITIVES
        if enough or not small.any():
            break
        small[k] = True
    return small


def _expected_shares(scores: PUScores, groups: GroupSums) -> Floats:
    """Return each group's share of the scores of all rows, or of the rows if all scores are 0."""
    sums = groups.of_laws(scores, groups.table.sum(axis=1))
    mass = sums[:, 2] if sums[:, 2].any() else sums[:, 1]
    share: Floats = mass / mass.sum()
    return share


# --- functions of the sums ------------------------------------------------------------------------


def _prior(_: Group, x: Floats, m: Floats, s: Floats) -> Slopes:
    value, rows = x.sum() / m.sum(), np.full_like(m, 1.0 / m.sum())
    return value, rows, -value * rows, np.zeros_like(s)


def _bias(_: Group, x: Floats, m: Floats, s: Floats) -> Slopes:
    value, rows = (x.sum() - s.sum()) / m.sum(), np.full_like(m, 1.0 / m.sum())
    return value, rows, -value * rows, -rows


def _auroc(_: Group, x: Floats, m: Floats, s: Floats) -> Slopes:
    r"""Return :math:`(E_+[F] - \pi/2)/(1 - \pi)`, F the mid-ranks of the scores in the group."""
    positives, rows = x.sum(), m.sum()
    if not 0.0 < positives < rows:
        return np.nan, np.zeros_like(x), np.zeros_like(m), np.zeros_like(s)
    rank = (np.cumsum(m) - m / 2.0) / rows
    mean, prior = x @ rank / positives, positives / rows
    value = (mean - prior / 2.0) / (1.0 - prior)
    by_prior = (mean - 0.5) / (1.0 - prior) ** 2
    higher = (positives - np.cumsum(x) + x / 2.0) / positives
    d_x = (rank - mean) / positives / (1.0 - prior) + by_prior / rows
    d_m = (higher - mean) / rows / (1.0 - prior) - by_prior * prior / rows
    return value, d_x, d_m, np.zeros_like(s)


def _rule(rule: Rule, above: Flags, x: Floats, m: Floats, s: Floats) -> Slopes:
    """Return a metric of the confusion matrix; its derivatives are central differences."""
    start = np.array([x[above].sum(), x.sum(), m[above].sum(), m.sum()])

    def value(sums: Floats) -> Floats:
        x_1, x_all, m_1, m_all = sums
        return rule(x_1 / x_all, m_1 / m_all, x_all / m_all)

    step = 1e-6 * start[[1, 1, 3, 3]]
    moves = start[:, None] + np.hstack([np.diag(step), -np.diag(step)])
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = value(moves)
        slopes = (moved[:4] - moved[4:]) / (2.0 * step)
        here = float(value(start))
    d_x, d_m = slopes[1] + above * slopes[0], slopes[3] + above * slopes[2]
    return here, d_x, d_m, np.zeros_like(s)


# --- intervals ------------------------------------------------------------------------------------


def count_limits(value: float, deviation: float, unit: float, level: float) -> Limits:
    """Return the interval of a count with this standard deviation, in units of one row.

    The count is treated as a Poisson count with the same relative variance (Garwood 1936). For a
    count of zero, the upper end is that of a zero Poisson count.

    Examples
    --------
    >>> low, high = count_limits(10.0, 10.0**0.5, 1.0, 0.95)
    >>> print(round(low, 2), round(high, 2))
    4.8 18.39
    """
    tail = (1.0 - level) / 2.0
    if not value > 0.0:
        return 0.0, -unit * float(np.log(tail))
    if not deviation > 0.0:
        return value, value
    n = (value / deviation) ** 2
    low, high = gammaincinv(n, tail) / n, gammaincinv(n + 1.0, 1.0 - tail) / n
    return value * float(low), value * float(high)


def binomial_limits(share: float, variance: float, rows: float, level: float) -> Limits:
    """Return Clopper and Pearson's limits for a share, with the effective size.

    Mid-p limits, as in `noneg.intervals.share_limits`, are shorter, but their error is a multiple
    of the nominal one at some shares far out in the tails that simultaneous intervals need.

    Examples
    --------
    >>> low, high = binomial_limits(0.5, 0.025, 10, 0.95)
    >>> print(round(low, 3), round(high, 3))
    0.187 0.813
    """
    if not 0.0 <= share <= 1.0:
        return share_limits(share, variance, rows, level)
    size = effective_size(*map(np.array, (share, variance, rows)))
    low, high = clopper_pearson(np.array(share), size, 1.0 - level)
    return float(low), float(high)


# --- measures -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A function of the sums with its interval.

    Attributes
    ----------
    function : callable
        ``function(group, x, m, s)``: the value and its derivatives.
    limits : callable
        ``limits(group, slopes, deviations, level)``: ends of the interval.
    range : (float, float)
        Smallest and largest value in a population.
    corners : callable
        Weights of the positives in each bucket for which the value is extreme under selection.
    """

    function: Callable[[Group, Floats, Floats, Floats], Slopes]
    limits: Callable[[Group, Binned, Slopes, float, float], Limits]
    range: tuple[float, float]
    corners: Callable[[Group], list[Floats]]

    def __call__(self, group: Group, level: float) -> tuple[float, float, float]:
        """Return the value and the ends of its interval over all unknowns."""
        scores = group.scores
        value, low, high = self._estimate(group, scores.known_prior, 1.0, level)
        if scores.prior_interval is not None or scores.selection > 1.0:
            weights = [1.0] if scores.selection == 1.0 else self.corners(group)
            ends = [
                self._estimate(group, prior, weight, level)
                for prior in _priors(scores)
                for weight in weights
            ]
            low, high = min(end[1] for end in ends), max(end[2] for end in ends)
        kept = np.clip([value, min(low, value), max(high, value)], *self.range)
        return tuple(kept.tolist()) if np.isfinite(value) else (np.nan, *self.range)

    def _estimate(
        self, group: Group, prior: float, weight: Floats | float, level: float
    ) -> tuple[float, float, float]:
        """Return the value and interval at one prior, with weighted positives."""
        binned = group.at(prior)
        x, m, s = prior * binned.positive[:-1] * weight, binned.marginal[:-1], binned.score[:-1]
        slopes = self.function(group, x, m, s)
        deviation = group.deviation(binned, slopes, weight)
        return slopes[0], *self.limits(group, binned, slopes, deviation, level)


def _priors(scores: PUScores) -> Floats:
    low, high = scores.prior_set
    return np.linspace(low, high, PRIORS) if low < high else np.array([low])


def _factors(scores: PUScores) -> tuple[float, float]:
    """Return the smallest and the largest weight of a labeled positive among all positives."""
    labeled = min(1.0, scores.labeled_share / scores.known_prior)
    return tuple(labeled + (1.0 - labeled) * x for x in (1.0 / scores.selection, scores.selection))  # type: ignore[return-value]


def _whole(group: Group) -> list[Floats]:
    """Return the extreme weights for all positives of a group combined."""
    low, high = _factors(group.scores)
    share = max(float(group.binned.positive[:-1].sum()), ROUNDING)
    # Other groups lose the weight that this group gains, within the same limits.
    least = max(low, (1.0 - high * (1.0 - share)) / share)
    most = min(high, (1.0 - low * (1.0 - share)) / share)
    return [np.full(group.binned.n_bins - 1, x) for x in (least, most)]


def _two_sides(group: Group, threshold: float) -> list[Floats]:
    """Return the extreme weights above and below a threshold."""
    above, ends = group.above(threshold), _factors(group.scores)
    return [np.where(above, one, other) for one in ends for other in ends]


def _cuts(group: Group) -> list[Floats]:
    """Return the weights that maximize and minimize the area under the ROC curve.

    For a given total weight, the area is largest if all positives above some score have the largest
    weight and those below it the smallest.
    """
    low, high = _factors(group.scores)
    x, m = group.scores.known_prior * group.binned.positive[:-1], group.binned.marginal[:-1]
    rank = (np.cumsum(m) - m / 2.0) / m.sum()
    found = []
    for below, above, best in ((low, high, np.nanargmax), (high, low, np.nanargmin)):
        prefix = [np.concatenate([[0.0], np.cumsum(y)]) for y in (x, x * rank)]
        mass, ranks = (below * y + above * (y[-1] - y) for y in prefix)
        prior = mass / m.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            area = np.where(prior < 1.0, (ranks / mass - prior / 2.0) / (1.0 - prior), 0.5)
        cut = int(best(area)) if np.isfinite(area).any() else 0
        found.append(np.where(np.arange(x.size) < cut, below, above))
    return found


def _unit(group: Group, binned: Binned) -> float:
    """Return the mass of one labeled positive."""
    return binned.prior / group.all_positives


def _ratio_limits(
    group: Group, binned: Binned, slopes: Slopes, deviation: float, level: float
) -> Limits:
    """Return limits for the share of positives among some rows: the prior or the precision.

    In two samples, positives are counted separately from the rows. In one sample, labeled rows are
    a share of these rows, possibly all of them. The limits are then binomial; if labels are hidden,
    the wider of both limits is used, because the labeled share is itself noisy.
    """
    value, by_positives, _, _ = slopes
    if not np.isfinite(value):
        return 0.0, np.inf
    counted = count_limits(value, deviation, _unit(group, binned) * max(by_positives), level)
    if not group.scores.pooled:
        return counted
    labeled = min(1.0, group.scores.labeled_share / binned.prior)
    share, variance = value * labeled, (deviation * labeled) ** 2
    if deviation <= ROUNDING < share < 1.0 - ROUNDING:
        return value, value
    among = group.sums[group.held][by_positives > max(by_positives) / 2.0]
    low, high = binomial_limits(share, variance, kish(among[:, 1], among[:, 6]), level)
    if not group.scores.hidden:
        return low, high
    return min(low / labeled, counted[0]), max(high / labeled, counted[1])


def _bias_limits(
    group: Group, binned: Binned, slopes: Slopes, deviation: float, level: float
) -> Limits:
    """Return limits with the same skewness as those of the prior, which has most of the noise."""
    m, s = binned.marginal[:-1], binned.score[:-1]
    value, prior = slopes[0], slopes[0] + s.sum() / m.sum()
    rows = np.full_like(m, 1.0 / m.sum())
    own = group.deviation(binned, (prior, rows, -prior * rows, np.zeros_like(s)))
    low, high = _ratio_limits(group, binned, (prior, rows, rows, s), own, level)
    if own <= ROUNDING:  # No noise from positives: a single group with a known prior, or no labels.
        reach = z_score(level) * deviation
        return value - max(reach, prior - low), value + max(reach, high - prior)
    # Less noise with the same skewness, where scores explain some of the labels, saves nothing.
    scale = max(deviation / own, 1.0)
    return value - scale * (prior - low), value + scale * (high - prior)


def _rate_limits(
    group: Group, _binned: Binned, slopes: Slopes, deviation: float, level: float
) -> Limits:
    """Return limits for an area or a rate; if labels are hidden, also as wide as Student's.

    Toward the ends of the range, the noise of PU estimates shrinks less than that of counts.
    """
    value, rows = slopes[0], group.positives
    if group.scores.hidden and not np.isfinite(value):
        return 0.0, 1.0
    low, high = area_limits(value, deviation**2, rows, level)
    reach = t_score(level, rows) * deviation if group.scores.hidden else 0.0
    return min(low, value - reach), max(high, value + reach)


def _error(group: Group, level: float) -> tuple[float, float, float]:
    """Return the debiased calibration error of a group over its own equal-mass bins."""
    scores, binned = group.scores, group.coarse()
    mass, room = float(binned.marginal[:-1].sum()), _skewness_room(group, binned, level)
    value = max(0.0, float(absolute_terms(binned)[:-1].sum()))
    if scores.selection > 1.0:
        low, high = _error_under_selection(scores, binned, level)
    else:
        low, high = error_limits(scores, binned, _Inside(), level)
    ends = (min(low - room, value), value, max(high + room, value))
    low, value, high = (float(np.clip(x / mass, 0.0, 1.0)) for x in ends)
    return value, low, high


def _skewness_room(group: Group, binned: Binned, level: float) -> float:
    """Return how far a Poisson interval for the positives extends beyond the normal one.

    With few positives, the estimated spread is also too small. Signs in bins do not make a sum more
    skewed.
    """
    count = group.positives
    _, high = count_limits(count, float(np.sqrt(count)), 1.0, level)
    beyond = high - count - z_score(level) * float(np.sqrt(count))
    return max(beyond, 0.0) * _unit(group, binned)


class _Inside(AbsoluteSum):
    """The sum of absolute residuals over all bins except the last, which contains other groups."""

    def touching(self, sums: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return the signs, with zero for the last bin."""
        return (_inside(super().touching(sums)[0]),)

    def below(self, sums: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return the smoothed signs, with zero for the last bin."""
        inner = super().below((sums[0][..., :-1],))[0]
        return (np.concatenate([inner, np.zeros_like(inner[..., :1])], axis=-1),)

    def own(self, binned: Binned) -> Floats:
        """Return the standard errors of the residuals of the group."""
        return super().own(binned)[:-1]


def _inside(signs: Floats) -> Floats:
    signs = signs.copy()
    signs[..., -1] = 0.0
    return signs


def _error_under_selection(scores: PUScores, binned: Binned, level: float) -> Limits:
    """Return limits if the positives in each bin may be scaled by these factors."""
    score, reach, ends = binned.score[:-1], 0.0, []
    for prior in _priors(scores):
        low, high = (prior * x * binned.positive[:-1] for x in _factors(scores))
        near = np.maximum(np.maximum(low - score, score - high), 0.0).sum()
        far = np.maximum(np.abs(low - score), np.abs(high - score)).sum()
        ends += [(near, far)]
        there = replace(binned, prior=prior * _factors(scores)[1])
        reach = max(reach, float(np.sqrt(there.variance(_inside(np.ones(binned.n_bins))))))
        reach = max(reach, float(np.sqrt(there.variance(_inside(np.sign(there.residual))))))
    z = z_score(level)
    return min(e[0] for e in ends) - z * reach, max(e[1] for e in ends) + z * reach


# Measures without a threshold.
MEASURES: dict[str, Callable[[Group, float], tuple[float, float, float]]] = {
    "prior": Measure(_prior, _ratio_limits, (0.0, 1.0), _whole),
    "bias": Measure(_bias, _bias_limits, (-1.0, 1.0), _whole),
    RECOMMENDED: _error,
    "auroc": Measure(_auroc, _rate_limits, (0.0, 1.0), _cuts),
}


def _measure(name: str, threshold: float) -> Callable[[Group, float], tuple[float, float, float]]:
    """Return the measure for a metric; raise an error if it is not available by group."""
    if name in MEASURES:
        return MEASURES[name]
    rules = registered_rules()
    if name not in rules or METRICS[name].range != (0.0, 1.0):
        known = [metric for metric in rules if METRICS[metric].range == (0.0, 1.0)]
        listed = (RECOMMENDED, "auroc", *known)
        rule = f"must be a metric that is available by group ({', '.join(listed)})"
        raise InputError("metrics", rule, value=name, remedy=did_you_mean(name, listed).lstrip())
    return Measure(
        lambda group, *sums: _rule(rules[name], group.above(threshold), *sums),
        _ratio_limits if name == "precision" else _rate_limits,
        (0.0, 1.0),
        lambda group: _two_sides(group, threshold),
    )


# --- the test -------------------------------------------------------------------------------------


def _equal(
    scores: PUScores, groups: GroupSums, seed: int
) -> tuple[float | None, Floats, float | None]:
    """Test whether all groups are calibrated up to one factor, and measure how far each is off."""
    binned = binned_sums(scores, np.zeros(0), groups.of_laws(scores, groups.table.sum(axis=1)))
    mean = float(binned.score.sum())
    if groups.n_groups == 1 or mean == 0.0 or scores.selection > 1.0:
        return None, np.zeros(groups.n_groups), None
    # Scores that are correct overall, so that only differences between groups remain.
    factor = binned.prior / mean
    scale = np.array([1.0, 1.0, factor])
    second = binned.second * np.outer(scale, scale)
    right = replace(binned, score=factor * binned.score, second=second)
    common = right if scores.pooled else _common_law(scores, right)
    redraws = int(np.clip(NUMBERS // groups.n_groups, 199, REDRAWS))
    null = null_residuals(scores, common, redraws, seed)
    null -= common.score / common.score.sum() * null.sum(axis=1, keepdims=True)
    gap = right.prior * right.positive - right.score
    # Under the hypothesis, the observation is one more redraw. A scale from the redraws alone would
    # fit them better than the observation, by an amount that grows with the number of groups.
    every = np.vstack([null, gap])
    spread = np.sqrt(np.mean(every**2, axis=0))
    every = np.abs(np.divide(every, spread, out=np.zeros_like(every), where=spread > 0.0))
    p_values = [_beaten(x) for x in ((every**2).sum(axis=1), every.max(axis=1))]
    return p_values[0], every[-1], p_values[1]


def _beaten(statistic: Floats) -> float:
    """Return the share of values at least as large as the last one, up to rounding error."""
    return float(np.mean(statistic >= statistic[-1] * (1.0 - 1e-9)))


def _common_law(scores: PUScores, right: Binned) -> Binned:
    """Return two samples whose shares of groups are the best estimates if groups are equal.

    Positives and scores estimate the same shares then. A spread from the scores alone would be too
    small where these happen to be low and the gap is therefore large, and with many groups some
    always are; the best estimate is independent of the gap (score test).
    """
    positives = right.prior * right.positive
    of_positives = right.prior * right.score / scores.effective_positive
    of_scores = right.second[:, 2, 2]
    best, noise = of_scores * positives + of_positives * right.score, of_positives + of_scores
    ratio = np.divide(best, noise * right.score, out=np.ones_like(best), where=right.score > 0.0)
    second = right.second.copy()
    second[:, 1:, 1:] *= ratio[:, None, None]
    score = ratio * right.score
    return replace(right, score=score * right.score.sum() / score.sum(), second=second)
