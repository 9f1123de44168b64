"""A sketch built by one GROUP BY in a data warehouse: the query, and a reader for its result.

The query assigns every score to the bucket given by `noneg.kernels.bucket_of`. It only compares,
multiplies by powers of two, rounds down and adds, so all engines agree. It is written for DuckDB
and translated by sqlglot.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.errors import InputError, did_you_mean
from noneg.extras import optional
from noneg.kernels import MANTISSA_BITS, TAIL_BITS, TAIL_EDGE
from noneg.sketch.forms import GRIDS, SUMS
from noneg.tables.batches import Wanted, WantedColumns
from noneg.tables.engines import OCTAVE, OCTAVES, OUTSIDE, check_sums, known_frame, sketch_of_sums
from noneg.tables.files import identifier, literal, open_files
from noneg.tables.groups import Grouping, GroupSums
from noneg.tables.labels import meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from sqlglot.expressions import Expression

    from noneg.checks import WeightKind
    from noneg.sketch import Sketch

# Dialects, by their sqlglot names.
DIALECTS = (
    *("bigquery", "clickhouse", "databricks", "duckdb", "mysql", "postgres", "redshift"),
    *("snowflake", "spark", "sqlite", "trino"),
)

# Columns of the result, apart from the group-by columns.
_COLUMNS = ("flag", "label", "bucket", "n", "total", "low", "high", "missing")
_OPTIONAL = ("weight", "square", "wrong")


def sketch_query(
    dialect: str, *, table: str, wanted: Wanted, by: Sequence[str] = (), where: str | None = None
) -> str:
    """Return an SQL query that sums the rows of a table by bucket.

    Parameters
    ----------
    dialect : str
        One of `DIALECTS`.
    table : str
        Name of the table as written in the warehouse: ``schema.table`` or quoted.
    wanted : Wanted
        Columns of scores, labels and weights, and the label that means positive (1 by default).
    by : sequence of str
        Further columns to group by, such as a region or a day; each group gives its own sketch.
    where : str, optional
        A condition that selects rows, in the DuckDB dialect.

    Examples
    --------
    >>> from noneg.tables.batches import Wanted
    >>> query = sketch_query("sqlite", table="loans", wanted=Wanted(score="p", label="bad"))
    >>> query.splitlines()[-3:]
    ['GROUP BY', '  label,', '  bucket']
    """
    if dialect not in DIALECTS:
        close = did_you_mean(dialect, DIALECTS).lstrip()
        raise InputError(
            "sql", f"must be one of {', '.join(DIALECTS)}", value=dialect, remedy=close
        )
    with optional("SQL of a sketch"):
        import sqlglot
    if wanted.has_negatives:
        rule = "must not be given for a warehouse, where a label is positive or not"
        raise InputError("unlabeled_label", rule)
    for column in by:
        if column in (*_COLUMNS, *_OPTIONAL):
            raise InputError(
                "by", f"must not be called {column!r}, which is already a column of the result."
            )
    name = sqlglot.parse_one(table, read=dialect, into=sqlglot.exp.Table).sql("duckdb")
    text = _query(name, wanted, by, where)
    query = sqlglot.parse_one(text, read="duckdb")
    if dialect == "sqlite":
        query = query.transform(_truncated)
    return query.sql(dialect, pretty=True)


def _truncated(node: Expression) -> Expression:
    """Round down with a cast, because SQLite may be built without mathematical functions."""
    from sqlglot import exp

    return exp.cast(node.this, "bigint") if isinstance(node, exp.Floor) else node


def _query(table: str, wanted: Wanted, by: Sequence[str], where: str | None) -> str:
    """Return the query in the DuckDB dialect, with one common table expression per step."""
    labeled = _labeled(table, wanted, by, where)
    measured = "SELECT *, CASE WHEN score < 0.5 THEN score ELSE 1 - score END AS distance"
    keys = [*_keys(by), "label", "bucket"]
    flag = f"CASE WHEN label = {_literal(wanted.positive_label)} THEN 1 ELSE 0 END"
    names = [*by, "label", "bucket", "flag", *_sums(wanted)]
    # Quoted, because some warehouses convert unquoted names to upper case.
    selected = zip([*keys, flag, *_sums(wanted).values()], names, strict=True)
    chosen = ", ".join(f"{sql} AS {identifier(name)}" for sql, name in selected)
    return (
        f"WITH labeled AS ({labeled}), measured AS ({measured} FROM labeled), "  # noqa: S608
        f"placed AS (SELECT *, {_bucket(wanted.weight_kind)} AS bucket FROM measured) "
        f"SELECT {chosen} FROM placed GROUP BY {', '.join(keys)}"
    )


def _keys(by: Sequence[str]) -> list[str]:
    """Return unique names for the group-by columns inside the query."""
    return [f"key_{number}" for number in range(len(by))]


def _labeled(table: str, wanted: Wanted, by: Sequence[str], where: str | None) -> str:
    columns = [
        *(f"{identifier(name)} AS {key}" for name, key in zip(by, _keys(by), strict=True)),
        f"CAST({identifier(wanted.score)} AS DOUBLE) AS score",
        f"{identifier(wanted.label)} AS label",
    ]
    conditions = [f"({where})"] if where else []
    if wanted.weight is not None:
        weight = identifier(wanted.weight)
        columns.append(f"CAST({weight} AS DOUBLE) AS weight")
        # A row with zero weight is dropped; one without a weight is kept, to be reported.
        conditions.append(f"({weight} <> 0 OR {weight} IS NULL)")
    filtered = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(columns)} FROM {table}{filtered}"  # noqa: S608 - as above


def _literal(label: object) -> str:
    """Return the positive label as SQL: a number or boolean if possible, else text."""
    means = 1 if label is None else meaning(label)
    if isinstance(label, str) and label.lower() in ("true", "false"):
        means = label.lower() == "true"
    if isinstance(means, bool):
        return str(means).upper()
    return repr(means) if isinstance(means, (int, float)) else literal(str(means))


def _bucket(kind: WeightKind) -> str:
    grid = GRIDS[kind]
    end = f"CASE WHEN score < 0.5 THEN 0 ELSE {grid.size - 1} END"
    return (
        f"CAST(CASE WHEN score >= {TAIL_EDGE!r} AND score < {1.0 - TAIL_EDGE!r} "
        f"THEN FLOOR(score * {int(grid.scale)}) + {grid.offset} "
        f"WHEN score >= 0 AND score <= 1 THEN ABS({end} - {_tail()}) "
        f"ELSE {OUTSIDE} END AS BIGINT)"
    )


def _tail() -> str:
    """Return the number of buckets up to the nearer end, one CASE branch per power of two."""
    cases = []
    for octave in range(TAIL_BITS, OCTAVES):
        scale, first = 2.0 ** (octave + 1 + MANTISSA_BITS), (OCTAVES - octave) * OCTAVE
        place = f"FLOOR(distance * {scale!r}) + {first - 2 * OCTAVE + 1}"
        cases.append(f"WHEN distance >= {2.0 ** -(octave + 1)!r} THEN {place}")
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _sums(wanted: Wanted) -> dict[str, str]:
    count, weighted = "COUNT(*)", wanted.weight is not None
    sums = {"n": count, "total": "SUM(score)"}
    if wanted.weight_kind == "importance":
        w, ww, ws = ("weight", "weight * weight", "weight * score") if weighted else (1, 1, "score")
        sums = {"n": count, "weight": f"SUM({w})", "square": f"SUM({ww})", "total": f"SUM({ws})"}
    elif weighted:
        sums = {"n": "SUM(weight)", "total": "SUM(weight * score)"}
    if weighted:
        whole = " AND FLOOR(weight) = weight" if wanted.weight_kind == "frequency" else ""
        right = f"weight > 0 AND weight < 1e300{whole}"
        sums["wrong"] = f"SUM(CASE WHEN {right} THEN 0 ELSE 1 END)"
    missing = "CASE WHEN label IS NULL THEN COUNT(*) ELSE 0 END"
    return sums | {"low": "MIN(score)", "high": "MAX(score)", "missing": missing}


def read_sums(source: object) -> Sketch:
    """Return the sketch from the result of `sketch_query`, as a Parquet or CSV file or a frame.

    Groups are added up, and so are multiple files.

    Examples
    --------
    >>> import duckdb
    >>> from noneg.tables.batches import Wanted
    >>> loans = duckdb.sql("SELECT i / 10 AS p, i % 2 AS bad FROM range(10) rows(i)")
    >>> query = sketch_query("duckdb", table="loans", wanted=Wanted(score="p", label="bad"))
    >>> read_sums(duckdb.sql(query).to_arrow_table())
    Sketch(5 positives, 5 unlabeled rows, 10 buckets)
    """
    ((_, sketch),) = read_groups(source)
    return sketch


def read_groups(
    source: object, by: Sequence[str] = ()
) -> Iterator[tuple[tuple[object, ...], Sketch]]:
    """Yield the values of the `by` columns and the sketch of each group.

    Examples
    --------
    >>> import duckdb
    >>> from noneg.tables.batches import Wanted
    >>> loans = duckdb.sql("SELECT i / 10 AS p, i % 2 AS bad, i > 6 AS new FROM range(10) rows(i)")
    >>> wanted = Wanted(score="p", label="bad")
    >>> query = sketch_query("duckdb", table="loans", wanted=wanted, by=["new"])
    >>> sorted(
    ...     (key, sketch.n_positive)
    ...     for key, sketch in read_groups(duckdb.sql(query).to_arrow_table(), by=["new"])
    ... )
    [((False,), 3), ((True,), 2)]
    """
    table = _table(source, by)
    if not by:
        yield (), _sketch(table)
        return
    row = np.arange(table.num_rows)
    places = table.select(list(by)).append_column("row", [row])
    for group in places.group_by(list(by)).aggregate([("row", "list")]).to_pylist():
        yield tuple(group[name] for name in by), _sketch(table.take(group["row_list"]))


def read_by_group(source: object, by: Sequence[str]) -> tuple[Sketch, GroupSums]:
    """Return the sketch of all rows, and the sums of each group, for `noneg.groups.by_group`.

    Examples
    --------
    >>> import duckdb
    >>> from noneg.tables.batches import Wanted
    >>> loans = duckdb.sql("SELECT i / 10 AS p, i % 2 AS bad, i > 6 AS new FROM range(10) rows(i)")
    >>> wanted = Wanted(score="p", label="bad")
    >>> query = sketch_query("duckdb", table="loans", wanted=wanted, by=["new"])
    >>> sketch, groups = read_by_group(duckdb.sql(query).to_arrow_table(), by=["new"])
    >>> sketch, groups.names, groups.rows.tolist()
    (Sketch(5 positives, 5 unlabeled rows, 10 buckets), ['False', 'True'], [[4.0, 3.0], [1.0, 2.0]])
    """
    table = _table(source, by)
    numbers, kind = _numbers(table), _kind(table)
    weight, square = (numbers[x] for x in (("n", "n") if kind == "frequency" else SUMS[kind][1:3]))
    score = np.clip(numbers["sum"] / weight, numbers["low"], numbers["high"])
    grouping, flags = Grouping(by), numbers["flag"] == 1
    codes = grouping.codes([table[name].to_pylist() for name in by])
    grouping.add(codes, score, flags, weight, kind, (numbers["n"], square))
    return _sketch(table), grouping.finished()


def _table(source: object, by: Sequence[str]) -> pa.Table:
    """Return the columns of a result as numbers and text, checked."""
    import pyarrow as pa

    if isinstance(source, (str, os.PathLike, list, tuple)):
        with open_files(source, _wanted(by)) as opened:
            optional_there = set(_OPTIONAL).intersection(*(file.names for file in opened.files))
            names = {name: name for name in (*_COLUMNS, *by, *sorted(optional_there))}
            sources = opened.sources(names)
            batches = [_typed(pa.table(b), by) for one in sources for b in one.batches()]
        table = pa.concat_tables(batches, promote_options="permissive")
    else:
        frame = known_frame(source)
        _wanted(by).check_names(frame.collect_schema().names(), "the result")
        table = _typed(frame.lazy().collect("pyarrow").to_native(), by)
    _check(table)
    return table


class _ResultColumns(WantedColumns):
    """The columns of a result, which no option names."""

    def check_names(self, there: Sequence[str], where: str) -> None:
        """Raise an error if the columns are not those of a result."""
        if lacking := [name for name in _COLUMNS if name not in there]:
            rule = "must be the result of the query printed by noneg sketch --sql"
            raise InputError("from_sql", f"{rule}, but {where} has no column {lacking[0]!r}")
        super().check_names(there, where)


def _wanted(by: Sequence[str]) -> WantedColumns:
    groups = Grouping(by) if by else None
    return _ResultColumns(texts={name: name for name in _COLUMNS}, groups=groups)


def _typed(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Convert sums, which may be stored as text or as decimals, to numbers."""
    import pyarrow as pa

    for name in table.column_names:
        if name in by:
            continue
        try:
            column = table[name].cast(pa.string() if name == "label" else pa.float64())
        except pa.ArrowInvalid as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                "from_sql", f"must contain numbers in column {name!r}: {reason}"
            ) from error
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _check(table: pa.Table) -> None:
    """Raise an error if the result contains invalid rows."""
    import pyarrow.compute as pc

    if not table.num_rows:
        raise InputError("from_sql", "must contain at least one row, got a result without rows.")
    columns = (f"the {name} column" for name in ("score", "label", "weight"))
    check_sums(_numbers(table), *columns)
    rest = table.filter(pc.equal(table["flag"], 0.0))
    others = set(rest["label"].to_pylist())
    if len(others) > 1:
        rule = (
            "must contain two labels, but in addition to the positive one there are "
            f"{sorted(others)}"
        )
        raise InputError("label", rule, remedy="Select rows with --where.")
    if rest.num_rows == table.num_rows:
        raise InputError("positive_label", f"must occur, but every label is {others.pop()!r}.")


def _kind(table: pa.Table) -> WeightKind:
    return "importance" if "square" in table.column_names else "frequency"


def _sketch(table: pa.Table) -> Sketch:
    return sketch_of_sums(_numbers(table), _kind(table))


def _numbers(table: pa.Table) -> dict[str, NDArray[Any]]:
    """Return the sums of a result by the names that they have in a sketch."""
    names = {name: name for name in ("flag", "bucket", "n", "low", "high")}
    names |= {"sum": "total", "hidden": "missing"}
    names |= {name: name for name in _OPTIONAL if name in table.column_names}
    return {name: np.asarray(table[column]) for name, column in names.items()}
