"""P3MIX: mixup with the right partners, in two versions (Li, Li, Feng and Ouyang, ICLR 2022)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from noneg.learning.contract import Algorithm, Batch, Choice, Epoch, PUData, Uniform, average, hyper
from noneg.learning.networks import margin
from noneg.learning.task import binary_entropy, soft_cross_entropy

# Probabilities are clipped to [1e-4, 1 - 1e-4] in the loss.
LIMIT = math.log((1.0 - 1e-4) / 1e-4)


@dataclass(frozen=True)
class Pairs:
    """Mixup partners of the rows in a batch.

    Attributes
    ----------
    row : Tensor
        Index of the partner in the batch or in the pool of boundary positives.
    near : Tensor
        Whether the partner is from the pool.
    share : Tensor
        Weight of the row itself.
    """

    row: Tensor
    near: Tensor
    share: Tensor

    def mix(self, own: Tensor, pool: Tensor) -> Tensor:
        """Return the rows' values mixed with their partners' values."""
        near = self.near.reshape(-1, *[1] * (own.ndim - 1))
        other = torch.where(near, pool[self.row % len(pool)], own[self.row % len(own)])
        return self.share * own + (1.0 - self.share) * other


@dataclass(kw_only=True, eq=False)
class P3MIXC(Algorithm):
    r"""P3MIX-C: mixup with boundary positives, and correction of confident labels.

    Training on P against U puts the boundary too far on the positive side. Therefore, an unlabeled
    row with :math:`1-\gamma < s < \gamma` is mixed with one of the k positives with the largest
    entropy, and any other row with a row from the batch:
    :math:`\tilde x = \lambda x + (1-\lambda)x'`, :math:`\tilde t = \lambda t + (1-\lambda)t'`,
    :math:`\lambda' \sim \mathrm{Beta}(\alpha,\alpha)`, :math:`\lambda = \max(\lambda', 1-\lambda')`
    (Li, Li, Feng and Ouyang 2022, *Who Is Your Right Mixup Partner in Positive and Unlabeled
    Learning*, ICLR). The loss is the cross-entropy of mixed rows, weighted separately for P and U,
    plus a weight times their entropy. Unlabeled rows with :math:`s \ge \gamma` are labeled 1. In
    the first epochs, rows are paired at random and no labels are corrected. The learning rate is
    halved every 20 epochs, five times. Constants come from the PU benchmark, since the authors'
    code was not available.

    Parameters
    ----------
    gamma : float
        Threshold above which a prediction is confident.
    pool : int
        Number k of boundary positives, which are selected again in every epoch.
    first_epochs : int
        Number of initial epochs with random pairs.
    weight_pos, weight_unl, weight_entropy : float
        Weights in the loss.
    alpha : float
        Parameter of the beta distribution.

    Examples
    --------
    >>> P3MIXC().needs_prior
    False
    """

    gamma: float = hyper(0.8, Uniform(0.7, 0.95))
    pool: int = 96
    first_epochs: int = 5
    weight_pos: float = 1.0
    weight_unl: float = 1.0
    weight_entropy: float = hyper(0.1, Choice(0.05, 0.1, 0.5))
    alpha: float = 1.0

    name = "p3mix-c"
    title = "P3MIX-C"
    citation = "Li, Li, Feng and Ouyang (ICLR 2022)"
    probability = "A score: mixing, the entropy term and corrected labels leave it without a scale."
    needs_prior = False
    corrections = ()
    corrects = True

    def prepare(self, data: PUData) -> None:
        """Fill the pool with arbitrary positives; the first epoch replaces them."""
        self.state |= {"first": True, "pool": data.pos[: self.pool]}

    def start_epoch(self, epoch: Epoch) -> None:
        """Find the positives with the largest entropy, that is, the smallest absolute margins."""
        self.state["first"] = epoch.number < self.first_epochs
        size = min(self.pool, epoch.data.n_pos)
        near = self.margins(epoch.data.pos).abs().topk(size, largest=False).indices
        self.state["pool"] = epoch.data.pos[near]
        epoch.scale_rate(0.5 ** min((epoch.number + 1) // 20, 5))

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss on mixed rows."""
        with torch.no_grad():
            p, u = self.scores(batch, player)
        q, n = torch.sigmoid(u), len(p)
        pairs = self.pairs(q, n)
        label = pairs.mix(torch.cat([torch.ones_like(p), self.labels(q)]), p.new_ones(1))
        out = self.players[player](pairs.mix(batch.x, self.state["pool"]))
        f = margin(out).float().clamp(-LIMIT, LIMIT)
        cross = soft_cross_entropy(f, label)
        loss = self.weight_pos * cross[:n].mean() + self.weight_unl * cross[n:].mean()
        loss = loss + self.weight_entropy * binary_entropy(f).mean()
        return loss + self.early_learning(batch, pairs, f)

    def labels(self, q: Tensor) -> Tensor:
        """Return labels for unlabeled rows with predictions q."""
        if self.state["first"] or not self.corrects:
            return torch.zeros_like(q)
        return (q >= self.gamma).float()

    def pairs(self, q: Tensor, n: int) -> Pairs:
        """Draw a partner for each of n positives and each unlabeled row with predictions q."""
        share, size = self.draw_beta(self.alpha).to(q.device), n + len(q)
        share, positives = torch.maximum(share, 1.0 - share), torch.zeros(n, device=q.device).bool()
        if self.state["first"]:
            row = self.draw_order(size).to(q.device)
            return Pairs(row, torch.zeros(size, device=q.device).bool(), share)
        near = torch.cat([positives, (q > 1.0 - self.gamma) & (q < self.gamma)])
        among = torch.where(near, len(self.state["pool"]), size)
        return Pairs((self.draw_uniform(size).to(q.device) * among).long(), near, share)

    def early_learning(self, batch: Batch, pairs: Pairs, f: Tensor) -> Tensor:  # noqa: ARG002
        """Return an additional loss term, which is zero here."""
        return f.new_zeros(())


