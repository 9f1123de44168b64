r"""Extremes over what is not known: the prior, and how hidden positives differ from labeled ones.

Selection :math:`\Gamma \ge 1` bounds how many times more or less likely than a labeled positive a
hidden positive is to look as it does. With the law :math:`\nu` of the labeled positives and the
share :math:`c = n_P/(\pi n)` of positives that are labeled (0 in two samples), the law of all
positives has a density w against :math:`\nu` with

.. math:: c + (1-c)/\Gamma \;\le\; w \;\le\; c + (1-c)\,\Gamma, \qquad \int w\,d\nu = 1, \qquad
    \pi \int_{I_b} w\,d\nu \le \mu(I_b).

The last condition says that positives cannot outnumber rows. It is asked of cells of the score that
hold equal numbers of labeled positives, about the cube root of their number, because single scores
of two samples seldom meet. It never excludes w = 1; whether the rows themselves do is asked by
`noneg.sensitivity.forced_selection`.

Among these laws there is one with the most positives above *every* threshold: w is as large as it
may be from the top down, until what is left must be as small as it may be. Another one has the
fewest. Both turn the TPR of the labeled positives into another TPR by a broken line, a `Law`, so
each metric that rises or falls with all TPR at once has its extremes there, and they are sharp:
everything computed from the confusion matrix, areas, the top of the list, and losses whose
difference between a positive and a negative is monotone in the score. Noise follows by the delta
method through the same broken line; intervals leave the caps out, whose own noise it would miss.

The sensitivity models behind it are those of Rosenbaum (2002), Tan (2006) and Zhao, Small &
Bhattacharya (2019); Dorn & Guo (2023) give sharp bounds in causal inference, Rambachan, Coston &
Kennedy (2022) bounds for classifiers under confounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from noneg.bins import mass_edges
from noneg.errors import InputError
from noneg.intervals import law_means, no_spread, over_priors, prior_words
from noneg.laws import placements
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.intervals import Limits
    from noneg.laws import Ordered
    from noneg.losses import Loss
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# The interval of the calibration error widens what the unlabeled rows allow by this many standard
# errors: the smaller one of two noisy limits is too small on average.
SLACK = 2.0
# Priors tried in an interval of them, and how often the best one's neighborhood is searched again:
# for a value, and for the end of an interval, which takes longer.
VALUE_GRID, LIMIT_GRID = (9, 3), (5, 1)
# Cells in which the noise of an area is computed; fewer rows than that are their own cells.
NOISE_CELLS = 128
# The largest factor that a search tries, and the tolerance of its logarithm.
LARGEST, TOLERANCE = 100.0, 1e-4
# Masses that differ by less are equal.
ROUNDING = 1e-12
# Cells of a law that is known exactly.
EXACT_CELLS = 64


def is_selected(scores: PUScores) -> bool:
    """Whether hidden positives may differ from labeled ones; of labeled data none are hidden."""
    return scores.selection > 1.0 and scores.hidden


def refuse_selection(scores: PUScores, name: str, remedy: str = "Use ece.") -> None:
    """Refuse a metric for which no bounds are known."""
    if is_selected(scores):
        msg = f"must be 1 for {name}, for which no bounds are known"
        raise InputError("selection", msg, value=scores.selection, remedy=remedy)


@dataclass(frozen=True, eq=False)
class Law:
    """A law of the positives, as a broken line through its TPR over that of the labeled ones.

    Attributes
    ----------
    knots : ndarray, shape (k + 1,)
        TPR of the labeled positives where the line bends, from 0 to 1.
    slopes : ndarray, shape (k,)
        How many times as many positives as labeled ones, piece by piece.

    Examples
    --------
    >>> twice_at_the_top = Law(np.array([0.0, 1 / 3, 1.0]), np.array([2.0, 0.5]))
    >>> twice_at_the_top(0.1).round(3), twice_at_the_top.slope(0.9).round(3)
    (np.float64(0.2), np.float64(0.5))
    """

    knots: Floats
    slopes: Floats

    @cached_property
    def heights(self) -> Floats:
        """TPR of this law at the knots."""
        heights = np.append(0.0, np.cumsum(self.slopes * np.diff(self.knots)))
        return heights / heights[-1]

    def __call__(self, tpr: Floats | float) -> Floats:
        """Return the TPR of this law where that of the labeled positives is known."""
        found: Floats = np.asarray(np.interp(tpr, self.knots, self.heights))
        return found[()]

    def slope(self, tpr: Floats | float) -> Floats:
        """Return the derivative of the above."""
        # At a knot the piece above it counts, whatever rounding made of either.
        at = np.searchsorted(self.knots[1:-1], np.subtract(tpr, ROUNDING))
        return self.slopes[at]

    def mean(self, tpr: Floats, sums: Floats) -> float:
        """Return a mean under this law from its running sums over the labeled positives."""
        return float(self.slopes @ np.diff(np.interp(self.knots, tpr, sums)))

    def mirrored(self) -> Law:
        """Return the same of scores in the opposite order."""
        return Law(1.0 - self.knots[::-1], self.slopes[::-1])


SAME = Law(np.array([0.0, 1.0]), np.ones(1))


@dataclass(frozen=True, eq=False)
class Box:
    """All laws of the positives that selection and the unlabeled rows allow.

    Attributes
    ----------
    positive, marginal : ndarray
        Mass of both laws in cells, scores falling.
    variance : pair of ndarray
        Of these masses.
    share : float
        Labeled share of the marginal sample.
    selection : float
    """

    positive: Floats
    marginal: Floats
    variance: tuple[Floats, Floats]
    share: float
    selection: float

    @classmethod
    def of(cls, scores: PUScores) -> Box:
        """Return the box of these scores, over cells with equal numbers of labeled positives."""
        return cls.over(scores, _cell_edges(scores))

    @classmethod
    def over(cls, scores: PUScores, edges: Floats) -> Box:
        """Return the box over cells with these edges."""
        sums = scores.sums_in_bins(edges)[::-1, :2]
        masses = (sums / sums.sum(axis=0)).T
        rows = scores.effective_positive, scores.effective_marginal
        spread = [x * (1.0 - x) / n for x, n in zip(masses, rows, strict=True)]
        share = scores.labelled_share
        return cls(masses[0], masses[1], (spread[0], spread[1]), share, scores.selection)

    def without_caps(self) -> Box:
        """Return the box with a single cell, which all rows together always allow."""
        one, none = np.ones(1), np.zeros(1)
        return replace(self, positive=one, marginal=one, variance=(none, none))

    def ends(self, prior: float) -> Limits:
        """Return the smallest and largest density against the labeled law."""
        return density(self.share, prior, self.selection)

    def caps(self, prior: float, slack: float = 0.0) -> Floats:
        """Return the largest mass of positives in each cell; never less than the labeled law's."""
        if np.isnan(prior):
            return np.full_like(self.positive, np.inf)
        most = self.ends(prior)[1]
        noise = np.sqrt(self.variance[1] / prior**2 + most**2 * self.variance[0])
        return np.maximum(self.positive, self.marginal / prior + slack * noise)

    def law(self, prior: float, *, top: bool) -> Law:
        """Return the law with the most positives at the top, or with the fewest."""
        low, high = self.ends(prior)
        if not low < high:
            return SAME
        caps = self.caps(prior)
        if top:
            return _filled(self.positive, caps, low, high)
        return _filled(self.positive[::-1], caps[::-1], low, high).mirrored()


