"""Labels that come batch by batch: which rows are positive before all labels have been seen."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.tables.columns import (
    MOST_LABELS,
    is_label,
    positive_among,
    refuse_missing,
    values_of_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.tables.columns import Wanted


class Labels:
    """The distinct labels seen so far, each with whether it means positive.

    That is a guess at first: what a label means shows only in all of them together. `settle` tells
    at the end whether the guess was right.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.positive: dict[object, bool] = {}
        self._lock = Lock()

    def flags(self, column: Any, place: Callable[[int], str]) -> NDArray[np.bool_]:  # noqa: ANN401
        """Return which rows of an Arrow column are positive; `place` says where a row is."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            refuse_missing("label", self.wanted.label, place(row))
        if pa.types.is_boolean(column.type):
            return self._of_truths(_unpacked(column))
        found = pc.unique(column)
        positive = [self._note(value) for value in found.to_pylist()]
        if pa.types.is_floating(column.type) and any(v != v for v in found.to_pylist()):  # noqa: PLR0124
            row = int(np.argmax(np.isnan(column.to_numpy(zero_copy_only=False))))
            refuse_missing("label", self.wanted.label, place(row))
        chosen = found.filter(pa.array(positive, pa.bool_()))
        inside = pc.is_in(column, value_set=chosen)
        return np.asarray(inside.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def _of_truths(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if values.any():
            self._note(value=True)
        if not values.all():
            self._note(value=False)
        if self.positive.get(True, False):
            return values
        return ~values if self.positive.get(False, False) else np.zeros_like(values)

    def _note(self, value: object) -> bool:
        """Remember a label, and return whether it seems to mean positive."""
        with self._lock:
            if value not in self.positive:
                self.positive[value] = self._guess(value)
                if len(self.positive) > MOST_LABELS:
                    positive_among(list(self.positive), self.wanted)
            return self.positive[value]

    def _guess(self, value: object) -> bool:
        meaning = values_of_text([value])[0] if isinstance(value, str) else value
        if self.wanted.positive_label is None:
            return meaning == 1
        return any(is_label(v, self.wanted.positive_label) for v in (value, meaning))

    def settle(self, *, stay_text: bool) -> bool:
        """Check all labels together; return False, and know better, if a guess was wrong.

        Parameters
        ----------
        stay_text : bool
            Whether labels were written as text, and not merely read as text.
        """
        found = sorted(self.positive, key=str)
        read_as_text = not stay_text and all(isinstance(value, str) for value in found)
        values = values_of_text([str(value) for value in found]) if read_as_text else found
        flags = dict(zip(found, positive_among(values, self.wanted).tolist(), strict=True))
        right = flags == self.positive
        self.positive = flags
        return right


def _unpacked(column: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Return truth values, which Arrow keeps in bits, a byte each."""
    byte, first = divmod(column.offset, 8)
    bits = np.frombuffer(column.buffers()[1], dtype=np.uint8)[byte:]
    return np.unpackbits(bits, count=first + len(column), bitorder="little")[first:].view(np.bool_)
