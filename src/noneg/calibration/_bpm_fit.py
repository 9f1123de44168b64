r"""Minimising Eq. 9 of Dong et al. over the curves of their Eq. 12.

With :math:`x = (\log s, -\log(1 - s), -1)` and :math:`\theta = (\alpha, \beta, c)` the curve is
:math:`g = \sigma(x\cdot\theta)`. Its logarithm is minimised in place of the objective, which keeps
large deviations of PU frequencies finite and moves no minimum:

.. math:: F(\theta) = \log\sum_b w_b\,e^{(g_b - y_b)^2} + \lambda\,|\theta - \theta_0|^2 .

The ridge :math:`\lambda = 10^{-9}` towards the diagonal :math:`\theta_0 = (1, 1, 0)` only speaks
where the data says nothing: fewer than three bins, or a curve that would like to be a step.

F is not convex. It is searched on a grid of curves, the best of which are improved by Newton steps
(saddle-free, damped, projected on :math:`\alpha, \beta \ge 0`), all of them side by side: first
with the coarsest binnings, then with all bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.calibration._bpm_points import Points

    Floats = NDArray[np.float64]

RIDGE = 1e-9
DIAGONAL = np.array([1.0, 1.0, 0.0])
# Relative lengths of steps: one that ends the search, and one too short for values to judge it.
LAST_STEP, SHORT_STEP, MOST_STEPS, MOST_DAMPING = 1e-11, 1e-7, 200, 1e12
# Values of F closer than these are the same minimum, and the same up to rounding.
SAME_MINIMUM, SAME_VALUE = 1e-10, 1e-14
# Slopes and places of the curves that the search starts from, and how many of them are improved.
SLOPES = np.array([0.0, 0.1, 0.4, 1.0, 3.0, 12.0, 60.0])
PLACES = np.array([0.02, 0.15, 0.4, 0.6, 0.85, 0.98])
SEARCH_POINTS, SCREEN_POINTS, STARTS, FINALISTS = 500, 200, 16, 3


def design(score: Floats, complement: Floats, limits: tuple[float, float]) -> Floats:
    """Return ``(log s, -log(1 - s), -1)``, shape (..., 3), finite at s = 0 and s = 1."""
    s, rest = np.maximum(score, limits[0]), np.maximum(complement, limits[1])
    return np.stack([np.log(s), -np.log(rest), np.full_like(s, -1.0)], axis=-1)


@dataclass(frozen=True, eq=False)
class Objective:
    """F for one or many vectors of frequencies at the same points.

    Attributes
    ----------
    design : ndarray, shape (M, 3)
    frequency : ndarray, shape (1, M) or (K, M)
        One for all members of a batch, or one for each.
    weight : ndarray, shape (M,)
    """

    design: Floats
    frequency: Floats
    weight: Floats

    def value(self, theta: Floats, members: NDArray[np.intp] | None = None) -> Floats:
        """Return F at each row of theta."""
        square = (expit(theta @ self.design.T) - self._frequency(members)) ** 2
        shift = _shift(square)
        ridge = RIDGE * ((theta - DIAGONAL) ** 2).sum(axis=1)
        f: Floats = shift[:, 0] + np.log1p(np.expm1(square - shift) @ self.weight) + ridge
        return f

    def derivatives(
        self, theta: Floats, members: NDArray[np.intp] | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return gradient, Hessian and the squares of the natural scales of the parameters."""
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

    def _frequency(self, members: NDArray[np.intp] | None) -> Floats:
        shared = members is None or len(self.frequency) == 1
        return self.frequency if shared else self.frequency[members]


def _shift(square: Floats) -> Floats:
    """Return what to take out of exponents: nothing while they are small, which is most precise."""
    top = square.max(axis=1, keepdims=True)
    return np.where(top > 1.0, top, 0.0)


@dataclass(frozen=True, eq=False)
class Fit:
    """Minimum of F: parameters, F there without the ridge, and the length of the last step."""

    theta: Floats
    loss: float
    last_step: float


def fit(points: Points, coarse: Points, limits: tuple[float, float]) -> Fit:
    """Return the global minimum of F over all points; the coarse ones serve the search."""
    rough = objective(coarse, limits)
    theta, _ = minimise(rough, _starts(rough))
    value = rough.value(theta)
    order = np.argsort(value, kind="stable")
    distinct = np.concatenate([[True], np.diff(value[order]) > SAME_MINIMUM])
    full = objective(points, limits)
    theta, last_step = minimise(full, theta[order[distinct][:FINALISTS]])
    best = int(np.argmin(full.value(theta)))
    loss = full.value(theta[[best]])[0] - RIDGE * ((theta[best] - DIAGONAL) ** 2).sum()
    return Fit(theta[best], max(0.0, float(loss)), float(last_step[best]))


def objective(points: Points, limits: tuple[float, float]) -> Objective:
    """Return F for these points."""
    x = design(points.score, points.complement, limits)
    return Objective(x, points.frequency[None], points.weight)


def _starts(rough: Objective) -> Floats:
    """Return the most promising curves of a grid, and the diagonal."""
    m = rough.weight.size
    some = np.unique(np.linspace(0, m - 1, min(m, SCREEN_POINTS)).astype(np.intp))
    weight = rough.weight[some] / rough.weight[some].sum()
    screen = Objective(rough.design[some], rough.frequency[:, some], weight)
    mean = np.clip(weight @ screen.frequency[0], 0.02, 0.98)
    centre = screen.design[(PLACES * (some.size - 1)).astype(np.intp), :2]
    alpha, beta, place, level = np.meshgrid(
        SLOPES, SLOPES, np.arange(PLACES.size), logit([mean, 0.5]), indexing="ij"
    )
    # The curve takes the given level at the given place.
    c = alpha * centre[place, 0] + beta * centre[place, 1] - level
    grid = np.stack([alpha, beta, c], axis=-1).reshape(SLOPES.size**2, -1, 3)
    value = screen.value(grid.reshape(-1, 3)).reshape(grid.shape[:2])
    best = np.argmin(value, axis=1)
    pairs = np.arange(best.size)
    chosen = np.argsort(value[pairs, best], kind="stable")[:STARTS]
    return np.concatenate([DIAGONAL[None], grid[pairs, best][chosen]])


def minimise(f: Objective, start: Floats) -> tuple[Floats, Floats]:
    """Return a local minimum for each row of `start`, and the length of each last step."""
    theta, value = start.copy(), f.value(start)
    damping, last_step = np.full(len(start), 1e-3), np.zeros(len(start))
    running = np.arange(len(start))
    for _ in range(MOST_STEPS):
        trial = _step(f, theta[running], damping[running], running)
        length = np.abs(trial - theta[running]).max(axis=1) / (1.0 + np.abs(trial).max(axis=1))
        last_step[running] = length
        new = f.value(trial, running)
        # Steps so short that rounding decides about the value are taken on trust.
        trusted = (length < SHORT_STEP) & (new <= value[running] + SAME_VALUE)
        good = (new < value[running]) | trusted
        theta[running[good]], value[running[good]] = trial[good], new[good]
        damping[running] = np.where(good, damping[running] / 10.0, damping[running] * 5.0 + 1e-6)
        running = running[(length > LAST_STEP) & (damping[running] < MOST_DAMPING)]
        if not running.size:
            break
    return theta, last_step


def _step(f: Objective, theta: Floats, damping: Floats, members: NDArray[np.intp]) -> Floats:
    """Return where a damped Newton step leads, parameters in units of their natural scales."""
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
