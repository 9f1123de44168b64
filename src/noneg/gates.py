"""Gates: check whether a metric is good enough, or not significantly worse than before.

A gate compares the *interval* of a metric with a limit, not just its value:

- **failed** if the whole interval is on the wrong side: at the confidence level of the interval,
  the metric is not good enough;
- **passed** if the whole interval is on the right side;
- **cannot tell** if the limit is inside the interval. These rows do not decide the question; if you
  require proof before deployment, treat this as a failure (`failing` with ``strict=True``).

A comparison with a baseline has only two outcomes: a metric fails if it is significantly worse, and
passes otherwise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import hypot, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from noneg.errors import InputError
from noneg.intervals import z_score
from noneg.metrics import METRICS
from noneg.registry import find_metric
from noneg.results import Estimate, plain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noneg.scores import PUScores

Side = Literal["above", "below"]
State = Literal["passed", "failed", "cannot tell"]

# Metrics that must not be worse than the baseline.
KEPT = ("debiased_ece", "log_loss", "brier", "auroc", "average_precision")
SCHEMA = "noneg.evaluation/1"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A metric and its limit.

    Attributes
    ----------
    metric : str
    limit : float
    fails : {"above", "below"}
        The side of the limit on which the gate fails.
    threshold : float or None
        Threshold for metrics that need one; None for the default.

    Examples
    --------
    >>> Gate.parse("precision@0.3=0.8", "below")
    Gate(metric='precision', limit=0.8, fails='below', threshold=0.3)
    """

    metric: str
    limit: float
    fails: Side
    threshold: float | None = None

    @classmethod
    def parse(cls, text: str, fails: Side) -> Gate:
        """Return the gate given by ``METRIC=LIMIT`` or ``METRIC@THRESHOLD=LIMIT``."""
        name, equals, limit = text.partition("=")
        name, at, threshold = name.strip().partition("@")
        argument = f"fail_{fails}"
        try:
            numbers = [float(x) for x, there in ((limit, equals), (threshold, at)) if there]
        except ValueError:
            numbers = []
        if not equals or len(numbers) < 1 + bool(at) or not all(map(isfinite, numbers)):
            rule = "must be METRIC=LIMIT or METRIC@THRESHOLD=LIMIT, such as debiased_ece=0.05"
            raise InputError(argument, rule, value=text)
        metric = find_metric(name, argument)
        if at and not metric.has_threshold:
            rule = f"must not include a threshold: {name!r} does not use one"
            raise InputError(argument, rule, value=text)
        where = numbers[1] if at else None
        return cls(metric=metric.name, limit=numbers[0], fails=fails, threshold=where)

    @property
    def title(self) -> str:
        """The title of the metric, including the threshold."""
        if self.threshold is None:
            return METRICS[self.metric].title
        return f"{METRICS[self.metric].title.split(' at ')[0]} at {self.threshold:g}"

    def judge(self, found: Estimate | None) -> Outcome:
        """Return the outcome for an estimate; without an estimate, the gate cannot tell."""
        words = f"must be {'at most' if self.fails == 'above' else 'at least'} {self.limit:g}"
        state: State = "cannot tell"
        if found is not None:
            wrong, right = found.low > self.limit, found.high <= self.limit
            if self.fails == "below":
                wrong, right = found.high < self.limit, found.low >= self.limit
            state = "failed" if wrong else "passed" if right else state
        return Outcome(title=self.title, rule=words, state=state, found=found)

    def estimate(self, scores: PUScores, level: float) -> Estimate | None:
        """Return the metric at the gate's threshold; None if it cannot be computed."""
        options = {} if self.threshold is None else {"threshold": self.threshold}
        try:
            return METRICS[self.metric].estimate(scores, level=level, **options)
        except ValueError:
            # The outcome is then "cannot tell", which fails a strict gate.
            return None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a gate.

    Attributes
    ----------
    title, rule : str
        The metric and its requirement, in words.
    state : {"passed", "failed", "cannot tell"}
    found : Estimate or None
        The metric, or its difference from the baseline; None if it cannot be computed.
    words : str
        Words that introduce `found`.
    """

    title: str
    rule: str
    state: State
    found: Estimate | None
    words: str = "it is"

    def __str__(self) -> str:
        found = self.found or "not available"
        return f"{self.state}: {self.title} {self.rule}; {self.words} {found}"

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text."""
        return {"metric": self.title, **plain_fields(self, "rule", "state", "words", "found")}


