"""P3MIX-E: P3MIX with early-learning regularization (Li, Li, Feng and Ouyang, ICLR 2022)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from noneg.learning.algorithms.p3mix import P3MIXC, Pairs
from noneg.learning.contract import Choice, Uniform, average, hyper
from noneg.learning.networks import margin

if TYPE_CHECKING:
    from torch import Tensor, nn

    from noneg.learning.contract import Batch, Epoch


@dataclass(kw_only=True, eq=False)
class P3MIXE(P3MIXC):
    r"""P3MIX-E: mixup with boundary positives, and agreement with a teacher.

    As `P3MIXC`, but no label is corrected. Instead the loss has a weight times

    .. math:: R = \hat E\bigl[\log(1 - \langle\tilde a, \tilde s\rangle)\bigr]

    where :math:`\tilde s` is the prediction on a mixed row and :math:`\tilde a` the mixed
    predictions of a teacher on both partners, 1 for a boundary positive (Li, Li, Feng and Ouyang
    2022, ICLR; the term is that of Liu et al. 2020). After the first step of epoch E the teacher
    becomes :math:`w` of itself and :math:`1-w` of the network, with
    :math:`w = \min(1 - 1/(E+1), 0.997)`: at first a plain mean over epochs. The network predicts,
    not the teacher. With the large weight of the benchmark, the default, training may end in the
    answer "all positive".

    Parameters
    ----------
    weight_teacher : float
        Weight of R.
    keep : float
        Largest w.

    Examples
    --------
    >>> P3MIXE().weight_teacher
    5.0
    """

    gamma: float = hyper(0.85, Uniform(0.7, 0.95))
    weight_entropy: float = hyper(0.5, Choice(0.01, 0.1, 0.5))
    weight_teacher: float = hyper(5.0, Choice(0.5, 5.0))
    keep: float = 0.997

    name: ClassVar[str] = "p3mix-e"
    title: ClassVar[str] = "P3MIX-E"
    corrects: ClassVar[bool] = False

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the network, and keep a copy as teacher."""
        self.frozen["teacher"] = copy.deepcopy(network).requires_grad_(requires_grad=False)
        return {"net": network}

    def start_epoch(self, epoch: Epoch) -> None:
        """Find boundary positives; after this epoch's first step the teacher learns."""
        super().start_epoch(epoch)
        self.state["teacher_weight"] = min(1.0 - 1.0 / (epoch.number + 1.0), self.keep)

    def after_step(self, batch: Batch) -> None:  # noqa: ARG002
        """Move the teacher, once an epoch."""
        weight = self.state.pop("teacher_weight", None)
        if weight is not None:
            average(self.frozen["teacher"], self.players["net"], weight)

    def early_learning(self, batch: Batch, pairs: Pairs, f: Tensor) -> Tensor:
        """Return the weighted agreement with the teacher."""
        with torch.no_grad():
            a = torch.sigmoid(margin(self.frozen["teacher"](batch.x)).float())
            a = pairs.mix(a, a.new_ones(1))
        s = torch.sigmoid(f)
        return self.weight_teacher * torch.log1p(-(a * s + (1.0 - a) * (1.0 - s))).mean()
