"""Logistic curves that maximize the likelihood of the labels: solver and covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from noneg.likelihood.labels import (
    LEAST,
    MOST_STEPS,
    ROUNDING,
    find_root,
    inner_points,
    level_of,
    log_likelihood,
    risk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Flags, Floats
    from noneg.likelihood.labels import Sample, Value

# The likelihood, with or without the prior imposed, or the PU log loss.
Criterion = Literal["imposed", "plain", "risk"]

# The ridge is worth one row per this many squared logits.
LOOSE = 2.0
SMALLEST_SIZE = 0.1
# The search ends when the predicted gain in log likelihood is at most SMALLEST_GAIN, or when the
# actual gain is at most LAST_GAIN although more was predicted.
MOST_HALVINGS, SMALLEST_GAIN, LAST_GAIN = 30, 1e-18, 1e-9
# Tolerance of the search for the end of a band.
END_ERROR = 1e-10
# The ridge makes curves overconfident, so a band uses only this fraction of it, to stay finite.
BAND_HOLD = 0.1
# Longest step, as a root mean square of z.
LONGEST_STEP = 4.0
# Moves of log odds that suggest, and that confirm, coefficients without a maximum: the first
# without the ridge, the second with a ridge that is looser by this factor.
UNSURE, RUNAWAY, LOOSER = 0.5, 3.0, 1e-3
# Twice the gain in log likelihood that one extra parameter exceeds by chance in 1% of samples.
REJECTED = 6.6349
# Range of the initial probabilities for scores of exactly 0 and 1.
ROUGH = (0.02, 0.98)


@dataclass(frozen=True, eq=False)
class Curve:
    """A family of curves on a sample: z = theta x.

    Attributes
    ----------
    sample : Sample
    x : ndarray, shape (k, m)
        Features at the points.
    center : ndarray, shape (k,)
        Coefficients that the ridge shrinks toward: those of the identity.
    bounded : ndarray of bool, shape (k,)
        Coefficients that must be nonnegative.
    hold : ndarray, shape (k,)
        Weight of the ridge for each coefficient.
    criterion : {"imposed", "plain", "risk"}
        The likelihood, with or without the prior imposed, or the PU log loss.
    """

    sample: Sample
    x: Floats
    center: Floats
    bounded: Flags
    hold: Floats
    criterion: Criterion = "imposed"

    def z(self, theta: Floats) -> Floats:
        """Return the log odds at the points."""
        return theta @ self.x

    def penalty(self, theta: Floats) -> float:
        """Return the ridge penalty on the log likelihood."""
        return 0.5 * float(self.hold @ (theta - self.center) ** 2)

    def derivatives(self, value: Value) -> tuple[Floats, Floats, Floats]:
        """Return the gradient, the Hessian at fixed nuisance parameters, and mixed derivatives."""
        mass = self.sample.masses
        gradient = self.x @ (mass * value.slope).sum(axis=0)
        hessian = (self.x * (mass * value.bend).sum(axis=0)) @ self.x.T
        cross = self.x @ (mass * value.cross).sum(axis=1).T
        return gradient, hessian, cross


@dataclass(frozen=True, eq=False)
class Fit:
    """A member of a family with its likelihood, such as the maximum.

    Attributes
    ----------
    curve : Curve
    theta : ndarray, shape (k,)
    value : Value
        The likelihood.
    """

    curve: Curve
    theta: Floats
    value: Value

    @property
    def z(self) -> Floats:
        """Log odds at the points."""
        return self.curve.z(self.theta)

    @cached_property
    def height(self) -> float:
        """The penalized log likelihood."""
        return self.value.value - self.curve.penalty(self.theta)

    @cached_property
    def profile(self) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the penalized likelihood, nuisance parameters profiled out."""
        curve = self.curve
        gradient, hessian, cross = curve.derivatives(self.value)
        hessian = hessian - (cross / self.value.inner) @ cross.T - np.diag(curve.hold)
        return gradient - curve.hold * (self.theta - curve.center), hessian

    @cached_property
    def unsure(self) -> bool:
        """Whether no maximum exists: coefficients diverge as the ridge is loosened."""
        curve = self.curve
        # If all rows share one score, only the level can be determined.
        if not np.isfinite(self.value.value):
            return True
        gradient, hessian = replace(self, curve=replace(curve, hold=0.0 * curve.hold)).profile
        # The ends of the scale do not count; it is fine if the ridge determines them.
        is_end = np.count_nonzero(curve.x, axis=1) == 1
        free = ~(curve.bounded & (self.theta <= 0.0)) & ~is_end
        move = _newton(curve, gradient, hessian, free, lambda bent: np.maximum(-bent, LOOSER))
        if _spread(curve, move @ curve.x) < UNSURE:
            return False
        loose = replace(curve, hold=np.where(is_end, 1.0, LOOSER) * curve.hold)
        away = _search(replace(self, curve=loose)).theta - self.theta
        return _spread(curve, away @ curve.x) > RUNAWAY

    @cached_property
    def freedom(self) -> float:
        """Effective number of parameters: each counts to the extent that the rows determine it."""
        held = self.profile[1]
        return float(np.trace(np.linalg.pinv(held) @ (held + np.diag(self.curve.hold))))

    @cached_property
    def covariance(self) -> Floats:
        """Sandwich covariance of theta that accounts for the nuisance parameters.

        In two samples, rows vary within their sample; in one sample, rows vary together with their
        labels.
        """
        curve, sample = self.curve, self.curve.sample
        k, h = self.theta.size, self.value.inner.size
        _, hessian, cross = curve.derivatives(self.value)
        bread = np.zeros((k + h, k + h))
        bread[:k, :k] = hessian - np.diag(curve.hold)
        bread[:k, k:], bread[k:, :k] = cross, cross.T
        bread[k:, k:] = np.diag(self.value.inner)
        labeled, other = (
            np.concatenate([curve.x * self.value.slope[g], self.value.aside[:, g]]) for g in (0, 1)
        )
        if sample.form == "separate":
            labeled, other = (
                part - ((part @ mass) / mass.sum())[:, None]
                for part, mass in ((labeled, sample.labeled), (other, sample.other))
            )
        one, both, two = sample.squares
        mixed = (labeled * both) @ other.T
        meat = (labeled * one) @ labeled.T + mixed + mixed.T + (other * two) @ other.T
        # The bias from the ridge is also an error, as large as if coefficients varied as it
        # assumes.
        meat[:k, :k] += np.diag(curve.hold)
        inverse = np.linalg.pinv(bread)
        full: Floats = inverse @ meat @ inverse.T
        return full[:k, :k]


