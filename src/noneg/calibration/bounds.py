r"""Bounds on the binned calibration error when hidden positives may differ from labeled ones.

In bin b, let :math:`x_b` be the mass of positives, which may lie anywhere between :math:`l_b` and
:math:`u_b` (`noneg.selection`), and let :math:`m_b` be the integral of the score. The :math:`x_b`
add up to the prior. The error :math:`\sum_b |x_b - m_b|` is smallest when each :math:`x_b` is as
close to :math:`m_b` as its limits allow,

.. math:: \min = \sum_b \mathrm{dist}(m_b, [l_b, u_b]) + \Bigl|\pi - \sum_b
    \mathrm{clip}(m_b, l_b, u_b)\Bigr|.

The error is largest at a corner. Replacing :math:`|x_b - m_b|` with its chord over the interval
turns the maximization into a fractional knapsack problem, which one sort solves exactly except in
one bin. Splitting that bin's interval at :math:`m_b` and solving both parts makes the result exact.
With more than `EXACT_BINS` bins, a single bin contributes little, and the excess is left in.

Without caps, the smallest error is convex and homogeneous in the bin sums, so the lower end of its
interval is computed as in `noneg.calibration.interval`. The upper end is normal. In the one-sample
setting, both ends use the lower confidence limit of the labeled share.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.interval import METHOD, SPLITS, Convex, Noise, error_limits
from noneg.intervals import over_priors, z_score
from noneg.selection import LIMIT_GRID, SLACK, VALUE_GRID, Box, assembled

if TYPE_CHECKING:
    from noneg.arrays import Floats
    from noneg.bins import Binned
    from noneg.calibration.interval import Sums
    from noneg.intervals import Limits
    from noneg.results import Estimate
    from noneg.scores import PUScores


# Largest number of splits before the remaining excess is added to the bound.
SPLIT_AT_MOST = 400
EXACT, EXACT_BINS = 1e-11, 32
# Chord slopes equal to this many digits are ties; smaller differences in mass are rounding error.
DIGITS, ROUNDING = 9, 1e-12
# Selection factors at which the lower end is computed, up to the requested factor.
LADDER = (1.0, 1.25, 1.5, 2.0, 3.0, 6.0)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Possible masses of positives in bins, and the masses that perfect calibration requires.

    Attributes
    ----------
    low, high : ndarray
        Smallest and largest mass of positives in each bin.
    target : ndarray
        Integral of the score.
    total : float
        The prior, which equals the sum of the masses.
    """

    low: Floats
    high: Floats
    target: Floats
    total: float

    @property
    def smallest(self) -> float:
        """The smallest error."""
        nearest = np.clip(self.target, self.low, self.high)
        return float(np.abs(self.target - nearest).sum() + abs(self.total - nearest.sum()))

    def largest(self, *, exact: bool = True) -> float:
        """Return the largest error, or, if not `exact`, an upper bound that is off in one bin."""
        bound, masses, split = self.corner()
        if not exact or self.low.size > EXACT_BINS:
            return bound
        best, queue = self._error(masses), [(-bound, 0, self, split)]
        for count in range(1, SPLIT_AT_MOST):
            bound, _, ranges, split = heappop(queue)
            if split is None or -bound <= best + EXACT:
                return max(best, -bound)
            for part in ranges.halves(split):
                bound, masses, at = part.corner()
                best = max(best, self._error(masses))
                heappush(queue, (-bound, 2 * count + len(queue), part, at))
        return max(best, -queue[0][0])

    def _error(self, masses: Floats) -> float:
        return float(np.abs(masses - self.target).sum())

    def corner(self) -> tuple[float, Floats, int | None]:
        """Return the largest sum of chords, its masses, and a bin whose chord is too high."""
        gain, width = self._gain()
        start = np.abs(self.low - self.target)
        order = np.argsort(-np.round(gain, DIGITS), kind="stable")
        room = np.clip(self.total - self.low.sum(), 0.0, None)
        filled = np.empty_like(width)
        filled[order] = np.diff(np.minimum(np.cumsum(width[order]), room), prepend=0.0)
        masses = self.low + filled
        chords = start + gain * filled
        excess = chords - np.abs(masses - self.target)
        worst = int(np.argmax(excess))
        return float(chords.sum()), masses, worst if excess[worst] > EXACT else None

    def _gain(self) -> tuple[Floats, Floats]:
        """Return the slopes of the chords and the widths they span."""
        start, end = np.abs(np.stack([self.low, self.high]) - self.target)
        width = self.high - self.low
        return np.divide(end - start, width, out=np.zeros_like(width), where=width > 0.0), width

    def halves(self, at: int) -> list[Ranges]:
        """Return the feasible parts in which a bin's mass lies below or above its target."""
        low, high = self.low.copy(), self.high.copy()
        low[at] = high[at] = self.target[at]
        parts = [replace(self, high=high), replace(self, low=low)]
        return [one for one in parts if one.low.sum() <= self.total <= one.high.sum()]

    def price(self) -> float:
        """Return the derivative of the largest sum of chords with respect to the prior."""
        filled = self.corner()[1] > self.low + ROUNDING
        return float(self._gain()[0][filled].min()) if filled.any() else 0.0


