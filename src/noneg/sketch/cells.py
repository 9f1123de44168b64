"""Buckets of many rows, cut into cells: no cut by score or by rank takes such a bucket whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Largest share of a law in one cell. Half of it is what a cut can miss, so it lies well below the
# error that is promised; there are at most 2 / CELL more cells than buckets.
CELL = 2e-6


@dataclass(frozen=True, eq=False)
class Cells:
    """Parts of equal width of the range [low, high] of each bucket, in order.

    Attributes
    ----------
    low, high : ndarray
        Smallest and largest score of each bucket.
    number : ndarray of int
        Cells of each bucket.
    """

    low: Floats
    high: Floats
    number: NDArray[np.int64]

    @classmethod
    def cut(cls, low: Floats, high: Floats, shares: Floats) -> Cells:
        """Cut buckets that hold these shares of a law."""
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
        """Where each cell ends in the range of its bucket, from 0 to 1."""
        place = np.arange(self.bucket.size) - self.first[self.bucket] + 1
        return place / self.number[self.bucket]

    def counts(self, n: Floats, mean: Floats) -> Floats:
        """Share out the rows of buckets whose number and mean score are known.

        Rows are taken to have a linear density with this mean on [low, high], or next to one end
        of it if the mean lies in the outer third. Given the mean of rows that are uniform, that is
        the best linear prediction of their number below a cut. Rows stay whole, and a lone row
        lies in the cell of its score.
        """
        centre = _ratio(mean - self.low, self.high - self.low, 0.5).clip(0.0, 1.0)
        left, right = np.maximum(3.0 * centre - 2.0, 0.0), np.minimum(3.0 * centre, 1.0)
        slope = 12.0 * (_ratio(centre - left, right - left, 0.5) - 0.5)
        b = self.bucket
        x = _ratio(self.end - left[b], (right - left)[b], 1.0).clip(0.0, 1.0)
        share = x * (1.0 - 0.5 * slope[b] * (1.0 - x))
        below = np.where(n[b] == 1.0, self.end >= centre[b], np.floor(n[b] * share + 0.5))
        below[self.end == 1.0] = n
        inside = np.diff(below, prepend=0.0)
        inside[self.first] = below[self.first]
        # The linear density may be a rounding below zero at its end.
        return np.maximum(inside, 0.0)

    def places(self, mass: Floats, mean: Floats) -> Floats:
        """Return one score a cell, such that those of a bucket have its mean under these masses."""
        b, width = self.bucket, self.high - self.low
        middle = self.low[b] + width[b] * (self.end - 0.5 / self.number[b])
        total, weighted = (np.add.reduceat(x, self.first) for x in (mass, mass * middle))
        shift = mean - _ratio(weighted, total, 0.0)
        # Rounding must not move a bucket off the only score in it.
        return np.clip(middle + shift[b], self.low[b], self.high[b])


def _ratio(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    return np.divide(top, bottom, out=np.full_like(top, otherwise), where=bottom > 0.0)
