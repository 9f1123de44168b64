"""Both laws as columns: what every calibrator is fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.rows import Chunk
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Marginal scores with what lies at them, rising and distinct.

    Attributes
    ----------
    score : ndarray, shape (m,)
        Distinct scores that have mass in the marginal law.
    positive : ndarray
        ``pi mu_plus`` at each; a positive where there is no marginal mass counts at the next score
        above that has some, and at the last one if there is none above.
    marginal : ndarray
        ``mu`` at each; sums to 1.
    """

    score: Floats
    positive: Floats
    marginal: Floats


def table(scores: PUScores) -> Table:
    """Return both laws at the distinct marginal scores.

    Moving positives upwards is what the best rising function does to them: where there is no
    marginal mass, nothing but the next value above holds it down.
    """
    unlabeled, positive = scores.in_order()
    both = scores.setting != "two-sample"
    s, mass = _merged(unlabeled, positive) if both else _masses(unlabeled)
    first = np.flatnonzero(np.diff(s, prepend=-1.0))
    at = s[first]
    w: Floats = np.add.reduceat(mass, first)
    full = w > 0.0
    if not full.all():
        at, w = at[full], w[full]
    p, a = positive[0], np.broadcast_to(positive[1] * positive[2], positive[0].shape)
    place = np.minimum(np.searchsorted(at, p), at.size - 1)
    gained = np.bincount(place, weights=a, minlength=at.size).astype(np.float64, copy=False)
    total = float(a.sum())
    share = scores.prior / total if total > 0.0 else 0.0
    return Table(at, gained * share, w / w.sum())


def _masses(rows: Chunk) -> tuple[Floats, Floats]:
    s, f, _, w = rows
    return s, np.broadcast_to(f * w, s.shape)


def _merged(unlabeled: Chunk, positive: Chunk) -> tuple[Floats, Floats]:
    (s, v), (t, w) = _masses(unlabeled), _masses(positive)
    joined, mass = np.concatenate([s, t]), np.concatenate([v, w])
    order = np.argsort(joined, kind="stable")
    return joined[order], mass[order]
