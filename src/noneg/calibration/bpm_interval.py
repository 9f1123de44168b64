r"""A confidence interval for the calibration error of the fitted curve.

As in `noneg.calibration.interval` both ends come from signed integrals, which have no upward bias.
For signs :math:`\sigma(s)` write :math:`V(\sigma) = \int \sigma\,(\hat g - s)\,\hat\xi\,ds`; with
the signs of :math:`\hat g - s` it is the estimate.

Upper end
    The estimate is at least :math:`V(\sigma)` with the true signs, whose mean is the target; hence
    the estimate plus :math:`z_{1-\alpha/2}\,\mathrm{sd}(V)`.
Lower end
    Signs from one half of the data, curve and density from the other, both ways, averaged: e with
    standard error se. The median over the splits of :math:`e - z_{1-\alpha/4}\,\mathrm{se}`.

Halves are made by adding and subtracting Gaussian noise with the covariance of the sums in the
cells that all binnings have in common. Each half's curve is fitted anew and all of them together
give the standard deviations, so that constraints and curvature are taken into account.

What the interval does not cover: that the true curve is of the family of Eq. 12, that the score has
a beta law (with ``density="beta"``), and that bins are narrow, which they are not with fewer than
about 500 rows (PU data: positives over prior). It is an interval for what `tce_bpm` estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, expit, log_expit, ndtri

from noneg.bins import Binned, bin_scores, square_roots
from noneg.calibration._bpm_fit import Objective, design, minimise
from noneg.calibration._bpm_points import CurveRows, Points
from noneg.calibration.bpm import (
    BPMCurve,
    Density,
    beta_shape,
    check_density,
    curve_error,
    curves_at_logit,
    fit_curve,
    is_narrow,
    tce_bpm,
)
from noneg.checks import check_level
from noneg.intervals import prior_words
from noneg.randomness import stream
from noneg.registry import Metric, register
from noneg.results import Estimate
from noneg.simulation.binomial import BetaLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# Each split is two fits. Binnings are left out, the finest first, beyond so many points.
SPLITS, MOST_POINTS = 50, 800
PRIOR_GRID = 9
# Correlation of the two ways at zero error: E|A| E|B| / sd(A) sd(B) of normal A and B. It is less
# elsewhere. Three parameters have too few directions for it to average out over the splits.
BOTH_WAYS = 2.0 / np.pi
METHOD = f"normal upper end, median of {SPLITS} split lower ends; the curve is of the family"


def tce_bpm_interval(
    scores: PUScores, *, level: float = 0.95, density: Density = "beta", seed: int = 0
) -> Estimate:
    """Return `tce_bpm` with an interval for what it estimates.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the ends hold for nine priors spread over it.
    level : float
        Nominal coverage.
    density : {"beta", "empirical"}
        As in `tce_bpm`.
    seed : int
        Seed of the random splits.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D5")
    >>> estimate = tce_bpm_interval(world.draw(n=2000, setting="labelled", seed=0))
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    level = check_level(level)
    check_density(density)
    rows = CurveRows(scores)
    value, low, high = _ends(rows, density, level, seed)
    if scores.prior_interval is not None:
        for prior in np.linspace(*scores.prior_interval, PRIOR_GRID):
            other = CurveRows(scores.with_prior(float(prior)))
            _, a, b = _ends(other, density, level, seed)
            low, high = min(low, a), max(high, b)
    words = METHOD + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


def _ends(rows: CurveRows, density: Density, level: float, seed: int) -> tuple[float, float, float]:
    """Return the estimate and the two ends for one prior."""
    if density == "beta":
        beta_shape(*rows.moments)
    curve = fit_curve(rows)
    value = curve_error(curve, rows, density)
    if min(rows.scores.effective_positive, rows.scores.effective_marginal) < 2:
        # A single row has no spread to learn from: all that is known is the range of the target.
        return value, 0.0, max(1.0, value)
    halves = _Halves.draw(rows, curve, seed)
    # A beta law so narrow is the scores themselves, and its density no longer a number.
    beta = density == "beta" and not is_narrow(*rows.moments)
    gap, mass = halves.beta() if beta else halves.empirical()
    low = min(value, _lower_end(gap[1:], mass[1:], level))
    spread = np.std((gap[1:] * mass[1:]) @ np.sign(gap[0]), ddof=1)
    return value, low, value + float(ndtri(0.5 + level / 2.0) * spread)


def _lower_end(gap: Floats, mass: Floats, level: float) -> float:
    """Return the median of the split lower ends; halves r and r + SPLITS belong together."""
    signed = np.sign(gap) @ (gap * mass).T  # signs of the row, curve and density of the column
    # The added noise is as large as that of all data, so a half has twice its variance.
    one, other = 2.0 * np.var(signed, axis=1, ddof=1).reshape(2, -1)
    variance = (one + other + 2.0 * BOTH_WAYS * np.sqrt(one * other)) / 4.0
    r = np.arange(SPLITS)
    e = (signed[r, r + SPLITS] + signed[r + SPLITS, r]) / 2.0
    z = float(ndtri(0.75 + level / 4.0))
    return max(0.0, float(np.median(e - z * np.sqrt(variance))))


