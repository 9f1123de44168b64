"""The metric registry: each metric is one entry, defined next to its function.

`evaluate`, the report, comparisons, orderings by prior, scikit-learn scorers, torch metrics and the
property tests all use this registry. Importing `noneg.metrics` loads all entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from inspect import signature
from math import nan
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from noneg.checks import unknown_prior
from noneg.errors import InputError, did_you_mean
from noneg.selection import refuse_selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from noneg.losses import Loss
    from noneg.results import Estimate
    from noneg.rules import Curve, Rule
    from noneg.scores import PUScores

    Number = Callable[..., float]
    Interval = Callable[..., Estimate]

F = TypeVar("F", bound="Interval")
Better = Literal["lower", "higher", "closer"]
Family = Literal["calibration error", "calibration line", "proper score", "performance"]

PU_ECE = "Estimating Expected Calibration Error for Positive-Unlabeled Learning"
CLAESEN = "Claesen et al. (2015), Assessing binary classifiers using only PU data"

# The calibration error closest to the truth over many simulated worlds; see
# experiments/metric_study.
RECOMMENDED = "debiased_ece"
ALIASES = {"f1": "f_beta"}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The definition of a metric.

    Attributes
    ----------
    name, title : str
        Name in the registry and in JSON, and title for tables.
    function : callable
        ``function(scores, **options) -> float``.
    interval : callable
        ``interval(scores, level=..., **options) -> Estimate``.
    citation : str
    family : {"calibration error", "calibration line", "proper score", "performance"}
    range : (float, float)
        Smallest and largest value in a population. On small PU samples, the function may leave this
        range; the interval does not (`interval_of`).
    better : {"lower", "higher", "closer"}
        "closer" means closer to `ideal`, which only such metrics have.
    ideal : float
    needs_prior : bool
        Whether the metric is undefined for PU data without a prior.
    short : str
        Title in the table of a comparison; defaults to `title`.
    ranks : bool
        Whether only the order of the scores matters, so that margins work as well as probabilities.
    rule : callable, optional
        Builds the `Rule` from the options, for a metric of the confusion matrix.
    loss : callable, optional
        Builds the loss ``loss(score, label)`` from the options, for an expected loss.
    bounds : callable, optional
        Builds the range from scores and options, if it depends on them.
    by_prior : callable, optional
        Builds the `Curve` of the metric over the prior from scores and options. Metrics with a rule
        or a loss do not need it.

    Examples
    --------
    >>> from noneg.metrics import METRICS
    >>> METRICS["precision"].better, METRICS["precision"].has_threshold
    ('higher', True)
    """

    name: str
    title: str
    function: Number
    interval: Interval
    citation: str = CLAESEN
    family: Family = "performance"
    range: tuple[float, float] = (0.0, 1.0)
    better: Better = "higher"
    ideal: float = nan
    needs_prior: bool = True
    short: str = ""
    ranks: bool = False
    rule: Callable[..., Rule] | None = None
    loss: Callable[..., Loss] | None = None
    by_prior: Callable[..., Curve] | None = None
    bounds: Callable[..., tuple[float, float]] | None = None

    def merit(self, value: float) -> float:
        """Return a number that is higher for better values.

        Examples
        --------
        >>> from noneg.metrics import METRICS
        >>> METRICS["brier"].merit(0.2), METRICS["observed_expected"].merit(1.25)
        (-0.2, -0.25)
        """
        if self.better == "closer":
            return -abs(value - self.ideal)
        return value if self.better == "higher" else -value

    @property
    def label(self) -> str:
        """The short title."""
        return self.short or self.title

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the function accepts."""
        return tuple(name for name in signature(self.function).parameters if name != "scores")

    def check_options(self, options: Mapping[str, object]) -> None:
        """Raise an error for an option that the metric does not have."""
        for option in options:
            if option not in self.options:
                known = ", ".join(self.options) or "none"
                raise InputError(option, f"is not an option of {self.name!r}, which has {known}.")

    def check_prior(self, scores: PUScores) -> None:
        """Raise an error if the metric needs a prior and the scores have none."""
        if self.needs_prior and scores.prior is None:
            raise unknown_prior(repr(self.name))

    def estimate(self, scores: PUScores, *, level: float = 0.95, **options: Any) -> Estimate:  # noqa: ANN401
        """Return the metric with its interval; raise an error if it ignores selection."""
        self.check_prior(scores)
        found = self.interval(scores, level=level, **options)
        if found.identified is None:
            refuse_selection(scores, self.name)
        return found

    @property
    def has_threshold(self) -> bool:
        """Whether the metric has the option `threshold`."""
        return "threshold" in self.options

    def options_at(self, threshold: float) -> dict[str, float]:
        """Return the threshold as an option, or no option if the metric has no threshold."""
        return {"threshold": threshold} if self.has_threshold else {}

    @property
    def has_curve(self) -> bool:
        """Whether `curve` is available."""
        return any(build is not None for build in (self.rule, self.loss, self.by_prior))

    def curve(self, scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
        """Return the metric as an exact function of the prior."""
        from noneg.losses import loss_curve

        if self.by_prior is not None:
            return self.by_prior(scores, **options)
        if self.rule is not None:
            threshold = options.pop("threshold", 0.5)
            return self.rule(**options).curve(scores, threshold)
        if self.loss is not None:
            return loss_curve(scores, self.loss(**options))
        raise InputError("metric", "must be available as a function of the prior", value=self.name)


METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Add a metric; its name must be new.

    Examples
    --------
    >>> from noneg.metrics import METRICS
    >>> register(METRICS["ece"])
    Traceback (most recent call last):
    ...
    noneg.errors.InputError: 'name' must be new, got 'ece', which is already registered.
    """
    if metric.name in METRICS:
        raise InputError("name", f"must be new, got {metric.name!r}, which is already registered.")
    METRICS[metric.name] = metric
    return metric


