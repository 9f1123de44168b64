r"""Calibration errors without bins: smoothed residuals, smoothed densities, cumulative residuals.

Blurring
    A kernel reflected at both ends of [0, 1] is diagonal in the cosine basis: it multiplies the
    k-th coefficient of a measure by its Fourier transform at the frequency :math:`\pi k`. For the
    Gaussian kernel, the blurred residuals are the series

    .. math:: (K_\sigma * \rho)(x) = c_0 + 2 \sum_{k \ge 1} c_k\, e^{-\sigma^2 \pi^2 k^2 / 2}
        \cos(\pi k x), \qquad c_k = \int \cos(\pi k s)\, d\rho(s).

    Rows are first gathered on a fine grid of nodes, in one pass like that of a histogram. One
    cosine transform gives the coefficients, and a second one evaluates the series for any width.
Densities
    With both densities blurred by a kernel, on the scores or on their logits,

    .. math:: f = K * \mu, \qquad g = \pi\, K * \mu_+,

    the ratio g / f estimates the frequency of positives at x, and the error is :math:`\int f\,
    \lvert g / f - x \rvert^p`. This power is a convex function of the two distributions and
    homogeneous of degree one, so both ends of `ece_interval` carry over.

    The kernel blurs the frequency but not the x it is compared with. Because of this *smoothing
    bias*, :math:`\int \lvert K * (s \mu) - x\, f \rvert` for p = 1, even a calibrated score has a
    small error. The bias can be estimated, and lower ends are reduced by it: they are positive only
    if there is evidence against calibration itself, and they are lower bounds both for the error of
    the score and for its smoothed version.
Kolmogorov-Smirnov
    :math:`\rho((-\infty, t])` is the share of positives with a score up to t minus the sum of these
    scores; it is zero everywhere when calibration is perfect. Its largest absolute value is found
    without a full sort: sums in narrow buckets of scores bound the values inside each bucket, and
    only buckets that could exceed the largest value at a bucket boundary are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct, next_fast_len
from scipy.optimize import brentq
from scipy.special import logit, spherical_jn

from noneg import kernels
from noneg.bins import Binned, bin_scores, check_p
from noneg.calibration.errors import power_mean
from noneg.calibration.interval import (
    METHOD,
    SPLITS,
    ZERO,
    Convex,
    Noise,
    Norm,
    error_limits,
    error_value,
)
from noneg.calibration.testing import KS_BINS, bins_for_rows
from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import enclosing
from noneg.kernels import Axis
from noneg.laws import Ordered
from noneg.registry import calibration_error
from noneg.selection import refuse_selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Flags, Floats, Integers, Places
    from noneg.calibration.interval import Sums
    from noneg.results import Estimate
    from noneg.scores import PUScores

    Blur = Callable[[Floats], Floats]

FEWEST_NODES, MOST_NODES = 2**14, 2**20
# Nodes per standard deviation of a kernel: gathering rows errs by less than 2e-6 of their total.
NODES_IN_WIDTH = 256
# Smallest width that the finest grid of nodes still resolves.
SMALLEST_WIDTH = 1e-5
# Bins per standard deviation of a kernel for computing limits, and bounds on the number of bins.
BINS_IN_WIDTH = 8
FEWEST_BINS, MOST_BINS = 64, 4096
# Numbers of nodes to try for the fixed point, whose width is not known in advance.
LINES = (FEWEST_NODES, 2**17, MOST_NODES)
# Nodes per fixed-point width: the blurred residuals are equally small, so relative errors suffice.
NODES_IN_FIXED_POINT = 16
# Errors this small need no finer grid.
NOTHING = 1e-9
# Relative difference between two errors that is attributed to rounding.
ROUNDING = 1e-9
# Width of the kernel when all scores are equal.
NARROW = 1e-4
# Room beyond the clipped logits, in standard deviations; it contains the whole kernel.
ROOM = 10.0
SMALLEST_SIGMA, SMALLEST_CLIP = 1e-3, 1e-12
# Share of its maximum below which a density is rounding error, at nodes and in bins, and the share
# of positives allowed there.
EMPTY, EMPTY_BIN, LOST = 1e-9, 1e-4, 1e-6
# With fewer rows than this, all rows are sorted.
FEW_ROWS = 1 << 16
# A line that gains less than this is not a corner.
CORNER = 1e-15


def ks_error(scores: PUScores) -> float:
    r"""Return the Kolmogorov-Smirnov calibration error.

    .. math:: \sup_t\,\lvert \rho((-\infty, t])\rvert
        = \sup_t\,\Bigl\lvert \pi\,\mu_+(s \le t) - \int_{s \le t} s\,d\mu \Bigr\rvert

    where t ranges over the scores in the data, and equal scores count together. It needs no bins,
    and is at most the ECE over any bins that have the maximizing t as an edge.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    References
    ----------
    Gupta et al. (2021), Calibration of Neural Networks using Splines; Arrieta-Ibarra et al. (2022),
    Metrics of Calibration for Probabilistic Predictions, whose ECCE-MAD is this value for labeled
    data.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(ks_error(scores), 4)
    0.125
    """
    return _largest(scores, scores.known_prior)


@calibration_error(
    ks_error,
    title="Kolmogorov-Smirnov calibration error",
    citation="Gupta et al. (2021), Calibration of neural networks using splines",
)
def ks_error_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the Kolmogorov-Smirnov error with an interval for its population value.

    The ends are computed as in `noneg.calibration.ece_interval`, with the largest cumulative sum of
    residuals instead of their absolute sum, over up to 256 equal-mass bins. The amount by which
    the error is larger between bin edges is added to the upper end.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> print(ks_error_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0732 [0.0571, 0.0797]
    """
    refuse_selection(scores, "ks_error")
    level = check_level(level)
    value = ks_error(scores)
    binned = bin_scores(scores, bins=bins_for_rows(scores, KS_BINS))
    low, high = error_limits(scores, binned, Norm(_dual), level, seed=seed)
    priors = {scores.known_prior, *(scores.prior_interval or ())}
    between = max(_largest(scores, prior) - _at_ends(binned, prior) for prior in priors)
    return enclosing(scores, value, (low, high + max(0.0, between)), level, METHOD)


