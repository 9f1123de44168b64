"""The passes over all rows, each written twice: in NumPy here, in numba in `kernels_numba`.

The NumPy version is the reference. The numba version is used for large arrays if the extra ``fast``
is installed; a property test keeps the two equal.

A *triple* is what every binned estimator needs from a group of rows: ``(n, sum s, sum s^2)``.
"""

from __future__ import annotations

import sys
from functools import cache, wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from noneg.arrays import Flags, Floats, Integers, Places

P = ParamSpec("P")
R = TypeVar("R")

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


def also_compiled(plain: Callable[P, R]) -> Callable[P, R]:
    """Use the numba version of the same name if there are many rows; `plain` is the reference."""

    @wraps(plain)
    def chosen(*args: P.args, **options: P.kwargs) -> R:
        n_rows = sum(x.size for x in args if isinstance(x, np.ndarray) and x.dtype != np.bool_)
        fast = fast_kernels(n_rows)
        found: R = (plain if fast is None else getattr(fast, plain.__name__))(*args, **options)
        return found

    return chosen


@also_compiled
def in_unit_interval(scores: Floats) -> bool:
    """Return whether every score is in [0, 1]; nan is not."""
    return not scores.size or bool(scores.min() >= 0.0 and scores.max() <= 1.0)


@also_compiled
def checked_copy(scores: Floats) -> tuple[Floats, bool]:
    """Return a copy, and whether every score is in [0, 1], in one pass."""
    copy, inside = np.empty(scores.size), True
    for start in range(0, scores.size, CHUNK):
        piece = copy[start : start + CHUNK]
        piece[:] = scores[start : start + CHUNK]
        inside = inside and bool(piece.min() >= 0.0 and piece.max() <= 1.0)
    return copy, inside


def binary_flags(labels: NDArray[np.integer]) -> Flags | None:
    """Return True where an integer is 1, or None if some integer is neither 0 nor 1."""
    # Only one integer type is worth compiling for; the others use NumPy.
    common = labels.dtype == np.int64 and labels.flags.c_contiguous
    if common and (fast := fast_kernels(labels.size)) is not None:
        return fast.binary_flags(labels)
    return binary_flags_numpy(labels)


def binary_flags_numpy(labels: NDArray[np.integer]) -> Flags | None:
    """Compute `binary_flags` in plain NumPy, as the reference."""
    # One pass is enough to check that all numbers are 0 or 1: no other bit is set.
    return labels.astype(np.bool_) if np.bitwise_or.reduce(labels) in (0, 1) else None


def width_edges(n_bins: int) -> Floats:
    """Return the doubles ``b / n_bins`` for b = 0..n_bins, one division each."""
    return np.arange(n_bins + 1) / n_bins


def width_index(scores: Floats, n_bins: int) -> Places:
    """Return the bin of each score among right-closed equal-width bins.

    ``ceil(s * B) - 1`` is right up to rounding error, which two comparisons with the edges fix.
    """
    edges = width_edges(n_bins)
    index = np.clip((scores * n_bins).astype(np.intp), 0, n_bins - 1)
    index += scores > edges[index + 1]
    index -= (scores <= edges[index]) & (index > 0)
    return index


@also_compiled
def width_triples(scores: Floats, flags: Flags | None, n_bins: int) -> Floats:
    """Return triples for equal-width bins, shape (2, n_bins, 3): unflagged, then flagged rows."""
    total = np.zeros((2 * n_bins, 3))
    for start in range(0, scores.size, CHUNK):
        s = scores[start : start + CHUNK]
        cell = width_index(s, n_bins)
        if flags is not None:
            cell += n_bins * flags[start : start + CHUNK]
        total += cell_triples(cell, s, 2 * n_bins)
    return total.reshape(2, n_bins, 3)


