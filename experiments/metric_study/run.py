"""Which calibration metric should one trust on PU data?

    python experiments/metric_study/run.py [--trials 20] [--quick]

For worlds from well to badly calibrated, priors from .05 to .5 and 30 to 10,000 positives: the
mean absolute distance of every calibration error of the registry from the true one.
Writes ``study.csv`` (a line a cell and metric), ``summary.md`` and ``study.png`` beside this file.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noneg.metrics import METRICS
from noneg.simulation import LogisticGaussian, LogitMixture, World

sys.path.append(str(Path(__file__).parents[1]))
from pages import table, write

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PRIORS = (0.05, 0.2, 0.5)
SIZES = (30, 100, 300, 1000, 3000, 10_000)
RATIO = 10


def logistic(shift: float, slope: float) -> Callable[[float], World]:
    """A true curve that is a straight line in the logit; (0, 2) is calibrated."""
    return lambda prior: LogisticGaussian(math.log(prior / (1 - prior)) + shift, slope, prior)


def mixture(positive: tuple, negative: tuple) -> Callable[[float], World]:
    """A true curve of no simple form: weights, means and deviations of the classes' logits."""
    return lambda prior: LogitMixture(positive=positive, negative=negative, prior=prior)


WORLDS = {
    "calibrated": logistic(0.0, 2.0),
    "nearly": logistic(-0.2, 1.9),
    "under-confident": logistic(-0.5, 1.5),
    "over-confident": logistic(0.0, 3.5),
    "badly off": logistic(1.0, 4.0),
    "two kinds of positives": mixture(((0.6, 0.4), (2.5, -0.5), (0.8, 0.6)), ((1,), (-2,), (1.5,))),
    "falling in places": mixture(
        ((0.5, 0.5), (3.0, 0.0), (0.6, 0.4)), ((0.6, 0.4), (-2.5, 1.5), (0.8, 0.4))
    ),
}
NAMES = [name for name, metric in METRICS.items() if metric.family == "calibration error"]


@dataclass(frozen=True)
class Cell:
    world: str
    prior: float
    n_positive: int
    trials: int

    def law(self) -> World:
        return WORLDS[self.world](self.prior)


def run(cell: Cell) -> list[dict[str, object]]:
    law, truth = cell.law(), cell.law().tce()
    values = np.empty((cell.trials, len(NAMES)))
    for trial in range(cell.trials):
        scores = law.draw(
            cell.n_positive, RATIO * cell.n_positive, setting="two-sample", seed=trial
        )
        values[trial] = [METRICS[name].function(scores) for name in NAMES]
    rows = []
    for name, column in zip(NAMES, values.T, strict=True):
        gap = np.abs(column - truth)
        rows.append(
            {
                "world": cell.world,
                "prior": cell.prior,
                "n_positive": cell.n_positive,
                "metric": name,
                "tce": truth,
                "mean": column.mean(),
                "error": gap.mean(),
                "standard_error": gap.std(ddof=1) / math.sqrt(cell.trials),
            }
        )
    return rows


def summary(rows: list[dict[str, object]]) -> str:
    """Mean absolute error a metric and size, over priors and worlds, best metric first."""
    errors = {
        name: [
            np.mean([r["error"] for r in rows if r["metric"] == name and r["n_positive"] == n])
            for n in sorted({r["n_positive"] for r in rows})
        ]
        for name in NAMES
    }
    sizes = sorted({r["n_positive"] for r in rows})
    ranked = sorted(errors.items(), key=lambda item: float(np.mean(item[1])))
    lines = [
        [f"`{name}`", *(f"{v:.4f}" for v in (*values, np.mean(values)))] for name, values in ranked
    ]
    return table(["metric", *(f"n_P = {n:,}" for n in sizes), "all"], lines, "lr") + "\n"


def draw(rows: list[dict[str, object]]) -> None:
    from matplotlib import pyplot as plt

    colours = (
        "#0072B2",
        "#D55E00",
        "#009E73",
        "#CC79A7",
        "#E69F00",
        "#56B4E9",
        "#000000",
        "#999999",
    )
    markers = "osDv^PX*"
    figure, axes = plt.subplots(1, len(WORLDS), figsize=(20, 4.4), sharey=True)
    for ax, world in zip(axes, WORLDS, strict=True):
        for k, name in enumerate(NAMES):
            mine = [r for r in rows if r["world"] == world and r["metric"] == name]
            sizes = sorted({r["n_positive"] for r in mine})
            error = [np.mean([r["error"] for r in mine if r["n_positive"] == n]) for n in sizes]
            ax.plot(
                sizes,
                error,
                color=colours[k % len(colours)],
                marker=markers[k % len(markers)],
                linestyle="-" if k < len(colours) else "--",
                markersize=4,
                label=name,
            )
        ax.set(title=world, xscale="log", yscale="log", xlabel="labelled positives")
    axes[0].set_ylabel("mean distance from the true error")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(HERE / "study.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three sizes, four trials")
    options = parser.parse_args()
    sizes, trials = (SIZES[:3], 4) if options.quick else (SIZES, options.trials)
    # Large samples first: the last processes to finish are then short.
    cells = [Cell(w, p, n, trials) for n, w, p in product(sizes[::-1], WORLDS, PRIORS)]
    with ProcessPoolExecutor() as pool:
        rows = [row for part in pool.map(run, cells) for row in part]
    write(HERE / "study.csv", rows)
    (HERE / "summary.md").write_text(summary(rows))
    draw(rows)
    print(summary(rows))


if __name__ == "__main__":
    main()
