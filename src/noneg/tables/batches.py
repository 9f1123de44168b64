"""Turn Arrow record batches into columns or a sketch; all rows of a table are checked here.

`Wanted` names the columns to read, and `fill` collects the rows in arrays, or in a sketch once
there are too many.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from noneg.checks import Setting, WeightKind, check_scores, check_weights, is_labeled, number_advice
from noneg.errors import InputError, did_you_mean
from noneg.scores import PUScores
from noneg.sketch import Sketch
from noneg.sketch.forms import add_rows, empty_table, fast_loops
from noneg.tables.labels import (
    NUMBER,
    Labels,
    about_columns,
    first_null,
    refuse_missing,
    refuse_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from noneg.tables.groups import Grouping
    from noneg.tables.labels import Column, Flags, Place

    # Called with the number of rows done so far, and the total number of rows if it is known.
    Progress = Callable[[int, int | None], None]
    Batch = dict[str, Column]

_MOST_NAMES = 20


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The columns to read, by name, and the meaning of the labels.

    With `unlabeled_label` or `unlabeled_is_empty`, there are three labels; the third one means
    reviewed and found negative. `texts` are further columns, keyed by argument, that are kept as
    text. `groups` collects the values of the columns that define groups.
    """

    score: str
    label: str
    weight: str | None = None
    positive_label: object = None
    unlabeled_label: object = None
    unlabeled_is_empty: bool = False
    weight_kind: WeightKind = "frequency"
    texts: Mapping[str, str] = field(default_factory=dict)
    groups: Grouping | None = None

    @property
    def has_negatives(self) -> bool:
        """Whether a label may mean negative."""
        return self.unlabeled_is_empty or self.unlabeled_label is not None

    def __post_init__(self) -> None:
        for argument, name in self.names().items():
            if not isinstance(name, str):
                msg = f"must be the name of a column, got {name!r}. Pass it as text."
                raise InputError(argument, msg)
        if len(set(self.names().values())) < len(self.names()):
            named = ", ".join(repr(name) for name in self.names().values())
            rule, remedy = f"must be different columns, got {named}", "Name each one once."
            raise InputError(("score", "label", "weight"), rule, remedy=remedy)

    def names(self) -> dict[str, str]:
        """Return the required columns, keyed by argument."""
        names = {"score": self.score, "label": self.label, **self.texts}
        if self.groups is not None:
            names |= self.groups.names()
        return names if self.weight is None else {**names, "weight": self.weight}

    def check_names(self, there: Sequence[str], where: str) -> None:
        """Raise an error, listing the columns, if a required column is missing or appears twice."""
        for key, name in self.names().items():
            argument = "feature" if key.startswith(FEATURE) else key
            count = list(there).count(name)
            if count > 1:
                msg = f"is {name!r}, but {where} has {count} columns of that name."
                raise InputError(argument, msg, remedy="Rename all but one.")
            if count == 0:
                msg = f"must name a column of {where}, got {name!r}."
                raise InputError(argument, f"{msg}{did_you_mean(name, there)} {_listed(there)}")


@dataclass(frozen=True, kw_only=True)
class WantedColumns(Wanted):
    """Only the columns in `texts`, keyed by argument, and those that define groups."""

    score: str = ""
    label: str = ""

    def names(self) -> dict[str, str]:
        """Return the required columns, keyed by argument."""
        return dict(self.texts) | ({} if self.groups is None else self.groups.names())


# The keys of features, which share one argument, begin with this.
FEATURE = "column "


def by_argument(names: Iterable[str]) -> dict[str, str]:
    """Return features, keyed by argument for messages."""
    return {f"{FEATURE}{name}": name for name in names}


