"""``noneg report``: one page that says whether scores can be trusted."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.reading import read_with_prior, reading
from noneg.cli.writing import check_outputs, force

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation
    from noneg.report import About

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".txt": "text", ".json": "json"}
NAMES = ("score", "label", "positive_label", "weight")


@click.command(
    "report",
    short_help="Write one page that says whether scores can be trusted.",
    epilog="\b\nnoneg report scores.parquet --score p --label confirmed --setting one-sample "
    "--prior 0.12 -o report.html",
)
@reading
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals.")
@click.option(
    "-o",
    "--out",
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="Where to write: .html, .md, .txt or .json; a dash prints.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "text", "json"]),
    help="What to write, if the name of the file does not say it.",
)
@click.option("--title", help="Title of the page. [default: the files]")
@click.option(
    "--recalibrate/--no-recalibrate",
    default=True,
    show_default=True,
    help="Whether to try what recalibration would change.",
)
@force
def command(
    files: tuple[str, ...],
    level: float,
    out: str,
    form: str | None,
    title: str | None,
    *,
    recalibrate: bool,
    force: bool,
    **question: Any,  # noqa: ANN401
) -> None:
    """Write a report about the scores in FILE.

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash. Several files are read as one table. The page is one file that needs no
    network, and holds sums, not rows.
    """
    from noneg.checks import check_level
    from noneg.cli import options
    from noneg.cli.terminal import busy
    from noneg.evaluation import evaluate
    from noneg.report.document import About, digest_files

    check_level(level)
    chosen = _format(out, form)
    check_outputs({"path": None if out == "-" else out}, files, force=force)
    scores, estimated = read_with_prior(files, question, level)
    with busy("Measuring"):
        evaluation = evaluate(scores, level=level, recalibrate=recalibrate)
    evaluation = options.tell_prior(evaluation, estimated)
    shown = ["standard input" if file == "-" else file for file in files]
    columns = {name.replace("_", " "): str(question[name]) for name in NAMES if question[name]}
    about = About(
        title=title or f"Can the scores in {', '.join(shown)} be trusted?",
        source={"files": ", ".join(shown)} | columns,
        command=command_line(),
        digests=digest_files(files),
    )
    with busy("Writing"):
        write(evaluation, about, out, chosen)


def _format(out: str, form: str | None) -> str:
    chosen = form or ("text" if out == "-" else FORMATS.get(Path(out).suffix.lower()))
    if chosen is None:
        known = ", ".join(FORMATS)
        raise ValueError(
            f"'path' must end in {known}, got {out!r}. Choose one of these, or pass --format."
        )
    return chosen


def write(evaluation: Evaluation, about: About, out: str, form: str) -> None:
    """Write a report in a format to a file, and say the verdict; or print it."""
    from noneg import report
    from noneg.atomic import write_text
    from noneg.cli.terminal import console, say

    writers = {
        "html": report.to_html,
        "markdown": report.to_markdown,
        "text": report.to_text,
        "json": report.to_json,
    }
    text = writers[form](evaluation, about)
    if out == "-":
        click.echo(text, nl=False)
        return
    write_text(out, text)
    from noneg.report.content import document

    terminal = console()
    first, *others = document(evaluation, about).verdict
    say(terminal, str(first), style="bold")
    for one in others:
        say(terminal, str(one))
    say(terminal, f"Wrote {out}")


def command_line() -> str:
    """Return what was typed."""
    return shlex.join(["noneg", *sys.argv[1:]])
