r"""The calibration error with its upward bias taken off.

A bin's term :math:`d_b = \rho(I_b)` is the frequency of positives minus the mean score, times the
mass of the bin. Noise in the frequency makes :math:`|d_b|` and :math:`d_b^2` too large on average,
by an amount that only depends on its variance

.. math:: v_b = \operatorname{Var}\bigl(\pi\hat\mu_+(I_b) - y_b\,\hat\mu(I_b)\bigr),
    \qquad y_b = \pi\,\mu_+(I_b)/\mu(I_b),

which is :math:`\mu(I_b)^2\,y_b(1-y_b)/(n_b-1)` for labelled data, the variance that Kumar, Liang &
Ma (2019) subtract. In two samples it is
:math:`\pi^2 p(1-p)/(n_P-1) + y_b^2\,m(1-m)/(n_M-1)` with :math:`p = \hat\mu_+(I_b)` and
:math:`m = \hat\mu(I_b)`; in one sample the labelled rows tie the two parts together. Scores within
a bin are taken for equal; what they vary is of the order of the squared width of the bin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import erfc

from noneg.bins import ROUNDING, Binned, bin_scores
from noneg.calibration.interval import ece_interval
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

Norm = Literal["l1", "l2"]

# Kish's size of a bin that counts as one row, up to rounding.
ONE_ROW = 1.0 - 1e-9


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
        msg = f"'norm' must be 'l1' (absolute gaps) or 'l2' (squared gaps), got {norm!r}."
        raise ValueError(msg)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    terms = _absolute(binned) if norm == "l1" else _squared(binned)
    return float(terms.sum())


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
    0.0062 [0.0000, 0.0819]
    """
    value = debiased_ece(scores, norm=norm, bins=bins, binning=binning, edges=edges)
    plain = ece_interval(
        scores,
        level=level,
        bins=bins,
        binning=binning,
        p=1 if norm == "l1" else 2,
        edges=edges,
        seed=seed,
    )
    return Estimate(
        value=value,
        low=min(plain.low, value),
        high=plain.high,
        level=plain.level,
        method=plain.method,
    )


def _absolute(binned: Binned) -> NDArray[np.float64]:
    """Return |d| less what noise adds to it on average, a bin."""
    d = np.abs(binned.residual)
    sd = np.sqrt(np.where(_many(binned), frequency_variance(binned), 0.0))
    z = np.divide(d, sd, out=np.full_like(d, np.inf), where=sd > 0.0)
    excess = sd * np.sqrt(2.0 / np.pi) * np.exp(-(z**2) / 2.0) - d * erfc(z / np.sqrt(2.0))
    return d - excess


def _squared(binned: Binned) -> NDArray[np.float64]:
    """Return the mass times the squared gap less its variance, a bin."""
    infinite = np.flatnonzero((binned.marginal == 0.0) & (binned.positive > 0.0))
    if infinite.size:
        b = infinite[0]
        msg = (
            f"'norm' must be 'l1' here, got 'l2': bin ({binned.edges[b]:g}, "
            f"{binned.edges[b + 1]:g}] holds positives but no marginal row, so its frequency is "
            "infinite. Use fewer bins or binning='mass'."
        )
        raise ValueError(msg)
    square = binned.residual**2 - frequency_variance(binned)
    return np.divide(square, binned.marginal, out=np.zeros_like(square), where=_many(binned))


def _many(binned: Binned) -> NDArray[np.bool_]:
    """Whether a bin holds more than one marginal row."""
    return binned.second[:, 1, 1] < ONE_ROW * binned.marginal**2


def frequency_variance(binned: Binned) -> NDArray[np.float64]:
    """Return the variance that noise in the frequencies gives the residuals, a bin."""
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


def _covariance(
    second: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the covariance of two masses of a bin, each a share of its own total."""
    return second * (1.0 - one - other) + one * other * second.sum()


def _unbiased(one_over_n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``n / (n - 1)``; a single row is left as it is."""
    return 1.0 / np.where(one_over_n < ONE_ROW, 1.0 - one_over_n, 1.0)


register(
    Metric(
        name="debiased_ece",
        title="Debiased calibration error",
        short="Calibration error",
        function=debiased_ece,
        interval=debiased_ece_interval,
        citation="Bröcker (2012); Kumar et al. (2019), Verified uncertainty calibration",
        family="calibration error",
        better="lower",
    )
)
