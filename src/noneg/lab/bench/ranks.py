"""Tests for differences between methods: Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from noneg.errors import InputError
from noneg.lab.bench.measures import columns, find_sign
from noneg.plots.base import COLORS, require_matplotlib
from noneg.results import to_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

    from noneg.lab.bench.summaries import Cell

_GAP = 0.025  # Distance between columns of bars, as a share of the axis.


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Mean ranks of methods over worlds, best first.

    Attributes
    ----------
    methods : tuple of str
    mean_ranks : tuple of float
        1 is best; equal values share a rank.
    worlds : int
    p_value : float
        P-value of Friedman's test; the null hypothesis is that all methods are equivalent.
    critical_difference : float
        Mean ranks that differ by more than this are significantly different (Nemenyi; Demsar 2006).
    level : float
        Confidence level of the critical difference.
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    worlds: int
    p_value: float
    critical_difference: float
    level: float

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Maximal groups of methods that do not differ significantly."""
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(self.mean_ranks):
            within = [k for k, r in enumerate(self.mean_ranks) if r - rank >= 0]
            last = max(k for k in within if self.mean_ranks[k] - rank <= self.critical_difference)
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return tuple(self.methods[first : last + 1] for first, last in found)


def rank_methods(
    cells: Iterable[Cell], *, metric: str, criterion: str, level: float = 0.95
) -> Ranks:
    r"""Rank methods in every world, and test whether they differ.

    The critical difference is :math:`q_\alpha \sqrt{k(k+1)/6N}` for k methods and N worlds, with
    the quantile of the studentized range divided by :math:`\sqrt 2`.

    Parameters
    ----------
    cells : iterable of Cell
        Cells from `summarize`; methods that are missing from some world are left out.
    metric, criterion : str
        The metric registry determines whether larger values are better.
    level : float

    Examples
    --------
    >>> from noneg.lab.bench.summaries import Cell
    >>> rest = {"metric": "accuracy", "criterion": "pa", "std": 0.0, "error": 0.0, "splits": 1}
    >>> cells = [
    ...     Cell(world=(world,), method=method, mean=mean, **rest)
    ...     for world in range(10)
    ...     for method, mean in (("a", 0.9), ("b", 0.8), ("c", 0.7))
    ... ]
    >>> found = rank_methods(cells, metric="accuracy", criterion="pa")
    >>> found.mean_ranks, round(found.critical_difference, 3), found.groups
    ((1.0, 2.0, 3.0), 1.048, (('a', 'b'), ('b', 'c')))
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    sign = find_sign(metric, columns(), "metric")
    chosen = [c for c in cells if (c.metric, c.criterion) == (metric, criterion)]
    worlds = list(dict.fromkeys(c.world for c in chosen))
    means = {(c.world, c.method): c.mean for c in chosen if not math.isnan(c.mean)}
    every = dict.fromkeys(c.method for c in chosen)
    methods = [m for m in every if all((w, m) in means for w in worlds)]
    if len(methods) < 3 or len(worlds) < 2:
        msg = (
            "must include at least three methods in at least two worlds for a ranking, got "
            f"{len(methods)} methods in {len(worlds)} worlds. A world is a data set with a case, "
            "a setting, a rate and a given prior; each method needs records in all of them."
        )
        raise InputError("cells", msg)
    values = np.array([[means[w, m] for m in methods] for w in worlds])
    mean = rankdata(-sign * values, axis=1).mean(axis=0)
    order, k = np.argsort(mean, kind="stable"), len(methods)
    quantile = float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2.0)
    return Ranks(
        methods=tuple(methods[i] for i in order),
        mean_ranks=tuple(float(mean[i]) for i in order),
        worlds=len(worlds),
        p_value=float(friedmanchisquare(*values.T).pvalue),
        critical_difference=quantile * math.sqrt(k * (k + 1) / (6.0 * len(worlds))),
        level=level,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class CriticalDifferenceDisplay:
    """Critical-difference diagram with one row per method, best first, and mean ranks as points.

    Methods joined by a bar on the right do not differ significantly (Nemenyi's test after
    Friedman's; Demsar 2006). The ruler at the top shows the critical difference.

    Parameters
    ----------
    ranks : Ranks
        From `rank_methods`.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    points_ : Line2D
    bars_ : list of Line2D
        One bar per group of methods that do not differ significantly.
    ruler_ : Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.lab.bench import CriticalDifferenceDisplay, Ranks
    >>> ranks = Ranks(
    ...     methods=("nnpu", "vpu", "upu"),
    ...     mean_ranks=(1.2, 1.9, 2.9),
    ...     worlds=10,
    ...     p_value=0.001,
    ...     critical_difference=1.05,
    ...     level=0.95,
    ... )
    >>> display = CriticalDifferenceDisplay(ranks=ranks).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()], len(display.bars_)
    (['nnpu', 'vpu', 'upu'], 2)
    >>> plt.close(display.figure_)
    """

    ranks: Ranks

    figure_: Figure | SubFigure = field(init=False)
    ax_: Axes = field(init=False)
    points_: Line2D = field(init=False)
    bars_: list[Line2D] = field(init=False)
    ruler_: Line2D = field(init=False)

    @classmethod
    def from_cells(
        cls,
        cells: Iterable[Cell],
        *,
        metric: str,
        criterion: str,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Self:
        """Rank the methods in a benchmark and draw the diagram.

        Parameters
        ----------
        cells : iterable of Cell
            From `summarize`.
        metric, criterion : str
        level : float
        ax : Axes, optional
        """
        ranks = rank_methods(cells, metric=metric, criterion=criterion, level=level)
        return cls(ranks=ranks).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : Axes, optional
            By default, new axes sized for the number of methods.
        """
        ranks, count = self.ranks, len(self.ranks.methods)
        self.ax_ = ax = _axes(count) if ax is None else ax
        self.figure_ = ax.figure
        rows = range(count)
        ax.hlines(rows, 1.0, ranks.mean_ranks, color="0.88", linewidth=0.8, zorder=1)
        (self.points_,) = ax.plot(
            ranks.mean_ranks, rows, "o", color=COLORS[0], markersize=5, zorder=3
        )
        self.bars_ = self._draw_bars(count)
        self._draw_ruler()
        ax.set_yticks(rows, ranks.methods)
        ax.set(ylim=(count - 0.5, -2.2), xlabel=self._label())
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set_bounds(1.0, count)
        step = max(1, round(count / 8))
        ax.set_xticks(range(1, count + 1, step))
        return self

    def _draw_bars(self, count: int) -> list[Line2D]:
        """Join methods that do not differ significantly, in as few columns as possible."""
        place = {method: row for row, method in enumerate(self.ranks.methods)}
        ends: list[int] = []
        bars = []
        for group in self.ranks.groups:
            first, last = place[group[0]], place[group[-1]]
            column = next((k for k, end in enumerate(ends) if end < first), len(ends))
            ends[column : column + 1] = [last]
            x = count * (1.0 + _GAP * (column + 2))
            bars += self.ax_.plot(
                [x, x],
                [first - 0.25, last + 0.25],
                color=COLORS[1],
                linewidth=2.5,
                solid_capstyle="butt",
            )
        return bars

    def _draw_ruler(self) -> None:
        width, row = self.ranks.critical_difference, -1.1
        start = self.ranks.mean_ranks[0]
        (self.ruler_,) = self.ax_.plot(
            [start, start + width], [row, row], color="0.2", marker="|", linewidth=1.5
        )
        text = f"critical difference {width:.2f} ({self.ranks.level:.0%})"
        self.ax_.text(start, row - 0.3, text, va="bottom", ha="left", fontsize="small")

    def _label(self) -> str:
        ranks = self.ranks
        p = "p < 0.001" if ranks.p_value < 0.001 else f"p = {ranks.p_value:.3f}"  # noqa: PLR2004
        return f"mean rank over {ranks.worlds} worlds; 1 is best (Friedman {p})"

    def frame(self, backend: str | None = None) -> object:
        """Return the mean rank of each method."""
        names, means = np.array(self.ranks.methods), np.array(self.ranks.mean_ranks)
        return to_frame({"method": names, "mean_rank": means}, backend)


def _axes(rows: int) -> Axes:
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 1.3 + 0.22 * rows), layout="constrained")[1]
