r"""A metric of one model as a function of the prior, exactly.

For given rows TPR, PPR and all means under the two laws are fixed, and a metric is a function of
the prior alone. For nearly all metrics it is, piece by piece, a ratio of straight lines,

.. math:: m(\pi) = \frac{a + b\,\pi}{c + d\,\pi},

so two models are equal where a quadratic polynomial is zero. `ORDERED` has what builds the `Curve`
of each metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.calibration.errors import ece_by_prior
from noneg.functionals import law_means, tail_means
from noneg.performance.areas import auroc, average_precision
from noneg.performance.confusion import check_threshold
from noneg.performance.losses import CLIP, find_loss
from noneg.performance.proxies import proxy_auc
from noneg.performance.thresholds import f_beta_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.performance.losses import Loss, Name
    from noneg.performance.selection import Better
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Piece = tuple[float, float, float, float]

# Values and priors closer than this are equal up to rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric of one model as a function of the prior: ratios of straight lines.

    Attributes
    ----------
    inner : ndarray, shape (k - 1,)
        Priors at which the pieces meet, rising.
    pieces : ndarray, shape (k, 4)
        Numbers a, b, c, d of ``(a + b prior) / (c + d prior)`` on each piece.
    by_odds : bool
        Whether the whole is multiplied by the root of the odds ``prior / (1 - prior)``.

    Examples
    --------
    >>> Curve.of(0.2, 0.5)(0.4)
    array(0.4)
    """

    inner: Floats
    pieces: Floats
    by_odds: bool = False

    @classmethod
    def of(cls, a: float, b: float = 0.0, c: float = 1.0, d: float = 0.0) -> Curve:
        """Return a curve of one piece."""
        return cls(np.zeros(0), np.array([[a, b, c, d]], dtype=np.float64))

    def __call__(self, prior: ArrayLike) -> Floats:
        """Return the metric at one prior or many; nan where it is undefined."""
        x = np.asarray(prior, dtype=np.float64)
        a, b, c, d = np.moveaxis(self.pieces[np.searchsorted(self.inner, x)], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (a + b * x) / (c + d * x)
        factor = np.sqrt(x / (1.0 - x)) if self.by_odds else 1.0
        out: Floats = np.where(np.isfinite(value), value * factor, np.nan)
        return out

    def crossings(self, other: Curve, low: float, high: float) -> Floats:
        """Return the priors between low and high at which two curves are equal.

        Curves that coincide have none.
        """
        inner = np.concatenate([self.inner, other.inner])
        ends = np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))
        middle = (ends[:-1] + ends[1:]) / 2.0
        a, b, c, d = self.pieces[np.searchsorted(self.inner, middle)].T
        p, q, r, s = other.pieces[np.searchsorted(other.inner, middle)].T
        roots = _quadratic_roots(
            _difference(a * r, p * c),
            _difference(a * s + b * r, p * d + q * c),
            _difference(b * s, q * d),
        )
        here = (roots >= ends[:-1] - ROUNDING) & (roots <= ends[1:] + ROUNDING)
        found: Floats = roots[here & (roots > low) & (roots < high)]
        return np.unique(found)


def _difference(x: Floats, y: Floats) -> Floats:
    """Return x - y, zero where they are equal up to rounding."""
    return np.where(np.abs(x - y) <= ROUNDING * (np.abs(x) + np.abs(y)), 0.0, x - y)


def _quadratic_roots(constant: Floats, linear: Floats, square: Floats) -> Floats:
    """Return the real roots, shape (2, ...), nan for those that do not exist; no cancellation."""
    with np.errstate(all="ignore"):
        root = np.sqrt(linear**2 - 4.0 * square * constant)
        pivot = -(linear + np.where(linear < 0.0, -root, root)) / 2.0
        return np.stack([pivot / square, constant / pivot])


def _at_threshold(piece: Callable[[float, float], Piece]) -> Callable[..., Curve]:
    """Return what builds the curve of a metric of the confusion matrix."""

    def build(scores: PUScores, *, threshold: float = 0.5) -> Curve:
        return Curve.of(*piece(*_rates(scores, threshold)))

    return build


def _rates(scores: PUScores, threshold: float) -> tuple[float, float]:
    means = tail_means(scores, [check_threshold(threshold)])
    return float(means.positive[0]), float(means.marginal[0])


