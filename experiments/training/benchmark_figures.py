"""Figures for the page: labeling rates, wrong priors, ranks, and both calibration errors."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from experiments.drawing import panels
from experiments.tables import Tables
from experiments.training import benchmark_page, findings
from experiments.training.plan import CORRECTED
from experiments.training.selections import WORLD_NAMES, all_runs, title
from noneg.lab.bench import CriticalDifferenceDisplay, load_records
from noneg.learning.algorithms import ALGORITHMS
from noneg.plots.base import COLORS, DASHES, MARKERS


@cache
def stored(folder: Path) -> pd.DataFrame:
    return all_runs(load_records(folder / "records.jsonl"))


def bare(ax: plt.Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def text_README(tables: Tables) -> str:  # noqa: N802
    return benchmark_page.text(stored(tables.folder))


def draw_ranks(tables: Tables) -> plt.Figure:
    ranks = findings.ranks(stored(tables.folder), "accuracy", "proxy_accuracy")
    return CriticalDifferenceDisplay(ranks=ranks).plot().figure_


def draw_rates(tables: Tables) -> plt.Figure:
    """Plot accuracy against the share of labeled rows, with and without correction."""
    cells = findings.rate_table(stored(tables.folder))
    shape = {"size": (13, 5), "shade": None, "sharex": True, "sharey": "row"}
    figure, axes = panels(2, len(CORRECTED), **shape)
    for row, dataset in zip(axes, ("usps", "letter"), strict=True):
        for ax, name in zip(row, CORRECTED, strict=True):
            for k, (correction, label) in enumerate((("none", "as it is"), ("batch", "corrected"))):
                found = findings.rate_line(cells, dataset, name, correction)
                points = 100 * found.index.to_numpy(float), found["mean"], found["sem"]
                look = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": DASHES[1 - k]}
                ax.errorbar(*points, **look, markersize=4, label=label)
            bare(ax)
            ax.set_title(ALGORITHMS[name].title if dataset == "usps" else "", fontsize="medium")
        row[0].set_ylabel(f"{WORLD_NAMES[dataset]} accuracy, %")
    for ax in axes[1]:
        ax.set_xlabel("labeled rows, %")
    axes[0, 0].legend(fontsize="small", edgecolor="none")
    return figure


def draw_priors(tables: Tables) -> plt.Figure:
    """Plot accuracy and calibration error against the given prior."""
    cells = findings.told_cells(stored(tables.folder))
    figure, axes = panels(1, 2, size=(9, 3.6), shade=None)
    shown = (("accuracy", 100, "accuracy, %"), ("ece", 1, "true calibration error"))
    for ax, (metric, scale, label) in zip(axes, shown, strict=True):
        for k, (method, found) in enumerate(cells.items()):
            y = [scale * own[metric].mean() for own in found.values()]
            look = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": DASHES[k % 4]}
            ax.plot(list(found), y, **look, markersize=4.5, label=title(method))
        ax.axvline(0.5, color="0.85", zorder=0)
        ax.set(xlabel="prior that was told (true: 0.5)", ylabel=label)
        ax.set_xticks(sorted({p for found in cells.values() for p in found}))
        bare(ax)
    axes[0].legend(fontsize="small", edgecolor="none")
    return figure


def draw_calibration(tables: Tables) -> plt.Figure:
    """Plot PU-ECE against the true error, one point per run."""
    found = findings.agreement(stored(tables.folder))
    values = found["pairs"]
    figure, ax = panels(size=(4.8, 4.6), shade=None)
    top = 1.05 * float(np.nanmax(values))
    ax.plot([0, top], [0, top], color="0.7", linewidth=1)
    ax.plot(values[:, 1], values[:, 0], ".", color=COLORS[0], alpha=0.4, markersize=5)
    ax.set_title(f"{len(values)} runs, correlation {found['pearson'].value:.2f}")
    ax.set_xlabel("true calibration error, test rows")
    ax.set_ylabel("PU-ECE, validation rows without negatives")
    bare(ax)
    return figure
