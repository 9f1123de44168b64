"""Draw the figures of this experiment from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).parents[1]))
from pages import Row, column, pick, read

# Okabe and Ito's palette, told apart under every common colour blindness.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
TEXT = {"font.size": 12, "axes.titlesize": 12.5, "legend.fontsize": 10.5, "savefig.dpi": 130}
TRUTH = {"color": "black", "lw": 1.6}


def panels(*shape: int, size: tuple[float, float], **options: object):
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    for ax in np.ravel(axes):
        ax.grid(visible=True, color="0.9", lw=0.7)
        ax.set_axisbelow(True)
    return figure, axes


def roc_axes(ax: plt.Axes) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls=":")
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.01))


def band(ax: plt.Axes, rows: list[Row], x: str, colour: str, label: str, alpha: float = 0.3):
    at, low, high = column(rows, x), column(rows, "lower"), column(rows, "upper")
    ax.fill_between(at, low, high, color="white", lw=0)
    ax.fill_between(at, low, high, color=colour, alpha=alpha, lw=0)
    for end in (low, high):
        ax.plot(at, end, color=colour, lw=1.2, label=label if end is low else None)


def draw_figure2(folder: Path) -> None:
    rows = read(folder / "figure2.csv")
    figure, (left, right) = panels(1, 2, size=(12, 5))
    paper = pick(rows, band="pointwise")
    n = column(paper, "n_known")
    for end, colour, marker in (("upper", BLUE, "v"), ("lower", VERMILION, "^")):
        tails = column(paper, f"{end}_2.5%"), column(paper, f"{end}_97.5%")
        left.fill_between(n, *tails, color=colour, alpha=0.2, lw=0)
        left.plot(n, column(paper, end), color=colour, marker=marker, lw=2, label=f"{end} bound")
    left.axhline(column(paper, "true_auc").mean(), **TRUTH, label="true AUROC")
    left.set(xscale="log", xlabel="known positives (log scale)", ylabel="AUROC")
    left.set_title("bounds, mean and 95 % of trials")
    left.legend(loc="lower right")
    for name, colour, marker in (("pointwise", BLUE, "o"), ("exact", ORANGE, "s")):
        part = pick(rows, band=name)
        right.plot(n, column(part, "width"), color=colour, marker=marker, lw=2, label=name)
    guide = column(paper, "width")[-1] * np.sqrt(n[-1] / n)
    right.plot(n, guide, color="0.4", ls=":", lw=1.6, label=r"$|P_L|^{-1/2}$ from the last point")
    right.set(xscale="log", yscale="log", xlabel="known positives (log scale)")
    right.set(ylabel="upper minus lower bound (log scale)", title="width by kind of band")
    right.legend()
    figure.savefig(folder / "figure2.png")


def draw_figure3(folder: Path) -> None:
    curves, areas = read(folder / "figure3_curves.csv"), read(folder / "figure3.csv")
    figure, (left, right) = panels(1, 2, size=(12, 5.6))
    for beta, colour in (("0.5", PURPLE), ("0.4", GREEN), ("0.3", BLUE), ("0.1", ORANGE)):
        band(left, pick(curves, beta=beta), "fpr", colour, rf"$\hat\beta = {beta}$")
    naive, truth = pick(curves, beta="0"), pick(curves, beta="true")
    look = {"color": VERMILION, "lw": 2, "ls": "--"}
    left.plot(column(naive, "fpr"), column(naive, "lower"), **look, label=r"$\hat\beta = 0$")
    left.plot(column(truth, "fpr"), column(truth, "lower"), **TRUTH, label="true curve")
    roc_axes(left)
    left.set_title(r"ROC bounds, $\beta = 0.3$")
    left.legend(loc="lower right")
    for row in areas[1:]:
        ends = float(row["roc_lower"]), float(row["roc_upper"])
        beta = float(row["beta"])
        right.plot(
            [beta, beta], ends, color=BLUE if beta == 0.3 else "0.45", lw=5, marker="_", ms=14
        )
    right.axhline(float(areas[0]["roc_lower"]), **TRUTH, label="true AUROC")
    right.axvline(0.3, color=BLUE, ls=":", lw=1.2, label=r"true $\beta$")
    right.set(xlabel=r"assumed $\hat\beta$", ylabel="AUROC", title="bounds on the area")
    right.legend(loc="upper left")
    figure.savefig(folder / "figure3.png")


MODELS = {
    "1: smooth": BLUE,
    "2: sure of 45 %": VERMILION,
    "3: equal spread": GREEN,
    "4: wide positives": PURPLE,
}


def draw_figure4(folder: Path) -> None:
    curves, values = read(folder / "figure4_curves.csv"), read(folder / "figure4.csv")
    figure, axes = panels(2, 2, size=(12, 10))
    for row, pair in zip(axes, (list(MODELS)[:2], list(MODELS)[2:]), strict=True):
        for model in pair:
            for beta, style in (("0", "-"), ("0.1", "--")):
                part = pick(curves, model=model, beta=beta)
                label = rf"model {model}, $\hat\beta = {beta}$"
                look = {"color": MODELS[model], "ls": style, "lw": 1.8, "label": label}
                row[0].plot(column(part, "fpr"), column(part, "tpr"), **look)
        roc_axes(row[0])
        row[0].legend(loc="lower right")
        draw_areas(row[1], [pick(values, model=model) for model in pair])
    axes[0, 0].set_title("no latent positives: curves")
    axes[0, 1].set_title("no latent positives: areas")
    axes[1, 0].set_title("a tenth latent positives: curves")
    axes[1, 1].set_title("a tenth latent positives: areas")
    figure.savefig(folder / "figure4.png")


def draw_areas(ax: plt.Axes, models: list[list[Row]]) -> None:
    """Draw areas against beta; grey where some model's curve would leave the unit square."""
    for rows in models:
        beta, name = column(rows, "beta"), rows[0]["model"]
        look = {"color": MODELS[name], "lw": 2}
        ax.plot(beta, column(rows, "auc"), **look, label=f"model {name}")
        ax.plot(beta, column(rows, "auc_unclipped"), **look | {"ls": ":", "lw": 1.6})
    ax.plot([], [], color="0.3", ls=":", lw=1.6, label=r"$(\mathrm{PAUC}-\beta/2)/(1-\beta)$")
    limit = min(float(rows[0]["largest_beta"]) for rows in models)
    ax.axvspan(limit, 0.2, color="0.93", lw=0, label=r"$\hat\beta$ contradicts a model's ranks")
    ax.set(xlabel=r"assumed $\hat\beta$", ylabel="AUROC", xlim=(0, 0.2))
    ax.legend(loc="upper left")


