"""The class `Sketch`, and its forms outside memory, which are read back with strict checks."""

from __future__ import annotations

import json
import math
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg import checks
from noneg.atomic import replacing, write_text
from noneg.checks import LARGEST_WEIGHT, MOST_ROWS, Setting, check_choice
from noneg.errors import InputError, MissingFileError
from noneg.kernels import bucket_of
from noneg.knowledge import Knowledge
from noneg.results import count
from noneg.scores import PUScores, labeled_columns
from noneg.sketch.forms import (
    GRIDS,
    SUMS,
    add_rows,
    empty_table,
    fast_loops,
    masses,
    merge_into,
    pu_scores,
    sums_by_group,
)

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Floats
    from noneg.sketch.forms import Kind


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


class Sketch:
    r"""A mergeable summary of any number of scores, from which every metric can be computed.

    Rows are counted in buckets that follow the bits of the score: buckets have width 2^-17 in the
    middle (2^-16 with importance weights) and relative precision 2^-9 below 2^-7 and above 1 -
    2^-7, so that scores crowded near 0 or 1 stay distinct. Each bucket keeps the number of rows and
    the sum of their scores, separately for unlabeled rows and labeled positives (with importance
    weights, also the sums of w and w^2). This takes less than ten megabytes for any number of rows.
    Adding two sketches is the same as adding their rows, so shards, engines or days can be merged
    in any order.

    Parameters
    ----------
    weight_kind : {"frequency", "importance", "propensity"}
        Meaning of the weights, if there are any; see `PUScores`. With "propensity", rows have no
        weights, and labeled positives come with the rates at which such positives are labeled.
    setting : {"two-sample", "one-sample", "labeled"}, optional
        How the rows were sampled; never guessed. It may be passed to `scores` instead.
    prior : float, optional
        Share of positives in the population; it may be passed to `scores` instead.
    prior_interval : (float, float), optional
        Range of possible priors.

    Examples
    --------
    >>> from noneg import Sketch
    >>> monday = Sketch(setting="one-sample").update([1, 0, 0], [0.9, 0.2, 0.4])
    >>> tuesday = Sketch(setting="one-sample").update([0, 0], [0.6, 0.1])
    >>> week = monday + tuesday
    >>> week
    Sketch(1 positive, 4 unlabeled rows, 5 buckets)
    >>> week.scores(prior=0.4)
    PUScores(1 positive, 4 unlabeled rows, one-sample, prior 0.4)
    """

    __slots__ = ("_knowledge", "_own", "_setting", "_weight_kind")

    _own: NDArray[np.float64] | None
    _weight_kind: Kind
    _setting: Setting | None
    _knowledge: Knowledge

    def __init__(
        self,
        *,
        weight_kind: Kind = "frequency",
        setting: Setting | None = None,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
    ) -> None:
        check_choice(weight_kind, "weight_kind", SUMS)
        self._weight_kind = weight_kind
        self._setting = None if setting is None else checks.check_setting(setting)
        self._knowledge = Knowledge.given(prior, prior_interval)
        self._own = None

    @property
    def _table(self) -> NDArray[np.float64]:
        """The table, created when it is first needed: writing megabytes takes time."""
        if self._own is None:
            self._own = empty_table(self._weight_kind)
        return self._own

    @classmethod
    def from_scores(cls, scores: PUScores) -> Self:
        """Sketch rows that are in memory; the setting and the prior are kept.

        Examples
        --------
        >>> from noneg import PUScores, Sketch
        >>> scores = PUScores([0.9, 0.6], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> Sketch.from_scores(scores).scores()
        PUScores(2 positives, 2 unlabeled rows, two-sample, prior 0.4)
        """
        kind = _kind(scores)
        sketch = cls(
            weight_kind=kind,
            setting=scores.setting,
            prior=None if scores.prior_is_estimated else scores.prior,
            prior_interval=scores.prior_interval,
        )
        for in_positive, _, chunk in scores.chunks():
            s, counts, inverse, mass = chunk
            flags, inverse = np.full(s.size, in_positive), np.broadcast_to(inverse, s.shape)
            if kind == "propensity":
                sketch.update(flags, s, propensity=1.0 / inverse)
                continue
            weights = counts if kind == "frequency" else inverse if in_positive else mass
            sketch.update(flags, s, None if np.ndim(weights) == 0 else weights)
        return sketch

    def update(
        self,
        labeled: ArrayLike,
        y_score: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Add rows in place, in constant memory, and return the sketch itself.

        Parameters
        ----------
        labeled : array-like
            1 for labeled positives, 0 for unlabeled rows (for labeled data, the labels).
        y_score : array-like
            Scores in [0, 1].
        sample_weight : array-like, optional
            Weight of each row, of the sketch's `weight_kind`.
        propensity : array-like, optional
            For each row, the rate in (0, 1] at which such a positive is labeled; ignored for
            unlabeled rows. Required if the kind of the sketch is "propensity", and not allowed
            otherwise.

        Examples
        --------
        >>> from noneg import Sketch
        >>> sketch = Sketch()
        >>> for chunk in ([0.1, 0.2], [0.3]):
        ...     sketch = sketch.update([0] * len(chunk), chunk)
        >>> sketch.n_unlabeled
        3
        """
        flags, scores = labeled_columns(labeled, y_score, "labeled", None)
        weights = self._weights(flags, sample_weight, propensity)
        add_rows(self._table, flags, scores, weights, fast_loops(scores.size))
        return self

    def _weights(
        self,
        flags: NDArray[np.bool_],
        sample_weight: ArrayLike | None,
        propensity: ArrayLike | None,
    ) -> NDArray[np.float64] | None:
        """Return the weights of rows; for rows with labeling rates, the inverse rates."""
        rated = self._weight_kind == "propensity"
        if rated != (propensity is not None) or (rated and sample_weight is not None):
            rule = (
                "must be given if and only if weight_kind='propensity', and without sample_weight"
            )
            raise InputError(
                "propensity", rule, remedy="Choose the weight_kind that matches the rows."
            )
        if propensity is not None:
            return 1.0 / checks.check_propensity(propensity, flags.size, flags)
        if sample_weight is None:
            return None
        return checks.check_weights(sample_weight, self._weight_kind, flags.size, "sample_weight")

    def add_sums(
        self,
        group: int | NDArray[np.int64],
        bucket: NDArray[Any],
        sums: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
    ) -> None:
        """Add sums computed by an engine for group 0 (unlabeled) or 1, one row per bucket.

        The columns of `sums` are those of `noneg.sketch.forms.SUMS`. Rows for the same bucket add
        up.
        """
        k, place = sums.shape[1], bucket.astype(np.int64)
        columns = np.reshape(group, (-1, 1)) * k + np.arange(k)
        np.add.at(self._table, (place[:, None], columns), sums)
        np.minimum.at(self._table[:, -2], place, low)
        np.maximum.at(self._table[:, -1], place, high)

    def add_table(self, table: NDArray[np.float64]) -> Self:
        """Add a table as in `noneg.sketch.forms`, with the columns of this weight kind.

        A new sketch takes ownership of the table, which the caller must no longer use.
        """
        if self._own is None:
            self._own = table
        else:
            merge_into(self._own, table)
        return self

    def __add__(self, other: object) -> Self:
        return self.copy().__iadd__(other)

    def __radd__(self, other: object) -> Self:
        """Support the built-in sum, which starts from 0."""
        return self.copy() if other == 0 else NotImplemented

    def __iadd__(self, other: object) -> Self:
        if not isinstance(other, Sketch):
            return NotImplemented
        _, setting, *known = (_agreed(name, self, other) for name in _FACTS)
        self._setting, self._knowledge = setting, Knowledge.given(*known)
        merge_into(self._table, other._table)
        return self

    def copy(self) -> Self:
        """Return an independent copy of the sketch."""
        return type(self)(**self._facts()).add_table(self._table.copy())

    __copy__ = copy

    def scores(
        self,
        *,
        setting: Setting | None = None,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
        selection: float = 1.0,
    ) -> PUScores:
        """Return the rows as weighted `PUScores`, which all metrics accept like any other rows.

        A bucket becomes one point at its mean score; if it contains more than 2 millionths of a
        group, it becomes several points, over which the rows of each group are distributed
        according to their mean.

        Parameters
        ----------
        setting, prior, prior_interval, selection
            As in `PUScores`; values stored in the sketch need not be repeated.

        Examples
        --------
        >>> import noneg
        >>> sketch = noneg.Sketch().update([1, 0, 0, 1], [0.9, 0.2, 0.4, 0.6])
        >>> round(noneg.ece(sketch.scores(setting="labeled"), bins=1), 3)
        0.025
        """
        chosen = checks.check_setting(self._setting if setting is None else setting)
        if prior is None and prior_interval is None:
            prior, prior_interval = self.prior, self.prior_interval
        known = Knowledge.given(prior, prior_interval, selection=selection)
        return pu_scores(self._table, self._weight_kind, chosen, known)

    @property
    def weight_kind(self) -> Kind:
        """Meaning of the weights."""
        return self._weight_kind

    @property
    def setting(self) -> Setting | None:
        """How the rows were sampled, if given."""
        return self._setting

    @property
    def prior(self) -> float | None:
        """Share of positives in the population, if given."""
        return self._knowledge.prior

    @property
    def prior_interval(self) -> tuple[float, float] | None:
        """Range of possible priors, if given."""
        return self._knowledge.prior_interval

    @property
    def n_unlabeled(self) -> int:
        """Number of rows that are not labeled positive."""
        return int(sums_by_group(self._table)[0][:, 0].sum())

    @property
    def n_positive(self) -> int:
        """Number of labeled positives."""
        return int(sums_by_group(self._table)[1][:, 0].sum())

    @property
    def masses(self) -> tuple[float, float]:
        """Total weight of unlabeled rows and of positives; their number if there are no weights."""
        unlabeled, positive = (masses(sums).sum() for sums in sums_by_group(self._table))
        return float(unlabeled), float(positive)

    @property
    def nbytes(self) -> int:
        """Memory used by the sketch, in bytes."""
        return self._table.nbytes

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON; `from_dict` is the inverse.

        Examples
        --------
        >>> from noneg import Sketch
        >>> Sketch().update([0], [0.5]).to_dict()["unlabeled"]
        {'n': [1], 'sum': [0.5]}
        """
        bucket, columns = self._occupied()
        out: dict[str, object] = {**self._head(), "bucket": bucket.tolist()}
        for group in GROUPS:
            names = SUMS[self.weight_kind]
            out[group] = {name: columns[f"{group}_{name}"].tolist() for name in names}
        return out | {name: columns[name].tolist() for name in ("low", "high")}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the sketch from the output of `to_dict`; anything else raises an error."""
        head = _checked_head(content)
        names = SUMS[head["weight_kind"]]
        groups = {group: _part(content, group) for group in GROUPS}
        columns = {
            f"{group}_{name}": _part(part, name) for group, part in groups.items() for name in names
        }
        columns |= {name: _part(content, name) for name in ("low", "high")}
        return cls._build(head, _part(content, "bucket"), columns)

    def to_arrow(self) -> pa.Table:
        """Return a PyArrow table with one row per occupied bucket; `from_arrow` is the inverse."""
        import pyarrow as pa

        bucket, columns = self._occupied()
        head = json.dumps(self._head(), allow_nan=False).encode()
        table = pa.table({"bucket": bucket.astype(np.int32), **columns})
        return table.replace_schema_metadata({_METADATA: head})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Return the sketch from the output of `to_arrow`; anything else raises an error."""
        found = (table.schema.metadata or {}).get(_METADATA)
        if found is None:
            raise InputError(
                "table", f"must be a sketch: its metadata lacks {_METADATA.decode()!r}."
            )
        head = _checked_head(_parsed(found.decode()))
        columns = {}
        for name in ("bucket", *_column_names(head["weight_kind"])):
            if name not in table.column_names or table[name].null_count:
                raise InputError(
                    "table", f"must be a sketch: column {name!r} is missing or has missing values."
                )
            columns[name] = table[name].to_numpy()
        return cls._build(head, columns.pop("bucket"), columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a .parquet or .json file; the write is atomic.

        Examples
        --------
        >>> import tempfile
        >>> from noneg import Sketch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Sketch().update([1, 0], [0.9, 0.2]).save(f"{folder}/day.json")
        ...     Sketch.load(f"{folder}/day.json")
        Sketch(1 positive, 1 unlabeled row, 2 buckets)
        """
        if _ending(Path(path)) == ".json":
            write_text(path, json.dumps(self.to_dict(), allow_nan=False))
            return
        table = self.to_arrow()
        from pyarrow.parquet import write_table

        with replacing(path) as partial:
            write_table(table, partial)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a sketch written by `save`; a damaged or unrelated file raises an error."""
        file = Path(path)
        kind = _ending(file)
        if not file.is_file():
            raise MissingFileError("path", f"must be a file, but {str(file)!r} does not exist.")
        try:
            if kind == ".json":
                return cls.from_dict(_parsed(file.read_text(encoding="utf-8")))
            return cls.from_arrow(_parquet(file))
        except ValueError as error:
            raise InputError("path", f"is not a complete sketch: {str(file)!r}: {error}") from error

    def _head(self) -> dict[str, object]:
        return {"schema": SCHEMA, "buckets": GRIDS[self.weight_kind].size, **self._facts()}

    def _facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FACTS}

    def _occupied(self) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Return the occupied buckets, and the columns of the table there; counts are integers."""
        bucket = np.flatnonzero(self._table[:, -1] >= 0.0)
        columns = zip(_column_names(self.weight_kind), self._table[bucket].T, strict=True)
        return bucket, {
            name: x.astype(np.int64) if name.endswith("_n") else x for name, x in columns
        }

    @classmethod
    def _build(cls, head: dict[str, Any], bucket: object, columns: dict[str, object]) -> Self:
        """Return a sketch from columns, each checked to be what a sketch could have written."""
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
            names = (f"{group}_{name}" for name in SUMS[head["weight_kind"]])
            _check_group({name: values[name] for name in names}, low, high)
        counts = values["unlabeled_n"] + values["positive_n"]
        _require(counts > 0.0, "bucket", "contain a row", index)
        sketch._table[index.astype(np.int64)] = np.stack(list(values.values()), axis=-1)
        return sketch

    def __repr__(self) -> str:
        occupied = int(np.count_nonzero(self._table[:, -1] >= 0.0))
        rows = f"{count(self.n_positive, 'positive')}, {count(self.n_unlabeled, 'unlabeled row')}"
        return f"Sketch({rows}, {count(occupied, 'bucket')})"


def _agreed(name: str, one: Sketch, other: Sketch) -> Any:  # noqa: ANN401
    """Return a value that either sketch has; raise an error if they differ."""
    mine, theirs = getattr(one, name), getattr(other, name)
    if mine is not None and theirs is not None and mine != theirs:
        msg = f"must be the same in sketches that are added, got {mine!r} and {theirs!r}."
        omit = "Omit it from the sketches, and pass it to scores()."
        raise InputError(name, msg, remedy="" if name == "weight_kind" else omit)
    return theirs if mine is None else mine


def _kind(scores: PUScores) -> Kind:
    """Return the kind of sketch that preserves the masses of all rows."""
    counted = weighted = rated = False
    for in_positive, _, (_, counts, inverse, mass) in scores.chunks():
        counted = counted or not np.all(np.equal(counts, 1.0))
        weighted = weighted or not np.all(np.equal(mass, 1.0))
        rated = rated or (in_positive and not np.all(np.equal(inverse, mass)))
    # Positives from a separate sample have no marginal mass that would have to be kept as well.
    if rated and weighted and not counted and not checks.is_pooled(scores.setting):
        return "importance"
    if counted + weighted + rated > 1:
        rule = "must not have more than one of counts, weights and labeling rates (propensity)"
        raise InputError("scores", rule, remedy="Keep these rows in memory.")
    return "propensity" if rated else "importance" if weighted else "frequency"


def _column_names(kind: Kind) -> list[str]:
    """Return the columns of a table, in order."""
    return [*(f"{group}_{name}" for group in GROUPS for name in SUMS[kind]), "low", "high"]


def _parquet(file: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow.parquet import read_table

    try:
        return read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read ({str(error).splitlines()[0]})") from error


def _ending(path: Path) -> str:
    if path.suffix not in (".json", ".parquet"):
        raise InputError("path", "must end in .json or .parquet", value=str(path))
    return path.suffix


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
