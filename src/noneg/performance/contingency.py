r"""Contingency tables at every cutoff when some labels are hidden (Claesen et al., Sections 3, 4).

Known positives P_L, known negatives N_L and unlabeled rows U are ranked together. U contains
:math:`|P_U| = \beta |U|` latent positives, and a band bounds their rank CDF. This determines two
tables at each cutoff: one with the greatest lower bound on the false positive rate and one with the
least upper bound (Theorem 1, Lemma 3). They form the upper and the lower bounding curve.

A band (Section 4.2) is a table: entry j bounds the share of the class ranked at or above its j-th
best known row. A cutoff only looks up an entry, so the cost depends on the number of known rows
alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, get_args

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from noneg.checks import check_choice, check_count, check_level, check_number, check_scores
from noneg.errors import InputError
from noneg.intervals import limits_at_nodes
from noneg.randomness import stream
from noneg.results import Record
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats, Integers
    from noneg.laws import Chunk
    from noneg.scores import PUScores

    Counts = float | Floats
    Limits = tuple[Floats, Floats]
    Beta = float | tuple[float, float] | None

Band = Literal["pointwise", "exact", "dkw", "bootstrap", "prediction"]
BANDS: Final[dict[str, str]] = {
    "pointwise": "binomial quantiles, the limit of infinitely many bootstrap resamples",
    "exact": "Clopper-Pearson limits at each cutoff",
    "dkw": "one margin for all cutoffs together (Dvoretzky, Kiefer, Wolfowitz and Massart)",
    "bootstrap": "percentiles of resampled known rows",
    "prediction": "'exact', widened by the sampling error of the latent rows themselves",
}

# Cutoffs processed at a time, so that intermediate arrays stay in cache.
_BLOCK: Final = 65_536
_RESAMPLED: Final = 4_000_000  # Number of resampled counts held in memory at a time.
Basis = Literal["positives", "negatives", "tighter"]
Table = Literal["all", "unlabeled"]
Side = Literal["lower", "upper"]
Rate = Literal["fpr", "tpr", "precision"]
NEGATIVES: Final = "known_negatives"
_GUARD: Final = 1e-9  # Protects ceil and floor from rounding error.


def check_band(band: object) -> Band:
    """Return the kind of band, or raise an error that explains each kind.

    Examples
    --------
    >>> check_band("dkw")
    'dkw'
    """
    if band not in get_args(Band):
        kinds = "; ".join(f"'{name}': {text}" for name, text in BANDS.items())
        raise InputError("band", "must be one of the kinds below", value=band, remedy=f"{kinds}.")
    return band  # type: ignore[return-value]


def band_limits(
    share: Floats,
    n: float,
    *,
    band: Band,
    level: float,
    latent: float = np.inf,
    resamples: int = 2000,
    seed: int = 0,
) -> Limits:
    r"""Return T_lb and T_ub around a rank CDF (Claesen et al., Eq. 14).

    Parameters
    ----------
    share : ndarray
        The rank CDF after 0, 1, 2, ... known rows, best first: from 0 to 1.
    n : float
        Number of known rows; Kish's effective number if their weights are unequal.
    band : {"pointwise", "exact", "dkw", "bootstrap", "prediction"}
        "pointwise": quantiles of Binomial(n, share). "exact": Clopper-Pearson. "dkw": share
        :math:`\pm \sqrt{\log(2/\alpha) / 2n}`. "bootstrap": percentiles of `resamples` resamples.
        "prediction": like "exact", but for the share among `latent` further rows from the same
        distribution rather than for the distribution itself.
    level : float
        Nominal coverage: simultaneous over all cutoffs for "dkw", at each cutoff otherwise.
    latent : float
        Number of rows whose share is predicted; used only by "prediction".
    resamples, seed : int
        For "bootstrap".

    Examples
    --------
    >>> low, high = band_limits(np.linspace(0, 1, 5), 4, band="exact", level=0.95)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.006, 0.068, 0.194, 0.398]), array([0.602, 0.806, 0.932, 0.994, 1.   ]))
    """
    alpha = 1.0 - level
    if band == "dkw":
        margin = np.sqrt(np.log(2.0 / alpha) / (2.0 * n))
        return np.maximum(share - margin, 0.0), np.minimum(share + margin, 1.0)
    if band == "bootstrap":
        return _resampled(share, int(n), alpha, resamples, seed)
    return limits_at_nodes(share, _pointwise(band, n, alpha, latent))


def _pointwise(band: Band, n: float, alpha: float, latent: float) -> Callable[[Floats], Limits]:
    if band == "pointwise":
        return lambda p: (_quantile(alpha / 2, n, p), _quantile(1.0 - alpha / 2, n, p))
    if band == "prediction":
        return lambda p: _prediction(p, n, alpha, latent)
    return lambda p: clopper_pearson(p, n, alpha)


def _quantile(q: float, n: float, share: Floats) -> Floats:
    return np.clip(binom.ppf(q, n, share), 0.0, n) / n


def _prediction(share: Floats, n: float, alpha: float, latent: float) -> Limits:
    """Return prediction limits for the share among latent rows.

    Given the known rows, the number of latent rows above the k-th best of them is beta-binomial
    with parameters k and n + 1 - k; it is approximated by a beta distribution with the same mean
    and variance.
    """
    size = max(latent, 1.0 + 1e-6)
    shrunk = 1.0 if np.isinf(size) else (size - 1.0) / (size + n + 1.0)
    hits, misses = share * n, (1.0 - share) * n
    few = 1e-9  # Replaces zero, where the limit is known exactly.
    low = betaincinv(np.maximum(hits, few) * shrunk, (misses + 1.0) * shrunk, alpha / 2)
    high = betaincinv((hits + 1.0) * shrunk, np.maximum(misses, few) * shrunk, 1.0 - alpha / 2)
    return np.where(hits > few, low, 0.0), np.where(misses > few, high, 1.0)


def _resampled(share: Floats, n: int, alpha: float, resamples: int, seed: int) -> Limits:
    """Return percentiles of the rank CDF of resampled rows, computed one block of ranks at a time.

    Given the resampled rows above a rank, the rows below it are a multinomial draw over the
    remaining ranks, so only one block of ranks is ever held in memory.
    """
    rng = stream(seed, "rank band")
    low, high = np.zeros_like(share), np.zeros_like(share)
    seen = np.zeros(resamples, dtype=np.int64)
    step = max(1, _RESAMPLED // resamples)
    for start in range(0, share.size - 1, step):
        stop = min(start + step, share.size - 1)
        rest = max(1.0 - share[start], 1e-300)
        chance = np.append(np.diff(share[start : stop + 1]) / rest, 0.0)
        chance[-1] = max(0.0, 1.0 - chance.sum())
        drawn = rng.multinomial(n - seen, chance / chance.sum())[:, :-1]
        counts = np.cumsum(drawn, axis=1) + seen[:, None]
        ends = np.quantile(counts, [alpha / 2, 1.0 - alpha / 2], axis=0, method="inverted_cdf")
        low[start + 1 : stop + 1], high[start + 1 : stop + 1] = ends / n
        seen = counts[:, -1]
    return low, high


@dataclass(frozen=True, eq=False)
class Group:
    """Rows of one kind, sorted by increasing score.

    Attributes
    ----------
    scores : ndarray
    counts : ndarray or None
        Number of identical rows that each entry represents; None for one each.
    masses : ndarray or None
        Weight of each entry in the rank CDF; None to use its count.
    """

    scores: Floats
    counts: Floats | None = None
    masses: Floats | None = None

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.scores.size if self.counts is None else self.counts.sum())

    def rows_above(self, thresholds: Floats) -> Integers:
        """Return the number of entries at or above each threshold (in decreasing order)."""
        below: Integers = np.searchsorted(self.scores, thresholds[::-1])[::-1]
        return self.scores.size - below

    def count_above(self, rows: Integers) -> Floats:
        """Return the number of rows represented by the best entries."""
        if self.counts is None:
            return rows.astype(np.float64)
        counts: Floats = self._counts_from_the_top[rows]
        return counts

    @cached_property
    def _counts_from_the_top(self) -> Floats:
        return _from_the_top(np.ones(self.scores.size) if self.counts is None else self.counts)

    def share(self) -> tuple[Floats, float]:
        """Return the rank CDF after 0, 1, 2, ... entries, and the effective number of rows."""
        if self.masses is None:
            top = self._counts_from_the_top
            return top / top[-1], float(top[-1])
        counts = np.ones(self.scores.size) if self.counts is None else self.counts
        top = _from_the_top(counts * self.masses)
        return top / top[-1], float(top[-1] ** 2 / (counts * self.masses**2).sum())


# Known positives, known negatives, unlabeled rows.
Groups: TypeAlias = tuple[Group, Group, Group]


def _from_the_top(x: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(x[::-1])])


def cutoffs(groups: Groups, threshold: ArrayLike | None) -> Floats:
    """Return the given thresholds, or else all distinct scores, in decreasing order."""
    if threshold is not None:
        return np.sort(check_scores(np.atleast_1d(threshold), "threshold"))[::-1]
    joined = np.concatenate([group.scores for group in groups])
    joined.sort(kind="stable")  # Merges the parts.
    last = np.ones(joined.size, dtype=np.bool_)
    np.not_equal(joined[1:], joined[:-1], out=last[:-1])
    return joined[last][::-1]


def ranked_groups(scores: PUScores, known_negatives: ArrayLike | None) -> Groups:
    """Return the known positives, the known negatives and the unlabeled rows.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.4], [0.9, 0.5, 0.1], prior=0.4, setting="two-sample")
    >>> cutoffs(ranked_groups(scores, known_negatives=[0.5]), None)
    array([0.9, 0.5, 0.4, 0.1])
    """
    rest, positive = scores.in_order()
    extra = np.sort(check_scores([] if known_negatives is None else known_negatives, NEGATIVES))
    positives = _group(positive, "positive", latent_law=scores.hidden and scores.pooled)
    unlabeled = _group(rest, "unlabeled")
    if scores.hidden:
        return positives, Group(extra), unlabeled
    if extra.size:
        rule = f"must be omitted if every row has its label, got {extra.size} scores"
        raise InputError(NEGATIVES, rule, remedy="Add these rows to the labeled rows.")
    return positives, unlabeled, Group(extra)


def _group(chunk: Chunk, name: str, *, latent_law: bool = False) -> Group:
    """Return the rows of a chunk; unequal weights may come only from labeling rates.

    With labeling rates e, known positives weighted by 1 / e follow the distribution of all
    positives. Weighted by 1 / e - 1, they follow the distribution of the positives left unlabeled
    in one sample.
    """
    scores, counts, positive_mass, marginal_mass = chunk
    if np.any(np.asarray(marginal_mass) != 1.0):
        rule = f"must not have importance weights, got some on {name} rows: bounds count rows"
        remedy = "Use frequency weights, labeling rates (propensity) or none."
        raise InputError("scores", rule, remedy=remedy)
    f, a = (None if np.all(x == 1.0) else np.asarray(x) for x in (counts, positive_mass))
    return Group(scores, f, None if a is None else a - latent_law)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables:
    """Contingency tables, one per cutoff.

    Attributes
    ----------
    tp : ndarray
        Number of positives at or above each cutoff.
    predicted : ndarray
        Number of rows at or above each cutoff.
    positives : float or ndarray
        Total number of positives.
    total : float
        Total number of rows.
    """

    tp: Floats
    predicted: Floats
    positives: Counts
    total: float

    @property
    def fp(self) -> Floats:
        """Number of negatives at or above each cutoff."""
        return self.predicted - self.tp

    @property
    def fn(self) -> Floats:
        """Number of positives below each cutoff."""
        return self.positives - self.tp

    @property
    def tn(self) -> Floats:
        """Number of negatives below each cutoff."""
        return (self.total - self.positives) - self.fp

    @property
    def tpr(self) -> Floats:
        """True positive rate, or recall (Eq. 1)."""
        return _ratio(self.tp, self.positives)

    @property
    def fpr(self) -> Floats:
        """False positive rate (Eq. 2)."""
        return _ratio(self.fp, self.total - self.positives)

    @property
    def precision(self) -> Floats:
        """Share of positives among the rows at or above each cutoff."""
        return _ratio(self.tp, self.predicted)


def _ratio(top: Floats, bottom: Counts) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = top / bottom
    return ratio


@dataclass(frozen=True, eq=False, kw_only=True)
class Assumptions(Record):
    """The assumptions that bounds are based on.

    Attributes
    ----------
    beta : (float, float)
        Interval for the share of latent positives among the unlabeled rows.
    band : {"pointwise", "exact", "dkw", "bootstrap", "prediction"}
    level : float
    basis : {"positives", "negatives"}
        The class whose rank CDF the band bounds.
    table : {"all", "unlabeled"}
        Which rows the tables count.
    """

    beta: tuple[float, float]
    band: Band
    level: float
    basis: Basis
    table: Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Ranked rows with a band and a range of latent positives, from which bounds are computed.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order; a row with a score at or above the cutoff is predicted
        positive.
    groups : (Group, Group, Group)
        Known positives, known negatives, unlabeled rows.
    limits : (ndarray, ndarray)
        T_lb and T_ub, tabulated over the known rows of the basis.
    latent : (float, float)
        Smallest and largest number of latent positives, as whole numbers.
    assumes : Assumptions
    """

    threshold: Floats
    groups: Groups
    limits: Limits
    latent: tuple[float, float]
    assumes: Assumptions

    def blocks(self) -> Iterator[tuple[slice, Problem]]:
        """Yield the problem one block of cutoffs at a time, with the slice of each block."""
        for start in range(0, self.threshold.size, _BLOCK):
            place = slice(start, start + _BLOCK)
            yield place, replace(self, threshold=self.threshold[place])

    @property
    def n_unlabeled(self) -> float:
        """Number of unlabeled rows."""
        return self.groups[2].total

    @cached_property
    def rows(self) -> tuple[Integers, Integers]:
        """Numbers of known positive and negative entries at or above each cutoff."""
        positive, negative, _ = self.groups
        return positive.rows_above(self.threshold), negative.rows_above(self.threshold)

    @cached_property
    def unlabeled(self) -> Floats:
        """Number of unlabeled rows at or above each cutoff."""
        return self.groups[2].count_above(self.groups[2].rows_above(self.threshold))

    def known(self, kind: int) -> Floats:
        """Return the number of known positives (0) or negatives (1) at or above each cutoff."""
        return self.groups[kind].count_above(self.rows[kind])

    def band_at(self, end: int) -> Floats:
        """Return T_lb (0) or T_ub (1) at every cutoff."""
        at: Floats = self.limits[end][self.rows[self._kind]]
        return at

    @property
    def _kind(self) -> int:
        return int(self.assumes.basis == "negatives")

    @property
    def moved(self) -> Rate:
        """The rate that depends on beta: the rate of the class without the band."""
        return "tpr" if self._kind else "fpr"

    def latent_above(self, side: Side, positives: Counts) -> Floats:
        r"""Return the number of latent positives at or above each cutoff in the table of one side.

        :math:`\theta = \lceil T_{ub} |P_U| \rceil` (Eq. 10) or
        :math:`\lfloor T_{lb} |P_U| \rfloor` (Eq. 13), clipped to the numbers of unlabeled rows
        above and below (Eq. 11). If the basis is known negatives, the same is done for the latent
        negatives with the ends of the band swapped (Appendix C).
        """
        total = self.n_unlabeled
        if self._kind == 0:
            return self._count(int(side == "upper"), positives)
        hidden = self._count(int(side == "lower"), total - positives)
        return np.subtract(self.unlabeled, hidden, out=hidden)

    def _count(self, end: int, latent: Counts) -> Floats:
        theta = self.band_at(end)
        theta *= latent
        guard = np.maximum(_GUARD, 4e-16 * latent)
        if end:
            np.ceil(np.subtract(theta, guard, out=theta), out=theta)
        else:
            np.floor(np.add(theta, guard, out=theta), out=theta)
        head = self.unlabeled
        below = latent - self.n_unlabeled  # Plus head: positives that exceed the tail.
        np.maximum(theta, np.maximum(below + head, 0.0), out=theta)
        return np.minimum(theta, np.minimum(head, latent), out=theta)

    def tables(self, side: Side, positives: Counts) -> Tables:
        """Return the tables of one side for a number of latent positives (Eq. 12)."""
        tp = self.latent_above(side, positives)
        total = self.n_unlabeled
        if self.assumes.table == "unlabeled":
            return Tables(tp=tp, predicted=self.unlabeled, positives=positives, total=total)
        known = self.known(0)
        tp += known
        known += self.unlabeled
        if self.groups[1].scores.size:
            known += self.known(1)
        n_positive, n_negative = (group.total for group in self.groups[:2])
        return Tables(
            tp=tp,
            predicted=known,
            positives=positives + n_positive,
            total=total + n_positive + n_negative,
        )

    def candidates(self, side: Side) -> Iterator[Tables]:
        """Yield tables that include the extremes of every rate over all beta.

        Between the ends of the range, a rate is monotone in the number of latent positives (Lemma
        4, Eq. 15) except at the two values where clipping (Eq. 11) begins.
        """
        low, high = self.latent
        if low == high:
            yield self.tables(side, low)
            return
        # Start with the end given by Lemma 4 for a ranking better than random.
        for latent in (high, low) if (side == "upper") != bool(self._kind) else (low, high):
            yield self.tables(side, latent)
        for turn in self._turns(side):
            yield self.tables(side, np.clip(np.floor(turn), low, high))
            yield self.tables(side, np.clip(np.ceil(turn), low, high))

    def _turns(self, side: Side) -> Iterator[Floats]:
        head, total = self.unlabeled, self.n_unlabeled
        share = self.band_at(int((side == "upper") != bool(self._kind)))
        with np.errstate(divide="ignore", invalid="ignore"):
            for turn in (head / share, (total - head) / (1.0 - share)):
                finite = np.where(np.isnan(turn), 0.0, np.minimum(turn, total))
                yield total - finite if self._kind else finite

    def counted(self) -> Problem:
        """Return the problem restricted to cutoffs with a counted row at or above them."""
        if self.assumes.table == "all":
            return self
        return replace(self, threshold=self.threshold[self.threshold <= self.groups[2].scores[-1]])

    def check_classes(self, *, negatives: bool) -> None:
        """Raise unless every beta leaves at least one positive row and, if needed, a negative."""
        known = [group.total for group in self.groups[:2]]
        if self.assumes.table == "unlabeled":
            known = [0.0, 0.0]
        if known[0] + self.latent[0] <= 0.0:
            raise self._no_row("positive", "larger")
        if negatives and known[1] + self.n_unlabeled - self.latent[1] <= 0.0:
            raise self._no_row("negative", "smaller")

    def _no_row(self, kind: str, way: str) -> ValueError:
        if self.n_unlabeled == 0:
            return ValueError(
                f"'scores' must contain at least one {kind} row for a curve, got none."
            )
        low, high = self.assumes.beta
        shown = f"{low:g}" if low == high else f"({low:g}, {high:g})"
        return ValueError(
            f"'beta' must leave at least one {kind} row for a curve, got {shown} of "
            f"{self.n_unlabeled:,.0f} unlabeled rows. Pass a {way} beta, or count known "
            f"{kind} rows too (table='all')."
        )


