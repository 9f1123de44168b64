r"""The confusion matrix without negatives, and its metrics at a threshold.

A row with :math:`s \ge t` is predicted positive. With :math:`\mathrm{TPR} = \mu_+(s \ge t)` and
:math:`\mathrm{PPR} = \mu(s \ge t)`, the four shares of the confusion matrix are

.. math:: \mathrm{TP} = \pi\,\mathrm{TPR}, \quad \mathrm{FP} = \mathrm{PPR} - \mathrm{TP}, \quad
    \mathrm{FN} = \pi - \mathrm{TP}, \quad \mathrm{TN} = 1 - \pi - \mathrm{FP},

so every confusion-matrix metric is a function of TPR, PPR and the prior, called a `Rule`. `name`
returns the estimate; `name_interval` returns the estimate with its confidence interval, which holds
for every prior in ``scores.prior_interval``. For labeled data, the values match scikit-learn's.

Without negatives, noise or a wrong prior may move an estimate outside its range; it is not clipped.
An undefined metric, such as the precision when nothing is predicted positive, is nan, and its
interval is the whole range. `best_threshold` searches all distinct scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from noneg.checks import check_number, check_rate
from noneg.errors import InputError
from noneg.intervals import tail_means
from noneg.laws import Ordered
from noneg.losses import check_cost
from noneg.registry import Metric, register
from noneg.results import Estimate, Record, Table, plain_fields
from noneg.rules import FALSE_POSITIVE_RATE, PRECISION, Rule, check_threshold, rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(Table):
    """Shares of the confusion matrix, at one threshold (floats) or at many (arrays).

    Attributes
    ----------
    threshold : float or ndarray
        Rows with a score of at least this are predicted positive.
    tpr, fpr, ppr : float or ndarray
        Shares of predicted positives among the positives, the negatives, and all rows. Without
        negatives, the FPR is ``(PPR - pi TPR) / (1 - pi)``; noise may move it outside [0, 1], and
        it is not clipped.
    prior : float
        Share of positives.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> matrix = confusion(scores, threshold=0.7)
    >>> print(round(matrix.tp, 3), round(matrix.fp, 3), round(matrix.fn, 3), round(matrix.tn, 3))
    0.2 0.05 0.2 0.55
    """

    threshold: Floats
    tpr: Floats
    fpr: Floats
    ppr: Floats
    prior: float

    _names = ("threshold", "tpr", "fpr", "ppr", "tp", "fp", "fn", "tn")

    @property
    def tp(self) -> Floats:
        """Share of all rows that are positive and predicted positive."""
        return self.prior * self.tpr

    @property
    def fp(self) -> Floats:
        """Share of all rows that are negative but predicted positive."""
        return (1.0 - self.prior) * self.fpr

    @property
    def fn(self) -> Floats:
        """Share of all rows that are positive but predicted negative."""
        return self.prior * (1.0 - self.tpr)

    @property
    def tn(self) -> Floats:
        """Share of all rows that are negative and predicted negative."""
        return (1.0 - self.prior) * (1.0 - self.fpr)

    def to_dict(self) -> dict[str, object]:
        """Return the shares as plain numbers or lists."""
        return plain_fields(self, *self._names, "prior")


def confusion(scores: PUScores, *, threshold: float = 0.5) -> Confusion:
    """Return the confusion matrix at a threshold, as shares.

    Parameters
    ----------
    scores : PUScores
    threshold : float
        Rows with ``s >= threshold`` are predicted positive.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(confusion(scores).tpr, confusion(scores).fpr)
    0.5 0.5
    """
    t = check_threshold(threshold)
    tpr, ppr = rates(tail_means(scores, [t]))
    fpr = FALSE_POSITIVE_RATE(tpr, ppr, scores.known_prior)
    if scores.prior_is_estimated:
        tpr, fpr = np.where(scores.known_prior > 0.0, tpr, np.nan)[()], np.clip(fpr, 0.0, 1.0)
    one = cast("Floats", np.float64(t))
    return Confusion(threshold=one, tpr=tpr, fpr=fpr, ppr=ppr, prior=scores.known_prior)


def confusion_at_all(scores: PUScores) -> Confusion:
    """Return the confusion matrix at every distinct score, in decreasing order of score.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(confusion_at_all(scores).tpr)
    [0.5 0.5 1.  1. ]
    """
    return _at(Ordered(scores), slice(1, None))


def _at(steps: Ordered, place: slice | int) -> Confusion:
    """Return the confusion matrix at some of the steps."""
    prior = steps.scores.known_prior
    return Confusion(
        threshold=steps.thresholds[place],
        tpr=steps.tpr[place],
        fpr=steps.fpr(prior)[place],
        ppr=steps.ppr[place],
        prior=prior,
    )


class ThresholdMetric(Protocol):
    """A metric at a threshold with its interval."""

    def __call__(
        self,
        scores: PUScores,
        *,
        level: float = 0.95,
        threshold: float = 0.5,
        **options: Any,  # noqa: ANN401
    ) -> Estimate:
        """Return the metric with its interval."""


def at_threshold(
    function: Callable[..., float],
    title: str,
    rule: Rule | Callable[..., Rule],
    **entry: Any,  # noqa: ANN401
) -> ThresholdMetric:
    """Register a confusion-matrix metric, and return the function that adds its interval.

    Parameters
    ----------
    function : callable
        ``function(scores, threshold=0.5, **options) -> float``; its name becomes the metric's name.
    title : str
    rule : Rule, or a callable that builds it from the options
    **entry
        Other fields of `noneg.registry.Metric`, such as `better` and `citation`.
    """

    def build(**options: Any) -> Rule:  # noqa: ANN401
        return rule if isinstance(rule, Rule) else rule(**options)

    def interval(
        scores: PUScores,
        *,
        level: float = 0.95,
        threshold: float = 0.5,
        **options: Any,  # noqa: ANN401
    ) -> Estimate:
        """Return `{name}` with its interval, from binomial intervals for its shares.

        Parameters
        ----------
        scores : PUScores
            If they have a ``prior_interval``, the result holds for every prior in it.
        level : float
            Nominal coverage.
        threshold : float
            Rows with ``s >= threshold`` are predicted positive.
        **options
            Other options of `{name}`.

        Examples
        --------
        >>> from noneg import PUScores
        >>> from noneg.performance import {name}_interval
        >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.7, 0.9] * 50)
        >>> found = {name}_interval(scores)
        >>> found.low <= found.value <= found.high
        True
        """
        return build(**options).interval(scores, threshold, level)

    name = function.__name__
    interval.__name__ = interval.__qualname__ = f"{name}_interval"
    interval.__module__ = function.__module__
    interval.__doc__ = (interval.__doc__ or "").format(name=name)
    usual = build()
    entry |= {"title": title, "range": (usual.low, usual.high), "needs_prior": not usual.is_free}
    register(Metric(name=name, function=function, interval=interval, rule=build, **entry))
    return interval


def f_beta_rule(beta: object = 1.0) -> Rule:
    """Return the F-measure that weights recall `beta` times as much as precision."""
    b2 = _check_beta(beta, "beta") ** 2
    return Rule(lambda t, p: (0.0, (1.0 + b2) * t, p, b2))


def _check_beta(beta: object, name: str) -> float:
    rule = "a weight of recall of at least 0, such as 1"
    return check_number(beta, name, rule, lambda x: x >= 0.0)


ACCURACY = Rule(lambda t, p: (1.0 - p, 2.0 * t - 1.0, 1.0, 0.0))

BALANCED_ACCURACY = Rule(lambda t, p: (1.0 + t - p, -1.0, 2.0, -2.0))

RECALL = Rule(lambda t, _: (t, 0.0, 1.0, 0.0))

SPECIFICITY = Rule(lambda t, p: (1.0 - p, t - 1.0, 1.0, -1.0))

NPV = Rule(lambda t, p: (1.0 - p, t - 1.0, 1.0 - p, 0.0))

MCC = Rule(lambda t, p: (t - p, 0.0, 1.0, 0.0), low=-1.0, by_odds=True)

KAPPA = Rule(lambda t, p: (0.0, 2.0 * (t - p), p, 1.0 - 2.0 * p), low=-1.0)

PROXY_ACCURACY = Rule(lambda t, p: (1.0 - p, 2.0 * t, 1.0, 0.0), high=2.0)


def accuracy(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the accuracy, :math:`1 - \pi - \mathrm{PPR} + 2\pi\,\mathrm{TPR}`.

    du Plessis et al. (2014); the proxy accuracy of the PU benchmark paper (Def. 1) minus the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(accuracy(scores, threshold=0.7), 3)
    0.75
    """
    return ACCURACY.value(scores, threshold)


