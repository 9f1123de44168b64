r"""Contingency tables at every cut-off when some labels are hidden (Claesen et al., Sections 3, 4).

Known positives P_L, known negatives N_L and unlabeled rows U are ranked together. U holds
:math:`|P_U| = \beta |U|` latent positives, and a band bounds their rank CDF. At each cut-off two
tables follow: the one with the greatest lower and the one with the least upper bound on the false
positive rate (Theorem 1, Lemma 3). Their curves are the upper and the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.performance.bands import Band, Limits
    from noneg.performance.ranking import Ranking

    Counts = float | NDArray[np.float64]

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