@dataclass(frozen=True, eq=False)
class Envelope:
    r"""Points whose lines determine the Kolmogorov-Smirnov error at some prior in [0, 1].

    The error :math:`\sup_t |\pi\,\mu_+(s \le t) - \int_{s \le t} s\,d\mu|` is, as a function of the
    prior, the maximum of many linear functions. Only a few of them ever attain the maximum: those
    at the corners of the convex hull of :math:`(\mu_+(s \le t), \int_{s \le t} s\,d\mu)`.

    Attributes
    ----------
    positive, score : ndarray
        ``mu_plus(s <= t)`` and the integral of s up to t, at these points.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> envelope = ks_envelope(scores)
    >>> abs(envelope(0.7) - ks_error(scores.with_prior(0.7))) < 1e-12
    True
    """

    positive: Floats
    score: Floats

    def __call__(self, prior: float) -> float:
        """Return the error at a prior."""
        return float(np.abs(prior * self.positive - self.score).max())


def ks_envelope(scores: PUScores) -> Envelope:
    """Return the points that determine the Kolmogorov-Smirnov error at every prior."""
    s, mass, marginal = Ordered(scores).masses()
    # The positive distribution and the integral of s, up to each distinct score.
    positive = np.cumsum(mass)
    positive = positive / (positive[-1] or 1.0)
    score = np.cumsum(marginal * s) / marginal.sum()
    above = _corners(positive, -score)
    below = positive.size - 1 - _corners(-positive[::-1], score[::-1])
    kept = np.unique(np.concatenate([above, below]))
    return Envelope(positive[kept], score[kept])


def _corners(slope: Floats, level: Floats) -> Places:
    """Return which lines ``level + slope x`` are the largest at some x in [0, 1]; slopes ascend.

    The index of the largest line increases with x, so only lines between two known ones can be
    largest between them. At the intersection of the two, either they are the largest or a better
    line is found.
    """
    first = int(np.argmax(level))
    last = int(np.argmax(level + slope))
    found = {first, last}
    open_ranges = [(first, last)]
    while open_ranges:
        i, j = open_ranges.pop()
        if j - i < 2 or slope[j] <= slope[i]:
            continue
        x = (level[i] - level[j]) / (slope[j] - slope[i])
        height = level[i : j + 1] + slope[i : j + 1] * x
        k = i + int(np.argmax(height))
        if k in (i, j) or height[k - i] <= max(height[0], height[-1]) + CORNER:
            continue
        found.add(k)
        open_ranges += [(i, k), (k, j)]
    return np.array(sorted(found), dtype=np.intp)


