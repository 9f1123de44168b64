"""Worlds with Gaussian classes: the synthetic model of the papers, and mixtures on the logits."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from noneg.checks import check_prior
from noneg.simulation.laws import SIGMOID_BREAKS, LogitLaw
from noneg.simulation.quadrature import Floats
from noneg.simulation.worlds import World

Components: TypeAlias = tuple[Sequence[float], Sequence[float], Sequence[float]]

_STANDARD_BREAKS = np.arange(-9.0, 9.5)  # 2e-19 of a Gaussian lies outside
_WEIGHT_ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class MixtureLaw(LogitLaw):
    r"""Law of a score whose logit is a Gaussian mixture (PU-ECE paper, Section 5.3).

    :math:`p(v) = \sum_k w_k \, \mathcal N(v; m_k, \sigma_k^2)`

    Parameters
    ----------
    weights, means, sds : sequence of float
        Weights, means and standard deviations of the components. The weights sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> law = MixtureLaw(weights=[0.5, 0.5], means=[-2.0, 2.0], sds=[1.0, 1.0])
    >>> float(law.density(np.array(0.0)).round(6))
    0.053991
    """

    weights: Sequence[float]
    means: Sequence[float]
    sds: Sequence[float]

    def __post_init__(self) -> None:
        columns = [np.asarray(c, float).ravel() for c in (self.weights, self.means, self.sds)]
        weights, _, sds = columns
        sizes = [column.size for column in columns]
        if len(set(sizes)) > 1 or not sizes[0]:
            raise ValueError(
                f"'weights', 'means' and 'sds' must have the same length of at least 1, got "
                f"{sizes}. Pass one value of each for every component."
            )
        _require_all("means", columns[1], np.isfinite(columns[1]), "be finite")
        _require_all("sds", sds, np.isfinite(sds) & (sds > 0), "be finite and positive")
        _require_all("weights", weights, (weights > 0) & (weights <= 1), "lie in (0, 1]")
        if abs(weights.sum() - 1) > _WEIGHT_ROUNDING:
            raise ValueError(
                f"'weights' must sum to 1, got a sum of {weights.sum()}. Divide them by their sum."
            )
        columns[0] = weights / weights.sum()
        for name, column in zip(("weights", "means", "sds"), columns, strict=True):
            object.__setattr__(self, name, tuple(column.tolist()))

    def log_density(self, logits: Floats) -> Floats:
        """Logarithm of the density of the logit; it does not underflow."""
        total = np.full(np.shape(logits), -np.inf)
        for weight, mean, sd in zip(self.weights, self.means, self.sds, strict=True):
            log_peak = math.log(weight / (sd * math.sqrt(2 * math.pi)))
            total = np.logaddexp(total, log_peak - ((logits - mean) / sd) ** 2 / 2)
        return total

    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""
        total = np.zeros(np.shape(logits))
        for weight, mean, sd in zip(self.weights, self.means, self.sds, strict=True):
            peak = weight / (sd * math.sqrt(2 * math.pi))
            total += peak * np.exp(-(((logits - mean) / sd) ** 2) / 2)
        return total

    def breaks(self) -> Floats:
        """Every component's mean plus -9 to 9 standard deviations, and the sigmoid's bend."""
        means, sds = np.asarray(self.means), np.asarray(self.sds)
        own = np.unique(means[:, None] + sds[:, None] * _STANDARD_BREAKS)
        return np.union1d(own, np.clip(SIGMOID_BREAKS, own[0], own[-1]))

    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits: a component first, then its Gaussian."""
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        return rng.normal(np.asarray(self.means)[component], np.asarray(self.sds)[component])