def density(share: float, prior: float, selection: float) -> Limits:
    """Return the smallest and largest density where a share of everyone is labeled."""
    labeled = 0.0 if np.isnan(prior) else min(share / prior, 1.0)
    hidden = 1.0 - labeled
    return labeled + hidden / selection, labeled + hidden * selection


def density_ends(scores: PUScores, prior: float) -> Limits:
    """Return the smallest and largest density of the positives against the labeled law."""
    share = 1.0 if scores.prior_is_estimated else scores.labelled_share / prior
    return density(share * prior, prior, scores.selection)


def _filled(mass: Floats, caps: Floats, low: float, high: float) -> Law:
    """Return the law with density `high` from the first cell on, as far as caps and total allow."""
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
    """Whether cells leave room for the positives.

    Parameters
    ----------
    ends : (float, float)
        Smallest and largest density of the positives against the labeled law.
    prior : float
    least, most, marginal : ndarray
        Limits of the labeled law in each cell, and the upper limit of the marginal law.
    """
    room = marginal / prior * (1.0 + ROUNDING)
    fits = bool((ends[0] * least <= room).all())
    return fits and float(np.minimum(ends[1] * most, room).sum()) >= 1.0 - ROUNDING


def _cell_edges(scores: PUScores) -> Floats:
    """Return edges of cells with equal numbers of labeled positives."""
    return scores.kept("cells", lambda: _quantile_edges(scores))


def _quantile_edges(scores: PUScores) -> Floats:
    rows = scores.effective_positive
    n_cells = int(np.cbrt(rows) + 1e-9) if np.isfinite(rows) else EXACT_CELLS
    found = np.unique(scores.positive_quantiles(np.arange(1, n_cells) / max(n_cells, 1)))
    if np.isfinite(rows):
        found = np.unique(np.append(found, _below_ties(scores, found, n_cells)))
    return np.concatenate([[0.0], found[(found > 0.0) & (found < 1.0)], [1.0]])


