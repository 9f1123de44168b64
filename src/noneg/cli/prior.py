"""``noneg prior``: the share of positives, estimated from scores or from features."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import Question, SettingChoice, as_json, reading
from noneg.cli.output import busy, console, print_json, say, show
from noneg.cli.prior_sources import NAMES, source_answers, source_options
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.cli.prior_sources import Answer
    from noneg.prior import PriorEstimate

    Answers = dict[str, "PriorEstimate | str"]

ALL = "all"


@click.command(
    "prior",
    short_help="Estimate the share of positives.",
    epilog="\b\nnoneg prior scores.csv --score p --label confirmed --setting one-sample\n"
    "noneg prior scores.csv --score p --label confirmed --setting one-sample --reviewed audit\n"
    "noneg prior table.parquet --label confirmed --setting two-sample --method tedn --method bbe",
)
@reading(
    score=click.option(
        "--score",
        metavar="COLUMN",
        help="Column of scores in [0, 1] for rows that the classifier was not trained on. "
        "Without it, a classifier is trained on the other columns.",
    ),
    setting=click.option(
        "--setting",
        type=SettingChoice(),
        required=True,
        metavar="[two-sample|one-sample]",
        help="two-sample: positives were collected separately from the unlabeled rows. "
        "one-sample: one sample of the population, in which some positives are "
        "labeled.",
    ),
    prior=False,
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Estimation method; repeat it to compare methods, or pass 'all'. From scores: tightest, "
    "quick, dedpul, bbe, alphamax, alphamax-n, elkan-noto-e1, elkan-noto-e2, elkan-noto-e3, recpe. "
    "From features also tedn, km1, km2, tice, penl1, recpe-features.  [default: tightest]",
)
@click.option(
    "--overlap",
    type=float,
    metavar="SHARE",
    help="Largest share of negatives that may look like positives, 0 for none. Without "
    "it, the estimate is an upper bound.",
)
@source_options
@click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="COLUMN",
    help="Feature column; may be repeated.  [default: all]",
)
@as_json
def prior(
    files: tuple[str, ...],
    methods: tuple[str, ...],
    features: tuple[str, ...],
    *,
    as_json: bool,
    **asked: Any,  # noqa: ANN401
) -> None:
    """Estimate the share of positives, the class prior, in FILE.

    FILE is CSV or Parquet, may be compressed, and may be a quoted pattern; a dash means standard
    input.

    If some negatives look exactly like positives, every method counts them as positives, and the
    data cannot reveal this. The estimate is then an upper bound. Two views, two sources of labels,
    reviewed rows or an earlier period give an interval instead. Several estimates are shown side by
    side, with a check of whether they agree.
    """
    from noneg.report.answers import prior_answer

    sources = {name: asked.pop(name) for name in NAMES}
    overlap = asked.pop("overlap")
    question = Question(files, asked)
    others = source_answers(question, sources)
    names = _chosen(question, methods, others)
    ask = _asked(question, features, overlap) if names else None
    with busy("Estimating"):
        tasks = {name: partial(ask, name) for name in names if ask} | others
        answers = _answers(tasks)
    if as_json:
        found = {name: x if isinstance(x, str) else x.to_dict() for name, x in answers.items()}
        print_json("noneg.prior/1", source=question.source.to_dict(), estimates=found)
        return
    out = console()
    say(out, f"{question.source.words}, {question.setting}", style="bold")
    show(out, prior_answer(answers, question.level))


def _asked(
    question: Question, features: tuple[str, ...], overlap: float | None
) -> Callable[[str], PriorEstimate]:
    """Return a function that estimates the prior by a method, from scores or from features."""
    from_scores = question.has_scores
    return (_from_scores if from_scores else _from_features)(question, features, overlap)


def _chosen(question: Question, methods: tuple[str, ...], others: dict[str, Answer]) -> list[str]:
    """Return the methods to use: those named, or the default if there is a score."""
    from noneg.prior import DEFAULT, ESTIMATORS, FROM_SCORES, find_estimator

    from_scores = question.has_scores
    if others and not methods and not from_scores:
        return []
    fitting = list(FROM_SCORES if from_scores else ESTIMATORS)
    names = fitting if ALL in methods else list(dict.fromkeys(methods)) or [DEFAULT]
    for name in names:
        find_estimator(name)
        if name not in fitting:
            rule = f"must work on scores ({', '.join(fitting)})"
            remedy = "It works on features: omit --score."
            raise InputError("methods", rule, value=name, remedy=remedy)
    return names


def _from_scores(
    question: Question, features: tuple[str, ...], overlap: float | None
) -> Callable[[str], PriorEstimate]:
    from noneg.checks import check_pu_setting
    from noneg.prior import estimate_prior

    if features:
        raise InputError("features", "must not be combined with --score.")
    check_pu_setting(question.setting)
    scores = question.read_unsettled()
    level = question.level
    return lambda name: estimate_prior(scores, method=name, level=level, overlap=overlap)


def _from_features(
    question: Question, features: tuple[str, ...], overlap: float | None
) -> Callable[[str], PriorEstimate]:
    from noneg.prior import FROM_SCORES, discriminate, estimate_prior
    from noneg.tables.reading import read_features

    _check_features(question)
    setting = question.setting
    with question.opened() as (files, _):
        table = read_features(
            files,
            label=question.columns["label"],
            columns=features,
            positive_label=question.columns["positive_label"],
        )
    laws: list[Any] = []
    options = {"level": question.level, "overlap": overlap}

    def ask(name: str) -> PriorEstimate:
        if name not in FROM_SCORES:
            return estimate_prior(table.X, table.flags, setting=setting, method=name, **options)
        # All methods that work on scores use the same classifier.
        if not laws:
            laws.append(discriminate(table.X, table.flags, setting=setting))
        return estimate_prior(laws[0], method=name, **options)

    return ask


def _check_features(question: Question) -> None:
    """Raise if options that apply only to scores are given."""
    if question.columns["weight"]:
        raise InputError("weight", "must not be given without --score.")
    if question.exact is False:
        rule = "requires --score: features are not counted in buckets"
        raise InputError("sketch", rule, remedy="Pass --score, or omit it.")
    if question.is_remote:
        rule = "must be local without --score, because features are read on this machine"
        remedy = "Pass --score, or copy the files here."
        raise InputError("engine", rule, value=question.engine, remedy=remedy)


def _answers(tasks: dict[str, Answer]) -> Answers:
    """Run every method; if there are several, a failure is reported as its explanation."""
    if len(tasks) == 1:
        return {name: ask() for name, ask in tasks.items()}
    out: dict[str, PriorEstimate | str] = {}
    for name, ask in tasks.items():
        try:
            out[name] = ask()
        except ValueError as error:
            out[name] = str(error)
    return out
