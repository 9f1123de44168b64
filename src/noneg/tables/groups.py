"""Groups of rows: the values of columns as codes, and the sums of each group in one pass.

`GroupSums` are the sums of `noneg.laws` in score buckets, group by group. A `Group` is one of the
groups next to all rows, as the metrics of `noneg.groups` need it.

All groups share the same buckets. With more groups, there are fewer buckets, so the size of the
table is bounded for any number of rows. With few rows, every distinct score has its own bucket, and
no information is lost. Otherwise, buckets contain about equal shares of the first two million rows;
additional fixed cuts keep later rows with different scores separate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from noneg.bins import Binned, binned_sums
from noneg.checks import WeightKind, check_same_length
from noneg.errors import InputError
from noneg.laws import FROM_TRIPLE
from noneg.sketch import Sketch
from noneg.tables.batches import Columns, as_text, as_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats, Integers
    from noneg.scores import PUScores
    from noneg.tables.labels import Place

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
# Number of sums without importance weights: of rows, of scores, and of their squares.
PLAIN = 3
NAMELESS = "Give such rows a group of their own, such as 'unknown', or leave them out."


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
        return _names(self.labels)

    def of_laws(self, scores: PUScores, table: Floats) -> Floats:
        """Return the nine sums of both distributions from sums of shape (..., 2, 3 or 9)."""
        sums = np.moveaxis(table, -2, 0)
        return scores.merge(sums[..., FROM_TRIPLE] if sums.shape[-1] == PLAIN else sums)

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


class Grouping:
    """Assign a code to each combination of values, in the order of first appearance, and sum rows.

    Parameters
    ----------
    by : sequence of str
        Columns whose values define the groups.
    cuts : sequence of float
        Thresholds that no bucket of the score may cross.
    remedy : str
        Advice about a row without a value.

    Examples
    --------
    >>> grouping = Grouping(["region", "sex"])
    >>> codes = grouping.codes([["north", "south", "north"], ["f", "m", "f"]])
    >>> codes
    array([0, 1, 0])
    >>> grouping.labels
    [('north', 'f'), ('south', 'm')]
    >>> grouping.add(codes, np.array([0.2, 0.4, 0.9]), np.array([False, False, True]))
    >>> grouping.finished().rows
    array([[1., 1.],
           [1., 0.]])
    """

    def __init__(
        self, by: Sequence[str], cuts: Sequence[float] = (0.5,), *, remedy: str = NAMELESS
    ) -> None:
        self.by, self.cuts, self.remedy = tuple(by), tuple(cuts), remedy
        if not self.by or len(set(self.by)) < len(self.by):
            raise InputError("by", "must name one or more distinct columns", value=by)
        self.found: dict[tuple[str, ...], int] = {}
        self.ends: Floats | None = None
        self.table: Floats | None = None
        self.rows = np.zeros((0, 2))

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """Values of each group."""
        return list(self.found)

    def names_of(self, codes: Integers | None) -> NDArray[np.str_]:
        """Return the names of the groups."""
        return np.array(_names(self.labels))[codes]

    def codes(self, columns: Sequence[ArrayLike]) -> Integers:
        """Return the code of each row from its values, column by column."""
        parts = [np.unique(_texts(column), return_inverse=True) for column in columns]
        return self._coded([(values.tolist(), inverse) for values, inverse in parts])

    def codes_of_batch(self, batch: Any, place: Place) -> Integers:  # noqa: ANN401
        """Return the code of each row of Arrow columns; every row must have its values."""
        parts = []
        for argument, name in self.names().items():
            column = batch[argument]
            if column.null_count:
                as_texts(column, name, place, self.remedy)  # Names the row.
            if not hasattr(column, "indices"):
                column = column.dictionary_encode()
            values = as_texts(column.dictionary, name, place)
            parts.append((values, column.indices.to_numpy(zero_copy_only=False)))
        return self._coded(parts)

    def names(self) -> dict[str, str]:
        """Return the columns by argument."""
        return {f"by{k or ''}": name for k, name in enumerate(self.by)}

    def _coded(self, parts: list[tuple[list[str], NDArray[Any]]]) -> Integers:
        together = np.zeros(parts[0][1].size, dtype=np.int64)
        for values, inverse in parts:
            together = together * len(values) + inverse
        there, inverse = np.unique(together, return_inverse=True)
        code = np.empty(there.size, dtype=np.int64)
        sizes = tuple(len(values) for values, _ in parts)
        for k, places in enumerate(zip(*np.unravel_index(there, sizes), strict=True)):
            label = tuple(values[at] for (values, _), at in zip(parts, places, strict=True))
            code[k] = self.found.setdefault(label, len(self.found))
        return code[inverse.ravel()]

    def add(
        self,
        codes: Integers,
        score: Floats,
        flags: Flags,
        weight: Floats | None = None,
        kind: WeightKind = "frequency",
        summed: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Count rows with these codes.

        If each row is the sum of several with nearly equal scores, `summed` is their number and the
        sum of their squared weights.
        """
        if weight is not None and not weight.all():
            there = weight > 0.0
            codes, score, flags, weight = codes[there], score[there], flags[there], weight[there]
        number, square = (weight, None) if summed is None else summed
        n = len(self.found)
        if self.ends is None:
            self.ends = _ends(score, n, self.cuts)
        k = self.ends.size
        place = (codes * k + np.searchsorted(self.ends, score)) * 2 + flags
        columns = _columns(score, weight, square, kind)
        sums = np.stack([np.bincount(place, x, 2 * n * k) for x in columns], axis=-1)
        self.table = _grown(self.table, sums.reshape(n, k, 2, -1).astype(np.float64))
        rows = number if kind == "frequency" or summed is not None else None
        counted = np.bincount(codes * 2 + flags, rows, 2 * n).reshape(n, 2).astype(np.float64)
        self.rows = _grown(self.rows, counted)

    def sums(self, rows: Columns | Sketch, kind: WeightKind) -> GroupSums:
        """Return the sums made while reading, or sum the rows in memory."""
        if self.table is None:
            assert not isinstance(rows, Sketch)  # noqa: S101 - its rows were counted
            assert rows.codes is not None  # noqa: S101 - groups were wanted
            self.add(rows.codes, rows.score, rows.flags, rows.weight, kind)
        return self.finished()

    def finished(self) -> GroupSums:
        """Return the sums of all groups, sorted by name."""
        assert self.table is not None  # noqa: S101 - readers refuse tables without rows
        assert self.ends is not None  # noqa: S101
        labels = sorted(self.found)
        order = [self.found[label] for label in labels]
        return GroupSums(self.by, labels, self.ends, self.table[order], self.rows[order])


