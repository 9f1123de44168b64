"""``noneg demo``: the whole story on bundled data, with the truth beside it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("demo", short_help="Show it on bundled data.")
@click.option(
    "-o",
    "--out",
    default="report.html",
    show_default=True,
    metavar="FILE",
    help="Where to write the report.",
)
def command(out: str) -> None:
    """Evaluate a classifier from positives and unlabeled data, then reveal the hidden labels."""
    from noneg.cli.report import check_out
    from noneg.cli.show_evaluation import show_evaluation
    from noneg.cli.terminal import busy, console, say
    from noneg.demo import handwritten_loops
    from noneg.evaluation import evaluate
    from noneg.report import About, to_html

    if check_out(out, None) != "html":
        raise ValueError(f"'path' must end in .html, got {out!r}. Choose such a name.")
    with busy("Training naive Bayes"):
        data = handwritten_loops()
        evaluation = evaluate(data.scores, recalibrate=True)
        truth = evaluate(data.truth, edges=evaluation.edges)
    about = About(
        title="Does the digit have a loop? Naive Bayes on handwritten digits",
        source={"data": data.story},
        command="noneg demo",
    )
    Path(out).write_text(to_html(evaluation, about, truth=truth), encoding="utf-8")
    terminal = console()
    say(terminal, data.story)
    terminal.print()
    known = ("ece", "ece_width_15", "ece_mass_15")
    errors = {name: getattr(truth, name).value for name in known}
    show_evaluation(terminal, evaluation, errors)
    terminal.print()
    say(terminal, f"Wrote the report, with the truth revealed at its end: {out}", style="bold")
