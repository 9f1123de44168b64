"""The table of means and ranks, and the critical-difference diagram."""

import numpy as np
import pandas as pd

from experiments.tables import Row, Tables
from experiments.tabular.data import HELD_OUT, TABLES
from noneg.lab.bench import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.summaries import Cell

WORLD = ["table", "setting", "rate"]
DRAW = ["split", *WORLD]
ORACLE = "oracle"
GROUPS = {"development tables": TABLES, "held-out tables": HELD_OUT}
NAMES = {
    ("scar", "known"): "random labels, known prior",
    ("scar", "estimated"): "random labels, estimated prior",
    ("selected", "known"): "selected labels, known prior",
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


def methods(runs: pd.DataFrame) -> list[Row]:
    """Return the mean rank and the mean results of every method, the best one first."""
    found = ranks(runs)
    rank = dict(zip(found.methods, found.mean_ranks, strict=True))
    means = runs.groupby("method")[["auc", "brier", "accuracy", "ece", "seconds"]].mean()
    names = (*found.methods, ORACLE)
    return [{"method": m, "rank": rank.get(m), **means.loc[m].to_dict()} for m in names]


def near(found: Ranks) -> list[str]:
    """Return the methods that are not significantly behind the first one."""
    first, *others = zip(found.methods, found.mean_ranks, strict=True)
    return [method for method, rank in others if rank - first[1] < found.critical_difference]


def splits(runs: pd.DataFrame) -> str:
    drawn = runs.groupby(WORLD)["split"].nunique()
    fewest, most = drawn.min(), drawn.max()
    many = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{many} split{'s' if most > 1 else ''}"


def draw_ranks(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(load(tables))).plot().figure_


def draw_held_out(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(load(tables, group=HELD_OUT))).plot().figure_
