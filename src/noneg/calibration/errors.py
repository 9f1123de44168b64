r"""Binned calibration errors from positives and unlabeled data; labelled data is the special case.

ECE
    The sum of absolute residuals over bins, plain.
Debiased ECE
    A bin's term :math:`d_b = \rho(I_b)` is the frequency of positives minus the mean score, times
    the mass of the bin. Noise in the frequency makes :math:`|d_b|` and :math:`d_b^2` too large on
    average, by an amount that only depends on its variance

    .. math:: v_b = \operatorname{Var}\bigl(\pi\hat\mu_+(I_b) - y_b\,\hat\mu(I_b)\bigr),
        \qquad y_b = \pi\,\mu_+(I_b)/\mu(I_b),

    which is :math:`\mu(I_b)^2\,y_b(1-y_b)/(n_b-1)` for labelled data, the variance that Kumar,
    Liang & Ma (2019) subtract. In two samples it is
    :math:`\pi^2 p(1-p)/(n_P-1) + y_b^2\,m(1-m)/(n_M-1)` with :math:`p = \hat\mu_+(I_b)` and
    :math:`m = \hat\mu(I_b)`; in one sample the labelled rows tie the two parts together. Scores
    within a bin are taken for equal; what they vary is of the order of the squared width of the
    bin.
Sweep
    Calibration curves rise, so a decrease between neighboring bins is noise: the sweep adds bins
    of equal mass until the first decrease. Rows are put in order once; then the edges of any number
    of bins are looked up. From some number on, only bins around the few places where the rows
    themselves are out of order can break the order, so that data a classifier separates well is
    swept as fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import erfc

from noneg.bins import ROUNDING, Binned, bin_scores, check_frequencies, check_p
from noneg.calibration.bounds import error_bounds
from noneg.calibration.interval import INVERTED, METHOD, power_limits
from noneg.checks import check_level
from noneg.errors import InputError
from noneg.intervals import enclosing
from noneg.laws import Ordered
from noneg.registry import PU_ECE, calibration_error, in_range
from noneg.rules import Curve
from noneg.selection import is_selected, refuse_selection

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.intervals import Limits
    from noneg.results import Estimate
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Norm = Literal["l1", "l2"]
# Kish's size of a bin that counts as one row, up to rounding.
ONE_ROW = 1.0 - 1e-9
# Numbers of bins up to which all bins are compared without asking where the rows are out of order.
ALL_BINS = 256
# Bins compared at a time from then on.
AT_ONCE = 1 << 18
# Bins whose sums are drawn for the lower end of the interval of the sweep.
INTERVAL_BINS = 4096
# Importance weights are not whole, so equal frequencies are only equal up to rounding.
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

    which for p = 1 is :math:`\sum_b |\pi \mu_+(I_b) - \int_{I_b} s\,d\mu|` (PU-ECE paper, Section
    3.1) and for labelled data the ordinary ECE.

    Parameters
    ----------
    scores : PUScores
    bins : int or "optimal"
        Number of bins. "optimal" is the order that balances binning bias and noise.
    binning : {"mass", "width"}
        Bins of equal marginal mass, or of equal width.
    p : float
        Order of the norm, from 1 to infinity.
    edges : array-like, optional
        Frozen bin edges from 0 to 1; override `bins` and `binning`.

    Returns
    -------
    float
        The error. Noise in the bins adds to it: it overestimates a small error, and on few rows of
        PU data it may even exceed 1.

    See Also
    --------
    noneg.estimate : the same with a confidence interval.

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
    """Return the L_p mean of gaps; the largest is taken out, so that no power underflows."""
    top = gap.max()
    return float(top * (mass @ (gap / top) ** p) ** (1.0 / p)) if top > 0.0 else 0.0


@in_range
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
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    bins, binning, p, edges
        As in `noneg.ece`.
    method : {"normal", "hoeffding"}
        Normal approximation (the default), or distribution-free bounds for p = 1 and bins chosen
        without these rows; the latter are much wider.
    seed : int
        Seed of the random splits of the lower end.

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
        return error_bounds(scores, binned, norm(binned, p), level, seed, METHOD)
    if method == "hoeffding":
        limits, words = _hoeffding(scores, binned, level, p), "Hoeffding"
    elif method == "normal":
        limits = power_limits(scores, binned, p, level=level, seed=seed)
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
    """Return A such that a sign-weighted sum of residuals deviates like ``sqrt(2 A log)``.

    A labelled row of one sample contributes ``pi / n_P - s / n``, which lies within ``pi / n_P``
    of zero, or within ``1 / n`` where ``n_P > pi n``: both PU settings share one rate.
    """
    if scores.prior_is_estimated:
        return 1.0 / scores.effective_marginal
    return prior**2 / scores.effective_positive + 1.0 / scores.effective_marginal


@dataclass(frozen=True, eq=False)
class PriorCurve:
    """ECE as a function of the class prior: convex and piecewise linear, kept exactly.

    Attributes
    ----------
    prior : ndarray
        0, the breakpoints ``(integral of s over I_b) / mu_plus(I_b)`` in (0, 1), and 1.
    error : ndarray
        The error at each of them; the curve is linear in between.

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
        """Return the error at one prior or many."""
        return np.interp(np.asarray(prior, dtype=np.float64), self.prior, self.error)

    @property
    def best(self) -> float:
        """The prior at which the error is smallest."""
        return float(self.prior[np.argmin(self.error)])

    def range(self, low: float, high: float) -> tuple[float, float]:
        """Return the exact smallest and largest error for priors in [low, high]."""
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

    The bins stay those of the prior of `scores`. A wrong prior moves the error by at most as much
    as the prior is wrong (PU-ECE paper, Theorem 2).

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
    # Terms that turned before a prior count pi p - s, the others s - pi p.
    turned = np.searchsorted(turn, prior, side="right")
    below = np.concatenate([[0.0], np.cumsum(slope)])[turned]
    above = np.concatenate([[0.0], np.cumsum(level)])[turned]
    error = prior * (2.0 * below - slope.sum()) + level.sum() - 2.0 * above
    return PriorCurve(prior=prior, error=np.maximum(error, 0.0))


