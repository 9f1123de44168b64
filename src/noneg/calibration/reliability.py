"""The reliability diagram: how often a score of s is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import betaincinv

from noneg.bins import Binned, bin_scores
from noneg.checks import check_level
from noneg.errors import InputError
from noneg.results import Table
from noneg.selection import density_ends, is_selected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    FloatLimits = tuple[Floats, Floats]
    Share = Callable[[Floats], Floats]

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
        With a ``prior_interval`` the intervals hold for every prior in it, and with a
        ``selection`` for all that hidden positives may look like.
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
    marginal, frequency = binned.marginal[shown], binned.frequency[shown]
    if scores.prior_is_estimated:
        return clopper_pearson(frequency, scores.effective_marginal * marginal, alpha)
    positive, correlation = binned.positive[shown], _correlation(scores, binned, shown)
    top = clopper_pearson(positive, scores.effective_positive, alpha)
    bottom = clopper_pearson(marginal, scores.effective_marginal, alpha)
    least, most = scores.prior_interval or (binned.prior, binned.prior)
    if not is_selected(scores):
        low, high = ratio_limits(positive, top, marginal, bottom, correlation)
        return least * low, most * high
    parts = {"positive": positive, "marginal": marginal, "correlation": correlation}
    band = {"top": top, "bottom": bottom}
    boxes = [(prior, density_ends(scores, prior)) for prior in (least, most)]
    return selected_limits(parts, band, boxes, frequency)


def selected_limits(
    parts: Mapping[str, Any],
    band: Mapping[str, FloatLimits],
    boxes: Sequence[tuple[float, tuple[float, float]]],
    frequency: Floats,
) -> FloatLimits:
    """Return limits of the frequencies for some priors, each with the densities it allows."""
    ends = []
    for prior, densities in boxes:
        for share in mass_range(densities):
            limits = share(band["top"][0]), share(band["top"][1])
            found = ratio_limits(
                share(parts["positive"]),
                limits,
                parts["marginal"],
                band["bottom"],
                parts["correlation"],
            )
            ends.append(prior * np.stack(found))
    # No bin holds more positives than rows.
    low, high = np.min(ends, axis=0)[0], np.minimum(np.max(ends, axis=0)[1], 1.0)
    return np.minimum(low, frequency), np.maximum(high, frequency)


def _correlation(scores: PUScores, binned: Binned, shown: NDArray[np.bool_]) -> Floats:
    """Return how the masses of a bin vary together."""
    positive, marginal = binned.positive[shown], binned.marginal[shown]
    if not (scores.hidden and scores.pooled):
        return np.zeros_like(positive)
    n_marginal, n_positive = scores.effective_marginal, scores.effective_positive
    # The labelled rows are counted in both masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = (1.0 - positive) / (n_marginal * marginal)
        spread = np.sqrt((1.0 - positive) / (n_positive * positive))
        spread *= np.sqrt((1.0 - marginal) / (n_marginal * marginal))
        return np.nan_to_num(np.minimum(shared / spread, 1.0), nan=0.0)


def band_parts(scores: PUScores, binned: Binned, level: float) -> dict[str, Any]:
    """Return what the bands of a diagram are made of, for a page that moves them."""
    shown = binned.marginal > 0.0
    masses = binned.positive[shown], binned.marginal[shown]
    rows = scores.effective_positive, scores.effective_marginal
    parts: dict[str, Any] = {"positive": masses[0], "marginal": masses[1]}
    parts["correlation"] = _correlation(scores, binned, shown)
    for band, share in (("pointwise", 1), ("simultaneous", int(shown.sum()))):
        top, bottom = (
            clopper_pearson(x, n, (1.0 - level) / share) for x, n in zip(masses, rows, strict=True)
        )
        parts[band] = {"top": top, "bottom": bottom}
    return parts


def mass_range(ends: tuple[float, float]) -> tuple[Share, Share]:
    """Return the least and the most positives in a bin, as functions of the labelled share there.

    Parameters
    ----------
    ends : (float, float)
        Smallest and largest density of the positives against the labelled law.

    Examples
    --------
    >>> least, most = mass_range((0.5, 2.0))
    >>> least(np.array([0.2, 0.9])), most(np.array([0.2, 0.9]))
    (array([0.1, 0.8]), array([0.4 , 0.95]))
    """
    low, high = ends
    return (
        lambda share: np.maximum(low * share, 1.0 - high * (1.0 - share)),
        lambda share: np.minimum(high * share, 1.0 - low * (1.0 - share)),
    )


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
