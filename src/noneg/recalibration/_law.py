"""Both laws as columns: what every calibrator is fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.laws import Ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    at, positive, marginal = Ordered(scores).masses()
    full = marginal > 0.0
    place = np.minimum(np.searchsorted(at[full], at), np.count_nonzero(full) - 1)
    gained = np.bincount(place, weights=positive, minlength=np.count_nonzero(full))
    total = float(positive.sum())
    share = scores.prior / total if total > 0.0 else 0.0
    return Table(at[full], gained * share, marginal[full] / marginal.sum())
