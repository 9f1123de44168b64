"""Coverage of the intervals of performance metrics, and bias of the estimates.

For each setting and prior: how often does the nominal 95% interval contain the metric's value in
the population, and how far is the mean estimate from it?
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from experiments.study import Run, cells
from experiments.synthetic.worlds import SETTINGS
from experiments.tables import Row
from noneg import performance
from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian

PRIORS = (0.02, 0.1, 0.5)
N_POSITIVE, N_UNLABELED = 500, 5000
K, MAX_FPR, BETA = 0.1, 0.2, 2.0
LOSSES: dict[str, Callable[[float, int], float]] = {
    "brier": lambda s, y: (s - y) ** 2,
    "log": lambda s, y: -np.log(s if y else 1 - s),
    "hinge": lambda s, y: max(0.0, 1 - (2 * y - 1) * np.log(s / (1 - s))),
    "sigmoid": lambda s, y: abs(s - y),
}
OPTIONS = {
    "f1": ("f_beta", {}),
    "f2": ("f_beta", {"beta": BETA}),
    "precision_at": ("precision_at", {"k": K}),
    "lift_at": ("lift_at", {"k": K}),
    "partial_auc": ("partial_auc", {"max_fpr": MAX_FPR}),
    **{f"risk {name}": ("risk", {"loss": name}) for name in ("zero-one", *LOSSES)},
}


def tail(x: float, y: int) -> float:
    """Return the share of a class above x, for classes N(1, 1) and N(-1, 1)."""
    return float(ndtr((2 * y - 1) - x))


def marginal_tail(x: float, pi: float) -> float:
    return pi * tail(x, 1) + (1 - pi) * tail(x, 0)


def truth(world: LogisticGaussian) -> dict[str, float]:
    """Return every metric's value in the population, by quadrature where there is no formula."""
    pi = world.prior
    x = -world.beta0 / world.beta1  # the score 0.5
    tpr, fpr, ppr = tail(x, 1), tail(x, 0), marginal_tail(x, pi)
    lift = tail(brentq(lambda v: marginal_tail(v, pi) - K, -9, 9), 1) / K
    spread = np.sqrt(pi * (1 - pi) * ppr * (1 - ppr))
    accuracy = pi * tpr + (1 - pi) * (1 - fpr)
    return {
        "accuracy": accuracy,
        "balanced_accuracy": (tpr + 1 - fpr) / 2,
        "precision": pi * tpr / ppr,
        "recall": tpr,
        "specificity": 1 - fpr,
        "false_positive_rate": fpr,
        "npv": (1 - pi) * (1 - fpr) / (1 - ppr),
        "f1": 2 * pi * tpr / (ppr + pi),
        "f2": 5 * pi * tpr / (ppr + 4 * pi),
        "mcc": pi * (tpr - ppr) / spread,
        "cohen_kappa": 2 * pi * (tpr - ppr) / (pi + ppr - 2 * pi * ppr),
        "precision_at": pi * lift,
        "lift_at": lift,
        "auroc": float(ndtr(np.sqrt(2))),
        "average_precision": mean(lambda v: pi * tail(v, 1) / marginal_tail(v, pi), 1),
        "partial_auc": mean(lambda v: tail(v, 1), 0, -1 - float(ndtri(MAX_FPR))),
        "risk zero-one": 1 - accuracy,
        **{f"risk {name}": expected_loss(world, loss) for name, loss in LOSSES.items()},
    }


def mean(function: Callable[[float], float], y: int, low: float = -11.0) -> float:
    """Return the mean of a function of x over a class, restricted to x above `low`."""
    center = 2 * y - 1

    def integrand(x: float) -> float:
        return function(x) * float(np.exp(-((x - center) ** 2) / 2)) / np.sqrt(2 * np.pi)

    ends = np.linspace(low, 11, 23)
    return sum(quad(integrand, a, b)[0] for a, b in pairwise(ends))


def expected_loss(world: LogisticGaussian, loss: Callable[[float, int], float]) -> float:
    def of(x: float, y: int) -> float:
        return loss(float(expit(world.beta0 + world.beta1 * x)), y)

    return world.prior * mean(partial(of, y=1), 1) + (1 - world.prior) * mean(partial(of, y=0), 0)


def draw(world: LogisticGaussian, setting: str, seed: int) -> PUScores:
    n = N_POSITIVE + N_UNLABELED
    if setting == "labeled":
        return world.draw(n=n, setting="labeled", seed=seed)
    if setting == "two-sample":
        return world.draw(N_POSITIVE, N_UNLABELED, setting="two-sample", seed=seed)
    labeled = min(N_POSITIVE, int(world.prior * n / 2))  # half of the positives at most
    return world.draw(labeled, n - labeled, setting="one-sample", seed=seed)


def interval(name: str, scores: PUScores) -> tuple[float, float, float]:
    metric, options = OPTIONS.get(name, (name, {}))
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
