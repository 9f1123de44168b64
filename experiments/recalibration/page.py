"""Tables (tables.md) and pictures, from the stored tables."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import panels, shared_legend
from experiments.tables import Tables, column, distinct, pick, read, table
from noneg.recalibration import METHODS

# Those that learn a map; "auto" chooses among them.
NAMES = [name for name in METHODS if name not in ("identity", "prior-shift")]
# Of the paper's Tables 1 and 5.
PAPER = ("temperature", "isotonic", "mix-n-match", "spline", "bpm")
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
METRICS = ("ece", "debiased", "sweep", "ks", "smooth", "bpm")
HEADS = ("ECE", "debiased", "sweep", "KS", "smooth", "TCE_bpm")
# The networks nearest to those of the paper's tables: the first is the very same.
NETWORKS = ("resnet110_kull cifar10", "wide_resnet_brier cifar100", "densenet161 imagenet")
RATES = (0.2, 0.5, 0.8)
# Table 1 of the ECE bias paper, MNIST: error and bound, separate rows and reuse.
PRINTED_MNIST = {
    "adam": {"separate": (".0085 ± .0016", ".8475"), "reuse": (".0058 ± .0026", ".1444")},
    "sgld": {"separate": (".0101 ± .0025", ".8475"), "reuse": (".0072 ± .0007", ".1444")},
}
CHANGE = "{change:.4f} [{change_low:.4f}, {change_high:.4f}]"
COLOURS = dict(zip(NAMES, plt.get_cmap("tab10").colors, strict=False))


def text_tables(tables: Tables) -> str:
    about = (
        "# Tables\n\nWritten by `python -m experiments recalibration`; see README.md for what they "
    )
    about += "mean.\n"
    parts = [network_tables, hidden_tables, mnist_table, synthetic_tables]
    return "\n".join([about, *(text for part in parts for text in part(tables))])


def numbers(row: dict) -> list[str]:
    return [f"{row[metric]:.5f}" for metric in METRICS]


def network_tables(tables: Tables):
    # Tables 1 and 5 of the paper, for the networks ours stand beside.
    published = read(Path(__file__).parent / "published.csv")
    for network in distinct(tables("networks"), "network"):
        yield f"\n### {network}, all labels known\n"
        lines = []
        for row in pick(tables("networks"), network=network):
            method = row["method"].removesuffix(" (logits)")
            printed = pick(published, network=network, method=method)
            ours, *theirs = (numbers(r) for r in (row, *printed))
            gap = "" if row["change"] == "" else CHANGE.format_map(row)
            lines.append([row["method"], *ours, gap, " ".join(x for part in theirs for x in part)])
        yield table(["method", *HEADS, "change of ECE", "paper, same columns"], lines) + "\n"


def hidden_tables(tables: Tables):
    for network in NETWORKS:
        yield f"\n### {network}, labels hidden\n"
        lines = []
        for method in NAMES:
            line = [f"**{method}**" if method in PAPER else method]
            for rate in RATES:
                runs = pick(tables("networks_hidden"), network=network, method=method, rate=rate)
                ece, change, high = (column(runs, k) for k in ("ece", "ece_change", "ece_high"))
                spread = f"{change.mean():.4f} [{change.min():.4f}, {change.max():.4f}]"
                line += [f"{ece.mean():.4f}", spread, f"{(high < 0).sum()}/{len(runs)}"]
            lines.append(line)
        columns = "ECE, {:.0f} % marked | change, mean [least, most] | interval below 0"
        yield table(" | ".join(["method", *(columns.format(100 * r) for r in RATES)]), lines) + "\n"


def spread(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1):.4f}"


def mnist_table(tables: Tables):
    yield "\n### MNIST 4 against 9, 20 trials\n"
    lines = []
    for optimiser, ways in PRINTED_MNIST.items():
        runs = pick(tables("mnist"), optimiser=optimiser)
        for name, (error, bound) in ways.items():
            ours = f"{column(runs, f'{name}_bound').mean():.4f}"
            lines.append([optimiser, name, spread(column(runs, name)), error, ours, bound])
        before = spread(column(runs, "before"))
        lines.append([optimiser, "none (ECE, 15 bins)", before, "", "", ""])
    yield table("optimiser | rows | error | paper | bound | paper", lines) + "\n"


def synthetic_tables(tables: Tables):
    for world in distinct(tables("synthetic"), "world"):
        rows = pick(tables("synthetic"), world=world)
        start = pick(rows, method="none")[0]["error"]
        yield f"\n### World {world}: true error after recalibration (before: {start:.4f})\n"
        sizes = [n for n in distinct(rows, "n_positive") if n]
        lines = []
        for method in NAMES:
            for data in ("PU", "labelled"):
                mine = pick(rows, method=method, data=data)
                means = [column(pick(mine, n_positive=n), "error").mean() for n in sizes]
                lines.append([method, data, *(f"{mean:.4f}" for mean in means)])
        yield table(["method", "data", *(f"n_P = {n:,}" for n in sizes)], lines) + "\n"


def draw_synthetic(tables: Tables) -> plt.Figure:
    worlds = distinct(tables("synthetic"), "world")
    size, options = (10, 4 * len(worlds)), {"sharey": "row", "squeeze": False}
    figure, axes = panels(len(worlds), 2, size=size, shade=None, layout=None, **options)
    for panel_row, world in zip(axes, worlds, strict=True):
        rows = pick(tables("synthetic"), world=world)
        for ax, data in zip(panel_row, ("PU", "labelled"), strict=True):
            for method in NAMES:
                mine = pick(rows, method=method, data=data)
                sizes = distinct(mine, "n_positive")
                means = [column(pick(mine, n_positive=n), "error").mean() for n in sizes]
                ax.plot(sizes, means, marker="o", ms=3, label=method, color=COLOURS[method])
            start = pick(rows, method="none")[0]["error"]
            ax.axhline(start, color="black", ls="--", label="before")
            ax.set(xscale="log", yscale="log", xlabel="positives (all rows: 11 times as many)")
            ax.set_xticks(SIZES, [f"{n}" for n in SIZES], minor=False)
            ax.minorticks_off()
            ax.set_title(f"{world}: {data}")
        panel_row[0].set_ylabel("true calibration error after")
    shared_legend(figure, axes[0][0], 6, fontsize=8, loc="lower center")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def draw_networks_hidden(tables: Tables) -> plt.Figure:
    figure, axes = panels(1, 3, size=(13, 4.2), shade=None, layout=None)
    for ax, network in zip(axes, NETWORKS, strict=True):
        for k, rate in enumerate(RATES):
            rows, means = pick(tables("networks_hidden"), network=network, rate=rate), []
            places = np.arange(len(NAMES)) + 0.25 * (k - 1)
            for place, method in zip(places, NAMES, strict=True):
                values = column(pick(rows, method=method), "ece_change")
                ax.plot([place] * values.size, values, ".", ms=4, color=f"C{k}")
                means.append(values.mean())
            ax.plot(places, means, "_", ms=9, mew=2, color=f"C{k}", label=f"{rate} of hits marked")
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=60, ha="right", fontsize=8)
        ax.set_title(network, fontsize=10)
    axes[0].set_ylabel("change of the test ECE, labels hidden in fitting")
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    return figure
