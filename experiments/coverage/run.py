"""Coverage of the calibration-error interval, beside the percentile bootstrap.

    python experiments/coverage/run.py [--trials 400]

For each world, size and setting: how often does the nominal 95 % interval contain the population
error over the same bins? Writes ``coverage.csv`` and ``coverage.md`` beside this file.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import Binned, bin_scores
from noneg.calibration import ece_interval
from noneg.calibration.errors import norm
from noneg.simulation import LogisticGaussian

sys.path.append(str(Path(__file__).parents[1]))
from pages import table, write

if TYPE_CHECKING:
    from noneg.scores import PUScores

HERE = Path(__file__).parent
WORLDS = {
    "less calibrated": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "better calibrated": LogisticGaussian(beta0=-0.2, beta1=1.9),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}
SIZES = (100, 1000, 5000)
SETTINGS = ("two-sample", "one-sample", "labelled")
RATIO = 10


@dataclass(frozen=True)
class Cell:
    world: str
    n_positive: int
    setting: str
    trials: int

    def draw(self, seed: int) -> PUScores:
        world, n = WORLDS[self.world], self.n_positive
        if self.setting == "labelled":
            return world.draw(n=(1 + RATIO) * n, setting="labelled", seed=seed)
        return world.draw(n, RATIO * n, setting=self.setting, seed=seed)


def bootstrap_interval(
    scores: PUScores, binned: Binned, rng: np.random.Generator, replicates: int = 200
) -> tuple[float, float]:
    """Percentile bootstrap over rows, drawn as counts in bins (scores within a bin: normal)."""
    n = int(scores.n_marginal)
    count = rng.multinomial(n, binned.marginal, size=replicates)
    mean = np.nan_to_num(binned.mean_score)
    square = binned.second[:, 2, 2] * n / np.maximum(binned.marginal, 1e-12)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    score = (count * mean + np.sqrt(count) * spread * rng.standard_normal(count.shape)) / n
    if scores.setting == "two-sample":
        hits = rng.multinomial(int(scores.n_positive), binned.positive, size=replicates)
    else:
        rate = np.nan_to_num(binned.positive * scores.n_positive / (binned.marginal * n))
        hits = rng.binomial(count, np.minimum(rate, 1.0))
    total = n if scores.setting == "labelled" else np.maximum(hits.sum(axis=1, keepdims=True), 1)
    positive = hits / total * (1.0 if scores.setting == "labelled" else scores.prior)
    low, high = np.quantile(np.abs(positive - score).sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def run(cell: Cell) -> dict[str, object]:
    world, target = WORLDS[cell.world], np.empty(cell.trials)
    low, high, value = (np.empty(cell.trials) for _ in range(3))
    inside = np.empty(cell.trials, dtype=bool)
    for trial in range(cell.trials):
        scores = cell.draw(seed=trial)
        binned = bin_scores(scores)
        target[trial] = world.binned_tce(binned.edges)
        estimate = ece_interval(scores)
        low[trial], high[trial], value[trial] = estimate.low, estimate.high, estimate.value
        assert estimate.value == norm(binned, 1)
        a, b = bootstrap_interval(scores, binned, np.random.default_rng(trial))
        inside[trial] = a <= target[trial] <= b
    covered = (low <= target) & (target <= high)
    return {
        "world": cell.world,
        "n_positive": cell.n_positive,
        "setting": cell.setting,
        "target": target.mean(),
        "mean_error": value.mean(),
        "mean_low": low.mean(),
        "mean_high": high.mean(),
        "coverage": covered.mean(),
        "below_low": (target < low).mean(),
        "above_high": (target > high).mean(),
        "bootstrap_coverage": inside.mean(),
        "trials": cell.trials,
    }


def markdown(rows: list[dict[str, object]]) -> str:
    head = ["world", "setting", "n_P", "target", "mean ECE", "mean interval", "coverage"]
    lines = [
        [
            row["world"],
            row["setting"],
            str(row["n_positive"]),
            *(f"{row[name]:.4f}" for name in ("target", "mean_error")),
            f"[{row['mean_low']:.4f}, {row['mean_high']:.4f}]",
            *(f"{row[name]:.1%}" for name in ("coverage", "bootstrap_coverage")),
        ]
        for row in rows
    ]
    return table([*head, "bootstrap"], lines, "llrrrlrr") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    cells = [Cell(w, n, s, trials) for w, s, n in product(WORLDS, SETTINGS, SIZES)]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(run, cells))
    write(HERE / "coverage.csv", rows)
    (HERE / "coverage.md").write_text(markdown(rows))
    print(markdown(rows))


if __name__ == "__main__":
    main()
