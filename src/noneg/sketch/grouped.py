"""`GroupSums`: the sums of `noneg.laws` in score buckets, group by group, in one pass.

A `Group` is one of the groups next to all rows, as the metrics of `noneg.groups` need it.

All groups share the same buckets. With more groups, there are fewer buckets, so the size of the
table is bounded for any number of rows. With few rows, every distinct score has its own bucket, and
no information is lost. Otherwise, buckets contain about equal shares of the first two million rows;
additional fixed cuts keep later rows with different scores separate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from noneg.bins import binned_sums
from noneg.errors import InputError
from noneg.laws import FROM_TRIPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.arrays import Flags, Floats, Integers
    from noneg.bins import Binned
    from noneg.checks import WeightKind
    from noneg.scores import PUScores

    # A value and its derivatives with respect to the sums of each bucket.
    Slopes = tuple[float, Floats, Floats, Floats]

# Number of cells in the table, and the fewest and most buckets per group.
CELLS, FEWEST, MOST = 1 << 20, 64, 1024
# A column with more values than this identifies rows, not groups.
MOST_GROUPS = 50_000
# Largest number of bins for the calibration error of a group.
MOST_BINS = 15
# Cuts that do not depend on the rows, equally spaced in the logit.
FIXED = expit(np.linspace(-12.0, 12.0, 25))


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums of rows by group, score bucket and label.

    Attributes
    ----------
    by : tuple of str
        Columns whose values define the groups.
    labels : list of tuple of str
        Values of each group.
    ends : ndarray, shape (buckets,)
        Largest score of each bucket; the last one is 1.
    table : ndarray, shape (groups, buckets, 2, 3 or 9)
        Number of rows, sum of scores and sum of their squares, or all nine sums of `noneg.laws` if
        rows have importance weights; unlabeled rows first.
    rows : ndarray, shape (groups, 2)
        Number of rows in each group, unlabeled rows first.
    """

    by: tuple[str, ...]
    labels: list[tuple[str, ...]]
    ends: Floats
    table: Floats
    rows: Floats

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def names(self) -> list[str]:
        """Names of the groups."""
        return [", ".join(label) for label in self.labels]

    def nine(self, table: Floats) -> Floats:
        """Return sums of shape (..., 2, 3 or 9) as nine sums per group, positives first."""
        sums = np.moveaxis(table, -2, 0)
        return sums if sums.shape[-1] > len(TRIPLE) else sums[..., FROM_TRIPLE]

    def pooled(self, small: Flags, label: str) -> GroupSums:
        """Return the sums with small groups combined into one."""
        if not small.any():
            return self
        keep = np.flatnonzero(~small)
        return GroupSums(
            self.by,
            [*(self.labels[k] for k in keep), (label,)],
            self.ends,
            np.concatenate([self.table[keep], self.table[small].sum(axis=0, keepdims=True)]),
            np.concatenate([self.rows[keep], self.rows[small].sum(axis=0, keepdims=True)]),
        )


# Columns of a table without importance weights.
TRIPLE = ("n", "sum", "square")