class TwoClasses(World):
    """A world given by the prior and the law of the logit in each class."""

    @abstractmethod
    def positive_law(self) -> MixtureLaw:
        """Law of the score given Y = 1."""

    @abstractmethod
    def negative_law(self) -> MixtureLaw:
        """Law of the score given Y = 0."""

    def marginal_law(self) -> MixtureLaw:
        """Law of the score: the two classes mixed by the prior."""
        positive, negative = self.positive_law(), self.negative_law()
        return MixtureLaw(
            weights=[self.prior * w for w in positive.weights]
            + [(1 - self.prior) * w for w in negative.weights],
            means=[*positive.means, *negative.means],
            sds=[*positive.sds, *negative.sds],
        )

    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit) by Bayes' rule, for any prior."""
        evidence = self.positive_law().log_density(logits) - self.negative_law().log_density(logits)
        posterior: Floats = expit(logit(self.prior) + evidence)
        return posterior

    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw `n` independent pairs: the label first, then the logit of its class."""
        y = rng.random(n) < self.prior
        n_positive = int(y.sum())
        logits = np.empty(n)
        logits[y] = self.positive_law().draw_logits(n_positive, rng)
        logits[~y] = self.negative_law().draw_logits(n - n_positive, rng)
        return logits, y


@dataclass(frozen=True, init=False)
class LogitMixture(TwoClasses):
    """Gaussian mixtures on the logits of both classes (PU-ECE paper, Appendix E).

    Parameters
    ----------
    positive, negative : MixtureLaw or (weights, means, sds)
        Law of the logit h(X) given Y = 1 and given Y = 0.
    prior : float
        P(Y = 1).

    Examples
    --------
    >>> world = LogitMixture(
    ...     positive=([0.7, 0.3], [3.0, 0.0], [1.0, 2.0]),
    ...     negative=([1.0], [-2.0], [1.5]),
    ...     prior=0.3,
    ... )
    >>> round(world.tce(), 6)
    0.090821
    """

    positive: MixtureLaw
    negative: MixtureLaw
    prior: float

    def __init__(
        self,
        *,
        positive: MixtureLaw | Components,
        negative: MixtureLaw | Components,
        prior: float,
    ) -> None:
        object.__setattr__(self, "positive", _mixture("positive", positive))
        object.__setattr__(self, "negative", _mixture("negative", negative))
        object.__setattr__(self, "prior", check_prior(prior))

    def positive_law(self) -> MixtureLaw:
        """Law of the score given Y = 1."""
        return self.positive

    def negative_law(self) -> MixtureLaw:
        """Law of the score given Y = 0."""
        return self.negative


@dataclass(frozen=True)
class LogisticGaussian(TwoClasses):
    r"""The synthetic model of the PU-ECE paper (Appendix D), or its mirror image.

    :math:`X \mid Y = 1 \sim \mathcal N(1, 1)`, :math:`X \mid Y = 0 \sim \mathcal N(-1, 1)` and the
    score is :math:`f(x) = \sigma(\beta_0 + \beta_1 x)`, so that
    :math:`P(Y = 1 \mid x) = \sigma(2x + \mathrm{logit}\,\pi)` at the prior :math:`\pi`.

    Parameters
    ----------
    beta0, beta1 : float
        Intercept and slope of the score; `beta1` is not 0.
    prior : float, default=0.5
        P(Y = 1).
    mirror : bool, default=False
        Exchange the class means, X | Y = 1 ~ N(-1, 1), as Futami & Fujisawa (2024),
        Appendix G.1, do. A useful score then has a negative slope; (beta0, -beta1) mirrored is
        the same world as (beta0, beta1).

    Examples
    --------
    >>> world = LogisticGaussian(-0.5, 1.5)
    >>> mirrored = LogisticGaussian(-0.5, -1.5, mirror=True)
    >>> round(world.tce(), 9), round(mirrored.tce(), 9)
    (0.074443262, 0.074443262)
    """

    beta0: float
    beta1: float
    prior: float = 0.5
    mirror: bool = False

    def __post_init__(self) -> None:
        if not np.isfinite(self.beta0):
            raise ValueError(f"'beta0' must be finite, got {self.beta0!r}. Pass for example -0.5.")
        # A slope that rounding loses beside beta0 makes a constant score.
        least = 1e-12 * max(1.0, abs(self.beta0))
        if not least <= abs(self.beta1) < np.inf:
            raise ValueError(
                f"'beta1' must be finite and at least {least:g} above or below 0 with this beta0, "
                f"got {self.beta1!r}: a constant score has no density. Pass for example 1.5."
            )
        check_prior(self.prior)

    @classmethod
    def less_calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """PU-ECE paper's case 1, (beta0, beta1) = (-0.5, 1.5); TCE 0.0744 at prior 0.5.

        Examples
        --------
        >>> LogisticGaussian.less_calibrated()
        LogisticGaussian(beta0=-0.5, beta1=1.5, prior=0.5, mirror=False)
        """
        return cls(-0.5, -1.5 if mirror else 1.5, prior, mirror)

    @classmethod
    def better_calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """PU-ECE paper's case 2, (beta0, beta1) = (-0.2, 1.9); TCE 0.0235 at prior 0.5.

        Examples
        --------
        >>> round(LogisticGaussian.better_calibrated().tce(), 9)
        0.023458913
        """
        return cls(-0.2, -1.9 if mirror else 1.9, prior, mirror)

    @classmethod
    def calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """Score equal to the posterior, (beta0, beta1) = (logit prior, 2); TCE 0.

        Examples
        --------
        >>> LogisticGaussian.calibrated(prior=0.1).tce() < 1e-15
        True
        """
        return cls(float(logit(check_prior(prior))), -2.0 if mirror else 2.0, prior, mirror)

    def _class_law(self, x_mean: float) -> MixtureLaw:
        mean = self.beta0 + self.beta1 * x_mean
        return MixtureLaw(weights=[1.0], means=[mean], sds=[abs(self.beta1)])

    def positive_law(self) -> MixtureLaw:
        """Law of the score given Y = 1: logit ~ N(beta0 + beta1, beta1^2)."""
        return self._class_law(-1.0 if self.mirror else 1.0)

    def negative_law(self) -> MixtureLaw:
        """Law of the score given Y = 0: logit ~ N(beta0 - beta1, beta1^2)."""
        return self._class_law(1.0 if self.mirror else -1.0)


def _mixture(name: str, components: MixtureLaw | Components) -> MixtureLaw:
    if isinstance(components, MixtureLaw):
        return components
    if len(components) != 3:
        raise ValueError(
            f"'{name}' must be a MixtureLaw or the triple (weights, means, sds), got "
            f"{components!r}. Pass for example ([1.0], [2.0], [1.0])."
        )
    weights, means, sds = components
    return MixtureLaw(weights=weights, means=means, sds=sds)


def _require_all(name: str, values: Floats, valid: NDArray[np.bool_], rule: str) -> None:
    if not valid.all():
        i = int(np.argmin(valid))
        raise ValueError(
            f"'{name}' must {rule}, got {values[i]} for component {i}. Correct that component."
        )
