r"""Calibration errors without bins: smoothed residuals, smoothed densities, cumulative residuals.

Blurring
    A kernel folded at both ends of [0, 1] is diagonal in the cosine basis: it multiplies the
    coefficient number k of a measure by its Fourier transform at the frequency :math:`\pi k`. With
    the Gaussian the blurred residuals are the series

    .. math:: (K_\sigma * \rho)(x) = c_0 + 2 \sum_{k \ge 1} c_k\, e^{-\sigma^2 \pi^2 k^2 / 2}
        \cos(\pi k x), \qquad c_k = \int \cos(\pi k s)\, d\rho(s).

    Rows are gathered on a fine line of nodes first, one pass like that of a histogram. One cosine
    transform gives the coefficients, another one the series for any width.
Densities
    With densities blurred by a kernel, on the scores or on their logits,

    .. math:: f = K * \mu, \qquad g = \pi\, K * \mu_+,

    the ratio g / f estimates the frequency of positives at x, and the error is
    :math:`\int f\, \lvert g / f - x \rvert^p`. This power is a convex function of the two laws and
    homogeneous of degree one, so both ends of `ece_interval` carry over.

    The kernel blurs the frequency but not the x it is compared with. By this *smoothing bias*,
    :math:`\int \lvert K * (s \mu) - x\, f \rvert` for p = 1, even a calibrated score has a small
    error. The bias can be estimated, and lower ends are reduced by it: they are positive only if
    calibration itself is in doubt, and bound from below the error of the score as well as that of
    its estimate.
Kolmogorov-Smirnov
    :math:`\rho((-\infty, t])` is the share of positives with a score up to t minus the sum of these
    scores; it stays at zero when calibration is perfect. Its largest absolute value is found
    without sorting: sums in narrow buckets of scores bound what can happen inside each, and only
    the rows of buckets that can beat the largest value at the end of a bucket are put in order.
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
    error_limits,
    error_value,
    ks_bins,
    norm_limits,
)
from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import enclosing
from noneg.kernels import Axis
from noneg.laws import Ordered
from noneg.registry import calibration_error, in_range
from noneg.selection import refuse_selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.calibration.interval import Sums
    from noneg.results import Estimate
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Blur = Callable[[Floats], Floats]

FEWEST_NODES, MOST_NODES = 2**14, 2**20
# Nodes in a kernel's standard deviation: gathering rows errs by less than 2e-6 of their total.
NODES_IN_WIDTH = 256
# A width that the finest line of nodes still resolves.
SMALLEST_WIDTH = 1e-5
# Bins in a kernel's standard deviation from which limits are computed, and their number.
BINS_IN_WIDTH = 8
FEWEST_BINS, MOST_BINS = 64, 4096
# Numbers of nodes to try for the fixed point, whose width is not known beforehand.
LINES = (FEWEST_NODES, 2**17, MOST_NODES)
# Nodes in the fixed point: the blurred residuals are as small as it, and errors a share of them.
NODES_IN_FIXED_POINT = 16
# An error that finer nodes need not look at.
NOTHING = 1e-9
# Relative difference of two errors that is taken for a rounding.
ROUNDING = 1e-9
# Width of the kernel when all scores are the same.
NARROW = 1e-4
# Room beyond the clipped logits, in standard deviations: all of the kernel.
ROOM = 10.0
SMALLEST_SIGMA, SMALLEST_CLIP = 1e-3, 1e-12
# Share of its highest value below which a density is rounding, at nodes and in bins, and share of
# the positives that may lie there.
EMPTY, EMPTY_BIN, LOST = 1e-9, 1e-4, 1e-6
# Below this number of rows all are put in order.
FEW_ROWS = 1 << 16


def ks_error(scores: PUScores) -> float:
    r"""Return the Kolmogorov-Smirnov calibration error.

    .. math:: \sup_t\,\lvert \rho((-\infty, t])\rvert
        = \sup_t\,\Bigl\lvert \pi\,\mu_+(s \le t) - \int_{s \le t} s\,d\mu \Bigr\rvert

    over the scores t in the data; equal scores count together. It needs no bins, and is not larger
    than the ECE over any bins of which that t is an edge.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    References
    ----------
    Gupta et al. (2021), Calibration of Neural Networks using Splines; Arrieta-Ibarra et al. (2022),
    Metrics of Calibration for Probabilistic Predictions, whose ECCE-MAD is this value for labelled
    data.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(ks_error(scores), 4)
    0.125
    """
    return _largest(scores, scores.known_prior)


@in_range
def ks_error_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the Kolmogorov-Smirnov error with an interval for its population value.

    The ends are those of `noneg.calibration.ece_interval`, with the largest cumulative sum of
    residuals in place of their sum, over up to 256 bins of equal mass; what the error gains
    between the ends of bins is added to the upper end.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    seed : int
        Seed of the random splits of the lower end.

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
    binned = bin_scores(scores, bins=ks_bins(scores))
    low, high = norm_limits(scores, binned, _dual, level=level, seed=seed)
    priors = {scores.known_prior, *(scores.prior_interval or ())}
    between = max(_largest(scores, prior) - _at_ends(binned, prior) for prior in priors)
    return enclosing(scores, value, (low, high + max(0.0, between)), level, METHOD)


def _dual(d: Floats) -> Floats:
    """Return the sign of the largest cumulative sum, up to where it is reached."""
    sums = np.cumsum(d, axis=1)
    last = np.abs(sums).argmax(axis=1)[:, None]
    return np.sign(np.take_along_axis(sums, last, axis=1)) * (np.arange(d.shape[1]) <= last)


def _at_ends(binned: Binned, prior: float) -> float:
    return float(np.abs(np.cumsum(prior * binned.positive - binned.score)).max())


def _largest(scores: PUScores, prior: float) -> float:
    # Both laws rise to at most one; what rounding alone can make of zero is zero.
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
    # Inside a bucket all positives may come first, or all marginal rows.
    inside = np.maximum(positive - before_score, score - before_positive) > at_ends
    s, a, w = _rows(scores, inside)
    start = before_positive - before_score
    return max(at_ends, _highest(s, a * up - w * s * down, kernels.bucket_of(s), start))


def _rows(scores: PUScores, marked: NDArray[np.bool_]) -> Floats:
    """Return the rows of marked buckets: scores, and masses in the positive and marginal law."""
    pieces = []
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        keep = marked[kernels.bucket_of(s)]
        columns = s, f * a * in_positive, f * w * in_marginal
        # Unweighted rows share one mass.
        kept = [x[keep] if isinstance(x, np.ndarray) else x for x in columns]
        pieces.append(np.stack(np.broadcast_arrays(*kept)))
    return np.concatenate(pieces, axis=1)


def _highest(s: Floats, jumps: Floats, bucket: NDArray[np.int64], start: Floats) -> float:
    """Return the largest height at the end of a tie; each bucket starts at a height of its own."""
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
    """Return the width of a kernel, large enough to be resolved."""
    rule = f"the width of a kernel, at least {smallest:g}"
    width = check_number(value, name, rule)
    if width < smallest:
        raise InputError(name, f"must be {rule}", value=value)
    return width


def nodes_for(width: float) -> int:
    """Return the number of nodes that resolves a kernel."""
    n = FEWEST_NODES
    while n * width < NODES_IN_WIDTH and n < MOST_NODES:
        n *= 2
    return n


def bins_for(width: float) -> int:
    """Return a number of bins that is enough for the limits of an error."""
    wanted = np.clip(np.ceil(BINS_IN_WIDTH / width), FEWEST_BINS, MOST_BINS)
    return int(next_fast_len(int(wanted), real=True))


def gaussian(frequency: Floats) -> Floats:
    """Return the Fourier transform of the standard normal density."""
    return np.exp(-(frequency**2) / 2.0)


def triweight(frequency: Floats) -> Floats:
    r"""Return the Fourier transform of the triweight kernel of unit variance.

    The kernel :math:`\tfrac{35}{32} (1 - u^2)^3` on [-1, 1] has variance 1/9 and the transform
    :math:`105\, j_3(\omega) / \omega^3` with the spherical Bessel function j_3.
    """
    w = 3.0 * frequency
    out = np.ones_like(w)
    return np.divide(105.0 * spherical_jn(3, w), w**3, out=out, where=w > 0.0)


def transfer(spectrum: Blur, width: float, n: int) -> Floats:
    """Return the factors by which a kernel multiplies the first n cosine coefficients."""
    return spectrum(np.pi * width * np.arange(n, dtype=np.float64))


def moments(masses: Floats) -> Floats:
    r"""Return the cosine coefficients :math:`\int \cos(\pi k x)` of masses gathered at nodes.

    Sharing a row between two nodes blurs it by a triangle, on average; that is undone.
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
    """Return the map that blurs masses in bins (the last axis); it is its own transpose."""

    def blur(masses: Floats) -> Floats:
        out: Floats = idct(dct(masses, norm="ortho") * factors, norm="ortho")
        return out

    return blur


