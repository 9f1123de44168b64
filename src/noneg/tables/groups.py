"""Groups of rows: the values of columns as codes, batch by batch, and rows of arrays by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_same_length
from noneg.errors import InputError
from noneg.sketch import Sketch
from noneg.sketch.grouped import GroupCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import WeightKind
    from noneg.scores import PUScores
    from noneg.sketch.grouped import GroupSums
    from noneg.tables.batches import Columns

    Codes = NDArray[np.int64]

NAMELESS = "Give such rows a group of their own, such as 'unknown', or leave them out."


class Grouping:
    """Assign a code to each combination of values, in the order of first appearance.

    Parameters
    ----------
    by : sequence of str
        Columns whose values define the groups.
    cuts : sequence of float
        Thresholds that no bucket of the score may cross.

    Examples
    --------
    >>> grouping = Grouping(["region", "sex"])
    >>> grouping.codes([["north", "south", "north"], ["f", "m", "f"]])
    array([0, 1, 0])
    >>> grouping.labels
    [('north', 'f'), ('south', 'm')]
    """

    def __init__(self, by: Sequence[str], cuts: Sequence[float] = (0.5,)) -> None:
        self.by, self.cuts = tuple(by), tuple(cuts)
        if not self.by or len(set(self.by)) < len(self.by):
            raise InputError("by", "must name one or more distinct columns", value=by)
        self.found: dict[tuple[str, ...], int] = {}
        self.counter: GroupCounter | None = None

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """Values of each group."""
        return list(self.found)

    def names_of(self, codes: Codes | None) -> NDArray[np.str_]:
        """Return the names of the groups."""
        return np.array([", ".join(label) for label in self.labels])[codes]

    def codes(self, columns: Sequence[ArrayLike]) -> Codes:
        """Return the code of each row from its values, column by column."""
        parts = [np.unique(_texts(column), return_inverse=True) for column in columns]
        return self._coded([(values.tolist(), inverse) for values, inverse in parts])

    def codes_of_batch(self, batch: Any, place: Callable[[int], str]) -> Codes:  # noqa: ANN401
        """Return the code of each row of Arrow columns; every row must have its values."""
        from noneg.tables.batches import as_texts

        parts = []
        for argument, name in self.names().items():
            column = batch[argument]
            if column.null_count:
                as_texts(column, name, place, NAMELESS)  # Names the row.
            if not hasattr(column, "indices"):
                column = column.dictionary_encode()
            values = as_texts(column.dictionary, name, place)
            parts.append((values, column.indices.to_numpy(zero_copy_only=False)))
        return self._coded(parts)

    def names(self) -> dict[str, str]:
        """Return the columns by argument."""
        return {f"by{k or ''}": name for k, name in enumerate(self.by)}

    def _coded(self, parts: list[tuple[list[str], NDArray[Any]]]) -> Codes:
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

    def sums(self, rows: Columns | Sketch, kind: WeightKind) -> GroupSums:
        """Return the counts made while reading, or count the rows in memory."""
        if self.counter is not None:
            return self.counter.finished()
        assert not isinstance(rows, Sketch)  # noqa: S101 - its rows were counted
        assert rows.codes is not None  # noqa: S101 - groups were wanted
        return self.count(rows.codes, rows.score, rows.flags, rows.weight, kind).finished()

    def count(
        self,
        codes: Codes,
        score: NDArray[np.float64],
        flags: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        kind: WeightKind,
    ) -> GroupCounter:
        """Count rows."""
        if self.counter is None:
            self.counter = GroupCounter(self.by, kind, self.cuts)
        self.counter.add(self.labels, codes, score, flags, weight)
        return self.counter


def _texts(column: ArrayLike) -> NDArray[np.str_]:
    from noneg.tables.batches import as_text

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
    score: NDArray[np.float64],
    flags: NDArray[np.bool_],
    *,
    weight: NDArray[np.float64] | None = None,
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
    return grouping.count(codes, score, flags, weight, weight_kind).finished()


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
