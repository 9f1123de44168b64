"""Bounds on ROC and PR curves from positives and unlabeled rows (Claesen et al. 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.performance.bounding_curves import PrBounds, PrSide, RocBounds, RocSide
from noneg.performance.contingency import chosen, extreme
from noneg.performance.posing import Options, pose, tightest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.performance.bands import Band
    from noneg.performance.contingency import Basis, Problem, Rate, Side, Table
    from noneg.performance.posing import Beta
    from noneg.scores import PUScores

_SIDES: tuple[Side, Side] = ("lower", "upper")


def roc_bounds(  # noqa: PLR0913
    scores: PUScores,
    *,
    beta: Beta = None,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    basis: Basis = "positives",
    table: Table | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> RocBounds:
    r"""Return curves between which the ROC curve of all rows lies (Claesen et al., Section 5).

    Known positives, known negatives and unlabeled rows are ranked together. If positives were
    labelled at random, the latent positives among the :math:`|U|` unlabeled rows follow the rank
    CDF of the known ones, up to a band :math:`T_{lb} \le \mathrm{TPR} \le T_{ub}`. At each cut-off
    :math:`\lceil T_{ub}\,\beta|U| \rceil` latent positives above it give the least false positive
    rate, :math:`\lfloor T_{lb}\,\beta|U| \rfloor` the greatest (Theorem 1, Eqs. 10-13); with
    :math:`|P_U| = \beta|U|` rounded to a whole number. Labelled data hides nothing: both curves are
    the ROC curve.

    Parameters
    ----------
    scores : PUScores
    beta : float or (float, float), optional
        Share of positives among the unlabeled rows, or an interval of it; by default what the prior
        of `scores` and its interval imply (`latent_fraction`). Of an interval, the smaller end
        bounds the curve from below and the larger from above wherever the ranking is better than
        random, and the other way round elsewhere (Lemma 4).
    band : {"exact", "pointwise", "dkw", "bootstrap", "prediction"}
        Kind of band; see Notes.
    level : float
        Nominal coverage of the band: at each cut-off, and of all together with "dkw".
    known_negatives : array-like, optional
        Scores of rows known to be negative, beside those of `scores`. If they were taken out of the
        sample that `scores` holds, pass the `beta` of the rows that remain.
    basis : {"positives", "negatives", "tighter"}
        Whose rank CDF the bounds rest on: known positives; known negatives, which exchanges the
        classes and beta with 1 - beta (Appendix C); or whichever gives the smaller range of areas.
    table : {"all", "unlabeled"}, optional
        Which rows are counted; all by default. In the two-sample setting the unlabeled rows alone
        are the sample of everyone.
    resamples, seed : int
        For the band "bootstrap".

    Returns
    -------
    RocBounds

    Notes
    -----
    "pointwise" takes binomial quantiles, the limit of infinitely many bootstrap resamples (the
    paper's band); "bootstrap" resamples. Both have no width where the rank CDF is 0 or 1. "exact"
    (Clopper-Pearson) has, and "dkw" holds for the whole curve. These four bound the law of the
    positives; the latent ones scatter around it too. This is negligible if they are many times more
    than the known ones, and "prediction" allows for it otherwise.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> scores = world.draw(500, 5000, setting="one-sample", seed=1)
    >>> low, high = roc_bounds(scores).auc
    >>> print(round(low, 3), round(high, 3))
    0.872 0.947
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
        prevalence=False,
    )
    answers = [_roc(problem) for problem in pose(scores, options)]
    return tightest(answers, lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _roc(problem: Problem) -> RocBounds:
    problem.check_classes(negatives=True)
    threshold = np.concatenate([[np.inf], problem.ranking.threshold])
    traces = [_Trace(problem, side, ("fpr", "tpr"), by=problem.moved, origin=1) for side in _SIDES]
    _follow(problem, traces)
    lower, upper = (
        RocSide(threshold=threshold, fpr=x, tpr=y, extremes=trace.extremes, side=trace.side)
        for trace in traces
        for x, y in [trace.points]
    )
    return RocBounds(lower=lower, upper=upper, assumes=problem.assumes)


def pr_bounds(  # noqa: PLR0913
    scores: PUScores,
    *,
    beta: Beta = None,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    basis: Basis = "positives",
    table: Table | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> PrBounds:
    r"""Return curves between which the precision-recall curve lies (Claesen et al., Section 5).

    The tables are those of `roc_bounds`. Precision depends on the share of positives among the rows
    counted, and rises with beta at every cut-off (Eq. 15): of an interval the smaller end gives the
    lower curve and the larger the upper one, whatever the ranking.

    Parameters
    ----------
    scores : PUScores
    beta, band, level, known_negatives, basis, resamples, seed
        As in `roc_bounds`.
    table : {"all", "unlabeled"}, optional
        Which rows are counted. By default all in the one-sample setting, as in the paper, and the
        unlabeled ones in the two-sample setting: positives collected separately say nothing about
        how common positives are.

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
    options = Options(
        beta=beta,
        band=band,
        level=level,
        known_negatives=known_negatives,
        basis=basis,
        table=table,
        resamples=resamples,
        seed=seed,
    )
    answers = [_pr(problem) for problem in pose(scores, options)]
    return tightest(answers, lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _pr(problem: Problem) -> PrBounds:
    problem.check_classes(negatives=False)
    counted = problem.counted()
    traces = [_Trace(counted, side, ("tpr", "precision"), by="precision") for side in _SIDES]
    _follow(counted, traces)
    lower, upper = (
        PrSide(
            threshold=counted.ranking.threshold,
            recall=x,
            precision=y,
            extremes=trace.extremes,
            side=trace.side,
        )
        for trace in traces
        for x, y in [trace.points]
    )
    return PrBounds(lower=lower, upper=upper, assumes=problem.assumes)


class _Trace:
    """Two rates along the ranking, and each at its own extreme over all beta.

    Tables are chosen by one of the rates, so this one is at its extreme anyway. The first `origin`
    points are left at (0, 0).
    """

    def __init__(
        self, problem: Problem, side: Side, rates: tuple[Rate, Rate], *, by: Rate, origin: int = 0
    ) -> None:
        size = problem.ranking.threshold.size + origin
        wide = problem.latent[0] < problem.latent[1]
        self.side, self.rates, self.by, self.origin = side, rates, by, origin
        self.points = x, y = np.zeros(size), np.zeros(size)
        self.extremes = (
            np.zeros(size) if wide and rates[0] != by else x,
            np.zeros(size) if wide and rates[1] != by else y,
        )

    def write(self, place: slice, part: Problem) -> None:
        """Fill in the points of a block of cut-offs."""
        candidates = list(part.candidates(self.side))
        tables = chosen(candidates, self.side, self.by)
        for rate, point, end in zip(self.rates, self.points, self.extremes, strict=True):
            point[self.origin :][place] = getattr(tables, rate)
            if end is not point:
                end[self.origin :][place] = extreme(candidates, self.side, rate)


def _follow(problem: Problem, traces: list[_Trace]) -> None:
    for place, part in problem.blocks():
        for trace in traces:
            trace.write(place, part)
