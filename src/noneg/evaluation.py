"""`evaluate` computes every number of the registry once, and returns an `Evaluation`.

With ``recalibrate=True`` a `HeldOut` says what recalibration would change, on rows that took no
part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.errors import prior_curve
from noneg.calibration.interval import calibration_test, consistent_priors
from noneg.calibration.reliability import reliability
from noneg.checks import check_level, is_labelled
from noneg.metrics import METRICS, RECOMMENDED, estimate
from noneg.page_selection import selection_sums
from noneg.page_state import prior_estimate, sum_up
from noneg.performance.assumptions import check_assumptions
from noneg.prior import estimate_prior
from noneg.recalibration.base import weighty_rows
from noneg.recalibration.choose import HeldOut, held_out
from noneg.results import Estimate, aligned
from noneg.sentences import Notice, notice, say
from noneg.theory import bias_bound, labelled_bias_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from noneg.audit import Audit
    from noneg.bins import Binned
    from noneg.calibration.errors import PriorCurve
    from noneg.calibration.interval import CalibrationTest
    from noneg.calibration.reliability import Reliability
    from noneg.checks import Setting
    from noneg.knowledge import Kind
    from noneg.page_selection import SelectionSums
    from noneg.page_state import Sums
    from noneg.performance.assumptions import Check
    from noneg.scores import PUScores
    from noneg.theory import Bound


FIXED_BINS = 15
FOLDS = 5

# Labelled share of the expected positives from which one sample looks fully labelled, and how
# close to it the labelled share of two samples must be by accident to look suspicious.
NEARLY_ALL, SAME_SHARE = 0.9, 0.01

# Area of a score that says nothing, and share of the mean score that positive labels fall short of
# when many positives are hidden.
EVEN, MANY_HIDDEN = 0.5, 0.8

# Selection factors up to which a verdict may stand.
FACTORS = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0)

# The form of the test that is shown, and that decides the verdict at every prior.
TEST: Final = "both"

# Metrics over the optimal bins.
BINNED = ("ece", "debiased_ece")


def evaluate(
    scores: PUScores,
    *,
    level: float = 0.95,
    edges: ArrayLike | None = None,
    recalibrate: bool = False,
) -> Evaluation:
    """Measure calibration and performance from positives and unlabeled data, or from labelled data.

    Parameters
    ----------
    scores : PUScores
        Without a prior, every number holds for all priors that these rows do not contradict and is
        quoted at the estimate of `noneg.prior.estimate_prior`.
    level : float
        Confidence level of all intervals.
    edges : array-like, optional
        Frozen bin edges from 0 to 1 for `ece`, the debiased error and the test, in place of the
        optimal number of bins of equal mass. With ``evaluation.edges`` it repeats an evaluation at
        another prior over the same bins, which is what the report does when its slider moves.
    recalibrate : bool
        Whether to choose a method of recalibration, too, and measure what it changes on rows that
        took no part in it.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> evaluation = evaluate(world.draw(1000, 10_000, setting="two-sample", seed=0))
    >>> evaluation.bins, evaluation.test.p_value < 0.01
    (15, True)

    And if the prior were another?

    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> other = evaluate(scores.with_prior(0.4), edges=evaluation.edges)
    >>> other.bins
    15
    """
    level, unknown = check_level(level), scores.prior is None
    if unknown:
        scores = estimate_prior(scores, level=level).apply(scores)
    binned = bin_scores(scores, edges=edges)
    assumptions = check_assumptions(scores, level=level)
    metrics, left_out = _metrics(scores, level, edges)
    enough = scores.n_marginal >= 2 * FIXED_BINS
    sums = sum_up(scores, binned, metrics, level=level)
    return Evaluation(
        n_positive=scores.n_positive,
        n_unlabeled=scores.n_unlabeled,
        n_marginal=scores.n_marginal,
        prior=prior_estimate(scores, level),
        prior_kind="unknown" if unknown else scores.knowledge.kind,
        setting=scores.setting,
        selection=scores.selection,
        level=level,
        ece=metrics["ece"],
        ece_width_15=estimate("ece", scores, level=level, bins=FIXED_BINS, binning="width"),
        ece_mass_15=estimate("ece", scores, level=level, bins=FIXED_BINS) if enough else None,
        metrics=metrics,
        left_out=left_out,
        bins=binned.n_bins,
        occupied_bins=int(binned.occupied.sum()),
        test=calibration_test(scores, statistic=TEST, edges=binned.edges),
        consistent=_consistent(scores, binned, level),
        reliability=reliability(scores, bins=FIXED_BINS, binning="width", level=level),
        prior_curve=prior_curve(binned),
        bounds=_bounds(scores, binned, level),
        assumptions=assumptions,
        warnings=tuple(_warnings(scores, binned, assumptions, metrics)),
        at_prior=_at_prior(scores, metrics, level, edges),
        sums=sums,
        selection_sums=selection_sums(scores.with_selection(1.0), sums, level=level),
        stands=_stands(scores, level, edges),
        recalibration=_recalibration(scores, level) if recalibrate else None,
    )


def _consistent(scores: PUScores, binned: Binned, level: float) -> tuple[float, float] | None:
    """Return the priors at which the scores pass for calibrated; labels leave no choice."""
    if scores.prior_is_estimated:
        return None
    return consistent_priors(scores, level=level, statistic=TEST, edges=binned.edges)


def _metrics(
    scores: PUScores, level: float, edges: ArrayLike | None
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return every metric of the registry, and why some cannot be had from these data."""
    found: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    for name, metric in METRICS.items():
        try:
            found[name] = metric.estimate(scores, level=level, **_options(name, edges))
        except ValueError as error:
            left_out[name] = str(error)
    return found, left_out