def _columns(
    s: Floats, weight: Floats | None, square: Floats | None, kind: WeightKind
) -> list[Floats | None]:
    """Return the contribution of each row to its sums."""
    if kind == "frequency" or weight is None:
        w = 1.0 if weight is None else weight
        plain: list[Floats | None] = [weight, w * s, w * s * s]
        return plain if kind == "frequency" else [plain[k] for k in FROM_TRIPLE]
    q = weight * weight if square is None else square
    return [weight, weight, weight * s, q, q, q * s, q, q * s, q * s * s]


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


def _names(labels: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the values of each group joined by commas; those that contain one are quoted."""
    return [
        ", ".join(repr(value) if len(label) > 1 and "," in value else value for value in label)
        for label in labels
    ]


def _texts(column: ArrayLike) -> NDArray[np.str_]:
    values = np.asarray(column, dtype=object)
    if values.ndim != 1:
        rule = f"must contain one group per row, got {values.ndim} dimensions."
        raise InputError("by", rule, remedy="For names of columns, pass the table, not scores.")
    for row, value in enumerate(values):
        if value is None or value != value:  # noqa: PLR0124
            rule = "must contain a value in every row"
            raise InputError("by", rule, row=row, lack="has none", remedy=NAMELESS)
    return np.array([as_text(value) for value in values])


def group_rows(
    by: ArrayLike,
    score: Floats,
    flags: Flags,
    *,
    weight: Floats | None = None,
    weight_kind: WeightKind = "frequency",
    threshold: float = 0.5,
) -> GroupSums:
    """Sum rows by group.

    Parameters
    ----------
    by : array-like
        The group of each row.
    score, flags : ndarray
        Scores, and which rows are labeled positive.
    weight, weight_kind
        As in `PUScores`.
    threshold : float
        Threshold for metrics that need one.

    Examples
    --------
    >>> flags = np.array([True, False, False])
    >>> group_rows(["a", "a", "b"], np.array([0.9, 0.2, 0.4]), flags).names
    ['a', 'b']
    """
    grouping = Grouping(["group"], (threshold,))
    codes = grouping.codes([by])
    check_same_length(scores=score.size, by=codes.size)
    grouping.add(codes, score, flags, weight, weight_kind)
    return grouping.finished()


def groups_of(scores: PUScores, by: ArrayLike, *, threshold: float = 0.5) -> GroupSums:
    """Sum the rows of `PUScores` by group.

    Parameters
    ----------
    scores : PUScores
        Rows without weights.
    by : array-like
        The group of each row in the order in which the rows were given, with the positives first if
        they were given as a separate array.
    threshold : float
        Threshold for metrics that need one.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> groups_of(scores, ["a", "b", "a", "a", "b", "b"]).rows
    array([[2., 1.],
           [2., 1.]])
    """
    return group_rows(by, *scores.as_given(), threshold=threshold)


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
