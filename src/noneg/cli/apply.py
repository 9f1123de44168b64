"""``noneg apply``: a stored calibrator on new scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noneg.cli import options
from noneg.cli.completion import file_names
from noneg.cli.recalibrate import ENDINGS, column, write_scores
from noneg.cli.writing import check_outputs, force

if TYPE_CHECKING:
    from noneg.recalibration import Calibrator


@click.command(
    "apply",
    short_help="Map new scores by a stored calibrator.",
    epilog="\b\nnoneg apply calibrator.json new.parquet --score p --out better.parquet",
)
@click.argument("calibrator", metavar="CALIBRATOR", shell_complete=file_names)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=file_names)
@click.option("--score", required=True, metavar="COLUMN", help="Scores in [0, 1].")
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    help=f"Where to write FILE with the new column: {ENDINGS}.",
)
@column
@force
@options.as_json
def command(
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
    from noneg.cli.printable import to_json
    from noneg.cli.terminal import console, say
    from noneg.tables.writing import format_options

    check_outputs({"path": out}, (calibrator, *files), force=force)
    format_options(Path(out))
    loaded = _load(calibrator)
    n_rows = write_scores(files, loaded, out, score, column)
    answer = {
        "calibrator": calibrator,
        "method": loaded.name,
        "fitted_on": loaded.fitted_on_,
        "source": {"files": list(files), "score": score},
        "out": out,
        "column": column,
        "n_rows": n_rows,
    }
    if as_json:
        click.echo(to_json("noneg.apply/1", answer))
        return
    words = f"Wrote {n_rows:,} rows to {out}; column {column!r} is {score!r} mapped by"
    chosen = getattr(loaded, "chosen_", loaded)
    say(console(), f"{words} {chosen.name}.", style="bold")


def _load(path: str) -> Calibrator:
    from noneg.recalibration import load

    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        msg = f"the calibrator cannot be read: {path!r} is no text in UTF-8."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    except OSError as error:
        msg = f"the calibrator cannot be read: {path!r}: {error.strerror}."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    return load(text)