def _at_prior(
    scores: PUScores, metrics: dict[str, Estimate], level: float, edges: ArrayLike | None
) -> Estimate:
    name = RECOMMENDED if RECOMMENDED in metrics else "ece"
    if scores.prior_interval is None:
        return metrics[name]
    return estimate(
        name, scores.with_prior(scores.known_prior), level=level, **_options(name, edges)
    )


def _stands(scores: PUScores, level: float, edges: ArrayLike | None) -> float | None:
    """Return the largest of `FACTORS` at which miscalibration is certain; 1 if it is at none.

    None where it is not certain even for random labels, and for labelled data.
    """
    if scores.prior_is_estimated or not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None

    def certain(factor: float) -> bool:
        given = scores.with_selection(factor)
        return estimate(RECOMMENDED, given, level=level, **_options(RECOMMENDED, edges)).low > 0.0

    if not certain(1.0):
        return None
    low, high = 0, len(FACTORS)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if certain(FACTORS[middle]) else (low, middle)
    return (1.0, *FACTORS)[low]


def _recalibration(scores: PUScores, level: float) -> HeldOut | None:
    """Return before and after; None for a population, and where no row can be held out."""
    if not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    folds = int(min(FOLDS, *weighty_rows(scores)))
    if folds < 2:
        return None
    return held_out("auto", scores, folds=folds, metrics=["brier"], level=level)


def _options(name: str, edges: ArrayLike | None) -> dict[str, ArrayLike]:
    return {} if edges is None or name not in BINNED else {"edges": edges}


def _bounds(scores: PUScores, binned: Binned, level: float) -> dict[str, Bound]:
    out: dict[str, Bound] = {}
    # A single marginal row leaves no room for bins of equal mass, for which nothing is promised.
    if scores.n_marginal < 2 * binned.n_bins:
        return out
    for name, delta in (("expected", None), ("probable", 1.0 - level)):
        if scores.prior_is_estimated:
            out[name] = labelled_bias_bound(
                scores.n_marginal, bins=binned.n_bins, binning="mass", lipschitz=1.0, delta=delta
            )
        else:
            out[name] = bias_bound(
                scores.effective_positive,
                scores.effective_marginal,
                scores.prior_set[1],
                bins=binned.n_bins,
                binning="mass",
                lipschitz=1.0,
                delta=delta,
            )
    return out


