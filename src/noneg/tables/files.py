"""Files -> columns: paths, globs and standard input, CSV or Parquet, compressed or not."""

from __future__ import annotations

import csv
import glob
import os
import shutil
import stat
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from noneg.atomic import scratch
from noneg.tables.relations import Part, connect, fetch, literal, plain_errors
from noneg.tables.zstd import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from noneg.tables.columns import Columns, Wanted

STANDARD_INPUT = "-"
_DELIMITERS = (",", "\t", ";", "|")
_HEADER_LINES = 100
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"ARROW1": "an Arrow (Feather) file",
    b"FEA1": "a Feather file",
    b"PARE": "an encrypted Parquet file",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
}


@dataclass(frozen=True)
class Layout:
    """How a file is written; files of the same layout are read in one go.

    Attributes
    ----------
    names : tuple of str
        The columns.
    types : tuple of str
        SQL types of Parquet columns; empty for CSV.
    delimiter, compression : str
        Of CSV.
    line_bytes : float
        Mean length of the first lines of CSV, on disk.
    n_rows : int
        Rows of a Parquet file whose wanted columns are numbers and truth values, so that nobody
        need ask DuckDB what they are; else -1.
    """

    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    delimiter: str = ""
    compression: str = ""
    line_bytes: float = field(default=1.0, compare=False)
    n_rows: int = field(default=-1, compare=False)

    @property
    def is_plain(self) -> bool:
        """Whether the wanted columns are known to be numbers and truth values."""
        return self.n_rows >= 0

    @property
    def is_parquet(self) -> bool:
        """Whether columns have types."""
        return not self.delimiter


@dataclass(frozen=True)
class File:
    """A file on disk and the name that people know it by."""

    path: str
    name: str

    @property
    def exactly(self) -> str:
        """The absolute path, with no sign in it that could be read as a glob."""
        return glob.escape(os.path.abspath(self.path))  # noqa: PTH100 - keeps links as they are


