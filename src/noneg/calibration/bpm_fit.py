r"""Bins used to fit the calibration curve of Dong et al., and the fit itself.

The points are the bins of several mass binnings (Eq. 8).

For N rows, the numbers of bins are ``N // 100, N // 100 + step, ..., <= N // 20`` with
``step = (N // 20 - N // 100) // 10``; both N // 100 and the step are at least 1. This gives about a
dozen binnings with 20 to 100 rows per bin. The paper gives the two ends (Appendix B.2), and its
code gives the step.

With PU data, the precision of a frequency is limited by the number of positives, so N is the number
of rows that would contain as many positives: :math:`N = \min(n_M, n_P / \pi)`, which is n when all
rows are labeled. Beyond N = 50,000, bins grow in size rather than in number; at that size, the
curve no longer depends on the number of bins.

Eq. 9 is minimized over the curves of Eq. 12. With :math:`x = (\log s, -\log(1 - s), -1)` and
:math:`\theta = (\alpha, \beta, c)`, the curve is :math:`g = \sigma(x\cdot\theta)`. The code
minimizes the logarithm of the objective, which keeps large deviations of PU frequencies finite and
has the same minima:

.. math:: F(\theta) = \log\sum_b w_b\,e^{(g_b - y_b)^2} + \lambda\,|\theta - \theta_0|^2 .

The ridge :math:`\lambda = 10^{-9}` toward the diagonal :math:`\theta_0 = (1, 1, 0)` matters only
where the data do not determine the curve: with fewer than three bins, or when the best curve is a
step.

F is not convex. It is evaluated on a grid of curves, and the best of these are improved in parallel
by Newton steps (saddle-free, damped, projected onto :math:`\alpha, \beta \ge 0`), first with the
coarsest binnings and then with all bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from noneg.bins import mass_edges, ranks
from noneg.laws import Ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.arrays import Floats, Places
    from noneg.scores import PUScores


# Beyond this many rows, bins grow in size rather than in number.
MOST_ROWS = 50_000
# A score of exactly 0 or 1 is moved inward by at most LARGEST_GAP, and by at least about half the
# distance to the next double (1e-300 near 0).
LARGEST_GAP, LEAST_GAP_LOW, LEAST_GAP_HIGH = 0.005, 1e-300, 2.0**-54
RIDGE = 1e-9
DIAGONAL = np.array([1.0, 1.0, 0.0])
# Relative step lengths: one that ends the search, and one too short to judge by its value of F.
LAST_STEP, SHORT_STEP, MOST_STEPS, MOST_DAMPING = 1e-11, 1e-7, 200, 1e12
# Values of F this close belong to the same minimum, or are equal up to rounding error.
SAME_MINIMUM, SAME_VALUE = 1e-10, 1e-14
# Slopes and positions of the starting curves for the search, and how many of them are improved.
SLOPES = np.array([0.0, 0.1, 0.4, 1.0, 3.0, 12.0, 60.0])
PLACES = np.array([0.02, 0.15, 0.4, 0.6, 0.85, 0.98])
SEARCH_POINTS, SCREEN_POINTS, STARTS, FINALISTS = 500, 200, 16, 3


@dataclass(frozen=True, eq=False)
class Points:
    """Non-empty bins of several binnings.

    Attributes
    ----------
    score, complement : ndarray, shape (M,)
        Mean of s and of 1 - s in each bin, both to full relative precision.
    frequency : ndarray
        ``y_b = pi mu_plus(I_b) / mu(I_b)``.
    weight : ndarray
        Mass of the bin divided by the number of binnings; the weights sum to 1.
    cuts : ndarray, shape (C,)
        Upper ends of the cells that all binnings have in common.
    first, last : ndarray of int
        The bin consists of the cells ``first <= i < last``.
    n_bins : tuple of int
        Number of bins requested in each binning.
    """

    score: Floats
    complement: Floats
    frequency: Floats
    weight: Floats
    cuts: Floats
    first: Places
    last: Places
    n_bins: tuple[int, ...]

    def add_up(self, cells: Floats) -> Floats:
        """Add up cell sums over bins, shape (..., C) to (..., M)."""
        zero = np.zeros((*cells.shape[:-1], 1))
        total = np.concatenate([zero, np.cumsum(cells, axis=-1)], axis=-1)
        sums: Floats = total[..., self.last] - total[..., self.first]
        return sums


class CurveRows:
    """The rows of both distributions in increasing order of score, with running sums.

    If a sample is infinite, its distribution is known only in bins, and moments are computed from
    the bins.
    """

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        self.infinite = bool(np.isinf(scores.n_marginal) or np.isinf(scores.n_positive))

    @cached_property
    def _masses(self) -> tuple[Floats, Floats, Floats]:
        """Distinct scores in increasing order, and the mass of both distributions at each."""
        return Ordered(self.scores).masses()

    @cached_property
    def marginal(self) -> tuple[Floats, Floats]:
        """Scores of the marginal sample in increasing order, and their masses."""
        s, _, mass = self._masses
        full = mass > 0.0
        return np.compress(full, s), np.compress(full, mass)

    @cached_property
    def _running(self) -> tuple[Floats, ...]:
        """Positive mass, mass and integral of s below each score, and integral of 1 - s above."""
        s, positive, mass = self._masses
        up = (np.concatenate([[0.0], np.cumsum(x)]) for x in (positive, mass, mass * s))
        return *up, np.concatenate([np.cumsum((mass * (1.0 - s))[::-1])[::-1], [0.0]])

    @cached_property
    def n_rows(self) -> int:
        """The N of the binnings."""
        n = self.scores.effective_marginal
        if not self.scores.prior_is_estimated:
            n = min(n, self.scores.effective_positive / self.scores.known_prior)
        return int(min(n * (1.0 + 1e-12), MOST_ROWS))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and variance (ddof = 1) of the marginal distribution."""
        if self.infinite:
            points = self.points(self.numbers[-1:])
            mean = float(points.weight @ points.score)
            return mean, float(points.weight @ (points.score - mean) ** 2)
        s, mass = self.marginal
        if s[0] == s[-1]:
            return float(s[0]), 0.0
        total, n = float(mass.sum()), self.scores.effective_marginal
        mean = float(mass @ s) / total
        gap = s - mean
        gap *= gap
        return mean, float(mass @ gap) / total * n / (n - 1.0) if n > 1.0 else 0.0

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Distances from 0 and 1 at which scores of exactly 0 and 1 are placed.

        This is half the distance to the next score, as if the scores had been rounded to 0 or 1.
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
        if np.isinf(self.scores.n_marginal) and np.isinf(self.scores.n_positive):
            return [max(1, self.n_rows // 20)]  # Without noise, there is nothing to average.
        return list(bin_numbers(self.n_rows))

    def coarse_points(self, most: int) -> Points:
        """Return the bins of the coarsest binnings, at most `most` bins in total if possible."""
        within = int(np.searchsorted(np.cumsum(self.numbers), most, side="right"))
        return self.points(self.numbers[: max(1, within)])

    def points(self, numbers: Sequence[int] | None = None) -> Points:
        """Return the bins of binnings with the given numbers of bins (default: as in the paper)."""
        numbers = tuple(self.numbers if numbers is None else numbers)
        ends = np.concatenate([self._edges(n_bins) for n_bins in numbers])
        cuts, last = np.unique(ends, return_inverse=True)
        last = last + 1
        first = np.concatenate([[0], last[:-1]])
        first[np.cumsum([0, *numbers[:-1]])] = 0
        full = last > first
        return self._collect(cuts, first[full], last[full], numbers)

    def _edges(self, n_bins: int) -> Floats:
        """Return upper edges of equal-mass bins; the last one with marginal rows ends at 1."""
        if self.infinite:
            return mass_edges(self.scores, n_bins)[1:]
        (s, *_), (_, mass, *_) = self._masses, self._running
        target = ranks(self.scores.effective_marginal, n_bins) / self.scores.effective_marginal
        edges = s[np.searchsorted(mass[1:], target * mass[-1] * (1.0 - 1e-12))]
        return np.append(np.where(edges < self.marginal[0][-1], edges, 1.0), 1.0)

    def _collect(
        self, cuts: Floats, first: Places, last: Places, numbers: tuple[int, ...]
    ) -> Points:
        sums = np.array([x[last] - x[first] for x in self._sums(cuts)])
        full = sums[1] > 0.0
        positive, mass, score, complement = sums[:, full]
        scale = (
            self.scores.known_prior * mass.sum() / max(positive.sum(), np.finfo(np.float64).tiny)
        )
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
        place = np.concatenate([[0], np.searchsorted(self._masses[0], cuts, side="right")])
        positive, mass, score, above = (running[place] for running in self._running)
        # A running sum from above stays accurate where 1 - s is small.
        return positive, mass, score, -above


def bin_numbers(n_rows: float) -> range:
    """Return the numbers of bins of the binnings: between 20 and 100 rows in a bin."""
    low, high = (max(1, int(n_rows // rows)) for rows in (100, 20))
    return range(low, high + 1, max(1, (high - low) // 10))


def design(score: Floats, complement: Floats, limits: tuple[float, float]) -> Floats:
    """Return ``(log s, -log(1 - s), -1)``, shape (..., 3), finite at s = 0 and s = 1."""
    s, rest = np.maximum(score, limits[0]), np.maximum(complement, limits[1])
    return np.stack([np.log(s), -np.log(rest), np.full_like(s, -1.0)], axis=-1)


@dataclass(frozen=True, eq=False)
class Objective:
    """The objective F for one or many vectors of frequencies at the same points.

    Attributes
    ----------
    design : ndarray, shape (M, 3)
    frequency : ndarray, shape (1, M) or (K, M)
        One vector for all members of a batch, or one per member.
    weight : ndarray, shape (M,)
    """

    design: Floats
    frequency: Floats
    weight: Floats

    def value(self, theta: Floats, members: Places | None = None) -> Floats:
        """Return F at each row of theta."""
        square = (expit(theta @ self.design.T) - self._frequency(members)) ** 2
        shift = _shift(square)
        ridge = RIDGE * ((theta - DIAGONAL) ** 2).sum(axis=1)
        f: Floats = shift[:, 0] + np.log1p(np.expm1(square - shift) @ self.weight) + ridge
        return f

    def derivatives(
        self, theta: Floats, members: Places | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return the gradient, the Hessian, and the squared natural scales of the parameters."""
        g = expit(theta @ self.design.T)
        d = g - self._frequency(members)
        p = self.weight * np.exp(d * d - _shift(d * d))
        p /= p.sum(axis=1, keepdims=True)
        slope = g * (1.0 - g)
        first = (2.0 * p * d * slope) @ self.design
        definite = p * (2.0 + 4.0 * d * d) * slope**2
        second = definite + 2.0 * p * d * slope * (1.0 - 2.0 * g)
        hessian = (second @ self._pairs).reshape(-1, 3, 3) - first[:, :, None] * first[:, None, :]
        scales = definite @ self._pairs[:, ::4] + 2.0 * RIDGE
        return first + 2.0 * RIDGE * (theta - DIAGONAL), hessian + 2.0 * RIDGE * np.eye(3), scales

    @cached_property
    def _pairs(self) -> Floats:
        return (self.design[:, :, None] * self.design[:, None, :]).reshape(-1, 9)

    def _frequency(self, members: Places | None) -> Floats:
        shared = members is None or len(self.frequency) == 1
        return self.frequency if shared else self.frequency[members]


def _shift(square: Floats) -> Floats:
    """Return the shift for the exponents; it is zero for small exponents, for best precision."""
    top = square.max(axis=1, keepdims=True)
    return np.where(top > 1.0, top, 0.0)


def fit(points: Points, coarse: Points, limits: tuple[float, float]) -> tuple[Floats, float, float]:
    """Return the global minimum of F over all points; `coarse` is used only for the search.

    The result consists of its parameters, its value without the ridge, and the last step length.
    """
    rough = objective(coarse, limits)
    theta, _ = local_minima(rough, _starts(rough))
    value = rough.value(theta)
    order = np.argsort(value, kind="stable")
    distinct = np.concatenate([[True], np.diff(value[order]) > SAME_MINIMUM])
    full = objective(points, limits)
    theta, last_step = local_minima(full, theta[order[distinct][:FINALISTS]])
    best = int(np.argmin(full.value(theta)))
    loss = full.value(theta[[best]])[0] - RIDGE * ((theta[best] - DIAGONAL) ** 2).sum()
    return theta[best], max(0.0, float(loss)), float(last_step[best])


def objective(points: Points, limits: tuple[float, float]) -> Objective:
    """Return F for these points."""
    x = design(points.score, points.complement, limits)
    return Objective(x, np.atleast_2d(points.frequency), points.weight)


def _starts(rough: Objective) -> Floats:
    """Return the best curves of a grid, together with the diagonal."""
    m = rough.weight.size
    some = np.unique(np.linspace(0, m - 1, min(m, SCREEN_POINTS)).astype(np.intp))
    weight = rough.weight[some] / rough.weight[some].sum()
    screen = Objective(rough.design[some], rough.frequency[:, some], weight)
    mean = np.clip(weight @ screen.frequency[0], 0.02, 0.98)
    center = screen.design[(PLACES * (some.size - 1)).astype(np.intp), :2]
    alpha, beta, place, level = np.meshgrid(
        SLOPES, SLOPES, np.arange(PLACES.size), logit([mean, 0.5]), indexing="ij"
    )
    # The curve takes the given level at the given position.
    c = alpha * center[place, 0] + beta * center[place, 1] - level
    grid = np.stack([alpha, beta, c], axis=-1).reshape(SLOPES.size**2, -1, 3)
    value = screen.value(grid.reshape(-1, 3)).reshape(grid.shape[:2])
    best = np.argmin(value, axis=1)
    pairs = np.arange(best.size)
    chosen = np.argsort(value[pairs, best], kind="stable")[:STARTS]
    return np.concatenate([DIAGONAL[None], grid[pairs, best][chosen]])


def local_minima(f: Objective, start: Floats) -> tuple[Floats, Floats]:
    """Return a local minimum for each row of `start`, and the length of each final step."""
    theta, value = start.copy(), f.value(start)
    damping, last_step = np.full(len(start), 1e-3), np.zeros(len(start))
    running = np.arange(len(start))
    for _ in range(MOST_STEPS):
        trial = _step(f, theta[running], damping[running], running)
        length = np.abs(trial - theta[running]).max(axis=1) / (1.0 + np.abs(trial).max(axis=1))
        last_step[running] = length
        new = f.value(trial, running)
        # Steps this short are accepted even if rounding error hides the decrease.
        trusted = (length < SHORT_STEP) & (new <= value[running] + SAME_VALUE)
        good = (new < value[running]) | trusted
        theta[running[good]], value[running[good]] = trial[good], new[good]
        damping[running] = np.where(good, damping[running] / 10.0, damping[running] * 5.0 + 1e-6)
        running = running[(length > LAST_STEP) & (damping[running] < MOST_DAMPING)]
        if not running.size:
            break
    return theta, last_step


def _step(f: Objective, theta: Floats, damping: Floats, members: Places) -> Floats:
    """Return the result of a damped Newton step in naturally scaled parameters."""
    gradient, hessian, scales = f.derivatives(theta, members)
    scale = np.sqrt(scales)
    gradient = gradient / scale
    hessian = hessian / (scale[:, :, None] * scale[:, None, :])
    bounded = np.array([True, True, False])
    stuck = bounded & (theta <= 0.0) & (gradient > 0.0)
    gradient[stuck] = 0.0
    hessian[stuck[:, :, None] | stuck[:, None, :]] = 0.0
    curvature, directions = np.linalg.eigh(hessian)
    curvature = np.maximum(np.abs(curvature), 1e-12) + damping[:, None]
    along = np.einsum("kij,ki->kj", directions, gradient) / curvature
    trial = theta - np.einsum("kij,kj->ki", directions, along) / scale
    trial[:, :2] = np.maximum(trial[:, :2], 0.0)
    return trial
