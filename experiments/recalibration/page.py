"""Tables (tables.md) and figures, computed from the stored results."""

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import panels, shared_legend
from experiments.tables import Tables, column, distinct, pick

# Methods in the stored tables that fit a map; "auto" chooses among them.
NAMES = ["temperature", "platt", "beta", "bpm", "mix-n-match", "spline", "histogram"]
NAMES += ["scaling-binning", "isotonic", "auto"]
# From the paper's Tables 1 and 5.
PAPER = ("temperature", "isotonic", "mix-n-match", "spline", "bpm")
# Curves that can be fitted by likelihood.
CURVES = ("platt", "temperature", "beta", "spline", "bpm")
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
METRICS = ("ece", "debiased", "sweep", "ks", "smooth", "bpm")
# The networks closest to those in the paper's tables; the first is identical.
NETWORKS = ("resnet110_kull cifar10", "wide_resnet_brier cifar100", "densenet161 imagenet")
RATES = (0.2, 0.5, 0.8)
COLORS = dict(zip(NAMES, plt.get_cmap("tab10").colors, strict=False))


def draw_synthetic(tables: Tables) -> plt.Figure:
    worlds = distinct(tables("synthetic"), "world")
    size, options = (10, 4 * len(worlds)), {"sharey": "row", "squeeze": False}
    figure, axes = panels(len(worlds), 2, size=size, shade=None, layout=None, **options)
    for panel_row, world in zip(axes, worlds, strict=True):
        rows = pick(tables("synthetic"), world=world)
        for ax, data in zip(panel_row, ("PU", "labeled"), strict=True):
            for method in NAMES:
                mine = pick(rows, method=method, data=data)
                sizes = distinct(mine, "n_positive")
                means = [column(pick(mine, n_positive=n), "error").mean() for n in sizes]
                ax.plot(sizes, means, marker="o", ms=3, label=method, color=COLORS[method])
            start = pick(rows, method="none")[0]["error"]
            ax.axhline(start, color="black", ls="--", label="before")
            ax.set(xscale="log", yscale="log", xlabel="positives (all rows: 11 times as many)")
            ax.set_xticks(SIZES, [f"{n}" for n in SIZES], minor=False)
            ax.minorticks_off()
            ax.set_title(f"{world}: {data}")
        panel_row[0].set_ylabel("true calibration error after")
    shared_legend(figure, axes[0][0], 6, fontsize=8, loc="lower center")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def draw_networks_hidden(tables: Tables) -> plt.Figure:
    label = "change of the test ECE, labels hidden in fitting"
    figure, axes = panels(1, 3, size=(13, 4.2), shade=None, layout=None, y=label)
    for ax, network in zip(axes, NETWORKS, strict=True):
        for k, rate in enumerate(RATES):
            rows, means = pick(tables("networks_hidden"), network=network, rate=rate), []
            places = np.arange(len(NAMES)) + 0.25 * (k - 1)
            for place, method in zip(places, NAMES, strict=True):
                values = column(pick(rows, method=method), "ece_change")
                ax.plot([place] * values.size, values, ".", ms=4, color=f"C{k}")
                means.append(values.mean())
            ax.plot(places, means, "_", ms=9, mew=2, color=f"C{k}", label=f"{rate} of hits marked")
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=60, ha="right", fontsize=8)
        ax.set_title(network, fontsize=10)
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    return figure
