r"""Estimates from reviewed rows of a stratified sample, with assumption-free intervals.

For a stratum of :math:`N_h` unlabeled rows, of which :math:`n_h` were reviewed, the total of
:math:`y f` is estimated as :math:`N_h` times the mean. Intervals come from a design bootstrap:
within a stratum, rows get exponential weights (the Bayesian bootstrap), rescaled to the variance of
sampling without replacement. A review with only a few positives may have missed the heaviest ones,
so before each limit is computed, one row is added that moves the estimate farthest toward it. With
one stratum, this is the Clopper-Pearson interval for a share, and Gaffke's (2005) for a mean; the
idea for sums of unequal weights is due to Fay and Feuer (1997).

Positives found by a review are also compared with labeled positives to measure selective labeling.
If labeled positives are a random sample of all positives (SCAR), the positives among unlabeled rows
are distributed over strata like the labeled ones. A review of :math:`n_h` out of :math:`N_h` rows
then finds positives in proportion to :math:`n_h \nu_h / N_h`, where :math:`\nu_h` is the share of
labeled positives in stratum h, and within a stratum they look like labeled ones. The test for a
metric compares the mean influence of the positives found with its expected value, using simulated
reviews; it is also valid for a few positives, where the normal approximation fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from noneg.audit.targets import BIN, Census, Target
from noneg.results import Estimate, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats, Places
    from noneg.audit.reading import Answers

DRAWS, FEWEST, ROOM = 2000, 400, 4_000_000
METHOD = "design bootstrap with the worst unseen row"
# Size of the added row: a whole row gives the Clopper-Pearson interval, which is conservative; with
# three quarters, the interval for a share covers at least 93% for every share and number of rows.
PSEUDO = 0.75


@dataclass(frozen=True, eq=False)
class Review:
    """Reviewed rows, ordered by stratum.

    Attributes
    ----------
    stratum : ndarray of int
        Nondecreasing; each stratum occurs at least once.
    weight : ndarray
        Inverse inclusion probability.
    features : ndarray, shape (rows, features)
    y : ndarray
        1 for positive, 0 for negative.
    size : ndarray
        Number of unlabeled rows in each stratum.
    corners : ndarray, shape (strata, 2, features)
        Features at the lowest and highest scores of each stratum.
    """

    stratum: Places
    weight: Floats
    features: Floats
    y: Floats
    size: Floats
    corners: Floats

    @cached_property
    def count(self) -> Floats:
        """Number of reviewed rows in each stratum."""
        return np.bincount(self.stratum, minlength=self.size.size).astype(np.float64)

    @cached_property
    def starts(self) -> Places:
        """Index of the first row of each stratum."""
        return np.searchsorted(self.stratum, np.arange(self.size.size))

    @cached_property
    def by_stratum(self) -> Floats:
        """Estimated totals of the features over positives, by stratum."""
        share = self.weight / np.add.reduceat(self.weight, self.starts)[self.stratum]
        rows = (share * self.y)[:, None] * self.features
        return np.add.reduceat(rows, self.starts, axis=0) * self.size[:, None]

    @property
    def totals(self) -> Floats:
        """Estimated totals of the features over the positives among unlabeled rows."""
        return np.asarray(self.by_stratum.sum(axis=0))

    @cached_property
    def stretch(self) -> Floats:
        """Factor that matches the bootstrap spread to sampling without replacement."""
        n = self.count
        left = np.maximum(1.0 - n / self.size, 0.0)
        return np.sqrt(left * (n + 1.0) / np.maximum(n - 1.0, 1.0))


class Draws:
    """Bootstrap draws: totals of the features under random weights of the reviewed rows."""

    def __init__(self, review: Review, rng: np.random.Generator, draws: int = DRAWS) -> None:
        self.review = review
        # With thousands of reviews, fewer draws suffice and save memory.
        draws = min(draws, max(FEWEST, ROOM // review.y.size))
        mass = rng.standard_exponential((draws, review.y.size)) * review.weight
        self.mass = np.add.reduceat(mass, review.starts, axis=1)
        self.extra = rng.standard_gamma(PSEUDO, draws)
        self.positive = np.flatnonzero(review.y)
        self.at = review.stratum[self.positive]
        scale = review.stretch * review.size
        self.share = mass[:, self.positive] / self.mass[:, self.at] * scale[self.at]
        center = (1.0 - review.stretch) @ review.by_stratum
        self.totals = center + self.share @ review.features[self.positive]

    def with_row(self, stratum: int, total: Floats) -> Floats:
        """Return the totals as if one more row of a stratum, with this `y f`, had been reviewed."""
        review, here = self.review, self.at == stratum
        inside = self.share[:, here] @ review.features[self.positive[here]]
        rows = review.stratum == stratum
        extra = self.extra * review.weight[rows].mean()
        kept = (self.mass[:, stratum] / (self.mass[:, stratum] + extra))[:, None]
        new = review.stretch[stratum] * review.size[stratum] * (1.0 - kept) * total
        return np.asarray(self.totals + inside * (kept - 1.0) + new)

    def extremes(self, function: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Return totals after adding the row that lowers a number most, and that raises it most.

        The number is a function of the totals; where it is undefined, a row has no effect.
        """
        review = self.review
        mean = (review.by_stratum / review.size[:, None])[:, None]
        reach = (review.stretch * review.size / (review.count + 1.0))[:, None, None]
        middle = review.corners.mean(axis=1, keepdims=True)
        rows = np.concatenate([middle, np.zeros_like(middle)], axis=1)
        there = function(review.totals + reach * (rows - mean))
        now = np.nan_to_num(function(review.totals), nan=np.nanmean(np.append(there, 0.0)))
        effect = np.where(np.isnan(there), 0.0, there - now)
        found = []
        for k in (effect.argmin(), effect.argmax()):
            h, which = np.unravel_index(k, effect.shape)
            found.append(self.with_row(int(h), rows[h, which]))
        return found[0], found[1]


