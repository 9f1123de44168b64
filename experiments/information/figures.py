"""Draw the figures of this experiment from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).parents[1]))
from pages import Row, column, pick, read

if TYPE_CHECKING:
    from collections.abc import Callable

# Okabe and Ito's palette, told apart under every common colour blindness.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
TEXT = {"font.size": 12, "axes.titlesize": 13, "legend.fontsize": 11, "savefig.dpi": 110}
TITLES = {
    "mnist-labelled-adam": "MNIST, Adam",
    "mnist-labelled-sgld": "MNIST, SGLD",
    "mnist-labelled-sgld-code": "MNIST, SGLD, noise of the published code",
    "cifar10-labelled-sgd": "CIFAR-10, SGD",
    "cifar10-labelled-sgld": "CIFAR-10, SGLD",
    "cifar10-labelled-sgld-code": "CIFAR-10, SGLD, noise of the published code",
    "mnist-pu-adam": "MNIST, Adam, PU",
    "mnist-pu-sgld": "MNIST, SGLD, PU",
    "cifar10-pu-sgd": "CIFAR-10, SGD, PU",
    "cifar10-pu-sgld": "CIFAR-10, SGLD, PU",
}
LABELLED = tuple(g for g in TITLES if "-labelled-" in g and not g.endswith("code"))
PU = tuple(g for g in TITLES if "-pu-" in g)
WORDS = {"ece_gap": "gap", "reused": "error on unseen rows"}


def draw_all(folder: Path) -> None:
    with plt.rc_context(TEXT):
        figure1(folder)
        bounds = read(folder / "bounds.csv")
        for name, binning in (("figure2", "mass"), ("figure3", "width")):
            wanted = {"binning": binning, "bound": "bound", "gap": "ece_gap"}
            panels(folder / f"{name}.png", bounds, LABELLED, draw_bounds, **wanted)
        wanted = {"binning": "mass", "bound": "reuse_printed", "gap": "reused"}
        panels(folder / "figure4.png", bounds, LABELLED, draw_bounds, **wanted)
        panels(folder / "figure5.png", bounds, LABELLED, draw_both)
        wanted = {"binning": "mass", "bound": "bound", "gap": "ece_gap"}
        panels(folder / "pu.png", bounds, PU, draw_bounds, **wanted)
        if (folder / "information.csv").exists():
            information(folder)


def save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path)
    plt.close(figure)


def plain(ax: plt.Axes) -> None:
    ax.grid(visible=True, color="0.9", lw=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def figure1(folder: Path) -> None:
    """Bound and gap of unseen rows, and the number of bins that is best."""
    rows = read(folder / "figure1.csv")
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.6), sharex=True, sharey="row", layout="tight")
    for (top, below), world in zip(axes.T, worlds, strict=True):
        some = pick(rows, world=world)
        n = column(some, "n")
        top.loglog(n, column(some, "bound"), color=BLUE, marker="s", label="bound")
        gap, error = column(some, "gap"), 1.96 * column(some, "gap_se")
        top.errorbar(n, gap, error, color=VERMILION, marker="o", label="mean |ECE - TCE|")
        top.loglog(n, gap[0] * (n / n[0]) ** (-1 / 3), "k:", label="$n^{-1/3}$ from first gap")
        below.loglog(n, column(some, "bins"), color=BLUE, label="optimal B, closed form")
        for name, mark, colour, label in (
            ("bins_of_least_bound", "s", BLUE, "candidate with least bound"),
            ("bins_of_least_gap", "o", VERMILION, "candidate with least gap"),
        ):
            below.loglog(
                n, column(some, name), mark, color=colour, label=label, mfc="none", mew=1.8
            )
        below.loglog(n, np.cbrt(n), "k:", label="$n^{1/3}$")
        top.set_title(world)
        below.set_xlabel("n (log scale)")
        plain(top)
        plain(below)
    axes[0, 0].set_ylabel("bound and gap (log scale)")
    axes[1, 0].set_ylabel("number of bins B (log scale)")
    axes[0, 1].legend(loc="lower left")
    axes[1, 1].legend(loc="upper left")
    save(figure, folder / "figure1.png")


def panels(
    path: Path, rows: list[Row], groups: tuple[str, ...], draw: Callable, **options: str
) -> None:
    """Draw one panel a group that was trained."""
    there = [group for group in groups if pick(rows, group=group)]
    if not there:
        return
    figure, axes = plt.subplots(
        1,
        len(there),
        figsize=(max(4.1 * len(there) + 0.6, 9.0), 4.9),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    axes[0, 0].set_ylabel(f"bound and {WORDS[options.get('gap', 'ece_gap')]}")
    for ax, group in zip(axes[0], there, strict=True):
        draw(ax, pick(rows, group=group), **options)
        sizes = sorted({int(row["n"]) for row in pick(rows, group=group)})
        ax.set(title=TITLES[group], xscale="log", xlabel="n (log scale)")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.minorticks_off()
        plain(ax)
    handles = {
        label: handle
        for ax in axes[0]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=5 if len(there) > 3 else 3
    )
    save(figure, path)


def shades(count: int) -> np.ndarray:
    return plt.get_cmap("viridis")(np.linspace(0.05, 0.9, count))


def numbers_of_bins(rows: list[Row]) -> list[int]:
    return sorted({int(row["bins"]) for row in rows if row["bins"] in FIXED})


FIXED = {"6", "9", "14", "22", "34", "52"}


def draw_bounds(ax: plt.Axes, rows: list[Row], *, binning: str, bound: str, gap: str) -> None:
    """Draw bounds for numbers of bins, and the gap at the rule's number."""
    rows = pick(rows, binning=binning)
    every = [b for b in numbers_of_bins(rows) if len(pick(rows, bins=b)) > 1]
    for colour, bins in zip(shades(len(every)), every, strict=True):
        some = pick(rows, bins=bins)
        ax.plot(column(some, "n"), column(some, bound), "s-", ms=3, lw=1, color=colour,
                label=f"bound, B = {bins}")  # fmt: skip
    best = pick(rows, is_rule=1)
    n = column(best, "n")
    ax.plot(n, column(best, bound), "k--", lw=2, marker="s", label="bound, B by the rule")
    ax.errorbar(n, column(best, gap), column(best, f"{gap}_sd"), color=VERMILION, marker="o",
                capsize=3, lw=2, label=f"{WORDS[gap]}, B by the rule (± sd)")  # fmt: skip
    ax.axhline(1.0, color="0.5", lw=1, ls=":", label="above 1 a bound says nothing")
    ax.set_ylim(0.0, 1.3)


