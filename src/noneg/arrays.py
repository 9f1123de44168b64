"""Short names for the arrays in annotations, and bisection for all entries of an array."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.int64]
Places: TypeAlias = NDArray[np.intp]


def bisected(
    is_left: Callable[[Any], Any], left: ArrayLike, right: ArrayLike, steps: int = 60
) -> Floats:
    """Return the points in brackets ``[left[i], right[i]]`` up to which a test is true.

    Examples
    --------
    >>> bisected(lambda x: x**2 < [2.0, 9.0], np.zeros(2), np.full(2, 8.0)).round(6)
    array([1.414214, 3.      ])
    """
    for _ in range(steps):
        middle = 0.5 * np.add(left, right)
        here = is_left(middle)
        left, right = np.where(here, middle, left), np.where(here, right, middle)
    return 0.5 * np.add(left, right)
