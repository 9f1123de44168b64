r"""What a proper score is made of: reliability, resolution, uncertainty, and a remainder.

The remainder is what scores inside a bin differ among themselves; with it the parts add up exactly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri

from noneg.bins import Binned, bin_scores
from noneg.calibration.interval import METHOD, norm_limits, power_dual
from noneg.calibration.proper import (
    CLIP,
    DELTA,
    ROUNDING,
    Score,
    no_spread,
    risk_means,
    risk_value,
    scoring_rule,
)
from noneg.checks import check_level
from noneg.intervals import LawMeans, law_means, prior_words
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.calibration.proper import Rule
    from noneg.scores import PUScores

    Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

Part = Literal["reliability", "resolution", "uncertainty", "remainder"]


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """The parts of a proper score: ``reliability - resolution + uncertainty + remainder``.

    Attributes
    ----------
    value : float
        The Brier score or the log loss, the sum of the parts.
    reliability : float
        Loss by bad calibration over the bins; 0 at best.
    resolution : float
        Gain by telling bins of high from bins of low frequency.
    uncertainty : float
        The score of always predicting the prior.
    remainder : float
        What the bins do not see: how much scores vary within a bin, and how well.
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

    def to_dict(self) -> dict[str, float | str | int]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


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

    with bin frequencies :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)`; d is the squared distance and
    :math:`e(\pi) = \pi(1 - \pi)` for the Brier score, the Kullback-Leibler divergence and the
    entropy for the log loss, for which frequencies above 1 are taken for 1. The remainder makes the
    sum exact; it is zero when all scores of a bin are equal (and no frequency exceeds 1).

    Parameters
    ----------
    scores : PUScores
    score : {"brier", "log"}
    bins, binning, edges
        As in `noneg.ece`.
    clip : float
        As in `log_loss`; used by "log" only.

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
    return _parts(binned, rule, risk_value(risk_means(scores, rule), scores.prior))


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
    """Return one part of a `decomposition` with an interval for its population value.

    The reliability of the Brier score is the squared L2 calibration error, with the interval of
    `noneg.calibration.ece_interval`. That of the log loss is convex in the sums of the bins, so
    its normal upper end holds at good calibration too; it is at least twice that of the Brier
    score (Pinsker), which gives its lower end. The other parts have normal intervals by the delta
    method.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    part : {"reliability", "resolution", "uncertainty", "remainder"}
    level : float
        Nominal coverage.
    score, bins, binning, edges, clip
        As in `decomposition`.
    seed : int
        Seed of the random splits behind the lower end of the reliability.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> print(decomposition_interval(scores, part="resolution"))
    0.1484 [0.1294, 0.1673]
    """
    level, rule = check_level(level), scoring_rule(score, clip)
    if part not in ("reliability", "resolution", "uncertainty", "remainder"):
        msg = (
            "'part' must be 'reliability', 'resolution', 'uncertainty' or 'remainder', "
            f"got {part!r}."
        )
        raise ValueError(msg)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    risk = risk_means(scores, rule)
    value = getattr(_parts(binned, rule, risk_value(risk, scores.prior)), part)
    if part == "reliability":
        low, high = _reliability_limits(scores, binned, rule, risk, level, seed)
    else:
        low, high = _part_limits(scores, binned, rule, risk, part, level)
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        method=(METHOD if part == "reliability" else DELTA) + prior_words(scores),
    )


def _parts(binned: Binned, rule: Rule, value: float) -> Decomposition:
    m, y, q = _frequencies(binned, rule)
    reliability = float(m @ rule.divergence(y, q))
    resolution = float(m @ rule.divergence(y, np.full_like(y, binned.prior)))
    uncertainty, _ = rule.entropy(binned.prior)
    return Decomposition(
        value=value,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        remainder=value - (reliability - resolution + uncertainty),
        score=rule.name,
        n_bins=binned.n_bins,
    )


def _frequencies(binned: Binned, rule: Rule) -> Columns:
    """Return mass, frequency and mean score of the bins; empty ones have frequency 0."""
    m, positive = binned.marginal, binned.prior * binned.positive
    y = np.divide(positive, m, out=np.where(positive > 0.0, np.inf, 0.0), where=m > 0.0)
    y = np.minimum(y, rule.highest)
    b = int(np.argmax(y))
    if np.isinf(y[b]):
        msg = (
            f"'score' must be 'log' here, got {rule.name!r}: bin ({binned.edges[b]:g}, "
            f"{binned.edges[b + 1]:g}] holds positives but no marginal row, so its frequency is "
            "infinite. Use fewer bins or binning='mass'."
        )
        raise ValueError(msg)
    q = np.divide(binned.score, m, out=np.zeros_like(m), where=m > 0.0)
    # A logarithm would tell apart means that differ from 1 by the rounding of their sums.
    return m, y, np.where(q > 1.0 - ROUNDING, 1.0, q)


# How each part is put together: reliability, resolution, uncertainty, the score itself.
_SIGNS: dict[str, tuple[float, float, float, float]] = {
    "reliability": (1.0, 0.0, 0.0, 0.0),
    "resolution": (0.0, 1.0, 0.0, 0.0),
    "uncertainty": (0.0, 0.0, 1.0, 0.0),
    "remainder": (-1.0, 1.0, -1.0, 1.0),
}


def _reliability_limits(
    scores: PUScores, binned: Binned, rule: Rule, risk: LawMeans, level: float, seed: int
) -> tuple[float, float]:
    """Return limits of the reliability that hold at good calibration too."""
    dual = power_dual(binned.marginal, 2.0)
    low, high = norm_limits(scores, binned, dual, level=level, seed=seed)
    if rule.name == "brier":
        return low**2, high**2
    # Pinsker: the divergence is at least twice the squared distance.
    return 2.0 * low**2, _part_limits(scores, binned, rule, risk, "reliability", level)[1]


def _part_limits(
    scores: PUScores, binned: Binned, rule: Rule, risk: LawMeans, part: Part, level: float
) -> tuple[float, float]:
    """Return normal limits of a part, over all priors that are possible."""
    if no_spread(scores):
        return 0.0, rule.largest
    z = float(ndtri(0.5 + level / 2.0))
    ends = []
    for prior in _priors(scores):
        there = replace(binned, prior=prior)
        value = getattr(_parts(there, rule, risk_value(risk, prior)), part)
        reach = z * _deviation(scores, there, rule, risk, part)
        ends += [value - reach, value + reach]
    low = min(ends)
    return low if part == "remainder" else max(0.0, low), max(ends)


def _priors(scores: PUScores) -> tuple[float, ...]:
    """Return the priors among which each part has its extremes."""
    if scores.prior_interval is None:
        return (scores.prior,)
    low, high = scores.prior_interval
    # The uncertainty is largest at one half; all else is monotone.
    return low, min(max(0.5, low), high), high


def _deviation(scores: PUScores, binned: Binned, rule: Rule, risk: LawMeans, part: Part) -> float:
    """Return the standard deviation of a part, by its slopes in the sums of the bins."""
    reliability, resolution, uncertainty, whole = _SIGNS[part]
    m, y, q = _frequencies(binned, rule)
    if rule.highest == 1.0:
        # Half a row is left on either side, because the slopes end at 0 and 1.
        half = 0.5 * np.divide(binned.second[:, 1, 1], m**2, out=np.ones_like(m), where=m > 0.0)
        y = np.clip(y, half, 1.0 - half)
    prior = np.full_like(y, binned.prior)
    (by_y, by_q), (to_y, to_q) = rule.slopes(y, q), rule.slopes(y, prior)
    slope = reliability * by_y + resolution * to_y
    level = reliability * (rule.divergence(y, q) - y * by_y - q * by_q)
    level += resolution * (rule.divergence(y, prior) - y * to_y)
    inner = binned.edges[1:-1]

    def positive(s: NDArray[np.float64]) -> NDArray[np.float64]:
        b = np.searchsorted(inner, s)
        return binned.prior * (slope[b] + whole * rule.gain(s))

    def marginal(s: NDArray[np.float64]) -> NDArray[np.float64]:
        b = np.searchsorted(inner, s)
        return level[b] + reliability * by_q[b] * s + whole * rule.base(s)

    by_prior = slope @ binned.positive + resolution * (to_q @ m)
    by_prior += uncertainty * rule.entropy(binned.prior)[1] + whole * risk.positive[0]
    means = law_means(scores, [positive], [marginal])
    return float(np.sqrt(means.variance(np.array([1.0, 1.0, by_prior]))))
