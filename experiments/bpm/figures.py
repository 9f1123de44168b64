"""Draw the figures of this experiment, and fill the tables of its README, from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).parents[1]))
from pages import Row, column, fill, pick, read, table

# Okabe and Ito's palette, told apart under every common colour blindness.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE = "#56B4E9", "#CC79A7"
TEXT = {"font.size": 11, "axes.titlesize": 12, "legend.fontsize": 11, "savefig.dpi": 120}
WORLDS = ("D1", "D2", "D3", "D4", "D5")
KINDS = {
    "labelled": "labelled, $n$ rows",
    "n_P = n, n_U = n": "PU, $n$ positives,\n$n$ unlabeled",
    "n_P = n/10, n_U = n": "PU, $n/10$ positives,\n$n$ unlabeled",
}
# Colour, marker, line, name in the legend.
STYLES = {
    "tce_bpm": (VERMILION, "o", "-", "TCE_bpm"),
    "ece, 15 mass bins": (BLUE, "s", "-", "ECE, 15 mass bins"),
    "ece": (SKY, "D", "-", "ECE, optimal bins"),
    "debiased_ece": (GREEN, "^", "-", "debiased ECE, 15 bins"),
    "sweep_ece": (ORANGE, "v", "--", "sweep ECE"),
    "ks_error": (PURPLE, "x", "--", "KS error"),
    "smooth_ece": ("0.35", "+", "--", "smooth ECE"),
    "logit_smoothed_ece": ("0.6", "1", ":", "logit-smoothed ECE"),
    "kernel_ece": ("0.6", "*", "-", "kernel ECE"),
}
# Half the height of the panels of Figure 5, in per cent, a row a kind of data.
REACH = {"labelled": 2.5, "n_P = n, n_U = n": 4.5, "n_P = n/10, n_U = n": 9.0}


def draw_figure5(folder: Path) -> None:
    rows = read(folder / "figure5.csv")
    figure, axes = plt.subplots(
        len(KINDS), len(WORLDS), figsize=(16, 9.5), sharex=True, layout="constrained"
    )
    for line, (kind, words) in zip(axes, KINDS.items(), strict=True):
        for ax, world in zip(line, WORLDS, strict=True):
            draw_metrics(ax, pick(rows, world=world, data=kind), REACH[kind])
        line[0].set_ylabel(f"{words}\n\nmean of the runs, %")
    for ax, world in zip(axes[0], WORLDS, strict=True):
        tce = 100 * float(pick(rows, world=world)[0]["tce"])
        ax.set_title(f"{world}: TCE {tce:.2f} %")
    for ax in axes[-1]:
        ax.set_xlabel("$n$")
    handles = [plt.Line2D([], [], color="black", lw=2.5, label="true error")]
    handles += [
        plt.Line2D([], [], color=c, marker=m, ls=ls, lw=2 if c == VERMILION else 1.4, label=label)
        for c, m, ls, label in STYLES.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    figure.savefig(folder / "figure5.png")


def draw_metrics(ax: plt.Axes, rows: list[Row], reach: float) -> None:
    tce = 100 * float(rows[0]["tce"])
    ax.axhline(tce, color="black", lw=2.5)
    for metric, (colour, marker, line, _) in STYLES.items():
        curve = pick(rows, metric=metric)
        bold = metric == "tce_bpm"
        look = {"color": colour, "marker": marker, "ls": line, "zorder": 3 if bold else 2}
        ax.plot(
            column(curve, "n"), 100 * column(curve, "mean"), ms=6, lw=2.4 if bold else 1.4, **look
        )
    ax.set(xlim=(300, 5200), xticks=[1000, 3000, 5000], ylim=(max(tce - reach, 0), tce + reach))
    ax.grid(visible=True, color="0.9", lw=0.7)
    ax.set_axisbelow(True)


def draw_panel(ax: plt.Axes, rows: list[Row], title: str) -> None:
    score, seen = column(rows, "score"), column(rows, "has_scores") > 0
    ax.plot([0, 1], [0, 1], color="0.6", ls=":", lw=1.4, label="perfect calibration")
    low, high = (column(rows, f"histogram_{end}")[seen] for end in ("low", "high"))
    label = "histogram binning, 10 to 50 bins: range"
    ax.fill_between(score[seen], low, high, color=SKY, alpha=0.35, lw=0, label=label)
    label = "histogram binning: mean"
    ax.plot(score[seen], column(rows, "histogram")[seen], color=BLUE, lw=1.6, label=label)
    if rows[0]["truth"]:
        ax.plot(score, column(rows, "truth"), color="black", lw=3.2, label="true curve")
    ax.plot(score, column(rows, "curve"), color=VERMILION, lw=2, label="BPM curve, all labels")
    label = "BPM curve, a tenth of the positives labelled"
    ax.plot(score, column(rows, "curve_pu"), color=ORANGE, lw=2, ls="--", label=label)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    ax.grid(visible=True, color="0.92", lw=0.7)
    ax.set_axisbelow(True)


def draw_curves(folder: Path, name: str, shape: tuple[int, int], words: tuple[str, str]) -> None:
    rows = read(folder / f"{name}.csv")
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    size = 3.9 * shape[1], 4.05 * shape[0] + 0.9
    options = {"sharex": True, "sharey": True, "layout": "constrained"}
    figure, axes = plt.subplots(*shape, figsize=size, **options)
    for ax, panel in zip(axes.flat, panels, strict=True):
        draw_panel(ax, pick(rows, panel=panel), panel)
    for ax in axes[-1]:
        ax.set_xlabel(words[0])
    for ax in axes[:, 0]:
        ax.set_ylabel(words[1])
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.savefig(folder / f"{name}.png")


def draw_all(folder: Path) -> None:
    with plt.rc_context(TEXT):
        draw_figure5(folder)
        draw_curves(folder, "figure4", (2, 3), ("score", "share of positives"))
        if (folder / "figure3.csv").exists():
            draw_curves(folder, "figure3", (3, 3), ("confidence", "share of hits"))
    plt.close("all")


def _pair(row: Row, name: str) -> str:
    return f"{float(row[name]):.4f} ± {float(row[name + '_sd']):.4f}"


def table4(folder: Path) -> str:
    rows = read(folder / "table4.csv")
    lines = []
    for row in pick(rows, n="10000"):
        half = pick(rows, n="5000", world=row["world"])[0]
        verdict = "yes" if row["within_two_sd"] == "True" else "no"
        rest = [_pair(row, x) for x in ("ead_likelihood", "paper_histogram", "ead_histogram")]
        cells = [row["world"], _pair(row, "paper"), _pair(row, "ead"), verdict, _pair(half, "ead")]
        lines.append([*cells, *rest, f"{float(row['p_value']):.1e}"])
    head = ["world", "paper", "ours, n = 10,000", "at most paper + 2 sd", "ours, n = 5,000"]
    head += ["maximum likelihood, n = 10,000", "histogram, paper", "histogram, ours", "P"]
    return table(head, lines)


def worlds_table(folder: Path) -> str:
    lines = [
        [
            r["world"],
            f"{float(r['prior']):.4f}",
            f"{100 * float(r['tce']):.3f} %",
            f"{100 * float(r['limit']):.3f} %",
            f"{float(r['ead_limit']):.4f}",
            ", ".join(f"{float(r[name]):.3f}" for name in ("alpha", "beta", "c")),
        ]
        for r in read(folder / "worlds.csv")
    ]
    head = ["world", "prior", "TCE", "tce_bpm of the population", "EAD of its curve"]
    return table([*head, "alpha, beta, c"], lines)


def figure5_table(folder: Path) -> str:
    rows = read(folder / "figure5.csv")
    parts = []
    for kind in KINDS:
        lines = []
        for metric in dict.fromkeys(row["metric"] for row in rows):
            cells = []
            for world in WORLDS:
                curve = pick(rows, world=world, data=kind, metric=metric)
                error = [
                    100 * float(pick(curve, n=n)[0]["absolute_error"]) for n in ("500", "5000")
                ]
                bias = 100 * (float(curve[-1]["mean"]) - float(curve[-1]["tce"]))
                cells.append(f"{error[0]:.2f} / {error[1]:.2f} ({bias:+.2f})")
            lines.append([metric, *cells])
        parts.append(f"*{kind}*\n\n" + table(["metric", *WORLDS], lines))
    return "\n\n".join(parts)


def best_table(folder: Path) -> str:
    """Which of the metrics of the paper comes closest on average over the runs."""
    shown = [m for m in STYLES if m not in ("ece", "kernel_ece")]
    rows = [row for row in read(folder / "figure5.csv") if row["metric"] in shown]
    cells = {(row["world"], row["data"], row["n"]): [] for row in rows}
    for row in rows:
        gap = abs(float(row["mean"]) - float(row["tce"]))
        cells[row["world"], row["data"], row["n"]].append((gap, row["metric"]))
    lines = []
    for metric in shown:
        counts = []
        for kind in KINDS:
            here = [min(v)[1] for (_, data, _), v in cells.items() if data == kind]
            counts.append(f"{here.count(metric)} of {len(here)}")
        lines.append([metric, *counts])
    return table(["closest mean", *KINDS], lines)


def coverage_table(folder: Path) -> str:
    rows = read(folder / "coverage.csv")
    runs = column(rows, "runs")
    shares = {k: column(rows, k) @ runs / runs.sum() for k in ("covers_limit", "limit_below")}
    words = (
        f"Runs a cell: {rows[0]['runs']}. Of all {runs.sum():,.0f} intervals "
        f"{shares['covers_limit']:.1%} cover the limit; {shares['limit_below']:.1%} lie above it."
    )
    shown = ("covers_limit", "limit_below", "limit_above", "covers_tce")
    lines = [
        [
            r["world"],
            r["data"],
            *(f"{100 * float(r[name]):.2f} %" for name in ("tce", "limit", "mean")),
            f"[{100 * float(r['mean_low']):.2f}, {100 * float(r['mean_high']):.2f}] %",
            *(f"{float(r[name]):.0%}" for name in shown),
        ]
        for r in rows
    ]
    head = ["world", "data", "TCE", "limit of tce_bpm", "mean", "mean interval"]
    head += ["covers the limit", "limit below", "limit above", "covers TCE"]
    return words + "\n\n" + table(head, lines)


def global_table(folder: Path) -> str:
    rows = read(folder / "global.csv")
    gap = column(rows, "ours_minus_theirs")
    return (
        f"Over {len(rows)} data sets the largest excess of our minimum over that of differential "
        f"evolution is {gap.max():.1e}; in {int((gap < -1e-9).sum())} ours is lower by more than "
        "1e-9 (`global.csv`)."
    )


# Uncalibrated rows of Tables 1 and 5: ECE_bin, ECE_debiased, ECE_sweep, KS, smECE, TCE_bpm.
PAPER_REAL = {
    "ResNet-110, CIFAR-10": (0.04755, 0.04752, 0.04750, 0.04750, 0.04271, 0.05511),
    "DenseNet-161, ImageNet": (0.05722, 0.05726, 0.05719, 0.05721, 0.05620, 0.06137),
}
REAL_METRICS = (
    "ece, 15 mass bins",
    "debiased_ece",
    "sweep_ece",
    "ks_error",
    "smooth_ece",
    "tce_bpm",
    "tce_bpm, empirical",
)


def real_table(folder: Path) -> str:
    if not (folder / "real.csv").exists():
        return "(left out: NONEG_DATA is not set)"
    lines = []
    for row in read(folder / "real.csv"):
        values = [f"{float(row[m]):.4f}" for m in REAL_METRICS]
        lines.append([row["net"], f"{int(row['n']):,}", row["data"], *values])
        if row["net"] in PAPER_REAL and row["data"] == "labelled":
            paper = [f"{x:.4f}" for x in PAPER_REAL[row["net"]]]
            lines.append([row["net"], "", "the paper", *paper, ""])
    return table(["net", "n", "data", *REAL_METRICS], lines)


def speed_table(folder: Path) -> str:
    lines = [
        [
            f"{int(r['n']):,}",
            r["function"],
            *(f"{float(r[name]):.3f} s" for name in ("processor", "wall")),
        ]
        for r in read(folder / "speed.csv")
    ]
    return table(["rows", "function", "processor", "wall"], lines)


def fill_readme(folder: Path, versions: str) -> None:
    """Write the numbers between the markers of the README."""
    parts = {
        "versions": versions,
        "worlds": worlds_table(folder),
        "table4": table4(folder),
        "figure5": figure5_table(folder),
        "closest": best_table(folder),
        "coverage": coverage_table(folder),
        "global": global_table(folder),
        "real": real_table(folder),
        "speed": speed_table(folder),
    }
    fill(folder / "README.md", parts)
