"""Compare models that scored the same rows: values, paired differences, and a winner."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.checks import (
    check_level,
    check_prior_given,
    check_same_length,
    check_selection,
    determined,
    is_labeled,
)
from noneg.errors import InputError
from noneg.groups import by_group, members, own_knowledge
from noneg.page_state import prior_estimate
from noneg.performance.assumptions import largest_prior
from noneg.performance.ordering import (
    CRITERIA,
    Criterion,
    Ordering,
    find_criterion,
    ordering,
    prior_range,
)
from noneg.performance.paired import Differences, PairedRows, check_comparable
from noneg.prior import ScoreLaws, estimate_prior
from noneg.recalibration.choose import small_diagram
from noneg.results import Estimate, Table, aligned, end_columns, plain_fields
from noneg.rules import check_threshold
from noneg.sentences import say
from noneg.tables.groups import Grouping

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
    """Models compared by one criterion.

    Attributes
    ----------
    name, title : str
    better : {"higher", "lower"}
    estimates : dict of str to Estimate
        The value of the criterion for each model.
    reference : str
        The model that the others are compared with.
    differences : dict of str to Estimate
        The criterion of every other model minus that of the reference, on the same rows. Each
        interval holds for its own pair.
    leaders : tuple of str
        The best model, and the models whose difference from it could be zero; `unranked` ones
        excluded.
    unranked : dict of str to str
        Models with an impossible value, and the reasons; they are not compared.
    tipping : dict of str to float
        For each other model, the smallest selection factor at which its difference from the winner
        may vanish; empty for calibration errors, and if there is no winner.
    visible : float or None
        Roughly the smallest difference between the leaders that these rows could have detected;
        None if there is a single leader.
    ordering : Ordering or None
        The order of the ranked models as a function of the prior; None for labeled data, for fewer
        than two ranked models, and for the debiased error, which is not a simple function of the
        prior.
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
        """The model that is significantly better than every other one; None for a tie."""
        return self.leaders[0] if len(self.leaders) == 1 and not self.unranked else None

    def place(self, model: str) -> str:
        """Return a word for a model: "wins", "tie", "impossible", or the empty string."""
        if model in self.unranked:
            return "impossible"
        return ("wins" if self.winner else "tie") if model in self.leaders else ""

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        names = ("title", "better", "estimates", "reference", "differences", "leaders", "winner")
        tipping = {m: x if isfinite(x) else None for m, x in self.tipping.items()}
        return (
            plain_fields(self, *names, "unranked")
            | {"tipping_selection": tipping}
            | plain_fields(self, "visible", "ordering")
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison(Table):
    """The results of `compare`; `to_dict` returns the JSON of ``noneg compare --json``.

    Attributes
    ----------
    models : tuple of str
    n_positive, n_unlabeled, n_marginal : float
        Sizes of the samples.
    prior : Estimate
        The class prior with its interval; a single point if it is given exactly.
    setting : str
    level : float
        Confidence level of all intervals.
    threshold : float
        Threshold for the criteria that need one.
    criteria : dict of str to Compared
    diagrams : dict of str to Reliability
        The reliability diagram of each model, over equal-mass bins.
    groups : dict of str to dict
        The criteria within each group, if requested; the intervals hold for all groups at once.
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
    groups: dict[str, dict[str, Compared]] = field(default_factory=dict)

    @property
    def is_labeled(self) -> bool:
        """Whether every row is labeled, so that there is no other prior to try."""
        return is_labeled(self.setting)

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
        sizes = ("n_positive", "n_unlabeled", "n_marginal")
        facts = ("prior", "setting", "level", "threshold", "criteria")
        groups = ("groups",) if self.groups else ()
        return plain_fields(self, "models", *sizes, *facts, *groups)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return one row per criterion and model; the difference of the reference is nan."""
        rows = [
            (name, model, one, found.differences.get(model))
            for name, found in self.criteria.items()
            for model, one in found.estimates.items()
        ]
        criterion, model, values, gaps = zip(*rows, strict=True)
        named = {"criterion": np.array(criterion), "model": np.array(model)}
        return named | end_columns(values) | end_columns(gaps, "difference")


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
    by: ArrayLike | None = None,
) -> Comparison:
    """Compare models that scored the same rows.

    Parameters
    ----------
    models : mapping of str to array-like
        The scores of each model, one per row, with rows in the same order.
    label : array-like
        1 for labeled positives and 0 for unlabeled rows; true labels if the setting is "labeled".
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled; never guessed.
    prior : float or "estimate", optional
        Share of positives in the population, or "estimate" to infer it from the scores of the model
        that separates best, which give the tightest bound. Required unless the setting is "labeled"
        or `prior_interval` is given.
    prior_interval : (float, float), optional
        Range of possible priors; all intervals, and the winner, then hold for every prior in it.
    selection : float
        Largest factor by which the score density of hidden positives may differ from that of
        labeled ones; all intervals, and the winner, then hold up to this factor.
    sample_weight, weight_kind, positive_label
        As in `PUScores.from_pu_labels`.
    criteria : iterable of str
        Names of metrics: those with a rule or a loss, such as "f_beta" and "brier", and "auroc",
        "proxy_auc", "ece" and "debiased_ece". The default is all of `noneg.performance.CRITERIA`
        except the plain "ece".
    threshold : float
        Threshold for the criteria that need one.
    reference : str
        The model to compare the others with; "best" for the best one by each criterion.
    priors : (float, float), optional
        Range of priors over which to examine the order; see
        `noneg.performance.ordering.prior_range`.
    level : float
        Confidence level of all intervals.
    by : array-like, optional
        The group of each row; the models are then also compared within each group.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> score, label = LogisticGaussian.calibrated().draw_rows(2000, seed=0)
    >>> found = compare({"plain": score, "squared": score**2}, label, setting="labeled")
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
    check_prior_given(rows.setting, prior, prior_interval)
    _check_reference(reference, rows)
    chosen = [check_comparable(find_criterion(name)) for name in criteria]
    if prior == "estimate":
        prior, prior_interval = _estimated(rows, level)
    factor = check_selection(selection)
    scores = {m: x.with_selection(factor) for m, x in rows.scores(prior, prior_interval).items()}
    found = Differences(rows, scores, check_threshold(threshold), check_level(level))
    first = scores[next(iter(scores))]
    span = _span(first, priors)
    groups = None if by is None else _kept(by, sample_weight)
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
        groups={} if groups is None else _by_group(rows, first, groups, chosen, found),
    )


def _kept(by: ArrayLike, weight: ArrayLike | None) -> ArrayLike:
    """Return the groups of the rows with positive weight."""
    if weight is None:
        return by
    w = np.asarray(weight, dtype=np.float64)
    groups = np.asarray(by, dtype=object)
    check_same_length(by=groups.size, sample_weight=w.size)
    return groups[w > 0.0]


def _by_group(
    rows: PairedRows,
    scores: PUScores,
    by: ArrayLike,
    criteria: list[Criterion],
    found: Differences,
) -> dict[str, dict[str, Compared]]:
    """Compare the models within each group; a criterion's intervals hold for all groups at once.

    Half of the error probability goes to the priors of the groups, half to the differences.
    """
    grouping = Grouping(["group"])
    codes, score = grouping.codes([by]), next(iter(rows.columns.values()))
    check_same_length(by=codes.size, label=rows.flags.size)
    grouping.add(codes, score, rows.flags, rows.weight, rows.kind)
    table = by_group(scores, grouping.finished(), metrics=(), level=(1.0 + found.level) / 2.0)
    names = grouping.names_of(codes)
    level = 1.0 - (1.0 - found.level) / (2.0 * len(table.group))
    known = own_knowledge(scores, table)
    made = {}
    for group, here in members(table, names).items():
        part = rows.part(here)
        own = part.scores()
        if scores.hidden:
            own = {model: one.with_knowledge(known[group]) for model, one in own.items()}
        there = Differences(part, own, found.threshold, level)
        made[group] = {one.name: _compared(there, one, BEST, None) for one in criteria}
    return made


def _compared(
    found: Differences, criterion: Criterion, reference: str, span: tuple[float, float] | None
) -> Compared:
    options = criterion.options_at(found.threshold)
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
        name: np.nan_to_num(criterion.merit(x.value), nan=-np.inf)
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
    is_clear = not ties and not unranked
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
        tipping=_tipping(found, criterion, best, rank) if is_clear else {},
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
    """Explain why an estimate fell outside its range."""
    limit, prior = largest_prior(scores, level=level), scores.known_prior
    cause = say("cause_too_few", positives=scores.n_positive)
    if prior > limit:
        cause = say("cause_too_large", prior=prior, limit=limit)
    return say("compared_impossible", label=criterion.label, value=value, cause=cause)


def _reach(gap: Estimate) -> float:
    """Return how large a difference with this noise must be to exclude zero."""
    return gap.value - gap.low if gap.value > 0.0 else gap.high - gap.value


def _check_reference(reference: str, rows: PairedRows) -> None:
    if reference not in (BEST, *rows.columns):
        known = ", ".join(repr(name) for name in rows.columns)
        raise InputError("reference", f"must be '{BEST}' or a model ({known})", value=reference)


def _differs(gap: Estimate) -> bool:
    """Return whether a difference is significant."""
    return gap.low > 0.0 or gap.high < 0.0


def _estimated(rows: PairedRows, level: float) -> tuple[float, tuple[float, float]]:
    """Return the prior and the set of priors estimated from the model that separates best."""
    unknown = rows.scores()
    best = unknown[best_separated(unknown)]
    found = estimate_prior(best, level=level).apply(best)
    return found.known_prior, found.prior_set


def best_separated(scores: Mapping[str, PUScores]) -> str:
    """Return the model that best separates positives from the rest.

    Every model gives an upper bound on the same prior; this one gives the tightest bound.
    """
    return max(scores, key=lambda name: ScoreLaws.of(scores[name]).separation)


def _span(scores: PUScores, priors: tuple[float, float] | None) -> tuple[float, float] | None:
    if not scores.prior_is_estimated:
        return prior_range(scores) if priors is None else priors
    if priors is not None:
        raise determined("priors", priors)
    return None