def _curve(scores: PUScores, **options: Any) -> Curve:  # noqa: ANN401
    found = ece_by_prior(scores, **options)
    slope = np.diff(found.error) / np.diff(found.prior)
    level = found.error[:-1] - slope * found.prior[:-1]
    pieces = np.stack([level, slope, np.ones_like(slope), np.zeros_like(slope)], axis=-1)
    return Curve(found.prior[1:-1], pieces)


calibration_error(
    ece, ece_interval, title="Expected calibration error", citation=PU_ECE, by_prior=_curve
)


def debiased_ece(
    scores: PUScores,
    *,
    norm: Norm = "l1",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
) -> float:
    r"""Return the calibration error over bins less the bias that noise adds to it.

    .. math:: \text{l1:}\quad \sum_b 2|d_b| - E\,|N(d_b, v_b)|, \qquad
        \text{l2:}\quad \Bigl(\sum_b \frac{d_b^2 - v_b}{\mu(I_b)}\Bigr)^{1/2},

    floored at 0. The expected absolute value of a normal variable is known in closed form, so no
    random numbers are drawn. A bin with one marginal row cannot tell its variance: "l2" leaves it
    out, "l1" does not correct it.

    Parameters
    ----------
    scores : PUScores
    norm : {"l1", "l2"}
        Mean absolute gap, or root of the mean squared gap.
    bins, binning, edges
        As in `noneg.ece`.

    Returns
    -------
    float
        At most the plain error over the same bins, and 0 when noise explains all of it; see
        `debiased_total` for the sum before the floor.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified Uncertainty Calibration, whose estimators "l2" reproduces
    for labelled data, and "l1" in expectation.

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
    r"""Return the sum that `debiased_ece` floors, and for "l2" takes the root of.

    For "l2" it is unbiased for the sum of squared gaps, so it can be averaged over data sets; when
    calibration is good it is negative about half of the time. For "l1" the bias of a bin vanishes
    where its gap is larger than the noise; a gap of zero keeps :math:`2 - \sqrt 2` of it, 59 %.

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
    terms = _absolute(binned) if norm == "l1" else _squared(binned)
    return float(terms.sum())


