r"""Tests of calibration, with the null hypothesis :math:`\rho = 0`.

Under the null hypothesis, the positive distribution has density :math:`s/\pi` with respect to the
marginal distribution, so positives are redrawn from the marginal sample in proportion to their
scores; for labeled data, labels are redrawn from the scores. A binned statistic depends on such a
redraw only through the counts in bins, which are drawn directly: from a multinomial (two-sample),
or from a binomial that matches the mean and variance of the sum of unequal Bernoulli draws
(one-sample, labeled). The sampling noise of the marginal sample is added; without it, the test
would reject too often.

There are four statistics of the bin residuals d: their absolute sum ("ece"), their largest
cumulative sum ("ks"), both together ("both"), and :math:`d'\,\Sigma^- d` with the covariance of d
under the null hypothesis ("grouped"). The last is the grouped chi-square of Zhang et al. (2022),
known in clinical research from Hosmer and Lemeshow. Each is compared with its own redraws. Redrawn
rows have the weights that propensities imply at their scores, also where the sample has no rows.

A test takes one prior. If only a set of priors is known, the p-value is the maximum over the set:
calibration is rejected if it is rejected at every prior that cannot be excluded. Finding the priors
at which it is not rejected requires no known prior; they lie around the mean score, because the
residuals add up to :math:`\pi - E\,s`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, logit

from noneg.bins import Binned, Binning, bin_scores, scaled, square_roots
from noneg.checks import check_level
from noneg.errors import InputError
from noneg.laws import UNEQUAL, row_shares
from noneg.randomness import stream
from noneg.results import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores

    PValue = Callable[[float], float]

# Numbers of priors at which the search starts: over the whole possible range, and near the mean.
COARSE, FINE = 17, 9
# Number of bisection steps for each end.
HALVINGS = 14
INSIDE = 1e-6


def possible_priors(scores: PUScores) -> tuple[float, float]:
    """Return the smallest and largest priors compatible with the labeled share."""
    return max(scores.least_prior, INSIDE), 1.0 - INSIDE


def announced_prior(scores: PUScores) -> float:
    """Return the prior implied by the scores, their mean, clipped to the possible range.

    Examples
    --------
    >>> from noneg import PUScores
    >>> announced_prior(PUScores([0.9], [0.8, 0.2], setting="two-sample"))
    0.5
    """
    sums = scores.sums_below(np.ones(1))[0]
    return float(np.clip(sums[2] / sums[1], *possible_priors(scores)))


def search_grid(scores: PUScores, low: float, high: float) -> list[float]:
    """Return priors from low to high, evenly spaced in logits and denser near the mean score."""
    mean = announced_prior(scores)
    even = expit(np.linspace(logit(low), logit(high), COARSE))
    reach = min(mean, 1.0 - mean) * np.geomspace(1e-3, 0.5, FINE)
    near = np.concatenate([mean - reach, [mean], mean + reach])
    grid = np.unique(np.concatenate([[low], even[1:-1], near, [high]]))
    return [float(x) for x in grid[(grid >= low) & (grid <= high)]]


def best_in_set(scores: PUScores, p_value: PValue) -> tuple[float, float]:
    """Return the largest p-value over the priors that are not excluded, and its prior."""
    if scores.prior is not None and scores.prior_interval is None:
        return p_value(scores.prior), scores.prior
    low, high = scores.prior_interval or possible_priors(scores)
    grid = search_grid(scores, low, high)
    known = [] if scores.prior is None else [scores.prior]
    found = ((p_value(prior), prior) for prior in [*known, *grid])
    return max(found, key=lambda pair: pair[0])


def accepted_ends(scores: PUScores, p_value: PValue, alpha: float) -> tuple[float, float] | None:
    """Return the smallest and the largest possible prior with a p-value above alpha, if any."""
    grid = search_grid(scores, *possible_priors(scores))
    accepted = [k for k, prior in enumerate(grid) if p_value(prior) > alpha]
    if not accepted:
        return None
    first, last = accepted[0], accepted[-1]

    def end(inside: float, outside: float) -> float:
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2.0
            fits = p_value(middle) > alpha
            inside, outside = (middle, outside) if fits else (inside, middle)
        return inside

    low = grid[0] if first == 0 else end(grid[first], grid[first - 1])
    high = grid[-1] if last == len(grid) - 1 else end(grid[last], grid[last + 1])
    return low, high


Statistic: TypeAlias = Literal["ece", "ks", "both", "grouped"]

# Largest number of bins for cumulative residuals, and for each statistic that is not computed over
# the optimal number.
KS_BINS = 256
MOST_BINS = {"ks": KS_BINS, "grouped": 10}
# Number of bins on each side used to estimate the weight of a labeled row in a bin.
NEIGHBORS = 2
# Number of weighted positives up to which rows are redrawn one by one.
FEW_ROWS = 2000
# Directions whose variance is below this share of the largest one are ignored.
FLAT = 1e-9


@dataclass(frozen=True, kw_only=True)
class CalibrationTest(Record):
    """Outcome of `calibration_test`.

    Attributes
    ----------
    p_value : float
        ``(1 + k) / (1 + R)``, where k of the R redraws are at least as large as the observed value.
        If only a set of priors is known, this is the maximum over the set.
    value : float
        The observed statistic, at the prior used for the p-value.
    statistic : str
    replicates : int
    prior : float
        The prior used for the p-value: the given one, or the prior in the set with the largest
        p-value.
    """

    p_value: float
    value: float
    statistic: str
    replicates: int
    prior: float


def _sum(residual: Floats) -> Floats:
    return np.abs(residual).sum(axis=-1)


def _largest_sum(residual: Floats) -> Floats:
    return np.abs(np.cumsum(residual, axis=-1)).max(axis=-1)


def _both(residual: Floats) -> Floats:
    # Noise changes the sum about twice as much as the largest cumulative sum.
    return _sum(residual) + 2.0 * _largest_sum(residual)


def _grouped(null: Floats) -> Callable[[Floats], Floats]:
    """Return the squared distance from zero in standard deviations under the null hypothesis."""
    size, way = np.linalg.eigh(null.T @ null / len(null))
    varies = size > FLAT * size.max(initial=0.0)
    scale = way[:, varies] / np.sqrt(size[varies])

    def measure(residual: Floats) -> Floats:
        return ((residual @ scale) ** 2).sum(axis=-1)

    return measure


# Each entry maps null residuals to a function of residuals.
_STATISTICS: dict[str, Callable[[Floats], Callable[[Floats], Floats]]] = {
    "ece": lambda _: _sum,
    "ks": lambda _: _largest_sum,
    "both": lambda _: _both,
    "grouped": _grouped,
}


def calibration_test(
    scores: PUScores,
    *,
    statistic: Statistic = "ece",
    bins: int | Literal["optimal"] | None = None,
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    replicates: int = 999,
    seed: int = 0,
) -> CalibrationTest:
    """Test whether the scores are calibrated probabilities.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the p-value is the maximum over it; without a prior, it is the
        maximum over all possible priors.
    statistic : {"ece", "ks", "both", "grouped"}
        The sum of absolute residuals over bins, which detects deviations of any shape; the largest
        cumulative sum, which detects scores that are too high or too low overall; the first plus
        twice the second, which detects both and decides the verdict of `noneg.evaluate`; or the
        grouped chi-square, which `noneg.evaluate` shows as well.
    bins, binning, edges
        As in `noneg.ece`. By default, the optimal number, up to 256 for "ks" and 10 for "grouped".
    replicates : int
        Number of redraws under the null hypothesis.
    seed : int

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> wrong = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> calibration_test(wrong.draw(n=2000, setting="labeled", seed=0)).p_value
    0.001
    """
    test = _posed(scores, statistic, replicates, seed, bins=bins, binning=binning, edges=edges)
    p_value, prior = best_in_set(scores, test.p_value)
    return CalibrationTest(
        p_value=p_value,
        value=test.observed(prior),
        statistic=statistic,
        replicates=replicates,
        prior=prior,
    )


def consistent_priors(
    scores: PUScores,
    *,
    level: float = 0.95,
    statistic: Statistic = "ece",
    edges: ArrayLike | None = None,
    replicates: int = 999,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Return the range of priors at which calibration is not rejected; no known prior is needed.

    Parameters
    ----------
    scores : PUScores
        If it has a prior, the prior affects only the choice of bins.
    level : float
        A prior is excluded if `calibration_test` rejects it at this confidence level.
    statistic, edges, replicates, seed
        As in `calibration_test`.

    Returns
    -------
    (float, float) or None
        The smallest and largest such priors; None if calibration is rejected at every prior.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(1000, 8000, setting="two-sample", seed=0)
    >>> low, high = consistent_priors(scores)
    >>> 0.25 < low < 0.3 < high < 0.35
    True
    >>> wrong = LogisticGaussian(beta0=-0.5, beta1=3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> print(consistent_priors(wrong))
    None
    """
    alpha = 1.0 - check_level(level)
    test = _posed(scores, statistic, replicates, seed, edges=edges)
    return accepted_ends(scores, test.p_value, alpha)


