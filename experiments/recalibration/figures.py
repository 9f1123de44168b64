"""Tables (tables.md) and pictures from the stored csv files.

python figures.py
"""

import sys
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from common import HERE, NAMES, PAPER
from synthetic import SIZES

sys.path.append(str(Path(__file__).parents[1]))
from pages import read, table

METRICS = ("ece", "debiased", "sweep", "ks", "smooth", "bpm")
HEADS = ("ECE", "debiased", "sweep", "KS", "smooth", "TCE_bpm")
NETWORKS = ("resnet110_kull cifar10", "wide_resnet_brier cifar100", "densenet161 imagenet")
# Tables 1 and 5 of the paper, for the networks ours stand beside.
PRINTED = {
    "resnet110_kull cifar10": {
        "none": (0.04755, 0.04752, 0.04750, 0.04750, 0.04271, 0.05511),
        "temperature": (0.00745, 0.00568, 0.00576, 0.00590, 0.00901, 0.00825),
        "isotonic": (0.00753, 0.00550, 0.00586, 0.00601, 0.00920, 0.00649),
        "mix-n-match": (0.00745, 0.00574, 0.00576, 0.00590, 0.00901, 0.00825),
        "spline": (0.01322, 0.01181, 0.00347, 0.00430, 0.01280, 0.01136),
        "bpm": (0.00458, 0.00312, 0.00146, 0.00162, 0.00756, 0.00214),
    },
    "wide_resnet_brier cifar100": {
        "none": (0.18802, 0.18794, 0.18783, 0.18784, 0.17096, 0.25405),
        "temperature": (0.01295, 0.01013, 0.01084, 0.00861, 0.01350, 0.00997),
        "isotonic": (0.01556, 0.01670, 0.01112, 0.01130, 0.01521, 0.01694),
        "mix-n-match": (0.01161, 0.00787, 0.00944, 0.00741, 0.01246, 0.00840),
        "spline": (0.02170, 0.02112, 0.01838, 0.00683, 0.01805, 0.01136),
        "bpm": (0.01118, 0.00763, 0.00899, 0.00209, 0.01216, 0.00156),
    },
    "densenet161 imagenet": {
        "none": (0.05722, 0.05726, 0.05719, 0.05721, 0.05620, 0.06137),
        "temperature": (0.01966, 0.01918, 0.01913, 0.00998, 0.01916, 0.01657),
        "isotonic": (0.00745, 0.00401, 0.01069, 0.00430, 0.01202, 0.00342),
        "mix-n-match": (0.01768, 0.01725, 0.01693, 0.01061, 0.01733, 0.01472),
        "spline": (0.00880, 0.00690, 0.00692, 0.00190, 0.00882, 0.00230),
        "bpm": (0.00583, 0.00307, 0.00679, 0.00188, 0.00872, 0.00042),
    },
}
# Table 1 of the ECE bias paper, MNIST: error and bound, separate rows and reuse.
PRINTED_MNIST = {
    "adam": (".0085 ± .0016", ".8475", ".0058 ± .0026", ".1444"),
    "sgld": (".0101 ± .0025", ".8475", ".0072 ± .0007", ".1444"),
}
COLOURS = dict(zip(NAMES, plt.get_cmap("tab10").colors, strict=False))


def network_tables(rows):
    for network in dict.fromkeys(row["network"] for row in rows):
        yield f"\n### {network}, all labels known\n"
        lines = []
        for row in (row for row in rows if row["network"] == network):
            values = [f"{float(row[m]):.5f}" for m in METRICS]
            printed = PRINTED.get(network, {}).get(row["method"].removesuffix(" (logits)"))
            theirs = " ".join(f"{x:.5f}" for x in printed) if printed else ""
            gap = ""
            if row["change"]:
                gap = f"{float(row['change']):.4f} [{float(row['change_low']):.4f}, "
                gap += f"{float(row['change_high']):.4f}]"
            lines.append([row["method"], *values, gap, theirs])
        yield table(["method", *HEADS, "change of ECE", "paper, same columns"], lines) + "\n"


def by_rate(rows):
    out = defaultdict(list)
    for row in rows:
        out[row["network"], row["rate"], row["method"]].append(row)
    return out


def hidden_tables(rows):
    found = by_rate(rows)
    for network in NETWORKS:
        yield f"\n### {network}, labels hidden\n"
        lines = []
        for method in NAMES:
            line = [f"**{method}**" if method in PAPER else method]
            for rate in ("0.2", "0.5", "0.8"):
                runs = found[network, rate, method]
                ece, change, high = (
                    np.array([float(r[k]) for r in runs]) for k in ("ece", "ece_change", "ece_high")
                )
                line += [
                    f"{ece.mean():.4f}",
                    f"{change.mean():.4f} [{change.min():.4f}, {change.max():.4f}]",
                    f"{(high < 0).sum()}/{len(runs)}",
                ]
            lines.append(line)
        head = ["method"]
        for rate in (20, 50, 80):
            head += [f"ECE, {rate} % marked", "change, mean [least, most]", "interval below 0"]
        yield table(head, lines) + "\n"


