"""How far is every sketched metric from its exact value, on distributions that are hard for
buckets?

    python -m benchmarks.sketch_errors

Writes the largest distance for each metric over distributions, settings and seeds to
sketch_errors.md, and all distances to sketch_errors.csv.
"""

import math
import shlex
import sys

import numpy as np

from benchmarks.tables import parser, save
from experiments.tables import distinct, pick, table, write
from noneg import PUScores, Sketch, ece
from noneg.calibration import sweep_edges
from noneg.metrics import METRICS
from noneg.performance import recall
from noneg.recalibration import Isotonic

BUDGET, CURVE_BUDGET = 2e-5, 2e-4
# The number of bins in a sweep can jump when a single row moves; its error over given bins does
# not.
SWEEP_THERE = "sweep_ece, bins of the sketch"
SWEEP_BINS = "bins of the sweep"


def laws(n, rng):
    """Return scores and their true probabilities."""
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


SETTINGS = ("two-sample", "one-sample", "labeled")


def rows_of(s, p, setting, rng):
    """Label every row, or half of the positives, or draw a separate sample of positives."""
    y = rng.random(s.size) < p
    if setting == "labeled":
        return PUScores.from_labels(y, s)
    if setting == "two-sample":
        prior = float(p.mean())
        return PUScores(s[1::2][y[1::2]], s[::2], prior=prior, setting=setting)
    labeled = y & (rng.random(s.size) < 0.5)
    return PUScores.from_pu_labels(labeled, s, prior=float(p.mean()), setting=setting)


def metrics():
    for name, metric in METRICS.items():
        yield name, metric.function
    yield "ece, 15 of equal mass", lambda scores: ece(scores, bins=15)
    yield "ece, 15 of equal width", lambda scores: ece(scores, bins=15, binning="width")
    yield "recall at 0.3", lambda scores: recall(scores, threshold=0.3)


def distances(exact, found):
    """Yield the name of each metric, its exact value, the distance from it, and the limit."""
    for name, function in metrics():
        one, other = function(exact), function(found)
        if math.isnan(one) and math.isnan(other):
            continue
        # A lift has no upper limit, so its distance is relative.
        scale = max(1.0, abs(one)) if name in ("lift_at", "enrichment_factor") else 1.0
        yield name, one, abs(other - one) / scale, BUDGET
    one, other = ece(exact, edges=sweep_edges(found)), METRICS["sweep_ece"].function(found)
    yield SWEEP_THERE, one, abs(other - one), BUDGET
    for name, gap in curve_gaps(exact, found):
        yield name, "", gap, CURVE_BUDGET


def curve_gaps(exact, found):
    """Return gaps between the ROC curves, threshold by threshold, and between isotonic maps.

    A PU curve need not be increasing in its false positive rate, so points with equal thresholds
    are compared, not points with equal rates.
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
        for setting in SETTINGS:
            exact = rows_of(s, p, setting, rng)
            found = Sketch.from_scores(exact).scores()
            cell = {"rows": n, "seed": seed, "law": law, "setting": setting}
            for name, value, error, budget in distances(exact, found):
                yield cell | {"metric": name, "exact": value, "error": error, "budget": budget}
            counts = [sweep_edges(each).size - 1 for each in (exact, found)]
            jump = {"exact": counts[0], "error": abs(counts[1] - counts[0]), "budget": ""}
            yield cell | {"metric": SWEEP_BINS} | jump
            print(f"{n:,} rows, {law}, {setting}", flush=True)


def worst(rows):
    """Return the largest error of each metric as Markdown, one column per number of rows."""
    rows, lines = [row for row in rows if row["metric"] != SWEEP_BINS], []
    sizes = distinct(rows, "rows")
    for name in distinct(rows, "metric"):
        cells = [name]
        for n in sizes:
            most = max(pick(rows, metric=name, rows=n), key=lambda row: row["error"])
            text = f"{most['error']:.1e}"
            over = most["error"] > most["budget"]
            place = f"{most['law']}, {most['setting']}" if most["error"] else "-"
            cells += [f"**{text}**" if over else text, place]
        lines.append([*cells, f"{most['budget']:g}"])
    head = [x for n in sizes for x in (f"{n:,} rows", "on")]
    return table(["metric", *head, "budget"], lines)


def jumps(rows):
    """Describe how often a sweep stops at a different number of bins than for the rows."""
    sweeps = pick(rows, metric=SWEEP_BINS)
    for n in distinct(sweeps, "rows"):
        those = pick(sweeps, rows=n)
        other = sum(row["error"] > 0 for row in those)
        seeds = ", ".join(map(str, distinct(those, "seed")))
        counts = f"{other} of {len(those)} tables"
        yield f"- {n:,} rows, seeds {seeds}: the sweep has another number of bins in {counts}."


def main():
    options = parser(__doc__)
    options.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    options.add_argument("--seeds", type=int, nargs="+", default=[3, 4])
    arguments = options.parse_args()
    rows = []
    # Results are written immediately, because the whole study takes a while.
    for seed in arguments.seeds:
        for n in arguments.rows:
            rows += measure(int(n), seed)
            rows.sort(key=lambda row: row["rows"])
            write(arguments.out / "sketch_errors.csv", rows, digits=None)
            command = shlex.join(["python", "-m", "benchmarks.sketch_errors", *sys.argv[1:]])
            head = f"Written by `{command}`; bold is beyond the budget."
            lines = [head, "", worst(rows), "", *jumps(rows)]
            save(arguments.out / "sketch_errors.md", *lines)


if __name__ == "__main__":
    main()
