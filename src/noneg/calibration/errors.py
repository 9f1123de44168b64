"""Calibration errors from positives and unlabeled data; labelled data is the special case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.bins import Binned, bin_scores, check_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores


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
    full = binned.marginal > 0.0
    if (gap[~full] > 0.0).any():
        b = int(np.flatnonzero(~full & (gap > 0.0))[0])
        msg = (
            f"'p' must be 1 here, got {p!r}: bin ({binned.edges[b]:g}, {binned.edges[b + 1]:g}] "
            "holds positives but no marginal row, so its frequency is infinite. Use fewer bins or "
            "binning='mass'."
        )
        raise ValueError(msg)
    gap, mass = gap[full] / binned.marginal[full], binned.marginal[full]
    if p == np.inf:
        return float(gap.max())
    # The largest gap is taken out, so that no power of a small one underflows.
    top = gap.max()
    return float(top * (mass @ (gap / top) ** p) ** (1.0 / p)) if top > 0.0 else 0.0


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

    prior: NDArray[np.float64]
    error: NDArray[np.float64]

    def __call__(self, prior: ArrayLike) -> NDArray[np.float64]:
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

    The bins stay those of ``scores.prior``. A wrong prior moves the error by at most as much as
    the prior is wrong (PU-ECE paper, Theorem 2).

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
