r"""The calibration error with as many bins as keep the frequencies in order.

Calibration curves rise, so a decrease between neighbouring bins is noise: the sweep adds bins of
equal mass until the first decrease. Rows are put in order once; then the edges of any number of
bins are looked up. From some number on, only bins around the few places where the rows themselves
are out of order can break the order, so that data a classifier separates well is swept as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.errors import ece
from noneg.calibration.interval import ece_interval
from noneg.laws import Ordered
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

# Numbers of bins up to which all bins are compared without asking where the rows are out of order.
ALL_BINS = 256
# Bins compared at a time from then on.
AT_ONCE = 1 << 18
# Bins whose sums are drawn for the lower end of the interval.
INTERVAL_BINS = 4096
# Importance weights are not whole, so equal frequencies are only equal up to rounding.
ROUNDING = 1e-9


def sweep_ece(scores: PUScores) -> float:
    r"""Return the monotonic-sweep calibration error.

    The ECE over :math:`B^*` bins of equal mass, the largest number for which the frequencies
    :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)` do not decrease, neither for it nor for any smaller
    number; at most one less than there are marginal rows. With B bins the row of rank i (from 0)
    of n lies in bin :math:`\lfloor iB/n\rfloor`, but rows of equal score stay together in the
    lower one. The choice of :math:`B^*` does not depend on the prior.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    See Also
    --------
    sweep_edges : the bins.

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


def sweep_edges(scores: PUScores) -> NDArray[np.float64]:
    """Return the edges of the bins of `sweep_ece`, coinciding ones left out.

    Examples
    --------
    >>> from noneg import PUScores
    >>> sweep_edges(PUScores.from_labels([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.6, 0.9]))
    array([0. , 0.4, 1. ])
    """
    rows = _Rows.of(scores)
    n_bins = _sweep(rows)
    inner = np.unique(rows.cuts(n_bins))
    # An inner edge at 0 stays: scores of 0 are then a bin of their own.
    return np.concatenate([[0.0], inner[inner < 1.0], [1.0]])


def sweep_ece_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the sweep error with an interval for the population's error over the bins found.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    seed : int
        Seed of the random splits of the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> print(sweep_ece_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0819 [0.0659, 0.0938]
    """
    edges = sweep_edges(scores)
    value = ece(scores, edges=edges)
    # Merging bins never raises the error, so the lower end of fewer bins is valid.
    step = -(-(edges.size - 1) // INTERVAL_BINS)
    coarse = np.append(edges[:-1:step], 1.0)
    plain = ece_interval(scores, level=level, edges=coarse, seed=seed)
    return Estimate(
        value=value,
        low=plain.low,
        high=plain.high + (value - plain.value),
        level=plain.level,
        method=plain.method,
    )


@dataclass(frozen=True, eq=False)
class _Law:
    """A sample in order.

    Attributes
    ----------
    scores : ndarray, shape (n,)
        Distinct, rising.
    mass : ndarray, shape (n + 1,)
        Mass of the first k scores.
    is_whole : bool
        Whether all masses are whole numbers.
    """

    scores: NDArray[np.float64]
    mass: NDArray[np.float64]
    is_whole: bool

    @classmethod
    def of(cls, scores: NDArray[np.float64], mass: NDArray[np.float64]) -> _Law:
        """Build from scores, rising, and the mass at each."""
        full = mass > 0.0
        s, m = scores[full], mass[full]
        return cls(s, np.concatenate([[0.0], np.cumsum(m)]), bool((m == np.rint(m)).all()))

    def below(self, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass of rows with ``s <= cut``."""
        sums: NDArray[np.float64] = self.mass[np.searchsorted(self.scores, cuts, side="right")]
        return sums


@dataclass(frozen=True, eq=False)
class _Rows:
    """Both samples in order, and the size n of the marginal one."""

    positive: _Law
    marginal: _Law
    n: float

    @classmethod
    def of(cls, scores: PUScores) -> _Rows:
        s, positive, marginal = Ordered(scores).masses()
        n = scores.effective_marginal
        whole = float(np.rint(n))
        n = whole if abs(n - whole) < ROUNDING * n else n
        return cls(_Law.of(s, positive), _Law.of(s, marginal), n)

    @property
    def slack(self) -> float:
        """Relative size of a decrease that is none."""
        return 0.0 if self.positive.is_whole and self.marginal.is_whole else ROUNDING

    def targets(self, b: NDArray[np.int64], n_bins: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return the marginal mass that bins 1..b of n_bins must reach: that of ceil(n b / B)."""
        if float(self.n).is_integer():
            rank = -(-int(self.n) * b // n_bins)
        else:
            rank = np.ceil(self.n * b / n_bins * (1.0 - 1e-12))
        total = self.marginal.mass[-1]
        return rank * (total / self.n) * (1.0 - 1e-12)

    def cuts(self, n_bins: int) -> NDArray[np.float64]:
        """Return the inner edges: the scores at which bins of equal mass end."""
        target = self.targets(np.arange(1, n_bins), n_bins)
        row = np.searchsorted(self.marginal.mass, target)
        return self.marginal.scores[np.minimum(row, self.marginal.scores.size) - 1]

    def rises(self, n_bins: int) -> bool:
        """Whether the frequencies do not decrease over all bins."""
        edges = np.append(self.cuts(n_bins), 1.0)
        a = np.diff(self.positive.below(edges), prepend=0.0)
        w = np.diff(self.marginal.below(edges), prepend=0.0)
        full = (a > 0.0) | (w > 0.0)
        return not _falls(a[full][:-1], w[full][:-1], a[full][1:], w[full][1:], self.slack).any()

    @cached_property
    def ties(self) -> _Ties:
        """The finest bins there are: one for each marginal score."""
        s = self.marginal.scores
        last = np.append(np.flatnonzero(np.diff(s) > 0.0), s.size - 1)
        cuts = np.append(s[last], 1.0)
        a, w = self.positive.below(cuts), self.marginal.below(cuts)
        return _Ties(self, np.concatenate([[0.0], a]), np.concatenate([[0.0], w]))


@dataclass(frozen=True, eq=False)
class _Ties:
    """Cumulative masses at the end of each tie, from 0; the last one holds what lies above."""

    rows: _Rows
    positive: NDArray[np.float64]
    marginal: NDArray[np.float64]

    @cached_property
    def descents(self) -> NDArray[np.int64]:
        """Ties (from 1) whose frequency exceeds that of the next one."""
        a, w = np.diff(self.positive), np.diff(self.marginal)
        return 1 + np.flatnonzero(_falls(a[:-1], w[:-1], a[1:], w[1:], self.rows.slack))

    def rises(self, n_bins: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the frequencies do not decrease, for many numbers of bins at once.

        A bin and the next one can only be out of order if rows in them are.
        """
        n_bins = n_bins[:, None]
        left, right = self._bin(self.descents[None, :], n_bins)
        before, _ = self._bin(np.maximum(left, 1), n_bins)
        _, after = self._bin(np.minimum(right + 1, self.marginal.size - 1), n_bins)
        falls = self._falls(before, left, right) | self._falls(left, right, after)
        rises: NDArray[np.bool_] = ~np.any(falls, axis=1)
        return rises

    def _falls(
        self, first: NDArray[np.int64], middle: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        (a, b), (v, w) = (
            (x[middle] - x[first], x[last] - x[middle]) for x in (self.positive, self.marginal)
        )
        return _falls(a, v, b, w, self.rows.slack)

    def _bin(
        self, tie: NDArray[np.int64], n_bins: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ties after which the bin that holds this tie begins and ends."""
        share = self.marginal[tie - 1] / self.marginal[-1]
        b = np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)
        # The division may be off by a rounding.
        b -= self._cut(b, n_bins) >= tie
        b += self._cut(b + 1, n_bins) < tie
        return self._cut(b, n_bins), self._cut(b + 1, n_bins)

    def _cut(self, b: NDArray[np.int64], n_bins: NDArray[np.int64]) -> NDArray[np.int64]:
        inner = np.searchsorted(self.marginal[:-1], self.rows.targets(b, n_bins))
        return np.where(b < n_bins, inner, self.marginal.size - 1)


def _falls(
    a: NDArray[np.float64],
    v: NDArray[np.float64],
    b: NDArray[np.float64],
    w: NDArray[np.float64],
    slack: float,
) -> NDArray[np.bool_]:
    """Whether the frequency a / v exceeds b / w, without a division."""
    return a * w > b * v * (1.0 + slack)


def _sweep(rows: _Rows) -> int:
    """Return the number of bins of the sweep."""
    most = max(1, int(np.ceil(rows.n)) - 1)
    n_bins = 1
    while n_bins < most:
        if n_bins >= ALL_BINS and 3 * rows.ties.descents.size < n_bins:
            return _sweep_descents(rows.ties, n_bins, most)
        if not rows.rises(n_bins + 1):
            return n_bins
        n_bins += 1
    return n_bins


def _sweep_descents(ties: _Ties, n_bins: int, most: int) -> int:
    if ties.descents.size == 0:
        return most
    step = max(1, AT_ONCE // ties.descents.size)
    while n_bins < most:
        tried = np.arange(n_bins + 1, min(n_bins + step, most) + 1)
        rises = ties.rises(tried)
        if not rises.all():
            return int(tried[np.argmin(rises)]) - 1
        n_bins = int(tried[-1])
    return most


register(
    Metric(
        name="sweep_ece",
        title="Monotonic-sweep calibration error",
        function=sweep_ece,
        interval=sweep_ece_interval,
        citation="Roelofs et al. (2022), Mitigating bias in calibration error estimation",
        family="calibration error",
        better="lower",
    )
)
