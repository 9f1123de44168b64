"""How much longer do numbers take if hidden positives may differ from labeled ones?

    python -m benchmarks.selection

Writes selection.md. The rows are two samples in memory. Each call starts from the arrays, on a new
object: an estimate with random labels (a factor of 1), with a factor of 2, and the curve over 21
factors above 1. Calls take turns; the best CPU time and the best wall-clock time of each count.
Ratios are those of CPU time. A curve that includes 1 also takes the time of random labels.
"""

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from noneg import PUScores, estimate
from noneg.sensitivity import selection_curve

METRICS = ("auroc", "precision", "ece")
FACTOR, PRIOR = 2.0, 0.3
FACTORS = np.linspace(1.1, 3.1, 21)
# The largest accepted ratios: bounds to an estimate without them, and a curve to one estimate.
LIMITS = {"bounds": 2.0, "curve": 1.5}


def draw(rows):
    """Return labeled positives, a tenth of the rows, and unlabeled rows."""
    random = np.random.default_rng(0)
    positive = random.beta(5.0, 2.0, rows // 10)
    hidden = random.random(rows - positive.size) < PRIOR
    unlabeled = np.where(
        hidden, random.beta(5.0, 2.0, hidden.size), random.beta(2.0, 5.0, hidden.size)
    )
    return positive, unlabeled


def once(data, metric, selection):
    scores = PUScores(*data, prior=PRIOR, setting="two-sample", selection=selection)
    return estimate(metric, scores)


def curve(data, metric):
    scores = PUScores(*data, prior=PRIOR, setting="two-sample")
    return selection_curve(metric, scores, FACTORS)


def cases(metric):
    """Return the calls for one metric."""
    return {
        "random labels": partial(once, metric=metric, selection=1.0),
        "bounds": partial(once, metric=metric, selection=FACTOR),
        "curve": partial(curve, metric=metric),
    }


def spent(call, data):
    """Return CPU and wall-clock seconds."""
    clock, processor = time.perf_counter(), time.process_time()
    call(data)
    return time.process_time() - processor, time.perf_counter() - clock


def measure(metric, data, rounds):
    """Return the best times of each call."""
    found = {name: [] for name in cases(metric)}
    for _ in range(rounds + 1):
        for name, call in cases(metric).items():
            found[name].append(spent(call, data))
    # The first round may compile kernels.
    return {name: [min(x) for x in zip(*times[1:], strict=True)] for name, times in found.items()}


def report(rows, found):
    """Yield the lines of a table: CPU and wall-clock seconds, and ratios."""
    command = " ".join(["python -m benchmarks.selection", *sys.argv[1:]])
    machine = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
    yield (
        f"{rows:,} rows, two samples in memory, one process: CPU / wall-clock seconds. "
        f"Written by `{command}`; {machine}."
    )
    yield ""
    yield "| metric | random labels | factor 2 | ratio | curve, 21 factors | ratio to factor 2 |"
    yield "|---|---:|---:|---:|---:|---:|"
    for metric, times in found.items():
        plain, bounds, curve = (times[name] for name in ("random labels", "bounds", "curve"))
        cells = ["{:.3f} / {:.3f}".format(*x) for x in (plain, bounds, curve)]
        ratios = [f"{bounds[0] / plain[0]:.2f}", f"{curve[0] / bounds[0]:.2f}"]
        yield f"| {metric} | {cells[0]} | {cells[1]} | {ratios[0]} | {cells[2]} | {ratios[1]} |"
    yield ""
    yield f"Limits of the ratios: {LIMITS['bounds']:g} and {LIMITS['curve']:g}."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    rows = int(arguments.rows)
    data = draw(rows)
    found = {metric: measure(metric, data, arguments.rounds) for metric in METRICS}
    text = "\n".join([*report(rows, found), ""])
    print(text)
    (arguments.out / "selection.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
