"""Draw the figures of this experiment, and fill the tables of its README, from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).parents[1]))
from pages import Row, column, fill, pick, read, table, with_error

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


def draw_curve(ax: plt.Axes, rows: list[Row], style: tuple[str, str, str]) -> None:
    n, colour = column(rows, "n"), style[0]
    ax.fill_between(n, column(rows, "low"), column(rows, "high"), color=colour, alpha=0.2, lw=0)
    ax.plot(n, column(rows, "bias"), color=colour, marker=style[1], ms=5, lw=2)


def draw_reference(ax: plt.Axes, rows: list[Row], style: tuple[str, str, str]) -> None:
    """Draw a curve whose 90 % of trials are an outline, so that it may share a panel."""
    n, colour = column(rows, "n"), style[0]
    for end in ("low", "high"):
        ax.plot(n, column(rows, end), color=colour, lw=0.9, ls=(0, (2, 1)))
    ax.plot(n, column(rows, "bias"), color=colour, marker=style[1], ms=5, lw=2)


def draw_guide(ax: plt.Axes, rows: list[Row]) -> None:
    """Draw the rate of the theory from the first measured point."""
    n = column(rows, "n")
    guide = float(rows[0]["bias"]) * (n / n[0]) ** (-1 / 3)
    ax.plot(n, guide, color="black", ls=":", lw=1.8)


def grid_of_panels(columns: int, size: tuple[float, float], low: float, high: float):
    figure, axes = plt.subplots(
        2, columns, figsize=size, sharex=True, sharey=True, layout="constrained"
    )
    for ax in axes.flat:
        ax.set(xscale="log", yscale="log", xlim=(8.5, 11_800), ylim=(low, high))
        ax.grid(visible=True, which="major", color="0.88", lw=0.7)
        ax.set_axisbelow(True)
    for row, world in zip(axes, WORLDS, strict=True):
        row[0].set_ylabel(f"{world}\n|ECE $-$ TCE| (log scale)")
    for ax in axes[-1]:
        ax.set_xlabel("$N$ (log scale)")
    return figure, axes


def legend_below(figure: plt.Figure, *entries: tuple[str, dict[str, object]]) -> None:
    handles = [plt.Line2D([], [], label=label, **look) for label, look in entries]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(entries))


MEAN = ("mean of trials", {"color": "0.25", "marker": "o", "ms": 5, "lw": 2})
BAND = ("90 % of trials", {"color": "0.82", "lw": 9})
GUIDE = (r"$N^{-1/3}$ from first point", {"color": "black", "ls": ":", "lw": 1.8})


def draw_figure4(folder: Path) -> None:
    rows, slopes = read(folder / "figure4.csv"), read(folder / "slopes.csv")
    figure, axes = grid_of_panels(4, (14, 8.2), 2e-4, 9)
    for row, world in zip(axes, WORLDS, strict=True):
        for ax, setting in zip(row, STYLES[4], strict=True):
            draw_setting(ax, pick(rows, world=world), setting)
            fit = pick(slopes, figure="4", world=world, setting=setting, n_low="100")[0]
            slope, error = float(fit["slope"]), float(fit["standard_error"])
            ax.text(11, 2.8e-4, rf"slope ${slope:.2f} \pm {error:.2f}$, $N \geq 100$")
    for ax, style in zip(axes[0], STYLES[4].values(), strict=True):
        ax.set_title(style[2])
    bound = ("bound on the mean", {"color": "0.25", "ls": "--", "lw": 1.5})
    others = ("the other settings", {"color": "0.7", "lw": 1})
    legend_below(figure, MEAN, BAND, bound, GUIDE, others)
    figure.savefig(folder / "figure4.png")


def draw_setting(ax: plt.Axes, rows: list[Row], setting: str) -> None:
    """Draw one panel of Figure 4, the other settings in grey behind it."""
    for other in STYLES[4]:
        curve = pick(rows, setting=other)
        ax.plot(column(curve, "n"), column(curve, "bias"), color="0.7", lw=1)
    curve, style = pick(rows, setting=setting), STYLES[4][setting]
    draw_curve(ax, curve, style)
    ax.plot(column(curve, "n"), column(curve, "bound"), color=style[0], ls="--", lw=1.5)
    draw_guide(ax, curve)


def draw_figure5(folder: Path) -> None:
    rows, floors = read(folder / "figure5.csv"), read(folder / "floors.csv")
    figure, axes = grid_of_panels(3, (13, 8.2), 2e-4, 0.6)
    limit = "n_P = N, n_U = inf"
    for row, world in zip(axes, WORLDS, strict=True):
        for ax, floor in zip(row, pick(floors, world=world), strict=True):
            setting = f"n_P = {floor['n_positive']}, n_U = N"
            curve, reference = (pick(rows, world=world, setting=s) for s in (setting, limit))
            draw_reference(ax, reference, STYLES[5][limit])
            draw_curve(ax, curve, STYLES[5][setting])
            ax.axhline(float(floor["floor"]), color=STYLES[5][setting][0], ls="--", lw=1.5)
            draw_guide(ax, reference)
    for ax, style in zip(axes[0], STYLES[5].values(), strict=False):
        ax.set_title(style[2])
    blue = (STYLES[5][limit][2], {"color": BLUE, "marker": "o", "ms": 5, "lw": 2})
    fixed = (r"$n_P$ fixed", {"color": "0.25", "marker": "^", "ms": 6, "lw": 2})
    floor = (r"floor: same $n_P,\ n_U=\infty$", {"color": "0.25", "ls": "--", "lw": 1.5})
    outline = ("90 %, outlined", {"color": BLUE, "lw": 0.9, "ls": (0, (2, 1))})
    legend_below(figure, fixed, BAND, floor, blue, outline, GUIDE)
    figure.savefig(folder / "figure5.png")


def draw_figure6(folder: Path) -> None:
    rows, curve = read(folder / "figure6.csv"), read(folder / "figure6_curve.csv")
    figure, axes = plt.subplots(1, 2, figsize=(12, 6.6), sharey=True, layout="constrained")
    for ax, binning in zip(axes, ("width", "mass"), strict=True):
        draw_diagram(ax, pick(rows, binning=binning), curve)
        ax.set_title(f"15 bins of equal {binning}")
    axes[0].set_ylabel("frequency of positives in the bin")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.savefig(folder / "figure6.png")


def draw_diagram(ax: plt.Axes, points: list[Row], curve: list[Row]) -> None:
    score, posterior = column(curve, "score"), column(curve, "posterior")
    ax.plot([0, 1], [0, 1], color="0.55", ls=":", lw=1.6, label="perfect calibration")
    ax.plot(score, posterior, color="black", lw=1.6, label="true curve")
    ring = {"marker": "o", "ms": 11, "mfc": "none", "mec": VERMILION, "mew": 1.6, "ls": ""}
    truth = column(points, "true_score"), column(points, "true_frequency")
    ax.plot(*truth, **ring, label="true value of the bin")
    bars = {"color": BLUE, "ls": "", "marker": "o", "ms": 5, "capsize": 4, "lw": 1.6}
    found = (column(points, name) for name in ("score", "frequency", "sd"))
    ax.errorbar(*found, **bars, label="PU estimate: mean and sd over the trials")
    ax.set(xlabel="mean score of the bin", xlim=(-0.02, 1.02), ylim=(-0.02, 1.1), aspect="equal")
    ax.grid(visible=True, color="0.9", lw=0.7)
    ax.set_axisbelow(True)


def draw_all(folder: Path) -> None:
    with plt.rc_context(TEXT):
        draw_figure4(folder)
        draw_figure5(folder)
        draw_figure6(folder)
    plt.close("all")


def slopes_table(folder: Path) -> str:
    rows = read(folder / "slopes.csv")
    long, whole = (pick(rows, n_low=low) for low in ("100", "10"))
    lines = [
        [
            *(a[name] for name in ("figure", "world", "setting")),
            *(with_error(row["slope"], row["standard_error"], 3) for row in (a, b)),
            *(f"{float(a[name]):.2f}" for name in ("signed_slope", "sd_slope", "bound_slope")),
        ]
        for a, b in zip(long, whole, strict=True)
    ]
    head = ["figure", "classifier", "setting", "slope, N from 100", "slope, N from 10"]
    return table([*head, "N from 100: mean of ECE - TCE", "sd", "bound"], lines)


def floors_table(folder: Path) -> str:
    lines = [
        [
            r["world"],
            f"{int(r['n_positive']):,}",
            *(with_error(r[name], r[f"{name}_se"]) for name in ("bias", "floor")),
        ]
        for r in read(folder / "floors.csv")
    ]
    return table(["classifier", "n_P", "bias at n_U = 10,000", "floor, n_U infinite"], lines)


def theorem_table(folder: Path) -> str:
    rows = read(folder / "theorem1.csv")
    lines = []
    for binning in ("width", "mass"):
        for kind in ("PU", "labelled"):
            part = [
                r
                for r in pick(rows, binning=binning)
                if r["setting"].startswith("labelled") == (kind == "labelled")
            ]
            shares = [f"{column(part, name).max():.2f}" for name in _SHARES]
            ratios = [f"{column(part, name).max():.2f}" for name in _RATIOS]
            below = sum(r["vacuous"] == "False" for r in part)
            lines.append([kind, binning, str(len(part)), str(below), *shares, *ratios])
    head = ["data", "bins", "cells", "of these bound below 1", "share above, worst cell"]
    head += ["as printed", "its statistical part", "largest error / bound"]
    head += ["largest statistical error / part", "largest mean / bound on the mean"]
    return table(head, lines)


_SHARES = ("share_above", "share_above_printed", "share_above_statistical_part")
_RATIOS = ("largest_ratio", "largest_statistical_ratio", "bias_over_expected_bound")


def worlds_table(folder: Path) -> str:
    lines = [
        [r["world"], f"{abs(float(r['tce'])):.6f}", f"{float(r['lipschitz']):.4f}"]
        for r in read(folder / "worlds.csv")
    ]
    return table(["classifier", "TCE", "L"], lines)


def levels_table(folder: Path) -> str:
    rows = read(folder / "figure4.csv")
    lines = []
    for last in pick(rows, n="10000"):
        curve = pick(rows, world=last["world"], setting=last["setting"])
        bias = [f"{float(pick(curve, n=n)[0]['bias']):.4f}" for n in ("100", "1000", "10000")]
        rest = [_brief(last[k]) for k in ("signed_bias", "sd", "binning_bias", "bound")]
        lines.append([last["world"], last["setting"], *bias, *rest])
    head = ["classifier", "setting", "bias, N = 100", "N = 1,000", "N = 10,000"]
    head += ["there: mean of ECE - TCE", "sd", "binning bias", "bound"]
    return table(head, lines)


def _brief(number: str) -> str:
    return f"{float(number):.2g}" if abs(float(number)) > 1e-12 else "0"


def fill_readme(folder: Path, versions: str) -> None:
    """Write the numbers between the markers of the README."""
    parts = {
        "versions": versions,
        "worlds": worlds_table(folder),
        "levels": levels_table(folder),
        "slopes": slopes_table(folder),
        "floors": floors_table(folder),
        "theorem1": theorem_table(folder),
    }
    fill(folder / "README.md", parts)
