"""``noneg apply``: a stored calibrator on new scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noneg.cli import options
from noneg.cli.completion import file_names
from noneg.cli.recalibrate import ENDINGS, check_paths, column, force, write_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noneg.recalibration import Calibrator

# A sketch knows the ends of the range to its buckets, whose relative width is 2^-9 there.
BLUR = 1.0 - 2.0**-8


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
@click.option(
    "--any-column", is_flag=True, help="Map another column than the calibrator was fitted on."
)
@force
@options.as_json
def command(
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
    from noneg.cli.printable import to_json
    from noneg.cli.terminal import console, say

    check_paths({"path": out}, force=force)
    loaded = _load(calibrator)
    fitted = loaded.fitted_on_.get("score_column", score)
    if fitted != score and not any_column:
        msg = f"'score' must be {fitted!r}, the column that the calibrator was fitted on, got"
        raise ValueError(f"{msg} {score!r}. Pass --any-column to map it all the same.")
    watched = _Watched(loaded)
    n_rows = write_scores(files, watched, out, score, column)
    warnings = watched.warnings(n_rows)
    answer = {
        "calibrator": calibrator,
        "method": loaded.name,
        "fitted_on": loaded.fitted_on_,
        "source": {"files": list(files), "score": score},
        "out": out,
        "column": column,
        "n_rows": n_rows,
        "warnings": warnings,
    }
    if as_json:
        click.echo(to_json("noneg.apply/1", answer))
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
    except UnicodeDecodeError as error:
        msg = f"the calibrator cannot be read: {path!r} is no text in UTF-8."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    except OSError as error:
        msg = f"the calibrator cannot be read: {path!r}: {error.strerror}."
        raise ValueError(f"{msg} Pass a file that noneg recalibrate --save wrote.") from error
    return load(text)
