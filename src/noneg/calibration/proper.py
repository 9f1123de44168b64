r"""Proper scores without negatives, and their decompositions.

The Brier score and the log loss are expected losses (`noneg.losses`). Their estimates are unbiased,
but with only a few rows of PU data they may be negative although the loss is not. Each is the sum
of reliability, resolution, uncertainty, and a remainder for the variation of scores within bins,
which makes the sum exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import entr, logit, rel_entr

from noneg.bins import Binned, Binning, bin_scores, check_frequencies
from noneg.calibration.interval import METHOD, error_limits, power_norm
from noneg.checks import check_choice, check_level
from noneg.intervals import LawMeans, enclosing, law_means, no_spread, over_prior_grid, z_score
from noneg.losses import (
    CLIP,
    check_clip,
    find_loss,
    loss_limits,
    loss_means,
    loss_method,
    loss_value,
)
from noneg.registry import interval_of
from noneg.results import Estimate, Record
from noneg.selection import is_selected, loss_bounds, refuse_selection

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.intervals import Limits
    from noneg.losses import Loss
    from noneg.scores import PUScores


Score = Literal["brier", "log"]
Part = Literal["reliability", "resolution", "uncertainty", "remainder"]
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
        In [0, 1] for labeled data. For PU data, the estimate is unbiased but may fall outside this
        range because of noise or a wrong prior.

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
    return loss_value(loss_means(scores, find_loss("brier")), scores.known_prior)


@interval_of(
    brier,
    title="Brier score",
    citation="Brier (1950); PU form by du Plessis et al. (2014)",
    family="proper score",
    better="lower",
    loss=lambda: find_loss("brier"),
)
def brier_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the Brier score with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it: the score is linear in
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
    return _interval(scores, scoring_rule("brier"), level)


def log_loss(scores: PUScores, *, clip: float = CLIP) -> float:
    r"""Return the log loss, the mean negative log-likelihood of the labels.

    .. math:: -E[Y \log s + (1 - Y)\log(1 - s)]
        = \pi\,E_+\Bigl[\log\frac{1 - s}{s}\Bigr] - E[\log(1 - s)]

    Parameters
    ----------
    scores : PUScores
    clip : float
        Scores are first clipped to [clip, 1 - clip]; the default is the same as in scikit-learn,
        2^-52. A row that is wrong with certainty then costs ``-log(clip)``, about 36.

    Returns
    -------
    float
        Nonnegative for labeled data; for PU data, noise or a wrong prior may make it negative.

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
    return loss_value(loss_means(scores, find_loss("log", clip=clip)), scores.known_prior)


@interval_of(
    log_loss,
    title="Log loss",
    citation="Good (1952); PU form by du Plessis et al. (2014)",
    family="proper score",
    range=(0.0, -math.log(CLIP)),
    bounds=lambda _, clip=CLIP: (0.0, -math.log(check_clip(clip))),
    better="lower",
    loss=lambda clip=CLIP: find_loss("log", clip=clip),
)
def log_loss_interval(scores: PUScores, *, level: float = 0.95, clip: float = CLIP) -> Estimate:
    """Return the log loss with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
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
    return _interval(scores, scoring_rule("log", clip), level)


@dataclass(frozen=True)
class _Brier:
    """The squared difference between score and label.

    Attributes
    ----------
    loss : callable
        Loss as a function of score and label.
    largest : float
        The largest loss.
    highest : float
        Cap on the frequencies.
    """

    loss: Loss
    name: Score = "brier"
    largest: float = 1.0
    highest: float = np.inf

    def entropy(self, prior: float) -> tuple[float, float]:
        """Return the mean loss of predicting the prior, and its slope."""
        return prior * (1.0 - prior), 1.0 - 2.0 * prior

    def divergence(self, y: Floats, q: Floats) -> Floats:
        """Return the mean loss of predicting q minus the mean loss of predicting y."""
        return (y - q) ** 2

    def slopes(self, y: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives of the divergence with respect to y and q."""
        return 2.0 * (y - q), 2.0 * (q - y)


@dataclass(frozen=True)
class _Log:
    """The negative log probability of the label; otherwise like `_Brier`."""

    loss: Loss
    clip: float
    name: Score = "log"
    highest: float = 1.0

    @property
    def largest(self) -> float:
        return -float(np.log(self.clip))

    def entropy(self, prior: float) -> tuple[float, float]:
        slope = -float(logit(prior)) if 0.0 < prior < 1.0 else 0.0
        return float(entr(prior) + entr(1.0 - prior)), slope

    def divergence(self, y: Floats, q: Floats) -> Floats:
        q = np.clip(q, self.clip, 1.0 - self.clip)
        total: Floats = rel_entr(y, q) + rel_entr(1.0 - y, 1.0 - q)
        return total

    def slopes(self, y: Floats, q: Floats) -> tuple[Floats, Floats]:
        q = np.clip(q, self.clip, 1.0 - self.clip)
        return logit(y) - logit(q), (q - y) / (q * (1.0 - q))


