"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.prior_sets.worlds import IRREDUCIBLE  # noqa: F401 - of the template
from experiments.tables import Row, Tables, column, distinct, percent, pick

CALIBRATED, WRONG = 0.02, 0.05
OFF = ("off", "somewhat", "no")
TITLES = {"two-sample": "two samples", "one-sample": "one sample"}


def points(tables: Tables) -> list[Row]:
    rows = tables("points")
    found = {m: column(pick(rows, method=m), "error") for m in distinct(rows, "method")}
    best = np.min(list(found.values()), axis=0)
    made = [
        {"method": m, "mean": x.mean(), "best": (x == best).sum()}
        | {"geometric": np.exp(np.log(x + 0.002).mean())}
        for m, x in found.items()
    ]
    return sorted(made, key=lambda row: row["mean"])


def rates(rows: list[Row]) -> list[str]:
    out = []
    for name in ("exact", "estimate"):
        out += [
            percent(np.mean([r[f"p_{name}"] < 0.05 for r in rows])),
            percent(np.mean([r[f"verdict_{name}"] in OFF for r in rows])),
        ]
    return [*out, percent(np.mean([r["held"] for r in rows]))]


def judged(tables: Tables) -> dict[str, list[Row]]:
    rows = tables("verdicts")
    good = [r for r in rows if r["wrong"] == "as it is" and r["error"] <= CALIBRATED]
    return {"calibrated": good, "miscalibrated": [r for r in rows if r["error"] >= WRONG]}


def models(rows: list[Row]) -> int:
    return len({(r["world"], r["model"], r["wrong"]) for r in rows})


def error_and_share(rows: list[Row]) -> str:
    if not rows:
        return ""
    truth, value, low, high = (column(rows, x) for x in ("prevalence", "value", "low", "high"))
    inside = (low <= truth) & (truth <= high)
    return f"{np.abs(value - truth).mean():.3f} ({percent(inside.mean(), 0)})"
