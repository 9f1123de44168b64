"""Coverage of the intervals of performance metrics, and bias of the estimates.

For each setting and prior: how often does the nominal 95% interval contain the metric's value in
the population, and how far is the mean estimate from it?
"""

import numpy as np

from experiments.study import Run, cells
from experiments.synthetic.worlds import SETTINGS, population
from experiments.tables import Row
from noneg import performance
from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian

PRIORS = (0.02, 0.1, 0.5)
N_POSITIVE, N_UNLABELED = 500, 5000
PLAIN = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity")
PLAIN += ("false_positive_rate", "npv")
# Name in the table: function and options.
METRICS = {name: (name, {}) for name in PLAIN} | {
    "f1": ("f_beta", {}),
    "f2": ("f_beta", {"beta": 2.0}),
    "mcc": ("mcc", {}),
    "cohen_kappa": ("cohen_kappa", {}),
    "precision_at": ("precision_at", {"k": 0.1}),
    "lift_at": ("lift_at", {"k": 0.1}),
    "auroc": ("auroc", {}),
    "average_precision": ("average_precision", {}),
    "partial_auc": ("partial_auc", {"max_fpr": 0.2}),
    **{
        f"risk {loss}": ("risk", {"loss": loss})
        for loss in ("zero-one", "brier", "log", "hinge", "sigmoid")
    },
}


def truth(world: LogisticGaussian) -> dict[str, float]:
    """Return every metric's value in the population."""
    every = population(world)
    return {
        name: float(getattr(performance, metric)(every, **options))
        for name, (metric, options) in METRICS.items()
    }


def draw(world: LogisticGaussian, setting: str, seed: int) -> PUScores:
    n = N_POSITIVE + N_UNLABELED
    if setting == "labeled":
        return world.draw(n=n, setting="labeled", seed=seed)
    if setting == "two-sample":
        return world.draw(N_POSITIVE, N_UNLABELED, setting="two-sample", seed=seed)
    labeled = min(N_POSITIVE, int(world.prior * n / 2))  # half of the positives at most
    return world.draw(labeled, n - labeled, setting="one-sample", seed=seed)


def interval(name: str, scores: PUScores) -> tuple[float, float, float]:
    metric, options = METRICS[name]
    found = getattr(performance, f"{metric}_interval")(scores, **options)
    return found.value, found.low, found.high


def cover(setting: str, prior: float, trials: int) -> list[Row]:
    """Return one row per metric."""
    world = LogisticGaussian(-0.5, 1.5, prior)
    targets = truth(world)
    found = np.empty((trials, len(targets), 3))
    for trial in range(trials):
        scores = draw(world, setting, trial)
        found[trial] = [interval(name, scores) for name in targets]
    rows = []
    for (name, target), (value, low, high) in zip(
        targets.items(), found.transpose(1, 2, 0), strict=True
    ):
        sd = value.std(ddof=1)
        rows.append(
            {
                "metric": name,
                "target": target,
                "mean": value.mean(),
                "sd": sd,
                "bias_in_se": (value.mean() - target) / (sd / np.sqrt(trials)),
                "mean_low": low.mean(),
                "mean_high": high.mean(),
                "below_low": (target < low).mean(),
                "above_high": (target > high).mean(),
                "coverage": ((low <= target) & (target <= high)).mean(),
                "trials": trials,
            }
        )
    return rows


def coverage(run: Run) -> dict[str, list[Row]]:
    every = cells(setting=SETTINGS, prior=PRIORS)
    return {"coverage": run.rows(cover, every, trials=run.trials(2000, 20))}
