"""`PUScores`, the central type: two weighted score distributions, and knowledge of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg import checks
from noneg.errors import InputError
from noneg.kernels import Axis, run_ends
from noneg.knowledge import NOTHING, Knowledge
from noneg.laws import (
    FlaggedRows,
    Population,
    PopulationRows,
    Rows,
    SplitRows,
    WeightedRows,
    bins_from_below,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting, WeightKind
    from noneg.laws import Chunk


__all__ = ["PUScores", "Population"]


def sample_rows(
    scores: ArrayLike | Population,
    name: str,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None = None,
) -> Rows:
    """Return one sample: an array, with or without weights, or a population."""
    if isinstance(scores, Population):
        return PopulationRows(scores)
    plain = weight is None and propensity is None
    s = checks.check_scores(scores, name, keep=plain)
    if plain:
        return FlaggedRows(s, None)
    return WeightedRows(s, *_masses(s.size, f"{name}_weight", weight, kind, propensity))


def _masses(
    n: int,
    name: str,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None,
    flags: Flags | None = None,
) -> list[Floats | None]:
    """Return counts, positive masses and marginal masses; None means all ones."""
    w = None if weight is None else checks.check_weights(weight, kind, n, name)
    if w is not None and w.size and not w.any():
        raise InputError(name, "must not be zero in every row.")
    count, mass = (w, None) if kind == "frequency" else (None, w)
    if propensity is None:
        return [count, mass, mass]
    rate = checks.check_propensity(propensity, n, flags)
    return [count, (1.0 if mass is None else mass) / rate, mass]


def flagged_rows(
    flags: Flags,
    scores: Floats,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None,
) -> Rows:
    """Return the rows of one table, in which flags mark the labeled positives."""
    if weight is None and propensity is None:
        return FlaggedRows(scores, flags)
    masses = _masses(scores.size, "sample_weight", weight, kind, propensity, flags)
    return SplitRows(*(_part(scores, masses, group) for group in (~flags, flags)))


def _part(scores: Floats, masses: list[Floats | None], group: Flags) -> WeightedRows:
    return WeightedRows(scores[group], *(None if x is None else x[group] for x in masses))


def labeled_columns(
    labels: ArrayLike, y_score: ArrayLike, name: str, positive_label: object, *, keep: bool = False
) -> tuple[Flags, Floats]:
    """Return labels as flags, and scores of the same length (read-only if `keep` is true)."""
    scores = checks.check_scores(y_score, "y_score", keep=keep)
    flags = checks.check_flags(labels, name, positive_label)
    checks.check_same_length(y_score=scores.size, **{name: flags.size})
    return flags, scores


def _check_pu(setting: Setting) -> None:
    if checks.check_setting(setting) == "labeled":
        raise InputError("setting", "is 'labeled': use PUScores.from_labels instead.")


# Which of the nine sums (see `noneg.laws`) a group contributes to: positives from a separate sample
# enter only the positive distribution, unlabeled rows only the marginal distribution, and labeled
# rows in the one-sample setting both.
_POSITIVE_LAW = np.array([1, 0, 0, 1, 0, 0, 0, 0, 0])

_MARGINAL_LAW = np.array([0, 1, 1, 0, 0, 0, 1, 1, 1])

_BOTH_LAWS = np.ones(9)

EPSILON = float(np.finfo(np.float64).eps)


class PUScores:
    """Scores of labeled positives and of unlabeled rows, with the class prior.

    Construction only checks the input. A width-binned error takes one pass over the rows;
    computations that need sorted rows sort once, and all objects made with `with_prior` share the
    result. The object keeps its own copy of the rows, so later changes to your arrays do not affect
    it. Rows with zero weight are dropped.

    Parameters
    ----------
    positive : array-like or Population
        Scores in [0, 1] of labeled positives.
    unlabeled : array-like or Population
        Scores of the unlabeled rows: a sample of the whole population (two-sample), or the rest of
        the sample that the positives come from (one-sample).
    prior : float, optional
        Share of positives in the population, in (0, 1). Without it, metrics that need it raise an
        error.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed. For labeled data use `from_labels`.
    prior_interval : (float, float), optional
        Range of possible priors; intervals of estimates then hold for every prior in it. Without
        `prior`, values are quoted at its midpoint.
    selection : float
        Largest factor by which the score density of hidden positives may differ from that of
        labeled ones. The default of 1 means that labeled positives are a random sample.
    positive_weight, unlabeled_weight : array-like, optional
        Weight of each row.
    weight_kind : {"frequency", "importance"}
        Whether a weight counts identical rows or corrects for unequal sampling. With importance
        weights, the sample size is Kish's, ``(sum w)^2 / sum w^2``.
    propensity : array-like, optional
        For each row of `positive`, the rate at which such a positive is labeled. Positives are
        weighted by the inverse, which makes every estimator valid under unequal but known rates.

    Examples
    --------
    >>> PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    PUScores(2 positives, 4 unlabeled rows, two-sample, prior 0.4)
    """

    __slots__ = ("_cache", "_knowledge", "_rows", "_setting")

    _rows: Rows
    _knowledge: Knowledge
    _setting: Setting
    _cache: dict[Any, Floats]

    def __init__(  # noqa: PLR0913
        self,
        positive: ArrayLike | Population,
        unlabeled: ArrayLike | Population,
        *,
        prior: float | None = None,
        setting: Setting,
        prior_interval: tuple[float, float] | None = None,
        selection: float = 1.0,
        positive_weight: ArrayLike | None = None,
        unlabeled_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "frequency",
        propensity: ArrayLike | None = None,
    ) -> None:
        _check_pu(setting)
        knowledge = Knowledge.given(prior, prior_interval, selection=selection)
        rows = SplitRows(
            sample_rows(unlabeled, "unlabeled", unlabeled_weight, weight_kind),
            sample_rows(positive, "positive", positive_weight, weight_kind, propensity),
        )
        self._fill(rows, knowledge, setting, ("positive", "unlabeled"))

    def _fill(
        self,
        rows: Rows,
        knowledge: Knowledge,
        setting: Setting,
        names: tuple[str, str],
        *,
        part: bool = False,
    ) -> None:
        n_unlabeled, n_positive = rows.counts
        positive, unlabeled = names
        if setting != "labeled":
            checks.check_filled(n_positive, positive, "labeled positive")
        checks.check_filled(n_unlabeled + n_positive, unlabeled, "row")
        if setting != "labeled":
            checks.check_filled(n_unlabeled, unlabeled, "unlabeled row")
        self._rows, self._setting, self._cache = rows, setting, {}
        if setting == "labeled":
            knowledge = knowledge.replaced(prior=self.labeled_share)
        self._knowledge = knowledge
        if setting == "one-sample" and knowledge.prior is not None and not part:
            checks.check_one_sample(knowledge.prior, self.labeled_share, self.effective_marginal)

    @classmethod
    def from_labels(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "frequency",
        positive_label: object = None,
    ) -> Self:
        """Build from fully labeled rows; the prior is the share of positives.

        Examples
        --------
        >>> PUScores.from_labels([1, 0, 0, 1], [0.9, 0.2, 0.4, 0.6])
        PUScores(2 positives, 4 labeled rows, prior 0.5)
        """
        keep = sample_weight is None
        flags, scores = labeled_columns(y_true, y_score, "y_true", positive_label, keep=keep)
        rows = flagged_rows(flags, scores, sample_weight, weight_kind, None)
        return cls._build(rows, NOTHING, "labeled", column="y_true")

    @classmethod
    def from_pu_labels(  # noqa: PLR0913
        cls,
        labeled: ArrayLike,
        y_score: ArrayLike,
        *,
        prior: float | None = None,
        setting: Setting,
        prior_interval: tuple[float, float] | None = None,
        selection: float = 1.0,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "frequency",
        propensity: ArrayLike | None = None,
        positive_label: object = None,
    ) -> Self:
        """Build from one table: `labeled` is 1 for labeled positives and 0 for unlabeled rows.

        Examples
        --------
        >>> PUScores.from_pu_labels(
        ...     [1, 0, 0, 0], [0.9, 0.2, 0.4, 0.6], prior=0.5, setting="one-sample"
        ... )
        PUScores(1 positive, 3 unlabeled rows, one-sample, prior 0.5)
        """
        _check_pu(setting)
        knowledge = Knowledge.given(prior, prior_interval, selection=selection)
        keep = sample_weight is None and propensity is None
        flags, scores = labeled_columns(labeled, y_score, "labeled", positive_label, keep=keep)
        rows = flagged_rows(flags, scores, sample_weight, weight_kind, propensity)
        return cls._build(rows, knowledge, setting, column="labeled")

    @classmethod
    def _build(
        cls,
        rows: Rows,
        knowledge: Knowledge,
        setting: Setting,
        *,
        column: str = "scores",
        part: bool = False,
    ) -> Self:
        """Build from prepared rows; errors about empty samples name the column.

        With `part=True`, the rows are a random part of rows already checked against the prior, so
        the check is skipped.
        """
        self = cls.__new__(cls)
        self._fill(rows, knowledge, setting, (column, column), part=part)
        return self

    def with_prior(self, prior: float, interval: tuple[float, float] | None = None) -> Self:
        """Return the same rows under another prior, sharing sorted rows and sums.

        Examples
        --------
        >>> scores = PUScores([0.9], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> scores.with_prior(0.2).prior
        0.2
        """
        if self._setting == "labeled":
            raise InputError(
                "prior", "cannot be set on labeled data, where the labels determine it."
            )
        given = Knowledge.given(prior, interval, selection=self.selection)
        return self.with_knowledge(given)

    def with_selection(self, selection: float) -> Self:
        """Return the same rows under another selection factor.

        Examples
        --------
        >>> scores = PUScores([0.9], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> scores.with_selection(2).selection
        2.0
        """
        factor = checks.check_selection(selection)
        return self.with_knowledge(self._knowledge.replaced(selection=factor))

    def with_knowledge(self, knowledge: Knowledge) -> Self:
        """Return the same rows with different knowledge about the population.

        Sorted rows and sums are shared, so nothing is computed again.

        Examples
        --------
        >>> from noneg.knowledge import Knowledge
        >>> scores = PUScores([0.9], [0.8, 0.3], setting="two-sample")
        >>> scores.with_knowledge(Knowledge.given(None, (0.2, 0.4))).prior_interval
        (0.2, 0.4)
        """
        other = self._build(self._rows, knowledge, self._setting)
        other._cache = self._cache  # noqa: SLF001
        return other

    def as_two_samples(self) -> Self:
        """Return labeled positives and unlabeled rows as two independent samples.

        This is also valid in the one-sample setting, conditional on which rows are labeled.
        """
        other = self._build(self._rows, self._knowledge, "two-sample")
        return other if self.pooled else self

    @property
    def knowledge(self) -> Knowledge:
        """Knowledge about the population: its prior and the selection of labeled positives."""
        return self._knowledge

    @property
    def selection(self) -> float:
        """How much hidden positives may differ from labeled ones; 1 for a random sample."""
        return self._knowledge.selection

    @property
    def setting(self) -> Setting:
        """How the rows were sampled."""
        return self._setting

    @property
    def prior(self) -> float | None:
        """Share of positives in the population; None if it is unknown."""
        return self._knowledge.prior

    @property
    def known_prior(self) -> float:
        """The prior, for computations that need one; raises an error if it is unknown."""
        return self._knowledge.known_prior

    @property
    def prior_interval(self) -> tuple[float, float] | None:
        """Range of possible priors, if the prior is not known exactly."""
        return self._knowledge.prior_interval

    @property
    def prior_set(self) -> tuple[float, float]:
        """Smallest and largest possible prior; equal if the prior is known exactly."""
        return self._knowledge.prior_set

    @property
    def prior_is_estimated(self) -> bool:
        """Whether the prior is the share of positives in these rows, which are then all labeled."""
        return self._setting == "labeled"

    @property
    def hidden(self) -> bool:
        """Whether the labels of some rows are hidden."""
        return not checks.is_labeled(self._setting)

    @property
    def pooled(self) -> bool:
        """Whether labeled positives belong to the marginal sample; false only for two samples."""
        return checks.is_pooled(self._setting)

    @property
    def n_positive(self) -> float:
        """Number of labeled positives (rows, or the sum of their frequency weights)."""
        return self._rows.counts[1]

    @property
    def n_unlabeled(self) -> float:
        """Number of rows that are not labeled positive."""
        return self._rows.counts[0]

    @property
    def rounding(self) -> float:
        """Bound on the relative rounding error of a sum over rows: one machine epsilon per row."""
        return self._rows.size * EPSILON

    @property
    def n_marginal(self) -> float:
        """Size of the marginal sample; labeled rows are included unless there are two samples."""
        unlabeled, positive = self._rows.counts
        return unlabeled + positive if self.pooled else unlabeled

    @property
    def labeled_share(self) -> float:
        """Marginal mass of the labeled positives: 0 in two samples, the prior in labeled data."""
        if self._setting == "two-sample":
            return 0.0
        if not self.is_weighted:
            return self.n_positive / self.n_marginal
        unlabeled, positive = self.groups_below(np.ones(1))[:, 0, 1]
        return float(positive / (unlabeled + positive))

    @property
    def least_prior(self) -> float:
        """Smallest prior that the labeled share allows in one sample, up to chance; else 0."""
        if self._setting != "one-sample":
            return 0.0
        return checks.least_prior(self.labeled_share, self.effective_marginal)

    @property
    def effective_positive(self) -> float:
        """Kish's effective number of positives; the plain count without importance weights."""
        return self._kish(0, 3)

    @property
    def effective_marginal(self) -> float:
        """Kish's effective size of the marginal sample."""
        return self._kish(1, 6)

    def _kish(self, first: int, second: int) -> float:
        if not self.is_weighted:
            return self.n_positive if first == 0 else self.n_marginal
        total = self.kept(("totals", self.pooled), lambda: self.sums_below(np.ones(1))[0])
        mass, square = float(total[first]), float(total[second])
        if square > 0.0:
            return max(1.0, mass**2 / square)
        # A known distribution has mass but no variance; an empty group has neither.
        return np.inf if mass > 0.0 else 0.0

    @property
    def extent(self) -> tuple[float, float]:
        """Smallest and largest score."""

        def ends() -> Floats:
            kinds, rows = (FlaggedRows, WeightedRows), self._sources or (self._rows,)
            groups = [one.scores for one in rows if isinstance(one, kinds) and one.size]
            found = [(s.min(), s.max()) for s in groups]
            return np.array([min(low for low, _ in found), max(high for _, high in found)])

        low, high = self.kept("extent", ends)
        return float(low), float(high)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights or propensities."""
        return any(isinstance(source, WeightedRows) for source in self._sources)

    @property
    def _sources(self) -> tuple[Rows, ...]:
        """The unlabeled rows and the labeled positives, unless they are one table."""
        return self._rows.sources if isinstance(self._rows, SplitRows) else ()

    def sums_below(self, cuts: Floats) -> Floats:
        """Return the nine sums of `noneg.laws` over rows with ``s <= cut``."""
        return self.merge(self.groups_below(cuts))

    def sums_above(self, thresholds: Floats) -> Floats:
        """Return the same sums over rows with ``s >= threshold``, followed by those of all rows."""
        cuts = np.clip(np.nextafter(thresholds, -np.inf), 0.0, 1.0)
        below = self.sums_below(np.append(cuts, 1.0)).copy()
        total = below[-1].copy()
        below[np.append(thresholds <= 0.0, True)] = 0.0
        above: Floats = total - below
        return above

    def groups_below(self, cuts: Floats) -> Floats:
        """Return the sums up to each cut separately for unlabeled rows and labeled positives."""
        return self._rows.below(cuts)

    def kept(self, key: object, make: Callable[[], Floats]) -> Floats:
        """Return the cached result for this key, or compute and cache it.

        Objects made with `with_prior` share the cache, so results must not depend on the prior.
        """
        if key not in self._cache:
            made = make()
            made.flags.writeable = False
            self._cache[key] = made
        return self._cache[key]

    def sums_in_bins(self, edges: Floats) -> Floats:
        """Return the nine sums in right-closed bins; cached, so a second call is free."""
        return self.kept(edges.tobytes(), lambda: self.merge(bins_from_below(self._rows, edges)))

    def sums_by_width(self, n_bins: int) -> Floats:
        """Return the nine sums in equal-width bins, without sorting."""
        return self.kept(n_bins, lambda: self.merge(self._rows.by_width(n_bins)))

    def sums_at_nodes(self, axis: Axis) -> Floats:
        """Return the sums of a, w and w s assigned to the nodes of an axis, without sorting."""
        return self.kept(axis, lambda: self.merge(self._rows.at_nodes(axis)))

    def sums_by_bucket(self) -> Floats:
        """Return the sums of a, w and w s in the buckets of `noneg.kernels`, without sorting."""
        return self.kept("buckets", lambda: self.merge(self._rows.by_bucket()))

    def marginal_by_run(self) -> Floats:
        """Return the cumulative marginal mass up to the end of each run of buckets."""
        return self.kept("runs", lambda: self.sums_below(run_ends())[:, 1])

    def marginal_in_run(self, run: int) -> tuple[Floats, Floats]:
        """Return the marginal sample's sorted scores in one run, and their masses."""
        groups = (0, 1) if self.pooled else (0,)
        points = [self._rows.in_run(group, run) for group in groups]
        values, masses = zip(*points, strict=True)
        joined = np.concatenate(values)
        order = np.argsort(joined, kind="stable")
        return joined[order], np.concatenate(masses)[order]

    def chunks(self) -> Iterator[tuple[bool, bool, Chunk]]:
        """Yield all rows in cache-sized pieces.

        Each item states whether the piece belongs to the positive distribution, whether it belongs
        to the marginal distribution, and a tuple of its scores, counts, positive masses and
        marginal masses.
        """
        for chunk in self._rows.chunks(0):
            yield False, True, chunk
        for chunk in self._rows.chunks(1):
            yield True, self.pooled, chunk

    def as_given(self) -> tuple[Floats, Flags]:
        """Return scores and flags of all rows in the order in which they were given.

        If two arrays were given, the positives come first. Weighted rows raise an error, because
        they are stored sorted by score.
        """
        rows = self._rows
        if isinstance(rows, FlaggedRows) and rows.flags is not None:
            return rows.scores, rows.flags
        parts = self._sources[::-1]
        plain = [part.scores for part in parts if isinstance(part, FlaggedRows)]
        if len(plain) < 2:
            rule = "must be unweighted rows here, because the order of weighted rows is not kept"
            remedy = "Pass the table and the names of its columns instead."
            raise InputError("scores", rule, remedy=remedy)
        return np.concatenate(plain), np.repeat([True, False], [part.size for part in plain])

    def in_order(self) -> tuple[Chunk, Chunk]:
        """Return the unlabeled rows and the labeled positives, each in ascending order of score.

        Each is a tuple of scores, counts, masses in the positive distribution and masses in the
        marginal distribution.
        """
        return self._rows.in_order(0), self._rows.in_order(1)

    def positive_in_order(self) -> Chunk:
        """Return the labeled positives alone, in ascending order of score."""
        return self._rows.in_order(1)

    def positive_quantiles(self, q: Floats) -> Floats:
        """Return quantiles of the scores of labeled positives."""
        for source in self._sources[1:]:
            if isinstance(source, PopulationRows):
                return source.law.quantiles(q)
        s, f, a, _ = self.positive_in_order()
        mass = np.cumsum(np.broadcast_to(f * a, s.shape))
        return s[np.minimum(np.searchsorted(mass, q * mass[-1] * (1.0 - 1e-12)), s.size - 1)]

    def marginal_quantiles(self, q: Floats) -> Floats | None:
        """Return exact quantiles of the score if the marginal distribution is known, else None."""
        for source in self._sources[:1]:
            if isinstance(source, PopulationRows):
                return source.law.quantiles(q)
        return None

    def merge(self, groups: Floats) -> Floats:
        """Combine sums of unlabeled rows and labeled positives into sums of both distributions."""
        positive = _BOTH_LAWS if self.pooled else _POSITIVE_LAW
        k = groups.shape[-1]
        merged: Floats = groups[0] * _MARGINAL_LAW[:k] + groups[1] * positive[:k]
        return merged

    def __repr__(self) -> str:
        positive = f"{_count(self.n_positive)} positive{'s' * (self.n_positive != 1)}"
        prior = "prior unknown" if self.prior is None else f"prior {self.prior:.6g}"
        if self.prior_interval is not None:
            prior += " in [{:.6g}, {:.6g}]".format(*self.prior_interval)
        if self.selection > 1.0:
            prior += f", selection {self.selection:g}"
        if self._setting == "labeled":
            return f"PUScores({positive}, {_count(self.n_marginal)} labeled rows, {prior})"
        rows = f"{_count(self.n_unlabeled)} unlabeled row{'s' * (self.n_unlabeled != 1)}"
        return f"PUScores({positive}, {rows}, {self._setting}, {prior})"


def _count(n: float) -> str:
    return "infinitely many" if np.isinf(n) else f"{n:,.0f}"
