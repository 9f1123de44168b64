r"""Proxies of accuracy and AUC without negatives: the PU benchmark paper, Section 3.

A criterion must rank models as their hidden quality does, from labelled positives and unlabeled
rows alone. Two do so exactly, in expectation (Props 1 and 2):

Proxy accuracy (Def. 1)
    :math:`\mathrm{PA} = 2\pi\,\mathrm{TPR} + \mu(s < t)`, which is accuracy plus the prior.
Proxy AUC (Def. 2)
    The probability that a labelled positive beats an unlabeled row, ties half. It needs no prior.

In one sample the marginal share of Def. 1 is taken over all rows, the labelled ones included. The
benchmark's published code adds the labelled positives *above* the threshold there instead of those
below, which rewards recall twice; its one-sample tables may carry that. Here
:math:`E[\mathrm{PA}] - \pi` equals the accuracy in both settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg import kernels
from noneg.checks import check_flags, check_level, check_same_length, check_setting
from noneg.intervals import area_limits
from noneg.performance.thresholds import (
    PROXY_ACCURACY,
    accuracy,
    accuracy_interval,
    at_threshold,
)
from noneg.registry import Metric, register
from noneg.results import Estimate
from noneg.rules import Curve
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting, WeightKind

    Floats = NDArray[np.float64]


def proxy_accuracy(scores: PUScores, *, threshold: float = 0.5) -> float:
    r"""Return the proxy accuracy, which is the accuracy plus the prior.

    .. math:: \mathrm{PA} = 2\pi\,\mu_+(s \ge t) + \mu(s < t)

    (PU benchmark paper, Def. 1). The marginal law is that of the unlabeled rows in two samples and
    of all rows in one sample. The published code of that paper has the wrong sign on the labelled
    positives of the second term in one sample; with the definition, as here,
    :math:`E[\mathrm{PA}] - \pi` is the accuracy in every setting.

    Parameters
    ----------
    scores : PUScores
    threshold : float
        Rows with ``s >= threshold`` are predicted positive.

    Returns
    -------
    float
        Of labelled data in [0, 2]; of PU data it may leave that range by noise.

    See Also
    --------
    noneg.performance.accuracy : the same less the prior.

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
    r"""Return the probability that a labelled positive beats an unlabeled row, ties half.

    .. math:: \mathrm{PAUC} = \frac{1}{n_P n_U} \sum_{i \in P} \sum_{j \in U}
        \Bigl(1\{s_i > s_j\} + \tfrac12\,1\{s_i = s_j\}\Bigr)

    (PU benchmark paper, Def. 2). In one sample, too, the second sum runs over the unlabeled rows
    only. With the share :math:`\beta` of positives among them,
    :math:`\mathrm{PAUC} = (1-\beta)\,\mathrm{AUC} + \beta/2`: it ranks models as their AUC does,
    and the prior is not needed. Of labelled data it is the AUC; nan when a class is empty.

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
        return _placed(scores)[0]
    return float(kernels.doubled_wins(u, p) / (2.0 * u.size * p.size))


def proxy_auc_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the proxy AUC with its interval.

    DeLong's variance: labelled positives and unlabeled rows are different rows in both PU
    settings, so the variances of the two groups' placements add. Student's interval of the
    logit. It does not depend on the prior.

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
    _, variance, rows = _placed(scores)
    low, high = (0.0, 1.0)
    if np.isfinite(variance):
        low, high = area_limits(value, variance, rows, level)
    words = "DeLong variance, logit interval"
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def placements(at: Floats, group: Floats, mass: Floats | float = 1.0) -> Floats:
    """Return the share of a group below each score, equal scores counted half.

    Parameters
    ----------
    at : ndarray
    group : ndarray
        Scores in order.
    mass : ndarray or float
        Their weights.

    Examples
    --------
    >>> placements(np.array([0.2, 0.5]), np.array([0.1, 0.2, 0.3, 0.4]))
    array([0.375, 1.   ])
    """
    below = np.concatenate([[0.0], np.cumsum(np.broadcast_to(mass, group.shape))])
    left, right = (below[np.searchsorted(group, at, side=side)] for side in _SIDES)
    share: Floats = (left + right) / (2.0 * below[-1])
    return share


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def _placed(scores: PUScores) -> tuple[float, float, float]:
    """Return the proxy AUC, DeLong's variance, and the rows of the smaller group."""
    (u, f, _, w), (p, g, a, _) = scores.in_order()
    wins = placements(p, u, f * w)
    losses = 1.0 - placements(u, p, g * a)
    value, one, n_one = _mean(wins, np.broadcast_to(g, p.shape), np.broadcast_to(a, p.shape))
    _, two, n_two = _mean(losses, np.broadcast_to(f, u.shape), np.broadcast_to(w, u.shape))
    return value, one + two, min(n_one, n_two)


