"""Data frames of any library that narwhals supports, mappings of columns, and Spark tables.

Frames in memory become streams of Arrow batches. Frames of a remote engine are sketched where they
are stored, by one narwhals expression that only compares, multiplies by powers of two, rounds down
and adds. No bucket depends on a logarithm, whose last bit differs between engines, so every engine
assigns every double to the bucket given by `noneg.kernels.bucket_of`. Columns are projected and
cast first and then built one after another, so that none is computed twice; the result is one small
table.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np

from noneg.checks import check_same_length, remedy
from noneg.errors import InputError
from noneg.extras import optional
from noneg.kernels import MANTISSA_BITS, TAIL_EDGE
from noneg.sketch import Sketch
from noneg.sketch.forms import GRIDS, SUMS
from noneg.tables.batches import BATCH, Source
from noneg.tables.files import relation_batches
from noneg.tables.labels import Labels, about_columns, meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from noneg.checks import WeightKind
    from noneg.kernels import Grid
    from noneg.tables.batches import Wanted
    from noneg.tables.labels import Column

    Frame = Any  # An eager or a lazy narwhals frame, or one of its library.
    Sums = dict[str, NDArray[Any]]


def source_of_mapping(source: Mapping[str, Any], wanted: Wanted) -> Source:
    """Return the requested columns from a mapping of names to vectors."""
    import pyarrow as pa

    wanted.check_names(list(source), "the mapping")
    columns = {name: _array(source[name], name) for name in wanted.names().values()}
    with about_columns():
        check_same_length(**{name: len(column) for name, column in columns.items()})
    return _source_of_table(pa.table(columns), wanted)


def known_frame(source: object) -> Frame:
    """Return a data frame of any library as a narwhals frame."""
    try:
        return nw.from_native(source)
    except TypeError as error:
        msg = (
            "must be a path, a list of paths, a mapping of columns or a data frame, got "
            f"{type(source).__name__}. Use PUScores for plain arrays."
        )
        raise InputError("source", msg) from error
    except nw.exceptions.NarwhalsError as error:
        raise InputError("source", f"cannot be read: {' '.join(str(error).split())}.") from error


def is_remote(frame: Frame) -> bool:
    """Return whether rows are stored in a cluster or a warehouse, which can sum them in place."""
    engine = frame.implementation
    return bool(engine.is_spark_like() or engine.is_ibis())


def count_rows(frame: Frame) -> float:
    """Return the number of rows in a remote frame; infinity for a cluster."""
    if frame.implementation.is_spark_like():
        return np.inf
    return int(frame.select(nw.len()).collect().item())


def source_of_frame(frame: Frame, wanted: Wanted) -> Source:
    """Return the requested columns of a narwhals frame; a lazy frame computes no others."""
    import pyarrow as pa

    native = frame.to_native()
    duckdb = sys.modules.get("duckdb")
    if duckdb is not None and isinstance(native, duckdb.DuckDBPyRelation):
        wanted.check_names(native.columns, "the relation")
        batches = partial(relation_batches, native, wanted.names(), "the relation")
        return Source("the relation", batches, "row {}".format)
    wanted.check_names(frame.collect_schema().names(), "the frame")
    frame = frame.select(*wanted.names().values())
    frame = frame.collect() if hasattr(frame, "collect") else frame
    try:
        return _source_of_table(frame.to_arrow(), wanted)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        msg = f"must contain values of one type in each column, but Arrow reports: {reason}."
        raise InputError("source", msg, remedy="Convert the columns first.") from error


def _source_of_table(table: Frame, wanted: Wanted) -> Source:
    names = wanted.names()

    def batches() -> Iterator[dict[str, Any]]:
        for batch in table.to_batches(BATCH):
            yield {argument: batch.column(name) for argument, name in names.items()}

    return Source("the table", batches, "row {}".format, table.num_rows)


def _array(values: object, name: str) -> Column:
    """Return one column of a mapping as an Arrow array."""
    import pyarrow as pa

    vector = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if vector.ndim != 1:
        msg = f"column {name!r} must be one-dimensional, got shape {vector.shape}."
        raise ValueError(f"{msg} Pass one column.")
    # Arrow has no floating-point type longer than a double.
    vector = vector.astype(np.float64) if vector.dtype.kind == "f" else vector
    try:
        # The NA value of pandas appears as an object.
        return pa.array(vector, from_pandas=vector.dtype.kind == "O")
    except pa.ArrowException as error:
        msg = (
            f"column {name!r} must contain values of one type that Arrow supports, "
            f"got {vector.dtype}."
        )
        raise ValueError(f"{msg} Convert the column first.") from error


OCTAVE = 2**MANTISSA_BITS

# Powers of two that combine to scale any score in the tails to between 1/2 and 1.
_STEPS = (32, 16, 8, 4, 2, 1)

OCTAVES = 64

OUTSIDE = -1


def sketch_of_frame(frame: Frame, wanted: Wanted) -> Sketch:
    """Sketch the requested columns of a frame; only the bucket sums leave its engine."""
    wanted.check_names(frame.collect_schema().names(), "the frame")
    rows = bucketed(labeled_rows(frame, wanted), GRIDS[wanted.weight_kind])
    sums = _fetched(summed(rows, wanted))
    if not sums["n"].size:
        raise InputError("source", "must contain at least one row, got a table without rows.")
    columns = (f"column {name!r}" for name in (wanted.score, wanted.label, wanted.weight))
    check_sums(sums, *columns)
    _check_labels(sums, wanted, frame)
    return sketch_of_sums(sums, wanted.weight_kind)


def sketch_of_sums(sums: Sums, kind: WeightKind) -> Sketch:
    """Return the sketch of sums that an engine computed for each group and bucket."""
    sketch, flags = Sketch(weight_kind=kind), sums["flag"].astype(np.int64)
    columns = np.stack([sums[name] for name in SUMS[kind]], axis=-1)
    sketch.add_sums(flags, sums["bucket"], columns, sums["low"], sums["high"])
    return sketch


def labeled_rows(frame: Frame, wanted: Wanted) -> Frame:
    """Return score, label, flag and weight of each row, in types that every engine supports."""
    schema = frame.collect_schema()
    for argument, name in wanted.names().items():
        if argument != "label" and not schema[name].is_numeric():
            msg = f"column {name!r} must contain numbers, but its type is {schema[name]}."
            raise ValueError(f"{msg} Convert the column first.")
    kind = schema[wanted.label]
    label, meant = nw.col(wanted.label), wanted.positive_label
    if kind.is_numeric() or kind == nw.Boolean:
        means = 1.0 if meant is None else meaning(meant)
        positive = float(means) if isinstance(means, (bool, int, float)) else np.nan
        # Some engines can cast booleans only to integers.
        label = (label.cast(nw.Int32) if kind == nw.Boolean else label).cast(nw.Float64)
        is_positive = nw.col("label") == _lit(positive)
    else:
        label = label.cast(nw.String)
        text = "1" if meant is None else str(meant)
        is_positive = nw.col("label") == nw.lit(text, nw.String)
    weight = nw.col(wanted.weight).cast(nw.Float64) if wanted.weight is not None else _lit(1.0)
    score = nw.col(wanted.score).cast(nw.Float64)
    rows = frame.select(score=score, label=label, weight=weight)
    if wanted.weight is not None:
        # Rows with zero weight are dropped; a row without a weight is kept, to be reported later.
        rows = rows.filter(nw.col("weight").is_null() | (nw.col("weight") != _lit(0.0)))
    return rows.with_columns(flag=_number(is_positive))


def bucketed(rows: Frame, grid: Grid) -> Frame:
    """Add the column 'bucket' as in `noneg.kernels.bucket_of`; -1 for scores outside [0, 1]."""
    s, y, k = nw.col("score"), nw.col("y"), nw.col("k")
    rows = rows.with_columns(distance=_choose(s < _lit(0.5), s, _lit(1.0) - s))
    rows = rows.with_columns(y=nw.col("distance"), k=_lit(0.0))
    for step in _STEPS:
        rows = rows.with_columns(small=y < _lit(2.0**-step))
        rows = rows.with_columns(
            y=_choose(nw.col("small"), y * _lit(2.0**step), y),
            k=_choose(nw.col("small"), k + _lit(float(step)), k),
        )
    octave = (_lit(OCTAVES - 1.0) - k) * _lit(float(OCTAVE))
    tail = octave + (y * _lit(2.0 * OCTAVE)).floor() - _lit(OCTAVE - 1.0)
    rows = rows.with_columns(
        tail=_choose(nw.col("distance") < _lit(2.0**-OCTAVES), _lit(0.0), tail),
        middle=(s * _lit(grid.scale)).floor() + _lit(float(grid.offset)),
    )
    upper = _lit(grid.size - 1.0) - nw.col("tail")
    rows = rows.with_columns(top=_choose(s < _lit(1.0 - TAIL_EDGE), nw.col("middle"), upper))
    rows = rows.with_columns(any=_choose(s < _lit(TAIL_EDGE), nw.col("tail"), nw.col("top")))
    inside = (s >= _lit(0.0)) & (s <= _lit(1.0))
    bucket = _choose(inside, nw.col("any"), _lit(float(OUTSIDE)))
    return rows.with_columns(bucket=bucket).with_columns(bucket=nw.col("bucket").cast(nw.Int32))


def summed(rows: Frame, wanted: Wanted) -> Frame:
    """Return the sums for each bucket and group, and the columns needed to check all rows."""
    s, w = nw.col("score"), nw.col("weight")
    counted, right = wanted.weight_kind == "frequency", (w >= _lit(0.0)) & (w < _lit(np.inf))
    if counted:
        right &= w.floor() == w
    rows = rows.select("flag", "bucket", "score", "label", "weight").with_columns(
        hidden=_number(nw.col("label").is_null()),
        wrong=_lit(1.0) - _number(right),
        weighted=w * s,
        squared=w * w,
    )
    return rows.group_by("flag", "bucket").agg(
        n=w.sum() if counted else nw.len(),
        sum=nw.col("weighted").sum(),
        weight=w.sum(),
        square=nw.col("squared").sum(),
        low=s.min(),
        high=s.max(),
        label_low=nw.col("label").min(),
        label_high=nw.col("label").max(),
        hidden=nw.col("hidden").sum(),
        wrong=nw.col("wrong").sum(),
    )


def check_sums(sums: Sums, score: str, label: str, weight: str) -> None:
    """Raise an error about sums of invalid rows; columns are described for the message."""
    if hidden := int(sums["hidden"].sum()):
        refuse_some(f"{label} must contain a label in every row", hidden)
    outside = sums["bucket"] == OUTSIDE
    if outside.any():
        ends = [*sums["low"][outside].tolist(), *sums["high"][outside].tolist()]
        wrong = [value for value in ends if not 0.0 <= value <= 1.0]
        rule = f"{score} must contain scores in [0, 1]"
        such = f", such as {wrong[0]!r}" if wrong else ""
        advice = remedy(wrong[0] if wrong else np.nan)
        refuse_some(rule, int(sums["n"][outside].sum()), such, advice)
    if "wrong" in sums and sums["wrong"].any():
        rule = "weights that are positive and finite or 0, and whole numbers if they count rows"
        refuse_some(f"{weight} must contain {rule}", int(sums["wrong"].sum()))


def refuse_some(
    rule: str, count: int, such: str = "", advice: str = "Correct or fill in such rows."
) -> NoReturn:
    """Raise an error about rows whose position in the table is unknown."""
    has = "1 row does not" if count == 1 else f"{count:,} rows do not"
    raise ValueError(f"{rule}, but {has}{such}. {advice}")


def _check_labels(sums: Sums, wanted: Wanted, frame: Frame) -> None:
    """Raise an error if the labels do not determine which rows are positive.

    It is enough to look at the smallest and the largest label in each group.
    """
    labels, kind = Labels(wanted), frame.collect_schema()[wanted.label]
    shown = bool if kind == nw.Boolean else int if kind.is_integer() else lambda value: value
    ends = [*sums["label_low"].tolist(), *sums["label_high"].tolist()]
    if any(value != value for value in ends):  # noqa: PLR0124
        refuse_some(f"column {wanted.label!r} must contain a label in every row", 1)
    for value, flag in zip(ends, [*sums["flag"], *sums["flag"]], strict=True):
        if labels.note(meaning(shown(value))) != bool(flag):
            msg = f"must be written as in column {wanted.label!r}, {value!r}"
            remedy = "Pass that text."
            raise InputError("positive_label", f"{msg}", value=wanted.positive_label, remedy=remedy)
    labels.settle()


def _fetched(frame: Frame) -> Sums:
    """Return the columns of a small frame as arrays."""
    small = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: _floats(small[name].to_numpy()) for name in small.columns}


def _floats(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as doubles (some engines sum to decimals), and text unchanged."""
    values = (
        np.ma.filled(column.astype(np.float64), np.nan) if column.dtype.kind in "fiub" else column
    )
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.asarray(values, dtype=object)