if TYPE_CHECKING:
    Rule = _Brier | _Log


def scoring_rule(score: object, clip: float = CLIP) -> Rule:
    """Return the scoring rule with this name."""
    check_choice(score, "score", get_args(Score))
    if score == "brier":
        return _Brier(find_loss("brier"))
    return _Log(find_loss("log", clip=clip), check_clip(clip))


def _interval(scores: PUScores, rule: Rule, level: float) -> Estimate:
    level, means = check_level(level), loss_means(scores, rule.loss)
    value, reach = loss_value(means, scores.known_prior), (0.0, rule.largest)
    if is_selected(scores):
        return loss_bounds(scores, rule.loss, level, value=value, reach=reach)
    limits = loss_limits(scores, rule.loss, level, means)
    # A single row does not reveal the spread, so only the range of the score is known.
    known = reach if no_spread(scores) else over_prior_grid(limits, scores, 2)
    return enclosing(scores, value, known, level, loss_method(scores))


@dataclass(frozen=True, kw_only=True)
class Decomposition(Record):
    """The components of a proper score: ``reliability - resolution + uncertainty + remainder``.

    Attributes
    ----------
    value : float
        The Brier score or the log loss, obtained by combining the components.
    reliability : float
        Loss due to miscalibration over the bins; 0 at best.
    resolution : float
        Gain from separating bins of high frequency from bins of low frequency.
    uncertainty : float
        The score of always predicting the prior.
    remainder : float
        Part not captured by the bins: the variation of scores within a bin.
    score : {"brier", "log"}
    n_bins : int
    """

    value: float
    reliability: float
    resolution: float
    uncertainty: float
    remainder: float
    score: Score
    n_bins: int


def decomposition(
    scores: PUScores,
    *,
    score: Score = "brier",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    clip: float = CLIP,
) -> Decomposition:
    r"""Return the reliability, resolution and uncertainty of the Brier score or the log loss.

    .. math:: \text{reliability} = \sum_b \mu(I_b)\,d(y_b, \bar s_b), \qquad
        \text{resolution} = \sum_b \mu(I_b)\,d(y_b, \pi), \qquad
        \text{uncertainty} = e(\pi)

    with bin frequencies :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)`. For the Brier score, d is the
    squared distance and :math:`e(\pi) = \pi(1 - \pi)`; for the log loss, they are the
    Kullback-Leibler divergence and the entropy, and frequencies above 1 are set to 1. The remainder
    makes the sum exact; it is zero when all scores in a bin are equal (and no frequency exceeds 1).

    Parameters
    ----------
    scores : PUScores
    score : {"brier", "log"}
    bins, binning, edges
        As in `noneg.ece`.
    clip : float
        As in `log_loss`; used only for "log".

    References
    ----------
    Murphy (1973), A New Vector Partition of the Probability Score; Bröcker (2009), Reliability,
    Sufficiency, and the Decomposition of Proper Scores; Stephenson, Coelho & Jolliffe (2008), Two
    Extra Components in the Brier Score Decomposition, for the remainder.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6])
    >>> parts = decomposition(scores, bins=2)
    >>> [round(x, 3) for x in (parts.value, parts.reliability, parts.resolution, parts.uncertainty)]
    [0.1, 0.1, 0.25, 0.25]
    """
    rule = scoring_rule(score, clip)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    return _Parts(scores, binned, rule).at(scores.known_prior)


def decomposition_interval(  # noqa: PLR0913
    scores: PUScores,
    *,
    part: Part = "reliability",
    level: float = 0.95,
    score: Score = "brier",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    clip: float = CLIP,
    seed: int = 0,
) -> Estimate:
    """Return one component of a `decomposition` with an interval for its population value.

    The reliability of the Brier score is the squared L2 calibration error, and its interval comes
    from `noneg.calibration.ece_interval`. The reliability of the log loss is convex in the bin
    sums, so its normal upper end is valid even when calibration is good. Its lower end follows from
    Pinsker's inequality: it is at least twice the reliability of the Brier score. The other
    components have normal intervals from the delta method.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    part : {"reliability", "resolution", "uncertainty", "remainder"}
    level : float
        Nominal coverage.
    score, bins, binning, edges, clip
        As in `decomposition`.
    seed : int
        Seed of the random splits for the lower end of the reliability.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> print(decomposition_interval(scores, part="resolution"))
    0.1484 [0.1294, 0.1673]
    """
    level, rule = check_level(level), scoring_rule(score, clip)
    refuse_selection(scores, "the parts of a proper score", "Bound the score itself.")
    check_choice(part, "part", get_args(Part))
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    parts = _Parts(scores, binned, rule)
    if part == "reliability":
        limits, words = parts.reliability_limits(level, seed), METHOD
    else:
        limits, words = parts.limits(part, level), DELTA
    value = getattr(parts.at(scores.known_prior), part)
    return enclosing(scores, value, limits, level, words)


