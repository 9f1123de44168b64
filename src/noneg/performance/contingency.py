r"""Contingency tables at every cut-off when some labels are hidden (Claesen et al., Sections 3, 4).

Known positives P_L, known negatives N_L and unlabeled rows U are ranked together. U holds
:math:`|P_U| = \beta |U|` latent positives, and a band bounds their rank CDF. At each cut-off two
tables follow: the one with the greatest lower and the one with the least upper bound on the false
positive rate (Theorem 1, Lemma 3). Their curves are the upper and the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, get_args

import numpy as np
from scipy.stats import binom

from noneg.checks import check_count, check_level, check_number, check_scores
from noneg.errors import InputError
from noneg.performance.bands import Band, band_limits, check_band

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.laws import Chunk
    from noneg.scores import PUScores

    Counts = float | NDArray[np.float64]
    Limits = tuple[NDArray[np.float64], NDArray[np.float64]]
    Beta = float | tuple[float, float] | None

Basis = Literal["positives", "negatives", "tighter"]
Table = Literal["all", "unlabeled"]
Side = Literal["lower", "upper"]
Rate = Literal["fpr", "tpr", "precision"]
_GUARD: Final = 1e-9  # ceil(0.3 * 10) is 3, although 0.3 * 10 is not


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables:
    """Contingency tables, one a cut-off.

    Attributes
    ----------
    tp : ndarray
        Positives at or above each cut-off.
    predicted : ndarray
        Rows at or above each cut-off.
    positives : float or ndarray
        Positives in all.
    total : float
        Rows in all.
    """

    tp: NDArray[np.float64]
    predicted: NDArray[np.float64]
    positives: Counts
    total: float

    @property
    def fp(self) -> NDArray[np.float64]:
        """Negatives at or above each cut-off."""
        return self.predicted - self.tp

    @property
    def fn(self) -> NDArray[np.float64]:
        """Positives below each cut-off."""
        return self.positives - self.tp

    @property
    def tn(self) -> NDArray[np.float64]:
        """Negatives below each cut-off."""
        return (self.total - self.positives) - self.fp

    @property
    def tpr(self) -> NDArray[np.float64]:
        """True positive rate, recall (Eq. 1)."""
        return _ratio(self.tp, self.positives)

    @property
    def fpr(self) -> NDArray[np.float64]:
        """False positive rate (Eq. 2)."""
        return _ratio(self.fp, self.total - self.positives)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of positives among the rows at or above each cut-off."""
        return _ratio(self.tp, self.predicted)


def _ratio(top: NDArray[np.float64], bottom: Counts) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: NDArray[np.float64] = top / bottom
    return ratio


