"""``noneg compare``: which of several models is best, on the same rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.question import STANDARD_INPUT, Question, reading, short_names
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.comparison import Comparison
    from noneg.scores import PUScores
    from noneg.tables.batches import Columns, Wanted


@main.command(short_help="Find the best of several models on the same rows.")
@reading(
    score=opt.column(
        "--score",
        "Column of scores in [0, 1]; repeat it for several models.",
        required=True,
        multiple=True,
    )
)
@opt.option("--names", "Model names, separated by commas.", metavar="A,B,...")
@opt.option(
    "--criteria",
    "Metrics to compare, separated by commas, such as precision,f_beta,mcc. "
    "[default: proxy_accuracy,proxy_auc,log_loss,brier,debiased_ece]",
    metavar="A,B,...",
)
@opt.option("--reference", "Reference model for differences.", default="best", metavar="NAME")
@opt.option("--threshold", "Decision threshold, for metrics that need one.", default=0.5)
@opt.number(
    "--priors",
    "Range of priors to search for changes in the ranking. "
    "[default: --prior-interval, else half to twice the odds]",
    nargs=2,
    metavar="LOW HIGH",
)
@opt.page
@opt.force
@opt.by_groups
@opt.as_json
def compare(question: Question, names: str | None, out: str | None, **asked: Any) -> None:
    """Find the best of several models, one per FILE or per --score column.

    All models must have scored the same rows in the same order. Each FILE is CSV or Parquet, may be
    compressed, and may be a quoted pattern; a dash means standard input.

    Examples
    --------
    noneg compare old.parquet new.parquet --score p --label confirmed --setting one-sample \
    --prior 0.12
    """
    from noneg.atomic import write_text
    from noneg.report.comparing import comparison_summary, comparison_to_html

    comparison = _compare(question, _name(question, names), **asked)
    if out is not None:
        about = question.source.about("Which model is best?")
        write_text(out, comparison_to_html(comparison, about, warnings=question.notes))
    question.answer(
        "noneg.comparison/1",
        comparison.to_dict(),
        lambda: comparison_summary(comparison, question.notes),
        *([] if out is None else [f"Wrote {out}"]),
        title=question.source.words,
    )


def _name(question: Question, names: str | None) -> dict[str, tuple[str, str]]:
    """Return the file and the column of each model, by name."""
    # A cluster does not keep the row order across tables, so models must be columns of one table.
    files = [question.source.name] if question.is_remote else question.files
    scores: tuple[str, ...] = question.score
    where = [(file, score) for file in files for score in scores]
    if len(where) < 2:
        several = "several --score" if question.is_remote else "several files, or several --score"
        raise InputError("source", "must name at least two models", remedy=f"Give {several}.")
    if STANDARD_INPUT in files and len(scores) > 1:
        rule = "cannot be standard input with several --score: it can be read only once"
        raise InputError("source", rule, remedy="Write it to a file first.")
    given = _own_names(files, scores) if names is None else names.split(",")
    if len(given) != len(where):
        rule = f"must contain one name per model, got {len(given)} for {len(where)} models"
        raise InputError("names", rule)
    name, times = Counter(given).most_common(1)[0]
    if times > 1 or not all(given):
        what = f"{name!r} {times} times" if times > 1 else "an empty one"
        raise InputError("names", f"must give each model a distinct name, got {what}")
    return dict(zip(given, where, strict=True))


def _own_names(files: Sequence[str], scores: Sequence[str]) -> list[str]:
    """Name models by file, column, or both, using the shortest names that are distinct."""
    if len(scores) == 1:
        return short_names(files)
    if len(files) == 1:
        return list(scores)
    return [f"{file}:{score}" for file in short_names(files) for score in scores]


def _compare(
    question: Question, models: dict[str, tuple[str, str]], criteria: str | None, **options: Any
) -> Comparison:
    from noneg.comparison import COMPARED, compare

    tables = _read(question, models)
    (first, one), *others = tables.items()
    for name, other in others:
        _check_rows(one, other, (models[first][0], models[name][0]), question.columns)
    prior, interval = question.prior, question.prior_interval
    question.check_known()
    if question.prior_method is not None:
        found = _estimate(question, tables)
        prior, interval = found.known_prior, found.prior_set
    comparison = compare(
        {name: table.score for name, table in tables.items()},
        one.flags,
        setting=question.setting,
        prior=prior,
        prior_interval=interval,
        selection=question.selection,
        sample_weight=one.weight,
        weight_kind=question.weight_kind,
        criteria=COMPARED if criteria is None else criteria.split(","),
        level=question.level,
        by=None if question.grouping is None else question.grouping.names_of(one.codes),
        **options,
    )
    question.note_negatives(one, prior)
    return replace(comparison, prior=question.found or comparison.prior)


def _read(question: Question, models: dict[str, tuple[str, str]]) -> dict[str, Columns]:
    """Return all rows of each model; buckets cannot be used because they cannot be paired."""
    from noneg.tables.batches import Wanted
    from noneg.tables.groups import Grouping
    from noneg.tables.reading import read_columns

    if question.exact is False:
        rule = "must not be given: differences between models are computed row by row"
        raise InputError("sketch", rule, remedy="Omit it, or pass --exact.")
    wanted = {
        name: Wanted(**question.columns | {"score": score}) for name, (_, score) in models.items()
    }
    if question.by:
        first = next(iter(wanted))
        question.grouping = Grouping(question.by)
        wanted[first] = replace(wanted[first], groups=question.grouping)
    with question.opened() as (opened, _):
        whole = _fetched(opened, list(wanted.values())) if question.is_remote else None
        return {
            name: read_columns([models[name][0]] if whole is None else whole, one)
            for name, one in wanted.items()
        }


def _fetched(frame: Any, wanted: Sequence[Wanted]) -> Any:
    """Return all requested columns of a cluster's frame at once, so that rows stay aligned."""
    from noneg.tables.engines import known_frame

    there = known_frame(frame)
    for one in wanted:
        one.check_names(there.collect_schema().names(), "the frame")
    names = dict.fromkeys(name for one in wanted for name in one.names().values())
    return there.select(*names).collect().to_native()


def _estimate(question: Question, tables: dict[str, Columns]) -> PUScores:
    """Return the scores that best separate positives, with the prior estimated from them."""
    from noneg.comparison import best_separated

    kind = question.weight_kind
    scores = {name: one.scores(question.setting, kind) for name, one in tables.items()}
    best = best_separated(scores)
    told = f"The prior was estimated from the scores of {best!r}, which"
    return question.estimated(scores[best], told)


def _check_rows(
    one: Columns, other: Columns, files: tuple[str, str], columns: dict[str, Any]
) -> None:
    """Raise if the rows of the tables differ, judging by labels and weights."""
    rule = "must contain the same rows in the same order for all models, but"
    if one.flags.size != other.flags.size:
        sizes = f"{files[0]!r} has {one.flags.size:,} rows, {files[1]!r} {other.flags.size:,}"
        raise InputError("source", f"{rule} {sizes}")
    for name, x, y in (("label", one.flags, other.flags), ("weight", one.weight, other.weight)):
        if x is not None and y is not None and (x != y).any():
            row = int((x != y).argmax())
            what = f"column {columns[name]!r} of {files[0]!r} and {files[1]!r} differs in row {row}"
            remedy = "Sort all files by the same key."
            raise InputError("source", f"{rule} {what} (the first is row 0)", remedy=remedy)
