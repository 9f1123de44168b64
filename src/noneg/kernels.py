"""The passes over all rows, each written twice: in NumPy here, in numba in `kernels_numba`.

The NumPy version is the reference. The numba version is used for large arrays if the extra ``fast``
is installed; a property test keeps the two equal.

A *triple* is what every binned estimator needs from a group of rows: ``(n, sum s, sum s^2)``.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

# Importing numba takes about a second, so it must save more than that unless it is already loaded.
ROWS_WORTH_AN_IMPORT = 2_000_000
ROWS_WORTH_A_CALL = 50_000

# Rows processed at a time; their temporaries stay in the CPU cache.
CHUNK = 1 << 16

# The bucket grid: equal width in the middle, relative precision 2^-9 below 2^-7 and above 1 - 2^-7
# (57 octaves, then one bucket for everything closer than 2^-64 to the end).
MANTISSA_BITS = 9
TAIL_BITS = 7
TAIL_EDGE = 2.0**-TAIL_BITS
TAIL_BUCKETS = 57 * 2**MANTISSA_BITS + 1
FIRST_TAIL_KEY = (1023 - 64) << MANTISSA_BITS


class Grid(NamedTuple):
    """Buckets of width ``2^-bits`` in the middle; the tails are the same in every grid."""

    bits: int

    @property
    def scale(self) -> float:
        """Number of buckets per unit length in the middle."""
        return 2.0**self.bits

    @property
    def offset(self) -> int:
        """Bucket of s minus the integer part of ``scale * s``, for s in the middle."""
        return int(TAIL_BUCKETS - 2 ** (self.bits - TAIL_BITS))

    @property
    def size(self) -> int:
        """Number of buckets."""
        return int(2 * TAIL_BUCKETS + 2**self.bits - 2 * 2 ** (self.bits - TAIL_BITS))


GRID = Grid(16)
# The grid of sketches, whose buckets do not keep the order of their rows.
FINE_GRID = Grid(17)
N_BUCKETS = GRID.size

# Rows in score order are kept in runs of 32 buckets: few enough runs for a scatter to stay in the
# cache, and runs short enough that sorting one is cheap.
RUN_SHIFT = 5
N_RUNS = ((N_BUCKETS - 1) >> RUN_SHIFT) + 1


def fast_kernels(n_rows: int) -> ModuleType | None:
    """Return the numba version if it is worthwhile for this many rows, else None."""
    loaded = "numba" in sys.modules
    if n_rows < (ROWS_WORTH_A_CALL if loaded else ROWS_WORTH_AN_IMPORT):
        return None
    if not loaded and find_spec("numba") is None:
        return None
    from noneg import kernels_numba

    return kernels_numba


def in_unit_interval(scores: NDArray[np.float64]) -> bool:
    """Return whether every score is in [0, 1]; nan is not."""
    if (fast := fast_kernels(scores.size)) is not None:
        return fast.in_unit_interval(scores)
    return in_unit_interval_numpy(scores)


def in_unit_interval_numpy(scores: NDArray[np.float64]) -> bool:
    """Compute `in_unit_interval` in plain NumPy, as the reference."""
    return not scores.size or bool(scores.min() >= 0.0 and scores.max() <= 1.0)


def binary_flags(labels: NDArray[np.integer]) -> NDArray[np.bool_] | None:
    """Return True where an integer is 1, or None if some integer is neither 0 nor 1."""
    # Only one integer type is worth compiling for; the others use NumPy.
    common = labels.dtype == np.int64 and labels.flags.c_contiguous
    if common and (fast := fast_kernels(labels.size)) is not None:
        return fast.binary_flags(labels)
    return binary_flags_numpy(labels)


def binary_flags_numpy(labels: NDArray[np.integer]) -> NDArray[np.bool_] | None:
    """Compute `binary_flags` in plain NumPy, as the reference."""
    # One pass is enough to check that all numbers are 0 or 1: no other bit is set.
    return labels.astype(np.bool_) if np.bitwise_or.reduce(labels) in (0, 1) else None


def width_edges(n_bins: int) -> NDArray[np.float64]:
    """Return the doubles ``b / n_bins`` for b = 0..n_bins, one division each."""
    return np.arange(n_bins + 1) / n_bins


def width_index(scores: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each score among right-closed equal-width bins.

    ``ceil(s * B) - 1`` is right up to rounding error, which two comparisons with the edges fix.
    """
    edges = width_edges(n_bins)
    index = np.clip((scores * n_bins).astype(np.intp), 0, n_bins - 1)
    index += scores > edges[index + 1]
    index -= (scores <= edges[index]) & (index > 0)
    return index


