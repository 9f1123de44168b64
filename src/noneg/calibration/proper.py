r"""Proper scores without negatives, and what they are made of.

A loss :math:`\ell(s, y)` has the risk

.. math:: R = \pi\,E_+[\ell(s, 1) - \ell(s, 0)] + E[\ell(s, 0)],

which needs positives and marginal rows only. It is linear in the prior, and unbiased; on few rows
of PU data it may be negative although the loss is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import entr, logit, rel_entr

from noneg.checks import check_level, check_number
from noneg.intervals import LawMeans, law_means, prior_words
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

Score = Literal["brier", "log"]
Part = Literal["reliability", "resolution", "uncertainty", "remainder"]

# The distance from 0 and 1 that scikit-learn keeps for double precision.
CLIP = float(np.finfo(np.float64).eps)
# Means this close to 1 are 1.
ROUNDING = 1e-12
DELTA = "delta method"


def brier(scores: PUScores) -> float:
    r"""Return the Brier score, the mean squared distance of scores from labels.

    .. math:: E[(s - Y)^2] = \pi\,E_+[1 - 2 s] + E[s^2]

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float
        In [0, 1] for labelled data. For PU data it is unbiased, and may leave that range by noise
        or a wrong prior.

    References
    ----------
    Brier (1950), Verification of Forecasts Expressed in Terms of Probability; du Plessis, Niu &
    Sugiyama (2014), Analysis of Learning from Positive and Unlabeled Data, for the PU form.

    Examples
    --------
    >>> from noneg import PUScores
    >>> round(brier(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])), 4)
    0.085
    """
    return risk_value(risk_means(scores, _Brier()), scores.prior)


def brier_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the Brier score with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it: the score is linear in
        the prior, so its extremes are at the ends.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(brier_interval(scores))
    0.0850 [0.0746, 0.0954]
    """
    return _risk_interval(scores, _Brier(), level)


def log_loss(scores: PUScores, *, clip: float = CLIP) -> float:
    r"""Return the log loss, the mean negative log-likelihood of the labels.

    .. math:: -E[Y \log s + (1 - Y)\log(1 - s)]
        = \pi\,E_+\Bigl[\log\frac{1 - s}{s}\Bigr] - E[\log(1 - s)]

    Parameters
    ----------
    scores : PUScores
    clip : float
        Scores are moved into [clip, 1 - clip] first; the default is that of scikit-learn, 2^-52.
        A row that is wrong with certainty then costs ``-log(clip)``, about 36.

    Returns
    -------
    float
        Not negative for labelled data; for PU data it may be, by noise or a wrong prior.

    References
    ----------
    Good (1952), Rational Decisions; du Plessis, Niu & Sugiyama (2014), Analysis of Learning from
    Positive and Unlabeled Data, for the PU form.

    Examples
    --------
    >>> from noneg import PUScores
    >>> round(log_loss(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])), 4)
    0.3081
    """
    return risk_value(risk_means(scores, scoring_rule("log", clip)), scores.prior)


def log_loss_interval(scores: PUScores, *, level: float = 0.95, clip: float = CLIP) -> Estimate:
    """Return the log loss with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    clip : float
        As in `log_loss`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(log_loss_interval(scores))
    0.3081 [0.2800, 0.3362]
    """
    return _risk_interval(scores, scoring_rule("log", clip), level)


