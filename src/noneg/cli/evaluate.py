"""Commands on the scores of one model: ``evaluate``, ``report``, ``threshold`` and ``demo``.

They print or write what `noneg.evaluation` and `noneg.performance.best_threshold` say of them.
"""

from __future__ import annotations

import shlex
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import Question, as_json, reading, tell_prior
from noneg.cli.output import (
    busy,
    check_outputs,
    check_page,
    console,
    force,
    print_json,
    say,
    show,
    show_table,
)
from noneg.errors import InputError

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation
    from noneg.performance import BestThreshold
    from noneg.report import About
    from noneg.results import Estimate
    from noneg.scores import PUScores

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".txt": "text", ".json": "json"}
WANTED = ("precision", "recall", "f_beta", "cost")  # what `best_threshold` takes
GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}


@click.command(
    "evaluate",
    short_help="Measure how calibrated scores are.",
    epilog="\b\nnoneg evaluate scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12",
)
@reading()
@as_json
def evaluate(files: tuple[str, ...], *, as_json: bool, **asked: Any) -> None:  # noqa: ANN401
    """Measure how calibrated the scores in FILE are.

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash. Several files are read as one table.
    """
    from noneg.report.content import summary

    question = Question(files, asked)
    evaluation = _measure(question)
    if as_json:
        source = question.source.to_dict()
        print_json("noneg.evaluation/1", source=source, **evaluation.to_dict())
        return
    out = console()
    say(out, question.source.words, style="bold")
    show(out, summary(evaluation))


def _measure(question: Question, *, recalibrate: bool = False) -> Evaluation:
    from noneg.evaluation import evaluate

    scores, found = question.scores()
    with busy("Measuring"):
        evaluation = evaluate(scores, level=question.level, recalibrate=recalibrate)
    return tell_prior(evaluation, found, question)


@click.command(
    "report",
    short_help="Write one page that says whether scores can be trusted.",
    epilog="\b\nnoneg report scores.parquet --score p --label confirmed --setting one-sample "
    "--prior 0.12 -o report.html",
)
@reading()
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
def report(
    files: tuple[str, ...],
    out: str,
    form: str | None,
    title: str | None,
    *,
    recalibrate: bool,
    force: bool,
    **asked: Any,  # noqa: ANN401
) -> None:
    """Write a report about the scores in FILE.

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash. Several files are read as one table. The page is one file that needs no
    network, and holds sums, not rows.
    """
    question = Question(files, asked)
    chosen = _format(out, form)
    check_outputs({"path": None if out == "-" else out}, files, force=force)
    evaluation = _measure(question, recalibrate=recalibrate)
    if evaluation.recalibration is not None:
        column = question.columns["score"]
        evaluation.recalibration.calibrator.fitted_on_["score_column"] = column
    source = question.source
    about = source.about(title or f"Can the scores in {source.name} be trusted?")
    with busy("Writing"):
        _write(evaluation, about, out, chosen)


def _format(out: str, form: str | None) -> str:
    chosen = form or ("text" if out == "-" else FORMATS.get(Path(out).suffix.lower()))
    if chosen is None:
        remedy = "Choose one of these, or pass --format."
        raise InputError("path", f"must end in {', '.join(FORMATS)}", value=out, remedy=remedy)
    return chosen


def _write(evaluation: Evaluation, about: About, out: str, form: str) -> None:
    """Write a report in a format to a file, and say the verdict; or print it."""
    from noneg import report
    from noneg.atomic import write_text
    from noneg.report.content import document

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
    terminal = console()
    first, *others = document(evaluation, about).verdict
    say(terminal, str(first), style="bold")
    for one in others:
        say(terminal, str(one))
    say(terminal, f"Wrote {out}")


@click.command(
    "threshold",
    short_help="Choose the score from which on to act.",
    epilog="\b\nnoneg threshold scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12 --precision 0.9",
)
@reading()
@click.option("--precision", type=float, help="Smallest threshold with at least this precision.")
@click.option("--recall", type=float, help="Largest threshold with at least this recall.")
@click.option("--f-beta", type=float, help="Threshold of the largest F-measure for this beta.")
@click.option(
    "--cost",
    type=float,
    nargs=2,
    metavar="FP FN",
    help="Threshold of the smallest cost, if a false alarm and a missed positive cost this much.",
)
@click.option("--at", type=float, metavar="SCORE", help="Choose nothing: measure this threshold.")
@as_json
def threshold(
    files: tuple[str, ...],
    at: float | None,
    *,
    as_json: bool,
    **asked: Any,  # noqa: ANN401
) -> None:
    """Choose the score in FILE from which on to call rows positive.

    Say what you want: --precision, --recall, --f-beta or --cost. Then measure what came out on
    other rows, with --at.
    """
    from noneg.performance import best_threshold

    wanted = {name: asked.pop(name) for name in WANTED}
    if sum(value is not None for value in (at, *wanted.values())) != 1:
        raise click.UsageError(
            "Give exactly one of --precision, --recall, --f-beta, --cost and --at."
        )
    question = Question(files, asked)
    scores, _ = question.scores()
    question.tell_notes()
    with busy("Searching"):
        best = best_threshold(scores, **wanted) if at is None else _given(scores, at)
        rates = _rates(scores, best.threshold, question.level)
    if as_json:
        found = {name: rate.to_dict() for name, rate in rates.items()}
        source = question.source.to_dict()
        print_json("noneg.threshold/1", source=source, **best.to_dict(), **found)
        return
    _show_threshold(scores, best, rates, question.level)


