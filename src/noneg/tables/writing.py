"""`write`: `PUScores` -> a CSV or Parquet file, which `read` takes back."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noneg.atomic import replacing
from noneg.laws import FlaggedRows, SplitRows
from noneg.tables.relations import connect, identifier, literal

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noneg.laws import Rows
    from noneg.scores import PUScores

_FORMATS = {
    ".parquet": "FORMAT parquet",
    ".csv": "FORMAT csv, HEADER",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
    ".csv.zst": "FORMAT csv, HEADER, COMPRESSION zstd",
}


def write(
    scores: PUScores, path: str | os.PathLike[str], *, score: str = "score", label: str = "label"
) -> None:
    """Write scores and labels (1 or 0) to a file; numbers come back exactly as they were.

    Parameters
    ----------
    scores : PUScores
        Rows without weights.
    path : path
        Ends in .csv, .csv.gz, .csv.zst, .tsv or .parquet. A file that exists is replaced.
    score, label : str
        Names of the columns.

    Examples
    --------
    >>> import noneg, tempfile
    >>> scores = noneg.PUScores.from_labels([1, 0, 0], [0.9, 0.2, 0.4])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(scores, f"{folder}/scores.csv")
    ...     noneg.read(f"{folder}/scores.csv", score="score", label="label", setting="labelled")
    PUScores(1 positive, 3 labelled rows, prior 0.333333)
    """
    options = format_options(Path(path))
    values, flags = _rows(scores._rows)  # noqa: SLF001 - rows have no public form but a file
    columns = {"score": values, "label": flags.astype(np.int8)}
    names = f"score AS {identifier(score)}, label AS {identifier(label)}"
    with replacing(path) as partial, connect() as connection, write_errors():
        connection.register("rows", columns)
        connection.execute(
            f"COPY (SELECT {names} FROM rows) TO {literal(str(partial))} ({options})"  # noqa: S608
        )


@contextmanager
def write_errors() -> Iterator[None]:
    """Turn what DuckDB says when a disk is full into an error of the system."""
    import duckdb

    try:
        yield
    except duckdb.IOException as error:
        raise OSError(write_failure(error)) from error


def write_failure(error: Exception) -> str:
    """Return why DuckDB could not write a file, without the file's name."""
    message = str(error).strip()
    found = re.search(r'Could not write file \\?"[^"]*": ([\w ]+)', message)
    return found[1] if found else message.splitlines()[0]


def format_options(path: Path) -> str:
    """Return how DuckDB writes a file of this name, or say which names it can have."""
    for suffix, options in _FORMATS.items():
        if path.name.endswith(suffix):
            if path.is_dir() or not path.parent.is_dir():
                what = "is a folder" if path.is_dir() else "lies in a folder that does not exist"
                raise ValueError(f"'path' must be a file, but {str(path)!r} {what}.")
            # The file is a new one that has its name already.
            return f"{options}, USE_TMP_FILE false"
    msg = f"'path' must end in one of {', '.join(_FORMATS)}, got {str(path)!r}."
    raise ValueError(msg)


def _rows(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if isinstance(rows, SplitRows):
        unlabeled, positive = (_rows(source)[0] for source in rows.sources)
        flags = np.repeat([True, False], [positive.size, unlabeled.size])
        return np.concatenate([positive, unlabeled]), flags
    if isinstance(rows, FlaggedRows):
        none = np.zeros(rows.scores.size, dtype=np.bool_)
        return rows.scores, none if rows.flags is None else rows.flags
    raise ValueError("'scores' must be rows without weights, of finite samples, to be written.")
