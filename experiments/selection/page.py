"""Tables for the README, computed from the stored results."""

import numpy as np
from scipy.stats import binom

from experiments.nceas import GROUPS  # noqa: F401 - of the template
from experiments.selection.nceas import RANKED, SELECTIONS  # noqa: F401 - of the template
from experiments.selection.worlds import AGAIN, LEVEL
from experiments.tables import Row, Tables, column, pick

TITLES = {
    "auroc": "AUROC",
    "brier": "Brier score",
    "precision_at": "precision at the 10% most suitable sites",
    "ece": "ECE",
}


def ends(rows: list[Row]) -> np.ndarray:
    """How often each end was reached, shape (2, cells)."""
    return np.array([column(rows, f"{end}_reached") for end in ("low", "high")])


def low_ends(tables: Tables) -> Row:
    """Return how many ends were reached less often than `AGAIN`, and how many chance would give."""
    rows = tables("adversarial")
    shares, draws = ends(rows), rows[0]["trials"]
    chance = float(binom.cdf(np.ceil(AGAIN * draws) - 1, draws, 0.5 + LEVEL / 2))
    low = int((shares < AGAIN).sum())
    return {"ends": shares.size, "low": low, "expected": shares.size * chance}


def weak(tables: Tables) -> list[Row]:
    """Return the ends that were reached least often, with the results of additional draws."""
    rows = []
    for x in tables("again"):
        cell = {key: x[key] for key in ("world", "setting", "prior", "n_positive", "metric")}
        (first,) = pick(tables("adversarial"), **cell)
        for end in ("low", "high"):
            if first[f"{end}_reached"] < AGAIN:
                found = {"end": end, "first": first[f"{end}_reached"], "again": x[f"{end}_reached"]}
                rows.append(cell | found)
    return rows