class BoundOptions(TypedDict, total=False):
    """Keyword options common to all bounds; see `noneg.performance.roc_bounds`."""

    beta: Beta
    band: Band
    level: float
    known_negatives: ArrayLike | None
    basis: Basis
    table: Table | None
    resamples: int
    seed: int


def latent_fraction(scores: PUScores, *, level: float | None = None) -> tuple[float, float]:
    r"""Return an interval for beta, the share of latent positives among the unlabeled rows.

    Beta is the prior :math:`\pi` in the two-sample setting and
    :math:`\bar\pi = (1 - c)\pi / (1 - c\pi)` in the one-sample setting, where c is the share of
    positives that are labeled (Claesen et al., Eq. 7). Without `level`, both ends are equal if the
    prior is a single number.

    Parameters
    ----------
    scores : PUScores
    level : float, optional
        If given, the interval also allows for sampling variation, since a sample does not contain
        exactly the population's share of positives. Uses exact binomial quantiles.

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


def pose(  # noqa: PLR0913 - the options of all bounds
    scores: PUScores,
    *,
    beta: Beta = None,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    basis: Basis = "positives",
    table: Table | None = None,
    resamples: int = 2000,
    seed: int = 0,
    threshold: ArrayLike | None = None,
    prevalence: bool = True,
) -> list[Problem]:
    """Return the problem to solve, or both problems if the tighter basis is requested.

    Options are those of `noneg.performance.roc_bounds`; `prevalence` states whether the result
    depends on the share of positives in the table.
    """
    check_band(band)
    check_level(level)
    check_count(resamples, "resamples", 2)
    check_count(seed, "seed", 0)
    counted = _check_table(scores, table, prevalence=prevalence)
    shares = latent_fraction(scores) if beta is None else check_beta(scores, beta)
    groups = ranked_groups(scores, known_negatives)
    cuts, total = cutoffs(groups, threshold), groups[2].total
    latent = float(round(shares[0] * total)), float(round(shares[1] * total))
    problems = []
    for one in _bases(groups, basis):
        assumes = Assumptions(beta=shares, band=band, level=level, basis=one, table=counted)
        limits = _limits(groups, assumes, latent, resamples, seed)
        problems.append(
            Problem(threshold=cuts, groups=groups, limits=limits, latent=latent, assumes=assumes)
        )
    return problems


def _limits(
    groups: Groups, assumes: Assumptions, latent: tuple[float, float], resamples: int, seed: int
) -> Limits:
    positive = assumes.basis == "positives"
    group, n_unlabeled = groups[int(not positive)], groups[2].total
    if not group.scores.size or not n_unlabeled:
        unused = np.zeros(group.scores.size + 1)
        return unused, unused
    share, n = group.share()
    if group.masses is not None and assumes.band in ("pointwise", "bootstrap"):
        rule = "must be 'exact', 'prediction' or 'dkw' if positives have labeling rates"
        remedy = "Counts with unequal weights are not binomial."
        raise InputError("band", rule, value=assumes.band, remedy=remedy)
    hidden = latent[0] if positive else n_unlabeled - latent[1]
    return band_limits(
        share,
        n,
        band=assumes.band,
        level=assumes.level,
        latent=hidden,
        resamples=resamples,
        seed=seed,
    )


def check_beta(scores: PUScores, beta: Any) -> tuple[float, float]:  # noqa: ANN401
    """Return beta as an interval within [0, 1]."""
    rule = "the share of positives among the unlabeled rows, a number in [0, 1] or a pair of them"
    if not scores.hidden:
        msg = f"must be omitted for labeled data, where no labels are hidden, got {beta!r}."
        raise InputError("beta", msg)
    pair = tuple(beta) if isinstance(beta, (tuple, list, np.ndarray)) else (beta, beta)
    ends = tuple(check_number(b, "beta", rule) for b in pair)
    if len(ends) != 2 or not 0.0 <= ends[0] <= ends[1] <= 1.0:
        raise InputError("beta", f"must be {rule}, smaller first", value=beta)
    return ends


def _check_table(scores: PUScores, table: Table | None, *, prevalence: bool) -> Table:
    if table is None:
        return "unlabeled" if prevalence and not scores.pooled else "all"
    check_choice(table, "table", get_args(Table), "It specifies whether known rows are counted.")
    if table == "unlabeled" and not scores.hidden:
        raise InputError("table", "must be 'all' for labeled data, which has no unlabeled rows.")
    return table


def _bases(groups: Groups, basis: object) -> list[Basis]:
    meaning = "It specifies the class whose ranks the bounds are based on."
    check_choice(basis, "basis", get_args(Basis), meaning)
    some = groups[1].total > 0
    if basis == "negatives" and not some:
        remedy = "Pass their scores as known_negatives, or use basis='positives'."
        raise InputError("basis", "is 'negatives', but there are no known negatives", remedy=remedy)
    if basis == "tighter":
        return ["positives", "negatives"] if some else ["positives"]
    return [basis]  # type: ignore[list-item]
