"""Both laws above a few hundred thresholds: curves, tables and bounds for every prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import order_statistics
from noneg.intervals import tail_means
from noneg.performance.bands import Options, pose
from noneg.performance.bounds import contingency_bounds, pr_bounds, roc_bounds
from noneg.registry import registered_rules
from noneg.rules import labelled_shares, pu_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.intervals import LawMeans
    from noneg.performance.bands import Side
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

EVEN = 100  # steps of thresholds from 0 to 1
QUANTILES = 60  # thresholds that cut off equal shares of the rows
TOP = 60  # thresholds among the highest scores, where few rows are flagged

# Metrics that the threshold explorer shows with an interval.
EXPLORED = ("precision", "recall", "f_beta", "specificity", "false_positive_rate")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tails:
    """Shares of both laws at or above thresholds, with what their intervals are made of.

    Attributes
    ----------
    threshold : ndarray
        Rising.
    tpr, ppr : ndarray
        Shares of the positive and of the marginal law with ``s >= threshold``.
    tpr_low, tpr_high, ppr_low, ppr_high, correlation : ndarray
        Their own limits, and how they vary together. Neither depends on the prior.
    limits : dict of str to (ndarray, ndarray)
        Intervals of the metrics in `EXPLORED` where these numbers do not tell them: of labelled
        data, and for every prior in an interval.
    """

    threshold: Floats
    tpr: Floats
    ppr: Floats
    tpr_low: Floats
    tpr_high: Floats
    ppr_low: Floats
    ppr_high: Floats
    correlation: Floats
    limits: dict[str, tuple[Floats, Floats]]

    def to_dict(self) -> dict[str, object]:
        """Return plain lists."""
        names = ("threshold", "tpr", "ppr", "tpr_low", "tpr_high", "ppr_low", "ppr_high")
        return {name: getattr(self, name).tolist() for name in (*names, "correlation")} | {
            "limits": {
                name: [low.tolist(), high.tolist()] for name, (low, high) in self.limits.items()
            }
        }


def tails(scores: PUScores, *, level: float) -> Tails:
    """Return both laws above `thresholds`."""
    cuts = thresholds(scores)
    means = [tail_means(scores, [cut]) for cut in cuts]
    kind = labelled_shares if scores.setting == "labelled" else pu_shares
    shares = [kind(scores, one, level) for one in means]
    return Tails(
        threshold=cuts,
        tpr=np.array([one.positive[0] for one in means]),
        ppr=np.array([one.marginal[0] for one in means]),
        tpr_low=np.array([one.low[0] for one in shares]),
        tpr_high=np.array([one.high[0] for one in shares]),
        ppr_low=np.array([one.low[1] for one in shares]),
        ppr_high=np.array([one.high[1] for one in shares]),
        correlation=np.array([one.correlation[0, 1] for one in shares]),
        limits=_limits(scores, means, level),
    )


def _limits(
    scores: PUScores, means: list[LawMeans], level: float
) -> dict[str, tuple[Floats, Floats]]:
    if scores.setting != "labelled" and scores.prior_interval is None:
        return {}
    out: dict[str, tuple[Floats, Floats]] = {}
    for name, rule in registered_rules(EXPLORED).items():
        low, high = np.array([rule.limits(scores, one, level) for one in means]).T
        out[name] = low, high
    return out


def thresholds(scores: PUScores) -> Floats:
    """Return even steps, quantiles of the marginal sample, and the scores at its very top."""
    even = np.arange(EVEN + 1) / EVEN
    n = scores.effective_marginal
    shares = np.concatenate(
        [np.arange(1, QUANTILES) / QUANTILES, 1.0 - np.geomspace(1.0 / min(n, 1e6), 0.5, TOP)]
    )
    known = scores.marginal_quantiles(shares)
    if known is None:
        known = order_statistics(scores, np.maximum(np.floor(shares * n), 1.0))
    return np.unique(np.concatenate([even, known]))


@dataclass(frozen=True, kw_only=True, eq=False)
class RankBounds:
    """What bounds on the ROC and PR curves are made of (Claesen et al. 2015), at `Tails.threshold`.

    Attributes
    ----------
    unlabeled, known : ndarray
        Unlabeled rows and labelled positives at or above each threshold.
    low, high : ndarray
        Band on the rank CDF of the positives, T_lb and T_ub.
    n_unlabeled, n_known : float
        Rows in all.
    counts_known : bool
        Whether the table behind precision counts the labelled positives, too.
    lower, upper : dict of str to ndarray
        Bounding curves at the given prior, or over its interval: "fpr" and "tpr" of the ROC curve,
        "recall" and "precision".
    auroc, average_precision : (float, float)
        Areas under the bounding curves through every score, at the given prior.
    """

    unlabeled: Floats
    known: Floats
    low: Floats
    high: Floats
    n_unlabeled: float
    n_known: float
    counts_known: bool
    lower: dict[str, Floats]
    upper: dict[str, Floats]
    auroc: tuple[float, float]
    average_precision: tuple[float, float]

    def to_dict(self) -> dict[str, object]:
        """Return plain lists and numbers."""
        names = ("unlabeled", "known", "low", "high")
        return {name: getattr(self, name).tolist() for name in names} | {
            "n_unlabeled": self.n_unlabeled,
            "n_known": self.n_known,
            "counts_known": self.counts_known,
        }


def rank_bounds(scores: PUScores, cuts: Floats, *, level: float) -> RankBounds | None:
    """Return what bounds need at thresholds; None where bounds count no rows or hide nothing."""
    if scores.setting == "labelled" or not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    options = Options(level=level, threshold=cuts)
    try:
        (problem,) = pose(scores, options)
        areas = [find(scores, level=level).auc for find in (roc_bounds, pr_bounds)]
    except ValueError:  # importance weights, which are no rows to count
        return None
    ranking = problem.ranking
    return RankBounds(
        unlabeled=ranking.unlabeled[::-1],
        known=ranking.known(0)[::-1],
        low=problem.band_at(0)[::-1],
        high=problem.band_at(1)[::-1],
        n_unlabeled=ranking.n_unlabeled,
        n_known=ranking.groups[0].total,
        counts_known=problem.assumes.table == "all",
        lower=_curves(scores, cuts, "lower", level),
        upper=_curves(scores, cuts, "upper", level),
        auroc=areas[0],
        average_precision=areas[1],
    )


def _curves(scores: PUScores, cuts: Floats, side: Side, level: float) -> dict[str, Floats]:
    everything = getattr(contingency_bounds(scores, threshold=cuts, table="all", level=level), side)
    counted = getattr(contingency_bounds(scores, threshold=cuts, level=level), side)
    return {
        "fpr": everything.fpr[::-1],
        "tpr": everything.tpr[::-1],
        "recall": counted.tpr[::-1],
        "precision": counted.precision[::-1],
    }


def mean_pair(means: LawMeans) -> tuple[float, float, list[float]]:
    """Return a risk's two means, and their variances and covariance."""
    c = means.covariance
    return (
        float(means.positive[0]),
        float(means.marginal[0]),
        [float(c[0, 0]), float(c[0, 1]), float(c[1, 1])],
    )
