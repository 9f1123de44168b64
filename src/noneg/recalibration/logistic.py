r"""The logistic family: maximum-likelihood maps :math:`\sigma(\theta\cdot x(s))`.

Each family defines the features x of a score, which coefficients must be nonnegative, and which
coefficients give the identity. PU rows are fitted by `noneg.likelihood`. The PU log loss, which is
the criterion of ``fit="risk"`` and, for labeled rows, the negative log likelihood,

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

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import logit

from noneg.errors import InputError
from noneg.likelihood import END, closest, end_level, fit_features, gather
from noneg.recalibration.base import (
    State,
    build,
    law_rows,
    score_range,
    stored_number,
    take,
)
from noneg.recalibration.fits import ENDS, CurveCalibrator, check_numbers, clip_limits, warn_open

if TYPE_CHECKING:
    from noneg.arrays import Flags, Floats
    from noneg.likelihood import Fit, Sample
    from noneg.recalibration.base import Piece
    from noneg.scores import PUScores

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
# The ridge on undetermined coefficients acts like a normal prior with this SD, in logits.
LOOSE = 2.0
# Bound on the prior, since labeled data may contain only one class.
LEAST_PRIOR = 1e-6


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


class LogisticCalibrator(CurveCalibrator):
    """A logistic map with maximum-likelihood coefficients.

    With ``fit="risk"``, scores of exactly 0 and 1 are moved inward by half the distance to the next
    score; otherwise they get their own values.
    """

    coefficients: ClassVar[tuple[str, ...]]
    bounded: ClassVar[tuple[bool, ...]]
    identity: ClassVar[tuple[float, ...]]
    has_profile: ClassVar[bool] = True
    # Whether the prior is imposed; a family without an intercept cannot satisfy it.
    imposes: ClassVar[bool] = True
    # A family with one more parameter, used to test this one.
    richer: ClassVar[type[LogisticCalibrator] | None] = None

    @staticmethod
    @abstractmethod
    def _features(s: Floats, limits: State) -> Floats:
        """Return the features of scores, shape (k, m)."""

    def _fit(self, scores: PUScores) -> State:
        if self.by_risk:
            return self._by_risk(scores, list(scores.chunks()))
        if is_complete(scores):
            return self._by_labels(scores)
        return self._by_likelihood(scores)

    def _by_risk(self, scores: PUScores, pieces: list[Piece]) -> State:
        limits = clip_limits(pieces)
        theta = self._theta(self._problem(scores, limits, pieces), scores)
        return {**dict(zip(self.coefficients, theta.tolist(), strict=True)), **limits}

    def _by_labels(self, scores: PUScores) -> State:
        """Fit rows whose labels are all known; scores of exactly 0 and 1 are kept apart."""
        pieces = list(scores.chunks())
        first, last = score_range(pieces)
        if first >= END and last < 1.0:
            return self._by_risk(scores, pieces)
        inner, state = inside_rows(scores), dict(zip(self.coefficients, self.identity, strict=True))
        if inner is not None:
            state = self._by_risk(inner, list(inner.chunks()))
        state |= clip_limits(pieces)
        sample = gather(scores)
        for place, name in ((0, ENDS[0]), (-1, ENDS[1])):
            if sample.at_ends[place]:
                center = float(self._log_odds(sample.s[[place]], state)[0])
                masses = float(sample.labeled[place]), float(sample.other[place])
                state[name] = end_level(*masses, center)
        return state

    def _best(self, sample: Sample, state: State) -> Fit:
        fit = self._curve(sample, state)
        if self.richer is None or sample.complete:
            return fit
        return closest(fit, self.richer._curve(sample, state, imposes=self.imposes))  # noqa: SLF001

    @classmethod
    def _curve(cls, sample: Sample, state: State, *, imposes: bool | None = None) -> Fit:
        level = np.array([float(name == "intercept") for name in cls.coefficients])
        imposed = cls.imposes if imposes is None else imposes
        return fit_features(
            sample,
            cls._features(sample.s, state),
            np.array(cls.identity),
            bounded=np.array(cls.bounded),
            level=level if level.any() else None,
            criterion="imposed" if imposed else "plain",
        )

    def _coefficients(self, fit: Fit, state: State) -> State:  # noqa: ARG002
        return dict(zip(self.coefficients, fit.theta.tolist(), strict=False))

    def _log_odds(self, s: Floats, state: State) -> Floats:
        x = self._features(s, state)
        return combined(np.array([state[name] for name in self.coefficients]), x)

    def _problem(self, scores: PUScores, limits: State, pieces: list[Piece]) -> Problem:
        prior, (s, weight) = scores.known_prior, law_rows(pieces)
        positive, share = law_rows(pieces, positive=True)
        x = self._by_chunk(s, limits)
        # Positives that belong to the marginal sample are its last rows.
        own = x[:, s.size - positive.size :] if scores.pooled else self._by_chunk(positive, limits)
        level = logit(min(max(prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR))
        start = [level if name == "intercept" else 0.0 for name in self.coefficients]
        return Problem(
            features=x,
            weight=weight,
            target=prior * sums(own, share),
            bounded=np.array(self.bounded),
            center=np.array(self.identity),
            start=np.array(start),
        )

    def _by_chunk(self, s: Floats, limits: State) -> Floats:
        x = np.empty((len(self.coefficients), s.size))
        for i in range(0, s.size, CHUNK):
            x[:, i : i + CHUNK] = self._features(s[i : i + CHUNK], limits)
        return x

    def _theta(self, problem: Problem, scores: PUScores) -> Floats:
        """Return the maximum-likelihood coefficients, stabilized by a ridge if they diverge."""
        theta, exists = minimize(problem)
        if exists:
            return theta
        prior = scores.known_prior
        n = min(scores.effective_marginal, scores.effective_positive / max(prior, LEAST_PRIOR))
        warn_open(self, prior)
        return minimize(replace(problem, ridge=1.0 / (LOOSE**2 * max(n, 1.0))))[0]

    def _check(self, state: State) -> None:
        check_numbers(state, self.coefficients)
        for name, bound in zip(self.coefficients, self.bounded, strict=True):
            if bound and state[name] < 0.0:
                raise InputError(name, "must not be negative")


def is_complete(scores: PUScores) -> bool:
    """Whether every positive is labeled, judging by the prior."""
    return scores.pooled and scores.labeled_share >= (1.0 - ROUNDING) * scores.known_prior


def inside_rows(scores: PUScores) -> PUScores | None:
    """Return the labeled rows whose scores are neither 0 nor 1, or None if there are none."""
    groups = [
        take(group, np.flatnonzero((group[0] >= END) & (group[0] < 1.0)))
        for group in scores.in_order()
    ]
    if not any(group[0].size for group in groups):
        return None
    return build((groups[0], groups[1]), scores, labeled=True)


def log_odds_parts(s: Floats, limits: State) -> tuple[Floats, Floats]:
    """Return ``log s`` and ``-log(1 - s)``, finite at s = 0 and s = 1."""
    return np.log(np.maximum(s, limits["low"])), -np.log(np.maximum(1.0 - s, limits["high"]))


def logits(s: Floats, limits: State) -> Floats:
    """Return the logit of s, finite at s = 0 and s = 1."""
    first, second = log_odds_parts(s, limits)
    return first + second


class Platt(LogisticCalibrator):
    r"""Logistic regression on the logit of the score.

    .. math:: g(s) = \sigma(a \operatorname{logit} s + b)

    where a and b minimize the PU log loss
    :math:`-\pi\,E_+[z] + E[\log(1 + e^z)]`, :math:`z = a \operatorname{logit} s + b`. Only two
    numbers are learned, so a few positives are enough. The slope is unconstrained: scores that rank
    rows in the wrong order lead to a decreasing map.

    Attributes
    ----------
    slope_, intercept_ : float

    References
    ----------
    Platt (1999), Probabilistic Outputs for Support Vector Machines, without its smoothed targets;
    du Plessis et al. (2014) for the PU log loss.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> platt = Platt().fit(scores)
    >>> bool(abs(platt.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.03)
    True
    """

    name = "platt"
    learns = "a line on the logit"
    monotone = False
    coefficients = ("slope", "intercept")
    bounded = (False, False)
    identity = (1.0, 0.0)

    @staticmethod
    def _features(s: Floats, limits: State) -> Floats:
        return np.stack([logits(s, limits), np.ones_like(s)])

    slope_ = stored_number("slope", "Factor on the logit.")
    intercept_ = stored_number("intercept", "Constant added to the scaled logit.")


class Temperature(LogisticCalibrator):
    r"""Divide the logit by a temperature.

    .. math:: g(s) = \sigma(\operatorname{logit}(s) / T)

    where the slope :math:`1/T \ge 0` minimizes the PU log loss. Only one number is learned; a score
    of 1/2 does not change, so a wrong overall level (a shifted prior) cannot be corrected.

    Attributes
    ----------
    temperature_ : float
        The temperature T; infinite if the best slope is zero.

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1, 1, 0], [0.01, 0.02, 0.98, 0.99, 0.03, 0.97])
    >>> round(Temperature().fit(scores).temperature_, 1)
    4.5
    """

    name = "temperature"
    learns = "a factor on the logit"
    monotone = False
    coefficients = ("slope",)
    bounded = (True,)
    identity = (1.0,)
    imposes = False
    richer = Platt

    @staticmethod
    def _features(s: Floats, limits: State) -> Floats:
        return logits(s, limits)[None]

    @property
    def temperature_(self) -> float:
        """The divisor of the logit."""
        slope = float(self.state_["slope"])
        return 1.0 / slope if slope > 0.0 else math.inf


class Beta(LogisticCalibrator):
    r"""Logistic regression on the two terms of the logit.

    .. math:: g(s) = \sigma(\alpha \log s - \beta \log(1 - s) + c), \qquad \alpha, \beta \ge 0

    where the coefficients minimize the PU log loss. The curve may bend differently at the two ends
    of the scale, which `Platt` (:math:`\alpha = \beta`) does not allow. It is the right family when
    the scores of both classes are beta-distributed.

    Attributes
    ----------
    alpha_, beta_, intercept_ : float

    References
    ----------
    Kull, Silva Filho & Flach (2017), Beyond Sigmoids: How to Obtain Well-Calibrated Probabilities
    from Binary Classifiers with Beta Calibration.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> beta = Beta().fit(scores)
    >>> bool(abs(beta.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.05)
    True
    """

    name = "beta"
    learns = "two slopes and a level"
    monotone = False
    coefficients = ("alpha", "beta", "intercept")
    bounded = (True, True, False)
    identity = (1.0, 1.0, 0.0)

    @staticmethod
    def _features(s: Floats, limits: State) -> Floats:
        first, second = log_odds_parts(s, limits)
        return np.stack([first, second, np.ones_like(s)])

    alpha_ = stored_number("alpha", "Factor on log s.")
    beta_ = stored_number("beta", "Factor on -log(1 - s).")
    intercept_ = stored_number("intercept", "Constant added to both terms.")


# Where two slopes fit better than one, Platt's line does not describe the curve.
Platt.richer = Beta
