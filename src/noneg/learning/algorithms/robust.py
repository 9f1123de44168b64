"""Robust-PU: weights that trust easy rows first (Zhu et al., KDD 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Choice, Epoch, PUData, hyper
from noneg.learning.task import find_loss, non_negative, pu_risks, with_ascent

# If the mean weight of a class is below this, all of its rows get weight 1.
_LEAST_WEIGHT = 1e-3
# Number of epochs in pre-training and in an episode in the benchmark.
_BENCH_FIRST, _BENCH_EPISODE = 10, 5


@dataclass(kw_only=True, eq=False)
class RobustPU(Algorithm):
    r"""Robust-PU: self-paced training on P against U.

    After pre-training with nnPU, the weights :math:`w = \exp(-d/\theta_j^2)` are refreshed in
    episodes. The hardness is :math:`d = \log(1+e^{-f/T_p})` for positives and
    :math:`d = \log(1+e^{f/T_n})` for unlabeled rows, and the threshold grows as
    :math:`\theta_j = \min(\theta_{\max}, \theta_0 + (\theta_{\max}-\theta_0)j/J)`. The loss is the
    weighted cross-entropy over all rows, with unlabeled rows as negatives (Zhu et al. 2023, *Robust
    Positive-Unlabeled Learning via Noise Negative Sample Self-correction*, KDD, Section 4). If the
    mean weight of a class is close to 0, all of its rows get weight 1.

    ``variant="bench"`` pre-trains for 10 epochs with clipped nnPU and the logistic loss. Weights
    are refreshed every 5 epochs. They use the positive *logit* and treat both sets as if the label
    were positive, so the unlabeled rows that look most positive get the largest weights. The loss
    is the sum of the means over P and over U.

    Parameters
    ----------
    start_pos, start_unl, largest : float
        The initial thresholds and the largest one.
    growth : int
        Number of episodes J until the largest threshold is reached.
    heat_pos, heat_unl : float
        Temperatures of the hardness.
    first_stage : float
        Share of training spent on pre-training.
    episode : int
        Number of epochs between refreshes of the weights.

    Examples
    --------
    >>> RobustPU().largest, RobustPU(variant="bench").largest
    (2.0, 1.0)
    """

    start_pos: float = 0.1
    start_unl: float = hyper(0.1, Choice(0.1, 0.11), bench=0.11)
    largest: float = hyper(2.0, Choice(1.0, 2.0), bench=1.0)
    growth: int = hyper(10, Choice(5, 10), bench=5)
    heat_pos: float = 1.0
    heat_unl: float = hyper(1.0, Choice(1.0, 1.3), bench=1.3)
    first_stage: float = 0.5
    episode: int = hyper(1, bench=_BENCH_EPISODE)

    name = "robust-pu"
    title = "Robust-PU"
    citation = "Zhu et al. (KDD 2023)"
    probability = (
        "A score: weights drop hard rows and push it outward; with all rows, it "
        "would separate labeled from unlabeled rows rather than positive from "
        "negative rows."
    )
    corrections = ("weighted", "none")
    variants = ("ref", "bench")

    def prepare(self, data: PUData) -> None:
        """Start pre-training with unit weights."""
        self.state |= {"first_stage": True, "begun": 0}
        self.state["pos"] = torch.ones(data.n_pos, device=self.device)
        self.state["unl"] = torch.ones(data.n_unl, device=self.device)

    def start_epoch(self, epoch: Epoch) -> None:
        """Refresh the weights at the start of an episode."""
        over = epoch.number >= _BENCH_FIRST if self.bench else epoch.after(self.first_stage)
        if not over:
            return
        if self.state["first_stage"]:
            self.state |= {"first_stage": False, "begun": epoch.number}
        since = epoch.number - int(self.state["begun"])
        if since % self.episode == 0:
            self._weigh(epoch, since // self.episode)

    def _weigh(self, epoch: Epoch, j: int) -> None:
        grown = min(j / self.growth, 1.0)
        for name, x in (("pos", epoch.data.pos), ("unl", epoch.data.unl)):
            start = self.start_pos if name == "pos" else self.start_unl
            d = self.hardness(x, labeled=name == "pos")
            w = torch.exp(-d / (start + (self.largest - start) * grown) ** 2)
            self.state[name] = torch.where(w.mean() < _LEAST_WEIGHT, torch.ones_like(w), w)
        if not self.bench:
            epoch.restart()

    def hardness(self, x: Tensor, *, labeled: bool) -> Tensor:
        """Return the hardness of rows: the logistic loss at a temperature."""
        heat = self.heat_pos if labeled else self.heat_unl
        if self.bench:
            # The logit of the positive class alone.
            return softplus(-self.outputs(x).reshape(len(x), -1)[:, -1] / heat)
        f = self.margins(x)
        return softplus((-f if labeled else f) / heat)

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the risk for the current stage."""
        p, u = self.scores(batch)
        if self.state["first_stage"]:
            loss = find_loss("logistic" if self.bench else "sigmoid")
            risk = non_negative if self.bench else with_ascent
            return risk(*pu_risks(p, u, self.task, loss))
        on_pos = (self.state["pos"][batch.pos.row] * softplus(-p)).mean()
        on_unl = (self.state["unl"][batch.unl.row] * softplus(u)).mean()
        if self.bench:
            return on_pos + on_unl
        n_pos, n_unl = self.task.n_pos, self.task.n_unl
        return (n_pos * on_pos + n_unl * on_unl) / (n_pos + n_unl)
