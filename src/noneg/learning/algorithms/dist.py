"""Dist-PU: match the distribution of labels (Zhao et al., CVPR 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from noneg.learning.contract import Algorithm, Choice, Variant, hyper, restart, scale_rate
from noneg.learning.losses import binary_entropy, soft_cross_entropy
from noneg.learning.networks import margin

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch, Epoch, PUData

# Logits beyond this are cut in entropies and mixed losses.
_LIMIT = 10.0
# Epochs before the second stage of the benchmark.
_BENCH_WARMUP = 7


@dataclass(kw_only=True, eq=False)
class DistPU(Algorithm):
    r"""Dist-PU: the mean prediction must be the prior.

    .. math:: L_{\mathrm{dist}} = 1 - \hat E_+[s] + \frac{|\hat E_p[s] - \pi|}{2\pi}

    (Zhao, Xu, Jiang, Wen and Huang 2022, *Dist-PU: Positive-Unlabeled Learning from a Label
    Distribution Perspective*, CVPR). The first stage adds a little entropy of unlabeled rows. The
    second takes stored predictions as soft labels, mixes pairs of rows with
    :math:`\gamma \sim \mathrm{Beta}(6, 6)`, and adds the entropy of unlabeled rows, which grows in
    weight as :math:`1 - \cos(\pi t/2)`, the entropy of mixed rows and their cross-entropy. Its
    learning rate starts at a tenth.

    ``variant="bench"``: 7 epochs of :math:`L_{\mathrm{dist}}` alone, written with the mean of
    :math:`1-s`; the learning rate stays; labels are the present hard decisions, and a mixed pair
    counts as positive only if both rows are.

    Parameters
    ----------
    first_stage : float
        Share of training for the first stage.
    entropy_first, entropy : float
        Weight of the entropy of unlabeled rows in the first stage, and its scale in the second.
    entropy_mixed, mixed : float
        Weights of the entropy and of the cross-entropy of mixed rows.
    alpha : float
        Of the beta law.

    Examples
    --------
    >>> DistPU().mixed
    5.0
    """

    first_stage: float = 0.5
    entropy_first: float = 0.002
    entropy: float = hyper(0.004, Choice(0.001, 0.004, 0.016))
    entropy_mixed: float = hyper(0.04, Choice(0.01, 0.04, 0.16))
    mixed: float = hyper(5.0, Choice(1.0, 5.0))
    alpha: float = 6.0

    name: ClassVar[str] = "dist-pu"
    title: ClassVar[str] = "Dist-PU"
    citation: ClassVar[str] = "Zhao, Xu, Jiang, Wen and Huang (CVPR 2022)"
    probability: ClassVar[str] = (
        "Only its mean is fitted to the prior; the entropy terms push it to 0 and 1."
    )
    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")

    def prepare(self, data: PUData) -> None:
        """Make room for the soft labels."""
        self.state |= {"second": False, "entropy": 0.0 if self.bench else self.entropy_first}
        self.state["soft"] = torch.zeros(data.n_unl, device=self.device)

    def start_epoch(self, epoch: Epoch) -> None:
        """Move the schedules."""
        done = _BENCH_WARMUP if self.bench else self.first_stage
        if (epoch.number if self.bench else epoch.progress) >= done:
            self._second_stage(epoch)
        elif not self.bench:
            scale_rate(epoch.optimizers["net"], _wave(epoch.progress / self.first_stage))

    def _second_stage(self, epoch: Epoch) -> None:
        """Let the entropy grow; where the stage begins, store predictions and start anew."""
        first = self.first_stage
        if self.bench:
            first = _BENCH_WARMUP * epoch.progress / epoch.number
        t = (epoch.progress - first) / (1.0 - first)
        self.state["entropy"] = self.entropy * (1.0 - math.cos(t * math.pi / 2.0))
        if not self.bench:
            if not self.state["second"]:
                self.state["soft"] = torch.sigmoid(self.margins(epoch.data.unl))
                restart(epoch.optimizers["net"])
            scale_rate(epoch.optimizers["net"], 0.1 * (0.7 + 0.3 * _wave(t)))
        self.state["second"] = True

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss of the stage."""
        p, u = self.scores(batch, player)
        loss = self.distance(torch.sigmoid(p), torch.sigmoid(u))
        entropy = self.task.mean(*(binary_entropy(self.cut(f)) for f in (p, u)))
        loss = loss + self.state["entropy"] * entropy
        return loss + self.mixing(player, batch, p, u) if self.state["second"] else loss

    def distance(self, p: Tensor, u: Tensor) -> Tensor:
        """Return the distance of the mean predictions from those of the labels."""
        mean = 1.0 - self.task.mean(p, u) if self.bench else self.task.mean(p, u)
        return 1.0 - p.mean() + (mean - self.task.prior).abs() / (2.0 * self.task.prior)

    def mixing(self, player: str, batch: Batch, p: Tensor, u: Tensor) -> Tensor:
        """Return the entropy and the cross-entropy of mixed rows, weighted."""
        x, label = batch.x, torch.cat([torch.ones_like(p), self.soft_labels(batch, u)])
        if self.bench and self.task.correction == "batch":
            x, label = torch.cat([x, batch.pos.x]), torch.cat([label, (p > 0).float()])
        g = self.draw_beta(self.alpha).to(x.device)
        order = self.draw_order(len(x)).to(x.device)
        f = self.cut(margin(self.players[player](g * x + (1.0 - g) * x[order])).float())
        other = label[order]
        target = label * other if self.bench else g * label + (1.0 - g) * other
        cross = soft_cross_entropy(f, target).mean()
        return self.mixed * cross + self.entropy_mixed * binary_entropy(f).mean()

    def soft_labels(self, batch: Batch, u: Tensor) -> Tensor:
        """Return labels of unlabeled rows; the stored ones are then replaced by the present."""
        if self.bench:
            return (u > 0).float()
        label = self.state["soft"][batch.unl.row]
        self.state["soft"][batch.unl.row] = torch.sigmoid(u).detach()
        return label

    def cut(self, f: Tensor) -> Tensor:
        """Return logits within the limit; the benchmark does not cut."""
        return f if self.bench else f.clamp(-_LIMIT, _LIMIT)


def _wave(t: float) -> float:
    """Return the factor of cosine annealing, from 1 to 0."""
    return (1.0 + math.cos(math.pi * t)) / 2.0
