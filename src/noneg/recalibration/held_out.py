"""Before and after, on rows that the calibrator has not seen.

A calibrator looks better on the rows it was fitted on than it is. Here rows are dealt to folds;
those of each fold are mapped by a calibrator fitted on the other folds, so that no row calibrates
itself, and the metrics of all rows are taken before and after.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.calibration.interval import Masses
from noneg.checks import check_level
from noneg.performance.paired import Differences, PairedRows
from noneg.performance.selection import find_criterion
from noneg.recalibration.contract import CalibrationWarning, Calibrator
from noneg.recalibration.folds import build, join, splits
from noneg.results import aligned, to_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.recalibration.folds import Groups
    from noneg.results import Estimate
    from noneg.rows import Chunk
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

METRICS = ("ece", "log_loss", "brier")
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOut:
    """What recalibration does to rows that the calibrator has not seen.

    Attributes
    ----------
    method : str
        Name of the method.
    folds : int
    level : float
        Confidence level of all intervals.
    before, after : dict of str to Estimate
        Metrics of the scores as they are, and of the scores mapped by the other folds' calibrators.
    change : dict of str to Estimate
        After minus before on the same rows; below zero is better for all three metrics.

    Examples
    --------
    >>> from noneg import PUScores
    >>> from noneg.recalibration.held_out import held_out
    >>> found = held_out("isotonic", PUScores.from_labels([0, 1] * 500, [0.1, 0.6] * 500))
    >>> print(found.change["ece"])
    -0.2500 [-0.2606, -0.2394]
    """

    method: str
    folds: int
    level: float
    before: dict[str, Estimate]
    after: dict[str, Estimate]
    change: dict[str, Estimate]

    @property
    def improved(self) -> dict[str, bool]:
        """Whether a metric fell beyond sampling error: the whole interval of its change is < 0."""
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
        parts = {BEFORE: self.before, AFTER: self.after, "change": self.change}
        return {
            "method": self.method,
            "folds": self.folds,
            "level": self.level,
            **{part: {name: x.to_dict() for name, x in e.items()} for part, e in parts.items()},
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with a row for each metric."""
        parts = ((BEFORE, self.before), (AFTER, self.after), ("change", self.change))
        out = {"metric": np.array(list(self.change))}
        for part, estimates in parts:
            for end in ("value", "low", "high"):
                name = part if end == "value" else f"{part}_{end}"
                out[name] = np.array([getattr(x, end) for x in estimates.values()])
        return out

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


def held_out(
    method: str | Calibrator,
    scores: PUScores,
    *,
    folds: int = 5,
    metrics: Sequence[str] = METRICS,
    level: float = 0.95,
    seed: int = 0,
) -> HeldOut:
    """Return metrics before and after recalibration, each with its interval, on held-out rows.

    Intervals take the maps as they are: they tell how well these rows know the metric, not how
    much another sample would change the maps.

    Parameters
    ----------
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.
    scores : PUScores
        Rows of any setting, with weights or without, or buckets of a sketch.
    folds : int
        At most the number of positives.
    metrics : sequence of {"ece", "log_loss", "brier"}
    level : float
        Confidence level of the intervals.
    seed : int
        Seed of the deal.

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
    0.1020 [0.0406, 0.1293] -> 0.0294 [0.0000, 0.0622]
    >>> found.improved["brier"]
    True
    """
    chosen = [find_criterion(name) for name in check_metrics(metrics)]
    calibrator = find_calibrator(method)
    rows, models = cross_fit(calibrator, scores, folds=folds, seed=seed)
    found = Differences(rows, models, 0.5, check_level(level))
    values = {
        part: {one.name: one.interval(models[part], level=found.level) for one in chosen}
        for part in (BEFORE, AFTER)
    }
    return HeldOut(
        method=calibrator.name,
        folds=folds,
        level=found.level,
        before=values[BEFORE],
        after=values[AFTER],
        change={one.name: found.estimate(one, AFTER, BEFORE) for one in chosen},
    )


def out_of_fold(
    method: str | Calibrator, scores: PUScores, *, folds: int = 5, seed: int = 0
) -> PUScores:
    """Return the rows with each score mapped by a calibrator that was fitted without the row.

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
        As many rows of each group as there were, in the order of folds.

    Examples
    --------
    >>> from noneg import PUScores, ece
    >>> scores = PUScores.from_labels([0, 1] * 500, [0.1, 0.6] * 500)
    >>> after = out_of_fold("isotonic", scores)
    >>> round(ece(scores, bins=2), 12), round(ece(after, bins=2), 12)
    (0.25, 0.0)
    """
    return cross_fit(find_calibrator(method), scores, folds=folds, seed=seed)[1][AFTER]


def find_calibrator(method: object) -> Calibrator:
    """Return a new calibrator: of a method by name, or with the parameters of the one given."""
    from noneg.recalibration import METHODS

    if isinstance(method, Calibrator):
        return type(method)(**method.get_params())
    if not isinstance(method, str) or method not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f"'method' must be a calibrator or one of {known}, got {method!r}.")
    return METHODS[method]()


def check_metrics(metrics: Sequence[str]) -> Sequence[str]:
    """Return names of metrics that recalibration can change and lower is better for."""
    for name in metrics:
        if name not in METRICS:
            raise ValueError(f"'metrics' must be among {', '.join(METRICS)}, got {name!r}.")
    return metrics


def cross_fit(
    calibrator: Calibrator, scores: PUScores, *, folds: int, seed: int
) -> tuple[PairedRows, dict[str, PUScores]]:
    """Return rows with their scores before and after, and both as `PUScores`."""
    before, after = [], []
    for train, groups in splits(scores, folds, seed):
        with warnings.catch_warnings():
            # The fit on all rows says it once.
            warnings.simplefilter("ignore", CalibrationWarning)
            fitted = find_calibrator(calibrator).fit(train)
        before.append(groups)
        after.append(tuple((fitted.transform(s), *masses) for s, *masses in groups))
    old, new = join(before), join(after)  # type: ignore[arg-type]
    models = {BEFORE: build(old, scores), AFTER: build(new, scores)}
    return _FoldRows.of(old, new, scores), models


@dataclass(frozen=True, eq=False)
class _FoldRows(PairedRows):
    """Rows whose masses in the two laws are known already, unlabeled ones first."""

    known: tuple[Chunk, Chunk] | None = None

    @classmethod
    def of(cls, old: Groups, new: Groups, scores: PUScores) -> _FoldRows:
        """Return the rows of both groups, with scores before and after."""
        flags = np.repeat([False, True], [group[0].size for group in old])
        pairs = ((BEFORE, old), (AFTER, new))
        columns = {name: np.concatenate([group[0] for group in groups]) for name, groups in pairs}
        return cls(flags, columns, scores.setting, known=old)

    @cached_property
    def masses(self) -> Masses:
        """Counts, and masses in both laws."""
        count, a, w = (self._column(k) for k in (1, 2, 3))
        positive, marginal = self.flags * a, w
        if self.setting == "two-sample":
            marginal = ~self.flags * w
        positive, marginal = (x / (float(count @ x) or 1.0) for x in (positive, marginal))
        return Masses(count, positive, marginal)

    @cached_property
    def mass(self) -> Floats:
        """Importance of each row in its group."""
        return np.where(self.flags, self._column(2), self._column(3))

    def _column(self, k: int) -> Floats:
        groups: Any = self.known
        return np.concatenate([np.broadcast_to(group[k], group[0].shape) for group in groups])
