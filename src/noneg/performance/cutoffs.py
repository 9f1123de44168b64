"""Known positives, known negatives and unlabeled rows, ranked together and counted at cutoffs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from noneg.checks import check_scores
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats, Integers
    from noneg.laws import Chunk
    from noneg.scores import PUScores

NEGATIVES: Final = "known_negatives"
# Cutoffs processed at a time, so that intermediate arrays stay in cache.
_BLOCK: Final = 65_536


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


def _from_the_top(x: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(x[::-1])])


@dataclass(frozen=True, eq=False)
class Ranking:
    """Cutoffs, and the rows of each kind at or above them, counted on demand.

    Attributes
    ----------
    threshold : ndarray
        Cutoffs in decreasing order; a row with a score at or above the cutoff is predicted
        positive.
    groups : (Group, Group, Group)
        Known positives, known negatives, unlabeled rows.
    """

    threshold: Floats
    groups: tuple[Group, Group, Group]

    @property
    def n_unlabeled(self) -> float:
        """Number of unlabeled rows."""
        return self.groups[2].total

    def parts(self) -> Iterator[tuple[slice, Ranking]]:
        """Yield the ranking one block of cutoffs at a time, with the slice of each block."""
        for start in range(0, self.threshold.size, _BLOCK):
            place = slice(start, start + _BLOCK)
            yield place, Ranking(self.threshold[place], self.groups)

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


def rank(
    scores: PUScores, known_negatives: ArrayLike | None, threshold: ArrayLike | None = None
) -> Ranking:
    """Return the ranking, with a cutoff at every distinct score or at the given thresholds.

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


def _distinct(parts: list[Floats]) -> Floats:
    """Return the distinct values of several sorted arrays."""
    joined = np.concatenate(parts)
    joined.sort(kind="stable")  # Merges the parts.
    last = np.ones(joined.size, dtype=np.bool_)
    np.not_equal(joined[1:], joined[:-1], out=last[:-1])
    return joined[last]


def _groups(scores: PUScores, known_negatives: ArrayLike | None) -> tuple[Group, Group, Group]:
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
    f = counts if isinstance(counts, np.ndarray) else None
    a = positive_mass if isinstance(positive_mass, np.ndarray) else None
    if a is not None and np.all(a == 1.0):
        a = None
    if f is not None and not f.all():
        scores, a, f = scores[f > 0.0], None if a is None else a[f > 0.0], f[f > 0.0]
    if f is not None and np.all(f == 1.0):
        f = None
    return Group(scores, f, None if a is None else a - latent_law)
