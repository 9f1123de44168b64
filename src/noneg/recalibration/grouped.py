r"""One map for each group, from positives and unlabeled rows, and what it gains on held-out rows.

The map of a group is fitted under the prior of the group, :math:`\pi_g = \pi\,\nu(g)/\mu(g)`. It
follows from the labels if labeled positives are a random sample of all positives (see
`noneg.groups`). Few labels make this prior noisy, so a map of its own can be worse for a group than
the map of all rows. The method "auto" therefore borrows strength from all rows:

1. It chooses a map of all rows.
2. The likelihood of the labels gives each group a shift of its log odds, with an error
   :math:`e_g`. If the shifts differ by more than their errors, they are shrunk by
   :math:`\tau^2/(\tau^2 + e_g^2)`, where :math:`\tau^2`, the variance of the true shifts, follows
   from their moments (DerSimonian & Laird 1986); otherwise all are zero.
3. A group gets a Platt map on top where this raises the likelihood of held-out labels by two
   standard errors.

The likelihood is that of all rows together. It needs only the overall prior, and treats the noise
of :math:`\nu(g)` as noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import chdtri, expit, logit

from noneg.checks import check_count, check_level, check_prior_given, check_same_length
from noneg.groups import INSIDE, GroupTable, by_group
from noneg.intervals import z_score
from noneg.likelihood import LabeledRows, LabelLaw
from noneg.performance.ordering import find_criterion
from noneg.performance.paired import Differences, PairedRows
from noneg.randomness import stream
from noneg.recalibration.base import (
    Calibrator,
    Stored,
    check_unit,
    fit_noting,
    fit_quietly,
    log_odds,
)
from noneg.recalibration.choose import COMPARED, Auto, find_calibrator, load_object, make
from noneg.recalibration.folds import deal_rows
from noneg.results import Estimate, Table, aligned, plain_fields
from noneg.tables.groups import Grouping, group_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting, WeightKind
    from noneg.scores import PUScores

    Names = NDArray[np.str_]

# Folds that "auto" holds out, the number of standard errors by which a Platt map must raise their
# likelihood, and the level of the test that groups differ.
FOLDS, REACH, DIFFER = 5, 2.0, 0.05
# Largest shift of the log odds of a group.
LARGEST_SHIFT = 6.0
# Fewest labeled positives and other rows that a map can be fitted on.
FEWEST = 2
BEFORE, ONE, OWN = "before", "one map", "by group"


class _Rows(NamedTuple):
    """Scores and labels with their overall prior, and the group of each row."""

    paired: PairedRows
    by: Names
    prior: float | None
    groups: tuple[str, ...] = ()
    small: tuple[str, ...] = ()

    @classmethod
    def checked(
        cls,
        s: ArrayLike,
        labeled: ArrayLike,
        by: ArrayLike,
        setting: Setting,
        prior: float | None,
        **weights: Any,  # noqa: ANN401
    ) -> _Rows:
        """Return rows that have a weight."""
        score, grouping = np.asarray(check_unit(s)).reshape(-1), Grouping(["group"])
        names = grouping.names_of(grouping.codes([by]))
        check_same_length(s=score.size, by=names.size)
        models = {BEFORE: score, ONE: score}
        paired = PairedRows.checked(models, labeled, setting=setting, **weights)
        if weights.get("sample_weight") is not None:
            names = names[np.asarray(weights["sample_weight"], dtype=np.float64) > 0.0]
        check_prior_given(paired.setting, prior, ranged=False, estimated=False)
        return cls(paired, names, prior)

    def pooled(self) -> _Rows:
        """Return the rows with small groups pooled in the last group."""
        groups = _measured(self, self.scores()).group
        small = tuple(np.setdiff1d(self.by, groups).tolist())
        return self._replace(by=_label(self.by, groups, small), groups=groups, small=small)

    @property
    def s(self) -> Floats:
        return self.paired.columns[BEFORE]

    def take(self, here: Flags) -> _Rows:
        """Return some of the rows."""
        return self._replace(paired=self.paired.part(here), by=self.by[here])

    def scores(self) -> PUScores:
        """Return all rows."""
        return self.paired.scores(self.prior, None)[BEFORE]

    @property
    def known_prior(self) -> float:
        """The overall prior."""
        labeled = float(self.paired.everyone[self.paired.flags].sum())
        return labeled if self.prior is None else self.prior

    @property
    def law(self) -> LabelLaw:
        """How rows came to be labeled."""
        mass = self.paired.masses.count * self.paired.mass
        return LabelLaw.of(LabeledRows(self.paired.flags, mass), self.paired.setting, self.prior)

    def group(self, here: Flags, s: Floats) -> PUScores | None:
        """Return the rows of a group with other scores and its own prior; None if there are few."""
        rows = self.paired.part(here)
        if min(rows.effective(rows.flags), rows.effective(~rows.flags)) < FEWEST:
            return None
        prior = None if self.prior is None else self.prior_of(here)
        return replace(rows, columns={BEFORE: s[here]}).scores(prior, None)[BEFORE]

    def prior_of(self, here: Flags) -> float:
        """Return the prior of a group: the overall one, times its positives over its rows."""
        positives = float(self.paired.labeled[here[self.paired.flags]].sum())
        rows = float(self.paired.everyone[here].sum())
        ratio = positives / rows if rows > 0.0 else 1.0
        return float(np.clip(self.known_prior * ratio, INSIDE, 1.0 - INSIDE))

    def folds(self, number: int, seed: int) -> NDArray[np.intp]:
        """Return the fold of each row; labeled rows are dealt apart, but not group by group.

        Within groups, every fold would have the same share of labeled rows, and a wrong prior of a
        group would look right on held-out rows.
        """
        return deal_rows(self.paired.flags, number, stream(seed, "folds of groups"))


class ByGroup(Stored):
    """One map for each group of rows.

    With the method "auto", a map of all rows is chosen first. If groups differ, each gets a shift
    of its log odds, shrunk toward zero the more, the fewer labels it has, and a Platt map on top
    where this clearly raises the likelihood of held-out labels. With any other method, each group
    gets a map of its own. Small groups are pooled, as in `noneg.evaluate`.

    Parameters
    ----------
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.

    Attributes
    ----------
    overall_ : Calibrator
        The map of all rows, which new groups get.
    maps_ : dict of str to Calibrator
        The map of each group that has one; with "auto", it is applied after the shift.
    shifts_ : dict of str to float
        Shift of the log odds of each group after `overall_`; only with "auto".
    groups_ : dict of str to float
        Prior of each group.
    small_ : tuple of str
        Groups that were pooled; the last group of `groups_` is their pool.
    fitted_on_ : dict
        Setting, prior and numbers of rows; the command line adds the names of the score column
        ("score_column") and of the columns that define groups ("by").

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> region = rng.choice(["north", "south"], 6000)
    >>> s = rng.beta(2, 5, 6000)
    >>> eta = np.where(region == "south", np.sqrt(s), s)  # scores of the south are too low
    >>> labeled = rng.random(6000) < 0.5 * eta
    >>> made = ByGroup().fit(s, labeled, region, setting="one-sample", prior=eta.mean())
    >>> made.transform([0.25, 0.25], ["north", "south"]).round(2)
    array([0.27, 0.49])
    >>> restored = ByGroup.from_json(made.to_json())
    >>> restored.transform([0.25], ["south"]) == made.transform([0.25], ["south"])
    array([ True])
    """

    name = "by-group"
    fitted_by = ("overall_", "fit(s, labeled, by, ...)")
    overall_: Calibrator
    maps_: dict[str, Calibrator]
    shifts_: dict[str, float]
    groups_: dict[str, float]
    small_: tuple[str, ...]

    def __init__(self, method: str | Calibrator = "auto") -> None:
        self.method = method

    def fit(
        self,
        s: ArrayLike,
        labeled: ArrayLike,
        by: ArrayLike,
        *,
        setting: Setting,
        prior: float | None = None,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "frequency",
    ) -> Self:
        """Fit the map of all rows and those of groups.

        Parameters
        ----------
        s : array-like, shape (n,)
            Scores in [0, 1].
        labeled : array-like, shape (n,)
            1 for labeled positives, 0 for unlabeled rows; in the setting "labeled", the true
            labels.
        by : array-like, shape (n,)
            The group of each row.
        setting : {"two-sample", "one-sample", "labeled"}
        prior : float
            Share of positives in the population, not in a group; None for labeled data.
        sample_weight, weight_kind
            As in `noneg.PUScores`.
        """
        weights = {"sample_weight": sample_weight, "weight_kind": weight_kind}
        rows = _Rows.checked(s, labeled, by, setting, prior, **weights)
        return self._fit(rows.pooled())

    def _fit(self, rows: _Rows) -> Self:
        self.overall_ = find_calibrator(self.method).fit(rows.scores())
        self.maps_, self.small_, held = {}, rows.small, rows.folds(FOLDS, 0)
        masks = {name: rows.by == name for name in rows.groups}
        self.groups_ = {name: rows.prior_of(here) for name, here in masks.items()}
        self.shifts_ = _shifts(rows, masks, self.overall_.transform(rows.s)) if self._shares else {}
        start = self._start(rows.s, rows.by)
        for name, here in masks.items():
            own = rows.group(here, start)
            if own is None:
                continue
            if not self._shares:
                self.maps_[name] = find_calibrator(self.method).fit(own)
            elif _raises_likelihood(rows, here, start, held):
                self.maps_[name] = fit_quietly(make("platt"), own)
        self.fitted_on_ = dict(self.overall_.fitted_on_)
        return self

    @property
    def _shares(self) -> bool:
        """Whether groups correct the map of all rows instead of replacing it."""
        return isinstance(self.overall_, Auto)

    def _start(self, s: Floats, label: Names) -> Floats:
        """Return the scores that the maps of groups are applied to."""
        if not self._shares:
            return s
        out: Floats = self.overall_.transform(s)
        for name, shift in self.shifts_.items():
            here = (label == name) & (shift != 0.0)
            out[here] = expit(logit(out[here]) + shift)
        return out

    def transform(self, s: ArrayLike, by: ArrayLike) -> Floats:
        """Return calibrated probabilities; rows of new groups get the map of all rows.

        Parameters
        ----------
        s : array-like, shape (n,)
        by : array-like, shape (n,)
            The group of each row.
        """
        score, names = np.asarray(check_unit(s)).reshape(-1), self._named(by)
        check_same_length(s=score.size, by=names.size)
        start = self._start(score, names)
        out = start.copy() if self._shares else np.asarray(self.overall_.transform(score))
        for name, own in self.maps_.items():
            here = names == name
            out[here] = own.transform(start[here])
        return out

    def unknown(self, by: ArrayLike) -> Names:
        """Return the group of each row that has a group which the maps were not fitted on."""
        names = self._named(by)
        return names[~np.isin(names, list(self.groups_))]

    def _named(self, by: ArrayLike) -> Names:
        self._require_fit()
        return _label(np.asarray(by).astype(str), tuple(self.groups_), self.small_)

    def told(self, group: str) -> str:
        """Return the name of the map of a group."""
        own, shift = self.maps_.get(group), self.shifts_.get(group, 0.0)
        if not self._shares and own is not None:
            chosen: Calibrator = getattr(own, "chosen_", own)
            return chosen.name
        parts = ["all rows", *([f"log odds {shift:+.2f}"] if shift else [])]
        return ", ".join(parts if own is None else [*parts, own.name])

    def __repr__(self) -> str:
        return f"ByGroup({self.method!r})"

    def _content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        state = {
            "overall": self.overall_.to_dict(),
            "maps": {name: own.to_dict() for name, own in self.maps_.items()},
            "shifts": self.shifts_,
            "groups": self.groups_,
            "small": list(self.small_),
        }
        return {"method": find_calibrator(self.method).name}, state

    def _restore(self, state: dict[str, Any]) -> None:
        self.overall_ = load_object(state["overall"])
        self.maps_ = {str(name): load_object(own) for name, own in state["maps"].items()}
        self.shifts_, self.groups_ = (
            {str(name): float(x) for name, x in state[part].items()}
            for part in ("shifts", "groups")
        )
        self.small_ = tuple(map(str, state["small"]))


def _label(by: Names, groups: tuple[str, ...], small: tuple[str, ...]) -> Names:
    """Return the group of each row, with small ones pooled."""
    return np.where(np.isin(by, small), groups[-1], by) if small else by


def _measured(
    rows: _Rows, scores: PUScores, *, level: float = 0.95, pool: bool = True
) -> GroupTable:
    """Return the prior of each group, and its prior minus mean score."""
    paired = rows.paired
    weights: dict[str, Any] = {"weight": paired.weight, "weight_kind": paired.kind}
    sums = group_rows(rows.by, rows.s, paired.flags, **weights)
    return by_group(scores, sums, metrics=(), level=level, pool=pool)


def _shifts(rows: _Rows, masks: dict[str, Flags], p: Floats) -> dict[str, float]:
    """Return the shift of the log odds of each group, shrunk by what is noise in them."""
    law, flags, z = rows.law, rows.paired.flags, log_odds(p)
    mass, found = rows.paired.masses.count * rows.paired.mass, {}
    # With importance weights, effective rows inform.
    unit = float(mass.sum()) / rows.paired.effective(flags | True)
    for name, here in masks.items():
        part = law.take(np.flatnonzero(here))
        found[name] = _shift(part, flags[here], z[here], mass[here] / unit)
    shift, weight = np.array(list(found.values())).T
    excess = float(weight @ shift**2) - shift.size
    if shift.size < FEWEST or excess + shift.size <= chdtri(shift.size, DIFFER):
        return dict.fromkeys(found, 0.0)
    variance = excess / float(weight.sum())
    kept = variance * weight / (1.0 + variance * weight) * shift
    return dict(zip(found, kept.tolist(), strict=True))


def _shift(law: LabelLaw, flags: Flags, z: Floats, mass: Floats) -> tuple[float, float]:
    """Return the most likely shift of log odds, and the information on it where it is zero."""
    from scipy.optimize import minimize_scalar

    limits = (-LARGEST_SHIFT, LARGEST_SHIFT)
    best = minimize_scalar(
        lambda by: float(mass @ law.loss(flags, z + by)), bounds=limits, method="bounded"
    )
    sigma = expit(z + law.shift)
    labeled = law.rate * sigma
    slope = labeled * (1.0 - sigma)
    spread = np.maximum(labeled * (1.0 - labeled), np.finfo(np.float64).tiny)
    return float(best.x), float(mass @ (slope**2 / spread))


def _raises_likelihood(rows: _Rows, here: Flags, start: Floats, held: NDArray[np.intp]) -> bool:
    """Return whether a Platt map clearly raises the likelihood of a group's held-out labels."""
    paired, law, change = rows.paired, rows.law, np.zeros(rows.s.size)
    for k in range(FOLDS):
        test, rest = np.flatnonzero(here & (held == k)), held != k
        some = rows.take(rest).group(here[rest], start[rest])
        if some is None or not test.size:
            return False
        mapped, part = fit_quietly(make("platt"), some).transform(start[test]), law.take(test)
        now, then = (part.loss(paired.flags[test], log_odds(x)) for x in (mapped, start[test]))
        change[test] = paired.mass[test] * (then - now)
    count = paired.masses.count
    return float(count @ change) > REACH * float(np.sqrt(count @ change**2))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOutByGroup(Table):
    """Effect of recalibration by group on held-out rows.

    Each group is judged by its Brier score. Its bias and its calibration error on held-out rows
    would flatter the maps: each fold is mapped to the share of positives in the other folds, and
    these differences cancel in the sum over folds.

    Attributes
    ----------
    calibrator : ByGroup
        The maps, fitted on all rows.
    warnings : tuple of str
        Warnings raised by that fit.
    folds : int
    level : float
    values : dict of str to dict of str to Estimate
        Metrics of all rows "before", with "one map" and "by group".
    change : dict of str to Estimate
        "by group" minus "before" on the same rows; negative is better.
    gain : dict of str to Estimate
        "by group" minus "one map" on the same rows; negative if groups help.
    before : GroupTable
        Each group before: prior and prior minus mean score, with intervals.
    brier : ndarray, shape (3, groups)
        Brier score of each group before, with one map, and by group.
    brier_change : ndarray, shape (3, groups)
        Change from before to by group in each group, and the ends of its interval, which hold for
        all groups at once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> region = rng.choice(["north", "south"], 6000)
    >>> s = rng.beta(2, 5, 6000)
    >>> eta = np.where(region == "south", np.sqrt(s), s)
    >>> rows = {"s": s, "labeled": rng.random(6000) < 0.5 * eta, "by": region}
    >>> found = held_out_by_group(**rows, setting="one-sample", prior=eta.mean())
    >>> found.helps
    True
    """

    calibrator: ByGroup
    warnings: tuple[str, ...]
    folds: int
    level: float
    values: dict[str, dict[str, Estimate]]
    change: dict[str, Estimate]
    gain: dict[str, Estimate]
    before: GroupTable
    brier: Floats
    brier_change: Floats

    @property
    def helps(self) -> bool | None:
        """Whether maps of groups lower the Brier score below that of one map; None if unclear."""
        gap = self.gain["brier"]
        return gap.high < 0.0 if gap.high < 0.0 or gap.low > 0.0 else None

    @property
    def verdict(self) -> str:
        """Whether groups help, as a sentence."""
        said = {
            True: "Maps by group are better than one map for all rows",
            False: "Maps by group are worse than one map for all rows, which needs no groups",
            None: "Maps by group are not significantly better than one map for all rows",
        }
        gap = self.gain["brier"]
        numbers = f"{gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}]"
        return f"{said[self.helps]}: they change the held-out Brier score by {numbers}."

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with one row per group; intervals of a column hold for all groups."""
        made = self.calibrator
        table = self.before.columns()
        table["map"] = np.array([made.told(name) for name in self.before.group])
        names = ("brier_before", "brier_one_map", "brier_by_group")
        ends = ("brier_change", "brier_change_low", "brier_change_high")
        for some, values in ((names, self.brier), (ends, self.brier_change)):
            table |= dict(zip(some, values, strict=True))
        return table

    def __repr__(self) -> str:
        rows = [
            (name, *(str(self.values[model][name]) for model in self.values), str(gap))
            for name, gap in self.gain.items()
        ]
        return f"{self.verdict}\n{aligned([('', *self.values, 'by group - one map'), *rows])}"

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, ready for JSON."""
        values = plain_fields(self, "values")["values"].values()
        return {
            "method": find_calibrator(self.calibrator.method).name,
            **plain_fields(self, "folds", "level", "helps", "verdict"),
            **dict(zip(("before", "one_map", "after"), values, strict=True)),
            **plain_fields(self, "change", "gain"),
            "small": list(self.calibrator.small_),
            "groups": super().to_dict(),
        }


