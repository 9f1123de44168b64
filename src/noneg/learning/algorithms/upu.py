"""uPU: the unbiased risk (du Plessis, Niu and Sugiyama, ICML 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from noneg.learning.contract import Algorithm, Variant
from noneg.learning.losses import LossName, MarginLoss, find_loss, pu_risks

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch


@dataclass(kw_only=True, eq=False)
class Risk(Algorithm):
    """Base of the methods that minimize a PU risk of a margin loss."""

    loss_name: LossName = "logistic"

    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")
    consistent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        find_loss(self.loss_name)

    @property
    def margin_loss(self) -> MarginLoss:
        """The loss of a margin."""
        return find_loss(self.loss_name)

    def risks(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the risk on positives and the estimated risk on negatives."""
        p, u = self.scores(batch)
        return pu_risks(p, u, self.task, self.margin_loss)

    def decision(self, x: Tensor) -> Tensor:
        """Return log odds: of the probability that a proper loss fits, else the margin."""
        return self.margin_loss.logit(self.margins(x)) + self.task.shift


@dataclass(kw_only=True, eq=False)
class UPU(Risk):
    r"""uPU, the unbiased PU risk.

    .. math:: \hat R = \pi\,\hat E_+[\ell(f,+1) - \ell(f,-1)] + \hat E_p[\ell(f,-1)]

    (du Plessis, Niu and Sugiyama 2015, *Convex Formulation for Learning from Positive and Unlabeled
    Data*, ICML; PU benchmark paper, Eq. 7). With the logistic loss it is
    :math:`-\pi\,\hat E_+[f] + \hat E_p[\log(1+e^f)]`, which has no lower bound for a flexible
    network: stop early, or use nnPU. In one sample the default correction makes it Eq. (8) of the
    benchmark paper; ``variant="bench"`` corrects by batches (uPU-c).

    Parameters
    ----------
    loss_name : {"logistic", "sigmoid", "squared", "double-hinge"}
        Loss of the margin.

    Examples
    --------
    >>> UPU(loss_name="double-hinge").loss_name
    'double-hinge'
    """

    name: ClassVar[str] = "upu"
    title: ClassVar[str] = "uPU"
    citation: ClassVar[str] = "du Plessis, Niu and Sugiyama (ICML 2015)"
    probability: ClassVar[str] = (
        "The class probability with the logistic and squared losses, over-confident once the "
        "network overfits; with the other losses only its side of 1/2 has a meaning."
    )

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the unbiased risk."""
        positive, negative = self.risks(batch)
        return positive + negative
