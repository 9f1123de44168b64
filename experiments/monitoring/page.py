"""Tables and a figure for the README, computed from the stored results."""

import numpy as np

from experiments.monitoring.worlds import HELD_OUT, WORLDS
from experiments.tables import Row, Tables, column, pick

NAMES = {
    "prior": "prior, + 0.05",
    "shape": "shape: negatives' logits spread 1.3 times as far",
    "shape, towards positives": "shape: half of the negatives move 0.5 toward positives",
    "labeling": "labeling: labeled positives 0.5 higher",
    "scores": "scores: calibration slope 0.7",
}
COMPONENTS = ("prior", "shape", "labeling", "scores")


def looks(tables: Tables) -> list[Row]:
    """Return means and extremes over populations for one look, by setting and size."""
    rows = []
    for setting in ("two-sample", "one-sample"):
        for size in ("small", "large"):
            here = pick(tables("shift"), setting=setting, size=size)
            still, more = pick(here, drift="none"), pick(here, drift="prior")
            bias = np.abs(column(more, "bias"))
            covers = column([*still, *more], "covers")
            row = {"setting": setting, "size": size, "bias": bias.max()}
            row |= {"sd": column(more, "sd").mean(), "covers": covers.mean(), "least": covers.min()}
            for test in ("moved", "shape", "labeling"):
                drift = {"moved": "prior"}.get(test, test)
                row[f"{test}_size"] = column(still, test).mean()
                row[f"{test}_most"] = column(still, test).max()
                row[f"{test}_power"] = column(pick(here, drift=drift), test).mean()
            rows.append(row)
    return rows


def alarms(tables: Tables) -> list[Row]:
    return tables("alarms")


def named(tables: Tables, *, held_out: bool = False) -> list[Row]:
    """Return, by drift and size, how soon it is detected and which component is named."""
    rows = []
    worlds = HELD_OUT if held_out else WORLDS
    for drift, title in NAMES.items():
        for size in ("small", "large"):
            here = pick(tables("delays"), drift=drift, size=size)
            here = [row for row in here if row["world"] in worlds]
            if not here:
                continue
            half = column(here, "half")
            right, later = column(here, "named_right"), column(here, "named_right_later")
            answers = {name: column(here, f"named_{name}").mean() for name in COMPONENTS}
            rows.append(
                {
                    "drift": title,
                    "size": size,
                    "told": column(here, "told").min(),
                    "half": f"{half.min():g} to {half.max():g}",
                    "most": f"{column(here, 'nine_tenths').max():g}",
                    "right": right.mean(),
                    "right_least": right.min(),
                    "later": later.mean(),
                    "later_least": later.min(),
                    **answers,
                }
            )
    return rows
