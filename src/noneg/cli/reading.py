"""The reading side of the commands: which rows, which columns, by which engine."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options

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
    click.argument("files", nargs=-1, required=True, metavar="FILE..."),
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
    from noneg.cli.terminal import busy
    from noneg.tables import read

    def fetch(asked: dict[str, Any]) -> PUScores:
        return read(list(files), **{name: asked[name] for name in NAMES})

    with busy(f"Reading {' '.join(files)}"):
        return options.settle_prior(fetch, question, level)
