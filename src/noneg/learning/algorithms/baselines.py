"""Yardsticks: an oracle that sees hidden labels, U taken as negative, Elkan and Noto's weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn.functional import softplus

from noneg.errors import InputError
from noneg.learning.contract import Algorithm
from noneg.learning.losses import soft_cross_entropy
from noneg.learning.networks import new_network

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor, nn

    from noneg.learning.contract import Batch, Epoch, PUData
    from noneg.learning.task import Correction


@dataclass(kw_only=True, eq=False)
class PNOracle(Algorithm):
    r"""Supervised training with the hidden labels: what perfect labels would give.

    The logistic loss over a sample of the population: the unlabeled rows with their true labels,
    and in one sample the labelled positives too.

    Parameters
    ----------
    truth : Tensor
        Hidden labels of the unlabeled rows, in their order.

    Examples
    --------
    >>> import torch
    >>> PNOracle(truth=torch.tensor([True, False])).title
    'PN oracle'
    """

    truth: Tensor

    name: ClassVar[str] = "pn-oracle"
    title: ClassVar[str] = "PN oracle"
    citation: ClassVar[str] = "supervised learning"
    probability: ClassVar[str] = "The class probability."
    needs_prior: ClassVar[bool] = False
    corrections: ClassVar[tuple[Correction, ...]] = ("weighted",)
    consistent: ClassVar[bool] = True

    def prepare(self, data: PUData) -> None:
        """Bring the labels to the rows."""
        if len(self.truth) != data.n_unl:
            got = f"{len(self.truth)} for {data.n_unl} rows"
            raise InputError("truth", f"must hold one label an unlabeled row, got {got}.")
        self.state["truth"] = self.truth.to(self.device).float()

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the supervised risk."""
        p, u = self.scores(batch, player)
        on_unl = soft_cross_entropy(u, self.state["truth"][batch.unl.row])
        return self.task.mean(softplus(-p), on_unl)


@dataclass(kw_only=True, eq=False)
class Naive(Algorithm):
    r"""P against U, as if unlabeled rows were negative.

    The logistic loss over all rows as they come. Its optimum is the probability of being labelled
    :math:`p(s=1 \mid x)`, which orders rows as :math:`p(y=1 \mid x)` does if positives are labelled
    at random (Elkan and Noto 2008, Lemma 1).

    Examples
    --------
    >>> Naive().needs_prior
    False
    """

    name: ClassVar[str] = "naive"
    title: ClassVar[str] = "P vs U"
    citation: ClassVar[str] = "Elkan and Noto (KDD 2008), Lemma 1"
    probability: ClassVar[str] = "The probability of being labelled, not of being positive."
    needs_prior: ClassVar[bool] = False
    corrections: ClassVar[tuple[Correction, ...]] = ()

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the risk of telling labelled rows from the others."""
        p, u = self.scores(batch, player)
        share = self.task.n_pos / (self.task.n_pos + self.task.n_unl)
        return share * softplus(-p).mean() + (1.0 - share) * softplus(u).mean()


# The first networks of Elkan and Noto, of even and of odd rows.
HALVES = ("even", "odd")


def _mean_of_half(loss: Tensor, row: Tensor, half: int) -> Tensor:
    """Return the mean over rows with even numbers (0) or odd ones (1), 0 if there are none."""
    own = (row % 2 == half).to(loss.dtype)
    return (own * loss).sum() / own.sum().clamp(min=1.0)


@dataclass(kw_only=True, eq=False)
class ElkanNoto(Algorithm):
    r"""Elkan and Noto's weighting: each unlabeled row is a bit of both.

    Two first networks tell P from U with equal weight, so that :math:`e^f` estimates
    :math:`p_+(x)/p_U(x)`; each is trained on every other row and labels those of the other, since
    a network that has seen an unlabeled row takes it for one. With the share a of positives among
    unlabeled rows, :math:`w(x) = \min(1, a\,e^{f(x)})` is the probability that an unlabeled row is
    positive, the paper's :math:`\frac{1-c}{c}\frac{g}{1-g}`; a last network is trained on every
    unlabeled row with the soft label w (Elkan and Noto 2008, *Learning Classifiers from Only
    Positive and Unlabeled Data*, KDD, Section 3, Eqs. 3 and 4).

    Parameters
    ----------
    first_stage : float
        Share of training for the first networks.

    Examples
    --------
    >>> ElkanNoto().first_stage
    0.5
    """

    first_stage: float = 0.5

    name: ClassVar[str] = "elkan-noto"
    title: ClassVar[str] = "Elkan-Noto"
    citation: ClassVar[str] = "Elkan and Noto (KDD 2008)"
    probability: ClassVar[str] = "The class probability, as good as the first networks'."
    corrections: ClassVar[tuple[Correction, ...]] = ("weighted",)
    consistent: ClassVar[bool] = True

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return all networks."""
        return {name: new_network(network) for name in HALVES} | {"net": network}

    def prepare(self, data: PUData) -> None:
        """Start with the first networks."""
        self.state |= {"first": True, "label": torch.zeros(data.n_unl, device=self.device)}

    def ready(self) -> bool:
        """Return whether the second network is in training."""
        return not self.state["first"]

    def turns(self) -> Iterable[str]:
        """Return the network of this stage."""
        return HALVES if self.state["first"] else ("net",)

    def start_epoch(self, epoch: Epoch) -> None:
        """At the end of the first stage label the unlabeled rows."""
        if self.state["first"] and epoch.after(self.first_stage):
            margins = [self.margins(epoch.data.unl, self.players[name]) for name in HALVES]
            even = torch.arange(epoch.data.n_unl, device=self.device) % 2 == 0
            ratio = torch.where(even, margins[1], margins[0]).exp()
            self.state["label"] = (self.task.unlabeled_prior * ratio).clamp(max=1.0)
            self.state["first"] = False

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the risk of the stage."""
        p, u = self.scores(batch, player)
        if player in HALVES:
            half = HALVES.index(player)
            on_pos = _mean_of_half(softplus(-p), batch.pos.row, half)
            return (on_pos + _mean_of_half(softplus(u), batch.unl.row, half)) / 2.0
        on_unl = soft_cross_entropy(u, self.state["label"][batch.unl.row])
        return self.task.mean(softplus(-p), on_unl)