def _mean(x: Floats, count: Floats, mass: Floats) -> tuple[float, float, float]:
    """Return a weighted mean, its variance (infinite for one row), and Kish's number of rows."""
    total, square = float(count @ mass), float(count @ mass**2)
    mean, rows = float((count * mass) @ x) / total, total**2 / square
    spread = float((count * mass**2) @ (x - mean) ** 2) / total**2
    return mean, spread * rows / (rows - 1.0) if rows > 1.0 else np.inf, rows


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
    """Return the accuracy where true labels exist, to hold other criteria against.

    PU benchmark paper, Def. 3: the share of right predictions among rows that have the law of the
    population, which are the unlabeled rows in two samples and all rows in one sample.

    Parameters
    ----------
    y_true : array-like
        True labels, also of unlabeled rows.
    y_score : array-like
        Scores in [0, 1].
    threshold : float
        Rows with ``s >= threshold`` are predicted positive.
    labeled : array-like, optional
        Which rows a PU data set would show as labelled positives. In two samples these are left
        out, since they are no sample of the population. By default all rows count.
    setting : {"two-sample", "one-sample"}, optional
        Needed with `labeled`.
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
    keep = _of_population(labeled, setting, np.size(y_score))
    weight = None if sample_weight is None else np.asarray(sample_weight)[keep]
    scores = PUScores.from_labels(
        np.asarray(y_true)[keep],
        np.asarray(y_score)[keep],
        sample_weight=weight,
        weight_kind=weight_kind,
        positive_label=positive_label,
    )
    return accuracy(scores, threshold=threshold)


def oracle_accuracy_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    threshold: float = 0.5,
    labeled: ArrayLike | None = None,
    setting: Setting | None = None,
) -> Estimate:
    """Return the oracle accuracy with its interval; options as in `oracle_accuracy`.

    Examples
    --------
    >>> found = oracle_accuracy_interval([0, 0, 1, 1] * 50, [0.1, 0.6, 0.7, 0.9] * 50)
    >>> 0.65 < found.low < found.value == 0.75 < found.high < 0.85
    True
    """
    keep = _of_population(labeled, setting, np.size(y_score))
    scores = PUScores.from_labels(np.asarray(y_true)[keep], np.asarray(y_score)[keep])
    return accuracy_interval(scores, level=level, threshold=threshold)


def _of_population(
    labeled: ArrayLike | None, setting: Setting | None, n: int
) -> NDArray[np.bool_] | slice:
    """Return which rows have the law of the population."""
    if labeled is None:
        return slice(None)
    flags = check_flags(labeled, "labeled", choosable=False)
    check_same_length(y_score=n, labeled=flags.size)
    if check_setting(setting) == "two-sample":
        return ~flags
    return slice(None)


register(
    Metric(
        name="proxy_auc",
        title="Proxy AUC, positives against unlabeled",
        function=proxy_auc,
        interval=proxy_auc_interval,
        needs_prior=False,
        short="Proxy AUC",
        ranks=True,
        by_prior=lambda scores: Curve.of(proxy_auc(scores)),
    )
)
