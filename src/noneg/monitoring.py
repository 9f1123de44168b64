r"""Scores over time: how a model performs in each period, and what moved since the reference.

Each look compares the new rows with the reference rows, in bins, with three tests:

- *prior*: did the marginal distribution move toward the positives, or away from them
  (`noneg.prior.shift`)?
- *shape*: is there a change that a different prior does not explain (the misfit J)?
- *labeling*: do new labeled positives score differently from old ones?

Each test is applied to the last 1, 2, 4, 8, ... periods pooled, so that small, slow moves add up.

**Valid at every look.** Look number t spends the share :math:`6/(\pi^2 t^2)` of one minus the
level; no matter how many looks there are, they never spend more than one minus the level in total.
All looks share the reference rows, so their statistics depend on each other in a way that
confidence sequences for independent rows do not allow for; the union bound holds under any
dependence. The bands of a metric are its intervals at the same levels.

**Naming.** An alarm is a p-value below the level of its look, divided by the number of tests
(three) and by the number of windows. After an alarm, a component counts as moved if its p-value,
times the number of windows, is at most 0.05. Two more decisions compare likelihoods:

- The prior alone is named if it explains the new rows clearly better than negatives that moved
  toward the positives or away from them (odds of 4 to 1); otherwise the *shape* moved.
- If the shape moved, the *scores* are named, for positives and negatives alike, if new labeled
  positives moved along with all rows rather than not at all (odds of 8 to 1), or if the labeling
  has an alarm of its own.

Whenever the shape moved, a change in the prior cannot be separated from the shift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from noneg.checks import check_level
from noneg.errors import Argument, InputError
from noneg.intervals import exact_limits, z_score
from noneg.metrics import METRICS
from noneg.page_state import prior_estimate
from noneg.prior.shift import (
    LEAST_ROWS,
    Counts,
    compare_positives,
    fit_shift,
    odds_of_everyone,
    odds_of_negatives,
    shared_edges,
)
from noneg.recalibration.maps import PriorShift
from noneg.registry import find_metric
from noneg.results import Estimate, Record, Table, aligned, end_columns, plain_fields
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.arrays import Flags, Floats
    from noneg.prior.shift import Shift
    from noneg.sketch import Sketch

    Periods = Mapping[str, PUScores | Sketch] | Iterable[tuple[str, PUScores | Sketch]]

TESTS = ("prior", "shape", "labeling")
# Metrics tracked over time by default.
WATCHED = ("debiased_ece", "auroc", "precision")
# Level at which a component counts as moved after an alarm.
NAMED = 0.05
# Log odds that it takes to blame the prior rather than negatives, and all scores rather than those
# of negatives.
PRIOR_ODDS, SCORES_ODDS = np.log(4.0), np.log(8.0)
# Smallest prior at which a period is measured.
LEAST_PRIOR = 1e-6


def spent(look: int | Floats, level: float) -> Any:  # noqa: ANN401
    """Return the part of one minus the level that a look may spend; looks are numbered from 1.

    Examples
    --------
    >>> sum(spent(look, 0.95) for look in range(1, 100_000)) < 0.05
    True
    """
    return (1.0 - level) * 6.0 / (np.pi * look) ** 2


@dataclass(frozen=True, kw_only=True)
class LabelShift(Record):
    """The prior of new rows if only the prior changed, and a test of that assumption.

    Attributes
    ----------
    prior : Estimate
        Prior of the new rows; its interval covers every prior that the reference allows.
    moved : float
        How far the marginal distribution moved: 1 if all the way to the positives, negative if away
        from them.
    p_value : float
        P-value for no change in the prior.
    misfit : float
        J, the part of the change that a different prior does not explain.
    freedom : int
        Degrees of freedom of J.
    shape_p : float
        P-value of J; small if more than the prior changed. It is nan with fewer than three bins.
    """

    prior: Estimate
    moved: float
    p_value: float
    misfit: float
    freedom: int
    shape_p: float


def label_shift(
    reference: PUScores | Sketch, new: PUScores | Sketch, *, level: float = 0.95
) -> LabelShift:
    """Estimate the prior of new rows from a period with a known prior.

    Parameters
    ----------
    reference : PUScores or Sketch
        Labeled positives and marginal rows from a period with a known prior.
    new : PUScores or Sketch
        Rows from another period; only the marginal scores matter. For labeled rows, the prior is
        the share of positives.
    level : float
        Level of the interval.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> old, now = LogisticGaussian.calibrated(0.2), LogisticGaussian.calibrated(0.2)
    >>> reference = old.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> found = label_shift(reference, now.draw(100, 5000, setting="two-sample", seed=1))
    >>> found.prior.low < 0.2 < found.prior.high, found.shape_p > 0.05
    (True, True)
    """
    old = _scores(reference, "reference")
    rows = _scores(new, "new", old)
    edges = _edges(old)
    return _told(old, Counts.of(old, edges), Counts.of(rows, edges), check_level(level))


def _edges(reference: PUScores) -> Floats:
    """Return the bins in which periods are compared."""
    edges = shared_edges(reference)
    if edges.size < 3:
        rule = f"must have distinct scores and at least {2 * LEAST_ROWS:g} rows, for two bins"
        raise InputError("reference", rule, value=reference)
    return edges


def _told(reference: PUScores, old: Counts, new: Counts, level: float) -> LabelShift:
    fit = fit_shift(old, new)
    p_values = _p_values(reference, old, new, fit)
    return LabelShift(
        prior=_prior(reference, new, fit, level),
        moved=float(fit.moved),
        p_value=float(p_values[0]),
        misfit=float(fit.misfit),
        freedom=fit.freedom,
        shape_p=float(fit.shape_p),
    )


def _prior(reference: PUScores, new: Counts, fit: Shift, level: float) -> Estimate:
    """Return the prior of new rows, from their labels or from the shift since the reference."""
    if reference.prior_is_estimated:
        value, method = float(_labeled_share(new)), "share of positives"
        (low,), (high,) = exact_limits(np.array([value]), np.atleast_1d(new.sizes[1]), level)
    else:
        method = "label shift over bins, if only the prior changed"
        reach, d = z_score(level) * float(fit.error), float(fit.moved)
        priors = (reference.known_prior, *reference.prior_set)
        value, low, high = (
            x + (1.0 - x) * y for x, y in zip(priors, (d, d - reach, d + reach), strict=True)
        )
    return Estimate(value=value, low=low, high=high, level=level, method=method).within(0.0, 1.0)


def _labeled_share(counts: Counts) -> Floats:
    share: Floats = counts.positive.sum(axis=-1) / counts.marginal.sum(axis=-1)
    return share


def _p_values(reference: PUScores, old: Counts, new: Counts, fit: Shift) -> Floats:
    """Return the p-values of `TESTS` along the last axis; nan where there is nothing to compare."""
    prior = fit.moved_p
    if reference.prior_is_estimated:
        before, after, n, m = _labeled_share(old), _labeled_share(new), old.sizes[1], new.sizes[1]
        both = (n * before + m * after) / (n + m)
        gap = np.abs(after - before) / np.sqrt(both * (1.0 - both) * (1.0 / n + 1.0 / m))
        prior = 2.0 * ndtr(-gap)
    return np.stack([prior, fit.shape_p, compare_positives(old, new)], axis=-1)


def window_tests(reference: PUScores, old: Counts, periods: Counts) -> tuple[Floats, Floats]:
    """Return the p-values of every look and the windows they come from, both of shape (..., T, 3).

    Each p-value is the smallest over windows of the last 1, 2, 4, ... periods, times the number of
    windows. Leading axes are repetitions; the periods are on the axis before the bins.
    """
    looks = periods.marginal.shape[-2]
    windows = 2 ** np.arange(int(np.log2(looks)) + 1)
    pooled = (_last(periods, int(size)) for size in windows)
    p = np.stack([_p_values(reference, old, new, fit_shift(old, new)) for new in pooled])
    there = windows[:, None] <= np.arange(1, looks + 1)
    p = np.where(there[..., None] & np.isfinite(p.swapaxes(0, -3)), p.swapaxes(0, -3), np.inf)
    best = np.argmin(p, axis=-3)
    smallest = np.min(p, axis=-3) * there.sum(axis=0)[:, None]
    return np.where(np.isfinite(smallest), np.minimum(smallest, 1.0), np.nan), windows[best]


def _last(periods: Counts, size: int) -> Counts:
    """Return the pooled counts of the last `size` periods at every look, or of all so far."""

    def total(part: Floats) -> Floats:
        sums = np.cumsum(part, axis=-2)
        sums[..., size:, :] -= sums[..., :-size, :].copy()
        return sums

    return periods.mapped(total)


def alarms(p_values: Floats, level: float) -> Flags:
    """Return which p-values from `window_tests` are alarms."""
    looks = np.arange(1.0, p_values.shape[-2] + 1.0)
    limits = spent(looks, level) / len(TESTS)
    out: Flags = p_values <= limits[:, None]
    return out


def name_moved(
    p_values: Sequence[float],
    alarmed: Sequence[bool],
    *,
    negatives: float = -np.inf,
    everyone: float = -np.inf,
) -> tuple[str, ...]:
    """Return the components that moved at a look; none without an alarm.

    Parameters
    ----------
    p_values, alarmed : sequences of three
        P-values of `TESTS`, and whether they are alarms.
    negatives, everyone : float
        Log odds that negatives moved rather than the prior, and that positives moved along with all
        rows rather than not at all.

    Examples
    --------
    >>> name_moved([1e-9, 0.4, 0.3], [True, False, False])
    ('prior',)
    >>> name_moved([0.5, 1e-9, 0.01], [False, True, False], everyone=3.0)
    ('scores',)
    """
    if not any(alarmed):
        return ()
    prior, shape, labeling = (p <= NAMED for p in p_values)
    if shape or (alarmed[0] and negatives > -PRIOR_ODDS):
        return ("scores",) if alarmed[2] or everyone >= SCORES_ODDS else ("shape",)
    return tuple(name for name, moved in (("prior", prior), ("labeling", labeling)) if moved)


def name_look(
    reference: PUScores,
    old: Counts,
    periods: Counts,
    tests: tuple[Floats, Floats, Flags],
    look: int,
) -> tuple[str, ...]:
    """Return the components that moved at a look, numbered from 0.

    `tests` contains p-values, windows and alarms, each of shape (T, 3).
    """
    p_values, windows, alarmed = (part[look] for part in tests)
    if not alarmed.any():
        return ()
    by_prior, by_shape = (
        _last(periods, int(size)).mapped(lambda part: part[look]) for size in windows[:2]
    )
    negatives = -np.inf  # labels tell the prior themselves
    if not reference.prior_is_estimated:
        negatives = odds_of_negatives(old, by_prior, reference.known_prior)
    everyone = odds_of_everyone(old, by_shape)
    return name_moved(p_values, alarmed, negatives=negatives, everyone=everyone)


@dataclass(frozen=True, kw_only=True)
class Look(Record):
    """Results for one period.

    Attributes
    ----------
    name : str
    n_positive, n_marginal : float
        Number of labeled positives, and number of marginal rows.
    prior : Estimate
        Prior implied by the shift from the reference; for labeled rows, the share of positives.
    metrics : dict of str to Estimate
        Estimates for every prior in the interval of `prior`; jointly with that interval, they hold
        at the level of the look.
    left_out : dict of str to str
        Metrics that cannot be computed from the rows of this period, and the reasons.
    p_values : dict of str to float
        P-values of `TESTS`, times the number of windows; empty for the reference.
    windows : dict of str to int
        Number of pooled periods behind each p-value.
    alarms : tuple of str
        Tests whose p-value is below the level of this look.
    moved : tuple of str
        Any of "prior", "shape", "labeling" and "scores"; empty without an alarm.
    """

    name: str
    n_positive: float
    n_marginal: float
    prior: Estimate
    metrics: dict[str, Estimate]
    left_out: dict[str, str] = field(default_factory=dict)
    p_values: dict[str, float] = field(default_factory=dict)
    windows: dict[str, int] = field(default_factory=dict)
    alarms: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    def found(self, name: str) -> Estimate | None:
        """Return the prior or a metric by name; None if it could not be computed."""
        return self.prior if name == "prior" else self.metrics.get(name)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Monitoring(Table):
    """The results of `monitor`.

    Attributes
    ----------
    reference : Look
        The period that others are compared with; its intervals have the nominal level.
    looks : tuple of Look
        One look per later period, in order.
    level : float
        One minus the probability of any false alarm, and the probability that a band holds at all
        looks.
    setting : str
    threshold : float
        Threshold for metrics that need one.
    now : LabelShift or None
        The label shift at the last look, over the periods behind its alarm about the prior; None
        unless only the prior moved.
    calibrator : PriorShift or None
        Corrects scores that were calibrated in the reference period; None unless only the prior
        moved.
    """

    reference: Look
    looks: tuple[Look, ...]
    level: float
    setting: str
    threshold: float
    now: LabelShift | None = None
    calibrator: PriorShift | None = None

    @property
    def alarmed(self) -> tuple[Look, ...]:
        """The looks with an alarm."""
        return tuple(look for look in self.looks if look.alarms)

    @property
    def moved(self) -> tuple[str, ...]:
        """The components that moved, according to the last look with an alarm; empty if none."""
        return self.alarmed[-1].moved if self.alarmed else ()

    @property
    def since(self) -> str | None:
        """Name of the first period with an alarm, if any."""
        return self.alarmed[0].name if self.alarmed else None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics available in at least one period."""
        found = (name for look in (self.reference, *self.looks) for name in look.metrics)
        return tuple(dict.fromkeys(found))

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        facts = ("moved", "since", "level", "setting", "threshold")
        return plain_fields(self, *facts, "reference", "looks", "now")

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return one row per period, the reference first."""
        every = (self.reference, *self.looks)
        columns = {
            "period": np.array([look.name for look in every]),
            "n_positive": np.array([look.n_positive for look in every]),
            "n_marginal": np.array([look.n_marginal for look in every]),
        }
        for name in ("prior", *self.metrics):
            columns |= end_columns((look.found(name) for look in every), name)
        for name in TESTS:
            columns[f"p_{name}"] = np.array([look.p_values.get(name, np.nan) for look in every])
        return columns | {"moved": np.array([", ".join(look.moved) for look in every])}

    def __repr__(self) -> str:
        titles = (METRICS[name].title for name in self.metrics)
        every = (self.reference, *self.looks)
        return aligned([("period", "prior", *titles, "moved"), *map(self._words, every)])

    def _words(self, look: Look) -> tuple[str, ...]:
        found = (str(look.metrics.get(name, "")) for name in self.metrics)
        return look.name, str(look.prior), *found, ", ".join(look.moved)

    def _repr_html_(self) -> str:
        """Return the table that notebooks display."""
        # Drawing is a higher layer than computing, so it is imported only when needed.
        shown: str = import_module("noneg.report.monitoring").monitoring_to_notebook(self)
        return shown


def monitor(
    periods: Periods,
    reference: PUScores | Sketch | None = None,
    *,
    metrics: Sequence[str] = WATCHED,
    threshold: float = 0.5,
    level: float = 0.95,
) -> Monitoring:
    """Measure every period and report what moved since the reference.

    Parameters
    ----------
    periods : mapping of str to PUScores or Sketch, or iterable of such pairs
        In chronological order; each is dropped before the next one is read.
    reference : PUScores or Sketch, optional
        The baseline for the comparison; the first period by default. Its prior must be known; the
        priors of other periods are ignored.
    metrics : sequence of str
        Metrics to track in addition to the prior.
    threshold : float
        Threshold for metrics that need one.
    level : float
        One minus the probability of a false alarm at any look, and the probability that a band
        holds at all looks.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world, other = LogisticGaussian.calibrated(0.2), LogisticGaussian.calibrated(0.4)
    >>> draw = {"setting": "two-sample"}
    >>> weeks = {f"week {k}": world.draw(200, 4000, seed=k, **draw) for k in range(3)}
    >>> found = monitor(weeks, world.draw(1000, 10_000, seed=9, **draw))
    >>> found.moved
    ()
    """
    level, watched = check_level(level), [find_metric(name, "metrics") for name in metrics]
    stream = iter(periods.items() if isinstance(periods, Mapping) else periods)
    name, first = next(stream, ("", None)) if reference is None else ("reference", reference)
    if first is None:
        raise InputError("periods", "must not be empty")
    start = _scores(first, "reference")
    edges = _edges(start)
    old, counted, looks = Counts.of(start, edges), [], []
    for number, (title, period) in enumerate(stream, 1):
        rows = _scores(period, "periods", start)
        counts, part = Counts.of(rows, edges), spent(number, level) / 2.0
        prior = _told(start, old, counts, 1.0 - part).prior
        counted.append(counts)
        looks.append(_look(title, rows, prior, watched, threshold, 1.0 - part))
    if not looks:
        rule = "must contain at least one period besides the reference"
        remedy = ("Add a second period, or pass the first as ", Argument("reference"), ".")
        raise InputError("periods", rule, remedy=remedy)
    labeled = start.prior_is_estimated
    given = _told(start, old, old, level).prior if labeled else prior_estimate(start, level)
    base = _look(name, start, given, watched, threshold, level)
    return _judged(start, old, counted, base, looks, level, threshold)


def _scores(
    period: PUScores | Sketch, argument: str, reference: PUScores | None = None
) -> PUScores:
    """Return the rows of the reference, which need a prior, or of a period to compare with it."""
    scores = period if isinstance(period, PUScores) else period.scores()
    if reference is None and scores.prior is None:
        rule = "must have a prior: the share of positives in that period"
        raise InputError(argument, rule, remedy="Pass prior=, or estimate it first.")
    if reference is not None and scores.setting != reference.setting:
        rule = f"must have the same setting as the reference, {reference.setting!r}"
        raise InputError(argument, rule, value=scores.setting)
    return scores


def _look(
    name: str,
    scores: PUScores,
    prior: Estimate,
    metrics: Sequence[Any],
    threshold: float,
    level: float,
) -> Look:
    """Measure a period at every prior in its interval."""
    found: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    settled = scores if scores.prior_is_estimated else _with_prior(scores, prior)
    for metric in metrics:
        try:
            found[metric.name] = metric.estimate(
                settled, level=level, **metric.options_at(threshold)
            )
        except ValueError as error:
            left_out[metric.name] = str(error)
    return Look(
        name=name,
        n_positive=scores.n_positive,
        n_marginal=scores.n_marginal,
        prior=prior,
        metrics=found,
        left_out=left_out,
    )


def _with_prior(scores: PUScores, prior: Estimate) -> PUScores:
    """Return scores with the priors of an interval that the labeled share allows."""
    least = max(scores.least_prior, LEAST_PRIOR)
    ends = np.clip([prior.value, prior.low, prior.high], least, 1.0 - LEAST_PRIOR)
    value, low, high = map(float, ends)
    return scores.with_prior(value, (low, high) if low < high else None)


def _judged(
    start: PUScores,
    old: Counts,
    counted: list[Counts],
    base: Look,
    looks: list[Look],
    level: float,
    threshold: float,
) -> Monitoring:
    """Return all looks with what moved, and a calibrator if only the prior moved."""
    periods = Counts.stacked(counted)
    p_values, windows = window_tests(start, old, periods)
    tests = p_values, windows, alarms(p_values, level)
    told = tuple(
        replace(
            look,
            p_values=dict(zip(TESTS, map(float, p), strict=True)),
            windows=dict(zip(TESTS, map(int, w), strict=True)),
            alarms=tuple(name for name, one in zip(TESTS, alarm, strict=True) if one),
            moved=name_look(start, old, periods, tests, number),
        )
        for number, (look, p, w, alarm) in enumerate(zip(looks, *tests, strict=True))
    )
    now = calibrator = None
    if told[-1].moved == ("prior",):
        pooled = _last(periods, int(windows[-1, 0])).mapped(lambda part: part[-1])
        now = _told(start, old, pooled, 1.0 - float(spent(len(told), level)))
        target = float(np.clip(now.prior.value, LEAST_PRIOR, 1.0 - LEAST_PRIOR))
        calibrator = PriorShift(source=start.known_prior, target=target).fit(start)
    return Monitoring(
        reference=base,
        looks=told,
        level=level,
        setting=start.setting,
        threshold=threshold,
        now=now,
        calibrator=calibrator,
    )
