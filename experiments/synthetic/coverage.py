"""Does the interval for the calibration error cover, and does the calibration test keep its level?

For each population, size and setting: how often does the nominal 95% interval and the percentile
bootstrap contain the population error over the same bins? How often does the test reject calibrated
scores?
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from experiments.study import Run, Study, cells
from experiments.synthetic.worlds import PAPER, RATIO, SETTINGS, draw
from experiments.tables import Row, averaged
from noneg.bins import Binned, bin_scores
from noneg.calibration import calibration_test, ece_interval
from noneg.calibration.errors import norm
from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian

SIZES = (100, 1000, 5000)
PRIORS = (0.5, 0.1)
STATISTICS = ("ece", "ks")
N_POSITIVE = 100
RESAMPLES, REPLICATES = 200, 199
LEVELS = (0.01, 0.05, 0.1)


def bootstrap_interval(
    scores: PUScores, binned: Binned, rng: np.random.Generator
) -> tuple[float, float]:
    """Return a percentile bootstrap over rows, drawn as counts in bins (normal scores within a
    bin)."""
    n = int(scores.n_marginal)
    count = rng.multinomial(n, binned.marginal, size=RESAMPLES)
    mean = np.nan_to_num(binned.mean_score)
    square = binned.second[:, 2, 2] * n / np.maximum(binned.marginal, 1e-12)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    score = (count * mean + np.sqrt(count) * spread * rng.standard_normal(count.shape)) / n
    if scores.setting == "two-sample":
        hits = rng.multinomial(int(scores.n_positive), binned.positive, size=RESAMPLES)
    else:
        rate = np.nan_to_num(binned.positive * scores.n_positive / (binned.marginal * n))
        hits = rng.binomial(count, np.minimum(rate, 1.0))
    total = n if scores.setting == "labeled" else np.maximum(hits.sum(axis=1, keepdims=True), 1)
    positive = hits / total * (1.0 if scores.setting == "labeled" else scores.prior)
    low, high = np.quantile(np.abs(positive - score).sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


@averaged(count="trials")
def cover(world: str, n_positive: int, setting: str, trials: int) -> Iterator[Row]:
    """Yield whether both intervals contain the population error of one cell."""
    for trial in range(trials):
        scores = draw(PAPER[world], n_positive, setting, trial)
        binned, one = bin_scores(scores), ece_interval(scores)
        target = PAPER[world].binned_tce(binned.edges)
        assert one.value == norm(binned, 1)
        low, high = bootstrap_interval(scores, binned, np.random.default_rng(trial))
        yield {
            "target": target,
            "mean_error": one.value,
            "mean_low": one.low,
            "mean_high": one.high,
            "coverage": one.low <= target <= one.high,
            "below_low": target < one.low,
            "above_high": target > one.high,
            "bootstrap_coverage": low <= target <= high,
        }


def coverage(run: Run) -> dict[str, list]:
    every = [
        {"world": world, "n_positive": n, "setting": setting}
        for world, setting, n in product(PAPER, SETTINGS, SIZES)
    ]
    return {"coverage": run.rows(cover, every, trials=run.trials(400, 20))}


@averaged(count="trials")
def reject(prior: float, setting: str, statistic: str, trials: int) -> Iterator[Row]:
    """Yield whether the test rejects calibrated scores at each level."""
    world, unlabeled = LogisticGaussian.calibrated(prior), int(RATIO * N_POSITIVE * 0.5 / prior)
    for seed in range(trials):
        scores = draw(world, N_POSITIVE, setting, seed, unlabeled)
        options = {"statistic": statistic, "replicates": REPLICATES, "seed": seed}
        p = calibration_test(scores, **options).p_value
        yield {f"size at {level:.0%}": p <= level for level in LEVELS}


def size(run: Run) -> dict[str, list]:
    every = cells(prior=PRIORS, setting=SETTINGS, statistic=STATISTICS)
    return {"size": run.rows(reject, every, trials=run.trials(4000, 20))}


STUDY = Study("coverage", (coverage, size))