def _below_ties(scores: PUScores, at: Floats, n_cells: int) -> Floats:
    """Return the labeled scores just below those that at least half a cell of positives share."""
    s, f, a, _ = scores.positive_in_order()
    mass = np.append(0.0, np.cumsum(np.broadcast_to(f * a, s.shape)))
    first, last = (np.searchsorted(s, at, side=side) for side in ("left", "right"))
    heavy = (mass[last] - mass[first]) * 2 * n_cells >= mass[-1]
    return s[first[heavy & (first > 0)] - 1]


class Selected:
    """An ordered view in which the positives have another law; noise passes through it."""

    def __init__(self, steps: Ordered | Cells, law: Law) -> None:
        self.steps, self.law = steps, law
        self.thresholds, self.ppr = steps.thresholds, steps.ppr
        self.tpr = law(steps.tpr)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return what does not depend on the positive law as it is."""
        return getattr(self.steps, name)

    def fpr(self, prior: float) -> Floats:
        """``(PPR - pi TPR) / (1 - pi)``."""
        return (self.ppr - prior * self.tpr) / (1.0 - prior)

    def heights(self, at: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return TPR and PPR at some steps only."""
        return self.tpr[at], self.ppr[at]

    def own_mass(self, at: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the mean share of one positive in both laws, at these steps."""
        positive, marginal = self.steps.own_mass(at)  # type: ignore[union-attr]
        return positive * self.law.slope(self.steps.tpr[at]), marginal

    def variance(self, d_tpr: Floats, d_ppr: Floats, d_prior: float) -> float:
        """Return the variance of a function of the heights, given its derivatives."""
        return self.steps.variance(d_tpr * self.law.slope(self.steps.tpr), d_ppr, d_prior)


class Cells:
    """The ordered view of `noneg.laws.Ordered` over few cells: enough for a variance."""

    def __init__(self, scores: PUScores) -> None:
        edges = scores.kept("noise cells", lambda: _noise_edges(scores))
        sums = scores.sums_in_bins(edges)[::-1]
        self.thresholds = np.append(np.inf, edges[-2::-1])
        self.totals = sums[:, 0].sum(), sums[:, 1].sum()
        self.second = sums[:, 3], sums[:, 4], sums[:, 6]
        self.tpr, self.ppr = (
            np.append(0.0, np.cumsum(sums[:, k]) / self.totals[k]) for k in (0, 1)
        )

    def variance(self, d_tpr: Floats, d_ppr: Floats, _d_prior: float) -> float:
        """Return the variance of a function of the heights, given its derivatives."""
        one, other = (
            self._influence(d, height, total)
            for d, height, total in zip(
                (d_tpr, d_ppr), (self.tpr, self.ppr), self.totals, strict=True
            )
        )
        aa, aw, ww = self.second
        return float(aa @ one**2 + 2.0 * (aw @ (one * other)) + ww @ other**2)

    @staticmethod
    def _influence(derivative: Floats, height: Floats, total: float) -> Floats:
        gradient = np.cumsum(derivative[::-1])[::-1][1:]
        return (gradient - gradient @ np.diff(height)) / total


def running_wins(scores: PUScores) -> Floats:
    """Return running shares of the labeled positives, scores falling, and of the rows they beat.

    Equal scores count half. Made once and kept.
    """
    return scores.kept(("wins", scores.pooled), lambda: _running_wins(scores))


def _running_wins(scores: PUScores) -> Floats:
    (u, f, _, w), (p, g, a, v) = scores.in_order()
    place = placements(p, u, f * w)
    if scores.pooled:
        labeled = scores.labelled_share
        place = (1.0 - labeled) * place + labeled * placements(p, p, g * v)
    mass = np.broadcast_to(g * a, p.shape)
    sums = np.cumsum(np.stack([mass, mass * place])[:, ::-1], axis=1) / mass.sum()
    return np.concatenate([np.zeros((2, 1)), sums], axis=1)


def _noise_edges(scores: PUScores) -> Floats:
    share = np.arange(1, NOISE_CELLS) / NOISE_CELLS
    rows = mass_edges(scores, NOISE_CELLS)
    inner = np.unique(np.concatenate([scores.positive_quantiles(share), rows]))
    return np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])


def over_box(
    scores: PUScores,
    ends: Callable[[Law, float], Limits],
    *,
    box: Box | None = None,
    grid: tuple[int, int] = VALUE_GRID,
) -> Limits:
    """Return the smallest lower and the largest upper end over priors and laws of the positives.

    Parameters
    ----------
    scores : PUScores
    ends : callable
        Maps a law and a prior to a lower and an upper end; monotone in all TPR together.
    box : Box, optional
        By default that of the scores.
    grid : (int, int)
        Priors tried in an interval of them, and how often more are tried around the best one.
    """
    chosen = Box.of(scores) if box is None else box

    def limits(tried: Floats) -> tuple[Floats, Floats]:
        found = np.array(
            [
                [ends(chosen.law(prior, top=top), prior) for top in (True, False)]
                for prior in tried.tolist()
            ]
        )
        return found[..., 0].min(axis=1), found[..., 1].max(axis=1)

    priors = (np.nan, np.nan) if scores.prior is None else scores.prior_set
    return over_priors(limits, priors, *grid)


def bounded(
    scores: PUScores,
    value: float,
    point: Callable[[Law, float], float],
    ends: Callable[[Law, float], Limits],
    level: float,
    *,
    reach: Limits,
    method: str,
    box: Box | None = None,
) -> Estimate:
    """Return an estimate with its identified range and an interval that covers range and noise.

    Parameters
    ----------
    scores : PUScores
    value : float
        The estimate if labeled positives are a random draw.
    point, ends : callable
        The metric, and the ends of its interval, of a law and a prior.
    level : float
    reach : (float, float)
        Range of the metric.
    method : str
    box : Box, optional
    """

    def both(law: Law, prior: float) -> Limits:
        one = point(law, prior)
        return one, one

    identified = over_box(scores, both, box=box)
    # The noise of the caps is not that of a single share: intervals do without them.
    free = (Box.of(scores) if box is None else box).without_caps()
    low, high = over_box(scores, ends, box=free, grid=LIMIT_GRID)
    return assembled(scores, value, identified, (low, high), level, reach=reach, method=method)


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
    """Return an estimate whose interval encloses the identified range, inside the metric's."""
    least, most = (float(np.clip(end, *reach)) for end in identified)
    # An estimate from few rows may lie outside of the range of the metric.
    least, most = min(least, value), max(most, value)
    low, high = (float(np.clip(end, *reach)) for end in limits)
    return Estimate(
        value=value,
        low=min(low, least),
        high=max(high, most),
        level=level,
        method=method + words(scores),
        identified=(least, most),
    )


def words(scores: PUScores) -> str:
    """Return what to add to the description of an interval over priors and selection."""
    return f"{prior_words(scores)}, for selection up to {scores.selection:g}"


def student(scores: PUScores, level: float) -> float:
    """Return Student's quantile of a two-sided level, for the labeled positives."""
    return float(stdtrit(max(scores.effective_positive - 1.0, 1.0), 0.5 + level / 2.0))


def loss_bounds(
    scores: PUScores, loss: Loss, level: float, *, value: float, reach: Limits
) -> Estimate:
    """Return an expected loss with its identified range and interval.

    The range is sharp if ``loss(s, 1) - loss(s, 0)`` is monotone in the score. Else the caps of
    the unlabeled rows are left out, and it may be too wide.
    """
    order = _Gains.of(scores, loss)
    box = Box.of(scores) if order.monotone else Box.of(scores).without_caps()
    base = float(law_means(scores, (), [lambda s: loss(s, 0)]).marginal[0])
    t = student(scores, level)

    def point(law: Law, prior: float) -> float:
        return base + prior * law.mean(order.tpr, order.sums)

    def ends(law: Law, prior: float) -> Limits:
        means = law_means(scores, [order.through(law, loss)], [lambda s: loss(s, 0)])
        noise = t * float(np.sqrt(means.variance([prior, 1.0, 0.0])))
        noise = np.inf if no_spread(scores) else noise
        one = point(law, prior)
        return one - noise, one + noise

    return bounded(scores, value, point, ends, level, reach=reach, method="delta method", box=box)


@dataclass(frozen=True, eq=False)
class _Gains:
    """``loss(s, 1) - loss(s, 0)`` of the labeled positives in an order in which it is monotone."""

    tpr: Floats
    sums: Floats
    gain: Floats
    monotone: bool

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
        return cls(tpr, np.append(0.0, np.cumsum(mass * gain) / total), gain, monotone)

    def through(self, law: Law, loss: Loss) -> Callable[[Floats], Floats]:
        """Return the function of the score whose mean under the labeled law has the same noise."""
        at = np.searchsorted(self.tpr[1:], law.knots - ROUNDING)
        x = self.gain[np.minimum(at, self.gain.size - 1)]
        y = np.append(0.0, np.cumsum(law.slopes * np.diff(x)))
        way = slice(None) if x[-1] >= x[0] else slice(None, None, -1)
        return lambda s: np.interp(loss(s, 1) - loss(s, 0), x[way], y[way])


def smallest_factor(holds: Callable[[float], bool], tolerance: float = TOLERANCE) -> float:
    """Return the smallest factor at which something holds that larger ones keep; by bisection.

    Infinity if it does not hold at `LARGEST`.
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
