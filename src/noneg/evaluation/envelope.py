r"""The Kolmogorov-Smirnov error at every prior at once.

:math:`\sup_t |\pi\,\mu_+(s \le t) - \int_{s \le t} s\,d\mu|` is, as a function of the prior, the
largest of many straight lines. Few of them are ever the largest: the corners of the convex hull of
the points :math:`(\mu_+(s \le t), \int_{s \le t} s\,d\mu)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.laws import Ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# A line that gains less than this is no corner.
ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Envelope:
    """Points whose lines decide the Kolmogorov-Smirnov error at some prior in [0, 1].

    Attributes
    ----------
    positive, score : ndarray
        ``mu_plus(s <= t)`` and the integral of s up to t, at those t.

    Examples
    --------
    >>> from noneg import PUScores
    >>> from noneg.calibration import ks_error
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> envelope = ks_envelope(scores)
    >>> abs(envelope(0.7) - ks_error(scores.with_prior(0.7))) < 1e-12
    True
    """

    positive: Floats
    score: Floats

    def __call__(self, prior: float) -> float:
        """Return the error at a prior."""
        return float(np.abs(prior * self.positive - self.score).max())


def ks_envelope(scores: PUScores) -> Envelope:
    """Return what the Kolmogorov-Smirnov error at every prior is made of."""
    positive, score = _cumulative(scores)
    above = _corners(positive, -score)
    below = positive.size - 1 - _corners(-positive[::-1], score[::-1])
    kept = np.unique(np.concatenate([above, below]))
    return Envelope(positive[kept], score[kept])


def _cumulative(scores: PUScores) -> tuple[Floats, Floats]:
    """Return the positive law and the integral of s up to each distinct score."""
    s, positive, marginal = Ordered(scores).masses()
    below = np.cumsum(positive)
    return below / (below[-1] or 1.0), np.cumsum(marginal * s) / marginal.sum()


def _corners(slope: Floats, level: Floats) -> NDArray[np.intp]:
    """Return which lines ``level + slope x`` are the largest at some x in [0, 1]; slopes rise.

    The largest line at x moves to the right as x grows, so between two of them only those in
    between can win, and where two are equal either one is largest or a better one is found.
    """
    first = int(np.argmax(level))
    last = int(np.argmax(level + slope))
    found = {first, last}
    open_ranges = [(first, last)]
    while open_ranges:
        i, j = open_ranges.pop()
        if j - i < 2 or slope[j] <= slope[i]:
            continue
        x = (level[i] - level[j]) / (slope[j] - slope[i])
        height = level[i : j + 1] + slope[i : j + 1] * x
        k = i + int(np.argmax(height))
        if k in (i, j) or height[k - i] <= max(height[0], height[-1]) + ROUNDING:
            continue
        found.add(k)
        open_ranges += [(i, k), (k, j)]
    return np.array(sorted(found), dtype=np.intp)
