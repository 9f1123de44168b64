"""Scaling-binning: Platt scaling, then constant in bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration._steps import StepCalibrator, full_bins
from noneg.recalibration.platt import Platt

if TYPE_CHECKING:
    from noneg.recalibration.contract import State
    from noneg.scores import PUScores


class ScalingBinning(StepCalibrator):
    r"""The mean of the Platt-scaled score in each bin.

    A map with few values has a calibration error that can be *measured*, unlike that of a smooth
    map; taking the mean of a fitted function in each bin, not the frequency of positives, keeps
    the small variance of the function.

    Parameters
    ----------
    bins : int or "optimal"
        Number of bins of equal mass; "optimal" is that of `noneg.ece`.

    Attributes
    ----------
    inner_edges_, values_ : ndarray
        Ends of all bins but the last, and the probability in each bin.

    Notes
    -----
    The function, the bins and the means come from the same rows, as in the authors' released code;
    their theorem splits the rows in three.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified Uncertainty Calibration.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(
    ...     1000, 10_000, setting="two-sample", seed=0
    ... )
    >>> np.unique(ScalingBinning(bins=5).fit(scores).transform(np.linspace(0, 1, 99))).size
    5
    """

    name = "scaling-binning"

    def _fit(self, scores: PUScores) -> State:
        platt = Platt().fit(scores)
        inner = full_bins(scores, self.bins).edges[1:-1]
        total, mass = np.zeros(inner.size + 1), np.zeros(inner.size + 1)
        for _, in_marginal, (s, f, _, w) in scores.chunks():
            if in_marginal:
                cell, share = np.searchsorted(inner, s), np.broadcast_to(f * w, s.shape)
                mass += np.bincount(cell, weights=share, minlength=mass.size)
                total += np.bincount(cell, weights=share * platt.transform(s), minlength=mass.size)
        return {"inner_edges": inner.tolist(), "values": np.clip(total / mass, 0.0, 1.0).tolist()}
