r"""DEDPUL: the share at which posteriors agree with a ratio of smoothed densities.

Ivanov (2020), DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning. With
:math:`r = f_P / f_U` on the unlabeled rows, the share a is a fixed point of the mean posterior,
:math:`a = E_U[\min(1, a r)]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import median_filter

from noneg.prior.base import SAMPLED, Found, ScoreEstimator

if TYPE_CHECKING:
    from noneg.arrays import Floats
    from noneg.prior.samples import ScoreLaws

MOST_POINTS = 1024
GRID = np.arange(1, 1001) / 1000.0
LARGEST_RATIO = 50.0
TOLERANCE = 1e-5
# Scores below this count as equal; otherwise, zeros from a forest would stretch the scale.
LOWEST = 1e-5
ROUNDING = 1e-12
# Shares below the first value count as degenerate, and excesses below the second as small.
NO_POSITIVES = 0.001
SMALL_EXCESS = 0.05


@dataclass(frozen=True, kw_only=True)
class Dedpul(ScoreEstimator):
    """Difference-of-estimated-densities estimator (DEDPUL).

    Both densities are estimated on the logit scale with the same kernel: smoothing then turns the
    mixture into a mixture of the smoothed classes, and the ratio remains correct where there are
    only positives. The authors' code uses ``bandwidth_positive=0.1, bandwidth_unlabeled=0.05``,
    each relative to the standard deviation of its own sample. If classes are far apart, the
    standard deviation of the unlabeled rows is large, their density is flattened, and the estimate
    is too small. With those bandwidths, the estimate agrees with the authors' code, except for
    small constants, for up to 1024 rows. Beyond that, at most 1024 groups of neighboring rows are
    smoothed, and the difference is within half the counting error. Their "monotonizing trends" are
    left out, as in their experiments on real data.

    Parameters
    ----------
    bandwidth_positive : float
        Kernel bandwidth in standard deviations of the positives' logits.
    bandwidth_unlabeled : float, optional
        A separate bandwidth for the unlabeled rows, in standard deviations of their logits.

    Examples
    --------
    >>> from noneg.prior import Dedpul
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.calibrated(0.3)
    >>> scores = world.draw(1000, 4000, setting="two-sample", seed=0)
    >>> abs(Dedpul().fit(scores).value - 0.3) < 0.06
    True
    """

    name = "dedpul"
    title = "DEDPUL"
    citation = "Ivanov (2020), DEDPUL"
    assumption = (
        f"{SAMPLED}, and at some scores negatives are negligible compared with "
        "positives (irreducibility); otherwise, the estimate is an upper bound"
    )
    rank_based = False
    bootstrap_points = 384

    bandwidth_positive: float = 0.07
    bandwidth_unlabeled: float | None = None

    def find(self, laws: ScoreLaws) -> Found:
        """Return the fixed point, or the grid estimate if the fixed point is degenerate."""
        laws = laws.coarse(MOST_POINTS)
        return _share(_Posterior(self.ratio(laws), laws.unlabeled[laws.unlabeled > 0.0]))

    def ratio(self, laws: ScoreLaws) -> Floats:
        """Return the smoothed ratio at the unlabeled points, increasing with the score."""
        z = np.logaddexp(laws.logits, np.log(LOWEST))
        there = laws.unlabeled > 0.0
        width = wide = self.bandwidth_positive * _deviation(z, laws.positive)
        if self.bandwidth_unlabeled is not None:
            wide = self.bandwidth_unlabeled * _deviation(z, laws.unlabeled)
        f_p = _density(z, laws.positive, width, z[there])
        f_u = _density(z, laws.unlabeled, wide, z[there])
        raw = np.minimum(f_p / (f_u + 1e-5 * f_u.max()), LARGEST_RATIO)
        middle = (laws.positive @ laws.probabilities + laws.unlabeled @ laws.probabilities) / 2.0
        upper = laws.probabilities[there] >= middle
        smooth = _rolling_median(raw, 5)
        smooth[upper] = np.maximum.accumulate(smooth[upper])
        return np.sort(_rolling_median(smooth, smooth.size // 20))


def _deviation(z: Floats, mass: Floats) -> float:
    """Return the standard deviation, or 0.01 if all points are equal."""
    return float(np.sqrt(mass @ (z - mass @ z) ** 2)) or 1e-2


def _density(z: Floats, mass: Floats, width: float, at: Floats) -> Floats:
    """Return a Gaussian kernel density."""
    full = mass > 0.0
    steps = (at[:, None] - z[full][None, :]) / width
    return np.exp(-0.5 * steps * steps) @ mass[full] / (width * np.sqrt(2.0 * np.pi))


def _rolling_median(values: Floats, half: int) -> Floats:
    out: Floats = median_filter(values, size=2 * half + 1, mode="nearest")
    return out


class _Posterior:
    """``E_U[min(1, a r)]`` as a function of the share a, from prefix sums of the sorted ratio."""

    def __init__(self, ratio: Floats, weight: Floats) -> None:
        self.ratio = ratio
        self.linear = np.concatenate([[0.0], np.cumsum(weight * ratio)])
        self.capped = 1.0 - np.concatenate([[0.0], np.cumsum(weight)])

    def __call__(self, share: Floats) -> Floats:
        cut = np.searchsorted(self.ratio, 1.0 / share)
        mean: Floats = share * self.linear[cut] + np.maximum(0.0, self.capped[cut])
        return mean


def _share(posterior: _Posterior) -> Found:
    fixed = _fixed_point(posterior)
    # Mean negative posterior minus the negative share.
    excess = GRID - posterior(GRID)
    best = _bend(excess)
    wrong = best <= fixed or ((excess < 0.0).sum() > 1 and fixed > NO_POSITIVES)
    share = fixed if wrong else best
    return Found(float(share), {"fixed_point": float(fixed), "bend": float(best)})


def _fixed_point(posterior: _Posterior) -> float:
    share = 1.0
    for _ in range(1000):
        following = float(posterior(np.array(share)))
        if abs(following - share) < TOLERANCE or share * posterior.ratio[-1] < 1.0:
            return following
        share = max(following, 1e-12)
    return share


def _bend(excess: Floats) -> float:
    """Return the share at which the curve of a small excess bends most, or 0 if there is none."""
    second = np.zeros_like(excess)
    second[1:-1] = excess[2:] - 2.0 * excess[1:-1] + excess[:-2]
    second[excess >= SMALL_EXCESS] = -np.inf
    best = int(np.argmax(second))
    return float(GRID[best]) if second[best] > ROUNDING else 0.0
