"""The training cells: data, optimizer and number of rows, the selection of rows, and storage."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.tables import Row
from noneg.atomic import replacing
from noneg.lab.datasets import load
from noneg.lab.supersample import PUSupersample, Supersample, draw_membership
from noneg.randomness import stream

SEED = 0
# Labeled positives per unlabeled row in the PU cells.
POSITIVES = 0.25


@dataclass(frozen=True)
class Cell:
    """Networks that differ only in their training rows, coins, initial weights and batches."""

    data: str
    kind: str  # "labeled" or "pu"
    optimizer: str
    n: int
    supersamples: int
    draws: int
    epochs: int

    @property
    def group(self) -> str:
        """The file in which it is stored."""
        return f"{self.data}-{self.kind}-{self.optimizer}"

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.n}x{self.supersamples}x{self.draws}"

    @property
    def networks(self) -> int:
        return self.supersamples * self.draws

    def pairs(self, number: int) -> Supersample | PUSupersample:
        """Return a supersample whose rows are image indices."""
        labels = pool(self.data)[1]
        seed = SEED + number
        order = stream(seed, f"rows {self.data} {self.n}").permutation(labels.size)
        if self.kind == "labeled":
            rows = order[: 2 * self.n]
            return Supersample.pair(rows, labels[rows], seed=seed)
        unlabeled, others = order[: 2 * self.n], order[2 * self.n :]
        positive = others[labels[others] == 1][: 2 * max(1, int(POSITIVES * self.n))]
        # The share in the whole pool: the distribution that both samples are drawn from.
        prior = float(labels.mean())
        return PUSupersample.pair(positive, unlabeled, prior=prior, seed=seed)

    def membership(self, number: int) -> NDArray[np.bool_]:
        """Return the coins for all draws of a supersample, with shape (draws, pairs)."""
        n, seed = self.pairs(number).n, SEED + number
        return np.stack([draw_membership(n, seed=seed, draw=k) for k in range(self.draws)])


@cache
def pool(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (rows, channels, height, width) and labels; nine and dog are 1."""
    data = load(name)
    images, labels = (
        np.concatenate([getattr(data, f"{x}_train"), getattr(data, f"{x}_test")]) for x in "Xy"
    )
    if name == "mnist":
        chosen = np.isin(labels, (4, 9))
        images, labels = images[chosen].reshape(-1, 1, 28, 28), labels[chosen] == 9
    else:
        images, labels = images.transpose(0, 3, 1, 2), labels == 5
    return np.ascontiguousarray(images, dtype=np.uint8), labels.astype(np.int64)


def full() -> list[Cell]:
    """Return all cells, most important first."""
    mnist = Cell("mnist", "labeled", "adam", 75, 5, 10, 200)
    cifar = Cell("cifar10", "labeled", "sgd", 500, 2, 5, 40)
    sizes = (75, 250, 1000, 4000)
    many = [replace(mnist, n=n, supersamples=1, draws=100) for n in (75, 250, 1000)]
    return [
        *over(mnist, ("adam", "sgld"), sizes),
        *over(replace(mnist, kind="pu"), ("adam", "sgld"), sizes),
        *over(cifar, ("sgd", "sgld"), (500,)),
        *over(mnist, ("sgld-code",), sizes),
        *(replace(cell, optimizer=o) for o in ("adam", "sgld") for cell in many),
        *over(cifar, ("sgd", "sgld"), (1000,)),
        *over(cifar, ("sgld-code",), (500, 1000)),
        *over(replace(cifar, supersamples=2, draws=3), ("sgd", "sgld", "sgld-code"), (5000,)),
        *over(replace(cifar, kind="pu"), ("sgd", "sgld"), (500, 1000)),
        # All images that are at hand.
        *over(replace(cifar, supersamples=1, draws=3), ("sgd",), (10_000,)),
    ]


def quick() -> list[Cell]:
    """Return one small cell of each kind."""
    mnist = Cell("mnist", "labeled", "adam", 40, 2, 3, 3)
    cifar = Cell("cifar10", "labeled", "sgd", 20, 1, 2, 1)
    return [
        *over(mnist, ("adam", "sgld", "sgld-code"), (40, 80)),
        *over(replace(mnist, kind="pu"), ("adam", "sgld"), (40, 80)),
        replace(mnist, supersamples=1, draws=12),
        *over(cifar, ("sgd", "sgld"), (20,)),
    ]


def over(cell: Cell, optimizers: tuple[str, ...], sizes: tuple[int, ...]) -> list[Cell]:
    return [replace(cell, optimizer=o, n=n) for n in sizes for o in optimizers]


def stored(folder: Path) -> Iterator[tuple[Cell, np.ndarray, Row]]:
    """Yield the trained cells, with their margins and training metadata."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.endswith("/margins"):
                    about = json.loads(str(arrays[key.replace("margins", "about")]))
                    names = Cell.__dataclass_fields__
                    yield Cell(**{name: about[name] for name in names}), arrays[key], about


def keep(folder: Path, cell: Cell, found: np.ndarray, about: Row) -> None:
    """Add a cell to the file of its optimizer."""
    path = folder / f"{cell.group}.npz"
    arrays = {}
    if path.exists():
        with np.load(path, allow_pickle=False) as before:
            arrays = dict(before)
    arrays[f"{cell.key}/margins"] = found.astype(np.float32)
    arrays[f"{cell.key}/about"] = json.dumps(asdict(cell) | about)
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
