"""The common style of displays, and the axes of a reliability diagram with its histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from noneg.errors import InputError
from noneg.extras import optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

    Place: TypeAlias = Axes | Sequence[Axes]

# Colors from Okabe and Ito (2008), which color-blind readers can distinguish; markers and dashes
# distinguish the curves in grayscale.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

MARKERS = ("o", "s", "D", "v", "P", "X")

DASHES = ("-", "--", "-.", ":")

LIMITS = (-0.03, 1.03)


def require_matplotlib() -> None:
    """Raise an error that explains how to install matplotlib if it is missing."""
    with optional("noneg.plots"):
        import_module("matplotlib")


def curve_style(number: int) -> dict[str, Any]:
    """Return the style of the curve with the given number."""
    return {
        "color": COLORS[number % len(COLORS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 0.9,
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4.5,
        "zorder": 3,
    }


def line_properties(kwargs: dict[str, object]) -> dict[str, Any]:
    """Expand abbreviated property names, so that they override the defaults."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)


def new_axes(ax: Axes | None, height: float = 4.8) -> Axes:
    """Return the given axes, or new ones if None."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.8, height), layout="constrained")[1]


@dataclass(kw_only=True, eq=False, repr=False)
class Display:
    """Base class of displays, with the name for the legend and the axes it was drawn on."""

    name: str | None = None

    def begin(self, ax: Axes | None) -> Axes:
        """Return the axes to draw on, creating new ones if None."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        return self.ax_

    def finish(self, loc: Literal["best", "lower left", "lower right"] = "best") -> Self:
        """Remove the frame and add the legend."""
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(loc=loc, fontsize="small", edgecolor="none")
        return self


def unit_square(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Set up axes that both show shares from 0 to 1."""
    ax.set(xlim=LIMITS, ylim=LIMITS, xlabel=xlabel, ylabel=ylabel)
    ax.set_xticks(np.linspace(0.0, 1.0, 6))
    ax.set_yticks(np.linspace(0.0, 1.0, 6))
    ax.spines[["top", "right"]].set_visible(False)


def curve_number(ax: Axes, kind: str) -> int:
    """Return the number of curves of a kind already on the axes, and add one to the count."""
    key = f"noneg_{kind}"
    number = int(vars(ax).get(key, 0))
    vars(ax)[key] = number + 1
    return number


# Shift in points to the right, so that bars do not overlap.
_SHIFTS = (0.0, 2.0, -2.0, 4.0, -4.0, 6.0)

_WIDE, _HIGH = 0.6, 0.3  # Size of the corner that a legend may need.

_SHORT = 24  # Longest name that leaves room for a second column.

_KEY = "noneg_canvas"


@dataclass(kw_only=True)
class Canvas:
    """State shared by the displays on the same axes; stored with the axes for the next display."""

    ax: Axes
    histogram: Axes | None
    diagonal: Line2D
    bars: list[LineCollection] = field(default_factory=list)

    def write_legend(self) -> Legend:
        """Add a legend of curves and marks in a free corner off the diagonal or above 1."""
        handles, labels = self.ax.get_legend_handles_labels()
        order = np.roll(np.arange(len(labels)), len(self.bars))
        upper, lower = self._crowding()
        full = bool(upper and lower)
        columns = 2 if full and max(map(len, labels)) <= _SHORT else 1
        room = 0.03 + 0.06 * np.ceil(len(labels) / columns) if full else 0.0
        bottom, top = LIMITS
        self.ax.set_ylim(top=bottom + (top - bottom) / (1.0 - room))
        return self.ax.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="upper center" if full else "lower right" if upper else "upper left",
            ncols=columns,
            fontsize="small",
            edgecolor="none",
        )

    def _crowding(self) -> tuple[int, int]:
        """Return the number of interval ends in the upper left and lower right corners."""
        ends = np.concatenate([end for bars in self.bars for end in bars.get_segments()])
        upper, lower = (
            int(((x < _WIDE) & (y > 1.0 - _HIGH)).sum()) for x, y in (ends.T, 1.0 - ends.T)
        )
        return upper, lower


def find_canvas(ax: Place | None, *, with_histogram: bool) -> Canvas:
    """Return the canvas of the axes, creating it on first use."""
    main, below = _split(
        new_axes(None, height=6.0 if with_histogram else 4.8) if ax is None else ax
    )
    canvas: Canvas | None = vars(main).get(_KEY)
    if canvas is None or canvas.diagonal.axes is None:
        if canvas is not None and canvas.histogram is not None:  # The axes were cleared.
            below = canvas.histogram
            below.clear()
        canvas = Canvas(ax=main, histogram=None, diagonal=_prepare(main))
        vars(main)[_KEY] = canvas
    if with_histogram and canvas.histogram is None:
        canvas.histogram = _add_panel(main) if below is None else below
        if canvas.histogram is not None:
            _prepare_panel(main, canvas.histogram)
    return canvas


def _split(ax: Place) -> tuple[Axes, Axes | None]:
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax, None
    if len(ax) != 2:
        msg = f"must be an Axes, or a pair for diagram and histograms, got {len(ax)} of them."
        raise InputError("ax", msg)
    return ax[0], ax[1]


def _prepare(ax: Axes) -> Line2D:
    """Set up limits and labels, draw the diagonal, and return it."""
    (diagonal,) = ax.plot(
        [0.0, 1.0],
        [0.0, 1.0],
        color="0.6",
        linewidth=1.0,
        label="perfect calibration",
        zorder=1.5,
    )
    unit_square(ax, "score", "share of positives")
    return diagonal


def _add_panel(ax: Axes) -> Axes | None:
    """Add second axes in the lower part of the grid cell of the given axes."""
    place = ax.get_subplotspec()
    if place is None:
        return None
    grid = place.subgridspec(2, 1, height_ratios=[3.4, 1.2], hspace=0.06)
    ax.set_subplotspec(grid[0, 0])
    panel = ax.figure.add_subplot(grid[1, 0], sharex=ax)
    ax.figure.sca(ax)
    return panel


def _prepare_panel(ax: Axes, panel: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("")
    ax.tick_params(labelbottom=False)
    panel.set(xlim=ax.get_xlim(), xlabel="score", ylabel="share per bin")
    panel.set_xticks(ax.get_xticks())
    panel.margins(y=0.4)  # Room for the legend.
    panel.yaxis.set_major_locator(MaxNLocator(3))
    panel.spines[["top", "right"]].set_visible(False)
    ax.figure.align_ylabels([ax, panel])


def shifted(ax: Axes, number: int) -> Transform:
    """Return the transform that shifts a curve sideways from the others."""
    from matplotlib.transforms import ScaledTranslation

    inches = _SHIFTS[number % len(_SHIFTS)] / 72.0
    return ax.transData + ScaledTranslation(inches, 0.0, ax.figure.dpi_scale_trans)
