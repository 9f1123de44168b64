"""Does calibration hold on new rows? Figures 1 to 5 and Table 1 of Futami & Fujisawa (2024).

Draws Figure 1 from simulated rows; trains the networks that are missing from the folder of margins
(``--margins``), on a GPU if there is one, with the data in NONEG_DATA; and computes gaps and
bounds. ``--parts figure1 tables`` uses existing margins.
"""

import argparse
import math
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import BLUE, GREEN, VERMILION, bare, line, panels, shared_legend, style
from experiments.information.analysis import all_tables, full, keep, pool, quick, stored
from experiments.study import BUILD, Run, Study, cells
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row, Tables, column, distinct, merged, pick, standard_error
from noneg import theory
from noneg.bins import bin_scores
from noneg.randomness import stream

# Figure 1: unseen rows, width bins, and two classifiers with exactly known calibration.
SIZES = [round(10 ** (2 + k / 2)) for k in range(9)]  # 100 to a million
# Multiples and powers of n. The paper prints negative powers, which would give less than one bin.
CANDIDATES = [(factor, power) for factor in (1, 2, 3) for power in (2, 3, 4)]


def candidates(n: int) -> list[int]:
    # 1000 ** (1/3) is below 10 in double precision.
    return sorted({math.floor(factor * n ** (1 / power) + 1e-9) for factor, power in CANDIDATES})


def gaps(world: str, n: int, trials: int, bins: list[int]) -> np.ndarray:
    """Return |ECE - TCE|, shape (trials, numbers of bins)."""
    truth, out = PAPER[world].tce(), np.empty((trials, len(bins)))
    for trial in range(trials):
        rng = stream(trial, f"figure 1 {world} {n}")
        scores = PAPER[world].draw(n=n, setting="labeled", seed=rng)
        found = [bin_scores(scores, bins=b, binning="width").residual for b in bins]
        out[trial] = [abs(np.abs(rho).sum() - truth) for rho in found]
    return out


def figure1_row(world: str, n: int, trials: int) -> Row:
    options = {"binning": "width", "lipschitz": known(PAPER[world]).lipschitz}
    best, tried = theory.labeled_optimal_bins(n, rule="closed-form", **options), candidates(n)
    bounds = {b: theory.labeled_bias_bound(n, bins=b, **options).value for b in (best, *tried)}
    found = gaps(world, n, trials, [best, *tried])
    mean = found.mean(axis=0)
    return {
        "tce": PAPER[world].tce(),
        "lipschitz": options["lipschitz"],
        "bins": best,
        "bound": bounds[best],
        "gap": mean[0],
        "gap_se": standard_error(found[:, 0]),
        "largest_gap": found[:, 0].max(),
        "bins_of_least_bound": min(tried, key=bounds.get),
        "bins_of_least_gap": tried[int(mean[1:].argmin())],
        "trials": trials,
    }


def figure1(run: Run) -> dict[str, list[Row]]:
    every = cells(world=list(PAPER)[:2], n=run.pick(SIZES, SIZES[:5:2]))
    return {"figure1": run.rows(figure1_row, every, trials=run.trials(100, 10))}


def margins(run: Run) -> Path:
    return run.options.margins or BUILD / "information" / run.pick("margins", "quick-margins")


def training(run: Run) -> None:
    """Train the missing networks until the time limit."""
    import torch

    from experiments.information.ensemble import Images, trained

    folder, device = margins(run), "cuda" if torch.cuda.is_available() else "cpu"
    folder.mkdir(parents=True, exist_ok=True)
    # Matrix products with a 10-bit mantissa, as in PyTorch's convolutions by default.
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    done = {(cell.group, cell.key) for cell, *_ in stored(folder)}
    images: dict[str, Images] = {}
    for cell in run.pick(full, quick)():
        if run.minutes_over or (cell.group, cell.key) in done:
            continue
        if cell.data not in images:
            images = {cell.data: Images(cell.data, *pool(cell.data), device)}
        keep(folder, cell, *trained(cell, images[cell.data], device))
        run.say(cell.group, cell.key)


def tables(run: Run) -> dict[str, list[Row]]:
    """Return the stored tables with the rows of all margins in the folder."""
    found = all_tables(stored(margins(run)), run.say).items()
    rows = {
        name: merged(run.out / f"{name}.csv", new, *KEYS[name], digits=run.digits)
        for name, new in found
    }
    return {name: sorted(own, key=itemgetter("group", "n")) for name, own in rows.items()}


