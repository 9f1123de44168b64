"""Whole tables for learners: read from files with column types, and converted to numbers.

Categories become codes, and unknown categories are missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from noneg.errors import InputError
from noneg.tables.batches import WantedColumns, by_argument
from noneg.tables.files import OpenFiles, identifier, open_files, plain_errors, scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyRelation
    from numpy.typing import NDArray


def read_table(
    source: object,
    *,
    columns: Sequence[str] = (),
    texts: Sequence[str] = (),
    named: Mapping[str, str] | None = None,
) -> Any:  # noqa: ANN401
    r"""Read files as one PyArrow table.

    In text files, an empty cell is missing, and a column that contains only numbers is numeric.

    Parameters
    ----------
    source : path or list of paths
        As in `noneg.read`. The files must have the same columns.
    columns : sequence of str
        Columns to read, in this order; all columns by default.
    texts : sequence of str
        Columns that stay text even if they contain only numbers.
    named : mapping of str to str, optional
        Columns to read before the others, keyed by the argument that names them.

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
    first = named or {}
    wanted = WantedColumns(texts={**first, **by_argument((*columns, *texts))})
    with open_files(source, wanted) as opened:
        opened.check_same(lambda file: file.layout)
        with plain_errors(opened.files[0].name):
            table = _typed(opened, set(texts))
            if columns:
                table = table.project(", ".join(map(identifier, (*first.values(), *columns))))
            return table.to_arrow_table()


def check_columns(table: Any, named: Iterable[tuple[str, str]]) -> None:  # noqa: ANN401
    """Raise an error if a column, paired with the argument that names it, is missing."""
    for argument, name in named:
        if name not in table.column_names:
            rule = f"must be a column of {', '.join(table.column_names)}"
            raise InputError(argument, rule, value=name)


def _typed(opened: OpenFiles, texts: set[str]) -> DuckDBPyRelation:
    """Return all columns; columns of text files that contain only numbers become numeric."""
    first, raw = opened.files[0], scan(opened.connect(), opened.files)
    names = dict(zip(first.names, raw.columns, strict=True))
    if first.is_parquet:
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


# Histograms in the engines have this many bins per column.
MOST_CATEGORIES = 254


@dataclass(frozen=True)
class Columns:
    """The columns of a data frame: which ones are categorical, and their known values.

    Numbers, booleans and times are treated as numbers. Text and categories become codes; if there
    are too many, only the most frequent ones do. Values that did not occur in the training table
    are treated as missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30.0, None], "city": ["Rome", "Oslo"]})
    >>> columns = Columns.of(frame)
    >>> columns.categories
    {1: ['Oslo', 'Rome']}
    >>> columns.numbers(pd.DataFrame({"age": [1.0, 2.0], "city": ["Rome", "Paris"]}))
    array([[ 1.,  1.],
           [ 2., nan]])
    """

    categories: dict[int, list[str]]

    @classmethod
    def of(cls, X: Any) -> Self | None:  # noqa: ANN401
        """Return the columns of a data frame; None for anything else."""
        frame = as_frame(X)
        if frame is None:
            return None
        # By position, since names may be numbers.
        columns = (frame[:, k] for k in range(frame.shape[1]))
        return cls({k: _known(_texts(c)) for k, c in enumerate(columns) if not _is_number(c)})

    def numbers(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Return a data frame with these columns as numbers, with nan for missing values."""
        frame = nw.from_native(X, eager_only=True)
        columns = [
            _codes(_texts(frame[:, k]), self.categories[k])
            if k in self.categories
            else _numbers(frame[:, k])
            for k in range(frame.shape[1])
        ]
        return np.column_stack(columns)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:  # noqa: ANN401
    """Return a data frame that narwhals supports; None for anything else."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_number(column: nw.Series[Any]) -> bool:
    kind = column.dtype
    return bool(kind.is_numeric() or kind.is_temporal() or kind == nw.Boolean)


def _numbers(column: nw.Series[Any]) -> NDArray[np.float64]:
    if not _is_number(column):
        # A text column that contained numbers in the training table.
        return np.array([np.nan if v is None else float(v) for v in _texts(column)])
    if column.dtype.is_temporal():
        column = column.cast(nw.Datetime("us")).dt.timestamp("ms")
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _texts(column: nw.Series[Any]) -> list[str | None]:
    # A value that is not equal to itself is missing: nan, and the NA of pandas.
    return [None if v is None or (v == v) is not True else str(v) for v in column.to_list()]  # noqa: PLR0124


def _known(values: Iterable[str | None]) -> list[str]:
    counted = Counter(value for value in values if value is not None)
    return sorted(value for value, _ in counted.most_common(MOST_CATEGORIES))


def _codes(values: Iterable[str | None], known: list[str]) -> NDArray[np.float64]:
    place: dict[str | None, float] = {value: float(k) for k, value in enumerate(known)}
    return np.array([place.get(value, np.nan) for value in values], dtype=np.float64)
