"""`evaluate`: every number that the library knows to compute, each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.errors import prior_curve
from noneg.calibration.interval import calibration_test
from noneg.calibration.reliability import reliability
from noneg.checks import check_level
from noneg.evaluation.repair import repair
from noneg.evaluation.result import Evaluation
from noneg.evaluation.sums import sum_up
from noneg.metrics import METRICS, RECOMMENDED, estimate
from noneg.performance.assumptions import check_assumptions
from noneg.results import Estimate
from noneg.theory import bias_bound, labelled_bias_bound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.bins import Binned
    from noneg.performance.assumptions import Check
    from noneg.scores import PUScores
    from noneg.theory import Bound

FIXED_BINS = 15
# Labelled share of the expected positives from which one sample looks fully labelled, and how
# close to it the labelled share of two samples must be by accident to look suspicious.
NEARLY_ALL, SAME_SHARE = 0.9, 0.01
# Area of a score that says nothing, and share of the mean score that positive labels fall short of
# when many positives are hidden.
EVEN, MANY_HIDDEN = 0.5, 0.8
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
    level : float
        Confidence level of all intervals.
    edges : array-like, optional
        Frozen bin edges from 0 to 1 for `ece`, the debiased error and the test, in place of the
        optimal number of bins of equal mass. With ``evaluation.edges`` it repeats an evaluation at
        another prior over the same bins, which is what the report does when its slider moves.
    recalibrate : bool
        Whether to choose a method of recalibration, too, and measure what it changes on rows that
        it was not fitted on.

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
    level = check_level(level)
    binned = bin_scores(scores, edges=edges)
    assumptions = check_assumptions(scores, level=level)
    metrics, left_out = _metrics(scores, level, edges)
    enough = scores.n_marginal >= 2 * FIXED_BINS
    return Evaluation(
        n_positive=scores.n_positive,
        n_unlabeled=scores.n_unlabeled,
        n_marginal=scores.n_marginal,
        prior=_prior(scores, level),
        setting=scores.setting,
        level=level,
        ece=metrics["ece"],
        ece_width_15=estimate("ece", scores, level=level, bins=FIXED_BINS, binning="width"),
        ece_mass_15=estimate("ece", scores, level=level, bins=FIXED_BINS) if enough else None,
        metrics=metrics,
        left_out=left_out,
        bins=binned.n_bins,
        occupied_bins=int(binned.occupied.sum()),
        test=calibration_test(scores, edges=edges),
        reliability=reliability(scores, bins=FIXED_BINS, binning="width", level=level),
        prior_curve=prior_curve(binned),
        bounds=_bounds(scores, binned, level),
        assumptions=assumptions,
        warnings=tuple(_warnings(scores, binned, assumptions, metrics)),
        at_prior=_at_prior(scores, metrics, level, edges),
        sums=sum_up(scores, binned, metrics, level=level),
        recalibration=repair(scores, level=level) if recalibrate else None,
    )


def _metrics(
    scores: PUScores, level: float, edges: ArrayLike | None
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return every metric of the registry, and why some cannot be had from these data."""
    found: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    for name, metric in METRICS.items():
        try:
            found[name] = metric.interval(scores, level=level, **_options(name, edges))
        except ValueError as error:
            left_out[name] = str(error)
    return found, left_out


def _at_prior(
    scores: PUScores, metrics: dict[str, Estimate], level: float, edges: ArrayLike | None
) -> Estimate:
    name = RECOMMENDED if RECOMMENDED in metrics else "ece"
    if scores.prior_interval is None:
        return metrics[name]
    return estimate(name, scores.with_prior(scores.prior), level=level, **_options(name, edges))


def _options(name: str, edges: ArrayLike | None) -> dict[str, ArrayLike]:
    return {} if edges is None or name not in BINNED else {"edges": edges}


def _prior(scores: PUScores, level: float) -> Estimate:
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    method = "share of positives" if scores.prior_is_estimated else "given"
    return Estimate(value=scores.prior, low=low, high=high, level=level, method=method)


def _bounds(scores: PUScores, binned: Binned, level: float) -> dict[str, Bound]:
    out: dict[str, Bound] = {}
    # A single marginal row leaves no room for bins of equal mass, for which nothing is promised.
    if scores.n_marginal < 2 * binned.n_bins:
        return out
    for name, delta in (("expected", None), ("probable", 1.0 - level)):
        if scores.setting == "labelled":
            out[name] = labelled_bias_bound(
                scores.n_marginal, bins=binned.n_bins, binning="mass", lipschitz=1.0, delta=delta
            )
        else:
            out[name] = bias_bound(
                scores.effective_positive,
                scores.effective_marginal,
                scores.prior,
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
) -> list[str]:
    out = [check.sentence for check in checks if check.verdict != "holds"]
    mean = float(binned.score.sum())
    deviation = float(np.sqrt(binned.variance(np.ones(binned.n_bins))))
    if abs(mean - scores.prior) > 3.0 * deviation + 1e-12 and not scores.prior_is_estimated:
        out.append(
            f"The mean score is {mean:.4g} but the prior is {scores.prior:.4g}: scores or prior "
            f"are off by {abs(mean - scores.prior):.4g} on average, which no binning can hide."
        )
    out += label_counts(scores)
    if "auroc" in metrics and metrics["auroc"].high < EVEN:
        out.append(
            "Positives score lower than the other rows (AUC below 0.5, beyond chance): the score "
            "may be that of the other class, or the labels may be swapped."
        )
    if scores.prior_is_estimated and MANY_HIDDEN * mean - scores.prior > 3.0 * deviation:
        out.append(
            f"The mean score is {mean:.4g}, but only {scores.prior:.4g} of the labels are "
            "positive: if the others are unlabeled rather than negative, the setting is "
            "'one-sample' or 'two-sample'."
        )
    if scores.n_marginal < 2 * FIXED_BINS:
        out.append(
            f"{scores.n_marginal:,.0f} marginal rows are too few for {FIXED_BINS} bins of equal "
            "mass: the error over those is left out."
        )
    return out


def label_counts(scores: PUScores) -> list[str]:
    """Say when the labels look as if nothing were hidden, which the setting denies."""
    rows = scores.n_positive + scores.n_unlabeled
    if scores.setting == "labelled" or not np.isfinite(rows):
        return []
    share = scores.n_positive / (rows * scores.prior)
    suspect = (
        share >= NEARLY_ALL if scores.setting == "one-sample" else abs(share - 1.0) <= SAME_SHARE
    )
    if not suspect:
        return []
    chance = ", which chance allows" if scores.setting == "one-sample" and share > 1.0 else ""
    told = (
        f"{scores.n_positive:,.0f} of {rows:,.0f} rows are labelled, {100 * share:.0f} % of the "
        f"positives that the prior {scores.prior:.4g} promises among them{chance}: if none is "
        "hidden, the setting is 'labelled', and otherwise the prior may be too small."
    )
    return [told]
