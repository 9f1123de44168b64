"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.tables import Row, column


def models(rows: list[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["data"], row["model"]) for row in rows))


def mean_area(rows: list[Row]) -> str:
    found = column(rows, "auroc")
    return "n/a" if np.isnan(found).any() else f"{found.mean():.3f}"
