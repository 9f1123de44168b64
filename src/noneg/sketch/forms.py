"""Convert a sketch to a dictionary, JSON, an Arrow table or a file, and back with strict checks.

The table behind a sketch holds sums of rows in the buckets of `noneg.kernels`, one row per bucket.
Without weights, or with frequency weights, its columns are

    n, sum s   for unlabeled rows;   n, sum s   for labeled positives;   low, high

and with importance weights

    n, sum w, sum w^2, sum w s   for each group;   low, high

Labeling rates are importance weights 1/e of the labeled positives, which count once in the marginal
distribution. low and high are the smallest and largest score in both groups, so a bucket whose rows
all have the same score is represented by exactly that score. The second moment of s needs no
column, because s varies by less than 2^-16 within a bucket. The grid without importance weights is
twice as fine, so that either table takes nine to ten megabytes.

A few weighted points per bucket represent the rows in `PUScores`. Buckets with many rows are
divided into cells, so that a cut by score or by rank never takes such a bucket as a whole.
"""

from __future__ import annotations

import json
import math
import reprlib
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from noneg import checks
from noneg.atomic import replacing
from noneg.checks import LARGEST_WEIGHT, MOST_ROWS, WeightKind, check_choice
from noneg.errors import InputError, MissingFileError
from noneg.kernels import CHUNK, FINE_GRID, GRID, bucket_of
from noneg.laws import SplitRows, WeightedRows
from noneg.scores import PUScores

if TYPE_CHECKING:
    import os
    from types import ModuleType

    import pyarrow as pa
    from numpy.typing import NDArray

    from noneg.checks import Setting
    from noneg.kernels import Grid
    from noneg.knowledge import Knowledge
    from noneg.sketch.mergeable import Sketch

    Floats = NDArray[np.float64]

# Largest share of a distribution in one cell. A cut can be off by half of it, so it is well below
# the stated error; there are at most 2 / CELL more cells than buckets.
CELL = 2e-6