def _warnings(
    scores: PUScores,
    binned: Binned,
    checks: tuple[Check, ...],
    metrics: dict[str, Estimate],
) -> Iterator[Notice]:
    mean, prior = float(binned.score.sum()), scores.known_prior
    low, high = scores.prior_set
    gap = max(low - mean, mean - high)
    noise = 3.0 * float(np.sqrt(binned.variance(np.ones(binned.n_bins))))
    yield from (Notice(one.sentence, one.name) for one in checks if one.verdict != "holds")
    if gap > noise + 1e-12 and not scores.prior_is_estimated:
        yield notice("mean_score", mean=mean, prior=prior, gap=abs(mean - prior))
    yield from label_counts(scores)
    yield from outside_notice(metrics)
    if "auroc" in metrics and metrics["auroc"].high < EVEN:
        yield notice("swapped")
    if scores.prior_is_estimated and MANY_HIDDEN * mean - prior > noise:
        yield notice("hidden_positives", mean=mean, prior=prior)
    if scores.n_marginal < 2 * FIXED_BINS:
        yield notice("few_rows", rows=scores.n_marginal, bins=FIXED_BINS)


def outside_notice(metrics: dict[str, Estimate]) -> Iterator[Notice]:
    """Name the estimates that lay outside of their range."""
    left = {name: one.raw for name, one in metrics.items() if one.raw is not None}
    if left:
        numbers = (
            say("outside_number", title=METRICS[name].title, raw=raw) for name, raw in left.items()
        )
        yield notice("outside", numbers="; ".join(numbers))


