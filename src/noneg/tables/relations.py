"""DuckDB relations -> columns: one pass to see the labels, one to fetch the numbers."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from noneg.tables.columns import (
    MOST_LABELS,
    Columns,
    positive_among,
    refuse_missing,
    refuse_text,
    values_of_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted

_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|REAL|DOUBLE|DECIMAL")


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


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one layout: a relation, and the SQL name of each column in it.

    Attributes
    ----------
    relation : duckdb.DuckDBPyRelation
    columns : dict of str to str
        Name in the file to name in the relation.
    pieces : tuple of (str, duckdb.DuckDBPyRelation)
        The files it is made of, in order; empty when the row number says enough.
    typed : bool
        Whether columns have types; those of a CSV file are all text.
    """

    relation: DuckDBPyRelation
    columns: dict[str, str]
    pieces: tuple[tuple[str, DuckDBPyRelation], ...] = ()
    typed: bool = True

    def sql(self, name: str) -> str:
        """Return the quoted SQL name of a column."""
        return identifier(self.columns[name])

    def type(self, name: str) -> str:
        """Return the SQL type of a column."""
        types = dict(zip(self.relation.columns, self.relation.types, strict=True))
        return str(types[self.columns[name]])

    def number(self, name: str) -> str:
        """Return the SQL of a column as DOUBLE; text that is no number becomes NULL."""
        if not self.typed:
            return f"TRY_CAST({self.sql(name)} AS DOUBLE)"
        if not _NUMBER.match(self.type(name)):
            self._refuse_type(name)
        return f"CAST({self.sql(name)} AS DOUBLE)"

    def _refuse_type(self, name: str) -> None:
        rows = self.relation.project(self.sql(name)).limit(1).fetchall()
        example = "".join(f", such as {value!r}" for (value,) in rows)
        msg = f"column {name!r} must hold numbers, but its type is {self.type(name)}{example}."
        raise ValueError(f"{msg} Convert the column first.")

    def is_text(self, name: str) -> bool:
        """Whether a column was written as text, and not merely read as text."""
        return self.typed and self.type(name).startswith(("VARCHAR", "ENUM", "BLOB"))


def columns_of_relation(relation: DuckDBPyRelation, wanted: Wanted) -> Columns:
    """Read the wanted columns of a relation that somebody else made."""
    wanted.check_names(relation.columns, "the relation")
    with plain_errors("the relation"):
        return fetch([Part(relation, {name: name for name in relation.columns})], wanted)


def fetch(parts: Sequence[Part], wanted: Wanted) -> Columns:
    """Read the wanted columns of all parts, one after the other, as NumPy arrays."""
    positive = _positive_texts(parts, wanted)
    relation = reduce(
        lambda one, other: one.union(other),
        (part.relation.project(_projection(part, wanted, positive)) for part in parts),
    )
    arrays = relation.fetchnumpy()
    # Nobody else has these arrays: what is read-only is kept without a copy.
    arrays["score"].flags.writeable = False
    for argument, name in wanted.names().items():
        if argument != "label":
            _check_numbers(arrays[argument], argument, name, parts)
    flags = np.asarray(arrays["label"], dtype=np.bool_)
    place = Places(parts) if any(part.pieces for part in parts) else None
    return Columns.checked(arrays["score"], flags, arrays.get("weight"), wanted, place)


def _projection(part: Part, wanted: Wanted, positive: Sequence[str]) -> str:
    # A list without values is no SQL; NULL is equal to nothing.
    values = ", ".join(literal(text) for text in positive) or "NULL"
    out = [
        f"{part.number(wanted.score)} AS score",
        f"coalesce(CAST({part.sql(wanted.label)} AS VARCHAR) IN ({values}), false) AS label",
    ]
    if wanted.weight is not None:
        out.append(f"{part.number(wanted.weight)} AS weight")
    return ", ".join(out)