@dataclass(frozen=True, eq=False)
class Columns:
    """Scores, labeled positives, weights, known negatives, and the group code of each row."""

    score: NDArray[np.float64]
    flags: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    negative: NDArray[np.bool_] | None = None
    texts: Mapping[str, list[str]] = field(default_factory=dict)
    codes: NDArray[np.int64] | None = None

    def part(self, here: Flags) -> Columns:
        """Return some of the rows, without texts."""
        parts: dict[str, Any] = {}
        for name in _ARRAYS:
            column = getattr(self, name)
            parts[name] = None if column is None else column[here]
        return Columns(**parts)

    def scores(self, setting: Setting, kind: WeightKind, **known: Any) -> PUScores:  # noqa: ANN401
        """Return the rows as scores, with what is known about the population."""
        weights: dict[str, Any] = {"sample_weight": self.weight, "weight_kind": kind}
        if is_labeled(setting):
            return PUScores.from_labels(self.flags, self.score, **weights)
        return PUScores.from_pu_labels(self.flags, self.score, setting=setting, **weights, **known)


_ARRAYS = ("score", "flags", "weight", "negative", "codes")


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "It has no columns."
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"It has {shown}" + (f" and {more} more." if more > 0 else ".")


# Rows decoded at a time: enough that the work for each batch does not matter.
BATCH = 1 << 19

# Rows counted together if there are groups; the first of them determine the buckets of all groups.
HELD = 1 << 21


@dataclass(frozen=True, eq=False)
class Source:
    """A file or data frame as a stream of batches.

    Attributes
    ----------
    name : str
        Name shown to users.
    batches : callable
        Returns an iterator over Arrow columns keyed by argument ("score", "label", ...).
    place : callable
        Describes the location of a row, given its number in this source.
    n_rows : int or None
        Number of rows, if it is known.
    is_text : bool
        Whether every column is text from which numbers must be parsed.
    """

    name: str
    batches: Callable[[], Iterator[Batch]]
    place: Place
    n_rows: int | None = None
    is_text: bool = False


def fill(
    sources: Sequence[Source], wanted: Wanted, limit: float, progress: Progress | None
) -> Columns | Sketch:
    """Read all rows; once there are more than `limit`, sketch them."""
    from pyarrow import default_memory_pool

    counts = [source.n_rows for source in sources if source.n_rows is not None]
    total = sum(counts) if len(counts) == len(sources) else None
    labels, rows = Labels(wanted), _Rows(wanted, limit, total or 0)
    with closing(stream(sources)) as batches:
        for batch, place, is_text in batches:
            rows.add(checked(batch, wanted, labels, place, is_text=is_text))
            if progress is not None:
                progress(rows.n, total)
    labels.settle()
    done = rows.finished()
    # Arrow keeps tens of megabytes from batches that have been freed.
    default_memory_pool().release_unused()
    return done


def stream(sources: Sequence[Source]) -> Generator[tuple[Batch, Place, bool]]:
    """Yield the batches of all sources, functions that locate their rows, and `is_text`.

    The next batch is fetched while one is in use. There must be at least one row.
    """
    n_rows = 0
    with ThreadPoolExecutor(1) as pool:
        for source in sources:
            first, batches = 0, source.batches()
            ahead = pool.submit(next, batches, None)
            while (batch := ahead.result()) is not None:
                ahead = pool.submit(next, batches, None)
                yield batch, partial(_shifted, source.place, first), source.is_text
                first += len(next(iter(batch.values())))
            n_rows += first
    if not n_rows:
        names = " and ".join(source.name for source in sources)
        has = "has only a header" if sources[0].is_text else "has none"
        raise InputError("source", f"must contain at least one row, but {names} {has}.")


def _shifted(place: Place, first: int, row: int) -> str:
    return place(first + row)


def numbers(
    column: Column, argument: str, name: str, place: Place, *, is_text: bool
) -> NDArray[np.float64]:
    """Return an Arrow column as doubles, or raise an error that names the first bad row."""
    import pyarrow as pa

    if column.null_count:
        refuse_missing(argument, name, place(first_null(column)))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text:
        return _parsed(column, name, place)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        _refuse_type(column, name)
    if not pa.types.is_float64(kind):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