KEYS = {
    "bounds": ("group", "n", "binning", "bins"),
    "recalibration": ("group", "n"),
    "information": ("group", "n"),
    "runs": ("group", "key"),
    "training": ("group", "n"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--margins", type=Path, help="folder of the networks' margins")


TITLES = {
    "mnist-labeled-adam": "MNIST, Adam",
    "mnist-labeled-sgld": "MNIST, SGLD",
    "mnist-labeled-sgld-code": "MNIST, SGLD, noise of the published code",
    "cifar10-labeled-sgd": "CIFAR-10, SGD",
    "cifar10-labeled-sgld": "CIFAR-10, SGLD",
    "cifar10-labeled-sgld-code": "CIFAR-10, SGLD, noise of the published code",
    "mnist-pu-adam": "MNIST, Adam, PU",
    "mnist-pu-sgld": "MNIST, SGLD, PU",
    "cifar10-pu-sgd": "CIFAR-10, SGD, PU",
    "cifar10-pu-sgld": "CIFAR-10, SGLD, PU",
}
LABELED = tuple(g for g in TITLES if "-labeled-" in g and not g.endswith("code"))
PU = tuple(g for g in TITLES if "-pu-" in g)
WORDS = {"ece_gap": "gap", "reused": "error on unseen rows"}
FIXED = (6, 9, 14, 22, 34, 52)


def draw_figure1(tables: Tables) -> plt.Figure:
    """Bound and gap for unseen rows, and the best number of bins."""
    rows = tables("figure1")
    worlds = distinct(rows, "world")
    labels = {"x": "n (log scale)"}
    labels["y"] = ("bound and gap (log scale)", "number of bins B (log scale)")
    shared = {"sharex": True, "sharey": "row", "layout": "tight"}
    figure, axes = panels(2, 2, size=(11, 7.6), titles=worlds, **labels, **shared)
    for (top, below), world in zip(axes.T, worlds, strict=True):
        some = pick(rows, world=world)
        n, gap = column(some, "n"), column(some, "gap")
        top.loglog(n, column(some, "bound"), color=BLUE, marker="s", label="bound")
        error = 1.96 * column(some, "gap_se")
        top.errorbar(n, gap, error, color=VERMILION, marker="o", label="mean |ECE - TCE|")
        top.loglog(n, gap[0] * (n / n[0]) ** (-1 / 3), "k:", label="$n^{-1/3}$ from first gap")
        below.loglog(n, column(some, "bins"), color=BLUE, label="optimal B, closed form")
        for what, mark, color in (("bound", "s", BLUE), ("gap", "o", VERMILION)):
            look = {"color": color, "label": f"candidate with least {what}", "mfc": "none"}
            below.loglog(n, column(some, f"bins_of_least_{what}"), mark, mew=1.8, **look)
        below.loglog(n, np.cbrt(n), "k:", label="$n^{1/3}$")
        bare(top)
        bare(below)
    axes[0, 1].legend(loc="lower left")
    axes[1, 1].legend(loc="upper left")
    return figure


def row_of_panels(groups: list[str], width: float, height: float, label: str):
    size = (max(width * len(groups) + 0.6, 9.0), height)
    titles = [TITLES[group] for group in groups]
    options = {"squeeze": False, "sharey": True, "titles": titles, "x": "n (log scale)"}
    return panels(1, len(groups), size=size, y=label, **options)


def finish(ax: plt.Axes, sizes) -> None:
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{int(n):,}" for n in sizes])
    ax.minorticks_off()
    bare(ax)


def by_group(rows: list[Row], groups: tuple[str, ...], panel: Callable, gap: str = "ece_gap"):
    """Draw one panel per group of trained networks."""
    there = [group for group in groups if pick(rows, group=group)]
    figure, axes = row_of_panels(there, 4.1, 4.9, f"bound and {WORDS[gap]}")
    handles = {}
    for ax, group in zip(axes[0], there, strict=True):
        some = pick(rows, group=group)
        panel(ax, some)
        finish(ax, sorted(distinct(some, "n")))
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    columns = 5 if len(there) > 3 else 3
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns)
    return figure


def fixed_bins(rows: list[Row]):
    """Yield the color and rows for each number of bins that occurs for several sizes."""
    every = [b for b in FIXED if len(pick(rows, bins=b)) > 1]
    shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(every)))
    for color, bins in zip(shades, every, strict=True):
        yield {"ms": 3, "lw": 1, "color": color}, bins, pick(rows, bins=bins)