def _posed(
    scores: PUScores,
    statistic: str,
    replicates: int,
    seed: int,
    **bins: Any,  # noqa: ANN401
) -> _TestAtPriors:
    if statistic not in _STATISTICS:
        known = ", ".join(map(repr, _STATISTICS))
        raise InputError("statistic", f"must be one of {known}", value=statistic)
    if replicates < 1:
        raise InputError("replicates", "must be at least 1", value=replicates)
    if bins.get("bins") is None:
        most = MOST_BINS.get(statistic)
        bins["bins"] = "optimal" if most is None else bins_for_rows(scores, most)
    if scores.prior is None:
        scores = scores.with_prior(announced_prior(scores))
    binned = bin_scores(scores, **bins)
    return _TestAtPriors(scores, binned, _STATISTICS[statistic], replicates, seed)


@dataclass(frozen=True, eq=False)
class _TestAtPriors:
    """The test over fixed bins, at any prior."""

    scores: PUScores
    binned: Binned
    measure: Callable[[Floats], Callable[[Floats], Floats]]
    replicates: int
    seed: int

    def observed(self, prior: float) -> float:
        """Return the statistic."""
        return float(self._measured(prior)[-1])

    def _measured(self, prior: float) -> Floats:
        """Return the statistic of every redraw, then of the observation.

        Under the null hypothesis the observation is one more redraw, so the scale of the statistic
        is taken from all of them: otherwise it would fit the redraws better than the observation.
        """
        every = np.vstack([self.null(prior), self.at(prior).residual])
        return self.measure(every)(every)

    def p_value(self, prior: float) -> float:
        """Return the share of redraws at least as large, counting the observation as one."""
        *null, observed = self._measured(prior)
        # Compare with a little slack, so that ties in exact arithmetic count as ties.
        beaten = int((np.array(null) >= observed * (1.0 - 1e-9)).sum())
        return (1 + beaten) / (1 + self.replicates)

    def at(self, prior: float) -> Binned:
        """Return the bins under the given prior."""
        return replace(self.binned, prior=prior)

    def null(self, prior: float) -> Floats:
        """Return residuals due to noise alone."""
        if self.scores.pooled:
            return null_residuals(self.scores, self.at(prior), self.replicates, self.seed)
        level, slope = self._line
        return level + prior * slope

    @cached_property
    def _line(self) -> tuple[Floats, Floats]:
        """Two-sample noise as a linear function of the prior, so that draws are not repeated."""
        none, all_ = (
            null_residuals(self.scores, self.at(prior), self.replicates, self.seed)
            for prior in (0.0, 1.0)
        )
        return none, all_ - none


