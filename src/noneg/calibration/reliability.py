"""Reliability diagrams: the frequency of positives as a function of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import gammaincinv

from noneg.bins import Binned, Binning, bin_scores, mass_edges, optimal_bin_count
from noneg.checks import check_choice, check_level
from noneg.intervals import z_score
from noneg.results import Table
from noneg.selection import density_ends, is_selected
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.scores import PUScores

    FloatLimits = tuple[Floats, Floats]
    Share = Callable[[Floats], Floats]

Band = Literal["pointwise", "simultaneous"]

FINE = 100  # Number of equal-width and of equal-mass bins that the smooth curve averages over.
WINDOWS = 81  # Number of points on the smooth curve.
NARROWEST = 0.01  # Narrowest window that the fine bins still resolve.


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reliability(Table):
    """Points of a reliability diagram with intervals; bins without marginal rows are left out.

    Attributes
    ----------
    score : ndarray
        Mean score of the marginal sample in each bin.
    frequency, low, high : ndarray
        Share of positives and its interval, as estimated: noise or a wrong prior may push them
        above 1. They are clipped only in plots.
    left, right : ndarray
        Edges of the bins.
    positive, marginal : ndarray
        Mass of both distributions in each bin.
    level : float
    band : {"pointwise", "simultaneous"}
        Whether `level` holds for each point separately or for all points jointly.
    n_bins : int
        Number of bins requested; there are fewer points if bins are empty or coincide.
    """

    left: Floats
    right: Floats
    score: Floats
    frequency: Floats
    low: Floats
    high: Floats
    positive: Floats
    marginal: Floats
    level: float
    band: Band
    n_bins: int

    @property
    def gap(self) -> Floats:
        """Frequency minus score; negative for overconfident scores."""
        return self.frequency - self.score

    @property
    def n_above_one(self) -> int:
        """Number of points whose whole interval lies above 1.

        A sign that the prior is too large, or that the labeled positives are not a random sample of
        all positives.
        """
        return int((self.low > 1.0).sum())

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain lists, numbers and text."""
        return super().to_dict() | {"level": self.level, "band": self.band, "n_bins": self.n_bins}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SmoothReliability(Table):
    """A smooth curve through a reliability diagram, with a pointwise band.

    Attributes
    ----------
    score : ndarray
        Mean score of the rows in each window, increasing.
    frequency, low, high : ndarray
        Share of positives in the window and its limits, as estimated; noise may push them above 1.
    width : float
        Standard deviation of a window, on a scale halfway between scores and ranks.
    level : float
    """

    score: Floats
    frequency: Floats
    low: Floats
    high: Floats
    width: float
    level: float


def smooth_reliability(
    scores: PUScores, *, width: float | None = None, level: float = 0.95
) -> SmoothReliability:
    r"""Return a smooth curve through the reliability diagram, with a pointwise band.

    The score and the share of positives are averaged over the same Gaussian windows, so calibrated
    scores lie on the diagonal no matter how wide the windows are. All windows have the same width
    on a scale halfway between scores and ranks: they are narrower where there are many rows, but
    never empty. The band combines limits for both weighted sums (Fay & Feuer 1997), in the same way
    as `reliability` combines the limits for its bins. It covers the smoothed curve, not every bend
    of the true curve.

    Parameters
    ----------
    scores : PUScores
        Evaluated at its prior; a different prior rescales the frequencies and limits.
    width : float, optional
        Standard deviation of a window. Defaults to three quarters of a bin width, with the number
        of bins from `noneg.bins.optimal_bin_count`.
    level : float
        Nominal coverage of the smoothed curve at each score.

    References
    ----------
    Fay & Feuer (1997), Confidence intervals for directly standardized rates; Blasiok & Nakkiran
    (2023), Smooth ECE, for smoothed diagrams.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> curve = smooth_reliability(scores)
    >>> bool(abs(curve.frequency - curve.score).max() < 0.2)
    True
    """
    level = check_level(level)
    endless = np.isinf(min(scores.n_positive, scores.n_marginal))
    width = width or max(NARROWEST, 0.75 / (FINE if endless else optimal_bin_count(scores)))
    fine = _fine_bins(scores)
    weight = _windows(fine, width)
    positive, marginal, score = (weight @ x for x in (fine.positive, fine.marginal, fine.score))
    kept = marginal > 0.0
    weight, positive, marginal, score = (x[kept] for x in (weight, positive, marginal, score))
    low, high = _smooth_limits(scores, fine, weight, 1.0 - level)
    return SmoothReliability(
        score=score / marginal,
        frequency=fine.prior * positive / marginal,
        low=fine.prior * low,
        high=fine.prior * high,
        width=width,
        level=level,
    )


