r"""The confusion matrix without negatives: what TPR, PPR and the prior say at a threshold.

A row with :math:`s \ge t` is predicted positive. With :math:`\mathrm{TPR} = \mu_+(s \ge t)` and
:math:`\mathrm{PPR} = \mu(s \ge t)` the four shares of the confusion matrix are

.. math:: \mathrm{TP} = \pi\,\mathrm{TPR}, \quad \mathrm{FP} = \mathrm{PPR} - \mathrm{TP}, \quad
    \mathrm{FN} = \pi - \mathrm{TP}, \quad \mathrm{TN} = 1 - \pi - \mathrm{FP},

so every metric of the matrix is a function :math:`h(\mathrm{TPR}, \mathrm{PPR}, \pi)`, written
once (`Rule`) and evaluated, with its interval, in every setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from noneg.calibration.interval import prior_words
from noneg.checks import check_level, check_number
from noneg.functionals import tail_means
from noneg.performance.intervals import Shares, over_priors
from noneg.performance.steps import Steps
from noneg.results import Estimate, to_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.functionals import LawMeans
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

METHOD = "recovered variances of Wilson intervals"


@dataclass(frozen=True, eq=False)
class Confusion:
    """Shares of the confusion matrix, at one threshold (floats) or at many (arrays).

    Attributes
    ----------
    threshold : float or ndarray
        Rows with a score of at least this are predicted positive.
    tpr, fpr, ppr : float or ndarray
        Predicted positives among the positives, the negatives, and all. Without negatives the FPR
        is ``(PPR - pi TPR) / (1 - pi)``; noise may take it out of [0, 1] and it is not clipped.
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

    @property
    def tp(self) -> Floats:
        """Share of all rows that are positive and predicted so."""
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
        """Share of all rows that are negative and predicted so."""
        return (1.0 - self.prior) * (1.0 - self.fpr)

    def columns(self) -> dict[str, Floats]:
        """Return the table, a column a name."""
        names = ("threshold", "tpr", "fpr", "ppr", "tp", "fp", "fn", "tn")
        return {name: np.atleast_1d(getattr(self, name)) for name in names}

    def to_dict(self) -> dict[str, object]:
        """Return the shares as plain numbers or lists."""
        names = ("threshold", "tpr", "fpr", "ppr", "tp", "fp", "fn", "tn")
        table: dict[str, object] = {
            name: np.asarray(getattr(self, name)).tolist() for name in names
        }
        return table | {"prior": self.prior}

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


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
    fpr = false_positive_share(tpr, ppr, scores.prior)
    if is_bounded(scores):
        tpr, fpr = np.where(scores.prior > 0.0, tpr, np.nan)[()], np.clip(fpr, 0.0, 1.0)
    one = cast("Floats", np.float64(t))
    return Confusion(threshold=one, tpr=tpr, fpr=fpr, ppr=ppr, prior=scores.prior)


def confusion_at_all(scores: PUScores) -> Confusion:
    """Return the confusion matrix at every distinct score, falling: one sort, then one merge.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(confusion_at_all(scores).tpr)
    [0.5 0.5 1.  1. ]
    """
    steps = Steps(scores)
    return Confusion(
        threshold=steps.thresholds[1:],
        tpr=steps.tpr[1:],
        fpr=steps.fpr(scores.prior)[1:],
        ppr=steps.ppr[1:],
        prior=scores.prior,
    )


def check_threshold(threshold: object) -> float:
    """Return a threshold."""
    return check_number(threshold, "threshold", "a number; scores from it on count as positive")


