"""``noneg demo``: the whole story on bundled data, with the truth beside it."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from noneg.cli.writing import check_outputs, check_page, force


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
def command(out: str, data: str | None, *, force: bool) -> None:
    """Evaluate a classifier from positives and unlabeled data, then reveal the hidden labels."""
    if data is None:
        check_page(out)
        check_outputs({"path": out}, force=force)
        _report(out)
    else:
        _write(Path(data), force=force)


def _write(folder: Path, *, force: bool) -> None:
    from noneg.cli.terminal import busy, console, say
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


def _report(out: str) -> None:
    from noneg.atomic import write_text
    from noneg.cli.show_evaluation import show_evaluation
    from noneg.cli.terminal import busy, console, say
    from noneg.demo import handwritten_loops
    from noneg.evaluation import evaluate
    from noneg.report import About, to_html

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
    show_evaluation(terminal, evaluation, truth)
    terminal.print()
    say(terminal, f"Wrote the report, with the truth revealed at its end: {out}", style="bold")
