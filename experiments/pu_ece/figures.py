"""Draw the figures of this experiment, and fill the tables of its README, from its csv files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

# Okabe and Ito's palette, told apart under every common colour blindness.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
STYLES = {
    4: {
        "n_P = N, n_U = inf": (BLUE, "o", r"PU-ECE, $n_P=N,\ n_U=\infty$"),
        "n_P = inf, n_U = N": (ORANGE, "s", r"PU-ECE, $n_P=\infty,\ n_U=N$"),
        "n_P = N, n_U = 10 N": (GREEN, "^", r"PU-ECE, $n_P=N,\ n_U=10N$"),
        "labelled, n = N": (VERMILION, "D", r"labelled ECE, $n=N$"),
    },
    5: {
        "n_P = 100, n_U = N": (ORANGE, "s", r"$n_P=100,\ n_U=N$"),
        "n_P = 1000, n_U = N": (GREEN, "^", r"$n_P=1{,}000,\ n_U=N$"),
        "n_P = 10000, n_U = N": (VERMILION, "D", r"$n_P=10{,}000,\ n_U=N$"),
        "n_P = N, n_U = inf": (BLUE, "o", r"$n_P=N,\ n_U=\infty$"),
    },
}
TEXT = {"font.size": 12, "axes.titlesize": 13, "legend.fontsize": 11, "savefig.dpi": 130}
WORLDS = ("less calibrated", "better calibrated")
Row = dict[str, str]


def read(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def column(rows: list[Row], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])


def pick(rows: list[Row], **wanted: str) -> list[Row]:
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def draw_curve(ax: plt.Axes, rows: list[Row], style: tuple[str, str, str]) -> None:
    colour, marker, label = style
    n = column(rows, "n")
    ax.fill_between(n, column(rows, "low"), column(rows, "high"), color=colour, alpha=0.12, lw=0)
    ax.plot(n, column(rows, "bias"), color=colour, marker=marker, ms=5, lw=2, label=label)


def draw_guide(ax: plt.Axes, start: float) -> None:
    n = np.array([10.0, 10_000.0])
    guide = start * (n / n[0]) ** (-1 / 3)
    ax.plot(n, guide, color="black", ls=":", lw=1.8, label=r"slope $N^{-1/3}$")


def finish(ax: plt.Axes, world: str, low: float, high: float) -> None:
    ax.set(xscale="log", yscale="log", xlim=(9, 11_000), ylim=(low, high))
    ax.set(title=f"{world.capitalize()} classifier", xlabel="$N$ (log scale)")
    ax.grid(visible=True, which="major", color="0.88", lw=0.7)
    ax.set_axisbelow(True)


def two_panels(height: float) -> tuple[plt.Figure, np.ndarray]:
    figure, axes = plt.subplots(1, 2, figsize=(12, height), sharey=True, layout="constrained")
    axes[0].set_ylabel("total bias |ECE $-$ TCE| (log scale)")
    return figure, axes


def legend_below(figure: plt.Figure, ax: plt.Axes, columns: int) -> None:
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def draw_figure4(folder: Path) -> None:
    rows = read(folder / "figure4.csv")
    figure, axes = two_panels(6.6)
    for ax, world in zip(axes, WORLDS, strict=True):
        for setting, style in STYLES[4].items():
            curve = pick(rows, world=world, setting=setting)
            draw_curve(ax, curve, style)
            ax.plot(column(curve, "n"), column(curve, "bound"), color=style[0], ls="--", lw=1.4)
        draw_guide(ax, 0.45)
        ax.plot([], [], color="0.35", ls="--", lw=1.4, label="bound on the mean, same colours")
        ax.fill_between([], [], [], color="0.35", alpha=0.2, lw=0, label="90 % of trials")
        finish(ax, world, 4e-4, 8)
    legend_below(figure, axes[0], 4)
    figure.savefig(folder / "figure4.png")


def draw_figure5(folder: Path) -> None:
    rows, floors = read(folder / "figure5.csv"), read(folder / "floors.csv")
    figure, axes = two_panels(6.2)
    for ax, world in zip(axes, WORLDS, strict=True):
        for setting, style in STYLES[5].items():
            draw_curve(ax, pick(rows, world=world, setting=setting), style)
        for row in pick(floors, world=world):
            colour = STYLES[5][f"n_P = {row['n_positive']}, n_U = N"][0]
            ax.axhline(float(row["floor"]), color=colour, ls="--", lw=1.2)
        draw_guide(ax, 0.45)
        ax.plot([], [], color="0.35", ls="--", lw=1.2, label=r"floor, $n_U=\infty$, same colours")
        ax.fill_between([], [], [], color="0.35", alpha=0.2, lw=0, label="90 % of trials")
        finish(ax, world, 4e-4, 0.6)
    legend_below(figure, axes[0], 4)
    figure.savefig(folder / "figure5.png")


def draw_figure6(folder: Path) -> None:
    rows, curve = read(folder / "figure6.csv"), read(folder / "figure6_curve.csv")
    figure, axes = plt.subplots(1, 2, figsize=(12, 6.4), sharey=True, layout="constrained")
    for ax, (binning, title) in zip(
        axes, {"width": "15 bins of equal width", "mass": "15 bins of equal mass"}.items(),
        strict=True,
    ):
        points = pick(rows, binning=binning)
        ax.plot([0, 1], [0, 1], color="0.55", ls=":", lw=1.6, label="perfect calibration")
        ax.plot(column(curve, "score"), column(curve, "posterior"), color="black", lw=1.6,
                label="true curve $P(Y=1\\mid f)$")
        ax.plot(column(points, "true_score"), column(points, "true_frequency"), ls="", marker="o",
                ms=11, mfc="none", mec=VERMILION, mew=1.6, label="true value of the bin")
        ax.errorbar(column(points, "score"), column(points, "frequency"), column(points, "sd"),
                    color=BLUE, ls="", marker="o", ms=5, capsize=4, lw=1.6,
                    label="PU estimate, mean and sd of the trials")
        ax.set(title=title, xlabel="mean score of the bin", xlim=(-0.02, 1.02), ylim=(-0.02, 1.1),
               aspect="equal")
        ax.grid(visible=True, color="0.9", lw=0.7)
        ax.set_axisbelow(True)
    axes[0].set_ylabel("frequency of positives")
    legend_below(figure, axes[0], 4)
    figure.savefig(folder / "figure6.png")


def draw_all(folder: Path) -> None:
    with plt.rc_context(TEXT):
        draw_figure4(folder)
        draw_figure5(folder)
        draw_figure6(folder)
    plt.close("all")


def fill_readme(folder: Path, versions: str) -> None:
    pass
