"""Bounds on ROC and PR curves from positives and unlabeled rows (Claesen et al. 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.performance.bounding_curves import PrBounds, PrSide, RocBounds, RocSide
from noneg.performance.posing import Options, pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.performance.bands import Band
    from noneg.performance.contingency import Basis, Problem, Side, Table, Tables
    from noneg.performance.posing import Beta
    from noneg.scores import PUScores


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
    return min(answers, key=lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _roc(problem: Problem) -> RocBounds:
    sides = [_roc_side(problem, side) for side in ("lower", "upper")]
    return RocBounds(lower=sides[0], upper=sides[1], assumes=problem.assumes)


def _roc_side(problem: Problem, side: Side) -> RocSide:
    tables = problem.chosen(side, problem.moved)
    _check_classes(problem, tables)
    fpr, tpr = _from_origin(tables.fpr), _from_origin(tables.tpr)
    extremes = (fpr, tpr)
    if problem.latent[0] < problem.latent[1]:
        extremes = (
            _from_origin(problem.extreme(side, "fpr")),
            _from_origin(problem.extreme(side, "tpr")),
        )
    threshold = _from_origin(problem.ranking.threshold, np.inf)
    return RocSide(threshold=threshold, fpr=fpr, tpr=tpr, extremes=extremes, side=side)


def _from_origin(x: NDArray[np.float64], first: float = 0.0) -> NDArray[np.float64]:
    return np.concatenate([[first], x])


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
    return min(answers, key=lambda bounds: bounds.upper.auc - bounds.lower.auc)


def _pr(problem: Problem) -> PrBounds:
    sides = [_pr_side(problem, side) for side in ("lower", "upper")]
    return PrBounds(lower=sides[0], upper=sides[1], assumes=problem.assumes)


def _pr_side(problem: Problem, side: Side) -> PrSide:
    tables = problem.chosen(side, "precision")
    if not np.min(tables.positives) > 0.0:
        raise _no_row(problem, "positive")
    some = slice(int(np.searchsorted(tables.predicted, 1.0)), None)  # cut-offs with a row above
    recall, precision = tables.tpr[some], tables.precision[some]
    extremes = (recall, precision)
    if problem.latent[0] < problem.latent[1]:
        extremes = (problem.extreme(side, "tpr")[some], problem.extreme(side, "precision")[some])
    threshold = problem.ranking.threshold[some]
    return PrSide(
        threshold=threshold, recall=recall, precision=precision, extremes=extremes, side=side
    )


def _check_classes(problem: Problem, tables: Tables) -> None:
    if not np.min(tables.positives) > 0.0:
        raise _no_row(problem, "positive")
    if not np.min(tables.total - tables.positives) > 0.0:
        raise _no_row(problem, "negative")


def _no_row(problem: Problem, kind: str) -> ValueError:
    if problem.ranking.n_unlabeled == 0:
        return ValueError(
            f"'scores' must hold at least one {kind} row for a curve, got none. Add labelled rows."
        )
    low, high = problem.assumes.beta
    shown = f"{low:g}" if low == high else f"({low:g}, {high:g})"
    end = "larger" if kind == "positive" else "smaller"
    return ValueError(
        f"'beta' must leave at least one {kind} row for a curve, got {shown} of "
        f"{problem.ranking.n_unlabeled:,.0f} unlabeled rows. Pass a {end} beta, or table='all' "
        f"with known {kind} rows."
    )
