"""Bounding tables, and bounds on any metric of them, at every cut-off or at chosen thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noneg.performance.contingency import Tables, chosen
from noneg.performance.posing import Options, pose, tightest
from noneg.registry import ALIASES, registered_rules
from noneg.results import to_frame
from noneg.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from noneg.performance.bands import Band
    from noneg.performance.contingency import Assumptions, Basis, Problem, Side, Table
    from noneg.performance.posing import Beta
    from noneg.scores import PUScores

Floats: TypeAlias = NDArray[np.float64]
# From true positives, false positives, false negatives and true negatives, arrays alike.
TableMetric: TypeAlias = Callable[[Floats, Floats, Floats, Floats], Floats]

_BETWEEN: Final = 7  # numbers of latent positives tried between the ends of a range


# Metrics of the contingency table that are not registered.
_MORE: Final = {
    "jaccard": Rule(lambda t, p: (0.0, t, p, 1.0 - t)),
    "youden": Rule(lambda t, p: (t - p, 0.0, 1.0, -1.0), low=-1.0, of_positives=True),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ContingencyBounds:
    """Bounding contingency tables, cut-off by cut-off.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling; a row counts as positive when its score is at or above.
    lower : Tables
        With the least upper bound on the false positive rate: the lower curve.
    upper : Tables
        With its greatest lower bound: the upper curve.
    assumes : Assumptions
        Beta, band, level, basis and table they rest on.
    """

    threshold: Floats
    lower: Tables
    upper: Tables
    assumes: Assumptions

    def columns(self) -> dict[str, Floats]:
        """Return all entries, a column a name."""
        table = {"threshold": self.threshold}
        for side, tables in (("lower", self.lower), ("upper", self.upper)):
            table |= {f"{side}_{cell}": getattr(tables, cell) for cell in ("tp", "fp", "fn", "tn")}
        return table

    def to_dict(self) -> dict[str, object]:
        """Return the entries as plain lists, with the assumptions."""
        table: dict[str, object] = {name: c.tolist() for name, c in self.columns().items()}
        return table | self.assumes.to_dict()

    def frame(self, backend: str | None = None) -> object:
        """Return all entries as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


