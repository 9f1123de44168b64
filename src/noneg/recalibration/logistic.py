r"""The logistic family: maps :math:`\sigma(\theta\cdot x(s))` of maximum likelihood.

A member says what the features x of a score are, which coefficients must not be negative, and which
coefficients are the identity. PU rows are fitted by `noneg.likelihood`. The PU log loss, the
likelihood of labelled rows and the criterion of ``fit="risk"``,

.. math:: L(\theta) = -\theta\cdot\pi E_+[x] + E[\log(1 + e^{\theta\cdot x})]

is convex for any data. Newton steps are damped towards the bound
:math:`\nabla^2 L \preceq E[x x^\top]/4`, at which each of them is sure to descend. Some
coefficients may be bound to be non-negative; the model is then minimised under the bounds exactly.

The minimum may not exist: positives that the marginal law cannot follow (separable data, too large
a prior) would make coefficients infinite. Next to a true minimum a Newton step hardly moves any
row; where there is none it moves some by a unit however small the gradient, which tells them apart.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noneg.errors import InputError
from noneg.likelihood import END, closest, end_level, fit_features, gather
from noneg.recalibration.base import Floats, State, build, law_rows, score_range, take
from noneg.recalibration.fits import ENDS, CurveCalibrator, check_numbers, clip_limits, warn_open

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.likelihood import Fit, Sample
    from noneg.recalibration.base import Piece
    from noneg.scores import PUScores

# Rows handled at a time.
CHUNK = 1 << 14
MOST_STEPS = 300
# A step that is sure to leave so small a gradient is the last; below the other one rounding rules.
SMALLEST_GRADIENT, LEAST_GRADIENT = 1e-10, 1e-12
ROUNDING = 1e-13
# Largest coefficient, in units of a feature's size, and the last step's move in z at a minimum.
LARGEST_COEFFICIENT = 1e7
SMALL_MOVE = 0.05
LEAST_CURVATURE = 1e-280
# Longest step, in units of a feature's size, from coefficients near zero.
LARGEST_MOVE = 20.0
# A feature smaller than this counts as that large, for scaling and for the ridge.
SMALLEST_SIZE, HELD_SIZE = 1e-8, 0.1
# From so many rows on, a thinned sample finds the start.
MANY_ROWS = 1 << 17
THINNED_ROWS = (1 << 12, 1 << 16)
# The ridge on what the data leaves open weighs like one row in so many squared logits.
LOOSE = 2.0
# Labelled data may hold no positive, or nothing else.
LEAST_PRIOR = 1e-6


# These few sums stay away from BLAS, whose threads cost more than they bring on such short rows.


def sums(x: Floats, weight: Floats) -> Floats:
    """Return the weighted sums over the last axis."""
    return np.einsum("...i,i->...", x, weight)


def products(x: Floats, weight: Floats) -> Floats:
    """Return the weighted sums of products of all pairs of features."""
    out = np.zeros((len(x), len(x)))
    for j, row in enumerate(x):
        out[j, j:] = out[j:, j] = sums(x[j:], weight * row)
    return out


def combined(theta: Floats, x: Floats) -> Floats:
    """Return the features' linear combination."""
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
        Marginal masses; sum to 1.
    target : ndarray, shape (k,)
        ``pi E_plus[x]``.
    bounded : ndarray of bool, shape (k,)
        Coefficients that must not be negative.
    ridge : float
        Weight of ``|D (theta - centre)|^2 / 2``; D holds the features' sizes, so coefficients are
        held by what they do to z.
    centre : ndarray, shape (k,)
        Coefficients of the identity.
    start : ndarray, shape (k,)
        Where the search begins: slopes of zero, with the intercept of the prior.
    """

    features: Floats
    weight: Floats
    target: Floats
    bounded: NDArray[np.bool_]
    centre: Floats
    start: Floats
    ridge: float = 0.0

    @cached_property
    def curvature(self) -> Floats:
        """``E[x x'] / 4``, which no Hessian exceeds."""
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
        away = theta - self.centre
        pull = self.holding * away
        loss += 0.5 * float(pull @ away) - float(theta @ self.target)
        return loss, gradient - self.target + pull, hessian + np.diag(self.holding)

    @cached_property
    def largest(self) -> Floats:
        """Largest size of each feature, and no smaller than what scales it."""
        extent = np.maximum(self.features.max(axis=1), -self.features.min(axis=1))
        return np.maximum(extent, self.size)

    def thinned(self, n: int) -> Problem:
        """Return the problem of some rows, evenly taken."""
        some = slice(None, None, self.weight.size // n)
        weight = self.weight[some]
        features = np.ascontiguousarray(self.features[:, some])
        return replace(self, features=features, weight=weight / weight.sum())


def minimise(problem: Problem) -> tuple[Floats, bool]:
    """Return where the search ended, and whether that is a minimum or on the way to infinity.

    A thinned sample improves the start when there are many rows.
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
        # The Hessian changes by no more than this share, so the next gradient is known to be tiny.
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
    """Return the minimum of the quadratic model over coefficients that obey their bounds.

    At most two are bounded, so each set of those at their bound is tried.
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
    """Solve a small system; the solution is shortened where it leads too far."""
    if right.size == 0:
        return right
    curvature, directions = np.linalg.eigh(model)
    floor = max(1e-14 * float(curvature.max()), LEAST_CURVATURE)
    move: Floats = directions @ ((right @ directions) / np.maximum(curvature, floor))
    return move * min(1.0, reach / max(float(np.abs(move).max()), 1.0))


class LogisticCalibrator(CurveCalibrator):
    """A logistic map with coefficients of maximum likelihood.

    With ``fit="risk"`` scores of exactly 0 and 1 count as half the distance of the next score away
    from there; else they have values of their own.
    """

    coefficients: ClassVar[tuple[str, ...]]
    bounded: ClassVar[tuple[bool, ...]]
    identity: ClassVar[tuple[float, ...]]
    # Whether the prior is imposed, which a family without a level cannot obey.
    imposes: ClassVar[bool] = True
    # A family with one more parameter, by which this one is tested.
    richer: ClassVar[type[LogisticCalibrator] | None] = None

    @staticmethod
    @abstractmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        """Return the features of scores, shape (k, m)."""

    def _fit(self, scores: PUScores) -> State:
        if self.by_risk:
            return self._by_risk(scores, list(scores.chunks()))
        if is_complete(scores):
            return self._by_labels(scores)
        return self._by_likelihood(scores)

    def _by_risk(self, scores: PUScores, pieces: list[Piece]) -> State:
        low, high = clip_limits(pieces)
        theta = self._theta(self._problem(scores, low, high, pieces), scores)
        values = dict(zip(self.coefficients, theta.tolist(), strict=True))
        return {**values, "low": low, "high": high}

    def _by_labels(self, scores: PUScores) -> State:
        """Fit rows whose labels are all known; ends of the scale stay apart."""
        pieces = list(scores.chunks())
        first, last = score_range(pieces)
        if first >= END and last < 1.0:
            return self._by_risk(scores, pieces)
        low, high = clip_limits(pieces)
        inner, state = inside_rows(scores), dict(zip(self.coefficients, self.identity, strict=True))
        if inner is not None:
            state = self._by_risk(inner, list(inner.chunks()))
        state |= {"low": low, "high": high}
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
            cls._features(sample.s, state["low"], state["high"]),
            np.array(cls.identity),
            bounded=np.array(cls.bounded),
            level=level if level.any() else None,
            criterion="imposed" if imposed else "plain",
        )

    def _coefficients(self, fit: Fit, state: State) -> State:  # noqa: ARG002
        return dict(zip(self.coefficients, fit.theta.tolist(), strict=False))

    def _log_odds(self, s: Floats, state: State) -> Floats:
        x = self._features(s, state["low"], state["high"])
        return combined(np.array([state[name] for name in self.coefficients]), x)

    def _problem(self, scores: PUScores, low: float, high: float, pieces: list[Piece]) -> Problem:
        prior, (s, weight) = scores.known_prior, law_rows(pieces)
        positive, share = law_rows(pieces, positive=True)
        x = self._by_chunk(s, low, high)
        # Positives that belong to the marginal sample are its last rows.
        own = (
            x[:, s.size - positive.size :] if scores.pooled else self._by_chunk(positive, low, high)
        )
        level = log_odds(min(max(prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR))
        start = [level if name == "intercept" else 0.0 for name in self.coefficients]
        return Problem(
            features=x,
            weight=weight,
            target=prior * sums(own, share),
            bounded=np.array(self.bounded),
            centre=np.array(self.identity),
            start=np.array(start),
        )

    def _by_chunk(self, s: Floats, low: float, high: float) -> Floats:
        x = np.empty((len(self.coefficients), s.size))
        for i in range(0, s.size, CHUNK):
            x[:, i : i + CHUNK] = self._features(s[i : i + CHUNK], low, high)
        return x

    def _theta(self, problem: Problem, scores: PUScores) -> Floats:
        """Return the coefficients of maximum likelihood, held by a ridge if there are none."""
        theta, exists = minimise(problem)
        if exists:
            return theta
        prior = scores.known_prior
        n = min(scores.effective_marginal, scores.effective_positive / max(prior, LEAST_PRIOR))
        warn_open(self, prior)
        return minimise(replace(problem, ridge=1.0 / (LOOSE**2 * max(n, 1.0))))[0]

    def _check(self, state: State) -> None:
        check_numbers(state, self.coefficients)
        for name, bound in zip(self.coefficients, self.bounded, strict=True):
            if bound and state[name] < 0.0:
                raise InputError(name, "must not be negative")


def log_odds(p: float) -> float:
    """Return the logit of a probability."""
    return math.log(p) - math.log1p(-p)


def is_complete(scores: PUScores) -> bool:
    """Whether every positive is labelled, as far as the prior tells."""
    return scores.pooled and scores.labelled_share >= (1.0 - ROUNDING) * scores.known_prior


def inside_rows(scores: PUScores) -> PUScores | None:
    """Return the labelled rows whose scores are neither 0 nor 1, or None if there are none."""
    groups = [
        take(group, np.flatnonzero((group[0] >= END) & (group[0] < 1.0)))
        for group in scores.in_order()
    ]
    if not any(group[0].size for group in groups):
        return None
    return build((groups[0], groups[1]), scores, labelled=True)


def log_odds_parts(s: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return ``log s`` and ``-log(1 - s)``, finite at s = 0 and s = 1."""
    return np.log(np.maximum(s, low)), -np.log(np.maximum(1.0 - s, high))


class Platt(LogisticCalibrator):
    r"""Logistic regression on the logit of the score.

    .. math:: g(s) = \sigma(a \operatorname{logit} s + b)

    with the a and b that minimise the PU log loss
    :math:`-\pi\,E_+[z] + E[\log(1 + e^z)]`, :math:`z = a \operatorname{logit} s + b`. Two numbers
    are learned, so few positives suffice. The slope is free: scores that rank the wrong way give a
    falling map.

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
    has_errors = True

    @staticmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return np.stack([first + second, np.ones_like(s)])

    @property
    def slope_(self) -> float:
        """Factor of the logit."""
        return float(self.state_["slope"])

    @property
    def intercept_(self) -> float:
        """What is added to it."""
        return float(self.state_["intercept"])


class Temperature(LogisticCalibrator):
    r"""Divide the logit by a temperature.

    .. math:: g(s) = \sigma(\operatorname{logit}(s) / T)

    with the slope :math:`1/T \ge 0` that minimises the PU log loss. One number is learned; a score
    of 1/2 stays where it is, so a wrong level (a shifted prior) cannot be repaired.

    Attributes
    ----------
    temperature_ : float
        T; infinite when the best slope is zero.

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
    learns = "a factor of the logit"
    monotone = False
    coefficients = ("slope",)
    bounded = (True,)
    identity = (1.0,)
    imposes = False
    richer = Platt

    @staticmethod
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return (first + second)[None]

    @property
    def temperature_(self) -> float:
        """What the logit is divided by."""
        slope = float(self.state_["slope"])
        return 1.0 / slope if slope > 0.0 else math.inf


class Beta(LogisticCalibrator):
    r"""Logistic regression on the two halves of the logit.

    .. math:: g(s) = \sigma(\alpha \log s - \beta \log(1 - s) + c), \qquad \alpha, \beta \ge 0

    with the coefficients that minimise the PU log loss. The two ends of the scale may bend
    differently, which `Platt` (:math:`\alpha = \beta`) does not allow. It is the right family when
    the scores of both classes have beta laws.

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
    def _features(s: Floats, low: float, high: float) -> Floats:
        first, second = log_odds_parts(s, low, high)
        return np.stack([first, second, np.ones_like(s)])

    @property
    def alpha_(self) -> float:
        """Factor of log s."""
        return float(self.state_["alpha"])

    @property
    def beta_(self) -> float:
        """Factor of -log(1 - s)."""
        return float(self.state_["beta"])

    @property
    def intercept_(self) -> float:
        """What is added to them."""
        return float(self.state_["intercept"])


# Where two slopes fit better than one, Platt's line does not hold the curve.
Platt.richer = Beta