def maximize(curve: Curve, start: Floats) -> Fit:
    """Return the maximum that saddle-free Newton steps reach from `start`, within the bounds.

    Examples
    --------
    >>> from noneg.likelihood import gather
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian(-1.0, 3.0).draw(1000, 10_000, setting="two-sample", seed=0)
    >>> sample = gather(scores)
    >>> line = np.stack([logit(sample.s), np.ones_like(sample.s)])
    >>> fit = fit_features(sample, line, np.array([1.0, 0.0]), level=np.array([0.0, 1.0]))
    >>> again = maximize(fit.curve, fit.theta)  # a start at the maximum stays there
    >>> bool(abs(again.theta - fit.theta).max() < 1e-6)
    True
    """
    return _search(_at(curve, start))


def _search(fit: Fit) -> Fit:
    for _ in range(MOST_STEPS):
        step = _step(fit)
        gain = float(fit.profile[0] @ step)
        if gain <= 0.0:
            break
        before, fit = fit.height, _climb(fit, step, gain)
        # Near a maximum, one last step covers the remaining distance, beyond the resolution of
        # values.
        if gain <= SMALLEST_GAIN or (fit.height - before <= LAST_GAIN < gain):
            break
    return fit


def _at(curve: Curve, theta: Floats, multiplier: float = 0.0) -> Fit:
    sample, z = curve.sample, curve.z(theta)
    if curve.criterion == "risk":
        return Fit(curve, theta, risk(sample, z))
    impose = curve.criterion == "imposed"
    return Fit(curve, theta, log_likelihood(sample, z, impose=impose, multiplier=multiplier))


def profile_ends(fit: Fit, x: Floats, reach: float) -> tuple[Floats, Floats]:
    """Return the smallest and largest log odds over curves that the likelihood does not reject.

    Parameters
    ----------
    fit : Fit
    x : ndarray, shape (k, m)
        Derivatives of m log odds with respect to the coefficients.
    reach : float
        Curves are rejected if their log likelihood is more than ``reach**2 / 2`` below the maximum,
        up to a factor: the ratio of the sandwich variance to the likelihood-based variance.

    Notes
    -----
    Each end is the maximum of x theta over the remaining region, which lies on its boundary
    (Venzon & Moolgavkar 1988). For a quadratic log likelihood, the distances from the fit are
    `reach` standard errors.
    """
    loose = maximize(replace(fit.curve, hold=BAND_HOLD * fit.curve.hold), fit.theta)
    ends = [[_farthest(loose, side * column, reach) for column in x.T] for side in (-1.0, 1.0)]
    shift = (loose.theta - fit.theta) @ x
    return np.minimum(shift - ends[0], 0.0), np.maximum(shift + ends[1], 0.0)


