"""Data that a page needs to follow its sliders: sums whose number does not grow with the rows.

The prior enters every estimate after the rows have been summed, so a few hundred numbers determine
the results of `noneg` at any other prior. Bins stay as they were chosen at the given prior, both
distributions are stored above a few hundred thresholds, and losses and curves are stored as
coefficients.

To follow another selection factor, the page needs the labeled positives as atoms. Up to `ATOMS` of
them are stored individually, so the page computes the same results as `noneg`; more are stored in
groups of equal size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noneg.bins import Binned, Binning, bin_scores, order_statistics
from noneg.calibration.interval import SPLITS, Noise
from noneg.calibration.reliability import (
    Reliability,
    band_parts,
    reliability,
    selected_limits,
    smooth_reliability,
)
from noneg.calibration.smooth import Envelope, ks_envelope
from noneg.intervals import LawMeans, law_means, t_score, tail_means, unseen_share, z_score
from noneg.losses import Loss, LossSums, loss_means
from noneg.performance.assumptions import PriorLimit, noise_floor
from noneg.performance.bounds import contingency_bounds, pr_bounds, roc_bounds
from noneg.performance.contingency import Tables, pose
from noneg.performance.early import Top
from noneg.performance.guarantees import LEAST_CONFIDENCE, promised_unclipped
from noneg.performance.ranking import auroc, pair_limits
from noneg.registry import METRICS, RECOMMENDED, registered_rules
from noneg.results import Estimate
from noneg.rules import Curve, labeled_shares, pu_shares
from noneg.selection import Box, Cells, density, running_wins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noneg.arrays import Floats
    from noneg.calibration.reliability import Band, SmoothReliability
    from noneg.scores import PUScores

    Pair = tuple[float, float, list[float], list[float], float]
    Found = TypeVar("Found", Reliability, SmoothReliability)

BANDS: tuple[Band, Band] = ("pointwise", "simultaneous")

HISTOGRAM_BINS = 40

# Metrics that are multiples of the recall in the top of the list, and their share of the rows.
TOPS = {"precision_at": 0.1, "lift_at": 0.1, "recall_at": 0.1, "enrichment_factor": 0.01}

DIAGRAM_BINS = 15

# Noise draws are stored up to this many bins; with more, the interval stays as at the given prior.
MOST_NOISY_BINS = 128

# Share of the rows in one equal-width bin above which the diagram shows equal mass first.
CROWDED = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class BinSums:
    """Both distributions in the bins of one calibration error, with the noise for its interval.

    Attributes
    ----------
    binned : Binned
    noise : (ndarray, ndarray) or None
        Draws of the noise in the residuals, as coefficients of the prior and of 1, shape (splits,
        bins); None for labeled data and for more than `MOST_NOISY_BINS` bins.
    """

    binned: Binned
    noise: tuple[Floats, Floats] | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Diagram(Reliability):
    """A reliability diagram for every prior; frequencies and limits are per unit of the prior.

    Attributes
    ----------
    low_all, high_all : ndarray
        Limits of the simultaneous band; those of the superclass are pointwise.
    """

    low_all: Floats
    high_all: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """The numbers that the page computes with; see the module docstring.

    Attributes
    ----------
    bins : dict of str to BinSums
        Bins of "ece", "ece_width_15" and, with enough rows, "ece_mass_15".
    diagrams : dict of str to Diagram
        Diagrams with equal-"width" bins and, with enough rows, equal-"mass" bins.
    first_diagram : {"width", "mass"}
        Diagram to show first: equal mass if one equal-width bin contains nearly all rows.
    diagram_bins : int
        Number of bins in the diagrams: the optimal number, at most `DIAGRAM_BINS`.
    smooth : SmoothReliability
        The smooth curve of the diagram; frequencies and limits are per unit of the prior.
    least_frequency : ndarray
        Simultaneous lower limits in `DIAGRAM_BINS` equal-width bins, per unit of the prior;
        multiplied by the prior, a limit above 1 leaves no room for negatives.
    histogram : Binned
        Both distributions in narrow equal-width bins.
    tails : Tails
    bounds : RankBounds or None
    risks : dict of str to tuple
        Mean gain of the positives, mean base loss, their variances and covariance, the third
        cumulant as coefficients of powers of the prior, and the effect of unseen positives.
    areas : dict of str to list
        ``(AUC - 1/2)(1 - prior)`` with its limits.
    tops : dict of str to dict
        `noneg.performance.early.Top.parts` of the metrics in `TOPS`.
    curves : dict of str to Curve
        Other metrics known at every prior, without their intervals.
    envelope : Envelope or None
        Envelope of the Kolmogorov-Smirnov error.
    noise_floor : float
        Error produced by the noise of the positives alone, per unit of the prior.
    mean_score, mean_deviation : float
        Mean score and its standard deviation.
    effective_positive, effective_marginal : float
    least_prior : float
        Smallest prior consistent with the labeled share.
    prior_limit : PriorLimit
        Limits from which the largest prior consistent with the scores follows.
    z, z_split, t : float
        Normal quantiles for the upper end of the interval and for its split lower end, and
        Student's quantile for the number of positives.
    """

    bins: dict[str, BinSums]
    diagrams: dict[Binning, Diagram]
    first_diagram: Binning
    diagram_bins: int
    smooth: SmoothReliability
    least_frequency: Floats
    histogram: Binned
    tails: Tails
    bounds: RankBounds | None
    risks: dict[str, Pair]
    areas: dict[str, list[float]]
    tops: dict[str, dict[str, Any]]
    curves: dict[str, Curve]
    envelope: Envelope | None
    noise_floor: float
    mean_score: float
    mean_deviation: float
    effective_positive: float
    effective_marginal: float
    least_prior: float
    prior_limit: PriorLimit
    z: float
    z_split: float
    t: float

    @property
    def diagram(self) -> Diagram:
        """The diagram to show first."""
        return self.diagrams[self.first_diagram]

    @property
    def moving(self) -> dict[str, bool]:
        """Names of the metrics known at another prior, and whether their intervals are known."""
        whole = (RECOMMENDED, *self.bins, *self.risks, *self.areas, *self.tops, *registered_rules())
        values = (*self.curves, *([] if self.envelope is None else ["ks_error"]))
        return dict.fromkeys(values, False) | dict.fromkeys(whole, True)


def sum_up(
    scores: PUScores, binned: Binned, metrics: Mapping[str, Estimate], *, level: float
) -> Sums:
    """Return the sums for repeating the evaluation at another prior or threshold.

    Parameters
    ----------
    scores : PUScores
    binned : Binned
        The bins of the calibration error.
    metrics : mapping of str to Estimate
        Estimates at the prior of `scores`.
    level : float
    """
    enough = scores.n_marginal >= 2 * DIAGRAM_BINS
    kinds: tuple[Binning, ...] = ("width", "mass") if enough else ("width",)
    # Use this prior rather than the range of possible priors, because another prior rescales these
    # numbers; ignore selection, which the page handles itself.
    scores = scores.with_selection(1.0)
    exact = scores if scores.prior_interval is None else scores.with_prior(scores.known_prior)
    n_bins = min(DIAGRAM_BINS, binned.n_bins)
    diagrams = {kind: _diagram(exact, kind, n_bins, level) for kind in kinds}
    fixed = reliability(exact, bins=DIAGRAM_BINS, level=level, band="simultaneous")
    cuts = tails(scores, level=level)
    rows = bool(np.isfinite(scores.n_positive + scores.n_unlabeled))
    movable = rows and scores.hidden
    return Sums(
        bins=_bins(scores, binned, kinds),
        diagrams=diagrams,
        first_diagram=_clearest(diagrams),
        diagram_bins=n_bins,
        smooth=_per_unit(exact, smooth_reliability(exact, level=level)),
        least_frequency=_per_unit(exact, fixed).low,
        histogram=bin_scores(scores, bins=HISTOGRAM_BINS, binning="width"),
        tails=cuts,
        bounds=rank_bounds(scores, cuts.threshold, level=level) if movable else None,
        risks={name: mean_pair(scores, loss, level) for name, loss in losses().items() if rows},
        areas=_areas(exact, metrics, level) if movable else {},
        tops=_tops(scores, metrics, level) if movable else {},
        curves=_curves(exact, metrics) if movable else {},
        envelope=ks_envelope(scores) if rows else None,
        noise_floor=noise_floor(scores, edges=binned.edges) / scores.known_prior
        if scores.known_prior > 0.0
        else 0.0,
        mean_score=float(binned.score.sum()),
        mean_deviation=float(np.sqrt(binned.variance(np.ones(binned.n_bins)))),
        effective_positive=scores.effective_positive,
        effective_marginal=scores.effective_marginal,
        least_prior=scores.least_prior,
        prior_limit=PriorLimit(1.0, 1.0)
        if scores.prior_is_estimated
        else PriorLimit.of(scores, level),
        z=z_score(level),
        z_split=z_score(0.5 + level / 2.0),
        t=t_score(level, scores.effective_positive),
    )


def _clearest(diagrams: dict[Binning, Diagram]) -> Binning:
    """Return equal width, which is easiest to read, unless one bin contains nearly all rows."""
    crowded = float(diagrams["width"].marginal.max(initial=0.0)) > CROWDED
    return "mass" if crowded and "mass" in diagrams else "width"


def _bins(scores: PUScores, binned: Binned, kinds: tuple[Binning, ...]) -> dict[str, BinSums]:
    found = {"ece": binned} | {
        f"ece_{kind}_{DIAGRAM_BINS}": bin_scores(scores, bins=DIAGRAM_BINS, binning=kind)
        for kind in kinds
    }
    return {name: BinSums(binned=one, noise=_noise(scores, one)) for name, one in found.items()}


def _noise(scores: PUScores, binned: Binned) -> tuple[Floats, Floats] | None:
    """Return the noise of `noneg.calibration.interval` as a linear function of the prior."""
    if scores.prior_is_estimated or binned.n_bins > MOST_NOISY_BINS:
        return None
    noise = Noise.draw(binned, SPLITS, 0)
    level = noise.of_residual(replace(binned, prior=0.0))
    return noise.of_residual(replace(binned, prior=1.0)) - level, level


def _diagram(scores: PUScores, kind: Binning, n_bins: int, level: float) -> Diagram:
    pointwise, simultaneous = (
        _per_unit(scores, reliability(scores, bins=n_bins, binning=kind, level=level, band=band))
        for band in BANDS
    )
    return Diagram(**vars(pointwise), low_all=simultaneous.low, high_all=simultaneous.high)


def _per_unit(scores: PUScores, found: Found) -> Found:
    """Return a diagram or curve with frequencies per unit of the prior."""
    unit = scores.known_prior or 1.0
    scaled = {name: getattr(found, name) / unit for name in ("frequency", "low", "high")}
    return replace(found, **scaled)


def losses() -> dict[str, Loss]:
    """Return the loss of every metric that is an expected loss."""
    return {name: metric.loss() for name, metric in METRICS.items() if metric.loss is not None}


def _areas(
    scores: PUScores, metrics: Mapping[str, Estimate], level: float
) -> dict[str, list[float]]:
    """Return the areas that depend on the prior."""
    found: dict[str, list[float]] = {}
    if "auroc" in metrics and not np.isnan(area := auroc(scores)):
        known = 1.0 - scores.labeled_share
        pair = [(end - 0.5) * known for end in pair_limits(scores, area, level)]
        found["auroc"] = [(area - 0.5) * (1.0 - scores.known_prior), *pair]
    return {name: row for name, row in found.items() if np.isfinite(row).all()}


def _tops(
    scores: PUScores, metrics: Mapping[str, Estimate], level: float
) -> dict[str, dict[str, Any]]:
    """Return what determines the top of the list."""
    return {name: Top(scores, k).parts(level) for name, k in TOPS.items() if name in metrics}


def _curves(scores: PUScores, metrics: Mapping[str, Estimate]) -> dict[str, Curve]:
    """Return the curves of metrics that are not covered by bins or areas."""
    known = {name: METRICS[name] for name in metrics if name not in ("ece", "auroc")}
    return {
        name: metric.curve(scores)
        for name, metric in known.items()
        if metric.by_prior and metric.needs_prior
    }


EVEN = 100  # Number of equal steps between thresholds from 0 to 1.

QUANTILES = 60  # Number of thresholds at quantiles of the marginal sample.

TOP = 60  # Number of thresholds among the highest scores, where few rows are flagged.

# Metrics that the threshold explorer shows with an interval, and their names there.
EXPLORED = {
    "precision": "precision",
    "recall": "recall",
    "f_beta": "F1",
    "specificity": "specificity",
    "false_positive_rate": "false positive rate",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Tails:
    """Shares of both distributions at or above thresholds, with the numbers behind their intervals.

    Attributes
    ----------
    threshold : ndarray
        Thresholds in ascending order.
    tpr, ppr : ndarray
        Shares of the positive and of the marginal distribution with ``s >= threshold``.
    tpr_low, tpr_high, ppr_low, ppr_high, correlation : ndarray
        Individual limits of these shares, and their correlation. None of these depends on the
        prior.
    limits : dict of str to (ndarray, ndarray)
        Intervals of the metrics in `EXPLORED` if they cannot be computed from these numbers: for
        labeled data, and if the prior is given as an interval.
    promised : ndarray
        Precision that is guaranteed at all thresholds at once, at the smallest possible prior and
        not clipped; nan where there are no rows.
    promised_scales : bool
        Whether `promised` is proportional to the prior; false under selection.
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
    promised: Floats
    promised_scales: bool


