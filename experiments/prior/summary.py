"""Tables and the picture of the study, from ``study.csv``, ``peers.csv`` and ``papers.csv``.

python experiments/prior/summary.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from mixtures import REDUCIBLE, Cell, identifiable
from peer_tables import markdown, paired, papers

from noneg.prior import DEFAULT
from noneg.prior.base import overlapping

HERE = Path(__file__).parent
SEPARABLE = 0.9


def load() -> pd.DataFrame:
    """All estimates of irreducible worlds and of reducible ones, with their errors."""
    study = pd.read_csv(HERE / "study.csv")
    cell = ["world", "prior", "n_positive", "seed"]
    known = study[[*cell, "auc", "auc_pu"]].drop_duplicates()
    peers = pd.read_csv(HERE / "peers.csv").merge(known, on=cell)
    # Other peers were asked about some of the cells only: they have a table of their own.
    everywhere = peers[peers["method"].str.startswith("pulearn")]
    data = pd.concat([study, everywhere], ignore_index=True)
    data["best"] = [
        identifiable(Cell(w, p, n, s)) for w, p, n, s in data[cell].itertuples(index=False)
    ]
    data["error"] = (data["value"] - data["prior"]).abs()
    data["bias"] = data["value"] - data["prior"]
    return data


def table(data: pd.DataFrame) -> str:
    """One line a method: errors in separable cells, everywhere, and the time of one estimate."""
    fair = data[~data["world"].isin(REDUCIBLE)]
    near = fair[fair["auc"] >= SEPARABLE]
    lines = ["| method | error, separable | bias | error, all | cells | seconds |"]
    lines.append("|---|---|---|---|---|---|")
    order = near.groupby("method")["error"].mean().sort_values()
    for name in order.index:
        a, b = near[near["method"] == name], fair[fair["method"] == name]
        shown = f"**{name}**" if name == DEFAULT else name
        lines.append(
            f"| {shown} | {a['error'].mean():.4f} | {a['bias'].mean():+.4f} | "
            f"{b['error'].mean():.4f} | {len(a)} / {len(b)} | {b['seconds'].mean():.2f} |"
        )
    return "\n".join(lines)


def by(data: pd.DataFrame, column: str) -> str:
    """Mean absolute error of each method at each value of a column, separable cells."""
    near = data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= SEPARABLE)]
    pivot = near.pivot_table(index="method", columns=column, values="error")
    pivot = pivot.loc[near.groupby("method")["error"].mean().sort_values().index]
    head = "| method | " + " | ".join(str(name) for name in pivot.columns) + " |"
    rule = "|---" * (1 + pivot.shape[1]) + "|"
    rows = [
        f"| {name} | " + " | ".join("-" if np.isnan(x) else f"{x:.3f}" for x in line) + " |"
        for name, line in zip(pivot.index, pivot.to_numpy(), strict=True)
    ]
    return "\n".join([head, rule, *rows])


def worst_gap(data: pd.DataFrame) -> str:
    """How much the default loses against the best other method, group by group."""
    near = data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= SEPARABLE)]
    lines = ["| grouped by | group | default | best other | gap |", "|---|---|---|---|---|"]
    for column in ("world", "n_positive", "prior"):
        for value, part in near.groupby(column):
            # Only methods that answered every cell of the group compare fairly.
            full = part.groupby("method")["error"].agg(["mean", "size"])
            full = full[full["size"] == full.loc[DEFAULT, "size"]]["mean"]
            own, others = full[DEFAULT], full.drop(DEFAULT)
            lines.append(
                f"| {column} | {value} | {own:.4f} | {others.idxmin()} {others.min():.4f} | "
                f"{own - others.min():+.4f} |"
            )
    return "\n".join(lines)


def peers_paired() -> str:
    """Peers against the default on the same mixtures, separable ones and all irreducible ones."""
    study, peers = pd.read_csv(HERE / "study.csv"), pd.read_csv(HERE / "peers.csv")
    words = []
    for title, least in (("Separable mixtures", SEPARABLE), ("All irreducible mixtures", 0.0)):
        found = paired(
            study,
            peers,
            DEFAULT,
            lambda own, least=least: (
                ~own.index.get_level_values("world").isin(REDUCIBLE) & (own["auc"] >= least)
            ),
        )
        words.append(f"{title}:\n\n{markdown(found)}")
    return "\n\n".join(words)


def by_draw(data: pd.DataFrame) -> str:
    """Errors on each draw: a method chosen on the first one is measured fairly on the second."""
    near = data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= SEPARABLE)]
    pivot = near.pivot_table(index="method", columns="seed", values="error").dropna()
    lines = ["| method | " + " | ".join(f"draw {seed}" for seed in pivot.columns) + " |"]
    lines.append("|---" * (1 + pivot.shape[1]) + "|")
    for name, line in pivot.sort_values(pivot.columns[0]).head(6).iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{x:.4f}" for x in line) + " |")
    return "\n".join(lines)


def coverage(data: pd.DataFrame) -> str:
    """How often intervals at 95 % hold the share, and their width."""
    lines = ["| method | cells | share inside | share below the upper end | width |"]
    lines.append("|---|---|---|---|---|")
    for where, keep in (("separable", True), ("others", False)):
        part = data[~data["world"].isin(REDUCIBLE) & ((data["auc"] >= SEPARABLE) == keep)]
        for name, a in part.dropna(subset=["high"]).groupby("method"):
            inside = ((a["low"] <= a["prior"]) & (a["prior"] <= a["high"])).mean()
            upper = (a["prior"] <= a["high"]).mean()
            width = (a["high"] - a["low"]).mean()
            lines.append(
                f"| {name}, {where} | {len(a)} | {inside:.3f} | {upper:.3f} | {width:.3f} |"
            )
    return "\n".join(lines)


def reducible(data: pd.DataFrame) -> str:
    """What the default finds where negatives contain positives, and whether it is flagged."""
    own = data[data["method"] == DEFAULT].copy()
    own["flagged"] = [
        overlapping(auc, value, n, Cell(world, prior, n, 0).n_unlabeled)
        for auc, value, n, world, prior in own[
            ["auc_pu", "value", "n_positive", "world", "prior"]
        ].itertuples(index=False)
    ]
    lines = [
        "| world | truth, and what data can tell at best | found | flagged |",
        "|---|---|---|---|",
    ]
    for (world, prior), part in own[own["n_positive"] >= 1000].groupby(["world", "prior"]):
        if world.startswith("gauss"):
            lines.append(
                f"| {world} | {prior:.2f}, {part['best'].mean():.3f} | {part['value'].mean():.3f} "
                f"| {part['flagged'].mean():.2f} |"
            )
    return "\n".join(lines)


def headline(data: pd.DataFrame, n_draws: int) -> str:
    """A few lines for the documentation."""
    near = data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= SEPARABLE)]
    error = near.groupby("method")["error"].agg(["mean", "size"]).sort_values("mean")
    shown = error[error["size"] == error.loc[DEFAULT, "size"]]["mean"]
    lines = ["| method | mean absolute error |", "|---|---|"]
    lines += [f"| {name} | {value:.3f} |" for name, value in shown.items()]
    words = (
        f"{n_draws} mixtures, shares from .05 to .9, 50 to 5000 labelled positives; errors where"
    )
    words += " the score tells the hidden classes apart with an AUC of at least .9"
    words += f" ({int(error.loc[DEFAULT, 'size'])} mixtures):"
    return "\n".join([words, "", *lines, ""])


def picture(data: pd.DataFrame) -> None:
    """Error against the number of positives, and estimates against the truth."""
    near = data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= SEPARABLE)]
    shown = ["dedpul", "bbe", "tedn", "quick", "elkan-noto-e1", "alphamax", "tice", "km2"]
    if "pulearn EM" in set(near["method"]):
        shown.append("pulearn EM")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    for number, name in enumerate(shown):
        line = near[near["method"] == name].groupby("n_positive")["error"].mean()
        width = 2.6 if name == DEFAULT else 1.2
        left.plot(line.index, line, "o-", color=f"C{number}", lw=width, ms=4, label=name)
    left.axhline(0.03, color="0.6", lw=1, ls=":")
    left.set(xscale="log", yscale="log", xlabel="labelled positives", ylabel="mean absolute error")
    left.set_title("Where classes are separable (AUC at least .9)", fontsize=10)
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter(lambda x, _: f"{x:g}" if round(100 * x) in (2, 3, 5) else "")
    left.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    for number, world in enumerate(sorted(data["world"].unique())):
        part = data[(data["world"] == world) & (data["method"] == DEFAULT)]
        part = part[part["n_positive"] == 1000].groupby("prior")["value"].mean()
        style = "s--" if world in REDUCIBLE else "o-"
        right.plot(part.index, part, style, color=f"C{number}", ms=4, lw=1.2, label=world)
    right.plot([0, 1], [0, 1], color="0.6", lw=1)
    right.set(xlabel="true share", ylabel=f"{DEFAULT}, 1000 positives", xlim=(0, 1), ylim=(0, 1))
    right.set_title("Dashed: negatives contain positives", fontsize=10)
    right.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.savefig(HERE / "study.png", dpi=130)


def main() -> None:
    data = load()
    draws = data[["world", "prior", "n_positive", "seed"]].drop_duplicates()
    seconds = data["seconds"].sum()
    parts = {
        "Mean absolute error": table(data),
        "By world": by(data, "world"),
        "By number of positives": by(data, "n_positive"),
        "By share": by(data, "prior"),
        "The default against the best other method": worst_gap(data),
        "Peers, on the mixtures that each was asked about": peers_paired(),
        "In the settings of the papers": markdown(papers()),
        "By draw: chosen on one, measured on the other": by_draw(data),
        "Intervals at 95 %": coverage(data),
        "Reducible and other Gaussian worlds, from 1000 positives on": reducible(data),
    }
    text = f"{len(draws)} mixtures, {len(data)} estimates, {seconds:.0f} s of estimating.\n"
    text += "Separable: the AUC of the P-vs-U score for the hidden labels is at least .9.\n"
    text += "".join(f"\n## {title}\n\n{part}\n" for title, part in parts.items())
    (HERE / "summary.md").write_text(text)
    (HERE / "headline.md").write_text(headline(data, len(draws)))
    picture(data)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
