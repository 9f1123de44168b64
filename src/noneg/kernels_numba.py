"""Numba twins of the passes in `noneg.kernels`; imported only for large arrays.

Rows are split into a fixed number of blocks whose partial sums are added in order, so results do
not depend on the number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit, prange

from noneg.kernels import (
    FIRST_TAIL_KEY,
    MANTISSA_BITS,
    N_BUCKETS,
    N_RUNS,
    RUN_SHIFT,
    TAIL_BUCKETS,
    TAIL_EDGE,
    width_edges,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.kernels import Axis

BLOCKS = 64
_SHIFT = 52 - MANTISSA_BITS

# Pieces up to this length are sorted by insertion.
SHORT = 32
# Scores that differ by denormals cannot be scaled.
HUGE = 1e300

_NO_FLAGS = np.zeros(0, dtype=np.bool_)
# Blocks of the passes whose tables are large.
_SCATTER_BLOCKS = 8


def width_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.width_triples_numpy`."""
    blocks = _width_blocks(scores, _NO_FLAGS if flags is None else flags, width_edges(n_bins))
    total: NDArray[np.float64] = blocks.sum(axis=0).reshape(2, n_bins, 4)[:, :, :3]
    return total


@njit(parallel=True, cache=True, error_model="numpy")
def _width_blocks(scores, flags, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, n_bins, flagged = scores.size, edges.size - 1, flags.size > 0
    step = (n + BLOCKS - 1) // BLOCKS
    out = np.zeros((BLOCKS, 2 * n_bins * 4))
    for block in prange(BLOCKS):
        # Neighbouring rows go to different lanes: one bin's sums do not wait for each other.
        lanes = np.zeros((2, 2 * n_bins * 4))
        for i in range(block * step, min(n, (block + 1) * step)):
            s = scores[i]
            b = min(int(s * n_bins), n_bins - 1)
            if s <= edges[b]:
                b -= b > 0
            elif s > edges[b + 1]:
                b += 1
            if flagged and flags[i]:
                b += n_bins
            lane = lanes[i & 1]
            lane[4 * b] += 1.0
            lane[4 * b + 1] += s
            lane[4 * b + 2] += s * s
        out[block] = lanes[0] + lanes[1]
    return out


def node_sums(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, axis: Axis
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.node_sums_numpy`."""
    # Each block has nodes of its own: fewer blocks on a fine axis, whatever the number of threads.
    blocks = 8 if axis.n <= 2**17 else 2
    marks = _NO_FLAGS if flags is None else flags
    total: NDArray[np.float64] = _node_blocks(scores, marks, *axis, blocks).sum(axis=0)
    return total


@njit(parallel=True, cache=True, error_model="numpy")
def _node_blocks(scores, flags, n_nodes, clip, reach, blocks):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, flagged = scores.size, flags.size > 0
    step = (n + blocks - 1) // blocks
    out = np.zeros((blocks, 2, n_nodes, 2))
    for block in prange(blocks):
        for i in range(block * step, min(n, (block + 1) * step)):
            s = scores[i]
            if clip == 0.0:
                place = s * n_nodes + 0.5
            else:
                inside = min(max(s, clip), 1.0 - clip)
                place = (np.log(inside / (1.0 - inside)) + reach) * (n_nodes / (2.0 * reach)) + 0.5
            right = int(place)
            share = place - right
            sums = out[block, 1 if flagged and flags[i] else 0]
            left, right = max(right - 1, 0), min(right, n_nodes - 1)
            sums[left, 0] += 1.0 - share
            sums[left, 1] += (1.0 - share) * s
            sums[right, 0] += share
            sums[right, 1] += share * s
    return out


@njit(inline="always")
def _tail_bucket(distance):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    key = np.float64(distance).view(np.int64) >> _SHIFT
    return max(key - FIRST_TAIL_KEY + 1, 0)


@njit(inline="always")
def _bucket(s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    if s < TAIL_EDGE:
        return _tail_bucket(s)
    if s < 1.0 - TAIL_EDGE:
        return TAIL_BUCKETS + int(s * 65536.0) - 512
    return N_BUCKETS - 1 - _tail_bucket(1.0 - s)


@njit(parallel=True, cache=True)
def bucket_of(scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Twin of `noneg.kernels.bucket_of`."""
    out = np.empty(scores.size, np.int64)
    for i in prange(scores.size):
        out[i] = _bucket(scores[i])
    return out


def bucket_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.bucket_triples_numpy`."""
    total: NDArray[np.float64] = _bucket_blocks(scores, _NO_FLAGS if flags is None else flags)
    return total.sum(axis=0)


@njit(parallel=True, cache=True)
def _bucket_blocks(scores, flags):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, flagged = scores.size, flags.size > 0
    step = (n + _SCATTER_BLOCKS - 1) // _SCATTER_BLOCKS
    out = np.zeros((_SCATTER_BLOCKS, 2, N_BUCKETS, 3))
    for block in prange(_SCATTER_BLOCKS):
        for i in range(block * step, min(n, (block + 1) * step)):
            s = scores[i]
            triple = out[block, 1 if flagged and flags[i] else 0, _bucket(s)]
            triple[0] += 1.0
            triple[1] += s
            triple[2] += s * s
    return out


def group_by_run(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Scatter the rows into runs of buckets, unflagged rows first: a stable counting sort.

    Returns
    -------
    values : ndarray, shape (n,)
    offsets : ndarray, shape (2, N_RUNS + 1)
        Row g of run k stands in ``values[offsets[g, k]:offsets[g, k + 1]]``.
    triples : ndarray, shape (2, N_RUNS, 3)
    """
    marks = _NO_FLAGS if flags is None else flags
    counts = _count_runs(scores, marks)
    last = np.cumsum(counts.transpose(1, 2, 0).reshape(-1)).reshape(2, N_RUNS, -1)
    starts = np.ascontiguousarray((last - counts.transpose(1, 2, 0)).transpose(2, 0, 1))
    values = _scatter(scores, marks, starts)
    ends = last[:, :, -1].reshape(-1)
    bounds = np.concatenate([[0], ends])
    offsets = np.stack([bounds[: N_RUNS + 1], bounds[N_RUNS:]])
    triples = _run_triples(values, bounds).reshape(2, N_RUNS, 3)
    return values, offsets, triples


@njit(parallel=True, cache=True)
def _count_runs(scores, flags):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, flagged = scores.size, flags.size > 0
    step = (n + _SCATTER_BLOCKS - 1) // _SCATTER_BLOCKS
    out = np.zeros((_SCATTER_BLOCKS, 2, N_RUNS), np.int64)
    for block in prange(_SCATTER_BLOCKS):
        counts = out[block]
        for i in range(block * step, min(n, (block + 1) * step)):
            group = 1 if flagged and flags[i] else 0
            counts[group, _bucket(scores[i]) >> RUN_SHIFT] += 1
    return out


@njit(parallel=True, cache=True)
def _scatter(scores, flags, starts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, flagged = scores.size, flags.size > 0
    step = (n + _SCATTER_BLOCKS - 1) // _SCATTER_BLOCKS
    values = np.empty(n)
    for block in prange(_SCATTER_BLOCKS):
        place = starts[block]
        for i in range(block * step, min(n, (block + 1) * step)):
            group = 1 if flagged and flags[i] else 0
            run = _bucket(scores[i]) >> RUN_SHIFT
            values[place[group, run]] = scores[i]
            place[group, run] += 1
    return values


@njit(parallel=True, cache=True)
def _run_triples(values, bounds):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    out = np.empty((bounds.size - 1, 3))
    for run in prange(bounds.size - 1):
        total = square = 0.0
        for i in range(bounds[run], bounds[run + 1]):
            total += values[i]
            square += values[i] * values[i]
        out[run, 0] = bounds[run + 1] - bounds[run]
        out[run, 1] = total
        out[run, 2] = square
    return out


@njit(parallel=True, cache=True)
def sort_runs(values, offsets, in_order):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Sort each run that is not in order yet, in place."""
    for run in prange(in_order.size):
        if not in_order[run]:
            _sort(values[offsets[run] : offsets[run + 1]])


@njit(cache=True)
def _sort(part):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sort one run: scores are spread evenly in so short a range, so most go to their place."""
    low, high = part.min() if part.size else 0.0, part.max() if part.size else 0.0
    if low == high:
        return
    n, cells = part.size, max(part.size // 4, 1)
    scale = (cells - 0.5) / (high - low)
    if scale > HUGE:
        part.sort()
        return
    first = np.zeros(cells + 1, np.int32)
    cell = np.empty(n, np.int32)
    for i in range(n):
        cell[i] = int((part[i] - low) * scale)
        first[cell[i] + 1] += 1
    for k in range(cells):
        first[k + 1] += first[k]
    place = first.copy()
    copy = part.copy()
    for i in range(n):
        part[place[cell[i]]] = copy[i]
        place[cell[i]] += 1
    for k in range(cells):
        _finish(part[first[k] : first[k + 1]])


@njit(cache=True, inline="always")
def _finish(part):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sort a few scores by insertion, many by the library."""
    if part.size > SHORT:
        part.sort()
        return
    for i in range(1, part.size):
        s, j = part[i], i
        while j > 0 and part[j - 1] > s:
            part[j] = part[j - 1]
            j -= 1
        part[j] = s


def _block_starts(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return where blocks of scores start in two groups in order; equal scores share a block."""
    step = max(1, (unlabeled.size + positive.size) // BLOCKS)
    first = np.unique(np.concatenate([unlabeled[::step], positive[::step]]))
    groups = (unlabeled, positive)
    return np.stack([np.append(np.searchsorted(group, first), group.size) for group in groups])


def doubled_wins(unlabeled: NDArray[np.float64], positive: NDArray[np.float64]) -> int:
    """Twin of `noneg.kernels.doubled_wins_numpy`: one merge."""
    return int(_doubled_wins(unlabeled, positive, _block_starts(unlabeled, positive)).sum())


@njit(parallel=True, cache=True)
def _doubled_wins(unlabeled, positive, starts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    out = np.zeros(starts.shape[1] - 1, np.int64)
    for block in prange(out.size):
        below = upto = starts[0, block]
        end = starts[0, block + 1]
        total = 0
        for j in range(starts[1, block], starts[1, block + 1]):
            s = positive[j]
            while below < end and unlabeled[below] < s:
                below += 1
            upto = max(upto, below)
            while upto < end and unlabeled[upto] == s:
                upto += 1
            total += below + upto
        out[block] = total
    return out


def count_above(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Twin of `noneg.kernels.count_above_numpy`: two merges, the first to know the size."""
    starts = _block_starts(unlabeled, positive)
    nothing = np.empty(0)
    sizes = _merge(unlabeled, positive, starts, starts[0], (nothing, nothing, nothing))
    total = int(sizes.sum())
    out = (np.empty(total + 1), np.empty(total + 1), np.empty(total + 1))
    out[0][0], out[1][0], out[2][0] = np.inf, 0.0, 0.0
    places = total - np.concatenate([[0], np.cumsum(sizes)[:-1]])
    _merge(unlabeled, positive, starts, places, out)
    return out


@njit(parallel=True, cache=True)
def _merge(unlabeled, positive, starts, places, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the distinct scores of each block, and write them downwards if there is room."""
    thresholds, n_unlabeled, n_positive = out
    write = thresholds.size > 0
    sizes = np.zeros(starts.shape[1] - 1, np.int64)
    for block in prange(sizes.size):
        i, j = starts[0, block], starts[1, block]
        i_end, j_end = starts[0, block + 1], starts[1, block + 1]
        k = 0
        while i < i_end or j < j_end:
            first = j >= j_end or (i < i_end and unlabeled[i] <= positive[j])
            s = unlabeled[i] if first else positive[j]
            if write:
                place = places[block] - k
                thresholds[place] = s
                n_unlabeled[place] = unlabeled.size - i
                n_positive[place] = positive.size - j
            while i < i_end and unlabeled[i] == s:
                i += 1
            while j < j_end and positive[j] == s:
                j += 1
            k += 1
        sizes[block] = k
    return sizes
