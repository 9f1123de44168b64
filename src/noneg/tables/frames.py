"""Frames of any library that narwhals knows, and mappings of columns -> streams."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_same_length
from noneg.tables.batches import BATCH, Source
from noneg.tables.columns import about_columns
from noneg.tables.relations import identifier, plain_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted


def source_of_mapping(source: Mapping[str, Any], wanted: Wanted) -> Source:
    """Return the wanted columns of a mapping of names to vectors."""
    import pyarrow as pa

    wanted.check_names(list(source), "the mapping")
    vectors = {name: _vector(source[name], name) for name in wanted.names().values()}
    with about_columns():
        check_same_length(**{name: vector.size for name, vector in vectors.items()})
    columns = {name: _array(vector, name) for name, vector in vectors.items()}
    return _source_of_table(pa.table(columns), wanted)


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


def is_remote(frame: Any) -> bool:  # noqa: ANN401
    """Whether rows live in a cluster or a warehouse, which can sum them where they are."""
    engine = frame.implementation
    return bool(engine.is_spark_like() or engine.is_ibis())


def count_rows(frame: Any) -> float:  # noqa: ANN401
    """Return the number of rows of a remote frame; a cluster's is taken for infinite."""
    import narwhals.stable.v2 as nw

    if frame.implementation.is_spark_like():
        return np.inf
    return int(frame.select(nw.len()).collect().item())


def source_of_frame(frame: Any, wanted: Wanted) -> Source:  # noqa: ANN401
    """Return the wanted columns of a narwhals frame; a lazy one computes no others."""
    import pyarrow as pa

    native = frame.to_native()
    duckdb = sys.modules.get("duckdb")
    if duckdb is not None and isinstance(native, duckdb.DuckDBPyRelation):
        wanted.check_names(native.columns, "the relation")
        batches = partial(_relation_batches, native, wanted.names())
        return Source("the relation", batches, "row {}".format)
    wanted.check_names(frame.collect_schema().names(), "the frame")
    frame = frame.select(*wanted.names().values())
    frame = frame.collect() if hasattr(frame, "collect") else frame
    try:
        return _source_of_table(frame.to_arrow(), wanted)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        msg = f"'source' must hold values of one type in each column, but Arrow says: {reason}."
        raise ValueError(f"{msg} Convert the columns first.") from error


def _source_of_table(table: Any, wanted: Wanted) -> Source:  # noqa: ANN401
    names = wanted.names()

    def batches() -> Iterator[dict[str, Any]]:
        for batch in table.to_batches(BATCH):
            yield {argument: batch.column(name) for argument, name in names.items()}

    return Source("the table", batches, "row {}".format, table.num_rows)


def _relation_batches(relation: Any, names: dict[str, str]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    sql = [f"{identifier(name)} AS {identifier(argument)}" for argument, name in names.items()]
    with plain_errors("the relation"):
        for batch in relation.project(", ".join(sql)).to_arrow_reader(BATCH):
            yield {argument: batch.column(k) for k, argument in enumerate(names)}


def _vector(values: object, name: str) -> NDArray[Any]:
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.ndim != 1:
        msg = f"column {name!r} must be one-dimensional, got shape {array.shape}."
        raise ValueError(f"{msg} Pass one column.")
    return array


def _array(vector: NDArray[Any], name: str) -> Any:  # noqa: ANN401
    import pyarrow as pa

    # Arrow has no numbers longer than doubles.
    vector = vector.astype(np.float64) if vector.dtype.kind == "f" else vector
    try:
        # The NA of pandas comes as an object.
        return pa.array(vector, from_pandas=vector.dtype.kind == "O")
    except pa.ArrowException as error:
        msg = f"column {name!r} must hold values of one type that Arrow knows, got {vector.dtype}."
        raise ValueError(f"{msg} Convert the column first.") from error
