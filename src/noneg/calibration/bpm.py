"""Calibration curve and true calibration error by binomial process modelling (Dong et al.).

The paper is Combining Priors with Experience: Confidence Calibration Based on Binomial Process
Modeling (AAAI 2025). A curve with three parameters is fitted to the bins of many binnings at once;
the calibration error is then an integral of the curve, not a sum over bins.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import expit, log_expit, ndtr

from noneg.calibration._bpm_fit import SEARCH_POINTS, design, fit
from noneg.calibration._bpm_points import CurveRows
from noneg.simulation.binomial import BetaLaw
from noneg.simulation.worlds import converged_breaks, panel_integrals, sign_changes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

Density = Literal["beta", "empirical"]

# Points a panel at which a change of sign is looked for, and rows evaluated at a time.
GRID_PER_PANEL, CHUNK = 16, 1 << 16
# Share of m (1 - m) below which a variance is so small that the gap is a straight line.
NARROW = 1e-6
# Largest exponent of a double.
MOST_EXPONENT = 709.0


@dataclass(frozen=True, kw_only=True)
class BPMCurve:
    r"""A calibration curve :math:`g(s) = 1 / (1 + s^{-\alpha} (1 - s)^{\beta} e^c)`.

    Eq. 12 of Dong et al.; it rises with s. The diagonal is :math:`\alpha = \beta = 1, c = 0`.

    Attributes
    ----------
    alpha, beta, c : float
        The parameters, :math:`\alpha, \beta \ge 0`.
    low, high : float
        Scores below `low` count as `low` and scores above ``1 - high`` as ``1 - high``: half the
        distance of the next score where the data holds scores of exactly 0 or 1, else next to
        nothing.
    log_objective : float
        Logarithm of the smallest value of Eq. 9; 0 when the curve meets every bin.
    n_rows : int
        The N of the binnings: rows, or rows that hold so many positives (PU data).
    n_bins : tuple of int
        Numbers of bins of the binnings.
    n_points : int
        Bins of all binnings together, empty ones left out.
    last_step : float
        Relative length of the last step of the optimiser; tiny when it has converged.

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
    def parameters(self) -> NDArray[np.float64]:
        """Alpha, beta and c."""
        return np.array([self.alpha, self.beta, self.c])

    @property
    def objective(self) -> float:
        """The smallest value of Eq. 9, at least 1; infinite where it overflows."""
        return math.exp(self.log_objective) if self.log_objective < MOST_EXPONENT else math.inf

    def __call__(self, s: ArrayLike) -> NDArray[np.float64]:
        """Return the curve at scores in [0, 1]."""
        scores = np.asarray(s, dtype=np.float64)
        bad = scores[~((scores >= 0.0) & (scores <= 1.0))]
        if bad.size:
            msg = f"'s' must lie in [0, 1], got {bad[0]!r}. Use at_logit for logits."
            raise ValueError(msg)
        x = design(scores, 1.0 - scores, (self.low, self.high))
        return np.asarray(expit(x @ self.parameters), dtype=np.float64)

    def at_logit(self, logits: ArrayLike) -> NDArray[np.float64]:
        """Return the curve at ``s = sigmoid(logits)``, precise where s is close to 0 or 1."""
        v = np.asarray(logits, dtype=np.float64)
        return curves_at_logit(self.parameters, v, (self.low, self.high))

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers and lists."""
        return asdict(self) | {"n_bins": list(self.n_bins)}


def curves_at_logit(
    theta: NDArray[np.float64], v: NDArray[np.float64], limits: tuple[float, float]
) -> NDArray[np.float64]:
    """Return the curves of one or many parameters at logits, shape (..., len(v))."""
    log_s = np.maximum(log_expit(v), np.log(limits[0]))
    log_rest = np.maximum(log_expit(-v), np.log(limits[1]))
    x = np.stack([log_s, -log_rest, np.full_like(v, -1.0)])
    return np.asarray(expit(np.tensordot(theta, x, axes=1)), dtype=np.float64)


def bpm_curve(scores: PUScores) -> BPMCurve:
    r"""Fit the calibration curve of Dong et al. (Algorithm 1) to PU or labelled scores.

    .. math:: \min_{\alpha, \beta \ge 0,\, c}\; \frac{1}{|\mathcal B|} \sum_{B \in \mathcal B}
        \sum_{b \in B} \frac{|b|}{N} \exp\bigl((g(\bar s_b) - y_b)^2\bigr) \qquad (9)

    over binnings B of equal mass with N/100 to N/20 bins. :math:`\bar s_b` is the mean score of a
    bin and :math:`y_b = \pi\,\mu_+(I_b) / \mu(I_b)` its frequency of positives, which for labelled
    data is the share of positives in it.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    BPMCurve

    Notes
    -----
    All rows are used, bins weigh by their rows, the constraints hold, and the minimum is the global
    one; the code released with the paper differs in each of these. The numbers of bins are
    ``N // 100, N // 100 + step, ..., <= N // 20``, step = ``(N // 20 - N // 100) // 10``, both
    at least 1. With PU data :math:`N = \min(n_M, n_P/\pi)`, the rows that would hold so many
    positives. From N = 50,000 on the bins grow instead of their number, which moves the error
    by less than 1e-4.

    Where the data leaves the curve open (fewer than three bins, or bins that a step would meet) a
    ridge of 1e-9 picks the curve that is closest to the diagonal.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D5")
    >>> curve = bpm_curve(world.draw(n=20_000, setting="labelled", seed=0))
    >>> float(abs(curve([0.2, 0.5, 0.8]) - world.posterior([0.2, 0.5, 0.8])).max()) < 0.02
    True
    """
    return fit_curve(CurveRows(scores))


def fit_curve(rows: CurveRows) -> BPMCurve:
    """Fit the curve; see `bpm_curve`."""
    points = rows.points()
    best = fit(points, rows.coarse_points(SEARCH_POINTS), rows.limits)
    alpha, beta, c = best.theta.tolist()
    return BPMCurve(
        alpha=alpha,
        beta=beta,
        c=c,
        low=rows.limits[0],
        high=rows.limits[1],
        log_objective=best.loss,
        n_rows=rows.n_rows,
        n_bins=points.n_bins,
        n_points=points.score.size,
        last_step=best.last_step,
    )


def tce_bpm(scores: PUScores, *, density: Density = "beta") -> float:
    r"""Return the true calibration error of the fitted curve (Dong et al., Algorithm 2).

    .. math:: \int_0^1 |g(s) - s|\,\xi(s)\,ds

    with the curve g of `bpm_curve` and the density :math:`\xi` of the score.

    Parameters
    ----------
    scores : PUScores
    density : {"beta", "empirical"}
        The beta density with the mean and the variance (ddof = 1) of the marginal sample, as in the
        paper, or the marginal sample itself. Confidences of neural nets have no beta law: for them
        the beta density gave up to 1.3 times the error that the sample itself gives.

    Returns
    -------
    float
        The error. If the true curve is not of the family, it tends to the error of the curve of the
        family that is closest to it, which may be far from the truth. With fewer than about 500
        rows the bins are wide, and the error too small where the curve is steep.

    Raises
    ------
    ValueError
        With density "beta" when the scores are all equal, or vary as much as only 0 and 1 can.

    See Also
    --------
    tce_bpm_interval : the same with a confidence interval.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> world = BinomialProcess("D4")
    >>> scores = world.draw(2000, 20_000, setting="two-sample", seed=0)
    >>> abs(tce_bpm(scores) - world.tce()) < 0.02
    True
    """
    check_density(density)
    rows = CurveRows(scores)
    if density == "beta":
        beta_shape(*rows.moments)
    return curve_error(fit_curve(rows), rows, density)


def check_density(density: object) -> None:
    """Refuse densities that are unknown."""
    if density not in get_args(Density):
        msg = f"'density' must be 'beta' or 'empirical', got {density!r}."
        raise ValueError(msg)


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
    """Return the shape of the beta law with this mean and variance, or say why there is none."""
    most = mean * (1.0 - mean)
    if not 0.0 < variance < most:
        why = "vary" if variance <= 0.0 else "vary less than scores of only 0 and 1"
        msg = (
            f"'scores' must {why} for density='beta', got a variance of {variance:.6g} at mean "
            f"{mean:.6g} (a beta law needs one in (0, {most:.6g})). Use density='empirical'."
        )
        raise ValueError(msg)
    strength = most / variance - 1.0
    return mean * strength, (1.0 - mean) * strength


def is_narrow(mean: float, variance: float) -> bool:
    """Whether scores vary so little that every calibration curve is straight among them."""
    return variance < NARROW * mean * (1.0 - mean)


def _beta_error(curve: BPMCurve, mean: float, variance: float) -> float:
    """Integrate over the logit, where a beta density has no poles, between the signs of g - s."""
    law = BetaLaw(*beta_shape(mean, variance))
    if is_narrow(mean, variance):
        return _narrow_error(curve, mean, math.sqrt(variance))

    def gap(v: NDArray[np.float64]) -> NDArray[np.float64]:
        return curve.at_logit(v) - np.asarray(expit(v))

    def integrand(v: NDArray[np.float64]) -> NDArray[np.float64]:
        return law.density(v) * np.abs(gap(v))

    breaks = law.breaks()
    ends = np.array([np.log(curve.low), -np.log(curve.high)])  # where the curve stops changing
    breaks = np.union1d(breaks, np.clip(ends, breaks[0], breaks[-1]))
    position = np.arange(GRID_PER_PANEL * (breaks.size - 1) + 1) / GRID_PER_PANEL
    grid = np.interp(position, np.arange(breaks.size), breaks)
    panels = np.union1d(breaks, sign_changes(gap, grid))
    panels = converged_breaks(integrand, panels, absolute=1e-10, relative=1e-9)
    return float(panel_integrals(integrand, panels[:-1], panels[1:]).sum())


def _narrow_error(curve: BPMCurve, mean: float, sd: float) -> float:
    """Return the mean of ``|g(s) - s|`` when s is normal and the curve straight: folded normal."""
    g = float(curve(mean))
    slope = g * (1.0 - g) * (curve.alpha / mean + curve.beta / (1.0 - mean)) - 1.0
    middle, spread = g - mean, max(abs(slope) * sd, np.finfo(np.float64).tiny)
    z = middle / spread
    density = math.exp(-0.5 * min(z * z, MOST_EXPONENT)) * math.sqrt(2.0 / math.pi)
    return float(spread * density + middle * (1.0 - 2.0 * ndtr(-z)))