def _given(scores: PUScores, at: float) -> BestThreshold:
    from noneg.performance import BestThreshold, confusion, precision

    return BestThreshold(
        threshold=at,
        value=precision(scores, threshold=at),
        criterion=GIVEN,
        confusion=confusion(scores, threshold=at),
    )


def _rates(scores: PUScores, threshold: float, level: float) -> dict[str, Estimate]:
    from noneg.metrics import estimate

    if isinf(threshold):  # no row is flagged
        return {}
    return {name: estimate(name, scores, threshold=threshold, level=level) for name in SHOWN}


def _show_threshold(
    scores: PUScores, best: BestThreshold, rates: dict[str, Estimate], level: float
) -> None:
    out = console()
    say(out, f"{scores!r}")
    where = f"Act from a score of {best.threshold:.6g} on" if rates else "Never act"
    say(out, f"{where}: {best.criterion}.", style="bold")
    out.print()
    rows = [["Rows flagged", f"{100 * float(best.confusion.ppr):.1f} %", "of everyone"]]
    rows += [
        [SHOWN[name], f"{rate.value:.4f}", f"[{rate.low:.4f}, {rate.high:.4f}]"]
        for name, rate in rates.items()
    ]
    show_table(out, ["", "value", f"{100 * level:.6g} % interval"], rows)
    if best.criterion == GIVEN:
        return
    out.print()
    say(
        out,
        "The threshold was chosen on these rows, so it looks a little better than it is; intervals "
        "take it as given. Measure it on other rows, with --at, before you promise anything.",
    )


@click.command("demo", short_help="Show it on bundled data.")
@click.option(
    "-o",
    "--out",
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="Where to write the report.",
)
@click.option(
    "--data", metavar="FOLDER", help="Write the rows there as CSV, for a tour, and no report."
)
@force
def demo(out: str, data: str | None, *, force: bool) -> None:
    """Evaluate a classifier from positives and unlabeled data, then reveal the hidden labels."""
    if data is None:
        check_page(out)
        check_outputs({"path": out}, force=force)
        _write_demo_report(out)
    else:
        _write_demo_data(Path(data), force=force)


def _write_demo_data(folder: Path, *, force: bool) -> None:
    from noneg.demo import TABLES, tables, write_table

    files = scores, tomorrow, truth = [folder / name for name in TABLES]
    for path in files:
        check_outputs({"data": str(path)}, force=force)
    with busy("Training two models"):
        found = tables()
    for path in files:
        write_table(found[path.name], path)
    terminal = console()
    say(terminal, f"{scores}: scored images, some of them confirmed to show a loop.")
    say(terminal, f"{tomorrow}: more images, without labels.")
    say(terminal, f"{truth}: which images have a loop; look last.")
    say(terminal, "Four of ten digits have a loop, so the prior is 0.4. Now try:")
    columns = "--score score --label confirmed --setting one-sample --prior 0.4"
    say(terminal, f"  noneg report {shlex.quote(str(scores))} {columns}", style="bold")


def _write_demo_report(out: str) -> None:
    from noneg.atomic import write_text
    from noneg.demo import handwritten_loops
    from noneg.evaluation import evaluate
    from noneg.report import About, to_html
    from noneg.report.content import summary

    with busy("Training naive Bayes"):
        data = handwritten_loops()
        evaluation = evaluate(data.scores, recalibrate=True)
        truth = evaluate(data.truth, edges=evaluation.edges)
    about = About(
        title="Does the digit have a loop? Naive Bayes on handwritten digits",
        source={"data": data.story},
        command="noneg demo",
    )
    write_text(out, to_html(evaluation, about, truth=truth))
    terminal = console()
    say(terminal, data.story)
    terminal.print()
    show(terminal, summary(evaluation, truth))
    terminal.print()
    say(terminal, f"Wrote the report, with the truth revealed at its end: {out}", style="bold")
