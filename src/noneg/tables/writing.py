"""`write` saves `PUScores` to a file that `read` accepts; `map_scores` adds a column to files.

`map_scores` writes a function of the scores next to the original columns, in constant memory:
mapped scores are staged in a file, one batch at a time, and joined row by row in the order of the
files.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import closing, contextmanager
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noneg.atomic import replacing, scratch
from noneg.checks import check_scores
from noneg.errors import InputError
from noneg.tables.batches import WantedColumns, numbers, stream
from noneg.tables.files import OpenFiles, connect, identifier, literal, open_files, scan
from noneg.tables.groups import Grouping
from noneg.tables.labels import about_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from duckdb import DuckDBPyRelation

    from noneg.arrays import Floats
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
    """Write scores and labels (1 or 0) to a file; the numbers round-trip exactly.

    Parameters
    ----------
    scores : PUScores
        Unweighted rows.
    path : path
        Path ending in .csv, .csv.gz, .csv.zst, .tsv or .parquet. An existing file is replaced.
    score, label : str
        Names of the columns.

    Examples
    --------
    >>> import noneg, tempfile
    >>> scores = noneg.PUScores.from_labels([1, 0, 0], [0.9, 0.2, 0.4])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(scores, f"{folder}/scores.csv")
    ...     noneg.read(f"{folder}/scores.csv", score="score", label="label", setting="labeled")
    PUScores(1 positive, 3 labeled rows, prior 0.333333)
    """
    options = format_options(Path(path))
    try:
        values, flags = scores.as_given()
    except InputError as error:
        rule = "must be unweighted rows of finite samples in order to be written"
        raise InputError("scores", rule) from error
    columns = {"score": values, "label": flags.astype(np.int8)}
    names = f"score AS {identifier(score)}, label AS {identifier(label)}"
    with replacing(path) as partial, connect() as connection, write_errors():
        connection.register("rows", columns)
        connection.execute(
            f"COPY (SELECT {names} FROM rows) TO {literal(str(partial))} ({options})"  # noqa: S608
        )


@contextmanager
def write_errors() -> Iterator[None]:
    """Turn DuckDB's error about a full disk into an `OSError` that does not name the file."""
    import duckdb

    try:
        yield
    except duckdb.IOException as error:
        message = str(error).strip()
        found = re.search(r'Could not write file \\?"[^"]*": ([\w ]+)', message)
        raise OSError(found[1] if found else message.splitlines()[0]) from error


def format_options(path: Path) -> str:
    """Return DuckDB's options for a file with this name; raise an error for other names."""
    for suffix, options in _FORMATS.items():
        if path.name.endswith(suffix):
            if path.is_dir() or not path.parent.is_dir():
                what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
                raise InputError("path", f"must be a file, but {str(path)!r} {what}.")
            # The file is new and already has its temporary name.
            return f"{options}, USE_TMP_FILE false"
    raise InputError("path", f"must end in one of {', '.join(_FORMATS)}", value=str(path))


def map_scores(
    source: object,
    path: str | os.PathLike[str],
    function: Callable[..., Floats],
    *,
    score: str,
    column: str,
    by: Sequence[str] = (),
) -> int:
    r"""Write files again with an additional column: a function of their scores.

    Parameters
    ----------
    source : path or list of paths
        As in `noneg.read`. The files must have the same columns.
    path : path
        Output path: .csv, .csv.gz, .csv.zst, .tsv or .parquet. The file appears once it is
        complete.
    function : callable
        Maps a vector of scores in [0, 1] to a vector of the same length; with `by`, its second
        argument is the group of each row.
    score : str
        Column that contains the scores.
    column : str
        Name of the new column.
    by : sequence of str
        Columns that define groups.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, two = Path(folder) / "one.csv", Path(folder) / "two.csv"
    ...     _ = one.write_text("id,p\n007,0.5\n008,1\n")
    ...     n = map_scores(one, two, lambda s: s / 2, score="p", column="half")
    ...     print(n, two.read_text().split())
    2 ['id,p,half', '007,0.5,0.25', '008,1,0.5']
    """
    options = format_options(Path(path))
    typed = options.startswith("FORMAT parquet")
    wanted = WantedColumns(texts={"score": score}, groups=Grouping(by) if by else None)
    with open_files(source, wanted) as opened, scratch() as folder:
        _check_columns(opened, column)
        run, mapped = opened.connect().execute, folder / "mapped.parquet"
        with _stage_errors():
            n_rows = _map(opened, mapped, function, wanted)
        # By default, DuckDB spills into the working directory.
        run(f"SET temp_directory = {literal(str(folder))}")
        _table(opened, score, typed=typed).create_view("noneg_table")
        new = f"noneg_mapped.value AS {identifier(column)}"
        stage = f"read_parquet({literal(str(mapped))}) AS noneg_mapped"
        query = f"SELECT noneg_table.*, {new} FROM noneg_table POSITIONAL JOIN {stage}"  # noqa: S608
        with replacing(path) as partial, write_errors():
            run(f"COPY ({query}) TO {literal(str(partial))} ({options})")
    return n_rows


