"""``noneg recalibrate``: repair the probabilities in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options
from noneg.cli.reading import read_scores, reading
from noneg.cli.writing import check_outputs, force

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from noneg.recalibration.choose import HeldOut
    from noneg.scores import PUScores

column = click.option(
    "--column",
    default="calibrated",
    show_default=True,
    metavar="NAME",
    help="Name of the new column.",
)
ENDINGS = ".csv, .csv.gz, .csv.zst, .tsv or .parquet"


@click.command(
    "recalibrate",
    short_help="Repair the probabilities in a file.",
    epilog="\b\nnoneg recalibrate scores.parquet --score p --label confirmed --setting one-sample "
    "--prior 0.12 --out better.parquet --save calibrator.json",
)
@reading
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, platt, temperature, beta, isotonic, histogram, bpm, spline, mix-n-match, "
    "scaling-binning, prior-shift or identity.",
)
@click.option("--out", metavar="FILE", help=f"Where to write FILE with the new column: {ENDINGS}.")
@click.option("--save", metavar="FILE", help="Where to write the calibrator, for noneg apply.")
@column
@click.option(
    "--folds", type=int, default=5, show_default=True, help="Folds of the before/after table."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the folds.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals.")
@force
@options.as_json
def command(
    files: tuple[str, ...],
    method: str,
    out: str | None,
    save: str | None,
    column: str,
    *,
    force: bool,
    as_json: bool,
    **question: Any,  # noqa: ANN401
) -> None:
    """Fit a calibrator on the scores in FILE, tell what it repairs, and write what it gives.

    The table compares scores before and after on rows that were held out: each fold is mapped by a
    calibrator chosen and fitted on the others. The calibrator written is fitted on all rows.
    """
    from noneg.atomic import write_text
    from noneg.checks import check_level
    from noneg.cli.terminal import busy
    from noneg.recalibration.choose import find_calibrator, held_out

    folds, seed, level = (question.pop(name) for name in ("folds", "seed", "level"))
    check_level(level)
    check_outputs({"path": out, "save": save}, files, force=force)
    _check_table(files, out, question)
    asked = find_calibrator(method)
    scores = read_scores(files, question, level)
    with busy(f"Fitting {method}"):
        found = held_out(asked, scores, folds=folds, level=level, seed=seed)
    calibrator, score = found.calibrator, question["score"]
    calibrator.fitted_on_["score_column"] = score
    n_rows = write_scores(files, calibrator.transform, out, score, column) if out else None
    if save:
        write_text(save, calibrator.to_json())
    answer = {
        "source": {"files": list(files), "score": question["score"], "label": question["label"]},
        **found.to_dict(),
        "notes": list(found.warnings),
        "out": out,
        "save": save,
        "n_rows": n_rows,
    }
    _show(answer, found, scores, as_json=as_json)


def _check_table(files: tuple[str, ...], out: str | None, question: dict[str, Any]) -> None:
    """Refuse to write again what can be read only once, or only elsewhere."""
    from noneg.tables.writing import format_options

    if out and "-" in files:
        msg = "'source' cannot be standard input with --out, which reads it again."
        raise ValueError(f"{msg} Write it to a file first.")
    if out and question.get("engine", "local") != "local":
        msg = "'path' must not be given when a cluster reads the rows. Pass --save, and map the"
        raise ValueError(f"{msg} scores there with noneg.recalibration.load.")
    if out:
        format_options(Path(out))


def write_scores(
    files: tuple[str, ...], transform: Callable[..., Any], out: str, score: str, column: str
) -> int:
    """Write all files with the new column; return the number of rows."""
    from noneg.cli.terminal import busy
    from noneg.tables.mapping import map_scores

    with busy(f"Writing {out}"):
        return map_scores(list(files), out, transform, score=score, column=column)


def _show(answer: dict[str, Any], found: HeldOut, scores: PUScores, *, as_json: bool) -> None:
    from noneg.cli.printable import to_json
    from noneg.cli.terminal import console, say

    if as_json:
        click.echo(to_json("noneg.recalibration/1", answer))
        return
    out = console()
    say(out, f"{', '.join(answer['source']['files'])}: {scores!r}", style="bold")
    say(out, answer["reason"] or f"Method: {found.method}.")
    for note in answer["notes"]:
        say(out, f"Note: {note}")
    out.print()
    _show_table(out, found)
    for path, what in ((answer["out"], "scores"), (answer["save"], "the calibrator")):
        if path:
            say(out, f"Wrote {what} to {path}.", style="bold")


def _show_table(out: Console, found: HeldOut) -> None:
    from noneg.cli.terminal import say, show_table
    from noneg.performance.selection import CRITERIA

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