def contingency_bounds(  # noqa: PLR0913
    scores: PUScores,
    *,
    threshold: ArrayLike | None = None,
    beta: Beta = None,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    basis: Basis = "positives",
    table: Table | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> ContingencyBounds:
    """Return the tables with the least and the greatest false positive rate (Theorem 1, Eq. 12).

    Parameters
    ----------
    scores : PUScores
    threshold : float or array-like, optional
        Where to cut, positive at or above; by default at every distinct score.
    beta, band, level, known_negatives, basis, resamples, seed
        As in `roc_bounds`; the tighter basis is the one with the smaller mean range of rates.
    table : {"all", "unlabeled"}, optional
        As in `pr_bounds`.

    Returns
    -------
    ContingencyBounds

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.7, 0.2, 0.1], prior=0.5, setting="two-sample")
    >>> tables = contingency_bounds(scores, threshold=0.5, table="all")
    >>> print(tables.lower.tp, tables.lower.fp, tables.upper.tp, tables.upper.fp)
    [2.] [2.] [4.] [0.]
    """
    options = Options(
        beta=beta,
        band=band,
        level=level,
        known_negatives=known_negatives,
        basis=basis,
        table=table,
        resamples=resamples,
        seed=seed,
        threshold=threshold,
    )
    answers = [
        ContingencyBounds(
            threshold=problem.ranking.threshold,
            lower=_chosen_tables(problem, "lower"),
            upper=_chosen_tables(problem, "upper"),
            assumes=problem.assumes,
        )
        for problem in pose(scores, options)
    ]
    return tightest(answers, lambda b: _mean(b.lower.fpr - b.upper.fpr + b.upper.tpr - b.lower.tpr))


def _chosen_tables(problem: Problem, side: Side) -> Tables:
    parts = [
        chosen(list(part.candidates(side)), side, problem.moved) for _, part in problem.blocks()
    ]
    positives = parts[0].positives
    if isinstance(positives, np.ndarray):
        positives = np.concatenate([np.asarray(part.positives) for part in parts])
    return Tables(
        tp=np.concatenate([part.tp for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
        positives=positives,
        total=parts[0].total,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricBounds:
    """Bounds on a metric, cut-off by cut-off.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling; a row counts as positive when its score is at or above.
    low, high : ndarray
        Bounds; nan where the metric is undefined.
    metric : str
    assumes : Assumptions
        Beta, band, level, basis and table they rest on.
    """

    threshold: Floats
    low: Floats
    high: Floats
    metric: str
    assumes: Assumptions

    def at(self, threshold: float) -> tuple[float, float]:
        """Return the bounds at a threshold, which need not be a cut-off itself."""
        row = int(np.searchsorted(-self.threshold, -threshold, side="right")) - 1
        if row < 0:
            msg = (
                f"'threshold' must not exceed the largest cut-off {self.threshold[0]:g}, got "
                f"{threshold!r}: no row lies at or above it."
            )
            raise ValueError(msg)
        return float(self.low[row]), float(self.high[row])

    def columns(self) -> dict[str, Floats]:
        """Return the table, a column a name."""
        return {name: getattr(self, name) for name in ("threshold", "low", "high")}

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain lists, numbers and text."""
        table: dict[str, object] = {name: c.tolist() for name, c in self.columns().items()}
        return table | {"metric": self.metric} | self.assumes.to_dict()

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


def metric_bounds(  # noqa: PLR0913
    scores: PUScores,
    metric: str | TableMetric,
    *,
    threshold: ArrayLike | None = None,
    beta: Beta = None,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    basis: Basis = "positives",
    table: Table | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> MetricBounds:
    r"""Return bounds on any metric of the contingency table (Claesen et al., Section 4).

    At a cut-off the rows above it and, for one beta, the positives in all are fixed. What is
    hidden is how many positives lie above, and the two tables of `roc_bounds` hold its least and
    greatest value. A metric that rises or falls with it, as all those named here do, has its
    extremes there. Over an interval of beta these are sought at its ends, at the two values where
    clipping (Eq. 11) sets in and at seven values between.

    Parameters
    ----------
    scores : PUScores
    metric : str or callable
        "accuracy", "balanced_accuracy", "cohen_kappa", "f1", "false_positive_rate", "jaccard",
        "mcc", "npv", "precision", "recall", "specificity", "youden", or a function of true
        positives, false positives, false negatives and true negatives (arrays) that is monotone in
        the number of true positives when row and column sums are fixed.
    threshold : float or array-like, optional
        Where to cut, positive at or above; by default at every distinct score.
    beta, band, level, known_negatives, basis, resamples, seed
        As in `roc_bounds`; the tighter basis is the one with the smaller mean width.
    table : {"all", "unlabeled"}, optional
        As in `pr_bounds`.

    Returns
    -------
    MetricBounds

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> scores = world.draw(500, 5000, setting="one-sample", seed=1)
    >>> bounds = metric_bounds(scores, "accuracy", threshold=0.5)
    >>> print(bounds.low.round(3), bounds.high.round(3))
    [0.8] [0.864]
    """
    name, function = _find(metric)
    options = Options(
        beta=beta,
        band=band,
        level=level,
        known_negatives=known_negatives,
        basis=basis,
        table=table,
        resamples=resamples,
        seed=seed,
        threshold=threshold,
    )
    answers = [_bound(problem, function, name) for problem in pose(scores, options)]
    return tightest(answers, lambda bounds: _mean(bounds.high - bounds.low))


def _find(metric: str | TableMetric) -> tuple[str, TableMetric]:
    if callable(metric):
        return getattr(metric, "__name__", "metric"), metric
    rules = table_rules()
    if metric not in rules:
        known = ", ".join(rules)
        msg = f"'metric' must be one of {known}, or a function of (tp, fp, fn, tn), got {metric!r}."
        raise ValueError(msg)
    return metric, rules[metric].of_table


def table_rules() -> dict[str, Rule]:
    """Return the metrics of the contingency table by name."""
    named = registered_rules()
    aliases = {short: named[name] for short, name in ALIASES.items()}
    return dict(sorted((named | aliases | _MORE).items()))


def _bound(problem: Problem, function: TableMetric, name: str) -> MetricBounds:
    low = np.full(problem.ranking.threshold.size, np.nan)
    high = low.copy()
    for place, part in problem.blocks():
        for tables in _tables(part):
            with np.errstate(divide="ignore", invalid="ignore"):
                value = function(tables.tp, tables.fp, tables.fn, tables.tn)
            np.fmin(low[place], value, out=low[place])
            np.fmax(high[place], value, out=high[place])
    return MetricBounds(
        threshold=problem.ranking.threshold,
        low=low,
        high=high,
        metric=name,
        assumes=problem.assumes,
    )


def _tables(problem: Problem) -> Iterator[Tables]:
    low, high = problem.latent
    between = np.unique(np.linspace(low, high, _BETWEEN + 2).round())[1:-1]
    sides: tuple[Side, Side] = ("lower", "upper")
    for side in sides:
        yield from problem.candidates(side)
        for latent in between:
            yield problem.tables(side, float(latent))


def _mean(width: Floats) -> float:
    known = width[~np.isnan(width)]
    return float(known.mean()) if known.size else np.inf
