"""Multiclass recalibration: scaled logits from labeled rows, or one PU calibrator per class."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import softmax

from noneg.calibration.errors import class_numbers, class_table
from noneg.errors import InputError
from noneg.recalibration.base import CalibrationWarning, Calibrator, require_fit
from noneg.recalibration.choose import find_calibrator
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats, Places


# Steeper slopes turn any difference between logits into certainty.
STEEPEST = 1e4


class TemperatureScaling:
    r"""A single temperature for all classes, learned from labeled rows.

    .. math:: p = \operatorname{softmax}(z / T)

    where T maximizes the likelihood. The likelihood is concave in 1/T, so the maximum is unique.
    The order of the classes does not change, so neither does the accuracy.

    Attributes
    ----------
    temperature_ : float

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((5000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> scaling = TemperatureScaling().fit(3 * logits, labels)
    >>> bool(abs(scaling.temperature_ - 3) < 0.3)
    True
    """

    name: ClassVar[str] = "temperature"
    temperature_: float

    def fit(self, logits: ArrayLike, y_true: ArrayLike) -> Self:
        """Learn the temperature.

        Parameters
        ----------
        logits : array-like, shape (n, classes)
        y_true : array-like, shape (n,)
            Class numbers, starting from 0.
        """
        from scipy.optimize import brentq

        z, y = _checked(logits, y_true)
        # Subtracting the maximum does not affect the temperature and prevents overflow.
        z = z - z.max(axis=1, keepdims=True)
        low, high = _slope(z, y, 0.0), _slope(z, y, STEEPEST)
        if low >= 0.0 or high <= 0.0:
            beta = 0.0 if low >= 0.0 else STEEPEST
            what = "are no better than chance" if low >= 0.0 else "are correct in every row"
            _warn(f"no temperature maximizes the likelihood: the logits {what}")
        else:
            beta = brentq(lambda b: _slope(z, y, b), 0.0, STEEPEST, xtol=1e-15, rtol=1e-15)
        self.temperature_ = float(np.inf) if beta == 0.0 else 1.0 / float(beta)
        return self

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Return class probabilities."""
        require_fit(self, "temperature_", "fit(logits, y_true)")
        return softmax(_finite(logits) / self.temperature_, axis=1)


class VectorScaling:
    r"""A factor and a shift for each class, learned from labeled rows.

    .. math:: p = \operatorname{softmax}(w \odot z + b), \quad \textstyle\sum_k b_k = 0

    where w and b maximize the likelihood, a convex problem.

    Parameters
    ----------
    ridge : float
        Penalty on the squared distance from w = 1, b = 0, which keeps the solution finite for
        classes that are separable or have no rows. The default is far below sampling error.

    Attributes
    ----------
    weight_, bias_ : ndarray, shape (classes,)

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((5000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> scaling = VectorScaling().fit(2 * logits + [1, 0, -1], labels)
    >>> bool(abs(scaling.weight_ - 0.5).max() < 0.1)
    True
    """

    name: ClassVar[str] = "vector"
    weight_: Floats
    bias_: Floats

    def __init__(self, ridge: float = 1e-7) -> None:
        self.ridge = ridge

    def fit(self, logits: ArrayLike, y_true: ArrayLike) -> Self:
        """Learn factors and shifts.

        Parameters
        ----------
        logits : array-like, shape (n, classes)
        y_true : array-like, shape (n,)
            Class numbers, starting from 0.
        """
        from scipy.optimize import minimize

        z, y = _checked(logits, y_true)
        k = z.shape[1]
        start = np.concatenate([np.ones(k), np.zeros(k)])
        limits: Any = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
        found = minimize(
            partial(_vector_loss, z=z, y=y, ridge=self.ridge, center=start),
            start,
            jac=True,
            method="L-BFGS-B",
            options=limits,
        )
        if not np.abs(found.jac).max() < 1e-5:  # noqa: PLR2004
            _warn("the fit of vector scaling did not converge")
        self.weight_, bias = found.x[:k], found.x[k:]
        self.bias_ = bias - bias.mean()
        return self

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Return class probabilities."""
        require_fit(self, "bias_", "fit(logits, y_true)")
        return softmax(_finite(logits) * self.weight_ + self.bias_, axis=1)


class OneVsRest:
    r"""One calibrator per class, fitted on positives of the class and unlabeled rows.

    .. math:: p_k = g_k(s_k) \Big/ \sum_j g_j(s_j)

    Each class is a separate binary problem, "this class or another", which needs no rows known to
    be from another class. For labeled data, `noneg.calibration.one_vs_rest` builds the problems.

    Parameters
    ----------
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.

    Attributes
    ----------
    calibrators_ : list of Calibrator

    References
    ----------
    Zadrozny & Elkan (2002), Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates; the PU form of each question as in the PU-ECE paper, Appendix H.

    Examples
    --------
    >>> from noneg.calibration import one_vs_rest
    >>> y_prob = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.4, 0.3, 0.3]] * 9
    >>> scaled = OneVsRest("histogram").fit(one_vs_rest([0, 1, 2, 1] * 9, y_prob))
    >>> scaled.predict_proba([[0.8, 0.1, 0.1]]).sum()
    np.float64(1.0)
    """

    calibrators_: list[Calibrator]

    def __init__(self, method: str | Calibrator = "platt") -> None:
        self.method = method

    def fit(self, classes: Sequence[PUScores]) -> Self:
        """Fit one calibrator per class.

        Parameters
        ----------
        classes : sequence of PUScores
            One per class, in the order of the probability columns. The priors of PU classes should
            sum to one.
        """
        if isinstance(classes, PUScores) or len(classes) < 2:
            rule = "must be a sequence of at least two PUScores, one per class"
            raise InputError("classes", rule, value=classes)
        total = sum(scores.known_prior for scores in classes)
        if abs(total - 1.0) > 0.1:  # noqa: PLR2004
            _warn(f"the priors of the classes sum to {total:.3g}, not to 1. Check them")
        self.calibrators_ = [find_calibrator(self.method).fit(scores) for scores in classes]
        return self

    def predict_proba(self, y_prob: ArrayLike) -> Floats:
        """Return class probabilities that sum to one in each row.

        If every calibrator returns zero for a row, its original scores are normalized instead.
        """
        require_fit(self, "calibrators_", "fit(classes)")
        table = class_table(y_prob)
        if table.shape[1] != len(self.calibrators_):
            rule = f"must have a column for each of {len(self.calibrators_)} classes"
            raise InputError("y_prob", rule, value=table.shape[1])
        out = np.stack(
            [one.transform(s) for one, s in zip(self.calibrators_, table.T, strict=True)], axis=1
        )
        empty = out.sum(axis=1) == 0.0
        out[empty] = table[empty]
        out[out.sum(axis=1) == 0.0] = 1.0
        shares: Floats = out / out.sum(axis=1, keepdims=True)
        return shares


def _checked(logits: ArrayLike, y_true: ArrayLike) -> tuple[Floats, Places]:
    z = _finite(logits)
    y = class_numbers(y_true, z, "logits")
    if not y.size:
        raise InputError("logits", "must contain at least one row, got none")
    return z, y


def _finite(logits: ArrayLike) -> Floats:
    z = class_table(logits, "logits")
    bad = ~np.isfinite(z).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        remedy = "Pass the logarithms of nonzero probabilities."
        raise InputError("logits", "must be finite", value=z[row].tolist(), row=row, remedy=remedy)
    return z


def _slope(z: Floats, y: Places, beta: float) -> float:
    """Return the derivative of the mean log loss with respect to the factor on the logits."""
    return float(np.mean((softmax(beta * z, axis=1) * z).sum(axis=1) - z[np.arange(y.size), y]))


def _vector_loss(
    theta: Floats, z: Floats, y: Places, ridge: float, center: Floats
) -> tuple[float, Floats]:
    k, rows = z.shape[1], np.arange(y.size)
    raw = z * theta[:k] + theta[k:]
    raw -= raw.max(axis=1, keepdims=True)
    p = np.exp(raw)
    total = p.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0]) - raw[rows, y]))
    p /= total
    p[rows, y] -= 1.0
    gradient = np.concatenate([(p * z).mean(axis=0), p.mean(axis=0)])
    away = theta - center
    return loss + ridge * float(away @ away), gradient + 2.0 * ridge * away


def _warn(what: str) -> None:
    warnings.warn(f"{what}.", CalibrationWarning, stacklevel=3)