class _Rows:
    """Batches that are kept, or counted in a sketch once there are too many rows."""

    def __init__(self, wanted: Wanted, limit: float, expected: int) -> None:
        self.wanted, self.limit, self.expected = wanted, limit, expected
        self.held: list[Columns] = []
        self.n = self.n_held = 0
        self.table: NDArray[np.float64] | None = None

    def add(self, columns: Columns) -> None:
        self.held.append(columns)
        self.n += columns.score.size
        self.n_held += columns.score.size
        if self.n > self.limit and (self.wanted.groups is None or self.n_held >= HELD):
            self._count()

    def _count(self) -> NDArray[np.float64]:
        kind, groups = self.wanted.weight_kind, self.wanted.groups
        if self.table is None:
            self.table = empty_table(kind)
        fast = fast_loops(max(self.n, self.expected))
        for columns in self.held:
            add_rows(self.table, columns.flags, columns.score, columns.weight, fast)
        if groups is not None and self.held:
            rows = _joined(self.held)
            assert rows.codes is not None  # noqa: S101 - groups are wanted
            groups.add(rows.codes, rows.score, rows.flags, rows.weight, kind)
        self.held, self.n_held = [], 0
        return self.table

    def finished(self) -> Columns | Sketch:
        if self.n <= self.limit:
            return _joined(self.held)
        return Sketch(weight_kind=self.wanted.weight_kind).add_table(self._count())


def _joined(held: list[Columns]) -> Columns:
    parts: dict[str, Any] = {}
    for name in _ARRAYS:
        pieces = [getattr(columns, name) for columns in held]
        parts[name] = None if pieces[0] is None else np.concatenate(pieces)
    # The array has no other owner: `PUScores` keeps a read-only array without copying it.
    parts["score"].flags.writeable = False
    texts = {name: [x for one in held for x in one.texts[name]] for name in held[0].texts}
    return Columns(**parts, texts=texts)


def checked(
    batch: Batch, wanted: Wanted, labels: Labels, place: Place, *, is_text: bool
) -> Columns:
    """Return the rows of a batch."""
    flags, negative = labels.kinds(batch["label"], place)
    score, *rest = (
        numbers(batch[argument], argument, name, place, is_text=is_text)
        for argument, name in wanted.names().items()
        if argument in ("score", "weight")
    )
    with about_columns(place):
        check_scores(score, wanted.score)
        for weight in rest:
            check_weights(weight, wanted.weight_kind, score.size, str(wanted.weight))
    texts = {name: as_texts(batch[name], column, place) for name, column in wanted.texts.items()}
    codes = None if wanted.groups is None else wanted.groups.codes_of_batch(batch, place)
    return Columns(score, flags, rest[0] if rest else None, negative, texts, codes)


def as_texts(column: Column, name: str, place: Place, remedy: str = "") -> list[str]:
    """Return a column as text; every row must have a value."""
    if column.null_count:
        rule, row = "must contain a value in every row", first_null(column)
        raise InputError(name, rule, row=row, lack="has none", remedy=remedy).of_column(place)
    return [as_text(value) for value in column.to_pylist()]


def as_text(value: object) -> str:
    """Return the text of an identifier; whole numbers lose the decimals added by tables.

    Examples
    --------
    >>> as_text(7.0), as_text("007")
    ('7', '007')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _parsed(column: Column, name: str, place: Place) -> NDArray[np.float64]:
    """Return the numbers in a text column; Arrow parses all but those padded with spaces."""
    import pyarrow as pa

    try:
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        texts = column.to_pylist()
    for row, text in enumerate(texts):
        if not NUMBER.fullmatch(text.strip()):
            refuse_text(name, text, place(row))
    return np.array([float(text) for text in texts])


def _refuse_type(column: Column, name: str) -> NoReturn:
    first = column[0].as_py() if len(column) else None
    kind = "text" if isinstance(first, str) else column.type
    msg = f"column {name!r} must contain numbers, but its type is {kind}, such as {first!r}."
    raise ValueError(f"{msg} {number_advice(first)}")
