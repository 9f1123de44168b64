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

With ``allowance`` k > 0 the rule is that of cross-validation which takes the simplest model within
a standard error of the best (Breiman, Friedman, Olshen and Stone 1984, the 1 SE rule): of all cuts
whose penalised ratio is within k standard errors of the smallest, the one that most positives
reach. The error is that of the ratio at :math:`\hat c` against the ratio of all positives, squared

.. math:: \Big(\frac{\hat a}{n_U} + \frac{\hat a^2}{n_P}\Big) \frac{1 - q_P(\hat c)}{q_P(\hat c)}.
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
    allowance : float
        0 is the published rule. 1 takes the lowest threshold within one standard error of the best,
        which luck moves far less: single answers are as exact as counting allows where classes are
        far apart, and too large by up to a standard error more where they overlap.

    Examples
    --------
    >>> from noneg.prior import BestBin, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> BestBin().fit(laws).value
    0.3

    Single draws of a large share, with the published rule and with an allowance:

    >>> import numpy as np
    >>> rng, error = np.random.default_rng(0), []
    >>> for _ in range(20):
    ...     u = np.append(rng.normal(6, 1, 3200), rng.normal(0, 1, 800))
    ...     laws = ScoreLaws.from_arrays(
    ...         rng.normal(6, 1, 2000), u, setting="two-sample", scale="logit"
    ...     )
    ...     error.append([BestBin(allowance=k).find(laws).share - 0.8 for k in (0, 1)])
    >>> np.abs(error).mean(axis=0).round(3).tolist()
    [0.01, 0.003]
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
    allowance: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.allowance < np.inf:
            msg = "'allowance' must be a number of standard errors, 0 for the published rule"
            raise ValueError(f"{msg}, got {self.allowance!r}.")

    def find(self, laws: ScoreLaws) -> Found:
        """Return the ratio above the best threshold."""
        top_u, top_p = laws.above("unlabeled"), laws.above("positive")
        k = self._cut(laws, top_u, top_p)
        share = min(1.0, float(top_u[k] / top_p[k]))
        n, m = laws.n_positive, laws.n_unlabeled
        shown = {"threshold": float(laws.points[k]), "pure_mass": float(top_p[k])}
        if self.allowance == 0.0:
            shown["expected_luck"] = -(share / m + share**2 / n) / self.slack(n, m)
        return Found(share, shown)

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
        k = self._cut(laws, top_u, top_p)
        low = float((top_u[k] - e_u) / (top_p[k] + e_p))
        return Interval(
            min(max(0.0, low), share),
            max(share, min(1.0, float(bound.min(initial=1.0)))),
            "Dvoretzky-Kiefer-Wolfowitz; the upper end needs no assumption on the negatives, the "
            "lower end needs that there are none above the threshold; not the training of the "
            "scores",
        )

    def _cut(self, laws: ScoreLaws, top_u: NDArray[np.float64], top_p: NDArray[np.float64]) -> int:
        """Return the chosen threshold's place among the points."""
        tried = self._penalised(laws, top_u, top_p)
        best = int(np.argmin(tried))
        share, reached = float(top_u[best] / top_p[best]), float(top_p[best])
        square = share / laws.n_unlabeled + share**2 / laws.n_positive
        # Rounding may lift the reached mass above one.
        error = np.sqrt(square * max(0.0, 1.0 - reached) / reached)
        return int(np.argmax(tried <= tried[best] + self.allowance * error))

    def _penalised(
        self, laws: ScoreLaws, top_u: NDArray[np.float64], top_p: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        total = top_u + self.slack(laws.n_positive, laws.n_unlabeled)
        # Above the last positive there is no ratio.
        there = top_p > 0.0
        return np.divide(total, top_p, out=np.full_like(total, np.inf), where=there)


def _reach(delta: float, n: float) -> float:
    return float(np.sqrt(np.log(4.0 / delta) / (2.0 * n)))