@dataclass(kw_only=True, eq=False)
class P3MIXE(P3MIXC):
    r"""P3MIX-E: mixup with boundary positives, and agreement with a teacher.

    This is `P3MIXC` without label correction. Instead, the loss contains a weight times

    .. math:: R = \hat E\bigl[\log(1 - \langle\tilde a, \tilde s\rangle)\bigr]

    where :math:`\tilde s` is the prediction on a mixed row and :math:`\tilde a` mixes a teacher's
    predictions on both partners, with 1 for a boundary positive (Li, Li, Feng and Ouyang 2022,
    ICLR; the term comes from Liu et al. 2020). After the first step of epoch E, the teacher's
    weights are averaged with the network's, with weight :math:`w` on the teacher and :math:`1-w` on
    the network, where :math:`w = \min(1 - 1/(E+1), 0.997)`; at first this is a plain mean over
    epochs. Predictions come from the network, not the teacher. With the benchmark's large weight,
    which is the default, training may end up predicting every row positive.

    Parameters
    ----------
    weight_teacher : float
        Weight of R.
    keep : float
        Maximum value of w.

    Examples
    --------
    >>> P3MIXE().weight_teacher
    5.0
    """

    gamma: float = hyper(0.85, Uniform(0.7, 0.95))
    weight_entropy: float = hyper(0.5, Choice(0.01, 0.1, 0.5))
    weight_teacher: float = hyper(5.0, Choice(0.5, 5.0))
    keep: float = 0.997

    name = "p3mix-e"
    title = "P3MIX-E"
    corrects = False

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the network, and keep a copy as the teacher."""
        self.frozen["teacher"] = copy.deepcopy(network).requires_grad_(requires_grad=False)
        return {"net": network}

    def start_epoch(self, epoch: Epoch) -> None:
        """Find boundary positives, and set the teacher's weight for this epoch's update."""
        super().start_epoch(epoch)
        self.state["teacher_weight"] = min(1.0 - 1.0 / (epoch.number + 1.0), self.keep)

    def after_step(self, batch: Batch) -> None:  # noqa: ARG002
        """Update the teacher once per epoch."""
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
