"""Evaluate scores: `evaluate` computes every registered metric once and returns an `Evaluation`.

With ``recalibrate=True``, a `HeldOut` measures the effect of recalibration on held-out rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.errors import prior_curve
from noneg.calibration.reliability import reliability
from noneg.calibration.testing import calibration_test, consistent_priors
from noneg.checks import check_level, is_labeled
from noneg.errors import InputError
from noneg.groups import by_group
from noneg.laws import few_weighted
from noneg.metrics import METRICS, RECOMMENDED, estimate
from noneg.page_selection import selection_sums
from noneg.page_state import prior_estimate, sum_up
from noneg.performance.assumptions import check_assumptions
from noneg.prior import estimate_prior
from noneg.recalibration.choose import HeldOut, held_out
from noneg.results import Estimate, Table, aligned, end_columns, plain, plain_fields
from noneg.scores import PUScores
from noneg.sentences import Notice, notice, say
from noneg.tables import read
from noneg.tables.groups import GroupSums, groups_of
from noneg.tables.reading import read_grouped
from noneg.theory import bias_bound, labeled_bias_bound
from noneg.verdict import Verdict, decide

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.audit import Audit
    from noneg.bins import Binned
    from noneg.calibration.errors import PriorCurve
    from noneg.calibration.reliability import Reliability
    from noneg.calibration.testing import CalibrationTest
    from noneg.checks import Setting
    from noneg.groups import GroupTable
    from noneg.knowledge import Kind
    from noneg.page_selection import SelectionSums
    from noneg.page_state import Sums
    from noneg.performance.assumptions import Check
    from noneg.theory import Bound

FIXED_BINS = 15
FOLDS = 5

# One-sample setting: the ratio of labeled to expected positives at which the data look fully
# labeled. Two-sample setting: how close that ratio must be to 1 to look suspicious.
NEARLY_ALL, SAME_SHARE = 0.9, 0.01

# AUROC of an uninformative score, and the fraction of the mean score below which the share of
# positive labels suggests that many positives are hidden.
EVEN, MANY_HIDDEN = 0.5, 0.8

# Numbers outside their range that a notice names.
NAMED = 3

# Selection factors at which the verdict is tried.
FACTORS = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0)

# Form of the test that is shown and that decides the verdict at every prior.
TEST: Final = "both"

# Calibration errors over a fixed number of bins.
FIXED = ("ece_width_15", "ece_mass_15")

# Metrics computed over the optimal bins.
BINNED = ("ece", "debiased_ece")


def evaluate(
    scores: PUScores | object,
    *,
    level: float = 0.95,
    edges: ArrayLike | None = None,
    recalibrate: bool = False,
    by: str | Sequence[str] | ArrayLike | GroupSums | None = None,
    **reading: Any,  # noqa: ANN401
) -> Evaluation:
    """Measure calibration and performance from positive and unlabeled data, or from labeled data.

    Parameters
    ----------
    scores : PUScores, path, list of paths, mapping of columns, or data frame
        Anything other than `PUScores` is passed to `noneg.read`. If there is no prior, every
        interval covers all priors that are consistent with the rows, and values are quoted at the
        estimate from `noneg.prior.estimate_prior`.
    level : float
        Confidence level of all intervals.
    edges : array-like, optional
        Fixed bin edges from 0 to 1 for `ece`, the debiased error and the test, in place of the
        optimal number of equal-mass bins. Pass ``evaluation.edges`` to repeat an evaluation over
        the same bins at another prior, as the report does when its slider moves.
    recalibrate : bool
        Whether to also choose a recalibration method and measure its effect on held-out rows.
    by : str, sequence of str, or array-like, optional
        Columns of the table whose values define the groups; with `PUScores`, the group of each row
        in the order in which the rows were given, positives first if they were given as a separate
        array.
    **reading
        Columns and other arguments for `noneg.read`: ``score=``, ``label=``, ``setting=``,
        ``prior=``, ...

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> evaluation = evaluate(world.draw(1000, 10_000, setting="two-sample", seed=0))
    >>> evaluation.bins, evaluation.test.p_value < 0.01
    (15, True)

    What if the prior were different?

    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> other = evaluate(scores.with_prior(0.4), edges=evaluation.edges)
    >>> other.bins
    15

    A file or data frame can be passed directly.

    >>> table = {"p": [0.9, 0.2, 0.4, 0.7] * 50, "bought": [1, 0, 0, 0] * 50}
    >>> evaluate(table, score="p", label="bought", setting="one-sample", prior=0.4).n_positive
    50
    """
    scores, groups = _as_scores(scores, by, reading)
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
        grouped=calibration_test(scores, statistic="grouped"),
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
        groups=None if groups is None else by_group(scores, groups, level=level),
    )


def _as_scores(
    given: PUScores | object,
    by: Any,  # noqa: ANN401
    reading: dict[str, Any],
) -> tuple[PUScores, GroupSums | None]:
    """Return scores and groups unchanged, or read them from the named columns."""
    if isinstance(given, PUScores):
        for name in reading:
            raise InputError(name, "must not be given with PUScores, which already contain it.")
        return given, by if by is None or isinstance(by, GroupSums) else groups_of(given, by)
    for name in ("score", "label", "setting"):
        if name not in reading:
            rule = "must be given if the first argument is a file or a data frame"
            raise InputError(name, rule, remedy="See noneg.read.")
    return (read(given, **reading), None) if by is None else read_grouped(given, by=by, **reading)


def _consistent(scores: PUScores, binned: Binned, level: float) -> tuple[float, float] | None:
    """Return the priors at which calibration is not rejected; None for labeled data."""
    if scores.prior_is_estimated:
        return None
    return consistent_priors(scores, level=level, statistic=TEST, edges=binned.edges)


def _metrics(
    scores: PUScores, level: float, edges: ArrayLike | None
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return every registered metric, and the reason for each one that cannot be computed."""
    found: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    for name in METRICS:
        try:
            found[name] = _estimate(name, scores, level, edges)
        except ValueError as error:
            left_out[name] = str(error)
    return found, left_out


