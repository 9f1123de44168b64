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
from noneg.calibration.proper import CLIP, risk_means, scoring_rule
from noneg.calibration.reliability import reliability
from noneg.evaluation.envelope import Envelope, ks_envelope
from noneg.evaluation.tails import RankBounds, Tails, mean_pair, rank_bounds, tails
from noneg.performance.assumptions import PriorCuts, noise_floor, prior_cuts
from noneg.performance.intervals import z_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.bins import Binned
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

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
    envelope : Envelope or None
        Of the Kolmogorov-Smirnov error.
    cuts : PriorCuts or None
        Of the check whether the prior contradicts the data.
    noise_floor : float
        Error that the noise of the positives alone produces, a unit of the prior.
    mean_score, mean_deviation : float
        Mean score and its standard deviation.
    effective_positive, effective_marginal : float
    labelled_share : float
        Smallest prior possible: in one sample the share of labelled rows, else 0.
    z : float
        Normal quantile of the level.
    """

    bins: dict[str, BinSums]
    diagrams: dict[str, Diagram]
    first_diagram: str
    histogram: Binned
    tails: Tails
    bounds: RankBounds | None
    risks: dict[str, tuple[float, float, list[float]]]
    envelope: Envelope | None
    cuts: PriorCuts | None
    noise_floor: float
    mean_score: float
    mean_deviation: float
    effective_positive: float
    effective_marginal: float
    labelled_share: float
    z: float

    @property
    def diagram(self) -> Diagram:
        """The diagram to show first."""
        return self.diagrams[self.first_diagram]


def sum_up(scores: PUScores, binned: Binned, *, level: float) -> Sums:
    """Return what the same evaluation at another prior or threshold is made of.

    Parameters
    ----------
    scores : PUScores
    binned : Binned
        The optimal bins of `scores`.
    level : float
    """
    enough = scores.n_marginal >= 2 * DIAGRAM_BINS
    kinds = ["width", "mass"] if enough else ["width"]
    diagrams = {kind: _diagram(scores, kind, level) for kind in kinds}
    crowded = enough and diagrams["width"].marginal.max(initial=0.0) > CROWDED
    cuts = tails(scores, level=level)
    rows = np.isfinite(scores.n_positive + scores.n_unlabeled)
    ones = np.ones(binned.n_bins)
    one_sample = scores.setting == "one-sample"
    return Sums(
        bins=_bins(scores, binned, kinds),
        diagrams=diagrams,
        first_diagram="mass" if crowded else "width",
        histogram=bin_scores(scores, bins=HISTOGRAM_BINS, binning="width"),
        tails=cuts,
        bounds=rank_bounds(scores, cuts.threshold, level=level),
        risks=_risks(scores) if rows else {},
        envelope=ks_envelope(scores) if rows else None,
        cuts=None if scores.setting == "labelled" else prior_cuts(scores, level=level),
        noise_floor=noise_floor(scores, edges=binned.edges) / scores.prior
        if scores.prior > 0.0
        else 0.0,
        mean_score=float(binned.score.sum()),
        mean_deviation=float(np.sqrt(binned.variance(ones))),
        effective_positive=scores.effective_positive,
        effective_marginal=scores.effective_marginal,
        labelled_share=scores.n_positive / scores.n_marginal if one_sample else 0.0,
        z=z_score(level),
    )


def _bins(scores: PUScores, binned: Binned, kinds: list[str]) -> dict[str, BinSums]:
    found = {"ece": binned}
    for kind in kinds:
        found[f"ece_{kind}_{DIAGRAM_BINS}"] = bin_scores(
            scores,
            bins=DIAGRAM_BINS,
            binning=kind,  # type: ignore[arg-type]
        )
    return {name: BinSums(binned=one, noise=_noise(scores, one)) for name, one in found.items()}


def _noise(scores: PUScores, binned: Binned) -> tuple[Floats, Floats] | None:
    """Return the noise of `noneg.calibration.interval` as a straight line in the prior."""
    if scores.setting == "labelled" or binned.n_bins > MOST_NOISY_BINS:
        return None
    noise = Noise.draw(binned, SPLITS, 0)
    level = noise.of_residual(replace(binned, prior=0.0))
    return noise.of_residual(replace(binned, prior=1.0)) - level, level


def _diagram(scores: PUScores, kind: str, level: float) -> Diagram:
    unit = scores.prior or 1.0
    pointwise, simultaneous = (
        reliability(
            scores,
            bins=DIAGRAM_BINS,
            binning=kind,  # type: ignore[arg-type]
            level=level,
            band=band,  # type: ignore[arg-type]
        )
        for band in ("pointwise", "simultaneous")
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
    rules = {"brier": "brier", "log_loss": "log"}
    return {
        name: mean_pair(risk_means(scores, scoring_rule(rule, CLIP)))
        for name, rule in rules.items()
    }
