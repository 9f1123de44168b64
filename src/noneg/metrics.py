"""The registry of metrics, and `estimate`: any of them with its interval.

`evaluate`, the report and the property tests take their metrics from here, so a metric is added in
one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noneg.calibration.errors import ece
from noneg.calibration.interval import ece_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.results import Estimate
    from noneg.scores import PUScores


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What the library knows about a metric.

    Attributes
    ----------
    name, title : str
        Name in the registry and in JSON; words for a table.
    function : callable
        ``function(scores, **options) -> float``.
    interval : callable
        ``interval(scores, level=..., **options) -> Estimate``.
    citation : str
    needs_prior : bool
        Whether PU data without a prior leaves it undefined.
    range : (float, float)
        Smallest and largest possible value.
    better : {"lower", "higher"}
    """

    name: str
    title: str
    function: Callable[..., float]
    interval: Callable[..., Estimate]
    citation: str
    needs_prior: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    better: Literal["lower", "higher"] = "lower"


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="ece",
            title="Expected calibration error",
            function=ece,
            interval=ece_interval,
            citation="Estimating Expected Calibration Error for Positive-Unlabeled Learning",
        ),
    )
}


def find_metric(metric: str | Callable[..., float]) -> Metric:
    """Return the entry of a metric given by name or function."""
    for entry in METRICS.values():
        if metric in (entry.name, entry.function):
            return entry
    known = ", ".join(METRICS)
    raise ValueError(f"'metric' must be a registered metric ({known}), got {metric!r}.")


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
    0.2500 [0.1950, 0.2702]
    """
    return find_metric(metric).interval(scores, level=level, **options)
