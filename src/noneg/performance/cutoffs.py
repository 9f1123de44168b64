"""Known positives, known negatives and unlabeled rows, ranked together and counted at cutoffs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from noneg.checks import check_scores
from noneg.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats, Integers
    from noneg.laws import Chunk
    from noneg.scores import PUScores

NEGATIVES: Final = "known_negatives"


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