def interval(target: Target, census: Census, draws: Draws, level: float) -> Estimate:
    """Return a metric of the whole table with its interval."""

    def number(totals: Floats) -> Floats:
        return target.value(census, census.known + totals)

    value, pair = float(number(draws.review.totals)), draws.extremes(number)
    tail = (1.0 - level) / 2.0
    if target.name == "ece":
        gap, below, above, plain = (
            census.gaps(census.known + one) for one in (draws.review.totals, *pair, draws.totals)
        )
        noise = _calibrated_noise(census, draws.review)
        return enclose(target, *_error_limits(gap, below, above, plain, noise, tail), level)
    low, high = (
        np.nan_to_num(number(one), nan=end) for one, end in zip(pair, target.range, strict=True)
    )
    ends = float(np.quantile(low, tail)), float(np.quantile(high, 1.0 - tail))
    if np.isnan(value):
        ends = target.range
    return enclose(target, value, *ends, level)


def enclose(target: Target, value: float, low: float, high: float, level: float) -> Estimate:
    """Return an estimate clipped to its range, with ends that enclose it."""
    least, most = target.range
    inside = float(np.clip(value, least, most))
    return Estimate(
        value=inside,
        low=float(np.clip(np.fmin(low, inside), least, most)),
        high=float(np.clip(np.fmax(high, inside), least, most)),
        level=level,
        method=METHOD,
        raw=None if inside == value or np.isnan(value) else value,
    )


# Mean absolute value of a standard normal variable.
FOLDED = float(np.sqrt(2.0 / np.pi))


def _folded(k: Floats) -> Floats:
    """Return the mean of ``|k + Z|`` for standard normal Z."""
    return np.asarray(FOLDED * np.exp(-(k**2) / 2.0) + k * (1.0 - 2.0 * ndtr(-k)))


def _rise(k: Floats) -> Floats:
    """Return how much noise of size 1 raises the mean of ``|k|``."""
    return np.asarray(_folded(k) - k)


def _calibrated_noise(census: Census, review: Review) -> Floats:
    """Return the standard error of each residual if the scores were right.

    It is positive even where no positive was found and the bootstrap shows no noise.
    """
    in_bin = review.features[:, census.place[f"{BIN} 0"] :]
    rows, square = review.weight @ in_bin, (review.weight**2 - review.weight) @ in_bin
    mean = np.clip(census.score / np.maximum(rows, 1.0), 0.0, 1.0)
    noise = np.sqrt(mean * (1.0 - mean) * square)
    return np.where(rows > 0.0, noise, census.score) / census.rows