@dataclass(frozen=True, eq=False, kw_only=True)
class Assumptions:
    """What bounds were computed from.

    Attributes
    ----------
    beta : (float, float)
        Share of latent positives among the unlabeled rows: what is known of it.
    band : {"pointwise", "exact", "dkw", "bootstrap", "prediction"}
    level : float
    basis : {"positives", "negatives"}
        Whose rank CDF the band bounds.
    table : {"all", "unlabeled"}
        Which rows the tables count.
    """

    beta: tuple[float, float]
    band: Band
    level: float
    basis: Basis
    table: Table

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers and text."""
        names = ("band", "level", "basis", "table")
        return {"beta": list(self.beta)} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A ranking with a band and a range of latent positives: all that bounds need.

    Attributes
    ----------
    ranking : Ranking
    limits : (ndarray, ndarray)
        T_lb and T_ub, tables over the known rows of the basis.
    latent : (float, float)
        Least and greatest number of latent positives, whole.
    assumes : Assumptions
    """

    ranking: Ranking
    limits: Limits
    latent: tuple[float, float]
    assumes: Assumptions

    def blocks(self) -> Iterator[tuple[slice, Problem]]:
        """Yield the problem a block of cut-offs at a time, with its place."""
        for place, ranking in self.ranking.parts():
            yield place, replace(self, ranking=ranking)

    def band_at(self, end: int) -> NDArray[np.float64]:
        """Return T_lb (0) or T_ub (1) at every cut-off."""
        at: NDArray[np.float64] = self.limits[end][self.ranking.rows[self._kind]]
        return at

    @property
    def _kind(self) -> int:
        return int(self.assumes.basis == "negatives")

    @property
    def moved(self) -> Rate:
        """The rate that beta moves; a band on one class leaves the rate of that class alone."""
        return "tpr" if self._kind else "fpr"

    def latent_above(self, side: Side, positives: Counts) -> NDArray[np.float64]:
        r"""Return the latent positives at or above each cut-off in the table of one side.

        :math:`\theta = \lceil T_{ub} |P_U| \rceil` (Eq. 10) or
        :math:`\lfloor T_{lb} |P_U| \rfloor` (Eq. 13), clipped by what the unlabeled rows above
        and below allow (Eq. 11). From known negatives the same is done for the latent negatives,
        with the ends of the band exchanged (Appendix C).
        """
        total = self.ranking.n_unlabeled
        if self._kind == 0:
            return self._count(int(side == "upper"), positives)
        hidden = self._count(int(side == "lower"), total - positives)
        return np.subtract(self.ranking.unlabeled, hidden, out=hidden)

    def _count(self, end: int, latent: Counts) -> NDArray[np.float64]:
        theta = self.band_at(end)
        theta *= latent
        guard = np.maximum(_GUARD, 4e-16 * latent)
        if end:
            np.ceil(np.subtract(theta, guard, out=theta), out=theta)
        else:
            np.floor(np.add(theta, guard, out=theta), out=theta)
        head = self.ranking.unlabeled
        below = latent - self.ranking.n_unlabeled  # minus what the tail can hold, once head joins
        np.maximum(theta, np.maximum(below + head, 0.0), out=theta)
        return np.minimum(theta, np.minimum(head, latent), out=theta)

    def tables(self, side: Side, positives: Counts) -> Tables:
        """Return the tables of one side for a number of latent positives (Eq. 12)."""
        tp = self.latent_above(side, positives)
        ranking, total = self.ranking, self.ranking.n_unlabeled
        if self.assumes.table == "unlabeled":
            return Tables(tp=tp, predicted=ranking.unlabeled, positives=positives, total=total)
        known = ranking.known(0)
        tp += known
        known += ranking.unlabeled
        if ranking.groups[1].scores.size:
            known += ranking.known(1)
        n_positive, n_negative = (group.total for group in ranking.groups[:2])
        return Tables(
            tp=tp,
            predicted=known,
            positives=positives + n_positive,
            total=total + n_positive + n_negative,
        )

    def candidates(self, side: Side) -> Iterator[Tables]:
        """Yield tables among which every rate has its extremes over all beta.

        Between the ends of the range a rate is monotone in the number of latent positives (Lemma
        4, Eq. 15), but for the two numbers at which clipping (Eq. 11) sets in.
        """
        low, high = self.latent
        if low == high:
            yield self.tables(side, low)
            return
        # First the end that Lemma 4 names for a ranking better than random.
        for latent in (high, low) if (side == "upper") != bool(self._kind) else (low, high):
            yield self.tables(side, latent)
        for turn in self._turns(side):
            yield self.tables(side, np.clip(np.floor(turn), low, high))
            yield self.tables(side, np.clip(np.ceil(turn), low, high))

    def _turns(self, side: Side) -> Iterator[NDArray[np.float64]]:
        head, total = self.ranking.unlabeled, self.ranking.n_unlabeled
        share = self.band_at(int((side == "upper") != bool(self._kind)))
        with np.errstate(divide="ignore", invalid="ignore"):
            for turn in (head / share, (total - head) / (1.0 - share)):
                finite = np.where(np.isnan(turn), 0.0, np.minimum(turn, total))
                yield total - finite if self._kind else finite

    def counted(self) -> Problem:
        """Return the problem at the cut-offs with a row of the table at or above them."""
        if self.assumes.table == "all":
            return self
        best = self.ranking.groups[2].scores[-1]
        threshold = self.ranking.threshold[self.ranking.threshold <= best]
        return replace(self, ranking=replace(self.ranking, threshold=threshold))

    def check_classes(self, *, negatives: bool) -> None:
        """Raise unless every beta leaves a positive row and, if needed, a negative one."""
        known = [group.total for group in self.ranking.groups[:2]]
        if self.assumes.table == "unlabeled":
            known = [0.0, 0.0]
        if known[0] + self.latent[0] <= 0.0:
            raise self._no_row("positive", "larger")
        if negatives and known[1] + self.ranking.n_unlabeled - self.latent[1] <= 0.0:
            raise self._no_row("negative", "smaller")

    def _no_row(self, kind: str, way: str) -> ValueError:
        if self.ranking.n_unlabeled == 0:
            return ValueError(
                f"'scores' must hold at least one {kind} row for a curve, got none. Add such rows."
            )
        low, high = self.assumes.beta
        shown = f"{low:g}" if low == high else f"({low:g}, {high:g})"
        return ValueError(
            f"'beta' must leave at least one {kind} row for a curve, got {shown} of "
            f"{self.ranking.n_unlabeled:,.0f} unlabeled rows. Pass a {way} beta, or count known "
            f"{kind} rows too (table='all')."
        )


