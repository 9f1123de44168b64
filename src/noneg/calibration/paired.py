r"""The difference of two models' calibration errors on the same rows, with an interval.

A norm :math:`\tau = \lVert\rho\rVert` is not smooth where it is zero, so the delta method does not
apply. The interval of :math:`\tau_A - \tau_B` is built like that of one error
(`noneg.calibration.interval`). The plug-in :math:`T_A` cannot fall short of :math:`\tau_A` but by
noise; the signs of one half of the data applied to the other, :math:`e_B`, cannot exceed
:math:`\tau_B` but by noise. Hence

.. math:: \tau_A - \tau_B \le T_A - e_B + z\,\mathrm{sd},

with the deviation of both signed sums together, which is small when the models make the same
mistakes on the same rows. The median over random splits, at half the level, is the upper end; the
lower end is the upper end of the difference the other way round. It is wide when both models are
well calibrated, since then neither error can be told from zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from noneg.bins import Binned, bin_scores, square_roots
from noneg.calibration.interval import SPLITS, power_dual
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# Priors at which the ends are evaluated when the prior is only known to lie in an interval.
PRIOR_GRID = 21
METHOD = f"paired rows, median of {SPLITS} splits"
# Which of a, w, w s_A and w s_B are the sums of the first and of the second model.
_SUMS = ([0, 1, 2], [0, 1, 3])


@dataclass(frozen=True, eq=False)
class Masses:
    """What each row counts for.

    Attributes
    ----------
    count : ndarray
        How many identical rows it stands for.
    positive, marginal : ndarray
        Its mass in the positive and in the marginal law; each is one in total, counts included.
    """

    count: Floats
    positive: Floats
    marginal: Floats


class PairedErrors:
    """Two calibration errors over bins of equal mass, on the same rows.

    Rows are gathered in cells, a bin of one model and a bin of the other. The covariance of a
    cell's sums of a, w, w s_A and w s_B is all that the interval needs, so it does not depend on
    the order of rows, and a row written twice is a row of weight two.

    Parameters
    ----------
    scores : pair of PUScores
        With a ``prior_interval`` the limits hold for every prior in it.
    columns : pair of ndarray
        The scores of both models, row by row.
    masses : Masses
    """

    def __init__(
        self, scores: tuple[PUScores, PUScores], columns: tuple[Floats, Floats], masses: Masses
    ) -> None:
        self.scores = scores[0]
        self.binned = tuple(bin_scores(one) for one in scores)
        there = masses.count * (masses.positive + masses.marginal) > 0.0
        f, a, w, *s = (x[there] for x in (masses.count, masses.positive, masses.marginal, *columns))
        place = [np.searchsorted(b.edges[1:-1], x) for b, x in zip(self.binned, s, strict=True)]
        n_bins = self.binned[1].n_bins
        code, cell = np.unique(place[0] * n_bins + place[1], return_inverse=True)
        self.bins = (code // n_bins, code % n_bins)
        self.second = _second_moments(np.stack([a, w, w * s[0], w * s[1]]), f, cell)
        self.noise = self._draw()

    def limits(self, level: float) -> tuple[float, float]:
        """Return limits of the first error minus the second."""
        interval, slack = self.scores.prior_interval, 0.0
        priors = np.array([self.scores.prior])
        if interval is not None:
            priors = np.linspace(*interval, PRIOR_GRID)
            # What may happen between two points of the grid, at the pace seen at them.
            speed = max(abs(self._speed(float(prior))) for prior in priors)
            slack = speed * float(priors[1] - priors[0]) / 2.0
        ends = [[self._upper(k, float(prior), level) for prior in priors] for k in (0, 1)]
        return -max(ends[1]) - slack, max(ends[0]) + slack

    def _upper(self, k: int, prior: float, level: float) -> float:
        """Return the upper end of error k minus the other one."""
        one, other = self._at(k, prior), self._at(1 - k, prior)
        v, shift = _signs(one), _residual_noise(other, self.noise[1 - k])
        halves = other.residual + shift, other.residual - shift
        signs = [power_dual(other.marginal, 1)(half) for half in halves]
        lower = ((signs[1] * halves[0]).sum(axis=1) + (signs[0] * halves[1]).sum(axis=1)) / 2.0
        mean, half = (signs[0] + signs[1]) / 2.0, (signs[0] - signs[1]) / 2.0
        variance = one.variance(v) + other.variance(mean) + other.variance(half)
        variance = variance - 2.0 * self._covariance(k, one.influence(v), other.influence(mean))
        # The median over splits is valid at half the level.
        reach = float(ndtri(0.75 + level / 4.0)) * np.sqrt(np.maximum(variance, 0.0))
        return float(np.median(v @ one.residual - lower + reach))

    def _covariance(self, k: int, one: Floats, others: Floats) -> Floats:
        """Return the covariance of a signed sum of model k with many of the other model."""
        block = self.second[:, _SUMS[k]][:, :, _SUMS[1 - k]]
        cells = np.einsum("ci,cij->cj", one[self.bins[k]], block)
        out: Floats = np.einsum("bj,rbj->r", self._by_bin(cells, 1 - k), others)
        return out

    def _at(self, k: int, prior: float) -> Binned:
        binned = self.binned[k]
        return binned if prior == binned.prior else replace(binned, prior=prior)

    def _speed(self, prior: float) -> float:
        one, other = (self._at(k, prior) for k in (0, 1))
        return float(_signs(one) @ one.positive - _signs(other) @ other.positive)

    def _draw(self) -> tuple[Floats, Floats]:
        """Return draws of the noise in each model's sums, shape (splits, bins, 3) each."""
        root, random = square_roots(self.second), stream(0, "split")
        one, other = (np.zeros((SPLITS, b.n_bins, 3)) for b in self.binned)
        for split in range(SPLITS):
            noise = np.einsum("cij,cj->ci", root, random.standard_normal((len(root), 4)))
            one[split] = self._by_bin(noise[:, _SUMS[0]], 0)
            other[split] = self._by_bin(noise[:, _SUMS[1]], 1)
        return one, other

    def _by_bin(self, cells: Floats, k: int) -> Floats:
        """Return columns of numbers, one a cell, summed over the cells of each bin."""
        n_bins = self.binned[k].n_bins
        columns = [np.bincount(self.bins[k], weights=x, minlength=n_bins) for x in cells.T]
        return np.stack(columns, axis=-1)


def _signs(binned: Binned) -> Floats:
    return power_dual(binned.marginal, 1)(binned.residual[None])[0]


def _residual_noise(binned: Binned, noise: Floats) -> Floats:
    """Return what noise in the sums of bins, shape (splits, bins, 3), does to the residuals."""
    out: Floats = np.einsum("bci,rci->rb", binned.influence(np.eye(binned.n_bins)), noise)
    return out


def _second_moments(sums: Floats, count: Floats, cell: NDArray[np.intp]) -> Floats:
    """Return the sums of products over the rows of each cell, shape (cells, k, k)."""
    k, n = len(sums), int(cell.max()) + 1
    out = np.zeros((n, k, k))
    for i in range(k):
        for j in range(i, k):
            out[:, i, j] = np.bincount(cell, weights=count * sums[i] * sums[j], minlength=n)
            out[:, j, i] = out[:, i, j]
    return out