def mnist_table(rows):
    yield "\n### MNIST 4 against 9, 20 trials\n"
    lines = []
    for optimiser, printed in PRINTED_MNIST.items():
        runs = [row for row in rows if row["optimiser"] == optimiser]
        for name, theirs in (("separate", printed[:2]), ("reuse", printed[2:])):
            error, bound = (np.array([float(r[k]) for r in runs]) for k in (name, f"{name}_bound"))
            spread = f"{error.mean():.4f} ± {error.std(ddof=1):.4f}"
            lines.append([optimiser, name, spread, theirs[0], f"{bound.mean():.4f}", theirs[1]])
        before = np.array([float(r["before"]) for r in runs])
        spread = f"{before.mean():.4f} ± {before.std(ddof=1):.4f}"
        lines.append([optimiser, "none (ECE, 15 bins)", spread, "", "", ""])
    yield table(["optimiser", "rows", "error", "paper", "bound", "paper"], lines) + "\n"


def synthetic_table(rows):
    groups = defaultdict(list)
    for row in rows:
        key = row["world"], int(row["n_positive"]), row["data"], row["method"]
        groups[key].append((float(row["error"]), float(row["distance"])))
    mean = {key: np.mean(values, axis=0) for key, values in groups.items()}
    for world in dict.fromkeys(key[0] for key in mean):
        sizes = sorted({key[1] for key in mean if key[0] == world and key[1]})
        start = mean[world, 0, "none", "none"][0]
        yield f"\n### World {world}: true error after recalibration (before: {start:.4f})\n"
        lines = [
            [method, data, *(f"{mean[world, n, data, method][0]:.4f}" for n in sizes)]
            for method in NAMES
            for data in ("PU", "labelled")
        ]
        yield table(["method", "data", *(f"n_P = {n:,}" for n in sizes)], lines) + "\n"


def draw_synthetic(rows):
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    figure, axes = plt.subplots(
        len(worlds), 2, figsize=(10, 4 * len(worlds)), sharey="row", squeeze=False
    )
    for line, world in zip(axes, worlds, strict=True):
        mine = [row for row in rows if row["world"] == world]
        start = float(next(row["error"] for row in mine if row["method"] == "none"))
        for ax, data in zip(line, ("PU", "labelled"), strict=True):
            for method in NAMES:
                runs = defaultdict(list)
                for row in mine:
                    if (row["method"], row["data"]) == (method, data):
                        runs[int(row["n_positive"])].append(float(row["error"]))
                ax.plot(
                    list(runs),
                    [np.mean(x) for x in runs.values()],
                    marker="o",
                    ms=3,
                    label=method,
                    color=COLOURS[method],
                )
            ax.axhline(start, color="black", ls="--", label="before")
            ax.set(xscale="log", yscale="log", xlabel="positives (all rows: 11 times as many)")
            ax.set_xticks(SIZES, [f"{n}" for n in SIZES], minor=False)
            ax.minorticks_off()
            ax.set_title(f"{world}: {data}")
        line[0].set_ylabel("true calibration error after")
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=8, ncols=6, loc="lower center")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(HERE / "synthetic.png", dpi=120)


def draw_hidden(rows):
    found = by_rate(rows)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2))
    for ax, network in zip(axes, NETWORKS, strict=True):
        for k, rate in enumerate(("0.2", "0.5", "0.8")):
            changes = [
                [float(r["ece_change"]) for r in found[network, rate, method]] for method in NAMES
            ]
            places = np.arange(len(NAMES)) + 0.25 * (k - 1)
            for place, values in zip(places, changes, strict=True):
                ax.plot([place] * len(values), values, ".", ms=4, color=f"C{k}")
            means = [np.mean(values) for values in changes]
            ax.plot(places, means, "_", ms=9, mew=2, color=f"C{k}", label=f"{rate} of hits marked")
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=60, ha="right", fontsize=8)
        ax.set_title(network, fontsize=10)
    axes[0].set_ylabel("change of the test ECE, labels hidden in fitting")
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(HERE / "networks_hidden.png", dpi=120)


def main():
    networks, hidden, synthetic = (
        read(HERE / f"{name}.csv") for name in ("networks", "networks_hidden", "synthetic")
    )
    parts = [
        "# Tables\n\nWritten by `figures.py`; see README.md for what they mean.\n",
        *network_tables(networks),
        *hidden_tables(hidden),
        *mnist_table(read(HERE / "mnist.csv")),
        *synthetic_table(synthetic),
    ]
    (HERE / "tables.md").write_text("\n".join(parts), encoding="utf-8")
    draw_synthetic(synthetic)
    draw_hidden(hidden)


if __name__ == "__main__":
    main()
