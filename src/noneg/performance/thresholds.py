"""Metrics at a threshold: a row with ``s >= threshold`` is predicted positive.

Each metric is a function of TPR, PPR and the prior, so positives and unlabeled rows are enough.
`name` returns the estimate, `name_interval` the estimate with its confidence interval, which holds
for every prior in ``scores.prior_interval``. On labelled data the values are scikit-learn's.

Without negatives an estimate may leave its range by noise or because of a wrong prior; it is
reported as it is. A metric that is undefined (the precision when nothing is predicted positive) is
nan, and its interval the whole range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_number
from noneg.performance.confusion import Rule, false_positive_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.results import Estimate
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


def _recall(tpr: Floats, _ppr: Floats, prior: Floats) -> Floats:
    return np.where(prior > 0.0, tpr, np.nan)


def _precision(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return prior * tpr / ppr


def _npv(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return 1.0 - prior * (1.0 - tpr) / (1.0 - ppr)


def _accuracy(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return 1.0 - prior - ppr + 2.0 * prior * tpr


def _balanced_accuracy(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return (_recall(tpr, ppr, prior) + _specificity(tpr, ppr, prior)) / 2.0


def _specificity(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return 1.0 - false_positive_share(tpr, ppr, prior)


def _mcc(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return prior * (tpr - ppr) / np.sqrt(prior * (1.0 - prior) * ppr * (1.0 - ppr))


def _kappa(tpr: Floats, ppr: Floats, prior: Floats) -> Floats:
    return 2.0 * prior * (tpr - ppr) / (prior + ppr - 2.0 * prior * ppr)


def f_beta_rule(beta: object) -> Rule:
    """Return the F-measure that weighs recall `beta` times as much as precision."""
    rule = "a weight of recall, at least 0, such as 1"
    number = check_number(beta, "beta", rule)
    if number < 0.0:
        raise ValueError(f"'beta' must be {rule}, got {beta!r}.")
    b2 = number**2
    return Rule(lambda tpr, ppr, prior: (1.0 + b2) * prior * tpr / (ppr + b2 * prior))


ACCURACY = Rule(_accuracy)
BALANCED_ACCURACY = Rule(_balanced_accuracy)
PRECISION = Rule(_precision)
RECALL = Rule(_recall)
SPECIFICITY = Rule(_specificity)
FALSE_POSITIVE_RATE = Rule(false_positive_share)
NPV = Rule(_npv)
MCC = Rule(_mcc, low=-1.0)
KAPPA = Rule(_kappa, low=-1.0)


def accuracy(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of right predictions, :math:`1 - \pi - \mathrm{PPR} + 2\pi\,\mathrm{TPR}`.

    du Plessis et al. (2014); the proxy accuracy of the PU benchmark paper (Def. 1) minus the prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(accuracy(scores, threshold=0.7), 3)
    0.75
    """
    return ACCURACY.value(scores, threshold)


def accuracy_interval(scores: PUScores, *, level: float = 0.95, threshold: float = 0.5) -> Estimate:
    """Return the accuracy with its interval.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.7, 0.9] * 50)
    >>> print(accuracy_interval(scores))
    0.7500 [0.6881, 0.8091]
    """
    return ACCURACY.interval(scores, threshold, level)


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


def balanced_accuracy_interval(
    scores: PUScores, *, level: float = 0.95, threshold: float = 0.5
) -> Estimate:
    """Return the balanced accuracy with its interval; see `accuracy_interval`."""
    return BALANCED_ACCURACY.interval(scores, threshold, level)


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


def precision_interval(
    scores: PUScores, *, level: float = 0.95, threshold: float = 0.5
) -> Estimate:
    """Return the precision with its interval; see `accuracy_interval`."""
    return PRECISION.interval(scores, threshold, level)


def recall(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of positives that are predicted so, :math:`\mu_+(s \ge t)`.

    The labelled positives suffice; neither the prior nor the unlabeled rows enter.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> recall(scores, threshold=0.7)
    0.5
    """
    return RECALL.value(scores, threshold)


def recall_interval(scores: PUScores, *, level: float = 0.95, threshold: float = 0.5) -> Estimate:
    """Return the recall with its interval, Wilson's; see `accuracy_interval`."""
    return RECALL.interval(scores, threshold, level)


def specificity(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of negatives that are predicted so, :math:`1 - \mathrm{FPR}`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> specificity(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9]))
    0.5
    """
    return SPECIFICITY.value(scores, threshold)


def specificity_interval(
    scores: PUScores, *, level: float = 0.95, threshold: float = 0.5
) -> Estimate:
    """Return the specificity with its interval; see `accuracy_interval`."""
    return SPECIFICITY.interval(scores, threshold, level)


def false_positive_rate(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the share of negatives predicted positive.

    .. math:: \mathrm{FPR} = (\mathrm{PPR} - \pi\,\mathrm{TPR}) / (1 - \pi)

    A negative value is noise, or a sign of too large a prior.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(false_positive_rate(scores, threshold=0.7), 4)
    0.0833
    """
    return FALSE_POSITIVE_RATE.value(scores, threshold)


def false_positive_rate_interval(
    scores: PUScores, *, level: float = 0.95, threshold: float = 0.5
) -> Estimate:
    """Return the false-positive rate with its interval; see `accuracy_interval`."""
    return FALSE_POSITIVE_RATE.interval(scores, threshold, level)


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


def npv_interval(scores: PUScores, *, level: float = 0.95, threshold: float = 0.5) -> Estimate:
    """Return the negative predictive value with its interval; see `accuracy_interval`."""
    return NPV.interval(scores, threshold, level)


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


def f_beta_interval(
    scores: PUScores, *, level: float = 0.95, beta: float = 1.0, threshold: float = 0.5
) -> Estimate:
    """Return the F-measure with its interval; see `accuracy_interval`."""
    return f_beta_rule(beta).interval(scores, threshold, level)


def mcc(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return Matthews' correlation of labels and predictions.

    .. math:: \frac{\pi\,(\mathrm{TPR} - \mathrm{PPR})}
        {\sqrt{\pi(1-\pi)\,\mathrm{PPR}\,(1-\mathrm{PPR})}}

    It is nan when all rows get the same prediction.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(mcc(scores, threshold=0.7), 4)
    0.4714
    """
    return MCC.value(scores, threshold)


def mcc_interval(scores: PUScores, *, level: float = 0.95, threshold: float = 0.5) -> Estimate:
    """Return Matthews' correlation with its interval; see `accuracy_interval`."""
    return MCC.interval(scores, threshold, level)


def cohen_kappa(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return Cohen's kappa, the agreement of labels and predictions beyond chance.

    .. math:: \frac{2\pi\,(\mathrm{TPR} - \mathrm{PPR})}{\pi + \mathrm{PPR} - 2\pi\,\mathrm{PPR}}

    Examples
    --------
    >>> from noneg import PUScores
    >>> cohen_kappa(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9]))
    0.5
    """
    return KAPPA.value(scores, threshold)


def cohen_kappa_interval(
    scores: PUScores, *, level: float = 0.95, threshold: float = 0.5
) -> Estimate:
    """Return Cohen's kappa with its interval; see `accuracy_interval`."""
    return KAPPA.interval(scores, threshold, level)
