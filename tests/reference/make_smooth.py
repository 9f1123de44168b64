"""Values of smoothed calibration errors from other libraries for one sample.

Run in an environment with relplot and KDEpy::

    python tests/reference/make_smooth.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import relplot
from KDEpy import NaiveKDE
from scipy.special import expit, logit

N = 1200
SIGMAS = (0.02, 0.05, 0.1, 0.3)
BANDWIDTHS = (0.03, 0.08)
LOGIT_SIGMA, DRAWS = 1 / 15, 200_000


def sample():
    """Scores too close to 0.5, written out so that no random generator can change them."""
    i = np.arange(1, N + 1)
    score = (i * 0.6180339887498949) % 1.0
    truth = score + 0.15 * np.sin(2 * np.pi * score)
    label = ((i * 0.7548776662466927) % 1.0 < truth).astype(int)
    return label, score


def folded_density(data, grid, bandwidth):
    """Density of data reflected at 0 and 1, with KDEpy's triweight kernel."""
    mirrored = np.concatenate([-data, data, 2.0 - data])
    return 3.0 * NaiveKDE(kernel="triweight", bw=bandwidth).fit(mirrored).evaluate(grid)


def kernel_error(y, s, bandwidth, p):
    """The estimate of Zhang et al. (2020) at a given bandwidth, to the power 1/p."""
    grid = (np.arange(8000) + 0.5) / 8000
    marginal = folded_density(s, grid, bandwidth)
    frequency = y.mean() * folded_density(s[y == 1], grid, bandwidth) / marginal
    return float((marginal * np.abs(frequency - grid) ** p).mean() ** (1 / p))


def sampled_logit_error(y, s):
    """The estimate of Chidambaram et al. (2024): noisy logits are drawn instead of integrated
    over."""
    rng = np.random.default_rng(0)
    logits = logit(s)
    gaps = []
    for _ in range(100):
        t = rng.choice(logits, DRAWS // 100) + LOGIT_SIGMA * rng.standard_normal(DRAWS // 100)
        kernel = np.exp(-(((t[:, None] - logits) / LOGIT_SIGMA) ** 2) / 2)
        gaps.append(np.abs(kernel @ y / kernel.sum(axis=1) - expit(t)))
    gaps = np.concatenate(gaps)
    return float(gaps.mean()), float(gaps.std() / np.sqrt(DRAWS))


def main():
    y, s = sample()
    value, error = sampled_logit_error(y, s)
    out = {
        "rows": N,
        "versions": {n: version(n) for n in ("relplot", "KDEpy", "numpy", "scipy")},
        "relplot smECE": float(relplot.smECE(s, y)),
        "relplot smECE_sigma": {
            str(sigma): float(relplot.smECE_sigma(s, y, sigma)) for sigma in SIGMAS
        },
        "KDEpy triweight, p = 1": {str(h): kernel_error(y, s, h, 1) for h in BANDWIDTHS},
        "KDEpy triweight, p = 2": {str(h): kernel_error(y, s, h, 2) for h in BANDWIDTHS},
        "sampled logit-smoothed ECE": {"value": value, "standard error": error},
    }
    Path(__file__).with_name("smooth.json").write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
