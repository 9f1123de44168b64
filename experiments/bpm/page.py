"""Figures and tables of the page, from the stored tables."""

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
from experiments.tables import Row, Tables, column, distinct, grid, pick, table

KINDS = {
    "labelled": "labelled, $n$ rows",
    "n_P = n, n_U = n": "PU, $n$ positives,\n$n$ unlabeled",
    "n_P = n/10, n_U = n": "PU, $n/10$ positives,\n$n$ unlabeled",
}
# Half the height of the panels of Figure 5, in per cent, a row a kind of data.
REACH = (2.5, 4.5, 9.0)
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
# Uncalibrated rows of Tables 1 and 5: ECE_bin, ECE_debiased, ECE_sweep, KS, smECE, TCE_bpm.
PAPER_REAL = {
    "ResNet-110, CIFAR-10": (0.04755, 0.04752, 0.04750, 0.04750, 0.04271, 0.05511),
    "DenseNet-161, ImageNet": (0.05722, 0.05726, 0.05719, 0.05721, 0.05620, 0.06137),
}
REAL_METRICS = ["ece, 15 mass bins", "debiased_ece", "sweep_ece", "ks_error", "smooth_ece"]
REAL_METRICS += ["tce_bpm", "tce_bpm, empirical"]


def draw_figure5(tables: Tables) -> plt.Figure:
    rows = tables("figure5")
    worlds = distinct(rows, "world")
    figure, axes = panels(len(KINDS), len(worlds), size=(16, 9.5), sharex=True)
    for panel_row, (kind, words), reach in zip(axes, KINDS.items(), REACH, strict=True):
        for ax, world in zip(panel_row, worlds, strict=True):
            metric_panel(ax, pick(rows, world=world, data=kind), reach)
        panel_row[0].set_ylabel(f"{words}\n\nmean of the runs, %")
    for ax, world in zip(axes[0], worlds, strict=True):
        ax.set_title(f"{world}: TCE {100 * pick(rows, world=world)[0]['tce']:.2f} %")
    for ax in axes[-1]:
        ax.set_xlabel("$n$")
    looks = [
        (label, {"color": c, "marker": m, "ls": ls, "lw": 2 if c == VERMILION else 1.4})
        for c, m, ls, label in STYLES.values()
    ]
    legend_below(figure, ("true error", {"color": "black", "lw": 2.5}), *looks, ncols=5)
    return figure


def metric_panel(ax: plt.Axes, rows: list[Row], reach: float) -> None:
    tce = 100 * rows[0]["tce"]
    ax.axhline(tce, color="black", lw=2.5)
    for metric, (colour, marker, dashes, _) in STYLES.items():
        bold = metric == "tce_bpm"
        look = {"color": colour, "marker": marker, "ls": dashes, "ms": 6}
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
    label = "BPM curve, a tenth of the positives labelled"
    line(ax, rows, "score", "curve_pu", color=ORANGE, lw=2, ls="--", label=label)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")


def curves(rows: list[Row], shape: tuple[int, int], x: str, y: str) -> plt.Figure:
    size = 3.9 * shape[1], 4.05 * shape[0] + 0.9
    figure, axes = panels(*shape, size=size, shade="0.92", sharex=True, sharey=True)
    for ax, panel in zip(axes.flat, distinct(rows, "panel"), strict=True):
        curve_panel(ax, pick(rows, panel=panel), panel)
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)
    shared_legend(figure, axes.flat[0], 2)
    return figure


def draw_figure4(tables: Tables) -> plt.Figure:
    return curves(tables("figure4"), (2, 3), "score", "share of positives")


def draw_figure3(tables: Tables) -> plt.Figure:
    return curves(tables("figure3"), (3, 3), "confidence", "share of hits")


def show_table4(tables: Tables) -> str:
    rows = []
    for row in pick(tables("table4"), n=10_000):
        half = pick(tables("table4"), n=5000, world=row["world"])[0]
        verdict = "yes" if row["within_two_sd"] else "no"
        rows.append(row | {"verdict": verdict, "half": half["ead"], "half_sd": half["ead_sd"]})
    head = "world | paper | ours, n = 10,000 | at most paper + 2 sd | ours, n = 5,000 | "
    head += "maximum likelihood, n = 10,000 | histogram, paper | histogram, ours | P"
    pairs = ["paper", "ead", "half", "ead_likelihood", "paper_histogram", "ead_histogram"]
    shown = [f"{{{name}:.4f}} ± {{{name}_sd:.4f}}" for name in pairs]
    shown.insert(2, "{verdict}")
    return grid(head, " | ".join(["{world}", *shown, "{p_value:.1e}"]), rows)


