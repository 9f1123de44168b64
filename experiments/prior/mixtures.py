"""Populations for the study: which rows are positive, and how mixtures are drawn from them.

Needs only NumPy, so that other environments can draw exactly the same rows.
"""

import os
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

PRIORS = (0.05, 0.2, 0.5, 0.75, 0.9)
SIZES = (50, 200, 1000, 5000)
REAL = ("usps", "letter", "spambase", "covtype")
# Positives N(m, 1) against negatives in five dimensions; only the first separates the classes.
GAUSSIAN = ("gauss-3", "gauss-2", "gauss-wide", "gauss-mixed")
REDUCIBLE = ("gauss-wide", "gauss-mixed")


@dataclass(frozen=True)
class Cell:
    """One mixture: a population, the share of positives in U, the number of labeled positives."""

    world: str
    prior: float
    n_positive: int
    seed: int

    @property
    def n_unlabeled(self) -> int:
        least = 1200 if self.world == "spambase" else 2000
        return max(least, self.n_positive)

    @property
    def hidden(self) -> int:
        return round(self.prior * self.n_unlabeled)

    def possible(self) -> bool:
        if self.world in GAUSSIAN:
            return True
        y = load(self.world)[1]
        positives, negatives = int(y.sum()), int((~y).sum())
        needed = self.n_positive + self.hidden
        return needed <= positives and self.n_unlabeled - self.hidden <= negatives


def cells(seeds: int, sizes: tuple[int, ...] | None = None) -> list[Cell]:
    places = product(range(seeds), sizes or SIZES, (*REAL, *GAUSSIAN), PRIORS)
    every = (Cell(world, prior, n, seed) for seed, n, world, prior in places)
    return [cell for cell in every if cell.possible()]


def draw(cell: Cell) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of positives and unlabeled rows, and the hidden labels of the latter."""
    rng = np.random.default_rng([cell.seed, cell.n_positive, *cell.world.encode()])
    n, k, m = cell.n_positive, cell.hidden, cell.n_unlabeled
    if cell.world in GAUSSIAN:
        p, hidden, negative = _gaussian(cell.world, rng, n, k, m - k)
    else:
        X, y = load(cell.world)
        positives, negatives = (rng.permutation(np.flatnonzero(flag)) for flag in (y, ~y))
        p, hidden, negative = X[positives[:n]], X[positives[n : n + k]], X[negatives[: m - k]]
    return p, np.concatenate([hidden, negative]), np.repeat([1, 0], [k, m - k])


def _gaussian(world: str, rng, n: int, k: int, rest: int):
    far = {"gauss-3": 3.0, "gauss-2": 2.0, "gauss-wide": 1.0, "gauss-mixed": 4.0}[world]
    p, hidden, negative = (rng.normal(size=(size, 5)) for size in (n, k, rest))
    if world == "gauss-wide":
        # Wider than the positives: nowhere negligible relative to them.
        negative[:, 0] *= 2.0
    negative[:, 0] -= far
    if world == "gauss-mixed":
        # A fifth of the negatives are drawn like positives.
        same = rng.random(rest) < 0.2
        negative[same, 0] += far
    return p, hidden, negative


def identifiable(cell: Cell) -> float:
    """Return the smallest identifiable upper bound of the share: a + (1 - a) inf p_N / p_P."""
    inf = 0.0
    if cell.world == "gauss-mixed":
        inf = 0.2
    if cell.world == "gauss-wide":
        # log ratio of N(-1, 2^2) to N(0, 1), smallest at x = 1/3.
        x = 1.0 / 3.0
        inf = float(np.exp(-np.log(2.0) - (x + 1.0) ** 2 / 8.0 + x**2 / 2.0))
    return cell.prior + (1.0 - cell.prior) * inf


def standardized(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


@cache
def load(world: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and binary labels of a data set: even digits, A-M, spam, cover type 2."""
    with np.load(Path(os.environ["NONEG_DATA"]) / f"{world}.npz", allow_pickle=False) as z:
        if world == "usps":
            y = np.concatenate([z["y_train"], z["y_test"]])
            return np.concatenate([z["X_train"], z["X_test"]]), y % 2 == 0
        if world == "letter":
            return z["X"].astype(np.float64), z["y"] < 13
        if world == "spambase":
            return np.log1p(z["X"]), z["y"] == 1
        columns = [z["quantitative"], np.eye(4)[z["wilderness"]], np.eye(40)[z["soil"]]]
        return np.hstack(columns), z["cover_type"] == 2