def draw_figure5(folder: Path) -> None:
    cdf, curves = read(folder / "figure5_cdf.csv"), read(folder / "figure5_curves.csv")
    figure, axes = panels(1, 3, size=(16, 5.4))
    rank = column(cdf, "rank") / 1000
    axes[0].fill_between(
        rank, column(cdf, "low"), column(cdf, "high"), color=BLUE, alpha=0.35, lw=0
    )
    axes[0].plot([], [], color=BLUE, alpha=0.5, lw=6, label="95 % band from known positives")
    axes[0].plot(rank, column(cdf, "latent"), **TRUTH, label="latent positives")
    axes[0].set(xlabel="rank, thousands", ylabel="rank CDF", title="(a) rank CDF", ylim=(0, 1.01))
    axes[0].legend(loc="lower right")
    for ax, kind, title in ((axes[1], "roc", "(b) ROC"), (axes[2], "pr", "(c) PR")):
        here = pick(curves, curve=kind)
        interval = r"$0.8\beta \leq \hat\beta \leq 1.2\beta$"
        band(ax, pick(here, beta="0.8 to 1.2 beta"), "x", ORANGE, interval)
        band(ax, pick(here, beta="beta"), "x", BLUE, r"$\hat\beta = \beta$", 0.45)
        naive, truth = pick(here, beta="beta = 0"), pick(here, beta="true")
        look = {"color": VERMILION, "lw": 1.8, "ls": "--"}
        ax.plot(column(naive, "x"), column(naive, "lower"), **look, label=r"$\hat\beta = 0$")
        ax.plot(column(truth, "x"), column(truth, "lower"), **TRUTH, label="true curve")
        ax.set_title(title)
    roc_axes(axes[1])
    axes[1].legend(loc="lower right")
    axes[2].set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.01))
    figure.savefig(folder / "figure5.png")


GUESSES = (("0.8", -0.22, ORANGE, "s"), ("1", 0.0, BLUE, "o"), ("1.2", 0.22, GREEN, "^"))


def draw_tables(folder: Path) -> None:
    rows = pick(read(folder / "tables.csv"), band="pointwise")
    negatives = sorted({row["known_negatives"] for row in rows}, key=float)
    figure, axes = panels(2, len(negatives), size=(16, 8), sharex=True, sharey=True)
    for line, basis in zip(axes, ("positives", "tighter"), strict=True):
        for ax, share in zip(line, negatives, strict=True):
            for guess, offset, colour, marker in GUESSES:
                draw_ranges(
                    ax,
                    pick(rows, basis=basis, known_negatives=share, guess=guess),
                    offset,
                    colour,
                    marker,
                )
            ax.axhline(100 * float(rows[0]["true_auc"]), color="black", ls="--", lw=1.2)
    for ax, share in zip(axes[0], negatives, strict=True):
        ax.set_title(f"{100 * float(share):.0f} % of negatives known")
    known = sorted({row["known_positives"] for row in rows}, key=float)
    for ax in axes[1]:
        ax.set(xlabel="% of positives known", xticks=range(len(known)))
        ax.set_xticklabels([f"{100 * float(k):.0f}" for k in known])
    axes[0, 0].set_ylabel("Table 1: from known positives\nAUROC, %")
    axes[1, 0].set_ylabel("Table 2: from the tighter class\nAUROC, %")
    entries = [
        plt.Line2D([], [], color=c, marker=m, lw=3, label=rf"$\hat\beta = {g}\,\beta$")
        for g, _, c, m in GUESSES
    ]
    entries.append(plt.Line2D([], [], color="black", ls="--", label="true AUROC"))
    entries.append(
        plt.Line2D([], [], color="0.4", marker="o", mfc="white", lw=3, label="from known negatives")
    )
    figure.legend(handles=entries, loc="outside lower center", ncols=5)
    figure.savefig(folder / "tables.png")