def width_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Return triples for equal-width bins, shape (2, n_bins, 3): unflagged, then flagged rows."""
    if (fast := fast_kernels(scores.size)) is not None:
        return fast.width_triples(scores, flags, n_bins)
    return width_triples_numpy(scores, flags, n_bins)


def width_triples_numpy(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Compute `width_triples` in plain NumPy, as the reference."""
    total = np.zeros((2 * n_bins, 3))
    for start in range(0, scores.size, CHUNK):
        s = scores[start : start + CHUNK]
        cell = width_index(s, n_bins)
        if flags is not None:
            cell += n_bins * flags[start : start + CHUNK]
        total += cell_triples(cell, s, 2 * n_bins)
    return total.reshape(2, n_bins, 3)


def cell_triples(
    cell: NDArray[np.intp], scores: NDArray[np.float64], n_cells: int
) -> NDArray[np.float64]:
    """Return the triple of each cell, shape (n_cells, 3)."""
    columns = (None, scores, scores * scores)
    return np.stack([np.bincount(cell, weights=c, minlength=n_cells) for c in columns], axis=-1)


class Axis(NamedTuple):
    """An axis of equal cells with a node in the middle of each, to which rows are assigned.

    Attributes
    ----------
    n : int
        Number of nodes.
    clip : float
        If 0, the axis is the score itself, from 0 to 1. Otherwise, it is the logit of the score
        clipped to [clip, 1 - clip].
    reach : float
        The logit axis runs from -reach to reach.
    """

    n: int
    clip: float = 0.0
    reach: float = 0.0

    def place(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of scores, in cells from the left end."""
        if self.clip == 0.0:
            return scores * float(self.n)
        s = np.minimum(np.maximum(scores, self.clip), 1.0 - self.clip)
        return (np.log(s / (1.0 - s)) + self.reach) * (self.n / (2.0 * self.reach))

    def score_at(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score at a position, given in cells from the left end."""
        if self.clip == 0.0:
            return place / self.n
        return 1.0 / (1.0 + np.exp(self.reach - place * (2.0 * self.reach / self.n)))

    @property
    def nodes(self) -> NDArray[np.float64]:
        """Scores at the nodes."""
        return self.score_at(np.arange(self.n, dtype=np.float64) + 0.5)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Scores at the ends of the cells, from 0 to 1."""
        return np.concatenate([[0.0], self.score_at(np.arange(1.0, self.n)), [1.0]])


def node_sums(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, axis: Axis
) -> NDArray[np.float64]:
    """Return ``(n, sum s)`` at nodes, shape (2, n, 2): unflagged, then flagged rows.

    A row is split between its two nearest nodes in proportion (cloud-in-cell), so that sums of
    smooth functions are accurate to second order in the cell width. The axis is folded at its ends.
    """
    if (fast := fast_kernels(scores.size)) is not None:
        return fast.node_sums(scores, flags, axis)
    return node_sums_numpy(scores, flags, axis)


def node_sums_numpy(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, axis: Axis
) -> NDArray[np.float64]:
    """Compute `node_sums` in plain NumPy, as the reference."""
    total = np.zeros((2, axis.n, 2))
    for start in range(0, scores.size, CHUNK):
        s = scores[start : start + CHUNK]
        flag = np.zeros(s.size, np.bool_) if flags is None else flags[start : start + CHUNK]
        for group in range(1 if flags is None else 2):
            part = s[flag == bool(group)]
            total[group] += spread(axis, part, (np.ones_like(part), part))
    return total


def spread(
    axis: Axis, scores: NDArray[np.float64], columns: tuple[NDArray[np.float64], ...]
) -> NDArray[np.float64]:
    """Return columns of rows assigned to the nodes of an axis, shape (n, columns)."""
    place = axis.place(scores) + 0.5
    right = place.astype(np.intp)
    share = place - right
    left, right = np.maximum(right - 1, 0), np.minimum(right, axis.n - 1)
    sums = [
        np.bincount(left, weights=column * (1.0 - share), minlength=axis.n)
        + np.bincount(right, weights=column * share, minlength=axis.n)
        for column in columns
    ]
    return np.stack(sums, axis=-1)


def bucket_of(scores: NDArray[np.float64], grid: Grid = GRID) -> NDArray[np.int64]:
    """Return the bucket of each score: an increasing map from [0, 1] to 0..grid.size-1.

    Edges are dyadic, so the bit pattern decides, and engines cannot disagree through rounding.
    """
    middle = (scores * grid.scale).astype(np.int64) + grid.offset
    low = _tail_bucket(scores)
    high = grid.size - 1 - _tail_bucket(1.0 - scores)
    upper = np.where(scores < 1.0 - TAIL_EDGE, middle, high)
    return np.where(scores < TAIL_EDGE, low, upper)


def _tail_bucket(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    bits: NDArray[np.int64] = np.ascontiguousarray(distance).view(np.int64)
    return np.maximum((bits >> (52 - MANTISSA_BITS)) - FIRST_TAIL_KEY + 1, 0)


def bucket_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Return the triples of all buckets, shape (2, N_BUCKETS, 3): unflagged, then flagged rows."""
    if (fast := fast_kernels(scores.size)) is not None:
        return fast.bucket_triples(scores, flags)
    return bucket_triples_numpy(scores, flags)


def bucket_triples_numpy(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Compute `bucket_triples` in plain NumPy, as the reference."""
    total = np.zeros((2 * N_BUCKETS, 3))
    # The table is large, so it is filled in larger pieces.
    for start in range(0, scores.size, 16 * CHUNK):
        piece = slice(start, start + 16 * CHUNK)
        cell = bucket_of(scores[piece])
        if flags is not None:
            cell += N_BUCKETS * flags[piece]
        total += cell_triples(cell, scores[piece], 2 * N_BUCKETS)
    return total.reshape(2, N_BUCKETS, 3)


@cache
def run_ends() -> NDArray[np.float64]:
    """Return the largest double in each run of buckets, by bisection on its bit pattern."""
    low = np.zeros(N_RUNS, dtype=np.int64)
    high = np.full(N_RUNS, np.float64(1.0).view(np.int64))
    run = np.arange(N_RUNS)
    while (low < high).any():
        middle = low + (high - low + 1) // 2
        inside = bucket_of(middle.view(np.float64)) >> RUN_SHIFT <= run
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle - 1)
    ends = low.view(np.float64)
    ends.flags.writeable = False
    return ends


def doubled_wins(unlabeled: NDArray[np.float64], positive: NDArray[np.float64]) -> int:
    """Return twice the number of correctly ranked pairs of two sorted groups (a tie is half)."""
    if (fast := fast_kernels(unlabeled.size + positive.size)) is not None:
        return fast.doubled_wins(unlabeled, positive)
    return doubled_wins_numpy(unlabeled, positive)


def doubled_wins_numpy(unlabeled: NDArray[np.float64], positive: NDArray[np.float64]) -> int:
    """Compute `doubled_wins` in plain NumPy, as the reference."""
    sides: tuple[Literal["left"], Literal["right"]] = ("left", "right")
    return sum(int(np.searchsorted(unlabeled, positive, side=side).sum()) for side in sides)


def count_above(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of two sorted groups at or above each distinct score.

    Returns
    -------
    thresholds : ndarray
        Infinity, then the distinct scores of both groups in descending order.
    n_unlabeled, n_positive : ndarray
        Number of rows in each group with ``s >= threshold``.
    """
    if (fast := fast_kernels(unlabeled.size + positive.size)) is not None:
        return fast.count_above(unlabeled, positive)
    return count_above_numpy(unlabeled, positive)


def count_above_numpy(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Compute `count_above` in plain NumPy, as the reference."""
    distinct = np.unique(np.concatenate([unlabeled, positive]))[::-1]
    thresholds = np.concatenate([[np.inf], distinct])
    n_unlabeled, n_positive = (
        (group.size - np.searchsorted(group, thresholds)).astype(np.float64)
        for group in (unlabeled, positive)
    )
    return thresholds, n_unlabeled, n_positive
