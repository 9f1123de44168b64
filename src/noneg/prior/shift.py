r"""Detecting what changed between two periods, using only counts of scores in bins.

With the shares h of new rows, b of old rows and a of old positives in K bins,

.. math:: h = b + d\,(a - b), \qquad \pi_1 = \pi_0 + (1 - \pi_0)\,d

if only the prior changed. `fit_shift` estimates d by generalized least squares with
:math:`V = C(h)/n_1 + (1-d)^2 C(b)/n_0 + d^2 C(a)/n_P`, :math:`C(p) = \mathrm{diag}(p) - pp'`; if
old positives are part of the old rows, :math:`2 d (1-d) C(a)/n_0` is added. The misfit
:math:`J \sim \chi^2_{K-2}` tests whether only the prior changed. C(h) is evaluated at the shares
estimated from both periods together, as in Pearson's test, so that small p-values can be trusted.
`compare_positives` compares new labeled positives with old ones.

Two functions weigh explanations against each other. `odds_of_negatives` compares another prior with
negatives that moved, and `odds_of_everyone` asks whether new positives moved along with all rows.

All tests are vectorized over leading axes, and counts can be added, across sketches or days.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from noneg.arrays import Floats
    from noneg.scores import PUScores

BINS = 10
# Smallest number of reference rows per bin.
LEAST_ROWS = 20.0
# Quantiles of either distribution that may become bin edges.
CANDIDATES = np.arange(1, 40) / 40.0
# Number of iterations for the weights, which depend on the estimate.
ROUNDS = 3
# Moves of the negatives that `odds_of_negatives` tries, in standard deviations.
MOVES = np.linspace(-1.5, 1.5, 121)
# Relative size below which a variance is attributed to rounding error.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Counts:
    """Masses of both distributions in bins, which can be added up over periods.

    Attributes
    ----------
    positive, marginal : ndarray, shape (..., K)
        Numbers (or weights) of labeled positives and of all rows.
    squares : ndarray, shape (..., 2)
        Sums of squared weights for both, which determine effective sizes.
    pooled : bool
        Whether labeled positives are included in the marginal counts.
    """

    positive: Floats
    marginal: Floats
    squares: Floats
    pooled: bool

    @classmethod
    def of(cls, scores: PUScores, edges: Floats) -> Counts:
        """Count rows in right-closed bins."""
        sums = scores.sums_in_bins(edges)
        squares = sums[:, [3, 6]].sum(axis=0)
        return cls(sums[:, 0].copy(), sums[:, 1].copy(), squares, scores.pooled)

    def mapped(self, function: Callable[[Floats], Floats]) -> Counts:
        """Return the counts with their leading axes sliced or summed."""
        parts = (self.positive, self.marginal, self.squares)
        positive, marginal, squares = map(function, parts)
        return Counts(positive, marginal, squares, self.pooled)

    @classmethod
    def stacked(cls, counts: Sequence[Counts]) -> Counts:
        """Stack periods along a new first axis."""
        columns = zip(*((one.positive, one.marginal, one.squares) for one in counts), strict=True)
        positive, marginal, squares = (np.stack(column) for column in columns)
        return cls(positive, marginal, squares, counts[0].pooled)

    @property
    def sizes(self) -> Floats:
        """Effective numbers of positives and of all rows, shape (2, ...)."""
        totals = np.stack([self.positive.sum(axis=-1), self.marginal.sum(axis=-1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            size = totals**2 / np.moveaxis(self.squares, -1, 0)
        # Known distributions have mass but no noise; without rows, there is neither.
        return np.where(totals > 0.0, np.where(np.isnan(size), np.inf, size), 0.0)

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Shares of positives and of all rows in the bins; nan without rows."""
        with np.errstate(invalid="ignore"):
            return (
                self.positive / self.positive.sum(axis=-1, keepdims=True),
                self.marginal / self.marginal.sum(axis=-1, keepdims=True),
            )


