"""Draw this experiment's figures from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from measures import CALIBRATORS, NAMES

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).parents[1]))
from pages import pick, read

if TYPE_CHECKING:
    from types import ModuleType

# Okabe and Ito's palette, told apart under every common colour blindness.
BLUE, SKY, VERMILION, ORANGE = "#0072B2", "#56B4E9", "#D55E00", "#E69F00"
LOOKS = {
    "PN-logistic": {"color": BLUE, "marker": "o", "ls": "-"},
    "PN-sigmoid": {"color": SKY, "marker": "s", "ls": "-"},
    "PU-sigmoid": {"color": ORANGE, "marker": "^", "ls": "-"},
    "PU-logistic": {"color": VERMILION, "marker": "D", "ls": "-"},
    "PU-mixed-sigmoid": {"color": ORANGE, "marker": "v", "ls": ":"},
    "PU-mixed-logistic": {"color": VERMILION, "marker": "X", "ls": ":"},
    "PU-GA-sigmoid": {"color": ORANGE, "marker": "^", "ls": "--", "mfc": "white"},
    "PU-GA-logistic": {"color": VERMILION, "marker": "D", "ls": "--", "mfc": "white"},
}
TEXT = {"font.size": 12, "axes.titlesize": 13, "legend.fontsize": 11, "savefig.dpi": 130}
TITLES = {"": "as trained", "_platt": "Platt", "_isotonic": "isotonic", "_auto": "Auto"}


def draw_errors(ax: plt.Axes, rows: list[dict], column: str) -> None:
    for name, look in LOOKS.items():
        own = pick(rows, name=name)
        n, mean, error = (
            np.array([float(r[c]) for r in own]) for c in ("n", column, f"{column}_se")
        )
        band = {"color": look["color"], "alpha": 0.2, "lw": 0}
        ax.fill_between(n, mean - error, mean + error, **band)
        ax.plot(n, mean, **look, ms=6, lw=2, label=name)
    ax.set(xscale="log", yscale="log", xlabel="labelled images (for PU: positives)")
    ax.grid(visible=True, which="major", color="0.88", lw=0.7)
    ax.set_axisbelow(True)


def draw_figure1(folder: Path) -> None:
    rows = pick(read(folder / "summary.csv"), data="mnist")
    figure, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
    draw_errors(ax, rows, "ece")
    ax.set_ylabel("ECE on test images (log scale)")
    ax.set_title("MNIST, digits 5 to 9 positive; bands: standard error")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(folder / "figure1.png")


def draw_recalibration(folder: Path) -> None:
    rows = pick(read(folder / "summary.csv"), data="mnist")
    suffixes = ["", *(f"_{c}" for c in CALIBRATORS)]
    figure, axes = plt.subplots(
        1, len(suffixes), figsize=(15, 5.4), sharex=True, sharey=True, layout="constrained"
    )
    for ax, suffix in zip(axes, suffixes, strict=True):
        draw_errors(ax, rows, f"ece{suffix}")
        ax.set_title(TITLES[suffix])
        ax.set_xlabel("labelled images")
    axes[0].set_ylabel("ECE on test images (log scale)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    figure.savefig(folder / "recalibration.png")


def draw_histograms(folder: Path, kind: str, path: Path) -> None:
    rows = read(folder / "histograms.csv")
    figure, axes = plt.subplots(2, 4, figsize=(16, 7.2), layout="constrained")
    for ax, name in zip(axes.flat, NAMES, strict=True):
        own = pick(rows, world=f"MNIST, {name}", kind=kind)
        for label, colour in (("negative", BLUE), ("positive", VERMILION)):
            part = pick(own, **{"class": label})
            edges = [float(part[0]["left"]), *(float(r["right"]) for r in part)]
            count = [int(r["count"]) for r in part]
            ax.stairs(count, edges, fill=True, color=colour, alpha=0.45, label=f"{label} class")
            ax.stairs(count, edges, color=colour, lw=1.2)
        ax.set(title=name, xlabel=kind, ylabel="test images")
        if kind == "score":
            ax.set(yscale="log", ylabel="test images (log scale)", ylim=(0.8, 8000))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path)


def draw_fits(folder: Path) -> None:
    """Draw the mixtures over the logits they were fitted to."""
    components, counts = (read(folder / f"{name}.csv") for name in ("mixtures", "histograms"))
    worlds = list(dict.fromkeys(r["world"] for r in components))
    columns = -(-len(worlds) // 2)
    figure, axes = plt.subplots(2, columns, figsize=(5 * columns, 8), layout="constrained")
    for ax in axes.flat[len(worlds) :]:
        ax.set_axis_off()
    for ax, world in zip(axes.flat, worlds, strict=False):
        for label, colour in (("negative", BLUE), ("positive", VERMILION)):
            keys = {"world": world, "kind": "logit", "class": label}
            draw_density(ax, pick(counts, **keys), colour)
            law = pick(components, world=world, **{"class": label})
            w, m, s = (np.array([float(r[c]) for r in law]) for c in ("weight", "mean", "sd"))
            x = np.linspace(*ax.get_xlim(), 500)
            heights = w / s / np.sqrt(2 * np.pi) * np.exp(-(((x[:, None] - m) / s) ** 2) / 2)
            ax.plot(
                x, heights.sum(1), color=colour, lw=1.8, label=f"{label}, Gaussians: {len(law)}"
            )
        ax.set(title=world, xlabel="logit", ylabel="density")
        ax.legend(fontsize=9)
    figure.savefig(folder / "mixtures.png")


def draw_density(ax: plt.Axes, rows: list[dict], colour: str) -> None:
    edges = np.array([float(rows[0]["left"]), *(float(r["right"]) for r in rows)])
    count = np.array([int(r["count"]) for r in rows])
    ax.stairs(count / count.sum() / np.diff(edges), edges, fill=True, color=colour, alpha=0.35)


def draw_benchmark(folder: Path, figures: ModuleType) -> None:
    """Draw Figures 4 and 5 as experiments/pu_ece does, with two mixtures in place of its worlds.

    They are the first two data sets with PU-sigmoid, or what there is.
    """
    worlds = [r["world"] for r in read(folder / "worlds.csv")]
    figures.WORLDS = tuple(sorted(worlds, key=lambda w: not w.endswith("PU-sigmoid"))[:2])
    figures.draw_figure4(folder)
    figures.draw_figure5(folder)


def draw_slopes(folder: Path, synthetic: Path) -> None:
    """Draw the slopes of Figure 4 as they were measured over those that noise in bins explains."""
    measured = read(folder / "slopes.csv") + read(synthetic / "slopes.csv")
    figure, ax = plt.subplots(figsize=(7.4, 6.4), layout="constrained")
    groups = {"synthetic": ("black", "*"), "CIFAR-10": (BLUE, "s"), "MNIST": (VERMILION, "o")}
    for group, (colour, mark) in groups.items():
        points = []
        for p in pick(read(folder / "predicted.csv"), figure="4"):
            if p["world"].partition(",")[0] == group or (
                group == "synthetic" and "," not in p["world"]
            ):
                keys = {k: p[k] for k in ("figure", "world", "setting")}
                (m,) = pick(measured, **keys, n_low="100")
                points.append([float(v) for v in (p["slope"], m["slope"], m["standard_error"])])
        x, y, error = np.array(points).reshape(-1, 3).T
        look = {"color": colour, "marker": mark, "ms": 11 if mark == "*" else 6, "ls": "none"}
        ax.errorbar(x, y, error, **look, capsize=2, lw=1, label=group)
    ax.axline((-0.4, -0.4), slope=1, color="0.4", lw=1, label="as expected")
    ax.axhline(-1 / 3, color="0.4", lw=1, ls=":", label="-1/3, the rate of the bound")
    ax.set(xlabel="slope expected from noise in bins", ylabel="slope measured (± standard error)")
    ax.set_title("Figure 4: log bias on log N, N from 100")
    ax.grid(visible=True, color="0.9", lw=0.7)
    ax.set_axisbelow(True)
    ax.legend()
    figure.savefig(folder / "slopes.png")


def draw_all(folder: Path, figures: ModuleType, synthetic: Path) -> None:
    with plt.rc_context(TEXT):
        draw_figure1(folder)
        draw_recalibration(folder)
        draw_histograms(folder, "logit", folder / "figure2.png")
        draw_histograms(folder, "score", folder / "figure3.png")
        draw_fits(folder)
        draw_slopes(folder, synthetic)
        draw_benchmark(folder, figures)
    plt.close("all")
