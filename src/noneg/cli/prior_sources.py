"""Other sources for the prior than a single score: further options of ``noneg prior``."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from noneg.cli.options import Question
    from noneg.prior import PriorEstimate
    from noneg.tables.reading import Features

    Answer = Callable[[], PriorEstimate]

OPTIONS = (
    click.option(
        "--view",
        "views",
        multiple=True,
        metavar="COLUMN",
        help="Column of scores from a separate group of features; give it twice. The two "
        "scores must be independent within each class.",
    ),
    click.option(
        "--second-label",
        metavar="COLUMN",
        help="Column that is 1 if another process labeled the row, independently of "
        "--label given the score.",
    ),
    click.option(
        "--reviewed",
        metavar="COLUMN",
        help="Column with 1 or 0 for unlabeled rows that were drawn at random and "
        "reviewed; empty for others.",
    ),
    click.option(
        "--stratum",
        metavar="COLUMN",
        help="Numeric column of the strata from which rows were drawn.",
    ),
    click.option(
        "--earlier",
        metavar="FILE",
        help="File with the same columns from an earlier period, whose prior is --earlier-prior.",
    ),
    click.option(
        "--earlier-prior", type=float, metavar="NUMBER", help="Prior in the earlier period."
    ),
)
NAMES = ("views", "second_label", "reviewed", "stratum", "earlier", "earlier_prior")


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for other sources of the prior."""
    return reduce(lambda made, option: option(made), reversed(OPTIONS), command)


def source_answers(question: Question, asked: dict[str, Any]) -> dict[str, Answer]:
    """Return the estimation function of each method for the given options."""
    _check(question, asked)
    return dict(_answers(question, asked))


def _check(question: Question, asked: dict[str, Any]) -> None:
    if len(asked["views"]) not in (0, 2):
        raise InputError("views", "must be given twice", value=len(asked["views"]))
    for name, needed in (("stratum", "reviewed"), ("earlier_prior", "earlier")):
        if asked[name] is not None and asked[needed] is None:
            raise InputError(name, f"requires --{needed}")
    if asked["earlier"] is not None and asked["earlier_prior"] is None:
        raise InputError("earlier", "requires --earlier-prior")
    if asked["earlier"] is not None and not question.columns["score"]:
        raise InputError("earlier", "requires --score")
    if asked["second_label"] is not None and question.setting != "one-sample":
        rule = "requires --setting one-sample: both processes label rows of the same sample"
        raise InputError("second_label", rule)


def _answers(question: Question, asked: dict[str, Any]) -> Iterator[tuple[str, Answer]]:
    if asked["views"]:
        yield "two-views", lambda: _from_views(question, asked["views"])
    if asked["second_label"] is not None:
        yield "two-sources", lambda: _from_sources(question, asked["second_label"])
    if asked["reviewed"] is not None:
        yield "review", lambda: _from_review(question, asked["reviewed"], asked["stratum"])
    if asked["earlier"] is not None:
        yield "earlier", lambda: _from_earlier(question, asked["earlier"], asked["earlier_prior"])


def _columns(
    question: Question, names: list[str], *, files: list[str] | None = None, blanks: bool = False
) -> Features:
    from noneg.tables.reading import read_features

    return read_features(
        list(question.files) if files is None else files,
        label=question.columns["label"],
        columns=names,
        positive_label=question.columns["positive_label"],
        blanks=blanks,
    )


def _from_views(question: Question, views: tuple[str, str]) -> PriorEstimate:
    from noneg.prior import from_two_views

    table = _columns(question, list(views))
    first, second = table.X.T
    options = {"setting": question.setting, "level": question.level}
    return from_two_views(first, second, table.flags, **options)


def _from_sources(question: Question, second: str) -> PriorEstimate:
    from noneg.prior import from_two_sources

    score = question.columns["score"]
    table = _columns(question, [second, *([score] if score else [])], blanks=True)
    column, *scores = table.X.T
    other = column == 1.0
    return from_two_sources(
        table.flags, other, score=scores[0] if score else None, level=question.level
    )


def _from_review(question: Question, reviewed: str, stratum: str | None) -> PriorEstimate:
    from noneg.prior import from_review

    table = _columns(question, [reviewed, *([stratum] if stratum else [])], blanks=True)
    outcome, *strata = table.X[~table.flags].T
    labeled = float(table.flags.mean()) if question.setting == "one-sample" else 0.0
    return from_review(
        outcome, labeled=labeled, strata=strata[0] if strata else None, level=question.level
    )


def _from_earlier(question: Question, earlier: str, prior: float) -> PriorEstimate:
    from noneg.prior import from_earlier
    from noneg.scores import PUScores

    score = [question.columns["score"]]
    before, after = _columns(question, score, files=[earlier]), _columns(question, score)
    setting = question.setting
    scores = PUScores.from_pu_labels(before.flags, before.X[:, 0], prior=prior, setting=setting)
    everyone = after.X[:, 0] if scores.pooled else after.X[~after.flags, 0]
    return from_earlier(scores, everyone, level=question.level)
