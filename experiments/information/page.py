"""Figures and tables of the page, from the stored tables."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import BLUE, GREEN, VERMILION, line, panels, shared_legend
from experiments.tables import Row, Tables, column, distinct, grid, pick, table
from noneg.theory import recalibration_bound, reuse_bound

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
FIXED = (6, 9, 14, 22, 34, 52)
KINDS = {"labelled": "labelled", "pu": "labels hidden"}
# Table 1 of the paper: TCE after recalibration with separate and with training rows; their bounds.
PAPER = {
    ("mnist-labelled-adam", 4000): (".0085 ± .0016", ".0058 ± .0026", ".8475", ".1444"),
    ("mnist-labelled-sgld", 4000): (".0101 ± .0025", ".0072 ± .0007", ".8475", ".1444"),
    ("cifar10-labelled-sgd", 20_000): (".0139 ± .0010", ".0197 ± .0044", "1.455", ".0865"),
    ("cifar10-labelled-sgld", 20_000): (".0109 ± .0012", ".0089 ± .0006", "1.455", ".0865"),
}


def bare(ax: plt.Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def draw_figure1(tables: Tables) -> plt.Figure:
    """Bound and gap of unseen rows, and the number of bins that is best."""
    rows = tables("figure1")
    figure, axes = panels(2, 2, size=(11, 7.6), sharex=True, sharey="row", layout="tight")
    for (top, below), world in zip(axes.T, distinct(rows, "world"), strict=True):
        some = pick(rows, world=world)
        n, gap = column(some, "n"), column(some, "gap")
        top.loglog(n, column(some, "bound"), color=BLUE, marker="s", label="bound")
        error = 1.96 * column(some, "gap_se")
        top.errorbar(n, gap, error, color=VERMILION, marker="o", label="mean |ECE - TCE|")
        top.loglog(n, gap[0] * (n / n[0]) ** (-1 / 3), "k:", label="$n^{-1/3}$ from first gap")
        below.loglog(n, column(some, "bins"), color=BLUE, label="optimal B, closed form")
        for what, mark, colour in (("bound", "s", BLUE), ("gap", "o", VERMILION)):
            look = {"color": colour, "label": f"candidate with least {what}", "mfc": "none"}
            below.loglog(n, column(some, f"bins_of_least_{what}"), mark, mew=1.8, **look)
        below.loglog(n, np.cbrt(n), "k:", label="$n^{1/3}$")
        top.set_title(world)
        below.set_xlabel("n (log scale)")
        bare(top)
        bare(below)
    axes[0, 0].set_ylabel("bound and gap (log scale)")
    axes[1, 0].set_ylabel("number of bins B (log scale)")
    axes[0, 1].legend(loc="lower left")
    axes[1, 1].legend(loc="upper left")
    return figure


def row_of_panels(groups: list[str], width: float, height: float):
    size = (max(width * len(groups) + 0.6, 9.0), height)
    return panels(1, len(groups), size=size, squeeze=False, sharey=True)


def finish(ax: plt.Axes, group: str, sizes) -> None:
    ax.set(title=TITLES[group], xscale="log", xlabel="n (log scale)")
    ax.set_xticks(sizes, [f"{int(n):,}" for n in sizes])
    ax.minorticks_off()
    bare(ax)


def by_group(rows: list[Row], groups: tuple[str, ...], panel: Callable, gap: str = "ece_gap"):
    """Draw one panel a group that was trained."""
    there = [group for group in groups if pick(rows, group=group)]
    figure, axes = row_of_panels(there, 4.1, 4.9)
    axes[0, 0].set_ylabel(f"bound and {WORDS[gap]}")
    handles = {}
    for ax, group in zip(axes[0], there, strict=True):
        some = pick(rows, group=group)
        panel(ax, some)
        finish(ax, group, sorted(distinct(some, "n")))
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    columns = 5 if len(there) > 3 else 3
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns)
    return figure


def fixed_bins(rows: list[Row]):
    """Yield colour and rows of each number of bins that several sizes have."""
    every = [b for b in FIXED if len(pick(rows, bins=b)) > 1]
    shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(every)))
    for colour, bins in zip(shades, every, strict=True):
        yield {"ms": 3, "lw": 1, "color": colour}, bins, pick(rows, bins=bins)


def bounds_panel(binning: str, bound: str = "bound", gap: str = "ece_gap") -> Callable:
    """Return what draws bounds for numbers of bins, and the gap at the rule's number."""

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
    return by_group(tables("bounds"), LABELLED, bounds_panel("mass"))


