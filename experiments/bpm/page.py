"""Figures and tables for the README, computed from the stored results."""

from matplotlib import pyplot as plt

from experiments.drawing import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    line,
    panels,
    shared_legend,
)
from experiments.tables import Row, Tables, column, distinct, pick

KINDS = {
    "labeled": "labeled, $n$ rows",
    "n_P = n, n_U = n": "PU, $n$ positives,\n$n$ unlabeled",
    "n_P = n/10, n_U = n": "PU, $n/10$ positives,\n$n$ unlabeled",
}
# Half the height of the panels in Figure 5, in percent, one row per kind of data.
REACH = (2.5, 4.5, 9.0)
# Color, marker, line, name in the legend.
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
SHOWN = [metric for metric in STYLES if metric not in ("ece", "kernel_ece")]


def draw_figure5(tables: Tables) -> plt.Figure:
    rows = tables("figure5")
    worlds = distinct(rows, "world")
    titles = [f"{w}: TCE {100 * pick(rows, world=w)[0]['tce']:.2f}%" for w in worlds]
    labels = {"x": "$n$", "y": [f"{words}\n\nmean of the runs, %" for words in KINDS.values()]}
    shape = len(KINDS), len(worlds)
    figure, axes = panels(*shape, size=(16, 9.5), sharex=True, titles=titles, **labels)
    for panel_row, kind, reach in zip(axes, KINDS, REACH, strict=True):
        for ax, world in zip(panel_row, worlds, strict=True):
            metric_panel(ax, pick(rows, world=world, data=kind), reach)
    looks = [
        (label, {"color": c, "marker": m, "ls": ls, "lw": 2 if c == VERMILION else 1.4})
        for c, m, ls, label in STYLES.values()
    ]
    legend_below(figure, ("true error", {"color": "black", "lw": 2.5}), *looks, ncols=5)
    return figure


def metric_panel(ax: plt.Axes, rows: list[Row], reach: float) -> None:
    tce = 100 * rows[0]["tce"]
    ax.axhline(tce, color="black", lw=2.5)
    for metric, (color, marker, dashes, _) in STYLES.items():
        bold = metric == "tce_bpm"
        look = {"color": color, "marker": marker, "ls": dashes, "ms": 6}
        look |= {"lw": 2.4, "zorder": 3} if bold else {"lw": 1.4, "zorder": 2}
        line(ax, pick(rows, metric=metric), "n", "mean", 100, **look)
    ax.set(xlim=(300, 5200), xticks=[1000, 3000, 5000], ylim=(max(tce - reach, 0), tce + reach))


def curve_panel(ax: plt.Axes, rows: list[Row], title: str) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", ls=":", lw=1.4, label="perfect calibration")
    seen = pick(rows, has_scores=1)
    ends = (column(seen, name) for name in ("score", "histogram_low", "histogram_high"))
    label = "histogram binning, 10 to 50 bins: range"
    ax.fill_between(*ends, color=SKY, alpha=0.35, lw=0, label=label)
    line(ax, seen, "score", "histogram", color=BLUE, lw=1.6, label="histogram binning: mean")
    if rows[0]["truth"] != "":
        line(ax, rows, "score", "truth", color="black", lw=3.2, label="true curve")
    line(ax, rows, "score", "curve", color=VERMILION, lw=2, label="BPM curve, all labels")
    label = "BPM curve, a tenth of the positives labeled"
    line(ax, rows, "score", "curve_pu", color=ORANGE, lw=2, ls="--", label=label)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")


def curves(rows: list[Row], shape: tuple[int, int], x: str, y: str) -> plt.Figure:
    size = 3.9 * shape[1], 4.05 * shape[0] + 0.9
    options = {"sharex": True, "sharey": True, "x": x, "y": y}
    figure, axes = panels(*shape, size=size, shade="0.92", **options)
    for ax, panel in zip(axes.flat, distinct(rows, "panel"), strict=True):
        curve_panel(ax, pick(rows, panel=panel), panel)
    shared_legend(figure, axes.flat[0], 2)
    return figure


def draw_figure4(tables: Tables) -> plt.Figure:
    return curves(tables("figure4"), (2, 3), "score", "share of positives")


def draw_figure3(tables: Tables) -> plt.Figure:
    return curves(tables("figure3"), (3, 3), "confidence", "share of hits")


def closest(rows: list[Row], kind: str) -> list[str]:
    """Return the metric in the paper that is closest on average, for each population and size."""
    found = {}
    for row in pick(rows, data=kind):
        if row["metric"] in SHOWN:
            gap = abs(row["mean"] - row["tce"])
            found.setdefault((row["world"], row["n"]), []).append((gap, row["metric"]))
    return [min(gaps)[1] for gaps in found.values()]
