"""Colours, marks and words that the displays share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.extras import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
