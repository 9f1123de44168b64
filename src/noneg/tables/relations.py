"""DuckDB: connections, quoted names, and its errors as sentences about a file."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection


def connect() -> DuckDBPyConnection:
    """Return a private connection that never reaches for the network nor writes to the terminal."""
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
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turn what DuckDB or Arrow say into a sentence about a file or frame."""
    try:
        yield
    except Exception as error:
        if isinstance(error, RuntimeError) and "interrupted" in str(error):
            raise KeyboardInterrupt from error
        if not isinstance(error, _engine_errors()):
            raise
        raise ValueError(f"'source' cannot be read: {name} {_reason(str(error))}") from error


def _engine_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of the engines that are loaded; others cannot have said anything."""
    names = {"duckdb": "Error", "pyarrow": "ArrowException"}
    there = [getattr(sys.modules[m], name) for m, name in names.items() if m in sys.modules]
    return (OSError, *there)


def _reason(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)|in line (\d+)", message)
    at = f"line {line[1] or line[2]} " if line else "some line "
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"is not regular: {at}has {fields[2]} fields, the header has {fields[1]}. Repair it."
    for sign, reason in _REASONS.items():
        if sign in message:
            return reason.format(at=at)
    first = re.sub(r"^[A-Z][\w ]* Error: ", "", f"{message.strip()}\n".splitlines()[0])
    return f"is damaged or of another kind ({first.rstrip('.')}). Copy it again."


_REASONS = {
    "unterminated quote": "is not regular: {at}opens a quote that never closes. Repair it.",
    "not utf-8": "is not text in UTF-8: {at}has other bytes. Save it as UTF-8, or as Parquet.",
    "invalid state": "is not regular CSV; it may mix line ends or quotes. Save it again.",
    "Malformed JSON": "is not regular: {at}is not a JSON object. Repair it.",
    "Truncated compressed stream": (
        "is cut off: its compressed data ends too early. Copy it again."
    ),
    "zlib": "is damaged: its compressed data and its checksum do not agree. Copy it again.",
    "ZSTD": "is damaged: its compressed data and its checksum do not agree. Copy it again.",
    "CRC checksum": "is damaged: a page does not have its checksum. Copy it again.",
    "magic bytes": "is cut off, or is no Parquet file: its end is missing. Copy it again.",
    "smaller than the minimum": "is too short to be a Parquet file. Copy it again.",
    "ecrypt": "is encrypted. Decrypt it first.",
    "crypto": "is encrypted. Decrypt it first.",
}
