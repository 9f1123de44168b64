"""Training of several networks side by side, each exactly as if it were alone.

AdamW works element by element, and the differentiated loss is the sum of the individual losses.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from experiments.pu_ece_neural.objectives import WEIGHT_DECAY, rate
from experiments.stacked import Stacked

Weights = dict[str, Tensor]


class OutOfTime(Exception):  # noqa: N818
    """The deadline has passed; training resumes from the saved state next time."""


@dataclass(frozen=True)
class Clock:
    """When to stop, and where an interrupted training run is saved."""

    deadline: float
    folder: Path

    def over(self) -> bool:
        return time.time() > self.deadline


def adamw(weights, lr: float, device: torch.device) -> torch.optim.AdamW:
    fused = device.type == "cuda"
    return torch.optim.AdamW(weights, lr=lr, weight_decay=WEIGHT_DECAY, fused=fused)


class Ensemble:
    """Stacked networks without buffers, and their optimizer."""

    def __init__(self, networks: Sequence[nn.Module], *, lr: float, device: torch.device) -> None:
        self.logits = Stacked(networks, device=device)
        if self.logits.buffers:
            raise ValueError("'networks' must have no buffers: the best epoch keeps weights alone.")
        self.weights, self.lr = self.logits.parameters, lr
        self.optimizer = adamw(list(self.weights.values()), lr, device)

    def step(self, x: Tensor, losses: Callable[[Tensor], Tensor], share: float) -> Tensor:
        """Update every network by its own loss; `losses` maps all logits to one loss per
        network."""
        for group in self.optimizer.param_groups:
            group["lr"] = share * self.lr
        values = losses(self.logits(x))
        self.optimizer.zero_grad(set_to_none=True)
        values.sum().backward()
        self.optimizer.step()
        return values.detach()


class Single(Ensemble):
    """One network that may have buffers, in the form of an ensemble; its weights are views."""

    def __init__(
        self, network: nn.Module, logits: Callable[[Tensor], Tensor], *, lr: float, device
    ) -> None:
        self.logits, self.lr = logits, lr
        self.weights = {name: value[None] for name, value in network.state_dict().items()}
        self.optimizer = adamw(network.parameters(), lr, device)


class Best:
    """The weights of each network at the epoch with the lowest risk (the first one if tied)."""

    def __init__(self, weights: Weights) -> None:
        self.weights = {k: v.detach().clone() for k, v in weights.items()}
        one = next(iter(self.weights.values()))
        self.risk = torch.full((len(one),), math.inf, device=one.device)
        self.epoch = torch.zeros(len(one), dtype=torch.int64, device=one.device)

    def offer(self, weights: Weights, risk: Tensor, epoch: int) -> None:
        better = risk < self.risk
        self.risk = torch.where(better, risk, self.risk)
        self.epoch = torch.where(better, epoch, self.epoch)
        for name, kept in self.weights.items():
            mask = better.reshape(-1, *[1] * (kept.ndim - 1))
            kept.copy_(torch.where(mask, weights[name].detach(), kept))


@dataclass
class Fit:
    """One training run of an ensemble, which may be interrupted: its inputs and its progress.

    `batches` yields the inputs for each step of an epoch, with the information that `losses` needs;
    `risk` returns the held-out risk of each network.
    """

    ensemble: Ensemble
    epochs: int
    steps: int
    batches: Callable[[int], object]
    losses: Callable[[Tensor, Tensor], Tensor]
    risk: Callable[[Weights], Tensor]
    history: list[Tensor] = field(default_factory=list)  # risk and mean loss of each epoch

    def __post_init__(self) -> None:
        self.best = Best(self.ensemble.weights)

    def run(self, clock: Clock, label: str) -> None:
        """Train the remaining epochs, or raise `OutOfTime` with the state saved to disk."""
        path, begun = clock.folder / f"{label}.pt", time.time()
        if path.exists():
            self.restore(torch.load(path, map_location="cpu", weights_only=True))
        while len(self.history) < self.epochs:
            if clock.over():
                torch.save(self.state() | {"history": self.history}, path)
                raise OutOfTime
            self.epoch(len(self.history))
            done = len(self.history)
            if done % 10 == 0 or done == 1:
                print(f"{label} epoch {done}/{self.epochs} {time.time() - begun:.0f} s", flush=True)
        path.unlink(missing_ok=True)

    def epoch(self, number: int) -> None:
        total, mean = self.epochs * self.steps, torch.zeros_like(self.best.risk)
        for step, (x, rows) in enumerate(self.batches(number)):
            share = rate(number * self.steps + step, total)
            mean += self.ensemble.step(x, lambda f, rows=rows: self.losses(f, rows), share)
        found = self.risk(self.ensemble.weights)
        self.best.offer(self.ensemble.weights, found, number)
        self.history.append(torch.stack([found, mean / self.steps]).cpu())

    def state(self) -> dict:
        weights = {k: v.detach() for k, v in self.ensemble.weights.items()}
        optimizer = self.ensemble.optimizer.state_dict()
        return {"weights": weights, "optimizer": optimizer, "best": vars(self.best)}

    def restore(self, saved: dict) -> None:
        device = self.best.risk.device
        with torch.no_grad():
            for name, weight in self.ensemble.weights.items():
                weight.copy_(saved["weights"][name])
                self.best.weights[name] = saved["best"]["weights"][name].to(device)
        self.ensemble.optimizer.load_state_dict(saved["optimizer"])
        self.best.risk, self.best.epoch = (saved["best"][k].to(device) for k in ("risk", "epoch"))
        self.history = saved["history"]
