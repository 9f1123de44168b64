"""Choosing rows to review: score strata, and the number of rows from each, for given targets.

A review is most valuable for rows whose label is uncertain and matters: rows are chosen in
proportion to ``|influence| sqrt(h (1 - h))``, where h is the guessed probability that the row is
positive (Neyman's allocation). The guess affects the cost of the review, never its validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.audit.estimates import Draws, Review, interval
from noneg.randomness import stream
from noneg.results import Table, aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places
    from noneg.audit.targets import Census, Target

# Share of the reviews that is spread evenly, regardless of the guess.
FLOOR = 0.2
# Reviews per stratum.
ROWS = 8
# Numbers of reviews to simulate, and number of simulations.
SIZES = (50, 100, 200, 500, 1000)
TRIALS = 12


def cut(score: Floats, share: Floats, breaks: Sequence[float], parts: int) -> Places:
    """Return the stratum of each row, with rows sorted by score.

    Strata have equal parts of the share and are also cut at the breaks; equal scores stay together.

    Examples
    --------
    >>> cut(np.array([0.1, 0.2, 0.3, 0.8]), np.full(4, 0.25), [0.5], 2)
    array([0, 0, 1, 2])
    """
    # Use the midpoint of a row's share, so that a heavy row does not straddle two strata.
    middle = (np.cumsum(share) - share / 2.0) / share.sum()
    part = np.minimum((middle * parts).astype(np.intp), parts - 1)
    above = np.searchsorted(np.sort(np.asarray(breaks)), score, side="right")
    part = part[np.searchsorted(score, score)] + above
    return np.unique(part, return_inverse=True)[1].astype(np.intp)


def allocate(share: Floats, size: Floats, budget: int) -> Places:
    """Return the number of rows to review per stratum: proportional, at least two, at most all.

    Examples
    --------
    >>> allocate(np.array([0.5, 0.3, 0.2]), np.array([100.0, 3.0, 50.0]), 20)
    array([12,  3,  5])
    """
    least = np.minimum(size, 2.0)
    if least.sum() > budget:
        least = np.minimum(size, 1.0)
    low, high = 0.0, budget * float(np.max(size / share)) + 1.0
    for _ in range(100):
        middle = (low + high) / 2.0
        short = np.clip(share * middle, least, size).sum() < budget
        low, high = (middle, high) if short else (low, middle)
    wanted = np.clip(share * high, least, size)
    whole = np.floor(wanted + 1e-9)
    left = int(min(budget, size.sum()) - whole.sum())
    whole[np.argsort(whole - wanted, kind="stable")[: max(left, 0)]] += 1.0
    return np.minimum(whole, size).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Pool:
    """The unlabeled rows to choose from, ordered by group and score.

    Attributes
    ----------
    row : ndarray of int
        Position in the table.
    score, rank, hidden : ndarray
        Score, mid-rank among all rows, and the guessed probability of being positive.
    group : ndarray of int
    census : Census
    targets : sequence of Target
    """

    row: Places
    score: Floats
    rank: Floats
    hidden: Floats
    group: Places
    census: Census
    targets: Sequence[Target]

    @cached_property
    def features(self) -> Floats:
        """Features of the rows."""
        return self.census.features(self.score, self.rank)

    @cached_property
    def influence(self) -> Floats:
        """Influence of each row on each target, shape (targets, rows)."""
        totals = self.census.known + self.hidden @ self.features
        slopes = (target.gradient(self.census, totals) for target in self.targets)
        return np.stack([self.features @ slope for slope in slopes])

    @property
    def importance(self) -> Floats:
        """Importance of each row for all targets, each relative to its best precision."""
        size = np.abs(self.influence) * np.sqrt(self.hidden * (1.0 - self.hidden))
        best = size.sum(axis=1, keepdims=True)
        return np.sqrt(((size / np.where(best > 0.0, best, 1.0)) ** 2).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a pool, and the number of rows to review in each."""

    of_row: Places
    size: Floats
    share: Floats
    count: Places
    corners: Floats

    @classmethod
    def of(cls, pool: Pool, budget: int) -> Strata:
        """Divide a pool into strata for a given budget."""
        worth, features = pool.importance, pool.features
        share = (1.0 - FLOOR) * worth / (worth.sum() or 1.0) + FLOOR / pool.row.size
        of_row, n = np.empty_like(pool.row), 0
        for group in np.unique(pool.group):
            here = np.flatnonzero(pool.group == group)
            parts = max(1, round(budget * float(share[here].sum() / share.sum()) / ROWS))
            part = cut(pool.score[here], share[here], list(pool.census.flagged), parts)
            of_row[here] = part + n
            n += int(part[-1]) + 1
        size, shares = (np.bincount(of_row, x).astype(np.float64) for x in (None, share))
        first = np.searchsorted(of_row, np.arange(n))
        last = np.append(first[1:], of_row.size) - 1
        corners = np.stack([features[first], features[last]], axis=1)
        return cls(of_row, size, shares / shares.sum(), allocate(shares, size, budget), corners)

    @property
    def first(self) -> Places:
        """Index of the first row of each stratum."""
        return np.searchsorted(self.of_row, np.arange(self.size.size))

    def draw(self, rng: np.random.Generator) -> Places:
        """Return the pool indices of the rows to review, ordered by stratum."""
        sizes = zip(self.first, self.size.astype(np.intp), self.count, strict=True)
        chosen = [a + np.sort(rng.choice(n, k, replace=False)) for a, n, k in sizes]
        return np.concatenate(chosen).astype(np.intp)

    def sequence(self, budget: int, rng: np.random.Generator) -> Places:
        """Return rows in review order, with a newly drawn stratum for each row.

        A stratum with no rows left is not drawn again; `noneg.audit.sequences` accounts for this.
        """
        pairs = zip(self.first, self.size, strict=True)
        mixed = [a + rng.permutation(int(n)) for a, n in pairs]
        used, found = np.zeros(self.size.size, dtype=np.intp), []
        for _ in range(budget):
            share = np.where(used < self.size, self.share, 0.0)
            h = int(rng.choice(share.size, p=share / share.sum()))
            found.append(mixed[h][used[h]])
            used[h] += 1
        return np.array(found, dtype=np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class Expected(Table):
    """Expected half-widths of intervals, and the size of an equivalent simple random sample.

    Attributes
    ----------
    target : ndarray of str
    reviews : ndarray of int
    half_width : ndarray
        Mean over simulated reviews whose answers follow the guess.
    simple_random : ndarray
        Number of reviews that a simple random sample would need for the same standard error.
    """

    target: NDArray[np.str_]
    reviews: Places
    half_width: Floats
    simple_random: Floats

    def __str__(self) -> str:
        columns = zip(*self.columns().values(), strict=True)
        rows = [(t, str(n), f"{w:.4f}", f"{m:,.0f}") for t, n, w, m in columns]
        return aligned([("target", "reviews", "half-width", "simple random"), *rows])


def expected(pool: Pool, sizes: Sequence[int], seed: int) -> Expected:
    """Simulate reviews of several sizes with answers that follow the guess."""
    if not sizes:
        return Expected(np.array([], dtype=np.str_), np.array([], np.intp), *np.zeros((2, 0)))
    rng, rows = stream(seed, "audit rehearsal"), []
    for n in sizes:
        strata = Strata.of(pool, n)
        trials = [_rehearse(pool, strata, rng) for _ in range(TRIALS)]
        rate = (strata.count / strata.size)[strata.of_row]
        noise = pool.hidden * (1.0 - pool.hidden) * (1.0 / rate - 1.0)
        widths = np.mean(trials, axis=0)
        for target, influence, width in zip(pool.targets, pool.influence, widths, strict=True):
            same = _simple(influence, pool.hidden, float(influence**2 @ noise))
            rows.append((str(target), n, width, same))
    names, reviews, half, simple = zip(*rows, strict=True)
    return Expected(np.array(names), np.array(reviews), np.array(half), np.array(simple))


def _simple(influence: Floats, hidden: Floats, variance: float) -> float:
    """Return the size of a simple random sample with this variance."""
    n = influence.size
    spread = float((influence**2) @ hidden / n - (influence @ hidden / n) ** 2)
    return n * n * spread / (variance + n * spread) if spread > 0.0 else 0.0


def _rehearse(pool: Pool, strata: Strata, rng: np.random.Generator) -> list[float]:
    rows = strata.draw(rng)
    y = (rng.random(rows.size) < pool.hidden[rows]).astype(np.float64)
    at = strata.of_row[rows]
    weight = (strata.size / strata.count)[at]
    review = Review(at, weight, pool.features[rows], y, strata.size, strata.corners)
    draws = Draws(review, rng, 400)
    found = [interval(target, pool.census, draws, 0.95) for target in pool.targets]
    return [(one.high - one.low) / 2.0 for one in found]
