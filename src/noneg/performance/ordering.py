r"""The order of models as a function of the prior, and the priors at which it changes.

For given rows TPR, PPR and all means under the two laws are fixed, and a metric is a function of
the prior alone. For nearly all metrics it is, piece by piece, a ratio of straight lines,

.. math:: m(\pi) = \frac{a + b\,\pi}{c + d\,\pi},

so two models are equal where a quadratic polynomial is zero, and the priors at which their order
changes are found exactly. Some orders cannot change, because the prior enters all models in the
same monotone way:

- AUROC, of which :math:`(\mathrm{PAUC} - \pi/2)/(1-\pi)` is the estimate; the proxy AUC; recall;
- precision :math:`\pi\,\mathrm{TPR}/\mathrm{PPR}` and the negative predictive value;
- balanced accuracy and Matthews' correlation.

Others can: accuracy, risks and proper scores, specificity, F-measures, kappa, average precision
and the calibration error, which is convex and piecewise linear in the prior. Claesen et al. (2015,
Section 6.2) show why a model that is best at one prior need not be at another. Their Figure 4 has
AUROCs that change order, which the estimate above, a rising linear function of PAUC at every
prior, cannot do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.calibration.errors import ece_by_prior
from noneg.checks import check_prior
from noneg.functionals import law_means, tail_means
from noneg.performance.areas import auroc, average_precision
from noneg.performance.confusion import check_threshold
from noneg.performance.losses import CLIP, find_loss
from noneg.performance.selection import proxy_auc
from noneg.performance.thresholds import f_beta_rule
from noneg.results import to_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Ordering:
    """The order of models, best first, at every prior in a range.

    Attributes
    ----------
    metric : str
    better : {"higher", "lower"}
    models : tuple of str
        As given; models that are equal keep this order.
    priors : (float, float)
        The range.
    crossings : tuple of float
        Priors within it at which the order changes, rising.
    orders : tuple of tuple of str
        The order below the first crossing, between the first and the second, and so on. Models
        whose metric is undefined come last.
    curves : tuple of Curve
        The metric of each model as a function of the prior.
    """

    metric: str
    better: Better
    models: tuple[str, ...]
    priors: tuple[float, float]
    crossings: tuple[float, ...]
    orders: tuple[tuple[str, ...], ...]
    curves: tuple[Curve, ...]

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """The interval of priors of each order."""
        ends = (self.priors[0], *self.crossings, self.priors[1])
        return tuple(pairwise(ends))

    @property
    def best(self) -> tuple[str, ...]:
        """Models that are best somewhere in the range."""
        return tuple(dict.fromkeys(order[0] for order in self.orders))

    def at(self, prior: float) -> tuple[str, ...]:
        """Return the order at a prior in the range."""
        low, high = self.priors
        if not low <= prior <= high:
            msg = f"'prior' must lie in the range [{low:g}, {high:g}] of the order, got {prior!r}."
            raise ValueError(msg)
        return self.orders[int(np.searchsorted(self.crossings, prior, side="right"))]

    def values(self, prior: float) -> dict[str, float]:
        """Return the metric of each model at a prior."""
        return {m: float(c(prior)) for m, c in zip(self.models, self.curves, strict=True)}

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a table with a row for each interval and model, best first."""
        rows = [
            (low, high, rank + 1, model, self.values(low)[model], self.values(high)[model])
            for (low, high), order in zip(self.intervals, self.orders, strict=True)
            for rank, model in enumerate(order)
        ]
        names = ("low", "high", "rank", "model", "value_low", "value_high")
        return {name: np.array(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text."""
        return {
            "metric": self.metric,
            "better": self.better,
            "priors": list(self.priors),
            "crossings": list(self.crossings),
            "intervals": [
                {"low": low, "high": high, "order": list(order)}
                for (low, high), order in zip(self.intervals, self.orders, strict=True)
            ],
        }


def ordering(
    models: Mapping[str, PUScores],
    *,
    metric: str = "accuracy",
    priors: tuple[float, float] | None = None,
    **options: object,
) -> Ordering:
    """Return the order of models at every prior in a range, and where it changes, exactly.

    Parameters
    ----------
    models : mapping of str to PUScores
        PU scores of one setting; their own prior is not used. The prior of labelled data is no
        free parameter, so it is refused.
    metric : str
        One of `ORDERED`: "accuracy", "risk", "f_beta", "ece", "average_precision", ...
    priors : (float, float), optional
        The range; by default `prior_range` of the first model.
    **options
        Of the metric: `threshold`, `beta`, `bins` and `binning` (the bins stay those of the model's
        own prior), or for "risk" `loss`, `threshold`, `cost` and `clip`.

    Returns
    -------
    Ordering

    Examples
    --------
    >>> from noneg import PUScores
    >>> bold = PUScores([0.9, 0.8], [0.9, 0.8, 0.6, 0.1], prior=0.5, setting="two-sample")
    >>> shy = PUScores([0.9, 0.3], [0.9, 0.4, 0.2, 0.1], prior=0.5, setting="two-sample")
    >>> found = ordering({"bold": bold, "shy": shy}, priors=(0.1, 0.9))
    >>> found.crossings, found.orders
    ((0.5,), (('shy', 'bold'), ('bold', 'shy')))
    """
    if metric not in ORDERED:
        msg = f"'metric' must be one of {', '.join(ORDERED)}, got {metric!r}."
        raise ValueError(msg)
    low, high = _check_models(models, priors)
    better, build = ORDERED[metric]
    curves = tuple(build(scores, **options) for scores in models.values())
    names = tuple(models)
    found = [one.crossings(other, low, high) for one, other in combinations(curves, 2)]
    cuts = _distinct(np.concatenate([np.zeros(0), *found]))
    ends = np.concatenate([[low], cuts, [high]])
    orders = [_order(names, curves, better, x) for x in (ends[:-1] + ends[1:]) / 2.0]
    changes = [k for k in range(1, len(orders)) if orders[k] != orders[k - 1]]
    return Ordering(
        metric=metric,
        better=better,
        models=names,
        priors=(low, high),
        crossings=tuple(float(cuts[k - 1]) for k in changes),
        orders=(orders[0], *(orders[k] for k in changes)),
        curves=curves,
    )


def prior_range(scores: PUScores) -> tuple[float, float]:
    """Return the priors to look at: what is known of it, else from half to twice its odds.

    In one sample it starts no lower than the share of labelled rows.

    Examples
    --------
    >>> from noneg import PUScores
    >>> prior_range(PUScores([0.9], [0.8, 0.3], prior=0.5, setting="two-sample"))
    (0.3333333333333333, 0.6666666666666666)
    """
    if scores.prior_interval is not None:
        return scores.prior_interval
    prior = scores.prior
    return max(prior / (2.0 - prior), _labelled_share(scores)), 2.0 * prior / (1.0 + prior)


def _labelled_share(scores: PUScores) -> float:
    one_sample = scores.setting == "one-sample"
    return scores.n_positive / scores.n_marginal if one_sample else 0.0


def _check_models(
    models: Mapping[str, PUScores], priors: tuple[float, float] | None
) -> tuple[float, float]:
    if len(models) < 2:
        msg = f"'models' must hold at least two models to be put in order, got {len(models)}."
        raise ValueError(msg)
    settings = {scores.setting for scores in models.values()}
    if len(settings) > 1 or "labelled" in settings:
        msg = (
            "'models' must all have the same PU setting, 'two-sample' or 'one-sample', got "
            f"{' and '.join(repr(setting) for setting in sorted(settings))}."
        )
        raise ValueError(msg)
    low, high = prior_range(next(iter(models.values()))) if priors is None else priors
    low, high = check_prior(low, "priors"), check_prior(high, "priors")
    if not low <= high:
        msg = f"'priors' must be a pair (low, high) with low <= high, got ({low:g}, {high:g})."
        raise ValueError(msg)
    share = max(_labelled_share(scores) for scores in models.values())
    if low < share * (1.0 - ROUNDING):
        msg = (
            f"'priors' must start at the labelled share {share:.6g} or above in one sample, got "
            f"({low:g}, {high:g})."
        )
        raise ValueError(msg)
    return low, high


def _distinct(priors: Floats) -> Floats:
    """Return priors in order, those equal up to rounding once."""
    x = np.sort(priors)
    return x[np.diff(x, prepend=-np.inf) > ROUNDING]


def _order(
    names: Sequence[str], curves: Sequence[Curve], better: Better, prior: float
) -> tuple[str, ...]:
    values = np.round([float(curve(prior)) for curve in curves], 12)
    keys = -values if better == "higher" else values
    return tuple(names[k] for k in np.argsort(keys, kind="stable"))


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