def cell_triples(cell: Places, scores: Floats, n_cells: int) -> Floats:
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

    def place(self, scores: Floats) -> Floats:
        """Return the positions of scores, in cells from the left end."""
        if self.clip == 0.0:
            return scores * float(self.n)
        s = np.minimum(np.maximum(scores, self.clip), 1.0 - self.clip)
        return (np.log(s / (1.0 - s)) + self.reach) * (self.n / (2.0 * self.reach))

    def score_at(self, place: Floats) -> Floats:
        """Return the score at a position, given in cells from the left end."""
        if self.clip == 0.0:
            return place / self.n
        return 1.0 / (1.0 + np.exp(self.reach - place * (2.0 * self.reach / self.n)))

    @property
    def nodes(self) -> Floats:
        """Scores at the nodes."""
        return self.score_at(np.arange(self.n, dtype=np.float64) + 0.5)

    @property
    def edges(self) -> Floats:
        """Scores at the ends of the cells, from 0 to 1."""
        return np.concatenate([[0.0], self.score_at(np.arange(1.0, self.n)), [1.0]])


@also_compiled
def node_sums(scores: Floats, flags: Flags | None, axis: Axis) -> Floats:
    """Return ``(n, sum s)`` at nodes, shape (2, n, 2): unflagged, then flagged rows.

    A row is split between its two nearest nodes in proportion (cloud-in-cell), so that sums of
    smooth functions are accurate to second order in the cell width. The axis is folded at its ends.
    """
    total = np.zeros((2, axis.n, 2))
    for start in range(0, scores.size, CHUNK):
        s = scores[start : start + CHUNK]
        flag = np.zeros(s.size, np.bool_) if flags is None else flags[start : start + CHUNK]
        for group in range(1 if flags is None else 2):
            part = s[flag == bool(group)]
            total[group] += spread(axis, part, (np.ones_like(part), part))
    return total


def spread(axis: Axis, scores: Floats, columns: tuple[Floats, ...]) -> Floats:
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


def bucket_of(scores: Floats, grid: Grid = GRID) -> Integers:
    """Return the bucket of each score: an increasing map from [0, 1] to 0..grid.size-1.

    Edges are dyadic, so the bit pattern decides, and engines cannot disagree through rounding.
    """
    middle = (scores * grid.scale).astype(np.int64) + grid.offset
    low = _tail_bucket(scores)
    high = grid.size - 1 - _tail_bucket(1.0 - scores)
    upper = np.where(scores < 1.0 - TAIL_EDGE, middle, high)
    return np.where(scores < TAIL_EDGE, low, upper)


def _tail_bucket(distance: Floats) -> Integers:
    bits: Integers = np.ascontiguousarray(distance).view(np.int64)
    return np.maximum((bits >> (52 - MANTISSA_BITS)) - FIRST_TAIL_KEY + 1, 0)


@also_compiled
def bucket_triples(scores: Floats, flags: Flags | None) -> Floats:
    """Return the triples of all buckets, shape (2, N_BUCKETS, 3): unflagged, then flagged rows."""
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
def run_ends() -> Floats:
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


@also_compiled
def doubled_wins(unlabeled: Floats, positive: Floats) -> int:
    """Return twice the number of correctly ranked pairs of two sorted groups (a tie is half)."""
    sides: tuple[Literal["left"], Literal["right"]] = ("left", "right")
    return sum(int(np.searchsorted(unlabeled, positive, side=side).sum()) for side in sides)


@also_compiled
def count_above(unlabeled: Floats, positive: Floats) -> tuple[Floats, Floats, Floats]:
    """Count the rows of two sorted groups at or above each distinct score.

    Returns
    -------
    thresholds : ndarray
        Infinity, then the distinct scores of both groups in descending order.
    n_unlabeled, n_positive : ndarray
        Number of rows in each group with ``s >= threshold``.
    """
    both = np.concatenate([unlabeled, positive])
    # Stable sorting merges the two groups, since each is in order.
    order = np.argsort(both, kind="stable")
    ordered, from_positive = both[order], order >= unlabeled.size
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: both.size])
    positive_below: Integers = np.cumsum(from_positive)[first] - from_positive[first]
    below = first - positive_below, positive_below
    n_unlabeled, n_positive = (
        np.append(0.0, group.size - count[::-1])
        for group, count in zip((unlabeled, positive), below, strict=True)
    )
    return np.append(np.inf, ordered[first][::-1]), n_unlabeled, n_positive
