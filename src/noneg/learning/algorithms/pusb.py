"""PUSB: positives labeled with a selection bias (Kato, Teshima and Honda, ICLR 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from noneg.learning.algorithms.upu import Risk
from noneg.learning.contract import Batch, PUData
from noneg.learning.task import non_negative, with_ascent


@dataclass(kw_only=True, eq=False)
class PUSB(Risk):
    r"""PUSB: learn a ranking, then classify the top share :math:`\pi` of rows as positive.

    If rows that are more likely to be positive are also more likely to be labeled, the density
    ratio of labeled positives to the population ranks rows in the same order as
    :math:`p(y=1 \mid x)` (Kato, Teshima and Honda 2019, *Learning from Positive and Unlabeled Data
    with a Selection Bias*, ICLR, Theorem 1). The ratio is learned by minimizing the logistic
    non-negative risk, with steps on :math:`-R_n` alone where :math:`R_n < 0`. The threshold is the
    :math:`(1-\pi)` quantile of the margins (Section 4.2) over the training rows: the unlabeled rows
    in the two-sample setting, and all rows in the one-sample setting.

    ``variant="bench"`` clips the risk at zero, like nnPU, and leaves the threshold at 0, because
    the quantile in the benchmark's code is never reached. The benchmark's 0/1 scores, which turn
    every AUC into a balanced accuracy, are not reproduced.

    Examples
    --------
    >>> PUSB().title
    'PUSB'
    """

    name = "pusb"
    title = "PUSB"
    citation = "Kato, Teshima and Honda (ICLR 2019)"
    probability = (
        "Only the ranking and the side of 1/2 are meaningful: a share of rows equal "
        "to the prior lies above 1/2."
    )
    consistent = False
    selected = True

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the non-negative risk, with clipping or gradient ascent."""
        risk = non_negative if self.bench else with_ascent
        return risk(*self.risks(batch))

    def before_scoring(self, data: PUData) -> None:
        """Find the threshold exceeded by a share of rows equal to the prior."""
        if self.bench or self.task.population_prior is None:
            return
        margins = self.margins(data.rows if self.task.pooled else data.unl)
        place = math.floor(len(margins) * (1.0 - self.task.population_prior))
        self.state["threshold"] = float(margins.sort().values[min(place, len(margins) - 1)])

    def decision(self, x: Tensor) -> Tensor:
        """Return the margin minus the threshold."""
        return self.margins(x) - self.state.get("threshold", 0.0)
