"""Which rows of a table are positive: labels of any type, read batch by batch and checked together.

The errors for missing values and for text in a column of numbers are here, too.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from noneg.checks import check_flags, number_advice
from noneg.errors import Argument, InputError
from noneg.kernels import binary_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from noneg.tables.batches import Wanted

    # Describes the location of a row.
    Place = Callable[[int], str]
    Column = Any  # An Arrow array.
    Flags = NDArray[np.bool_]


@contextmanager
def about_columns(place: Place | None = None) -> Iterator[None]:
    """Make errors about arguments refer to the corresponding columns and the location of a row."""
    try:
        yield
    except InputError as error:
        raise error.of_column(place) from error


def refuse_missing(argument: str, name: str, place: str) -> NoReturn:
    """Raise an error for a row without a value."""
    advice = {
        "label": "Write the value that means unlabeled into such rows, or pass "
        "unlabeled_is_empty (--unlabeled-is-empty) if an empty label means that the "
        "row was not reviewed.",
        "score": "Remove rows without a score, or impute the score; no row is dropped silently.",
        "weight": "Write the weight into such rows, or 0 to exclude a row.",
    }.get(argument, "Fill in missing values first, or name the columns to use with --feature.")
    what = argument if argument in ("label", "score", "weight") else "number"
    msg = f"column {name!r} must contain a {what} in every row, but {place} has none."
    raise ValueError(f"{msg} {advice}")


def refuse_text(name: str, value: object, place: str) -> NoReturn:
    """Raise an error for a row that contains text instead of a number."""
    msg = f"column {name!r} must contain numbers, got {value!r} in {place}."
    raise ValueError(f"{msg} {number_advice(value)}")


# More distinct labels than this are not worth counting, because it must be the wrong column.
MOST_LABELS = 1000

NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)|nan", re.IGNORECASE)

_WHOLE = re.compile(r"[+-]?\d{1,15}")

_WORDS = {"true": True, "false": False}


def meaning(label: object) -> object:
    """Return the number or boolean that a label represents, else its text.

    Examples
    --------
    >>> meaning("1"), meaning("1.0") == meaning(True), meaning("TRUE"), meaning("yes")
    (1, True, True, 'yes')
    """
    if isinstance(label, Decimal):
        return float(label)
    text = label.decode(errors="backslashreplace") if isinstance(label, bytes) else label
    if not isinstance(text, str):
        return text
    word = text.strip().casefold()
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if NUMBER.fullmatch(word) else _WORDS.get(word, text)


_NOWHERE = object()


def _is_empty(means: object, *, blank: bool) -> bool:
    """Return whether a label is missing: None or nan, or text that may not be blank."""
    if blank and isinstance(means, str):
        return not means.strip()
    return means is None or means != means  # noqa: PLR0124


class Labels:
    """Flags positive rows, and collects the distinct labels in order to check them together."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.positive = 1 if wanted.positive_label is None else meaning(wanted.positive_label)
        given = wanted.unlabeled_label
        self.unlabeled = _NOWHERE if given is None else meaning(given)
        self.found: dict[object, None] = {}
        self.seen_unlabeled, self.seen_empty = False, False
        if self.unlabeled == self.positive:
            rule = "must differ from the positive label"
            raise InputError("unlabeled_label", rule, value=given)

    def kinds(self, column: Column, place: Place) -> tuple[Flags, Flags | None]:
        """Return which rows are positive, and which are known negatives, if applicable.

        `place` describes the location of a row.
        """
        three = self.wanted.has_negatives
        if column.null_count:
            self._check_empty(place, first_null(column))
        if not three and (flags := self._plain(column)) is not None:
            return flags, None
        codes, values, used = _encoded(column, self.wanted.label)
        positive, negative = np.zeros((2, len(values)), dtype=np.bool_)
        for code in used:
            means = meaning(values[code])
            if _is_empty(means, blank=three):
                self._check_empty(place, int(np.argmax(codes == code)))
            elif means == self.unlabeled:
                self.seen_unlabeled = True
            else:
                positive[code] = self.note(means)
                negative[code] = not positive[code]
        return positive[codes], negative[codes] if three else None

    def _check_empty(self, place: Place, row: int) -> None:
        if not self.wanted.unlabeled_is_empty:
            refuse_missing("label", self.wanted.label, place(row))
        self.seen_empty = True

    def _plain(self, column: Column) -> Flags | None:
        """Return the flags of booleans and of integers that are all 0 or 1, else None."""
        import pyarrow as pa

        if pa.types.is_boolean(column.type):
            return self._of_flags(_unpacked(column), (True, False))
        flags = binary_flags(column.to_numpy()) if pa.types.is_integer(column.type) else None
        return None if flags is None else self._of_flags(flags, (1, 0))

    def _of_flags(self, flags: Flags, labels: tuple[object, object]) -> Flags:
        true, false = (
            there and self.note(label)
            for there, label in zip((flags.any(), not flags.all()), labels, strict=True)
        )
        return flags if true else ~flags if false else np.zeros_like(flags)

    def note(self, means: object) -> bool:
        """Record a label, and return whether it means positive."""
        self.found[means] = None
        if len(self.found) > MOST_LABELS:
            shown = ", ".join(repr(value) for value in list(self.found)[:3])
            msg = f"column {self.wanted.label!r} must contain two values, got more than"
            raise ValueError(f"{msg} {MOST_LABELS:,}, such as {shown}. Is this the label column?")
        return means == self.positive

    def settle(self) -> None:
        """Raise an error if the collected labels do not determine which rows are positive."""
        if self.wanted.has_negatives:
            self._check_unlabeled()
        elif len(self.found) == 3:
            shown = ", ".join(repr(value) for value in sorted(self.found, key=str))
            rule = f"must contain two values, got 3: {shown}"
            told = "If one of them means that the row was not reviewed, pass it as "
            remedy = (told, Argument("unlabeled_label"), ".")
            raise InputError(self.wanted.label, rule, remedy=remedy).of_column()
        values = np.empty(len(self.found), dtype=object)
        values[:] = sorted(self.found, key=str)
        meant = self.wanted.positive_label
        if meant is not None and self.positive in self.found:
            meant = next(value for value in values if value == self.positive)
        with about_columns():
            check_flags(values, self.wanted.label, meant)

    def _check_unlabeled(self) -> None:
        label, value = self.wanted.label, self.wanted.unlabeled_label
        if value is None:
            if self.seen_empty:
                return
            rule = f"must not be given: column {label!r} has a label in every row"
            raise InputError("unlabeled_is_empty", rule)
        if self.seen_unlabeled:
            return
        found = ", ".join(repr(one) for one in sorted(self.found, key=str))
        rule = f"must be a value of column {label!r} ({found})"
        raise InputError("unlabeled_label", rule, value=value)


def first_null(column: Column) -> int:
    """Return the first row without a value."""
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _encoded(column: Column, name: str) -> tuple[NDArray[Any], list[object], Iterable[int]]:
    """Return the code of each row, the labels of the codes, and the codes in use."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        msg = f"column {name!r} must contain two values, but its type is {column.type}."
        raise ValueError(f"{msg} Convert the column first.")
    ready = pa.types.is_dictionary(column.type) and not column.null_count
    if not ready:
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        column = column.dictionary_encode(null_encoding="encode")
    codes, values = column.indices.to_numpy(), column.dictionary.to_pylist()
    return codes, values, np.unique(codes) if ready else range(len(values))


def _unpacked(column: Column) -> Flags:
    """Return booleans, which Arrow stores as bits, as one byte each."""
    byte, first = divmod(column.offset, 8)
    bits = np.frombuffer(column.buffers()[1], dtype=np.uint8)[byte:]
    return np.unpackbits(bits, count=first + len(column), bitorder="little")[first:].view(np.bool_)
