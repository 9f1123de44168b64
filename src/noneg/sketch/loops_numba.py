"""Numba version of `noneg.sketch.forms.add_rows`: one pass, without holding the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from noneg.kernels import FINE_GRID, GRID
from noneg.kernels_numba import bucket_in_grid, prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLAIN_SUMS = 2
_FINE_SCALE, _FINE_OFFSET, _FINE_LAST = FINE_GRID.scale, FINE_GRID.offset, FINE_GRID.size - 1
# The buckets of a block of rows are computed first, in a loop that the compiler vectorizes. The
# table is larger than the CPU cache, so each cache line is requested this many rows ahead.
_BLOCK, _AHEAD = 8192, 32


def add_rows(
    table: NDArray[np.float64],
    flags: NDArray[np.bool_],
    scores: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> None:
    """Numba version of `noneg.sketch.forms.add_rows`."""
    flat, marks, k = table.reshape(-1), flags.view(np.uint8), table.shape[1] // 2 - 1
    if weights is None and k == _PLAIN_SUMS:
        _add_plain(flat, marks, scores)
        return
    w = np.ones(scores.size) if weights is None else weights
    grid = FINE_GRID if k == _PLAIN_SUMS else GRID
    _add_weighted(flat, marks, scores, w, k, grid.scale, grid.offset, grid.size - 1)


@njit(nogil=True, cache=True)
def _add_plain(table, flags, scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    firsts = np.zeros(_BLOCK + _AHEAD, np.uint32)
    for start in range(0, scores.size, _BLOCK):
        part, marks = scores[start : start + _BLOCK], flags[start : start + _BLOCK]
        _fill_firsts(part, firsts)
        for i in range(part.size):
            first, s = np.uint64(firsts[i]), np.float64(part[i])
            ahead = np.uint64(firsts[i + _AHEAD])
            prefetch(table, ahead)
            prefetch(table, ahead + np.uint64(5))
            group = first + np.uint64(2) * np.uint64(marks[i])
            low, high = first + np.uint64(4), first + np.uint64(5)
            table[group] += 1.0
            table[group + np.uint64(1)] += s
            table[low] = min(table[low], s)
            table[high] = max(table[high], s)


@njit(inline="always")
def _fill_firsts(scores, firsts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the first entry of each row's bucket."""
    for i in range(scores.size):
        s = np.float64(scores[i])
        firsts[i] = 6 * bucket_in_grid(s, _FINE_SCALE, _FINE_OFFSET, _FINE_LAST)


@njit(nogil=True, cache=True)
def _add_weighted(table, flags, scores, weights, k, scale, offset, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add weighted rows to k sums for each group, as in `noneg.sketch.forms.SUMS`."""
    for i in range(scores.size):
        s, w = np.float64(scores[i]), weights[i]
        if w == 0.0:
            continue
        first = (2 * k + 2) * bucket_in_grid(s, scale, offset, last)
        group, low, high = first + k * flags[i], first + 2 * k, first + 2 * k + 1
        if k == _PLAIN_SUMS:
            table[group] += w
        else:
            table[group] += 1.0
            table[group + 1] += w
            table[group + 2] += w * w
        table[group + k - 1] += w * s
        table[low] = min(table[low], s)
        table[high] = max(table[high], s)