class GroupCounter:
    """Count the rows of groups, batch by batch.

    Parameters
    ----------
    by : tuple of str
        Columns whose values define the groups.
    kind : {"frequency", "importance"}
        Meaning of the weights.
    cuts : sequence of float
        Thresholds that no bucket may cross.

    Examples
    --------
    >>> counter = GroupCounter(("region",))
    >>> counter.add(
    ...     [("north",), ("south",)],
    ...     np.array([0, 1, 1]),
    ...     np.array([0.2, 0.4, 0.9]),
    ...     np.array([False, False, True]),
    ... )
    >>> counter.finished().rows
    array([[1., 0.],
           [1., 1.]])
    """

    def __init__(
        self, by: tuple[str, ...], kind: WeightKind = "frequency", cuts: Sequence[float] = (0.5,)
    ) -> None:
        self.by, self.kind, self.cuts = by, kind, tuple(cuts)
        self.labels: list[tuple[str, ...]] = []
        self.ends: Floats | None = None
        self.table: Floats | None = None
        self.rows = np.zeros((0, 2))

    def add(
        self,
        labels: list[tuple[str, ...]],
        codes: Integers,
        score: Floats,
        flags: Flags,
        weight: Floats | None = None,
        summed: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Count rows; `labels` lists all groups seen so far, and codes are indices into it.

        If each row is the sum of several with nearly equal scores, `summed` is their number and the
        sum of their squared weights.
        """
        if weight is not None and not weight.all():
            there = weight > 0.0
            codes, score, flags, weight = codes[there], score[there], flags[there], weight[there]
        number, square = (weight, None) if summed is None else summed
        if self.ends is None:
            self.ends = _ends(score, len(labels), self.cuts)
        self.labels, n, k = labels, len(labels), self.ends.size
        place = (codes * k + np.searchsorted(self.ends, score)) * 2 + flags
        sums = [np.bincount(place, x, 2 * n * k) for x in self._columns(score, weight, square)]
        self.table = _grown(
            self.table, np.stack(sums, axis=-1).reshape(n, k, 2, -1).astype(np.float64)
        )
        rows = number if self.kind == "frequency" or summed is not None else None
        counted = np.bincount(codes * 2 + flags, rows, 2 * n).reshape(n, 2).astype(np.float64)
        self.rows = _grown(self.rows, counted)

    def _columns(
        self, s: Floats, weight: Floats | None, square: Floats | None
    ) -> list[Floats | None]:
        if self.kind == "frequency" or weight is None:
            w = 1.0 if weight is None else weight
            plain: list[Floats | None] = [weight, w * s, w * s * s]
            return plain if self.kind == "frequency" else [plain[k] for k in FROM_TRIPLE]
        q = weight * weight if square is None else square
        return [weight, weight, weight * s, q, q, q * s, q, q * s, q * s * s]

    def finished(self) -> GroupSums:
        """Return the counts."""
        assert self.table is not None  # noqa: S101 - readers refuse tables without rows
        assert self.ends is not None  # noqa: S101
        order = sorted(range(len(self.labels)), key=self.labels.__getitem__)
        labels = [self.labels[k] for k in order]
        return GroupSums(self.by, labels, self.ends, self.table[order], self.rows[order])


def _grown(old: Floats | None, new: Floats) -> Floats:
    """Add a table to one that may have fewer groups."""
    if old is not None:
        new[: old.shape[0]] += old
    return new


def _ends(score: Floats, n_groups: int, cuts: Sequence[float]) -> Floats:
    """Return the bucket ends: all distinct scores, or quantiles if there are too many."""
    if n_groups > MOST_GROUPS:
        rule = f"must define at most {MOST_GROUPS:,} groups, got {n_groups:,} so far"
        raise InputError("by", rule, remedy="Does this column identify rows?")
    # A row at a threshold is predicted positive: the bucket below ends before it.
    fixed = np.clip(np.nextafter([*cuts, np.inf], -1.0), 0.0, 1.0)
    ordered = np.sort(score)
    distinct = ordered[np.append(ordered[1:] > ordered[:-1], True)]
    if distinct.size * n_groups > CELLS:
        most = int(np.clip(CELLS // n_groups, FEWEST, MOST))
        distinct = ordered[np.arange(1, most) * ordered.size // most]
    return np.unique(np.concatenate([distinct, FIXED, fixed]))


def sums_of_laws(scores: PUScores, groups: GroupSums, table: Floats) -> Floats:
    """Return the nine sums of both distributions."""
    return scores.merge(groups.nine(table))


@dataclass(frozen=True, eq=False)
class Group:
    """The sums of one group, and those of all rows.

    Attributes
    ----------
    scores : PUScores
        All rows.
    ends : ndarray
        Upper ends of the score buckets.
    sums : ndarray, shape (buckets, 9)
    total : ndarray, shape (9,)
    """

    scores: PUScores
    ends: Floats
    sums: Floats
    total: Floats

    @cached_property
    def rows(self) -> float:
        """Kish's effective size of the group."""
        return kish(self.sums[:, 1], self.sums[:, 6])

    @cached_property
    def positives(self) -> float:
        """Kish's effective number of labeled positives."""
        return kish(self.sums[:, 0], self.sums[:, 3])

    @cached_property
    def all_positives(self) -> float:
        """Kish's effective number of labeled positives in all groups."""
        return max(kish(self.total[0], self.total[3]), 1.0)

    @cached_property
    def binned(self) -> Binned:
        """The nonempty buckets of the group, and one more bucket for all other rows."""
        return self._with_rest(self.sums[self.held], self.ends[self.held])

    def at(self, prior: float) -> Binned:
        """Return the same group under another overall prior."""
        return self.binned if prior == self.binned.prior else replace(self.binned, prior=prior)

    @cached_property
    def held(self) -> Flags:
        """Buckets that contain rows."""
        return (self.sums[:, 0] > 0.0) | (self.sums[:, 1] > 0.0)

    def above(self, threshold: float) -> Flags:
        """Return which of the buckets contain scores at or above a threshold."""
        here: Flags = (self.ends >= threshold)[self.held]
        return here

    def coarse(self) -> Binned:
        """Return bins with about equal mass in the group, and one more for all other rows."""
        mass = self.sums[self.held][:, 1]
        prior = self.binned.prior * self.binned.positive[:-1].sum() / mass.sum() * self.total[1]
        positives, rows = max(self.positives, 1.0), max(self.rows, 1.0)
        # As in `noneg.bins.order_rule`.
        order = int(np.ceil((prior**2 / positives + 1.0 / rows) ** (-1 / 3)))
        bins = max(1, min(MOST_BINS, order, int(rows // 2)))
        place = np.minimum((np.cumsum(mass) - mass / 2.0) / mass.sum() * bins, bins - 1.0)
        first = np.flatnonzero(np.diff(place.astype(np.int64), prepend=-1))
        ends = self.ends[self.held][np.append(first[1:] - 1, -1)]
        return self._with_rest(np.add.reduceat(self.sums[self.held], first, axis=0), ends)

    def _with_rest(self, sums: Floats, ends: Floats) -> Binned:
        rest = np.maximum(self.total - self.sums.sum(axis=0), 0.0)
        return binned_sums(self.scores, ends, np.vstack([sums, rest]))

    def deviation(self, binned: Binned, slopes: Slopes, weight: Floats | float = 1.0) -> float:
        """Return the standard error of a function with these derivatives.

        If a weight is given, the sums of positives were multiplied by it.
        """
        _, positive, marginal, score = slopes
        parts = [np.append(x, 0.0) for x in (positive * weight, marginal, score)]
        count = max(self.positives, 1.0)
        few = count / max(count - 1.0, 0.5)
        variance = few * float(binned.variance(*parts))
        if self.scores.hidden:
            # The most influential positive counts twice, because similar ones may be missing from
            # the sample.
            own = parts[0] - parts[0] @ binned.positive
            held = binned.positive[:-1] > 0.0
            largest = np.max(own[:-1][held] ** 2, initial=0.0)
            variance += (binned.prior / self.all_positives) ** 2 * float(largest)
        return float(np.sqrt(variance))


def kish(first: Floats, second: Floats) -> float:
    """Return Kish's effective size from sums of weights and of their squares."""
    square = float(second.sum())
    return float(first.sum()) ** 2 / square if square > 0.0 else 0.0