def false_positive_share(tpr: Floats, ppr: Floats, prior: Floats | float) -> Floats:
    """Return ``(PPR - pi TPR) / (1 - pi)``, nan when there are no negatives."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (ppr - prior * tpr) / np.subtract(1.0, prior)
    return np.where(np.isfinite(share), share, np.nan)[()]


def rates(means: LawMeans) -> tuple[Floats, Floats]:
    """Return TPR (0 without positives) and PPR at the one threshold of these means."""
    return means.positive[0], means.marginal[0]


@dataclass(frozen=True, eq=False)
class Rule:
    """A metric of the confusion matrix.

    Attributes
    ----------
    function : callable
        ``h(tpr, ppr, prior)``, elementwise; nan where the metric is undefined.
    low, high : float
        Its range.
    """

    function: Callable[[Floats, Floats, Floats], Floats]
    low: float = 0.0
    high: float = 1.0

    def __call__(self, tpr: Floats, ppr: Floats, prior: Floats | float) -> Floats:
        """Return the metric, nan where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.function(tpr, ppr, np.asarray(prior))
        return np.where(np.isfinite(value), value, np.nan)[()]

    def value(self, scores: PUScores, threshold: float) -> float:
        """Return the metric at a threshold."""
        return self._value(scores, tail_means(scores, [check_threshold(threshold)]))

    def _value(self, scores: PUScores, means: LawMeans) -> float:
        return self._within(float(self(*rates(means), scores.prior)), scores)

    def interval(self, scores: PUScores, threshold: float, level: float) -> Estimate:
        """Return the metric at a threshold with its interval (see `noneg.performance.intervals`).

        With labelled data it is made of TPR, FPR and the prior, which are uncorrelated, and stays
        in the metric's range. With PU data it is made of TPR and PPR and, like the estimate, not
        clipped. It holds for every prior in ``scores.prior_interval``.
        """
        level = check_level(level)
        means = tail_means(scores, [check_threshold(threshold)])
        value, low, high = self._value(scores, means), self.low, self.high
        if not np.isnan(value):
            low, high = self.limits(scores, means, level)
        words = METHOD + prior_words(scores)
        return Estimate(value=value, low=low, high=high, level=level, method=words)

    def _within(self, value: float, scores: PUScores) -> float:
        return float(np.clip(value, self.low, self.high)) if is_bounded(scores) else value

    def limits(self, scores: PUScores, means: LawMeans, level: float) -> tuple[float, float]:
        """Return the ends of the interval at the threshold of these means."""
        if scores.setting == "labelled":
            low, high = labelled_shares(scores, means, level).limits(self._of_labelled)
            return self._within(float(low), scores), self._within(float(high), scores)
        shares = pu_shares(scores, means, level)
        priors = scores.prior_interval or (scores.prior, scores.prior)

        def limits(grid: Floats) -> tuple[Floats, Floats]:
            return shares.limits(lambda x: self(x[..., 0], x[..., 1], grid))

        return over_priors(limits, priors)

    def _of_labelled(self, x: Floats) -> Floats:
        """Return the metric of shares (TPR, FPR, prior), shape (..., 3)."""
        tpr, fpr, prior = np.moveaxis(x, -1, 0)
        return self(tpr, prior * tpr + (1.0 - prior) * fpr, prior)


def is_bounded(scores: PUScores) -> bool:
    """Whether estimates cannot leave the range of what they estimate."""
    return scores.setting == "labelled"


def pu_shares(scores: PUScores, means: LawMeans, level: float) -> Shares:
    """Return TPR and PPR with their limits and correlation."""
    value = np.concatenate([means.positive, means.marginal])
    rows = np.array([scores.effective_positive, scores.effective_marginal])
    return Shares.build(value, means.covariance[:-1, :-1], rows, level)


def labelled_shares(scores: PUScores, means: LawMeans, level: float) -> Shares:
    """Return TPR, FPR and prior with their limits and correlation (zero but for weights)."""
    (tpr, ppr), prior, n = rates(means), means.prior, scores.effective_marginal
    fpr, change = 0.0, np.eye(3)
    if prior < 1.0:
        fpr = float(np.clip(false_positive_share(tpr, ppr, prior), 0.0, 1.0))
        change[1] = np.array([-prior, 1.0, fpr - tpr]) / (1.0 - prior)
    rows = np.array([scores.effective_positive, n * (1.0 - prior), n])
    covariance = change @ means.covariance @ change.T
    return Shares.build(np.array([tpr, fpr, prior]), covariance, rows, level)
