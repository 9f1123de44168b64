"""A sketch as a dictionary, JSON, an Arrow table or a file; and back, strictly checked."""

from __future__ import annotations

import json
import math
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noneg.atomic import replacing
from noneg.checks import LARGEST_WEIGHT, MOST_ROWS
from noneg.errors import InputError, MissingFileError
from noneg.kernels import bucket_of
from noneg.sketch.table import GRIDS, SUMS

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from numpy.typing import NDArray

    from noneg.sketch.mergeable import Sketch

    Floats = NDArray[np.float64]

S = TypeVar("S", bound="Sketch")

SCHEMA = "noneg.sketch/2"
# What to do about a sketch of an earlier version.
_EARLIER = {"noneg.sketch/1": " Its buckets are wider; sketch the rows again."}
GROUPS = ("unlabeled", "positive")
_FACTS = ("weight_kind", "setting", "prior", "prior_interval")
_METADATA = b"noneg"
# Sums of many rows may miss what they must lie between by their rounding.
ROUNDING = 1e-6
_REMEDY = "Sketch the rows again."
# Beyond it sums of a few would not be numbers any more.
LARGEST = 1e300


def to_dict(sketch: Sketch) -> dict[str, object]:
    """Return plain numbers, lists and text."""
    bucket, columns = _occupied(sketch)
    out: dict[str, object] = {**_head(sketch), "bucket": bucket.tolist()}
    for group in GROUPS:
        names = SUMS[sketch.weight_kind]
        out[group] = {name: _numbers(name, columns[f"{group}_{name}"]) for name in names}
    return out | {name: columns[name].tolist() for name in ("low", "high")}


def from_dict(cls: type[S], content: Any) -> S:  # noqa: ANN401
    """Return the sketch that `to_dict` wrote."""
    head = _checked_head(content)
    names = SUMS[head["weight_kind"]]
    groups = {group: _part(content, group) for group in GROUPS}
    columns = {
        f"{group}_{name}": _part(part, name) for group, part in groups.items() for name in names
    }
    columns |= {name: _part(content, name) for name in ("low", "high")}
    return _build(cls, head, _part(content, "bucket"), columns)


def to_arrow(sketch: Sketch) -> pa.Table:
    """Return a PyArrow table, one row an occupied bucket."""
    import pyarrow as pa

    bucket, columns = _occupied(sketch)
    arrays: dict[str, Any] = {"bucket": bucket.astype(np.int32)}
    for name, column in columns.items():
        arrays[name] = column.astype(np.int64) if name.endswith("_n") else column
    head = json.dumps(_head(sketch), allow_nan=False).encode()
    return pa.table(arrays).replace_schema_metadata({_METADATA: head})


def from_arrow(cls: type[S], table: pa.Table) -> S:
    """Return the sketch that `to_arrow` wrote."""
    found = (table.schema.metadata or {}).get(_METADATA)
    if found is None:
        raise InputError("table", f"must be a sketch: its metadata lacks {_METADATA.decode()!r}.")
    head = _checked_head(_parsed(found.decode()))
    names = [f"{group}_{name}" for group in GROUPS for name in SUMS[head["weight_kind"]]]
    columns = {}
    for name in ("bucket", *names, "low", "high"):
        if name not in table.column_names or table[name].null_count:
            raise InputError("table", f"must be a sketch: column {name!r} is missing or has holes.")
        columns[name] = table[name].to_numpy()
    return _build(cls, head, columns.pop("bucket"), columns)


def save(sketch: Sketch, path: str | os.PathLike[str]) -> None:
    """Write a sketch to a file."""
    kind = _kind(Path(path))
    if kind == ".json":
        text = json.dumps(to_dict(sketch), allow_nan=False)
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8")
        return
    table = to_arrow(sketch)
    from pyarrow.parquet import write_table

    with replacing(path) as partial:
        write_table(table, partial)


def load(cls: type[S], path: str | os.PathLike[str]) -> S:
    """Read a sketch from a file."""
    file = Path(path)
    kind = _kind(file)
    if not file.is_file():
        raise MissingFileError("path", f"must be a file, but there is none called {str(file)!r}.")
    try:
        if kind == ".json":
            return from_dict(cls, _parsed(file.read_text(encoding="utf-8")))
        return from_arrow(cls, _parquet(file))
    except ValueError as error:
        raise InputError("path", f"is no whole sketch: {str(file)!r}: {error}") from error


