"""The table behind a sketch, and the weighted points that represent its rows.

The table holds sums of rows in the buckets of `noneg.kernels`, one row per bucket.
Without weights, or with frequency weights, its columns are

    n, sum s   for unlabeled rows;   n, sum s   for labeled positives;   low, high

and with importance weights

    n, sum w, sum w^2, sum w s   for each group;   low, high

Labeling rates are importance weights 1/e of the labeled positives, which count once in the marginal
distribution. low and high are the smallest and largest score in both groups, so a bucket whose rows
all have the same score is represented by exactly that score. The second moment of s needs no
column, because s varies by less than 2^-16 within a bucket. The grid without importance weights is
twice as fine, so that either table takes nine to ten megabytes.

A few weighted points per bucket represent the rows in `PUScores`. Buckets with many rows are
divided into cells, so that a cut by score or by rank never takes such a bucket as a whole.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg import checks
from noneg.checks import Setting, WeightKind
from noneg.kernels import CHUNK, FINE_GRID, GRID, Grid, bucket_of
from noneg.laws import SplitRows, WeightedRows
from noneg.scores import PUScores

if TYPE_CHECKING:
    from types import ModuleType

    from noneg.arrays import Flags, Floats, Integers
    from noneg.knowledge import Knowledge

# Largest share of a distribution in one cell. A cut can be off by half of it, so it is well below
# the stated error; there are at most 2 / CELL more cells than buckets.
CELL = 2e-6


@dataclass(frozen=True, eq=False)
class Cells:
    """Equal-width parts of the range [low, high] of each bucket, in order.

    Attributes
    ----------
    low, high : ndarray
        Smallest and largest score in each bucket.
    number : ndarray of int
        Number of cells in each bucket.
    """

    low: Floats
    high: Floats
    number: Integers

    @classmethod
    def cut(cls, low: Floats, high: Floats, shares: Floats) -> Cells:
        """Divide buckets with these shares of a distribution into cells."""
        number = np.where(high > low, np.ceil(shares / CELL), 1.0)
        return cls(low, high, np.maximum(number, 1.0).astype(np.int64))

    @cached_property
    def bucket(self) -> Integers:
        """Bucket of each cell."""
        return np.repeat(np.arange(self.number.size), self.number)

    @cached_property
    def first(self) -> Integers:
        """First cell of each bucket."""
        return np.cumsum(self.number) - self.number

    @cached_property
    def end(self) -> Floats:
        """Position of the end of each cell in the range of its bucket, from 0 to 1."""
        place = np.arange(self.bucket.size) - self.first[self.bucket] + 1
        return place / self.number[self.bucket]

    def counts(self, n: Floats, mean: Floats) -> Floats:
        """Distribute the rows of buckets over cells, given their number and mean score.

        Rows are assumed to have a linear density with this mean on [low, high], or next to one end
        if the mean lies in the outer third. For uniform rows with a known mean, this is the best
        linear prediction of their number below a cut. Counts stay whole numbers, and a lone row
        lies in the cell of its score.
        """
        center = _ratio(mean - self.low, self.high - self.low, 0.5).clip(0.0, 1.0)
        left, right = np.maximum(3.0 * center - 2.0, 0.0), np.minimum(3.0 * center, 1.0)
        slope = 12.0 * (_ratio(center - left, right - left, 0.5) - 0.5)
        b = self.bucket
        x = _ratio(self.end - left[b], (right - left)[b], 1.0).clip(0.0, 1.0)
        share = x * (1.0 - 0.5 * slope[b] * (1.0 - x))
        below = np.where(n[b] == 1.0, self.end >= center[b], np.floor(n[b] * share + 0.5))
        below[self.end == 1.0] = n
        inside = np.diff(below, prepend=0.0)
        inside[self.first] = below[self.first]
        # Rounding error may put the linear density slightly below zero at its end.
        return np.maximum(inside, 0.0)

    def places(self, mass: Floats, mean: Floats) -> Floats:
        """Return one score per cell; within a bucket, they have its mean under these masses."""
        b, width = self.bucket, self.high - self.low
        middle = self.low[b] + width[b] * (self.end - 0.5 / self.number[b])
        total, weighted = (np.add.reduceat(x, self.first) for x in (mass, mass * middle))
        shift = mean - _ratio(weighted, total, 0.0)
        # Rounding must not move a bucket away from its only score.
        return np.clip(middle + shift[b], self.low[b], self.high[b])


def _ratio(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    # A subnormal denominator overflows to infinity, which the callers clip.
    with np.errstate(over="ignore"):
        return np.divide(top, bottom, out=np.full_like(top, otherwise), where=bottom > 0.0)


# Meaning of weights; "propensity" means inverse labeling rates of the positives.
Kind = WeightKind | Literal["propensity"]

# Sums for one group, by kind of weight.
SUMS: dict[Kind, tuple[str, ...]] = {
    "frequency": ("n", "sum"),
    "importance": ("n", "weight", "square", "sum"),
    "propensity": ("n", "weight", "square", "sum"),
}

GRIDS: dict[Kind, Grid] = {"frequency": FINE_GRID, "importance": GRID, "propensity": GRID}

# Number of rows from which importing numba, about half a second, pays off; metrics of the sketch
# also use it.
ROWS_WORTH_AN_IMPORT = 5_000_000


def empty_table(kind: Kind) -> Floats:
    """Return a table without rows, shape (buckets, columns)."""
    # Not np.zeros: memory that is written immediately can use large pages.
    table = np.empty((GRIDS[kind].size, 2 * len(SUMS[kind]) + 2))
    table[:, :-2] = 0.0
    table[:, -2], table[:, -1] = np.inf, -np.inf
    return table


def sums_by_group(table: Floats) -> tuple[Floats, Floats]:
    """Return the columns of a table for unlabeled rows, and those for labeled positives."""
    k = table.shape[1] // 2 - 1
    return table[:, :k], table[:, k : 2 * k]


def fast_loops(n_rows: int) -> ModuleType | None:
    """Return the numba version if it is loaded or worthwhile for this many rows, else None."""
    loaded = "numba" in sys.modules
    if not loaded and (n_rows < ROWS_WORTH_AN_IMPORT or find_spec("numba") is None):
        return None
    from noneg import kernels_numba

    return kernels_numba


def add_rows(
    table: Floats,
    flags: Flags,
    scores: Floats,
    weights: Floats | None,
    fast: ModuleType | None = None,
) -> None:
    """Add checked rows, with the numba version if given."""
    if fast is not None:
        fast.add_rows(table, flags, scores, weights)
        return
    for start in range(0, scores.size, CHUNK):
        piece = slice(start, start + CHUNK)
        _add_chunk(table, flags[piece], scores[piece], None if weights is None else weights[piece])


def _add_chunk(table: Floats, flags: Flags, scores: Floats, weights: Floats | None) -> None:
    width = table.shape[1]
    flat, k = table.reshape(-1), (width - 2) // 2
    plain = k == len(SUMS["frequency"])
    if weights is not None and not weights.all():
        # A row with zero weight must not affect the range of its bucket either.
        there = weights > 0.0
        flags, scores, weights = flags[there], scores[there], weights[there]
    s = np.asarray(scores, dtype=np.float64)
    first = bucket_of(s, GRIDS["frequency" if plain else "importance"]) * width
    columns = row_sums(s, weights, k)
    for position, column in enumerate(columns):
        np.add.at(flat, first + flags * k + position, column)
    np.minimum.at(flat, first + (width - 2), s)
    np.maximum.at(flat, first + (width - 1), s)


def row_sums(s: Floats, weights: Floats | None, k: int) -> list[Floats | float]:
    """Return the contribution of each row to the sums of its group."""
    if k == len(SUMS["frequency"]):
        return [1.0, s] if weights is None else [weights, weights * s]
    w = np.ones_like(s) if weights is None else weights
    return [1.0, w, w * w, w * s]


def merge_into(table: Floats, other: Floats) -> None:
    """Add the rows of another table of the same kind; empty buckets cost almost nothing."""
    there = np.flatnonzero(other[:, -1] >= 0.0)
    if there.size and not (table[:, -1] >= 0.0).any():
        table[:] = other
        return
    table[there, :-2] += other[there, :-2]
    table[there, -2] = np.minimum(table[there, -2], other[there, -2])
    table[there, -1] = np.maximum(table[there, -1], other[there, -1])


# Smaller scores share a bucket with 0.
SMALLEST = 2.0**-64


def pu_scores(
    table: Floats,
    kind: Kind,
    setting: Setting,
    knowledge: Knowledge,
) -> PUScores:
    """Return the rows of a table as weighted points."""
    knowledge.check_setting(setting)
    table = table[table[:, -1] >= 0.0]
    groups, cells = sums_by_group(table), _cells(table)
    counts = [cells.counts(group[:, 0], _mean(group, cells.low)) for group in groups]
    place = _places(groups, cells, counts, setting)
    unlabeled = _group(groups[0], cells, counts[0], place)
    positives = _rated if kind == "propensity" else _group
    rows = SplitRows(unlabeled, positives(groups[1], cells, counts[1], place))
    return PUScores._build(rows, knowledge, setting)  # noqa: SLF001 - rows are ready


def _cells(table: Floats) -> Cells:
    """Divide the buckets that contain a large share of either group."""
    groups = [masses(sums) for sums in sums_by_group(table)]
    shares = np.max([mass / (mass.sum() or 1.0) for mass in groups], axis=0)
    # Scores of exactly 0 share the first bucket with scores below 2^-64 and determine its position.
    low, high = table[:, -2], np.where(table[:, -2] < SMALLEST, table[:, -2], table[:, -1])
    return Cells.cut(low, high, shares)


def _places(
    groups: tuple[Floats, Floats], cells: Cells, counts: list[Floats], setting: Setting
) -> Floats:
    """Return one score per cell, such that each bucket keeps its sum of marginal scores.

    Both groups share these scores. Separate means would break all ties between rows of a cell in
    the same direction, which changes areas and suprema to first order in the width; with a shared
    mean, the sums of the positive distribution are off only to second order.
    """
    unlabeled, positive = groups
    if not checks.is_pooled(setting):
        alone = unlabeled[:, 0] == 0.0
        marginal = np.where(alone[:, None], positive, unlabeled)
        counted = np.where(alone[cells.bucket], counts[1], counts[0])
    else:
        marginal, counted = unlabeled + positive, counts[0] + counts[1]
    return cells.places(counted, _mean(marginal, cells.low))


def masses(sums: Floats) -> Floats:
    """Return the number of rows of a group in each bucket, or the sum of importance weights."""
    return sums[:, 0 if sums.shape[1] == len(SUMS["frequency"]) else 1]


def _mean(sums: Floats, otherwise: Floats) -> Floats:
    mass = masses(sums)
    return np.divide(sums[:, -1], mass, out=otherwise.copy(), where=mass > 0.0)


def _group(sums: Floats, cells: Cells, counts: Floats, place: Floats) -> WeightedRows:
    """Return one group as points with the same nine sums as its rows.

    With importance weights, a point represents ``(sum w)^2 / sum w^2`` rows of equal mass, which
    has the right first and second moments; the number of rows is stored separately.
    """
    there = np.flatnonzero(counts)
    s, n, bucket = place[there], counts[there], cells.bucket[there]
    if sums.shape[1] == len(SUMS["frequency"]):
        return WeightedRows(s, n, None, None)
    total, weight, square, _ = sums[bucket].T
    mass = np.divide(square, weight, out=np.ones_like(weight), where=weight > 0.0)
    rows = WeightedRows(s, weight / mass * (n / total), mass, mass)
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows


def _rated(sums: Floats, cells: Cells, counts: Floats, place: Floats) -> WeightedRows:
    """Return positives with unequal labeling rates, each with marginal mass one.

    Two points with the mean and standard deviation of the inverse rates represent the rows of a
    cell, so that all nine sums are right; the lighter point has at least half of the mean.
    """
    there = np.flatnonzero(counts)
    s, n, bucket = place[there], counts[there], cells.bucket[there]
    total, inverse, square, _ = sums[bucket].T
    mean = inverse / total
    spread = np.sqrt(np.maximum(square / total - mean**2, 0.0))
    light = np.where(spread > 0.0, np.maximum(0.5, spread**2 / (spread**2 + mean**2 / 4)), 1.0)
    odds = _ratio(light, 1.0 - light, 1.0)
    masses = mean - spread / np.sqrt(odds), mean + spread * np.sqrt(odds)
    number = np.append(n * light, n * (1.0 - light))
    rows = WeightedRows(np.append(s, s), number, np.append(*masses), np.ones(2 * s.size))
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows
