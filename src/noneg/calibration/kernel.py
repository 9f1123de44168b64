r"""Calibration errors from kernel density estimates of both laws.

With densities blurred by a kernel, on the scores or on their logits,

.. math:: f = K * \mu, \qquad g = \pi\, K * \mu_+,

the ratio g / f estimates the frequency of positives at x, and the error is
:math:`\int f\, \lvert g / f - x \rvert^p`. This power is a convex function of the two laws and
homogeneous of degree one, so like any norm it has linear functions of the laws that touch it at
one point and exceed it nowhere: both ends of `ece_interval` carry over.

The kernel blurs the frequency but not the x it is compared with. By this *smoothing bias*,
:math:`\int \lvert K * (s \mu) - x\, f \rvert` for p = 1, even a calibrated score has a small error.
The bias can be estimated, and lower ends are reduced by it: they are positive only if calibration
itself is in doubt, and bound from below the error of the score as well as that of its estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import logit

from noneg.bins import Binned, bin_scores, check_p
from noneg.calibration._cosine import (
    FEWEST_NODES,
    bins_for,
    blurring,
    check_width,
    density,
    gaussian,
    mean_size,
    moments,
    nodes_for,
    transfer,
    triweight,
)
from noneg.calibration._density_limits import Power, density_limits
from noneg.calibration.interval import METHOD
from noneg.checks import check_level, check_number
from noneg.intervals import prior_words
from noneg.kernels import Axis
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.calibration._cosine import Blur
    from noneg.scores import PUScores

# Width of the kernel when all scores are the same.
NARROW = 1e-4
# Room beyond the clipped logits, in standard deviations: all of the kernel.
ROOM = 10.0
SMALLEST_SIGMA, SMALLEST_CLIP = 1e-3, 1e-12
# Share of its highest value below which a density is rounding, and of positives found there.
EMPTY, LOST = 1e-9, 1e-6


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
    return _error(scores, _on_scores(scores, p, bandwidth))


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
    return _interval(scores, _on_scores(scores, p, bandwidth), level, seed)


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
    return _error(scores, _on_logits(sigma, clip))


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
    return _interval(scores, _on_logits(sigma, clip), level, seed)


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
        msg = f"'p' must be finite for densities, got {p!r}."
        raise ValueError(msg)
    if bandwidth is None:
        return _Kernel(triweight, _rule_of_thumb(scores), p)
    return _Kernel(triweight, check_width(bandwidth, "bandwidth"), p)


def _rule_of_thumb(scores: PUScores) -> float:
    n = min(scores.effective_marginal, scores.effective_positive / (scores.prior or 1.0))
    if np.isinf(n):
        msg = "'bandwidth' must be given for a population; its rule is for samples."
        raise ValueError(msg)
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
        msg = f"'clip' must be {rule}, got {clip!r}."
        raise ValueError(msg)
    reach = ROOM * sigma - float(logit(end))
    return _Kernel(gaussian, sigma / (2.0 * reach), clip=end, reach=reach)


def _error(scores: PUScores, kernel: _Kernel) -> float:
    axis = kernel.axis(nodes_for(kernel.width))
    sums = scores.sums_at_nodes(axis)
    positive, marginal, _ = sums.sum(axis=0)
    factors = transfer(kernel.spectrum, kernel.width, axis.n)
    masses = np.stack([scores.prior * sums[:, 0] / (positive or 1.0), sums[:, 1] / marginal])
    g, f = density(moments(masses) * factors)
    if kernel.p == 1:
        return mean_size(g - axis.nodes * f)
    return _norm_of_gap(g, f, axis.nodes, kernel.p)


def _norm_of_gap(
    g: NDArray[np.float64], f: NDArray[np.float64], x: NDArray[np.float64], p: float
) -> float:
    full = f > EMPTY * f.max()
    if g[~full].sum() > LOST * g.sum():
        at = x[~full][np.argmax(g[~full])]
        msg = (
            f"'p' must be 1 here, got {p!r}: positives lie near {at:.3g}, where no marginal row "
            "does, so the frequency there is infinite. Use a larger bandwidth."
        )
        raise ValueError(msg)
    gap = np.abs(g[full] / f[full] - x[full])
    # The largest gap is taken out, so that no power of a small one underflows.
    top = gap.max()
    return float(top * (f[full] @ (gap / top) ** p / x.size) ** (1.0 / p)) if top > 0.0 else 0.0


def _interval(scores: PUScores, kernel: _Kernel, level: float, seed: int) -> Estimate:
    level = check_level(level)
    value = _error(scores, kernel)
    binned, power = _in_bins(scores, kernel)
    if min(scores.effective_positive, scores.effective_marginal) < 2:
        # A single row has no spread to learn from: all that is known is the range of the target.
        low, high, bias = 0.0, max(1.0, value), 0.0
    else:
        low, high = density_limits(scores, binned, power, level=level, seed=seed)
        bias = power.error((binned.score, binned.marginal))
    return Estimate(
        value=value,
        low=min(value, max(0.0, low - bias)),
        high=max(value, high),
        level=level,
        method=f"{METHOD}, less a smoothing bias of {bias:.2g}{prior_words(scores)}",
    )


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


register(
    Metric(
        name="logit_smoothed_ece",
        title="Logit-smoothed calibration error",
        function=logit_smoothed_ece,
        interval=logit_smoothed_ece_interval,
        citation="Chidambaram et al. (2024), How flawed is ECE?",
        family="calibration error",
        better="lower",
    )
)
register(
    Metric(
        name="kernel_ece",
        title="Kernel calibration error",
        function=kernel_ece,
        interval=kernel_ece_interval,
        citation="Zhang et al. (2020), Mix-n-Match",
        family="calibration error",
        better="lower",
    )
)
