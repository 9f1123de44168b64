r"""Extremes over unknowns: the prior, and how hidden positives differ from labeled ones.

The selection factor :math:`\Gamma \ge 1` bounds how many times more or less likely a given score is
for a hidden positive than for a labeled one. With the distribution :math:`\nu` of the labeled
positives and the share :math:`c = n_P/(\pi n)` of positives that are labeled (0 in two samples),
the distribution of all positives has a density w with respect to :math:`\nu` with

.. math:: c + (1-c)/\Gamma \;\le\; w \;\le\; c + (1-c)\,\Gamma, \qquad \int w\,d\nu = 1, \qquad
    \pi \int_{I_b} w\,d\nu \le \mu(I_b).

The last condition states that positives cannot outnumber rows. It is imposed on cells of the score
with equal numbers of labeled positives, because individual scores of two samples rarely coincide;
the number of cells is the cube root of the number of labeled positives. It never excludes w = 1;
`noneg.sensitivity.forced_selection` tests whether the rows themselves do.

One of these distributions has the most positives above *every* threshold: w is as large as possible
from the top down, until the remainder must be as small as possible. Another distribution has the
fewest. Both transform the TPR of the labeled positives by a piecewise linear function, a `Law`, so
each metric that is monotone in all TPR values at once has its extremes there, and these bounds are
sharp. Such metrics are everything computed from the confusion matrix, areas, metrics of the top of
the list, and losses whose difference between a positive and a negative is monotone in the score.
Sampling noise is propagated by the delta method through the same piecewise linear function;
intervals ignore the caps, because the delta method would miss their noise. In one sample, c is
itself estimated from the rows. The distributions for c one standard error smaller and larger
measure its effect on a metric, and its correlation with the marginal sample is taken into account
(`Law.drifted`).

The underlying sensitivity models are those of Rosenbaum (2002), Tan (2006) and Zhao, Small &
Bhattacharya (2019); Dorn & Guo (2023) give sharp bounds in causal inference, and Rambachan, Coston
& Kennedy (2022) give bounds for classifiers under confounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noneg.errors import InputError
from noneg.intervals import (
    exact_limits,
    law_means,
    limits_at_nodes,
    no_spread,
    over_priors,
    prior_words,
    skewed_limits,
)
from noneg.laws import Ordered, influence, placements, rate_of_negatives
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats, Places
    from noneg.intervals import Limits
    from noneg.losses import Loss
    from noneg.scores import PUScores

Value = TypeVar("Value", float, "Floats")

# The interval for the calibration error relaxes the caps from the unlabeled rows by this many
# standard errors, because the smaller of two noisy limits is too small on average.
SLACK = 2.0
# Number of priors tried in an interval, and number of refinements around the best one: for a value,
# and for the end of an interval, which takes longer.
VALUE_GRID, LIMIT_GRID = (9, 3), (5, 1)
# Number of cells for the noise of an area; with fewer rows, each row is its own cell.
NOISE_CELLS = 128
# The largest factor that a search tries, and the tolerance on its logarithm.
LARGEST, TOLERANCE = 100.0, 1e-4
# Masses that differ by less count as equal.
ROUNDING = 1e-12
# Number of cells for a distribution that is known exactly.
EXACT_CELLS = 64
METHOD = "delta method, Student interval corrected for skewness"


def is_selected(scores: PUScores) -> bool:
    """Whether hidden positives may differ from labeled ones; false for labeled data."""
    return scores.selection > 1.0 and scores.hidden


def refuse_selection(scores: PUScores, name: str, remedy: str = "Use ece.") -> None:
    """Raise an error for a metric without known bounds, if the selection factor exceeds 1."""
    if is_selected(scores):
        msg = f"must be 1 for {name}, for which no bounds are known"
        raise InputError("selection", msg, value=scores.selection, remedy=remedy)


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution of the positives: a piecewise linear map from the TPR of labeled positives.

    Attributes
    ----------
    knots : ndarray, shape (k + 1,)
        TPR of the labeled positives at which the slope changes, from 0 to 1.
    slopes : ndarray, shape (k,)
        Density with respect to the labeled positives, one value per piece.
    near : callable, optional
        Returns the distributions for a labeled share that is one standard error smaller and larger.
    pull : float
        How far one standard error of the labeled share moves the marginal distribution toward the
        labeled distribution.

    Examples
    --------
    >>> twice_at_the_top = Law(np.array([0.0, 1 / 3, 1.0]), np.array([2.0, 0.5]))
    >>> twice_at_the_top(0.1).round(3), twice_at_the_top.slope(0.9).round(3)
    (np.float64(0.2), np.float64(0.5))
    """

    knots: Floats
    slopes: Floats
    near: Callable[[], tuple[Law, Law]] | None = None
    pull: float = 0.0

    @cached_property
    def heights(self) -> Floats:
        """TPR under this distribution at the knots."""
        heights = np.append(0.0, np.cumsum(self.slopes * np.diff(self.knots)))
        return heights / heights[-1]

    def __call__(self, tpr: Floats | float) -> Floats:
        """Return the TPR under this distribution, given the TPR of the labeled positives."""
        found: Floats = np.asarray(np.interp(tpr, self.knots, self.heights))
        return found[()]

    def slope(self, tpr: Floats | float) -> Floats:
        """Return the derivative of the piecewise linear map."""
        # At a knot, use the piece above it, regardless of rounding error.
        at = np.searchsorted(self.knots[1:-1], np.subtract(tpr, ROUNDING))
        return self.slopes[at]

    def mean(self, tpr: Floats, sums: Floats) -> float:
        """Return a mean under this distribution from running sums over the labeled positives."""
        return float(self.slopes @ np.diff(np.interp(self.knots, tpr, sums)))

    def drift(self, value: Callable[[Law], Value]) -> Value | float:
        """Return the effect of one standard error of the labeled share on a function."""
        if self.near is None:
            return 0.0
        less, more = self.near()
        return (value(more) - value(less)) / 2.0

    def drifted(self, variance: float, drift: float, gap: float) -> float:
        """Return a variance that includes the noise of the labeled share.

        Parameters
        ----------
        variance : float
            Variance due to the labeled and the marginal sample, given the distribution.
        drift : float
            The value that `drift` returns.
        gap : float
            Change in the function if the marginal distribution moved to the labeled distribution
            while the distribution of the positives stayed the same: a sample with an unusually
            large labeled share has more rows where labeled ones are.
        """
        return max(variance + drift * (drift + 2.0 * self.pull * gap), 0.0)

    def through(self, tpr: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the corners of the function of a value whose mean has the same noise.

        Its mean over the labeled positives varies like the mean of the value under this
        distribution. The values are those of the labeled positives, in the order of `tpr`.
        """
        at = np.searchsorted(tpr[1:], self.knots - ROUNDING)
        x = values[np.minimum(at, values.size - 1)]
        return x, np.append(0.0, np.cumsum(self.slopes * np.diff(x)))

    def mirrored(self) -> Law:
        """Return the same distribution for scores in the opposite order."""
        return Law(1.0 - self.knots[::-1], self.slopes[::-1])


SAME = Law(np.array([0.0, 1.0]), np.ones(1))


@dataclass(frozen=True, eq=False)
class Box:
    """All distributions of the positives that the selection factor and the unlabeled rows allow.

    Attributes
    ----------
    positive, marginal : ndarray
        Mass of both distributions in cells, in descending order of score.
    variance : pair of ndarray
        Variances of these masses.
    share, error : float
        Labeled share of the marginal sample, and its standard error.
    selection : float
    """

    positive: Floats
    marginal: Floats
    variance: tuple[Floats, Floats]
    share: float
    error: float
    selection: float

    @classmethod
    def of(cls, scores: PUScores) -> Box:
        """Return the box for these scores, over cells with equal numbers of labeled positives."""
        return cls.over(scores, _cell_edges(scores))

    @classmethod
    def over(cls, scores: PUScores, edges: Floats) -> Box:
        """Return the box over cells with these edges."""
        sums = scores.sums_in_bins(edges)[::-1, :2]
        masses = (sums / sums.sum(axis=0)).T
        positive, marginal = masses * (1.0 - masses)
        return cls(
            positive=masses[0],
            marginal=masses[1],
            variance=(positive / scores.effective_positive, marginal / scores.effective_marginal),
            share=scores.labeled_share,
            error=share_error(scores),
            selection=scores.selection,
        )

    def without_caps(self) -> Box:
        """Return the box with a single cell, on which the caps have no effect."""
        one, none = np.ones(1), np.zeros(1)
        return replace(self, positive=one, marginal=one, variance=(none, none))

    def with_fewer_labeled(self, errors: float) -> Box:
        """Return the (larger) box for a labeled share that is this many standard errors smaller."""
        return replace(self, share=max(self.share - errors * self.error, 0.0))

    def ends(self, prior: float) -> Limits:
        """Return the smallest and largest density with respect to the labeled distribution."""
        return density(self.share, prior, self.selection)

    def caps(self, prior: float, slack: float = 0.0) -> Floats:
        """Return the largest mass of positives in each cell, at least that of the labeled ones."""
        if np.isnan(prior):
            return np.full_like(self.positive, np.inf)
        most = self.ends(prior)[1]
        noise = np.sqrt(self.variance[1] / prior**2 + most**2 * self.variance[0])
        return np.maximum(self.positive, self.marginal / prior + slack * noise)

    def law(self, prior: float, *, top: bool) -> Law:
        """Return the distribution with the most, or the fewest, positives at the top."""
        made = self._law(prior, top=top)
        if not 0.0 < self.error < np.inf or not self.share < 1.0:
            return made

        def at(errors: float) -> Law:
            return replace(self.with_fewer_labeled(errors), error=0.0).law(prior, top=top)

        def near() -> tuple[Law, Law]:
            return at(1.0), at(-1.0)

        return replace(made, near=near, pull=self.error / (1.0 - self.share))

    def _law(self, prior: float, *, top: bool) -> Law:
        low, high = self.ends(prior)
        if not low < high:
            return SAME
        caps = self.caps(prior)
        if top:
            return _filled(self.positive, caps, low, high)
        return _filled(self.positive[::-1], caps[::-1], low, high).mirrored()


def density(share: float, prior: float, selection: float) -> Limits:
    """Return the smallest and largest density if this share of the population is labeled."""
    labeled = 0.0 if np.isnan(prior) else min(share / prior, 1.0)
    hidden = 1.0 - labeled
    return labeled + hidden / selection, labeled + hidden * selection


def density_ends(scores: PUScores, prior: float, errors: float = 0.0) -> Limits:
    """Return the smallest and largest density of positives with respect to the labeled ones.

    The labeled share is first reduced by `errors` standard errors.
    """
    share = scores.labeled_share - errors * share_error(scores)
    share = prior if scores.prior_is_estimated else max(share, 0.0)
    return density(share, prior, scores.selection)


def share_error(scores: PUScores) -> float:
    """Return the standard error of the labeled share in one sample; 0 in two samples."""
    share = scores.labeled_share
    return float(np.sqrt(share * (1.0 - share) / scores.effective_marginal))


def _filled(mass: Floats, caps: Floats, low: float, high: float) -> Law:
    """Return the distribution with density `high` from the first cell on, as far as possible."""
    span = high - low
    room = np.minimum(mass, (caps - low * mass) / span)
    reached = np.minimum(np.cumsum(room), (1.0 - low) / span)
    raised = np.diff(reached, prepend=0.0)
    end = np.cumsum(mass)
    knots = np.stack([end - mass + raised, end], axis=-1).ravel()
    knots = np.clip(np.append(0.0, knots), 0.0, 1.0)
    knots[-1] = 1.0
    return Law(knots, np.tile([high, low], mass.size))


def feasible(ends: Limits, prior: float, least: Floats, most: Floats, marginal: Floats) -> bool:
    """Return whether the cells leave room for the positives.

    Parameters
    ----------
    ends : (float, float)
        Smallest and largest density of the positives with respect to the labeled distribution.
    prior : float
    least, most, marginal : ndarray
        Lower and upper limits of the labeled distribution in each cell, and upper limits of the
        marginal distribution.
    """
    room = marginal / prior * (1.0 + ROUNDING)
    fits = bool((ends[0] * least <= room).all())
    return fits and float(np.minimum(ends[1] * most, room).sum()) >= 1.0 - ROUNDING


def _cell_edges(scores: PUScores) -> Floats:
    """Return the edges of cells with equal numbers of labeled positives."""
    return scores.kept("cells", lambda: _quantile_edges(scores))


def _quantile_edges(scores: PUScores) -> Floats:
    rows = scores.effective_positive
    n_cells = int(np.cbrt(rows) + 1e-9) if np.isfinite(rows) else EXACT_CELLS
    found = np.unique(scores.positive_quantiles(np.arange(1, n_cells) / max(n_cells, 1)))
    if np.isfinite(rows):
        found = np.unique(np.append(found, _below_ties(scores, found, n_cells)))
    return np.concatenate([[0.0], found[(found > 0.0) & (found < 1.0)], [1.0]])


def _below_ties(scores: PUScores, at: Floats, n_cells: int) -> Floats:
    """Return the labeled scores just below scores that at least half a cell of positives share."""
    s, f, a, _ = scores.positive_in_order()
    mass = np.append(0.0, np.cumsum(np.broadcast_to(f * a, s.shape)))
    first, last = (np.searchsorted(s, at, side=side) for side in ("left", "right"))
    heavy = (mass[last] - mass[first]) * 2 * n_cells >= mass[-1]
    return s[first[heavy & (first > 0)] - 1]


class Selected:
    """An ordered view with another distribution of the positives, which propagates noise."""

    def __init__(
        self,
        steps: Ordered | Cells | Selected,
        law: Law,
        heights: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Build the view; `heights` replace TPR and PPR of the labeled and the marginal rows."""
        self.steps, self.law = steps, law
        self.thresholds: Floats = steps.thresholds
        self.ppr: Floats
        tpr, self.ppr = heights or (steps.tpr, steps.ppr)
        self.tpr: Floats = law(tpr)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Delegate everything that does not depend on the positive distribution."""
        return getattr(self.steps, name)

    def fpr(self, prior: float) -> Floats:
        """``(PPR - pi TPR) / (1 - pi)``."""
        return rate_of_negatives(self.tpr, self.ppr, prior)

    def heights(self, at: Places) -> tuple[Floats, Floats]:
        """Return TPR and PPR at the given steps only."""
        return self.tpr[at], self.ppr[at]

    def own_mass(self, at: Places) -> tuple[Floats, Floats]:
        """Return the mean share of one positive in both distributions, at these steps."""
        positive, marginal = self.steps.own_mass(at)  # type: ignore[union-attr]
        rise = [height[at] - height[at - 1] for height in (self.tpr, self.steps.tpr)]
        return positive * (rise[0] / rise[1]), marginal

    def variance(
        self, d_tpr: Floats, d_ppr: Floats, d_prior: float, *, unseen: bool = True
    ) -> float:
        """Return the variance of a function of the heights, as `Ordered.variance` does."""
        tpr = self.steps.tpr
        given = self.steps.variance(d_tpr * self.law.slope(tpr), d_ppr, d_prior, unseen=unseen)
        drift = float(d_tpr @ (self.law.drift(lambda one: one(tpr)) + np.zeros_like(tpr)))
        gap = float(d_ppr @ (tpr - self.ppr)) if self.steps.pooled else 0.0
        return self.law.drifted(given, drift, gap)

    def third(self, d_tpr: Floats) -> float:
        """Return the third cumulant of such a function due to the labeled positives."""
        return self.steps.third(d_tpr * self.law.slope(self.steps.tpr))  # type: ignore[union-attr]


def height_limits(steps: Ordered, level: float) -> list[tuple[Floats, Floats]]:
    """Return TPR and PPR at opposite ends of their intervals: the lowest and the highest curve."""
    tpr = _step_limits(steps.tpr, steps.scores.effective_positive, level)
    ppr = _step_limits(steps.ppr, steps.scores.effective_marginal, level)
    return [(tpr[0], ppr[1]), (tpr[1], ppr[0])]


def _step_limits(share: Floats, rows: float, level: float) -> tuple[Floats, Floats]:
    """Return binomial limits of the heights of a curve."""
    low, high = limits_at_nodes(share, lambda x: exact_limits(x, np.full_like(x, rows), level))
    for end in (low, high):
        # No row lies above infinity, and all rows lie at or above the smallest score.
        end[[0, -1]] = 0.0, 1.0
    return low, high


class Cells:
    """The view of `noneg.laws.Ordered` over a small number of cells, enough for a variance."""

    def __init__(self, scores: PUScores) -> None:
        edges = scores.kept("noise cells", lambda: _noise_edges(scores))
        sums = scores.sums_in_bins(edges)[::-1]
        self.thresholds, self.pooled = np.append(np.inf, edges[-2::-1]), scores.pooled
        self.totals = sums[:, 0].sum(), sums[:, 1].sum()
        self.second = sums[:, 3], sums[:, 4], sums[:, 6]
        # Labeled rows in a cell are assumed to have equal weights, which determine the third-order
        # sum.
        self.weight = np.divide(
            sums[:, 3], sums[:, 0], out=np.zeros_like(sums[:, 0]), where=sums[:, 0] > 0.0
        )
        self.tpr = np.append(0.0, np.cumsum(sums[:, 0]) / self.totals[0])
        self.ppr = np.append(0.0, np.cumsum(sums[:, 1]) / self.totals[1])

    def variance(
        self,
        d_tpr: Floats,
        d_ppr: Floats,
        _d_prior: float,
        *,
        unseen: bool = True,  # noqa: ARG002
    ) -> float:
        """Return the variance of a function of the heights; cells hide the single positives."""
        one = influence(d_tpr, self.tpr, self.totals[0])
        other = influence(d_ppr, self.ppr, self.totals[1])
        aa, aw, ww = self.second
        spread = float(aa @ one**2 + 2.0 * (aw @ (one * other)) + ww @ other**2)
        # As in `Ordered.variance`, a handful of positives may dominate, so the most influential one
        # counts twice.
        return spread + float(np.max((self.weight * one) ** 2))

    def third(self, d_tpr: Floats) -> float:
        """Return the third cumulant of a function of the heights due to the labeled positives."""
        cubes = self.weight * self.second[0]
        return float(cubes @ influence(d_tpr, self.tpr, self.totals[0]) ** 3)


def running_wins(scores: PUScores) -> Floats:
    """Return running sums over the labeled positives in descending order of score.

    The first row contains their mass, the second that mass times the share of rows they beat. A tie
    counts as half. The result is cached.
    """
    return scores.kept(("wins", scores.pooled), lambda: _running_wins(scores))


def _running_wins(scores: PUScores) -> Floats:
    (u, f, _, w), (p, g, a, v) = scores.in_order()
    place = placements(p, u, f * w)
    if scores.pooled:
        labeled = scores.labeled_share
        place = (1.0 - labeled) * place + labeled * placements(p, p, g * v)
    mass = np.broadcast_to(g * a, p.shape)
    sums = np.cumsum(np.stack([mass, mass * place])[:, ::-1], axis=1) / mass.sum()
    return np.concatenate([np.zeros((2, 1)), sums], axis=1)


def _noise_edges(scores: PUScores) -> Floats:
    share = np.arange(1, NOISE_CELLS) / NOISE_CELLS
    groups = [group[0] for group in scores.in_order()]
    inner = np.unique(np.concatenate([s[(share * s.size).astype(int)] for s in groups if s.size]))
    return np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])


def over_box(
    scores: PUScores, ends: Callable[[Law, float], Limits | float], box: Box, grid: tuple[int, int]
) -> Limits:
    """Return the smallest lower and the largest upper end over priors and distributions.

    Parameters
    ----------
    scores : PUScores
    ends : callable
        Maps a distribution and a prior to a lower and an upper end, or to a value that is both;
        monotone in all TPR values together.
    box : Box
    grid : (int, int)
        Number of priors tried in an interval, and number of refinements around the best one.
    """

    def limits(tried: Floats) -> tuple[Floats, Floats]:
        found = np.empty((tried.size, 2, 2))
        for pairs, prior in zip(found, tried.tolist(), strict=True):
            for pair, top in zip(pairs, (True, False), strict=True):
                pair[:] = ends(box.law(prior, top=top), prior)
        return found[..., 0].min(axis=1), found[..., 1].max(axis=1)

    priors = (np.nan, np.nan) if scores.prior is None else scores.prior_set
    return over_priors(limits, priors, *grid)


def bounded(  # noqa: PLR0913
    scores: PUScores,
    value: float,
    point: Callable[[Law, float], Limits | float],
    ends: Callable[[Law, float], Limits],
    level: float,
    *,
    reach: Limits,
    method: str,
    box: Box | None = None,
    free: Box | None = None,
    grid: tuple[int, int] = VALUE_GRID,
) -> Estimate:
    """Return an estimate with its identified range and an interval that covers range and noise.

    Parameters
    ----------
    scores : PUScores
    value : float
        The estimate if labeled positives are a random sample.
    point, ends : callable
        The metric, or limits for it without noise, and the ends of its interval, as functions of a
        distribution and a prior.
    level : float
    reach : (float, float)
        Range of the metric.
    method : str
    box, free : Box, optional
        The distributions for the range and for the interval, by default those that the scores
        allow, with and without the caps from the unlabeled rows.
    grid : (int, int)
        See `over_box`.
    """
    box = Box.of(scores) if box is None else box
    identified = over_box(scores, point, box, grid)
    # The noise of the caps is not that of a single share, so intervals ignore the caps.
    limits = over_box(scores, ends, free or box.without_caps(), LIMIT_GRID)
    return assembled(scores, value, identified, limits, level, reach=reach, method=method)


def assembled(
    scores: PUScores,
    value: float,
    identified: Limits,
    limits: Limits,
    level: float,
    *,
    reach: Limits,
    method: str,
) -> Estimate:
    """Return an estimate whose interval encloses the identified range, clipped to `reach`."""
    least, most = (float(np.clip(end, *reach)) for end in identified)
    # An estimate from a small sample may lie outside the metric's range.
    least, most = min(least, value), max(most, value)
    low, high = (float(np.clip(end, *reach)) for end in limits)
    method += f"{prior_words(scores)}, for selection up to {scores.selection:g}"
    return Estimate(
        value=value,
        low=min(low, least),
        high=max(high, most),
        level=level,
        method=method,
        identified=(least, most),
    )


def widened(value: float, limits: Limits, variance: float) -> Limits:
    """Return limits widened by additional independent noise (MOVER).

    Examples
    --------
    >>> low, high = widened(0.5, (0.2, 0.9), 0.09)
    >>> print(round(low, 3), round(high, 3))
    0.076 1.0
    """
    down, up = (np.sqrt((end - value) ** 2 + variance) for end in limits)
    return float(value - down), float(value + up)


def loss_bounds(
    scores: PUScores, loss: Loss, level: float, *, value: float, reach: Limits
) -> Estimate:
    """Return an expected loss with its identified range and interval.

    The range is sharp if ``loss(s, 1) - loss(s, 0)`` is monotone in the score. Otherwise, the caps
    from the unlabeled rows are ignored, and the range may be too wide.
    """
    order = _Gains.of(scores, loss)
    box = Box.of(scores) if order.monotone else Box.of(scores).without_caps()
    at_zero = law_means(scores, [lambda s: loss(s, 0)], [lambda s: loss(s, 0)])
    base, rows = float(at_zero.marginal[0]), scores.effective_positive
    gap = float(at_zero.positive[0]) - base

    def point(law: Law, prior: float) -> float:
        return base + prior * law.mean(order.tpr, order.sums)

    def ends(law: Law, prior: float) -> Limits:
        if no_spread(scores):
            return -np.inf, np.inf
        h = order.through(law, loss)
        means = law_means(scores, [h], [lambda s: loss(s, 0)])
        third, largest = order.skew(h)
        variance = means.variance([prior, 1.0, 0.0]) + prior**2 * largest
        variance = law.drifted(variance, law.drift(lambda near: point(near, prior)), gap)
        return skewed_limits(point(law, prior), variance, prior**3 * third, rows, level)

    return bounded(scores, value, point, ends, level, reach=reach, method=METHOD, box=box)


@dataclass(frozen=True, eq=False)
class _Gains:
    """``loss(s, 1) - loss(s, 0)`` of the labeled positives, in an order in which it is monotone."""

    tpr: Floats
    sums: Floats
    gain: Floats
    monotone: bool
    scores: PUScores

    @classmethod
    def of(cls, scores: PUScores, loss: Loss) -> _Gains:
        s, f, a, _ = scores.positive_in_order()
        s, mass = s[::-1], np.broadcast_to(f * a, s.shape)[::-1]
        gain = loss(s, 1) - loss(s, 0)
        change = np.diff(gain)
        monotone = bool((change >= 0.0).all() or (change <= 0.0).all())
        if not monotone:
            order = np.argsort(gain, kind="stable")
            gain, mass = gain[order], mass[order]
        total = mass.sum()
        tpr = np.append(0.0, np.cumsum(mass) / total)
        return cls(tpr, np.append(0.0, np.cumsum(mass * gain) / total), gain, monotone, scores)

    def skew(self, function: Callable[[Floats], Floats]) -> tuple[float, float]:
        """Return the third cumulant of a mean over the labeled positives, and the largest square.

        The most influential positive counts twice in a variance, as in `Cells.variance`. Both are
        zero for a loss with two values, whose mean is a share of the positives.
        """
        if np.all((self.gain == self.gain[0]) | (self.gain == self.gain[-1])):
            return 0.0, 0.0
        s, f, a, _ = self.scores.positive_in_order()
        mass, h = np.broadcast_to(f * a, s.shape), function(s)
        mass = mass / mass.sum()
        one = mass / f * (h - mass @ h)
        return float(np.sum(f * one**3)), float(np.max(one**2))

    def through(self, law: Law, loss: Loss) -> Callable[[Floats], Floats]:
        """Return the function of the score whose mean over labeled positives has the same noise."""
        x, y = law.through(self.tpr, self.gain)
        way = slice(None) if x[-1] >= x[0] else slice(None, None, -1)
        return lambda s: np.interp(loss(s, 1) - loss(s, 0), x[way], y[way])


def smallest_factor(holds: Callable[[float], bool], tolerance: float = TOLERANCE) -> float:
    """Return the smallest factor at which a monotone condition holds, by bisection.

    Return infinity if the condition does not hold at `LARGEST`.
    """
    if holds(1.0):
        return 1.0
    if not holds(LARGEST):
        return float("inf")
    low, high = 0.0, float(np.log(LARGEST))
    while high - low > tolerance:
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))
