r"""Choosing among models without negatives: proxies, criteria, and how the order depends on prior.

From labeled positives and unlabeled rows alone, a criterion must rank models in the same order as
their true quality. Two criteria do so exactly, in expectation (PU benchmark paper, Section 3,
Props 1 and 2):

Proxy accuracy (Def. 1)
    :math:`\mathrm{PA} = 2\pi\,\mathrm{TPR} + \mu(s < t)`, which is accuracy plus the prior.
Proxy AUC (Def. 2)
    The probability that a labeled positive scores higher than an unlabeled row; a tie counts as
    half. It needs no prior.

In the one-sample setting, the marginal share in Def. 1 is taken over all rows, including the
labeled ones. The benchmark's published code adds the labeled positives *above* the threshold
instead of those below it, which rewards recall twice; its one-sample tables may be affected. Here,
:math:`E[\mathrm{PA}] - \pi` equals the accuracy in both settings.

The order of models under a metric depends on the prior. Each metric is a `Curve` over the prior,
and two curves meet where a quadratic polynomial is zero, so the priors at which the order changes
are found exactly. For some metrics the order cannot change, because the prior affects all models in
the same monotone way:

- AUROC, of which :math:`(\mathrm{PAUC} - \pi/2)/(1-\pi)` is the estimate; the proxy AUC; recall;
- precision :math:`\pi\,\mathrm{TPR}/\mathrm{PPR}` and the negative predictive value;
- balanced accuracy and Matthews' correlation.

For others it can: accuracy, risks and proper scores, specificity, F-measures, kappa, average
precision and the calibration error, which is convex and piecewise linear in the prior. Claesen et
al. (2015, Section 6.2) show why a model that is best at one prior need not be best at another. In
their Figure 4, AUROCs change order, which cannot happen with the estimate above because it is an
increasing linear function of PAUC at every prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import (
    check_flags,
    check_level,
    check_prior,
    check_same_length,
    check_setting,
    is_pooled,
)
from noneg.errors import InputError
from noneg.intervals import trust_words
from noneg.laws import placements
from noneg.performance.ranking import area_bounds, pair_limits, share_of_wins
from noneg.performance.thresholds import PROXY_ACCURACY, accuracy, accuracy_interval, at_threshold
from noneg.registry import METRICS, Better, Metric, find_metric, interval_of
from noneg.results import Estimate, Table, plain_fields
from noneg.rules import ROUNDING, Curve
from noneg.scores import PUScores
from noneg.selection import Box, is_selected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting, WeightKind


def proxy_accuracy(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the proxy accuracy, which is the accuracy plus the prior.

    .. math:: \mathrm{PA} = 2\pi\,\mu_+(s \ge t) + \mu(s < t)

    (PU benchmark paper, Def. 1). The marginal distribution is that of the unlabeled rows in the
    two-sample setting and of all rows in the one-sample setting. In the one-sample setting, the
    paper's published code has the wrong sign for the labeled positives in the second term; with the
    definition used here, :math:`E[\mathrm{PA}] - \pi` is the accuracy in every setting.

    Parameters
    ----------
    scores : PUScores
    threshold : float
        Rows with ``s >= threshold`` are predicted positive.

    Returns
    -------
    float
        In [0, 2] for labeled data; for PU data, noise may move it outside that range.

    See Also
    --------
    noneg.performance.accuracy : the same minus the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(proxy_accuracy(scores, threshold=0.7), 3)
    1.15
    """
    return PROXY_ACCURACY.value(scores, threshold)


proxy_accuracy_interval = at_threshold(
    proxy_accuracy, "Proxy accuracy at 0.5", PROXY_ACCURACY, short="Proxy accuracy"
)


def proxy_auc(scores: PUScores) -> float:
    r"""Return the probability that a labeled positive scores higher than an unlabeled row.

    .. math:: \mathrm{PAUC} = \frac{1}{n_P n_U} \sum_{i \in P} \sum_{j \in U}
        \Bigl(1\{s_i > s_j\} + \tfrac12\,1\{s_i = s_j\}\Bigr)

    (PU benchmark paper, Def. 2); a tie counts as half. In the one-sample setting, too, the second
    sum runs over the unlabeled rows only. If :math:`\beta` is the share of positives among them,
    :math:`\mathrm{PAUC} = (1-\beta)\,\mathrm{AUC} + \beta/2`, so the proxy ranks models in the same
    order as their AUC, and the prior is not needed. For labeled data it equals the AUC; it is nan
    when a class is empty.

    Parameters
    ----------
    scores : PUScores

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> proxy_auc(scores)
    0.875
    """
    (u, *masses), (p, *others) = scores.in_order()
    if not (u.size and p.size):
        return float("nan")
    if any(np.ndim(mass) for mass in (*masses, *others)):
        (f, _, w), (g, a, _) = masses, others
        return float(np.average(placements(p, u, f * w), weights=np.broadcast_to(g * a, p.shape)))
    return share_of_wins(scores)