def _dual(d: Floats) -> Floats:
    """Return the sign of the largest cumulative sum up to the bin where it is reached, then 0."""
    sums = np.cumsum(d, axis=1)
    last = np.abs(sums).argmax(axis=1)[:, None]
    return np.sign(np.take_along_axis(sums, last, axis=1)) * (np.arange(d.shape[1]) <= last)


def _at_ends(binned: Binned, prior: float) -> float:
    return float(np.abs(np.cumsum(prior * binned.positive - binned.score)).max())


def _largest(scores: PUScores, prior: float) -> float:
    # Both distributions are at most one, so a value this small is zero up to rounding error.
    height = _height(scores, prior)
    return height if height > 2.0 * scores.rounding else 0.0


def _height(scores: PUScores, prior: float) -> float:
    if scores.n_unlabeled + scores.n_positive <= FEW_ROWS:
        s, a, w = Ordered(scores).masses()
        jumps = a * (prior / (a.sum() or 1.0)) - w * s / w.sum()
        return float(np.abs(np.cumsum(jumps)).max())
    sums = scores.sums_by_bucket()
    up, down = prior / (sums[:, 0].sum() or 1.0), 1.0 / sums[:, 1].sum()
    positive, score = np.cumsum(sums[:, 0]) * up, np.cumsum(sums[:, 2]) * down
    before_positive, before_score = (np.concatenate([[0.0], x[:-1]]) for x in (positive, score))
    at_ends = float(np.abs(positive - score).max())
    # Inside a bucket, all positives may come first, or all marginal rows.
    inside = np.maximum(positive - before_score, score - before_positive) > at_ends
    s, a, w = _rows(scores, inside)
    start = before_positive - before_score
    return max(at_ends, _highest(s, a * up - w * s * down, kernels.bucket_of(s), start))


def _rows(scores: PUScores, marked: Flags) -> Floats:
    """Return the rows in marked buckets: scores, and masses in both distributions."""
    pieces = []
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        keep = marked[kernels.bucket_of(s)]
        columns = s, f * a * in_positive, f * w * in_marginal
        # Unweighted rows share one mass.
        kept = [x[keep] if isinstance(x, np.ndarray) else x for x in columns]
        pieces.append(np.stack(np.broadcast_arrays(*kept)))
    return np.concatenate(pieces, axis=1)


def _highest(s: Floats, jumps: Floats, bucket: Integers, start: Floats) -> float:
    """Return the largest height at the end of a tie; each bucket has its own starting height."""
    if s.size == 0:
        return 0.0
    order = np.argsort(s, kind="stable")
    s, bucket = s[order], bucket[order]
    height = np.cumsum(jumps[order])
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    shift = start[bucket[first]] - np.concatenate([[0.0], height])[first]
    height += np.repeat(shift, np.diff(first, append=s.size))
    last_of_tie = np.diff(s, append=2.0) > 0.0
    return float(np.abs(height[last_of_tie]).max())


def check_width(value: object, name: str, smallest: float = SMALLEST_WIDTH) -> float:
    """Return the width of a kernel after checking that it can be resolved."""
    rule = f"the width of a kernel, at least {smallest:g}"
    return check_number(value, name, rule, lambda x: x >= smallest)


def nodes_for(width: float) -> int:
    """Return a number of nodes that resolves a kernel of this width."""
    n = FEWEST_NODES
    while n * width < NODES_IN_WIDTH and n < MOST_NODES:
        n *= 2
    return n


def bins_for(width: float) -> int:
    """Return a sufficient number of bins for the limits of an error."""
    wanted = np.clip(np.ceil(BINS_IN_WIDTH / width), FEWEST_BINS, MOST_BINS)
    return int(next_fast_len(int(wanted), real=True))


def gaussian(frequency: Floats) -> Floats:
    """Return the Fourier transform of the standard normal density."""
    return np.exp(-(frequency**2) / 2.0)


def triweight(frequency: Floats) -> Floats:
    r"""Return the Fourier transform of the unit-variance triweight kernel.

    The kernel :math:`\tfrac{35}{32} (1 - u^2)^3` on [-1, 1] has variance 1/9 and the transform
    :math:`105\, j_3(\omega) / \omega^3` with the spherical Bessel function j_3.
    """
    w = 3.0 * frequency
    out = np.ones_like(w)
    return np.divide(105.0 * spherical_jn(3, w), w**3, out=out, where=w > 0.0)


