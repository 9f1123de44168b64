r"""Calibration curve and true calibration error by binomial process modeling (Dong et al.).

The paper is Combining Priors with Experience: Confidence Calibration Based on Binomial Process
Modeling (AAAI 2025). A three-parameter curve is fitted to the bins of many binnings at once; the
calibration error is then an integral over the curve rather than a sum over bins.

As in `noneg.calibration.interval`, both ends of the interval come from signed integrals, which have
no upward bias. For signs :math:`\sigma(s)`, write
:math:`V(\sigma) = \int \sigma\,(\hat g - s)\,\hat\xi\,ds`; with the signs of :math:`\hat g - s`,
this is the estimate.

Upper end
    The estimate is at least :math:`V(\sigma)` with the true signs, whose mean is the target. The
    upper end is therefore the estimate plus :math:`z_{1-\alpha/2}\,\mathrm{sd}(V)`.
Lower end
    The signs come from one half of the data, the curve and the density from the other half. The
    average over both directions is e, with standard error se. The lower end is the median of
    :math:`e - z_{1-\alpha/4}\,\mathrm{se}` over the splits.

Halves are made by adding and subtracting Gaussian noise with the covariance of the sums in the
cells that all binnings have in common. Each half gets its own curve, and the standard deviations
are computed across these curves, which accounts for the constraints and the curvature.

The interval assumes that the true curve belongs to the family of Eq. 12, that the score has a beta
distribution (with ``density="beta"``), and that bins are narrow, which they are not with fewer than
about 500 rows (for PU data: positives divided by prior). It covers the quantity that `tce_bpm`
estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import betaln, expit, log_expit

from noneg.bins import Binned, bin_scores
from noneg.calibration.bpm_fit import SEARCH_POINTS, CurveRows, design, fit, local_minima, objective
from noneg.calibration.interval import Noise, folded, split_median
from noneg.checks import check_choice, check_level
from noneg.errors import InputError
from noneg.intervals import enclosing, no_spread, over_prior_grid, z_score
from noneg.registry import calibration_error
from noneg.results import Estimate, Record
from noneg.selection import refuse_selection
from noneg.simulation.binomial import BetaLaw
from noneg.simulation.worlds import mean_absolute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores


Density = Literal["beta", "empirical"]
# Number of rows evaluated at a time.
CHUNK = 1 << 16
# Share of m (1 - m) below which the variance is small enough to treat the gap as a straight line.
NARROW = 1e-6
# Largest exponent for which exp fits in a double.
MOST_EXPONENT = 709.0
# Each split takes two fits. Beyond this many points, binnings are dropped, finest first.
SPLITS, MOST_POINTS = 50, 800
PRIOR_GRID = 9
# Correlation of the two directions at zero error: E|A| E|B| / sd(A) sd(B) for normal A and B. It is
# smaller elsewhere. With only three parameters, it does not average out over the splits.
BOTH_WAYS = 2.0 / np.pi
METHOD = f"normal upper end, median of {SPLITS} split lower ends; the curve belongs to the family"


@dataclass(frozen=True, kw_only=True)
class BPMCurve(Record):
    r"""A calibration curve :math:`g(s) = 1 / (1 + s^{-\alpha} (1 - s)^{\beta} e^c)`.

    This is Eq. 12 of Dong et al.; g increases with s. The diagonal is
    :math:`\alpha = \beta = 1, c = 0`.

    Attributes
    ----------
    alpha, beta, c : float
        The parameters, :math:`\alpha, \beta \ge 0`.
    low, high : float
        Scores below `low` are treated as `low`, and scores above ``1 - high`` as ``1 - high``. If
        the data contain scores of exactly 0 or 1, this is half the distance to the next score;
        otherwise it is negligibly small.
    log_objective : float
        Logarithm of the smallest value of Eq. 9; 0 when the curve meets every bin.
    n_rows : int
        The N of the binnings: the number of rows or, for PU data, the number of rows that would
        contain as many positives.
    n_bins : tuple of int
        Number of bins in each binning.
    n_points : int
        Number of non-empty bins in all binnings together.
    last_step : float
        Relative length of the optimizer's last step; tiny if it converged.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 500, [0.1, 0.4, 0.6, 0.9] * 500)
    >>> curve = bpm_curve(scores)
    >>> curve([0.1, 0.4, 0.6, 0.9]).round(2)
    array([0., 0., 1., 1.])
    """

    alpha: float
    beta: float
    c: float
    low: float
    high: float
    log_objective: float
    n_rows: int
    n_bins: tuple[int, ...]
    n_points: int
    last_step: float

    @property
    def parameters(self) -> Floats:
        """Alpha, beta and c."""
        return np.array([self.alpha, self.beta, self.c])

    @property
    def objective(self) -> float:
        """The smallest value of Eq. 9, at least 1; infinite on overflow."""
        return math.exp(self.log_objective) if self.log_objective < MOST_EXPONENT else math.inf

    def __call__(self, s: ArrayLike) -> Floats:
        """Return the curve at scores in [0, 1]."""
        scores = np.asarray(s, dtype=np.float64)
        bad = scores[~((scores >= 0.0) & (scores <= 1.0))]
        if bad.size:
            msg = f"must lie in [0, 1], got {bad[0]!r}. Use at_logit for logits."
            raise InputError("s", msg)
        x = design(scores, 1.0 - scores, (self.low, self.high))
        return np.asarray(expit(x @ self.parameters), dtype=np.float64)

    def at_logit(self, logits: ArrayLike) -> Floats:
        """Return the curve at ``s = sigmoid(logits)``, accurate even when s is close to 0 or 1."""
        v = np.asarray(logits, dtype=np.float64)
        return curves_at_logit(self.parameters, v, (self.low, self.high))


def curves_at_logit(theta: Floats, v: Floats, limits: tuple[float, float]) -> Floats:
    """Evaluate one or many curves at logits, shape (..., len(v))."""
    log_s = np.maximum(log_expit(v), np.log(limits[0]))
    log_rest = np.maximum(log_expit(-v), np.log(limits[1]))
    x = np.stack([log_s, -log_rest, np.full_like(v, -1.0)])
    return np.asarray(expit(np.tensordot(theta, x, axes=1)), dtype=np.float64)


def bpm_curve(scores: PUScores) -> BPMCurve:
    r"""Fit the calibration curve of Dong et al. (Algorithm 1) to PU or labeled scores.

    .. math:: \min_{\alpha, \beta \ge 0,\, c}\; \frac{1}{|\mathcal B|} \sum_{B \in \mathcal B}
        \sum_{b \in B} \frac{|b|}{N} \exp\bigl((g(\bar s_b) - y_b)^2\bigr) \qquad (9)

    The average is over equal-mass binnings B with N/100 to N/20 bins. :math:`\bar s_b` is the mean
    score of a bin and :math:`y_b = \pi\,\mu_+(I_b) / \mu(I_b)` is its frequency of positives; for
    labeled data, this is the share of positives in the bin.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    BPMCurve

    Notes
    -----
    All rows are used, bins are weighted by their rows, the constraints are enforced, and the
    minimum is global; the code released with the paper differs on each of these points. The numbers
    of bins are ``N // 100, N // 100 + step, ..., <= N // 20``, with
    ``step = (N // 20 - N // 100) // 10``; both N // 100 and the step are at least 1. With PU data,
    :math:`N = \min(n_M, n_P/\pi)`, the number of rows that would contain as many positives. Beyond
    N = 50,000, bins grow in size rather than in number, which changes the error by less than 1e-4.

    Where the data do not determine the curve (fewer than three bins, or bins that a step function
    would fit), a ridge penalty of 1e-9 selects the curve closest to the diagonal.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D5")
    >>> curve = bpm_curve(world.draw(n=20_000, setting="labeled", seed=0))
    >>> float(abs(curve([0.2, 0.5, 0.8]) - world.posterior([0.2, 0.5, 0.8])).max()) < 0.02
    True
    """
    return fit_curve(CurveRows(scores))


def fit_curve(rows: CurveRows) -> BPMCurve:
    """Fit the curve; see `bpm_curve`."""
    points = rows.points()
    theta, loss, last_step = fit(points, rows.coarse_points(SEARCH_POINTS), rows.limits)
    alpha, beta, c = theta.tolist()
    return BPMCurve(
        alpha=alpha,
        beta=beta,
        c=c,
        low=rows.limits[0],
        high=rows.limits[1],
        log_objective=loss,
        n_rows=rows.n_rows,
        n_bins=points.n_bins,
        n_points=points.score.size,
        last_step=last_step,
    )


def tce_bpm(scores: PUScores, *, density: Density = "beta") -> float:
    r"""Return the true calibration error of the fitted curve (Dong et al., Algorithm 2).

    .. math:: \int_0^1 |g(s) - s|\,\xi(s)\,ds

    where g is the curve from `bpm_curve` and :math:`\xi` is the density of the score.

    Parameters
    ----------
    scores : PUScores
    density : {"beta", "empirical"}
        Either the beta density with the mean and the variance (ddof = 1) of the marginal sample, as
        in the paper, or the marginal sample itself. The confidences of neural networks are not
        beta-distributed: for them, the beta density gave errors up to 1.3 times as large as the
        sample itself.

    Returns
    -------
    float
        The error. If the true curve is not in the family, the estimate converges to the error of
        the closest curve in the family, which may be far from the truth. With fewer than about 500
        rows, bins are wide, and the error is underestimated where the curve is steep.

    Raises
    ------
    ValueError
        If `density` is "beta" and the scores are all equal, or are all 0 or 1.

    See Also
    --------
    tce_bpm_interval : The same error with a confidence interval.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D4")
    >>> scores = world.draw(2000, 20_000, setting="two-sample", seed=0)
    >>> abs(tce_bpm(scores) - world.tce()) < 0.02
    True
    """
    return _fitted(CurveRows(scores), density)[1]


def _fitted(rows: CurveRows, density: Density) -> tuple[BPMCurve, float]:
    """Return the fitted curve and its calibration error."""
    check_choice(density, "density", get_args(Density))
    if density == "beta":
        beta_shape(*rows.moments)
    curve = fit_curve(rows)
    return curve, curve_error(curve, rows, density)


def curve_error(curve: BPMCurve, rows: CurveRows, density: Density) -> float:
    """Return the integral of ``|g(s) - s|`` under a density; see `tce_bpm`."""
    if density == "beta":
        return _beta_error(curve, *rows.moments)
    if rows.infinite:
        points = rows.points(rows.numbers[-1:])
        return float(points.weight @ np.abs(curve(points.score) - points.score))
    s, mass = rows.marginal
    pieces = (slice(i, i + CHUNK) for i in range(0, s.size, CHUNK))
    total = sum(float(mass[i] @ np.abs(curve(s[i]) - s[i])) for i in pieces)
    return total / float(mass.sum())


def beta_shape(mean: float, variance: float) -> tuple[float, float]:
    """Return the shape of the beta distribution with this mean and variance, or raise an error."""
    most = mean * (1.0 - mean)
    if not 0.0 < variance < most:
        why = "vary" if variance <= 0.0 else "vary less than scores of only 0 and 1"
        msg = (
            f"must {why} for density='beta', got a variance of {variance:.6g} at mean "
            f"{mean:.6g} (a beta distribution needs a variance in (0, {most:.6g})). "
            "Use density='empirical'."
        )
        raise InputError("scores", msg)
    strength = most / variance - 1.0
    return mean * strength, (1.0 - mean) * strength


def is_narrow(mean: float, variance: float) -> bool:
    """Whether scores vary so little that any calibration curve is linear over their range."""
    return variance < NARROW * mean * (1.0 - mean)


def _beta_error(curve: BPMCurve, mean: float, variance: float) -> float:
    """Integrate over the logit, where a beta density has no poles, splitting where g - s is 0."""
    law = BetaLaw(*beta_shape(mean, variance))
    if is_narrow(mean, variance):
        return _narrow_error(curve, mean, math.sqrt(variance))

    def gap(v: Floats) -> Floats:
        return curve.at_logit(v) - np.asarray(expit(v))

    ends = float(np.log(curve.low)), -float(np.log(curve.high))  # Where the curve stops changing.
    return mean_absolute(law, gap, ends, absolute=1e-10, relative=1e-9)


def _narrow_error(curve: BPMCurve, mean: float, sd: float) -> float:
    """Return the mean of ``|g(s) - s|``, a folded normal, for normal s and a straight curve."""
    g = float(curve(mean))
    slope = g * (1.0 - g) * (curve.alpha / mean + curve.beta / (1.0 - mean)) - 1.0
    middle, spread = g - mean, max(abs(slope) * sd, np.finfo(np.float64).tiny)
    return spread * folded(middle / spread)[0]


@calibration_error(
    tce_bpm,
    title="Calibration error of the binomial-process curve",
    citation="Combining priors with experience: confidence calibration based on binomial process "
    "modeling",
)
def tce_bpm_interval(
    scores: PUScores, *, level: float = 0.95, density: Density = "beta", seed: int = 0
) -> Estimate:
    """Return `tce_bpm` with an interval for the quantity it estimates.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the interval covers nine priors spread over it.
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
    >>> estimate = tce_bpm_interval(world.draw(n=2000, setting="labeled", seed=0))
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    refuse_selection(scores, "tce_bpm")
    level = check_level(level)
    value, low, high = _ends(scores, density, level, seed)

    def ends(prior: float) -> tuple[float, ...]:
        return _ends(scores.with_prior(prior), density, level, seed)[1:]

    if scores.prior_interval is not None:
        least, most = over_prior_grid(ends, scores, PRIOR_GRID)
        low, high = min(low, least), max(high, most)
    return enclosing(scores, value, (low, high), level, METHOD)


def _ends(
    scores: PUScores, density: Density, level: float, seed: int
) -> tuple[float, float, float]:
    """Return the estimate and the two ends for one prior."""
    rows = CurveRows(scores)
    curve, value = _fitted(rows, density)
    if no_spread(scores):
        return value, 0.0, 1.0  # Only the range of the target is known.
    halves = _Halves.draw(rows, curve, seed)
    # The density of such a narrow beta distribution overflows, so the scores themselves are used.
    beta = density == "beta" and not is_narrow(*rows.moments)
    gap, mass = halves.beta() if beta else halves.empirical()
    spread = np.std((gap[1:] * mass[1:]) @ np.sign(gap[0]), ddof=1)
    return value, _lower_end(gap[1:], mass[1:], level), value + z_score(level) * float(spread)


def _lower_end(gap: Floats, mass: Floats, level: float) -> float:
    """Return the median of the lower ends over splits; half r is paired with half r + SPLITS."""
    signed = np.sign(gap) @ (gap * mass).T  # Row: signs; column: curve and density.
    # The added noise is as large as the noise of all data, so a half has twice the variance.
    one, other = 2.0 * np.var(signed, axis=1, ddof=1).reshape(2, -1)
    variance = (one + other + 2.0 * BOTH_WAYS * np.sqrt(one * other)) / 4.0
    r = np.arange(SPLITS)
    e = (signed[r, r + SPLITS] + signed[r + SPLITS, r]) / 2.0
    return max(0.0, split_median(e, variance, level))


@dataclass(frozen=True, eq=False)
class _Halves:
    """The curve for all data, followed by the curves for the halves, with their score noise.

    Attributes
    ----------
    rows : CurveRows
    theta : ndarray, shape (1 + 2 R, 3)
    cells : Binned
    marginal, score : ndarray, shape (1 + 2 R, cells)
        Noise in the mass of each cell and in the integral of s over it; zero in the first row.
    """

    rows: CurveRows
    theta: Floats
    cells: Binned
    marginal: Floats
    score: Floats

    @classmethod
    def draw(cls, rows: CurveRows, curve: BPMCurve, seed: int) -> _Halves:
        points = rows.coarse_points(MOST_POINTS)
        cells = bin_scores(rows.scores, edges=np.concatenate([[0.0], points.cuts]))
        noise = np.stack(Noise.draw(cells, SPLITS, seed).of_laws(cells))
        positive, marginal, score = np.concatenate([0.0 * noise[:, :1], noise, -noise], axis=1)
        # Linearized noise in ``y_b = pi mu_plus(I_b) / mu(I_b)``.
        change = points.add_up(positive[1:]) - points.frequency * points.add_up(marginal[1:])
        frequency = points.frequency + change / points.add_up(cells.marginal)
        moved = objective(replace(points, frequency=frequency), rows.limits)
        theta, _ = local_minima(moved, np.tile(curve.parameters, (2 * SPLITS, 1)))
        theta = np.concatenate([curve.parameters[None], theta])
        return cls(rows, theta, cells, marginal, score)

    def beta(self) -> tuple[Floats, Floats]:
        """Return ``g - s`` for each curve at logit-scale nodes, and the mass of the nodes."""
        shape = _shapes(self)
        v, weight = _nodes(BetaLaw(*shape[0]))
        a, b = shape[:, :1], shape[:, 1:]
        mass = weight * np.exp(a * log_expit(v) + b * log_expit(-v) - betaln(a, b))
        return curves_at_logit(self.theta, v, self.rows.limits) - expit(v), mass

    def empirical(self) -> tuple[Floats, Floats]:
        """Return ``g - s`` for each curve at the means of the cells, and the mass of the cells."""
        full = self.cells.marginal > 0.0
        s = self.cells.mean_score[full]
        x = design(s, 1.0 - s, self.rows.limits)
        gap = np.asarray(expit(self.theta @ x.T)) - s
        return gap, self.cells.marginal[full] + self.marginal[:, full]


def _shapes(halves: _Halves) -> Floats:
    """Return the beta shapes for all data and for the halves, shape (1 + 2 R, 2)."""
    mean, variance = halves.rows.moments
    middle = np.nan_to_num(halves.cells.mean_score)
    means = mean + halves.score.sum(axis=1)
    squares = (2.0 * middle * halves.score - middle**2 * halves.marginal).sum(axis=1)
    # Keep each half's moments within the range of beta distributions.
    means = np.clip(means, 0.1 * mean, 1.0 - 0.1 * (1.0 - mean))
    share = (variance + squares - 2.0 * mean * (means - mean)) / (means * (1.0 - means))
    share = np.clip(share, 0.1 * variance / (mean * (1.0 - mean)), 0.999)
    strength = 1.0 / share - 1.0
    return np.stack([means * strength, (1.0 - means) * strength], axis=1)


def _nodes(law: BetaLaw) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on the panels of a distribution."""
    node, weight = np.polynomial.legendre.leggauss(16)
    breaks = law.breaks()
    half = np.diff(breaks)[:, None] / 2.0
    v = (breaks[:-1, None] + half) + half * node
    return v.ravel(), (half * weight).ravel()
