"""P3MIX: mixup with the right partners (Li, Li, Feng and Ouyang, ICLR 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from noneg.learning.contract import Algorithm, Choice, Uniform, hyper, scale_rate
from noneg.learning.losses import binary_entropy, soft_cross_entropy
from noneg.learning.networks import margin

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch, Epoch, PUData
    from noneg.learning.task import Correction

# Probabilities are cut to [1e-4, 1 - 1e-4] in the loss.
LIMIT = math.log((1.0 - 1e-4) / 1e-4)


@dataclass(frozen=True)
class Pairs:
    """Partners of the rows of a batch.

    Attributes
    ----------
    row : Tensor
        Number of the partner, in the batch or in the pool of boundary positives.
    near : Tensor
        Whether it is one of the pool.
    share : Tensor
        Weight of the row itself.
    """

    row: Tensor
    near: Tensor
    share: Tensor

    def mix(self, own: Tensor, pool: Tensor) -> Tensor:
        """Return the values of the rows mixed with those of their partners."""
        near = self.near.reshape(-1, *[1] * (own.ndim - 1))
        other = torch.where(near, pool[self.row % len(pool)], own[self.row % len(own)])
        return self.share * own + (1.0 - self.share) * other


@dataclass(kw_only=True, eq=False)
class P3MIXC(Algorithm):
    r"""P3MIX-C: mixup with boundary positives, and correction of confident labels.

    Training on P against U puts the boundary too far on the positive side. So an unlabeled row with
    :math:`1-\gamma < s < \gamma` is mixed with one of the k positives of the largest entropy, and
    any other row with a row of the batch:
    :math:`\tilde x = \lambda x + (1-\lambda)x'`, :math:`\tilde t = \lambda t + (1-\lambda)t'`,
    :math:`\lambda' \sim \mathrm{Beta}(\alpha,\alpha)`, :math:`\lambda = \max(\lambda', 1-\lambda')`
    (Li, Li, Feng and Ouyang 2022, *Who Is Your Right Mixup Partner in Positive and Unlabeled
    Learning*, ICLR). The loss is the cross-entropy of mixed rows, by the weights of P and U, plus
    a weight times their entropy. Unlabeled rows with :math:`s \ge \gamma` get the label 1. The
    first epochs pair at random and correct nothing. The learning rate halves every 20 epochs, five
    times. Constants are those of the PU benchmark; the authors' code was not available.

    Parameters
    ----------
    gamma : float
        From where on a prediction is confident.
    pool : int
        Number k of boundary positives, found anew every epoch.
    first_epochs : int
        Epochs with random pairs.
    weight_pos, weight_unl, weight_entropy : float
        Weights in the loss.
    alpha : float
        Of the beta law.

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

    name: ClassVar[str] = "p3mix-c"
    title: ClassVar[str] = "P3MIX-C"
    citation: ClassVar[str] = "Li, Li, Feng and Ouyang (ICLR 2022)"
    probability: ClassVar[str] = (
        "A score: mixing, the entropy term and repaired labels leave it without a scale."
    )
    needs_prior: ClassVar[bool] = False
    corrections: ClassVar[tuple[Correction, ...]] = ()
    bench_corrections: ClassVar[tuple[Correction, ...]] = ()
    corrects: ClassVar[bool] = True

    def prepare(self, data: PUData) -> None:
        """Take any positives for the pool; the first epoch finds the right ones."""
        self.state |= {"first": True, "pool": data.pos[: self.pool]}

    def start_epoch(self, epoch: Epoch) -> None:
        """Find the positives of the largest entropy: those with the smallest margins."""
        self.state["first"] = epoch.number < self.first_epochs
        size = min(self.pool, epoch.data.n_pos)
        near = self.margins(epoch.data.pos).abs().topk(size, largest=False).indices
        self.state["pool"] = epoch.data.pos[near]
        scale_rate(epoch.optimizers["net"], 0.5 ** min((epoch.number + 1) // 20, 5))

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss of mixed rows."""
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
        """Return labels of unlabeled rows with predictions q."""
        if self.state["first"] or not self.corrects:
            return torch.zeros_like(q)
        return (q >= self.gamma).float()

    def pairs(self, q: Tensor, n: int) -> Pairs:
        """Draw a partner for each of n positives and of the unlabeled rows with predictions q."""
        share, size = self.draw_beta(self.alpha).to(q.device), n + len(q)
        share, positives = torch.maximum(share, 1.0 - share), torch.zeros(n, device=q.device).bool()
        if self.state["first"]:
            row = self.draw_order(size).to(q.device)
            return Pairs(row, torch.zeros(size, device=q.device).bool(), share)
        near = torch.cat([positives, (q > 1.0 - self.gamma) & (q < self.gamma)])
        among = torch.where(near, len(self.state["pool"]), size)
        return Pairs((self.draw_uniform(size).to(q.device) * among).long(), near, share)

    def early_learning(self, batch: Batch, pairs: Pairs, f: Tensor) -> Tensor:  # noqa: ARG002
        """Return a further term of the loss: here none."""
        return f.new_zeros(())
