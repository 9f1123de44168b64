"""The reliability diagram: how often a score of s is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import betaincinv

from noneg.bins import Binned, bin_scores
from noneg.checks import check_level
from noneg.errors import InputError
from noneg.results import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    FloatLimits = tuple[Floats, Floats]

Band = Literal["pointwise", "simultaneous"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability(Table):
    """Points of a reliability diagram with their intervals; bins without marginal rows left out.

    Attributes
    ----------
    score : ndarray
        Mean score of the marginal sample in each bin.
    frequency, low, high : ndarray
        Share of positives and its interval, as estimated: noise or a wrong prior may take them
        above 1. Only drawing clips them.
    left, right : ndarray
        Edges of the bins.
    positive, marginal : ndarray
        Mass of both laws in each bin.
    level : float
    band : {"pointwise", "simultaneous"}
        Whether `level` holds for each point, or for all of them together.
    n_bins : int
        Bins asked for; fewer points mean empty or coinciding bins.
    """

    _names = ("left", "right", "score", "frequency", "low", "high", "positive", "marginal")

    score: Floats
    frequency: Floats
    low: Floats
    high: Floats
    left: Floats
    right: Floats
    positive: Floats
    marginal: Floats
    level: float
    band: Band
    n_bins: int

    @property
    def gap(self) -> Floats:
        """Frequency minus score: over-confidence is negative."""
        return self.frequency - self.score

    @property
    def n_above_one(self) -> int:
        """Points above 1 by more than their interval.

        A sign of too large a prior, or of positives that are no random sample of all positives.
        """
        return int((self.low > 1.0).sum())

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain lists, numbers and text."""
        return super().to_dict() | {"level": self.level, "band": self.band, "n_bins": self.n_bins}


def reliability(
    scores: PUScores,
    *,
    bins: int | Literal["optimal"] = 15,
    binning: Binning = "width",
    edges: ArrayLike | None = None,
    level: float = 0.95,
    band: Band = "pointwise",
) -> Reliability:
    r"""Return the reliability diagram of PU or labelled scores (PU-ECE paper, Appendix G).

    The frequency of a bin is :math:`\pi\,\hat\mu_+(I_b)/\hat\mu(I_b)`. Its interval combines exact
    binomial (Clopper-Pearson) limits of both masses on the log scale (MOVER, Donner & Zou 2012);
    for labelled data it is the Clopper-Pearson interval of the bin's share of positives.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the intervals hold for every prior in it.
    bins, binning, edges
        As in `noneg.ece`; equal widths read best in a diagram.
    level : float
        Nominal coverage.
    band : {"pointwise", "simultaneous"}
        For each point, or for all together (Bonferroni).

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> reliability(scores, bins=2).frequency
    array([0., 1.])
    """
    level = check_level(level)
    if band not in ("pointwise", "simultaneous"):
        raise InputError("band", "must be 'pointwise' or 'simultaneous'", value=band)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    shown = binned.marginal > 0.0
    alpha = (1.0 - level) / (shown.sum() if band == "simultaneous" else 1)
    low, high = _limits(scores, binned, shown, alpha)
    return Reliability(
        score=binned.mean_score[shown],
        frequency=binned.frequency[shown],
        low=low,
        high=high,
        left=binned.edges[:-1][shown],
        right=binned.edges[1:][shown],
        positive=binned.positive[shown],
        marginal=binned.marginal[shown],
        level=level,
        band=band,
        n_bins=binned.n_bins,
    )


def _limits(
    scores: PUScores, binned: Binned, shown: NDArray[np.bool_], alpha: float
) -> FloatLimits:
    positive, marginal = binned.positive[shown], binned.marginal[shown]
    n_marginal, n_positive = scores.effective_marginal, scores.effective_positive
    if scores.prior_is_estimated:
        return clopper_pearson(binned.frequency[shown], n_marginal * marginal, alpha)
    correlation = np.zeros_like(positive)
    if scores.pooled:
        # The labelled rows are counted in both masses.
        with np.errstate(divide="ignore", invalid="ignore"):
            shared = (1.0 - positive) / (n_marginal * marginal)
            spread = np.sqrt((1.0 - positive) / (n_positive * positive))
            spread *= np.sqrt((1.0 - marginal) / (n_marginal * marginal))
            correlation = np.nan_to_num(np.minimum(shared / spread, 1.0), nan=0.0)
    low, high = ratio_limits(
        positive,
        clopper_pearson(positive, n_positive, alpha),
        marginal,
        clopper_pearson(marginal, n_marginal, alpha),
        correlation,
    )
    least, most = scores.prior_interval or (binned.prior, binned.prior)
    return least * low, most * high


def clopper_pearson(share: Floats, n: float | Floats, alpha: float) -> FloatLimits:
    """Return exact binomial limits of a share seen among n; counts need not be whole."""
    if np.isinf(np.max(n)):
        return share, share
    hits = np.asarray(share * n, dtype=np.float64)
    misses = np.maximum(n - hits, 0.0)
    low = np.where(hits > 0.0, betaincinv(np.maximum(hits, 1e-300), misses + 1.0, alpha / 2), 0.0)
    high = np.where(
        misses > 0.0, betaincinv(hits + 1.0, np.maximum(misses, 1e-300), 1.0 - alpha / 2), 1.0
    )
    return low, high


def ratio_limits(
    top: Floats,
    top_limits: FloatLimits,
    bottom: Floats,
    bottom_limits: FloatLimits,
    correlation: Floats | float = 0.0,
) -> FloatLimits:
    """Return limits of top / bottom by variance recovery on the log scale (MOVER)."""

    def reach(a: Floats, b: Floats) -> Floats:
        return np.sqrt(np.maximum(a * a + b * b - 2.0 * correlation * a * b, 0.0))

    with np.errstate(divide="ignore", invalid="ignore"):
        value = top / bottom
        down = reach(np.log(top / top_limits[0]), np.log(bottom_limits[1] / bottom))
        up = reach(np.log(top_limits[1] / top), np.log(bottom / bottom_limits[0]))
        low, high = value * np.exp(-down), value * np.exp(up)
    # Without a positive in the bin there is no logarithm; both limits are taken at their worst.
    worst = np.where(top > 0.0, high, top_limits[1] / bottom_limits[0])
    return np.where(top > 0.0, low, 0.0), worst
