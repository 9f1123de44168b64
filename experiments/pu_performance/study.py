"""Bounds on performance without negatives, and proxy metrics, compared with the papers' claims.

Figures 2 to 5 and Tables 1 and 2 of Claesen et al. (2015), Propositions 1 and 2 and the internal
label shift of the PU benchmark paper, and the coverage of intervals. Figure 5 and the tables need
``covtype.npz``, the propositions ``usps.npz``, both in the folder named by NONEG_DATA; parts whose
data are not available are skipped with a message.
"""

import numpy as np

from experiments.drawing import style
from experiments.pu_performance.proxies import proxies
from experiments.pu_performance.ranks import covtype, figure2, figure3, figure4, latent
from experiments.study import Run, Study, cells
from experiments.synthetic import worlds
from experiments.tables import Row, records, standard_error
from noneg.metrics import METRICS
from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian

PRIORS = (0.02, 0.1, 0.5)
N_POSITIVE, N_UNLABELED = 500, 5000
PLAIN = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity")
PLAIN += ("false_positive_rate", "npv")
# Name in the table: metric and options.
NAMED = {name: (name, {}) for name in PLAIN} | {
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
    every = worlds.population(world)
    return {name: METRICS[one].function(every, **options) for name, (one, options) in NAMED.items()}


def draw(world: LogisticGaussian, setting: str, seed: int) -> PUScores:
    n, labeled = N_POSITIVE + N_UNLABELED, N_POSITIVE
    if setting == "one-sample":
        labeled = min(labeled, int(world.prior * n / 2))  # half of the positives at most
    return worlds.draw(world, labeled, setting, seed, n - labeled)


def cover(setting: str, prior: float, trials: int) -> list[Row]:
    """Return the bias of each metric's estimates, and the coverage of its intervals."""
    world = LogisticGaussian(-0.5, 1.5, prior)
    targets = truth(world)
    found = np.empty((3, trials, len(targets)))
    for trial in range(trials):
        scores = draw(world, setting, trial)
        for k, (metric, options) in enumerate(NAMED.values()):
            one = METRICS[metric].interval(scores, **options)
            found[:, trial, k] = one.value, one.low, one.high
    value, low, high = found
    target, mean = np.array(list(targets.values())), value.mean(axis=0)
    return records(
        metric=targets,
        target=target,
        mean=mean,
        sd=value.std(axis=0, ddof=1),
        bias_in_se=(mean - target) / [standard_error(column) for column in value.T],
        mean_low=low.mean(axis=0),
        mean_high=high.mean(axis=0),
        below_low=(target < low).mean(axis=0),
        above_high=(target > high).mean(axis=0),
        coverage=((low <= target) & (target <= high)).mean(axis=0),
        trials=trials,
    )


def coverage(run: Run) -> dict[str, list[Row]]:
    every = cells(setting=worlds.SETTINGS, prior=PRIORS)
    return {"coverage": run.rows(cover, every, trials=run.trials(2000, 20))}


STUDY = Study(
    "pu_performance",
    parts=(figure2, figure3, figure4, latent, covtype, proxies, coverage),
    page="experiments.pu_performance.page",
    style=style(12, 12.5, 10.5),
    optional=("figure5", "tables", "propositions", "orders", "shift", "coverage"),
)
