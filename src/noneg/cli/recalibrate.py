"""``noneg recalibrate`` fits a calibrator to a file; ``noneg apply`` applies it to new rows."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import noneg
from noneg import sentences
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import answer, busy
from noneg.cli.question import STANDARD_INPUT, Question, reading
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from noneg.recalibration import ByGroup, Calibrator, HeldOutByGroup
    from noneg.scores import PUScores

column = opt.option("--column", "Name of the new column.", default="calibrated", metavar="NAME")
# A sketch gives the ends of the range up to its bucket width, which is 2^-9 relative to the score.
BLUR = 1.0 - 2.0**-8
# Number of new groups that a warning names.
MOST_NAMED = 5
table_out = partial(
    opt.written,
    "--out",
    "Output file, FILE with a new column: .csv, .csv.gz, .csv.zst, .tsv or .parquet.",
)


def _methods() -> str:
    listed = (f"{name} ({method.learns})" for name, method in noneg.recalibration.METHODS.items())
    return f"Calibration method, with the parameters that it learns: {', '.join(listed)}."


@main.command(short_help="Recalibrate the scores in a file.")
@reading()
@click.option("--method", default="auto", metavar="NAME", cls=opt.ListingOption, listing=_methods)
@table_out()
@opt.written("--save", "Output file for the calibrator, for noneg apply.")
@column
@opt.option("--folds", "Number of folds for the before/after table.", default=5)
@opt.option("--seed", "Seed of the folds.", default=0)
@opt.by_groups
@opt.force
@opt.as_json
def recalibrate(
    question: Question, method: str, out: str | None, save: str | None, column: str, **options: Any
) -> None:
    """Fit a calibrator to the scores in FILE, report the improvement, and write the new scores.

    The table compares held-out scores before and after: each fold is mapped by a calibrator that
    was chosen and fitted on the other folds. The saved calibrator is fitted on all rows.

    With --by, each group gets a map under its own prior, which follows from the labels if these are
    random. The table shows whether that is better than one map for all rows.

    Examples
    --------
    noneg recalibrate scores.parquet --score p --label confirmed --setting one-sample \
    --prior 0.12 --out better.parquet --save calibrator.json
    """
    from noneg.atomic import write_text
    from noneg.recalibration.choose import find_calibrator, held_out
    from noneg.report.answers import recalibration_answer, recalibration_by_group

    check_table(question, out)
    wanted = find_calibrator(method)
    _check_groups(question)
    scores = question.scores()
    question.tell_notes()
    with busy(f"Fitting {method}"):
        options["level"] = question.level
        found = (
            _by_group(question, wanted, scores, options)
            if question.by
            else held_out(wanted, scores, **options)
        )
    calibrator = found.calibrator
    calibrator.fitted_on_["score_column"] = question.score
    where = {"score": question.score, "column": column, "by": question.by}
    n_rows = write_table(question.files, out, calibrator.transform, **where) if out else None
    if save:
        write_text(save, calibrator.to_json())
    notes = [*found.warnings, *_other_maps(calibrator, scores)]
    made = {"notes": notes, "out": out, "save": save, "n_rows": n_rows}
    written = {"scores": out, "the calibrator": save}
    shown: Any = recalibration_by_group if question.by else recalibration_answer
    question.answer(
        "noneg.recalibration/1",
        found.to_dict() | made,
        lambda: shown(f"{question.source.name}: {scores!r}", found),
        *(f"Wrote {what} to {path}." for what, path in written.items() if path),
    )


def _check_groups(question: Question) -> None:
    """Raise if maps by group are not available; they need all rows in memory and random labels."""
    if not question.by:
        return
    question.keep_rows()
    if question.selection > 1.0:
        rule = "must be 1 with --by: priors of groups follow from labels that are random"
        raise InputError("selection", rule, value=question.selection)


def _by_group(
    question: Question, method: Calibrator, scores: PUScores, options: dict[str, Any]
) -> HeldOutByGroup:
    rows = question.rows
    found = noneg.recalibration.held_out_by_group(
        rows.score,
        rows.flags,
        question.grouping.names_of(rows.codes),
        method=method,
        setting=question.setting,
        prior=None if question.is_labeled else scores.known_prior,
        prior_interval=scores.prior_interval,
        sample_weight=rows.weight,
        weight_kind=question.weight_kind,
        **options,
    )
    found.calibrator.fitted_on_["by"] = list(question.by)
    return found


def _other_maps(calibrator: Calibrator | ByGroup, scores: PUScores) -> list[str]:
    """Return notes on how much the map of all rows depends on a prior that is not known exactly."""
    from noneg.results import fitting

    if scores.prior_interval is None:
        return []
    one = calibrator.overall_ if isinstance(calibrator, noneg.recalibration.ByGroup) else calibrator
    (low,), (high,) = noneg.recalibration.mapped_range(one, scores, [0.5])
    _, least, most = fitting(scores.known_prior, *scores.prior_set)
    priors = {"prior": scores.known_prior, "least": least, "most": most}
    return [sentences.say("map_assumes", **priors, low=low, high=high)]


def check_table(question: Question, out: str | None) -> None:
    """Raise if the table to be rewritten, if any, can be read only once or only remotely."""
    from noneg.tables.writing import format_options

    if not out:
        return
    if STANDARD_INPUT in question.files:
        rule = "cannot be standard input with --out, which reads the rows again"
        raise InputError("source", rule, remedy="Write it to a file first.")
    if question.is_remote or question.summed:
        rule = "must not be given if the rows are not available on this machine"
        there = "Pass --save, and map the scores there with noneg.recalibration.load."
        raise InputError("path", rule, remedy=there)
    format_options(Path(out))


def write_table(files: Iterable[str], out: str, transform: Callable[..., Any], **where: Any) -> int:
    """Write all files with a new column; return the number of rows."""
    from noneg.tables.writing import map_scores

    with busy(f"Writing {out}"):
        return map_scores(list(files), out, transform, **where)


@main.command(short_help="Apply a saved calibrator to new scores.")
@click.argument("calibrator", metavar="CALIBRATOR", type=opt.INPUT)
@opt.FILES
@opt.one_score
@table_out(required=True)
@column
@opt.flag("--any-column", "Allow a column other than the one that the calibrator was fitted on.")
@opt.force
@opt.as_json
def apply(
    calibrator: str, files: tuple[str, ...], score: str, out: str, column: str, *, any_column: bool
) -> None:
    """Write FILE with a new column of scores, mapped by a calibrator from noneg recalibrate --save.

    No labels are needed. Several files are read as one table. Maps by group read the columns that
    define the groups, under their original names. Rows of a new group get the map of all rows, and
    a warning reports their number.

    Examples
    --------
    noneg apply calibrator.json new.parquet --score p --out better.parquet
    """
    from noneg.tables.writing import format_options

    format_options(Path(out))
    loaded = _load(calibrator)
    fitted = loaded.fitted_on_.get("score_column", score)
    if fitted != score and not any_column:
        rule = f"must be {fitted!r}, the column that the calibrator was fitted on"
        anyway = "Pass --any-column to map it anyway."
        raise InputError("score", rule, value=score, remedy=anyway)
    watched = _Watched(loaded)
    by = loaded.fitted_on_.get("by", [])
    n_rows = write_table(files, out, watched, score=score, column=column, by=by)
    warnings = watched.warnings(n_rows)
    content = {
        "calibrator": calibrator,
        "method": loaded.name,
        "fitted_on": loaded.fitted_on_,
        "source": {"files": list(files), "score": score} | ({"by": by} if by else {}),
        "out": out,
        "column": column,
        "n_rows": n_rows,
        "warnings": warnings,
    }
    name = "one map for each group" if by else getattr(loaded, "chosen_", loaded).name
    words = f"Wrote {n_rows:,} rows to {out}; column {column!r} is {score!r} mapped by {name}."
    answer("noneg.apply/1", content, None, words, *(f"Warning: {text}" for text in warnings))


class _Watched:
    """The map, which counts scores outside the range it was fitted on, and rows of new groups."""

    def __init__(self, calibrator: Calibrator | noneg.recalibration.ByGroup) -> None:
        self.calibrator = calibrator
        self.low, self.high = calibrator.fitted_on_.get("score_range", (0.0, 1.0))
        self.outside = 0
        self.new: Counter[str] = Counter()

    def __call__(self, s: NDArray[np.float64], *by: NDArray[np.str_]) -> NDArray[np.float64]:
        inside = (s >= BLUR * self.low) & (1.0 - s >= BLUR * (1.0 - self.high))
        self.outside += int(s.size - inside.sum())
        for names in by:
            self.new.update(self.calibrator.unknown(names).tolist())  # type: ignore[union-attr]
        mapped: NDArray[np.float64] = self.calibrator.transform(s, *by)
        return mapped

    def warnings(self, n_rows: int) -> list[str]:
        found = []
        if self.outside:
            seen = {"outside": self.outside, "rows": n_rows, "low": self.low, "high": self.high}
            found.append(sentences.say("apply_outside", **seen))
        if self.new:
            named = ", ".join(repr(name) for name, _ in self.new.most_common(MOST_NAMED))
            named += ", ..." * (len(self.new) > MOST_NAMED)
            found.append(
                sentences.say("apply_new_groups", new=self.new.total(), rows=n_rows, named=named)
            )
        return found


def _load(path: str) -> Calibrator | ByGroup:
    from noneg.recalibration.base import read_object

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f": {error.strerror}" if isinstance(error, OSError) else " is not text in UTF-8"
        msg = f"cannot read the calibrator {path!r}{why}."
        raise ValueError(f"{msg} Pass a file written by noneg recalibrate --save.") from error
    grouped = read_object(text).get("method") == noneg.recalibration.ByGroup.name
    return (
        noneg.recalibration.ByGroup.from_json(text) if grouped else noneg.recalibration.load(text)
    )
