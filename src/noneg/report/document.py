"""A format-independent report: sentences, tables, and their origin.

Every output format shows a `Document`: `markdown` and `text` in this module, and the HTML page in
`noneg.report.html`. Names of files and columns are untrusted text; `printable` makes them safe to
show.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from importlib.resources import files
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from noneg.report.charts import Drawing
from noneg.sentences import TURNING, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table as RichTable

    from noneg.report.payload import Row
    from noneg.results import Estimate
    from noneg.verdict import Code

MISSING = "\N{EN DASH}"
WIDTH = 100
# A width at which no line wraps.
UNWRAPPED = 10_000

_TURNS = re.compile(f"[{''.join(sorted(TURNING))}\ud800-\udfff]")
_SPECIAL = "\\`*_{}[]<>#|!~"


@dataclass(frozen=True)
class Number:
    """A number in a table.

    Attributes
    ----------
    value : float or None
    digits : int
        Number of decimals shown.
    key : str
        Key of the value that the page shows here when the prior changes, such as "ece.value"; empty
        if the number does not depend on the prior.
    """

    value: float | None
    digits: int = 4
    key: str = ""

    def __str__(self) -> str:
        if self.value is None or not math.isfinite(self.value):
            return MISSING
        # Rounding error makes some zeros negative.
        return f"{self.value:z,.{self.digits}f}"


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


def interval_cells(
    value: float | None, low: float | None, high: float | None, *, digits: int = 4
) -> tuple[Number, Range]:
    """Return a number and its interval."""
    return Number(value, digits), Range(low, high, digits)


def estimate_cells(*found: Estimate | None, digits: int = 4) -> tuple[Number | Range, ...]:
    """Return each estimate and its interval; blank cells for None."""
    ends = ((None,) * 3 if one is None else (one.value, one.low, one.high) for one in found)
    return tuple(cell for three in ends for cell in interval_cells(*three, digits=digits))


def estimate_row(found: Estimate) -> Row:
    """Return an estimate as the data of a chart."""
    return {"value": found.value, "low": found.low, "high": found.high}


def interval_title(level: float) -> str:
    """Return the header of a column of intervals."""
    return f"{100 * level:.6g}% interval"


@dataclass(frozen=True)
class Table:
    """Rows under a header; on the page, text in the first cell of a row is its header.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str, Number or Range
    caption : str
    name : str
        Identifies the data if the table follows the sliders.
    folded : bool
        Whether the table is collapsed on the page.
    sortable : bool
        Whether clicking a header on the page sorts the table by that column.
    worded : bool
        Whether all cells are aligned like text.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    _: KW_ONLY
    name: str = ""
    folded: bool = False
    sortable: bool = False
    worded: bool = False

    @classmethod
    def of_estimates(
        cls,
        header: Sequence[str],
        rows: Iterable[Sequence[Any]],
        ends: str,
        *,
        first: int = 1,
        digits: int = 4,
        **options: Any,  # noqa: ANN401
    ) -> Table:
        """Return a table whose cells from column `first` on are estimates, or None.

        Each of them takes two columns: the number, and its interval under the header `ends`.
        """
        titles = [*header[:first], *(title for name in header[first:] for title in (name, ends))]
        cells = [(*row[:first], *estimate_cells(*row[first:], digits=digits)) for row in rows]
        return cls(titles, cells, **options)


@dataclass(frozen=True)
class Sentence:
    """A sentence; `key` identifies its replacement on the page when the prior changes."""

    text: str
    key: str = ""

    def __str__(self) -> str:
        return self.text


