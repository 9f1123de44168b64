"""Baselines: an oracle with hidden labels, U treated as negative, and Elkan and Noto's weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from noneg.errors import InputError
from noneg.learning.contract import Algorithm, Batch, Epoch, PUData
from noneg.learning.networks import new_network
from noneg.learning.task import soft_cross_entropy


@dataclass(kw_only=True, eq=False)
class PNOracle(Algorithm):
    r"""Supervised training with the hidden labels, as an upper reference.

    The loss is the logistic loss over a sample of the population: the unlabeled rows with their
    true labels and, in the one-sample setting, the labeled positives.

    Parameters
    ----------
    truth : Tensor
        Hidden labels of the unlabeled rows, in the same order.

    Examples
    --------
    >>> import torch
    >>> PNOracle(truth=torch.tensor([True, False])).title
    'PN oracle'
    """

    truth: Tensor

    name = "pn-oracle"
    title = "PN oracle"
    citation = "supervised learning"
    probability = "The class probability."
    needs_prior = False
    corrections = ("weighted",)
    consistent = True

    def prepare(self, data: PUData) -> None:
        """Check the labels and move them to the device."""
        if len(self.truth) != data.n_unl:
            got = f"{len(self.truth)} for {data.n_unl} rows"
            raise InputError("truth", f"must contain one label per unlabeled row, got {got}.")
        self.state["truth"] = self.truth.to(self.device).float()

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the supervised risk."""
        p, u = self.scores(batch, player)
        on_unl = soft_cross_entropy(u, self.state["truth"][batch.unl.row])
        return self.task.mean(softplus(-p), on_unl)


@dataclass(kw_only=True, eq=False)
class Naive(Algorithm):
    r"""Train P against U, treating unlabeled rows as negative.

    The loss is the unweighted logistic loss over all rows. Its optimum is the probability of being
    labeled :math:`p(s=1 \mid x)`, which ranks rows in the same order as :math:`p(y=1 \mid x)` if
    positives are labeled at random (Elkan and Noto 2008, Lemma 1).

    Examples
    --------
    >>> Naive().needs_prior
    False
    """

    name = "naive"
    title = "P vs U"
    citation = "Elkan and Noto (KDD 2008), Lemma 1"
    probability = "The probability of being labeled, not of being positive."
    needs_prior = False
    corrections = ()

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the risk of separating labeled from unlabeled rows."""
        p, u = self.scores(batch, player)
        return self.task.row_mean(softplus(-p), softplus(u))


# First-stage networks of Elkan and Noto, trained on even and odd rows.
HALVES = ("even", "odd")


def _mean_of_half(loss: Tensor, row: Tensor, half: int) -> Tensor:
    """Return the mean over rows with even (0) or odd (1) indices, or 0 if there are none."""
    own = (row % 2 == half).to(loss.dtype)
    return (own * loss).sum() / own.sum().clamp(min=1.0)


@dataclass(kw_only=True, eq=False)
class ElkanNoto(Algorithm):
    r"""Elkan and Noto's weighting: each unlabeled row counts as both positive and negative.

    Two first-stage networks separate P from U with equal weight, so that :math:`e^f` estimates
    :math:`p_+(x)/p_U(x)`. Each is trained on every other row and labels the rows of the other,
    because a network learns to recognize the unlabeled rows it was trained on. With the share a of
    positives among unlabeled rows, :math:`w(x) = \min(1, a\,e^{f(x)})` is the probability that an
    unlabeled row is positive (the paper's :math:`\frac{1-c}{c}\frac{g}{1-g}`). A final network is
    trained with the soft label w on every unlabeled row (Elkan and Noto 2008, *Learning Classifiers
    from Only Positive and Unlabeled Data*, KDD, Section 3, Eqs. 3 and 4).

    Parameters
    ----------
    first_stage : float
        Share of training spent on the first-stage networks.

    Examples
    --------
    >>> ElkanNoto().first_stage
    0.5
    """

    first_stage: float = 0.5

    name = "elkan-noto"
    title = "Elkan-Noto"
    citation = "Elkan and Noto (KDD 2008)"
    probability = "The class probability, limited by the accuracy of the first networks."
    corrections = ("weighted",)
    consistent = True

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the first-stage networks and the final one."""
        return {name: new_network(network) for name in HALVES} | {"net": network}

    def prepare(self, data: PUData) -> None:
        """Start with the first-stage networks."""
        self.state |= {"first_stage": True, "label": torch.zeros(data.n_unl, device=self.device)}

    def turns(self) -> tuple[str, ...]:
        """Return the networks trained in this stage."""
        return HALVES if self.state["first_stage"] else ("net",)

    def start_epoch(self, epoch: Epoch) -> None:
        """Label the unlabeled rows at the end of the first stage."""
        if self.state["first_stage"] and epoch.after(self.first_stage):
            margins = [self.margins(epoch.data.unl, self.players[name]) for name in HALVES]
            even = torch.arange(epoch.data.n_unl, device=self.device) % 2 == 0
            ratio = torch.where(even, margins[1], margins[0]).exp()
            self.state["label"] = (self.task.unlabeled_prior * ratio).clamp(max=1.0)
            self.state["first_stage"] = False

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the risk for the current stage."""
        p, u = self.scores(batch, player)
        if player in HALVES:
            half = HALVES.index(player)
            on_pos = _mean_of_half(softplus(-p), batch.pos.row, half)
            return (on_pos + _mean_of_half(softplus(u), batch.unl.row, half)) / 2.0
        on_unl = soft_cross_entropy(u, self.state["label"][batch.unl.row])
        return self.task.mean(softplus(-p), on_unl)
