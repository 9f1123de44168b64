"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.nceas import GROUPS  # noqa: F401 - of the template
from experiments.selection.nceas import RANKED, SELECTIONS  # noqa: F401 - of the template
from experiments.selection.worlds import AGAIN
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
