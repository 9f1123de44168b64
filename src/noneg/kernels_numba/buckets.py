"""The bucket of a score, and the sums of rows in buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from noneg.kernels import FIRST_TAIL_KEY, GRID, MANTISSA_BITS, N_BUCKETS, TAIL_EDGE
from noneg.kernels_numba.blocks import LARGE_TABLE_BLOCKS, add_up, split

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUPS = 2
NO_FLAGS = np.zeros(0, dtype=np.bool_)
_SHIFT = 52 - MANTISSA_BITS
_SCALE, _OFFSET, _LAST = GRID.scale, GRID.offset, GRID.size - 1


@njit(inline="always")
def _tail_bucket(distance):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    key = np.float64(distance).view(np.int64) >> _SHIFT
    return max(key - FIRST_TAIL_KEY + 1, 0)


@njit(inline="always")
def bucket_in_grid(s, scale, offset, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the bucket of one score in a grid, given by its numbers: constants compile best."""
    if s < TAIL_EDGE:
        return _tail_bucket(s)
    if s < 1.0 - TAIL_EDGE:
        return int(s * scale) + offset
    return last - _tail_bucket(1.0 - s)


@njit(inline="always")
def bucket_of_one(s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the bucket of one score."""
    return bucket_in_grid(s, _SCALE, _OFFSET, _LAST)


@njit(cache=True)
def bucket_of(scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Twin of `noneg.kernels.bucket_of`."""
    out = np.empty(scores.size, np.int64)
    for i in range(scores.size):
        out[i] = bucket_of_one(scores[i])
    return out


def bucket_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.bucket_triples_numpy`."""
    marks = NO_FLAGS if flags is None else flags

    def fill(s: NDArray[np.float64], f: NDArray[np.bool_]) -> NDArray[np.float64]:
        # NumPy asks the system for large pages, which a table this size needs.
        table = np.empty(GROUPS * N_BUCKETS * 4)
        _fill_buckets(s, f, table)
        return table

    total: NDArray[np.float64] = add_up(fill, split(LARGE_TABLE_BLOCKS, scores, marks))
    return total.reshape(GROUPS, N_BUCKETS, 4)[:, :, :3]


@njit(nogil=True, cache=True)
def _fill_buckets(scores, flags, table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    flagged = flags.size > 0
    table[:] = 0.0
    for i in range(scores.size):
        s = scores[i]
        bucket = bucket_of_one(s)
        if flagged:
            bucket += N_BUCKETS * np.int64(flags[i])
        k = np.uint64(4 * bucket)
        table[k] += 1.0
        table[k + np.uint64(1)] += s
        table[k + np.uint64(2)] += s * s