def chosen(candidates: Sequence[Tables], side: Side, rate: Rate) -> Tables:
    """Return at each cut-off the table with the best (upper) or worst (lower) rate.

    Where two are equal, the first one stands.
    """
    return reduce(lambda one, other: _pick(one, other, side, rate), candidates)


def extreme(candidates: Sequence[Tables], side: Side, rate: Rate) -> NDArray[np.float64]:
    """Return a rate at its best (upper) or worst (lower), at each cut-off."""
    better = np.maximum if _largest(side, rate) else np.minimum
    return reduce(better, (getattr(tables, rate) for tables in candidates))


def _largest(side: Side, rate: Rate) -> bool:
    return (side == "upper") != (rate == "fpr")


def _pick(one: Tables, other: Tables, side: Side, rate: Rate) -> Tables:
    before, after = getattr(one, rate), getattr(other, rate)
    swap = after > before if _largest(side, rate) else after < before
    return replace(
        one,
        tp=np.where(swap, other.tp, one.tp),
        positives=np.where(swap, other.positives, one.positives),
    )


_NEGATIVES: Final = "known_negatives"
_BLOCK: Final = 65_536  # cut-offs worked on at a time, so that what is made of them stays in cache


@dataclass(frozen=True, eq=False)
class Group:
    """Rows of one kind, scores rising.

    Attributes
    ----------
    scores : ndarray
    counts : ndarray or None
        How many identical rows each one stands for; None for one each.
    masses : ndarray or None
        Weight of each row in the rank CDF; None for its count.
    """

    scores: NDArray[np.float64]
    counts: NDArray[np.float64] | None = None
    masses: NDArray[np.float64] | None = None

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.scores.size if self.counts is None else self.counts.sum())

    def rows_above(self, thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many entries lie at or above each of the thresholds, which fall."""
        below: NDArray[np.int64] = np.searchsorted(self.scores, thresholds[::-1])[::-1]
        return self.scores.size - below

    def count_above(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of rows that the best entries stand for."""
        if self.counts is None:
            return rows.astype(np.float64)
        counts: NDArray[np.float64] = self._counts_from_the_top[rows]
        return counts

    @cached_property
    def _counts_from_the_top(self) -> NDArray[np.float64]:
        return _from_the_top(np.ones(self.scores.size) if self.counts is None else self.counts)

    def share(self) -> tuple[NDArray[np.float64], float]:
        """Return the rank CDF after 0, 1, 2, ... entries, and the effective number of rows."""
        if self.masses is None:
            top = self._counts_from_the_top
            return top / top[-1], float(top[-1])
        counts = np.ones(self.scores.size) if self.counts is None else self.counts
        top = _from_the_top(counts * self.masses)
        return top / top[-1], float(top[-1] ** 2 / (counts * self.masses**2).sum())


def _from_the_top(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(x[::-1])])


@dataclass(frozen=True, eq=False)
class Ranking:
    """Cut-offs, and the rows of each kind at or above them, counted when asked for.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling; a row is predicted positive when its score is at or above.
    groups : (Group, Group, Group)
        Known positives, known negatives, unlabeled rows.
    """

    threshold: NDArray[np.float64]
    groups: tuple[Group, Group, Group]

    @property
    def n_unlabeled(self) -> float:
        """Number of unlabeled rows."""
        return self.groups[2].total

    def parts(self) -> Iterator[tuple[slice, Ranking]]:
        """Yield the ranking a block of cut-offs at a time, with its place."""
        for start in range(0, self.threshold.size, _BLOCK):
            place = slice(start, start + _BLOCK)
            yield place, Ranking(self.threshold[place], self.groups)

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Entries of the known positives and negatives at or above each cut-off."""
        positive, negative, _ = self.groups
        return positive.rows_above(self.threshold), negative.rows_above(self.threshold)

    @cached_property
    def unlabeled(self) -> NDArray[np.float64]:
        """Unlabeled rows at or above each cut-off."""
        return self.groups[2].count_above(self.groups[2].rows_above(self.threshold))

    def known(self, kind: int) -> NDArray[np.float64]:
        """Return known positives (0) or negatives (1) at or above each cut-off."""
        return self.groups[kind].count_above(self.rows[kind])


def rank(
    scores: PUScores, known_negatives: ArrayLike | None, threshold: ArrayLike | None = None
) -> Ranking:
    """Return the ranking, with a cut-off at every distinct score or at the given thresholds.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.4], [0.9, 0.5, 0.1], prior=0.4, setting="two-sample")
    >>> rank(scores, known_negatives=[0.5]).threshold
    array([0.9, 0.5, 0.4, 0.1])
    """
    groups = _groups(scores, known_negatives)
    if threshold is None:
        cuts = _distinct([group.scores for group in groups])
    else:
        cuts = np.sort(check_scores(np.atleast_1d(threshold), "threshold"))
    return Ranking(cuts[::-1], groups)


def _distinct(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the distinct values of arrays that are each in order."""
    joined = np.concatenate(parts)
    joined.sort(kind="stable")  # merges the parts
    last = np.ones(joined.size, dtype=np.bool_)
    np.not_equal(joined[1:], joined[:-1], out=last[:-1])
    return joined[last]