def _farthest(fit: Fit, x: Floats, reach: float) -> float:
    """Return by how much x theta may exceed its value at the fit."""
    curve, start = fit.curve, fit.theta
    inverse = _inverse(curve, fit.profile[1])
    ratio = float(x @ fit.covariance @ x) / max(float(x @ inverse @ x), LEAST)
    loss = reach**2 * max(1.0, ratio)
    least = fit.height - 0.5 * loss
    # In these units, a quadratic log likelihood is not rejected inside the unit ball.
    unit = np.linalg.cholesky(inverse) * np.sqrt(loss)
    here = fit

    def room(u: Floats) -> float:
        nonlocal here
        here = _at(curve, start + unit @ u, fit.value.multiplier)
        outside = -0.5 * loss * (1.0 + float(u @ u))
        return here.height - least if np.isfinite(here.height) else outside

    def rise(u: Floats) -> Floats:
        # Where the prior cannot be imposed, the step back toward the fit increases the likelihood.
        return here.profile[0] @ unit if np.isfinite(here.height) else -loss * u

    at_least_zero = {
        "fun": lambda u: (start + unit @ u)[curve.bounded],
        "jac": lambda _: unit[curve.bounded],
    }
    return _largest(x @ unit, {"fun": room, "jac": rise}, at_least_zero)


def _largest(toward: Floats, *limits: dict[str, Any]) -> float:
    """Return the largest value of a linear function where the limits are nonnegative."""

    def objective(u: Any) -> tuple[float, Floats]:  # noqa: ANN401
        return -float(toward @ u), -toward

    start: Any = 0.5 * toward / max(float(np.linalg.norm(toward)), LEAST)
    constraints: Any = [{"type": "ineq", **limit} for limit in limits]
    options: Any = {"ftol": END_ERROR}
    found = minimize(
        objective, start, jac=True, method="SLSQP", constraints=constraints, options=options
    )
    return float(toward @ found.x)


def _inverse(curve: Curve, hessian: Floats) -> Floats:
    """Return the inverse of minus a Hessian, modified to be positive definite."""
    scale = np.sqrt(curve.hold)
    bent, directions = np.linalg.eigh(hessian / np.outer(scale, scale))
    part = directions / np.sqrt(_steep(bent)) / scale[:, None]
    return np.asarray(part @ part.T)


def closest(fit: Fit, richer: Fit) -> Fit:
    """Return the fit, or the fit with the smallest PU log loss if the family is too small.

    The likelihood is the best criterion for a correctly specified family. For a misspecified one,
    it weights errors by their effect on the labels, not by their cost. Therefore, if a family with
    one more parameter is significantly better, the fit with the smaller PU Brier score is used.
    """
    if 2.0 * (richer.value.value - fit.value.value) <= REJECTED:
        return fit
    curve = replace(fit.curve, sample=fit.curve.sample.overlapping(), criterion="risk")
    other = maximize(curve, fit.theta)
    return other if _brier(other) < _brier(fit) else fit


def _brier(fit: Fit) -> float:
    sample, eta = fit.curve.sample.overlapping(), expit(fit.z)
    positive, marginal = sample.labeled, sample.other
    gain = sample.prior * float(positive @ (1.0 - 2.0 * eta)) / float(positive.sum())
    return gain + float(marginal @ eta**2) / float(marginal.sum())


def end_level(labeled: float, other: float, center: float) -> float:
    """Return the log odds of rows whose labels are all known, shrunk toward a center."""

    def slope(z: float) -> tuple[float, float]:
        eta = float(expit(z))
        pull = (z - center) / LOOSE**2
        bend = (labeled + other) * eta * (1.0 - eta) + 1.0 / LOOSE**2
        return labeled * (1.0 - eta) - other * eta - pull, -bend

    reach = LOOSE**2 * (labeled + other)
    return find_root(slope, center, center - reach, center + reach)


def _newton(
    curve: Curve, gradient: Floats, hessian: Floats, free: Flags, bend: Callable[[Floats], Floats]
) -> Floats:
    """Return a Newton step of the free coefficients; `bend` makes the curvatures positive."""
    scale = np.sqrt(curve.hold[free])
    bent, directions = np.linalg.eigh(hessian[np.ix_(free, free)] / np.outer(scale, scale))
    step = np.zeros_like(gradient)
    step[free] = directions @ ((gradient[free] / scale) @ directions / bend(bent)) / scale
    return step


