"""The looks that displays share, and the axes of a reliability diagram with its histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

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

# Colours of Okabe and Ito (2008), told apart by colour-blind readers; markers and dashes tell the
# curves apart in greyscale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

MARKERS = ("o", "s", "D", "v", "P", "X")

DASHES = ("-", "--", "-.", ":")

LIMITS = (-0.03, 1.03)


def require_matplotlib() -> None:
    """Say how to install matplotlib where it is missing."""
    with optional("noneg.plots"):
        import_module("matplotlib")


def curve_style(number: int) -> dict[str, Any]:
    """Return the look of curve number so and so."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 0.9,
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4.5,
        "zorder": 3,
    }


def line_properties(kwargs: dict[str, object]) -> dict[str, Any]:
    """Write short names in full, so that they replace ours."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes to draw on: the one given, or a new one."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.8, 4.8), layout="constrained")[1]


def unit_square(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Set up axes of two shares."""
    ax.set(xlim=LIMITS, ylim=LIMITS, xlabel=xlabel, ylabel=ylabel)
    ax.set_xticks(np.linspace(0.0, 1.0, 6))
    ax.set_yticks(np.linspace(0.0, 1.0, 6))
    ax.spines[["top", "right"]].set_visible(False)


def curve_number(ax: Axes, kind: str) -> int:
    """Return how many curves of a kind an axes holds already, and count one more."""
    key = f"noneg_{kind}"
    number = int(vars(ax).get(key, 0))
    vars(ax)[key] = number + 1
    return number


def count(n: float, noun: str) -> str:
    """Return a number with its noun."""
    number = "infinitely many" if np.isinf(n) else f"{n:,.0f}"
    return f"{number} {noun}{'s' * (n != 1)}"


_SHIFTS = (0.0, 2.0, -2.0, 4.0, -4.0, 6.0)  # points to the right, so that no bar hides another

_WIDE, _HIGH = 0.6, 0.3  # the corner that a legend may need

_SHORT = 24  # letters of a name that leave room for a second column

_KEY = "noneg_canvas"


@dataclass(kw_only=True)
class Canvas:
    """What the displays on an axes share; kept with the axes, where the next display finds it."""

    ax: Axes
    histogram: Axes | None
    diagonal: Line2D
    bars: list[LineCollection] = field(default_factory=list)

    def write_legend(self) -> Legend:
        """Name the curves, then the marks, in a free corner off the diagonal or above 1."""
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
        """Return how many ends of intervals lie in the upper left and in the lower right corner."""
        ends = np.concatenate([end for bars in self.bars for end in bars.get_segments()])
        upper, lower = (
            int(((x < _WIDE) & (y > 1.0 - _HIGH)).sum()) for x, y in (ends.T, 1.0 - ends.T)
        )
        return upper, lower


def find_canvas(ax: Place | None, *, with_histogram: bool) -> Canvas:
    """Return the canvas of an axes, prepared when it is first drawn on."""
    main, below = _split(_new_axes(with_histogram=with_histogram) if ax is None else ax)
    canvas: Canvas | None = vars(main).get(_KEY)
    if canvas is None or canvas.diagonal.axes is None:
        if canvas is not None and canvas.histogram is not None:  # the axes was cleared
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


def _new_axes(*, with_histogram: bool) -> Axes:
    import matplotlib.pyplot as plt

    size = (4.8, 6.0) if with_histogram else (4.8, 4.8)
    return plt.subplots(figsize=size, layout="constrained")[1]


def _prepare(ax: Axes) -> Line2D:
    """Set up limits, labels and the diagonal, which is returned."""
    (diagonal,) = ax.plot(
        [0.0, 1.0],
        [0.0, 1.0],
        color="0.6",
        linewidth=1.0,
        label="perfect calibration",
        zorder=1.5,
    )
    ax.set(xlim=LIMITS, ylim=LIMITS, xlabel="score", ylabel="share of positives")
    ax.set_xticks(np.linspace(0.0, 1.0, 6))
    ax.set_yticks(np.linspace(0.0, 1.0, 6))
    ax.spines[["top", "right"]].set_visible(False)
    return diagonal


def _add_panel(ax: Axes) -> Axes | None:
    """Give the lower part of an axes' place in a grid to a second one."""
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
    panel.margins(y=0.4)  # room for the legend
    panel.yaxis.set_major_locator(MaxNLocator(3))
    panel.spines[["top", "right"]].set_visible(False)
    ax.figure.align_ylabels([ax, panel])


def shifted(ax: Axes, number: int) -> Transform:
    """Return the transform that sets a curve beside the others."""
    from matplotlib.transforms import ScaledTranslation

    inches = _SHIFTS[number % len(_SHIFTS)] / 72.0
    return ax.transData + ScaledTranslation(inches, 0.0, ax.figure.dpi_scale_trans)