def _error_limits(
    gap: Floats, below: Floats, above: Floats, plain: Floats, noise: Floats, tail: float
) -> tuple[float, float, float]:
    """Return a noise-corrected sum of absolute residuals, and its limits.

    Noise of size sigma raises the mean of ``|d|`` to ``sigma g(|d| / sigma)``, with g as in
    `_folded`; the increase is largest when d is small. The lower end treats every residual as one
    sigma smaller than it appears. For a given sum of ``|d|``, the increase is smallest if all
    residuals are the same multiple of their noise, which gives the upper end.
    """
    total, sign = np.abs(gap).sum(), np.where(gap < 0.0, -1.0, 1.0)
    quiet, loud = (np.sqrt(((d - gap) ** 2).mean(axis=0)) for d in (below, above))
    more = np.maximum(noise**2 - quiet**2, 0.0)
    drop = -np.hypot(np.quantile((below - gap) @ sign, tail), ndtri(tail) * np.sqrt(more.sum()))
    quiet = np.sqrt(quiet**2 + more)
    # An unseen row may flip the sign of a residual; then the sum itself grows, not its tangent.
    sums = np.abs(above).sum(axis=1), np.abs(plain).sum(axis=1)
    turned = np.quantile(sums[0], 1.0 - tail) - np.median(sums[1])
    rise = max(np.quantile((above - gap) @ sign, 1.0 - tail), turned)
    with np.errstate(divide="ignore", invalid="ignore"):
        k = np.where(quiet > 0.0, np.abs(gap) / quiet, 0.0)
    low = total + drop - quiet @ _rise(np.maximum(k - 1.0, 0.0))
    value = max(0.0, float(total - quiet @ _rise(k)))
    size = loud.sum()
    high = total + rise
    if size > 0.0:
        k = np.linspace(0.0, float(high / size), 513)
        high = float(k[np.searchsorted(_folded(k), high / size, side="right") - 1]) * size
    return value, float(low), max(float(high), value)


SIMULATIONS = 999
# Level of the test that decides whether labeled and reviewed positives are combined.
REJECT = 0.05
ROUNDING = 1e-12
# Added to counts of labeled positives, so that no stratum has probability zero.
BLUR = 1e-3
# Number of score ranges between which labeling rates are compared.
GROUPS = 3
FUSED = "review and labeled positives combined, if labeling is at random"


@dataclass(frozen=True, kw_only=True)
class Agreement(Record):
    """Whether labeled positives and the review agree on a metric.

    Attributes
    ----------
    target : str
    audit : Estimate
        Estimate from the review alone.
    labeled : float
        The metric if the positives among unlabeled rows looked like the labeled ones, with their
        number taken from the review.
    p_value : float
        P-value for the hypothesis that labeling is at random, for this metric.
    fused : Estimate or None
        Combined estimate; None if the test rejects.
    """

    target: str
    audit: Estimate
    labeled: float
    p_value: float
    fused: Estimate | None

    _facts = ("labeled", "p_value", "agrees", "fused")

    @property
    def agrees(self) -> bool:
        """Whether the test does not reject at the 5% level."""
        return self.p_value >= REJECT