def bounds_panel(binning: str, bound: str = "bound", gap: str = "ece_gap") -> Callable:
    """Return a function that draws bounds for several numbers of bins, and the gap at the rule's
    number."""

    def panel(ax: plt.Axes, rows: list[Row]) -> None:
        rows = pick(rows, binning=binning)
        for look, bins, some in fixed_bins(rows):
            line(ax, some, "n", bound, marker="s", ls="-", **look, label=f"bound, B = {bins}")
        best = pick(rows, is_rule=1)
        look = {"color": "k", "ls": "--", "lw": 2, "marker": "s"}
        line(ax, best, "n", bound, **look, label="bound, B by the rule")
        points = (column(best, name) for name in ("n", gap, f"{gap}_sd"))
        look = {"color": VERMILION, "marker": "o", "capsize": 3, "lw": 2}
        ax.errorbar(*points, **look, label=f"{WORDS[gap]}, B by the rule (± sd)")
        ax.axhline(1.0, color="0.5", lw=1, ls=":", label="above 1 a bound says nothing")
        ax.set_ylim(0.0, 1.3)

    return panel


def both_panel(ax: plt.Axes, rows: list[Row]) -> None:
    """Draw bounds and gaps for each number of bins, on a log scale."""
    rows = pick(rows, binning="mass")
    marks = {"bound": {"marker": "s", "ls": "-"}, "ece_gap": {"marker": "o", "ls": "--"}}
    names = {"bound": "bound", "ece_gap": "gap"}
    for look, bins, some in fixed_bins(rows):
        for name, mark in marks.items():
            line(ax, some, "n", name, **mark, **look, label=f"{names[name]}, B = {bins}")
    for name, mark in marks.items():
        look = mark | {"color": "k", "lw": 2, "label": f"{names[name]}, B by the rule"}
        line(ax, pick(rows, is_rule=1), "n", name, **look)
    ax.set_yscale("log")


def draw_figure2(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), LABELED, bounds_panel("mass"))


def draw_figure3(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), LABELED, bounds_panel("width"))


def draw_figure4(tables: Tables) -> plt.Figure:
    panel = bounds_panel("mass", "reuse_printed", "reused")
    return by_group(tables("bounds"), LABELED, panel, "reused")


def draw_figure5(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), LABELED, both_panel)


def draw_pu(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), PU, bounds_panel("mass"))


def draw_information(tables: Tables) -> plt.Figure:
    """Draw what many draws reveal about the coins, in nats per row."""
    rows = tables("information")
    groups = distinct(rows, "group")
    figure, axes = row_of_panels(groups, 4.6, 5.0, "information a row, nats")
    for ax, group in zip(axes[0], groups, strict=True):
        some = pick(rows, group=group)
        n = column(some, "n")
        for name, color, label in (("fcmi", BLUE, "scores"), ("ecmi", GREEN, "bins")):
            ax.plot(n, column(some, name) / n, "o-", color=color, label=f"{label}, own coin")
            look = {"mfc": "none", "color": color, "label": f"{label}, shuffled coins"}
            ax.plot(n, column(some, f"{name}_noise") / n, "o:", **look)
        ax.axhline(np.log(2.0), color="k", ls="--", lw=1, label="the most there can be, log 2")
        ax.axhline(0.125, color="0.5", ls=":", lw=1.5, label="more makes every bound vacuous, 1/8")
        ax.set_ylim(0, 0.75)
        finish(ax, n)
    shared_legend(figure, axes[0, 0], 2)
    return figure


def slopes(found: list[Row]) -> str:
    """Return how fast gap and bound decrease, on log scales, from n = 1000 on."""
    parts = []
    for world in distinct(found, "world"):
        some = [r for r in pick(found, world=world) if r["n"] >= 1000]
        n = np.log(column(some, "n"))
        gap, bound = (np.polyfit(n, np.log(column(some, k)), 1)[0] for k in ("gap", "bound"))
        parts.append(f"{world} {gap:.2f} (bound {bound:.2f})")
    return f"Slope of the mean gap on log scales, n from 1000: {', '.join(parts)}."


def of_kind(found: list[Row], kind: str) -> list[Row]:
    return [r for r in found if f"-{kind}-" in r["group"]]


def at_rule(tables: Tables, kind: str, binning: str = "mass") -> list[Row]:
    found, order = pick(tables("bounds"), binning=binning, is_rule=1), list(TITLES)
    return sorted(of_kind(found, kind), key=lambda r: (order.index(r["group"]), r["n"]))


def nearest(found: list[Row]) -> Row:
    """Return the cell whose gap is the largest share of its bound."""
    return max(found, key=lambda r: r["ece_gap"] / r["bound"])


def places(found: list[Row]) -> list[str]:
    """Return the device on which networks were trained."""
    place = "{device}, torch {torch}, Python {python}, numpy {numpy}"
    return sorted({place.format_map(r) for r in found})


STUDY = Study(
    "information",
    parts=(figure1, training, tables),
    style=style(dpi=110),
    arguments=arguments,
    optional=("information",),
)
