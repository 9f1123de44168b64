r"""The order of models as a function of the prior, and the priors at which it changes.

A metric is a `Curve` over the prior, two curves meet where a quadratic polynomial is zero, and so
the priors at which the order changes are found exactly. Some orders cannot change, because the
prior enters all models in the same monotone way:

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

from noneg.checks import check_prior
from noneg.registry import METRICS, find_metric
from noneg.results import to_frame
from noneg.rules import ROUNDING, Curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from noneg.registry import Better
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


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
        A metric with an exact curve: "accuracy", "risk", "f_beta", "ece", "average_precision", ...
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
    entry = find_metric(metric)
    if not entry.has_curve:
        known = ", ".join(name for name, one in METRICS.items() if one.has_curve)
        raise ValueError(f"'metric' must be one of {known}, got {metric!r}.")
    low, high = _check_models(models, priors)
    better = entry.better
    curves = tuple(entry.curve(scores, **options) for scores in models.values())
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

    In one sample it starts no lower than the labelled share allows.

    Examples
    --------
    >>> from noneg import PUScores
    >>> prior_range(PUScores([0.9], [0.8, 0.3], prior=0.5, setting="two-sample"))
    (0.3333333333333333, 0.6666666666666666)
    """
    if scores.prior_interval is not None:
        return scores.prior_interval
    prior = scores.prior
    return max(prior / (2.0 - prior), scores.least_prior), 2.0 * prior / (1.0 + prior)


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
    least = max(scores.least_prior for scores in models.values())
    if low < least:
        msg = (
            f"'priors' must start at {least:.4g} or above, which the labelled share of one sample "
            f"allows, got ({low:g}, {high:g})."
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