def draw_both(ax: plt.Axes, rows: list[Row]) -> None:
    """Draw bounds and gaps for each number of bins, on a log scale."""
    rows = pick(rows, binning="mass")
    every = [b for b in numbers_of_bins(rows) if len(pick(rows, bins=b)) > 1]
    for colour, bins in zip(shades(len(every)), every, strict=True):
        some = pick(rows, bins=bins)
        n = column(some, "n")
        ax.plot(
            n, column(some, "bound"), "s-", ms=3, lw=1, color=colour, label=f"bound, B = {bins}"
        )
        ax.plot(
            n, column(some, "ece_gap"), "o--", ms=3, lw=1, color=colour, label=f"gap, B = {bins}"
        )
    best = pick(rows, is_rule=1)
    n = column(best, "n")
    ax.plot(n, column(best, "bound"), "ks-", lw=2, label="bound, B by the rule")
    ax.plot(n, column(best, "ece_gap"), "ko--", lw=2, label="gap, B by the rule")
    ax.set_yscale("log")


def information(folder: Path) -> None:
    """Draw what many draws show of the coins, in nats a row."""
    rows = read(folder / "information.csv")
    groups = list(dict.fromkeys(row["group"] for row in rows))
    figure, axes = plt.subplots(
        1,
        len(groups),
        figsize=(max(4.6 * len(groups) + 0.6, 9.0), 5.0),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, group in zip(axes[0], groups, strict=True):
        some = pick(rows, group=group)
        n = column(some, "n")
        for name, colour, label in (("fcmi", BLUE, "scores"), ("ecmi", GREEN, "bins")):
            ax.plot(n, column(some, name) / n, "o-", color=colour, label=f"{label}, own coin")
            ax.plot(n, column(some, f"{name}_noise") / n, "o:",
                mfc="none", color=colour,
                    label=f"{label}, shuffled coins")  # fmt: skip
        ax.axhline(np.log(2.0), color="k", ls="--", lw=1, label="the most there can be, log 2")
        ax.axhline(0.125, color="0.5", ls=":", lw=1.5, label="more makes every bound vacuous, 1/8")
        ax.set(title=TITLES[group], xscale="log", xlabel="n (log scale)", ylim=(0, 0.75))
        ax.set_xticks(n, [f"{int(x):,}" for x in n])
        ax.minorticks_off()
        plain(ax)
    axes[0, 0].set_ylabel("information a row, nats")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    save(figure, folder / "information.png")
