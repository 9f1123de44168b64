"""Error after recalibration against the number of positives, in worlds whose posterior is known.

    python synthetic.py

PU data: n_P positives and 10 n_P unlabeled rows, two samples, prior known. Labelled data: as many
rows as both together. The error is the true calibration error of the mapped score, the mean of
|E[Y | g(S)] - g(S)| over 50,000 scores of the world: the posterior is averaged over the scores that
share a value, which matters for maps with steps. The distance is the mean of |eta(S) - g(S)|.
"""

import sys
import time
from pathlib import Path

import numpy as np
from common import HERE, NAMES, fitted, save

from noneg.simulation import BinomialProcess, LogisticGaussian

sys.path.append(str(Path(__file__).parents[1]))
from pages import read

WORLDS = {
    "logistic": LogisticGaussian(beta0=-1.0, beta1=3.0),
    "D4": BinomialProcess("D4"),
}
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
SEEDS = 15
POPULATION = 50_000


def true_error(value, posterior):
    """Return the calibration error of mapped scores, and their distance from the posterior."""
    _, place, size = np.unique(value, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=posterior) / size
    return float(np.mean(np.abs(mean[place] - value))), float(np.mean(np.abs(posterior - value)))


def before(name, world, s):
    """Return the row of the scores as they are."""
    error, distance = true_error(s, world.posterior(s))
    return {"world": name, "n_positive": 0, "data": "none", "seed": 0, "method": "none",
            "error": error, "distance": distance}  # fmt: skip


def study(name, world, n, s):
    """Yield the rows of one number of positives."""
    posterior = world.posterior(s)
    for seed in range(SEEDS):
        samples = {
            "PU": world.draw(n, 10 * n, setting="two-sample", seed=seed),
            "labelled": world.draw(n=11 * n, setting="labelled", seed=seed),
        }
        for data, scores in samples.items():
            for method in NAMES:
                error, distance = true_error(fitted(method, scores).transform(s), posterior)
                yield {"world": name, "n_positive": n, "data": data, "seed": seed,
                       "method": method, "error": error, "distance": distance}  # fmt: skip


def main():
    """Run what is not stored yet."""
    start = time.time()
    rows = read(HERE / "synthetic.csv") if (HERE / "synthetic.csv").exists() else []
    done = {(row["world"], int(row["n_positive"])) for row in rows}
    for name, world in WORLDS.items():
        s, _ = world.draw_rows(POPULATION, seed=10_000)
        if (name, 0) not in done:
            rows.append(before(name, world, s))
        for n in SIZES:
            if (name, n) not in done:
                rows += study(name, world, n, s)
                save("synthetic.csv", rows)
                print(f"{name} {n}: {time.time() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