def _at_prior(
    scores: PUScores, metrics: dict[str, Estimate], level: float, edges: ArrayLike | None
) -> Estimate:
    name = RECOMMENDED if RECOMMENDED in metrics else "ece"
    if scores.prior_interval is None:
        return metrics[name]
    return _estimate(name, scores.with_prior(scores.known_prior), level, edges)


def _stands(scores: PUScores, level: float, edges: ArrayLike | None) -> float | None:
    """Return the largest of `FACTORS` at which miscalibration is certain; 1 if there is none.

    Return None for labeled data, and if miscalibration is not certain even for random labels.
    """
    if scores.prior_is_estimated or not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None

    def certain(factor: float) -> bool:
        return _estimate(RECOMMENDED, scores.with_selection(factor), level, edges).low > 0.0

    if not certain(1.0):
        return None
    return (1.0, *FACTORS)[bisect_left(FACTORS, 1, key=lambda factor: not certain(factor))]


def _recalibration(scores: PUScores, level: float) -> HeldOut | None:
    """Return metrics before and after; None for a population or if no row can be held out."""
    if not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    folds = int(min(FOLDS, scores.n_unlabeled, scores.n_positive))
    if folds < 2:
        return None
    return held_out("auto", scores, folds=folds, metrics=["brier"], level=level)


def _estimate(name: str, scores: PUScores, level: float, edges: ArrayLike | None) -> Estimate:
    """Return a metric over the given bins, if there are any and the metric uses bins."""
    options = {} if edges is None or name not in BINNED else {"edges": edges}
    return METRICS[name].estimate(scores, level=level, **options)


def _bounds(scores: PUScores, binned: Binned, level: float) -> dict[str, Bound]:
    out: dict[str, Bound] = {}
    # With too few marginal rows for equal-mass bins, the theory gives no bound.
    if scores.n_marginal < 2 * binned.n_bins:
        return out
    options: dict[str, Any] = {"bins": binned.n_bins, "binning": "mass", "lipschitz": 1.0}
    sizes = scores.effective_positive, scores.effective_marginal
    for name, delta in (("expected", None), ("probable", 1.0 - level)):
        if scores.prior_is_estimated:
            out[name] = labeled_bias_bound(scores.n_marginal, delta=delta, **options)
        else:
            out[name] = bias_bound(*sizes, scores.prior_set[1], delta=delta, **options)
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
    if few_weighted(scores):
        yield notice("few_weighted", rows=scores.n_positive, size=scores.effective_positive)
    if scores.n_marginal < 2 * FIXED_BINS:
        yield notice("few_rows", rows=scores.n_marginal, bins=FIXED_BINS)


