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

from noneg.performance.assumptions import CUTS, largest_share
from noneg.prior.contract import Found, Interval, ScoreEstimator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.prior.laws import ScoreLaws

    Floats = NDArray[np.float64]


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
        tpr, ppr = share_cuts(laws)
        ratio = ppr / tpr
        best = int(np.argmin(ratio))
        return Found(min(1.0, float(ratio[best])), {"pure_mass": float(tpr[best])})

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return [0, bound]: data set no lower limit without an assumption on the negatives."""
        tpr, ppr = share_cuts(laws)
        rows = (np.full_like(tpr, n) for n in (laws.n_positive, laws.n_unlabeled))
        high = largest_share(*zip((tpr, ppr), rows, strict=True), level=level)
        method = (
            "one-sided: every larger prior is rejected at some cut (exact binomial limits, "
            "simultaneous over the cuts); nothing bounds it from below; not the training of the "
            "scores"
        )
        return Interval(0.0, max(share, high), method)


def share_cuts(laws: ScoreLaws) -> tuple[Floats, Floats]:
    """Return the shares of both laws, positives first, above cuts that divide these evenly."""
    top_u, top_p = laws.above("unlabeled"), laws.above("positive")
    # The last point whose tail still holds each share of the positives.
    wanted = np.arange(1, CUTS + 1) / CUTS
    place = np.searchsorted(-top_p, -wanted * (1.0 - 1e-12), side="right") - 1
    place = np.unique(np.append(place, 0))
    return np.minimum(top_p[place], 1.0), np.minimum(top_u[place], 1.0)
