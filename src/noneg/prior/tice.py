r"""TIcE: the largest lower bound on the label frequency over parts of the data that a tree finds.

Bekker and Davis (2018), Estimating the class prior in positive and unlabeled data through decision
tree induction. In a purely positive part S the labelled share is c; in any other part it is less.
With L labelled rows among T in S,

.. math:: c \ge \frac{L}{T} - \sqrt{\frac{c_0 (1 - c_0)(1 - \delta)}{\delta\, T}}
   \quad\text{with probability at least } 1 - \delta.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from noneg.prior.contract import Found
from noneg.prior.conversion import share_of_frequency
from noneg.prior.features import FeatureEstimator, FeatureSamples
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ids = NDArray[np.intp]

FOLDS = 5
INTERVALS = 4
FEWEST = 10
SMOOTHING = 5
MOST_NODES = 500


@dataclass(frozen=True, kw_only=True)
class Tice(FeatureEstimator):
    """TIcE, with the authors' defaults.

    Columns are scaled to [0, 1] by their range and cut at quarters. More columns than `max_columns`
    are replaced by as many principal components: axis-parallel cuts find little in many dimensions.

    Parameters
    ----------
    rounds : int
        The first starts from c = .5, each other one from the answer before.
    max_columns : int

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import Tice
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 500) for m in (5, 5, 0)])
    >>> found = Tice(resamples=2).fit(x[:, None], [1] * 500 + [0] * 1000, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name: ClassVar[str] = "tice"
    title: ClassVar[str] = "Tree induction (TIcE)"
    citation: ClassVar[str] = "Bekker and Davis (2018), Estimating the class prior"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, and some box of feature values "
        "has only positives and enough of them"
    )

    rounds: int = 2
    max_columns: int = 50

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share that follows from the bound on the label frequency."""
        random = stream(self.seed, "tree induction")
        cells, labels = _cells(samples, self.max_columns)
        fold = random.permutation(labels.size) % FOLDS
        frequency = 0.5
        for _ in range(self.rounds):
            bounds = [_best_bound(cells, labels, fold == k, frequency) for k in range(FOLDS)]
            frequency = float(np.clip(np.mean(bounds), 1e-9, 1.0))
        share = share_of_frequency(frequency, float(labels.mean()))
        return Found(min(1.0, share), {"label_frequency": frequency, "clipped": float(share > 1.0)})


class Node(NamedTuple):
    """A part of the data: rows that grow the tree, rows that estimate, columns still to cut."""

    tree: Ids
    rest: Ids
    columns: Ids


def _best_bound(
    cells: NDArray[np.uint8], labels: NDArray[np.bool_], in_tree: NDArray[np.bool_], guess: float
) -> float:
    """Return the largest lower bound on c over the nodes of one tree, searched best first."""
    every = np.flatnonzero(in_tree), np.flatnonzero(~in_tree)
    size = every[1].size
    delta = max(0.025, 1.0 / (1.0 + 0.004 * size))
    noise = guess * (1.0 - guess) * (1.0 - delta) / delta
    best = float(labels[every[1]].mean())
    number = count()
    heap = [(0.0, next(number), Node(*every, np.arange(cells.shape[1])))]
    for _ in range(MOST_NODES):
        if not heap:
            break
        node = heapq.heappop(heap)[-1]
        needed = noise / max(1e-12, (1.0 - best) ** 2)
        for child in _children(node, cells, labels, needed):
            best = max(best, _bound(labels[child.rest], noise))
            if _worth(labels[child.tree], labels[child.rest], noise / max(1e-12, (1 - best) ** 2)):
                key = -_bound(labels[child.tree], noise)
                heapq.heappush(heap, (key, next(number), child))
    return best


def _bound(labels: NDArray[np.bool_], noise: float) -> float:
    if labels.size < FEWEST:
        return 0.0
    return float(labels.mean() - np.sqrt(noise / labels.size))


def _worth(tree: NDArray[np.bool_], rest: NDArray[np.bool_], needed: float) -> bool:
    """Tell whether a part may hold a better bound: large, and not all of one kind."""
    return rest.sum() > needed and tree.size > FEWEST and 0 < tree.sum() < tree.size


def _children(
    node: Node, cells: NDArray[np.uint8], labels: NDArray[np.bool_], needed: float
) -> Iterator[Node]:
    """Cut a node along the column with the most promising part."""
    counts, labelled = _table(cells, labels, node.tree, node.columns)
    _, estimating = _table(cells, labels, node.rest, node.columns)
    promise = (labelled / (counts + SMOOTHING)).max(axis=0)
    useless = (estimating <= needed).all(axis=0) | ((counts > 0).sum(axis=0) < 2)
    if useless.all():
        return
    column = int(np.argmax(np.where(useless, -1.0, promise)))
    left = np.delete(node.columns, column)
    name = node.columns[column]
    for cell in range(INTERVALS):
        tree, rest = (rows[cells[rows, name] == cell] for rows in node[:2])
        if tree.size or rest.size:
            yield Node(tree, rest, left)


def _table(
    cells: NDArray[np.uint8], labels: NDArray[np.bool_], rows: Ids, columns: Ids
) -> tuple[Floats, Floats]:
    """Return rows and labelled rows in each interval (first axis) of each column."""
    part = cells[np.ix_(rows, columns)]
    marked = part[labels[rows]]
    counts, labelled = (
        np.stack([(x == cell).sum(axis=0) for cell in range(INTERVALS)]) for x in (part, marked)
    )
    return counts.astype(np.float64), labelled.astype(np.float64)


def _cells(samples: FeatureSamples, most: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the interval of each value, and which rows are labelled."""
    rows = np.concatenate([samples.positive, samples.unlabeled])
    if rows.shape[1] > most:
        centred = rows - rows.mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        rows = centred @ axes[:most].T
    low, high = rows.min(axis=0), rows.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    cells = np.clip(((rows - low) / span * INTERVALS).astype(np.intp), 0, INTERVALS - 1)
    labels = np.repeat([True, False], [len(samples.positive), len(samples.unlabeled)])
    return cells.astype(np.uint8), labels