def draw_figure3(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), LABELLED, bounds_panel("width"))


def draw_figure4(tables: Tables) -> plt.Figure:
    panel = bounds_panel("mass", "reuse_printed", "reused")
    return by_group(tables("bounds"), LABELLED, panel, "reused")


def draw_figure5(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), LABELLED, both_panel)


def draw_pu(tables: Tables) -> plt.Figure:
    return by_group(tables("bounds"), PU, bounds_panel("mass"))


def draw_information(tables: Tables) -> plt.Figure:
    """Draw what many draws show of the coins, in nats a row."""
    rows = tables("information")
    groups = distinct(rows, "group")
    figure, axes = row_of_panels(groups, 4.6, 5.0)
    for ax, group in zip(axes[0], groups, strict=True):
        some = pick(rows, group=group)
        n = column(some, "n")
        for name, colour, label in (("fcmi", BLUE, "scores"), ("ecmi", GREEN, "bins")):
            ax.plot(n, column(some, name) / n, "o-", color=colour, label=f"{label}, own coin")
            look = {"mfc": "none", "color": colour, "label": f"{label}, shuffled coins"}
            ax.plot(n, column(some, f"{name}_noise") / n, "o:", **look)
        ax.axhline(np.log(2.0), color="k", ls="--", lw=1, label="the most there can be, log 2")
        ax.axhline(0.125, color="0.5", ls=":", lw=1.5, label="more makes every bound vacuous, 1/8")
        ax.set_ylim(0, 0.75)
        finish(ax, group, n)
    axes[0, 0].set_ylabel("information a row, nats")
    shared_legend(figure, axes[0, 0], 2)
    return figure


def titled(rows: list[Row]) -> list[Row]:
    return [row | {"title": TITLES[row["group"]]} for row in rows]


def show_runs(tables: Tables) -> str:
    """Where, with what and how long the networks were trained."""
    found = tables("runs")
    place = "{device}, torch {torch}, Python {python}, numpy {numpy}"
    places, commands = (
        "; ".join(sorted({text.format_map(r) for r in found})) for text in (place, "`{command}`")
    )
    head = "networks | n | supersamples x draws | epochs | convolutions | seconds for all"
    line = "{title} | {n} | {supersamples} x {draws} | {epochs} | {way} | {seconds:.0f}"
    made = f"{commands}, seed {found[0]['seed']}; on {places}."
    return f"{made}\n\n{grid(head, line, titled(found))}"


def show_zero(_: Tables) -> str:
    """The bounds that need no training."""
    lines = []
    for n, bins, separate, reuse in ((4000, 15, ".8475", ".1444"), (20_000, 27, "1.455", ".0865")):
        ours = [reuse_bound(n, bins=bins, form=f).value for f in ("printed", "corrected")]
        first = f"{recalibration_bound(100, bins=bins).value:.5f}"
        lines.append([f"{n:,}", bins, separate, first, reuse, *(f"{v:.5f}" for v in ours)])
    head = "n | B | 100 separate rows, paper | ours | reuse, paper | printed form, ours | "
    # The printed form, 2 sqrt(2 (I + B log 2) / n), solved for I.
    nats = 4000 * 0.1444**2 / 8 - 15 * math.log(2.0)
    note = f"An information of {nats:.2f} nats would make .1442 the .1444."
    return f"{table(head + 'corrected form', lines)}\n\n{note}"


def show_figure1(tables: Tables) -> str:
    head = "classifier | n | optimal B | bound | mean gap | largest gap | "
    head += "candidate with least bound | candidate with least gap"
    line = "{world} | {n:,} | {bins} | {bound:.4f} | {gap:.4f} | {largest_gap:.4f} | "
    line += "{bins_of_least_bound} | {bins_of_least_gap}"
    return f"{grid(head, line, tables('figure1'))}\n\n{slopes(tables('figure1'))}"