def _parquet(file: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow.parquet import read_table

    try:
        return read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read ({str(error).splitlines()[0]})") from error


def _kind(path: Path) -> str:
    if path.suffix not in (".json", ".parquet"):
        raise InputError("path", "must end in .json or .parquet", value=str(path))
    return path.suffix


def _head(sketch: Sketch) -> dict[str, object]:
    facts = {name: getattr(sketch, name) for name in _FACTS}
    return {"schema": SCHEMA, "buckets": GRIDS[sketch.weight_kind].size, **facts}


def _occupied(sketch: Sketch) -> tuple[NDArray[np.int64], dict[str, Floats]]:
    table = sketch._table  # noqa: SLF001 - the form of the table belongs to both
    bucket = np.flatnonzero(table[:, -1] >= 0.0)
    names = [f"{group}_{name}" for group in GROUPS for name in SUMS[sketch.weight_kind]]
    return bucket, dict(zip([*names, "low", "high"], table[bucket].T, strict=True))


def _numbers(name: str, column: Floats) -> list[float]:
    return (column.astype(np.int64) if name == "n" else column).tolist()


def _parsed(text: str) -> Any:  # noqa: ANN401
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no number")

    try:
        return json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"its text is no JSON ({error})") from error


def _part(content: Any, name: str) -> Any:  # noqa: ANN401
    if not isinstance(content, dict) or name not in content:
        raise ValueError(f"a sketch must have a part called {name!r}, but this has none.")
    return content[name]


def _checked_head(content: Any) -> dict[str, Any]:  # noqa: ANN401
    schema = _part(content, "schema")
    if schema != SCHEMA:
        remedy = _EARLIER.get(schema, "") if isinstance(schema, str) else ""
        raise ValueError(f"a sketch of this version is {SCHEMA!r}, got {schema!r}.{remedy}")
    head = {name: _part(content, name) for name in _FACTS}
    if head["weight_kind"] not in list(SUMS):
        raise InputError("weight_kind", f"must be one of {', '.join(SUMS)}.")
    size = GRIDS[head["weight_kind"]].size
    if _part(content, "buckets") != size:
        raise ValueError(f"a sketch must have {size} buckets, got {content['buckets']!r}.")
    if isinstance(head["prior_interval"], list):
        head["prior_interval"] = tuple(head["prior_interval"])
    return head


def _build(cls: type[S], head: dict[str, Any], bucket: object, columns: dict[str, object]) -> S:
    """Return a sketch of columns, each of which must be what a sketch could have written."""
    sketch = cls(**head)
    index = _vector(bucket, "bucket")
    values = {name: _vector(column, name) for name, column in columns.items()}
    for name, column in values.items():
        if column.size != index.size:
            sizes = f"got {column.size:,} and {index.size:,} entries"
            raise InputError(name, f"must be as long as 'bucket', {sizes}. {_REMEDY}")
    _require(np.diff(index, prepend=-1.0) > 0.0, "bucket", "rise from 0", index)
    low, high = values["low"], values["high"]
    grid = GRIDS[head["weight_kind"]]
    for name, column in (("low", low), ("high", high)):
        _require((column >= 0.0) & (column <= 1.0), name, "lie in [0, 1]", column)
        _require(bucket_of(column, grid) == index, name, "lie in its bucket", column)
    _require(low <= high, "low", "be at most 'high'", low)
    for group in GROUPS:
        names = SUMS[head["weight_kind"]]
        _check_group({f"{group}_{name}": values[f"{group}_{name}"] for name in names}, low, high)
    counts = values["unlabeled_n"] + values["positive_n"]
    _require(counts > 0.0, "bucket", "hold a row", index)
    sketch._table[index.astype(np.int64)] = np.stack(list(values.values()), axis=-1)
    return sketch


def _check_group(sums: dict[str, Floats], low: Floats, high: Floats) -> None:
    for name, column in sums.items():
        _require(column >= 0.0, name, "not be negative", column)
    (name, n), *weights, (_, total) = sums.items()
    rule = f"be a whole number, and at most {MOST_ROWS:,} with those before it"
    _require((n == np.floor(n)) & (np.cumsum(n) <= MOST_ROWS), name, rule, n)
    mass = n
    if weights:
        (name, mass), (squares, square) = weights
        _require(mass <= LARGEST_WEIGHT * n, name, f"be at most {LARGEST_WEIGHT:g} a row", mass)
        root = np.sqrt(square)
        fits = (root <= mass * (1.0 + ROUNDING)) & (mass <= np.sqrt(n) * root * (1.0 + ROUNDING))
        _require(fits, squares, "fit the weights", square)
    fits = (total >= mass * low * (1.0 - ROUNDING)) & (total <= mass * high * (1.0 + ROUNDING))
    _require(fits, list(sums)[-1], "give a mean between 'low' and 'high'", total)


def _vector(values: object, name: str) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        column = np.array(math.nan)
    if column.ndim != 1:
        msg = f"must be a list of numbers, got {reprlib.repr(values)}."
        raise InputError(name, msg, remedy=f"{_REMEDY}")
    _require(np.abs(column) < LARGEST, name, f"be a number below {LARGEST:g}", column)
    return column


def _require(good: NDArray[np.bool_], name: str, rule: str, column: Floats) -> None:
    """Refuse the first entry of a column that is not good."""
    if not good.all():
        k = int(np.argmin(good))
        raise InputError(name, f"must {rule}, got {float(column[k])!r} in entry {k}. {_REMEDY}")
