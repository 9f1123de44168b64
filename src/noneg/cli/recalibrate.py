"""``noneg recalibrate`` repairs the probabilities in a file, ``noneg apply`` those of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import STANDARD_INPUT, Question, as_json, file_names, one_score, reading
from noneg.cli.output import busy, check_outputs, console, force, print_json, say, show
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from noneg.recalibration import Calibrator
    from noneg.recalibration.choose import HeldOut
    from noneg.scores import PUScores

column = click.option(
    "--column",
    default="calibrated",
    show_default=True,
    metavar="NAME",
    help="Name of the new column.",
)
# A sketch knows the ends of the range to its buckets, whose relative width is 2^-9 there.
BLUR = 1.0 - 2.0**-8
WHERE = "Where to write FILE with the new column: .csv, .csv.gz, .csv.zst, .tsv or .parquet."


class MethodOption(click.Option):
    """An option whose help lists the methods; they are imported when somebody asks for help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the name of the option and its help."""
        from noneg.recalibration import METHODS

        listed = (f"{name} ({method.learns})" for name, method in METHODS.items())
        self.help = f"The calibrator, by what it learns: {', '.join(listed)}."
        return super().get_help_record(ctx)


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
    cls=MethodOption,
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
    calibrator chosen and fitted on the others. The calibrator written is fitted on all rows.
    """
    from noneg.atomic import write_text
    from noneg.recalibration.choose import find_calibrator, held_out

    folds, seed, column = (asked.pop(name) for name in ("folds", "seed", "column"))
    question = Question(files, asked)
    check_outputs({"path": out, "save": save}, files, force=force)
    if out:
        check_table(question, out)
    wanted = find_calibrator(method)
    scores, _ = question.scores()
    question.tell_notes()
    with busy(f"Fitting {method}"):
        found = held_out(wanted, scores, folds=folds, level=question.level, seed=seed)
    calibrator, score = found.calibrator, question.columns["score"]
    calibrator.fitted_on_["score_column"] = score
    n_rows = _write(files, calibrator.transform, out, score, column) if out else None
    if save:
        write_text(save, calibrator.to_json())
    answer = {
        **found.to_dict(),
        "notes": [*found.warnings, *_other_maps(calibrator, scores)],
        "out": out,
        "save": save,
        "n_rows": n_rows,
    }
    if as_json:
        print_json("noneg.recalibration/1", source=question.source.to_dict(), **answer)
    else:
        _show(f"{question.source.name}: {scores!r}", found, {"scores": out, "the calibrator": save})


def _other_maps(calibrator: Calibrator, scores: PUScores) -> list[str]:
    """Say how far the map depends on a prior that is not known exactly."""
    from noneg.recalibration import mapped_range
    from noneg.results import fitting

    if scores.prior_interval is None:
        return []
    (low,), (high,) = mapped_range(calibrator, scores, [0.5])
    _, least, most = fitting(scores.known_prior, *scores.prior_set)
    here = f"The map holds for the prior {scores.known_prior:.4g}."
    there = f"For priors from {least} to {most} a score of 0.5 stands for {low:.3f} to {high:.3f}."
    return [f"{here} {there}"]


def check_table(question: Question, out: str) -> None:
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


def _write(
    files: tuple[str, ...], transform: Callable[..., Any], out: str, score: str, column: str
) -> int:
    """Write all files with the new column; return the number of rows."""
    from noneg.tables.writing import map_scores

    with busy(f"Writing {out}"):
        return map_scores(list(files), out, transform, score=score, column=column)


def _show(title: str, found: HeldOut, written: dict[str, str | None]) -> None:
    from noneg.report.answers import recalibration_answer

    out = console()
    show(out, recalibration_answer(title, found))
    out.print()
    for what, path in written.items():
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
@click.option(
    "--any-column", is_flag=True, help="Map another column than the calibrator was fitted on."
)
@force
@as_json
def apply(
    calibrator: str,
    files: tuple[str, ...],
    score: str,
    out: str,
    column: str,
    *,
    any_column: bool,
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
    fitted = loaded.fitted_on_.get("score_column", score)
    if fitted != score and not any_column:
        rule = f"must be {fitted!r}, the column that the calibrator was fitted on"
        anyway = "Pass --any-column to map it all the same."
        raise InputError("score", rule, value=score, remedy=anyway)
    watched = _Watched(loaded)
    n_rows = _write(files, watched, out, score, column)
    warnings = watched.warnings(n_rows)
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
            warnings=warnings,
        )
        return
    words = f"Wrote {n_rows:,} rows to {out}; column {column!r} is {score!r} mapped by"
    chosen = getattr(loaded, "chosen_", loaded)
    say(console(), f"{words} {chosen.name}.", style="bold")
    for warning in warnings:
        say(console(), f"Warning: {warning}")


class _Watched:
    """The map, counting scores outside the range that it was fitted on."""

    def __init__(self, calibrator: Calibrator) -> None:
        self.transform = calibrator.transform
        self.low, self.high = calibrator.fitted_on_.get("score_range", (0.0, 1.0))
        self.outside = 0

    def __call__(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = (s >= BLUR * self.low) & (1.0 - s >= BLUR * (1.0 - self.high))
        self.outside += int(s.size - inside.sum())
        mapped: NDArray[np.float64] = self.transform(s)
        return mapped

    def warnings(self, n_rows: int) -> list[str]:
        if not self.outside:
            return []
        seen = f"[{self.low:.4g}, {self.high:.4g}], the range that the calibrator was fitted on"
        return [f"{self.outside:,} of {n_rows:,} scores lie outside {seen}."]


def _load(path: str) -> Calibrator:
    from noneg.recalibration import load

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f": {error.strerror}" if isinstance(error, OSError) else " is not text in UTF-8"
        msg = f"the calibrator cannot be read: {path!r}{why}."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    return load(text)
