r"""The smooth calibration error: residuals blurred by a Gaussian that is folded into [0, 1].

The folded Gaussian is diagonal in the cosine basis, so the blurred residuals are the series

.. math:: (K_\sigma * \rho)(x) = c_0 + 2 \sum_{k \ge 1} c_k\, e^{-\sigma^2 \pi^2 k^2 / 2}
    \cos(\pi k x), \qquad c_k = \int \cos(\pi k s)\, d\rho(s).

Rows are gathered on a fine line of nodes first, one pass like that of a histogram. One cosine
transform gives the coefficients, another one the series for any width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from noneg.bins import bin_scores
from noneg.calibration._cosine import (
    FEWEST_NODES,
    MOST_NODES,
    SMALLEST_WIDTH,
    bins_for,
    blurring,
    check_width,
    density,
    gaussian,
    mean_size,
    moments,
    nodes_for,
    transfer,
)
from noneg.calibration.interval import METHOD, ZERO, norm_limits
from noneg.checks import check_level
from noneg.intervals import prior_words
from noneg.kernels import Axis
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

# Numbers of nodes to try for the fixed point, whose width is not known beforehand.
LINES = (FEWEST_NODES, 2**17, MOST_NODES)
# Nodes in the fixed point: the blurred residuals are as small as it, and errors a share of them.
NODES_IN_FIXED_POINT = 16
# An error that finer nodes need not look at.
NOTHING = 1e-9
# Relative difference of two errors that is taken for a rounding.
ROUNDING = 1e-9


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
    level = check_level(level)
    value = smooth_ece(scores, sigma=sigma)
    width = max(SMALLEST_WIDTH, value if sigma is None else float(sigma))
    n = bins_for(width)
    blur = blurring(transfer(gaussian, width, n))

    def dual(d: NDArray[np.float64]) -> NDArray[np.float64]:
        return blur(np.where(blur(d) < -ZERO, -1.0, 1.0))

    binned = bin_scores(scores, bins=n, binning="width")
    low, high = norm_limits(scores, binned, dual, level=level, seed=seed)
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        method=METHOD + prior_words(scores),
    )


def _coefficients(scores: PUScores, n: int) -> NDArray[np.float64]:
    """Return the cosine coefficients of the residual measure."""
    sums = scores.sums_at_nodes(Axis(n))
    positive, marginal, _ = sums.sum(axis=0)
    return moments(scores.prior * sums[:, 0] / (positive or 1.0) - sums[:, 2] / marginal)


def _error(coefficients: NDArray[np.float64], sigma: float) -> float:
    return mean_size(density(coefficients * transfer(gaussian, sigma, coefficients.size)))


def _fixed_point(coefficients: NDArray[np.float64]) -> float:
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


register(
    Metric(
        name="smooth_ece",
        title="Smooth calibration error",
        function=smooth_ece,
        interval=smooth_ece_interval,
        citation="Blasiok & Nakkiran (2024), Smooth ECE",
        family="calibration error",
        better="lower",
    )
)