def label_counts(scores: PUScores) -> Iterator[Notice]:
    """Say when the labels look as if nothing were hidden, which the setting denies."""
    rows = scores.n_positive + scores.n_unlabeled
    if scores.prior_is_estimated or not np.isfinite(rows):
        return
    share, one_sample = scores.n_positive / (rows * scores.known_prior), scores.pooled
    if share >= NEARLY_ALL if one_sample else abs(share - 1.0) <= SAME_SHARE:
        yield notice(
            "all_labelled",
            n_positive=scores.n_positive,
            rows=rows,
            percent=100 * share,
            prior=scores.known_prior,
            chance=say("all_labelled_chance") if one_sample and share > 1.0 else "",
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` found; `to_dict` is the JSON of ``noneg evaluate --json``.

    Attributes
    ----------
    n_positive, n_unlabeled, n_marginal : float
        Sizes of the samples.
    prior : Estimate
        The class prior with the set of priors that are not excluded, a point if it is exact.
    prior_kind : {"exact", "interval", "upper bound", "unknown"}
        What is known of the prior. "unknown" is the upper bound of the default estimator.
    setting : str
    selection : float
        How far hidden positives may differ from labelled ones; all intervals hold up to it.
    level : float
        Confidence level of all intervals.
    ece, ece_width_15 : Estimate
        Calibration error with the optimal number of bins of equal mass, and with 15 equal widths.
    metrics : dict of str to Estimate
        Every metric of `noneg.metrics.METRICS` by name, with its default options.
    left_out : dict of str to str
        Metrics that these data do not allow, and why.
    ece_mass_15 : Estimate or None
        With 15 bins of equal mass; None when there are fewer than 30 marginal rows.
    bins, occupied_bins : int
        Bins behind `ece`, and how many of them hold data.
    test : CalibrationTest
        The largest p-value over what is known of the prior.
    consistent : (float, float) or None
        Priors at which calibration is not rejected, whatever is known of the prior; None if there
        are none, and for labelled data.
    reliability : Reliability
    prior_curve : PriorCurve
        `ece` as a function of the prior.
    bounds : dict of str to Bound
        What theory promises about the distance of `ece` from the true calibration error: on average
        ("expected") and with probability `level` ("probable"), for a calibration curve of slope at
        most one.
    assumptions : tuple of Check
        Whether the data contradict the prior or the setting.
    warnings : tuple of str
        What needs the reader's attention, in sentences; each has a `code` that programs can test.
    at_prior : Estimate
        The calibration error to quote with the interval that the rows alone give, at the prior
        itself.
    sums : Sums
        What the same numbers at another prior or threshold are made of; its size does not grow
        with the number of rows.
    selection_sums : SelectionSums or None
        What the same numbers at another selection factor are made of.
    stands : float or None
        Selection factor up to which miscalibration is certain (one of `FACTORS`, or 1); None where
        it is not certain for random labels either, and for labelled data.
    recalibration : HeldOut or None
        What recalibration would change, if it was asked for.
    audit : Audit or None
        The review of some rows that the prior comes from, if there was one.
    """

    n_positive: float
    n_unlabeled: float
    n_marginal: float
    prior: Estimate
    prior_kind: Kind | Literal["unknown"]
    setting: Setting
    selection: float
    level: float
    ece: Estimate
    ece_width_15: Estimate
    ece_mass_15: Estimate | None
    metrics: dict[str, Estimate]
    left_out: dict[str, str]
    bins: int
    occupied_bins: int
    test: CalibrationTest
    consistent: tuple[float, float] | None
    reliability: Reliability
    prior_curve: PriorCurve
    bounds: dict[str, Bound]
    assumptions: tuple[Check, ...]
    warnings: tuple[str, ...]
    at_prior: Estimate
    sums: Sums
    selection_sums: SelectionSums | None
    stands: float | None
    recalibration: HeldOut | None = None
    audit: Audit | None = None

    @property
    def headline(self) -> Estimate | None:
        """The calibration error to quote: the one that is closest to the truth on PU data."""
        return self.metrics.get(RECOMMENDED)

    @property
    def is_labelled(self) -> bool:
        """Whether every row has its label, so that there is no other prior to try."""
        return is_labelled(self.setting)

    @property
    def rejected(self) -> bool:
        """Whether the test finds evidence against perfect calibration."""
        return self.test.p_value <= 1.0 - self.level

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins behind `ece`."""
        return self.sums.bins["ece"].binned.edges

    def __repr__(self) -> str:
        rows = f"{self.n_positive:,.0f} labelled positives, {self.n_unlabeled:,.0f} unlabeled rows"
        table = [(METRICS[name].title, str(found)) for name, found in self.metrics.items()]
        return "\n".join(
            [
                f"{rows}, {self.setting}, prior {self.prior.value:.4g}, {self.level:g} intervals",
                aligned([*table, ("p-value of calibration", f"{self.test.p_value:.4g}")]),
                *self.warnings,
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        headline = {} if self.headline is None else _plain(self.headline)
        return {
            "headline": {"metric": RECOMMENDED} | headline,
            "n_positive": self.n_positive,
            "n_unlabeled": self.n_unlabeled,
            "n_marginal": self.n_marginal,
            "prior": self.prior.to_dict(),
            "prior_kind": self.prior_kind,
            "setting": self.setting,
            "selection": self.selection,
            "stands_up_to": self.stands,
            "level": self.level,
            "ece": _plain(self.ece),
            "ece_width_15": _plain(self.ece_width_15),
            "ece_mass_15": None if self.ece_mass_15 is None else _plain(self.ece_mass_15),
            "metrics": {name: _plain(found) for name, found in self.metrics.items()}
            | dict.fromkeys(self.left_out),
            "left_out": self.left_out,
            "bins": self.bins,
            "occupied_bins": self.occupied_bins,
            "calibration_p_value": self.test.p_value,
            "calibration_test": self.test.to_dict(),
            "consistent_priors": None if self.consistent is None else list(self.consistent),
            "reliability": self.reliability.to_dict(),
            "ece_by_prior": {
                "prior": self.prior_curve.prior.tolist(),
                "ece": self.prior_curve.error.tolist(),
            },
            "bounds": {name: bound.to_dict() for name, bound in self.bounds.items()},
            "assumptions": [check.to_dict() for check in self.assumptions],
            "warnings": list(self.warnings),
            **({} if self.audit is None else {"audit": self.audit.to_dict()}),
        }

    def _repr_html_(self) -> str:
        """Return the summary and charts that notebooks show."""
        # Drawing lives above computing, and is only asked for by name when somebody looks.
        shown: str = import_module("noneg.report").to_notebook(self)
        return shown


def _plain(found: Estimate) -> dict[str, object]:
    """Return an estimate with None for nan and infinity."""
    return {
        name: None if isinstance(x, float) and not math.isfinite(x) else x
        for name, x in found.to_dict().items()
    }
