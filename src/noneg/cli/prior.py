"""``noneg prior``: the share of positives, estimated from scores or from features."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

import noneg
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import busy
from noneg.cli.question import Question, reading
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from noneg.prior import PriorEstimate
    from noneg.tables.reading import Features

    Answer = Callable[[], PriorEstimate]
    Ask = Callable[[str], PriorEstimate]
    Answers = dict[str, PriorEstimate | str]

ALL = "all"


def _methods() -> str:
    return (
        "Estimation method; repeat it to compare methods, or pass 'all'. "
        f"From scores: {', '.join(noneg.prior.FROM_SCORES)}. "
        f"From features also {', '.join(noneg.prior.FROM_FEATURES)}.  "
        f"[default: {noneg.prior.DEFAULT}]"
    )


_SOURCES = opt.all_of(
    # Sources for the prior other than a single score.
    opt.column(
        "--view",
        "views",
        "Column of scores from a separate group of features; give it twice. The two "
        "scores must be independent within each class.",
        multiple=True,
    ),
    opt.alike(
        {
            "second_label": "Column that is 1 if another process labeled the row, independently of "
            "--label given the score.",
            "reviewed": "Column with 1 or 0 for unlabeled rows that were drawn at random and "
            "reviewed; empty for others.",
            "stratum": "Numeric column of the strata from which rows were drawn.",
        },
        metavar="COLUMN",
    ),
    opt.file(
        "--earlier",
        "File with the same columns from an earlier period, whose prior is --earlier-prior.",
    ),
    opt.number("--earlier-prior", "Prior in the earlier period.", metavar="NUMBER"),
)


@main.command(short_help="Estimate the share of positives.")
@reading(
    score=opt.column(
        "--score",
        "Column of scores in [0, 1] for rows that the classifier was not trained on. "
        "Without it, a classifier is trained on the other columns.",
    ),
    setting=opt.option(
        "--setting",
        "two-sample: positives were collected separately from the unlabeled rows. one-sample: one "
        "sample of the population, in which some positives are labeled.",
        type=opt.SettingChoice(),
        required=True,
        metavar="[two-sample|one-sample]",
    ),
    prior=False,
)
@click.option(
    "--method", "methods", multiple=True, metavar="NAME", cls=opt.ListingOption, listing=_methods
)
@opt.number(
    "--overlap",
    "Largest share of negatives that may look like positives, 0 for none. Without "
    "it, the estimate is an upper bound.",
    metavar="SHARE",
)
@_SOURCES
@opt.column(
    "--feature", "features", "Feature column; may be repeated.  [default: all]", multiple=True
)
@opt.as_json
def prior(
    question: Question,
    methods: tuple[str, ...],
    features: tuple[str, ...],
    overlap: float | None,
    **sources: Any,
) -> None:
    """Estimate the share of positives, the class prior, in FILE.

    FILE is CSV or Parquet, may be compressed, and may be a quoted pattern; a dash means standard
    input.

    If some negatives look exactly like positives, every method counts them as positives, and the
    data cannot reveal this. The estimate is then an upper bound. Two views, two sources of labels,
    reviewed rows or an earlier period give an interval instead. Several estimates are shown side by
    side, with a check of whether they agree.

    Examples
    --------
    noneg prior scores.csv --score p --label confirmed --setting one-sample
    noneg prior scores.csv --score p --label confirmed --setting one-sample --reviewed audit
    noneg prior table.parquet --label confirmed --setting two-sample --method tedn --method bbe
    """
    from noneg.report.answers import prior_answer

    _check_sources(question, sources)
    others = dict(_sources(question, sources))
    names = _chosen(question, methods, others)
    tasks: dict[str, Answer] = {}
    if names:
        # Every method finds the prior from the same scores or features.
        ask = (_from_scores if question.has_scores else _from_features)(question, features, overlap)
        tasks = {name: partial(ask, name) for name in names}
    with busy("Estimating"):
        answers = _answers(tasks | others)
    question.answer(
        "noneg.prior/1",
        {"estimates": answers},
        lambda: prior_answer(answers, question.level),
        title=f"{question.source.words}, {question.setting}",
    )


def _chosen(question: Question, methods: tuple[str, ...], others: dict[str, Answer]) -> list[str]:
    """Return the methods to use: those named, or the default if there is a score."""
    if others and not methods and not question.has_scores:
        return []
    fitting = list(noneg.prior.FROM_SCORES if question.has_scores else noneg.prior.ESTIMATORS)
    names = fitting if ALL in methods else list(dict.fromkeys(methods)) or [noneg.prior.DEFAULT]
    for name in names:
        noneg.prior.find_estimator(name)
        if name not in fitting:
            rule = f"must work on scores ({', '.join(fitting)})"
            remedy = "It works on features: omit --score."
            raise InputError("methods", rule, value=name, remedy=remedy)
    return names


def _from_scores(question: Question, features: Sequence[str], overlap: float | None) -> Ask:
    from noneg.checks import check_pu_setting

    if features:
        raise InputError("features", "must not be combined with --score.")
    check_pu_setting(question.setting)
    scores = question.read()
    options: dict[str, Any] = {"level": question.level, "overlap": overlap}
    return lambda name: noneg.prior.estimate_prior(scores, method=name, **options)


def _from_features(question: Question, features: Sequence[str], overlap: float | None) -> Ask:
    _check_features(question)
    setting, table = question.setting, _columns(question, features)
    # All methods that work on scores use the same classifier.
    classified = cache(partial(noneg.prior.discriminate, table.X, table.flags, setting=setting))

    def ask(name: str) -> PriorEstimate:
        options: dict[str, Any] = {"method": name, "level": question.level, "overlap": overlap}
        if name in noneg.prior.FROM_SCORES:
            return noneg.prior.estimate_prior(classified(), **options)
        return noneg.prior.estimate_prior(table.X, table.flags, setting=setting, **options)

    return ask


def _check_features(question: Question) -> None:
    """Raise if options that apply only to scores are given."""
    if question.weight:
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


def _check_sources(question: Question, asked: dict[str, Any]) -> None:
    if len(asked["views"]) not in (0, 2):
        raise InputError("views", "must be given twice", value=len(asked["views"]))
    given = asked | {"score": question.score}
    pairs = ("stratum", "reviewed"), ("earlier_prior", "earlier"), ("earlier", "earlier_prior")
    for name, needed in (*pairs, ("earlier", "score")):
        if given[name] is not None and given[needed] is None:
            raise InputError(name, f"requires --{opt.dashed(needed)}")
    if asked["second_label"] is not None and question.setting != "one-sample":
        rule = "requires --setting one-sample: both processes label rows of the same sample"
        raise InputError("second_label", rule)


def _sources(question: Question, asked: dict[str, Any]) -> Iterator[tuple[str, Answer]]:
    """Yield the estimation function of each source among the given options."""
    if asked["views"]:
        yield "two-views", lambda: _from_views(question, asked["views"])
    if asked["second_label"] is not None:
        yield "two-sources", lambda: _from_sources(question, asked["second_label"])
    if asked["reviewed"] is not None:
        yield "review", lambda: _from_review(question, asked["reviewed"], asked["stratum"])
    if asked["earlier"] is not None:
        yield "earlier", lambda: _from_earlier(question, asked["earlier"], asked["earlier_prior"])


def _columns(
    question: Question, names: Sequence[str], *, earlier: str | None = None, blanks: bool = False
) -> Features:
    from noneg.tables.reading import read_features

    own = {name: question.columns[name] for name in ("label", "positive_label")}
    files = list(question.files) if earlier is None else [earlier]
    return read_features(files, columns=names, blanks=blanks, **own)


def _from_views(question: Question, views: tuple[str, str]) -> PriorEstimate:
    table = _columns(question, list(views))
    first, second = table.X.T
    options = {"setting": question.setting, "level": question.level}
    return noneg.prior.from_two_views(first, second, table.flags, **options)


def _from_sources(question: Question, second: str) -> PriorEstimate:
    names = filter(None, [second, question.score])
    table = _columns(question, [*names], blanks=True)
    other, *scores = table.X.T
    options = {"score": scores[0] if scores else None, "level": question.level}
    return noneg.prior.from_two_sources(table.flags, other == 1.0, **options)


def _from_review(question: Question, reviewed: str, stratum: str | None) -> PriorEstimate:
    table = _columns(question, [*filter(None, [reviewed, stratum])], blanks=True)
    outcome, *strata = table.X[~table.flags].T
    labeled = float(table.flags.mean()) if question.setting == "one-sample" else 0.0
    by = strata[0] if strata else None
    return noneg.prior.from_review(outcome, labeled=labeled, strata=by, level=question.level)


def _from_earlier(question: Question, earlier: str, prior: float) -> PriorEstimate:
    score = [question.score]
    before, after = _columns(question, score, earlier=earlier), _columns(question, score)
    known = {"prior": prior, "setting": question.setting}
    scores = noneg.PUScores.from_pu_labels(before.flags, before.X[:, 0], **known)
    everyone = after.X[:, 0] if scores.pooled else after.X[~after.flags, 0]
    return noneg.prior.from_earlier(scores, everyone, level=question.level)
