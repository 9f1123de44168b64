"""Models that scored the same rows, set side by side: values, paired differences, a winner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.calibration.reliability import reliability
from noneg.checks import check_level, missing_prior
from noneg.performance.ordering import Ordering, ordering, prior_range
from noneg.performance.paired import Differences, PairedRows
from noneg.performance.selection import CRITERIA, Criterion, find_criterion
from noneg.results import Estimate, aligned, to_frame
from noneg.rules import check_threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from noneg.calibration.reliability import Reliability
    from noneg.checks import Setting, WeightKind
    from noneg.registry import Better
    from noneg.scores import PUScores

BEST = "best"
DIAGRAM_BINS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """Models by one criterion.

    Attributes
    ----------
    name, title : str
    better : {"higher", "lower"}
    estimates : dict of str to Estimate
        The criterion of each model.
    reference : str
        The model that the others are compared with.
    differences : dict of str to Estimate
        Each other model's criterion minus that of the reference, on the same rows. Each interval
        holds for its own pair.
    leaders : tuple of str
        The best model, and those whose difference from it could be zero.
    ordering : Ordering or None
        The order as a function of the prior; None for labelled data.
    """

    name: str
    title: str
    better: Better
    estimates: dict[str, Estimate]
    reference: str
    differences: dict[str, Estimate]
    leaders: tuple[str, ...]
    ordering: Ordering | None

    @property
    def winner(self) -> str | None:
        """The model that is better than every other beyond sampling error; None for a tie."""
        return self.leaders[0] if len(self.leaders) == 1 else None

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return {
            "title": self.title,
            "better": self.better,
            "estimates": {name: x.to_dict() for name, x in self.estimates.items()},
            "reference": self.reference,
            "differences": {name: x.to_dict() for name, x in self.differences.items()},
            "leaders": list(self.leaders),
            "winner": self.winner,
            "ordering": None if self.ordering is None else self.ordering.to_dict(),
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """What `compare` found; `to_dict` is the JSON of ``noneg compare --json``.

    Attributes
    ----------
    models : tuple of str
    n_positive, n_unlabeled, n_marginal : float
        Sizes of the samples.
    prior : Estimate
        The class prior with its interval, a point when it is given exactly.
    setting : str
    level : float
        Confidence level of all intervals.
    threshold : float
        Of the proxy accuracy.
    criteria : dict of str to Compared
    diagrams : dict of str to Reliability
        The reliability diagram of each model, over bins of equal mass.
    """

    models: tuple[str, ...]
    n_positive: float
    n_unlabeled: float
    n_marginal: float
    prior: Estimate
    setting: Setting
    level: float
    threshold: float
    criteria: dict[str, Compared]
    diagrams: dict[str, Reliability]

    def __repr__(self) -> str:
        rows = [
            (found.title, model, str(one), str(gap), "leads" if model in found.leaders else "")
            for found in self.criteria.values()
            for model, one in found.estimates.items()
            for gap in (found.differences.get(model, "reference"),)
        ]
        title = f"{self.setting}, prior {self.prior.value:.4g}, {self.level:g} intervals"
        return f"{title}\n{aligned([('criterion', 'model', 'value', 'difference', ''), *rows])}"

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return {
            "models": list(self.models),
            "n_positive": self.n_positive,
            "n_unlabeled": self.n_unlabeled,
            "n_marginal": self.n_marginal,
            "prior": self.prior.to_dict(),
            "setting": self.setting,
            "level": self.level,
            "threshold": self.threshold,
            "criteria": {name: found.to_dict() for name, found in self.criteria.items()},
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with a row for each criterion and model; the reference differs by nan."""
        nothing = Estimate(value=np.nan, low=np.nan, high=np.nan, level=self.level, method="")
        rows = [
            (name, model, one.value, one.low, one.high, gap.value, gap.low, gap.high)
            for name, found in self.criteria.items()
            for model, one in found.estimates.items()
            for gap in (found.differences.get(model, nothing),)
        ]
        gaps = ("difference", "difference_low", "difference_high")
        names = ("criterion", "model", "value", "low", "high", *gaps)
        return {name: np.array(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


def compare(  # noqa: PLR0913 - each one names a fact that is never guessed
    models: Mapping[str, ArrayLike],
    label: ArrayLike,
    *,
    setting: Setting,
    prior: float | None = None,
    prior_interval: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "frequency",
    positive_label: object = None,
    criteria: Iterable[str] = tuple(CRITERIA),
    threshold: float = 0.5,
    reference: str = BEST,
    priors: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Comparison:
    """Compare models that scored the same rows.

    Parameters
    ----------
    models : mapping of str to array-like
        The scores of each model, one a row, rows in the same order.
    label : array-like
        1 for labelled positives and 0 for unlabeled rows; true labels in the setting "labelled".
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; never guessed.
    prior : float, optional
        Share of positives in the population. Needed unless the setting is "labelled".
    prior_interval : (float, float), optional
        What is known of the prior; all intervals, and the winner, then hold for every prior in it.
    sample_weight, weight_kind, positive_label
        As in `PUScores.from_pu_labels`.
    criteria : iterable of str
        Names of metrics; see `noneg.performance.CRITERIA`.
    threshold : float
        Of the proxy accuracy.
    reference : str
        The model to compare the others with; "best" for the best one by each criterion.
    priors : (float, float), optional
        Priors at which to look at the order; see `noneg.performance.ordering.prior_range`.
    level : float
        Confidence level of all intervals.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> score, label = LogisticGaussian.calibrated().draw_rows(2000, seed=0)
    >>> found = compare({"plain": score, "squared": score**2}, label, setting="labelled")
    >>> found.criteria["proxy_auc"].winner, found.criteria["brier"].winner
    (None, 'plain')
    >>> print(found.criteria["brier"].differences["squared"])
    0.0195 [0.0139, 0.0250]
    """
    rows = PairedRows.checked(
        models,
        label,
        setting=setting,
        positive_label=positive_label,
        sample_weight=sample_weight,
        weight_kind=weight_kind,
    )
    _check_prior(setting, prior, prior_interval)
    _check_reference(reference, rows)
    chosen = [find_criterion(name) for name in criteria]
    scores = rows.scores(prior, prior_interval)
    found = Differences(rows, scores, check_threshold(threshold), check_level(level))
    first = scores[next(iter(scores))]
    span = _span(first, priors)
    return Comparison(
        models=tuple(scores),
        n_positive=first.n_positive,
        n_unlabeled=first.n_unlabeled,
        n_marginal=first.n_marginal,
        prior=_prior_estimate(first, found.level),
        setting=first.setting,
        level=found.level,
        threshold=found.threshold,
        criteria={one.name: _compared(found, one, reference, span) for one in chosen},
        diagrams={name: _diagram(one, found.level) for name, one in scores.items()},
    )


def _diagram(scores: PUScores, level: float) -> Reliability:
    bins = int(max(1, min(DIAGRAM_BINS, scores.n_marginal // 2)))
    return reliability(scores, bins=bins, binning="mass", level=level)


def _compared(
    found: Differences, criterion: Criterion, reference: str, span: tuple[float, float] | None
) -> Compared:
    options = {"threshold": found.threshold} if criterion.has_threshold else {}
    estimates = {
        name: criterion.interval(scores, level=found.level, **options)
        for name, scores in found.scores.items()
    }
    rank = {
        name: np.nan_to_num(criterion.sign * x.value, nan=-np.inf) for name, x in estimates.items()
    }
    best = max(rank, key=lambda name: rank[name])
    to_best = {m: found.estimate(criterion, m, best) for m in rank if m != best}
    differences = to_best
    if reference not in (BEST, best):
        differences = {m: found.estimate(criterion, m, reference) for m in rank if m != reference}
    return Compared(
        name=criterion.name,
        title=criterion.label,
        better=criterion.better,
        estimates=estimates,
        reference=best if reference == BEST else reference,
        differences=differences,
        leaders=(best, *(m for m, gap in to_best.items() if not _differs(gap))),
        ordering=None
        if span is None
        else ordering(found.scores, metric=criterion.name, priors=span, **options),
    )


def _check_reference(reference: str, rows: PairedRows) -> None:
    if reference not in (BEST, *rows.columns):
        known = ", ".join(repr(name) for name in rows.columns)
        msg = f"'reference' must be '{BEST}' or a model ({known}), got {reference!r}."
        raise ValueError(msg)


def _differs(gap: Estimate) -> bool:
    """Whether a difference is beyond sampling error."""
    return gap.low > 0.0 or gap.high < 0.0


def _check_prior(
    setting: Setting, prior: float | None, interval: tuple[float, float] | None
) -> None:
    """Refuse a prior that labels determine, and ask for one that they do not."""
    if setting != "labelled" and prior is None:
        raise ValueError(missing_prior(setting))
    for name, value in (("prior", prior), ("prior_interval", interval)):
        if setting == "labelled" and value is not None:
            msg = (
                f"'{name}' must not be given with setting='labelled', got {value!r}: labels of "
                "every row determine it. Leave it out, or choose another setting."
            )
            raise ValueError(msg)


def _span(scores: PUScores, priors: tuple[float, float] | None) -> tuple[float, float] | None:
    if scores.setting != "labelled":
        return prior_range(scores) if priors is None else priors
    if priors is not None:
        msg = f"'priors' must not be given with setting='labelled', got {priors!r}. Leave it out."
        raise ValueError(msg)
    return None


def _prior_estimate(scores: PUScores, level: float) -> Estimate:
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    method = "share of positives" if scores.prior_is_estimated else "given"
    return Estimate(value=scores.prior, low=low, high=high, level=level, method=method)