def outside_notice(metrics: dict[str, Estimate]) -> Iterator[Notice]:
    """Warn about estimates that fell outside their range.

    An impossible lift, which does not use the prior, is not named: the precision from the same rows
    says more.
    """
    told = [
        say("outside_number", title=METRICS[name].title, raw=one.raw)
        for name, one in metrics.items()
        if one.raw is not None and METRICS[name].needs_prior
    ]
    if told:
        numbers, more = "; ".join(told[:NAMED]), len(told) - NAMED
        if more > 0:
            numbers = say("outside_more", numbers=numbers, more=more)
        yield notice("outside", numbers=numbers)


def label_counts(scores: PUScores) -> Iterator[Notice]:
    """Warn if the labels look complete although the setting implies that some are hidden."""
    rows = scores.n_positive + scores.n_unlabeled
    if scores.prior_is_estimated or not np.isfinite(rows):
        return
    share, one_sample = scores.n_positive / (rows * scores.known_prior), scores.pooled
    if share >= NEARLY_ALL if one_sample else abs(share - 1.0) <= SAME_SHARE:
        yield notice(
            "all_labeled",
            n_positive=scores.n_positive,
            rows=rows,
            percent=100 * share,
            prior=scores.known_prior,
            chance=say("all_labeled_chance") if one_sample and share > 1.0 else "",
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation(Table):
    """The results of `evaluate`; `to_dict` returns the JSON of ``noneg evaluate --json``.

    Attributes
    ----------
    n_positive, n_unlabeled, n_marginal : float
        Sizes of the samples.
    prior : Estimate
        The class prior with the set of priors that are not ruled out; a single point if it is
        exact.
    prior_kind : {"exact", "interval", "upper bound", "unknown"}
        What is known about the prior. "unknown" means the upper bound from the default estimator.
    setting : str
    selection : float
        How much hidden positives may differ from labeled ones; all intervals hold up to this
        factor.
    level : float
        Confidence level of all intervals.
    ece, ece_width_15 : Estimate
        Calibration error with the optimal number of equal-mass bins, and with 15 equal-width bins.
    metrics : dict of str to Estimate
        Every metric of `noneg.metrics.METRICS` by name, with its default options.
    left_out : dict of str to str
        Metrics that cannot be computed from these data, and the reasons.
    ece_mass_15 : Estimate or None
        With 15 equal-mass bins; None when there are fewer than 30 marginal rows.
    bins, occupied_bins : int
        Number of bins behind `ece`, and how many of them contain data.
    test : CalibrationTest
        Test of calibration; its p-value is the largest over all priors considered possible.
    grouped : CalibrationTest
        The same with the grouped chi-square statistic, which does not affect the verdict.
    consistent : (float, float) or None
        Priors at which calibration is not rejected, regardless of what is known about the prior;
        None if there are none, and for labeled data.
    reliability : Reliability
    prior_curve : PriorCurve
        `ece` as a function of the prior.
    bounds : dict of str to Bound
        Theoretical bounds on the distance of `ece` from the true calibration error: on average
        ("expected") and with probability `level` ("probable"), for a calibration curve with slope
        at most one.
    assumptions : tuple of Check
        Whether the data contradict the prior or the setting.
    warnings : tuple of str
        Messages that need the reader's attention; each has a `code` that programs can test.
    at_prior : Estimate
        The headline calibration error at the prior itself, with an interval that covers sampling
        error only.
    sums : Sums
        Summary sums for recomputing the same numbers at another prior or threshold; their size does
        not grow with the number of rows.
    selection_sums : SelectionSums or None
        Summary sums for recomputing the same numbers at another selection factor.
    stands : float or None
        Selection factor up to which miscalibration is certain (one of `FACTORS`, or 1); None for
        labeled data, and if miscalibration is not certain even for random labels.
    recalibration : HeldOut or None
        The effect of recalibration, if requested.
    audit : Audit or None
        The manual review of sampled rows behind the prior, if there was one.
    groups : GroupTable or None
        Results per group, if requested.
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
    grouped: CalibrationTest
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
    groups: GroupTable | None = None

    @property
    def headline(self) -> Estimate | None:
        """The calibration error to quote, which is the estimate closest to the truth on PU data."""
        return self.metrics.get(RECOMMENDED)

    @property
    def is_labeled(self) -> bool:
        """Whether every row is labeled, so that there is no other prior to try."""
        return is_labeled(self.setting)

    @property
    def largest_prior(self) -> float:
        """The largest prior that the scores allow under the selection factor."""
        return self.sums.prior_limit.under(self.selection)

    @property
    def rejected(self) -> bool:
        """Whether the test finds evidence against perfect calibration."""
        return self.test.p_value <= 1.0 - self.level

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the scores can be read as probabilities."""
        return decide(self)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins behind `ece`."""
        return self.sums.bins["ece"].binned.edges

    def __repr__(self) -> str:
        rows = f"{self.n_positive:,.0f} labeled positives, {self.n_unlabeled:,.0f} unlabeled rows"
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
        sizes = ("n_positive", "n_unlabeled", "n_marginal")
        known = ("prior", "prior_kind", "setting", "selection")
        finite: Any = plain(plain_fields(self, "headline", "ece", *FIXED, "metrics"))
        headline = finite.pop("headline") or {}
        metrics = finite.pop("metrics") | dict.fromkeys(self.left_out)
        curve = self.prior_curve
        last = [name for name in ("audit", "groups") if getattr(self, name) is not None]
        return {
            "verdict": self.verdict.to_dict(),
            "headline": {"metric": RECOMMENDED, **headline},
            **plain_fields(self, *sizes, *known),
            "stands_up_to": self.stands,
            "level": self.level,
            **finite,
            "metrics": metrics,
            **plain_fields(self, "left_out", "bins", "occupied_bins"),
            "calibration_p_value": self.test.p_value,
            "calibration_test": self.test.to_dict(),
            "grouped_test": self.grouped.to_dict(),
            "consistent_priors": plain(self.consistent),
            "reliability": self.reliability.to_dict(),
            "ece_by_prior": {"prior": curve.prior.tolist(), "ece": curve.error.tolist()},
            **plain_fields(self, "bounds", "assumptions", "warnings", *last),
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with one row per metric."""
        return {"metric": np.array([*self.metrics])} | end_columns(self.metrics.values())

    def flat(self) -> dict[str, float]:
        """Return all numbers under flat names, as experiment trackers expect.

        Each metric gives ``name.value``, ``name.low`` and ``name.high``, and so does the prior;
        values that are not finite are left out.

        Examples
        --------
        >>> from noneg import PUScores, evaluate
        >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
        >>> found = evaluate(scores).flat()
        >>> found["accuracy.value"], found["prior.value"], found["n_positive"]
        (1.0, 0.5, 100.0)
        """
        estimates = {"prior": self.prior} | self.metrics
        ends = ("value", "low", "high")
        found = {
            f"{name}.{end}": getattr(one, end) for name, one in estimates.items() for end in ends
        }
        for name in ("n_positive", "n_unlabeled", "n_marginal", "selection", "level"):
            found[name] = getattr(self, name)
        found["calibration_p_value"] = self.test.p_value
        return {name: float(x) for name, x in found.items() if math.isfinite(x)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as .html, .md, .txt or .json, depending on the extension of the path.

        An existing file of this name is replaced; the write is atomic.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from noneg import PUScores, evaluate
        >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     evaluate(scores).save(f"{folder}/report.md")
        ...     print(Path(f"{folder}/report.md").read_text(encoding="utf-8")[:30])
        # Can these scores be trusted?
        """
        import_module("noneg.report").save(self, path)

    def _repr_html_(self) -> str:
        """Return the summary and charts that notebooks show."""
        # Drawing is a higher layer than computing, so it is imported only when needed.
        shown: str = import_module("noneg.report").to_notebook(self)
        return shown