def failing(outcomes: Sequence[Outcome], *, strict: bool = False) -> bool:
    """Return whether a gate failed; with `strict`, "cannot tell" also counts as a failure.

    Examples
    --------
    >>> found = Estimate(value=0.04, low=0.02, high=0.06, level=0.95, method="")
    >>> outcome = Gate.parse("ece=0.05", "above").judge(found)
    >>> outcome.state, failing([outcome]), failing([outcome], strict=True)
    ('cannot tell', False, True)
    """
    states = {"failed", "cannot tell"} if strict else {"failed"}
    return any(outcome.state in states for outcome in outcomes)


def compare_with(
    baseline: str | Path, metrics: Mapping[str, Estimate | None], *, level: float = 0.95
) -> list[Outcome]:
    r"""Compare metrics with those saved by ``noneg evaluate --json`` on other rows.

    The difference of two independent estimates has the interval :math:`\hat x - \hat y \pm
    \sqrt{\delta_x^2 + \delta_y^2}`, where each end uses the relevant ends of the two intervals (Zou
    & Donner 2008). One minus the level is divided among all compared metrics of `KEPT`. If both
    estimates use the same rows, the interval is too wide; use `noneg.compare` instead.

    Parameters
    ----------
    baseline : path
    metrics : mapping of str to Estimate
    level : float
        One minus the probability of a failure by chance.

    Examples
    --------
    >>> import json, tempfile
    >>> found = Estimate(value=0.8, low=0.78, high=0.82, level=0.95, method="")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     base = Path(folder) / "base.json"
    ...     old = {"schema": SCHEMA, "metrics": {"auroc": found.to_dict()}}
    ...     _ = base.write_text(json.dumps(old))
    ...     [outcome] = compare_with(base, {"auroc": found})
    >>> outcome.state
    'passed'
    """
    known = _stored(baseline).get("metrics", {})
    stored = {name: one for name, one in known.items() if one and _is_whole(one)}
    both = {name: one for name in KEPT if name in stored and (one := metrics.get(name)) is not None}
    if not both:
        rule = f"must contain at least one of the metrics {', '.join(KEPT)}"
        also = "that is also available for these rows"
        raise InputError("baseline", f"{rule} {also}", value=str(baseline))
    each = 1.0 - (1.0 - level) / len(both)
    return [_no_worse(name, new, stored[name], each) for name, new in both.items()]


def _no_worse(name: str, new: Estimate, old: Mapping[str, float], level: float) -> Outcome:
    scale = z_score(level) / z_score(new.level), z_score(level) / z_score(old["level"])
    value = new.value - old["value"]
    down = hypot((new.value - new.low) * scale[0], (old["high"] - old["value"]) * scale[1])
    up = hypot((new.high - new.value) * scale[0], (old["value"] - old["low"]) * scale[1])
    method = "difference of independent estimates"
    found = Estimate(value=value, low=value - down, high=value + up, level=level, method=method)
    lower = METRICS[name].better == "lower"
    worse = found.low > 0.0 if lower else found.high < 0.0
    rule = f"must not be {'above' if lower else 'below'} the baseline's {old['value']:.4f}"
    state: State = "failed" if worse else "passed"
    words = "the difference is"
    return Outcome(title=METRICS[name].title, rule=rule, state=state, found=found, words=words)


def other_prior(baseline: str | Path, prior: Estimate) -> str:
    """Return a note if the baseline assumes another prior than these rows; otherwise nothing.

    Parameters
    ----------
    baseline : path
        As in `compare_with`.
    prior : Estimate
        The prior of the new rows, as in ``Evaluation.prior``.

    Examples
    --------
    >>> import json, tempfile
    >>> def known(x):
    ...     return Estimate(value=x, low=x, high=x, level=0.95, method="given")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     base = Path(folder) / "base.json"
    ...     _ = base.write_text(json.dumps({"schema": SCHEMA, "prior": known(0.2).to_dict()}))
    ...     print(other_prior(base, known(0.3)))
    The baseline assumes a prior of 0.2, these rows 0.3; this alone can change a metric
    """
    old = _stored(baseline).get("prior")
    if not isinstance(old, dict) or not _is_whole(old):
        return ""
    if old["low"] <= prior.high and prior.low <= old["high"]:
        return ""
    words = f"The baseline assumes a prior of {old['value']:.4g}, these rows {prior.value:.4g}"
    return f"{words}; this alone can change a metric"


def _stored(path: str | Path) -> dict[str, Any]:
    """Return a stored evaluation."""
    rule = "must be a file written by noneg evaluate --json"
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError("baseline", rule, value=str(path)) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise InputError("baseline", rule, value=str(path))
    return content


def _is_whole(one: Mapping[str, object]) -> bool:
    """Return whether a stored estimate has all its numbers."""
    return all(isinstance(one.get(end), int | float) for end in ("value", "low", "high", "level"))
