"""Commands on the scores of one model: ``evaluate``, ``report`` and ``demo``.

They print or write the results of `noneg.evaluation`.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import noneg
from noneg.atomic import write_text
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import busy, check_outputs, say, show, tell
from noneg.cli.question import STANDARD_INPUT, Question, reading
from noneg.errors import InputError

if TYPE_CHECKING:
    from noneg.cli.options import Gates
    from noneg.evaluation import Evaluation
    from noneg.report import About
    from noneg.report.document import Noted


@main.command(short_help="Measure the calibration of scores.")
@reading()
@opt.by_groups
@opt.gated
@opt.as_json
def evaluate(question: Question, gates: Gates) -> None:
    """Measure the calibration of the scores in FILE.

    FILE is CSV or Parquet, may be compressed, and may be a quoted pattern; a dash means standard
    input. Several files are read as one table.

    Examples
    --------
    noneg evaluate scores.csv --score p --label confirmed --setting one-sample --prior 0.12
    """
    from noneg.report.content import summary

    evaluation = _measure(question, gates)
    question.answer(
        "noneg.evaluation/1",
        gates.to_dict() | evaluation.to_dict(),
        lambda: summary(evaluation),
        title=question.source.words,
    )
    gates.close()


def _measure(question: Question, gates: Gates, *, recalibrate: bool = False) -> Evaluation:
    """Return the evaluation of the rows, with all notes on them."""
    scores = question.scores(needed=False)
    with busy("Measuring"):
        evaluation = noneg.evaluate(
            scores, level=question.level, recalibrate=recalibrate, by=question.groups
        )
    gates.judge(evaluation, scores)
    return replace(
        evaluation,
        warnings=(*evaluation.warnings, *question.notes),
        audit=question.known,
        prior=question.found or evaluation.prior,
    )


@main.command(short_help="Write a report on whether the scores can be trusted.")
@reading()
@opt.by_groups
@opt.written(
    "-o",
    "--out",
    "Output file: .html, .md, .txt or .json; a dash prints to standard output.",
    default="report.html",
)
@opt.choice(
    "--format",
    "form",
    "Output format, if the file name does not imply it.",
    among=["html", "markdown", "text", "json"],
)
@opt.option("--title", "Title of the page. [default: the model or the files]")
@opt.option("--model", "Model name to show on the page.", metavar="NAME")
@opt.column(
    "--id",
    "name",
    "Column that identifies a row; the page then lists the ten rows that most need a closer look.",
)
@opt.option(
    "--recalibrate/--no-recalibrate", "Whether to show the effect of recalibration.", default=True
)
@opt.gated
@opt.force
def report(
    question: Question, gates: Gates, out: str, form: str | None, *, recalibrate: bool, **named: Any
) -> None:
    """Write a report on the scores in FILE.

    FILE is CSV or Parquet, may be compressed, and may be a quoted pattern; a dash means standard
    input. Several files are read as one table. The page is a single file that needs no network
    access. It contains sums, not rows; with --id, it also contains the IDs and scores of ten rows.

    Examples
    --------
    noneg report scores.parquet --score p --label confirmed --setting one-sample \
    --prior 0.12 -o report.html
    """
    from noneg.report.html import format_of

    remedy = "Choose one of these extensions, or pass --format."
    form = form or ("text" if out == "-" else format_of(out, remedy))
    _check_names(question, named["name"])
    evaluation = _measure(question, gates, recalibrate=recalibrate)
    if evaluation.recalibration is not None:
        evaluation.recalibration.calibrator.fitted_on_["score_column"] = question.score
    about = _about(question, **named)
    with busy("Writing"):
        _write(evaluation, about, out, form)
    gates.close()


def _about(question: Question, title: str | None, model: str | None, name: str | None) -> About:
    source = question.source
    scored = f"of {model}" if model else f"in {source.name}"
    return replace(
        source.about(title or f"Can the scores {scored} be trusted?"),
        model=model or "",
        reading=question.reading,
        noted=() if name is None else _noted(question, name),
    )


# Number of rows of each kind that are named on a page.
NAMED = 5


def _check_names(question: Question, name: str | None) -> None:
    """Raise if rows are to be named but cannot be read a second time."""
    if name is not None and (question.is_remote or STANDARD_INPUT in question.files):
        rule = "must not be given with standard input or a cluster"
        reason, remedy = "whose rows can be read only once", "Omit it, or read from files."
        raise InputError("id", f"{rule}, {reason}", value=name, remedy=remedy)


def _noted(question: Question, name: str) -> tuple[Noted, ...]:
    """Return the rows that most need a closer look, from a second pass over the files."""
    from noneg.report.document import Noted
    from noneg.tables.batches import Wanted
    from noneg.tables.reading import read_extremes

    wanted = Wanted(**question.columns, texts={"id": name})
    with busy("Looking for rows"):
        found = read_extremes(question.files, wanted, NAMED)
    other = "negative" if question.is_labeled else "unlabeled"
    reasons = {"unlabeled": f"{other}, high score", "positive": "labeled positive, low score"}
    return tuple(
        Noted(name=text, score=score, reason=reasons[kind])
        for kind, rows in found.items()
        for score, text in rows
    )


def _write(evaluation: Evaluation, about: About, out: str, form: str) -> None:
    """Write a report to a file and print the verdict, or print the report itself."""
    from noneg.report.content import document
    from noneg.report.html import FORMATS

    text = FORMATS[form](evaluation, about)
    if out == "-":
        click.echo(text, nl=False)
        return
    write_text(out, text)
    tell(*map(str, document(evaluation, about).verdict), f"Wrote {out}")


@main.command(short_help="Show an example report on bundled data.")
@opt.written("-o", "--out", "Output file for the report.  [default: report.html]", type=opt.PAGE)
@opt.option(
    "--data", "Write the example rows to this folder as CSV, instead of a report.", metavar="FOLDER"
)
@opt.force
def demo(out: str | None, data: str | None) -> None:
    """Evaluate a classifier from positives and unlabeled data, then reveal the hidden labels."""
    if data is None:
        out = out or "report.html"
        check_outputs([("out", out)])
        _write_demo_report(out)
    else:
        _write_demo_data(Path(data))


def _write_demo_data(folder: Path) -> None:
    from noneg.demo import TABLES, tables, write_table

    files = scores, tomorrow, truth = [folder / name for name in TABLES]
    check_outputs(("data", str(path)) for path in files)
    with busy("Training two models"):
        found = tables()
    for path in files:
        write_table(found[path.name], path)
    say(f"{scores}: scored images, some of which are confirmed to show a loop.")
    say(f"{tomorrow}: more images, without labels.")
    say(f"{truth}: which images have a loop; open this file last.")
    say("Four of the ten digits have a loop, so the prior is 0.4. Now try:")
    columns = "--score score --label confirmed --setting one-sample --prior 0.4"
    say(f"  noneg report {shlex.quote(str(scores))} {columns}", style="bold")


def _write_demo_report(out: str) -> None:
    from noneg.demo import handwritten_loops
    from noneg.report import About, to_html
    from noneg.report.content import summary

    with busy("Training naive Bayes"):
        data = handwritten_loops()
        evaluation = noneg.evaluate(data.scores, recalibrate=True)
        truth = noneg.evaluate(data.truth, edges=evaluation.edges)
    about = About(
        title="Does the digit have a loop? Naive Bayes on handwritten digits",
        source={"data": data.story},
        command="noneg demo",
        model="naive Bayes",
        reading="scores.csv --score score --label confirmed --setting one-sample",
    )
    write_text(out, to_html(evaluation, about, truth=truth))
    say(data.story)
    click.echo()
    show(summary(evaluation, truth))
    click.echo()
    say(f"Wrote the report, which reveals the true labels at the end: {out}", style="bold")
    say("To run the commands on the page, write its rows here: noneg demo --data .")
