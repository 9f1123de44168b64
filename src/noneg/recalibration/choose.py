"""Calibrators by name, automatic choice among them, and evaluation on held-out rows.

A calibrator looks better than it is on the rows it was fitted on, and so does a method on the rows
used to choose it. `Auto` compares methods on rows that they have not seen. `held_out` maps the rows
of each fold with a calibrator chosen and fitted on the other folds, and computes the metrics of all
rows before and after. These calibrators see fewer rows than one fitted on all of them, so the
comparison is slightly pessimistic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import logit

from noneg.calibration.interval import Masses
from noneg.calibration.proper import scoring_rule
from noneg.calibration.reliability import Reliability, reliability
from noneg.calibration.testing import bins_for_rows
from noneg.checks import check_count, check_level
from noneg.errors import InputError
from noneg.likelihood import log_likelihood, row_by_row
from noneg.metrics import METRICS
from noneg.performance.ordering import find_criterion
from noneg.performance.paired import Contrast, Differences, PairedRows
from noneg.recalibration import logistic, maps
from noneg.recalibration.base import (
    Calibrator,
    State,
    check_content,
    fit_noting,
    fit_quietly,
    read_object,
    refusal,
)
from noneg.recalibration.folds import build, join, splits
from noneg.recalibration.logistic import CurveCalibrator
from noneg.results import Estimate, Table, aligned, end_columns, plain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Floats
    from noneg.laws import Chunk
    from noneg.likelihood import Sample
    from noneg.losses import Loss
    from noneg.recalibration.folds import Groups
    from noneg.scores import PUScores

# Number of score cells used to compare methods; more would not change the choice.
CELLS = 5_000
# Number of standard errors by which a method must beat the original scores on held-out rows; one is
# enough against other methods.
IDENTITY, REACH = maps.Identity.name, 2.0
BEFORE, AFTER, CHANGE = PARTS = ("before", "after", "change")
# Metrics that are compared with an interval, and metrics reported without one.
COMPARED = ("ece", "log_loss", "brier")
ERRORS = ("debiased_ece", "ece", "brier", "log_loss")
DIAGRAM_BINS = 10
# Scores whose calibrated probability is shown, and number of resampled data sets for its band.
SHOWN, SHOWN_DRAWS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99), 100


@dataclass(eq=False, repr=False)
class Auto(Calibrator):
    """Choose a method by its likelihood on held-out rows, with a preference for simple methods.

    Each candidate is fitted on all folds but one and predicts the rows of that fold. The likelihood
    of the labels under these predictions, with the prior imposed, is compared with the likelihood
    under the best candidate, row by row. Among all candidates that are worse by at most one
    standard error of the difference, the simplest is chosen and fitted on all rows. "identity" is a
    candidate, with a tolerance of two standard errors: scores are left unchanged unless a method
    clearly improves them. The choice takes bounded time: beyond 5,000 rows per group, neighboring
    scores are merged into that many cells.

    Parameters
    ----------
    score : {"likelihood", "brier", "log"}
        The loss: the negative log likelihood of the labels, or the PU form of the Brier score or
        the log loss, which is noisier.
    candidates : sequence of str, optional
        Names of methods, simplest first. Defaults to all that learn a smooth or increasing map.
    folds : int
        Number of folds; reduced if there are fewer positives.
    seed : int
        Seed of the random folds.

    Attributes
    ----------
    chosen_ : Calibrator
        The chosen method, fitted.
    reason_ : str
        The reason for the choice.
    table_ : list of dict
        One entry per candidate: method, loss, difference from the best, and its standard error.
        The numbers are None if all predictions lie on one side of the prior.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> auto = Auto().fit(world.draw(1000, 10_000, setting="two-sample", seed=1))
    >>> auto.chosen_
    Platt()
    """

    name = "auto"
    learns = "the best of the other methods"
    monotone = False

    score: Literal["likelihood", "brier", "log"] = "likelihood"
    candidates: tuple[str, ...] | list[str] | None = None
    folds: int = 5
    seed: int = 0

    def _fit(self, scores: PUScores) -> State:
        names = list(CANDIDATES if self.candidates is None else self.candidates)
        methods = {name: make(name) for name in names}
        some = _coarse(scores)
        number = self._folds(some)
        table: list[dict[str, Any]] = []
        chosen = names[0]
        reason = (
            f"{chosen}: a class with a single row cannot be held out, so no methods were compared."
        )
        if number > 1:
            held, rows = cross_fit(methods, some, number, self.seed)
            if self.score == "likelihood":
                table = _by_likelihood(some, names, held, rows)
            else:
                table = _by_loss(some, names, rows, self.score)
            chosen, reason = _taken(table, self.score, number)
        self._chosen = make(chosen).fit(scores)
        return {"chosen": self._chosen.to_dict(), "reason": reason, "table": table}

    def _folds(self, scores: PUScores) -> int:
        number = check_count(self.folds, "folds", 2)
        return int(min(number, scores.n_unlabeled, scores.n_positive))

    def _map(self, s: Floats) -> Floats:
        return self.chosen_.transform(s)

    def _check(self, state: State) -> None:
        if set(state) != {"chosen", "reason", "table"} or not isinstance(state["chosen"], dict):
            raise refusal("its state must contain 'chosen', 'reason' and 'table'")
        self._chosen = load_object(state["chosen"])

    def band(self, scores: PUScores, s: ArrayLike, **options: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
        """Return the band of the chosen method, ignoring the uncertainty of the choice."""
        return self.chosen_.band(scores, s, **options)

    @property
    def chosen_(self) -> Calibrator:
        """The chosen method, fitted."""
        self._require_fit()
        return self._chosen

    @property
    def reason_(self) -> str:
        """The reason for the choice."""
        return str(self.state_["reason"])

    @property
    def table_(self) -> list[dict[str, Any]]:
        """Loss of each candidate, and its difference from the best with a standard error."""
        return list(self.state_["table"])


def _coarse(scores: PUScores) -> PUScores:
    """Return the rows, or, if there are many, cells of neighbors that lead to the same choice."""
    unlabeled, positive = scores.in_order()
    return build((_cells(unlabeled, 3), _cells(positive, 2)), scores)


def _cells(group: Chunk, own: int) -> Chunk:
    """Merge neighboring rows into at most `CELLS` cells with the same masses and effective sizes.

    Rows with equal scores share a cell; `own` is the index of the mass in the distribution of the
    group.
    """
    s, *masses = group
    if s.size <= CELLS:
        return group
    f, a, w = (np.broadcast_to(x, s.shape) for x in masses)
    m = (s, f, a, w)[own]
    start = np.unique(np.searchsorted(s, s[np.linspace(0, s.size - 1, CELLS).astype(np.intp)]))
    sums = [np.add.reduceat(f * x, start) for x in (m, m**2, m * s, a, w)]
    mass, square, score, a, w = (x[sums[0] > 0.0] for x in sums)
    count = mass**2 / square
    return score / mass, count, a / count, w / count


def _row(name: str, loss: float, difference: float, error: float) -> dict[str, Any]:
    """Return a row of the table; values that are not finite become None, as JSON requires."""
    numbers = {"loss": loss, "difference": difference, "standard_error": error}
    known = {k: float(x) if np.isfinite(x) else None for k, x in numbers.items()}
    return {"method": name, **known}


def _taken(table: list[dict[str, Any]], score: str, number: int) -> tuple[str, str]:
    """Return the chosen method and the reason for the choice."""
    known = [row for row in table if row["loss"] is not None]
    if not known:
        name = str(table[0]["method"])
        return name, f"{name}: no method is consistent with the prior, so no methods were compared."
    best = min(known, key=lambda row: row["loss"])
    reach = {IDENTITY: REACH} if score == "likelihood" else {}
    row = next(
        row
        for row in known
        if row["difference"] <= reach.get(row["method"], 1.0) * row["standard_error"]
    )
    return row["method"], _reason(row, best, score, number)


def _reason(row: dict[str, Any], best: dict[str, Any], score: str, number: int) -> str:
    loss = {"brier": "Brier score", "log": "log loss", "likelihood": "log loss of the labels"}
    patient = score == "likelihood" and row["method"] == IDENTITY
    many = "two standard errors" if patient else "one standard error"
    held_out = f"{loss[score]} {row['loss']:.5f} on held-out rows ({number} folds)"
    if row is best:
        return f"{row['method']}: the smallest {held_out}."
    return (
        f"{row['method']}: {held_out} is within {many} of the smallest, "
        f"{best['loss']:.5f} of {best['method']} (difference {row['difference']:.5f}, standard "
        f"error {row['standard_error']:.5f}), and it is the simpler method."
    )


def _by_likelihood(
    scores: PUScores, names: list[str], held: Groups, rows: PairedRows
) -> list[dict[str, Any]]:
    """Return the table of negative log likelihoods per row, with their differences."""
    sample = row_by_row(*held, scores)
    n = float(sample.mass.sum())
    # Limit probabilities to a precision of half a row.
    p = (np.clip(rows.columns[name], 0.5 / n, 1.0 - 0.5 / n) for name in names)
    values = [log_likelihood(sample, logit(one)) for one in p]
    best = max(values, key=lambda value: value.value)
    return [
        _row(name, -one.value / n, *_gap(sample, one.rows, best.rows))
        if np.isfinite(one.value)
        else _row(name, np.inf, np.inf, np.inf)
        for name, one in zip(names, values, strict=True)
    ]


def _gap(sample: Sample, rows: Floats, best: Floats) -> tuple[float, float]:
    """Return the log-likelihood deficit relative to the best predictions, and its error."""
    gap, mass = best - rows, sample.masses
    total = mass.sum()
    axis = 1 if sample.form == "separate" else None
    mean = (mass * gap).sum(axis=axis, keepdims=True) / mass.sum(axis=axis, keepdims=True)
    one, both, two = sample.squares
    first, second = gap - mean
    variance = one @ first**2 + 2.0 * both @ (first * second) + two @ second**2
    return float((mass * gap).sum() / total), float(np.sqrt(max(variance, 0.0)) / total)


def _by_loss(
    scores: PUScores, names: list[str], rows: PairedRows, score: str
) -> list[dict[str, Any]]:
    """Return the table of PU losses, with their differences."""
    loss, prior, masses = scoring_rule(score).loss, scores.known_prior, rows.masses
    columns = [rows.columns[name] for name in names]
    each = (
        prior * masses.positive * (loss(p, 1) - loss(p, 0)) + masses.marginal * loss(p, 0)
        for p in columns
    )
    losses = [float(masses.count @ one) for one in each]
    best = int(np.argmin(losses))
    return [
        _row(name, one, one - losses[best], _gap_error(rows, loss, prior, (name, names[best])))
        for name, one in zip(names, losses, strict=True)
    ]


def _gap_error(rows: PairedRows, loss: Loss, prior: float, pair: tuple[str, str]) -> float:
    """Return the standard error of the difference between two expected losses."""
    contrast = Contrast.of_loss(loss, *(rows.columns[name] for name in pair))
    by_row, value = contrast.smooth(rows)
    slopes = value(np.array([prior]))[1][: len(by_row), 0]
    each = slopes @ by_row
    return float(np.sqrt(rows.masses.count @ each**2))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOut(Table):
    """Effect of recalibration on held-out rows.

    Attributes
    ----------
    method : str
        Name of the method.
    calibrator : Calibrator
        The method, fitted on all rows.
    warnings : tuple of str
        Warnings raised by that fit.
    folds : int
        Number of folds; each was mapped with a calibrator chosen and fitted on the others.
    level : float
        Confidence level of all intervals.
    before, after : dict of str to Estimate
        Metrics of the original scores, and of the scores mapped by the other folds' calibrators.
    change : dict of str to Estimate
        After minus before on the same rows; for all three metrics, negative is better.
    errors : dict of str to (float, float)
        Registered metrics before and after, without intervals.
    reliability : dict of str to Reliability
        Diagrams "before" and "after".
    mapped : dict of float to Estimate
        Calibrated probabilities at a few scores with their bands, if the calibrator has one.

    Examples
    --------
    >>> from noneg import PUScores
    >>> from noneg.recalibration import held_out
    >>> found = held_out("isotonic", PUScores.from_labels([0, 1] * 500, [0.1, 0.6] * 500))
    >>> print(found.change["ece"])
    -0.2500 [-0.2606, -0.2394]
    """

    method: str
    calibrator: Calibrator
    warnings: tuple[str, ...]
    folds: int
    level: float
    before: dict[str, Estimate]
    after: dict[str, Estimate]
    change: dict[str, Estimate]
    errors: dict[str, tuple[float, float]]
    reliability: dict[str, Reliability]
    mapped: dict[float, Estimate]

    @property
    def chosen(self) -> str:
        """Name of the method used for all rows: `method`, or its choice if it chooses."""
        chosen: Calibrator = getattr(self.calibrator, "chosen_", self.calibrator)
        return chosen.name

    @property
    def reason(self) -> str:
        """The reason for the choice; empty if there was none."""
        return str(getattr(self.calibrator, "reason_", ""))

    @property
    def improved(self) -> dict[str, bool]:
        """Whether each metric decreased significantly: the interval for the change is below 0."""
        return {name: gap.high < 0.0 for name, gap in self.change.items()}

    def __repr__(self) -> str:
        rows = [
            (name, *map(str, (self.before[name], self.after[name], gap)))
            for name, gap in self.change.items()
        ]
        title = f"{self.method}, {self.folds} folds, {self.level:g} intervals"
        return f"{title}\n{aligned([('', BEFORE, AFTER, 'change'), *rows])}"

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, ready for JSON."""
        facts = plain_fields(self, "method", "chosen", "reason", "folds", "level", *PARTS)
        return facts | {"mapped": [{"score": s, **x.to_dict()} for s, x in self.mapped.items()]}

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with one row per metric."""
        out = {"metric": np.array(list(self.change))}
        for part in PARTS:
            out |= end_columns(getattr(self, part).values(), part)
        return out


def held_out(
    method: str | Calibrator,
    scores: PUScores,
    *,
    folds: int = 5,
    metrics: Sequence[str] = COMPARED,
    level: float = 0.95,
    seed: int = 0,
) -> HeldOut:
    """Return metrics before and after recalibration, with intervals, on held-out rows.

    The intervals treat the maps as fixed: they reflect the precision of the metric on these rows,
    not how much the maps would change with another sample.

    Parameters
    ----------
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.
    scores : PUScores
        Rows in any setting, with or without weights, or buckets of a sketch.
    folds : int
        Number of folds, at most the number of positives.
    metrics : sequence of {"ece", "log_loss", "brier"}
    level : float
        Confidence level of the intervals.
    seed : int
        Seed of the random folds.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> found = held_out("platt", scores)
    >>> print(found.before["ece"], "->", found.after["ece"])
    0.1020 [0.0471, 0.1285] -> 0.0310 [0.0000, 0.0369]
    >>> found.improved["brier"]
    True
    """
    chosen = [find_criterion(name) for name in check_metrics(metrics)]
    calibrator = find_calibrator(method)
    rows, after = _recalibrated(calibrator, scores, folds, seed)
    models = {BEFORE: scores, AFTER: after}
    _, told = fit_noting(calibrator.fit, scores)
    found = Differences(rows, models, 0.5, check_level(level))
    values = {
        part: {one.name: one.estimate(models[part], level=found.level) for one in chosen}
        for part in (BEFORE, AFTER)
    }
    return HeldOut(
        method=calibrator.name,
        calibrator=calibrator,
        warnings=told,
        folds=folds,
        level=found.level,
        before=values[BEFORE],
        after=values[AFTER],
        change={one.name: found.estimate(one, AFTER, BEFORE) for one in chosen},
        errors={
            name: (METRICS[name].function(models[BEFORE]), METRICS[name].function(models[AFTER]))
            for name in ERRORS
        },
        reliability={part: small_diagram(one, found.level) for part, one in models.items()},
        mapped=_mapped(calibrator, scores, found.level),
    )


def _mapped(calibrator: Calibrator, scores: PUScores, level: float) -> dict[float, Estimate]:
    """Return mapped values, with a band, for some scores within the range of the data."""
    chosen: Calibrator = getattr(calibrator, "chosen_", calibrator)
    if not isinstance(chosen, CurveCalibrator) or not chosen.has_band:
        return {}
    first, last = chosen.fitted_on_["score_range"]
    at = [s for s in SHOWN if first <= s <= last]
    ends = chosen.band(scores, at, level=level, draws=SHOWN_DRAWS)
    rows = zip(at, chosen.transform(at), *ends, strict=True)
    return {
        s: Estimate(value=float(p), low=float(low), high=float(high), level=level, method="band")
        for s, p, low, high in rows
    }


def small_diagram(scores: PUScores, level: float) -> Reliability:
    """Return a diagram with at most ten equal-mass bins, to overlay on another."""
    bins = bins_for_rows(scores, DIAGRAM_BINS)
    return reliability(scores, bins=bins, binning="mass", level=level)


def out_of_fold(
    method: str | Calibrator, scores: PUScores, *, folds: int = 5, seed: int = 0
) -> PUScores:
    """Return the rows with each score mapped by a calibrator fitted without that row.

    Parameters
    ----------
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.
    scores : PUScores
    folds : int
    seed : int

    Returns
    -------
    PUScores
        The same number of rows in each group, ordered by fold.

    Examples
    --------
    >>> from noneg import PUScores, ece
    >>> scores = PUScores.from_labels([0, 1] * 500, [0.1, 0.6] * 500)
    >>> after = out_of_fold("isotonic", scores)
    >>> round(ece(scores, bins=2), 12), round(ece(after, bins=2), 12)
    (0.25, 0.0)
    """
    return _recalibrated(find_calibrator(method), scores, folds, seed)[1]


def check_metrics(metrics: Sequence[str]) -> Sequence[str]:
    """Check that recalibration can change these metrics and that lower values are better."""
    for name in metrics:
        if name not in COMPARED:
            raise InputError("metrics", f"must be among {', '.join(COMPARED)}", value=name)
    return metrics


def cross_fit(
    methods: Mapping[str, Calibrator], scores: PUScores, folds: int, seed: int
) -> tuple[Groups, _FoldRows]:
    """Return the rows of both groups, and their scores as each method maps them from other folds.

    All folds together are the original rows.
    """
    held, mapped = [], []
    for rest, groups in splits(scores, folds, seed):
        fitted = [fit_quietly(method.unfitted(), rest) for method in methods.values()]
        held.append(groups)
        mapped.append([np.stack([one.transform(s) for one in fitted]) for s, *_ in groups])
    rows = join(held)
    held.clear()
    columns = np.concatenate([p for parts in zip(*mapped, strict=True) for p in parts], axis=1)
    return rows, _FoldRows.of(rows, dict(zip(methods, columns, strict=True)), scores)


def _recalibrated(
    method: Calibrator, scores: PUScores, folds: int, seed: int
) -> tuple[PairedRows, PUScores]:
    """Return paired rows with their scores before and after, and the latter as `PUScores`."""
    groups, rows = cross_fit({AFTER: method}, scores, folds, seed)
    unlabeled, positive = groups
    after = np.split(rows.columns[AFTER], [unlabeled[0].size])
    return rows, build(((after[0], *unlabeled[1:]), (after[1], *positive[1:])), scores)


@dataclass(frozen=True, eq=False)
class _FoldRows(PairedRows):
    """Rows with known counts and masses in the two distributions, unlabeled rows first."""

    known: Masses = field(kw_only=True)

    @classmethod
    def of(cls, groups: Groups, columns: dict[str, Floats], scores: PUScores) -> _FoldRows:
        """Return the rows of both groups, with their scores before and those in the columns."""
        flags = np.repeat([False, True], [group[0].size for group in groups])
        before, count, a, w = (
            np.concatenate([np.broadcast_to(group[k], group[0].shape) for group in groups])
            for k in range(4)
        )
        laws = flags * a, w if scores.pooled else ~flags * w
        known = Masses(count, *(x / (float(count @ x) or 1.0) for x in laws))
        return cls(flags, {BEFORE: before} | columns, scores.setting, known=known)

    @cached_property
    def masses(self) -> Masses:
        """Counts, and masses in both distributions."""
        return self.known

    @cached_property
    def mass(self) -> Floats:
        """Importance of each row in its group."""
        return np.where(self.flags, self.masses.positive, self.masses.marginal)


# Every method, simplest first. Each class defines its name and what it learns, and all lists of
# methods are derived from this one.
METHODS: dict[str, type[Calibrator]] = {
    method.name: method
    for method in (
        maps.Identity,
        maps.PriorShift,
        logistic.Temperature,
        logistic.Platt,
        logistic.Beta,
        logistic.BPM,
        maps.MixNMatch,
        maps.Spline,
        maps.Histogram,
        maps.ScalingBinning,
        maps.Isotonic,
        maps.VennAbers,
        Auto,
    )
}
# Candidates for `Auto`: all methods that learn a smooth or increasing map.
CANDIDATES = [
    name for name, kind in METHODS.items() if not issubclass(kind, (maps.StepCalibrator, Auto))
]


def find_calibrator(method: object) -> Calibrator:
    """Return a new calibrator, by method name or with the parameters of a given calibrator."""
    if isinstance(method, Calibrator):
        return method.unfitted()
    if not isinstance(method, str) or method not in METHODS:
        rule = f"must be a calibrator or one of {', '.join(METHODS)}"
        raise InputError("method", rule, value=method)
    return METHODS[method]()


def make(name: str, **parameters: Any) -> Calibrator:  # noqa: ANN401
    """Return an unfitted calibrator, given the name of its method.

    Parameters
    ----------
    name : str
        A key of `METHODS`, such as "platt" or "auto".
    **parameters
        Parameters of its constructor.

    Examples
    --------
    >>> make("histogram", bins=10)
    Histogram(bins=10)
    """
    if name not in METHODS:
        rule = f"must be a method of recalibration ({', '.join(METHODS)})"
        raise InputError("name", rule, value=name)
    return METHODS[name](**parameters)


def load(text: str) -> Calibrator:
    """Restore any calibrator from its JSON text; nothing in the text is executed.

    Parameters
    ----------
    text : str
        Output of `Calibrator.to_json`.

    Raises
    ------
    ValueError
        If the text has a foreign format or another version, or was changed since it was written.

    Examples
    --------
    >>> from noneg import PUScores
    >>> platt = make("platt").fit(PUScores.from_labels([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9]))
    >>> bool((load(platt.to_json()).transform([0.2, 0.7]) == platt.transform([0.2, 0.7])).all())
    True
    """
    return load_object(read_object(text))


def load_object(content: Mapping[str, Any]) -> Calibrator:
    """Restore any calibrator from the output of `Calibrator.to_dict`; see `load`."""
    check_content(content)
    method = METHODS.get(str(content["method"]))
    if content["method"] == "by-group":
        raise refusal("it contains one map for each group, which ByGroup.from_json reads")
    if method is None:
        known = ", ".join(METHODS)
        raise refusal(f"its method {content['method']!r} is unknown (known methods: {known})")
    return method.from_dict(content)