def transfer(spectrum: Blur, width: float, n: int) -> Floats:
    """Return the factors with which a kernel multiplies the first n cosine coefficients."""
    return spectrum(np.pi * width * np.arange(n, dtype=np.float64))


def moments(masses: Floats) -> Floats:
    r"""Return the cosine coefficients :math:`\int \cos(\pi k x)` of masses gathered at nodes.

    Splitting a row between two nodes blurs it, on average, with a triangle; this is undone here.
    """
    n = masses.shape[-1]
    triangle = np.sinc(np.arange(n) / (2.0 * n)) ** 2
    coefficients: Floats = dct(masses, type=2) / (2.0 * triangle)
    return coefficients


def density(coefficients: Floats) -> Floats:
    """Return the density with these cosine coefficients, at the nodes."""
    values: Floats = dct(coefficients, type=3)
    return values


def blurring(factors: Floats) -> Blur:
    """Return a function that blurs masses in bins (the last axis); it is its own transpose."""

    def blur(masses: Floats) -> Floats:
        out: Floats = idct(dct(masses, norm="ortho") * factors, norm="ortho")
        return out

    return blur


def mean_size(values: Floats) -> float:
    """Return the integral of ``|f|`` over [0, 1] from the values of a smooth f at the nodes.

    The equal-weight rule is exact except for the kinks of ``|f|`` at its zeros. The first
    correction term in the Euler-Maclaurin formula, the second Bernoulli polynomial of the zero's
    position in its cell, is added.
    """
    size, sign = np.abs(values), values >= 0.0
    kink = np.flatnonzero(sign[1:] != sign[:-1])
    rise = size[kink] + size[kink + 1]
    part = size[kink] / rise
    return float((size.sum() + rise @ (part * part - part + 1.0 / 6.0)) / size.size)


def smooth_ece(scores: PUScores, *, sigma: float | None = None) -> float:
    r"""Return the smooth calibration error.

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \lvert (K_\sigma * \rho)(x) \rvert\, dx,
        \qquad \rho = \pi \mu_+ - s\,\mu,

    with a Gaussian kernel of standard deviation sigma, reflected at 0 and at 1 (Blasiok & Nakkiran
    2024). The error decreases as sigma grows, so there is exactly one width at which
    :math:`\mathrm{smECE}_\sigma = \sigma`; this is the default.

    Parameters
    ----------
    scores : PUScores
    sigma : float, optional
        Width of the kernel, at least 1e-5. Defaults to the fixed point described above.

    Returns
    -------
    float
        The error. It does not depend on bin edges, and rows with scores of exactly 0 or 1 count
        fully. A fixed point below 1.5e-5 cannot be resolved; in that case, the error at that width,
        which is no larger, is returned.

    References
    ----------
    J. Blasiok and P. Nakkiran (2024). Smooth ECE: Principled Reliability Diagrams via Kernel
    Smoothing. International Conference on Learning Representations.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(smooth_ece(scores, sigma=0.1), 4)
    0.3547
    """
    if sigma is not None:
        width = check_width(sigma, "sigma")
        return _error(_coefficients(scores, nodes_for(width)), width)
    for n in LINES:
        value = _fixed_point(_coefficients(scores, n))
        if value * n >= NODES_IN_FIXED_POINT or value <= NOTHING:
            break
    return value


@calibration_error(
    smooth_ece, title="Smooth calibration error", citation="Blasiok & Nakkiran (2024), Smooth ECE"
)
def smooth_ece_interval(
    scores: PUScores, *, level: float = 0.95, sigma: float | None = None, seed: int = 0
) -> Estimate:
    """Return the smooth calibration error with an interval for its population value.

    The limits are computed as in `ece_interval`, for a different norm of the residuals. With the
    default width, they are taken at the fixed point of the sample. Because both the error and its
    limits decrease in sigma, they also cover the fixed point of the population at the nominal level
    or better.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    sigma : float, optional
        As in `smooth_ece`.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> estimate = smooth_ece_interval(scores)
    >>> 0.0 < estimate.low < estimate.value < estimate.high < 0.2
    True
    """
    refuse_selection(scores, "smooth_ece")
    level = check_level(level)
    value = smooth_ece(scores, sigma=sigma)
    width = max(SMALLEST_WIDTH, value if sigma is None else float(sigma))
    n = bins_for(width)
    blur = blurring(transfer(gaussian, width, n))

    def dual(d: Floats) -> Floats:
        return blur(np.where(blur(d) < -ZERO, -1.0, 1.0))

    binned = bin_scores(scores, bins=n, binning="width")
    limits = error_limits(scores, binned, Norm(dual), level, seed=seed)
    return enclosing(scores, value, limits, level, METHOD)