def _groups(scores: PUScores, known_negatives: ArrayLike | None) -> tuple[Group, Group, Group]:
    rest, positive = scores.in_order()
    extra = np.sort(check_scores([] if known_negatives is None else known_negatives, _NEGATIVES))
    positives = _group(positive, "positive", latent_law=scores.hidden and scores.pooled)
    unlabeled = _group(rest, "unlabeled")
    if scores.hidden:
        return positives, Group(extra), unlabeled
    if extra.size:
        msg = (
            f"must be left out when every row has its label, got {extra.size} "
            "scores. Add these rows to the labelled ones."
        )
        raise InputError(_NEGATIVES, msg)
    return positives, unlabeled, Group(extra)


def _group(chunk: Chunk, name: str, *, latent_law: bool = False) -> Group:
    """Return the rows of a chunk; only labelling rates may weigh them unequally.

    With labelling rates e, known positives weighted by 1 / e follow the law of all positives, and
    weighted by 1 / e - 1 the law of those left unlabeled in one sample.
    """
    scores, counts, positive_mass, marginal_mass = chunk
    if np.any(np.asarray(marginal_mass) != 1.0):
        msg = (
            f"must not carry importance weights, got some on {name} rows: bounds count "
            "rows. Use frequency weights, labelling rates (propensity) or none."
        )
        raise InputError("scores", msg)
    f = counts if isinstance(counts, np.ndarray) else None
    a = positive_mass if isinstance(positive_mass, np.ndarray) else None
    if a is not None and np.all(a == 1.0):
        a = None
    if f is not None and not f.all():
        scores, a, f = scores[f > 0.0], None if a is None else a[f > 0.0], f[f > 0.0]
    if f is not None and np.all(f == 1.0):
        f = None
    return Group(scores, f, None if a is None else a - latent_law)


T = TypeVar("T")


class BoundOptions(TypedDict, total=False):
    """Options that all bounds share, as keywords; see `noneg.performance.roc_bounds`."""

    beta: Beta
    band: Band
    level: float
    known_negatives: ArrayLike | None
    basis: Basis
    table: Table | None
    resamples: int
    seed: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """Options of a bound with their defaults; see `noneg.performance.roc_bounds`."""

    beta: Beta = None
    band: Band = "exact"
    level: float = 0.95
    known_negatives: ArrayLike | None = None
    basis: Basis = "positives"
    table: Table | None = None
    resamples: int = 2000
    seed: int = 0
    threshold: ArrayLike | None = None
    prevalence: bool = True  # whether the answer depends on the share of positives in the table


def latent_fraction(scores: PUScores, *, level: float | None = None) -> tuple[float, float]:
    r"""Return what is known of beta, the share of latent positives among the unlabeled rows.

    It is the prior :math:`\pi` in the two-sample setting and
    :math:`\bar\pi = (1 - c)\pi / (1 - c\pi)` in the one-sample setting, where c is the share of
    positives that are labelled; an interval if the prior is one (Claesen et al., Eq. 7).

    Parameters
    ----------
    scores : PUScores
    level : float, optional
        With it, the interval also allows for chance: a sample of the population does not hold
        exactly the population's share of positives. Exact binomial quantiles.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.8], [0.7, 0.4, 0.3, 0.1], prior=0.5, setting="one-sample")
    >>> latent_fraction(scores)
    (0.25, 0.25)
    """
    if not scores.hidden:
        return 0.0, 0.0
    priors = scores.prior_set
    known = scores.n_positive if scores.pooled else 0.0
    n = scores.n_unlabeled + known
    if level is None:
        counts = [prior * n for prior in priors]
    else:
        tail = (1.0 - check_level(level)) / 2.0
        ends = zip((tail, 1.0 - tail), priors, strict=True)
        counts = [float(binom.ppf(q, n, prior)) for q, prior in ends]
    low, high = (min(1.0, max(0.0, (count - known) / scores.n_unlabeled)) for count in counts)
    return low, high


