"""Models that scored the same rows, set side by side: values, paired differences, a winner."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.checks import (
    check_level,
    check_selection,
    determined,
    is_labelled,
    missing_prior,
)
from noneg.errors import InputError
from noneg.page_state import prior_estimate, small_diagram
from noneg.performance.assumptions import largest_prior
from noneg.performance.paired import Differences, PairedRows, check_comparable
from noneg.performance.selection import (
    CRITERIA,
    Criterion,
    Ordering,
    find_criterion,
    ordering,
    prior_range,
)
from noneg.prior import ScoreLaws, estimate_prior
from noneg.results import Estimate, Table, aligned
from noneg.rules import check_threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from noneg.calibration.reliability import Reliability
    from noneg.checks import Setting, WeightKind
    from noneg.registry import Better
    from noneg.scores import PUScores

BEST = "best"
COMPARED = tuple(name for name in CRITERIA if name != "ece")


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
        The best model, and those whose difference from it could be zero; none of `unranked`.
    unranked : dict of str to str
        Models whose value no model can have, and why; they are not compared.
    tipping : dict of str to float
        For each other model, the smallest selection factor at which its difference from the winner
        may vanish; empty without a winner, and for calibration errors.
    visible : float or None
        Between the leaders, about the smallest difference that these rows would have shown; None
        where there is a single one.
    ordering : Ordering or None
        The order of the ranked models as a function of the prior; None for labelled data, for
        fewer than two of them, and for the debiased error, which is no simple function of it.
    """

    name: str
    title: str
    better: Better
    estimates: dict[str, Estimate]
    reference: str
    differences: dict[str, Estimate]
    leaders: tuple[str, ...]
    unranked: dict[str, str]
    tipping: dict[str, float]
    visible: float | None
    ordering: Ordering | None

    @property
    def winner(self) -> str | None:
        """The model that is better than every other beyond sampling error; None for a tie."""
        return self.leaders[0] if len(self.leaders) == 1 and not self.unranked else None

    def place(self, model: str) -> str:
        """Return a word for a model: "wins", "tie", "impossible", or nothing for the others."""
        if model in self.unranked:
            return "impossible"
        return ("wins" if self.winner else "tie") if model in self.leaders else ""

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
            "unranked": self.unranked,
            "tipping_selection": {m: x if isfinite(x) else None for m, x in self.tipping.items()},
            "visible": self.visible,
            "ordering": None if self.ordering is None else self.ordering.to_dict(),
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison(Table):
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
        Of the criteria that have one.
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

    @property
    def is_labelled(self) -> bool:
        """Whether every row has its label, so that there is no other prior to try."""
        return is_labelled(self.setting)

    def __repr__(self) -> str:
        rows = [
            (found.title, model, str(one), str(gap), found.place(model))
            for found in self.criteria.values()
            for model, one in found.estimates.items()
            for gap in (found.differences.get(model, "reference" * (model == found.reference)),)
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


def compare(  # noqa: PLR0913 - each one names a fact that is never guessed
    models: Mapping[str, ArrayLike],
    label: ArrayLike,
    *,
    setting: Setting,
    prior: float | Literal["estimate"] | None = None,
    prior_interval: tuple[float, float] | None = None,
    selection: float = 1.0,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "frequency",
    positive_label: object = None,
    criteria: Iterable[str] = COMPARED,
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
    prior : float or "estimate", optional
        Share of positives in the population, or what the scores tell of it: those of the model that
        separates best bound it best. Needed unless the setting is "labelled", or there is a
        `prior_interval`.
    prior_interval : (float, float), optional
        What is known of the prior; all intervals, and the winner, then hold for every prior in it.
    selection : float
        How many times more or less likely than a labelled positive a hidden one may be to look as
        it does; all intervals, and the winner, then hold up to this factor.
    sample_weight, weight_kind, positive_label
        As in `PUScores.from_pu_labels`.
    criteria : iterable of str
        Names of metrics: those with a rule or a loss, such as "f_beta" and "brier", "auroc",
        "proxy_auc", "ece" and "debiased_ece"; by default those in `noneg.performance.CRITERIA` but
        the plain "ece".
    threshold : float
        Of the criteria that have one.
    reference : str
        The model to compare the others with; "best" for the best one by each criterion.
    priors : (float, float), optional
        Priors at which to look at the order; see `noneg.performance.selection.prior_range`.
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
    _check_prior(rows.setting, prior, prior_interval)
    _check_reference(reference, rows)
    chosen = [check_comparable(find_criterion(name)) for name in criteria]
    if prior == "estimate":
        prior, prior_interval = _estimated(rows, level)
    factor = check_selection(selection)
    scores = {m: x.with_selection(factor) for m, x in rows.scores(prior, prior_interval).items()}
    found = Differences(rows, scores, check_threshold(threshold), check_level(level))
    first = scores[next(iter(scores))]
    span = _span(first, priors)
    return Comparison(
        models=tuple(scores),
        n_positive=first.n_positive,
        n_unlabeled=first.n_unlabeled,
        n_marginal=first.n_marginal,
        prior=prior_estimate(first, found.level),
        setting=first.setting,
        level=found.level,
        threshold=found.threshold,
        criteria={one.name: _compared(found, one, reference, span) for one in chosen},
        diagrams={name: small_diagram(one, found.level) for name, one in scores.items()},
    )


def _compared(
    found: Differences, criterion: Criterion, reference: str, span: tuple[float, float] | None
) -> Compared:
    options = {"threshold": found.threshold} if criterion.has_threshold else {}
    estimates = {
        name: criterion.estimate(scores, level=found.level, **options)
        for name, scores in found.scores.items()
    }
    unranked = {
        name: _why(criterion, x.raw, found.scores[name], found.level)
        for name, x in estimates.items()
        if x.raw is not None
    }
    rank = {
        name: np.nan_to_num(criterion.sign * x.value, nan=-np.inf)
        for name, x in estimates.items()
        if name not in unranked
    }
    best = max(rank, key=lambda name: rank[name], default=next(iter(estimates)))
    chosen = best if reference == BEST else reference
    to_best, differences = (
        {m: found.estimate(criterion, m, base) for m in rank if m != base and base in rank}
        for base in (best, chosen)
    )
    ties = {m: gap for m, gap in to_best.items() if not _differs(gap)}
    ranked = {name: found.scores[name] for name in rank}
    return Compared(
        name=criterion.name,
        title=criterion.label,
        better=criterion.better,
        estimates=estimates,
        reference=chosen,
        differences=differences,
        leaders=(best, *ties) if rank else (),
        unranked=unranked,
        tipping={}
        if ties or len(rank) < len(estimates)
        else _tipping(found, criterion, best, rank),
        visible=max((_reach(gap) for gap in ties.values()), default=None),
        ordering=None
        if span is None or len(ranked) < 2 or not criterion.has_curve
        else ordering(ranked, metric=criterion.name, priors=span, **options),
    )


def _tipping(
    found: Differences, criterion: Criterion, winner: str, models: Iterable[str]
) -> dict[str, float]:
    """Return the selection factors at which the winner's lead may vanish."""
    factors = {m: found.tipping(criterion, winner, m) for m in models if m != winner}
    return {m: factor for m, factor in factors.items() if factor is not None}


def _why(criterion: Criterion, value: float, scores: PUScores, level: float) -> str:
    """Say why an estimate left the range of what it estimates."""
    limit = largest_prior(scores, level=level)
    cause = (
        f"the prior {scores.known_prior:.4g} is too large (the scores allow {limit:.4g} at most)"
        if scores.known_prior > limit
        else f"{scores.n_positive:,.0f} positives are too few, or the prior is too large"
    )
    return f"{criterion.label} {value:.4f} is impossible: {cause}."


def _reach(gap: Estimate) -> float:
    """Return how large a difference with this noise would have to be to differ from zero."""
    return gap.value - gap.low if gap.value > 0.0 else gap.high - gap.value


def _check_reference(reference: str, rows: PairedRows) -> None:
    if reference not in (BEST, *rows.columns):
        known = ", ".join(repr(name) for name in rows.columns)
        raise InputError("reference", f"must be '{BEST}' or a model ({known})", value=reference)


def _differs(gap: Estimate) -> bool:
    """Whether a difference is beyond sampling error."""
    return gap.low > 0.0 or gap.high < 0.0


def _estimated(rows: PairedRows, level: float) -> tuple[float, tuple[float, float]]:
    """Return the prior, and the set of priors, that the model of the best separation allows."""
    unknown = rows.unsettled()
    best = max(unknown.values(), key=lambda scores: ScoreLaws.of(scores).separation)
    found = estimate_prior(best, level=level).apply(best)
    return found.known_prior, found.prior_set


def _check_prior(
    setting: Setting, prior: float | str | None, interval: tuple[float, float] | None
) -> None:
    """Refuse a prior that labels determine, and ask for one that they do not."""
    if not is_labelled(setting) and prior is None and interval is None:
        raise missing_prior(setting)
    for name, value in (("prior", prior), ("prior_interval", interval)):
        if is_labelled(setting) and value is not None:
            raise determined(name, value)


def _span(scores: PUScores, priors: tuple[float, float] | None) -> tuple[float, float] | None:
    if not scores.prior_is_estimated:
        return prior_range(scores) if priors is None else priors
    if priors is not None:
        raise determined("priors", priors)
    return None
