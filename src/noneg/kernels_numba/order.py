"""Rows in order: a scatter into runs of buckets, the sort of a run, and merges of two groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from noneg.kernels import N_RUNS, RUN_SHIFT
from noneg.kernels_numba.blocks import BLOCKS, LARGE_TABLE_BLOCKS, cuts_of, in_turn, ranges, split
from noneg.kernels_numba.buckets import GROUPS, NO_FLAGS, bucket_of_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Pieces up to this length are sorted by insertion.
SHORT = 32
# Scores that differ by denormals cannot be scaled.
HUGE = 1e300


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
    marks = NO_FLAGS if flags is None else flags
    blocks = list(split(LARGE_TABLE_BLOCKS, scores, marks))
    counts = np.stack(list(in_turn(_count_runs, blocks)))
    last = np.cumsum(counts.T.reshape(-1)).reshape(counts.T.shape)
    places = np.ascontiguousarray((last - counts.T).T)
    # NumPy asks the system for large pages, without which a scatter waits for addresses.
    values = np.empty(scores.size)
    jobs = [(*block, values, place) for block, place in zip(blocks, places, strict=True)]
    list(in_turn(_scatter, jobs))
    bounds = np.concatenate([[0], last[:, -1]])
    offsets = np.stack([bounds[: N_RUNS + 1], bounds[N_RUNS:]])
    return values, offsets, _run_triples(values, bounds).reshape(GROUPS, N_RUNS, 3)


@njit(nogil=True, cache=True)
def _count_runs(scores, flags):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    flagged = flags.size > 0
    counts = np.zeros(GROUPS * N_RUNS, np.int64)
    for i in range(scores.size):
        run = bucket_of_one(scores[i]) >> RUN_SHIFT
        if flagged:
            run += N_RUNS * np.int64(flags[i])
        counts[np.uint64(run)] += 1
    return counts


@njit(nogil=True, cache=True)
def _scatter(scores, flags, values, places):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    flagged = flags.size > 0
    for i in range(scores.size):
        s = scores[i]
        run = bucket_of_one(s) >> RUN_SHIFT
        if flagged:
            run += N_RUNS * np.int64(flags[i])
        k = np.uint64(run)
        place = places[k]
        values[np.uint64(place)] = s
        places[k] = place + 1


def _run_ranges(bounds: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return blocks of whole runs with about equally many rows."""
    n_rows = int(bounds[-1] - bounds[0])
    cuts = np.searchsorted(bounds, bounds[0] + cuts_of(n_rows, BLOCKS))
    cuts[0], cuts[-1] = 0, bounds.size - 1
    return list(ranges(cuts))


def _run_triples(values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.empty((bounds.size - 1, 3))
    list(in_turn(lambda *part: _sum_runs(values, bounds, out, *part), _run_ranges(bounds)))
    return out


@njit(nogil=True, cache=True)
def _sum_runs(values, bounds, out, lo, hi):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for run in range(lo, hi):
        total = square = 0.0
        for i in range(bounds[run], bounds[run + 1]):
            total += values[i]
            square += values[i] * values[i]
        out[run, 0] = bounds[run + 1] - bounds[run]
        out[run, 1] = total
        out[run, 2] = square


def sort_runs(
    values: NDArray[np.float64], offsets: NDArray[np.int64], in_order: NDArray[np.bool_]
) -> None:
    """Sort each run that is not in order yet, in place."""
    list(in_turn(lambda *part: _sort_runs(values, offsets, in_order, *part), _run_ranges(offsets)))


@njit(nogil=True, cache=True)
def _sort_runs(values, offsets, in_order, lo, hi):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for run in range(lo, hi):
        if not in_order[run]:
            sort_run(values[offsets[run] : offsets[run + 1]])


@njit(nogil=True, cache=True)
def sort_run(part):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
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


def _merge_blocks(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> list[tuple[int, int, int, int]]:
    """Return blocks of two groups in order, as ranges in each; equal scores share a block."""
    n_rows = unlabeled.size + positive.size
    step = max(1, n_rows // (cuts_of(n_rows, BLOCKS).size - 1))
    first = np.unique(np.concatenate([unlabeled[::step], positive[::step]]))
    groups = (unlabeled, positive)
    starts = [np.append(np.searchsorted(group, first), group.size) for group in groups]
    return [(*i, *j) for i, j in zip(ranges(starts[0]), ranges(starts[1]), strict=True)]


def doubled_wins(unlabeled: NDArray[np.float64], positive: NDArray[np.float64]) -> int:
    """Twin of `noneg.kernels.doubled_wins_numpy`: one merge."""
    blocks = _merge_blocks(unlabeled, positive)
    return int(sum(in_turn(lambda *b: _doubled_wins(unlabeled, positive, *b), blocks)))


@njit(nogil=True, cache=True)
def _doubled_wins(unlabeled, positive, below, end, j, j_end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    upto = below
    total = 0
    for k in range(j, j_end):
        s = positive[k]
        while below < end and unlabeled[below] < s:
            below += 1
        upto = max(upto, below)
        while upto < end and unlabeled[upto] == s:
            upto += 1
        total += below + upto
    return total


def count_above(
    unlabeled: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Twin of `noneg.kernels.count_above_numpy`: two merges, the first to know the size."""
    blocks = _merge_blocks(unlabeled, positive)
    nothing = np.empty(0)
    none = (nothing, nothing, nothing)
    sizes = list(in_turn(lambda *b: _merge(unlabeled, positive, none, 0, *b), blocks))
    total = sum(sizes)
    out = (np.empty(total + 1), np.empty(total + 1), np.empty(total + 1))
    out[0][0], out[1][0], out[2][0] = np.inf, 0.0, 0.0
    places = total - np.cumsum([0, *sizes])
    jobs = [(int(place), *block) for place, block in zip(places[:-1], blocks, strict=True)]
    list(in_turn(lambda *job: _merge(unlabeled, positive, out, *job), jobs))
    return out


@njit(nogil=True, cache=True)
def _merge(unlabeled, positive, out, place, i, i_end, j, j_end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the distinct scores of a block, and write them downwards if there is room."""
    thresholds, n_unlabeled, n_positive = out
    write = thresholds.size > 0
    size = 0
    while i < i_end or j < j_end:
        first = j >= j_end or (i < i_end and unlabeled[i] <= positive[j])
        s = unlabeled[i] if first else positive[j]
        if write:
            thresholds[place - size] = s
            n_unlabeled[place - size] = unlabeled.size - i
            n_positive[place - size] = positive.size - j
        while i < i_end and unlabeled[i] == s:
            i += 1
        while j < j_end and positive[j] == s:
            j += 1
        size += 1
    return size