def _lit(value: float) -> nw.Expr:
    # Some engines read 0.5 as a decimal, which is slow and inexact.
    return nw.lit(value, nw.Float64)


def _number(condition: nw.Expr) -> nw.Expr:
    """Return 1 where a condition holds, and 0 where it does not hold or is unknown."""
    return _choose(condition, _lit(1.0), _lit(0.0))


def _choose(condition: nw.Expr, yes: nw.Expr, no: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(yes).otherwise(no)


@contextmanager
def spark_table(
    master: str, files: Sequence[str] = (), table: str | None = None
) -> Iterator[Frame]:
    """Yield a Spark DataFrame for files (paths or URLs) or for a table in the catalog.

    Parameters
    ----------
    master : str
        Address of the cluster, such as ``spark://host:7077``; ``local[2]`` is this machine. Other
        Spark settings come from its own files and from ``PYSPARK_SUBMIT_ARGS``.
    files : sequence of str
        Parquet, or CSV with a header, at paths that every worker can read.
    table : str, optional
        Name of a table to read instead of files.
    """
    if (table is None) == (not files):
        raise InputError("table", "must be given with Spark if, and only if, no files are given.")
    session, created = _session(master)
    try:
        with _spark_errors(table or files[0]):
            yield session.table(table) if table is not None else _scan(session, files)
    finally:
        if created:
            session.stop()


def _session(master: str) -> tuple[Any, bool]:
    """Return a session on this cluster, and whether it was just created."""
    with optional("--engine spark"):
        from pyspark.sql import SparkSession
    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    builder = SparkSession.builder.master(master).appName("noneg")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    with _spark_errors(master):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session, True


def _scan(session: Any, files: Sequence[str]) -> Frame:  # noqa: ANN401
    plain = [file.split("?")[0].lower() for file in files]
    if all(".csv" in file or ".tsv" in file for file in plain):
        separator = "\t" if all(".tsv" in file for file in plain) else ","
        reader = session.read.option("header", "true").option("inferSchema", "true")
        return reader.option("mode", "FAILFAST").option("sep", separator).csv(list(files))
    return session.read.parquet(*files)


@contextmanager
def _spark_errors(where: str) -> Iterator[None]:
    """Turn Spark errors into a readable message."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "Error:" in line or "]" in line), lines[0])
        msg = f"'source' cannot be read by Spark: {where!r}: {reason[:300]}"
        raise ValueError(msg.rstrip(".") + ".") from error