def tails(scores: PUScores, *, level: float) -> Tails:
    """Return the shares of both distributions above `thresholds`."""
    cuts = thresholds(scores)
    means = [tail_means(scores, [cut]) for cut in cuts]
    kind = labeled_shares if scores.prior_is_estimated else pu_shares
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
        promised=_promised(scores, cuts, level),
        promised_scales=scores.selection == 1.0,
    )


def _promised(scores: PUScores, cuts: Floats, level: float) -> Floats:
    """Return guaranteed precision; nan for populations, without positives, and at low levels."""
    rows = np.isfinite(scores.n_positive + scores.n_unlabeled) and scores.n_positive > 0
    if not rows or level < LEAST_CONFIDENCE:
        return np.full(cuts.size, np.nan)
    return promised_unclipped(scores, cuts, level)


def _limits(
    scores: PUScores, means: list[LawMeans], level: float
) -> dict[str, tuple[Floats, Floats]]:
    if not scores.prior_is_estimated and scores.prior_interval is None:
        return {}
    out: dict[str, tuple[Floats, Floats]] = {}
    for name, rule in registered_rules(EXPLORED).items():
        low, high = np.array([rule.limits(scores, one, level) for one in means]).T
        out[name] = np.clip(low, rule.low, rule.high), np.clip(high, rule.low, rule.high)
    return out


