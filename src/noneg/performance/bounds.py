"""Bounds from positives and unlabeled rows (Claesen et al. 2015).

`roc_bounds` and `pr_bounds` return bounding curves with their areas, `contingency_bounds` and
`metric_bounds` bound the contingency table and any metric computed from it, and `rank_cdf` returns
the rank CDF of the known positives, on which all of them are based.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, Unpack

import numpy as np

from noneg.errors import InputError
from noneg.performance.contingency import BoundOptions, Tables, pose
from noneg.registry import ALIASES, registered_rules
from noneg.results import Table as ResultTable
from noneg.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.performance.contingency import Assumptions, Band, Problem, Rate, Side
    from noneg.scores import PUScores

    Points = tuple[Floats, Floats]
    # Names of the two rates of a curve, and of the same rates in a table.
    Rates = dict[str, Rate]
    # A function of arrays of true positives, false positives, false negatives and true negatives.
    TableMetric = Callable[[Floats, Floats, Floats, Floats], Floats]

T = TypeVar("T")

_SIDES: tuple[Side, Side] = ("lower", "upper")


def roc_bounds(scores: PUScores, **options: Unpack[BoundOptions]) -> RocBounds:
    r"""Return lower and upper bounds on the ROC curve of all rows (Claesen et al., Section 5).

    Known positives, known negatives and unlabeled rows are ranked together. If positives were
    labeled at random, the latent positives among the :math:`|U|` unlabeled rows follow the rank
    CDF of the known ones, up to a band :math:`T_{lb} \le \mathrm{TPR} \le T_{ub}`. At each cutoff,
    the smallest false positive rate is obtained with :math:`\lceil T_{ub}\,\beta|U| \rceil` latent
    positives above the cutoff and the largest with :math:`\lfloor T_{lb}\,\beta|U| \rfloor`
    (Theorem 1, Eqs. 10-13), where :math:`|P_U| = \beta|U|` is rounded to a whole number. For
    labeled data, both curves equal the ROC curve.

    Parameters
    ----------
    scores : PUScores
    beta : float or (float, float), optional
        Share of positives among the unlabeled rows, or an interval for it. By default, it follows
        from the prior of `scores` and its interval (`latent_fraction`). For an interval, the
        smaller end bounds the curve from below and the larger end from above wherever the ranking
        is better than random, and vice versa elsewhere (Lemma 4).
    band : {"exact", "pointwise", "dkw", "bootstrap", "prediction"}
        Kind of band; see Notes.
    level : float
        Nominal coverage of the band: simultaneous over all cutoffs for "dkw", at each cutoff
        otherwise.
    known_negatives : array-like, optional
        Scores of rows known to be negative, in addition to those in `scores`. If they were removed
        from the sample in `scores`, pass the `beta` of the remaining rows.
    basis : {"positives", "negatives", "tighter"}
        The class whose rank CDF the bounds are based on: known positives; known negatives, which
        swaps the classes and replaces beta with 1 - beta (Appendix C); or whichever gives the
        smaller range of areas.
    table : {"all", "unlabeled"}, optional
        Which rows are counted; all by default. In the two-sample setting, only the unlabeled rows
        are a sample of the population.
    resamples, seed : int
        For the band "bootstrap".

    Returns
    -------
    RocBounds

    Notes
    -----
    "pointwise" takes binomial quantiles, the limit of infinitely many bootstrap resamples (the
    paper's band); "bootstrap" resamples. Both have zero width where the rank CDF is 0 or 1, unlike
    "exact" (Clopper-Pearson); "dkw" holds for the whole curve at once. These four bound the
    distribution of the positives, but the latent positives also vary around that distribution. This
    variation is negligible if the latent positives far outnumber the known ones; otherwise, use
    "prediction", which accounts for it.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> scores = world.draw(500, 5000, setting="one-sample", seed=1)
    >>> low, high = roc_bounds(scores).auc
    >>> print(round(low, 3), round(high, 3))
    0.872 0.947
    """
    answers = [_roc(problem) for problem in pose(scores, **options, prevalence=False)]
    return _tightest(answers, lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _roc(problem: Problem) -> RocBounds:
    problem.check_classes(negatives=True)
    rates: Rates = {"fpr": "fpr", "tpr": "tpr"}
    lower, upper = _curves(RocSide, problem, rates, by=problem.moved, origin=1)
    return RocBounds(lower=lower, upper=upper, assumes=problem.assumes)


def pr_bounds(scores: PUScores, **options: Unpack[BoundOptions]) -> PrBounds:
    r"""Return lower and upper bounds on the precision-recall curve (Claesen et al., Section 5).

    The contingency tables are the same as in `roc_bounds`. Precision depends on the share of
    positives among the rows counted and increases with beta at every cutoff (Eq. 15). For an
    interval of beta, the smaller end therefore gives the lower curve and the larger end the upper
    curve, for any ranking.

    Parameters
    ----------
    scores : PUScores
    beta, band, level, known_negatives, basis, resamples, seed
        As in `roc_bounds`.
    table : {"all", "unlabeled"}, optional
        Which rows are counted. By default, all rows in the one-sample setting, as in the paper, and
        the unlabeled rows in the two-sample setting, where positives collected separately carry no
        information about how common positives are.

    Returns
    -------
    PrBounds

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> scores = world.draw(500, 5000, setting="one-sample", seed=1)
    >>> low, high = pr_bounds(scores).auc
    >>> print(round(low, 3), round(high, 3))
    0.818 0.954
    """
    answers = [_pr(problem) for problem in pose(scores, **options)]
    return _tightest(answers, lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _pr(problem: Problem) -> PrBounds:
    problem.check_classes(negatives=False)
    rates: Rates = {"recall": "tpr", "precision": "precision"}
    lower, upper = _curves(PrSide, problem.counted(), rates, by="precision")
    return PrBounds(lower=lower, upper=upper, assumes=problem.assumes)


def _curves(
    kind: type[S], problem: Problem, rates: Rates, *, by: Rate, origin: int = 0
) -> tuple[S, S]:
    """Return the lower and the upper curve along the ranking, with the extremes over all beta.

    Tables are chosen by one of the rates, so that rate is already at its extreme. The first
    `origin` points stay at (0, 0).
    """
    threshold = np.concatenate([np.full(origin, np.inf), problem.threshold])
    points = np.zeros((len(_SIDES), len(rates), threshold.size))
    wide = problem.latent[0] < problem.latent[1]
    extremes = np.zeros_like(points) if wide else points
    for place, part in problem.blocks():
        for side, curve, ends in zip(_SIDES, points, extremes, strict=True):
            candidates = list(part.candidates(side))
            tables = _chosen(candidates, side, by)
            for rate, point, end in zip(rates.values(), curve, ends, strict=True):
                point[origin:][place] = getattr(tables, rate)
                if wide:
                    end[origin:][place] = _extreme(candidates, side, rate)
    lower, upper = (
        kind(
            threshold=threshold, extremes=(x, y), side=side, **dict(zip(rates, curve, strict=True))
        )
        for side, curve, (x, y) in zip(_SIDES, points, extremes, strict=True)
    )
    return lower, upper


def _chosen(candidates: Sequence[Tables], side: Side, rate: Rate) -> Tables:
    """Return the table with the best (upper) or worst (lower) rate at each cutoff.

    In case of a tie, the first table is used.
    """
    best, *others = candidates
    for other in others:
        before, after = getattr(best, rate), getattr(other, rate)
        swap = after > before if _largest(side, rate) else after < before
        tp = np.where(swap, other.tp, best.tp)
        best = replace(best, tp=tp, positives=np.where(swap, other.positives, best.positives))
    return best


def _extreme(candidates: Sequence[Tables], side: Side, rate: Rate) -> Floats:
    """Return the best (upper) or worst (lower) value of a rate at each cutoff."""
    better = np.maximum if _largest(side, rate) else np.minimum
    return reduce(better, (getattr(tables, rate) for tables in candidates))


def _largest(side: Side, rate: Rate) -> bool:
    return (side == "upper") != (rate == "fpr")


def _tightest(answers: list[T], width: Callable[[T], float]) -> T:
    """Return the answer with the smallest width, which is not computed for a single answer."""
    return answers[0] if len(answers) == 1 else min(answers, key=width)


_BLOCK: Final = 65_536  # Number of points summed at a time, to limit memory use.


@dataclass(frozen=True, eq=False, kw_only=True)
class _Side:
    """Base class of the bounding curves."""

    threshold: Floats
    extremes: Points
    side: Side


@dataclass(frozen=True, eq=False, kw_only=True)
class RocSide(_Side):
    """One of the two curves that bound a ROC curve.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order, after the point (0, 0).
    fpr, tpr : ndarray
        False and true positive rates of the bounding table at each cutoff. A rate may decrease from
        one cutoff to the next where a known row is added but no unlabeled one.
    extremes : (ndarray, ndarray)
        Each rate at its best (upper curve) or worst (lower curve) over the whole range of beta;
        `fpr` and `tpr` themselves if beta is a single number.
    side : {"lower", "upper"}
    """

    fpr: Floats
    tpr: Floats

    @cached_property
    def auc(self) -> float:
        """Area by the trapezoidal rule, with points sorted by false positive rate."""
        return _trapezoids(*_in_order(self.fpr, self.tpr))

    @cached_property
    def envelope_auc(self) -> float:
        """Area under `envelope`."""
        return _trapezoids(*self.envelope())

    def envelope(self) -> Points:
        """Return the monotone curve that no ROC curve within the bounds crosses.

        Points are sorted by false positive rate; the upper curve is the running maximum of the true
        positive rate from the left, and the lower curve its running minimum from the right.
        """
        x, y = _in_order(*self.extremes)
        if self.side == "upper":
            return x, np.maximum.accumulate(y)
        return x, np.minimum.accumulate(y[::-1])[::-1]


@dataclass(frozen=True, eq=False, kw_only=True)
class PrSide(_Side):
    """One of the two curves that bound a precision-recall curve.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order.
    recall, precision : ndarray
        Rates of the bounding table at each cutoff.
    extremes : (ndarray, ndarray)
        Each rate at its best (upper curve) or worst (lower curve) over the whole range of beta;
        `recall` and `precision` themselves if beta is a single number.
    side : {"lower", "upper"}
    """

    recall: Floats
    precision: Floats

    @cached_property
    def auc(self) -> float:
        """Area by the trapezoidal rule, with points sorted by recall and a flat first segment."""
        x, y = _in_order(self.recall, self.precision)
        return _trapezoids(x, y) + float(x[0] * y[0])

    @cached_property
    def envelope_auc(self) -> float:
        """Area under the steps of `envelope`, which is the average interpolated precision."""
        x, y = self.envelope()
        return float((np.diff(x, prepend=0.0) * y).sum())

    def envelope(self) -> Points:
        """Return interpolated precision: the largest precision at this recall or higher.

        The interpolated precision of the true ranking lies between the two envelopes. Plain
        precision has no useful lower envelope because the top-ranked row may be a negative.
        """
        x, y = _in_order(*self.extremes)
        return x, np.maximum.accumulate(y[::-1])[::-1]


S = TypeVar("S", RocSide, PrSide)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _Bounds(ResultTable):
    """Base class of results that state their assumptions."""

    assumes: Assumptions

    def to_dict(self) -> dict[str, object]:
        """Return plain lists, numbers and text, with the assumptions."""
        return super().to_dict() | self.assumes.to_dict()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _TwoCurves(_Bounds, Generic[S]):
    """Base class of the bounds on ROC and PR curves."""

    lower: S
    upper: S
    _facts = ("auc", "envelope_auc")
    _rates: ClassVar[tuple[str, str]]

    @property
    def auc(self) -> tuple[float, float]:
        """Areas under both curves, with points sorted, as in the paper."""
        return self.lower.auc, self.upper.auc

    @property
    def envelope_auc(self) -> tuple[float, float]:
        """Areas under both envelopes, which are conservative and slightly wider."""
        return self.lower.envelope_auc, self.upper.envelope_auc

    def columns(self) -> dict[str, Floats]:
        """Return both curves as named columns."""
        table = {"threshold": self.lower.threshold}
        for side in (self.lower, self.upper):
            table |= {f"{side.side}_{rate}": getattr(side, rate) for rate in self._rates}
        return table


class RocBounds(_TwoCurves[RocSide]):
    """Bounds on a ROC curve.

    Attributes
    ----------
    lower, upper : RocSide
        The bounding curves.
    assumes : Assumptions
        Beta, band, level, basis and table that the bounds are based on.
    auc, envelope_auc : (float, float)
        Areas under the two unmodified curves, and under their monotone envelopes.
    """

    _rates = ("fpr", "tpr")


class PrBounds(_TwoCurves[PrSide]):
    """Bounds on a precision-recall curve.

    Attributes
    ----------
    lower, upper : PrSide
        The bounding curves.
    assumes : Assumptions
        Beta, band, level, basis and table that the bounds are based on.
    auc, envelope_auc : (float, float)
        Areas under the two unmodified curves, and under interpolated precision.
    """

    _rates = ("recall", "precision")


def _in_order(x: Floats, y: Floats) -> Points:
    """Return points sorted by x; points with equal x keep their order, in which y increases."""
    if np.all(x[1:] >= x[:-1]):
        return x, y
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _trapezoids(x: Floats, y: Floats) -> float:
    area = 0.0
    for start in range(0, x.size - 1, _BLOCK):
        part = slice(start, start + _BLOCK + 1)
        area += float((np.diff(x[part]) * (y[part][1:] + y[part][:-1])).sum())
    return area / 2.0


_BETWEEN: Final = 7  # Number of latent-positive counts tried between the ends of a range.
# Metrics of the contingency table that are not registered.
_MORE: Final = {
    "jaccard": Rule(lambda t, p: (0.0, t, p, 1.0 - t)),
    "youden": Rule(lambda t, p: (t - p, 0.0, 1.0, -1.0), low=-1.0),
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ContingencyBounds(_Bounds):
    """Bounding contingency tables at each cutoff.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order; a row with a score at or above the cutoff counts as positive.
    lower : Tables
        Tables with the least upper bound on the false positive rate, which form the lower curve.
    upper : Tables
        Tables with its greatest lower bound, which form the upper curve.
    assumes : Assumptions
        Beta, band, level, basis and table that the bounds are based on.
    """

    threshold: Floats
    lower: Tables
    upper: Tables

    def columns(self) -> dict[str, Floats]:
        """Return all entries as named columns."""
        table = {"threshold": self.threshold}
        for side, tables in (("lower", self.lower), ("upper", self.upper)):
            table |= {f"{side}_{cell}": getattr(tables, cell) for cell in ("tp", "fp", "fn", "tn")}
        return table


def contingency_bounds(
    scores: PUScores, *, threshold: ArrayLike | None = None, **options: Unpack[BoundOptions]
) -> ContingencyBounds:
    """Return the tables with the smallest and largest false positive rates (Theorem 1, Eq. 12).

    Parameters
    ----------
    scores : PUScores
    threshold : float or array-like, optional
        Cutoffs; scores at or above a cutoff count as positive. By default, every distinct score.
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
    answers = [
        ContingencyBounds(
            threshold=problem.threshold,
            lower=_chosen_tables(problem, "lower"),
            upper=_chosen_tables(problem, "upper"),
            assumes=problem.assumes,
        )
        for problem in pose(scores, **options, threshold=threshold)
    ]
    return _tightest(
        answers, lambda b: _mean(b.lower.fpr - b.upper.fpr + b.upper.tpr - b.lower.tpr)
    )


def _chosen_tables(problem: Problem, side: Side) -> Tables:
    parts = [
        _chosen(list(part.candidates(side)), side, problem.moved) for _, part in problem.blocks()
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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MetricBounds(_Bounds):
    """Bounds on a metric at each cutoff.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order; a row with a score at or above the cutoff counts as positive.
    low, high : ndarray
        Bounds; nan where the metric is undefined.
    metric : str
    assumes : Assumptions
        Beta, band, level, basis and table that the bounds are based on.
    """

    threshold: Floats
    low: Floats
    high: Floats
    metric: str
    _facts = ("metric",)

    def at(self, threshold: float) -> tuple[float, float]:
        """Return the bounds at a threshold, which need not be a cutoff itself."""
        row = int(np.searchsorted(-self.threshold, -threshold, side="right")) - 1
        if row < 0:
            msg = (
                f"must not exceed the largest cutoff {self.threshold[0]:g}, got "
                f"{threshold!r}: no row lies at or above it."
            )
            raise InputError("threshold", msg)
        return float(self.low[row]), float(self.high[row])


def metric_bounds(
    scores: PUScores,
    metric: str | TableMetric,
    *,
    threshold: ArrayLike | None = None,
    **options: Unpack[BoundOptions],
) -> MetricBounds:
    r"""Return bounds on any metric of the contingency table (Claesen et al., Section 4).

    At a given cutoff, the number of rows above it is fixed and, for a given beta, so is the total
    number of positives. Only the number of positives above the cutoff is unknown, and the two
    tables of `roc_bounds` contain its smallest and largest values. A metric that is monotone in
    this number, as are all the metrics named here, attains its extremes at these two tables. For
    an interval of beta, the search covers its ends, the two values where clipping (Eq. 11) begins,
    and seven values in between.

    Parameters
    ----------
    scores : PUScores
    metric : str or callable
        A metric in `noneg.metrics.METRICS` that is based on the confusion matrix, such as
        "accuracy", "precision" or "mcc"; "f1", "jaccard" or "youden"; or a function of true
        positives, false positives, false negatives and true negatives (arrays) that is monotone in
        the number of true positives when row and column sums are fixed.
    threshold : float or array-like, optional
        Cutoffs; scores at or above a cutoff count as positive. By default, every distinct score.
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
    answers = [
        _bound(problem, function, name) for problem in pose(scores, **options, threshold=threshold)
    ]
    return _tightest(answers, lambda bounds: _mean(bounds.high - bounds.low))


def _find(metric: str | TableMetric) -> tuple[str, TableMetric]:
    if callable(metric):
        return getattr(metric, "__name__", "metric"), metric
    rules = table_rules()
    if metric not in rules:
        known = ", ".join(rules)
        msg = f"must be one of {known}, or a function of (tp, fp, fn, tn), got {metric!r}."
        raise InputError("metric", msg)
    return metric, rules[metric].of_table


def table_rules() -> dict[str, Rule]:
    """Return the contingency-table metrics by name."""
    named = registered_rules()
    aliases = {short: named[name] for short, name in ALIASES.items()}
    return dict(sorted((_MORE | named | aliases).items()))


def _bound(problem: Problem, function: TableMetric, name: str) -> MetricBounds:
    low = np.full(problem.threshold.size, np.nan)
    high = low.copy()
    for place, part in problem.blocks():
        for tables in _tables(part):
            with np.errstate(divide="ignore", invalid="ignore"):
                value = function(tables.tp, tables.fp, tables.fn, tables.tn)
            np.fmin(low[place], value, out=low[place])
            np.fmax(high[place], value, out=high[place])
    return MetricBounds(
        threshold=problem.threshold,
        low=low,
        high=high,
        metric=name,
        assumes=problem.assumes,
    )


def _tables(problem: Problem) -> Iterator[Tables]:
    low, high = problem.latent
    between = np.unique(np.linspace(low, high, _BETWEEN + 2).round())[1:-1]
    for side in _SIDES:
        yield from problem.candidates(side)
        for latent in between:
            yield problem.tables(side, float(latent))


def _mean(width: Floats) -> float:
    known = width[~np.isnan(width)]
    return float(known.mean()) if known.size else np.inf


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RankCdf(_Bounds):
    """Share of the known positives at or above each cutoff, with its band.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order.
    rank : ndarray
        Number of rows at or above each cutoff.
    share, low, high : ndarray
        The rank CDF, T_lb and T_ub.
    unlabeled : ndarray
        Share of the unlabeled rows at or above each cutoff.
    assumes : Assumptions
    """

    threshold: Floats
    rank: Floats
    share: Floats
    low: Floats
    high: Floats
    unlabeled: Floats

    @property
    def better_than_random(self) -> Flags:
        """Cutoffs above which positives are more common than elsewhere (Lemma 4, case a)."""
        return self.share > self.unlabeled

    def fpr_by_beta(self, beta: float) -> Floats:
        r"""Return the derivative of the false positive rate with respect to beta.

        :math:`(|\mathrm{head}(U, r)|/|U| - T(r)) / (1 - \beta)^2` at the rank CDF itself: negative
        where the ranking is better than random. The paper's Eqs. 15 and 20 omit the first
        :math:`|U|`.
        """
        slope: Floats = (self.unlabeled - self.share) / (1.0 - beta) ** 2
        return slope

    def precision_by_beta(self) -> Floats:
        r"""Return the derivative with respect to beta of precision among unlabeled rows (Eq. 21).

        :math:`T(r)|U| / |\mathrm{head}(U, r)|`, never negative; nan where no unlabeled row lies
        above.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            slope: Floats = self.share / self.unlabeled
        return np.where(self.unlabeled > 0.0, slope, np.nan)


def rank_cdf(
    scores: PUScores,
    *,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> RankCdf:
    r"""Return the rank CDF of the known positives with its band (Claesen et al., Eqs. 6 and 14).

    The rank CDF is the true positive rate when all rows down to a given rank are predicted
    positive.

    Parameters
    ----------
    scores : PUScores
        From the two-sample or one-sample setting; labeled data have no latent positives.
    band, level, known_negatives, resamples, seed
        As in `noneg.performance.roc_bounds`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> rank_cdf(scores).share
    array([0.5, 0.5, 1. , 1. , 1. , 1. ])
    """
    if not scores.hidden:
        rule = "must have unlabeled rows for a band on their positives, got labeled data"
        raise InputError(
            "scores", rule, remedy="The ROC curve of labeled data is known: use roc_bounds."
        )
    (problem,) = pose(
        scores,
        band=band,
        level=level,
        known_negatives=known_negatives,
        resamples=resamples,
        seed=seed,
    )
    share = problem.groups[0].share()[0][problem.rows[0]]
    return RankCdf(
        threshold=problem.threshold,
        rank=problem.known(0) + problem.known(1) + problem.unlabeled,
        share=share,
        low=problem.band_at(0),
        high=problem.band_at(1),
        unlabeled=problem.unlabeled / problem.n_unlabeled,
        assumes=problem.assumes,
    )
