"""Arrow record batches -> columns or a sketch: the one place where rows of a table are checked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from noneg.checks import check_scores, check_weights, number_advice
from noneg.sketch import Sketch
from noneg.sketch.table import add_rows, empty_table, fast_loops
from noneg.tables.columns import Columns, about_columns, refuse_missing, refuse_text
from noneg.tables.labels import NUMBER, Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted

    # Called with the rows done so far, and with all rows where their number is known.
    Progress = Callable[[int, int | None], None]
    Place = Callable[[int], str]
    Batch = dict[str, Any]

# Rows decoded at a time: they fit into the cache. Counting them at once would push the table out
# of it for each batch, so as many as `HELD` wait for each other.
BATCH = 1 << 17
HELD = 1 << 21


@dataclass(frozen=True, eq=False)
class Source:
    """A file or a frame as a stream of batches.

    Attributes
    ----------
    name : str
        What people call it.
    batches : callable
        Returns an iterator over Arrow columns by argument ("score", "label", ...).
    place : callable
        Says where a row is, by its number in this source.
    n_rows : int or None
        Number of rows where it is known.
    is_text : bool
        Whether every column is text, from which numbers must be parsed.
    """

    name: str
    batches: Callable[[], Iterator[Batch]]
    place: Place
    n_rows: int | None = None
    is_text: bool = False


def fill(
    sources: Sequence[Source],
    wanted: Wanted,
    limit: float = np.inf,
    progress: Progress | None = None,
) -> Columns | Sketch:
    """Read all rows; as soon as there are more than `limit`, sketch them."""
    from pyarrow import default_memory_pool

    total = _total(sources)
    labels, rows = Labels(wanted), _Rows(wanted, limit, total or 0)
    for source in sources:
        with closing(placed(source)) as stream:
            for batch, place in stream:
                rows.add(_checked(batch, wanted, labels, place, is_text=source.is_text))
                if progress is not None:
                    progress(rows.n, total)
    check_filled(rows.n, sources)
    labels.settle()
    done = rows.finished()
    # Arrow keeps the memory of batches that are gone, tens of megabytes.
    default_memory_pool().release_unused()
    return done


def check_filled(n_rows: int, sources: Sequence[Source]) -> None:
    """Refuse sources that hold no row."""
    if not n_rows:
        names = " and ".join(source.name for source in sources)
        has = "has only a header" if sources[0].is_text else "has none"
        raise ValueError(f"'source' must hold at least one row, but {names} {has}.")


def placed(source: Source) -> Generator[tuple[Batch, Place]]:
    """Yield batches, each with what says where a row of it is; the next one is read meanwhile."""
    first, batches = 0, source.batches()
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, batches, None)
        while (batch := ahead.result()) is not None:
            ahead = pool.submit(next, batches, None)
            yield batch, partial(_shifted, source.place, first)
            first += len(next(iter(batch.values())))


def _shifted(place: Place, first: int, row: int) -> str:
    return place(first + row)


def numbers(
    column: Any,  # noqa: ANN401
    argument: str,
    name: str,
    place: Place,
    *,
    is_text: bool,
) -> NDArray[np.float64]:
    """Return an Arrow column as doubles, or name the row that holds none."""
    import pyarrow as pa

    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        refuse_missing(argument, name, place(row))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text:
        return _parsed(column, name, place)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        _refuse_type(column, name)
    if not pa.types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


class _Rows:
    """Batches that are kept, or counted in a sketch once there are too many."""

    def __init__(self, wanted: Wanted, limit: float, expected: int) -> None:
        self.kind, self.limit, self.expected = wanted.weight_kind, limit, expected
        self.held: list[Columns] = []
        self.n = self.n_held = 0
        self.table: NDArray[np.float64] | None = None

    def add(self, columns: Columns) -> None:
        self.held.append(columns)
        self.n += columns.score.size
        self.n_held += columns.score.size
        if self.n > self.limit and self.n_held >= HELD:
            self._count()

    def _count(self) -> NDArray[np.float64]:
        if self.table is None:
            self.table = empty_table(self.kind)
        fast = fast_loops(max(self.n, self.expected))
        for columns in self.held:
            add_rows(self.table, columns.flags, columns.score, columns.weight, fast)
        self.held, self.n_held = [], 0
        return self.table

    def finished(self) -> Columns | Sketch:
        if self.n <= self.limit:
            return _joined(self.held)
        return Sketch(weight_kind=self.kind).add_table(self._count())


def _joined(held: list[Columns]) -> Columns:
    if len(held) == 1:
        return held[0]
    weights = [columns.weight for columns in held if columns.weight is not None]
    return Columns(
        np.concatenate([columns.score for columns in held]),
        np.concatenate([columns.flags for columns in held]),
        np.concatenate(weights) if weights else None,
    )


def _total(sources: Sequence[Source]) -> int | None:
    counts = [source.n_rows for source in sources if source.n_rows is not None]
    return sum(counts) if len(counts) == len(sources) else None


def _checked(
    batch: Batch, wanted: Wanted, labels: Labels, place: Place, *, is_text: bool
) -> Columns:
    flags = labels.flags(batch["label"], place)
    score, *rest = (
        numbers(batch[argument], argument, name, place, is_text=is_text)
        for argument, name in wanted.names().items()
        if argument != "label"
    )
    with about_columns(place):
        check_scores(score, wanted.score)
        for weight in rest:
            check_weights(weight, wanted.weight_kind, score.size, str(wanted.weight))
    return Columns(score, flags, rest[0] if rest else None)


def _parsed(column: Any, name: str, place: Place) -> NDArray[np.float64]:  # noqa: ANN401
    """Return the numbers that text stands for; Arrow knows all but those with spaces around."""
    import pyarrow as pa

    try:
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        texts = column.to_pylist()
    for row, text in enumerate(texts):
        if not NUMBER.fullmatch(text.strip()):
            refuse_text(name, text, place(row))
    return np.array([float(text) for text in texts])


def _refuse_type(column: Any, name: str) -> NoReturn:  # noqa: ANN401
    first = column[0].as_py() if len(column) else None
    kind = "text" if isinstance(first, str) else column.type
    msg = f"column {name!r} must hold numbers, but its type is {kind}, such as {first!r}."
    raise ValueError(f"{msg} {number_advice(first)}")