def mean_size(values: Floats) -> float:
    """Return the integral of ``|f|`` over [0, 1] from values of a smooth f at the nodes.

    The rule of equal weights is exact but for the kinks of ``|f|`` at its zeros. Their first term
    in the Euler-Maclaurin formula, the second Bernoulli polynomial of the zero's place in its
    cell, is added.
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

    with the Gaussian kernel of standard deviation sigma folded at 0 and at 1 (Blasiok & Nakkiran
    2024). It falls as sigma grows, so there is exactly one width at which
    :math:`\mathrm{smECE}_\sigma = \sigma`; that is the default.

    Parameters
    ----------
    scores : PUScores
    sigma : float, optional
        Width of the kernel, at least 1e-5. By default the fixed point described above.

    Returns
    -------
    float
        The error. It depends on no bin edge, and rows at scores of exactly 0 or 1 count fully. A
        fixed point below 1.5e-5 is beyond the resolution; the error at that width, which is no
        larger, is returned then.

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


@in_range
def smooth_ece_interval(
    scores: PUScores, *, level: float = 0.95, sigma: float | None = None, seed: int = 0
) -> Estimate:
    """Return the smooth calibration error with an interval for its population value.

    The limits are those of `ece_interval` for another norm of the residuals. With the default
    width they are taken at the fixed point of the sample. As both fall when sigma grows, they
    enclose every width that lies between its own limits, and so the fixed point of the population
    at the nominal level or better.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    sigma : float, optional
        As in `smooth_ece`.
    seed : int
        Seed of the random splits of the lower end.

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
    limits = norm_limits(scores, binned, dual, level=level, seed=seed)
    return enclosing(scores, value, limits, level, METHOD)


