"""How far is every estimator of the class prior from the truth?

    NONEG_DATA=... python experiments/prior/run.py [--seeds 1] [--full] [--minutes 20]

Mixtures of USPS, Letter, Spambase, Covertype and two Gaussian classes: shares from .05 to .9, 50 to
5000 labelled positives. One process of one core; finished cells are lines in ``study.csv``, and
a run that was stopped goes on where it was. ``--full`` draws five times. ``summary.py`` makes the
tables and the picture.
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
from mixtures import GAUSSIAN, Cell, cells, draw
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from noneg.prior import (
    FROM_SCORES,
    BestBin,
    FeatureSamples,
    KernelMeanGradient,
    KernelMeanRoot,
    PenalisedL1,
    ReCPE,
    ScoreLaws,
    Tedn,
    Tice,
    find_estimator,
)
from noneg.prior.discriminator import cross_fit

HERE = Path(__file__).parent
FIELDS = ("world", "prior", "n_positive", "seed", "method", "value", "low", "high")
FIELDS += ("seconds", "auc", "auc_pu")
FOLDS = 3
WITH_INTERVAL = ("dedpul", "bbe", "quick")
FEATURE_SIZES = (50, 200, 1000)


def classifier(world: str):
    """What is right for the Gaussian worlds, and elsewhere what is taken when none is named."""
    return LogisticRegression() if world in GAUSSIAN else None


def measure(cell: Cell):
    """Yield a line for each method."""
    positive, unlabeled, hidden = draw(cell)
    samples = FeatureSamples(positive, unlabeled, "two-sample")
    start = time.process_time()
    p, u = cross_fit(samples, classifier(cell.world), folds=FOLDS)
    training = time.process_time() - start
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit", discriminates=True)
    known = {"auc": roc_auc_score(hidden, u), "auc_pu": laws.separation}
    for name in FROM_SCORES:
        yield line(cell, name, find_estimator(name), laws, training, known)
    yield line(cell, "recpe-bbe", ReCPE(base=BestBin()), laws, training, known)
    for estimator in feature_methods(cell):
        start = time.process_time()
        share = estimator.find(samples).share
        seconds = time.process_time() - start
        yield row(cell, estimator.name, share, np.nan, np.nan, seconds, known)


def feature_methods(cell: Cell):
    yield Tedn(classifier=classifier(cell.world), folds=FOLDS)
    if cell.n_positive in FEATURE_SIZES:
        yield from (KernelMeanRoot(), KernelMeanGradient(), Tice(), PenalisedL1())


def line(cell, name, estimator, laws, training, known):
    start = time.process_time()
    share = estimator.find(laws).share
    seconds = training + time.process_time() - start
    low = high = np.nan
    if name in WITH_INTERVAL:
        low, high, _ = estimator.interval(laws, share, 0.95)
    return row(cell, name, share, low, high, seconds, known)


def row(cell, name, share, low, high, seconds, known):
    numbers = {"value": share, "low": low, "high": high, "seconds": seconds, **known}
    shown = {key: f"{value:.5g}" for key, value in numbers.items()}
    return dict(zip(FIELDS, cell.key(), strict=False)) | {"method": name} | shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="five draws of every cell")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so much CPU time")
    options = parser.parse_args()
    path = HERE / "study.csv"
    done = set()
    if path.exists():
        with path.open() as stream:
            done = {tuple(found[key] for key in FIELDS[:4]) for found in csv.DictReader(stream)}
    todo = [c for c in cells(5 if options.full else options.seeds) if c.key() not in done]
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not stream.tell():
            writer.writeheader()
        for number, cell in enumerate(todo):
            if time.process_time() > 60 * options.minutes:
                break
            # All lines of a cell or none, so that a stopped run leaves no half cells.
            writer.writerows(list(measure(cell)))
            stream.flush()
            print(f"{number + 1}/{len(todo)} {cell} {time.process_time():.0f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    main()
