"""How much longer do numbers take if hidden positives may differ from labeled ones?

    python -m benchmarks.selection

Writes selection.md. The rows are two samples in memory. Each call starts from the arrays, on a new
object: an estimate with random labels (a factor of 1), with a factor of 2, and the curve over 21
factors above 1. Calls take turns; the best CPU time and the best wall-clock time of each count.
Ratios are those of CPU time. A curve that includes 1 also takes the time of random labels.
"""

from functools import partial

import numpy as np

from benchmarks.measure import best_of_turns
from benchmarks.tables import parser, save, written
from experiments.tables import table
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


def measure(metric, data, rounds):
    """Return the best times of each call for one metric."""
    calls = {
        "random labels": partial(once, data, metric, 1.0),
        "bounds": partial(once, data, metric, FACTOR),
        "curve": partial(curve, data, metric),
    }
    return best_of_turns(calls, rounds, warm_up=1)


def report(rows, found):
    """Yield the lines of a table: CPU and wall-clock seconds, and ratios."""
    what = f"{rows:,} rows, two samples in memory, one process: CPU / wall-clock seconds"
    yield f"{what}. {written('selection')}."
    yield ""
    lines = []
    for metric, times in found.items():
        plain, bounds, curve = (times[name] for name in ("random labels", "bounds", "curve"))
        cells = ["{:.3f} / {:.3f}".format(*x) for x in (plain, bounds, curve)]
        ratios = [f"{bounds[0] / plain[0]:.2f}", f"{curve[0] / bounds[0]:.2f}"]
        lines.append([metric, cells[0], cells[1], ratios[0], cells[2], ratios[1]])
    head = "metric | random labels | factor 2 | ratio | curve, 21 factors | ratio to factor 2"
    yield table(head, lines, "lr")
    yield ""
    yield f"Limits of the ratios: {LIMITS['bounds']:g} and {LIMITS['curve']:g}."


def main():
    arguments = parser(__doc__, rows=1e7, rounds=5).parse_args()
    rows = int(arguments.rows)
    data = draw(rows)
    found = {metric: measure(metric, data, arguments.rounds) for metric in METRICS}
    lines = list(report(rows, found))
    print(*lines, sep="\n")
    save(arguments.out / "selection.md", *lines)


if __name__ == "__main__":
    main()
