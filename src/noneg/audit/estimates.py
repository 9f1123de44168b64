r"""Estimates from reviewed rows of a stratified sample, with intervals that need no assumption.

A stratum of :math:`N_h` unlabeled rows of which :math:`n_h` were reviewed estimates its total of
:math:`y f` by :math:`N_h` times the mean. Intervals come from a design bootstrap: within a stratum
rows get exponential weights (the Bayesian bootstrap), stretched to the variance of a sample without
replacement. A review of few positives has not seen the heaviest ones, so before a limit is taken
one row is added that moves the number farthest toward it. With one stratum this is Clopper and
Pearson's interval for a share, and Gaffke's (2005) for a mean; the idea for sums of unequal weights
is that of Fay and Feuer (1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from noneg.audit.targets import BIN
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.audit.targets import Census, Target

    Floats = NDArray[np.float64]

DRAWS, FEWEST, ROOM = 2000, 400, 4_000_000
METHOD = "design bootstrap with the worst unseen row"
# How much of a row is added: a whole one is Clopper and Pearson's, which covers more than it says;
# with three quarters the interval of a share keeps 93 % for every share and number of rows.
PSEUDO = 0.75


@dataclass(frozen=True, eq=False)
class Review:
    """Reviewed rows in the order of their strata.

    Attributes
    ----------
    stratum : ndarray of int
        Rising, each stratum at least once.
    weight : ndarray
        Inverse inclusion probability.
    features : ndarray, shape (rows, features)
    y : ndarray
        1 for positive, 0 for negative.
    size : ndarray
        Unlabeled rows of each stratum.
    corners : ndarray, shape (strata, 2, features)
        Features of the lowest and the highest score of each stratum.
    """

    stratum: NDArray[np.intp]
    weight: Floats
    features: Floats
    y: Floats
    size: Floats
    corners: Floats

    @cached_property
    def count(self) -> Floats:
        """Reviewed rows of each stratum."""
        return np.bincount(self.stratum, minlength=self.size.size).astype(np.float64)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each stratum."""
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
        """What makes the spread of the bootstrap that of a sample without replacement."""
        n = self.count
        left = np.maximum(1.0 - n / self.size, 0.0)
        return np.sqrt(left * (n + 1.0) / np.maximum(n - 1.0, 1.0))


class Draws:
    """The bootstrap: totals of the features under random weights of the reviewed rows."""

    def __init__(self, review: Review, rng: np.random.Generator, draws: int = DRAWS) -> None:
        self.review = review
        # Thousands of reviews need fewer draws, and little memory.
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
        """Return the totals if one more row of a stratum, with this `y f`, had been reviewed."""
        review, here = self.review, self.at == stratum
        inside = self.share[:, here] @ review.features[self.positive[here]]
        rows = review.stratum == stratum
        extra = self.extra * review.weight[rows].mean()
        kept = (self.mass[:, stratum] / (self.mass[:, stratum] + extra))[:, None]
        new = review.stretch[stratum] * review.size[stratum] * (1.0 - kept) * total
        return np.asarray(self.totals + inside * (kept - 1.0) + new)

    def extremes(self, function: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Return totals with the row added that lowers a number most, and that raises it most.

        The number is a function of the totals; where it is undefined a row changes nothing.
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
    """Return a number of the whole table with its interval."""

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
    """Return the estimate inside its range, and ends that hold it."""
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


# Mean size of a standard normal variable.
FOLDED = float(np.sqrt(2.0 / np.pi))


def _folded(k: Floats) -> Floats:
    """Return the mean of ``|k + Z|`` for standard normal Z."""
    return np.asarray(FOLDED * np.exp(-(k**2) / 2.0) + k * (1.0 - 2.0 * ndtr(-k)))


def _rise(k: Floats) -> Floats:
    """Return how much noise of size 1 raises the mean of ``|k|``."""
    return np.asarray(_folded(k) - k)


def _calibrated_noise(census: Census, review: Review) -> Floats:
    """Return the standard error of each residual if the scores were right.

    It is there where no positive was found, too, and the bootstrap shows no noise.
    """
    in_bin = review.features[:, census.place[f"{BIN} 0"] :]
    rows, square = review.weight @ in_bin, (review.weight**2 - review.weight) @ in_bin
    mean = np.clip(census.score / np.maximum(rows, 1.0), 0.0, 1.0)
    noise = np.sqrt(mean * (1.0 - mean) * square)
    return np.where(rows > 0.0, noise, census.score) / census.rows


def _error_limits(
    gap: Floats, below: Floats, above: Floats, plain: Floats, noise: Floats, tail: float
) -> tuple[float, float, float]:
    """Return a sum of absolute residuals, corrected for noise, and its limits.

    Noise of size sigma raises the mean of ``|d|`` to ``sigma g(|d| / sigma)``, g as in `_folded`:
    most where d is small. The lower end takes every residual for one sigma smaller than it looks.
    For a given sum of ``|d|`` the rise is least if all residuals are the same multiple of their
    noise, which gives the upper end.
    """
    total, sign = np.abs(gap).sum(), np.where(gap < 0.0, -1.0, 1.0)
    quiet, loud = (np.sqrt(((d - gap) ** 2).mean(axis=0)) for d in (below, above))
    more = np.maximum(noise**2 - quiet**2, 0.0)
    drop = -np.hypot(np.quantile((below - gap) @ sign, tail), ndtri(tail) * np.sqrt(more.sum()))
    quiet = np.sqrt(quiet**2 + more)
    # An unseen row may turn the sign of a residual: then the sum itself rises, not its tangent.
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
