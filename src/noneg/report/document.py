"""What a report says before it becomes HTML, Markdown or text: sentences and tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

MISSING = "\N{EN DASH}"


@dataclass(frozen=True)
class Number:
    """A number in a table.

    Attributes
    ----------
    value : float or None
    digits : int
        Decimals shown.
    key : str
        What the page writes here when the prior moves, such as "ece.value"; empty if it stays.
    """

    value: float | None
    digits: int = 4
    key: str = ""

    def __str__(self) -> str:
        if self.value is None or not math.isfinite(self.value):
            return MISSING
        return f"{self.value:,.{self.digits}f}"


@dataclass(frozen=True)
class Range:
    """An interval in a table; attributes as in `Number`, the key without ".low" and ".high"."""

    low: float | None
    high: float | None
    digits: int = 4
    key: str = ""

    def __str__(self) -> str:
        low, high = Number(self.low, self.digits), Number(self.high, self.digits)
        return MISSING if MISSING in (str(low), str(high)) else f"[{low}, {high}]"


Cell: TypeAlias = str | Number | Range


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a header; `name` is what the page fills it from, if it follows the sliders."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    name: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence; `key` is what the page replaces it by when the prior moves."""

    text: str
    key: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    name : str
        Anchor in the page.
    title : str
    sentences : tuple of Sentence
    charts : tuple of str
        Names in `noneg.report.charts`.
    tables : tuple of Table
    code : str
        Text to copy, such as the JSON of a calibrator or the command.
    """

    name: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    charts: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report.

    Attributes
    ----------
    title, subtitle : str
    verdict : tuple of Sentence
        The most important sentence first.
    facts : tuple of (str, Number, Range)
        The few numbers to look at first.
    warnings : tuple of str
    sections : tuple of Section
    """

    title: str
    subtitle: str
    verdict: tuple[Sentence, ...]
    facts: tuple[tuple[str, Number, Range], ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())