def thresholds(scores: PUScores) -> Floats:
    """Return even steps, quantiles of the marginal sample, and scores near its top."""
    even = np.arange(EVEN + 1) / EVEN
    n = scores.effective_marginal
    shares = np.concatenate(
        [np.arange(1, QUANTILES) / QUANTILES, 1.0 - np.geomspace(1.0 / min(n, 1e6), 0.5, TOP)]
    )
    known = scores.marginal_quantiles(shares)
    if known is None:
        known = order_statistics(scores, np.maximum(np.floor(shares * n), 1.0))
    return np.unique(np.concatenate([even, known]))


@dataclass(frozen=True, eq=False)
class RankBounds:
    """Inputs for bounds on the ROC and PR curves (Claesen et al. 2015), at `Tails.threshold`.

    Attributes
    ----------
    counts : dict
        "unlabeled" and "known": number of unlabeled rows and of labeled positives at or above each
        threshold, with their totals "n_unlabeled" and "n_known". "low" and "high": band for the
        rank CDF of the positives, T_lb and T_ub. "counts_known": whether the contingency table for
        precision also counts the labeled positives.
    lower, upper : dict of str to ndarray
        Bounding curves at the given prior, or over its interval: "fpr" and "tpr" of the ROC curve,
        and "recall" and "precision".
    auroc, average_precision : (float, float)
        Areas under the bounding curves over all scores, at the given prior.
    """

    counts: dict[str, Any]
    lower: dict[str, Floats]
    upper: dict[str, Floats]
    auroc: tuple[float, float]
    average_precision: tuple[float, float]


