"""Files -> `Sketch`: record batches of any number of rows into the bucket loop, in one pass."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noneg.sketch import Sketch
from noneg.sketch.table import add_rows, empty_table, fast_loops, merge_into
from noneg.tables.columns import Columns, refuse_missing
from noneg.tables.labels import Labels
from noneg.tables.relations import Places, refuse_number
from noneg.tables.truths import read_truths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted
    from noneg.tables.files import File, OpenFiles
    from noneg.tables.relations import Part

    # Called with the rows done so far, and with all rows where their number is known.
    Progress = Callable[[int, int | None], None]
    Place = Callable[[int], str]

# Rows decoded at a time: they fit into the cache. Counting them at once would push the table out
# of it for each batch, so as many as `HELD` wait for each other.
BATCH = 1 << 17
HELD = 1 << 21
# Bytes of a column that are read at a time.
BUFFER = 1 << 20
# More threads would wait for memory, and each has a table of its own.
MOST_THREADS = 8


def can_stream() -> bool:
    """Whether record batches can be had, which takes pyarrow."""
    return find_spec("pyarrow") is not None


def sketch_of_files(opened: OpenFiles, wanted: Wanted, progress: Progress | None = None) -> Sketch:
    """Sketch the wanted columns of open files."""
    labels = Labels(wanted)
    stream = _Stream(opened, wanted, labels, progress)
    table = stream.run()
    if not labels.settle(stay_text=_has_text_labels(opened, wanted)):
        # What was taken for the positive label was not; the second time it is known.
        table = stream.run()
    return Sketch(weight_kind=wanted.weight_kind).add_table(table)


def _has_text_labels(opened: OpenFiles, wanted: Wanted) -> bool:
    """Whether labels were written as text, and not merely read as text."""
    return not opened.are_plain and any(part.is_text(wanted.label) for part in opened.parts)


class _RowGroup(NamedTuple):
    """A piece of a Parquet file that can be read by itself."""

    file: File
    number: int
    first_row: int

    def place(self, row: int) -> str:
        return f"row {self.first_row + row} of {self.file.name} (the first is row 0)"


class _Stream:
    """One pass over open files."""

    def __init__(
        self, opened: OpenFiles, wanted: Wanted, labels: Labels, progress: Progress | None
    ) -> None:
        self.opened, self.wanted, self.labels, self.progress = opened, wanted, labels, progress
        self.fast = fast_loops(opened.n_rows)
        self.done, self.lock = 0, Lock()

    def run(self) -> NDArray[np.float64]:
        """Return the table of all rows."""
        self.done = 0
        tables = self._parquet_tables()
        table = next(tables, None)
        if table is None:
            table = empty_table(self.wanted.weight_kind)
        for threads_table in tables:
            merge_into(table, threads_table)
        for part in () if self.opened.counted else self.opened.parts:
            if not part.typed:
                self._add_text(table, part)
        return table

    def _parquet_tables(self) -> Iterator[NDArray[np.float64]]:
        """Yield a table a thread; each has its share of pieces, so sums are the same each time."""
        groups = list(self._row_groups())
        threads = min(len(groups), _processors(), MOST_THREADS)
        if threads:
            with ThreadPoolExecutor(threads) as pool:
                yield from pool.map(self._add_groups, [groups[t::threads] for t in range(threads)])

    def _row_groups(self) -> Iterator[_RowGroup]:
        from pyarrow.parquet import read_metadata

        for part in () if self.opened.are_plain else self.opened.parts:
            if part.typed:
                # Asking for a number refuses a column of another type.
                _ = [part.number(n) for a, n in self.wanted.names().items() if a != "label"]
        for file, layout in zip(self.opened.files, self.opened.layouts, strict=True):
            if not layout.is_parquet:
                continue
            with _arrow_errors(file.name):
                metadata = read_metadata(file.path)
            first = 0
            for number in range(metadata.num_row_groups):
                yield _RowGroup(file, number, first)
                first += metadata.row_group(number).num_rows

    def _add_groups(self, groups: Sequence[_RowGroup]) -> NDArray[np.float64]:
        table = empty_table(self.wanted.weight_kind)
        held: list[tuple[dict[str, Any], Place]] = []
        rows = 0
        for columns, place in self._batches(groups):
            held.append((columns, place))
            rows += len(columns["score"])
            if rows >= HELD:
                self._add_all(table, held)
                rows = 0
        self._add_all(table, held)
        return table

    def _add_all(
        self, table: NDArray[np.float64], held: list[tuple[dict[str, Any], Place]]
    ) -> None:
        for columns, place in held:
            self._add(table, columns, place)
        held.clear()

    def _batches(self, groups: Sequence[_RowGroup]) -> Iterator[tuple[dict[str, Any], Place]]:
        """Yield the wanted columns batch by batch, with what says where a row of them is."""
        from pyarrow.parquet import ParquetFile

        names = self.wanted.names()
        for file, members in groupby(groups, key=lambda group: group.file):
            # A buffer bounds the memory whatever the size of the pieces.
            with (
                _arrow_errors(file.name),
                Path(file.path).open("rb") as stream,
                ParquetFile(file.path, buffer_size=BUFFER, pre_buffer=False) as reader,
            ):
                for group in members:
                    truths = read_truths(stream, reader.metadata, group.number, names["label"])
                    others = [name for name in names.values() if name != names["label"]]
                    wanted = list(names.values()) if truths is None else others
                    row = 0
                    for batch in _decoded(reader, group, wanted):
                        columns = {a: batch.column(n) for a, n in names.items() if n in wanted}
                        if truths is not None:
                            columns["label"] = truths.slice(row, batch.num_rows)
                        yield columns, partial(_shifted, group.place, row)
                        row += batch.num_rows

    def _add_text(self, table: NDArray[np.float64], part: Part) -> None:
        names = self.wanted.names()
        sql = [f"{part.number(name)} AS {a}" for a, name in names.items() if a != "label"]
        sql.append(f"{part.sql(names['label'])} AS label")
        reader, row = part.relation.project(", ".join(sql)).to_arrow_reader(BATCH), 0

        def place(wrong: int) -> str:
            # The connection answers no other question while rows are still to come.
            reader.close()
            return Places([part])(wrong)

        for batch in reader:
            columns = {argument: batch.column(argument) for argument in names}
            for argument in names.keys() - {"label"}:
                if columns[argument].null_count:
                    wrong = row + _first_null(columns[argument])
                    reader.close()
                    refuse_number([part], argument, names[argument], wrong)
            self._add(table, columns, partial(_shifted, place, row))
            row += batch.num_rows

    def _add(self, table: NDArray[np.float64], columns: dict[str, Any], place: Place) -> None:
        """Add a batch, or say which of its rows is wrong."""
        flags = self.labels.flags(columns["label"], place)
        score = _numbers(columns["score"], "score", self.wanted.score, place)
        weight = None
        if self.wanted.weight is not None:
            weight = _numbers(columns["weight"], "weight", self.wanted.weight, place)
            Columns.checked(score, flags, weight, self.wanted, place)
        if add_rows(table, flags, score, weight, self.fast) >= 0:
            Columns.checked(score, flags, weight, self.wanted, place)
        if self.progress is not None:
            with self.lock:
                self.done += score.size
                self.progress(self.done, self.opened.n_rows if self.opened.counted else None)


def _decoded(reader: Any, group: _RowGroup, names: list[str]) -> Iterator[Any]:  # noqa: ANN401
    with _arrow_errors(group.file.name, group):
        yield from reader.iter_batches(BATCH, [group.number], names, use_threads=False)


def _shifted(place: Place, first: int, row: int) -> str:
    return place(first + row)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_null(column: Any) -> int:  # noqa: ANN401
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _numbers(column: Any, argument: str, name: str, place: Place) -> NDArray[np.float64]:  # noqa: ANN401
    """Return an Arrow column as doubles."""
    import pyarrow as pa

    if column.null_count:
        refuse_missing(argument, name, place(_first_null(column)))
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


@contextmanager
def _arrow_errors(name: str, group: _RowGroup | None = None) -> Iterator[None]:
    """Turn what Arrow says into a sentence about the file."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError) as error:
        where = "" if group is None else f" after row {group.first_row}"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "unknown"
        msg = f"'source' cannot be read: {name} is damaged or cut off{where} ({reason})."
        raise ValueError(f"{msg} Copy it again.") from error
