"""How a metric depends on the class prior: `prior_curve` for any registered metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_level, check_prior
from noneg.errors import InputError
from noneg.metrics import find_metric
from noneg.performance.selection import prior_range
from noneg.results import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

__all__ = ["MetricByPrior", "prior_curve"]

POINTS = 41


@dataclass(frozen=True, kw_only=True, eq=False)
class MetricByPrior(Table):
    """A metric at many priors.

    Attributes
    ----------
    metric, title : str
    prior, value : ndarray
    low, high : ndarray or None
        Ends of the interval at each prior as if it were known, where a level was given.
    level : float or None
    """

    metric: str
    title: str
    prior: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    level: float | None

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest value at the priors looked at."""
        return float(np.nanmin(self.value)), float(np.nanmax(self.value))

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the table as columns."""
        out = {"prior": self.prior, "value": self.value}
        if self.low is not None and self.high is not None:
            out |= {"low": self.low, "high": self.high}
        return out

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        columns = {name: column.tolist() for name, column in self.columns().items()}
        return {"metric": self.metric, "title": self.title, "level": self.level, **columns}


def prior_curve(
    metric: str | Callable[..., float],
    scores: PUScores,
    *,
    priors: ArrayLike | None = None,
    level: float | None = None,
    **options: object,
) -> MetricByPrior:
    """Return a metric as a function of the class prior.

    Rows are put in order once; every further prior reuses their sums.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "auroc", or the function itself.
    scores : PUScores
        Positives and unlabeled rows; labels of every row would determine the prior.
    priors : array-like, optional
        Priors to look at. By default 41 over what is known of the prior, else from half to twice
        its odds.
    level : float, optional
        Also return the interval at each prior.
    **options
        Options of the metric.

    Examples
    --------
    >>> from noneg.sensitivity import prior_curve
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
    >>> curve = prior_curve("accuracy", scores, priors=[0.2, 0.3, 0.4])
    >>> curve.value.shape, bool(curve.range[0] < curve.range[1])
    ((3,), True)
    """
    entry = find_metric(metric)
    if scores.prior_is_estimated:
        msg = "must be positives and unlabeled rows: labels of every row determine a prior"
        raise InputError("scores", f"{msg}, {scores.known_prior:.6g}, and no other can be tried.")
    grid = np.linspace(*prior_range(scores), POINTS) if priors is None else _grid(priors)
    at = [scores.with_prior(float(prior)) for prior in grid]
    if level is None:
        value = np.array([entry.function(one, **options) for one in at], dtype=np.float64)
        low = high = None
    else:
        level = check_level(level)
        found = [entry.estimate(one, level=level, **options) for one in at]
        value, low, high = (
            np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high")
        )
    return MetricByPrior(
        metric=entry.name,
        title=entry.title,
        prior=grid,
        value=value,
        low=low,
        high=high,
        level=level,
    )


def _grid(priors: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(priors, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise InputError("priors", f"must be a list of priors, got shape {values.shape}.")
    for value in values:
        check_prior(float(value), "priors")
    return values