def rank_bounds(scores: PUScores, cuts: Floats, *, level: float) -> RankBounds | None:
    """Return the inputs for bounds at thresholds; None if there are no bounds for these scores."""
    try:
        (problem,) = pose(scores, level=level, threshold=cuts)
        areas = [find(scores, level=level).auc for find in (roc_bounds, pr_bounds)]
    except ValueError:  # Rows with importance weights cannot be counted.
        return None
    everything = contingency_bounds(scores, threshold=cuts, table="all", level=level)
    counted = contingency_bounds(scores, threshold=cuts, level=level)
    counts = {
        "unlabeled": problem.unlabeled[::-1],
        "known": problem.known(0)[::-1],
        "low": problem.band_at(0)[::-1],
        "high": problem.band_at(1)[::-1],
        "n_unlabeled": problem.n_unlabeled,
        "n_known": problem.groups[0].total,
        "counts_known": problem.assumes.table == "all",
    }
    lower = _bounding_curves(everything.lower, counted.lower)
    upper = _bounding_curves(everything.upper, counted.upper)
    return RankBounds(counts, lower, upper, *areas)


def _bounding_curves(everything: Tables, counted: Tables) -> dict[str, Floats]:
    return {
        "fpr": everything.fpr[::-1],
        "tpr": everything.tpr[::-1],
        "recall": counted.tpr[::-1],
        "precision": counted.precision[::-1],
    }