def _fine_bins(scores: PUScores) -> Binned:
    """Return narrow bins whose edges combine equal-width and equal-mass bins."""
    enough = int(min(FINE, scores.n_marginal // 2))
    by_mass = mass_edges(scores, enough) if enough > 1 else np.array([0.0, 1.0])
    return bin_scores(scores, edges=np.union1d(np.linspace(0.0, 1.0, FINE + 1), by_mass))


def _windows(fine: Binned, width: float) -> Floats:
    """Return the weight of each fine bin in each window, at most 1."""
    below = np.cumsum(fine.marginal)
    ranks = (below - fine.marginal / 2.0) / below[-1]
    middles = (fine.edges[:-1] + fine.edges[1:]) / 2.0
    middles = np.where(fine.marginal > 0.0, np.nan_to_num(fine.mean_score), middles)
    place = (ranks + middles) / 2.0
    centers = np.linspace(place[fine.occupied].min(), place[fine.occupied].max(), WINDOWS)
    return np.exp(-0.5 * ((place - centers[:, None]) / width) ** 2)


def _smooth_limits(scores: PUScores, fine: Binned, weight: Floats, alpha: float) -> FloatLimits:
    """Return limits for the ratio of both distributions in each window, in units of the prior."""
    positive, marginal = weight @ fine.positive, weight @ fine.marginal
    if scores.prior_is_estimated:
        unit = fine.prior or 1.0
        rows = scores.effective_marginal * marginal**2 / (weight**2 @ fine.marginal)
        found = clopper_pearson(np.minimum(unit * positive / marginal, 1.0), rows, alpha)
        return found[0] / unit, found[1] / unit
    top = _sum_limits(weight, fine.positive, scores.effective_positive, alpha)
    bottom = _sum_limits(weight, fine.marginal, scores.effective_marginal, alpha)
    together = _correlation(scores, positive, marginal)
    return ratio_limits(positive, top, marginal, bottom, together)


def _sum_limits(weight: Floats, mass: Floats, n: float, alpha: float) -> FloatLimits:
    """Return limits for the mean weight of n rows (Fay & Feuer); weights must be at most 1."""
    if np.isinf(n):
        return weight @ mass, weight @ mass
    total, squares = np.maximum(n * (weight @ mass), 1e-300), n * (weight**2 @ mass)
    spread = np.maximum(squares, 1e-300)
    low = spread / total * gammaincinv(np.maximum(total**2 / spread, 1e-12), alpha / 2)
    high = (spread + 1.0) / (total + 1.0)
    high *= gammaincinv((total + 1.0) ** 2 / (spread + 1.0), 1.0 - alpha / 2)
    return low / n, high / n


def reliability(
    scores: PUScores,
    *,
    bins: int | Literal["optimal"] = 15,
    binning: Binning = "width",
    edges: ArrayLike | None = None,
    level: float = 0.95,
    band: Band = "pointwise",
) -> Reliability:
    r"""Return the reliability diagram of PU or labeled scores (PU-ECE paper, Appendix G).

    The frequency of a bin is :math:`\pi\,\hat\mu_+(I_b)/\hat\mu(I_b)`. Its interval combines exact
    binomial (Clopper-Pearson) limits for both masses on the log scale (MOVER, Donner & Zou 2012);
    for labeled data, it is the Clopper-Pearson interval for the share of positives in the bin.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the intervals hold for every prior in it; with a ``selection``,
        they hold for every distribution of hidden positives that it allows.
    bins, binning, edges
        As in `noneg.ece`; equal widths are easiest to read in a diagram.
    level : float
        Nominal coverage.
    band : {"pointwise", "simultaneous"}
        Coverage for each point separately, or for all points jointly (Bonferroni).

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> reliability(scores, bins=2).frequency
    array([0., 1.])
    """
    level = check_level(level)
    check_choice(band, "band", get_args(Band))
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


def _limits(scores: PUScores, binned: Binned, shown: Flags, alpha: float) -> FloatLimits:
    marginal, frequency = binned.marginal[shown], binned.frequency[shown]
    if scores.prior_is_estimated:
        return clopper_pearson(frequency, scores.effective_marginal * marginal, alpha)
    parts = _masses(scores, binned, shown)
    band = _mass_limits(scores, parts, alpha)
    least, most = scores.prior_set
    if not is_selected(scores):
        low, high = ratio_limits(
            parts["positive"], band["top"], marginal, band["bottom"], parts["correlation"]
        )
        return least * low, most * high
    boxes = [(prior, density_ends(scores, prior, band["errors"])) for prior in (least, most)]
    return selected_limits(parts, band, boxes, frequency)


def _masses(scores: PUScores, binned: Binned, shown: Flags) -> dict[str, Floats]:
    """Return the masses of both distributions in the bins, and their correlation."""
    positive, marginal = binned.positive[shown], binned.marginal[shown]
    correlation = _correlation(scores, positive, marginal)
    return {"positive": positive, "marginal": marginal, "correlation": correlation}


def _mass_limits(scores: PUScores, parts: Mapping[str, Floats], alpha: float) -> dict[str, Any]:
    """Return limits for the masses, and how many errors of the labeled share go with them."""
    return {
        "top": clopper_pearson(parts["positive"], scores.effective_positive, alpha),
        "bottom": clopper_pearson(parts["marginal"], scores.effective_marginal, alpha),
        "errors": z_score(1.0 - alpha),
    }


def selected_limits(
    parts: Mapping[str, Any],
    band: Mapping[str, FloatLimits],
    boxes: Sequence[tuple[float, tuple[float, float]]],
    frequency: Floats,
) -> FloatLimits:
    """Return limits for the frequencies over several priors and the densities each one allows."""
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
    # No bin has more positives than rows.
    low, high = np.min(ends, axis=0)[0], np.minimum(np.max(ends, axis=0)[1], 1.0)
    return np.minimum(low, frequency), np.maximum(high, frequency)


def _correlation(scores: PUScores, positive: Floats, marginal: Floats) -> Floats:
    """Return the correlation between the two masses of each bin."""
    if not (scores.hidden and scores.pooled):
        return np.zeros_like(positive)
    n_marginal, n_positive = scores.effective_marginal, scores.effective_positive
    # The labeled rows are counted in both masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = (1.0 - positive) / (n_marginal * marginal)
        spread = np.sqrt((1.0 - positive) / (n_positive * positive))
        spread *= np.sqrt((1.0 - marginal) / (n_marginal * marginal))
        return np.nan_to_num(np.minimum(shared / spread, 1.0), nan=0.0)


def band_parts(scores: PUScores, binned: Binned, level: float) -> dict[str, Any]:
    """Return the components of a diagram's bands, for a page that recomputes them."""
    shown, alpha = binned.marginal > 0.0, 1.0 - level
    parts = _masses(scores, binned, shown)
    return {
        **parts,
        "pointwise": _mass_limits(scores, parts, alpha),
        "simultaneous": _mass_limits(scores, parts, alpha / shown.sum()),
    }


def mass_range(ends: tuple[float, float]) -> tuple[Share, Share]:
    """Return the least and the most positives in a bin, as functions of the labeled share there.

    Parameters
    ----------
    ends : (float, float)
        Smallest and largest density of the positives with respect to the labeled distribution.

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


def ratio_limits(
    top: Floats,
    top_limits: FloatLimits,
    bottom: Floats,
    bottom_limits: FloatLimits,
    correlation: Floats | float = 0.0,
) -> FloatLimits:
    """Return limits for top / bottom by variance recovery on the log scale (MOVER)."""

    def reach(a: Floats, b: Floats) -> Floats:
        return np.sqrt(np.maximum(a * a + b * b - 2.0 * correlation * a * b, 0.0))

    with np.errstate(divide="ignore", invalid="ignore"):
        value = top / bottom
        down = reach(np.log(top / top_limits[0]), np.log(bottom_limits[1] / bottom))
        up = reach(np.log(top_limits[1] / top), np.log(bottom / bottom_limits[0]))
        low, high = value * np.exp(-down), value * np.exp(up)
    # Without positives in the bin, there is no logarithm; use the worst case of both limits.
    worst = np.where(top > 0.0, high, top_limits[1] / bottom_limits[0])
    return np.where(top > 0.0, low, 0.0), worst
