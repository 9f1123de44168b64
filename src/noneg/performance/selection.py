"""Choosing among models without negatives, by any metric of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.performance import proxies  # noqa: F401 - registers two criteria
from noneg.registry import METRICS, Metric, find_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noneg.scores import PUScores

Criterion = Metric

# The proxies of the PU benchmark paper, Section 3, the proper scores and the calibration errors.
CRITERIA: dict[str, Criterion] = {
    name: METRICS[name]
    for name in ("proxy_accuracy", "proxy_auc", "log_loss", "brier", "debiased_ece", "ece")
}


def find_criterion(name: str) -> Criterion:
    """Return a criterion by name.

    Examples
    --------
    >>> find_criterion("log_loss").better
    'lower'
    """
    return find_metric(name, "criteria")


def select(models: Mapping[str, PUScores], *, by: str = "proxy_auc", **options: object) -> str:
    """Return the name of the best model by a criterion; the first of equally good ones.

    Parameters
    ----------
    models : mapping of str to PUScores
        Scores that each model gives to validation rows.
    by : str
        Name of a metric, such as those in `CRITERIA`.
    **options
        Options of the criterion, such as `threshold`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> unlabeled = [0.8, 0.3, 0.2, 0.1]
    >>> models = {
    ...     "poor": PUScores([0.3, 0.2], unlabeled, prior=0.4, setting="two-sample"),
    ...     "good": PUScores([0.9, 0.6], unlabeled, prior=0.4, setting="two-sample"),
    ... }
    >>> select(models)
    'good'
    """
    criterion = find_metric(by, "by")
    values = {name: criterion.function(scores, **options) for name, scores in models.items()}
    known = {name: criterion.sign * x for name, x in values.items() if not np.isnan(x)}
    if not known:
        msg = f"'models' must hold one for which {by} is defined, got {list(models)}."
        raise ValueError(msg)
    return max(known, key=lambda name: known[name])
