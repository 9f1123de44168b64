"""Coverage of the intervals of performance metrics, and bias of the estimates.

    python experiments/pu_performance/cover.py [--trials 2000]

For each setting and prior: how often does the nominal 95 % interval contain the metric's value in
the population, and how far is the mean estimate from it? Writes ``coverage.csv`` and
``coverage.md`` beside this file.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from noneg import performance
from noneg.simulation import LogisticGaussian

sys.path.append(str(Path(__file__).parents[1]))
from pages import table, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.scores import PUScores

HERE = Path(__file__).parent
SETTINGS = ("two-sample", "one-sample", "labelled")
PRIORS = (0.02, 0.1, 0.5)
N_POSITIVE, N_UNLABELED = 500, 5000
WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)
K, MAX_FPR, BETA = 0.1, 0.2, 2.0

LOSSES: dict[str, Callable[[float, int], float]] = {
    "brier": lambda s, y: (s - y) ** 2,
    "log": lambda s, y: -np.log(s if y else 1 - s),
    "hinge": lambda s, y: max(0.0, 1 - (2 * y - 1) * np.log(s / (1 - s))),
    "sigmoid": lambda s, y: abs(s - y),
}

INTERVALS = {
    "accuracy": performance.accuracy_interval,
    "balanced_accuracy": performance.balanced_accuracy_interval,
    "precision": performance.precision_interval,
    "recall": performance.recall_interval,
    "specificity": performance.specificity_interval,
    "false_positive_rate": performance.false_positive_rate_interval,
    "npv": performance.npv_interval,
    "f1": performance.f_beta_interval,
    "f2": partial(performance.f_beta_interval, beta=BETA),
    "mcc": performance.mcc_interval,
    "cohen_kappa": performance.cohen_kappa_interval,
    "precision_at": partial(performance.precision_at_interval, k=K),
    "lift_at": partial(performance.lift_at_interval, k=K),
    "auroc": performance.auroc_interval,
    "average_precision": performance.average_precision_interval,
    "partial_auc": partial(performance.partial_auc_interval, max_fpr=MAX_FPR),
    "risk zero-one": partial(performance.risk_interval, loss="zero-one"),
    **{f"risk {name}": partial(performance.risk_interval, loss=name) for name in LOSSES},
}


def tail(x: float, y: int) -> float:
    """Share of a class above x, where the classes are N(1, 1) and N(-1, 1)."""
    return float(ndtr((2 * y - 1) - x))


def truth(world: LogisticGaussian) -> dict[str, float]:
    """Return every metric's value in the population, by quadrature where there is no formula."""
    pi = world.prior
    x = -world.beta0 / world.beta1  # the score 0.5
    tpr, fpr = tail(x, 1), tail(x, 0)
    ppr = pi * tpr + (1 - pi) * fpr
    top_x = brentq(lambda v: pi * tail(v, 1) + (1 - pi) * tail(v, 0) - K, -9, 9)
    lift = tail(top_x, 1) / K
    spread = np.sqrt(pi * (1 - pi) * ppr * (1 - ppr))
    both = pi + ppr - 2 * pi * ppr
    accuracy = pi * tpr + (1 - pi) * (1 - fpr)
    cut = -1 - float(ndtri(MAX_FPR))
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
        "cohen_kappa": 2 * pi * (tpr - ppr) / both,
        "precision_at": pi * lift,
        "lift_at": lift,
        "auroc": float(ndtr(np.sqrt(2))),
        "average_precision": mean(lambda v: pi * tail(v, 1) / marginal_tail(v, pi), 1),
        "partial_auc": mean(lambda v: tail(v, 1), 0, cut),
        "risk zero-one": 1 - accuracy,
        **{f"risk {name}": expected_loss(world, loss) for name, loss in LOSSES.items()},
    }


def marginal_tail(x: float, pi: float) -> float:
    return pi * tail(x, 1) + (1 - pi) * tail(x, 0)


def mean(function: Callable[[float], float], y: int, low: float = -11.0) -> float:
    """Return the mean of a function of x over a class, restricted to x above `low`."""
    centre = 2 * y - 1

    def integrand(x: float) -> float:
        return function(x) * float(np.exp(-((x - centre) ** 2) / 2)) / np.sqrt(2 * np.pi)

    ends = np.linspace(low, 11, 23)
    return sum(quad(integrand, a, b)[0] for a, b in pairwise(ends))


