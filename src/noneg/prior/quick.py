r"""Quick: the largest prior that the scores do not contradict, with a one-sided bound.

Above no threshold can there be more positives than rows, so
:math:`a \le \inf_t \mathrm{PPR}_U(t)/\mathrm{TPR}(t)`. It is what
`noneg.performance.assumptions.largest_prior` checks a given prior with; here the same cuts answer
without one. With few cuts it needs no tuning and no density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from noneg.performance.assumptions import CUTS, PriorCuts
from noneg.prior.contract import Found, Interval, ScoreEstimator

if TYPE_CHECKING:
    from noneg.prior.laws import ScoreLaws


@dataclass(frozen=True, kw_only=True)
class Quick(ScoreEstimator):
    """The largest share that the scores allow, at cuts that divide the positives evenly.

    Examples
    --------
    >>> from noneg.prior import Quick, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> found = Quick().fit(laws)
    >>> round(found.value, 6), found.low, 0.3 < found.high < 0.6
    (0.3, 0.0, True)
    """

    name: ClassVar[str] = "quick"
    title: ClassVar[str] = "Largest compatible"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives; nothing on the negatives, so it "
        "is an upper bound and the prior may be smaller"
    )
    citation: ClassVar[str] = (
        "Scott (2015), A rate of convergence for mixture proportion estimation"
    )

    def find(self, laws: ScoreLaws) -> Found:
        """Return the smallest ratio of the two laws above the cuts."""
        cuts = share_cuts(laws, z=0.0)
        ratio = cuts.ppr / cuts.tpr
        best = int(np.argmin(ratio))
        return Found(min(1.0, float(ratio[best])), {"pure_mass": float(cuts.tpr[best])})

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return [0, bound]: data set no lower limit without an assumption on the negatives."""
        cuts = share_cuts(laws, z=0.0)
        z = float(ndtri(1.0 - (1.0 - level) / cuts.tpr.size))
        high = largest_share(share_cuts(laws, z=z))
        method = (
            "one-sided: every larger prior is rejected at some cut (normal approximation, "
            "simultaneous over the cuts); nothing bounds it from below; not the training of the "
            "scores"
        )
        return Interval(0.0, max(share, high), method)


def share_cuts(laws: ScoreLaws, *, z: float) -> PriorCuts:
    """Return both laws above cuts that divide the positives evenly, with their noise."""
    top_u, top_p = laws.above("unlabeled"), laws.above("positive")
    # The last point whose tail still holds each share of the positives.
    wanted = np.arange(1, CUTS + 1) / CUTS
    place = np.searchsorted(-top_p, -wanted * (1.0 - 1e-12), side="right") - 1
    place = np.unique(np.append(place, 0))
    tpr, ppr = top_p[place], np.minimum(top_u[place], 1.0)
    variance = np.zeros((tpr.size, 3))
    # A count of zero is as sure as half a row.
    safe = np.clip(ppr, 0.5 / laws.n_unlabeled, 1.0)
    variance[:, 0] = safe * (1.0 - safe) / laws.n_unlabeled
    variance[:, 2] = tpr * np.maximum(0.0, 1.0 - tpr) / laws.n_positive
    return PriorCuts(tpr, ppr, variance, z)


def largest_share(cuts: PriorCuts) -> float:
    """Return the largest share a with ``a TPR - PPR <= z sd(a)`` at every cut.

    At each cut it is the larger root of a quadratic (Fieller), so that the noise of the positives
    is taken at the bound itself; at most one.
    """
    square = cuts.z**2
    a = cuts.tpr**2 - square * cuts.variance[:, 2]
    b = -2.0 * cuts.tpr * cuts.ppr - square * cuts.variance[:, 1]
    c = cuts.ppr**2 - square * cuts.variance[:, 0]
    bounded = a > 0.0
    a, b, c = a[bounded], b[bounded], c[bounded]
    roots = (-b + np.sqrt(np.maximum(0.0, b * b - 4.0 * a * c))) / (2.0 * a)
    return float(min(1.0, roots.min(initial=1.0)))
