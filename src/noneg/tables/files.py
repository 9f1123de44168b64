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
from dataclasses import dataclass, replace
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
class File:
    """A file on disk, and what is known about it before its rows are read.

    Attributes
    ----------
    path, name : str
        Its path, and the name shown to users.
    kind : {"csv", "json", "parquet"}
    names : tuple of str
        Names of the columns.
    types : tuple of str
        Types of Parquet columns; columns of other files are text.
    delimiter, compression : str
        Delimiter and compression of a text file; for JSON, the format instead of a delimiter.
    n_rows : int or None
        Number of rows in a Parquet file.
    """

    path: str
    name: str
    kind: str = ""
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    delimiter: str = ""
    compression: str = "none"
    n_rows: int | None = None

    @property
    def layout(self) -> tuple[object, ...]:
        """The same for files that can form one DuckDB relation."""
        return self.kind, self.names, self.types, self.delimiter, self.compression

    @property
    def is_parquet(self) -> bool:
        """Whether columns have types."""
        return self.kind == "parquet"

    @property
    def exactly(self) -> str:
        """The absolute path, escaped so that no character is read as a glob."""
        return glob.escape(os.path.abspath(self.path))  # noqa: PTH100 - keeps links as they are


@dataclass(frozen=True, eq=False)
class OpenFiles:
    """Files whose rows have not been read yet."""

    files: list[File]
    connect: Callable[[], DuckDBPyConnection]

    def sources(self, names: dict[str, str]) -> list[Source]:
        """Return one stream per file for the columns with these names, keyed by argument."""
        return [self._source(file, names) for file in self.files]

    def _source(self, file: File, names: dict[str, str]) -> Source:
        batches = _parquet_batches if file.is_parquet else self._text_batches
        rows, place = partial(batches, file, names), partial(_place, file)
        return Source(file.name, rows, place, file.n_rows, is_text=not file.is_parquet)

    def _text_batches(self, file: File, names: dict[str, str]) -> Iterator[Batch]:
        with plain_errors(file.name):
            relation = scan(self.connect(), [file])
        columns = dict(zip(file.names, relation.columns, strict=True))
        own = {argument: columns[name] for argument, name in names.items()}
        return relation_batches(relation, own, file.name)

    def check_same(self, key: Callable[[File], object], remedy: str = "") -> None:
        """Raise an error unless all files have the same columns, as compared by a key."""
        first = self.files[0]
        for file in self.files:
            if key(file) != key(first):
                rule = f"must contain files with the same columns, but {file.name} differs from"
                raise InputError("source", f"{rule} {first.name}", remedy=remedy)


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
        files = [
            _examined(connection, file, wanted) for file in list(_find(_listed(source), folder))
        ]
        yield OpenFiles(files, connection)


def scan(connection: DuckDBPyConnection, files: Sequence[File]) -> DuckDBPyRelation:
    """Return a DuckDB relation over files with the same layout; nothing is read yet."""
    file = files[0]
    if file.is_parquet:
        return _from(connection, "read_parquet", files, hive_partitioning="false")
    options = {"compression": literal(file.compression), "hive_partitioning": "false"}
    if file.kind == "json":
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in file.names)
        options |= {"format": literal(file.delimiter), "columns": f"{{{columns}}}"}
        return _from(connection, "read_json", files, **options)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(file.names)))
    options |= {"delim": literal(file.delimiter), "columns": f"{{{columns}}}"}
    options |= {"header": "true", "quote": literal('"'), "escape": literal('"')}
    return _from(connection, "read_csv", files, auto_detect="false", **options)


def _from(
    connection: DuckDBPyConnection, function: str, files: Iterable[File], **options: str
) -> DuckDBPyRelation:
    """Call a DuckDB table function with quoted paths."""
    paths = ", ".join(literal(file.exactly) for file in files)
    named = "".join(f", {name}={value}" for name, value in options.items())
    return connection.sql(f"FROM {function}([{paths}]{named})")


def _examined(connection: Callable[[], DuckDBPyConnection], file: File, wanted: Wanted) -> File:
    """Return a file with its columns, which include the requested ones."""
    with plain_errors(file.name):
        file = _with_layout(connection, file, wanted)
    wanted.check_names(file.names, file.name)
    return file


def _with_layout(connection: Callable[[], DuckDBPyConnection], file: File, wanted: Wanted) -> File:
    """Determine the type of a file from its first bytes, and its columns."""
    with Path(file.path).open("rb") as stream:
        start = stream.read(8)
    _check_kind(file, start)
    if start.startswith(b"PAR1"):
        reader = _parquet(file)
        schema, n_rows = reader.schema_arrow, reader.metadata.num_rows
        names, types = tuple(schema.names), tuple(map(str, schema.types))
        return replace(file, kind="parquet", names=names, types=types, n_rows=n_rows)
    compression = next((c for s, c in _COMPRESSIONS.items() if start.startswith(s)), "none")
    file = replace(file, compression=compression)
    if compression != "none":
        _check_whole(file)
    with _opened(file) as stream:
        head = stream.read(_HEADER_BYTES).decode("utf-8-sig", "replace")
    shape = _JSON.get(head.lstrip()[:1])
    if shape is None:
        return _with_header(file, head, wanted)
    options = {"format": literal(shape), "compression": literal(compression)}
    columns = _from(connection(), "read_json", [file], **options).columns
    return replace(file, kind="json", names=tuple(columns), delimiter=shape)


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


def _opened(file: File) -> Any:  # noqa: ANN401
    """Open the text of a file; Arrow verifies the checksums of compressed data."""
    import pyarrow as pa

    raw = pa.OSFile(file.path)
    return raw if file.compression == "none" else pa.CompressedInputStream(raw, file.compression)


def _check_whole(file: File) -> None:
    """Read compressed data to the end: DuckDB does not verify checksums and accepts cut frames."""
    with _opened(file) as stream:
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


def _with_header(file: File, head: str, wanted: Wanted) -> File:
    """Choose the delimiter for which the header contains the requested columns."""
    needed = set(wanted.names().values())
    found = [(_header(head, delimiter, file), delimiter) for delimiter in _DELIMITERS]
    names, delimiter = max(found, key=lambda pair: (len(needed & set(pair[0])), len(pair[0])))
    if not any(names):
        raise InputError("source", f"must start with column names, but {file.name} has none.")
    return replace(file, kind="csv", names=names, delimiter=delimiter)


def _header(head: str, delimiter: str, file: File) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(StringIO(head, newline=""), delimiter=delimiter), []))
    except csv.Error as error:
        msg = f"cannot be read: {file.name} has no valid header ({error})."
        raise InputError("source", msg) from error


def _place(file: File, row: int) -> str:
    """Describe the location of a row: its line number as shown in editors, if it has one."""
    if file.is_parquet or file.delimiter == "array":
        return f"row {row} of {file.name} (the first is row 0)"
    # Other columns may hold bytes that are not UTF-8.
    with TextIOWrapper(_opened(file), "utf-8-sig", "replace", newline="") as text:
        if file.kind == "json":
            lines: Iterator[int] = (
                number for number, line in enumerate(text, start=1) if line.strip()
            )
        else:
            # The header is also a record.
            lines = islice(_first_lines(text, file.delimiter), 1, None)
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
            # DuckDB cannot open a file whose name is not valid Unicode.
            is_unicode = path.encode(errors="replace").decode() == path
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and is_unicode:
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
