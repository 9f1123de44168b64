"""The reading side of the commands: which rows, which columns, by which engine."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options
from noneg.cli.completion import file_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from noneg.prior import PriorEstimate
    from noneg.scores import PUScores

# What a command passes on to `read_scores`.
NAMES = (
    "score",
    "label",
    "setting",
    "prior",
    "prior_interval",
    "positive_label",
    "weight",
    "weight_kind",
)
_OPTIONS = (
    click.argument("files", nargs=-1, metavar="FILE...", shell_complete=file_names),
    click.option("--score", required=True, metavar="COLUMN", help="Scores in [0, 1]."),
    click.option("--label", required=True, metavar="COLUMN", help="Two values: positive, or not."),
    options.setting,
    options.prior,
    click.option(
        "--prior-interval",
        type=float,
        nargs=2,
        metavar="LOW HIGH",
        help="What is known of the prior.",
    ),
    click.option("--positive-label", metavar="VALUE", help="The label that means positive."),
    click.option("--weight", metavar="COLUMN", help="One weight a row."),
    click.option(
        "--weight-kind",
        type=click.Choice(["frequency", "importance"]),
        default="frequency",
        show_default=True,
        help="Whether a weight counts identical rows or corrects unequal sampling.",
    ),
    click.option(
        "--exact/--sketch",
        default=None,
        help="Keep every row in memory, or count rows in fine buckets.  "
        "[default: buckets above two million rows]",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Who reads the rows: this machine, or a Spark cluster.",
    ),
    click.option("--master", metavar="URL", help="The Spark cluster, such as spark://host:7077."),
    click.option(
        "--table", metavar="NAME", help="A table of the Spark catalogue, instead of FILE."
    ),
)


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the FILE argument and the options that `read_scores` takes."""
    return reduce(lambda function, option: option(function), reversed(_OPTIONS), command)


def read_scores(files: Sequence[str], question: dict[str, Any], level: float = 0.95) -> PUScores:
    """Read what a command was asked about; `question` holds the options of `reading`."""
    return read_with_prior(files, question, level)[0]


def read_with_prior(
    files: Sequence[str], question: dict[str, Any], level: float = 0.95
) -> tuple[PUScores, PriorEstimate | None]:
    """Read as `read_scores` does, and tell how ``--prior estimate`` was answered, None without it.

    `options.tell_prior` writes that into an evaluation; `level` is that of the prior's interval.
    """
    columns = {name: question[name] for name in (*NAMES, "exact")}
    _check_engine(files, question)

    def fetch(asked: dict[str, Any]) -> PUScores:
        options_of_read = columns | {"prior": asked["prior"]}
        if question["engine"] == "spark":
            return _read_by_spark(files, question, options_of_read)
        return _read_here(files, options_of_read)

    return options.settle_prior(fetch, question, level)


def _check_engine(files: Sequence[str], question: dict[str, Any]) -> None:
    if not files and question["table"] is None:
        raise click.UsageError("Missing argument 'FILE...'.")
    if question["engine"] == "spark" and not question["master"]:
        msg = "'master' must say where the cluster is with --engine spark, such as"
        raise ValueError(f"{msg} spark://host:7077, or local[2] for this machine.")
    for name in ("master", "table"):
        if question["engine"] != "spark" and question[name] is not None:
            raise ValueError(f"'{name}' must come with --engine spark, got {question[name]!r}.")


def _read_here(files: Sequence[str], columns: dict[str, Any]) -> PUScores:
    from noneg.cli.terminal import progress
    from noneg.tables import read

    with progress(f"Reading {' '.join(files)}") as advance:
        return read(list(files), **columns, progress=advance)


def _read_by_spark(
    files: Sequence[str], question: dict[str, Any], columns: dict[str, Any]
) -> PUScores:
    from noneg.cli.terminal import busy
    from noneg.tables import read
    from noneg.tables.spark import spark_table

    where = question["master"]
    with busy(f"Reading on {where}"), spark_table(where, files, question["table"]) as frame:
        return read(frame, **columns)
