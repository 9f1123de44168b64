"""Read files as streams of Arrow batches: paths, globs and standard input; CSV, JSON or Parquet.

Arrow reads Parquet and verifies checksums; DuckDB reads text. Errors from both are turned into
readable messages about a file.
"""

from __future__ import annotations

import csv
import glob
import os
import re
import shutil
import stat
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, partial
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from noneg.atomic import scratch
from noneg.errors import InputError, MissingFileError
from noneg.tables.batches import BATCH, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from noneg.tables.batches import Batch, Wanted


def connect() -> DuckDBPyConnection:
    """Return a private connection that never uses the network or writes to the terminal."""
    import duckdb

    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    connection.execute("SET enable_progress_bar = false")
    return connection


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string for SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turn errors from DuckDB or Arrow into a readable message about a file or frame."""
    try:
        yield
    except Exception as error:
        if isinstance(error, RuntimeError) and "interrupted" in str(error):
            raise KeyboardInterrupt from error
        if not isinstance(error, _engine_errors()):
            raise
        raise InputError("source", f"cannot be read: {name} {_reason(str(error))}") from error


def _engine_errors() -> tuple[type[BaseException], ...]:
    """Return the error types of the engines that are loaded; others cannot have raised one."""
    names = {"duckdb": "Error", "pyarrow": "ArrowException"}
    there = [getattr(sys.modules[m], name) for m, name in names.items() if m in sys.modules]
    return (OSError, *there)


def _reason(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)|in line (\d+)", message)
    at = f"line {line[1] or line[2]} " if line else "some line "
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return (
            f"is malformed: {at}has {fields[2]} fields, but the header has {fields[1]}. Fix "
            "the file."
        )
    for sign, reason in _REASONS.items():
        if sign in message:
            return reason.format(at=at)
    first = re.sub(r"^[A-Z][\w ]* Error: ", "", f"{message.strip()}\n".splitlines()[0])
    return f"is corrupted or has another format ({first.rstrip('.')}). Copy it again."


_REASONS = {
    "unterminated quote": "is malformed: {at}opens a quote that is never closed. Fix the file.",
    "not utf-8": "is not valid UTF-8 text: {at}contains invalid bytes. Save it as UTF-8, or as "
    "Parquet.",
    "invalid state": "is not valid CSV; it may mix line endings or quotes. Save it again.",
    "Malformed JSON": "is malformed: {at}is not a JSON object. Fix the file.",
    "Truncated compressed stream": (
        "is truncated: its compressed data ends too early. Copy it again."
    ),
    "zlib": "is corrupted: its compressed data does not match its checksum. Copy it again.",
    "ZSTD": "is corrupted: its compressed data does not match its checksum. Copy it again.",
    "CRC checksum": "is corrupted: a page does not match its checksum. Copy it again.",
    "magic bytes": "is truncated or not a Parquet file: its end is missing. Copy it again.",
    "smaller than the minimum": "is too short to be a Parquet file. Copy it again.",
    "ecrypt": "is encrypted. Decrypt it first.",
    "crypto": "is encrypted. Decrypt it first.",
}


STANDARD_INPUT = "-"

_DELIMITERS = (",", "\t", ";", "|")

_HEADER_BYTES = 1 << 18

_BUFFER = 1 << 20

# DuckDB's name for the format of text that begins with this character.
_JSON = {"{": "newline_delimited", "[": "array"}

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"ARROW1": "an Arrow (Feather) file",
    b"FEA1": "a Feather file",
    b"PARE": "an encrypted Parquet file",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
}


@dataclass(frozen=True)
class Layout:
    """Layout of a file; consecutive files with the same layout can form one DuckDB relation.

    Attributes
    ----------
    kind : {"csv", "json", "parquet"}
    names : tuple of str
        Names of the columns.
    types : tuple of str
        Types of Parquet columns; columns of other files are text.
    delimiter, compression : str
        Delimiter and compression of a text file.
    n_rows : int or None
        Number of rows in a Parquet file.
    """

    kind: str
    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    delimiter: str = ""
    compression: str = "none"
    n_rows: int | None = field(default=None, compare=False)

    @property
    def is_parquet(self) -> bool:
        """Whether columns have types."""
        return self.kind == "parquet"


@dataclass(frozen=True)
class File:
    """A file on disk and the name shown to users."""

    path: str
    name: str

    @property
    def exactly(self) -> str:
        """The absolute path, escaped so that no character is read as a glob."""
        return glob.escape(os.path.abspath(self.path))  # noqa: PTH100 - keeps links as they are


@dataclass(frozen=True, eq=False)
class OpenFiles:
    """Files whose layout is known and whose rows have not been read yet."""

    files: list[File]
    layouts: list[Layout]
    connect: Callable[[], DuckDBPyConnection]

    def sources(self, names: dict[str, str]) -> list[Source]:
        """Return one stream per file for the columns with these names, keyed by argument."""
        pairs = zip(self.files, self.layouts, strict=True)
        return [self._source(file, layout, names) for file, layout in pairs]

    def _source(self, file: File, layout: Layout, names: dict[str, str]) -> Source:
        place = partial(_place, file, layout)
        if layout.is_parquet:
            batches = partial(_parquet_batches, file, names)
            return Source(file.name, batches, place, layout.n_rows)
        batches = partial(self._text_batches, file, layout, names)
        return Source(file.name, batches, place, is_text=True)

    def _text_batches(self, file: File, layout: Layout, names: dict[str, str]) -> Iterator[Batch]:
        with plain_errors(file.name):
            relation = scan(self.connect(), [file], layout)
        columns = dict(zip(layout.names, relation.columns, strict=True))
        own = {argument: columns[name] for argument, name in names.items()}
        return relation_batches(relation, own, file.name)


def relation_batches(
    relation: DuckDBPyRelation, names: dict[str, str], where: str
) -> Iterator[Batch]:
    """Yield columns of a DuckDB relation, keyed by argument."""
    sql = [f"{identifier(name)} AS {identifier(argument)}" for argument, name in names.items()]
    with plain_errors(where):
        for batch in relation.project(", ".join(sql)).to_arrow_reader(BATCH):
            yield {argument: batch.column(k) for k, argument in enumerate(names)}


@contextmanager
def open_files(source: object, wanted: Wanted) -> Iterator[OpenFiles]:
    """Find files and determine their columns."""
    with ExitStack() as stack:
        connection = cache(lambda: stack.enter_context(connect()))
        folder = cache(lambda: stack.enter_context(scratch()))
        files = list(_find(_listed(source), folder))
        layouts = []
        for file in files:
            with plain_errors(file.name):
                layouts.append(_layout(connection, file, wanted))
            wanted.check_names(layouts[-1].names, file.name)
        yield OpenFiles(files, layouts, connection)


def scan(connection: DuckDBPyConnection, files: Iterable[File], layout: Layout) -> DuckDBPyRelation:
    """Return a DuckDB relation over files with the same layout; nothing is read yet."""
    if layout.is_parquet:
        return _from(connection, "read_parquet", files, hive_partitioning="false")
    options = {"compression": literal(layout.compression), "hive_partitioning": "false"}
    if layout.kind == "json":
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in layout.names)
        shape = literal(layout.delimiter)
        return _from(
            connection, "read_json", files, format=shape, columns=f"{{{columns}}}", **options
        )
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
        **options,
    )


def _from(
    connection: DuckDBPyConnection, function: str, files: Iterable[File], **options: str
) -> DuckDBPyRelation:
    """Call a DuckDB table function with quoted paths."""
    paths = ", ".join(literal(file.exactly) for file in files)
    named = "".join(f", {name}={value}" for name, value in options.items())
    return connection.sql(f"FROM {function}([{paths}]{named})")


def _layout(connection: Callable[[], DuckDBPyConnection], file: File, wanted: Wanted) -> Layout:
    """Determine the type of a file from its first bytes, and its columns."""
    with Path(file.path).open("rb") as stream:
        start = stream.read(8)
    _check_kind(file, start)
    if start.startswith(b"PAR1"):
        reader = _parquet(file)
        types = tuple(str(field.type) for field in reader.schema_arrow)
        names = tuple(reader.schema_arrow.names)
        return Layout("parquet", names, types, n_rows=reader.metadata.num_rows)
    compression = next((c for s, c in _COMPRESSIONS.items() if start.startswith(s)), "none")
    if compression != "none":
        _check_whole(file, compression)
    with _opened(file, compression) as stream:
        head = stream.read(_HEADER_BYTES).decode("utf-8-sig", "replace")
    if head.lstrip()[:1] in _JSON:
        return _json_layout(connection(), file, _JSON[head.lstrip()[0]], compression)
    return _csv_layout(file, head, compression, wanted)


def _parquet(file: File) -> Any:  # noqa: ANN401
    from pyarrow.parquet import ParquetFile

    # A buffer limits memory use for row groups of any size.
    options = {"buffer_size": _BUFFER, "pre_buffer": False, "page_checksum_verification": True}
    return ParquetFile(file.path, **options)


def _parquet_batches(file: File, names: dict[str, str]) -> Iterator[Batch]:
    with plain_errors(file.name), _parquet(file) as reader:
        # Arrow's threads would cost more than they save for so few columns per batch.
        columns = list(names.values())
        for batch in reader.iter_batches(BATCH, columns=columns, use_threads=False):
            yield {argument: batch.column(name) for argument, name in names.items()}


def _opened(file: File, compression: str) -> Any:  # noqa: ANN401
    """Open the text of a file; Arrow verifies the checksums of compressed data."""
    import pyarrow as pa

    raw = pa.OSFile(file.path)
    return raw if compression == "none" else pa.CompressedInputStream(raw, compression)


def _check_whole(file: File, compression: str) -> None:
    """Read compressed data to the end: DuckDB does not verify checksums and accepts cut frames."""
    with _opened(file, compression) as stream:
        while stream.read(_BUFFER):
            pass


def _check_kind(file: File, start: bytes) -> None:
    if not start:
        msg = f"must contain a table, but {file.name} is empty: 0 bytes."
        raise InputError("source", msg, remedy="Create or copy it again.")
    for sign, kind in _OTHER_KINDS.items():
        if start.startswith(sign):
            msg = f"must be CSV, JSON Lines or Parquet, but {file.name} is {kind}."
            raise InputError("source", msg, remedy="Save it as one of them.")
    if Path(file.path).suffix in (".parquet", ".pq") and not start.startswith(b"PAR1"):
        msg = f"cannot be read: {file.name} is not a Parquet file, despite its name."
        raise InputError("source", msg, remedy="Copy or save it again.")


def _json_layout(
    connection: DuckDBPyConnection, file: File, shape: str, compression: str
) -> Layout:
    options = {"format": literal(shape), "compression": literal(compression)}
    names = tuple(_from(connection, "read_json", [file], **options).columns)
    return Layout("json", names, (), shape, compression)


def _csv_layout(file: File, head: str, compression: str, wanted: Wanted) -> Layout:
    """Choose the delimiter for which the header contains the requested columns."""
    needed = set(wanted.names().values())
    found = [(_header(head, delimiter, file), delimiter) for delimiter in _DELIMITERS]
    names, delimiter = max(found, key=lambda pair: (len(needed & set(pair[0])), len(pair[0])))
    if not any(names):
        raise InputError("source", f"must start with column names, but {file.name} has none.")
    return Layout("csv", names, (), delimiter, compression)


def _header(head: str, delimiter: str, file: File) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(StringIO(head, newline=""), delimiter=delimiter), []))
    except csv.Error as error:
        msg = f"cannot be read: {file.name} has no valid header ({error})."
        raise InputError("source", msg) from error


def _place(file: File, layout: Layout, row: int) -> str:
    """Describe the location of a row: its line number as shown in editors, if it has one."""
    if layout.is_parquet or layout.delimiter == "array":
        return f"row {row} of {file.name} (the first is row 0)"
    whole = _opened(file, layout.compression)
    # Other columns may hold bytes that are not UTF-8.
    with TextIOWrapper(whole, "utf-8-sig", "replace", newline="") as text:
        if layout.kind == "json":
            lines: Iterator[int] = (
                number for number, line in enumerate(text, start=1) if line.strip()
            )
        else:
            # The header is also a record.
            lines = islice(_first_lines(text, layout.delimiter), 1, None)
        return f"line {next(islice(lines, row, None))} of {file.name}"


def _first_lines(text: Iterable[str], delimiter: str) -> Iterator[int]:
    """Yield the line on which each record begins; empty lines are skipped."""
    reader, first = csv.reader(text, delimiter=delimiter), 1
    for record in reader:
        if record:
            yield first
        first = reader.line_num + 1


def _listed(source: Any) -> list[str]:  # noqa: ANN401
    items = source if isinstance(source, (list, tuple)) else [source]
    if not items:
        raise InputError("source", "must name at least one file, got an empty list.")
    for item in items:
        if not isinstance(item, (str, bytes, os.PathLike)):
            msg = f"must be a list of paths, got one that contains {type(item).__name__}."
            raise InputError("source", msg)
    return [os.fsdecode(item) for item in items]


def _find(items: Sequence[str], folder: Callable[[], Path]) -> Iterator[File]:
    """Yield the files matching paths and patterns; streams that cannot be reread are copied."""
    seen: set[str] = set()
    for item in items:
        for path in [item] if item == STANDARD_INPUT else _expand(item):
            file = _piped(len(seen), folder) if path == STANDARD_INPUT else _on_disk(path, folder)
            key = path if path == STANDARD_INPUT else os.path.realpath(path)
            if key in seen:
                raise InputError(
                    "source", f"must name every file once, but {file.name} appears twice."
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
        raise MissingFileError("source", f"must match a file, but no file matches {item!r}.")
    path = Path(item)
    if not path.parent.is_dir():
        msg = f"must be a file, but the folder {str(path.parent)!r} of {item!r} does not exist."
        raise MissingFileError("source", msg)
    close = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    hint = f" Did you mean {str(path.parent / close[0])!r}?" if close else ""
    raise MissingFileError("source", f"must be a file, but {item!r} does not exist.{hint}")


def _on_disk(path: str, folder: Callable[[], Path]) -> File:
    name = repr(path)
    if Path(path).is_dir():
        inside = str(Path(path) / "*.parquet")
        msg = f"must be a file, but {name} is a folder. Name its files, as in {inside!r}."
        raise InputError("source", msg)
    try:
        with Path(path).open("rb") as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and _is_unicode(path):
                return File(path, name)
            return _copied(stream, name, folder, f"pipe-{abs(hash(path))}")
    except OSError as error:
        raise InputError("source", f"cannot be read: {name}: {error.strerror}.") from error


def _piped(number: int, folder: Callable[[], Path]) -> File:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("source", "is standard input, but there is none.")
    return _copied(stream, "standard input", folder, f"stdin-{number}")


def _copied(stream: BinaryIO, name: str, folder: Callable[[], Path], as_name: str) -> File:
    path = folder() / as_name
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    return File(str(path), name)


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