def _coefficients(scores: PUScores, n: int) -> Floats:
    """Return the cosine coefficients of the residual measure."""
    positive, _, score = _at_nodes(scores, Axis(n))
    return moments(positive - score)


def _at_nodes(scores: PUScores, axis: Axis) -> Floats:
    """Return ``pi mu_plus``, ``mu`` and the integral of s at the nodes of an axis."""
    sums = scores.sums_at_nodes(axis)
    positive, marginal, _ = sums.sum(axis=0)
    return (sums * [scores.known_prior, 1.0, 1.0] / [positive or 1.0, marginal, marginal]).T


def _error(coefficients: Floats, sigma: float) -> float:
    return mean_size(density(coefficients * transfer(gaussian, sigma, coefficients.size)))


def _fixed_point(coefficients: Floats) -> float:
    """Return the width that equals its error, or the error at the smallest resolvable width."""
    smallest = NODES_IN_FIXED_POINT / coefficients.size
    # The error is at least the absolute mean residual, which blurring does not change.
    low = max(smallest, abs(float(coefficients[0])))
    high = _error(coefficients, low)
    if high <= low * (1.0 + ROUNDING):
        return high
    # If all residuals have one sign, the error is the same at all widths, up to rounding error.
    high *= 1.0 + ROUNDING
    root: float = brentq(lambda sigma: _error(coefficients, sigma) - sigma, low, high, xtol=1e-12)
    return root


def logit_smoothed_ece(scores: PUScores, *, sigma: float = 1.0 / 15.0, clip: float = 1e-6) -> float:
    r"""Return the logit-smoothed calibration error.

    .. math:: E\,\bigl\lvert E[Y \mid T] - \mathrm{sigmoid}(T) \bigr\rvert
        = \int \bigl\lvert \pi\,(K_\sigma * \mu_+)(t)
        - \mathrm{sigmoid}(t)\, (K_\sigma * \mu)(t) \bigr\rvert\, dt

    with :math:`T = \mathrm{logit}(s) + \sigma \xi` for standard normal noise :math:`\xi`, and the
    distributions on the logit scale (Chidambaram et al. 2024, Eq. 4.1). The integral is computed,
    not sampled.

    Parameters
    ----------
    scores : PUScores
    sigma : float
        Standard deviation of the noise, at least 0.001. The authors use the reciprocal of the
        number of bins in the binned error being compared.
    clip : float
        Scores are first clipped to [clip, 1 - clip], because 0 and 1 have no logit. This changes
        the error by at most about `clip`: beyond it, only the labels matter.

    Returns
    -------
    float
        The error. Even a calibrated score has a small error, of the order of sigma squared.

    References
    ----------
    M. Chidambaram, H. Lee, C. McSwiggen and S. Rezchikov (2024). How Flawed Is ECE? An Analysis
    via Logit Smoothing. International Conference on Machine Learning.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(logit_smoothed_ece(scores), 4)
    0.7501
    """
    return _kernel_error(scores, _on_logits(sigma, clip))