def slopes(found: list[Row]) -> str:
    """How fast gap and bound fall, on log scales, from n = 1000 on."""
    parts = []
    for world in distinct(found, "world"):
        some = [r for r in pick(found, world=world) if r["n"] >= 1000]
        n = np.log(column(some, "n"))
        gap, bound = (np.polyfit(n, np.log(column(some, k)), 1)[0] for k in ("gap", "bound"))
        parts.append(f"{world} {gap:.2f} (bound {bound:.2f})")
    return f"Slope of the mean gap on log scales, n from 1000: {', '.join(parts)}."


def at_rule(tables: Tables, kind: str, binning: str = "mass") -> list[Row]:
    found = pick(tables("bounds"), binning=binning, is_rule=1)
    order, some = list(TITLES), [r for r in found if f"-{kind}-" in r["group"]]
    return sorted(some, key=lambda r: (order.index(r["group"]), r["n"]))


def gap_table(rows: list[Row]) -> str:
    rows = [
        row
        | {"small": "yes" if row["bound"] < 1.0 else "no"}
        | {"holds": "yes" if row["ece_gap"] < row["bound"] else "NO"}
        for row in titled(rows)
    ]
    head = "networks | n | number | B | ECE gap ± sd | largest gap | sum over bins | ECE seen | "
    head += "ECE unseen | bound at zero information | below 1 | gap below it | "
    line = "{title} | {n} | {networks} | {bins} | {ece_gap:.4f} ± {ece_gap_sd:.4f} | "
    line += "{largest_gap:.4f} | {bin_gap:.4f} | {seen:.4f} | {unseen:.4f} | {bound:.4f} | "
    line += "{small} | {holds} | {printed_information:.1f} | {bound_at_most_information:.2f}"
    return grid(head + "printed information | bound at n log 2", line, rows)


def show_gaps(tables: Tables) -> str:
    return gap_table(at_rule(tables, "labelled"))


def show_pu(tables: Tables) -> str:
    return gap_table(at_rule(tables, "pu"))


def show_table1(tables: Tables) -> str:
    pairs = ("before", "separate", "reuse")
    bounds = ("separate_bound", "reuse_printed", "reuse_corrected")
    lines = []
    for r in titled(tables("recalibration")):
        spreads = [f"{r[name]:.4f} ± {r[f'{name}_sd']:.4f}" for name in pairs]
        lines.append([r["title"], r["n"], r["bins"], *spreads, *(f"{r[b]:.4f}" for b in bounds)])
    for (group, n), printed in PAPER.items():
        lines.append([f"*paper:* {TITLES[group]}", n, "", "", *printed, ""])
    head = "networks | n | B | ECE before | after, 100 separate rows | after, training rows | "
    return table(head + "bound, separate | bound, reuse, printed | corrected", lines)


def show_information(tables: Tables) -> str:
    rows = [
        row | {"empty": "yes" if row["vacuous"] else "no"} for row in titled(tables("information"))
    ]
    head = "networks | n | draws | scores | shuffled | bins | shuffled | most possible | "
    head += "printed estimate | most it could be | bound at zero | "
    line = "{title} | {n} | {draws} | {fcmi:.1f} | {fcmi_noise:.1f} | {ecmi:.1f} | "
    line += "{ecmi_noise:.1f} | {most:.1f} | {ece_gap:.1f} | {most_shown:.1f} | "
    line += "{zero_bound:.3f} | {excess_bound:.3f} | {empty}"
    return grid(head + "bound with scores less shuffled | vacuous", line, rows)


def show_accuracy(tables: Tables) -> str:
    head = "networks | n | number | accuracy seen | unseen | log loss seen | unseen"
    line = "{title} | {n} | {networks} | {accuracy_seen:.4f} | {accuracy_unseen:.4f} | "
    return grid(head, line + "{loss_seen:.4f} | {loss_unseen:.4f}", titled(tables("training")))


