"""Equal-width and equal-mass bins: how many to use, and the sums of a `PUScores` in them.

Bins are right-closed, and the first one also contains 0: ``[0, u_1], (u_1, u_2], ..., (u_{B-1},
1]``. Membership depends only on the score, so ties stay together and the order of rows never
matters.

The papers' order rules for the number of bins use exact arithmetic: in floating point, ``1000 ** (1
/ 3)`` is below 10, and a reciprocal cube root of 26 can come out above it. Sizes and the prior are
read as the decimal numbers they print as, and cubes are integers.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.checks import check_number, check_prior
from noneg.errors import InputError
from noneg.kernels import width_edges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.scores import PUScores

Binning = Literal["mass", "width"]

# Share of a variance below which it counts as rounding error.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Binned:
    """The two distributions of a `PUScores`, summed in bins.

    Attributes
    ----------
    edges : ndarray, shape (B + 1,)
    positive : ndarray, shape (B,)
        ``mu_plus(I_b)``, mass of the positive distribution.
    marginal : ndarray, shape (B,)
        ``mu(I_b)``, mass of the marginal distribution.
    score : ndarray, shape (B,)
        Integral of s over ``I_b`` under the marginal distribution.
    second : ndarray, shape (B, 3, 3)
        For each bin, the sum over its rows of the outer product of their contributions to the three
        sums above; every variance is computed from it.
    prior : float
    prior_is_estimated : bool
        True for labeled data, whose prior varies with the sample.
    rounding : float
        Bound on the relative rounding error of a sum.
    """

    edges: Floats
    positive: Floats
    marginal: Floats
    score: Floats
    second: Floats
    prior: float
    prior_is_estimated: bool
    rounding: float

    @property
    def n_bins(self) -> int:
        """Number of bins, empty ones included."""
        return self.positive.size

    @property
    def occupied(self) -> Flags:
        """Bins that contain a row of either distribution."""
        return (self.marginal > 0.0) | (self.positive > 0.0)

    @cached_property
    def residual(self) -> Floats:
        """``rho(I_b) = pi mu_plus(I_b) - integral of s over I_b``; zero when calibrated.

        Values that rounding error alone could produce are set to zero; they may exceed all noise
        when scores are equal.
        """
        expected = self.prior * self.positive
        residual = expected - self.score
        residual[np.abs(residual) <= self.rounding * (expected + self.score).sum()] = 0.0
        return residual

    @property
    def frequency(self) -> Floats:
        """``y_b = pi mu_plus(I_b) / mu(I_b)``, nan where the marginal distribution has no mass."""
        return _ratio(self.prior * self.positive, self.marginal)

    @property
    def mean_score(self) -> Floats:
        """Mean score of the marginal distribution in each bin, nan where it has no mass."""
        return _ratio(self.score, self.marginal)

    @property
    def negative(self) -> Floats:
        """Implied mass of the negatives in each bin, not clipped; nan if every row is positive."""
        if not self.prior < 1.0:
            return np.full(self.n_bins, np.nan)
        return (self.marginal - self.prior * self.positive) / (1.0 - self.prior)

    def columns(self) -> dict[str, Floats]:
        """Return the ends of the bins, and the masses of positives, all rows and negatives."""
        masses = {name: getattr(self, name) for name in ("positive", "marginal", "negative")}
        return {"left": self.edges[:-1], "right": self.edges[1:]} | masses

    def variance(
        self, v: Floats, marginal: Floats | None = None, score: Floats | None = None
    ) -> Floats:
        """Return the variance of ``sum_b v_b rho(I_b)`` for each row of v.

        With a second argument w, return the variance of ``sum_b v_b pi mu_plus(I_b) + w_b
        mu(I_b)``; a third argument adds that multiple of the integral of s over ``I_b``. A row
        contributes ``c_b . (a, w, w s)`` to the linearized sum; the coefficients account for the
        normalization of each distribution by its own total, and for the estimation of the prior
        from the same rows if the data are labeled.
        """
        c = self._coefficients(v, marginal, score)
        pairs = combinations_with_replacement(c, 2)
        parts = ((2.0 - (i == j)) * (c[i] * c[j] @ self.second[:, i, j]) for i, j in pairs)
        total: Floats = sum(parts, np.zeros(()))
        return np.maximum(total, 0.0)

    def influence(self, v: Floats) -> Floats:
        """Return the coefficients used by `variance`, shape (..., B, 3)."""
        return np.stack(list(self._coefficients(v).values()), axis=-1)

    def _coefficients(
        self, v: Floats, marginal: Floats | None = None, score: Floats | None = None
    ) -> dict[int, Floats]:
        """Return the nonzero coefficients of a, w and w s, keyed by position."""
        if marginal is None:
            middle, others = np.zeros_like(v) + (v @ self.score)[..., None], {2: -v}
        else:
            middle, others = marginal - (marginal @ self.marginal)[..., None], {}
        if score is not None:
            middle, others = middle - (score @ self.score)[..., None], {2: score}
        center = self.prior * (v @ self.positive)[..., None]
        if self.prior_is_estimated:
            return {0: self.prior * v, 1: middle - center, **others}
        return {0: self.prior * v - center, 1: middle, **others}


def square_roots(matrices: Floats) -> Floats:
    """Return lower-triangular roots of small covariance matrices, shape (..., k, k).

    This is Cholesky's algorithm, except that directions without variance are left out. Unlike
    eigenvectors, its result is continuous, so small rounding errors in the sums stay small.
    """
    rest = matrices.copy()
    root = np.zeros_like(rest)
    for j in range(matrices.shape[-1]):
        pivot = rest[..., j, j]
        full = pivot > ROUNDING * matrices[..., j, j]
        scale = np.sqrt(np.where(full, pivot, 1.0))
        root[..., j:, j] = np.where(full[..., None], rest[..., j:, j] / scale[..., None], 0.0)
        rest -= root[..., :, None, j] * root[..., None, :, j]
    return root


def scaled(normal: Floats, roots: Floats) -> Floats:
    """Return standard normal draws, shape (n, bins, k), with the covariances of these roots.

    The result has shape (k, n, bins).
    """
    return (normal.swapaxes(0, 1) @ roots.swapaxes(1, 2)).T


def _ratio(top: Floats, bottom: Floats) -> Floats:
    out = np.full_like(top, np.nan)
    return np.divide(top, bottom, out=out, where=bottom > 0.0)


def bin_scores(
    scores: PUScores,
    *,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
) -> Binned:
    """Sum both distributions in bins.

    Parameters
    ----------
    scores : PUScores
    bins : int or "optimal"
        Number of bins; "optimal" follows `optimal_bin_count`.
    binning : {"mass", "width"}
        Equal mass of the marginal sample, or equal width.
    edges : array-like, optional
        Fixed edges from 0 to 1, for instance those of a training set; overrides the other two.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> bin_scores(scores, bins=2, binning="width").residual
    array([-0.125,  0.125])
    """
    if edges is not None:
        frozen = check_edges(edges)
        return binned_sums(scores, frozen, scores.sums_in_bins(frozen))
    n_bins = bin_count(scores, bins, binning)
    if binning == "width":
        return binned_sums(scores, width_edges(n_bins), scores.sums_by_width(n_bins))
    u = mass_edges(scores, n_bins)
    return binned_sums(scores, u, scores.sums_in_bins(u))


_PAIRS = np.array([[3, 4, 5], [4, 6, 7], [5, 7, 8]])


def binned_sums(scores: PUScores, edges: Floats, sums: Floats) -> Binned:
    """Return the distributions of all rows from their nine sums in bins."""
    p, m = sums[:, :2].sum(axis=0).tolist()
    # Labeled data may contain no positives; the positive distribution is then empty, not undefined.
    p = p or 1.0
    shares = sums / np.array([p, m, m, p * p, p * m, p * m, m * m, m * m, m * m])
    positive, marginal, score = shares[:, :3].T
    return Binned(
        edges=edges,
        positive=positive,
        marginal=marginal,
        score=score,
        second=shares.take(_PAIRS, axis=1),
        prior=scores.known_prior,
        prior_is_estimated=scores.prior_is_estimated,
        rounding=scores.rounding,
    )


def order_rule(n_positive: float, n_marginal: float, prior: float) -> int:
    r"""Return :math:`\lceil (\pi^2/n_P + 1/n_M)^{-1/3} \rceil`, the bin count for PU data.

    This is the order of Corollary 1 of the PU-ECE paper (Estimating Expected Calibration Error for
    Positive-Unlabeled Learning) with constant one. It is not capped, although equal-mass bins need
    ``n_marginal >= 2 * bins``.

    Parameters
    ----------
    n_positive, n_marginal : float
        Sizes of the positive and the marginal sample, at least 1. One of them may be infinite; its
        term is then zero. In the one-sample setting, the marginal sample is all rows.
    prior : float
        Share of positives, in (0, 1).

    Returns
    -------
    int
        The smallest B with :math:`B^3 (\pi^2/n_P + 1/n_M) \ge 1`.

    Examples
    --------
    >>> order_rule(1000, 10_000, 0.5)
    15
    >>> order_rule(8788, 35_152, 0.5)  # 26 ** 3 == 17576 == 1 / (0.25 / 8788 + 1 / 35152)
    26
    """
    check_prior(prior)
    positive, marginal = _inverse(n_positive, "n_positive"), _inverse(n_marginal, "n_marginal")
    rate = Fraction(str(prior)) ** 2 * positive + marginal
    if rate == 0:
        raise InputError(
            "n_positive",
            "and 'n_marginal' must not both be infinite: no number of bins is then "
            "optimal, because more are always better. Pass the size of at least one "
            "sample.",
        )
    cube = math.ceil(1 / rate)
    root = _cube_root(cube)
    return root if root**3 == cube else root + 1


def labeled_order_rule(n: float) -> int:
    r"""Return :math:`\lfloor n^{1/3} \rfloor`, the bin count for labeled data.

    This is the choice of Futami & Fujisawa (2024), Section 6; its order follows from their
    Corollary 1.

    Parameters
    ----------
    n : float
        Number of labeled rows, finite and at least 1.

    Returns
    -------
    int
        The largest B with :math:`B^3 \le n`.

    Examples
    --------
    >>> labeled_order_rule(1000), int(1000 ** (1 / 3))
    (10, 9)
    """
    if _inverse(n, "n") == 0:
        raise InputError(
            "n",
            "must be finite, got inf: no number of bins is then optimal, because "
            "more are always better. Pass the number of rows.",
        )
    return _cube_root(math.floor(n))


def _inverse(size: float, name: str) -> Fraction:
    """Return 1/size exactly; zero for an infinite sample."""
    if not size >= 1:
        raise InputError(name, "must be at least 1", value=size, remedy="Pass the number of rows.")
    return Fraction(0) if size == math.inf else 1 / Fraction(str(size))


def _cube_root(value: int) -> int:
    """Return the integer part of the cube root of a positive integer, by Newton's method."""
    root = 1 << -(-value.bit_length() // 3)
    while (better := (2 * root + value // root**2) // 3) < root:
        root = better
    return root


def optimal_bin_count(scores: PUScores) -> int:
    """Return the number of bins from the papers' order rule.

    The rule is ``ceil((pi^2 / n_P + 1 / n_M)^(-1/3))`` for PU data and ``floor(n^(1/3))`` for
    labeled data, in exact arithmetic. The result is at most half the number of marginal rows, and
    at least one.

    Examples
    --------
    >>> from noneg import PUScores
    >>> optimal_bin_count(PUScores.from_labels([0, 1] * 500, [0.5] * 1000))
    10
    """
    if scores.prior_is_estimated:
        n_bins = labeled_order_rule(scores.effective_marginal)
    else:
        n_bins = order_rule(
            scores.effective_positive, scores.effective_marginal, scores.known_prior
        )
    if np.isinf(scores.n_marginal):
        return n_bins
    return max(1, min(n_bins, int(scores.n_marginal) // 2))


def bin_count(scores: PUScores, bins: object, binning: object) -> int:
    """Return the requested number of bins, checked against the data."""
    if binning not in ("mass", "width"):
        msg = f"must be 'mass' (equal counts) or 'width' (equal widths), got {binning!r}."
        raise InputError("binning", msg)
    if bins == "optimal":
        return optimal_bin_count(scores)
    try:
        n_bins = operator.index(bins)  # type: ignore[arg-type]
    except TypeError:
        n_bins = 0
    if n_bins < 1 or isinstance(bins, bool):
        raise InputError("bins", "must be a positive integer or 'optimal'", value=bins)
    # A single bin has no inner edge and always works.
    if binning == "mass" and n_bins > 1 and 2 * n_bins > scores.n_marginal:
        msg = (
            f"must be at most half the {scores.n_marginal:,.0f} marginal rows for "
            f"equal-mass bins, got {n_bins}. Use at most "
            f"{max(1, int(scores.n_marginal) // 2)}, "
            "or use binning='width'."
        )
        raise InputError("bins", msg)
    return n_bins


def check_edges(edges: ArrayLike) -> Floats:
    """Return the edges as an array, after checking that they increase from 0 to 1."""
    u = np.asarray(edges, dtype=np.float64)
    if u.ndim != 1 or u.size < 2 or u[0] != 0.0 or u[-1] != 1.0 or not (np.diff(u) >= 0.0).all():
        raise InputError("edges", "must increase from 0 to 1 and include both", value=edges)
    return u


def mass_edges(scores: PUScores, n_bins: int) -> Floats:
    """Return edges that split the marginal sample into equal counts.

    ``u_b`` is order statistic number ``floor(n b / B)`` (1-based) of the marginal sample, or the
    population quantile if the sample is infinite; ``u_0 = 0``, ``u_B = 1``.
    """
    return scores.kept(("mass edges", n_bins), lambda: _mass_edges(scores, n_bins))


def _mass_edges(scores: PUScores, n_bins: int) -> Floats:
    known = scores.marginal_quantiles(np.arange(1, n_bins) / n_bins)
    if known is None:
        known = order_statistics(scores, ranks(scores.effective_marginal, n_bins))
    return np.concatenate([[0.0], known, [1.0]])


def ranks(n: float, n_bins: int) -> Floats:
    """Return ``floor(n b / B)`` for the inner edges, exactly if n is a whole number."""
    if float(n).is_integer():
        return np.array([int(n) * b // n_bins for b in range(1, n_bins)], dtype=np.float64)
    # Unequal weights reduce the effective size further; the smallest valid rank is 1.
    return np.maximum(np.floor(n * np.arange(1, n_bins) / n_bins), 1.0)


def order_statistics(scores: PUScores, ranks: Floats) -> Floats:
    """Return the smallest scores whose share of the marginal sample reaches ``rank / n``.

    The cumulative counts at the ends of the runs show which runs contain the results; only those
    runs are sorted.
    """
    reached = scores.marginal_by_run()
    target = ranks * (reached[-1] / scores.effective_marginal) * (1.0 - 1e-12)
    # Rank 0, which occurs with fewer rows than bins, means the first row with a weight.
    target = np.maximum(target, np.finfo(np.float64).smallest_subnormal)
    runs = np.searchsorted(reached, target)
    out = np.empty(target.size)
    for run in np.unique(runs):
        before = reached[run - 1] if run else 0.0
        values, masses = scores.marginal_in_run(int(run))
        here = runs == run
        place = np.searchsorted(before + np.cumsum(masses), target[here])
        out[here] = values[np.minimum(place, values.size - 1)]
    return out


def check_frequencies(binned: Binned, rule: str) -> None:
    """Raise an error if the frequency of a bin is infinite; the message starts with the rule."""
    infinite = np.flatnonzero((binned.marginal == 0.0) & (binned.positive > 0.0))
    if infinite.size:
        low, high = binned.edges[infinite[0] : infinite[0] + 2]
        raise ValueError(
            f"{rule}: bin ({low:g}, {high:g}] contains positives but no marginal "
            "row, so its frequency is infinite. Use fewer bins or binning='mass'."
        )


def check_p(p: object) -> float:
    """Return the order of a norm, checked to be at least 1."""
    rule = "the order of a norm, at least 1"
    return np.inf if p == np.inf else check_number(p, "p", rule, lambda x: x >= 1.0)
