"""Figure 1: unseen rows, width bins, and two classifiers with exactly known calibration."""

import math

import numpy as np

from experiments.study import Run, cells
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row
from noneg.bins import bin_scores
from noneg.randomness import stream
from noneg.theory import labeled_bias_bound, labeled_optimal_bins

SIZES = [round(10 ** (2 + k / 2)) for k in range(9)]  # 100 to a million
# Multiples and powers of n. The paper prints negative powers, which would give less than one bin.
CANDIDATES = [(factor, power) for factor in (1, 2, 3) for power in (2, 3, 4)]


def candidates(n: int) -> list[int]:
    # 1000 ** (1/3) is below 10 in double precision.
    return sorted({math.floor(factor * n ** (1 / power) + 1e-9) for factor, power in CANDIDATES})


def gaps(world: str, n: int, trials: int, bins: list[int]) -> np.ndarray:
    """Return |ECE - TCE|, shape (trials, numbers of bins)."""
    truth, out = PAPER[world].tce(), np.empty((trials, len(bins)))
    for trial in range(trials):
        rng = stream(trial, f"figure 1 {world} {n}")
        scores = PAPER[world].draw(n=n, setting="labeled", seed=rng)
        found = [bin_scores(scores, bins=b, binning="width").residual for b in bins]
        out[trial] = [abs(np.abs(rho).sum() - truth) for rho in found]
    return out


def figure1_row(world: str, n: int, trials: int) -> Row:
    options = {"binning": "width", "lipschitz": known(PAPER[world]).lipschitz}
    best, tried = labeled_optimal_bins(n, rule="closed-form", **options), candidates(n)
    bounds = {b: labeled_bias_bound(n, bins=b, **options).value for b in (best, *tried)}
    found = gaps(world, n, trials, [best, *tried])
    mean = found.mean(axis=0)
    return {
        "tce": PAPER[world].tce(),
        "lipschitz": options["lipschitz"],
        "bins": best,
        "bound": bounds[best],
        "gap": mean[0],
        "gap_se": found[:, 0].std(ddof=1) / math.sqrt(trials),
        "largest_gap": found[:, 0].max(),
        "bins_of_least_bound": min(tried, key=bounds.get),
        "bins_of_least_gap": tried[int(mean[1:].argmin())],
        "trials": trials,
    }


def figure1(run: Run) -> dict[str, list[Row]]:
    every = cells(world=list(PAPER)[:2], n=run.pick(SIZES, SIZES[:5:2]))
    return {"figure1": run.rows(figure1_row, every, trials=run.trials(100, 10))}