@contextmanager
def _stage_errors() -> Iterator[None]:
    """Distinguish a temporary folder without space from a file that cannot be read."""
    try:
        yield
    except OSError as error:
        # Arrow writes "... Detail: [errno 28] No space left on device".
        reason = str(error).splitlines()[0].rpartition("] ")[2]
        where = f"the temporary folder {tempfile.gettempdir()!r}, which cannot be written: {reason}"
        msg = (
            f"'source' needs space for its scores in {where}. Set TMPDIR to a folder with "
            "enough space."
        )
        raise OSError(msg) from error


def _check_columns(opened: OpenFiles, column: str) -> None:
    opened.check_same(lambda file: (file.names, file.is_parquet), "Write them one by one.")
    first = opened.files[0]
    names = first.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("source", f"must have distinct column names, but {twice!r} appears twice.")
    if column in names:
        msg = f"must be a new name, but {first.name} already has a column {column!r}."
        raise InputError("column", msg, remedy="Choose another name.")


def _map(
    opened: OpenFiles, mapped: Path, function: Callable[..., Floats], wanted: WantedColumns
) -> int:
    """Write the mapped scores to a file, in row order, and return the number of rows."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    n_rows, schema = 0, pa.schema([("value", pa.float64())])
    sources, score, groups = opened.sources(wanted.names()), wanted.texts["score"], wanted.groups
    # Distinct numbers neither repeat nor compress.
    plain = ParquetWriter(mapped, schema, use_dictionary=False, compression="none")
    with closing(stream(sources)) as batches, plain as writer:
        for batch, place, is_text in batches:
            s = numbers(batch["score"], "score", score, place, is_text=is_text)
            by = [] if groups is None else [groups.names_of(groups.codes_of_batch(batch, place))]
            with about_columns(place):
                value = function(check_scores(s, score), *by)
            writer.write_table(pa.table([pa.array(value, pa.float64())], schema))
            n_rows += s.size
    return n_rows


def _table(opened: OpenFiles, score: str, *, typed: bool) -> DuckDBPyRelation:
    """Return all columns under their own names; text becomes numbers only if nothing is lost."""
    first, parts = opened.files[0], []
    for _, members in groupby(opened.files, key=lambda file: file.layout):
        part = scan(opened.connect(), list(members))
        named = zip(part.columns, first.names, strict=True)
        parts.append(
            part.project(", ".join(f"{identifier(c)} AS {identifier(n)}" for c, n in named))
        )
    whole = reduce(lambda one, other: one.union(other), parts)
    if not typed or first.is_parquet:
        return whole
    kinds = {name: _kind(whole, name) for name in first.names} | {score: "DOUBLE"}
    casts = [f"CAST({identifier(n)} AS {kind}) AS {identifier(n)}" for n, kind in kinds.items()]
    return whole.project(", ".join(casts))


def _kind(table: DuckDBPyRelation, name: str) -> str:
    """Return a type that every text in a column can be converted to and back."""
    x = identifier(name)
    back = {kind: f"CAST(TRY_CAST({x} AS {kind}) AS VARCHAR)" for kind in ("BIGINT", "BOOLEAN")}
    same = ", ".join(
        f"coalesce(bool_and(coalesce({written} = {text}, false)), false)"
        for written, text in ((back["BIGINT"], x), (back["BOOLEAN"], f"lower({x})"))
    )
    found = table.filter(f"{x} IS NOT NULL").aggregate(same).fetchall()[0]
    return next((kind for kind, holds in zip(back, found, strict=True) if holds), "VARCHAR")
