"""Tables of any library as numbers: categories become codes, unknown ones are missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# Histograms of the engines have this many places for one column.
MOST_CATEGORIES = 254


@dataclass(frozen=True)
class Columns:
    """The columns of a frame: which ones are categories, and the values that each knows.

    Numbers, truth values and times are taken as numbers. Texts and categories become codes, the
    most frequent ones if there are too many. A value that was not there when the table was learned,
    and a missing one, is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30.0, None], "city": ["Rome", "Oslo"]})
    >>> columns = Columns.of(frame)
    >>> columns.categories
    {1: ['Oslo', 'Rome']}
    >>> columns.numbers(pd.DataFrame({"age": [1.0, 2.0], "city": ["Rome", "Paris"]}))
    array([[ 1.,  1.],
           [ 2., nan]])
    """

    categories: dict[int, list[str]]

    @classmethod
    def of(cls, X: Any) -> Self | None:  # noqa: ANN401
        """Return the columns of a frame, None of anything else."""
        frame = as_frame(X)
        if frame is None:
            return None
        # By place, since names may be numbers.
        columns = (frame[:, k] for k in range(frame.shape[1]))
        return cls({k: _known(_texts(c)) for k, c in enumerate(columns) if not _is_number(c)})

    def numbers(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Return a frame of these columns as numbers, missing values as nan."""
        frame = nw.from_native(X, eager_only=True)
        columns = [
            _codes(_texts(frame[:, k]), self.categories[k])
            if k in self.categories
            else _numbers(frame[:, k])
            for k in range(frame.shape[1])
        ]
        return np.column_stack(columns)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:  # noqa: ANN401
    """Return a frame of a library that narwhals knows, None of anything else."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_number(column: nw.Series[Any]) -> bool:
    kind = column.dtype
    return bool(kind.is_numeric() or kind.is_temporal() or kind == nw.Boolean)


def _numbers(column: nw.Series[Any]) -> NDArray[np.float64]:
    if not _is_number(column):
        # A column of texts that held numbers when the table was learned.
        return np.array([np.nan if v is None else float(v) for v in _texts(column)])
    if column.dtype.is_temporal():
        column = column.cast(nw.Datetime("us")).dt.timestamp("ms")
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _texts(column: nw.Series[Any]) -> list[str | None]:
    # What is not equal to itself is missing: nan, and the NA of pandas.
    return [None if v is None or (v == v) is not True else str(v) for v in column.to_list()]  # noqa: PLR0124


def _known(values: Iterable[str | None]) -> list[str]:
    counted = Counter(value for value in values if value is not None)
    return sorted(value for value, _ in counted.most_common(MOST_CATEGORIES))


def _codes(values: Iterable[str | None], known: list[str]) -> NDArray[np.float64]:
    place: dict[str | None, float] = {value: float(k) for k, value in enumerate(known)}
    return np.array([place.get(value, np.nan) for value in values], dtype=np.float64)
