"""The two problems: Gaussians with a known distribution, and the digits of the PU benchmark."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from noneg.lab.datasets import load
from noneg.learning.contract import PUData
from noneg.learning.views import Turned
from noneg.randomness import stream

HELD_OUT = 0.1


@dataclass(frozen=True)
class World:
    """One draw in one sample; the labels of unlabeled rows are only for the oracles."""

    train: PUData
    train_labels: np.ndarray  # for the unlabeled rows
    held: PUData
    held_labels: np.ndarray
    test: torch.Tensor
    test_labels: np.ndarray
    prior: float


def gaussians(split: int, *, prior: float = 0.4, c: float = 0.5, n: int = 5000) -> World:
    """Unit Gaussians around +1 and -1 on the first of five axes; a share c of the positives is
    labeled."""
    random = stream(split, "two Gaussians")

    def sample(size: int) -> tuple[np.ndarray, np.ndarray]:
        y = random.permutation(np.arange(size) < prior * size)
        x = random.normal(size=(size, 5))
        x[:, 0] += np.where(y, 1.0, -1.0)
        return x.astype(np.float32), y

    x, y = sample(n)
    labeled = np.flatnonzero(y)[: round(c * prior * n)]
    rest = np.setdiff1d(np.arange(n), labeled)
    test, labels = sample(20_000)
    return _held_out(x, y, labeled, rest, random, torch.from_numpy(test), labels, prior)


def usps(split: int) -> World:
    """USPS, case 1, 30% labeled: 400 rows of each digit, with 240 of each positive digit in P."""
    data, random = _usps(), stream(split, "usps one-sample case 1")
    positive = np.array([4, 5, 7, 8, 9])
    labeled, rest = [], []
    for digit in range(10):
        rows = random.permutation(np.flatnonzero(data.y_train == digit))[:400]
        cut = 240 if digit in positive else 0
        labeled.append(rows[:cut])
        rest.append(rows[cut:])
    p, u = (random.permutation(np.concatenate(part)) for part in (labeled, rest))
    y = np.isin(data.y_train, positive)
    test = torch.from_numpy(_normal(data.X_test))
    world = _held_out(
        _normal(data.X_train), y, p, u, random, test, np.isin(data.y_test, positive), 0.5
    )
    turned = Turned(16, black=-0.1307 / 0.3081)
    train = PUData(world.train.pos, world.train.unl, weak=turned, strong=turned)
    return World(**{**vars(world), "train": train})


@lru_cache
def _usps():
    return load("usps")


def _normal(rows: np.ndarray) -> np.ndarray:
    """Gray levels in [0, 1], then standardized with the benchmark's mean and deviation."""
    return (((rows + 1.0) / 2.0 - 0.1307) / 0.3081).astype(np.float32)


def _held_out(x, y, labeled, rest, random, test, test_labels, prior) -> World:
    places = [
        random.permutation(len(rows))[: int(HELD_OUT * len(rows))] for rows in (labeled, rest)
    ]
    in_p, in_u = (np.delete(rows, k) for rows, k in zip((labeled, rest), places, strict=True))
    held_p, held_u = (rows[k] for rows, k in zip((labeled, rest), places, strict=True))
    parts = [torch.from_numpy(x[rows]) for rows in (in_p, in_u, held_p, held_u)]
    return World(
        PUData(*parts[:2]), y[in_u], PUData(*parts[2:]), y[held_u], test, test_labels, prior
    )
