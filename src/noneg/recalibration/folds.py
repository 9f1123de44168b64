"""Parts of a `PUScores`: rows dealt to folds at random, and scores put in place of scores.

Each group of rows, labelled positives and the others, is dealt by itself, so every fold is a
smaller sample of the same setting. A row that stands for many, such as a bucket of a sketch, is
dealt as the many rows that it stands for.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.randomness import stream
from noneg.rows import FlaggedRows, SplitRows, WeightedRows
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noneg.rows import Chunk, Rows

    # The unlabeled rows and the labelled positives.
    Groups = tuple[Chunk, Chunk]

# From this many rows on NumPy draws no hypergeometric numbers; shares are then even anyway.
_MOST_EVEN = 1_000_000_000


def check_folds(folds: object, scores: PUScores) -> int:
    """Return the number of folds, of which each must be able to hold a row of both groups."""
    rule = "a whole number from 2 on"
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise ValueError(f"'folds' must be {rule}, got {folds!r}.")
    if np.isinf(scores.n_marginal) or np.isinf(scores.n_positive):
        raise ValueError("'scores' must hold rows, got a population. Draw a finite sample from it.")
    other = "negatives" if scores.setting == "labelled" else "unlabeled rows"
    for n, what in zip(weighty_rows(scores), (other, "positives"), strict=True):
        if n < folds:
            msg = f"'folds' must be at most the number of {what}, which is {n:,.0f}, got {folds}."
            raise ValueError(f"{msg} Take fewer folds, or collect more {what}.")
    return folds


def weighty_rows(scores: PUScores) -> tuple[float, float]:
    """Return how many unlabeled rows and labelled positives have a weight."""
    groups = (_by_weight(group, k)[0] for k, group in enumerate(scores.in_order()))
    unlabeled, positive = (
        float(s.size if isinstance(count, float) else count.sum()) for s, count, *_ in groups
    )
    return unlabeled, positive


def deal(scores: PUScores, folds: int, seed: int) -> list[Groups]:
    """Return the rows of each fold; numbers of rows that count differ by at most one in a group.

    Parameters
    ----------
    scores : PUScores
    folds : int
    seed : int

    Returns
    -------
    list of (unlabeled rows, labelled positives)
        Each with scores, counts, masses in the positive law and masses in the marginal law.
    """
    # Rows of no weight are dealt by themselves, so that no fold takes all that count.
    parts = [_by_weight(group, k) for k, group in enumerate(scores.in_order())]
    # Rows come sorted: if the seed alone dealt them, the same ranks would always meet in a fold.
    data = [zlib.crc32(np.ascontiguousarray(weighty[0]).data) for weighty, _ in parts]
    random = stream(seed, f"folds {data}")
    groups = []
    for part in parts:
        weighty, empty = (_dealt(group, folds, random) for group in part)
        groups.append([_joined(pair) for pair in zip(weighty, empty, strict=True)])
    return list(zip(*groups, strict=True))


def join(parts: list[Groups]) -> Groups:
    """Return the rows of several folds together."""
    unlabeled, positive = zip(*parts, strict=True)
    return _joined(unlabeled), _joined(positive)


def build(groups: Groups, like: PUScores) -> PUScores:
    """Return rows as a `PUScores` of the same setting and prior as another one.

    The labels of labelled rows give their own prior. A part of one sample may, by chance, hold a
    larger share of labelled rows than the prior; then the share is the prior.
    """
    rows = SplitRows(*(_rows(group) for group in groups))
    interval = like.prior_interval
    if like.setting == "labelled":
        return PUScores._build(rows, None, "labelled", None)  # noqa: SLF001 - rows have no other door
    prior = like.prior
    if like.setting == "one-sample":
        n_unlabeled, n_positive = rows.counts
        prior = max(prior, n_positive / (n_unlabeled + n_positive))
    if interval is not None:
        interval = (interval[0], max(interval[1], prior))
    return PUScores._build(rows, prior, like.setting, interval)  # noqa: SLF001


def splits(scores: PUScores, folds: int, seed: int) -> Iterator[tuple[PUScores, Groups]]:
    """Yield what to fit on and the rows held out, fold by fold."""
    parts = deal(scores, check_folds(folds, scores), seed)
    for k, held_out in enumerate(parts):
        yield build(join(parts[:k] + parts[k + 1 :]), scores), held_out


def _by_weight(group: Chunk, positive: int) -> tuple[Chunk, Chunk]:
    """Return the rows that count in the law of their group, and those that do not."""
    mass = group[1] * group[3 - positive]
    if isinstance(mass, float) or mass.all():
        return group, _take(group, np.zeros(0, dtype=np.intp))
    return _take(group, np.flatnonzero(mass)), _take(group, np.flatnonzero(mass == 0.0))


def _dealt(group: Chunk, folds: int, random: np.random.Generator) -> list[Chunk]:
    s, count, *_ = group
    if isinstance(count, float):
        fold = random.permutation(s.size) % folds
        return [_take(group, np.flatnonzero(fold == k)) for k in range(folds)]
    group, count = _take(group, np.flatnonzero(count)), count[count > 0.0]
    left, rest, out = np.floor(count).astype(np.int64), count - np.floor(count), list[Any]()
    # What buckets of weighted rows hold beyond whole rows goes to one fold.
    place = random.integers(folds, size=rest.size) if rest.any() else np.zeros(rest.size)
    for k in range(folds):
        share = _share(left, folds - k, random)
        left = left - share
        held = share + rest * (place == k)
        there = np.flatnonzero(held)
        scores, _, positive, marginal = _take(group, there)
        out.append((scores, held[there], positive, marginal))
    return out


def _share(left: NDArray[np.int64], n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of the rows at each score go to the next of n folds, drawn at random."""
    total = int(left.sum())
    if total < _MOST_EVEN:
        return random.multivariate_hypergeometric(left, -(-total // n), method="marginals")
    return random.binomial(left, 1.0 / n)


def _take(group: Chunk, index: NDArray[np.intp]) -> Chunk:
    s, *masses = group
    one, two, three = (x if isinstance(x, float) else x[index] for x in masses)
    return s[index], one, two, three


def _joined(chunks: tuple[Chunk, ...]) -> Chunk:
    columns: list[Any] = [
        x[0] if isinstance(x[0], float) else np.concatenate(x) for x in zip(*chunks, strict=True)
    ]
    return columns[0], columns[1], columns[2], columns[3]


def _rows(group: Chunk) -> Rows:
    s, *masses = group
    if all(isinstance(x, float) for x in masses):
        return FlaggedRows(s, None)
    return WeightedRows(s, *(np.broadcast_to(x, s.shape) for x in masses))
