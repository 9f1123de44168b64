"""The report as Markdown and as plain text for a terminal: the same content, without charts."""

from __future__ import annotations

import json
from importlib.metadata import version
from io import StringIO
from typing import TYPE_CHECKING

from noneg.report.content import document
from noneg.report.printable import plain, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.evaluation import Evaluation
    from noneg.recalibration import HeldOut
    from noneg.report.about import About
    from noneg.report.document import Document, Section, Table

SCHEMA = "noneg.report/1"
WIDTH = 100
_SPECIAL = "\\`*_{}[]<>#|!~"


def to_markdown(evaluation: Evaluation, about: About | None = None) -> str:
    """Return the report as Markdown.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> text = to_markdown(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> print(text.splitlines()[0])
    # Can these scores be trusted?
    """
    return markdown(document(evaluation, about))


def markdown(content: Document) -> str:
    """Return a document as Markdown."""
    lines = [f"# {_safe(content.title)}", "", _safe(content.subtitle), ""]
    lines += [f"**{_safe(str(content.verdict[0]))}**", ""]
    lines += [f"{_safe(str(one))}\n" for one in content.verdict[1:]]
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
        fence = "`" * (3 + section.code.count("`"))
        yield f"{fence}\n{section.code.rstrip()}\n{fence}\n"


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"{_safe(table.caption)}:\n"
    yield f"| {' | '.join(_safe(name) for name in table.header)} |"
    yield f"|{'|'.join('---' for _ in table.header)}|"
    for row in table.rows:
        yield f"| {' | '.join(_safe(str(cell)) for cell in row)} |"
    yield ""


def _safe(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no HTML, no line breaks."""
    return "".join(f"\\{x}" if x in _SPECIAL else x for x in printable(text))


def to_text(
    evaluation: Evaluation, about: About | None = None, *, width: int = WIDTH, colour: bool = False
) -> str:
    """Return the report for a terminal.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
    width : int
        Columns of the terminal.
    colour : bool
        Whether to add the codes for bold and colour.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> text = to_text(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> print(text.splitlines()[0])
    Can these scores be trusted?
    """
    return text(document(evaluation, about), width=width, colour=colour)


def text(content: Document, *, width: int = WIDTH, colour: bool = False) -> str:
    """Return a document for a terminal."""
    from rich.console import Console
    from rich.text import Text

    out = Console(
        file=StringIO(),
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=colour,
        no_color=not colour,
    )

    def say(words: str, style: str = "") -> None:
        out.print(Text(printable(words), style=style))

    say(content.title, "bold")
    say(content.subtitle, "dim")
    out.print()
    say(str(content.verdict[0]), "bold")
    for one in content.verdict[1:]:
        say(str(one))
    for words in content.warnings:
        say(f"\N{BULLET} {words}", "yellow")
    for section in content.sections:
        out.print()
        say(section.title, "bold")
        for one in section.sentences:
            say(str(one))
        for table in section.tables:
            out.print(_rich_table(table))
        if section.code:
            out.print(Text(section.code.rstrip(), style="dim"))
    stream = out.file
    assert isinstance(stream, StringIO)  # noqa: S101 - it was made above
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _rich_table(table: Table) -> object:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        box=None,
        pad_edge=False,
        title=Text(table.caption),
        title_justify="left",
        show_header=any(table.header),
        header_style="bold",
    )
    for name in table.header:
        shown.add_column(Text(name))
    for row in table.rows:
        shown.add_row(*(Text(printable(str(cell))) for cell in row))
    return shown


def to_json(evaluation: Evaluation, about: About | None = None) -> str:
    """Return the report as JSON: the verdict, the evaluation, and where it comes from.

    Examples
    --------
    >>> import json
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> found = json.loads(to_json(evaluate(world.draw(500, 5000, setting="two-sample", seed=0))))
    >>> found["schema"], found["evaluation"]["setting"]
    ('noneg.report/1', 'two-sample')
    """
    content = document(evaluation, about)
    found = evaluation.recalibration
    return json.dumps(
        plain(
            {
                "schema": SCHEMA,
                "version": version("noneg"),
                "title": content.title,
                "verdict": [str(one) for one in content.verdict],
                "warnings": list(content.warnings),
                "source": dict(about.rows()) if about else {},
                "command": about.command if about else "",
                "evaluation": evaluation.to_dict(),
                "recalibration": None if found is None else _recalibration(found),
            }
        ),
        indent=2,
        allow_nan=False,
    )


def _recalibration(found: HeldOut) -> dict[str, object]:
    return {
        "method": found.chosen,
        "reason": found.reason,
        "folds": found.folds,
        "errors": {name: list(pair) for name, pair in found.errors.items()},
        "brier_change": found.change["brier"].to_dict(),
        **{side: diagram.to_dict() for side, diagram in found.reliability.items()},
        "calibrator": found.calibrator.to_json(),
        "warnings": list(found.warnings),
    }
