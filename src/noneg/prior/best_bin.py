r"""BBE, best bin estimation: the ratio of the two laws above the best threshold.

Garg, Wu, Smola, Balakrishnan and Lipton (2021), Mixture proportion estimation and PU learning: a
modern approach, Algorithm 1. With :math:`q_U(c), q_P(c)` the shares of unlabeled rows and of
positives that score at least c,

.. math:: \hat c = \arg\min_c \frac{q_U(c)}{q_P(c)} + \frac{1+\gamma}{q_P(c)}
   \Big(\sqrt{\tfrac{\log(4/\delta)}{2 n_P}} + \sqrt{\tfrac{\log(4/\delta)}{2 n_U}}\Big),
   \qquad \hat a = \frac{q_U(\hat c)}{q_P(\hat c)}.

The smallest value of a noisy curve is low by luck too: with K for all but the ratio and
:math:`1 / q_P` in the penalty, the answer is low by

.. math:: \frac{1}{K}\Big(\frac{a}{n_U} + \frac{a^2}{n_P}\Big)

in the mean where classes are far apart (``experiments/prior/single_draws.py`` derives it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noneg.prior.contract import Found, Interval, ScoreEstimator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.prior.laws import ScoreLaws


@dataclass(frozen=True, kw_only=True)
class BestBin(ScoreEstimator):
    """Best bin estimation (BBE).

    Every distinct score is a threshold, rows at it counted in both laws; the penalty alone keeps
    thresholds away that few positives reach. Without ties this is what the authors' code answers,
    to the last digit, if more than one row of each sample lies above the threshold, which that code
    asks for; with ties it leaves out one unlabeled row of those at the threshold.

    Parameters
    ----------
    delta : float
        Confidence in the penalty that chooses the threshold.
    gamma : float
        Slack of that penalty.

    Examples
    --------
    >>> from noneg.prior import BestBin, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> BestBin().fit(laws).value
    0.3
    """

    name: ClassVar[str] = "bbe"
    title: ClassVar[str] = "Best bin (BBE)"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, and above some score that many "
        "positives reach there are no negatives; without such a score the answer is an upper bound"
    )
    citation: ClassVar[str] = "Garg et al. (2021), Mixture proportion estimation and PU learning"

    delta: float = 0.1
    gamma: float = 0.01

    def find(self, laws: ScoreLaws) -> Found:
        """Return the ratio above the best threshold."""
        top_u, top_p = laws.above("unlabeled"), laws.above("positive")
        k = int(np.argmin(self._penalised(laws, top_u, top_p)))
        share = min(1.0, float(top_u[k] / top_p[k]))
        n, m = laws.n_positive, laws.n_unlabeled
        luck = -(share / m + share**2 / n) / self.slack(n, m)
        shown = {"threshold": float(laws.points[k]), "pure_mass": float(top_p[k])}
        return Found(share, shown | {"expected_luck": luck})

    def slack(self, n_positive: float, n_unlabeled: float) -> float:
        """Return K, so that the penalty is ``K / q_P``.

        Examples
        --------
        >>> round(BestBin().slack(2000, 4000), 4)
        0.0524
        """
        reach = _reach(self.delta, n_positive) + _reach(self.delta, n_unlabeled)
        return (1.0 + self.gamma) * reach

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return Dvoretzky-Kiefer-Wolfowitz bounds, valid at all thresholds at once.

        The upper end is the smallest ``(q_U + e_U) / (q_P - e_P)``: the paper's bound before it
        replaces the difference by ``(1 + gamma)``, so that it holds for few positives too. The
        lower end is ``(q_U - e_U) / (q_P + e_P)`` at the chosen threshold.
        """
        top_u, top_p = laws.above("unlabeled"), laws.above("positive")
        e_u, e_p = (_reach(1.0 - level, n) for n in (laws.n_unlabeled, laws.n_positive))
        enough = top_p > e_p
        bound = (top_u[enough] + e_u) / (top_p[enough] - e_p)
        k = int(np.argmin(self._penalised(laws, top_u, top_p)))
        low = float((top_u[k] - e_u) / (top_p[k] + e_p))
        return Interval(
            min(max(0.0, low), share),
            max(share, min(1.0, float(bound.min(initial=1.0)))),
            "Dvoretzky-Kiefer-Wolfowitz; the upper end needs no assumption on the negatives, the "
            "lower end needs that there are none above the threshold; not the training of the "
            "scores",
        )

    def _penalised(
        self, laws: ScoreLaws, top_u: NDArray[np.float64], top_p: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = top_u + self.slack(laws.n_positive, laws.n_unlabeled)
        # Above the last positive there is no ratio.
        there = top_p > 0.0
        return np.divide(total, top_p, out=np.full_like(total, np.inf), where=there)


def _reach(delta: float, n: float) -> float:
    return float(np.sqrt(np.log(4.0 / delta) / (2.0 * n)))