def bins_for_rows(scores: PUScores, most: int) -> int:
    """Return a number of bins, at most `most`, that leaves two marginal rows for each."""
    return int(max(1, min(most, scores.n_marginal // 2)))


def null_residuals(scores: PUScores, binned: Binned, replicates: int, seed: int) -> Floats:
    """Draw the residuals due to noise alone under perfect calibration."""
    rng = stream(seed, "null")
    mean = binned.score.sum()
    if mean == 0.0:
        return np.zeros((replicates, binned.n_bins))
    share = binned.score / mean
    if not scores.pooled:
        return _two_sample(scores, binned, share, replicates, rng)
    n = scores.effective_marginal
    if scores.prior_is_estimated:
        return _bernoulli_sums(binned, n, 1.0, replicates, rng) / n - binned.score
    # A row with score s is labeled with probability c s, where c belongs to its bin.
    weight = _weights(scores, binned)
    c = np.minimum(1.0, 1.0 / (binned.prior * n * weight))
    found = _law(_bernoulli_sums(binned, n, c, replicates, rng) * weight)
    variance = np.trace(binned.second.sum(axis=0)[2:, 2:]) - mean**2 / n
    shift = rng.normal(scale=np.sqrt(max(0.0, variance)), size=(replicates, 1))
    return binned.prior * (found - share) - share * shift


def _weights(scores: PUScores, binned: Binned) -> Floats:
    """Return the average share of a labeled row in the positive distribution, for each bin.

    Uneven weights follow `row_shares`: a bin whose rows are rarely labeled may hold none, so its
    weights follow from the other bins. Otherwise, equal rows of weight ``sum a^2 / sum a`` have the
    same variance within a bin. Neighboring bins are pooled, because a few rows are not enough to
    estimate it.
    """
    if _uneven(scores):
        return row_shares(scores)(np.nan_to_num(binned.mean_score))
    near = np.ones(min(2 * NEIGHBORS + 1, binned.n_bins))
    first, second = (
        np.convolve(x, near, mode="same") for x in (binned.positive, binned.second[:, 0, 0])
    )
    known = first > 0.0
    if not known.any():
        return np.full(binned.n_bins, 1.0 / scores.effective_positive)
    place = np.arange(binned.n_bins)
    return np.interp(place, place[known], second[known] / first[known])


def _law(mass: Floats) -> Floats:
    """Return bin masses as shares of their sum."""
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0.0)


def _two_sample(
    scores: PUScores, binned: Binned, share: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    residual = np.zeros((replicates, binned.n_bins))
    if np.isfinite(scores.effective_positive):
        mass = _redrawn(scores, binned, share, replicates, rng)
        residual += binned.prior * (_law(mass) - share)
    if np.isfinite(scores.effective_marginal):
        residual -= _score_noise(binned, replicates, rng)
    return residual


def _uneven(scores: PUScores) -> bool:
    """Return whether positives have unequal weights and are few enough to redraw one by one."""
    unequal = scores.effective_positive < UNEQUAL * scores.n_positive
    return unequal and scores.n_positive <= FEW_ROWS


def _redrawn(
    scores: PUScores, binned: Binned, share: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    """Draw the positives' mass in bins.

    Rows in a bin have the same weight, or, if weights are uneven, the weight times a ratio that is
    drawn from those observed.
    """
    weight, uneven = _weights(scores, binned), _uneven(scores)
    rate = share / weight
    n = max(1, round(scores.n_positive if uneven else float(rate.sum())))
    counts = rng.multinomial(n, rate / rate.sum(), size=replicates)
    if not uneven:
        return np.asarray(counts * weight)
    s, f, a, _ = scores.in_order()[1]
    ratio, f = np.broadcast_to(a, s.shape) / row_shares(scores)(s), np.broadcast_to(f, s.shape)
    drawn = rng.choice(ratio, size=(replicates, n), p=f / f.sum())
    total = np.concatenate([np.zeros((replicates, 1)), np.cumsum(drawn, axis=1)], axis=1)
    last = np.take_along_axis(total, np.cumsum(counts, axis=1), axis=1)
    return np.asarray(np.diff(last, axis=1, prepend=0.0) * weight)


def _score_noise(binned: Binned, replicates: int, rng: np.random.Generator) -> Floats:
    """Draw the sampling noise in the integral of the score over each bin."""
    root = square_roots(binned.second[:, 1:, 1:])
    normal = rng.standard_normal((replicates, binned.n_bins, 2))
    mass, score = scaled(normal, root)
    return score - binned.score * mass.sum(axis=1, keepdims=True)


def _bernoulli_sums(
    binned: Binned, n: float, c: Floats | float, replicates: int, rng: np.random.Generator
) -> Floats:
    """Draw sums of Bernoulli(c s_i) in bins, as binomials with the same mean and variance."""
    square = binned.second[:, 2, 2] * n
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = np.where(square > 0.0, np.ceil(n * binned.score**2 / square - 1e-9), 0.0)
        rate = np.where(trials > 0.0, c * n * binned.score / trials, 0.0)
    draws: Floats = rng.binomial(
        trials.astype(np.int64), np.minimum(rate, 1.0), size=(replicates, binned.n_bins)
    ).astype(np.float64)
    return draws