def balanced_accuracy(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the mean of recall and specificity, :math:`(\mathrm{TPR} + 1 - \mathrm{FPR})/2`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9])
    >>> balanced_accuracy(scores)
    0.75
    """
    return BALANCED_ACCURACY.value(scores, threshold)


def precision(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of positives among predicted ones, :math:`\pi\,\mathrm{TPR}/\mathrm{PPR}`.

    It is nan when no row of the marginal sample is predicted positive.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(precision(scores, threshold=0.7), 3)
    0.8
    """
    return PRECISION.value(scores, threshold)


def recall(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of positives that are predicted positive, :math:`\mu_+(s \ge t)`.

    Only the labeled positives are used, not the prior or the unlabeled rows.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> recall(scores, threshold=0.7)
    0.5
    """
    return RECALL.value(scores, threshold)


def specificity(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of negatives that are predicted negative, :math:`1 - \mathrm{FPR}`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> specificity(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9]))
    0.5
    """
    return SPECIFICITY.value(scores, threshold)


def false_positive_rate(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of negatives predicted positive.

    .. math:: \mathrm{FPR} = (\mathrm{PPR} - \pi\,\mathrm{TPR}) / (1 - \pi)

    A negative value is due to noise or indicates that the prior is too large.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(false_positive_rate(scores, threshold=0.7), 4)
    0.0833
    """
    return FALSE_POSITIVE_RATE.value(scores, threshold)


def npv(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of negatives among the rows predicted negative.

    .. math:: 1 - \pi\,(1 - \mathrm{TPR}) / (1 - \mathrm{PPR})

    It is nan when every row is predicted positive.

    Examples
    --------
    >>> from noneg import PUScores
    >>> npv(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]))
    0.5
    """
    return NPV.value(scores, threshold)


def f_beta(scores: PUScores, *, beta: float = 1.0, threshold: float = 0.5) -> float:
    r"""Return the weighted harmonic mean of precision and recall.

    .. math:: F_\beta = \frac{(1+\beta^2)\,\pi\,\mathrm{TPR}}{\mathrm{PPR} + \beta^2\pi}

    With beta = 0 it is the precision.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(f_beta(scores, threshold=0.7), 4)
    0.6154
    """
    return f_beta_rule(beta).value(scores, threshold)


def mcc(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the Matthews correlation between labels and predictions.

    .. math:: \frac{\pi\,(\mathrm{TPR} - \mathrm{PPR})}
        {\sqrt{\pi(1-\pi)\,\mathrm{PPR}\,(1-\mathrm{PPR})}}

    It is nan when all rows have the same prediction.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(mcc(scores, threshold=0.7), 4)
    0.4714
    """
    return MCC.value(scores, threshold)


def cohen_kappa(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return Cohen's kappa, the agreement between labels and predictions beyond chance.

    .. math:: \frac{2\pi\,(\mathrm{TPR} - \mathrm{PPR})}{\pi + \mathrm{PPR} - 2\pi\,\mathrm{PPR}}

    Examples
    --------
    >>> from noneg import PUScores
    >>> cohen_kappa(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9]))
    0.5
    """
    return KAPPA.value(scores, threshold)


accuracy_interval = at_threshold(accuracy, "Accuracy at 0.5", ACCURACY)

balanced_accuracy_interval = at_threshold(
    balanced_accuracy, "Balanced accuracy at 0.5", BALANCED_ACCURACY
)

precision_interval = at_threshold(precision, "Precision at 0.5", PRECISION)

recall_interval = at_threshold(recall, "Recall at 0.5", RECALL)

specificity_interval = at_threshold(specificity, "Specificity at 0.5", SPECIFICITY)

false_positive_rate_interval = at_threshold(
    false_positive_rate, "False positive rate at 0.5", FALSE_POSITIVE_RATE, better="lower"
)

npv_interval = at_threshold(npv, "Negative predictive value at 0.5", NPV)

f_beta_interval = at_threshold(f_beta, "F1 at 0.5", f_beta_rule)

mcc_interval = at_threshold(mcc, "Matthews correlation at 0.5", MCC, citation="Matthews (1975)")

cohen_kappa_interval = at_threshold(
    cohen_kappa, "Cohen's kappa at 0.5", KAPPA, citation="Cohen (1960)"
)


# A desired rate counts as reached up to this rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class BestThreshold(Record):
    """A threshold and the value it achieves.

    Attributes
    ----------
    threshold : float
        Rows with at least this score are predicted positive; infinite if it is best never to
        predict positive.
    value : float
        The value achieved: expected cost per row, F-measure, precision or recall.
    criterion : str
        The criterion requested.
    confusion : Confusion
        The confusion matrix at the threshold.
    """

    threshold: float
    value: float
    criterion: str
    confusion: Confusion

    def __str__(self) -> str:
        names = ("tp", "fp", "fn", "tn")
        shares = ", ".join(f"{name} {getattr(self.confusion, name):.3f}" for name in names)
        return f"{self.threshold:.4g} for {self.criterion}: {self.value:.4g} ({shares})"


def best_threshold(
    scores: PUScores,
    *,
    cost: ArrayLike | None = None,
    f_beta: float | None = None,
    precision: float | None = None,
    recall: float | None = None,
) -> BestThreshold:
    r"""Return the exact best threshold for one criterion over all distinct scores.

    Parameters
    ----------
    scores : PUScores
    cost : array-like, optional
        Find the smallest expected cost. Either the pair (cost of a false positive, cost of a false
        negative), or the matrix ``[[tn, fp], [fn, tp]]``. Never predicting positive is considered.
    f_beta : float, optional
        Find the largest F-measure for this beta.
    precision : float, optional
        Find the smallest threshold with at least this precision, which finds the most positives at
        the desired precision.
    recall : float, optional
        Find the largest threshold whose recall is at least this.

    Returns
    -------
    BestThreshold
        The largest of several equally good thresholds. The value is computed on the same data that
        the threshold was chosen on; estimate it again on held-out data.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> best_threshold(scores, f_beta=1).threshold, best_threshold(scores, recall=0.5).threshold
    (0.4, 0.9)
    """
    wanted = {"cost": cost, "f_beta": f_beta, "precision": precision, "recall": recall}
    given = [name for name, value in wanted.items() if value is not None]
    if len(given) != 1:
        msg = (
            f"give exactly one of 'cost', 'f_beta', 'precision' and 'recall', got "
            f"{', '.join(given) or 'none'}."
        )
        raise ValueError(msg)
    steps, prior = Ordered(scores), scores.known_prior
    if cost is not None:
        values = _expected_cost(steps, prior, check_cost(cost))
        k, criterion = int(np.argmin(values)), "smallest expected cost"
    elif f_beta is not None:
        beta = _check_beta(f_beta, "f_beta")
        values = f_beta_rule(beta)(steps.tpr, steps.ppr, prior)
        k, criterion = _largest(values), f"largest F with beta {f_beta:g}"
    elif precision is not None:
        values = PRECISION(steps.tpr, steps.ppr, prior)
        k, criterion = (
            _reach(values, precision, "precision")[-1],
            f"precision at least {precision:g}",
        )
    else:
        values = RECALL(steps.tpr, steps.ppr, prior)
        k, criterion = _reach(values, recall, "recall")[0], f"recall at least {recall:g}"
    return BestThreshold(
        threshold=float(steps.thresholds[k]),
        value=float(values[k]),
        criterion=criterion,
        confusion=_at(steps, k),
    )


def _expected_cost(steps: Ordered, prior: float, cost: Floats) -> Floats:
    (tn, fp), (fn, tp) = cost
    tpr, fpr = np.nan_to_num(steps.tpr), np.nan_to_num(steps.fpr(prior))
    positive = prior * (fn + (tp - fn) * tpr)
    total: Floats = positive + (1.0 - prior) * (tn + (fp - tn) * fpr)
    return total


def _largest(values: Floats) -> int:
    if np.isnan(values[1:]).all():
        raise InputError("scores", "must contain a positive for this criterion, got none.")
    return 1 + int(np.nanargmax(values[1:]))


def _reach(values: Floats, wanted: object, name: str) -> list[int]:
    """Return the steps at which a desired rate is reached, in decreasing order of threshold."""
    rate = check_rate(wanted, name)
    best = values[_largest(values)]
    places: list[int] = (1 + np.flatnonzero(values[1:] >= rate - ROUNDING)).tolist()
    if not places:
        rule = (
            f"must be attainable: the largest {name} at any threshold is {best:.6g}, got {rate:g}"
        )
        raise InputError(name, rule, remedy="Choose a smaller value.")
    return places
