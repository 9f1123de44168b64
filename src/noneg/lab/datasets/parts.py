"""Training and test rows with their labels, and the splits that several data sets share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

COVTYPE_TRAINING, LETTER_TRAINING = 15_120, 16_000


def every_fourth(rows: NDArray[Any], labels: NDArray[Any]) -> Parts:
    """Keep every fourth row for tests."""
    test = np.arange(labels.size) % 4 == 3
    return rows[~test], labels[~test], rows[test], labels[test]


def first_rows(rows: NDArray[Any], labels: NDArray[Any], n: int) -> Parts:
    """Keep all but the first rows for tests."""
    return rows[:n], labels[:n], rows[n:], labels[n:]