class Contrast:
    """The labeled positives of a design, compared with the positives found by a review."""

    def __init__(self, answers: Answers, draws: Draws, rng: np.random.Generator) -> None:
        self.answers, self.draws, self.rng = answers, draws, rng
        self.design = design = answers.design
        self.features = design.census.features(design.positive_score, design.positive_rank)
        # The merged stratum of each labeled positive.
        self.at = answers.joined[np.maximum(design.positive_stratum, 0)]

    def agreement(self, target: Target, audit: Estimate) -> Agreement:
        """Test one metric, and combine both sources if they agree."""
        census, review = self.design.census, self.draws.review
        totals = review.totals
        gradient = target.gradient(census, census.known + totals)
        own = self.features @ gradient
        like = census.known + totals[0] * self.features.mean(axis=0)
        p_value = self._p_value(review.features @ gradient, own)
        fused = None if p_value < REJECT else self._fused(target, audit, gradient, own)
        value = float(np.clip(target.value(census, like), *target.range))
        return Agreement(
            target=str(target), audit=audit, labeled=value, p_value=p_value, fused=fused
        )

    def _p_value(self, f: Floats, own: Floats) -> float:
        review = self.draws.review
        found = review.y > 0.0
        if not found.any() or np.ptp(own) <= ROUNDING * max(1.0, float(np.abs(own).max())):
            return 1.0
        at, n = self.at, review.size.size
        share = np.bincount(at, minlength=n) / at.size
        mean, square = _moments(own, at, n)
        rate = review.count / review.size
        middle = float((rate * share) @ mean / (rate @ share))
        # Binomial counts that sum to the number of positives found; labeled shares also vary.
        shares = self.rng.dirichlet(self.design.n_positive * share + BLUR, SIMULATIONS)
        chance = np.minimum(found.sum() / (rate @ share) * shares / review.size, 1.0)
        k = self.rng.binomial(review.count.astype(np.int64), chance).astype(np.float64)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0) * k)
        total = (k * mean + spread * self.rng.standard_normal(k.shape)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            null = np.nan_to_num(np.abs(total / k.sum(axis=1) - middle))
        here = abs(float(f[found].mean()) - middle)
        return float((1 + (null >= here - ROUNDING).sum()) / (null.size + 1))

    def _fused(
        self, target: Target, audit: Estimate, gradient: Floats, own: Floats
    ) -> Estimate | None:
        """Return an estimate sharpened by the contrast, which is zero if labeling is at random."""
        census, known = self.design.census, self.design.census.known
        totals = self.draws.review.totals
        if not totals[0] > 0.0:
            return None
        pair = self.draws.extremes(lambda x: target.value(census, known + x))
        noise = own.std() / np.sqrt(self.design.n_positive) * self.rng.standard_normal(len(pair[0]))
        hidden = own.std() / np.sqrt(totals[0]) * self.rng.standard_normal(len(pair[0]))

        def contrast(x: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.nan_to_num((x @ gradient) / x[..., 0] - own.mean())

        plain = self.draws.totals
        gap = contrast(plain) + noise + hidden
        value = np.nan_to_num(target.value(census, known + plain))
        slope = float(np.cov(value, gap)[0, 1] / np.var(gap)) if np.var(gap) > 0.0 else 0.0
        tail = (1.0 - audit.level) / 2.0
        ends = [
            np.quantile(target.value(census, known + x) - slope * (contrast(x) + noise + hidden), q)
            for x, q in zip(pair, (tail, 1.0 - tail), strict=True)
        ]
        middle = audit.value - slope * float(contrast(totals))
        found = enclose(target, middle, float(ends[0]), float(ends[1]), audit.level)
        return replace(found, method=FUSED)

    def selection(self, level: float) -> Estimate:
        """Return the selection factor between score ranges, with its limits.

        For each range, compute its share among hidden positives divided by its share among labeled
        ones. The factor is the largest of these ratios and their inverses.
        """
        review, group_of = self.draws.review, self._ranges()
        in_range = np.eye(group_of.max() + 1)[group_of]
        labeled = np.bincount(self.at, minlength=review.size.size) @ in_range
        found = review.by_stratum[:, 0] @ in_range
        value = _ratios(found, labeled / labeled.sum())
        counts = self._gammas(found, in_range)
        shares = self.rng.dirichlet(self.design.n_positive * labeled / labeled.sum(), len(counts))
        ratio = _ratios(counts, shares)
        tail = (1.0 - level) / (2.0 * len(in_range.T))
        lows, highs = np.quantile(ratio, (tail, 1.0 - tail), axis=0)
        high = float(np.maximum(highs, 1.0 / lows).max())
        low = float(max(1.0, np.maximum(lows, 1.0 / highs).max()))
        with np.errstate(divide="ignore"):
            middle = float(np.nan_to_num(np.maximum(value, 1.0 / value), nan=np.inf).max())
        return Estimate(
            value=float(np.clip(middle, low, high)),
            low=low,
            high=high,
            level=level,
            method=f"counts in {len(in_range.T)} score ranges",
        )

    def _gammas(self, found: Floats, in_range: Floats) -> Floats:
        """Return draws of the numbers of positives in each range, which are always positive."""
        review = self.draws.review
        rows = np.eye(in_range.shape[0])[review.stratum] @ in_range
        heavy = review.weight @ rows / rows.sum(axis=0)
        noise = (review.weight * review.y) ** 2 @ rows
        # A range in which no positive was found gets half a row.
        blank = found <= 0.0
        mean = np.where(blank, 0.5 * heavy, found)
        shape = mean**2 / np.where(blank, 0.5 * heavy**2, np.maximum(noise, 1e-12 * mean**2))
        draws = self.rng.standard_gamma(shape, (len(self.draws.totals), mean.size))
        return np.asarray(draws * mean / shape)

    def _ranges(self) -> Places:
        """Return the range of each stratum, with about equal numbers of labeled positives."""
        design, at = self.design, self.answers.at
        score = np.bincount(at, design.score[: at.size]) / np.bincount(at)
        cuts = np.quantile(design.positive_score, np.arange(1, GROUPS) / GROUPS)
        found = np.searchsorted(cuts, score)
        # Each range needs labeled positives for comparison.
        filled = np.unique(found[self.at])
        return np.clip(np.searchsorted(filled, found), 0, filled.size - 1)


def _moments(x: Floats, at: Places, n: int) -> tuple[Floats, Floats]:
    """Return the mean and mean square by stratum, zero for empty strata."""
    count = np.maximum(np.bincount(at, minlength=n), 1)
    return np.bincount(at, x, n) / count, np.bincount(at, x**2, n) / count


def _ratios(counts: Floats, shares: Floats) -> Floats:
    """Return each range's share among positives found over its share among labeled ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(counts / counts.sum(axis=-1, keepdims=True) / shares)
