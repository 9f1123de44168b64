"""Exact binomial (Clopper-Pearson) limits for shares; counts need not be whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats

# Replaces a count of zero, for which the limit is known.
LEAST = 1e-300


def lower_limit(hits: ArrayLike, misses: ArrayLike, tail: float) -> Floats:
    """Return the smallest share under which this many hits are not too many; 0 without hits.

    Examples
    --------
    >>> print(lower_limit([0, 5, 10], [10, 5, 0], 0.025).round(3))
    [0.    0.187 0.692]
    """
    x, y = np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64)
    return np.where(x > 0.0, betaincinv(np.maximum(x, LEAST), y + 1.0, tail), 0.0)


def upper_limit(hits: ArrayLike, misses: ArrayLike, tail: float) -> Floats:
    """Return the largest share under which this many hits are not too few; 1 without misses.

    Examples
    --------
    >>> print(upper_limit([0, 5, 10], [10, 5, 0], 0.025).round(3))
    [0.308 0.813 1.   ]
    """
    x, y = np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64)
    return np.where(y > 0.0, betaincinv(x + 1.0, np.maximum(y, LEAST), 1.0 - tail), 1.0)


def clopper_pearson(share: Floats, n: float | Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return both limits for a share among n rows; alpha is divided between the two tails.

    A share of infinitely many rows has no noise.

    Examples
    --------
    >>> low, high = clopper_pearson(np.array([0.0, 0.5]), 10, 0.05)
    >>> print(low.round(3), high.round(3))
    [0.    0.187] [0.308 0.813]
    """
    if np.isinf(np.max(n)):
        return share, share
    hits = np.asarray(share * n, dtype=np.float64)
    counts = hits, np.maximum(n - hits, 0.0)
    return lower_limit(*counts, alpha / 2.0), upper_limit(*counts, alpha / 2.0)
