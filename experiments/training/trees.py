"""Learners for tables on the rows of the protocol: PU boosting, weighting, bagging, extra trees.

They have no training curve, so nothing is selected: all use their default options, once. The
validation rows only fit the map after which probabilities are measured again.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.study import Row
from experiments.tabular.forest import extra_trees
from noneg.lab.bench import RunConfig
from noneg.lab.bench.draws import Draw, draw
from noneg.lab.bench.measures import on_test
from noneg.learning import BaggingPU, BoostedPU, WeightedPU
from noneg.recalibration import Platt
from noneg.recalibration.base import fit_quietly
from noneg.scores import PUScores

KEPT = ("accuracy", "auc", "f1", "ece", "ece_recalibrated")
Answers = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


def fitted(learner: Callable, x, y, new, prior: float) -> np.ndarray:
    """Return a learner's probabilities for new rows."""
    model = learner(setting="one-sample", prior=prior).fit(x, y)
    return model.predict_proba(new)[:, 1]


def forest(x, y, new, prior: float) -> np.ndarray:
    """Return the probabilities of PU extra trees, which read doubles."""
    first, last = (np.asarray(part, dtype=np.float64) for part in (x, new))
    return extra_trees(first, y, last, setting="one-sample", prior=prior)


LEARNERS: dict[str, Answers] = {
    "BoostedPU": partial(fitted, BoostedPU),
    "WeightedPU": partial(fitted, WeightedPU),
    "BaggingPU": partial(fitted, BaggingPU),
    "PU extra trees": forest,
}


def table_learner(method: str, **place: object) -> Row:
    """Return the test metrics of one learner on one draw."""
    # A draw does not depend on the algorithm.
    rows = draw(RunConfig(**place, setting="one-sample", algorithm="naive"))
    x = np.concatenate([rows.training.positive, rows.training.unlabeled])
    y = np.arange(len(x)) < len(rows.training.positive)
    new = np.concatenate([rows.validation.positive, rows.validation.unlabeled, rows.test.rows])
    scores = LEARNERS[method](x, y, new, rows.prior)
    found = _metrics(rows, np.clip(scores, 0.0, 1.0))
    return {name: found[name] for name in KEPT}


def _metrics(rows: Draw, scores: np.ndarray) -> dict[str, float]:
    ends = np.cumsum([len(rows.validation.positive), len(rows.validation.unlabeled)])
    positive, unlabeled, test = np.split(scores, ends)
    held = PUScores(positive, unlabeled, prior=rows.prior, setting="one-sample")
    calibrator = fit_quietly(Platt(fit="risk"), held)
    return on_test(test, rows.test.labels, rows.test.weight, calibrator)
