"""What the studies share: methods, and tables of rows as csv files."""

import csv
import warnings
from pathlib import Path

from noneg.recalibration import METHODS, CalibrationWarning, make

HERE = Path(__file__).parent
# Those that learn a map; "auto" chooses among them.
NAMES = [name for name in METHODS if name not in ("identity", "prior-shift")]
# Of the paper's Tables 1 and 5.
PAPER = ("temperature", "isotonic", "mix-n-match", "spline", "bpm")


def fitted(name, scores):
    """Fit a method; what it warns of is no matter in a study of many fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return make(name).fit(scores)


def save(name, rows):
    """Write rows, dicts with the same keys, as a csv file."""
    with (HERE / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
