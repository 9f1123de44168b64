"""``noneg recalibrate`` repairs the probabilities in a file, ``noneg apply`` those of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import STANDARD_INPUT, Question, as_json, file_names, one_score, reading
from noneg.cli.output import (
    busy,
    check_outputs,
    console,
    force,
    print_json,
    say,
    show_table,
)
from noneg.errors import InputError

if TYPE_CHECKING:
    from noneg.recalibration import Calibrator
    from noneg.recalibration.held_out import HeldOut
    from noneg.scores import PUScores

column = click.option(
    "--column",
    default="calibrated",
    show_default=True,
    metavar="NAME",
    help="Name of the new column.",
)
WHERE = "Where to write FILE with the new column: .csv, .csv.gz, .csv.zst, .tsv or .parquet."


@click.command(
    "recalibrate",
    short_help="Repair the probabilities in a file.",
    epilog="\b\nnoneg recalibrate scores.parquet --score p --label confirmed --setting one-sample "
    "--prior 0.12 --out better.parquet --save calibrator.json",
)
@reading()
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, platt, temperature, beta, isotonic, histogram, bpm, spline, mix-n-match, "
    "scaling-binning, prior-shift or identity.",
)
@click.option("--out", metavar="FILE", help=WHERE)
@click.option("--save", metavar="FILE", help="Where to write the calibrator, for noneg apply.")
@column
@click.option(
    "--folds", type=int, default=5, show_default=True, help="Folds of the before/after table."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the folds.")
@force
@as_json
def recalibrate(
    files: tuple[str, ...],
    method: str,
    out: str | None,
    save: str | None,
    *,
    force: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401
) -> None:
    """Fit a calibrator on the scores in FILE, tell what it repairs, and write what it gives.

    The table compares scores before and after on rows that were held out: each fold is mapped by a
    calibrator fitted on the others. The calibrator that is written is fitted on all rows.
    """
    from noneg.atomic import write_text
    from noneg.recalibration.held_out import find_calibrator, held_out

    folds, seed, column = (asked.pop(name) for name in ("folds", "seed", "column"))
    question = Question(files, asked)
    check_outputs({"path": out, "save": save}, files, force=force)
    if out:
        _check_table(question, out)
    calibrator = find_calibrator(method)
    scores, _ = question.scores()
    with busy(f"Fitting {method}"):
        notes = _fit(calibrator, scores)
        found = held_out(calibrator, scores, folds=folds, level=question.level, seed=seed)
    n_rows = _write(files, calibrator, out, question.columns["score"], column) if out else None
    if save:
        write_text(save, calibrator.to_json())
    answer = {
        **found.to_dict(),
        "chosen": getattr(calibrator, "chosen_", calibrator).name,
        "reason": getattr(calibrator, "reason_", ""),
        "notes": notes,
        "out": out,
        "save": save,
        "n_rows": n_rows,
    }
    if as_json:
        print_json("noneg.recalibration/1", source=question.source.to_dict(), **answer)
    else:
        _show(f"{question.source.name}: {scores!r}", answer, found)


def _check_table(question: Question, out: str) -> None:
    """Refuse to write again what can be read only once, or only elsewhere."""
    from noneg.tables.writing import format_options

    if STANDARD_INPUT in question.files:
        rule = "cannot be standard input with --out, which reads it again"
        raise InputError("source", rule, remedy="Write it to a file first.")
    if question.is_remote:
        rule = "must not be given when a cluster reads the rows"
        there = "Pass --save, and map the scores there with noneg.recalibration.load."
        raise InputError("path", rule, remedy=there)
    format_options(Path(out))


def _fit(calibrator: Calibrator, scores: PUScores) -> list[str]:
    """Fit, and return what the calibrator warns of."""
    import warnings

    from noneg.recalibration import CalibrationWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrationWarning)
        calibrator.fit(scores)
    return [str(warning.message) for warning in caught]


def _write(
    files: tuple[str, ...], calibrator: Calibrator, out: str, score: str, column: str
) -> int:
    """Write all files with the new column; return the number of rows."""
    from noneg.tables.mapping import map_scores

    with busy(f"Writing {out}"):
        return map_scores(list(files), out, calibrator.transform, score=score, column=column)


def _show(title: str, answer: dict[str, Any], found: HeldOut) -> None:
    from noneg.performance.selection import CRITERIA

    out = console()
    say(out, title, style="bold")
    say(out, answer["reason"] or f"Method: {found.method}.")
    for note in answer["notes"]:
        say(out, f"Note: {note}")
    out.print()
    rows = [
        [CRITERIA[name].label, str(found.before[name]), str(found.after[name]), str(gap)]
        for name, gap in found.change.items()
    ]
    show_table(out, ["", "before", "after", "change"], rows)
    say(
        out,
        f"On held-out rows of {found.folds} folds; {100 * found.level:.6g} % intervals in brackets;"
        " lower is better. Intervals do not include how the map itself varies.",
    )
    out.print()
    for path, what in ((answer["out"], "scores"), (answer["save"], "the calibrator")):
        if path:
            say(out, f"Wrote {what} to {path}.", style="bold")


@click.command(
    "apply",
    short_help="Map new scores by a stored calibrator.",
    epilog="\b\nnoneg apply calibrator.json new.parquet --score p --out better.parquet",
)
@click.argument("calibrator", metavar="CALIBRATOR", shell_complete=file_names)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=file_names)
@one_score
@click.option("--out", required=True, metavar="FILE", help=WHERE)
@column
@force
@as_json
def apply(
    calibrator: str,
    files: tuple[str, ...],
    score: str,
    out: str,
    column: str,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write FILE with a new column, the scores mapped by what noneg recalibrate --save wrote.

    No label is needed. Several files are read as one table.
    """
    from noneg.tables.writing import format_options

    check_outputs({"path": out}, (calibrator, *files), force=force)
    format_options(Path(out))
    loaded = _load(calibrator)
    n_rows = _write(files, loaded, out, score, column)
    if as_json:
        print_json(
            "noneg.apply/1",
            calibrator=calibrator,
            method=loaded.name,
            fitted_on=loaded.fitted_on_,
            source={"files": list(files), "score": score},
            out=out,
            column=column,
            n_rows=n_rows,
        )
        return
    words = f"Wrote {n_rows:,} rows to {out}; column {column!r} is {score!r} mapped by"
    chosen = getattr(loaded, "chosen_", loaded)
    say(console(), f"{words} {chosen.name}.", style="bold")


def _load(path: str) -> Calibrator:
    from noneg.recalibration import load

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f": {error.strerror}" if isinstance(error, OSError) else " is not text in UTF-8"
        msg = f"the calibrator cannot be read: {path!r}{why}."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    return load(text)
