r"""Exact solvers of convex PU risks.

.. math:: \min_\theta \tfrac\alpha2 |w|^2 - q^\top\theta + \sum_i c_i\, h(z_i^\top\theta)

:math:`\theta = (w, b)`, and the constant b, the last coordinate, is not penalized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_STEPS = 200
# Solved when no component of the gradient, or the gap, is larger than this.
_TOLERANCE = 1e-10
# How far to go towards the boundary in an interior-point step.
_BOUNDARY = 0.995


def _penalty(d: int, alpha: float) -> Floats:
    penalty = np.full(d, alpha)
    penalty[-1] = 0.0
    return penalty


def logistic_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimum for :math:`h(f) = \log(1+e^f)`, and the number of Newton steps.

    Examples
    --------
    >>> z, c = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5])
    >>> theta, _ = logistic_minimum(z, c, np.array([0.2, 0.5]), 0.1)
    >>> f = z @ theta
    >>> gradient = 0.1 * theta * [1, 0] - [0.2, 0.5] + z.T @ (c * expit(f))
    >>> bool(abs(gradient).max() < 1e-10)
    True
    """
    theta, penalty = np.zeros(z.shape[1]), _penalty(z.shape[1], alpha)

    def value(theta: Floats) -> float:
        return float(penalty @ theta**2 / 2 - q @ theta + c @ np.logaddexp(0.0, z @ theta))

    for step in range(_MOST_STEPS):
        s = expit(z @ theta)
        gradient = penalty * theta - q + z.T @ (c * s)
        if np.abs(gradient).max() < _TOLERANCE:
            return theta, step
        curvature = np.diag(penalty + 1e-14) + (z.T * (c * s * (1.0 - s))) @ z
        move = _solve(curvature, gradient, alpha)
        rate, before, slope = 1.0, value(theta), float(gradient @ move)
        # The last steps change the value by less than its rounding.
        rounding = 1e-14 * max(1.0, abs(before))
        while value(theta - rate * move) > before - 1e-4 * rate * slope + rounding:
            rate /= 2.0
        theta = theta - rate * move
    raise ArithmeticError(_failure(alpha))


def double_hinge_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimum for :math:`h(f) = \max(0, (1+f)/2, f)`, and the number of steps.

    :math:`h(f) = \tfrac12 (f+1)_+ + \tfrac12 (f-1)_+`, a sum of hinges :math:`(b_j + f_j)_+`. Each
    is :math:`\min t_j` with :math:`t_j \ge 0` and :math:`t_j \ge b_j + f_j`; a primal-dual
    interior-point method solves the conditions of the optimum by Newton steps, each of the size of
    theta.

    Examples
    --------
    >>> z, c = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5])
    >>> theta, _ = double_hinge_minimum(z, c, np.array([0.2, 0.5]), 0.1)
    >>> theta.round(6) + 0.0
    array([1., 0.])
    """
    z, b = np.concatenate([z, z]), np.repeat([1.0, -1.0], len(z))
    # Weights of size one, so that the gap means the same for any number of rows.
    size = float(len(z))
    problem = _Hinges(z, np.tile(c, 2) / 2 * size, q * size, _penalty(z.shape[1], alpha * size))
    t = np.maximum(b, 0.0) + 1.0
    point = _Point(np.zeros(z.shape[1]), problem.top / 2, t, t - b)
    for step in range(_MOST_STEPS):
        gap, residual = problem.gap(point), problem.residual(point)
        if gap < _TOLERANCE and np.abs(residual).max() < _TOLERANCE * size:
            return point.theta, step
        # A problem that is nearly unbounded drives numbers to zero, and the equations say so.
        with np.errstate(all="ignore"):
            point = _moved(problem, point, gap, residual, alpha)
    raise ArithmeticError(_failure(alpha))


class _Hinges(NamedTuple):
    """Rows, largest dual values, the linear term, the penalty."""

    z: Floats
    top: Floats
    q: Floats
    penalty: Floats

    def gap(self, at: _Point) -> float:
        """Return the mean of the products that are zero at the optimum."""
        rest = self.top - at.dual
        return float(at.dual @ at.slack + rest @ at.t) / (2 * len(self.z))

    def residual(self, at: _Point) -> Floats:
        """Return the gradient of the Lagrangian."""
        return self.penalty * at.theta - self.q + self.z.T @ at.dual


class _Point(NamedTuple):
    """Parameters, dual values in (0, top), t above 0, and t - b - f above 0."""

    theta: Floats
    dual: Floats
    t: Floats
    slack: Floats


def _moved(problem: _Hinges, at: _Point, gap: float, residual: Floats, alpha: float) -> _Point:
    """Return the point after a Newton step towards a smaller gap."""
    z, size = problem.z, float(len(problem.z))
    rest = problem.top - at.dual
    scale = at.slack + at.dual * at.t / rest
    goal = gap * (0.1 if gap > np.abs(residual).max() / size else 0.5)
    r1, r2 = goal - at.dual * at.slack, goal - rest * at.t
    shift = (r1 - at.dual * r2 / rest) / scale
    curvature = np.diag(problem.penalty + 1e-13 * size) + (z.T * (at.dual / scale)) @ z
    d_theta = _solve(curvature, -residual - z.T @ shift, alpha)
    d_dual = shift + at.dual / scale * (z @ d_theta)
    d_t = (r2 + at.t * d_dual) / rest
    d_slack = d_t - z @ d_theta
    rate = _step_length((at.dual, d_dual), (rest, -d_dual), (at.t, d_t), (at.slack, d_slack))
    moves = (d_theta, d_dual, d_t, d_slack)
    return _Point(*(value + rate * move for value, move in zip(at, moves, strict=True)))


def _step_length(*pairs: tuple[Floats, Floats]) -> float:
    """Return how far all positive numbers can move without reaching zero, at most 1."""
    most = 1.0 / _BOUNDARY
    for value, move in pairs:
        down = move < 0.0
        if down.any():
            most = min(most, float((-value[down] / move[down]).min()))
    return _BOUNDARY * most


def _solve(curvature: Floats, right: Floats, alpha: float) -> Floats:
    """Return a Newton step; Cholesky's method does not warn of what convergence will show."""
    try:
        return np.asarray(cho_solve(cho_factor(curvature), right))
    except (LinAlgError, ValueError):
        raise ArithmeticError(_failure(alpha)) from None


def _failure(alpha: float) -> str:
    return (
        "The solver of the convex risk, which is nearly unbounded, did not converge: raise "
        f"'alpha', now {alpha:g}, or lower 'prior' if it may be too large."
    )
