"""Dist-PU: match the distribution of labels (Zhao et al., CVPR 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from noneg.learning.contract import Algorithm, Batch, Choice, Epoch, PUData, hyper
from noneg.learning.networks import margin
from noneg.learning.task import binary_entropy, soft_cross_entropy

# Logits are clipped to this magnitude in entropies and mixed losses.
_LIMIT = 10.0
# Epochs before the second stage in the benchmark.
_BENCH_WARMUP = 7


@dataclass(kw_only=True, eq=False)
class DistPU(Algorithm):
    r"""Dist-PU: match the mean prediction to the prior.

    .. math:: L_{\mathrm{dist}} = 1 - \hat E_+[s] + \frac{|\hat E_p[s] - \pi|}{2\pi}

    (Zhao, Xu, Jiang, Wen and Huang 2022, *Dist-PU: Positive-Unlabeled Learning from a Label
    Distribution Perspective*, CVPR). The first stage adds the entropy of unlabeled rows with a
    small weight. The second stage uses stored predictions as soft labels and mixes pairs of rows
    with :math:`\gamma \sim \mathrm{Beta}(6, 6)`. It adds three terms: the entropy of unlabeled
    rows, with a weight that grows as :math:`1 - \cos(\pi t/2)`, and the entropy and cross-entropy
    of mixed rows. The learning rate of the second stage starts at a tenth of the initial one.

    ``variant="bench"`` starts with 7 epochs of :math:`L_{\mathrm{dist}}` alone, written with the
    mean of :math:`1-s`. The learning rate is constant, labels are the current hard decisions, and a
    mixed pair counts as positive only if both of its rows do.

    Parameters
    ----------
    first_stage : float
        Share of training spent on the first stage.
    entropy_first, entropy : float
        Weight of the entropy of unlabeled rows in the first stage, and its scale in the second.
    entropy_mixed, mixed : float
        Weights of the entropy and the cross-entropy of mixed rows.
    alpha : float
        Parameter of the beta distribution.

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

    name = "dist-pu"
    title = "Dist-PU"
    citation = "Zhao, Xu, Jiang, Wen and Huang (CVPR 2022)"
    probability = (
        "A score: only its mean is fitted to the prior, and the entropy terms push "
        "it toward 0 and 1."
    )
    variants = ("ref", "bench")
    bench_corrections = ("batch", "none")

    def prepare(self, data: PUData) -> None:
        """Allocate the soft labels."""
        self.state |= {"second": False, "entropy": 0.0 if self.bench else self.entropy_first}
        self.state["soft"] = torch.zeros(data.n_unl, device=self.device)

    def start_epoch(self, epoch: Epoch) -> None:
        """Advance the schedules."""
        done = _BENCH_WARMUP if self.bench else self.first_stage
        if (epoch.number if self.bench else epoch.progress) >= done:
            self._second_stage(epoch)
        elif not self.bench:
            epoch.scale_rate(_wave(epoch.progress / self.first_stage))

    def _second_stage(self, epoch: Epoch) -> None:
        """Increase the entropy weight; at the start, store predictions and reset the optimizer."""
        first = self.first_stage
        if self.bench:
            first = _BENCH_WARMUP * epoch.progress / epoch.number
        t = (epoch.progress - first) / (1.0 - first)
        self.state["entropy"] = self.entropy * (1.0 - math.cos(t * math.pi / 2.0))
        if not self.bench:
            if not self.state["second"]:
                self.state["soft"] = torch.sigmoid(self.margins(epoch.data.unl))
                epoch.restart()
            epoch.scale_rate(0.1 * (0.7 + 0.3 * _wave(t)))
        self.state["second"] = True

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss for the current stage."""
        p, u = self.scores(batch, player)
        loss = self.distance(torch.sigmoid(p), torch.sigmoid(u))
        entropy = self.task.mean(*(binary_entropy(self.cut(f)) for f in (p, u)))
        loss = loss + self.state["entropy"] * entropy
        return loss + self.mixing(player, batch, p, u) if self.state["second"] else loss

    def distance(self, p: Tensor, u: Tensor) -> Tensor:
        """Return the distance between the mean predictions and the label distribution."""
        mean = 1.0 - self.task.mean(p, u) if self.bench else self.task.mean(p, u)
        return 1.0 - p.mean() + (mean - self.task.prior).abs() / (2.0 * self.task.prior)

    def mixing(self, player: str, batch: Batch, p: Tensor, u: Tensor) -> Tensor:
        """Return the weighted sum of the entropy and cross-entropy of mixed rows."""
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
        """Return labels for unlabeled rows, then store the current predictions as labels."""
        if self.bench:
            return (u > 0).float()
        label = self.state["soft"][batch.unl.row]
        self.state["soft"][batch.unl.row] = torch.sigmoid(u).detach()
        return label

    def cut(self, f: Tensor) -> Tensor:
        """Return the clipped logits; the benchmark does not clip."""
        return f if self.bench else f.clamp(-_LIMIT, _LIMIT)


def _wave(t: float) -> float:
    """Return the cosine annealing factor, which decreases from 1 to 0."""
    return (1.0 + math.cos(math.pi * t)) / 2.0
