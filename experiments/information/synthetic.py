"""Figure 1: unseen rows, width bins, two classifiers whose calibration is known exactly."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from noneg.bins import bin_scores
from noneg.randomness import stream
from noneg.simulation import LogisticGaussian
from noneg.theory import labelled_bias_bound, labelled_optimal_bins

WORLDS = {
    "less calibrated": LogisticGaussian.less_calibrated(),
    "better calibrated": LogisticGaussian.better_calibrated(),
}
SIZES = [round(10 ** (2 + k / 2)) for k in range(9)]  # 100 to a million
TRIALS = 100
# Multiples and powers of n. The paper prints negative powers, which would be less than one bin.
CANDIDATES = [(factor, power) for factor in (1, 2, 3) for power in (2, 3, 4)]


def lipschitz(world: LogisticGaussian) -> float:
    """Return the steepest slope of P(Y = 1 | s), on a fine grid of log odds."""
    logits = np.linspace(-12.0, 12.0, 200_001)
    slope = np.gradient(world.posterior_of_logit(logits), logits)
    return float(np.abs(slope / (expit(logits) * expit(-logits))).max())


def candidates(n: int) -> list[int]:
    # 1000 ** (1/3) is below 10 in doubles.
    return sorted({math.floor(factor * n ** (1 / power) + 1e-9) for factor, power in CANDIDATES})


def gaps(world: LogisticGaussian, name: str, n: int, trials: int, bins: list[int]) -> np.ndarray:
    """Return |ECE - TCE|, shape (trials, numbers of bins)."""
    truth, out = world.tce(), np.empty((trials, len(bins)))
    for trial in range(trials):
        rng = stream(trial, f"figure 1 {name} {n}")
        scores = world.draw(n=n, setting="labelled", seed=rng)
        found = [bin_scores(scores, bins=b, binning="width").residual for b in bins]
        out[trial] = [abs(np.abs(rho).sum() - truth) for rho in found]
    return out


def rows(sizes: list[int], trials: int) -> list[dict[str, object]]:
    """Return one row a classifier and a size."""
    out = []
    for name, world in WORLDS.items():
        slope = lipschitz(world)

        def bound(n: int, bins: int, slope: float = slope) -> float:
            options = {"bins": bins, "binning": "width", "lipschitz": slope}
            return labelled_bias_bound(n, **options).value

        for n in sizes:
            options = {"binning": "width", "lipschitz": slope}
            best = labelled_optimal_bins(n, rule="closed-form", **options)
            tried = candidates(n)
            found = gaps(world, name, n, trials, [best, *tried])
            mean = found.mean(axis=0)
            out.append(
                {
                    "world": name,
                    "n": n,
                    "tce": world.tce(),
                    "lipschitz": slope,
                    "bins": best,
                    "bound": bound(n, best),
                    "gap": mean[0],
                    "gap_se": found[:, 0].std(ddof=1) / math.sqrt(trials),
                    "largest_gap": found[:, 0].max(),
                    "bins_of_least_bound": min(tried, key=lambda b: bound(n, b)),
                    "bins_of_least_gap": tried[int(mean[1:].argmin())],
                    "trials": trials,
                }
            )
    return out
