"""Blocks of rows, and the threads that take them in turn.

A kernel handles one block without the interpreter's lock. Many rows are split into a fixed number
of blocks, and partial results are joined in the order of the blocks, so nothing depends on the
number of threads. The pool of threads lives for one call: numba's own threads would stay, and a
process that holds them must not fork.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

# Below this a second thread saves less than it costs to start and to wait for.
ROWS_WORTH_THREADS = 2_000_000
# Blocks of many rows: enough that no thread waits long for the last one.
BLOCKS = 64
# Blocks of the passes whose tables are large.
LARGE_TABLE_BLOCKS = 8


def cuts_of(n_rows: int, blocks: int) -> NDArray[np.int64]:
    """Return where blocks of rows begin and end, which depends on the number of rows alone."""
    blocks = blocks if n_rows >= ROWS_WORTH_THREADS else 1
    return np.arange(blocks + 1, dtype=np.int64) * n_rows // blocks


def in_turn(kernel: Callable[..., Any], blocks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield `kernel(*block)` of each block in order; several blocks share a pool of threads."""
    todo = list(blocks)
    threads = min(len(todo), config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if threads < 2:
        yield from (kernel(*block) for block in todo)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(lambda block: kernel(*block), todo)


def ranges(cuts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the first row of each block and the row after its last."""
    return zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)


def split(blocks: int, *columns: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the blocks of columns of one length (or of none)."""
    for lo, hi in ranges(cuts_of(columns[0].size, blocks)):
        yield tuple(column[lo:hi] for column in columns)


def add_up(kernel: Callable[..., Any], blocks: Iterable[tuple[Any, ...]]) -> Any:  # noqa: ANN401
    """Return the sum of a kernel's tables, added in the order of the blocks."""
    tables = in_turn(kernel, blocks)
    total = next(tables)
    for table in tables:
        total += table
    return total