def interval_of(function: Number, **entry: Any) -> Callable[[F], F]:  # noqa: ANN401
    """Register a metric under the name of its function, with the decorated interval.

    The interval keeps PU estimates in the range of the metric. In the population, the positive
    distribution times the prior is at most the marginal distribution. In a small sample this may
    fail, which moves estimates out of their range (see `Estimate.within`).
    """

    def added(interval: F) -> F:
        takes = signature(interval)

        @wraps(interval)
        def kept(scores: PUScores, *args: Any, **options: Any) -> Estimate:  # noqa: ANN401
            found: Estimate = interval(scores, *args, **options)
            if scores.prior_is_estimated:
                return found
            given = takes.bind(scores, *args, **options).arguments
            chosen = {key: x for key, x in given.items() if key in metric.options}
            ends = metric.range if metric.bounds is None else metric.bounds(scores, **chosen)
            return found.within(*ends)

        metric = register(Metric(name=function.__name__, function=function, interval=kept, **entry))
        return cast("F", kept)

    return added


def calibration_error(function: Number, **entry: Any) -> Callable[[F], F]:  # noqa: ANN401
    """Register a calibration error with the decorated interval; see `interval_of`."""
    return interval_of(function, family="calibration error", better="lower", **entry)


def find_metric(metric: str | Number, argument: str = "metric") -> Metric:
    """Return the entry of a metric given by name or function; errors name the argument."""
    wanted = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    for entry in METRICS.values():
        if wanted in (entry.name, entry.function):
            return entry
    rule = f"must be a registered metric ({', '.join(METRICS)})"
    remedy = did_you_mean(metric, (*METRICS, *ALIASES)).lstrip()
    raise InputError(argument, rule, value=metric, remedy=remedy)


def registered_rules(names: Iterable[str] | None = None) -> dict[str, Rule]:
    """Return the rules of confusion-matrix metrics by name, with their default options."""
    chosen = METRICS if names is None else names
    found = {name: METRICS[name].rule for name in chosen}
    return {name: build() for name, build in found.items() if build is not None}
