"""Choosing among models without negatives.

`CRITERIA` holds the proxies of the PU benchmark paper, Section 3, the proper scores and the
calibration error, each with its interval and the direction in which it is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.calibration.debiased import debiased_ece, debiased_ece_interval
from noneg.calibration.errors import ece
from noneg.calibration.interval import ece_interval
from noneg.calibration.proper import brier, brier_interval, log_loss, log_loss_interval
from noneg.performance.proxies import (
    proxy_accuracy,
    proxy_accuracy_interval,
    proxy_auc,
    proxy_auc_interval,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from noneg.results import Estimate
    from noneg.scores import PUScores

Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A way to choose among models.

    Attributes
    ----------
    name, title : str
        Name in `CRITERIA` and in JSON; words for a table.
    function : callable
        ``function(scores, **options) -> float``.
    interval : callable
        ``interval(scores, level=..., **options) -> Estimate``.
    better : {"higher", "lower"}
    needs_prior : bool
        Whether it depends on the prior.
    has_threshold : bool
        Whether it takes the option `threshold`.
    """

    name: str
    title: str
    function: Callable[..., float]
    interval: Callable[..., Estimate]
    better: Better
    needs_prior: bool = True
    has_threshold: bool = False

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1."""
        return 1.0 if self.better == "higher" else -1.0


CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            name="proxy_accuracy",
            title="Proxy accuracy",
            function=proxy_accuracy,
            interval=proxy_accuracy_interval,
            better="higher",
            has_threshold=True,
        ),
        Criterion(
            name="proxy_auc",
            title="Proxy AUC",
            function=proxy_auc,
            interval=proxy_auc_interval,
            better="higher",
            needs_prior=False,
        ),
        Criterion(
            name="log_loss",
            title="Log loss",
            function=log_loss,
            interval=log_loss_interval,
            better="lower",
        ),
        Criterion(
            name="brier",
            title="Brier score",
            function=brier,
            interval=brier_interval,
            better="lower",
        ),
        Criterion(
            name="debiased_ece",
            title="Calibration error",
            function=debiased_ece,
            interval=debiased_ece_interval,
            better="lower",
        ),
        Criterion(
            name="ece",
            title="Expected calibration error",
            function=ece,
            interval=ece_interval,
            better="lower",
        ),
    )
}


def find_criterion(name: object) -> Criterion:
    """Return a criterion by name.

    Examples
    --------
    >>> find_criterion("log_loss").better
    'lower'
    """
    if name not in CRITERIA:
        msg = f"'criteria' must be among {', '.join(CRITERIA)}, got {name!r}."
        raise ValueError(msg)
    return CRITERIA[str(name)]


def select(models: Mapping[str, PUScores], *, by: str = "proxy_auc", **options: object) -> str:
    """Return the name of the best model by a criterion; the first of equally good ones.

    Parameters
    ----------
    models : mapping of str to PUScores
        Scores that each model gives to validation rows.
    by : str
        A name in `CRITERIA`.
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
    criterion = find_criterion(by)
    values = {name: criterion.function(scores, **options) for name, scores in models.items()}
    known = {name: criterion.sign * x for name, x in values.items() if not np.isnan(x)}
    if not known:
        msg = f"'models' must hold one for which {by} is defined, got {list(models)}."
        raise ValueError(msg)
    return max(known, key=lambda name: known[name])
