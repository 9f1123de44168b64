"""Tables for the README, computed from the stored results."""

from experiments.tables import Row, column, percent, pick

NAMES = ("prior", "precision", "recall", "auroc", "ece")
LEAST, MOST = 0.93, 0.98


def spans(rows: list[Row]) -> list[str]:
    """The smallest and the largest coverage of every number."""
    found = [column(pick(rows, target=name), "coverage") for name in NAMES]
    return [f"{percent(x.min())} to {percent(x.max())}" if x.size else "" for x in found]