@dataclass(frozen=True, eq=False)
class _Halves:
    """The curve of all data first, then those of the halves, with the noise of their scores.

    Attributes
    ----------
    theta : ndarray, shape (1 + 2 R, 3)
    limits : (float, float)
    cells : Binned
    marginal, score : ndarray, shape (1 + 2 R, cells)
        Noise of the mass of the cells and of the integral of s over them; zero in the first row.
    moments : (float, float)
    """

    theta: Floats
    limits: tuple[float, float]
    cells: Binned
    marginal: Floats
    score: Floats
    moments: tuple[float, float]

    @classmethod
    def draw(cls, rows: CurveRows, curve: BPMCurve, seed: int) -> _Halves:
        points = rows.coarse_points(MOST_POINTS)
        cells = bin_scores(rows.scores, edges=np.concatenate([[0.0], points.cuts]))
        root = square_roots(cells.second)
        normal = stream(seed, "split").standard_normal((SPLITS, *root.shape[:1], 3))
        noise = np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0)
        positive, marginal, score = np.concatenate([0.0 * noise[:, :1], noise, -noise], axis=1)
        total = marginal.sum(axis=1, keepdims=True)
        marginal = marginal - cells.marginal * total
        score = score - cells.score * total
        if not cells.prior_is_estimated:
            total = positive.sum(axis=1, keepdims=True)
        positive = cells.prior * (positive - cells.positive * total)
        shift = _frequency_noise(points, cells, positive[1:], marginal[1:])
        x = design(points.score, points.complement, rows.limits)
        objective = Objective(x, points.frequency + shift, points.weight)
        theta, _ = minimise(objective, np.tile(curve.parameters, (2 * SPLITS, 1)))
        theta = np.concatenate([curve.parameters[None], theta])
        return cls(theta, rows.limits, cells, marginal, score, rows.moments)

    def beta(self) -> tuple[Floats, Floats]:
        """Return ``g - s`` of each curve on nodes of the logit, and the mass of the nodes."""
        shape = _shapes(self)
        v, weight = _nodes(BetaLaw(*shape[0]))
        a, b = shape[:, :1], shape[:, 1:]
        mass = weight * np.exp(a * log_expit(v) + b * log_expit(-v) - betaln(a, b))
        return curves_at_logit(self.theta, v, self.limits) - expit(v), mass

    def empirical(self) -> tuple[Floats, Floats]:
        """Return ``g - s`` of each curve at the means of the cells, and the mass of the cells."""
        full = self.cells.marginal > 0.0
        s = self.cells.mean_score[full]
        x = design(s, 1.0 - s, self.limits)
        gap = np.asarray(expit(self.theta @ x.T)) - s
        return gap, self.cells.marginal[full] + self.marginal[:, full]


def _frequency_noise(points: Points, cells: Binned, positive: Floats, marginal: Floats) -> Floats:
    """Return the noise of ``y_b = pi mu_plus(I_b) / mu(I_b)``, linearised."""
    change = points.add_up(positive) - points.frequency * points.add_up(marginal)
    noise: Floats = change / points.add_up(cells.marginal)
    return noise


def _shapes(halves: _Halves) -> Floats:
    """Return the shapes of the beta laws of all data and of the halves, shape (1 + 2 R, 2)."""
    mean, variance = halves.moments
    middle = np.nan_to_num(halves.cells.mean_score)
    means = mean + halves.score.sum(axis=1)
    squares = (2.0 * middle * halves.score - middle**2 * halves.marginal).sum(axis=1)
    # Noise must not take a half out of the reach of beta laws.
    means = np.clip(means, 0.1 * mean, 1.0 - 0.1 * (1.0 - mean))
    share = (variance + squares - 2.0 * mean * (means - mean)) / (means * (1.0 - means))
    share = np.clip(share, 0.1 * variance / (mean * (1.0 - mean)), 0.999)
    strength = 1.0 / share - 1.0
    return np.stack([means * strength, (1.0 - means) * strength], axis=1)


def _nodes(law: BetaLaw) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on the panels of a law."""
    node, weight = np.polynomial.legendre.leggauss(16)
    breaks = law.breaks()
    half = np.diff(breaks)[:, None] / 2.0
    v = (breaks[:-1, None] + half) + half * node
    return v.ravel(), (half * weight).ravel()


register(
    Metric(
        name="tce_bpm",
        title="Calibration error of the binomial-process curve",
        function=tce_bpm,
        interval=tce_bpm_interval,
        citation="Combining priors with experience: confidence calibration based on binomial "
        "process modeling",
        family="calibration error",
        better="lower",
    )
)
