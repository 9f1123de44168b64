r"""Loss functions of a score s in [0, 1] and a label, and expected losses without negatives.

The expected loss

.. math:: R = \pi\,E_+[\ell(s, 1) - \ell(s, 0)] + E[\ell(s, 0)]

needs only positives and marginal rows. It is linear in the prior, and unbiased.

Margin losses act on the logit :math:`z = \log(s/(1-s))`, the output of a network before its
sigmoid, with the sign :math:`y = \pm 1` of the label:

====================  =====================================  =====================================
name                  positive                               negative
====================  =====================================  =====================================
``zero-one``          1 if :math:`s < t`                     1 if :math:`s \ge t`
``cost-sensitive``    cost of the prediction at t            cost of the prediction at t
``brier``             :math:`(1-s)^2`                        :math:`s^2`
``log``, ``logistic`` :math:`-\log s`                        :math:`-\log(1-s)`
``hinge``             :math:`\max(0, 1-z)`                   :math:`\max(0, 1+z)`
``sigmoid``           :math:`1/(1+e^z) = 1-s`                :math:`1/(1+e^{-z}) = s`
====================  =====================================  =====================================

The logistic loss of the logit is the log loss of the score; both names are available. Before a
logarithm is taken, scores are clipped to [clip, 1 - clip].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import logit

from noneg.arrays import Floats
from noneg.checks import check_number
from noneg.errors import InputError
from noneg.intervals import law_means, skewed_limits, with_unseen
from noneg.laws import row_shares
from noneg.rules import Curve, check_threshold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.intervals import LawMeans, Limits
    from noneg.scores import PUScores

Loss: TypeAlias = Callable[[Floats, int], Floats]
Name = Literal["zero-one", "cost-sensitive", "brier", "log", "hinge", "sigmoid", "logistic"]

DECISIONS = ("zero-one", "cost-sensitive")
# The distance from 0 and 1 that scikit-learn uses for double precision.
CLIP = float(np.finfo(np.float64).eps)


def check_cost(cost: ArrayLike) -> Floats:
    """Return the matrix ``[[tn, fp], [fn, tp]]``; a pair means (fp, fn).

    Examples
    --------
    >>> check_cost((1, 5))
    array([[0., 1.],
           [5., 0.]])
    """
    rule = "a pair (false positive, false negative) or a matrix [[tn, fp], [fn, tp]] of numbers"
    try:
        c = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        c = np.empty(0)
    if c.shape not in {(2,), (2, 2)} or not np.isfinite(c).all():
        raise InputError("cost", f"must be {rule}", value=cost)
    return np.array([[0.0, c[0]], [c[1], 0.0]]) if c.ndim == 1 else c


def cost_threshold(cost: Floats) -> float:
    """Return the optimal threshold for calibrated scores at these costs."""
    (tn, fp), (fn, tp) = cost
    if not (fp > tn and fn > tp):
        msg = (
            "must make both mistakes more costly than the correct predictions for "
            f"the default threshold, got {cost.tolist()}. Pass threshold."
        )
        raise InputError("cost", msg)
    return float((fp - tn) / (fp - tn + fn - tp))


def decision(loss: Name, threshold: float | None, cost: ArrayLike) -> tuple[Floats, float]:
    """Return the cost matrix and the threshold of a loss in `DECISIONS`."""
    matrix = check_cost((1.0, 1.0) if loss == "zero-one" else cost)
    return matrix, cost_threshold(matrix) if threshold is None else check_threshold(threshold)


def find_loss(
    loss: Name | Loss = "zero-one",
    *,
    threshold: float | None = None,
    cost: ArrayLike = (1.0, 1.0),
    clip: float = CLIP,
) -> Loss:
    """Return the loss with this name, or the given function itself."""
    if callable(loss):
        return loss
    if loss in DECISIONS:
        matrix, cut = decision(loss, threshold, cost)
        return partial(_cost, matrix=matrix, threshold=cut)
    smooth = {"brier": _brier, "sigmoid": _sigmoid}
    if loss in smooth:
        return smooth[loss]
    clipped = {"log": _log, "logistic": _log, "hinge": _hinge}
    if loss not in clipped:
        names = ", ".join((*DECISIONS, *smooth, *clipped))
        msg = f"must be one of {names}, or a function of score and label, got {loss!r}."
        raise InputError("loss", msg)
    return partial(clipped[loss], clip=check_clip(clip))


def check_clip(clip: object) -> float:
    """Return the distance that scores are kept from 0 and 1, checked."""
    rule = "a small number in (0, 0.5) that keeps scores away from 0 and 1"
    return check_number(clip, "clip", rule, lambda x: 0.0 < 2.0 * x < 1.0)


def _cost(s: Floats, label: int, *, matrix: Floats, threshold: float) -> Floats:
    return np.where(s >= threshold, matrix[label, 1], matrix[label, 0])


def _brier(s: Floats, label: int) -> Floats:
    return (s - label) ** 2


def _sigmoid(s: Floats, label: int) -> Floats:
    return np.abs(s - label)


def _log(s: Floats, label: int, *, clip: float) -> Floats:
    inside = np.clip(s, clip, 1.0 - clip)
    return -np.log(inside if label else 1.0 - inside)


def _hinge(s: Floats, label: int, *, clip: float) -> Floats:
    z: Floats = logit(np.clip(s, clip, 1.0 - clip))
    return np.maximum(0.0, 1.0 - z if label else 1.0 + z)


def loss_means(scores: PUScores, loss: Loss) -> LawMeans:
    """Return the two means that determine an expected loss."""
    return law_means(scores, [lambda s: loss(s, 1) - loss(s, 0)], [lambda s: loss(s, 0)])


def loss_value(means: LawMeans, prior: float) -> float:
    """Return the expected loss at a prior from its two means."""
    return float(prior * means.positive[0] + means.marginal[0])


class LossSums(NamedTuple):
    """What determines the interval of an expected loss at any prior.

    Attributes
    ----------
    means : LawMeans
        Those of `loss_means`, with a variance for the positives that is safe in small samples.
    third : ndarray
        Third cumulant of the expected loss, as polynomial coefficients in the prior.
    gap : float
        Mean of ``loss(s, 1) - loss(s, 0)`` over all rows, minus that over positives; 0 for labeled
        data. If the positives had the scores of negatives, the expected loss would be larger by
        this times the prior odds.
    """

    means: LawMeans
    third: Floats
    gap: float

    @classmethod
    def of(cls, scores: PUScores, loss: Loss, means: LawMeans) -> Self:
        """Return the sums over all rows, given the means of `loss_means`."""
        means, gap = _guarded(scores, loss, means) if scores.hidden else (means, 0.0)
        return cls(means, _third(scores, loss, means), gap)


def _guarded(scores: PUScores, loss: Loss, means: LawMeans) -> tuple[LawMeans, float]:
    """Return the means with a safe variance for the positives, and the gap of `LossSums`.

    A few positives may dominate, and a sample without them looks safe. If the scores were
    calibrated, the positives would be distributed like the marginal rows weighted by their scores;
    if the variance under that distribution is larger than in the sample, it is used. Propensities
    that fall with the score make rows that the sample lacks heavier (`row_shares`).
    """

    def gain(s: Floats) -> Floats:
        return loss(s, 1) - loss(s, 0)

    weight, rows = row_shares(scores), scores.effective_positive
    among_all, mass, first, level, slope, square = law_means(
        scores,
        (),
        [
            gain,
            lambda s: s,
            lambda s: s * gain(s),
            lambda s: s * weight(s),
            lambda s: s * weight(s) * gain(s),
            lambda s: s * weight(s) * gain(s) ** 2,
        ],
    ).marginal
    # A variance around a fitted mean.
    covariance = means.covariance * (rows / (rows - 1.0) if rows > 1.0 else 1.0)
    if mass > 0.0:
        mean = first / mass
        spread = max(square - 2.0 * mean * slope + mean**2 * level, 0.0) / mass
        covariance[0, 0] = max(covariance[0, 0], spread)
    return replace(means, covariance=covariance), float(among_all - means.positive[0])


def _third(scores: PUScores, loss: Loss, means: LawMeans) -> Floats:
    total = scores.sums_below(np.ones(1))[0]
    found = np.zeros(4)
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        gain, base = np.zeros((2, s.size))
        if in_positive:
            gain = a * (loss(s, 1) - loss(s, 0) - means.positive[0]) / total[0]
        if in_marginal:
            base = w * (loss(s, 0) - means.marginal[0]) / total[1]
        # Products are many times faster than the third power.
        terms = base * base**2, 3.0 * base**2 * gain, 3.0 * base * gain**2, gain * gain**2
        found += [float(np.sum(f * term)) for term in terms]
    return found


def loss_limits(
    scores: PUScores, loss: Loss, level: float, means: LawMeans
) -> Callable[[float], Limits]:
    """Return a function that maps a prior to the interval of an expected loss.

    The means are those of `loss_means`. Labeled rows have a normal interval. For PU rows, a few
    badly misjudged positives dominate, so the interval accounts for their skewness, uses Student's
    quantile for their number (`noneg.intervals.skewed_limits`), and allows for positives that score
    like negatives but are missing from the sample (`noneg.intervals.with_unseen`).
    """
    if scores.prior_is_estimated:
        slopes = [scores.known_prior, 1.0, means.positive[0]]
        one = means.estimate(loss_value(means, scores.known_prior), slopes, level)
        return lambda _: (one.low, one.high)
    means, third, gap = LossSums.of(scores, loss, means)
    rows = scores.effective_positive

    def limits(prior: float) -> Limits:
        value, variance = loss_value(means, prior), means.variance([prior, 1.0, 0.0])
        skew = float(np.polyval(third[::-1], prior))
        ends = skewed_limits(value, variance, skew, rows, level)
        odds = prior / (1.0 - prior) if prior < 1.0 else 0.0
        return with_unseen(value, ends, value + odds * gap, rows, level)

    return limits


def loss_method(scores: PUScores) -> str:
    """Return a description of the interval of an expected loss."""
    if scores.prior_is_estimated:
        return "delta method"
    return "Student interval corrected for skewness"


def loss_curve(scores: PUScores, loss: Loss) -> Curve:
    """Return an expected loss as a function of the prior, which is linear."""
    means = loss_means(scores, loss)
    return Curve.of(float(means.marginal[0]), float(means.positive[0]))