@dataclass(frozen=True, eq=False)
class Cells:
    """Equal-width parts of the range [low, high] of each bucket, in order.

    Attributes
    ----------
    low, high : ndarray
        Smallest and largest score in each bucket.
    number : ndarray of int
        Number of cells in each bucket.
    """

    low: Floats
    high: Floats
    number: NDArray[np.int64]

    @classmethod
    def cut(cls, low: Floats, high: Floats, shares: Floats) -> Cells:
        """Divide buckets with these shares of a distribution into cells."""
        number = np.where(high > low, np.ceil(shares / CELL), 1.0)
        return cls(low, high, np.maximum(number, 1.0).astype(np.int64))

    @cached_property
    def bucket(self) -> NDArray[np.int64]:
        """Bucket of each cell."""
        return np.repeat(np.arange(self.number.size), self.number)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First cell of each bucket."""
        return np.cumsum(self.number) - self.number

    @cached_property
    def end(self) -> Floats:
        """Position of the end of each cell in the range of its bucket, from 0 to 1."""
        place = np.arange(self.bucket.size) - self.first[self.bucket] + 1
        return place / self.number[self.bucket]

    def counts(self, n: Floats, mean: Floats) -> Floats:
        """Distribute the rows of buckets over cells, given their number and mean score.

        Rows are assumed to have a linear density with this mean on [low, high], or next to one end
        if the mean lies in the outer third. For uniform rows with a known mean, this is the best
        linear prediction of their number below a cut. Counts stay whole numbers, and a lone row
        lies in the cell of its score.
        """
        center = _ratio(mean - self.low, self.high - self.low, 0.5).clip(0.0, 1.0)
        left, right = np.maximum(3.0 * center - 2.0, 0.0), np.minimum(3.0 * center, 1.0)
        slope = 12.0 * (_ratio(center - left, right - left, 0.5) - 0.5)
        b = self.bucket
        x = _ratio(self.end - left[b], (right - left)[b], 1.0).clip(0.0, 1.0)
        share = x * (1.0 - 0.5 * slope[b] * (1.0 - x))
        below = np.where(n[b] == 1.0, self.end >= center[b], np.floor(n[b] * share + 0.5))
        below[self.end == 1.0] = n
        inside = np.diff(below, prepend=0.0)
        inside[self.first] = below[self.first]
        # Rounding error may put the linear density slightly below zero at its end.
        return np.maximum(inside, 0.0)

    def places(self, mass: Floats, mean: Floats) -> Floats:
        """Return one score per cell; within a bucket, they have its mean under these masses."""
        b, width = self.bucket, self.high - self.low
        middle = self.low[b] + width[b] * (self.end - 0.5 / self.number[b])
        total, weighted = (np.add.reduceat(x, self.first) for x in (mass, mass * middle))
        shift = mean - _ratio(weighted, total, 0.0)
        # Rounding must not move a bucket away from its only score.
        return np.clip(middle + shift[b], self.low[b], self.high[b])


def _ratio(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    # A subnormal denominator overflows to infinity, which the callers clip.
    with np.errstate(over="ignore"):
        return np.divide(top, bottom, out=np.full_like(top, otherwise), where=bottom > 0.0)


# Meaning of weights; "propensity" means inverse labeling rates of the positives.
Kind = WeightKind | Literal["propensity"]

# Sums for one group, by kind of weight.
SUMS: dict[Kind, tuple[str, ...]] = {
    "frequency": ("n", "sum"),
    "importance": ("n", "weight", "square", "sum"),
    "propensity": ("n", "weight", "square", "sum"),
}

GRIDS: dict[Kind, Grid] = {"frequency": FINE_GRID, "importance": GRID, "propensity": GRID}

# Number of rows from which importing numba, about half a second, pays off; metrics of the sketch
# also use it.
ROWS_WORTH_AN_IMPORT = 5_000_000


def empty_table(kind: Kind) -> Floats:
    """Return a table without rows, shape (buckets, columns)."""
    # Not np.zeros: memory that is written immediately can use large pages.
    table = np.empty((GRIDS[kind].size, 2 * len(SUMS[kind]) + 2))
    table[:, :-2] = 0.0
    table[:, -2], table[:, -1] = np.inf, -np.inf
    return table


def fast_loops(n_rows: int) -> ModuleType | None:
    """Return the numba version if it is loaded or worthwhile for this many rows, else None."""
    loaded = "numba" in sys.modules
    if not loaded and (n_rows < ROWS_WORTH_AN_IMPORT or find_spec("numba") is None):
        return None
    from noneg.sketch import loops_numba

    return loops_numba


def add_rows(
    table: Floats,
    flags: NDArray[np.bool_],
    scores: Floats,
    weights: Floats | None,
    fast: ModuleType | None = None,
) -> int:
    """Add checked rows; return the index of the first row with a score outside [0, 1], or -1.

    Rows before it may already have been added, so a table with such a row must be discarded.
    """
    if fast is not None:
        return int(fast.add_rows(table, flags, scores, weights))
    inside = (scores >= 0.0) & (scores <= 1.0)
    if not inside.all():
        return int(np.argmin(inside))
    for start in range(0, scores.size, CHUNK):
        piece = slice(start, start + CHUNK)
        _add_chunk(table, flags[piece], scores[piece], None if weights is None else weights[piece])
    return -1


def _add_chunk(
    table: Floats, flags: NDArray[np.bool_], scores: Floats, weights: Floats | None
) -> None:
    width = table.shape[1]
    flat, k = table.reshape(-1), (width - 2) // 2
    plain = k == len(SUMS["frequency"])
    if weights is not None and not weights.all():
        # A row with zero weight must not affect the range of its bucket either.
        there = weights > 0.0
        flags, scores, weights = flags[there], scores[there], weights[there]
    s = np.asarray(scores, dtype=np.float64)
    first = bucket_of(s, GRIDS["frequency" if plain else "importance"]) * width
    columns = row_sums(s, weights, k)
    for position, column in enumerate(columns):
        np.add.at(flat, first + flags * k + position, column)
    np.minimum.at(flat, first + (width - 2), s)
    np.maximum.at(flat, first + (width - 1), s)


def row_sums(s: Floats, weights: Floats | None, k: int) -> list[Floats | float]:
    """Return the contribution of each row to the sums of its group."""
    if k == len(SUMS["frequency"]):
        return [1.0, s] if weights is None else [weights, weights * s]
    w = np.ones_like(s) if weights is None else weights
    return [1.0, w, w * w, w * s]


def merge_into(table: Floats, other: Floats) -> None:
    """Add the rows of another table of the same kind; empty buckets cost almost nothing."""
    there = np.flatnonzero(other[:, -1] >= 0.0)
    if there.size and not (table[:, -1] >= 0.0).any():
        table[:] = other
        return
    table[there, :-2] += other[there, :-2]
    table[there, -2] = np.minimum(table[there, -2], other[there, -2])
    table[there, -1] = np.maximum(table[there, -1], other[there, -1])


# Smaller scores share a bucket with 0.
SMALLEST = 2.0**-64


def pu_scores(
    table: Floats,
    kind: Kind,
    setting: Setting,
    knowledge: Knowledge,
) -> PUScores:
    """Return the rows of a table as weighted points."""
    knowledge.check_setting(setting)
    k = len(SUMS[kind])
    table = table[table[:, -1] >= 0.0]
    groups = table[:, :k], table[:, k : 2 * k]
    cells = _cells(table, k)
    counts = [cells.counts(group[:, 0], _mean(group, cells.low)) for group in groups]
    place = _places(table, cells, counts, setting)
    unlabeled = _group(groups[0], cells, counts[0], place)
    positives = _rated if kind == "propensity" else _group
    rows = SplitRows(unlabeled, positives(groups[1], cells, counts[1], place))
    return PUScores._build(rows, knowledge, setting)  # noqa: SLF001 - rows are ready


def _cells(table: Floats, k: int) -> Cells:
    """Divide the buckets that contain a large share of either group."""
    groups = [_mass(table[:, part : part + k]) for part in (0, k)]
    shares = np.max([mass / (mass.sum() or 1.0) for mass in groups], axis=0)
    # Scores of exactly 0 share the first bucket with scores below 2^-64 and determine its position.
    low, high = table[:, -2], np.where(table[:, -2] < SMALLEST, table[:, -2], table[:, -1])
    return Cells.cut(low, high, shares)


def _places(table: Floats, cells: Cells, counts: list[Floats], setting: Setting) -> Floats:
    """Return one score per cell, such that each bucket keeps its sum of marginal scores.

    Both groups share these scores. Separate means would break all ties between rows of a cell in
    the same direction, which changes areas and suprema to first order in the width; with a shared
    mean, the sums of the positive distribution are off only to second order.
    """
    k = (table.shape[1] - 2) // 2
    unlabeled, positive = table[:, :k], table[:, k : 2 * k]
    if not checks.is_pooled(setting):
        alone = unlabeled[:, 0] == 0.0
        marginal = np.where(alone[:, None], positive, unlabeled)
        counted = np.where(alone[cells.bucket], counts[1], counts[0])
    else:
        marginal, counted = unlabeled + positive, counts[0] + counts[1]
    return cells.places(counted, _mean(marginal, cells.low))


def _mass(sums: Floats) -> Floats:
    """Return the number of rows of a group in each bucket, or the sum of importance weights."""
    return sums[:, 0 if sums.shape[1] == len(SUMS["frequency"]) else 1]


def _mean(sums: Floats, otherwise: Floats) -> Floats:
    mass = _mass(sums)
    return np.divide(sums[:, -1], mass, out=otherwise.copy(), where=mass > 0.0)


def _group(sums: Floats, cells: Cells, counts: Floats, place: Floats) -> WeightedRows:
    """Return one group as points with the same nine sums as its rows.

    With importance weights, a point represents ``(sum w)^2 / sum w^2`` rows of equal mass, which
    has the right first and second moments; the number of rows is stored separately.
    """
    there = np.flatnonzero(counts)
    s, n, bucket = place[there], counts[there], cells.bucket[there]
    if sums.shape[1] == len(SUMS["frequency"]):
        return WeightedRows(s, n, None, None)
    total, weight, square, _ = sums[bucket].T
    mass = np.divide(square, weight, out=np.ones_like(weight), where=weight > 0.0)
    rows = WeightedRows(s, weight / mass * (n / total), mass, mass)
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows


def _rated(sums: Floats, cells: Cells, counts: Floats, place: Floats) -> WeightedRows:
    """Return positives with unequal labeling rates, each with marginal mass one.

    Two points with the mean and standard deviation of the inverse rates represent the rows of a
    cell, so that all nine sums are right; the lighter point has at least half of the mean.
    """
    there = np.flatnonzero(counts)
    s, n, bucket = place[there], counts[there], cells.bucket[there]
    total, inverse, square, _ = sums[bucket].T
    mean = inverse / total
    spread = np.sqrt(np.maximum(square / total - mean**2, 0.0))
    light = np.where(spread > 0.0, np.maximum(0.5, spread**2 / (spread**2 + mean**2 / 4)), 1.0)
    odds = _ratio(light, 1.0 - light, 1.0)
    masses = mean - spread / np.sqrt(odds), mean + spread * np.sqrt(odds)
    number = np.append(n * light, n * (1.0 - light))
    rows = WeightedRows(np.append(s, s), number, np.append(*masses), np.ones(2 * s.size))
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows


S = TypeVar("S", bound="Sketch")

SCHEMA = "noneg.sketch/2"
# Advice for sketches from an earlier version.
_EARLIER = {"noneg.sketch/1": " Its buckets are wider; sketch the rows again."}
GROUPS = ("unlabeled", "positive")
_FACTS = ("weight_kind", "setting", "prior", "prior_interval")
_METADATA = b"noneg"
# Sums of many rows may leave their theoretical range by this much, due to rounding error.
ROUNDING = 1e-6
_REMEDY = "Sketch the rows again."
# Beyond this limit, sums of several values would overflow.
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
    """Return the sketch from the output of `to_dict`."""
    head = _checked_head(content)
    names = SUMS[head["weight_kind"]]
    groups = {group: _part(content, group) for group in GROUPS}
    columns = {
        f"{group}_{name}": _part(part, name) for group, part in groups.items() for name in names
    }
    columns |= {name: _part(content, name) for name in ("low", "high")}
    return _build(cls, head, _part(content, "bucket"), columns)


def to_arrow(sketch: Sketch) -> pa.Table:
    """Return a PyArrow table with one row per occupied bucket."""
    import pyarrow as pa

    bucket, columns = _occupied(sketch)
    arrays: dict[str, Any] = {"bucket": bucket.astype(np.int32)}
    for name, column in columns.items():
        arrays[name] = column.astype(np.int64) if name.endswith("_n") else column
    head = json.dumps(_head(sketch), allow_nan=False).encode()
    return pa.table(arrays).replace_schema_metadata({_METADATA: head})


def from_arrow(cls: type[S], table: pa.Table) -> S:
    """Return the sketch from the output of `to_arrow`."""
    found = (table.schema.metadata or {}).get(_METADATA)
    if found is None:
        raise InputError("table", f"must be a sketch: its metadata lacks {_METADATA.decode()!r}.")
    head = _checked_head(_parsed(found.decode()))
    names = [f"{group}_{name}" for group in GROUPS for name in SUMS[head["weight_kind"]]]
    columns = {}
    for name in ("bucket", *names, "low", "high"):
        if name not in table.column_names or table[name].null_count:
            raise InputError(
                "table", f"must be a sketch: column {name!r} is missing or has missing values."
            )
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
        raise MissingFileError("path", f"must be a file, but {str(file)!r} does not exist.")
    try:
        if kind == ".json":
            return from_dict(cls, _parsed(file.read_text(encoding="utf-8")))
        return from_arrow(cls, _parquet(file))
    except ValueError as error:
        raise InputError("path", f"is not a complete sketch: {str(file)!r}: {error}") from error


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
        raise ValueError(f"{word} is not a number")

    try:
        return json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"its text is not valid JSON ({error})") from error


def _part(content: Any, name: str) -> Any:  # noqa: ANN401
    if not isinstance(content, dict) or name not in content:
        raise ValueError(f"a sketch must have an entry {name!r}, but this one does not.")
    return content[name]


def _checked_head(content: Any) -> dict[str, Any]:  # noqa: ANN401
    schema = _part(content, "schema")
    if schema != SCHEMA:
        remedy = _EARLIER.get(schema, "") if isinstance(schema, str) else ""
        raise ValueError(f"this version reads sketches of type {SCHEMA!r}, got {schema!r}.{remedy}")
    head = {name: _part(content, name) for name in _FACTS}
    check_choice(head["weight_kind"], "weight_kind", SUMS)
    size = GRIDS[head["weight_kind"]].size
    if _part(content, "buckets") != size:
        raise ValueError(f"a sketch must have {size} buckets, got {content['buckets']!r}.")
    if isinstance(head["prior_interval"], list):
        head["prior_interval"] = tuple(head["prior_interval"])
    return head


def _build(cls: type[S], head: dict[str, Any], bucket: object, columns: dict[str, object]) -> S:
    """Return a sketch built from columns, each checked to be what a sketch could have written."""
    sketch = cls(**head)
    index = _vector(bucket, "bucket")
    values = {name: _vector(column, name) for name, column in columns.items()}
    for name, column in values.items():
        if column.size != index.size:
            sizes = f"got {column.size:,} and {index.size:,} entries"
            raise InputError(name, f"must be as long as 'bucket', {sizes}. {_REMEDY}")
    _require(np.diff(index, prepend=-1.0) > 0.0, "bucket", "increase from 0", index)
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
    _require(counts > 0.0, "bucket", "contain a row", index)
    sketch._table[index.astype(np.int64)] = np.stack(list(values.values()), axis=-1)
    return sketch


def _check_group(sums: dict[str, Floats], low: Floats, high: Floats) -> None:
    for name, column in sums.items():
        _require(column >= 0.0, name, "not be negative", column)
    (name, n), *weights, (_, total) = sums.items()
    rule = f"be an integer, and at most {MOST_ROWS:,} with those before it"
    _require((n == np.floor(n)) & (np.cumsum(n) <= MOST_ROWS), name, rule, n)
    mass = n
    if weights:
        (name, mass), (squares, square) = weights
        _require(mass <= LARGEST_WEIGHT * n, name, f"be at most {LARGEST_WEIGHT:g} per row", mass)
        root = np.sqrt(square)
        fits = (root <= mass * (1.0 + ROUNDING)) & (mass <= np.sqrt(n) * root * (1.0 + ROUNDING))
        _require(fits, squares, "be consistent with the weights", square)
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
    """Raise an error about the first invalid entry in a column."""
    if not good.all():
        k = int(np.argmin(good))
        raise InputError(name, f"must {rule}, got {float(column[k])!r} in entry {k}. {_REMEDY}")