def _f_beta(scores: PUScores, *, beta: float = 1.0, threshold: float = 0.5) -> Curve:
    f_beta_rule(beta)  # refuses what is no weight
    (tpr, ppr), square = _rates(scores, threshold), float(beta) ** 2
    return Curve.of(0.0, (1.0 + square) * tpr, ppr, square)


def _mcc(scores: PUScores, *, threshold: float = 0.5) -> Curve:
    tpr, ppr = _rates(scores, threshold)
    one = Curve.of(tpr - ppr, 0.0, float(np.sqrt(ppr * (1.0 - ppr))), 0.0)
    return Curve(one.inner, one.pieces, by_odds=True)


def _risk(
    scores: PUScores,
    *,
    loss: Name | Loss = "zero-one",
    threshold: float | None = None,
    cost: ArrayLike = (1.0, 1.0),
    clip: float = CLIP,
) -> Curve:
    of = find_loss(loss, threshold=threshold, cost=cost, clip=clip)
    means = law_means(scores, [lambda s: of(s, 1) - of(s, 0)], [lambda s: of(s, 0)])
    return Curve.of(float(means.marginal[0]), float(means.positive[0]))


def _log_loss(scores: PUScores, *, clip: float = CLIP) -> Curve:
    return _risk(scores, loss="log", clip=clip)


def _brier(scores: PUScores) -> Curve:
    return _risk(scores, loss="brier")


def _proxy_auc(scores: PUScores) -> Curve:
    return Curve.of(proxy_auc(scores))


def _auroc(scores: PUScores) -> Curve:
    # AUC - 1/2 is a constant divided by 1 - prior, in both settings.
    constant = (auroc(scores) - 0.5) * (1.0 - scores.prior)
    return Curve.of(0.5 + constant, -0.5, 1.0, -1.0)


def _average_precision(scores: PUScores) -> Curve:
    # For given rows it is a straight line, which two points determine.
    one, other = scores.prior, (1.0 + scores.prior) / 2.0
    low, high = (average_precision(scores.with_prior(prior)) for prior in (one, other))
    slope = (high - low) / (other - one)
    return Curve.of(low - slope * one, slope)


def _ece(scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
    curve = ece_by_prior(scores, **options)
    slope = np.diff(curve.error) / np.diff(curve.prior)
    level = curve.error[:-1] - slope * curve.prior[:-1]
    pieces = np.stack([level, slope, np.ones_like(slope), np.zeros_like(slope)], axis=-1)
    return Curve(curve.prior[1:-1], pieces)


# Metric: the direction in which it is better, and what builds its curve. T is TPR and P is PPR.
ORDERED: dict[str, tuple[Better, Callable[..., Curve]]] = {
    "accuracy": ("higher", _at_threshold(lambda t, p: (1.0 - p, 2.0 * t - 1.0, 1.0, 0.0))),
    "proxy_accuracy": ("higher", _at_threshold(lambda t, p: (1.0 - p, 2.0 * t, 1.0, 0.0))),
    "balanced_accuracy": (
        "higher",
        _at_threshold(lambda t, p: (1.0 + t - p, -1.0, 2.0, -2.0)),
    ),
    "precision": ("higher", _at_threshold(lambda t, p: (0.0, t, p, 0.0))),
    "recall": ("higher", _at_threshold(lambda t, _: (t, 0.0, 1.0, 0.0))),
    "specificity": ("higher", _at_threshold(lambda t, p: (1.0 - p, t - 1.0, 1.0, -1.0))),
    "false_positive_rate": ("lower", _at_threshold(lambda t, p: (p, -t, 1.0, -1.0))),
    "npv": ("higher", _at_threshold(lambda t, p: (1.0 - p, t - 1.0, 1.0 - p, 0.0))),
    "f_beta": ("higher", _f_beta),
    "f1": ("higher", _f_beta),
    "mcc": ("higher", _mcc),
    "cohen_kappa": (
        "higher",
        _at_threshold(lambda t, p: (0.0, 2.0 * (t - p), p, 1.0 - 2.0 * p)),
    ),
    "auroc": ("higher", _auroc),
    "average_precision": ("higher", _average_precision),
    "proxy_auc": ("higher", _proxy_auc),
    "risk": ("lower", _risk),
    "log_loss": ("lower", _log_loss),
    "brier": ("lower", _brier),
    "ece": ("lower", _ece),
}
