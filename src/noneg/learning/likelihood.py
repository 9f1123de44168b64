r"""The likelihood of the labels: what positives and unlabeled rows say of a class probability.

All rows together are one sample in which a positive is labeled at a rate c(x). With
:math:`\eta(x) = \sigma(f(x))` the class probability in the population,

.. math:: P(\text{labeled} \mid x) = c(x)\,\sigma(f(x) + b)

- one sample: :math:`c = n_P/(\pi n)` and b = 0; with propensities e(x), c(x) = k e(x), where k
  makes the positives that the labeled ones stand for as many as the prior says;
- two samples: :math:`c = r/(1+r)` and :math:`b = \log(1+r)` with :math:`r = n_P/(\pi n_U)`, since
  the labeled rows come on top of the population, so that
  :math:`P(\text{labeled} \mid x) = r\eta/(1 + r\eta)`;
- labeled data: c = 1 and b = 0, the ordinary logistic likelihood.

(Lancaster and Imbens 1996; Ward et al. 2009.) An unlabeled row is positive with probability

.. math:: g = \frac{(1-c)\,\sigma}{1 - c\,\sigma}, \qquad \sigma = \sigma(f + b),

and minus the log-likelihood has the slope :math:`\sigma - g` (g = 1 on labeled rows). The
curvature :math:`\sigma(1-\sigma)` bounds it from above, as in the EM algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn.utils import _safe_indexing

from noneg.checks import check_one_sample, is_labelled, is_pooled
from noneg.learning.task import logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Priors this close to 0 and 1 have log odds that are still numbers.
_EDGE = 1e-9
# Limits of the logarithm of a slope, and the weight of its distance from 0.
_SLOPES, _HOLD = (-3.0, 3.0), 0.1


@dataclass(frozen=True)
class Rows:
    """Rows to learn from: a table of any kind, labels, and optional weights and propensities."""

    X: Any
    flags: Flags
    weight: Floats | None = None
    propensity: Floats | None = None

    def __len__(self) -> int:
        return int(self.flags.size)

    @property
    def mass(self) -> Floats:
        """One weight a row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def positive_mass(self) -> Floats:
        """Weights under which the labeled rows follow the law of all positives."""
        return self.mass if self.propensity is None else self.mass / self.propensity

    def take(self, index: NDArray[np.intp]) -> Self:
        """Return some of the rows."""
        rest = (None if x is None else x[index] for x in (self.weight, self.propensity))
        return type(self)(_safe_indexing(self.X, index), self.flags[index], *rest)

    def as_random(self) -> Self:
        """Return the rows with propensities turned into weights of the labeled rows."""
        if self.propensity is None:
            return self
        weight, flags = np.where(self.flags, self.positive_mass, self.mass), self.flags
        weight[flags] *= self.mass[flags].sum() / weight[flags].sum()
        return replace(self, weight=weight, propensity=None)


class LabelLaw(NamedTuple):
    """How labels come about: the rate of each row, the shift, and the log odds to start from.

    Examples
    --------
    >>> rows = Rows(None, np.arange(10) < 2)
    >>> law = LabelLaw.of(rows, "one-sample", 0.4)
    >>> law.rate[0], law.shift
    (np.float64(0.5), 0.0)
    >>> law.expected(rows.flags, np.zeros(10)).round(3)[:3]
    array([1.   , 1.   , 0.333])
    """

    rate: Floats
    shift: float
    start: float

    @classmethod
    def of(cls, rows: Rows, setting: Setting, prior: float | None) -> Self:
        """Return the law of rows; in two samples they must be free of propensities."""
        mass, flags = rows.mass, rows.flags
        n_pos, n = float(mass[flags].sum()), float(mass.sum())
        if is_labelled(setting) or prior is None:
            return cls(np.ones(len(rows)), 0.0, _log_odds(n_pos / n))
        if not is_pooled(setting):
            ratio = n_pos / (prior * (n - n_pos))
            rate = np.full(len(rows), ratio / (1.0 + ratio))
            return cls(rate, math.log1p(ratio), _log_odds(prior))
        found = float(rows.positive_mass[flags].sum())
        if rows.propensity is None:
            check_one_sample(prior, n_pos / n, n)
        e = np.ones(len(rows)) if rows.propensity is None else rows.propensity
        return cls(np.minimum(1.0, e * (found / (prior * n))), 0.0, _log_odds(prior))

    def take(self, index: NDArray[np.intp]) -> Self:
        """Return the law of some of the rows."""
        return self._replace(rate=self.rate[index])

    def expected(self, flags: Flags, f: Floats) -> Floats:
        """Return g, the probability that a row is positive given its label."""
        return self._given(flags, expit(f + self.shift))

    def slope(self, flags: Flags, f: Floats) -> tuple[Floats, Floats]:
        """Return the slope of the loss of each row, and the curvature that bounds it."""
        s = expit(f + self.shift)
        return s - self._given(flags, s), s * (1.0 - s)

    def _given(self, flags: Flags, s: Floats) -> Floats:
        g = np.divide((1.0 - self.rate) * s, 1.0 - self.rate * s, out=s * 0.0, where=self.rate < 1)
        return np.where(flags, 1.0, g)

    def loss(self, flags: Flags, f: Floats) -> Floats:
        """Return minus the log-likelihood of each row's label."""
        z = f + self.shift
        with np.errstate(divide="ignore"):
            left = z + np.log1p(-self.rate)
            unlabeled = np.logaddexp(0.0, z) - np.logaddexp(0.0, left)
            return np.where(flags, np.logaddexp(0.0, -z) - np.log(self.rate), unlabeled)

    def line(self, rows: Rows, f: Floats, population: Flags, prior: float) -> tuple[float, float]:
        """Return a and b: under a f + b the labels are most likely, and its mean is the prior.

        Parameters
        ----------
        rows : Rows
        f : ndarray
            Log odds of rows that the model has not seen.
        population : ndarray of bool
            The rows that are a sample of the population.
        prior : float
            Mean of the class probability over the population.
        """
        weight = rows.mass[population] / rows.mass[population].sum()

        def level(a: float) -> float:
            def excess(b: float) -> float:
                return float(weight @ expit(a * f[population] + b)) - prior

            far = 50.0 + a * float(np.abs(f).max())
            return float(brentq(excess, -far, far))

        def loss(log_a: float) -> float:
            a = math.exp(log_a)
            # Held near 1 by a part of a row's information, where nothing else does.
            return float(rows.mass @ self.loss(rows.flags, a * f + level(a))) + _HOLD * log_a**2

        a = math.exp(float(minimize_scalar(loss, bounds=_SLOPES, method="bounded").x))
        return a, level(a)


def _log_odds(p: float) -> float:
    return logit(min(max(p, _EDGE), 1.0 - _EDGE))