Part: TypeAlias = str | Sentence | Table | Drawing


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    name : str
        Anchor on the page.
    title : str
    sentences : tuple of Sentence
    charts : tuple of Drawing
    tables : tuple of Table
    code : str
        Text to copy, such as the JSON of a calibrator or the command.
    folded : bool
        Whether the section is collapsed on the page.
    still : bool
        Whether the content is known only at the given prior, so that the page hides it when the
        prior changes.
    """

    name: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    charts: tuple[Drawing, ...] = ()
    tables: tuple[Table, ...] = ()
    code: str = ""
    folded: bool = False
    still: bool = False

    @classmethod
    def of(cls, name: str, title: str, *parts: Part, **options: Any) -> Section:  # noqa: ANN401
        """Return a section of sentences, tables and charts; options are the other fields."""
        texts = sentences(one for one in parts if isinstance(one, (str, Sentence)))
        tables = tuple(one for one in parts if isinstance(one, Table))
        charts = tuple(one for one in parts if isinstance(one, Drawing))
        return cls(name=name, title=title, sentences=texts, charts=charts, tables=tables, **options)


def sentences(texts: Iterable[str | Sentence]) -> tuple[Sentence, ...]:
    """Return texts as sentences."""
    return tuple(Sentence(one) if isinstance(one, str) else one for one in texts)


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report.

    Attributes
    ----------
    title, subtitle : str
    verdict : tuple of Sentence
        The most important sentence first.
    facts : tuple of (str, Number, Range)
        The most important numbers.
    warnings : tuple of str
    sections : tuple of Section
    code : {"ok", "check", "stop", "unknown"} or None
        Machine-readable verdict (`noneg.verdict`); None if there is no verdict.
    sample : Sentence, optional
        The subtitle without technical terms.
    action : (Sentence, Sentence), optional
        The recommended next step, and a command that performs it.
    origin : tuple of (str, str)
        Model, data and date, as pairs of a label and a value.
    """

    title: str = ""
    subtitle: str = ""
    verdict: tuple[Sentence, ...] = ()
    facts: tuple[tuple[str, Number, Range], ...] = ()
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    code: Code | None = None
    sample: Sentence | None = None
    action: tuple[Sentence, Sentence] | None = None
    origin: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, verdict: Iterable[str | Sentence], *sections: Section, **options: Any) -> Document:  # noqa: ANN401
        """Return a document with this verdict and these sections; options are the other fields."""
        return cls(verdict=sentences(verdict), sections=sections, **options)

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """The charts of all sections."""
        return tuple(one for section in self.sections for one in section.charts)


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A row that needs a closer look: its name, its score, and the reason."""

    name: str
    score: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class About:
    """The origin of a report; all fields are optional.

    Attributes
    ----------
    title : str
        Title of the page.
    source : mapping of str to str
        Files and columns by label.
    command : str
        Command that reproduces the report.
    digests : mapping of str to str
        SHA-256 of each file.
    model : str
        Name of the model.
    date : str
        Date when the data were last changed.
    reading : str
        Files and columns as command-line options, for the commands suggested on the page.
    noted : tuple of Noted
        Rows that need a closer look.
    """

    title: str = "Can these scores be trusted?"
    source: Mapping[str, str] | None = None
    command: str = ""
    digests: Mapping[str, str] | None = None
    model: str = ""
    date: str = ""
    reading: str = ""
    noted: tuple[Noted, ...] = ()

    def origin(self) -> tuple[tuple[str, str], ...]:
        """Return the model, data and date, if known, for the first screen."""
        source = self.source or {}
        data = source.get("files") or source.get("table") or ""
        named = (("Model", self.model), ("Data", data), ("Last modified", self.date))
        return tuple(pair for pair in named if pair[1])

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of a name and its value, with versions last."""
        from importlib.metadata import version

        digests = {f"SHA-256 of {name}": text for name, text in (self.digests or {}).items()}
        versions = {name: version(name) for name in ("noneg", "numpy", "scipy")}
        named = {"model": self.model} if self.model else {}
        source = named | dict(self.source or {})
        return (*source.items(), *digests.items(), *versions.items())

    def section(self, *before: str, settings: tuple[tuple[str, str], ...] = ()) -> Section:
        """Return the section on settings, files, versions and the command."""
        table = Table(("", ""), (*settings, *self.rows()), "Settings", worded=True)
        title, code = "How was this computed?", self.command
        return Section.of("computed", title, *before, table, code=code, folded=True)