class _Brier:
    """The squared distance of a score from the label."""

    name: Score = "brier"
    largest = 1.0
    # Frequencies are taken for this at most.
    highest = np.inf

    def gain(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss if the label is 1, less the loss if it is 0."""
        return 1.0 - 2.0 * s

    def base(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss if the label is 0."""
        return s * s

    def loss(self, s: NDArray[np.float64], label: int) -> NDArray[np.float64]:
        """Loss of a score and a label."""
        return self.base(s) + label * self.gain(s)

    def entropy(self, prior: float) -> tuple[float, float]:
        """Mean loss of predicting the prior, and its slope."""
        return prior * (1.0 - prior), 1.0 - 2.0 * prior

    def divergence(self, y: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean loss of predicting q, beyond that of predicting the frequency y."""
        return (y - q) ** 2

    def slopes(
        self, y: NDArray[np.float64], q: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes of the divergence in y and in q."""
        return 2.0 * (y - q), 2.0 * (q - y)


@dataclass(frozen=True)
class _Log:
    """The negative logarithm of the probability given to the label; methods as in `_Brier`."""

    clip: float
    name: Score = "log"
    highest: float = 1.0

    @property
    def largest(self) -> float:
        return -float(np.log(self.clip))

    def _clip(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(s, self.clip, 1.0 - self.clip)

    def gain(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        s = self._clip(s)
        return np.log(1.0 - s) - np.log(s)

    def base(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.log(1.0 - self._clip(s))

    def loss(self, s: NDArray[np.float64], label: int) -> NDArray[np.float64]:
        return self.base(s) + label * self.gain(s)

    def entropy(self, prior: float) -> tuple[float, float]:
        slope = -float(logit(prior)) if 0.0 < prior < 1.0 else 0.0
        return float(entr(prior) + entr(1.0 - prior)), slope

    def divergence(self, y: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        q = self._clip(q)
        total: NDArray[np.float64] = rel_entr(y, q) + rel_entr(1.0 - y, 1.0 - q)
        return total

    def slopes(
        self, y: NDArray[np.float64], q: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        q = self._clip(q)
        return logit(y) - logit(q), (q - y) / (q * (1.0 - q))


if TYPE_CHECKING:
    Rule = _Brier | _Log


def scoring_rule(score: object, clip: float) -> Rule:
    """Return the rule of a name."""
    if score == "brier":
        return _Brier()
    if score != "log":
        msg = f"'score' must be 'brier' or 'log', got {score!r}."
        raise ValueError(msg)
    words = "a small number in (0, 0.5) that keeps logarithms finite"
    number = check_number(clip, "clip", words)
    if not 0.0 < number < 0.5:  # noqa: PLR2004
        msg = f"'clip' must be {words}, got {clip!r}."
        raise ValueError(msg)
    return _Log(number)


def risk_means(scores: PUScores, rule: Rule) -> LawMeans:
    """Return the two means that a risk is made of."""
    return law_means(scores, [rule.gain], [rule.base])


def risk_value(means: LawMeans, prior: float) -> float:
    """Return the risk at a prior."""
    return float(prior * means.positive[0] + means.marginal[0])


def _risk_interval(scores: PUScores, rule: Rule, level: float) -> Estimate:
    level, means = check_level(level), risk_means(scores, rule)
    value = risk_value(means, scores.prior)
    low, high = value, value
    for prior in scores.prior_interval or (scores.prior,):
        one = means.estimate(risk_value(means, prior), [prior, 1.0, means.positive[0]], level)
        low, high = min(low, one.low), max(high, one.high)
    if no_spread(scores):
        low, high = min(0.0, value), max(rule.largest, value)
    return Estimate(
        value=value, low=low, high=high, level=level, method=DELTA + prior_words(scores)
    )


def no_spread(scores: PUScores) -> bool:
    """Whether a sample is a single row: then only the range of the score is known."""
    return min(scores.effective_positive, scores.effective_marginal) < 2


register(
    Metric(
        name="brier",
        title="Brier score",
        function=brier,
        interval=brier_interval,
        citation="Brier (1950); PU form by du Plessis et al. (2014)",
        family="proper score",
        better="lower",
        loss=lambda: scoring_rule("brier", CLIP).loss,
    )
)
register(
    Metric(
        name="log_loss",
        title="Log loss",
        function=log_loss,
        interval=log_loss_interval,
        citation="Good (1952); PU form by du Plessis et al. (2014)",
        family="proper score",
        range=(0.0, np.inf),
        better="lower",
        loss=lambda clip=CLIP: scoring_rule("log", clip).loss,
    )
)
