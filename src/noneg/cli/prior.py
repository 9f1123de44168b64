"""``noneg prior``: the share of positives, estimated from scores or from features."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import Question, SettingChoice, as_json, reading
from noneg.cli.output import busy, console, print_json, say, show_table
from noneg.cli.prior_sources import NAMES, source_answers, source_options
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from noneg.cli.prior_sources import Answer
    from noneg.prior import PriorEstimate

    Answers = dict[str, "PriorEstimate | str"]

ALL = "all"
OVERLAPS = (0.05, 0.1, 0.2)


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
        help="Scores in [0, 1] of rows that the classifier was not trained on. Without it the "
        "other columns are features, and a classifier is trained on them.",
    ),
    setting=click.option(
        "--setting",
        type=SettingChoice(),
        required=True,
        metavar="[two-sample|one-sample]",
        help="two-sample: positives were collected apart from the unlabeled rows. one-sample: one "
        "sample of everyone, in which some positives are labelled.",
    ),
    prior=False,
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Repeat it to set methods side by side; 'all' takes all that fit. From scores: tightest, "
    "quick, dedpul, bbe, alphamax, alphamax-n, elkan-noto-e1, elkan-noto-e2, elkan-noto-e3, recpe. "
    "From features also tedn, km1, km2, tice, penl1, recpe-features.  [default: tightest]",
)
@click.option(
    "--overlap",
    type=float,
    metavar="SHARE",
    help="Largest part of the negatives that may look like positives, 0 for none. Without it the "
    "answer is an upper bound.",
)
@source_options
@click.option(
    "--feature", "features", multiple=True, metavar="COLUMN", help="A feature; by default, all."
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

    FILE is CSV or Parquet, may be compressed, may be a pattern in quotes, and is standard input
    if it is a dash.

    If some negatives look exactly like positives, every method counts them as positives, and
    nothing in the data can show it: the answer is then an upper bound. Two views, two sources of
    labels, reviewed rows or an earlier period give an interval instead. Several answers are shown
    side by side, with whether they agree.
    """
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
    _show(out, answers, question.level)


def _asked(
    question: Question, features: tuple[str, ...], overlap: float | None
) -> Callable[[str], PriorEstimate]:
    """Return who answers by a method, from scores or from features."""
    from_scores = bool(question.columns["score"])
    return (_from_scores if from_scores else _from_features)(question, features, overlap)


def _chosen(question: Question, methods: tuple[str, ...], others: dict[str, Answer]) -> list[str]:
    """Return the methods to ask: those named, or the default where there is a score."""
    from noneg.prior import DEFAULT, ESTIMATORS, FROM_SCORES, find_estimator

    from_scores = bool(question.columns["score"])
    if others and not methods and not from_scores:
        return []
    fitting = list(FROM_SCORES if from_scores else ESTIMATORS)
    names = fitting if ALL in methods else list(dict.fromkeys(methods)) or [DEFAULT]
    for name in names:
        find_estimator(name)
        if name not in fitting:
            rule = f"must work on scores ({', '.join(fitting)})"
            remedy = "It looks at features: leave out --score."
            raise InputError("methods", rule, value=name, remedy=remedy)
    return names


def _from_scores(
    question: Question, features: tuple[str, ...], overlap: float | None
) -> Callable[[str], PriorEstimate]:
    from noneg.prior import estimate_prior

    if features:
        raise InputError("features", "must not be given with --score. Choose either.")
    if question.setting == "labelled":
        rule = "must be two-sample or one-sample, got 'labelled': labels of every row determine the"
        raise InputError("setting", f"{rule} prior.")
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
        # One classifier serves all methods that work on its scores.
        if not laws:
            laws.append(discriminate(table.X, table.flags, setting=setting))
        return estimate_prior(laws[0], method=name, **options)

    return ask


