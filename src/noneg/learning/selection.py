"""How good a network in training is on held-out rows, without negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from noneg.performance.selection import CRITERIA, find_criterion
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from noneg.learning.contract import Algorithm
    from noneg.learning.data import PUData
    from noneg.learning.task import Task

__all__ = ["CRITERIA", "find_criterion", "validation_value"]


def validation_value(algorithm: Algorithm, rows: PUData, criterion: str) -> float:
    """Return the criterion of the algorithm as it is now."""
    task = algorithm.task
    if task.population_prior is None and criterion != "proxy_auc":
        msg = f"'prior' must be given for the criterion {criterion!r}; 'proxy_auc' needs none."
        raise ValueError(msg)
    positive, unlabeled = (_scores(algorithm.decision(x)) for x in (rows.pos, rows.unl))
    scores = PUScores(positive, unlabeled, prior=_prior(task, rows), setting=task.setting)
    return float(find_criterion(criterion).function(scores))


def _scores(logits: Tensor) -> NDArray[np.float64]:
    # In double precision, so that large logits stay apart.
    return expit(logits.cpu().numpy().astype(np.float64))


def _prior(task: Task, rows: PUData) -> float:
    """Return the prior; any one if it is not known."""
    share = rows.n_pos / (rows.n_pos + rows.n_unl)
    return (1.0 + share) / 2.0 if task.population_prior is None else task.population_prior
