r"""Binned calibration errors from positive and unlabeled data, or from labeled data.

ECE
    The sum of absolute residuals over bins, without correction.
Debiased ECE
    A bin's residual :math:`d_b = \rho(I_b)` is the frequency of positives minus the mean score,
    times the mass of the bin. Noise in the frequency inflates :math:`|d_b|` and :math:`d_b^2` on
    average, by an amount that depends only on its variance

    .. math:: v_b = \operatorname{Var}\bigl(\pi\hat\mu_+(I_b) - y_b\,\hat\mu(I_b)\bigr),
        \qquad y_b = \pi\,\mu_+(I_b)/\mu(I_b),

    which is :math:`\mu(I_b)^2\,y_b(1-y_b)/(n_b-1)` for labeled data, the variance that Kumar,
    Liang & Ma (2019) subtract. In the two-sample setting, it is
    :math:`\pi^2 p(1-p)/(n_P-1) + y_b^2\,m(1-m)/(n_M-1)` with :math:`p = \hat\mu_+(I_b)` and
    :math:`m = \hat\mu(I_b)`; in the one-sample setting, the labeled rows make the two parts
    correlated. Scores within a bin are treated as equal; their variation contributes only a term of
    the order of the squared bin width.
Monotonic sweep
    Calibration curves are increasing, so a decrease between neighboring bins must be noise: the
    sweep adds equal-mass bins until the first decrease. Rows are sorted once; the edges for any
    number of bins can then be looked up. Once there are many bins, only bins around the few
    positions where the rows themselves are out of order can break the order, so data that a
    classifier separates well can be swept quickly too.

Errors of many classes are errors of binary problems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import erfc

from noneg.bins import ROUNDING, Binned, bin_scores, check_frequencies, check_p
from noneg.calibration.bounds import error_bounds
from noneg.calibration.interval import INVERTED, METHOD, error_limits, power_norm
from noneg.checks import check_level, check_same_length
from noneg.errors import InputError
from noneg.intervals import enclosing
from noneg.laws import Ordered
from noneg.registry import PU_ECE, calibration_error
from noneg.rules import Curve
from noneg.scores import PUScores
from noneg.selection import is_selected, refuse_selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats, Integers, Places
    from noneg.bins import Binning
    from noneg.intervals import Limits
    from noneg.results import Estimate


Norm = Literal["l1", "l2"]
# Bins with an inverse Kish sample size above this contain a single row, up to rounding error.
ONE_ROW = 1.0 - 1e-9

# Constants of the monotonic sweep.
# Up to this many bins, all bins are compared, even where the rows are in order.
ALL_BINS = 256
# Number of bins compared at a time beyond that.
AT_ONCE = 1 << 18
# Largest number of bins used for the lower end of the interval.
INTERVAL_BINS = 4096
# Importance weights are not whole numbers, so frequencies are equal only up to rounding error.
SLACK = 1e-9


def ece(
    scores: PUScores,
    *,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    p: float = 1,
    edges: ArrayLike | None = None,
) -> float:
    r"""Return the expected calibration error.

    .. math:: \Bigl(\sum_b \mu(I_b)\,\lvert y_b - \bar s_b\rvert^p\Bigr)^{1/p},
        \qquad y_b = \pi\,\mu_+(I_b) / \mu(I_b),

    which for p = 1 equals :math:`\sum_b |\pi \mu_+(I_b) - \int_{I_b} s\,d\mu|` (PU-ECE paper,
    Section 3.1), and for labeled data is the ordinary ECE.

    Parameters
    ----------
    scores : PUScores
    bins : int or "optimal"
        Number of bins. "optimal" balances binning bias against noise.
    binning : {"mass", "width"}
        Bins of equal marginal mass, or of equal width.
    p : float
        Order of the norm, from 1 to infinity.
    edges : array-like, optional
        Fixed bin edges from 0 to 1; they override `bins` and `binning`.

    Returns
    -------
    float
        The error. Noise in the bins adds to it, so small errors are overestimated, and with only a
        few rows of PU data the estimate may even exceed 1.

    See Also
    --------
    noneg.estimate : The same error with a confidence interval.

    Examples
    --------
    >>> from noneg import PUScores, ece
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> round(ece(scores, bins=2, binning="width"), 4)
    0.35
    """
    return norm(bin_scores(scores, bins=bins, binning=binning, edges=edges), check_p(p))


def norm(binned: Binned, p: float) -> float:
    """Return the L_p error of binned scores; see `ece`."""
    gap = np.abs(binned.residual)
    if p == 1:
        return float(gap.sum())
    check_frequencies(binned, f"'p' must be 1 here, got {p!r}")
    full = binned.marginal > 0.0
    gap, mass = gap[full] / binned.marginal[full], binned.marginal[full]
    return float(gap.max()) if p == np.inf else power_mean(gap, mass, p)


def power_mean(gap: Floats, mass: Floats, p: float) -> float:
    """Return the L_p mean of gaps, scaled by the largest so that no power underflows."""
    top = gap.max()
    return float(top * (mass @ (gap / top) ** p) ** (1.0 / p)) if top > 0.0 else 0.0


def _curve(scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
    found = ece_by_prior(scores, **options)
    slope = np.diff(found.error) / np.diff(found.prior)
    level = found.error[:-1] - slope * found.prior[:-1]
    pieces = np.stack([level, slope, np.ones_like(slope), np.zeros_like(slope)], axis=-1)
    return Curve(found.prior[1:-1], pieces)


@calibration_error(ece, title="Expected calibration error", citation=PU_ECE, by_prior=_curve)
def ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    p: float = 1,
    edges: ArrayLike | None = None,
    method: Literal["normal", "hoeffding"] = "normal",
    seed: int = 0,
) -> Estimate:
    """Return the calibration error with an interval for its population value over the same bins.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    bins, binning, p, edges
        As in `noneg.ece`.
    method : {"normal", "hoeffding"}
        Normal approximation (the default), or distribution-free bounds for p = 1 and bins that were
        chosen without these rows; the latter are much wider.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> estimate = ece_interval(scores)
    >>> estimate.low < world.tce() < estimate.high
    True
    """
    level, p = check_level(level), check_p(p)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    if is_selected(scores):
        if p != 1 or method != "normal":
            refuse_selection(scores, "this error", "Use p=1 and method='normal'.")
        return error_bounds(scores, binned, norm(binned, p), level, seed)
    if method == "hoeffding":
        limits, words = _hoeffding(scores, binned, level, p), "Hoeffding"
    elif method == "normal":
        error = power_norm(binned.marginal, p)
        limits = error_limits(scores, binned, error, level, seed=seed)
        words = INVERTED if p == 1 else METHOD
    else:
        raise InputError("method", "must be 'normal' or 'hoeffding'", value=method)
    return enclosing(scores, norm(binned, p), limits, level, words)


def _hoeffding(scores: PUScores, binned: Binned, level: float, p: float) -> Limits:
    if p != 1:
        msg = f"must be 1 for method='hoeffding', got {p!r}. Use method='normal'."
        raise InputError("p", msg)
    low, high = scores.prior_set
    smallest, largest = prior_curve(binned).range(low, high)
    rate = _row_rate(scores, high)
    log = np.log(2.0 / (1.0 - level))
    lower = smallest - np.sqrt(2.0 * rate * (binned.n_bins * np.log(2.0) + log))
    return max(0.0, float(lower)), float(largest + np.sqrt(2.0 * rate * log))


def _row_rate(scores: PUScores, prior: float) -> float:
    """Return A such that a signed sum of residuals deviates like ``sqrt(2 A log)``.

    In one sample, a labeled row contributes ``pi / n_P - s / n``, which lies within ``pi / n_P``
    of zero, or within ``1 / n`` if ``n_P > pi n``, so both PU settings share the same rate.
    """
    if scores.prior_is_estimated:
        return 1.0 / scores.effective_marginal
    return prior**2 / scores.effective_positive + 1.0 / scores.effective_marginal


@dataclass(frozen=True, eq=False)
class PriorCurve:
    """The ECE as an exact, convex and piecewise linear function of the class prior.

    Attributes
    ----------
    prior : ndarray
        0, the breakpoints ``(integral of s over I_b) / mu_plus(I_b)`` in (0, 1), and 1.
    error : ndarray
        The error at each of these priors; the curve is linear in between.

    Examples
    --------
    >>> from noneg import PUScores
    >>> from noneg.calibration import ece_by_prior
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> curve = ece_by_prior(scores, bins=2, binning="width")
    >>> [round(float(x), 3) for x in (curve(0.2), *curve.range(0.2, 0.6), curve.best)]
    [0.15, 0.15, 0.55, 0.2]
    """

    prior: Floats
    error: Floats

    def __call__(self, prior: ArrayLike) -> Floats:
        """Return the error at one or more priors."""
        return np.interp(np.asarray(prior, dtype=np.float64), self.prior, self.error)

    @property
    def best(self) -> float:
        """The prior at which the error is smallest."""
        return float(self.prior[np.argmin(self.error)])

    def range(self, low: float, high: float) -> tuple[float, float]:
        """Return the exact minimum and maximum error over priors in [low, high]."""
        ends = self([low, high])
        inside = self.error[(self.prior > low) & (self.prior < high)]
        return float(min(ends.min(), inside.min(initial=np.inf))), float(ends.max())


def ece_by_prior(
    scores: PUScores,
    *,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
) -> PriorCurve:
    """Return the ECE for every class prior at once, exactly.

    The bins are chosen once, at the prior of `scores`. An error in the prior changes the ECE by at
    most the same amount (PU-ECE paper, Theorem 2).

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> curve = ece_by_prior(scores, bins=2)
    >>> round(float(curve(0.4)), 12) == round(ece(scores, bins=2), 12)
    True
    """
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    return prior_curve(binned)


def prior_curve(binned: Binned) -> PriorCurve:
    """Return the L1 error of binned scores as a function of the prior; see `ece_by_prior`."""
    slope, level = binned.positive, binned.score
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(slope > 0.0, level / slope, np.inf)
    order = np.argsort(turn, kind="stable")
    turn, slope, level = turn[order], slope[order], level[order]
    inner = turn[(turn > 0.0) & (turn < 1.0)]
    prior = np.unique(np.concatenate([[0.0], inner, [1.0]]))
    # Bins whose turning point lies below a prior contribute pi p - s, the others s - pi p.
    turned = np.searchsorted(turn, prior, side="right")
    below = np.concatenate([[0.0], np.cumsum(slope)])[turned]
    above = np.concatenate([[0.0], np.cumsum(level)])[turned]
    error = prior * (2.0 * below - slope.sum()) + level.sum() - 2.0 * above
    return PriorCurve(prior=prior, error=np.maximum(error, 0.0))


def debiased_ece(
    scores: PUScores,
    *,
    norm: Norm = "l1",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
) -> float:
    r"""Return the binned calibration error minus the bias due to noise.

    .. math:: \text{l1:}\quad \sum_b 2|d_b| - E\,|N(d_b, v_b)|, \qquad
        \text{l2:}\quad \Bigl(\sum_b \frac{d_b^2 - v_b}{\mu(I_b)}\Bigr)^{1/2},

    floored at 0. The expected absolute value of a normal variable has a closed form, so no random
    numbers are drawn. The variance of a bin with a single marginal row cannot be estimated: "l2"
    leaves the bin out, and "l1" does not correct it.

    Parameters
    ----------
    scores : PUScores
    norm : {"l1", "l2"}
        Mean absolute gap, or root mean squared gap.
    bins, binning, edges
        As in `noneg.ece`.

    Returns
    -------
    float
        At most the uncorrected error over the same bins, and 0 when noise explains all of it. See
        `debiased_total` for the sum before flooring.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified Uncertainty Calibration. For labeled data, "l2" reproduces
    their estimator, and "l1" does so in expectation.

    Examples
    --------
    >>> from noneg import ece
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(500, 5000, setting="two-sample", seed=3)
    >>> print(round(ece(scores), 3), round(debiased_ece(scores), 3))
    0.036 0.006
    """
    total = debiased_total(scores, norm=norm, bins=bins, binning=binning, edges=edges)
    floored = max(0.0, total)
    return floored if norm == "l1" else float(np.sqrt(floored))


def debiased_total(
    scores: PUScores,
    *,
    norm: Norm = "l1",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
) -> float:
    r"""Return the sum behind `debiased_ece`, before flooring and (for "l2") the square root.

    For "l2", it is an unbiased estimate of the sum of squared gaps, so it can be averaged over data
    sets; when calibration is good, it is negative about half of the time. For "l1", the bias of a
    bin vanishes when its gap is larger than the noise; at a gap of zero, :math:`2 - \sqrt 2` of the
    bias remains, 59%.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 1, 0, 1], [0.4, 0.6, 0.4, 0.6])
    >>> round(debiased_total(scores, norm="l2", bins=1), 4)
    -0.0833
    """
    if norm not in ("l1", "l2"):
        raise InputError("norm", "must be 'l1' (absolute gaps) or 'l2' (squared gaps)", value=norm)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    terms = absolute_terms(binned) if norm == "l1" else _squared(binned)
    return float(terms.sum())


@calibration_error(
    debiased_ece,
    title="Debiased calibration error",
    short="Calibration error",
    citation="Bröcker (2012); Kumar et al. (2019), Verified uncertainty calibration",
)
def debiased_ece_interval(
    scores: PUScores,
    *,
    level: float = 0.95,
    norm: Norm = "l1",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    seed: int = 0,
) -> Estimate:
    """Return the debiased error with an interval for its population value over the same bins.

    The uncorrected and the debiased error estimate the same quantity, so the interval is that of
    `noneg.calibration.ece_interval`, which is also valid when calibration is good.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Nominal coverage.
    norm, bins, binning, edges
        As in `debiased_ece`.
    seed : int
        Seed of the random splits for the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(500, 5000, setting="two-sample", seed=3)
    >>> print(debiased_ece_interval(scores))
    0.0062 [0.0000, 0.0505]
    """
    value = debiased_ece(scores, norm=norm, bins=bins, binning=binning, edges=edges)
    p = 1 if norm == "l1" else 2
    plain = ece_interval(
        scores, level=level, bins=bins, binning=binning, p=p, edges=edges, seed=seed
    )
    return moved(plain, value, low=min(plain.low, value))


def moved(
    plain: Estimate, value: float, *, low: float | None = None, high: float | None = None
) -> Estimate:
    """Replace the value of an estimate and shift its identified range, floored at zero."""
    ends = plain.low if low is None else low, plain.high if high is None else high
    if plain.identified is None:
        return replace(plain, value=value, low=ends[0], high=ends[1])
    least, most = (max(0.0, end + value - plain.value) for end in plain.identified)
    identified = least, max(value, most)
    return replace(plain, value=value, low=min(ends[0], least), high=ends[1], identified=identified)


def absolute_terms(binned: Binned) -> Floats:
    """Return, for each bin, ``|d|`` minus the average contribution of noise."""
    d = np.abs(binned.residual)
    sd = np.sqrt(np.where(_many(binned), frequency_variance(binned), 0.0))
    z = np.divide(d, sd, out=np.full_like(d, np.inf), where=sd > 0.0)
    excess = sd * np.sqrt(2.0 / np.pi) * np.exp(-(z**2) / 2.0) - d * erfc(z / np.sqrt(2.0))
    return d - excess


def _squared(binned: Binned) -> Floats:
    """Return, for each bin, the mass times the squared gap minus its variance."""
    check_frequencies(binned, "'norm' must be 'l1' here, got 'l2'")
    square = binned.residual**2 - frequency_variance(binned)
    return np.divide(square, binned.marginal, out=np.zeros_like(square), where=_many(binned))


def _many(binned: Binned) -> Flags:
    """Whether a bin contains more than one marginal row."""
    return binned.second[:, 1, 1] < ONE_ROW * binned.marginal**2


def frequency_variance(binned: Binned) -> Floats:
    """Return, for each bin, the variance of the residual due to noise in the frequency."""
    p, m, prior = binned.positive, binned.marginal, binned.prior
    aa, aw, ww = binned.second[:, [0, 0, 1], [0, 1, 1]].T
    y = np.divide(prior * p, m, out=np.zeros_like(p), where=m > 0.0)
    if binned.prior_is_estimated:
        one = np.divide(ww, m**2, out=np.ones_like(p), where=m > 0.0)
        variance = (prior**2 * aa - 2.0 * prior * y * aw + y**2 * ww) * _unbiased(one)
    else:
        noise = prior**2 * _covariance(aa, p, p) - 2.0 * prior * y * _covariance(aw, p, m)
        variance = noise * _unbiased(aa.sum()) + y**2 * _covariance(ww, m, m) * _unbiased(ww.sum())
    return np.where(variance > ROUNDING * (prior**2 * aa + y**2 * ww), variance, 0.0)


def _covariance(second: Floats, one: Floats, other: Floats) -> Floats:
    """Return the covariance of two bin masses, each a share of its own total."""
    return second * (1.0 - one - other) + one * other * second.sum()


def _unbiased(one_over_n: Floats) -> Floats:
    """Return ``n / (n - 1)``, or 1 for a single row."""
    return 1.0 / np.where(one_over_n < ONE_ROW, 1.0 - one_over_n, 1.0)


def sweep_ece(scores: PUScores) -> float:
    r"""Return the monotonic-sweep calibration error.

    This is the ECE over :math:`B^*` equal-mass bins, where :math:`B^*` is the largest number for
    which the frequencies :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)` do not decrease, for it or for any
    smaller number; it is less than the number of marginal rows. With B bins, the row of rank i
    (from 0) out of n lies in bin :math:`\lfloor iB/n\rfloor`, but rows with equal scores stay
    together in the lower bin. The choice of :math:`B^*` does not depend on the prior.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    See Also
    --------
    sweep_edges : The edges of the bins.

    References
    ----------
    Roelofs, Cain, Shlens & Mozer (2022), Mitigating Bias in Calibration Error Estimation.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> print(sweep_edges(scores).size - 1, round(sweep_ece(scores), 3), round(world.tce(), 3))
    7 0.082 0.074
    """
    return ece(scores, edges=sweep_edges(scores))


def sweep_edges(scores: PUScores) -> Floats:
    """Return the distinct bin edges used by `sweep_ece`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> sweep_edges(PUScores.from_labels([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.6, 0.9]))
    array([0. , 0.4, 1. ])
    """
    ties = _Ties.of(scores)
    n_bins = _sweep(ties)
    inner = np.unique(ties.scores[ties.cut(np.arange(1, n_bins), n_bins) - 1])
    # Keep an inner edge at 0: scores of exactly 0 then form their own bin.
    return np.concatenate([[0.0], inner[inner < 1.0], [1.0]])


@calibration_error(
    sweep_ece,
    title="Monotonic-sweep calibration error",
    citation="Roelofs et al. (2022), Mitigating bias in calibration error estimation",
)
def sweep_ece_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the sweep error with an interval for the population error over the bins found.

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
    >>> print(sweep_ece_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0819 [0.0664, 0.0938]
    """
    edges = sweep_edges(scores)
    value = ece(scores, edges=edges)
    # Merging bins never increases the error, so a lower end from fewer bins is valid.
    step = -(-(edges.size - 1) // INTERVAL_BINS)
    coarse = np.append(edges[:-1:step], 1.0)
    plain = ece_interval(scores, level=level, edges=coarse, seed=seed)
    return moved(plain, value, high=plain.high + (value - plain.value))


@dataclass(frozen=True, eq=False)
class _Ties:
    """The finest possible bins, one for each distinct marginal score, and the remainder.

    Attributes
    ----------
    scores : ndarray, shape (m,)
        Distinct scores of the marginal sample, increasing.
    positive, marginal : ndarray, shape (m + 1,) or (m + 2,)
        Mass of each sample up to the end of each tie, starting from 0. If some positives have no
        marginal mass, a last entry adds those above all marginal scores.
    n : float
        Size of the marginal sample.
    slack : float
        Relative size of a decrease that is still ignored.
    """

    scores: Floats
    positive: Floats
    marginal: Floats
    n: float
    slack: float

    @classmethod
    def of(cls, scores: PUScores) -> _Ties:
        s, positive, marginal = Ordered(scores).below()
        full = marginal[1:] > marginal[:-1]
        if not full.all():  # Some positives have no marginal mass.
            last = np.flatnonzero(full)
            ends = np.concatenate([[0], last + 1, [s.size]])
            s, positive, marginal = s[last], positive[ends], marginal[ends]
        n = scores.effective_marginal
        whole = float(np.rint(n))
        n = whole if abs(n - whole) < SLACK * n else n
        counted = not scores.is_weighted or all(
            (mass == np.rint(mass)).all() for mass in (positive, marginal)
        )
        return cls(s, positive, marginal, n, 0.0 if counted else SLACK)

    def cut(self, b: Integers, n_bins: Integers | int) -> Integers:
        """Return the ties after which bins number b of n_bins equal-mass bins end.

        Bins 1..b must reach the marginal mass of ceil(n b / B) rows.
        """
        if float(self.n).is_integer():
            rank = -(-int(self.n) * b // n_bins)
        else:
            rank = np.ceil(self.n * b / n_bins * (1.0 - 1e-12))
        target = rank * (self.marginal[-1] / self.n) * (1.0 - 1e-12)
        inner = np.searchsorted(self.marginal[:-1], target)
        return np.where(b < n_bins, inner, self.marginal.size - 1)

    def falls(self, first: Integers, middle: Integers, last: Integers) -> Flags:
        """Whether the frequency between two ties exceeds that between the next two.

        The frequencies are compared without division.
        """
        (a, b), (v, w) = (
            (x[middle] - x[first], x[last] - x[middle]) for x in (self.positive, self.marginal)
        )
        return a * w > b * v * (1.0 + self.slack)

    def rises(self, n_bins: int) -> bool:
        """Whether the frequencies never decrease from bin to bin."""
        ends = np.unique(self.cut(np.arange(n_bins + 1), n_bins))
        return not self.falls(ends[:-2], ends[1:-1], ends[2:]).any()

    @cached_property
    def descents(self) -> Integers:
        """Ties (counted from 1) whose frequency exceeds the frequency of the next tie."""
        tie = np.arange(1, self.marginal.size - 1)
        return tie[self.falls(tie - 1, tie, tie + 1)]

    def many_rise(self, n_bins: Integers) -> Flags:
        """Whether the frequencies never decrease, for many numbers of bins at once.

        Two neighboring bins can be out of order only if rows in them are.
        """
        n_bins = n_bins[:, None]
        left, right = self._bin(self.descents[None, :], n_bins)
        before, _ = self._bin(np.maximum(left, 1), n_bins)
        _, after = self._bin(np.minimum(right + 1, self.marginal.size - 1), n_bins)
        falls = self.falls(before, left, right) | self.falls(left, right, after)
        rises: Flags = ~np.any(falls, axis=1)
        return rises

    def _bin(self, tie: Integers, n_bins: Integers) -> tuple[Integers, Integers]:
        """Return the ties after which the bin that contains this tie begins and ends."""
        share = self.marginal[tie - 1] / self.marginal[-1]
        b = np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)
        # The division may be off by rounding error.
        b -= self.cut(b, n_bins) >= tie
        b += self.cut(b + 1, n_bins) < tie
        return self.cut(b, n_bins), self.cut(b + 1, n_bins)


def _sweep(ties: _Ties) -> int:
    """Return the number of bins at which the sweep stops."""
    most = max(1, int(np.ceil(ties.n)) - 1)
    n_bins = 1
    while n_bins < most:
        if n_bins >= ALL_BINS and 3 * ties.descents.size < n_bins:
            return _sweep_descents(ties, n_bins, most)
        if not ties.rises(n_bins + 1):
            return n_bins
        n_bins += 1
    return n_bins


def _sweep_descents(ties: _Ties, n_bins: int, most: int) -> int:
    if ties.descents.size == 0:
        return most
    step = max(1, AT_ONCE // ties.descents.size)
    while n_bins < most:
        tried = np.arange(n_bins + 1, min(n_bins + step, most) + 1)
        rises = ties.many_rise(tried)
        if not rises.all():
            return int(tried[np.argmin(rises)]) - 1
        n_bins = int(tried[-1])
    return most


def class_table(values: ArrayLike, name: str = "y_prob") -> Floats:
    """Return one row per sample and one column per class."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        msg = f"must have one row per sample and one column per class, got {table.shape}."
        raise InputError(name, msg)
    return table


def class_numbers(y_true: ArrayLike, table: Floats, name: str = "y_prob") -> Places:
    """Return the class of each row as a column number."""
    labels = np.asarray(y_true)
    check_same_length(**{name: len(table), "y_true": labels.size})
    numbers = labels.dtype.kind in "iu"
    if not numbers or (labels.size and not (labels.min() >= 0 and labels.max() < table.shape[1])):
        raise InputError(
            "y_true",
            f"must contain class numbers from 0 to {table.shape[1] - 1}, the columns of '{name}'. "
            "Encode the classes first, for example with numpy.unique(return_inverse=True).",
        )
    return labels.astype(np.intp)


def one_vs_rest(y_true: ArrayLike, y_prob: ArrayLike) -> list[PUScores]:
    """Return one labeled `PUScores` per class: its probability against its indicator.

    Examples
    --------
    >>> one_vs_rest([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])[0]
    PUScores(1 positive, 3 labeled rows, prior 0.333333)
    """
    table = class_table(y_prob)
    labels = class_numbers(y_true, table)
    return [PUScores.from_labels(labels == k, column) for k, column in enumerate(table.T)]


def top_label(y_true: ArrayLike, y_prob: ArrayLike) -> PUScores:
    """Return the top probabilities, with labels for whether the most probable class is right.

    Examples
    --------
    >>> round(ece(top_label([0, 1], [[0.8, 0.2], [0.4, 0.6]]), bins=1), 12)
    0.3
    """
    table = class_table(y_prob)
    top = table.argmax(axis=1)
    return PUScores.from_labels(
        class_numbers(y_true, table) == top, table[np.arange(len(table)), top]
    )


def classwise_ece(
    classes: Sequence[PUScores],
    *,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    p: float = 1,
) -> float:
    """Return the mean one-vs-rest error over classes (PU-ECE paper, Appendix H).

    Parameters
    ----------
    classes : sequence of PUScores
        One per class: from `one_vs_rest` for labeled data, or a PU sample of each class.
    bins, binning, p
        As in `ece`.

    Examples
    --------
    >>> round(classwise_ece(one_vs_rest([0, 1], [[0.8, 0.2], [0.4, 0.6]]), bins=1), 12)
    0.1
    """
    if isinstance(classes, PUScores) or not len(classes):
        raise InputError("classes", "must be a sequence of PUScores, one per class", value=classes)
    return float(np.mean([ece(scores, bins=bins, binning=binning, p=p) for scores in classes]))