@dataclass(frozen=True, eq=False)
class OpenFiles:
    """Files whose layout is known and whose rows have not been read."""

    files: list[File]
    layouts: list[Layout]
    connect: Callable[[], DuckDBPyConnection]

    @cached_property
    def connection(self) -> DuckDBPyConnection:
        """The connection to DuckDB, made when somebody asks for it: it takes a while."""
        return self.connect()

    @cached_property
    def parts(self) -> list[Part]:
        """The rows, as DuckDB reads them."""
        return _parts(self.connection, self.files, self.layouts)

    @property
    def are_plain(self) -> bool:
        """Whether the wanted columns of all files are known to be numbers and truth values."""
        return all(layout.is_plain for layout in self.layouts)

    @property
    def counted(self) -> bool:
        """Whether the number of rows is exact."""
        return all(layout.is_parquet for layout in self.layouts)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; of CSV an estimate from the size of the file."""
        if self.are_plain:
            return sum(layout.n_rows for layout in self.layouts)
        rows = 0.0
        for part in self.parts:
            if part.typed:
                rows += part.relation.aggregate("count(*)").fetchall()[0][0]
        for file, layout in zip(self.files, self.layouts, strict=True):
            if not layout.is_parquet:
                rows += Path(file.path).stat().st_size / layout.line_bytes
        return int(rows)

    def check_filled(self, n_rows: float) -> None:
        """Refuse files that hold no row."""
        if not n_rows:
            names = " and ".join(file.name for file in self.files)
            raise ValueError(f"'source' must hold at least one row, but {names} has only a header.")


@contextmanager
def open_files(source: object, wanted: Wanted, *, stream: bool = False) -> Iterator[OpenFiles]:
    """Find files and see what columns they have; `stream` spares DuckDB where it can."""
    with ExitStack() as stack:
        connection = cache(lambda: stack.enter_context(connect()))
        folder = stack.enter_context(scratch())
        files = list(_find(_listed(source), folder))
        layouts = []
        for file in files:
            layout = _plain_layout(file, wanted) if stream else None
            layout = layout or _layout(connection(), file, wanted)
            wanted.check_names(layout.names, file.name)
            layouts.append(layout)
        names, paths = [file.name for file in files], [file.exactly for file in files]
        with plain_errors(*names, paths=paths):
            yield OpenFiles(files, layouts, connection)


def columns_of_files(source: object, wanted: Wanted) -> Columns:
    """Read the wanted columns of one or more files, one after the other."""
    with open_files(source, wanted) as opened:
        return columns_of_open(opened, wanted)


def columns_of_open(opened: OpenFiles, wanted: Wanted) -> Columns:
    """Read the wanted columns of open files."""
    columns = fetch(opened.parts, wanted)
    opened.check_filled(columns.score.size)
    return columns


def _parts(
    connection: DuckDBPyConnection, files: Sequence[File], layouts: Sequence[Layout]
) -> list[Part]:
    out = []
    for layout, pairs in groupby(zip(layouts, files, strict=True), key=lambda pair: pair[0]):
        group = [file for _, file in pairs]
        pieces = tuple((file.name, _scan(connection, [file], layout)) for file in group)
        relation = _scan(connection, group, layout)
        columns = dict(zip(layout.names, relation.columns, strict=True))
        out.append(Part(relation, columns, pieces, typed=layout.is_parquet))
    return out


def _scan(
    connection: DuckDBPyConnection, files: Iterable[File], layout: Layout
) -> DuckDBPyRelation:
    if layout.is_parquet:
        return _from(connection, "read_parquet", files)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(layout.names)))
    return _from(
        connection,
        "read_csv",
        files,
        auto_detect="false",
        header="true",
        delim=literal(layout.delimiter),
        quote=literal('"'),
        escape=literal('"'),
        columns=f"{{{columns}}}",
        compression=literal(layout.compression),
    )


def _from(
    connection: DuckDBPyConnection, function: str, files: Iterable[File], **options: str
) -> DuckDBPyRelation:
    """Call a table function of DuckDB with quoted paths; nothing is read yet."""
    paths = ", ".join(literal(file.exactly) for file in files)
    named = "".join(f", {name}={value}" for name, value in options.items())
    return connection.sql(f"FROM {function}([{paths}], hive_partitioning=false{named})")


def _layout(connection: DuckDBPyConnection, file: File, wanted: Wanted) -> Layout:
    """Find out what a file is by its first bytes, and what columns it has."""
    with Path(file.path).open("rb") as stream:
        start = stream.read(8)
        _check_kind(file, start)
        compression = next((c for s, c in _COMPRESSIONS.items() if start.startswith(s)), "none")
        if compression == "zstd" and not is_whole(stream):
            raise ValueError(f"'source' cannot be read: {file.name} is cut off. Copy it again.")
    with plain_errors(file.name):
        if not start.startswith(b"PAR1"):
            return _csv_layout(connection, file, compression, wanted)
        relation = _from(connection, "read_parquet", [file])
        return Layout(tuple(relation.columns), tuple(str(type_) for type_ in relation.types))


def _plain_layout(file: File, wanted: Wanted) -> Layout | None:
    """Return the layout of a Parquet file of plain columns, None of all that needs a closer look.

    That includes files that are damaged: DuckDB says what is wrong with them.
    """
    import pyarrow as pa
    from pyarrow.parquet import read_metadata

    with Path(file.path).open("rb") as stream:
        if stream.read(4) != b"PAR1":
            return None
    try:
        metadata = read_metadata(file.path)
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError):
        return None
    for argument, name in wanted.names().items():
        kind = schema.field(name).type if schema.names.count(name) == 1 else None
        number = kind is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        if not (number or (argument == "label" and kind == pa.bool_())):
            return None
    types = tuple(str(field.type) for field in schema)
    return Layout(tuple(schema.names), types, n_rows=metadata.num_rows)


def _check_kind(file: File, start: bytes) -> None:
    if not start:
        msg = f"'source' must hold a table, but {file.name} is empty: 0 bytes."
        raise ValueError(f"{msg} Write or copy it again.")
    for sign, kind in _OTHER_KINDS.items():
        if start.startswith(sign):
            msg = f"'source' must be CSV or Parquet, but {file.name} is {kind}. Save it as either."
            raise ValueError(msg)
    if Path(file.path).suffix in (".parquet", ".pq") and not start.startswith(b"PAR1"):
        msg = f"'source' cannot be read: {file.name} is no Parquet file, despite its name."
        raise ValueError(f"{msg} Copy or save it again.")


def _csv_layout(
    connection: DuckDBPyConnection, file: File, compression: str, wanted: Wanted
) -> Layout:
    """Read the header, and take the delimiter with which it has the wanted columns."""
    lines = _from(
        connection,
        "read_csv",
        [file],
        auto_detect="false",
        header="false",
        delim=literal("\x01"),
        quote="''",
        escape="''",
        columns="{'line': 'VARCHAR'}",
        compression=literal(compression),
    )
    text = [f"{line or ''}\n" for (line,) in lines.limit(_HEADER_LINES).fetchall()]
    needed = set(wanted.names().values())
    found = [(_header(text, delimiter, file), delimiter) for delimiter in _DELIMITERS]
    names, delimiter = max(found, key=lambda pair: (len(needed & set(pair[0])), len(pair[0])))
    if not any(names):
        raise ValueError(f"'source' must start with column names, but {file.name} has none.")
    # Text shrinks to about a quarter when it is compressed.
    share = 1.0 if compression == "none" else 0.25
    line_bytes = share * sum(len(line.encode()) for line in text) / len(text)
    return Layout(names, (), delimiter, compression, line_bytes)


def _header(lines: Iterable[str], delimiter: str, file: File) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(lines, delimiter=delimiter), []))
    except csv.Error as error:
        msg = f"'source' cannot be read: {file.name} has no regular header ({error})."
        raise ValueError(msg) from error


def _listed(source: Any) -> list[str]:  # noqa: ANN401
    items = source if isinstance(source, (list, tuple)) else [source]
    if not items:
        raise ValueError("'source' must name at least one file, got an empty list.")
    for item in items:
        if not isinstance(item, (str, bytes, os.PathLike)):
            msg = f"'source' must be a list of paths, got one with {type(item).__name__} in it."
            raise ValueError(msg)  # noqa: TRY004 - one kind of error for wrong arguments
    return [os.fsdecode(item) for item in items]


def _find(items: Sequence[str], folder: Path) -> Iterator[File]:
    """Yield the files that paths and patterns name; what cannot be read twice is copied first."""
    seen: set[str] = set()
    for item in items:
        for path in [item] if item == STANDARD_INPUT else _expand(item):
            file = _piped(len(seen), folder) if path == STANDARD_INPUT else _on_disk(path, folder)
            key = path if path == STANDARD_INPUT else os.path.realpath(path)
            if key in seen:
                raise ValueError(
                    f"'source' must name every file once, but {file.name} comes twice."
                )
            seen.add(key)
            yield file


def _expand(item: str) -> list[str]:
    if os.path.exists(item):  # noqa: PTH110 - a name with glob signs that exists is that file
        return [item]
    if glob.has_magic(item):
        found = glob.glob(item, recursive=True)  # noqa: PTH207 - takes absolute patterns too
        if paths := sorted(path for path in found if Path(path).is_file()):
            return paths
        raise FileNotFoundError(f"'source' must match a file, but no file matches {item!r}.")
    path = Path(item)
    if not path.parent.is_dir():
        msg = f"'source' must be a file, but there is no folder {str(path.parent)!r} for {item!r}."
        raise FileNotFoundError(msg)
    close = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    hint = f" Did you mean {str(path.parent / close[0])!r}?" if close else ""
    raise FileNotFoundError(f"'source' must be a file, but there is none called {item!r}.{hint}")


def _on_disk(path: str, folder: Path) -> File:
    name = repr(path)
    if Path(path).is_dir():
        inside = str(Path(path) / "*.parquet")
        msg = f"'source' must be a file, but {name} is a folder. Name its files, as in {inside!r}."
        raise ValueError(msg)
    try:
        with Path(path).open("rb") as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and _is_unicode(path):
                return File(path, name)
            return _copied(stream, name, folder, f"pipe-{abs(hash(path))}")
    except OSError as error:
        raise ValueError(f"'source' cannot be read: {name}: {error.strerror}.") from error


def _piped(number: int, folder: Path) -> File:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise ValueError("'source' is standard input, but there is none.")
    return _copied(stream, "standard input", folder, f"stdin-{number}")


def _copied(stream: BinaryIO, name: str, folder: Path, as_name: str) -> File:
    with (folder / as_name).open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    return File(str(folder / as_name), name)


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
