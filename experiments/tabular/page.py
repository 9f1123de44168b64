"""The table of means and ranks, and the picture of critical differences."""

import numpy as np
import pandas as pd

from experiments.tables import Tables, percent, table
from experiments.tabular.data import TABLES
from noneg.lab.bench import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.summaries import Cell

WORLD = ["table", "setting", "rate"]
ORACLE = "oracle"
NAMES = {
    ("scar", "known"): "labels at random, prior known",
    ("scar", "estimated"): "labels at random, prior estimated, 40 % labeled",
    ("selected", "known"): "selected labels, prior known, 40 % labeled",
}


def load(tables: Tables, labels: str = "scar", prior: str = "known") -> pd.DataFrame:
    """Return the runs of one question; a method that gave no answer has the loss of the prior."""
    runs = pd.DataFrame(tables("runs"))
    runs = runs[(runs["labels"] == labels) & (runs["prior"] == prior)]
    for name in ("auc", "brier", "accuracy", "ece", "seconds"):
        runs[name] = pd.to_numeric(runs[name], errors="coerce")
    return runs


def ranks(runs: pd.DataFrame) -> Ranks:
    """Rank methods by their mean Brier score in each table, setting and labeled share."""
    means = runs[runs["method"] != ORACLE].groupby([*WORLD, "method"])["brier"].mean()
    # No answer is worse than any.
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
    parts = [_question(load(tables, *which), name) for which, name in NAMES.items()]
    return "\n\n".join([*filter(None, parts), _real(tables)])


def _question(runs: pd.DataFrame, name: str) -> str:
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
    splits = runs["split"].nunique()
    head = "method | mean rank | Brier | AUC | accuracy | true ECE | CPU seconds"
    title = (
        f"{name[0].upper()}{name[1:]}: {runs['table'].nunique()} of {len(TABLES)} tables, "
        f"{found.worlds} worlds, {splits} split{'s' if splits > 1 else ''}; mean ranks by Brier "
        f"score differ significantly from {found.critical_difference:.2f} on."
    )
    return f"{title}\n\n{table(head, rows, 'lr')}"


def _real(tables: Tables) -> str:
    rows = [
        [
            row["table"],
            f"{row['positives']} of {row['rows']:,}",
            f"{row['prior']:.3f}",
            f"{percent(row['median_rank'])} %",
            f"{percent(row['in_top_10'], 0)} %",
            row["verdict"],
        ]
        for row in tables("real")
    ]
    if not rows:
        return ""
    head = (
        "table | positives | estimated prior | median rank from the top | in the top 10 % | verdict"
    )
    return (
        "Real PU tables, whose truth nobody knows: where held-out positives stand among all rows "
        f"(five folds), and the verdict of the report.\n\n{table(head, rows, 'lrrrrl')}"
    )


def draw_ranks(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(load(tables))).plot().figure_
