"""The same mixtures by pulearn's estimators, in an environment of their own.

    NONEG_DATA=... PEERS/bin/python experiments/prior/peers.py [--seeds 2] [--minutes 10]

Needs pulearn 0.2.0 and NumPy, not noneg. Its estimates are of the pooled sample, which assumes one
sample; they are converted to the share among the unlabeled rows, ``(pi n - n_P) / n_U``, which is
exact. Columns are standardised. Writes ``peers.csv``; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from mixtures import GAUSSIAN, cells, draw
from pulearn.priors import HistogramMatchPriorEstimator, ScarEMPriorEstimator
from sklearn.ensemble import RandomForestClassifier

HERE = Path(__file__).parent
FIELDS = ("world", "prior", "n_positive", "seed", "method", "value", "seconds")


def methods(world: str):
    yield "pulearn histogram", HistogramMatchPriorEstimator()
    yield "pulearn EM", ScarEMPriorEstimator()
    if world not in GAUSSIAN:
        forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=10, random_state=0)
        yield "pulearn histogram, forest", HistogramMatchPriorEstimator(estimator=forest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=np.inf)
    options = parser.parse_args()
    path = HERE / "peers.csv"
    done = set()
    if path.exists():
        with path.open() as stream:
            # Other peers share the table.
            rows = [row for row in csv.DictReader(stream) if row["method"].startswith("pulearn")]
            done = {tuple(row[key] for key in FIELDS[:4]) for row in rows}
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not stream.tell():
            writer.writeheader()
        for cell in cells(options.seeds):
            if cell.key() in done or time.process_time() > 60 * options.minutes:
                continue
            writer.writerows(list(measure(cell)))
            stream.flush()
            print(cell, f"{time.process_time():.0f} s", flush=True)


def measure(cell):
    p, u, _ = draw(cell)
    X = np.concatenate([p, u]).astype(np.float64)
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    y = np.repeat([1, 0], [len(p), len(u)])
    for name, estimator in methods(cell.world):
        start = time.process_time()
        pi = estimator.estimate(X, y).pi
        share = float(np.clip((pi * y.size - len(p)) / len(u), 0, 1))
        numbers = {"value": f"{share:.5g}", "seconds": f"{time.process_time() - start:.3g}"}
        yield dict(zip(FIELDS, cell.key(), strict=False)) | {"method": name} | numbers


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
