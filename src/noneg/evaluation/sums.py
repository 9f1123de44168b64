"""What a page needs to follow another prior: sums whose number does not grow with the rows.

The prior enters every estimate after the rows have been summed, so a few hundred numbers say what
`noneg` would answer at any other prior. Bins are held as they were chosen at the given prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.interval import SPLITS, Noise
from noneg.calibration.reliability import reliability
from noneg.evaluation.envelope import Envelope, ks_envelope
from noneg.evaluation.tails import RankBounds, Tails, mean_pair, rank_bounds, tails
from noneg.intervals import z_score
from noneg.losses import loss_means
from noneg.metrics import METRICS
from noneg.performance.assumptions import largest_prior, noise_floor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from noneg.bins import Binned, Binning
    from noneg.calibration.reliability import Band
    from noneg.results import Estimate
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

BANDS: tuple[Band, Band] = ("pointwise", "simultaneous")
HISTOGRAM_BINS = 40
DIAGRAM_BINS = 15
# Draws of noise are kept up to this many bins; the interval of more stays that of the given prior.
MOST_NOISY_BINS = 128
# Share of the rows in one bin of equal width from which the diagram shows equal mass first.
CROWDED = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class BinSums:
    """Both laws in the bins of one calibration error, with the noise that its interval splits by.

    Attributes
    ----------
    binned : Binned
    noise : (ndarray, ndarray) or None
        Draws of the noise in the residuals, as coefficients of the prior and of 1, shape (splits,
        bins); None for labelled data and for more than `MOST_NOISY_BINS` bins.
    """

    binned: Binned
    noise: tuple[Floats, Floats] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagram:
    """A reliability diagram at every prior: what is here is a unit of the prior.

    Attributes
    ----------
    left, right, score, positive, marginal : ndarray
        As in `noneg.calibration.reliability.Reliability`.
    frequency, low, high : ndarray
        To be multiplied by the prior; pointwise interval.
    low_all, high_all : ndarray
        The same for the simultaneous band.
    """

    left: Floats
    right: Floats
    score: Floats
    positive: Floats
    marginal: Floats
    frequency: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats

    def to_dict(self) -> dict[str, object]:
        """Return plain lists."""
        return {name: column.tolist() for name, column in vars(self).items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """What the page computes with; see the module.

    Attributes
    ----------
    bins : dict of str to BinSums
        Bins of "ece", "ece_width_15" and, with enough rows, "ece_mass_15".
    diagrams : dict of str to Diagram
        Bins of equal "width" and, with enough rows, of equal "mass".
    first_diagram : {"width", "mass"}
        Which one to show first: equal mass when one bin of equal width holds nearly all rows.
    histogram : Binned
        Narrow bins of equal width.
    tails : Tails
    bounds : RankBounds or None
    risks : dict of str to tuple
        Mean gain of the positives, mean base loss, and their variances and covariance.
    areas : dict of str to list
        ``(AUC - 1/2)(1 - prior)`` with its limits, the average precision as level and slope over
        the prior, and the lift of the top 10 % with its limits.
    envelope : Envelope or None
        Of the Kolmogorov-Smirnov error.
    noise_floor : float
        Error that the noise of the positives alone produces, a unit of the prior.
    mean_score, mean_deviation : float
        Mean score and its standard deviation.
    effective_positive, effective_marginal : float
    least_prior, largest_prior : float
        Priors that neither the labelled share nor the scores contradict.
    z, z_split : float
        Normal quantiles of the interval's upper end, and of its split lower end.
    """

    bins: dict[str, BinSums]
    diagrams: dict[Binning, Diagram]
    first_diagram: Binning
    histogram: Binned
    tails: Tails
    bounds: RankBounds | None
    risks: dict[str, tuple[float, float, list[float]]]
    areas: dict[str, list[float]]
    envelope: Envelope | None
    noise_floor: float
    mean_score: float
    mean_deviation: float
    effective_positive: float
    effective_marginal: float
    least_prior: float
    largest_prior: float
    z: float
    z_split: float

    @property
    def diagram(self) -> Diagram:
        """The diagram to show first."""
        return self.diagrams[self.first_diagram]


def sum_up(
    scores: PUScores, binned: Binned, metrics: Mapping[str, Estimate], *, level: float
) -> Sums:
    """Return what the same evaluation at another prior or threshold is made of.

    Parameters
    ----------
    scores : PUScores
    binned : Binned
        The bins of the calibration error.
    metrics : mapping of str to Estimate
        What was found at the prior of `scores`.
    level : float
    """
    enough = scores.n_marginal >= 2 * DIAGRAM_BINS
    kinds: tuple[Binning, ...] = ("width", "mass") if enough else ("width",)
    # At this prior, not over what is known of it: another prior scales these numbers.
    exact = scores if scores.prior_interval is None else scores.with_prior(scores.prior)
    diagrams = {kind: _diagram(exact, kind, level) for kind in kinds}
    cuts = tails(scores, level=level)
    rows = np.isfinite(scores.n_positive + scores.n_unlabeled)
    ones = np.ones(binned.n_bins)
    return Sums(
        bins=_bins(scores, binned, kinds),
        diagrams=diagrams,
        first_diagram=_clearest(diagrams),
        histogram=bin_scores(scores, bins=HISTOGRAM_BINS, binning="width"),
        tails=cuts,
        bounds=rank_bounds(scores, cuts.threshold, level=level),
        risks=_risks(scores) if rows else {},
        areas=_areas(exact, metrics, level) if rows else {},
        envelope=ks_envelope(scores) if rows else None,
        noise_floor=noise_floor(scores, edges=binned.edges) / scores.prior
        if scores.prior > 0.0
        else 0.0,
        mean_score=float(binned.score.sum()),
        mean_deviation=float(np.sqrt(binned.variance(ones))),
        effective_positive=scores.effective_positive,
        effective_marginal=scores.effective_marginal,
        least_prior=scores.least_prior,
        largest_prior=1.0 if scores.setting == "labelled" else largest_prior(scores, level=level),
        z=z_score(level),
        z_split=z_score(0.5 + level / 2.0),
    )


def _clearest(diagrams: dict[Binning, Diagram]) -> Binning:
    """Return equal width, which reads best, unless one of its bins holds nearly all rows."""
    crowded = float(diagrams["width"].marginal.max(initial=0.0)) > CROWDED
    return "mass" if crowded and "mass" in diagrams else "width"


def _bins(scores: PUScores, binned: Binned, kinds: tuple[Binning, ...]) -> dict[str, BinSums]:
    found = {"ece": binned}
    for kind in kinds:
        found[f"ece_{kind}_{DIAGRAM_BINS}"] = bin_scores(
            scores,
            bins=DIAGRAM_BINS,
            binning=kind,
        )
    return {name: BinSums(binned=one, noise=_noise(scores, one)) for name, one in found.items()}


def _noise(scores: PUScores, binned: Binned) -> tuple[Floats, Floats] | None:
    """Return the noise of `noneg.calibration.interval` as a straight line in the prior."""
    if scores.setting == "labelled" or binned.n_bins > MOST_NOISY_BINS:
        return None
    noise = Noise.draw(binned, SPLITS, 0)
    level = noise.of_residual(replace(binned, prior=0.0))
    return noise.of_residual(replace(binned, prior=1.0)) - level, level


def _diagram(scores: PUScores, kind: Binning, level: float) -> Diagram:
    unit = scores.prior or 1.0
    pointwise, simultaneous = (
        reliability(
            scores,
            bins=DIAGRAM_BINS,
            binning=kind,
            level=level,
            band=band,
        )
        for band in BANDS
    )
    return Diagram(
        left=pointwise.left,
        right=pointwise.right,
        score=pointwise.score,
        positive=pointwise.positive,
        marginal=pointwise.marginal,
        frequency=pointwise.frequency / unit,
        low=pointwise.low / unit,
        high=pointwise.high / unit,
        low_all=simultaneous.low / unit,
        high_all=simultaneous.high / unit,
    )


def _risks(scores: PUScores) -> dict[str, tuple[float, float, list[float]]]:
    losses = {name: metric.loss() for name, metric in METRICS.items() if metric.loss is not None}
    return {name: mean_pair(loss_means(scores, loss)) for name, loss in losses.items()}


def _areas(
    scores: PUScores, metrics: Mapping[str, Estimate], level: float
) -> dict[str, list[float]]:
    """Return the areas that follow the prior; labelled data has no other prior."""
    if scores.setting == "labelled":
        return {}
    found = {}
    for name in ("auroc", "lift_at"):
        one = METRICS[name].interval(scores, level=level) if name in metrics else None
        if one is not None and np.isfinite([one.value, one.low, one.high]).all():
            found[name] = [one.value, one.low, one.high]
    if "auroc" in found:
        found["auroc"] = [(x - 0.5) * (1.0 - scores.prior) for x in found["auroc"]]
    if "average_precision" in metrics:
        level_and_slope = METRICS["average_precision"].curve(scores).pieces[0, :2]
        found["average_precision"] = level_and_slope.tolist()
    return found