def _coefficients(scores: PUScores, n: int) -> Floats:
    """Return the cosine coefficients of the residual measure."""
    sums = scores.sums_at_nodes(Axis(n))
    positive, marginal, _ = sums.sum(axis=0)
    return moments(scores.known_prior * sums[:, 0] / (positive or 1.0) - sums[:, 2] / marginal)


def _error(coefficients: Floats, sigma: float) -> float:
    return mean_size(density(coefficients * transfer(gaussian, sigma, coefficients.size)))


def _fixed_point(coefficients: Floats) -> float:
    """Return the width that equals its error, or the error at the smallest width resolved."""
    smallest = NODES_IN_FIXED_POINT / coefficients.size
    # No width has a smaller error than the mean residual, which blurring leaves as it is.
    low = max(smallest, abs(float(coefficients[0])))
    high = _error(coefficients, low)
    if high <= low * (1.0 + ROUNDING):
        return high
    # Where residuals have one sign the error is the same at all widths, up to rounding.
    high *= 1.0 + ROUNDING
    root: float = brentq(lambda sigma: _error(coefficients, sigma) - sigma, low, high, xtol=1e-12)
    return root


def kernel_ece(scores: PUScores, *, p: float = 1, bandwidth: float | None = None) -> float:
    r"""Return the calibration error from kernel density estimates.

    .. math:: \Bigl(\int_0^1 f(x)\, \lvert g(x) / f(x) - x \rvert^p\, dx\Bigr)^{1/p},
        \qquad f = K_h * \mu, \quad g = \pi\, K_h * \mu_+,

    with the triweight kernel folded at 0 and 1 and one bandwidth for both densities (Zhang et al.
    2020, whose estimate is the p-th power of this one).

    Parameters
    ----------
    scores : PUScores
    p : float
        Order of the norm, at least 1 and finite.
    bandwidth : float, optional
        Standard deviation of the kernel (a third of its reach), at least 1e-5. By default
        ``1.06 sd n^(-1/5)`` with the standard deviation of the marginal scores and
        ``n = min(n_marginal, n_positive / prior)``, the size of the labelled sample that would hold
        as many positives, for labelled data simply its size.

    Returns
    -------
    float
        The error. A frequency above 1, by noise or a wrong prior, counts as it is. Even a
        calibrated score has a small error, of the order of the squared bandwidth.

    Notes
    -----
    Popordanoska et al. (2022) take a beta kernel, average over the rows instead of integrating,
    and leave each row out of its own estimate; the limit is the same.

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


@in_range
def kernel_ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    p: float = 1,
    bandwidth: float | None = None,
    seed: int = 0,
) -> Estimate:
    """Return the kernel calibration error with an interval for its value in the population.

    The target is the error at the same bandwidth. The lower end is reduced by the smoothing bias,
    so it also bounds the L_p calibration error of the score from below.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    p, bandwidth
        As in `kernel_ece`.
    seed : int
        Seed of the random splits of the lower end.

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