@calibration_error(
    logit_smoothed_ece,
    title="Logit-smoothed calibration error",
    citation="Chidambaram et al. (2024), How flawed is ECE?",
)
def logit_smoothed_ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    sigma: float = 1.0 / 15.0,
    clip: float = 1e-6,
    seed: int = 0,
) -> Estimate:
    """Return the logit-smoothed calibration error with an interval for its population value.

    The smoothing bias is subtracted from the lower end, which is therefore also a lower bound for
    the calibration error of the score.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    sigma, clip
        As in `logit_smoothed_ece`.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> estimate = logit_smoothed_ece_interval(scores)
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    return _kernel_interval(scores, _on_logits(sigma, clip), level, seed)


def kernel_ece(scores: PUScores, *, p: float = 1, bandwidth: float | None = None) -> float:
    r"""Return the calibration error from kernel density estimates.

    .. math:: \Bigl(\int_0^1 f(x)\, \lvert g(x) / f(x) - x \rvert^p\, dx\Bigr)^{1/p},
        \qquad f = K_h * \mu, \quad g = \pi\, K_h * \mu_+,

    with the triweight kernel reflected at 0 and 1 and the same bandwidth for both densities (Zhang
    et al. 2020, whose estimate is the p-th power of this one).

    Parameters
    ----------
    scores : PUScores
    p : float
        Order of the norm, finite and at least 1.
    bandwidth : float, optional
        Standard deviation of the kernel (one third of its half-width), at least 1e-5. Defaults to
        ``1.06 sd n^(-1/5)``, where sd is the standard deviation of the marginal scores and
        ``n = min(n_marginal, n_positive / prior)``, the size of a labeled sample that would contain
        as many positives; for labeled data, n is the sample size.

    Returns
    -------
    float
        The error. Frequencies above 1, due to noise or a wrong prior, are used as they are. Even a
        calibrated score has a small error, of the order of the squared bandwidth.

    Notes
    -----
    Popordanoska et al. (2022) use a beta kernel, average over the rows instead of integrating, and
    leave each row out of its own estimate; the limit is the same.

    References
    ----------
    J. Zhang, B. Kailkhura and T. Y.-J. Han (2020). Mix-n-Match: Ensemble and Compositional Methods
    for Uncertainty Calibration in Deep Learning. International Conference on Machine Learning.

    T. Popordanoska, R. Sayer and M. B. Blaschko (2022). A Consistent and Differentiable Lp
    Canonical Calibration Error Estimator. Neural Information Processing Systems.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(kernel_ece(scores, bandwidth=0.1), 4)
    0.324
    """
    return _kernel_error(scores, _on_scores(scores, p, bandwidth))


@calibration_error(
    kernel_ece, title="Kernel calibration error", citation="Zhang et al. (2020), Mix-n-Match"
)
def kernel_ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    p: float = 1,
    bandwidth: float | None = None,
    seed: int = 0,
) -> Estimate:
    """Return the kernel calibration error with an interval for its population value.

    The target is the error at the same bandwidth. The smoothing bias is subtracted from the lower
    end, which is therefore also a lower bound for the L_p calibration error of the score.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    p, bandwidth
        As in `kernel_ece`.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> estimate = kernel_ece_interval(scores)
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    return _kernel_interval(scores, _on_scores(scores, p, bandwidth), level, seed)


@dataclass(frozen=True)
class _Kernel:
    """A kernel on the scores or on their logits, and the norm of the error.

    Attributes
    ----------
    spectrum : callable
        Fourier transform of the unit-variance kernel.
    width : float
        Standard deviation, as a fraction of the axis length.
    p : float
    clip, reach : float
        See `noneg.kernels.Axis`.
    """

    spectrum: Blur
    width: float
    p: float = 1.0
    clip: float = 0.0
    reach: float = 0.0

    def axis(self, n: int) -> Axis:
        return Axis(n, self.clip, self.reach)


def _on_scores(scores: PUScores, p: float, bandwidth: float | None) -> _Kernel:
    p = check_p(p)
    if np.isinf(p):
        raise InputError("p", "must be finite for densities", value=p)
    if bandwidth is None:
        return _Kernel(triweight, _rule_of_thumb(scores), p)
    return _Kernel(triweight, check_width(bandwidth, "bandwidth"), p)


def _rule_of_thumb(scores: PUScores) -> float:
    n = min(scores.effective_marginal, scores.effective_positive / (scores.known_prior or 1.0))
    if np.isinf(n):
        raise InputError(
            "bandwidth", "must be given for a population, because the default rule is for samples."
        )
    axis = Axis(FEWEST_NODES)
    mass = scores.sums_at_nodes(axis)[:, 1]
    mean = np.average(axis.nodes, weights=mass)
    variance = np.average((axis.nodes - mean) ** 2, weights=mass)
    return max(NARROW, 1.06 * float(np.sqrt(variance)) * max(n, 1.0) ** -0.2)


def _on_logits(sigma: float, clip: float) -> _Kernel:
    sigma = check_width(sigma, "sigma", SMALLEST_SIGMA)
    rule = f"a probability in [{SMALLEST_CLIP:g}, 0.5)"
    end = check_number(clip, "clip", rule, lambda x: SMALLEST_CLIP <= x < 0.5)  # noqa: PLR2004
    reach = ROOM * sigma - float(logit(end))
    return _Kernel(gaussian, sigma / (2.0 * reach), clip=end, reach=reach)


