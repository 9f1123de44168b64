"""The registry: a metric is one entry, made beside its function.

`evaluate`, the report, comparisons, orderings by prior, scikit-learn scorers, torch metrics and the
property tests read everything from here. `noneg.metrics` has all entries loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from noneg.errors import InputError
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
Better = Literal["lower", "higher"]
Family = Literal["calibration error", "proper score", "performance"]

PU_ECE = "Estimating Expected Calibration Error for Positive-Unlabeled Learning"
CLAESEN = "Claesen et al. (2015), Assessing binary classifiers using only PU data"

# The calibration error that lies closest to the truth over many worlds: experiments/metric_study.
RECOMMENDED = "debiased_ece"
ALIASES = {"f1": "f_beta"}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Everything the library knows about a metric.

    Attributes
    ----------
    name, title : str
        Name in the registry and in JSON; words for a table.
    function : callable
        ``function(scores, **options) -> float``.
    interval : callable
        ``interval(scores, level=..., **options) -> Estimate``.
    citation : str
    family : {"calibration error", "proper score", "performance"}
    range : (float, float)
        Smallest and largest value in a population. The function may leave it on few PU rows; the
        interval does not (`in_range`).
    better : {"lower", "higher"}
    needs_prior : bool
        Whether PU data without a prior leaves it undefined.
    short : str
        Words for the table of a comparison; the title by default.
    ranks : bool
        Whether only the order of the scores matters, so that margins do as well as probabilities.
    rule : callable, optional
        Builds the `Rule` of a metric of the confusion matrix from its options.
    loss : callable, optional
        Builds the loss ``loss(score, label)`` of an expected loss from its options.
    bounds : callable, optional
        Builds the range from the options, where it depends on them.
    by_prior : callable, optional
        Builds the `Curve` of the metric over the prior from scores and options. Metrics with a
        rule or a loss have one without it.

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
    needs_prior: bool = True
    short: str = ""
    ranks: bool = False
    rule: Callable[..., Rule] | None = None
    loss: Callable[..., Loss] | None = None
    by_prior: Callable[..., Curve] | None = None
    bounds: Callable[..., tuple[float, float]] | None = None

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1."""
        return 1.0 if self.better == "higher" else -1.0

    @property
    def label(self) -> str:
        """The short title."""
        return self.short or self.title

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the function takes."""
        return tuple(name for name in signature(self.function).parameters if name != "scores")

    def check_options(self, options: Mapping[str, object]) -> None:
        """Refuse an option that the metric does not have."""
        for option in options:
            if option not in self.options:
                known = ", ".join(self.options) or "none"
                raise InputError(option, f"is not an option of {self.name!r}, which has {known}.")

    def check_prior(self, scores: PUScores) -> None:
        """Refuse scores without the prior that the metric needs."""
        if self.needs_prior and scores.prior is None:
            msg = f"must be known for {self.name!r}, got None. Pass the share of positives,"
            raise InputError("prior", msg, remedy="or estimate it with noneg.prior.estimate_prior.")

    def estimate(self, scores: PUScores, *, level: float = 0.95, **options: Any) -> Estimate:  # noqa: ANN401
        """Return the metric with its interval; refuse selection if the interval ignores it."""
        self.check_prior(scores)
        found = self.interval(scores, level=level, **options)
        if found.identified is None:
            refuse_selection(scores, self.name)
        return found

    @property
    def has_threshold(self) -> bool:
        """Whether it takes the option `threshold`."""
        return "threshold" in self.options

    @property
    def has_curve(self) -> bool:
        """Whether `curve` is available."""
        return any(build is not None for build in (self.rule, self.loss, self.by_prior))

    def curve(self, scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
        """Return the metric as a function of the prior, exactly."""
        from noneg.losses import loss_curve

        if self.by_prior is not None:
            return self.by_prior(scores, **options)
        if self.rule is not None:
            threshold = options.pop("threshold", 0.5)
            return self.rule(**options).curve(scores, threshold)
        if self.loss is not None:
            return loss_curve(scores, self.loss(**options))
        raise InputError("metric", "must have a curve over the prior", value=self.name)


METRICS: dict[str, Metric] = {}


def in_range(interval: F) -> F:
    """Keep the estimates of ``NAME_interval``, from PU rows, in the range of the metric NAME.

    The positive law, times the prior, lies below the marginal law; that of few rows need not, and
    takes estimates out of their range. Clipping an interval that holds loses nothing.
    """
    name, takes = interval.__name__.removesuffix("_interval"), signature(interval)

    @wraps(interval)
    def kept(scores: PUScores, *args: Any, **options: Any) -> Estimate:  # noqa: ANN401
        found: Estimate = interval(scores, *args, **options)
        if scores.prior_is_estimated:
            return found
        entry, given = METRICS[name], takes.bind(scores, *args, **options).arguments
        chosen = {key: x for key, x in given.items() if key in entry.options}
        return found.within(*(entry.range if entry.bounds is None else entry.bounds(**chosen)))

    return cast("F", kept)


def register(metric: Metric) -> Metric:
    """Add a metric; its name must be new.

    Examples
    --------
    >>> from noneg.metrics import METRICS
    >>> register(METRICS["ece"])
    Traceback (most recent call last):
    ...
    noneg.errors.InputError: 'name' must be new, got 'ece', which is registered already.
    """
    if metric.name in METRICS:
        raise InputError("name", f"must be new, got {metric.name!r}, which is registered already.")
    METRICS[metric.name] = metric
    return metric


def calibration_error(function: Number, interval: Interval, **entry: Any) -> None:  # noqa: ANN401
    """Register a calibration error under the name of its function."""
    name, family = function.__name__, "calibration error"
    entry |= {"name": name, "function": function, "interval": interval, "family": family}
    register(Metric(better="lower", **entry))


def find_metric(metric: str | Number, argument: str = "metric") -> Metric:
    """Return the entry of a metric given by name or function; errors name the argument."""
    wanted = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    for entry in METRICS.values():
        if wanted in (entry.name, entry.function):
            return entry
    known = ", ".join(METRICS)
    raise InputError(argument, f"must be a registered metric ({known})", value=metric)


def registered_rules(names: Iterable[str] | None = None) -> dict[str, Rule]:
    """Return the rules of metrics of the confusion matrix by name, with their usual options."""
    chosen = METRICS if names is None else names
    found = {name: METRICS[name].rule for name in chosen}
    return {name: build() for name, build in found.items() if build is not None}
