"""The style of the figures in all studies."""

from collections.abc import Iterable, Sequence

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from experiments.tables import Row, column

# Okabe and Ito's palette, which is safe for all common kinds of color blindness.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE = "#56B4E9", "#CC79A7"


def style(size: float = 12, title: float = 13, legend: float = 11, dpi: int = 130) -> dict:
    return {
        "font.size": size,
        "axes.titlesize": title,
        "legend.fontsize": legend,
        "savefig.dpi": dpi,
    }


def panels(
    *shape: int,
    size: tuple[float, float],
    shade: str | None = "0.9",
    titles: Iterable[str] = (),
    x: str = "",
    y: str | Sequence[str] = "",
    **options: object,
):
    """Return a figure and its axes, with gray grid lines in the background.

    Titles belong to the first row, `x` to the last row, and `y` to the first column.
    """
    figure, axes = plt.subplots(*shape, figsize=size, **({"layout": "constrained"} | options))
    grid = np.atleast_2d(axes)
    for ax in grid.flat if shade else ():
        ax.grid(visible=True, which="major", color=shade, lw=0.7)
        ax.set_axisbelow(True)
    for ax, title in zip(grid[0], titles, strict=False):
        ax.set_title(title)
    for ax in grid[-1]:
        ax.set_xlabel(x)
    for ax, label in zip(grid[:, 0], [y] * len(grid) if isinstance(y, str) else y, strict=True):
        ax.set_ylabel(label)
    return figure, axes


def bare(ax: plt.Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def line(ax: plt.Axes, rows: list[Row], x: str, y: str, scale: float = 1.0, **look: object) -> None:
    ax.plot(column(rows, x), scale * column(rows, y), **look)


def legend_below(figure: plt.Figure, *entries: tuple[str, dict], ncols: int | None = None) -> None:
    """Add a legend for styles that are used in several panels."""
    handles = [plt.Line2D([], [], label=label, **look) for label, look in entries]
    figure.legend(handles=handles, loc="outside lower center", ncols=ncols or len(entries))


def shared_legend(figure: plt.Figure, ax: plt.Axes, ncols: int, **options: object) -> None:
    """Put the legend of one panel below all of them."""
    options = {"loc": "outside lower center"} | options
    figure.legend(*ax.get_legend_handles_labels(), ncols=ncols, **options)
