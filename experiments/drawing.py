"""The style of the figures in all studies."""

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


def panels(*shape: int, size: tuple[float, float], shade: str | None = "0.9", **options: object):
    """Return a figure and its axes, with gray grid lines in the background."""
    options = {"layout": "constrained"} | options
    figure, axes = plt.subplots(*shape, figsize=size, **options)
    for ax in np.ravel(axes):
        if shade is not None:
            ax.grid(visible=True, which="major", color=shade, lw=0.7)
            ax.set_axisbelow(True)
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
