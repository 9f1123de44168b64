"""PUSB: positives labelled with a selection bias (Kato, Teshima and Honda, ICLR 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from noneg.learning.algorithms.upu import Risk

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch, PUData


@dataclass(kw_only=True, eq=False)
class PUSB(Risk):
    r"""PUSB: learn an order, then call the top share :math:`\pi` positive.

    If what is likelier to be positive is likelier to be labelled, the density ratio of labelled
    positives to everyone orders rows as :math:`p(y=1 \mid x)` does (Kato, Teshima and Honda 2019,
    *Learning from Positive and Unlabeled Data with a Selection Bias*, ICLR, Theorem 1). It is
    learned by the logistic non-negative risk, on :math:`-R_n` alone where :math:`R_n < 0`; the
    threshold is the :math:`(1-\pi)` quantile of the margins (Section 4.2), here those of the
    training rows: unlabeled ones in two samples, all in one sample.

    ``variant="bench"`` clips the risk at zero as nnPU does and leaves the threshold at 0, since
    the benchmark's code never reaches its quantile. Its 0/1 scores, which turn every AUC into a
    balanced accuracy, are not reproduced.

    Examples
    --------
    >>> PUSB().title
    'PUSB'
    """

    name: ClassVar[str] = "pusb"
    title: ClassVar[str] = "PUSB"
    citation: ClassVar[str] = "Kato, Teshima and Honda (ICLR 2019)"
    probability: ClassVar[str] = (
        "Only the order has a meaning, and the side of 1/2: a share of rows equal to the prior "
        "lies above it."
    )
    consistent: ClassVar[bool] = False
    selected: ClassVar[bool] = True

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the non-negative risk, clipped or with ascent."""
        positive, negative = self.risks(batch)
        if self.bench:
            return positive + torch.relu(negative)
        return torch.where(negative < 0.0, -negative, positive + negative)

    def before_scoring(self, data: PUData) -> None:
        """Find the threshold that a share equal to the prior exceeds."""
        if self.bench or self.task.population_prior is None:
            return
        pooled = self.task.pooled
        margins = self.margins(torch.cat([data.pos, data.unl]) if pooled else data.unl)
        place = math.floor(len(margins) * (1.0 - self.task.population_prior))
        self.state["threshold"] = float(margins.sort().values[min(place, len(margins) - 1)])

    def decision(self, x: Tensor) -> Tensor:
        """Return the margin beyond the threshold."""
        return self.margins(x) - self.state.get("threshold", 0.0)
