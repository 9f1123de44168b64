"""Numba versions of the passes in `noneg.kernels`; imported only for large arrays.

A kernel processes one block of rows without holding the GIL. Large inputs are split into a fixed
number of blocks, and partial results are combined in block order, so nothing depends on the number
of threads. The thread pool exists only during a call: numba's own threads would stay alive, and a
process that holds them must not fork.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from noneg.kernels import (
    FINE_GRID,
    FIRST_TAIL_KEY,
    GRID,
    MANTISSA_BITS,
    N_BUCKETS,
    N_RUNS,
    RUN_SHIFT,
    TAIL_EDGE,
    width_edges,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from noneg.arrays import Flags, Floats, Integers
    from noneg.kernels import Axis


def _prefetch(_context: Any, array: Any, index: Any) -> Any:  # noqa: ANN401
    """Prefetch ``array[index]`` into the cache for an upcoming write, without waiting."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        vector = context.make_array(signature.args[0])(context, builder, values[0])
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(vector.data, [values[1]]), address)
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        # Prefetch for writing, with high locality, into the data cache.
        builder.call(function, [place, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)


# With fewer rows, a second thread costs more to start and wait for than it saves.
ROWS_WORTH_THREADS = 2_000_000

# Number of blocks for large inputs: enough that no thread waits long for the last one.
BLOCKS = 64

# Number of blocks for passes with large tables.
LARGE_TABLE_BLOCKS = 8

# Scores that differ by denormals cannot be scaled; the largest score of a run belongs to its last
# cell; rows that insertion moves this far on average are left to a sort that splits them.
LARGEST_SCALE, SLIGHTLY_LESS, MOVES = 1e300, 1.0 - 2.0**-40, 16


def cuts_of(n_rows: int, blocks: int) -> Integers:
    """Return the boundaries of blocks of rows, which depend only on the number of rows."""
    blocks = blocks if n_rows >= ROWS_WORTH_THREADS else 1
    return np.arange(blocks + 1, dtype=np.int64) * n_rows // blocks


def in_turn(kernel: Callable[..., Any], blocks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield `kernel(*block)` for each block in order; multiple blocks share a thread pool."""
    todo = list(blocks)
    threads = min(len(todo), config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if threads < 2:
        yield from (kernel(*block) for block in todo)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(lambda block: kernel(*block), todo)


def ranges(cuts: Integers) -> Iterator[tuple[int, int]]:
    """Yield the first row of each block and the row after its last."""
    return zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)


def split(blocks: int, *columns: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the blocks of columns that have the same length (or are empty)."""
    for lo, hi in ranges(cuts_of(columns[0].size, blocks)):
        yield tuple(column[lo:hi] for column in columns)


def add_up(kernel: Callable[..., Any], blocks: Iterable[tuple[Any, ...]]) -> Any:  # noqa: ANN401
    """Return the sum of a kernel's tables, added in block order."""
    tables = in_turn(kernel, blocks)
    total = next(tables)
    for table in tables:
        total += table
    return total


# The bins of some rows are computed first, in a loop that the compiler vectorizes. Neighboring rows
# then go to different lanes, so that additions to one bin do not wait for each other.
_TOGETHER, _LANES = 1024, 4

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
    """Return the bucket of one score in a grid; its parameters compile best as constants."""
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
    """Numba version of `noneg.kernels.bucket_of`."""
    out = np.empty(scores.size, np.int64)
    for i in range(scores.size):
        out[i] = bucket_of_one(scores[i])
    return out


def bucket_triples(scores: Floats, flags: Flags | None) -> Floats:
    """Numba version of `noneg.kernels.bucket_triples`."""
    marks = NO_FLAGS if flags is None else flags

    def fill(s: Floats, f: Flags) -> Floats:
        # NumPy requests large pages from the system, which a table of this size needs.
        table = np.empty(GROUPS * N_BUCKETS * 4)
        _fill_buckets(s, f, table)
        return table

    total: Floats = add_up(fill, split(LARGE_TABLE_BLOCKS, scores, marks))
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


def in_unit_interval(scores: Floats) -> bool:
    """Numba version of `noneg.kernels.in_unit_interval`."""
    return not sum(in_turn(_count_outside, split(BLOCKS, scores)))


@njit(nogil=True, cache=True)
def _count_outside(scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    outside = 0
    for i in range(scores.size):
        outside += not ((scores[i] >= 0.0) & (scores[i] <= 1.0))
    return outside


def checked_copy(scores: Floats) -> tuple[Floats, bool]:
    """Numba version of `noneg.kernels.checked_copy`."""
    copy = np.empty(scores.size)
    return copy, not sum(in_turn(_copy, split(BLOCKS, scores, copy)))


@njit(nogil=True, cache=True)
def _copy(scores, copy):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    outside = 0
    for i in range(scores.size):
        s = scores[i]
        outside += not ((s >= 0.0) & (s <= 1.0))
        copy[i] = s
    return outside


def binary_flags(labels: Integers) -> Flags | None:
    """Numba version of `noneg.kernels.binary_flags_numpy`."""
    flags = np.empty(labels.size, np.bool_)
    bits = set(in_turn(_flag, split(BLOCKS, labels, flags)))
    return flags if bits <= {0, 1} else None


@njit(nogil=True, cache=True)
def _flag(labels, flags):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    bits = 0
    for i in range(labels.size):
        bits |= labels[i]
        flags[i] = labels[i] != 0
    return bits


def width_triples(scores: Floats, flags: Flags | None, n_bins: int) -> Floats:
    """Numba version of `noneg.kernels.width_triples`."""
    edges, marks = width_edges(n_bins), NO_FLAGS if flags is None else flags
    sums = add_up(lambda s, f: _width_block(s, f, edges), split(BLOCKS, scores, marks))
    total: Floats = sums.reshape(GROUPS, n_bins, 4)[:, :, :3]
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _width_block(scores, flags, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n_bins = edges.size - 1
    width = 8 * n_bins
    lanes, bins = np.zeros(_LANES * width), np.empty(_TOGETHER, np.int32)
    for start in range(0, scores.size, _TOGETHER):
        part, marks = scores[start : start + _TOGETHER], flags[start : start + _TOGETHER]
        if _fill_bins(part, n_bins, bins):
            _correct_bins(part, edges, bins)
        for i in range(marks.size):
            bins[i] += np.int32(n_bins) * np.int32(marks[i])
        for i in range(part.size):
            s = part[i]
            k = np.uint64((i & (_LANES - 1)) * width + 4 * bins[i])
            lanes[k] += 1.0
            lanes[k + np.uint64(1)] += s
            lanes[k + np.uint64(2)] += s * s
    return lanes.reshape(_LANES, width).sum(axis=0)


@njit(inline="always")
def _fill_bins(scores, n_bins, bins):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the bin of each row, and return whether rounding may have put one next to its bin."""
    # The product and an edge are each off by at most half a unit in the last place of n_bins, so
    # only a product this close to a whole number can be on the wrong side of an edge.
    near, unsure = n_bins * 2.0**-51, False
    for i in range(scores.size):
        place = scores[i] * n_bins
        unsure |= abs(place - np.rint(place)) <= near
        bins[i] = np.int32(place)
    return unsure


@njit(inline="always")
def _correct_bins(scores, edges, bins):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for i in range(scores.size):
        s, b = scores[i], min(bins[i], edges.size - 2)
        b += s > edges[b + 1]
        bins[i] = b - ((s <= edges[b]) & (b > 0))


def node_sums(scores: Floats, flags: Flags | None, axis: Axis) -> Floats:
    """Numba version of `noneg.kernels.node_sums`."""
    # Each block has its own nodes, so a fine axis uses fewer blocks, regardless of the thread
    # count.
    blocks = LARGE_TABLE_BLOCKS if axis.n <= 2**17 else 2
    marks = NO_FLAGS if flags is None else flags
    total: Floats = add_up(lambda s, f: _node_block(s, f, *axis), split(blocks, scores, marks))
    return total.reshape(GROUPS, axis.n, 2)


@njit(nogil=True, cache=True, error_model="numpy")
def _node_block(scores, flags, n_nodes, clip, reach):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    flagged = flags.size > 0
    scale = n_nodes / (2.0 * reach) if clip > 0.0 else float(n_nodes)
    sums = np.zeros(4 * n_nodes)
    for i in range(scores.size):
        s = scores[i]
        if clip == 0.0:
            place = s * scale + 0.5
        else:
            inside = min(max(s, clip), 1.0 - clip)
            place = (np.log(inside / (1.0 - inside)) + reach) * scale + 0.5
        node = int(place)
        share = place - node
        first = 2 * n_nodes * np.int64(flags[i]) if flagged else 0
        left = np.uint64(first + 2 * max(node - 1, 0))
        right = np.uint64(first + 2 * min(node, n_nodes - 1))
        sums[left] += 1.0 - share
        sums[left + np.uint64(1)] += (1.0 - share) * s
        sums[right] += share
        sums[right + np.uint64(1)] += share * s
    return sums


def group_by_run(scores: Floats, flags: Flags | None) -> tuple[Floats, Integers, Floats]:
    """Scatter the rows into runs of buckets, unflagged rows first, by a stable counting sort.

    Returns
    -------
    values : ndarray, shape (n,)
    offsets : ndarray, shape (2, N_RUNS + 1)
        Run k of group g is ``values[offsets[g, k]:offsets[g, k + 1]]``.
    triples : ndarray, shape (2, N_RUNS, 3)
    """
    marks = NO_FLAGS if flags is None else flags
    blocks = list(split(LARGE_TABLE_BLOCKS, scores, marks))
    counts = np.stack(list(in_turn(_count_runs, blocks)))
    last = np.cumsum(counts.T.reshape(-1)).reshape(counts.T.shape)
    places = np.ascontiguousarray((last - counts.T).T)
    # NumPy requests large pages from the system, without which a scatter waits for address lookups.
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


def _run_ranges(bounds: Integers) -> list[tuple[int, int]]:
    """Return blocks of whole runs with roughly equal numbers of rows."""
    n_rows = int(bounds[-1] - bounds[0])
    cuts = np.searchsorted(bounds, bounds[0] + cuts_of(n_rows, BLOCKS))
    cuts[0], cuts[-1] = 0, bounds.size - 1
    return list(ranges(cuts))


def _run_triples(values: Floats, bounds: Integers) -> Floats:
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


def sort_runs(values: Floats, offsets: Integers) -> None:
    """Sort scores that are grouped by run, in place, in blocks of whole runs."""
    list(in_turn(lambda *part: _sort_runs(values, offsets, *part), _run_ranges(offsets)))


@njit(nogil=True, cache=True)
def _sort_runs(values, offsets, lo, hi):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for run in range(lo, hi):
        part = values[offsets[run] : offsets[run + 1]]
        if part.size > 1 and not _sort_evenly(part):
            part.sort()


@njit(nogil=True, cache=True)
def _sort_evenly(part):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sort scores that are spread evenly; return whether they are, and hence sorted.

    Each score goes to one of as many cells of equal width; insertion then sorts the few that share
    a cell. In a range as short as that of a run, hardly any sample is uneven.
    """
    n, low, high = part.size, part.min(), part.max()
    if low == high:
        return True
    scale = n / (high - low) * SLIGHTLY_LESS
    if scale > LARGEST_SCALE:
        return False
    cell, copy, place = np.empty(n, np.uint32), part.copy(), np.zeros(n + 1, np.uint32)
    for i in range(n):
        cell[i] = int((copy[i] - low) * scale)
        place[cell[i] + np.uint32(1)] += np.uint32(1)
    for k in range(n):
        place[k + 1] += place[k]
    for i in range(n):
        part[place[cell[i]]] = copy[i]
        place[cell[i]] += np.uint32(1)
    return _insert(part)


@njit(inline="always")
def _insert(part):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sort scores that are nearly in order; return whether they were, and hence are sorted."""
    moves = MOVES * part.size
    for i in range(1, part.size):
        s, j = part[i], i
        while j > 0 and part[j - 1] > s:
            part[j] = part[j - 1]
            j -= 1
        part[j] = s
        moves -= i - j
        if moves < 0:
            return False
    return True


def _merge_blocks(unlabeled: Floats, positive: Floats) -> list[tuple[int, int, int, int]]:
    """Return blocks of two sorted groups, as a range in each; equal scores share a block."""
    n_rows = unlabeled.size + positive.size
    step = max(1, n_rows // (cuts_of(n_rows, BLOCKS).size - 1))
    first = np.unique(np.concatenate([unlabeled[::step], positive[::step]]))
    groups = (unlabeled, positive)
    starts = [np.append(np.searchsorted(group, first), group.size) for group in groups]
    return [(*i, *j) for i, j in zip(ranges(starts[0]), ranges(starts[1]), strict=True)]


def doubled_wins(unlabeled: Floats, positive: Floats) -> int:
    """Numba version of `noneg.kernels.doubled_wins`, by one merge."""
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


def count_above(unlabeled: Floats, positive: Floats) -> tuple[Floats, Floats, Floats]:
    """Numba version of `noneg.kernels.count_above`, by one merge."""
    blocks = _merge_blocks(unlabeled, positive)
    n_rows = unlabeled.size + positive.size
    out = (np.empty(n_rows + 1), np.empty(n_rows + 1), np.empty(n_rows + 1))
    sizes = list(in_turn(lambda *b: _merge(unlabeled, positive, out, *b), blocks))
    out[0][0], out[1][0], out[2][0] = np.inf, 0.0, 0.0
    if sum(sizes) == n_rows:
        return out
    ends = [n_rows - i - j + 1 for i, _, j, _ in blocks]
    full = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    thresholds, *counts = (np.concatenate([x[:1], *(x[k] for k in full[::-1])]) for x in out)
    return thresholds, counts[0], counts[1]


@njit(nogil=True, cache=True)
def _merge(unlabeled, positive, out, i, i_end, j, j_end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the distinct scores of a block in descending order, the last in the place of its row.

    Return their number; equal scores leave the first places of the block unused.
    """
    thresholds, n_unlabeled, n_positive = out
    size, place = 0, unlabeled.size - i + positive.size - j
    while i < i_end or j < j_end:
        one = unlabeled[i] if i < i_end else np.inf
        other = positive[j] if j < j_end else np.inf
        s = min(one, other)
        thresholds[place - size] = s
        n_unlabeled[place - size] = unlabeled.size - i
        n_positive[place - size] = positive.size - j
        # Sums instead of branches: which group comes next cannot be predicted.
        i += one == s
        j += other == s
        while i < i_end and unlabeled[i] == s:
            i += 1
        while j < j_end and positive[j] == s:
            j += 1
        size += 1
    return size


# Sums of each group without importance weights, as in `noneg.sketch.forms.SUMS`.
_PLAIN_SUMS = 2
_FINE_SCALE, _FINE_OFFSET, _FINE_LAST = FINE_GRID.scale, FINE_GRID.offset, FINE_GRID.size - 1
# The buckets of a block of rows are computed first, in a loop that the compiler vectorizes. The
# table is larger than the CPU cache, so each cache line is requested this many rows ahead.
_BLOCK, _AHEAD = 8192, 32


def add_rows(table: Floats, flags: Flags, scores: Floats, weights: Floats | None) -> None:
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
