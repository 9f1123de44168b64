r"""The PU log loss of a logistic family, and its minimum by damped Newton steps.

.. math:: L(\theta) = -\theta\cdot\pi E_+[x] + E[\log(1 + e^{\theta\cdot x})]

is convex for any data. Newton steps are damped toward the bound
:math:`\nabla^2 L \preceq E[x x^\top]/4`, at which each step is guaranteed to descend. If some
coefficients are constrained to be nonnegative, the quadratic model is minimized exactly under these
constraints.

A minimum may not exist: positives that the marginal distribution cannot explain (separable data, or
too large a prior) would make coefficients infinite. Near a true minimum, a Newton step hardly moves
any row; without a minimum, it moves some rows by about one unit no matter how small the gradient
is. This distinguishes the two cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noneg.arrays import Flags, Floats

# Number of rows processed at a time.
CHUNK = 1 << 14
MOST_STEPS = 300
# A step guaranteed to bring the gradient below the first value is the last; below the second value,
# rounding error dominates.
SMALLEST_GRADIENT, LEAST_GRADIENT = 1e-10, 1e-12
ROUNDING = 1e-13
# Largest coefficient, in units of a feature's size, and largest final move in z at a minimum.
LARGEST_COEFFICIENT = 1e7
SMALL_MOVE = 0.05
LEAST_CURVATURE = 1e-280
# Longest step from coefficients near zero, in units of a feature's size.
LARGEST_MOVE = 20.0
# Smaller features are treated as having this size, for scaling and for the ridge.
SMALLEST_SIZE, HELD_SIZE = 1e-8, 0.1
# With at least this many rows, a thinned sample provides the starting point.
MANY_ROWS = 1 << 17
THINNED_ROWS = (1 << 12, 1 << 16)


# These small sums avoid BLAS, whose threads cost more than they save on such short rows.


def sums(x: Floats, weight: Floats) -> Floats:
    """Return the weighted sums over the last axis."""
    return np.einsum("...i,i->...", x, weight)


def products(x: Floats, weight: Floats) -> Floats:
    """Return the weighted sums of products for all pairs of features."""
    out = np.zeros((len(x), len(x)))
    for j, row in enumerate(x):
        out[j, j:] = out[j:, j] = sums(x[j:], weight * row)
    return out


def combined(theta: Floats, x: Floats) -> Floats:
    """Return the linear combination of the features."""
    z = theta[0] * x[0]
    for coefficient, row in zip(theta[1:], x[1:], strict=True):
        z += coefficient * row
    return z


@dataclass(frozen=True, eq=False)
class Problem:
    """The log loss of one family on one data set.

    Attributes
    ----------
    features : ndarray, shape (k, m)
        Features of the marginal rows.
    weight : ndarray, shape (m,)
        Marginal masses, which sum to 1.
    target : ndarray, shape (k,)
        ``pi E_plus[x]``.
    bounded : ndarray of bool, shape (k,)
        Coefficients that must be nonnegative.
    ridge : float
        Weight of ``|D (theta - center)|^2 / 2``; D contains the features' sizes, so coefficients
        are penalized for their effect on z.
    center : ndarray, shape (k,)
        Coefficients that give the identity.
    start : ndarray, shape (k,)
        Starting point of the search: slopes of zero, with the intercept given by the prior.
    """

    features: Floats
    weight: Floats
    target: Floats
    bounded: Flags
    center: Floats
    start: Floats
    ridge: float = 0.0

    @cached_property
    def curvature(self) -> Floats:
        """``E[x x'] / 4``, an upper bound for every Hessian."""
        k = self.features.shape[0]
        total = np.zeros((k, k))
        for i in range(0, self.weight.size, CHUNK):
            total += products(self.features[:, i : i + CHUNK], self.weight[i : i + CHUNK])
        return total / 4.0

    @cached_property
    def size(self) -> Floats:
        """Root mean square of each feature."""
        return np.maximum(2.0 * np.sqrt(np.diag(self.curvature)), SMALLEST_SIZE)

    @cached_property
    def holding(self) -> Floats:
        """Weight of the ridge for each coefficient."""
        return self.ridge * np.maximum(self.size, HELD_SIZE) ** 2

    def at(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss, its gradient and its Hessian."""
        k = theta.size
        loss, gradient, hessian = 0.0, np.zeros(k), np.zeros((k, k))
        for i in range(0, self.weight.size, CHUNK):
            x, w = self.features[:, i : i + CHUNK], self.weight[i : i + CHUNK]
            z = combined(theta, x)
            e = np.exp(-np.abs(z))
            rest = 1.0 / (1.0 + e)
            loss += float(sums(np.maximum(z, 0.0) + np.log1p(e), w))
            gradient += sums(x, w * np.where(z >= 0.0, rest, e * rest))
            hessian += products(x, w * (e * rest * rest))
        away = theta - self.center
        pull = self.holding * away
        loss += 0.5 * float(pull @ away) - float(theta @ self.target)
        return loss, gradient - self.target + pull, hessian + np.diag(self.holding)

    @cached_property
    def largest(self) -> Floats:
        """Largest absolute value of each feature, and at least its scale."""
        extent = np.maximum(self.features.max(axis=1), -self.features.min(axis=1))
        return np.maximum(extent, self.size)

    def thinned(self, n: int) -> Problem:
        """Return the problem for an evenly spaced subset of rows."""
        some = slice(None, None, self.weight.size // n)
        weight = self.weight[some]
        features = np.ascontiguousarray(self.features[:, some])
        return replace(self, features=features, weight=weight / weight.sum())


def minimize(problem: Problem) -> tuple[Floats, bool]:
    """Return the end point of the search, and whether it is a minimum rather than diverging.

    With many rows, a thinned sample improves the starting point.
    """
    start = problem.start
    if problem.weight.size >= MANY_ROWS:
        for n in THINNED_ROWS:
            rough, exists = _descend(problem.thinned(n), start)
            start = rough if exists else start
    return _descend(problem, start)


def _descend(problem: Problem, start: Floats) -> tuple[Floats, bool]:
    theta, damping = start, 0.0
    value = problem.at(theta)
    for _ in range(MOST_STEPS):
        loss, gradient, hessian = value
        size = _free_norm(problem, theta, gradient)
        far = np.abs(theta * problem.size).max() > LARGEST_COEFFICIENT
        if far or size <= LEAST_GRADIENT * (1.0 + problem.size.max()):
            break
        trial = _step(problem, theta, gradient, hessian, damping)
        # The Hessian changes by at most this share, so the next gradient is known to be tiny.
        move = float(np.abs(trial - theta) @ problem.largest)
        if damping == 0.0 and move < SMALL_MOVE and 2.0 * move * size <= SMALLEST_GRADIENT:
            return trial, True
        new = problem.at(trial)
        small = ROUNDING * (1.0 + abs(loss))
        flat = abs(new[0] - loss) <= small
        better = _free_norm(problem, trial, new[1]) < size
        if new[0] < loss - small or (flat and better):
            theta, value = trial, new
            damping = damping / 10.0 if damping > 1e-7 else 0.0  # noqa: PLR2004
        elif flat or damping >= 1.0:
            break
        else:
            damping = min(1.0, max(10.0 * damping, 1e-6))
    last = _step(problem, theta, value[1], value[2], 0.0) - theta
    moved = float(np.abs(combined(last, problem.features)).max())
    small = float(np.abs(theta * problem.size).max()) <= LARGEST_COEFFICIENT
    return theta, small and moved < SMALL_MOVE


def _free_norm(problem: Problem, theta: Floats, gradient: Floats) -> float:
    held = problem.bounded & (theta <= 0.0) & (gradient > 0.0)
    return float(np.linalg.norm(gradient[~held]))


def _step(
    problem: Problem, theta: Floats, gradient: Floats, hessian: Floats, damping: float
) -> Floats:
    """Return the minimum of the quadratic model subject to the bounds on the coefficients.

    At most two coefficients are bounded, so every combination of active bounds is tried.
    """
    size = problem.size
    bound = problem.curvature + np.diag(problem.holding)
    model = (hessian + damping * (bound - hessian)) / np.outer(size, size)
    slope = gradient / size
    reach = max(LARGEST_MOVE, 2.0 * float(np.abs(theta * size).max()))
    best, lowest = theta, np.inf
    for chosen in product(*((False, True) if bound else (False,) for bound in problem.bounded)):
        held = np.array(chosen)
        move = np.where(held, -theta * size, 0.0)
        free = np.ix_(~held, ~held)
        move[~held] = _solve(model[free], -(slope + model @ move)[~held], reach)
        trial = np.where(held, 0.0, theta + move / size)
        value = float(slope @ move + 0.5 * move @ model @ move)
        if value < lowest and not (problem.bounded & (trial < 0.0)).any():
            best, lowest = trial, value
    return best


def _solve(model: Floats, right: Floats, reach: float) -> Floats:
    """Solve a small linear system; a solution that is too long is shortened."""
    if right.size == 0:
        return right
    curvature, directions = np.linalg.eigh(model)
    floor = max(1e-14 * float(curvature.max()), LEAST_CURVATURE)
    move: Floats = directions @ ((right @ directions) / np.maximum(curvature, floor))
    return move * min(1.0, reach / max(float(np.abs(move).max()), 1.0))
