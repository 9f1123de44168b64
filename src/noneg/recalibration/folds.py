"""Splitting of rows into folds.

Rows are assigned to folds at random. Labeled positives and the other rows are split separately, so
every fold is a smaller sample from the same setting. A row that represents many rows, such as a
bucket of a sketch, is split as if those rows were listed individually.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_count
from noneg.errors import InputError
from noneg.knowledge import NOTHING
from noneg.laws import FlaggedRows, SplitRows, WeightedRows
from noneg.randomness import stream
from noneg.recalibration.base import check_rows
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noneg.arrays import Floats, Integers, Places
    from noneg.laws import Chunk, Rows

    # The unlabeled rows and the labeled positives.
    Groups = tuple[Chunk, Chunk]

# Beyond this many rows, NumPy cannot draw hypergeometric numbers; shares are nearly even anyway.
MOST_EVEN = 1_000_000_000


def deal_rows(
    flags: NDArray[np.bool_], number: int, random: np.random.Generator
) -> NDArray[np.intp]:
    """Return the fold of each row; labeled rows and other rows are dealt separately."""
    place = np.empty(flags.size, dtype=np.intp)
    for kind in (flags, ~flags):
        place[kind] = random.permutation(int(kind.sum())) % number
    return place


def check_folds(folds: object, scores: PUScores) -> int:
    """Return the number of folds after checking that each can contain a row of both groups."""
    number = check_count(folds, "folds", 2)
    check_rows(scores)
    other = "negatives" if scores.prior_is_estimated else "unlabeled rows"
    for n, what in ((scores.n_unlabeled, other), (scores.n_positive, "positives")):
        if n < number:
            rule = f"must be at most the number of {what}, which is {n:,.0f}"
            remedy = f"Use fewer folds, or collect more {what}."
            raise InputError("folds", rule, value=number, remedy=remedy)
    return number


def join(parts: list[Groups]) -> Groups:
    """Return the combined rows of several folds."""
    unlabeled, positive = zip(*parts, strict=True)
    return _joined(unlabeled), _joined(positive)


def build(groups: Groups, like: PUScores, *, labeled: bool = False) -> PUScores:
    """Return rows as a `PUScores` with the same setting and prior as another one.

    For labeled rows, the prior comes from their labels.
    """
    rows = SplitRows(*(_rows(group) for group in groups))
    if labeled or like.prior_is_estimated:
        return PUScores._build(rows, NOTHING, "labeled", part=True)  # noqa: SLF001 - rows have no other door
    return PUScores._build(rows, like.knowledge, like.setting, part=True)  # noqa: SLF001


def splits(scores: PUScores, folds: int, seed: int) -> Iterator[tuple[PUScores, Groups]]:
    """Yield, for each fold, the scores to fit on and the held-out rows."""
    number, groups = check_folds(folds, scores), scores.in_order()
    # Rows are sorted. With the seed alone, the same ranks would always share a fold.
    data = [zlib.crc32(np.ascontiguousarray(s).data) for s, *_ in groups]
    random = stream(seed, f"folds {data}")
    unlabeled, positive = (_parts(group, number, random) for group in groups)
    for pair, other in zip(unlabeled, positive, strict=True):
        yield build((pair[0], other[0]), scores), (pair[1], other[1])


def _parts(group: Chunk, folds: int, random: np.random.Generator) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield the rows of all other folds and those of each fold; only these are copied at a time.

    Rows at the same point are not split up.
    """
    for share in _dealt(group[0].size, group[1], folds, random):
        rest = ~share if share.dtype == np.bool_ else group[1] - share
        yield _part(group, rest), _part(group, share)


def _part(group: Chunk, share: NDArray[Any]) -> Chunk:
    """Return the part of a group that is given as flags or as numbers of rows."""
    there = np.flatnonzero(share)
    s, count, a, w = take(group, there)
    return s, count if share.dtype == np.bool_ else share[there].astype(float), a, w


def _dealt(
    n: int, count: Floats | float, folds: int, random: np.random.Generator
) -> list[NDArray[Any]]:
    if isinstance(count, float):
        fold = (random.permutation(n) % folds).astype(np.min_scalar_type(folds))
        return [fold == k for k in range(folds)]
    left, rest, out = np.floor(count).astype(np.int64), count - np.floor(count), list[Any]()
    # Fractional parts, from buckets of weighted rows, go to a single fold.
    place = random.integers(folds, size=rest.size) if rest.any() else np.zeros(rest.size)
    for k in range(folds):
        share = _share(left, folds - k, random)
        left -= share
        out.append(share + rest * (place == k) if rest.any() else share)
    return out


def _share(left: Integers, n: int, random: np.random.Generator) -> Integers:
    """Draw the number of rows at each score that go to the next of n folds."""
    total = int(left.sum())
    if total < MOST_EVEN:
        return random.multivariate_hypergeometric(left, -(-total // n), method="marginals")
    return random.binomial(left, 1.0 / n)


def take(group: Chunk, index: Places) -> Chunk:
    """Return some rows of a group."""
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
    return WeightedRows(s, *(None if isinstance(x, float) else x for x in masses))