# Weights of reliability, resolution, uncertainty, and the score itself in each component.
_SIGNS: dict[str, tuple[float, float, float, float]] = {
    "reliability": (1.0, 0.0, 0.0, 0.0),
    "resolution": (0.0, 1.0, 0.0, 0.0),
    "uncertainty": (0.0, 0.0, 1.0, 0.0),
    "remainder": (-1.0, 1.0, -1.0, 1.0),
}


@dataclass(frozen=True, eq=False)
class _Parts:
    """The components of a proper score over fixed bins, at any prior."""

    scores: PUScores
    binned: Binned
    rule: Rule

    @cached_property
    def risk(self) -> LawMeans:
        """The means that determine the score itself."""
        return loss_means(self.scores, self.rule.loss)

    def at(self, prior: float) -> Decomposition:
        """Return all components."""
        m, y, q = self.frequencies(prior)
        reliability = float(m @ self.rule.divergence(y, q))
        resolution = float(m @ self.rule.divergence(y, np.full_like(y, prior)))
        uncertainty, _ = self.rule.entropy(prior)
        value = loss_value(self.risk, prior)
        return Decomposition(
            value=value,
            reliability=reliability,
            resolution=resolution,
            uncertainty=uncertainty,
            remainder=value - (reliability - resolution + uncertainty),
            score=self.rule.name,
            n_bins=self.binned.n_bins,
        )

    def frequencies(self, prior: float) -> tuple[Floats, Floats, Floats]:
        """Return mass, frequency and mean score of each bin; empty bins have frequency 0."""
        binned, highest = self.binned, self.rule.highest
        if np.isinf(highest):
            check_frequencies(binned, f"'score' must be 'log' here, got {self.rule.name!r}")
        m, positive = binned.marginal, prior * binned.positive
        y = np.divide(positive, m, out=np.where(positive > 0.0, np.inf, 0.0), where=m > 0.0)
        q = np.divide(binned.score, m, out=np.zeros_like(m), where=m > 0.0)
        # In a logarithm, rounding error in a mean that should be 1 would matter.
        return m, np.minimum(y, highest), np.where(q > 1.0 - ROUNDING, 1.0, q)

    def reliability_limits(self, level: float, seed: int) -> Limits:
        """Return limits for the reliability that are also valid when calibration is good."""
        error = power_norm(self.binned.marginal, 2.0)
        low, high = error_limits(self.scores, self.binned, error, level, seed=seed)
        if self.rule.name == "brier":
            return low**2, high**2
        # Pinsker's inequality: the divergence is at least twice the squared distance.
        return 2.0 * low**2, self.limits("reliability", level)[1]

    def limits(self, part: Part, level: float) -> Limits:
        """Return normal limits for a component over all possible priors."""
        if no_spread(self.scores):
            return 0.0, self.rule.largest
        low, high = self.scores.prior_set
        # The uncertainty is largest at one half; everything else is monotone in the prior.
        priors = list(dict.fromkeys((low, min(max(0.5, low), high), high)))
        value = np.array([getattr(self.at(prior), part) for prior in priors])
        reach = z_score(level) * np.array([self._deviation(part, prior) for prior in priors])
        least = float((value - reach).min())
        return least if part == "remainder" else max(0.0, least), float((value + reach).max())

    def _deviation(self, part: Part, at: float) -> float:
        """Return the standard deviation of a component, from its slopes in the bin sums."""
        reliability, resolution, uncertainty, whole = _SIGNS[part]
        rule, binned, (m, y, q) = self.rule, self.binned, self.frequencies(at)
        if rule.highest == 1.0:
            # Keep half a row away from 0 and 1, where the slopes are infinite.
            half = 0.5 * np.divide(binned.second[:, 1, 1], m**2, out=np.ones_like(m), where=m > 0.0)
            y = np.clip(y, half, 1.0 - half)
        prior = np.full_like(y, at)
        (by_y, by_q), (to_y, to_q) = rule.slopes(y, q), rule.slopes(y, prior)
        slope = reliability * by_y + resolution * to_y
        level = reliability * (rule.divergence(y, q) - y * by_y - q * by_q)
        level += resolution * (rule.divergence(y, prior) - y * to_y)
        inner, loss = binned.edges[1:-1], rule.loss

        def positive(s: Floats) -> Floats:
            b = np.searchsorted(inner, s)
            return at * (slope[b] + whole * (loss(s, 1) - loss(s, 0)))

        def marginal(s: Floats) -> Floats:
            b = np.searchsorted(inner, s)
            return level[b] + reliability * by_q[b] * s + whole * loss(s, 0)

        by_prior = slope @ binned.positive + resolution * (to_q @ m)
        by_prior += uncertainty * rule.entropy(at)[1] + whole * self.risk.positive[0]
        means = law_means(self.scores, [positive], [marginal])
        return float(np.sqrt(means.variance(np.array([1.0, 1.0, by_prior]))))
