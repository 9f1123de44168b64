"""``noneg evaluate``: whether scores in a file can be trusted."""

from __future__ import annotations

from typing import Any

import click

from noneg.cli import options
from noneg.cli.reading import read_with_prior, reading

NAMES = ("score", "label", "positive_label", "weight")


@click.command(
    "evaluate",
    short_help="Measure how calibrated scores are.",
    epilog="\b\nnoneg evaluate scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12",
)
@reading
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals.")
@options.as_json
def command(files: tuple[str, ...], level: float, *, as_json: bool, **question: Any) -> None:  # noqa: ANN401
    """Measure how calibrated the scores in FILE are.

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash. Several files are read as one table.
    """
    from noneg.checks import check_level
    from noneg.cli.printable import to_json
    from noneg.cli.show_evaluation import show_evaluation
    from noneg.cli.terminal import busy, console, say
    from noneg.evaluation import evaluate

    check_level(level)
    scores, found = read_with_prior(files, question, level)
    with busy("Measuring"):
        evaluation = options.tell_prior(evaluate(scores, level=level), found)
    source = {"files": list(files), **{name: question[name] for name in NAMES}}
    if question["table"] is not None:
        source["table"] = question["table"]
    if as_json:
        click.echo(to_json("noneg.evaluation/1", {"source": source, **evaluation.to_dict()}))
        return
    out = console()
    named = [f"{name.replace('_', ' ')} {question[name]!r}" for name in NAMES if question[name]]
    tables = [*files, *filter(None, [question["table"]])]
    shown = ["standard input" if table == "-" else table for table in tables]
    say(out, f"{', '.join(shown)}: {', '.join(named)}", style="bold")
    show_evaluation(out, evaluation)