def _steep(bent: Floats) -> Floats:
    """Return curvatures without their signs, and not too close to zero."""
    return np.maximum(np.abs(bent), 1e-3)


def _step(fit: Fit) -> Floats:
    """Return an uphill step for the coefficients that are free to move."""
    curve, (gradient, hessian) = fit.curve, fit.profile
    free = ~(curve.bounded & (fit.theta <= 0.0) & (gradient <= 0.0))
    step = _newton(curve, gradient, hessian, free, _steep)
    far = _spread(curve, step @ curve.x)
    return step * min(1.0, LONGEST_STEP / max(far, LEAST))


def _climb(fit: Fit, step: Floats, gain: float) -> Fit:
    """Shorten a step until the likelihood increases."""
    curve, length, small = fit.curve, 1.0, ROUNDING * (1.0 + abs(fit.height))
    for _ in range(MOST_HALVINGS):
        trial = fit.theta + length * step
        trial = np.where(curve.bounded, np.maximum(trial, 0.0), trial)
        new = _at(curve, trial, fit.value.multiplier)
        if new.height >= fit.height + 1e-4 * length * gain - small:
            return new
        length /= 2.0
    return fit


def _spread(curve: Curve, z: Floats) -> float:
    """Return the root mean square of the log odds over all rows."""
    mass = curve.sample.mass
    return float(np.sqrt(mass @ z**2 / mass.sum()))


def hold_of(x: Floats, mass: Floats) -> Floats:
    """Return the ridge weight of each feature: one row per `LOOSE` squared logits."""
    size = np.sqrt(x**2 @ mass / mass.sum())
    return np.asarray(np.maximum(size, SMALLEST_SIZE) ** 2 / LOOSE**2, dtype=np.float64)


def with_ends(x: Floats, places: list[int]) -> Floats:
    """Return the features plus an indicator for each end of the scale.

    The other features are zero at these scores, so that the ridge on an end does not affect the
    curve.
    """
    own, rest = np.zeros((len(places), x.shape[1])), x.copy()
    own[np.arange(len(places)), places] = 1.0
    rest[:, places] = 0.0
    return np.concatenate([rest, own])


def fit_features(
    sample: Sample,
    x: Floats,
    center: Floats,
    *,
    bounded: Flags | None = None,
    level: Floats | None = None,
    criterion: Criterion = "imposed",
    stiff: Floats | float = 1.0,
) -> Fit:
    """Fit the coefficients of features, and one parameter for each end of the scale with rows.

    Parameters
    ----------
    sample : Sample
    x : ndarray, shape (k, m)
    center : ndarray, shape (k,)
        Coefficients of the identity, the starting point of the search.
    bounded : ndarray of bool, optional
        Coefficients that must be nonnegative.
    level : ndarray, shape (k,), optional
        The direction in which all log odds increase by one. The search starts where the mean
        probability equals the prior along this direction. None if there is no such direction.
    criterion : {"imposed", "plain"}
    stiff : ndarray or float
        Factor on the ridge for each feature.
    """
    k, places = len(x), list(sample.ends.values())
    centered = np.concatenate([center, _end_levels(sample)])
    hold = np.concatenate([stiff * hold_of(x, sample.mass), np.full(len(places), 1.0 / LOOSE**2)])
    held = np.zeros(centered.size, dtype=np.bool_)
    held[:k] = False if bounded is None else bounded
    curve = Curve(sample, with_ends(x, places), centered, held, hold, criterion)
    start = centered.copy()
    if level is not None:
        start[:k] += _level(sample, curve.z(start)) * level
    fit = _at(curve, start)
    if not np.isfinite(fit.height):
        return fit
    fit = _search(fit)
    if not places:
        return fit
    # With few rows at an end, shrink toward the curve, which was fitted without the end.
    centered[k:] = fit.theta[:k] @ x[:, places]
    return maximize(replace(curve, center=centered), fit.theta)


def _level(sample: Sample, z: Floats) -> float:
    """Return the shift of log odds z for which the mean probability equals the prior."""
    inside = inner_points(sample)
    share, z = sample.marginal[inside], z[inside]
    share = share / share.sum() if share.any() else np.full(share.size, 1.0 / share.size)
    return level_of(z, share, sample.prior)


def _end_levels(sample: Sample) -> Floats:
    """Return rough log odds of being positive at scores of exactly 0 and 1, if there are any."""
    base = sample.marginal
    share = (sample.labeled / sample.labeled.sum()) * base.sum() / np.maximum(base, 1.0)
    rough: Floats = logit(np.clip(sample.prior * share[list(sample.ends.values())], *ROUGH))
    return rough
