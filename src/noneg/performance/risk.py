r"""The expected loss of a classifier without negatives.

.. math:: R = \pi\,E_+[\ell(s,1) - \ell(s,0)] + E[\ell(s,0)]

(PU-ECE paper, Eq. 2; benchmark paper, Eq. 7; du Plessis et al. 2015). The estimate is unbiased but
may be negative, since the contribution of the negatives,
:math:`E[\ell(s,0)] - \pi E_+[\ell(s,0)]`, is a difference. The non-negative form replaces this term
with 0 when it is negative (Kiryo et al. 2017).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal

from noneg.checks import check_level
from noneg.errors import InputError
from noneg.intervals import LawMeans, estimated, law_means, no_spread, over_prior_grid, tail_means
from noneg.losses import (
    CLIP,
    DECISIONS,
    check_cost,
    decision,
    find_loss,
    loss_limits,
    loss_means,
    loss_method,
)
from noneg.registry import interval_of
from noneg.rules import METHOD, Four, Rule
from noneg.selection import is_selected, loss_bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.losses import Loss, Name
    from noneg.results import Estimate
    from noneg.scores import PUScores

Form = Literal["unbiased", "non-negative"]


def risk(
    scores: PUScores,
    loss: Name | Loss = "zero-one",
    *,
    form: Form = "unbiased",
    threshold: float | None = None,
    cost: ArrayLike = (1.0, 1.0),
    clip: float = CLIP,
) -> float:
    r"""Return the expected loss.

    Parameters
    ----------
    scores : PUScores
    loss : str or callable
        "zero-one", "cost-sensitive", "brier", "log", "hinge", "sigmoid", "logistic" (see
        `noneg.losses`; margin losses act on the logit of the score), or a function
        ``loss(score, label)`` of an array of scores and the label 0 or 1.
    form : {"unbiased", "non-negative"}
        :math:`\pi E_+[\ell(s,1)] + N` with
        :math:`N = E[\ell(s,0)] - \pi E_+[\ell(s,0)]`, or with :math:`\max(0, N)` instead of N. The
        latter is meant for losses that are never negative. For labeled data the two are equal.
    threshold : float, optional
        Threshold for the losses "zero-one" and "cost-sensitive". By default, the optimal one for
        calibrated scores: 0.5, or with costs ``(fp - tn) / (fp - tn + fn - tp)``.
    cost : array-like
        Costs for the loss "cost-sensitive": (false positive, false negative), or
        ``[[tn, fp], [fn, tp]]``.
    clip : float
        Scores are clipped to [clip, 1 - clip] before taking a logarithm (log, logistic, hinge).

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(risk(scores), 4), round(risk(scores, "brier"), 4)
    (-0.15, -0.005)
    >>> risk(scores, form="non-negative")
    0.0
    """
    means = _means(scores, find_loss(loss, threshold=threshold, cost=cost, clip=clip))
    return _value(means, scores.known_prior, check_form(form))


def _bounds(
    _scores: PUScores, loss: Name | Loss = "zero-one", *, cost: ArrayLike = (1.0, 1.0), **_: object
) -> tuple[float, float]:
    """Return the smallest and largest loss per row; they are unknown for a custom function."""
    if callable(loss):
        return -inf, inf
    if loss == "cost-sensitive":
        matrix = check_cost(cost)
        return float(matrix.min()), float(matrix.max())
    return 0.0, 1.0 if loss in ("zero-one", "brier", "sigmoid") else inf


@interval_of(
    risk,
    title="Zero-one risk at 0.5",
    citation="du Plessis et al. (2015); Kiryo et al. (2017)",
    better="lower",
    loss=find_loss,
    bounds=_bounds,
)
def risk_interval(
    scores: PUScores,
    loss: Name | Loss = "zero-one",
    *,
    level: float = 0.95,
    form: Form = "unbiased",
    threshold: float | None = None,
    cost: ArrayLike = (1.0, 1.0),
    clip: float = CLIP,
) -> Estimate:
    """Return the expected loss with its interval.

    For the losses of a decision, the interval combines binomial intervals for the rates; for other
    losses, it is Student's interval corrected for skewness. With the non-negative form, the ends
    are not below 0 either. If a group has only one row, its variance cannot be estimated, and the
    ends are those of the range. Both ends hold for every prior in ``scores.prior_interval``.

    Parameters
    ----------
    scores, loss, form, threshold, cost, clip
        As in `risk`.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(1000, 5000, setting="two-sample", seed=0)
    >>> print(risk_interval(scores, "brier"))
    0.1227 [0.1039, 0.1423]
    """
    level, form = check_level(level), check_form(form)
    chosen = find_loss(loss, threshold=threshold, cost=cost, clip=clip)
    value = _value(_means(scores, chosen), scores.known_prior, form)
    if is_selected(scores):
        reach = (0.0 if form == "non-negative" else -inf, inf)
        return loss_bounds(scores, chosen, level, value=value, reach=reach)
    words, (low, high) = loss_method(scores), (-inf, inf)
    if not callable(loss) and loss in DECISIONS:
        matrix, cut = decision(loss, threshold, cost)
        low, high = decision_rule(matrix).limits(scores, tail_means(scores, [cut]), level)
        words = METHOD
    elif not no_spread(scores):
        limits = loss_limits(scores, chosen, level, loss_means(scores, chosen))
        low, high = over_prior_grid(limits, scores, 2)
    if form == "non-negative":
        low, high = max(low, 0.0), max(high, value)
    return estimated(scores, value, (low, high), level, words)


def check_form(form: object) -> Form:
    """Return the form of a PU risk after checking it."""
    if form not in ("unbiased", "non-negative"):
        raise InputError("form", "must be 'unbiased' or 'non-negative'", value=form)
    return form


def _means(scores: PUScores, loss: Loss) -> LawMeans:
    """Return the mean losses of positives under both labels, and of all rows as negatives."""
    return law_means(scores, [lambda s: loss(s, 1), lambda s: loss(s, 0)], [lambda s: loss(s, 0)])


def _value(means: LawMeans, prior: float, form: Form) -> float:
    right, wrong = means.positive
    negative = float(means.marginal[0] - prior * wrong)
    if form == "non-negative":
        negative = max(0.0, negative)
    return float(prior * right) + negative


def decision_rule(cost: Floats) -> Rule:
    """Return the mean cost of decisions as a confusion-matrix metric."""
    (tn, fp), (fn, tp) = cost.tolist()

    def piece(tpr: Floats, ppr: Floats) -> Four:
        gain = tpr * (tp - fp) + (1.0 - tpr) * (fn - tn)
        return tn + ppr * (fp - tn), gain, 1.0, 0.0

    return Rule(piece, low=float(cost.min()), high=float(cost.max()))