def draw_ranges(ax: plt.Axes, rows: list[Row], offset: float, colour: str, marker: str) -> None:
    for k, row in enumerate(sorted(rows, key=lambda r: float(r["known_positives"]))):
        ends = 100 * float(row["lower"]), 100 * float(row["upper"])
        fill = "white" if float(row["from_negatives"]) > 0.5 else colour
        look = {"color": colour, "lw": 3, "marker": marker, "ms": 6, "mfc": fill}
        ax.plot([k + offset] * 2, ends, **look)


def draw_latent(folder: Path) -> None:
    rows = read(folder / "latent.csv")
    figure, ax = panels(1, 1, size=(7.5, 5))
    looks = (("prediction", BLUE, "o"), ("exact", ORANGE, "s"), ("pointwise", VERMILION, "^"))
    for name, colour, marker in looks:
        part = pick(rows, band=name)
        ratio = column(part, "latent") / column(part, "known")
        look = {"color": colour, "marker": marker, "lw": 2, "label": name}
        ax.plot(ratio, 100 * column(part, "coverage"), **look)
    ax.axhline(95, color="black", ls="--", lw=1.2, label="nominal")
    ax.set(xscale="log", xlabel="latent positives for each known one (log scale)")
    ax.set(ylabel="tables that contain the truth, %")
    ax.set_xticks([0.25, 1, 4, 16, 64], labels=["1/4", "1", "4", "16", "64"])
    ax.legend(loc="lower right")
    figure.savefig(folder / "latent.png")


def draw_proxies(folder: Path) -> None:
    means, orders = read(folder / "propositions.csv"), read(folder / "orders.csv")
    figure, axes = panels(1, 3, size=(16, 5.4))
    looks = (("two-sample", BLUE, "o"), ("one-sample", VERMILION, "x"))
    titles = {"PA": "Proposition 1: proxy accuracy", "PAUC": "Proposition 2: proxy AUC"}
    for ax, (proxy, title) in zip(axes, titles.items(), strict=False):
        for setting, colour, marker in looks:
            part = pick(means, proxy=proxy, setting=setting)
            look = {"color": colour, "marker": marker, "ls": "", "ms": 6, "alpha": 0.8}
            ax.plot(column(part, "expected"), column(part, "mean"), **look, label=setting)
        ends = np.array(ax.get_xlim())
        ax.plot(ends, ends, color="black", lw=1, label="equal")
        ax.set(xlabel="expected from the truth", ylabel="mean over validation sets", title=title)
        ax.legend(loc="lower right")
    for proxy, line in (("PA", "-"), ("PAUC", "--")):
        for setting, colour, marker in looks:
            part = pick(orders, proxy=proxy, setting=setting, case="case 1")
            look = {"color": colour, "marker": marker, "ls": line, "lw": 1.8}
            share = 100 * column(part, "pairs_in_order")
            axes[2].plot(column(part, "n"), share, **look, label=f"{proxy}, {setting}")
    axes[2].set(xscale="log", xlabel="rows of the validation set (log scale)")
    axes[2].set(ylabel="pairs of classifiers in order, %", title="one validation set, case 1")
    axes[2].set_xticks([250, 1000, 4000], labels=["250", "1,000", "4,000"])
    axes[2].minorticks_off()
    axes[2].legend(loc="lower right")
    figure.savefig(folder / "proxies.png")


def draw_shift(folder: Path) -> None:
    rows = read(folder / "shift.csv")
    figure, axes = panels(1, 2, size=(12, 5), sharey=True)
    looks = {
        "two-sample": (BLUE, "o", "two samples"),
        "one-sample": (VERMILION, "s", "one sample, risk for two"),
        "one-sample, corrected": (GREEN, "^", "one sample, corrected"),
    }
    for ax, case in zip(axes, ("case 1", "case 2"), strict=True):
        for name, (colour, marker, label) in looks.items():
            part = pick(rows, case=case, training=name)
            x, y = column(part, "labelled"), 100 * column(part, "accuracy")
            error = 200 * column(part, "standard_error")
            look = {"color": colour, "marker": marker, "lw": 2, "capsize": 3, "label": label}
            ax.errorbar(100 * x, y, error, **look)
        ax.set(xlabel="positives labelled, %", title=f"USPS, {case}")
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(loc="lower left")
    figure.savefig(folder / "shift.png")


DRAWN = {
    "figure2": draw_figure2,
    "figure3": draw_figure3,
    "figure4": draw_figure4,
    "latent": draw_latent,
    "figure5": draw_figure5,
    "tables": draw_tables,
    "propositions": draw_proxies,
    "shift": draw_shift,
}


def draw_all(folder: Path) -> None:
    """Draw every figure whose table is there."""
    with plt.rc_context(TEXT):
        for name, draw in DRAWN.items():
            if (folder / f"{name}.csv").exists():
                draw(folder)
                plt.close("all")