def held_out_by_group(  # noqa: PLR0913
    s: ArrayLike,
    labeled: ArrayLike,
    by: ArrayLike,
    *,
    setting: Setting,
    method: str | Calibrator = "auto",
    prior: float | None = None,
    prior_interval: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "frequency",
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
) -> HeldOutByGroup:
    """Return what maps by group and one map of all rows change on held-out rows.

    Each fold is mapped by maps chosen and fitted on the others, with priors of groups from these
    rows. Intervals treat the maps as fixed.

    Parameters
    ----------
    s, labeled, by, setting, prior, sample_weight, weight_kind
        As in `ByGroup.fit`.
    method : str or Calibrator
        As in `ByGroup`.
    prior_interval : (float, float), optional
        What is known about the prior, for the intervals.
    folds : int
    level : float
        Confidence level of the intervals.
    seed : int
        Seed of the folds.

    Returns
    -------
    HeldOutByGroup

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> region, s = rng.choice(["north", "south"], 6000), rng.beta(2, 5, 6000)
    >>> rows = {"s": s, "labeled": rng.random(6000) < s, "by": region}  # right everywhere
    >>> found = held_out_by_group(**rows, setting="labeled", method="prior-shift")
    >>> print(found.helps)
    None
    """
    weights = {"sample_weight": sample_weight, "weight_kind": weight_kind}
    rows = _Rows.checked(s, labeled, by, setting, prior, **weights)
    number, level = check_count(folds, "folds", 2), check_level(level)
    rows = rows.pooled()
    columns = _cross_fitted(method, rows, number, seed)
    made, told = fit_noting(ByGroup(method)._fit, rows)  # noqa: SLF001
    paired = replace(rows.paired, columns=columns)
    scores = paired.scores(prior, prior_interval)
    found = Differences(paired, scores, 0.5, level)
    metrics = {name: find_criterion(name) for name in COMPARED}
    table = _measured(rows, scores[BEFORE], level=level, pool=False)
    values, change = _briers(rows, columns, table, scores[BEFORE].prior_set)
    return HeldOutByGroup(
        calibrator=made,
        warnings=told,
        folds=number,
        level=level,
        values={
            model: {name: one.estimate(x, level=level) for name, one in metrics.items()}
            for model, x in scores.items()
        },
        change={name: found.estimate(one, OWN, BEFORE) for name, one in metrics.items()},
        gain={name: found.estimate(one, OWN, ONE) for name, one in metrics.items()},
        before=table,
        brier=values,
        brier_change=change,
    )


