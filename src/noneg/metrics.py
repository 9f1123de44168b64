"""All metrics of the library by name, and `estimate`, which adds an interval to any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

# These two packages fill the registry.
from noneg import calibration, performance  # noqa: F401
from noneg.registry import METRICS, RECOMMENDED, Metric, find_metric, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.results import Estimate
    from noneg.scores import PUScores

__all__ = ["METRICS", "RECOMMENDED", "Metric", "estimate", "find_metric", "register"]


def estimate(
    metric: str | Callable[..., float], scores: PUScores, *, level: float = 0.95, **options: object
) -> Estimate:
    """Return a metric with its confidence interval.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "ece", or the function itself.
    scores : PUScores
    level : float
        Nominal coverage of the interval.
    **options
        Options of the metric.

    Examples
    --------
    >>> from noneg import PUScores, ece, estimate
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(estimate(ece, scores, bins=2))
    0.2500 [0.2262, 0.2708]
    """
    return find_metric(metric).estimate(scores, level=level, **options)
