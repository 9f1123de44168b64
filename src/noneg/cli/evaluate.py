"""``noneg evaluate``: whether scores in a file can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noneg.cli import options

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation

NAMES = ("score", "label", "positive_label", "weight")


@click.command(
    "evaluate",
    short_help="Measure how calibrated scores are.",
    epilog="\b\nnoneg evaluate scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--score", required=True, metavar="COLUMN", help="Scores in [0, 1].")
@click.option("--label", required=True, metavar="COLUMN", help="Two values: positive, or not.")
@options.setting
@click.option("--prior", type=float, help="Share of positives in the population, in (0, 1).")
@click.option(
    "--prior-interval", type=float, nargs=2, metavar="LOW HIGH", help="What is known of the prior."
)
@click.option("--positive-label", metavar="VALUE", help="The label that means positive.")
@click.option("--weight", metavar="COLUMN", help="One weight a row.")
@click.option(
    "--weight-kind",
    type=click.Choice(["frequency", "importance"]),
    default="frequency",
    show_default=True,
    help="Whether a weight counts identical rows or corrects unequal sampling.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals.")
@options.as_json
def command(files: tuple[str, ...], level: float, *, as_json: bool, **columns: object) -> None:
    """Measure how calibrated the scores in FILE are.

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash. Several files are read as one table.
    """
    from noneg.checks import check_level
    from noneg.cli.printable import to_json
    from noneg.cli.show_evaluation import show_evaluation
    from noneg.cli.terminal import busy, console, say

    check_level(level)
    with busy(f"Reading {' '.join(files)}"):
        evaluation = _evaluate(files, level, columns)
    source = {"files": list(files), **{name: columns[name] for name in NAMES}}
    if as_json:
        click.echo(to_json("noneg.evaluation/1", {"source": source, **evaluation.to_dict()}))
        return
    out = console()
    named = [f"{name.replace('_', ' ')} {columns[name]!r}" for name in NAMES if columns[name]]
    shown = ["standard input" if file == "-" else file for file in files]
    say(out, f"{', '.join(shown)}: {', '.join(named)}", style="bold")
    show_evaluation(out, evaluation)


def _evaluate(files: tuple[str, ...], level: float, columns: dict[str, object]) -> Evaluation:
    from noneg.evaluation import evaluate
    from noneg.tables import read

    return evaluate(read(list(files), **columns), level=level)  # type: ignore[arg-type]
