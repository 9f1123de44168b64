"""PUe: positives weighted by inverse propensity (Wang, Chen, Guo and Wang, NeurIPS 2023)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Epoch, PUData, hyper
from noneg.learning.networks import margin, new_network
from noneg.learning.task import non_negative

# Propensities below this would give individual rows nearly all the weight.
LEAST_PROPENSITY = 0.02


@dataclass(kw_only=True, eq=False)
class PUe(Algorithm):
    r"""PUe: a PU risk with positives weighted by the inverse of their labeling rate.

    A first network learns a propensity e from P against U, with the penalty
    :math:`\alpha\,|\hat E[e] - n_P/n|`. With :math:`w_i = e_i^{-1} / \sum_{j \in P} e_j^{-1}`, the
    risk is

    .. math:: \pi \sum_P w_i \ell(f_i,+1)
        + \max\Bigl\{0,\; \hat E_p[\ell(f,-1)] - \pi \sum_P w_i \ell(f_i,-1)\Bigr\}

    (Wang, Chen, Guo and Wang 2023, *PUe: Biased Positive-Unlabeled Learning Enhancement by Causal
    Inference*, NeurIPS, nnPUe). The first network fits :math:`p(s=1 \mid x)` rather than
    :math:`p(s=1 \mid y=1, x)`. When labeling is random, the weights should be constant but are not,
    so the risk is biased.

    ``variant="bench"`` normalizes the weights within each batch, computes them with the first
    network in train mode, does not clip the risk, and sums the penalty over the batch, with
    :math:`\alpha = 0.1`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    first_stage : float
        Share of training spent on the propensity.

    Examples
    --------
    >>> PUe().alpha, PUe(variant="bench").alpha
    (15.0, 0.1)
    """

    alpha: float = hyper(15.0, bench=0.1)
    # The benchmark uses 2,000 of 22,000 steps.
    first_stage: float = 1.0 / 11.0

    name = "pue"
    title = "PUe"
    citation = "Wang, Chen, Guo and Wang (NeurIPS 2023)"
    probability = (
        "The class probability if the propensities were correct, but fitting them to "
        "labels does not make them so; never much below half the prior."
    )
    selected = True
    variants = ("ref", "bench")

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the propensity network and the classifier network."""
        first = copy.deepcopy(network) if self.bench else new_network(network)
        return {"propensity": first, "net": network}

    def prepare(self, data: PUData) -> None:
        """Start with the propensity network."""
        self.state |= {"first_stage": True, "weight": torch.ones(data.n_pos, device=self.device)}

    def turns(self) -> tuple[str, ...]:
        """Return the network trained in this stage."""
        return ("propensity",) if self.state["first_stage"] else ("net",)

    def start_epoch(self, epoch: Epoch) -> None:
        """Weight all positives at the end of the first stage."""
        if self.state["first_stage"] and epoch.after(self.first_stage):
            self.state["first_stage"] = False
            e = torch.sigmoid(self.margins(epoch.data.pos, self.players["propensity"]))
            self.state["weight"] = len(e) * inverse_weights(e)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the propensity loss or the weighted risk."""
        p, u = self.scores(batch, player)
        if player == "propensity":
            return self._propensity_loss(p, u)
        prior, against = self.task.prior, softplus(p)
        weight = self._batch_weight(batch) if self.bench else self.state["weight"][batch.pos.row]
        positive = prior * (weight * softplus(-p)).mean()
        negative = self.task.mean(against, softplus(u)) - prior * (weight * against).mean()
        return positive + negative if self.bench else non_negative(positive, negative)

    def _batch_weight(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            e = torch.sigmoid(margin(self.players["propensity"](batch.x)).float())
        n = len(batch.pos.x)
        return n * inverse_weights(e[:n])

    def _propensity_loss(self, p: Tensor, u: Tensor) -> Tensor:
        e_p, e_u = torch.sigmoid(p), torch.sigmoid(u)
        if self.bench:
            fit = (softplus(-p).mean() + softplus(u).mean()) / 2.0
            return fit + self.alpha * (e_p.sum() + e_u.sum() - len(p)).abs()
        fit, rate = self.task.row_mean(softplus(-p), softplus(u)), self.task.row_mean(e_p, e_u)
        return fit + self.alpha * (rate - self.task.labeled_share).abs()


def inverse_weights(e: Tensor) -> Tensor:
    """Return weights inversely proportional to the propensities, with sum 1.

    Examples
    --------
    >>> inverse_weights(torch.tensor([0.5, 0.25, 0.25])).tolist()
    [0.20000000298023224, 0.4000000059604645, 0.4000000059604645]
    """
    inverse = 1.0 / e.clamp(min=LEAST_PROPENSITY)
    return inverse / inverse.sum()