def _check_features(question: Question) -> None:
    """Refuse options that only scores can follow."""
    if question.columns["weight"]:
        raise InputError("weight", "must not be given without --score.")
    if question.exact is False:
        rule = "must not be given without --score: features are not counted in buckets"
        raise InputError("sketch", rule, remedy="Pass --score, or leave it out.")
    if question.is_remote:
        rule = "must be local without --score: features are read on this machine"
        remedy = "Pass --score, or copy the files here."
        raise InputError("engine", rule, value=question.engine, remedy=remedy)


def _answers(tasks: dict[str, Answer]) -> Answers:
    """Ask every method; where there are several, one that cannot answer says why."""
    if len(tasks) == 1:
        return {name: ask() for name, ask in tasks.items()}
    out: Answers = {}
    for name, ask in tasks.items():
        try:
            out[name] = ask()
        except ValueError as error:
            out[name] = str(error)
    return out


def _title(name: str) -> str:
    from noneg.prior import ESTIMATORS
    from noneg.prior.sources import TITLES

    return TITLES[name] if name in TITLES else ESTIMATORS[name].title


def _show(out: Console, answers: Answers, level: float) -> None:
    header = ["", "prior", f"{100 * level:.6g} % confidence", ""]
    rows = [_row(_title(name), found) for name, found in answers.items()]
    show_table(out, header, rows)
    for sentence in _sentences(answers):
        out.print()
        say(out, sentence, style="yellow" if sentence.startswith("Note") else "")


def _row(title: str, found: PriorEstimate | str) -> list[str]:
    from noneg.results import fitting

    if isinstance(found, str):
        return [title, "-", "no answer", found]
    value, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"[{low}, {high}]"
    if found.is_bound and found.labelled:
        known = f"{low} to {high}"
    kind = f"{found.kind}; see the note" if found.warnings else found.kind
    return [title, value, known, kind]


def _sentences(answers: Answers) -> Iterator[str]:
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    yield from _notes(estimates)
    if len(estimates) == 1:
        yield from _alone(next(iter(estimates.values())))
    elif estimates:
        yield _agreement(estimates)
        yield "Each method assumes its own, which it prints when asked alone."
        if any(found.is_bound for found in estimates.values()):
            yield (
                "An upper bound counts negatives that look exactly like positives as positives; no "
                "data of this kind tell how many there are."
            )


def _notes(estimates: dict[str, PriorEstimate]) -> Iterator[str]:
    """Yield every warning once, with the methods that it is about if there are others."""
    about: dict[str, list[str]] = {}
    for name, found in estimates.items():
        for warning in found.warnings:
            about.setdefault(warning, []).append(_title(name))
    for warning, titles in about.items():
        whose = "" if len(titles) == len(estimates) else f" on {', '.join(titles)}"
        yield f"Note{whose}: {warning}"


def _alone(found: PriorEstimate) -> Iterator[str]:
    from noneg.results import fitting

    yield f"Assumes that {found.assumption}."
    yield f"Interval: {found.interval}."
    if not found.is_bound:
        return
    parts = [
        f"{fitting(found.with_overlap(part), found.low, found.high)[0]} for {part:.0%}"
        for part in OVERLAPS
    ]
    yield (
        "No data of this kind tell whether a part of the negatives looks exactly like positives. "
        f"If one does, the prior is smaller: {', '.join(parts)} of the negatives. If you know a "
        "limit of that part, pass it as --overlap for an interval."
    )


def _agreement(estimates: dict[str, PriorEstimate]) -> str:
    from noneg.prior import agreement
    from noneg.results import fitting

    shared = agreement(estimates.values())
    if shared is not None:
        _, low, high = fitting(shared[0], *shared)
        return f"They agree: all allow priors from {low} to {high}."
    least = max(estimates, key=lambda name: estimates[name].low)
    most = min(estimates, key=lambda name: estimates[name].high)
    one, other = estimates[least].low, estimates[most].high
    return (
        f"They disagree: {_title(least)} says at least {one:.3g}, {_title(most)} at most "
        f"{other:.3g}. An assumption of one of them does not hold."
    )