def ranges(binned: Binned, box: Box, prior: float, slack: float = 0.0) -> Ranges:
    """Return the ranges at a prior; the box contains the bins of `binned` in decreasing order."""
    least, most = box.ends(prior)
    caps = np.minimum(most * box.positive, box.caps(prior, slack))[::-1]
    return Ranges(prior * least * binned.positive, prior * caps, binned.score, prior)


@dataclass(frozen=True)
class Nearest(Convex):
    """The smallest error without caps, as a `noneg.calibration.interval.Convex`."""

    least: float
    most: float
    p: float = 1.0

    def touching(self, sums: Sums) -> Sums:
        """Return the slopes of the error with respect to the sums."""
        positive, marginal, score = sums
        low, high = self.least * positive, self.most * positive
        rest = (positive - np.clip(score, low, high)).sum(axis=-1, keepdims=True)
        sign = np.where(rest < 0.0, -1.0, 1.0)
        below, above = score < low, score > high
        by_positive = np.where(below, self.least + sign * (1.0 - self.least), sign)
        by_positive = np.where(above, sign * (1.0 - self.most) - self.most, by_positive)
        by_score = np.where(below, -1.0, np.where(above, 1.0, -sign))
        return by_positive, np.zeros_like(marginal), by_score


def error_bounds(
    scores: PUScores, binned: Binned, value: float, level: float, seed: int
) -> Estimate:
    """Return the binned calibration error with its range over priors and selection."""
    box, z = Box.over(scores, binned.edges), z_score(level)
    careful = box.with_fewer_labeled(z)
    here = binned.edges.tobytes(), seed

    def draw() -> Floats:
        return np.stack(astuple(Noise.draw(binned, SPLITS, seed)))

    def identified(prior: float) -> Limits:
        found = ranges(binned, box, prior)
        return found.smallest, found.largest()

    def lower_end(prior: float, factor: float) -> Floats:
        error = Nearest(*replace(careful, selection=factor).ends(prior))
        noise = Noise(*scores.kept(("split noise", *here), draw))
        limits = error_limits(scores.with_prior(prior), binned, error, level, noise=noise)
        return np.array(limits[0])

    def lowest(prior: float) -> float:
        # A lower end for less selection is also valid; taking the minimum keeps it monotone.
        factors = [g for g in LADDER if g < scores.selection] + [scores.selection]
        made = ("lower end", *here, level, prior)
        kept = (scores.kept((*made, g), partial(lower_end, prior, g)) for g in factors)
        return float(min(kept))

    def limits(prior: float) -> Limits:
        low, there = lowest(prior), replace(binned, prior=prior)
        found = ranges(binned, careful, prior, SLACK)
        spread = float(there.variance(*_slopes(found, careful, there)))
        return low, found.largest(exact=False) + z * float(np.sqrt(spread))

    return assembled(
        scores,
        value,
        over_priors(np.vectorize(identified, otypes="dd"), scores.prior_set, *VALUE_GRID),
        over_priors(np.vectorize(limits, otypes="dd"), scores.prior_set, *LIMIT_GRID),
        level,
        reach=(0.0, 1.0),
        method=METHOD,
    )


def _slopes(found: Ranges, box: Box, binned: Binned) -> tuple[Floats, Floats, Floats]:
    """Return slopes of the largest error with respect to positive mass, row mass, and scores."""
    _, masses, _ = found.corner()
    least, most = box.ends(binned.prior)
    price, sign = found.price(), np.where(masses < found.target, -1.0, 1.0)
    at_top = masses > (found.low + found.high) / 2.0
    capped = at_top & (found.high < binned.prior * most * binned.positive - ROUNDING)
    density = np.where(at_top, np.where(capped, 0.0, most), least)
    by_positive = (sign - price) * density + price
    return by_positive, np.where(capped, sign - price, 0.0), -sign