def logit_smoothed_ece(scores: PUScores, *, sigma: float = 1.0 / 15.0, clip: float = 1e-6) -> float:
    r"""Return the logit-smoothed calibration error.

    .. math:: E\,\bigl\lvert E[Y \mid T] - \mathrm{sigmoid}(T) \bigr\rvert
        = \int \bigl\lvert \pi\,(K_\sigma * \mu_+)(t)
        - \mathrm{sigmoid}(t)\, (K_\sigma * \mu)(t) \bigr\rvert\, dt

    with :math:`T = \mathrm{logit}(s) + \sigma \xi` for standard normal noise, and the laws on the
    logit scale (Chidambaram et al. 2024, Eq. 4.1). The integral is computed, not sampled.

    Parameters
    ----------
    scores : PUScores
    sigma : float
        Standard deviation of the noise, at least 0.001. The authors take one over the number of
        bins of the binned error to compare with.
    clip : float
        Scores are moved into [clip, 1 - clip] first, because 0 and 1 have no logit. This changes
        the error by no more than about the clip: beyond it only the labels matter.

    Returns
    -------
    float
        The error. Even a calibrated score has a small one, of the order of sigma squared.

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


@in_range
def logit_smoothed_ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    sigma: float = 1.0 / 15.0,
    clip: float = 1e-6,
    seed: int = 0,
) -> Estimate:
    """Return the logit-smoothed calibration error with an interval for its population value.

    The lower end is reduced by the smoothing bias, so it also bounds the calibration error of the
    score from below.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    sigma, clip
        As in `logit_smoothed_ece`.
    seed : int
        Seed of the random splits of the lower end.

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


