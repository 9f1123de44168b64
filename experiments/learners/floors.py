"""How much the ranking of methods without a guarantee varies by seed: tolerances for a test.

    python experiments/learners/floors.py [--seeds 20] [--jobs 1]

Writes ``tests/learning/ranking.csv``. The test takes seed 0, this script the others, so that no
tolerance was chosen with the tested run in view.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from learning.gaussians import TwoGaussians
from learning.ranking import RECORD, ranking

from noneg.learning.algorithms import ALGORITHMS


def measure(name: str, seed: int) -> float:
    torch.set_num_threads(1)
    return ranking(name, TwoGaussians(), seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    rows = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        for name in sorted(name for name, kind in ALGORITHMS.items() if not kind.consistent):
            values = list(pool.map(partial(measure, name), range(1, options.seeds + 1)))
            numbers = (np.mean(values), np.std(values, ddof=1), min(values))
            rows.append([name, options.seeds, *(f"{x:.4f}" for x in numbers)])
            print(*rows[-1], flush=True)
    with RECORD.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "seeds", "mean", "deviation", "smallest"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
