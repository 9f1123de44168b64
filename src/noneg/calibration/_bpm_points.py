r"""Points of the calibration curve: the bins of several mass binnings (Dong et al., Eq. 8).

For N rows the numbers of bins are ``N // 100, N // 100 + step, ..., <= N // 20`` with
``step = (N // 20 - N // 100) // 10``, both at least 1: a dozen binnings with 20 to 100 rows a bin.
The paper gives the two ends (Appendix B.2), its code the step.

With PU data a frequency is as uncertain as its positives are few, so N is the number of rows that
hold so many positives: :math:`N = \min(n_M, n_P / \pi)`, which is n when everything is labelled.
From N = 50,000 on the bins grow instead of their number; the curve no longer depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import order_statistics
from noneg.laws import Ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# More rows than this make larger bins, not more of them.
MOST_ROWS = 50_000
# A score of exactly 0 or 1 is taken for one at most so far from there, and at least as far as half
# the distance of the next double (or so, next to 0).
LARGEST_GAP, LEAST_GAP_LOW, LEAST_GAP_HIGH = 0.005, 1e-300, 2.0**-54


@dataclass(frozen=True, eq=False)
class Points:
    """Bins of several binnings, empty ones left out.

    Attributes
    ----------
    score, complement : ndarray, shape (M,)
        Mean of s and of 1 - s in each bin, both to full relative precision.
    frequency : ndarray
        ``y_b = pi mu_plus(I_b) / mu(I_b)``.
    weight : ndarray
        Mass of the bin over the number of binnings; sums to 1.
    cuts : ndarray, shape (C,)
        Upper ends of the cells that all binnings have in common.
    first, last : ndarray of int
        The bin consists of the cells ``first <= i < last``.
    n_bins : tuple of int
        Bins asked for in each binning.
    """

    score: Floats
    complement: Floats
    frequency: Floats
    weight: Floats
    cuts: Floats
    first: NDArray[np.intp]
    last: NDArray[np.intp]
    n_bins: tuple[int, ...]

    def add_up(self, cells: Floats) -> Floats:
        """Return the sums over the bins of sums over cells, shape (..., C) to (..., M)."""
        zero = np.zeros((*cells.shape[:-1], 1))
        total = np.concatenate([zero, np.cumsum(cells, axis=-1)], axis=-1)
        sums: Floats = total[..., self.last] - total[..., self.first]
        return sums


class CurveRows:
    """The rows of both laws in order, with running sums.

    When a sample is infinite its law is known only in bins, and moments are those of the bins.
    """

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        self.infinite = bool(np.isinf(scores.n_marginal) or np.isinf(scores.n_positive))

    @cached_property
    def _masses(self) -> tuple[Floats, Floats, Floats]:
        """Distinct scores, rising, and the mass of both laws at each."""
        return Ordered(self.scores).masses()

    @cached_property
    def marginal(self) -> tuple[Floats, Floats]:
        """Scores of the marginal sample, rising, and their masses."""
        s, _, mass = self._masses
        full = mass > 0.0
        return s[full], mass[full]

    @cached_property
    def _running(self) -> tuple[Floats, Floats, Floats]:
        """Mass and integral of s up to each row, integral of 1 - s from each row on."""
        s, mass = self.marginal
        up = [np.concatenate([[0.0], np.cumsum(x)]) for x in (mass, mass * s)]
        down = np.concatenate([np.cumsum((mass * (1.0 - s))[::-1])[::-1], [0.0]])
        return up[0], up[1], down

    @cached_property
    def n_rows(self) -> int:
        """The N of the binnings."""
        n = self.scores.effective_marginal
        if self.scores.setting != "labelled":
            n = min(n, self.scores.effective_positive / self.scores.prior)
        return int(min(n * (1.0 + 1e-12), MOST_ROWS))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and variance (ddof = 1) of the marginal law."""
        if self.infinite:
            points = self.points(self.numbers[-1:])
            mean = float(points.weight @ points.score)
            return mean, float(points.weight @ (points.score - mean) ** 2)
        s, mass = self.marginal
        if s[0] == s[-1]:
            return float(s[0]), 0.0
        share, n = mass / mass.sum(), self.scores.effective_marginal
        mean = float(share @ s)
        spread = float(share @ (s - mean) ** 2)
        return mean, spread * n / (n - 1.0) if n > 1.0 else 0.0

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Distances from 0 and from 1 that scores of exactly 0 and 1 are taken for.

        Half the distance of the next score, as if rounding had brought them there.
        """
        if self.infinite:
            return 1e-9, 1e-9
        s = self.marginal[0]
        first, last = np.searchsorted(s, 0.0, side="right"), np.searchsorted(s, 1.0, side="left")
        inside = s[first:last]
        low = inside[0] / 2 if first > 0 and inside.size else 0.0
        high = (1.0 - inside[-1]) / 2 if last < s.size and inside.size else 0.0
        return (
            float(np.clip(low, LEAST_GAP_LOW, LARGEST_GAP)),
            float(np.clip(high, LEAST_GAP_HIGH, LARGEST_GAP)),
        )

    @property
    def numbers(self) -> list[int]:
        """The paper's numbers of bins."""
        low, high = max(1, self.n_rows // 100), max(1, self.n_rows // 20)
        if np.isinf(self.scores.n_marginal) and np.isinf(self.scores.n_positive):
            return [high]  # without noise there is nothing to average
        return list(range(low, high + 1, max(1, (high - low) // 10)))

    def coarse_points(self, most: int) -> Points:
        """Return the bins of the coarsest binnings, as many as have `most` bins together."""
        within = int(np.searchsorted(np.cumsum(self.numbers), most, side="right"))
        return self.points(self.numbers[: max(1, within)])

    def points(self, numbers: Sequence[int] | None = None) -> Points:
        """Return the bins of binnings with these numbers of bins, by default those of the paper."""
        numbers = tuple(self.numbers if numbers is None else numbers)
        ends = np.concatenate([self._edges(n_bins) for n_bins in numbers])
        cuts, last = np.unique(ends, return_inverse=True)
        last = last + 1
        first = np.concatenate([[0], last[:-1]])
        first[np.cumsum([0, *numbers[:-1]])] = 0
        full = last > first
        return self._collect(cuts, first[full], last[full], numbers)

    def _edges(self, n_bins: int) -> Floats:
        """Upper edges of bins of equal mass; the last bin that holds marginal rows ends at 1."""
        inner = np.arange(1, n_bins)
        if self.infinite:
            known = self.scores.marginal_quantiles(inner / n_bins)
            if known is None:
                known = order_statistics(self.scores, _ranks(self.scores, n_bins))
            return np.append(known, 1.0)
        s, mass = self.marginal[0], self._running[0]
        target = _ranks(self.scores, n_bins) / self.scores.effective_marginal
        place = np.searchsorted(mass[1:], target * mass[-1] * (1.0 - 1e-12))
        edges = s[np.minimum(place, s.size - 1)]
        return np.append(np.where(edges < s[-1], edges, 1.0), 1.0)

    def _collect(
        self,
        cuts: Floats,
        first: NDArray[np.intp],
        last: NDArray[np.intp],
        numbers: tuple[int, ...],
    ) -> Points:
        sums = np.array([x[last] - x[first] for x in self._sums(cuts)])
        full = sums[1] > 0.0
        positive, mass, score, complement = sums[:, full]
        scale = self.scores.prior * mass.sum() / max(positive.sum(), np.finfo(np.float64).tiny)
        return Points(
            score=score / mass,
            complement=complement / mass,
            frequency=scale * positive / mass,
            weight=mass / mass.sum(),
            cuts=cuts,
            first=first[full],
            last=last[full],
            n_bins=numbers,
        )

    def _sums(self, cuts: Floats) -> tuple[Floats, ...]:
        """Return running sums up to 0 and each cut: positive mass, mass, s and 1 - s."""
        if self.infinite:
            sums = self.scores.sums_below(cuts)[:, :3].T
            positive, mass, score = np.concatenate([np.zeros((3, 1)), sums], axis=1)
            return positive, mass, score, mass - score
        place = np.concatenate([[0], np.searchsorted(self.marginal[0], cuts, side="right")])
        mass, score, above = (running[place] for running in self._running)
        # A running sum from above is exact where 1 - s is small.
        return self._positive_below(cuts), mass, score, -above

    def _positive_below(self, cuts: Floats) -> Floats:
        s, positive, _ = self._masses
        mass = np.concatenate([[0.0], np.cumsum(positive)])
        below: Floats = mass[np.concatenate([[0], np.searchsorted(s, cuts, side="right")])]
        return below


def _ranks(scores: PUScores, n_bins: int) -> Floats:
    """Return ``floor(n b / B)``, exactly where n is whole."""
    n, inner = scores.effective_marginal, np.arange(1, n_bins)
    if float(n).is_integer():
        return (int(n) * inner // n_bins).astype(np.float64)
    return np.floor(n * inner / n_bins)