def shared_edges(scores: PUScores, bins: int = BINS) -> Floats:
    """Return bin edges between which both distributions combined have about equal mass.

    Quantiles of either distribution are merged from below until a bin has its share and enough
    rows.
    """
    marginal = scores.marginal_quantiles(CANDIDATES)
    if marginal is None:
        from noneg.bins import order_statistics

        marginal = order_statistics(scores, CANDIDATES * scores.effective_marginal)
    inner = np.unique(np.concatenate([marginal, scores.positive_quantiles(CANDIDATES)]))
    inner = inner[(inner > 0.0) & (inner < 1.0)]
    edges = np.concatenate([[0.0], inner, [1.0]])
    counts = Counts.of(scores, edges)
    mass = (counts.shares[0] + counts.shares[1]) / 2.0
    rows = counts.marginal / counts.marginal.sum() * counts.sizes[1]
    kept, held = [0.0], np.zeros(2)
    for edge, *found in zip(edges[1:-1], mass, rows, strict=False):
        held += found
        left = np.sum(rows[np.searchsorted(edges, edge) :])
        if held[0] >= 1.0 / bins - 1e-9 and min(held[1], left) >= LEAST_ROWS:
            kept.append(float(edge))
            held[:] = 0.0
    return np.array([*kept, 1.0])


class Shift(NamedTuple):
    """Result of `fit_shift`, with each field an array over the leading axes.

    Attributes
    ----------
    moved : ndarray
        The estimate d, how far the marginal distribution moved toward the positives.
    error : ndarray
        Standard error of d.
    moved_p : ndarray
        P-value for d = 0.
    misfit, shape_p : ndarray
        J and its p-value; nan with fewer than three bins.
    freedom : int
        Degrees of freedom of J.
    """

    moved: Floats
    error: Floats
    moved_p: Floats
    misfit: Floats
    shape_p: Floats
    freedom: int


def fit_shift(reference: Counts, new: Counts) -> Shift:
    """Fit the new rows as a combination of old rows and old positives.

    Parameters
    ----------
    reference : Counts
        Counts from one period, with only a bin axis, or with the leading axes of `new`.
    new : Counts
        Counts from the new period; only the marginal counts are used.
    """
    (a, b), h = reference.shares, new.shares[1]
    (n_positive, n_old), n_new = reference.sizes, new.sizes[1]
    y, u = (h - b)[..., :-1], (a - b)[..., :-1] + np.zeros_like(h[..., :-1])
    d, first = np.zeros(h.shape[:-1]), None
    for _ in range(ROUNDS):
        keep, add = 1.0 - d, d
        noise = keep**2 / n_old + add**2 / n_positive
        both = noise / (noise + 1.0 / n_new)
        predicted = np.maximum(keep[..., None] * b + add[..., None] * a, 0.0)
        fitted = predicted + both[..., None] * (h - predicted)
        cross = 2.0 * add * keep / n_old if reference.pooled else 0.0
        v = (
            _covariance(fitted, 1.0 / n_new)
            + _covariance(b, keep**2 / n_old)
            + _covariance(a, add**2 / n_positive + cross)
        )
        inverse = _inverse(v)
        weight = np.einsum("...i,...ij->...j", u, inverse)
        information = np.sum(weight * u, axis=-1)
        d = np.sum(weight * y, axis=-1) / information
        first = d * np.sqrt(information) if first is None else first
    rest = y - d[..., None] * u
    misfit = np.einsum("...i,...ij,...j->...", rest, inverse, rest)
    freedom = h.shape[-1] - 2
    shape_p = chdtrc(freedom, np.maximum(misfit, 0.0)) if freedom > 0 else np.full_like(d, np.nan)
    moved_p = 2.0 * ndtr(-np.abs(np.asarray(first)))
    return Shift(d, 1.0 / np.sqrt(information), moved_p, misfit, shape_p, freedom)


def _covariance(share: Floats, scale: Floats | float) -> Floats:
    """Return the covariance of the shares, excluding the last, which is redundant."""
    p = share[..., :-1]
    c = p[..., :, None] * (np.eye(p.shape[-1]) - p[..., None, :])
    out: Floats = c * np.asarray(scale)[..., None, None]
    return out


def _inverse(matrices: Floats) -> Floats:
    """Return inverses, or pseudoinverses if a matrix is singular, as without any noise."""
    try:
        return np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrices, hermitian=True), dtype=np.float64)