@interval_of(
    proxy_auc,
    title="Proxy AUC, positives against unlabeled",
    needs_prior=False,
    short="Proxy AUC",
    ranks=True,
    by_prior=lambda scores: Curve.of(proxy_auc(scores)),
)
def proxy_auc_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the proxy AUC with its interval.

    Labeled positives and unlabeled rows are different rows in both PU settings, so this is the
    interval of `auroc_interval` for two samples in which all unlabeled rows are negatives. It does
    not depend on the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(proxy_auc_interval(scores))
    0.7500 [0.6196, 0.8468]
    """
    level, value = check_level(level), proxy_auc(scores)
    if np.isnan(value):
        words = "undefined, no pair of a positive and another row"
        return Estimate(value=value, low=0.0, high=1.0, level=level, method=words)
    if is_selected(scores):
        return area_bounds(scores.as_two_samples(), value, level, box=Box.of(scores), proxy=True)
    # At prior zero, all other rows are negatives, and the area is the proxy.
    two = scores.as_two_samples() if scores.hidden else scores
    low, high = pair_limits(two, value, level, prior=0.0 if scores.hidden else None)
    words = "DeLong variance, logit interval" + trust_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def oracle_accuracy(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: float = 0.5,
    labeled: ArrayLike | None = None,
    setting: Setting | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "frequency",
    positive_label: object = None,
) -> float:
    """Return the accuracy computed from true labels, as a reference for other criteria.

    PU benchmark paper, Def. 3: the share of correct predictions among rows that are distributed
    like the population, which are the unlabeled rows in the two-sample setting and all rows in the
    one-sample setting.

    Parameters
    ----------
    y_true : array-like
        True labels, including those of unlabeled rows.
    y_score : array-like
        Scores in [0, 1].
    threshold : float
        Rows with ``s >= threshold`` are predicted positive.
    labeled : array-like, optional
        Marks the rows that are labeled positives in the PU data set. In the two-sample setting they
        are left out, since they are not a sample of the population. By default, all rows count.
    setting : {"two-sample", "one-sample"}, optional
        Required if `labeled` is given.
    sample_weight, weight_kind, positive_label
        As in `PUScores.from_labels`.

    Examples
    --------
    >>> y, s = [1, 1, 1, 0, 0], [0.9, 0.2, 0.8, 0.1, 0.6]
    >>> oracle_accuracy(y, s)
    0.6
    >>> oracle_accuracy(y, s, labeled=[1, 0, 0, 0, 0], setting="two-sample")
    0.5
    """
    given = (sample_weight, weight_kind, positive_label)
    scores = _of_population(y_true, y_score, labeled, setting, *given)
    return accuracy(scores, threshold=threshold)


def oracle_accuracy_interval(  # noqa: PLR0913 - the options of `oracle_accuracy`
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    threshold: float = 0.5,
    labeled: ArrayLike | None = None,
    setting: Setting | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "frequency",
    positive_label: object = None,
) -> Estimate:
    """Return the oracle accuracy with its interval; options as in `oracle_accuracy`.

    Examples
    --------
    >>> found = oracle_accuracy_interval([0, 0, 1, 1] * 50, [0.1, 0.6, 0.7, 0.9] * 50)
    >>> 0.65 < found.low < found.value == 0.75 < found.high < 0.85
    True
    """
    given = (sample_weight, weight_kind, positive_label)
    scores = _of_population(y_true, y_score, labeled, setting, *given)
    return accuracy_interval(scores, level=level, threshold=threshold)


def _of_population(
    y_true: ArrayLike,
    y_score: ArrayLike,
    labeled: ArrayLike | None,
    setting: Setting | None,
    weight: ArrayLike | None,
    weight_kind: WeightKind,
    positive_label: object,
) -> PUScores:
    """Return the rows that are distributed like the population, with their true labels."""
    keep: Flags | slice = slice(None)
    if labeled is not None:
        flags = check_flags(labeled, "labeled", choosable=False)
        check_same_length(y_score=np.size(y_score), labeled=flags.size)
        if not is_pooled(check_setting(setting)):
            keep = ~flags
    return PUScores.from_labels(
        np.asarray(y_true)[keep],
        np.asarray(y_score)[keep],
        sample_weight=None if weight is None else np.asarray(weight)[keep],
        weight_kind=weight_kind,
        positive_label=positive_label,
    )


Criterion = Metric

# The proxies of the PU benchmark paper, Section 3, the proper scores and the calibration errors.
CRITERIA: dict[str, Criterion] = {
    name: METRICS[name]
    for name in ("proxy_accuracy", "proxy_auc", "log_loss", "brier", "debiased_ece", "ece")
}


def find_criterion(name: str) -> Criterion:
    """Return a criterion by name.

    Examples
    --------
    >>> find_criterion("log_loss").better
    'lower'
    """
    return find_metric(name, "criteria")


def select(models: Mapping[str, PUScores], *, by: str = "proxy_auc", **options: object) -> str:
    """Return the name of the best model under a criterion, or the first in case of a tie.

    Parameters
    ----------
    models : mapping of str to PUScores
        Scores of the validation rows under each model.
    by : str
        Name of a metric, such as those in `CRITERIA`.
    **options
        Options of the criterion, such as `threshold`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> unlabeled = [0.8, 0.3, 0.2, 0.1]
    >>> models = {
    ...     "poor": PUScores([0.3, 0.2], unlabeled, prior=0.4, setting="two-sample"),
    ...     "good": PUScores([0.9, 0.6], unlabeled, prior=0.4, setting="two-sample"),
    ... }
    >>> select(models)
    'good'
    """
    criterion = find_metric(by, "by")
    values = {name: criterion.function(scores, **options) for name, scores in models.items()}
    known = {name: criterion.merit(x) for name, x in values.items() if not np.isnan(x)}
    if not known:
        raise InputError(
            "models", f"must include a model for which {by} is defined, got {list(models)}."
        )
    return max(known, key=lambda name: known[name])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Ordering(Table):
    """The order of models, best first, at every prior in a range.

    Attributes
    ----------
    metric : str
    better : {"higher", "lower"}
    models : tuple of str
        In the order given; tied models keep this order.
    priors : (float, float)
        The range of priors.
    crossings : tuple of float
        Priors in the range at which the order changes, in increasing order.
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
        """The interval of priors in which each order holds."""
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
            msg = f"must lie in the range [{low:g}, {high:g}] of the ranking, got {prior!r}."
            raise InputError("prior", msg)
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

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers, lists and text."""
        rows = zip(self.intervals, self.orders, strict=True)
        orders = [{"low": low, "high": high, "order": list(order)} for (low, high), order in rows]
        return plain_fields(self, "metric", "better", "priors", "crossings") | {"intervals": orders}


def ordering(
    models: Mapping[str, PUScores],
    *,
    metric: str = "accuracy",
    priors: tuple[float, float] | None = None,
    **options: object,
) -> Ordering:
    """Return the exact order of models at every prior in a range, and where it changes.

    Parameters
    ----------
    models : mapping of str to PUScores
        PU scores from the same setting; their own priors are not used. Labeled data are rejected
        because their prior is not a free parameter.
    metric : str
        A metric with an exact curve: "accuracy", "risk", "f_beta", "ece", "average_precision", ...
    priors : (float, float), optional
        The range; by default `prior_range` of the first model.
    **options
        Options of the metric: `threshold`, `beta`, `bins` and `binning` (the bins remain those for
        the model's own prior), or for "risk" `loss`, `threshold`, `cost` and `clip`.

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
        raise InputError("metric", f"must be one of {known}", value=metric)
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
    """Return the prior interval, or by default the priors from half to twice the prior odds.

    In the one-sample setting, the range starts no lower than the labeled share allows.

    Examples
    --------
    >>> from noneg import PUScores
    >>> prior_range(PUScores([0.9], [0.8, 0.3], prior=0.5, setting="two-sample"))
    (0.3333333333333333, 0.6666666666666666)
    """
    if scores.prior_interval is not None:
        return scores.prior_interval
    prior = scores.known_prior
    return max(prior / (2.0 - prior), scores.least_prior), 2.0 * prior / (1.0 + prior)


def _check_models(
    models: Mapping[str, PUScores], priors: tuple[float, float] | None
) -> tuple[float, float]:
    if len(models) < 2:
        msg = f"must contain at least two models to rank, got {len(models)}."
        raise InputError("models", msg)
    settings = {scores.setting for scores in models.values()}
    if len(settings) > 1 or not all(scores.hidden for scores in models.values()):
        msg = (
            "must all have the same PU setting, 'two-sample' or 'one-sample', got "
            f"{' and '.join(repr(setting) for setting in sorted(settings))}."
        )
        raise InputError("models", msg)
    low, high = prior_range(next(iter(models.values()))) if priors is None else priors
    low, high = check_prior(low, "priors"), check_prior(high, "priors")
    if not low <= high:
        msg = f"must be a pair (low, high) with low <= high, got ({low:g}, {high:g})."
        raise InputError("priors", msg)
    least = max(scores.least_prior for scores in models.values())
    if low < least:
        msg = (
            f"must start at {least:.4g} or above, the smallest prior that the "
            f"labeled share allows, got ({low:g}, {high:g})."
        )
        raise InputError("priors", msg)
    return low, high


def _distinct(priors: Floats) -> Floats:
    """Return the sorted priors without duplicates up to rounding error."""
    x = np.sort(priors)
    return x[np.diff(x, prepend=-np.inf) > ROUNDING]


def _order(
    names: Sequence[str], curves: Sequence[Curve], better: Better, prior: float
) -> tuple[str, ...]:
    values = np.round([float(curve(prior)) for curve in curves], 12)
    keys = -values if better == "higher" else values
    return tuple(names[k] for k in np.argsort(keys, kind="stable"))