def _cross_fitted(
    method: str | Calibrator, rows: _Rows, folds: int, seed: int
) -> dict[str, Floats]:
    """Return the scores before, and as mapped by the maps of the other folds."""
    place = rows.folds(folds, seed)
    out = {BEFORE: rows.s, ONE: np.empty(rows.s.size), OWN: np.empty(rows.s.size)}
    for k in range(folds):
        there = place == k
        made, _ = fit_noting(ByGroup(method)._fit, rows.take(~there))  # noqa: SLF001
        out[ONE][there] = made.overall_.transform(rows.s[there])
        out[OWN][there] = made.transform(rows.s[there], rows.by[there])
    return out


def _briers(
    rows: _Rows, columns: dict[str, Floats], table: GroupTable, priors: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the Brier score of each group and model, and its change with simultaneous limits.

    A group's score is a sum over all rows, as in `noneg.groups`: the noise of its prior needs no
    term of its own.
    """
    masses = rows.paired.masses
    place = {name: k for k, name in enumerate(table.group)}
    code, n = np.array([place[name] for name in rows.by.tolist()]), len(place)
    share = np.bincount(code, masses.count * masses.marginal, n)

    def sums(prior: float, on_positive: Floats, on_all: Floats) -> tuple[Floats, Floats]:
        each = prior * masses.positive * on_positive + masses.marginal * on_all
        parts = (np.bincount(code, masses.count * x, n) for x in (each, each**2))
        total, square = parts
        return total / share, np.sqrt(square) / share

    # A positive adds the difference of its losses; everyone the loss as a negative.
    losses = {name: (1.0 - 2.0 * p, p**2) for name, p in columns.items()}
    values = np.array([sums(rows.known_prior, *loss)[0] for loss in losses.values()])
    moved = [new - old for new, old in zip(losses[OWN], losses[BEFORE], strict=True)]
    z = z_score(table.level ** (1.0 / n))
    limits = [
        change + sign * z * error
        for change, error in (sums(prior, *moved) for prior in priors)
        for sign in (-1.0, 1.0)
    ]
    change = values[2] - values[0]
    return values, np.array([change, np.min(limits, axis=0), np.max(limits, axis=0)])