def show_worlds(tables: Tables) -> str:
    rows = [r | {"tce": 100 * r["tce"], "limit": 100 * r["limit"]} for r in tables("worlds")]
    head = "world | prior | TCE | tce_bpm of the population | EAD of its curve | alpha, beta, c"
    line = "{world} | {prior:.4f} | {tce:.3f} % | {limit:.3f} % | {ead_limit:.4f} | "
    return grid(head, line + "{alpha:.3f}, {beta:.3f}, {c:.3f}", rows)


def show_figure5(tables: Tables) -> str:
    rows, parts = tables("figure5"), []
    for kind in KINDS:
        lines = []
        for metric in distinct(rows, "metric"):
            cells = []
            for world in distinct(rows, "world"):
                curve = pick(rows, world=world, data=kind, metric=metric)
                few, many = (100 * pick(curve, n=n)[0]["absolute_error"] for n in (500, 5000))
                bias = 100 * (curve[-1]["mean"] - curve[-1]["tce"])
                cells.append(f"{few:.2f} / {many:.2f} ({bias:+.2f})")
            lines.append([metric, *cells])
        parts.append(f"*{kind}*\n\n" + table(["metric", *distinct(rows, "world")], lines))
    return "\n\n".join(parts)


def show_closest(tables: Tables) -> str:
    """Which of the metrics of the paper comes closest on average over the runs."""
    shown = [m for m in STYLES if m not in ("ece", "kernel_ece")]
    found = {}
    for row in tables("figure5"):
        if row["metric"] in shown:
            gap = abs(row["mean"] - row["tce"])
            found.setdefault((row["data"], row["world"], row["n"]), []).append((gap, row["metric"]))
    lines = []
    for metric in shown:
        best = {k: [min(v)[1] for (data, *_), v in found.items() if data == k] for k in KINDS}
        lines.append([metric, *(f"{b.count(metric)} of {len(b)}" for b in best.values())])
    return table(["closest mean", *KINDS], lines)


def show_coverage(tables: Tables) -> str:
    rows = tables("coverage")
    runs = column(rows, "runs")
    covers, above = (column(rows, k) @ runs / runs.sum() for k in ("covers_limit", "limit_below"))
    words = f"Runs a cell: {rows[0]['runs']}. Of all {runs.sum():,.0f} intervals {covers:.1%} "
    words += f"cover the limit; {above:.1%} lie above it."
    shares = ("tce", "limit", "mean", "mean_low", "mean_high")
    rows = [row | {name: 100 * row[name] for name in shares} for row in rows]
    head = "world | data | TCE | limit of tce_bpm | mean | mean interval | covers the limit | "
    line = "{world} | {data} | {tce:.2f} % | {limit:.2f} % | {mean:.2f} % | [{mean_low:.2f}, "
    line += "{mean_high:.2f}] % | {covers_limit:.0%} | {limit_below:.0%} | {limit_above:.0%} | "
    head += "limit below | limit above | covers TCE"
    return words + "\n\n" + grid(head, line + "{covers_tce:.0%}", rows)


def show_global(tables: Tables) -> str:
    gap = column(tables("global"), "ours_minus_theirs")
    return (
        f"Over {gap.size} data sets the largest excess of our minimum over that of differential "
        f"evolution is {gap.max():.1e}; in {int((gap < -1e-9).sum())} ours is lower by more than "
        "1e-9 (`global.csv`)."
    )


def show_real(tables: Tables) -> str:
    lines = []
    for row in tables("real"):
        values = [f"{row[m]:.4f}" for m in REAL_METRICS]
        lines.append([row["net"], f"{row['n']:,}", row["data"], *values])
        if row["net"] in PAPER_REAL and row["data"] == "labelled":
            paper = [f"{x:.4f}" for x in PAPER_REAL[row["net"]]]
            lines.append([row["net"], "", "the paper", *paper, ""])
    return table(["net", "n", "data", *REAL_METRICS], lines)


def show_speed(tables: Tables) -> str:
    line = "{n:,} | {function} | {processor:.3f} s | {wall:.3f} s"
    return grid("rows | function | processor | wall", line, tables("speed"))
