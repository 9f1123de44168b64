"""The table behind a sketch: sums of rows in the buckets of `noneg.kernels`.

One row a bucket. Without weights, or with weights that count rows, its columns are

    n, sum s   of the unlabeled rows;   n, sum s   of the labelled positives;   low, high

and with importance weights

    n, sum w, sum w^2, sum w s   of either group;   low, high

where low and high are the smallest and largest score of both groups: a bucket whose rows all have
one score is then represented by exactly that score. The second moment of s needs no column: inside
a bucket s varies by less than 2^-16.

The grid without importance weights is twice as fine: either table then takes nine
to ten megabytes.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from noneg.kernels import CHUNK, FINE_GRID, GRID, bucket_of

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from noneg.checks import WeightKind
    from noneg.kernels import Grid

    Floats = NDArray[np.float64]

# Sums of one group, by kind of weight.
SUMS: dict[WeightKind, tuple[str, ...]] = {
    "frequency": ("n", "sum"),
    "importance": ("n", "weight", "square", "sum"),
}
GRIDS: dict[WeightKind, Grid] = {"frequency": FINE_GRID, "importance": GRID}
# Rows from which importing numba, about half a second, pays for itself; metrics of their sketch
# use it, too.
ROWS_WORTH_AN_IMPORT = 5_000_000


def empty_table(kind: WeightKind) -> Floats:
    """Return a table without rows, shape (buckets, columns)."""
    # Not np.zeros: what is written at once may lie in large pages.
    table = np.empty((GRIDS[kind].size, 2 * len(SUMS[kind]) + 2))
    table[:, :-2] = 0.0
    table[:, -2], table[:, -1] = np.inf, -np.inf
    return table


def fast_loops(n_rows: int) -> ModuleType | None:
    """Return the numba twin when it is loaded already or pays for this many rows, else None."""
    loaded = "numba" in sys.modules
    if not loaded and (n_rows < ROWS_WORTH_AN_IMPORT or find_spec("numba") is None):
        return None
    from noneg.sketch import loops_numba

    return loops_numba


def add_rows(
    table: Floats,
    flags: NDArray[np.bool_],
    scores: Floats,
    weights: Floats | None,
    fast: ModuleType | None = None,
) -> int:
    """Add checked rows; return the first row whose score is outside [0, 1], or -1.

    The rows before it may have been added: a table with such a row must be thrown away.
    """
    if fast is not None:
        return int(fast.add_rows(table, flags, scores, weights))
    inside = (scores >= 0.0) & (scores <= 1.0)
    if not inside.all():
        return int(np.argmin(inside))
    for start in range(0, scores.size, CHUNK):
        piece = slice(start, start + CHUNK)
        _add_chunk(table, flags[piece], scores[piece], None if weights is None else weights[piece])
    return -1


def _add_chunk(
    table: Floats, flags: NDArray[np.bool_], scores: Floats, weights: Floats | None
) -> None:
    width = table.shape[1]
    flat, k = table.reshape(-1), (width - 2) // 2
    plain = k == len(SUMS["frequency"])
    if weights is not None and not weights.all():
        # A row that counts for nothing has no say in the range of its bucket either.
        there = weights > 0.0
        flags, scores, weights = flags[there], scores[there], weights[there]
    s = np.asarray(scores, dtype=np.float64)
    first = bucket_of(s, GRIDS["frequency" if plain else "importance"]) * width
    columns = row_sums(s, weights, k)
    for position, column in enumerate(columns):
        np.add.at(flat, first + flags * k + position, column)
    np.minimum.at(flat, first + (width - 2), s)
    np.maximum.at(flat, first + (width - 1), s)


def row_sums(s: Floats, weights: Floats | None, k: int) -> list[Floats | float]:
    """Return what each row adds to the sums of its group."""
    if k == len(SUMS["frequency"]):
        return [1.0, s] if weights is None else [weights, weights * s]
    w = np.ones_like(s) if weights is None else weights
    return [1.0, w, w * w, w * s]


def merge_into(table: Floats, other: Floats) -> None:
    """Add the rows of another table of the same kind; empty buckets cost next to nothing."""
    there = np.flatnonzero(other[:, -1] >= 0.0)
    if there.size and not (table[:, -1] >= 0.0).any():
        table[:] = other
        return
    table[there, :-2] += other[there, :-2]
    table[there, -2] = np.minimum(table[there, -2], other[there, -2])
    table[there, -1] = np.maximum(table[there, -1], other[there, -1])