def compare_positives(reference: Counts, new: Counts) -> Floats:
    """Return the p-value for equal scores of old and new labeled positives; nan if there are none.

    The test combines differences in location and in spread of the ranks, the statistics of Wilcoxon
    and Mood, with ties within bins. Ranks are bounded, so a few positives are enough.
    """
    (a0, _), (a1, _) = reference.shares, new.shares
    (n0, _), (n1, _) = reference.sizes, new.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.asarray(n0 / (n0 + n1))[..., None]
        pooled = share * a0 + (1.0 - share) * a1
        rank = 2.0 * np.cumsum(pooled, axis=-1) - pooled - 1.0
        first, second = (x - np.sum(pooled * x, -1, keepdims=True) for x in (rank, rank**2))
        location, spread = (np.sum(x * (a1 - a0), axis=-1) for x in (first, second))
        p, q, r = (np.sum(pooled * x, -1) for x in (first**2, first * second, second**2))
        # With two bins, the spread follows from the location.
        rest = np.where(p * r - q**2 > SAME * p * r, r - q**2 / p, np.inf)
        statistic = location**2 / p + (spread - location * q / p) ** 2 / rest
        statistic = statistic / (1.0 / n0 + 1.0 / n1)
    freedom = np.where(np.isfinite(rest), 2.0, 1.0)
    # If all rows are in one bin, nothing can differ.
    return np.where(p > 0.0, chdtrc(freedom, statistic), np.where(p == 0.0, 1.0, np.nan))


def odds_of_negatives(reference: Counts, new: Counts, prior: float) -> float:
    """Return the log odds of a change in the negatives versus a change in the prior.

    Either explanation has one parameter: a prior, or how far negatives moved on the scale on which
    they are normal. The log odds are half the difference of their chi-square distances from the
    new rows.

    Parameters
    ----------
    reference, new : Counts
        Counts of two periods, with only a bin axis.
    prior : float
        Share of positives in the reference.
    """
    (a, b), h = reference.shares, new.shares[1]
    noise = 1.0 / reference.sizes[1] + 1.0 / new.sizes[1]
    pooled = h + (b - h) / (new.sizes[1] * noise)
    weight = 1.0 / (np.maximum(pooled, SAME) * noise)
    u, y = a - b, h - b
    by_prior = y - u * np.sum(weight * u * y) / np.sum(weight * u**2)
    place = _probits((b - prior * a) / (1.0 - prior))
    laws = _law(place - np.append(0.0, MOVES)[:, None])
    by_negatives = y - (1.0 - prior) * (laws[1:] - laws[0])
    distance = np.sum(weight * by_negatives**2, axis=-1).min()
    return float(np.sum(weight * by_prior**2) - distance) / 2.0


def odds_of_everyone(reference: Counts, new: Counts) -> float:
    """Return the log odds that new positives moved along with all rows, rather than not at all.

    If they did, positives have the same ranks among all rows as before.
    """
    (a, b), h = reference.shares, new.shares[1]
    x, y = _probits(b), _probits(a)
    ends = np.diff(y)[[0, -1]] / np.diff(x)[[0, -1]] if x.size > 1 else np.ones(2)
    far = np.ptp(MOVES) * np.array([-1.0, 1.0]) + x[[0, -1]]
    beyond = y[[0, -1]] + ends * (far - x[[0, -1]])
    x, y = np.array([far[0], *x, far[1]]), np.array([beyond[0], *y, beyond[1]])
    small = 0.5 / reference.sizes[0]
    moved = np.maximum(_law(np.interp(_probits(h), x, y)), 0.0)
    return float(np.sum(new.positive * np.log((moved + small) / (a + small))))


def _probits(law: Floats) -> Floats:
    """Return the normal quantiles of the cumulative distribution at the inner edges of the bins."""
    below = np.maximum.accumulate(np.cumsum(law)[:-1])
    out: Floats = ndtri(np.clip(below, SAME, 1.0 - SAME))
    return out


def _law(probits: Floats) -> Floats:
    below = ndtr(probits)
    ends = np.zeros((*below.shape[:-1], 1))
    return np.diff(np.concatenate([ends, below, 1.0 + ends], axis=-1), axis=-1)
