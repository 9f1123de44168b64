"""Frames of any library that narwhals knows, and mappings of columns -> columns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_flags
from noneg.tables.columns import Columns, about_columns, positive_among, refuse_missing
from noneg.tables.relations import columns_of_relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted


def columns_of_mapping(source: Mapping[str, Any], wanted: Wanted) -> Columns:
    """Read the wanted columns of a mapping of names to vectors."""
    wanted.check_names(list(source), "the mapping")
    vectors = {argument: source[name] for argument, name in wanted.names().items()}
    hidden = np.ma.getmaskarray(vectors["label"]) if np.ma.is_masked(vectors["label"]) else None
    if hidden is not None:
        refuse_missing("label", wanted.label, f"row {int(np.argmax(hidden))}")
    with about_columns():
        flags = check_flags(vectors["label"], wanted.label, wanted.positive_label)
    return Columns.checked(vectors["score"], flags, vectors.get("weight"), wanted)


def known_frame(source: object) -> Any:  # noqa: ANN401
    """Return a frame of any library as a narwhals frame."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(source)
    except TypeError as error:
        msg = (
            "'source' must be a path, a list of paths, a mapping of columns or a data frame, got "
            f"{type(source).__name__}. Use PUScores for plain arrays."
        )
        raise ValueError(msg) from error
    except nw.exceptions.NarwhalsError as error:
        raise ValueError(f"'source' cannot be read: {' '.join(str(error).split())}.") from error


def count_rows(frame: Any) -> float:  # noqa: ANN401
    """Return the number of rows of a narwhals frame; a cluster's is taken for infinite."""
    import narwhals.stable.v2 as nw

    if not isinstance(frame, nw.LazyFrame):
        return len(frame)
    if frame.implementation.is_spark_like():
        return np.inf
    return int(frame.select(nw.len()).collect().item())


def columns_of_frame(source: object, wanted: Wanted) -> Columns:
    """Read the wanted columns of a frame; a lazy one computes no others."""
    import narwhals.stable.v2 as nw

    duckdb = sys.modules.get("duckdb")
    if duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation):
        return columns_of_relation(source, wanted)
    frame = known_frame(source)
    wanted.check_names(frame.collect_schema().names(), "the frame")
    frame = frame.select(*wanted.names().values())
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    series = {argument: frame[name] for argument, name in wanted.names().items()}
    for argument, column in series.items():
        _check_filled(column, argument)
    numbers = {a: _numbers(column) for a, column in series.items() if a != "label"}
    flags = _flags(series["label"], wanted)
    return Columns.checked(numbers["score"], flags, numbers.get("weight"), wanted)


def _check_filled(column: nw.Series[Any], argument: str) -> None:
    empty = column.is_null()
    if argument == "label" and column.dtype.is_float():
        empty = empty | column.is_nan()
    if empty.any():
        refuse_missing(argument, column.name, f"row {int(np.argmax(empty.to_numpy()))}")


def _numbers(column: nw.Series[Any]) -> object:
    import narwhals.stable.v2 as nw

    return (column.cast(nw.Float64) if column.dtype.is_numeric() else column).to_numpy()


def _flags(column: nw.Series[Any], wanted: Wanted) -> NDArray[np.bool_]:
    import narwhals.stable.v2 as nw

    if column.dtype in (nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    found = sorted(column.unique().to_list(), key=str)
    positive = positive_among(found, wanted)
    chosen = [value for value, flag in zip(found, positive, strict=True) if flag]
    return np.asarray(column.is_in(chosen).to_numpy(), dtype=np.bool_)
