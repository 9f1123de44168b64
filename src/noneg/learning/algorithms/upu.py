"""uPU: the unbiased risk (du Plessis, Niu and Sugiyama, ICML 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from noneg.learning.contract import Algorithm, Batch, Variant
from noneg.learning.task import LossName, MarginLoss, find_loss, pu_risks


@dataclass(kw_only=True, eq=False)
class Risk(Algorithm):
    """Base class of methods that minimize a PU risk based on a margin loss."""

    loss_name: LossName = "logistic"

    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")
    consistent = True
    bench_corrections = ("batch", "none")

    def __post_init__(self) -> None:
        super().__post_init__()
        find_loss(self.loss_name)

    @property
    def margin_loss(self) -> MarginLoss:
        """The margin loss."""
        return find_loss(self.loss_name)

    def risks(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the risk on positives and the estimated risk on negatives."""
        p, u = self.scores(batch)
        return pu_risks(p, u, self.task, self.margin_loss)

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds of the fitted probability, or the margin if the loss is improper."""
        return self.margin_loss.logit(self.margins(x)) + self.task.shift


@dataclass(kw_only=True, eq=False)
class UPU(Risk):
    r"""uPU, the unbiased PU risk.

    .. math:: \hat R = \pi\,\hat E_+[\ell(f,+1) - \ell(f,-1)] + \hat E_p[\ell(f,-1)]

    (du Plessis, Niu and Sugiyama 2015, *Convex Formulation for Learning from Positive and Unlabeled
    Data*, ICML; PU benchmark paper, Eq. 7). With the logistic loss, it is
    :math:`-\pi\,\hat E_+[f] + \hat E_p[\log(1+e^f)]`, which has no lower bound for a flexible
    network, so stop early or use nnPU. In the one-sample setting, the default correction gives Eq.
    (8) of the benchmark paper; ``variant="bench"`` uses the batch correction (uPU-c).

    Parameters
    ----------
    loss_name : {"logistic", "sigmoid", "squared", "double-hinge"}
        Loss of the margin.

    Examples
    --------
    >>> UPU(loss_name="double-hinge").loss_name
    'double-hinge'
    """

    name = "upu"
    title = "uPU"
    citation = "du Plessis, Niu and Sugiyama (ICML 2015)"
    probability = (
        "The class probability with the logistic and squared losses, overconfident "
        "once the network overfits; with the other losses, only the side of 1/2 is "
        "meaningful."
    )

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the unbiased risk."""
        positive, negative = self.risks(batch)
        return positive + negative
