"""Whole tables from files, with their types: for learners, which take any column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noneg.errors import InputError
from noneg.tables.batches import Wanted
from noneg.tables.files import identifier, open_files, plain_errors, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyRelation

    from noneg.tables.files import OpenFiles


@dataclass(frozen=True)
class _Named(Wanted):
    """Columns that must be there."""

    score: str = ""
    label: str = ""
    needed: tuple[str, ...] = ()

    def names(self) -> dict[str, str]:
        return {f"column {name}": name for name in self.needed}


def read_table(source: object, *, columns: Sequence[str] = (), texts: Sequence[str] = ()) -> Any:  # noqa: ANN401
    r"""Read files as one PyArrow table.

    In text files an empty cell is missing, and a column of numbers alone holds numbers.

    Parameters
    ----------
    source : path or list of paths
        As in `noneg.read`. Files must have the same columns.
    columns : sequence of str
        Columns to read, in this order; by default all.
    texts : sequence of str
        Columns that stay text, even if there are only numbers in them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("age,city\n30,Rome\n,Oslo\n")
    ...     read_table(path).to_pydict()
    {'age': [30.0, None], 'city': ['Rome', 'Oslo']}
    """
    with open_files(source, _Named(needed=(*columns, *texts))) as opened:
        _check_same(opened)
        with plain_errors(opened.files[0].name):
            table = _typed(opened, set(texts))
            if columns:
                table = table.project(", ".join(map(identifier, columns)))
            return table.to_arrow_table()


def _check_same(opened: OpenFiles) -> None:
    first = opened.layouts[0]
    for file, layout in zip(opened.files, opened.layouts, strict=True):
        if layout != first:
            rule = f"must hold files with the same columns, but {file.name} differs from"
            raise InputError("source", f"{rule} {opened.files[0].name}.")


def _typed(opened: OpenFiles, texts: set[str]) -> DuckDBPyRelation:
    """Return all columns; those of text files that hold numbers alone as numbers."""
    layout = opened.layouts[0]
    raw = scan(opened.connect(), opened.files, layout)
    names = dict(zip(layout.names, raw.columns, strict=True))
    if layout.is_parquet:
        kinds = {name: "VARCHAR" for name in names if name in texts}
        cells = {name: identifier(column) for name, column in names.items()}
    else:
        cells = {name: f"nullif(trim({identifier(column)}), '')" for name, column in names.items()}
        tests = [
            f"bool_and(TRY_CAST({x} AS DOUBLE) IS NOT NULL OR {x} IS NULL)" for x in cells.values()
        ]
        found = dict(zip(names, raw.aggregate(", ".join(tests)).fetchall()[0], strict=True))
        kinds = {n: "DOUBLE" if found[n] and n not in texts else "VARCHAR" for n in names}
    cast = {
        name: f"CAST({x} AS {kinds[name]})" if name in kinds else x for name, x in cells.items()
    }
    return raw.project(", ".join(f"{x} AS {identifier(name)}" for name, x in cast.items()))
