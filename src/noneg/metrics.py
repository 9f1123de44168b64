"""The registry of metrics, and `estimate`: any of them with its interval.

`evaluate`, the report and the property tests take their metrics from here, so a metric is added in
one place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from noneg import calibration as c
from noneg import performance as p

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.results import Estimate
    from noneg.scores import PUScores

    Number = Callable[..., float]
    Interval = Callable[..., Estimate]

Better = Literal["lower", "higher"]
Family = Literal["calibration error", "proper score", "performance"]


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
    family : {"calibration error", "proper score", "performance"}
    range : (float, float)
        Smallest and largest value in a population; estimates from few PU rows may leave it.
    better : {"lower", "higher"}
    needs_prior : bool
        Whether PU data without a prior leaves it undefined.
    """

    name: str
    title: str
    function: Number
    interval: Interval
    citation: str
    family: Family
    range: tuple[float, float]
    better: Better
    needs_prior: bool = True


PU_ECE = "Estimating Expected Calibration Error for Positive-Unlabeled Learning"
CLAESEN = "Claesen et al. (2015), Assessing binary classifiers using only PU data"


def _error(name: str, title: str, function: Number, interval: Interval, citation: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        function=function,
        interval=interval,
        citation=citation,
        family="calibration error",
        range=(0.0, 1.0),
        better="lower",
    )


def _rate(
    name: str,
    title: str,
    function: Number,
    interval: Interval,
    *,
    limits: tuple[float, float] = (0.0, 1.0),
    better: Better = "higher",
    needs_prior: bool = True,
    citation: str = CLAESEN,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        function=function,
        interval=interval,
        citation=citation,
        family="performance",
        range=limits,
        better=better,
        needs_prior=needs_prior,
    )


_CALIBRATION = (
    _error("ece", "Expected calibration error", c.ece, c.ece_interval, PU_ECE),
    _error(
        "debiased_ece",
        "Debiased calibration error",
        c.debiased_ece,
        c.debiased_ece_interval,
        "Bröcker (2012); Kumar et al. (2019), Verified uncertainty calibration",
    ),
    _error(
        "sweep_ece",
        "Monotonic-sweep calibration error",
        c.sweep_ece,
        c.sweep_ece_interval,
        "Roelofs et al. (2022), Mitigating bias in calibration error estimation",
    ),
    _error(
        "ks_error",
        "Kolmogorov-Smirnov calibration error",
        c.ks_error,
        c.ks_error_interval,
        "Gupta et al. (2021), Calibration of neural networks using splines",
    ),
    _error(
        "smooth_ece",
        "Smooth calibration error",
        c.smooth_ece,
        c.smooth_ece_interval,
        "Blasiok & Nakkiran (2024), Smooth ECE",
    ),
    _error(
        "logit_smoothed_ece",
        "Logit-smoothed calibration error",
        c.logit_smoothed_ece,
        c.logit_smoothed_ece_interval,
        "Chidambaram et al. (2024), How flawed is ECE?",
    ),
    _error(
        "kernel_ece",
        "Kernel calibration error",
        c.kernel_ece,
        c.kernel_ece_interval,
        "Zhang et al. (2020), Mix-n-Match",
    ),
    _error(
        "tce_bpm",
        "Calibration error of the binomial-process curve",
        c.tce_bpm,
        c.tce_bpm_interval,
        "Combining priors with experience: confidence calibration based on binomial process "
        "modeling",
    ),
)

_PROPER = (
    Metric(
        name="brier",
        title="Brier score",
        function=c.brier,
        interval=c.brier_interval,
        citation="Brier (1950); PU form by du Plessis et al. (2014)",
        family="proper score",
        range=(0.0, 1.0),
        better="lower",
    ),
    Metric(
        name="log_loss",
        title="Log loss",
        function=c.log_loss,
        interval=c.log_loss_interval,
        citation="Good (1952); PU form by du Plessis et al. (2014)",
        family="proper score",
        range=(0.0, math.inf),
        better="lower",
    ),
)