def _positive_texts(parts: Sequence[Part], wanted: Wanted) -> list[str]:
    """Return the labels that mean positive, as SQL writes them."""
    found: set[str | None] = set()
    for part in parts:
        column = f"CAST({part.sql(wanted.label)} AS VARCHAR) AS label"
        rows = part.relation.project(column).distinct().limit(MOST_LABELS + 1).fetchall()
        found.update(text for (text,) in rows)
    texts = sorted(text for text in found if text is not None)
    stay_text = any(part.is_text(wanted.label) for part in parts)
    values = list(texts) if stay_text else values_of_text(texts)
    nan = [text for text, v in zip(texts, values, strict=True) if v != v]  # noqa: PLR0124
    if nan or None in found:
        _refuse_missing_label(parts, wanted, nan)
    flags = positive_among(values, wanted)
    return [text for text, flag in zip(texts, flags, strict=True) if flag]


def _refuse_missing_label(parts: Sequence[Part], wanted: Wanted, nan: Sequence[str]) -> None:
    """Say which row is the first whose label is empty or not a number."""
    values = ", ".join(literal(text) for text in nan) or "NULL"
    first = 0
    for part in parts:
        text = f"CAST({part.sql(wanted.label)} AS VARCHAR)"
        condition = f"({text} IS NULL OR coalesce({text} IN ({values}), false)) AS empty"
        empty = part.relation.project(condition).fetchnumpy()["empty"]
        if empty.any():
            refuse_missing("label", wanted.label, Places(parts)(first + int(np.argmax(empty))))
        first += empty.size


def _check_numbers(
    values: NDArray[np.float64], argument: str, name: str, parts: Sequence[Part]
) -> None:
    """Refuse what SQL could not turn into a number."""
    if np.ma.is_masked(values):
        refuse_number(parts, argument, name, int(np.argmax(np.ma.getmaskarray(values))))


def refuse_number(parts: Sequence[Part], argument: str, name: str, row: int) -> NoReturn:
    """Refuse a row that holds nothing, or text, where a number should be."""
    place = Places(parts)
    part, offset, _ = place.find(row)
    text = part.relation.project(part.sql(name)).limit(1, offset=offset).fetchall()[0][0]
    if text is None:
        refuse_missing(argument, name, place(row))
    refuse_text(name, text, place(row))


class Places:
    """Where a row is: its number, and its file when there is one."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts

    def find(self, row: int) -> tuple[Part, int, str]:
        """Return the part of a row, its number there, and its description."""
        for part in self.parts:
            rest = row
            for name, relation in part.pieces or (("", part.relation),):
                size = relation.aggregate("count(*)").fetchall()[0][0]
                if rest < size:
                    file = f" of {name} (the first is row 0)" if name else ""
                    return part, row, f"row {rest}{file}"
                rest -= size
            row = rest
        raise AssertionError(row)

    def __call__(self, row: int) -> str:
        """Return the description of a row."""
        return self.find(row)[2]


@contextmanager
def plain_errors(*names: str, paths: Sequence[str] = ()) -> Iterator[None]:
    """Turn what DuckDB says into a sentence about the file that it names, else about the first."""
    try:
        yield
    except Exception as error:
        # If it was never imported it cannot have said anything.
        duckdb = sys.modules.get("duckdb")
        if isinstance(error, RuntimeError) and "interrupted" in str(error):
            raise KeyboardInterrupt from error
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        message = str(error)
        pairs = zip(names, paths, strict=False)
        where = next((name for name, path in pairs if path in message), names[0])
        raise ValueError(f"'source' cannot be read: {where} {_reason(message)}") from error


def _reason(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    at = f"line {line[1]} " if line else "some line "
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"is not regular: {at}has {fields[2]} fields, the header has {fields[1]}. Repair it."
    for sign, reason in _REASONS.items():
        if sign in message:
            return reason.format(at=at)
    first = re.sub(r"^[A-Z][\w ]* Error: ", "", message.strip().splitlines()[0])
    return f"is damaged or of another kind ({first})."


_REASONS = {
    "unterminated quote": "is not regular: {at}opens a quote that never closes. Repair it.",
    "not utf-8": "is not text in UTF-8: {at}has other bytes. Save it as UTF-8, or as Parquet.",
    "invalid state": "is not regular CSV; it may mix line ends or quotes. Save it again.",
    "end of GZIP": "is cut off: its compressed data ends too early. Copy it again.",
    "magic bytes": "is cut off, or is no Parquet file: its end is missing. Copy it again.",
    "too small to be a Parquet": "is too short to be a Parquet file. Copy it again.",
}
