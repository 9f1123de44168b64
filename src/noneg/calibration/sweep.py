r"""The monotonic-sweep calibration error.

Calibration curves are increasing, so a decrease between neighboring bins must be noise: the sweep
adds equal-mass bins until the first decrease. Rows are sorted once; the edges for any number of
bins can then be looked up. Once there are many bins, only bins around the few positions where the
rows themselves are out of order can break the order, so data that a classifier separates well can
be swept quickly too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.errors import ece, ece_interval, moved
from noneg.laws import Ordered
from noneg.registry import calibration_error, in_range

if TYPE_CHECKING:
    from noneg.arrays import Flags, Floats, Integers
    from noneg.results import Estimate
    from noneg.scores import PUScores


# Up to this many bins, all bins are compared, even where the rows are in order.
ALL_BINS = 256
# Number of bins compared at a time beyond that.
AT_ONCE = 1 << 18
# Largest number of bins used for the lower end of the interval.
INTERVAL_BINS = 4096
# Importance weights are not whole numbers, so frequencies are equal only up to rounding error.
SLACK = 1e-9


def sweep_ece(scores: PUScores) -> float:
    r"""Return the monotonic-sweep calibration error.

    This is the ECE over :math:`B^*` equal-mass bins, where :math:`B^*` is the largest number for
    which the frequencies :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)` do not decrease, for it or for any
    smaller number; it is less than the number of marginal rows. With B bins, the row of rank i
    (from 0) out of n lies in bin :math:`\lfloor iB/n\rfloor`, but rows with equal scores stay
    together in the lower bin. The choice of :math:`B^*` does not depend on the prior.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    See Also
    --------
    sweep_edges : The edges of the bins.

    References
    ----------
    Roelofs, Cain, Shlens & Mozer (2022), Mitigating Bias in Calibration Error Estimation.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> print(sweep_edges(scores).size - 1, round(sweep_ece(scores), 3), round(world.tce(), 3))
    7 0.082 0.074
    """
    return ece(scores, edges=sweep_edges(scores))


def sweep_edges(scores: PUScores) -> Floats:
    """Return the distinct bin edges used by `sweep_ece`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> sweep_edges(PUScores.from_labels([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.6, 0.9]))
    array([0. , 0.4, 1. ])
    """
    ties = _Ties.of(scores)
    n_bins = _sweep(ties)
    inner = np.unique(ties.scores[ties.cut(np.arange(1, n_bins), n_bins) - 1])
    # Keep an inner edge at 0: scores of exactly 0 then form their own bin.
    return np.concatenate([[0.0], inner[inner < 1.0], [1.0]])


@in_range
def sweep_ece_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the sweep error with an interval for the population error over the bins found.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> print(sweep_ece_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0819 [0.0664, 0.0938]
    """
    edges = sweep_edges(scores)
    value = ece(scores, edges=edges)
    # Merging bins never increases the error, so a lower end from fewer bins is valid.
    step = -(-(edges.size - 1) // INTERVAL_BINS)
    coarse = np.append(edges[:-1:step], 1.0)
    plain = ece_interval(scores, level=level, edges=coarse, seed=seed)
    return moved(plain, value, high=plain.high + (value - plain.value))


@dataclass(frozen=True, eq=False)
class _Ties:
    """The finest possible bins, one for each distinct marginal score, and the remainder.

    Attributes
    ----------
    scores : ndarray, shape (m,)
        Distinct scores of the marginal sample, increasing.
    positive, marginal : ndarray, shape (m + 1,) or (m + 2,)
        Mass of each sample up to the end of each tie, starting from 0. If some positives have no
        marginal mass, a last entry adds those above all marginal scores.
    n : float
        Size of the marginal sample.
    slack : float
        Relative size of a decrease that is still ignored.
    """

    scores: Floats
    positive: Floats
    marginal: Floats
    n: float
    slack: float

    @classmethod
    def of(cls, scores: PUScores) -> _Ties:
        s, positive, marginal = Ordered(scores).below()
        last = np.flatnonzero(np.diff(marginal) > 0.0)
        if last.size < s.size:  # Some positives have no marginal mass.
            ends = np.concatenate([[0], last + 1, [s.size]])
            s, positive, marginal = s[last], positive[ends], marginal[ends]
        n = scores.effective_marginal
        whole = float(np.rint(n))
        n = whole if abs(n - whole) < SLACK * n else n
        counted = not scores.is_weighted or all(
            (mass == np.rint(mass)).all() for mass in (positive, marginal)
        )
        return cls(s, positive, marginal, n, 0.0 if counted else SLACK)

    def cut(self, b: Integers, n_bins: Integers | int) -> Integers:
        """Return the ties after which bins number b of n_bins equal-mass bins end.

        Bins 1..b must reach the marginal mass of ceil(n b / B) rows.
        """
        if float(self.n).is_integer():
            rank = -(-int(self.n) * b // n_bins)
        else:
            rank = np.ceil(self.n * b / n_bins * (1.0 - 1e-12))
        target = rank * (self.marginal[-1] / self.n) * (1.0 - 1e-12)
        inner = np.searchsorted(self.marginal[:-1], target)
        return np.where(b < n_bins, inner, self.marginal.size - 1)

    def falls(self, first: Integers, middle: Integers, last: Integers) -> Flags:
        """Whether the frequency between two ties exceeds that between the next two.

        The frequencies are compared without division.
        """
        (a, b), (v, w) = (
            (x[middle] - x[first], x[last] - x[middle]) for x in (self.positive, self.marginal)
        )
        return a * w > b * v * (1.0 + self.slack)

    def rises(self, n_bins: int) -> bool:
        """Whether the frequencies never decrease from bin to bin."""
        ends = np.unique(self.cut(np.arange(n_bins + 1), n_bins))
        return not self.falls(ends[:-2], ends[1:-1], ends[2:]).any()

    @cached_property
    def descents(self) -> Integers:
        """Ties (counted from 1) whose frequency exceeds the frequency of the next tie."""
        tie = np.arange(1, self.marginal.size - 1)
        return tie[self.falls(tie - 1, tie, tie + 1)]

    def many_rise(self, n_bins: Integers) -> Flags:
        """Whether the frequencies never decrease, for many numbers of bins at once.

        Two neighboring bins can be out of order only if rows in them are.
        """
        n_bins = n_bins[:, None]
        left, right = self._bin(self.descents[None, :], n_bins)
        before, _ = self._bin(np.maximum(left, 1), n_bins)
        _, after = self._bin(np.minimum(right + 1, self.marginal.size - 1), n_bins)
        falls = self.falls(before, left, right) | self.falls(left, right, after)
        rises: Flags = ~np.any(falls, axis=1)
        return rises

    def _bin(self, tie: Integers, n_bins: Integers) -> tuple[Integers, Integers]:
        """Return the ties after which the bin that contains this tie begins and ends."""
        share = self.marginal[tie - 1] / self.marginal[-1]
        b = np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)
        # The division may be off by rounding error.
        b -= self.cut(b, n_bins) >= tie
        b += self.cut(b + 1, n_bins) < tie
        return self.cut(b, n_bins), self.cut(b + 1, n_bins)


def _sweep(ties: _Ties) -> int:
    """Return the number of bins at which the sweep stops."""
    most = max(1, int(np.ceil(ties.n)) - 1)
    n_bins = 1
    while n_bins < most:
        if n_bins >= ALL_BINS and 3 * ties.descents.size < n_bins:
            return _sweep_descents(ties, n_bins, most)
        if not ties.rises(n_bins + 1):
            return n_bins
        n_bins += 1
    return n_bins


def _sweep_descents(ties: _Ties, n_bins: int, most: int) -> int:
    if ties.descents.size == 0:
        return most
    step = max(1, AT_ONCE // ties.descents.size)
    while n_bins < most:
        tried = np.arange(n_bins + 1, min(n_bins + step, most) + 1)
        rises = ties.many_rise(tried)
        if not rises.all():
            return int(tried[np.argmin(rises)]) - 1
        n_bins = int(tried[-1])
    return most


calibration_error(
    sweep_ece,
    sweep_ece_interval,
    title="Monotonic-sweep calibration error",
    citation="Roelofs et al. (2022), Mitigating bias in calibration error estimation",
)