_PERFORMANCE = (
    _rate(
        "auroc",
        "Area under the ROC curve",
        p.auroc,
        p.auroc_interval,
        citation="DeLong et al. (1988); PU form by Charoenphakdee et al. (2019)",
    ),
    _rate(
        "partial_auc",
        "Partial area, FPR up to 0.1",
        p.partial_auc,
        p.partial_auc_interval,
        limits=(0.0, 0.1),
        citation="McClish (1989), Analyzing a portion of the ROC curve",
    ),
    _rate(
        "average_precision",
        "Average precision",
        p.average_precision,
        p.average_precision_interval,
    ),
    _rate("accuracy", "Accuracy at 0.5", p.accuracy, p.accuracy_interval),
    _rate(
        "balanced_accuracy",
        "Balanced accuracy at 0.5",
        p.balanced_accuracy,
        p.balanced_accuracy_interval,
    ),
    _rate("precision", "Precision at 0.5", p.precision, p.precision_interval),
    _rate("recall", "Recall at 0.5", p.recall, p.recall_interval, needs_prior=False),
    _rate("specificity", "Specificity at 0.5", p.specificity, p.specificity_interval),
    _rate(
        "false_positive_rate",
        "False positive rate at 0.5",
        p.false_positive_rate,
        p.false_positive_rate_interval,
        better="lower",
    ),
    _rate("npv", "Negative predictive value at 0.5", p.npv, p.npv_interval),
    _rate("f_beta", "F1 at 0.5", p.f_beta, p.f_beta_interval),
    _rate(
        "mcc",
        "Matthews correlation at 0.5",
        p.mcc,
        p.mcc_interval,
        limits=(-1.0, 1.0),
        citation="Matthews (1975)",
    ),
    _rate(
        "cohen_kappa",
        "Cohen's kappa at 0.5",
        p.cohen_kappa,
        p.cohen_kappa_interval,
        limits=(-1.0, 1.0),
        citation="Cohen (1960)",
    ),
    _rate(
        "precision_at",
        "Precision in the top 10 %",
        p.precision_at,
        p.precision_at_interval,
    ),
    _rate(
        "lift_at",
        "Lift in the top 10 %",
        p.lift_at,
        p.lift_at_interval,
        limits=(0.0, math.inf),
        needs_prior=False,
    ),
    _rate(
        "risk",
        "Zero-one risk at 0.5",
        p.risk,
        p.risk_interval,
        better="lower",
        citation="du Plessis et al. (2015); Kiryo et al. (2017)",
    ),
    _rate(
        "proxy_accuracy",
        "Proxy accuracy at 0.5",
        p.proxy_accuracy,
        p.proxy_accuracy_interval,
        limits=(0.0, 2.0),
    ),
    _rate(
        "proxy_auc",
        "Proxy AUC, positives against unlabeled",
        p.proxy_auc,
        p.proxy_auc_interval,
        needs_prior=False,
    ),
)

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*_CALIBRATION, *_PROPER, *_PERFORMANCE)
}


# The calibration error that lies closest to the truth over many worlds: experiments/metric_study.
RECOMMENDED = "debiased_ece"


def find_metric(metric: str | Callable[..., float]) -> Metric:
    """Return the entry of a metric given by name or function."""
    for entry in METRICS.values():
        if metric in (entry.name, entry.function):
            return entry
    known = ", ".join(METRICS)
    raise ValueError(f"'metric' must be a registered metric ({known}), got {metric!r}.")


def option_names(function: Callable[..., float]) -> list[str]:
    """Return the options of a metric's function."""
    return [option for option in signature(function).parameters if option != "scores"]


def check_options(name: str, function: Callable[..., float], options: dict[str, Any]) -> None:
    """Refuse an option that a metric does not have."""
    known = option_names(function)
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"'{option}' is no option of {name!r}, which has {listed}.")


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
    return find_metric(metric).interval(scores, level=level, **options)