def mean_pair(scores: PUScores, loss: Loss, level: float) -> Pair:
    """Return the two means of a risk, their variances and covariance, and the third cumulant.

    The last number times the prior odds is the effect of positives that may be missing
    (`noneg.intervals.with_unseen`).
    """
    means, third, gap = LossSums.of(scores, loss, loss_means(scores, loss))
    c = means.covariance
    unseen = unseen_share(scores.effective_positive, level) if scores.hidden else 0.0
    return (
        float(means.positive[0]),
        float(means.marginal[0]),
        [float(c[0, 0]), float(c[0, 1]), float(c[1, 1])],
        third.tolist(),
        unseen * gap,
    )


def prior_estimate(scores: PUScores, level: float) -> Estimate:
    """Return the prior with its range; a single point if it is given exactly."""
    low, high = scores.prior_set
    method = "share of positives" if scores.prior_is_estimated else "given"
    return Estimate(value=scores.known_prior, low=low, high=high, level=level, method=method)


ATOMS = 1000
BOX = ("positive", "marginal", "variance", "share", "error")


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectionSums:
    """The numbers that `assets/selection.js` computes with.

    Attributes
    ----------
    box : dict
        Masses of both distributions in the cells of `noneg.selection.Box` with their variances, and
        the labeled share with its standard error.
    atoms : dict
        Running sums over the labeled positives in descending order of score: their mass, and the
        share of rows they beat; also the second-order sums of each atom.
    losses : dict
        For each expected loss, the gain of a positive and its loss as a negative, at the atoms.
    area : dict
        The cells in which the noise of the area is computed.
    diagrams : dict
        Limits of both masses in the bins of the diagrams.
    student, student_area : float
        Student's quantiles for losses and for areas.
    rows : float
        Size of the smaller sample.
    unseen : float
        Largest share of a kind of positives that the sample may lack.
    """

    box: dict[str, Any]
    atoms: dict[str, Floats]
    losses: dict[str, dict[str, Any]]
    area: dict[str, Floats]
    diagrams: dict[str, Any]
    student: float
    student_area: float
    rows: float
    unseen: float


