"""Labels of any type, batch by batch: which rows are positive."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_flags
from noneg.tables.columns import about_columns, refuse_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted

# More distinct labels than this are not worth counting: it is the wrong column.
MOST_LABELS = 1000
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)|nan", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_WORDS = {"true": True, "false": False}


def meaning(label: object) -> object:
    """Return the number or boolean that a label stands for, else its text.

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


class Labels:
    """Tells which rows are positive, and remembers the distinct labels to check them together."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.positive = 1 if wanted.positive_label is None else meaning(wanted.positive_label)
        self.found: dict[object, None] = {}

    def flags(self, column: Any, place: Callable[[int], str]) -> NDArray[np.bool_]:  # noqa: ANN401
        """Return which rows of an Arrow column are positive; `place` says where a row is."""
        import pyarrow as pa

        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            refuse_missing("label", self.wanted.label, place(row))
        if pa.types.is_boolean(column.type):
            return self._of_booleans(_unpacked(column))
        codes, values, used = _encoded(column, self.wanted.label)
        positive = np.zeros(len(values), dtype=np.bool_)
        for code in used:
            means = meaning(values[code])
            if means is None or means != means:  # noqa: PLR0124
                refuse_missing("label", self.wanted.label, place(int(np.argmax(codes == code))))
            positive[code] = self.note(means)
        return positive[codes]

    def _of_booleans(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        true, false = (
            there and self.note(value)
            for there, value in ((values.any(), True), (not values.all(), False))
        )
        return values if true else ~values if false else np.zeros_like(values)

    def note(self, means: object) -> bool:
        """Remember a label, and return whether it means positive."""
        self.found[means] = None
        if len(self.found) > MOST_LABELS:
            shown = ", ".join(repr(value) for value in list(self.found)[:3])
            msg = f"column {self.wanted.label!r} must hold two values, got more than"
            raise ValueError(f"{msg} {MOST_LABELS:,}, such as {shown}. Is it the label?")
        return means == self.positive

    def settle(self) -> None:
        """Refuse labels that, all together, do not say what is positive."""
        values = np.empty(len(self.found), dtype=object)
        values[:] = sorted(self.found, key=str)
        meant = self.wanted.positive_label
        if meant is not None and self.positive in self.found:
            meant = next(value for value in values if value == self.positive)
        with about_columns():
            check_flags(values, self.wanted.label, meant)


def _encoded(column: Any, name: str) -> tuple[NDArray[Any], list[object], Iterable[int]]:  # noqa: ANN401
    """Return the code of each row, the labels that codes stand for, and the codes in use."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        msg = f"column {name!r} must hold two values, but its type is {column.type}."
        raise ValueError(f"{msg} Convert the column first.")
    ready = pa.types.is_dictionary(column.type)
    column = column if ready else column.dictionary_encode()
    codes, values = column.indices.to_numpy(), column.dictionary.to_pylist()
    return codes, values, np.unique(codes) if ready else range(len(values))


def _unpacked(column: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Return booleans, which Arrow keeps in bits, one byte each."""
    byte, first = divmod(column.offset, 8)
    bits = np.frombuffer(column.buffers()[1], dtype=np.uint8)[byte:]
    return np.unpackbits(bits, count=first + len(column), bitorder="little")[first:].view(np.bool_)