def digest_files(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every path that is a file, read one block at a time.

    Examples
    --------
    >>> digest_files(["-", "no such file"])
    {}
    """
    return {path: _digest(Path(path)) for path in paths if Path(path).is_file()}


def last_changed(paths: Iterable[str]) -> str:
    """Return the date of the latest change to any of the files, or an empty string.

    Examples
    --------
    >>> last_changed(["-", "no such file"])
    ''
    """
    times = [Path(path).stat().st_mtime for path in paths if Path(path).is_file()]
    return f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d}" if times else ""


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def asset(name: str) -> str:
    """Return the text of a file in the package."""
    return files("noneg.report").joinpath("assets", name).read_text(encoding="utf-8")


def escaped_turns(page: str) -> str:
    r"""Escape characters that are not allowed in a page: surrogates and direction marks.

    Uses JSON and JavaScript escapes, so data inside the page keep their values.

    Examples
    --------
    >>> escaped_turns("<p>\u202etxt.exe</p>\n") == "<p>\\u202etxt.exe</p>\n"
    True
    """
    return _TURNS.sub(lambda found: f"\\u{ord(found[0]):04x}", page)


def markdown(content: Document) -> str:
    """Return a document as Markdown."""
    lines = [f"# {_safe(content.title)}", "", _safe(content.subtitle), ""]
    lines += [f"**{_safe(str(content.verdict[0]))}**", ""]
    lines += [f"{_safe(str(one))}\n" for one in content.verdict[1:]]
    if content.action is not None:
        told, command = content.action
        lines += [f"**Next.** {_safe(str(told))}\n", *_fenced(printable(str(command)))]
    lines += [f"> **Needs your attention.** {_safe(text)}\n" for text in content.warnings]
    for section in content.sections:
        lines += _markdown_section(section)
    return "\n".join(lines).rstrip() + "\n"


def _markdown_section(section: Section) -> Iterator[str]:
    yield f"## {_safe(section.title)}\n"
    for one in section.sentences:
        yield f"{_safe(str(one))}\n"
    for table in section.tables:
        yield from _markdown_table(table)
    if section.code:
        yield from _fenced(section.code)


def _fenced(code: str) -> Iterator[str]:
    fence = "`" * (3 + code.count("`"))
    yield f"{fence}\n{code.rstrip()}\n{fence}\n"


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"{_safe(table.caption)}:\n"
    yield f"| {' | '.join(_safe(name) for name in table.header)} |"
    yield f"|{'|'.join('---' for _ in table.header)}|"
    for row in table.rows:
        yield f"| {' | '.join(_safe(str(cell)) for cell in row)} |"
    yield ""


def _safe(text: str) -> str:
    """Return text that Markdown shows literally: no markup, no HTML, no line breaks."""
    return "".join(f"\\{x}" if x in _SPECIAL else x for x in printable(text))


def text(content: Document, *, width: int | None = WIDTH, color: bool = False) -> str:
    """Return a document for a terminal; lines are not wrapped if `width` is None."""
    from rich.console import Console
    from rich.text import Text

    stream = StringIO()
    out = Console(
        file=stream,
        width=width or UNWRAPPED,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=color,
        no_color=not color,
    )
    for words, style in _head(content):
        out.print(Text(printable(words), style=style))
    for section in content.sections:
        out.print()
        _write_section(out, section)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _head(content: Document) -> Iterator[tuple[str, str]]:
    if content.title:
        yield content.title, "bold"
    if content.subtitle:
        yield content.subtitle, "dim"
    for position, one in enumerate(content.verdict):
        if position == 0:
            yield "", ""
        yield str(one), "" if position else "bold"
    if content.action is not None:
        told, command = content.action
        yield from ((f"Next: {told}", ""), (f"  {command}", "bold"))
    yield from ((f"Note: {words}", "yellow") for words in content.warnings)


def _write_section(out: Console, section: Section) -> None:
    from rich.text import Text

    if section.title:
        out.print(Text(printable(section.title), style="bold"))
    for one in section.sentences:
        out.print(Text(printable(str(one))))
    for header, tables in groupby(section.tables, key=lambda table: table.header):
        out.print(_rich_table(header, list(tables)))
    if section.code:
        out.print(Text(section.code.rstrip(), style="dim"))


def _rich_table(header: Sequence[str], tables: list[Table]) -> RichTable:
    """Return tables with the same columns as a single table with a caption above each part."""
    from rich.table import Table as RichTable
    from rich.text import Text

    together = len(tables) > 1
    caption = None if together else Text(tables[0].caption, style="italic") or None
    shown = RichTable(
        box=None, pad_edge=False, show_header=any(header), title=caption, title_justify="left"
    )
    columns = zip(*(row for table in tables for row in table.rows), strict=True)
    numbers = [any(isinstance(cell, Number) for cell in column) for column in columns]
    for name, number in zip(header, numbers or [False] * len(header), strict=True):
        shown.add_column(Text(name), justify="right" if number else "left", no_wrap=number)
    for table in tables:
        if together:
            shown.add_row(Text(table.caption, style="bold"))
        for first, *others in table.rows:
            cells = [f"{'  ' * together}{first}", *map(str, others)]
            shown.add_row(*(Text(printable(cell)) for cell in cells))
    return shown