def show_agreement(tables: Tables) -> str:
    """What the tables say about the paper's claims."""
    labelled, hidden = (at_rule(tables, kind) for kind in ("labelled", "pu"))
    wide = at_rule(tables, "pu", binning="width")
    mass = below(hidden, "ece_gap", "bound")
    reuse = below(labelled, "reused", "reuse_printed")
    corrected = f"Corrected: {below(labelled, 'reused', 'reuse_corrected')}."
    return "\n".join(
        [
            f"- **Labelled rows: {below(labelled, 'ece_gap', 'bound')}.** {largest(labelled)}",
            f"- **Labels hidden, mass bins: {mass}.** {crowds(hidden)}",
            f"- Labels hidden, width bins: {below(wide, 'ece_gap', 'bound')}.",
            f"- **After recalibration on the training rows: {reuse}**, as printed. {corrected}",
            f"- Bounds at zero information above 1, vacuous: {above_one(tables('bounds'))}.",
            f"- **Informed bounds: {vacuous(tables('information'))}.**",
            f"- **Separate rows or training rows: {winners(tables('recalibration'))}.**",
        ]
    )


# The documentation shows the outcome, too.
text_agreement = show_agreement


def crowds(found: list[Row]) -> str:
    """Where the labelled positives are, in the cell with the largest gap."""
    r = max(found, key=lambda r: r["ece_gap"])
    return (
        f"In {named(r)}, the last of {r['bins']} bins holds {r['top_seen']:.0%} of the seen "
        f"positives and {r['top_unseen']:.0%} of the unseen ones."
    )


def named(r: Row) -> str:
    return f"{TITLES[r['group']]}, n = {r['n']:,}"


def below(found: list[Row], gap: str, bound: str) -> str:
    over = [r for r in found if r[gap] >= r[bound]]
    words = f"the mean lies below the bound at zero information in {len(found) - len(over)} of "
    words += f"{len(found)} cells"
    failed = "; ".join(f"{named(r)} ({r[gap]:.3f} against {r[bound]:.3f})" for r in over)
    return f"{words}, not in {failed}" if over else words


def largest(found: list[Row]) -> str:
    """The largest bound, and the largest share of it that a gap reaches."""
    top = max(found, key=lambda r: r["bound"])
    near = max(found, key=lambda r: r["ece_gap"] / r["bound"])
    singles = sum(r["largest_gap"] < r["bound"] for r in found)
    return (
        f"The largest bound is {top['bound']:.3f}; the mean gap is at most "
        f"{near['ece_gap'] / near['bound']:.0%} of its bound ({named(near)}). Every single network "
        f"lies below in {singles} cells."
    )


def above_one(every: list[Row]) -> str:
    """Count the bounds above 1 over all numbers of bins, and at the rule's."""
    parts = []
    for (kind, word), binning in product(KINDS.items(), ("mass", "width")):
        some = [r for r in pick(every, binning=binning) if f"-{kind}-" in r["group"]]
        over = [r["n"] for r in some if r["bound"] > 1.0]
        parts.append(f"{word}, {binning} bins, {len(over)} of {len(some)}")
        parts[-1] += f" (n up to {max(over):,})" if over else ""
    ours = sum(r["bound"] > 1.0 for r in pick(every, is_rule=1))
    return f"{'; '.join(parts)}; at the rule's number of bins {ours}"


def vacuous(found: list[Row]) -> str:
    parts = [
        f"{named(r)}: {r['zero_bound']:.2f} becomes {r['excess_bound']:.2f}"
        + (", vacuous" if r["vacuous"] else "")
        for r in found
    ]
    return "with the information that pairs show, " + "; ".join(parts)


def winners(found: list[Row]) -> str:
    reuse = [r for r in found if r["reuse"] < r["separate"]]
    best = [r for r in found if r["before"] < min(r["reuse"], r["separate"])]
    return (
        f"training rows are the better ones in {len(reuse)} of {len(found)} cells "
        f"({'; '.join(named(r) for r in reuse)}); no recalibration at all is best in {len(best)}"
    )
