r"""Logistic curves with maximum-likelihood coefficients, :math:`\sigma(\theta\cdot x(s))`.

Each family defines the features x of a score, which coefficients must be nonnegative, and which
coefficients give the identity. `noneg.likelihood` fits PU rows with the prior imposed, which also
gives confidence bands. The PU log loss (`noneg.recalibration.log_loss`) is the criterion of
``fit="risk"`` and, for labeled rows, the negative log likelihood.

Scores of exactly 0 and 1 have no logit: if there are any, each of the two gets its own value and
does not affect the curve.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit, ndtri

from noneg.calibration.bpm import bpm_curve
from noneg.calibration.bpm_fit import (
    LARGEST_GAP,
    LEAST_GAP_HIGH,
    LEAST_GAP_LOW,
    MOST_ROWS,
    bin_numbers,
)
from noneg.checks import check_count, check_level
from noneg.errors import InputError
from noneg.likelihood import (
    END,
    closest,
    end_level,
    fit_features,
    gather,
    inner_points,
    profile_ends,
)
from noneg.randomness import stream
from noneg.recalibration.base import (
    CalibrationWarning,
    Calibrator,
    State,
    check_fields,
    check_unit,
    law_rows,
    stored_number,
)
from noneg.recalibration.folds import build, take
from noneg.recalibration.log_loss import CHUNK, ROUNDING, Problem, combined, minimize, sums

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.likelihood import Fit, Sample
    from noneg.scores import PUScores

Criterion = Literal["likelihood", "risk"]
CRITERIA = ("likelihood", "risk")
# Log odds of scores of exactly 0 and 1 in the state of a calibrator, if the data contain any.
ENDS = ("at_zero", "at_one")
# The ridge on undetermined coefficients acts like a normal prior with this SD, in logits.
LOOSE = 2.0
# Bound on the prior, since labeled data may contain only one class.
LEAST_PRIOR = 1e-6


class CurveCalibrator(Calibrator):
    """A curve on the log-odds scale, fitted by likelihood or by the PU log loss.

    Parameters
    ----------
    fit : {"likelihood", "risk"}
        Maximize the likelihood of the labels, or minimize the PU log loss, a moment-based fit that
        is noisier.
    """

    # `fit` is a method, so the parameter of this name is stored under another name.
    kept_as: ClassVar[dict[str, str]] = {"fit": "criterion"}
    # Whether the band comes from the profile likelihood or from refits on resampled rows.
    has_profile: ClassVar[bool] = False
    # Whether a ridge is part of the method, so that no warning is needed when it takes effect.
    is_stiff: ClassVar[bool] = False

    def __init__(self, fit: Criterion = "likelihood") -> None:
        self.criterion = fit

    @property
    def by_risk(self) -> bool:
        """Whether the fit minimizes the PU log loss."""
        if self.criterion not in CRITERIA:
            rule = f"must be one of {', '.join(CRITERIA)}"
            raise InputError("fit", rule, value=self.criterion)
        return self.criterion == "risk"

    @property
    def has_band(self) -> bool:
        """Whether `band` is available, which requires a fit by likelihood."""
        return not self.by_risk

    @abstractmethod
    def _best(self, sample: Sample, state: State) -> Fit:
        """Return the maximum-likelihood curve of a sample; `state` contains low and high."""

    @abstractmethod
    def _coefficients(self, fit: Fit, state: State) -> State:
        """Return the state of a fit, without the values at the ends of the scale."""

    @abstractmethod
    def _log_odds(self, s: Floats, state: State) -> Floats:
        """Return the log odds of scores, without special values at the ends of the scale."""

    def _by_likelihood(self, scores: PUScores) -> State:
        sample, limits = gather(scores), clip_limits(scores)
        fit = self._best(sample, limits)
        if fit.unsure and not self.is_stiff:
            warn_open(self, scores.known_prior)
        return self._state(fit, limits)

    def _state(self, fit: Fit, limits: State) -> State:
        z = fit.z
        values = {name: float(z[place]) for name, place in fit.curve.sample.ends.items()}
        return {**self._coefficients(fit, limits), **limits, **values}

    def _map(self, s: Floats) -> Floats:
        return np.asarray(expit(self._all_log_odds(s, self.state_)), dtype=np.float64)

    def _all_log_odds(self, s: Floats, state: State) -> Floats:
        z = self._log_odds(s, state)
        if ENDS[0] in state:
            z[s < END] = state[ENDS[0]]
        if ENDS[1] in state:
            z[s == 1.0] = state[ENDS[1]]
        return z

    def band(
        self,
        scores: PUScores,
        s: ArrayLike,
        *,
        level: float = 0.95,
        draws: int = 200,
        seed: int = 0,
    ) -> tuple[Floats, Floats]:
        r"""Return a confidence band for the calibrated probability at scores s.

        At each score, the band covers the probability of a positive with the given confidence if
        the curve belongs to the family. For `Platt`, `Temperature` and `Beta`, it contains the
        curves that a likelihood-ratio test does not reject (profile likelihood, with the sandwich
        variance if the rows are weighted). Other curves are refitted to resampled rows, and the
        band is the central interval of these refits.

        Parameters
        ----------
        scores : PUScores
            The rows that the calibrator was fitted on.
        s : array-like
            Scores in [0, 1].
        level : float
            Confidence level at each score.
        draws, seed : int
            Number of resampled data sets and the seed for resampling, if needed.

        Returns
        -------
        low, high : ndarray
            Ends of the band, with the shape of `s`.

        Examples
        --------
        >>> from noneg.recalibration import Platt
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian(-1.0, 3.0).draw(300, 3000, setting="two-sample", seed=0)
        >>> low, high = Platt().fit(scores).band(scores, [0.1, 0.9])
        >>> bool((low < high).all())
        True
        """
        self._require_fit()
        if not self.has_band:
            rule = "must use the likelihood criterion to have a band"
            raise InputError("fit", rule, remedy="Fit another curve, such as platt.")
        at, share = check_unit(s), 0.5 + check_level(level) / 2.0
        flat, sample = at.reshape(-1), gather(scores)
        limits = {name: self.state_[name] for name in ("low", "high")}
        if self.has_profile:
            low, high = self._profile_band(sample, limits, flat, float(ndtri(share)))
        else:
            random = stream(seed, "band")
            fits = (sample.resampled(random) for _ in range(check_count(draws, "draws", 2)))
            curves = [self._curve_at(flat, self._best(one, limits), limits) for one in fits]
            low, high = np.quantile(curves, [1.0 - share, share], axis=0)
        return expit(low).reshape(at.shape), expit(high).reshape(at.shape)

    def _curve_at(self, s: Floats, fit: Fit, limits: State) -> Floats:
        """Return the log odds of scores in a fit."""
        return self._all_log_odds(s, self._state(fit, limits))

    def _profile_band(
        self, sample: Sample, limits: State, s: Floats, reach: float
    ) -> tuple[Floats, Floats]:
        """Return the ends of the curves that the likelihood-ratio test does not reject."""
        fit = self._best(sample, limits)
        low, high = profile_ends(fit, self._directions(s, fit, limits), reach)
        z = self._all_log_odds(s, self.state_)
        return z + low, z + high

    def _directions(self, s: Floats, fit: Fit, limits: State) -> Floats:
        """Return the derivatives of the log odds with respect to all coefficients."""
        moved = (replace(fit, theta=fit.theta + one) for one in np.eye(fit.theta.size))
        base = self._curve_at(s, fit, limits)
        return np.array([self._curve_at(s, one, limits) - base for one in moved])


def warn_open(calibrator: object, prior: float) -> None:
    """Warn that the rows do not determine the coefficients, which a ridge then stabilizes."""
    warnings.warn(
        f"{type(calibrator).__name__}: no finite coefficients maximize the "
        "likelihood. Either the data are separable, there are too few rows, or the "
        f"prior {prior:.6g} is too large. A ridge penalty keeps the map close to the "
        "identity. Check the prior, or fit on more rows.",
        CalibrationWarning,
        stacklevel=2,
    )


def clip_limits(scores: PUScores) -> State:
    """Return the distances from 0 and 1 at which scores of exactly 0 and 1 are placed.

    This is half the distance to the next score, as if the scores had been rounded to 0 or 1. If no
    score is exactly 0 (or 1), it is negligibly small.
    """
    first, last = scores.extent
    below = above = 0.0
    if first == 0.0:
        below = min(s.min(where=s > 0.0, initial=1.0) for _, _, (s, *_) in scores.chunks())
    if last == 1.0:
        above = 1.0 - max(s.max(where=s < 1.0, initial=0.0) for _, _, (s, *_) in scores.chunks())
    low = float(np.clip(below / 2.0, LEAST_GAP_LOW, LARGEST_GAP))
    return {"low": low, "high": float(np.clip(above / 2.0, LEAST_GAP_HIGH, LARGEST_GAP))}


def check_curve(state: State, **kinds: type) -> None:
    """Reject a state that does not consist of these entries and valid score limits."""
    ends = [name for name in ENDS if name in state]
    check_fields(state, **kinds, **dict.fromkeys(("low", "high", *ends), float))
    for name in ("low", "high"):
        if not 0.0 < state[name] <= LARGEST_GAP:
            raise InputError(name, f"must lie in (0, {LARGEST_GAP}]")


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
            return self._by_risk(scores)
        if is_complete(scores):
            return self._by_labels(scores)
        return self._by_likelihood(scores)

    def _by_risk(self, scores: PUScores) -> State:
        """Return the coefficients, stabilized by a ridge if they diverge."""
        limits, prior = clip_limits(scores), scores.known_prior
        problem = self._problem(scores, limits)
        theta, exists = minimize(problem)
        if not exists:
            n = min(scores.effective_marginal, scores.effective_positive / max(prior, LEAST_PRIOR))
            warn_open(self, prior)
            theta, _ = minimize(replace(problem, ridge=1.0 / (LOOSE**2 * max(n, 1.0))))
        return {**dict(zip(self.coefficients, theta.tolist(), strict=True)), **limits}

    def _by_labels(self, scores: PUScores) -> State:
        """Fit rows whose labels are all known; scores of exactly 0 and 1 are kept apart."""
        first, last = scores.extent
        if first >= END and last < 1.0:
            return self._by_risk(scores)
        inner, state = inside_rows(scores), dict(zip(self.coefficients, self.identity, strict=True))
        if inner is not None:
            state = self._by_risk(inner)
        state |= clip_limits(scores)
        sample = gather(scores)
        for name, place in sample.ends.items():
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

    def _problem(self, scores: PUScores, limits: State) -> Problem:
        prior, ((positive, share), (s, weight)) = scores.known_prior, law_rows(scores)
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

    def _check(self, state: State) -> None:
        check_curve(state, **dict.fromkeys(self.coefficients, float))
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


class BPM(Beta):
    r"""The calibration curve of binomial process modeling (Dong et al., Algorithm 1).

    The map is :math:`g(s) = 1/(1 + s^{-\alpha} (1 - s)^{\beta} e^{-c})`. It has the form of `Beta`,
    but its coefficients are fitted to the bins of many binnings, whose mean scores have no tails.
    For PU rows, the fit is by likelihood; for labeled rows, or with ``fit="risk"``, it uses the
    frequencies of positives (`noneg.calibration.bpm_curve`).

    Parameters
    ----------
    fit : {"likelihood", "risk"}
        Criterion for PU rows: the likelihood of the labels, or the paper's objective.

    Attributes
    ----------
    alpha_, beta_, intercept_ : float
        The intercept is the negative of c in the paper.

    References
    ----------
    Combining Priors with Experience: Confidence Calibration Based on Binomial Process Modeling
    (AAAI 2025).

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D5")
    >>> bpm = BPM().fit(world.draw(n=20_000, setting="labeled", seed=0))
    >>> bool(abs(bpm.transform([0.2, 0.5, 0.8]) - world.posterior([0.2, 0.5, 0.8])).max() < 0.02)
    True
    """

    name = "bpm"
    learns = "a curve with three parameters"

    def _by_risk(self, scores: PUScores) -> State:
        curve = bpm_curve(scores)
        return {
            "alpha": curve.alpha,
            "beta": curve.beta,
            "intercept": -curve.c,
            "low": curve.low,
            "high": curve.high,
        }

    _by_labels = _by_risk

    def _best(self, sample: Sample, state: State) -> Fit:
        return self._curve(in_bins(sample), state)


def in_bins(sample: Sample) -> Sample:
    """Return the bins of several equal-mass binnings as points; 0 and 1 are kept apart."""
    n = min(float(sample.mass.sum()), float(sample.labeled.sum()) / sample.prior, MOST_ROWS)
    numbers = bin_numbers(n)
    inside = inner_points(sample)
    mass = sample.marginal[inside]
    middle = (np.cumsum(mass) - mass / 2.0) / (mass.sum() or 1.0)
    columns = sample.labeled[inside], sample.other[inside], sample.mass[inside] * sample.s[inside]
    parts = []
    for bins in numbers:
        place = np.minimum((middle * bins).astype(np.intp), bins - 1)
        parts.append([np.bincount(place, weights=x, minlength=bins) for x in columns])
    labeled, other, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    full = labeled + other > 0.0
    means, share = score[full] / (labeled + other)[full], 1.0 / len(numbers)
    bins_in = means, share * labeled[full], share * other[full]
    s, labeled, other = (
        np.concatenate([x[: inside.start], y, x[inside.stop :]])
        for x, y in zip((sample.s, sample.labeled, sample.other), bins_in, strict=True)
    )
    return replace(sample, s=s, labeled=labeled, other=other, squares=np.zeros((3, s.size)))
