"""The table of means and ranks, and the critical-difference diagram."""

import numpy as np
import pandas as pd

from experiments.tables import Tables, percent, table
from experiments.tabular.data import HELD_OUT, TABLES
from noneg.lab.bench import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.summaries import Cell

WORLD = ["table", "setting", "rate"]
DRAW = ["split", *WORLD]
ORACLE = "oracle"
GROUPS = {"development tables": TABLES, "held-out tables": HELD_OUT}
NAMES = {
    ("scar", "known"): "labels at random, prior known",
    ("scar", "estimated"): "random labels, estimated prior, 40% labeled",
    ("selected", "known"): "selected labels, known prior, 40% labeled",
}


def load(
    tables: Tables,
    labels: str = "scar",
    prior: str = "known",
    group: tuple[str, ...] = TABLES,
) -> pd.DataFrame:
    """Return the runs for one question, for draws and methods that are complete.

    Methods without results for most draws are omitted; so are draws without results for another
    method.
    """
    runs = pd.DataFrame(tables("runs"))
    runs = runs[(runs["labels"] == labels) & (runs["prior"] == prior) & runs["table"].isin(group)]
    for name in ("auc", "brier", "accuracy", "ece", "seconds"):
        runs[name] = pd.to_numeric(runs[name], errors="coerce")
    draws = runs.groupby("method")["split"].count()
    runs = runs[runs["method"].isin(draws.index[draws > draws.max() / 2])]
    asked = runs.groupby(DRAW)["method"].transform("nunique")
    return runs[asked == runs["method"].nunique()]


def ranks(runs: pd.DataFrame) -> Ranks:
    """Rank methods by their mean Brier score in each table, setting and labeled share."""
    means = runs[runs["method"] != ORACLE].groupby([*WORLD, "method"])["brier"].mean()
    # A missing result is worse than any other.
    cells = [
        Cell(
            world=world,
            method=method,
            mean=1.0 if np.isnan(mean) else float(mean),
            metric="brier",
            criterion="none",
            std=0.0,
            error=0.0,
            splits=1,
        )
        for (*world, method), mean in means.items()
        for world in [tuple(world)]
    ]
    return rank_methods(cells, metric="brier", criterion="none")


def text_summary(tables: Tables) -> str:
    parts = [
        _question(load(tables, *which, group=group), f"{name}, {place}", len(group))
        for which, name in NAMES.items()
        for place, group in GROUPS.items()
    ]
    return "\n\n".join([*filter(None, parts), _real(tables)])


def _question(runs: pd.DataFrame, name: str, size: int) -> str:
    if runs.empty:
        return ""
    found = ranks(runs)
    place = dict(zip(found.methods, found.mean_ranks, strict=True))
    means = runs.groupby("method")[["auc", "brier", "accuracy", "ece", "seconds"]].mean()
    rows = [
        [
            f"**{method}**" if method == found.methods[0] else method,
            f"{place[method]:.2f}" if method in place else "",
            f"{means.loc[method, 'brier']:.4f}",
            percent(means.loc[method, "auc"]),
            percent(means.loc[method, "accuracy"]),
            f"{means.loc[method, 'ece']:.3f}",
            f"{means.loc[method, 'seconds']:.2f}",
        ]
        for method in (*found.methods, ORACLE)
    ]
    drawn = runs.groupby(WORLD)["split"].nunique()
    fewest, most = drawn.min(), drawn.max()
    splits = f"{most}" if fewest == most else f"{fewest} to {most}"
    head = "method | mean rank | Brier | AUC | accuracy | true ECE | CPU seconds"
    title = (
        f"{name[0].upper()}{name[1:]}: {runs['table'].nunique()} of {size} tables, "
        f"{found.worlds} problems, {splits} split{'s' if most > 1 else ''}; mean ranks by Brier "
        f"score that are {found.critical_difference:.2f} apart differ significantly."
    )
    return f"{title}\n\n{table(head, rows, 'lr')}"


def _real(tables: Tables) -> str:
    rows = [
        [
            row["table"],
            f"{row['positives']} of {row['rows']:,}",
            f"{row['prior']:.3f}",
            f"{percent(row['median_rank'])}%",
            f"{percent(row['in_top_10'], 0)}%",
            row["verdict"],
        ]
        for row in tables("real")
    ]
    if not rows:
        return ""
    head = (
        "table | positives | estimated prior | median rank from the top | in the top 10% | verdict"
    )
    return (
        "Real PU tables, whose truth nobody knows: where held-out positives stand among all rows "
        f"(five folds), and the verdict of the report.\n\n{table(head, rows, 'lrrrrl')}"
    )


def draw_ranks(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(load(tables))).plot().figure_


def draw_held_out(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(load(tables, group=HELD_OUT))).plot().figure_


def show_scale(tables: Tables) -> str:
    plain, ours = (row["cpu"] for row in tables("scale"))
    return (
        "A million rows with fifty columns, compared with plain LightGBM, a hundred rounds each: "
        f"{ours:.0f} against {plain:.0f} CPU seconds, {ours / plain:.2f} times as many."
    )


def show_forest(tables: Tables) -> str:
    """Compare extremely randomized PU trees with BaggingPU, on both groups of tables."""
    lines = []
    for place, group in GROUPS.items():
        runs = load(tables, group=group)
        found = ranks(runs)
        rank = dict(zip(found.methods, found.mean_ranks, strict=True))
        means = runs.groupby("method")[["brier", "auc", "ece"]].mean()
        said = [
            f"{method} rank {rank[method]:.2f}, Brier {means.loc[method, 'brier']:.4f}, AUC "
            f"{percent(means.loc[method, 'auc'])}, ECE {means.loc[method, 'ece']:.3f}"
            for method in ("PUExtraTrees", "BaggingPU")
        ]
        lines.append(f"- On the {place}: {'; '.join(said)}.")
    return "\n".join(lines)
