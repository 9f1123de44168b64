"""The few passes over all rows, each written twice: plain NumPy here, numba in `kernels_numba`.

The NumPy form is the reference. The numba twin is used for large arrays when the extra ``fast`` is
installed; a property test keeps the two equal.

A *triple* is what every binned estimator needs from a group of rows: ``(n, sum s, sum s^2)``.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

# Importing numba costs about a second, so it must save more than that unless it is there already.
ROWS_WORTH_AN_IMPORT = 2_000_000
ROWS_WORTH_A_CALL = 200_000

# Rows handled at a time: their temporaries stay in the processor's cache.
CHUNK = 1 << 16

# The bucket grid: width 2^-16 in the middle, relative precision 2^-9 below 2^-7 and above 1 - 2^-7
# (57 octaves, then one bucket for all that is closer than 2^-64 to the end).
MANTISSA_BITS = 9
TAIL_EDGE = 2.0**-7
TAIL_BUCKETS = 57 * 2**MANTISSA_BITS + 1
MIDDLE_BUCKETS = 2**16 - 2 * 2**9
N_BUCKETS = 2 * TAIL_BUCKETS + MIDDLE_BUCKETS
FIRST_TAIL_KEY = (1023 - 64) << MANTISSA_BITS

# Rows in score order are kept in runs of 32 buckets: few enough for a scatter to stay in the cache,
# short enough that sorting one is free.
RUN_SHIFT = 5
N_RUNS = ((N_BUCKETS - 1) >> RUN_SHIFT) + 1


def fast_kernels(n_rows: int) -> ModuleType | None:
    """Return the numba twin when it pays for this many rows, else None."""
    loaded = "numba" in sys.modules
    if n_rows < (ROWS_WORTH_A_CALL if loaded else ROWS_WORTH_AN_IMPORT):
        return None
    if not loaded and find_spec("numba") is None:
        return None
    from noneg import kernels_numba

    return kernels_numba


def width_edges(n_bins: int) -> NDArray[np.float64]:
    """Return the doubles ``b / n_bins`` for b = 0..n_bins, one division each."""
    return np.arange(n_bins + 1) / n_bins


def width_index(scores: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each score among right-closed bins of equal width.

    ``ceil(s * B) - 1`` is right up to one rounding, which two comparisons with the edges undo.
    """
    edges = width_edges(n_bins)
    index = np.clip((scores * n_bins).astype(np.intp), 0, n_bins - 1)
    index += scores > edges[index + 1]
    index -= (scores <= edges[index]) & (index > 0)
    return index


def width_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Return the triples of equal-width bins, shape (2, n_bins, 3): unflagged, flagged rows."""
    if (fast := fast_kernels(scores.size)) is not None:
        return fast.width_triples(scores, flags, n_bins)
    return width_triples_numpy(scores, flags, n_bins)


def width_triples_numpy(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Compute `width_triples` in plain NumPy, the reference."""
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


def bucket_of(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bucket of each score: an increasing map of [0, 1] to 0..N_BUCKETS-1.

    Edges are dyadic, so the bit pattern decides and no engine can disagree by a rounding.
    """
    middle = TAIL_BUCKETS + (scores * 65536.0).astype(np.int64) - 512
    low = _tail_bucket(scores)
    high = N_BUCKETS - 1 - _tail_bucket(1.0 - scores)
    upper = np.where(scores < 1.0 - TAIL_EDGE, middle, high)
    return np.where(scores < TAIL_EDGE, low, upper)


def _tail_bucket(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    bits: NDArray[np.int64] = np.ascontiguousarray(distance).view(np.int64)
    return np.maximum((bits >> (52 - MANTISSA_BITS)) - FIRST_TAIL_KEY + 1, 0)


@cache
def run_ends() -> NDArray[np.float64]:
    """Return the largest double of each run of buckets, by bisection on its bit pattern."""
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