def pose(scores: PUScores, options: Options) -> list[Problem]:
    """Return the problem to solve, or both when the tighter basis is asked for."""
    check_band(options.band)
    check_level(options.level)
    check_count(options.resamples, "resamples", 2)
    check_count(options.seed, "seed", 0)
    table = _check_table(scores, options)
    beta = latent_fraction(scores) if options.beta is None else check_beta(scores, options.beta)
    ranking = rank(scores, options.known_negatives, options.threshold)
    latent = tuple(float(round(b * ranking.n_unlabeled)) for b in beta)
    bases = _bases(ranking, options.basis)
    return [
        Problem(
            ranking=ranking,
            limits=_limits(ranking, basis, (latent[0], latent[1]), options),
            latent=(latent[0], latent[1]),
            assumes=Assumptions(
                beta=beta, band=options.band, level=options.level, basis=basis, table=table
            ),
        )
        for basis in bases
    ]


def tightest(answers: list[T], width: Callable[[T], float]) -> T:
    """Return the answer with the smallest width; the width of a single one is never computed."""
    return answers[0] if len(answers) == 1 else min(answers, key=width)


def _limits(
    ranking: Ranking, basis: Basis, latent: tuple[float, float], options: Options
) -> Limits:
    group = ranking.groups[int(basis == "negatives")]
    if not group.scores.size or not ranking.n_unlabeled:
        unused = np.zeros(group.scores.size + 1)
        return unused, unused
    share, n = group.share()
    if group.masses is not None and options.band in ("pointwise", "bootstrap"):
        msg = (
            f"must be 'exact', 'prediction' or 'dkw' when positives have labelling rates, "
            f"got {options.band!r}: unequal weights have no binomial law."
        )
        raise InputError("band", msg)
    hidden = latent[0] if basis == "positives" else ranking.n_unlabeled - latent[1]
    return band_limits(
        share,
        n,
        band=options.band,
        level=options.level,
        latent=hidden,
        resamples=options.resamples,
        seed=options.seed,
    )


def check_beta(scores: PUScores, beta: Any) -> tuple[float, float]:  # noqa: ANN401
    """Return beta as an interval within [0, 1]."""
    rule = "the share of positives among the unlabeled rows, a number in [0, 1] or a pair of them"
    if not scores.hidden:
        msg = f"must be left out for labelled data, where nothing is hidden, got {beta!r}."
        raise InputError("beta", msg)
    pair = tuple(beta) if isinstance(beta, (tuple, list, np.ndarray)) else (beta, beta)
    ends = tuple(check_number(b, "beta", rule) for b in pair)
    if len(ends) != 2 or not 0.0 <= ends[0] <= ends[1] <= 1.0:
        raise InputError("beta", f"must be {rule}, smaller first", value=beta)
    return ends


def _check_table(scores: PUScores, options: Options) -> Table:
    table = options.table
    if table is None:
        two = not scores.pooled and options.prevalence
        return "unlabeled" if two else "all"
    if table not in get_args(Table):
        msg = (
            "must be 'all' (known and unlabeled rows) or 'unlabeled' (these only, as they "
            f"are the sample of everyone), got {table!r}."
        )
        raise InputError("table", msg)
    if table == "unlabeled" and not scores.hidden:
        raise InputError("table", "must be 'all' for labelled data, which has no unlabeled rows.")
    return table


def _bases(ranking: Ranking, basis: object) -> list[Basis]:
    if basis not in get_args(Basis):
        msg = (
            "must be 'positives' or 'negatives' (whose ranks the bounds rest on) or "
            f"'tighter' (whichever gives the narrower bounds), got {basis!r}."
        )
        raise InputError("basis", msg)
    some = ranking.groups[1].total > 0
    if basis == "negatives" and not some:
        msg = (
            "is 'negatives', but there are no known negatives. Pass their scores as "
            "known_negatives, or use basis='positives'."
        )
        raise InputError("basis", msg)
    if basis == "tighter":
        return ["positives", "negatives"] if some else ["positives"]
    return [basis]  # type: ignore[list-item]