def _kernel_error(scores: PUScores, kernel: _Kernel) -> float:
    axis = kernel.axis(nodes_for(kernel.width))
    factors = transfer(kernel.spectrum, kernel.width, axis.n)
    g, f = density(moments(_at_nodes(scores, axis)[:2]) * factors)
    if kernel.p == 1:
        return mean_size(g - axis.nodes * f)
    return _norm_of_gap(g, f, axis.nodes, kernel.p)


def _norm_of_gap(g: Floats, f: Floats, x: Floats, p: float) -> float:
    full = f > EMPTY * f.max()
    if g[~full].sum() > LOST * g.sum():
        at = x[~full][np.argmax(g[~full])]
        msg = (
            f"must be 1 here, got {p!r}: positives lie near {at:.3g}, where no marginal row "
            "does, so the frequency there is infinite. Increase the bandwidth."
        )
        raise InputError("p", msg)
    return power_mean(np.abs(g[full] / f[full] - x[full]), f[full] / x.size, p)


def _kernel_interval(scores: PUScores, kernel: _Kernel, level: float, seed: int) -> Estimate:
    refuse_selection(scores, "errors smoothed by a kernel")
    level, value = check_level(level), _kernel_error(scores, kernel)
    binned, power = _in_bins(scores, kernel)
    noise = Noise.signs(binned, SPLITS, seed)
    low, high = error_limits(scores, binned, power, level, noise=noise)
    bias = error_value(power, (binned.score, binned.marginal))
    words = f"{METHOD}, minus a smoothing bias of {bias:.2g}"
    return enclosing(scores, value, (max(0.0, low - bias), high), level, words)


@dataclass(frozen=True)
class Power(Convex):
    """The p-th power of the error as a function of the masses of both distributions in bins.

    Attributes
    ----------
    blur : callable
    x : ndarray
        Score in the middle of each bin.
    p : float
    """

    blur: Blur
    x: Floats
    p: float = 1.0

    def sums(self, binned: Binned) -> Sums:
        """Return the masses of positives, times the prior, and of all rows."""
        return binned.prior * binned.positive, binned.marginal

    def noise(self, binned: Binned, noise: Noise) -> Sums:
        """Return the noise in both masses."""
        return noise.of_laws(binned)[:2]

    def touching(self, sums: Sums) -> Sums:
        """Return the linear function of both masses that touches the power at these sums."""
        g, f = self.blur(sums[0]), self.blur(sums[1])
        if self.p == 1:
            first = np.where(g - self.x * f < -ZERO, -1.0, 1.0)
            return self.blur(first), self.blur(-self.x * first)
        full = f > EMPTY_BIN * f.max(axis=-1, keepdims=True)
        gap = np.divide(g, f, out=np.zeros_like(f), where=full) - self.x * full
        first = self.p * np.sign(gap) * np.abs(gap) ** (self.p - 1.0)
        second = -self.x * first - (self.p - 1.0) * np.abs(gap) ** self.p
        return self.blur(first), self.blur(second)


def _in_bins(scores: PUScores, kernel: _Kernel) -> tuple[Binned, Power]:
    """Return bins over the occupied part of the axis, and the error as a function of the bins."""
    axis = kernel.axis(bins_for(kernel.width))
    if kernel.clip == 0.0:
        binned = bin_scores(scores, bins=axis.n, binning="width")
        first, last = 0, axis.n
    else:
        binned = bin_scores(scores, edges=axis.edges)
        room = int(np.ceil(ROOM * kernel.width * axis.n))
        inside = np.flatnonzero(binned.occupied)
        first = max(0, inside[0] - room)
        wanted = next_fast_len(int(inside[-1] + 1 + room - first), real=True)
        last = min(axis.n, first + wanted)
    width = kernel.width * axis.n / (last - first)
    blur = blurring(transfer(kernel.spectrum, width, last - first))
    names = ("positive", "marginal", "score", "second")
    sums = {name: getattr(binned, name)[first:last] for name in names}
    inner = replace(binned, edges=binned.edges[first : last + 1], **sums)
    return inner, Power(blur, axis.nodes[first:last], kernel.p)