@dataclass(frozen=True)
class _Kernel:
    """A kernel on the scores or on their logits, and the norm of the error.

    Attributes
    ----------
    spectrum : callable
        Fourier transform of the kernel of unit variance.
    width : float
        Standard deviation, as a share of the axis.
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
        raise InputError("bandwidth", "must be given for a population; its rule is for samples.")
    axis = Axis(FEWEST_NODES)
    mass = scores.sums_at_nodes(axis)[:, 1]
    mean = np.average(axis.nodes, weights=mass)
    variance = np.average((axis.nodes - mean) ** 2, weights=mass)
    return max(NARROW, 1.06 * float(np.sqrt(variance)) * max(n, 1.0) ** -0.2)


def _on_logits(sigma: float, clip: float) -> _Kernel:
    sigma = check_width(sigma, "sigma", SMALLEST_SIGMA)
    rule = f"a probability in [{SMALLEST_CLIP:g}, 0.5)"
    end = check_number(clip, "clip", rule)
    if not SMALLEST_CLIP <= end < 0.5:  # noqa: PLR2004
        raise InputError("clip", f"must be {rule}", value=clip)
    reach = ROOM * sigma - float(logit(end))
    return _Kernel(gaussian, sigma / (2.0 * reach), clip=end, reach=reach)


def _kernel_error(scores: PUScores, kernel: _Kernel) -> float:
    axis = kernel.axis(nodes_for(kernel.width))
    sums = scores.sums_at_nodes(axis)
    positive, marginal, _ = sums.sum(axis=0)
    factors = transfer(kernel.spectrum, kernel.width, axis.n)
    masses = np.stack([scores.known_prior * sums[:, 0] / (positive or 1.0), sums[:, 1] / marginal])
    g, f = density(moments(masses) * factors)
    if kernel.p == 1:
        return mean_size(g - axis.nodes * f)
    return _norm_of_gap(g, f, axis.nodes, kernel.p)


def _norm_of_gap(g: Floats, f: Floats, x: Floats, p: float) -> float:
    full = f > EMPTY * f.max()
    if g[~full].sum() > LOST * g.sum():
        at = x[~full][np.argmax(g[~full])]
        msg = (
            f"must be 1 here, got {p!r}: positives lie near {at:.3g}, where no marginal row "
            "does, so the frequency there is infinite. Use a larger bandwidth."
        )
        raise InputError("p", msg)
    return power_mean(np.abs(g[full] / f[full] - x[full]), f[full] / x.size, p)


def _kernel_interval(scores: PUScores, kernel: _Kernel, level: float, seed: int) -> Estimate:
    refuse_selection(scores, "errors smoothed by a kernel")
    level, value = check_level(level), _kernel_error(scores, kernel)
    binned, power = _in_bins(scores, kernel)
    noise = Noise.signs(binned, SPLITS, seed)
    low, high = error_limits(scores, binned, power, noise, level)
    bias = error_value(power, (binned.score, binned.marginal))
    words = f"{METHOD}, less a smoothing bias of {bias:.2g}"
    return enclosing(scores, value, (max(0.0, low - bias), high), level, words)


@dataclass(frozen=True)
class Power(Convex):
    """The p-th power of the error, a function of the masses of both laws in bins.

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
        """Return positives times the prior, and everyone."""
        return binned.prior * binned.positive, binned.marginal

    def noise(self, binned: Binned, noise: Noise) -> Sums:
        """Return the noise of both."""
        return noise.of_laws(binned)[:2]

    def touching(self, sums: Sums) -> Sums:
        """Return the linear function of both that touches the power here."""
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
    """Return bins over the part of the axis that holds rows, and the error as a function."""
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
    return _cut(binned, first, last), Power(blur, axis.nodes[first:last], kernel.p)


def _cut(binned: Binned, first: int, last: int) -> Binned:
    return replace(
        binned,
        edges=binned.edges[first : last + 1],
        positive=binned.positive[first:last],
        marginal=binned.marginal[first:last],
        score=binned.score[first:last],
        second=binned.second[first:last],
    )


calibration_error(
    ks_error,
    ks_error_interval,
    title="Kolmogorov-Smirnov calibration error",
    citation="Gupta et al. (2021), Calibration of neural networks using splines",
)
calibration_error(
    smooth_ece,
    smooth_ece_interval,
    title="Smooth calibration error",
    citation="Blasiok & Nakkiran (2024), Smooth ECE",
)
calibration_error(
    logit_smoothed_ece,
    logit_smoothed_ece_interval,
    title="Logit-smoothed calibration error",
    citation="Chidambaram et al. (2024), How flawed is ECE?",
)
calibration_error(
    kernel_ece,
    kernel_ece_interval,
    title="Kernel calibration error",
    citation="Zhang et al. (2020), Mix-n-Match",
)