def expected_loss(world: LogisticGaussian, loss: Callable[[float, int], float]) -> float:
    def of(x: float, y: int) -> float:
        return loss(float(expit(world.beta0 + world.beta1 * x)), y)

    return world.prior * mean(partial(of, y=1), 1) + (1 - world.prior) * mean(partial(of, y=0), 0)


@dataclass(frozen=True)
class Cell:
    setting: str
    prior: float
    trials: int

    @property
    def world(self) -> LogisticGaussian:
        return LogisticGaussian(WORLD.beta0, WORLD.beta1, self.prior)

    def draw(self, seed: int) -> PUScores:
        n = N_POSITIVE + N_UNLABELED
        if self.setting == "labelled":
            return self.world.draw(n=n, setting="labelled", seed=seed)
        if self.setting == "two-sample":
            return self.world.draw(N_POSITIVE, N_UNLABELED, setting="two-sample", seed=seed)
        labelled = min(N_POSITIVE, int(self.prior * n / 2))  # half of the positives at most
        return self.world.draw(labelled, n - labelled, setting="one-sample", seed=seed)


def run(cell: Cell, names: tuple[str, ...] = tuple(INTERVALS)) -> list[dict[str, object]]:
    """Return one row a metric."""
    value, low, high = (np.empty((len(names), cell.trials)) for _ in range(3))
    for trial in range(cell.trials):
        scores = cell.draw(seed=trial)
        for k, name in enumerate(names):
            estimate = INTERVALS[name](scores)
            value[k, trial], low[k, trial] = estimate.value, estimate.low
            high[k, trial] = estimate.high
    target = truth(cell.world)
    return [
        {
            "setting": cell.setting,
            "prior": cell.prior,
            "metric": name,
            "target": target[name],
            "mean": value[k].mean(),
            "sd": value[k].std(ddof=1),
            "bias_in_se": (value[k].mean() - target[name])
            / (value[k].std(ddof=1) / np.sqrt(cell.trials)),
            "mean_low": low[k].mean(),
            "mean_high": high[k].mean(),
            "below_low": (target[name] < low[k]).mean(),
            "above_high": (target[name] > high[k]).mean(),
            "coverage": ((low[k] <= target[name]) & (target[name] <= high[k])).mean(),
            "trials": cell.trials,
        }
        for k, name in enumerate(names)
    ]


def markdown(rows: list[dict[str, object]]) -> str:
    """Return the coverage, a line a metric and a column a cell, with the range below."""
    cells = list(product(SETTINGS, PRIORS))
    found = {(row["metric"], row["setting"], row["prior"]): row for row in rows}
    lines = [
        [name, *(f"{found[name, *cell]['coverage']:.1%}" for cell in cells)] for name in INTERVALS
    ]
    values = [float(row["coverage"]) for row in rows]
    outside = sum(not 0.93 <= v <= 0.97 for v in values)
    noise = np.sqrt(0.95 * 0.05 / float(rows[0]["trials"]))
    head = ["metric", *(f"{setting} {prior}" for setting, prior in cells)]
    return table(head, lines, "lr") + (
        f"\n\n{rows[0]['trials']} trials a cell (one standard error: {noise:.2%}). Coverage from "
        f"{min(values):.1%} to {max(values):.1%}, mean {np.mean(values):.1%}; {outside} of "
        f"{len(values)} outside of 93-97 %. Two samples: {N_POSITIVE} positives, {N_UNLABELED} "
        "unlabeled rows; one sample and labelled: as many rows in all, at most half of the "
        "positives labelled.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    cells = [Cell(s, p, trials) for s, p in product(SETTINGS, PRIORS)]
    with ProcessPoolExecutor() as pool:
        rows = [row for part in pool.map(run, cells) for row in part]
    write(HERE / "coverage.csv", rows)
    (HERE / "coverage.md").write_text(markdown(rows))
    print(markdown(rows))


if __name__ == "__main__":
    main()