def selection_sums(scores: PUScores, sums: Sums, *, level: float) -> SelectionSums | None:
    """Return the sums; None for labeled data and for distributions that are known exactly."""
    if scores.prior_is_estimated or not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    box, cells = Box.of(scores), Cells(scores)
    aa, aw, ww = cells.second
    positive, marginal = cells.totals
    tpr, wins = running_wins(scores)
    atoms, bins = _Atoms(scores), partial(bin_scores, scores, bins=sums.diagram_bins)
    rows = min(scores.effective_positive, scores.effective_marginal)
    return SelectionSums(
        box={name: getattr(box, name) for name in BOX},
        atoms={"tpr": atoms.at_ends(tpr), "wins": atoms.at_ends(wins), **atoms.second},
        losses={name: atoms.loss(loss) for name, loss in losses().items() if name in sums.risks},
        area={
            "tpr": cells.tpr,
            "ppr": cells.ppr,
            "aa": aa / positive**2,
            "aw": aw / (positive * marginal),
            "ww": ww / marginal**2,
        },
        diagrams={kind: band_parts(scores, bins(binning=kind), level) for kind in sums.diagrams},
        student=t_score(level, scores.effective_positive),
        student_area=t_score(level, rows),
        rows=rows,
        unseen=unseen_share(scores.effective_positive, level),
    )


def bands(
    found: SelectionSums, kind: str, priors: tuple[float, ...], selection: float
) -> dict[str, Floats]:
    """Return the bands of a diagram at a selection factor, over all given priors."""
    parts = found.diagrams[kind]
    share, error = found.box["share"], found.box["error"]
    frequency = priors[0] * parts["positive"] / parts["marginal"]
    out: dict[str, Floats] = {}
    for band, suffix in (("pointwise", ""), ("simultaneous", "_all")):
        fewer = max(share - parts[band]["errors"] * error, 0.0)
        boxes = [(prior, density(fewer, prior, selection)) for prior in priors]
        low, high = selected_limits(parts, parts[band], boxes, frequency)
        out |= {f"low{suffix}": low, f"high{suffix}": high}
    return out


def smooth_band(
    smooth: SmoothReliability, share: float, priors: tuple[float, ...], selection: float
) -> tuple[Floats, Floats]:
    """Return the band of the smooth curve over all priors and all allowed distributions.

    `share` is the labeled share of the rows, as in `SelectionSums.box`.
    """
    ends = [(prior, *density(share, prior, selection)) for prior in priors]
    low = min(prior * least for prior, least, _ in ends) * smooth.low
    high = max(prior * most for prior, _, most in ends) * smooth.high
    return low, high


class _Atoms:
    """The labeled positives in descending order of score, individually or in groups."""

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        s, *masses = scores.positive_in_order()
        f, a, w = (np.broadcast_to(x, s.shape)[::-1] for x in masses)
        self.s, self.mass = s[::-1], f * a
        self.starts = np.unique(np.linspace(0, s.size, min(s.size, ATOMS) + 1).astype(int))[:-1]
        positive, marginal = self.mass.sum(), scores.sums_below(np.ones(1))[0, 1]
        both = f * a * w / (positive * marginal) if scores.pooled else np.zeros(s.size)
        self.second = {"aa": self._sum(f * a * a / positive**2), "aw": self._sum(both)}

    def _sum(self, x: Floats) -> Floats:
        return np.add.reduceat(x, self.starts)

    def at_ends(self, running: Floats) -> Floats:
        """Return running sums at the ends of the atoms."""
        return running[np.append(self.starts, running.size - 1)]

    def mean(self, x: Floats) -> Floats:
        """Return the mean of each atom."""
        return self._sum(x * self.mass) / self._sum(self.mass)

    def loss(self, loss: Loss) -> dict[str, Any]:
        """Return an expected loss at the atoms, and its mean over all rows treated as negatives."""
        means = law_means(self.scores, (), [lambda s: loss(s, 0)])
        return {
            "gain": self.mean(loss(self.s, 1) - loss(self.s, 0)),
            "negative": self.mean(loss(self.s, 0)),
            "base": float(means.marginal[0]),
            "variance": float(means.covariance[0, 0]),
        }
