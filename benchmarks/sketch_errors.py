"""How far is every metric of a sketch from its exact value, on laws that are hard for buckets?

    python -m benchmarks.sketch_errors --rows 1e7 --out benchmarks/results

Writes the largest distance of each metric over the laws and settings to sketch_errors.md, and all
distances to sketch_errors.csv.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

from noneg import PUScores, Sketch, ece
from noneg.metrics import METRICS
from noneg.recalibration import Isotonic

BUDGET, CURVE_BUDGET = 2e-5, 2e-4


def laws(n, rng):
    """Scores and the true probability of each."""
    yield "mild", (s := rng.beta(2, 5, n)), s
    s = 1.0 / (1.0 + np.exp(6.0 - 2.0 * rng.normal(size=n)))
    yield "crowded at 0", s, s**0.9
    s = 1.0 / (1.0 + np.exp(-12.0 * rng.normal(size=n)))
    s[: n // 20], s[n // 20 : n // 10] = 0.0, 1.0
    yield "saturated at 0 and 1", s, 0.05 + 0.9 * s
    s = rng.random(n)
    yield (
        "oscillating error",
        s,
        s + 0.1 * np.sin(200.0 * s) * np.minimum(1.0, 10.0 * s * (1.0 - s)),
    )
    yield "rounded to .01", (s := np.round(rng.beta(2, 5, n), 2)), s**1.1


def metrics():
    for name, metric in METRICS.items():
        yield name, metric.function
    yield "ece, 15 of equal mass", lambda scores: ece(scores, bins=15)
    yield "ece, 15 of equal width", lambda scores: ece(scores, bins=15, binning="width")


def curve_errors(exact, found):
    """Return gaps between the ROC curves, threshold by threshold, and between isotonic maps.

    A PU curve need not rise in its false positive rate, so the points of equal threshold are
    compared and not those of equal rate.
    """
    s = np.concatenate([each[0] for each in exact.in_order()])
    places = np.unique(s[:: max(1, s.size // 4000)])
    one, other = (each.sums_below(np.append(places, 1.0)) for each in (exact, found))
    for column, name in enumerate(("positive", "marginal")):
        gap = np.abs(one[:, column] - other[:, column]).max() / one[-1, column]
        yield f"ROC curve, {name} rate at a threshold", gap
    maps = [Isotonic().fit(each) for each in (exact, found)]
    gaps = np.abs(maps[0].transform(places) - maps[1].transform(places))
    yield "isotonic map, mean gap", gaps.mean()


def measure(n, seed):
    rng = np.random.default_rng(seed)
    for law, s, p in laws(n, rng):
        labelled = rng.random(n) < 0.5 * p
        exact = PUScores.from_pu_labels(labelled, s, prior=float(p.mean()), setting="one-sample")
        found = Sketch.from_scores(exact).scores()
        for name, function in metrics():
            try:
                one, other = function(exact), function(found)
            except ValueError:
                continue
            # A lift has no upper limit: its distance is taken relative to it.
            scale = max(1.0, abs(one)) if name == "lift_at" else 1.0
            row = {"law": law, "metric": name, "exact": one, "error": abs(other - one) / scale}
            print(row, flush=True)
            yield row
        for name, error in curve_errors(exact, found):
            print(law, name, error, flush=True)
            yield {"law": law, "metric": name, "exact": "", "error": error}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    rows = list(measure(int(arguments.rows), arguments.seed))
    with (arguments.out / "sketch_errors.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["law", "metric", "exact", "error"])
        writer.writeheader()
        writer.writerows(rows)
    command = " ".join(["python", "-m", "benchmarks.sketch_errors", *sys.argv[1:]])
    lines = [f"`{command}`: {int(arguments.rows):,} rows a law, one sample.", ""]
    lines += ["| metric | largest error | on | within the budget |", "|---|---|---|---|"]
    for name in dict.fromkeys(row["metric"] for row in rows):
        worst = max((r for r in rows if r["metric"] == name), key=lambda r: r["error"])
        budget = CURVE_BUDGET if name.startswith(("ROC", "isotonic")) else BUDGET
        verdict = "yes" if worst["error"] <= budget else f"no ({budget:g})"
        lines.append(f"| {name} | {worst['error']:.1e} | {worst['law']} | {verdict} |")
    (arguments.out / "sketch_errors.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