@in_range
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
    """Return the debiased error with an interval for the population's error over the same bins.

    The plain and the debiased error estimate the same number, so the ends are those of
    `noneg.calibration.ece_interval`, which holds at good calibration too.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    norm, bins, binning, edges
        As in `debiased_ece`.
    seed : int
        Seed of the random splits of the lower end.

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
    return _moved(plain, value, low=min(plain.low, value))


def _moved(
    plain: Estimate, value: float, *, low: float | None = None, high: float | None = None
) -> Estimate:
    """Return an estimate with another value; what is identified moves along, not below zero."""
    ends = plain.low if low is None else low, plain.high if high is None else high
    if plain.identified is None:
        return replace(plain, value=value, low=ends[0], high=ends[1])
    least, most = (max(0.0, end + value - plain.value) for end in plain.identified)
    identified = least, max(value, most)
    return replace(plain, value=value, low=min(ends[0], least), high=ends[1], identified=identified)


def _absolute(binned: Binned) -> Floats:
    """Return |d| less what noise adds to it on average, of each bin."""
    d = np.abs(binned.residual)
    sd = np.sqrt(np.where(_many(binned), frequency_variance(binned), 0.0))
    z = np.divide(d, sd, out=np.full_like(d, np.inf), where=sd > 0.0)
    excess = sd * np.sqrt(2.0 / np.pi) * np.exp(-(z**2) / 2.0) - d * erfc(z / np.sqrt(2.0))
    return d - excess


def _squared(binned: Binned) -> Floats:
    """Return the mass times the squared gap less its variance, of each bin."""
    check_frequencies(binned, "'norm' must be 'l1' here, got 'l2'")
    square = binned.residual**2 - frequency_variance(binned)
    return np.divide(square, binned.marginal, out=np.zeros_like(square), where=_many(binned))


def _many(binned: Binned) -> NDArray[np.bool_]:
    """Whether a bin holds more than one marginal row."""
    return binned.second[:, 1, 1] < ONE_ROW * binned.marginal**2


def frequency_variance(binned: Binned) -> Floats:
    """Return the variance that noise in the frequencies gives the residuals, of each bin."""
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
    """Return the covariance of two masses of a bin, each a share of its own total."""
    return second * (1.0 - one - other) + one * other * second.sum()


def _unbiased(one_over_n: Floats) -> Floats:
    """Return ``n / (n - 1)``; a single row is left as it is."""
    return 1.0 / np.where(one_over_n < ONE_ROW, 1.0 - one_over_n, 1.0)


calibration_error(
    debiased_ece,
    debiased_ece_interval,
    title="Debiased calibration error",
    short="Calibration error",
    citation="Bröcker (2012); Kumar et al. (2019), Verified uncertainty calibration",
)


def sweep_ece(scores: PUScores) -> float:
    r"""Return the monotonic-sweep calibration error.

    The ECE over :math:`B^*` bins of equal mass, the largest number for which the frequencies
    :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)` do not decrease, neither for it nor for any smaller
    number; at most one less than there are marginal rows. With B bins the row of rank i (from 0)
    of n lies in bin :math:`\lfloor iB/n\rfloor`, but rows of equal score stay together in the
    lower one. The choice of :math:`B^*` does not depend on the prior.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    See Also
    --------
    sweep_edges : the bins.

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
    """Return the edges of the bins of `sweep_ece`, coinciding ones left out.

    Examples
    --------
    >>> from noneg import PUScores
    >>> sweep_edges(PUScores.from_labels([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.6, 0.9]))
    array([0. , 0.4, 1. ])
    """
    rows = _Rows.of(scores)
    n_bins = _sweep(rows)
    inner = np.unique(rows.cuts(n_bins))
    # An inner edge at 0 stays: scores of 0 are then a bin of their own.
    return np.concatenate([[0.0], inner[inner < 1.0], [1.0]])


@in_range
def sweep_ece_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the sweep error with an interval for the population's error over the bins found.

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
    >>> print(sweep_ece_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0819 [0.0664, 0.0938]
    """
    edges = sweep_edges(scores)
    value = ece(scores, edges=edges)
    # Merging bins never raises the error, so the lower end of fewer bins is valid.
    step = -(-(edges.size - 1) // INTERVAL_BINS)
    coarse = np.append(edges[:-1:step], 1.0)
    plain = ece_interval(scores, level=level, edges=coarse, seed=seed)
    return _moved(plain, value, high=plain.high + (value - plain.value))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Both samples in order.

    Attributes
    ----------
    scores : ndarray, shape (m,)
        Distinct scores of both samples, rising.
    positive, marginal : ndarray, shape (m + 1,)
        Mass of the first k scores in each sample.
    n : float
        Size of the marginal sample.
    slack : float
        Relative size of a decrease that is none.
    """

    scores: Floats
    positive: Floats
    marginal: Floats
    n: float
    slack: float

    @classmethod
    def of(cls, scores: PUScores) -> _Rows:
        s, positive, marginal = Ordered(scores).below()
        n = scores.effective_marginal
        whole = float(np.rint(n))
        n = whole if abs(n - whole) < SLACK * n else n
        counted = all((mass == np.rint(mass)).all() for mass in (positive, marginal))
        return cls(s, positive, marginal, n, 0.0 if counted else SLACK)

    def targets(self, b: Integers, n_bins: Integers | int) -> Floats:
        """Return the marginal mass that bins 1..b of n_bins must reach: that of ceil(n b / B)."""
        if float(self.n).is_integer():
            rank = -(-int(self.n) * b // n_bins)
        else:
            rank = np.ceil(self.n * b / n_bins * (1.0 - 1e-12))
        total = self.marginal[-1]
        return rank * (total / self.n) * (1.0 - 1e-12)

    def cuts(self, n_bins: int) -> Floats:
        """Return the inner edges: the scores at which bins of equal mass end."""
        target = self.targets(np.arange(1, n_bins), n_bins)
        return self.scores[np.searchsorted(self.marginal, target) - 1]

    def below(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Return the masses of rows with ``s <= cut`` in both samples."""
        place = np.searchsorted(self.scores, cuts, side="right")
        return self.positive[place], self.marginal[place]

    def rises(self, n_bins: int) -> bool:
        """Whether the frequencies do not decrease over all bins."""
        below = self.below(np.append(self.cuts(n_bins), 1.0))
        a, w = (np.diff(mass, prepend=0.0) for mass in below)
        full = (a > 0.0) | (w > 0.0)
        return not _falls(a[full][:-1], w[full][:-1], a[full][1:], w[full][1:], self.slack).any()

    @cached_property
    def ties(self) -> _Ties:
        """The finest bins there are: one for each marginal score."""
        cuts = np.append(self.scores[np.diff(self.marginal) > 0.0], 1.0)
        return _Ties(self, *(np.concatenate([[0.0], mass]) for mass in self.below(cuts)))


@dataclass(frozen=True, eq=False)
class _Ties:
    """Cumulative masses at the end of each tie, from 0; the last one holds what lies above."""

    rows: _Rows
    positive: Floats
    marginal: Floats

    @cached_property
    def descents(self) -> Integers:
        """Ties (from 1) whose frequency exceeds that of the next one."""
        a, w = np.diff(self.positive), np.diff(self.marginal)
        return 1 + np.flatnonzero(_falls(a[:-1], w[:-1], a[1:], w[1:], self.rows.slack))

    def rises(self, n_bins: Integers) -> NDArray[np.bool_]:
        """Whether the frequencies do not decrease, for many numbers of bins at once.

        A bin and the next one can only be out of order if rows in them are.
        """
        n_bins = n_bins[:, None]
        left, right = self._bin(self.descents[None, :], n_bins)
        before, _ = self._bin(np.maximum(left, 1), n_bins)
        _, after = self._bin(np.minimum(right + 1, self.marginal.size - 1), n_bins)
        falls = self._falls(before, left, right) | self._falls(left, right, after)
        rises: NDArray[np.bool_] = ~np.any(falls, axis=1)
        return rises

    def _falls(self, first: Integers, middle: Integers, last: Integers) -> NDArray[np.bool_]:
        (a, b), (v, w) = (
            (x[middle] - x[first], x[last] - x[middle]) for x in (self.positive, self.marginal)
        )
        return _falls(a, v, b, w, self.rows.slack)

    def _bin(self, tie: Integers, n_bins: Integers) -> tuple[Integers, Integers]:
        """Return the ties after which the bin that holds this tie begins and ends."""
        share = self.marginal[tie - 1] / self.marginal[-1]
        b = np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)
        # The division may be off by a rounding.
        b -= self._cut(b, n_bins) >= tie
        b += self._cut(b + 1, n_bins) < tie
        return self._cut(b, n_bins), self._cut(b + 1, n_bins)

    def _cut(self, b: Integers, n_bins: Integers) -> Integers:
        inner = np.searchsorted(self.marginal[:-1], self.rows.targets(b, n_bins))
        return np.where(b < n_bins, inner, self.marginal.size - 1)


def _falls(a: Floats, v: Floats, b: Floats, w: Floats, slack: float) -> NDArray[np.bool_]:
    """Whether the frequency a / v exceeds b / w, without a division."""
    return a * w > b * v * (1.0 + slack)


def _sweep(rows: _Rows) -> int:
    """Return the number of bins of the sweep."""
    most = max(1, int(np.ceil(rows.n)) - 1)
    n_bins = 1
    while n_bins < most:
        if n_bins >= ALL_BINS and 3 * rows.ties.descents.size < n_bins:
            return _sweep_descents(rows.ties, n_bins, most)
        if not rows.rises(n_bins + 1):
            return n_bins
        n_bins += 1
    return n_bins


def _sweep_descents(ties: _Ties, n_bins: int, most: int) -> int:
    if ties.descents.size == 0:
        return most
    step = max(1, AT_ONCE // ties.descents.size)
    while n_bins < most:
        tried = np.arange(n_bins + 1, min(n_bins + step, most) + 1)
        rises = ties.rises(tried)
        if not rises.all():
            return int(tried[np.argmin(rises)]) - 1
        n_bins = int(tried[-1])
    return most


calibration_error(
    sweep_ece,
    sweep_ece_interval,
    title="Monotonic-sweep calibration error",
    citation="Roelofs et al. (2022), Mitigating bias in calibration error estimation",
)
