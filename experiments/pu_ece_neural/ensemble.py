"""Training of networks side by side, each exactly as if it were alone.

AdamW works element by element, and the loss that is differentiated is the sum of the networks' own
losses.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from objectives import WEIGHT_DECAY, rate

sys.path.append(str(Path(__file__).parents[1]))

from stacked import Stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    Weights = dict[str, Tensor]


class OutOfTime(Exception):  # noqa: N818
    """The deadline came; training goes on from the saved state next time."""


@dataclass(frozen=True)
class Clock:
    """When to stop, and where a training that is cut short is kept."""

    deadline: float
    folder: Path

    def over(self) -> bool:
        return time.time() > self.deadline


class Ensemble:
    """Stacked networks without buffers, and their optimizer."""

    def __init__(self, networks: Sequence[nn.Module], *, lr: float, device: torch.device) -> None:
        self.networks = Stacked(networks, device=device)
        if self.networks.buffers:
            raise ValueError("'networks' must have no buffers: the best epoch keeps weights alone.")
        self.weights = self.networks.parameters
        self.lr = lr
        self.optimizer = torch.optim.AdamW(
            list(self.weights.values()),
            lr=lr,
            weight_decay=WEIGHT_DECAY,
            fused=device.type == "cuda",
        )

    def logits(self, x: Tensor, weights: Weights | None = None) -> Tensor:
        """Map inputs of shape (networks, rows, ...) to logits (networks, rows)."""
        return self.networks(x, weights)

    def step(self, x: Tensor, losses: Callable[[Tensor], Tensor], share: float) -> Tensor:
        """Update every network by its own loss; `losses` maps all logits to a loss each."""
        for group in self.optimizer.param_groups:
            group["lr"] = share * self.lr
        values = losses(self.logits(x))
        self.optimizer.zero_grad(set_to_none=True)
        values.sum().backward()
        self.optimizer.step()
        return values.detach()


class Best:
    """The weights of each network at the epoch with the lowest risk, the first of equal ones."""

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
    """One training of an ensemble: what it takes, and how far it is.

    `batches` gives the inputs of one step after the other of an epoch, and what `losses` wants to
    know about them; `risk` tells the held-out risk of each network.
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
        """Train all epochs that are left, or raise `OutOfTime` with the state on disk."""
        state, begun = clock.folder / f"{label}.pt", time.time()
        if state.exists():
            self.restore(state)
        while len(self.history) < self.epochs:
            if clock.over():
                self.keep(state)
                raise OutOfTime
            self.epoch(len(self.history))
            done = len(self.history)
            if done % 10 == 0 or done == 1:
                print(f"{label} epoch {done}/{self.epochs} {time.time() - begun:.0f} s", flush=True)
        state.unlink(missing_ok=True)

    def epoch(self, number: int) -> None:
        total, mean = self.epochs * self.steps, torch.zeros_like(self.best.risk)
        for step, (x, rows) in enumerate(self.batches(number)):
            share = rate(number * self.steps + step, total)
            mean += self.ensemble.step(x, lambda f, rows=rows: self.losses(f, rows), share)
        found = self.risk(self.ensemble.weights)
        self.best.offer(self.ensemble.weights, found, number)
        self.history.append(torch.stack([found, mean / self.steps]).cpu())

    def keep(self, path: Path) -> None:
        saved = {
            "weights": {k: v.detach() for k, v in self.ensemble.weights.items()},
            "optimizer": self.ensemble.optimizer.state_dict(),
            "best": vars(self.best),
            "history": self.history,
        }
        torch.save(saved, path)

    def restore(self, path: Path) -> None:
        saved = torch.load(path, map_location=self.best.risk.device, weights_only=True)
        with torch.no_grad():
            for name, weight in self.ensemble.weights.items():
                weight.copy_(saved["weights"][name])
        self.ensemble.optimizer.load_state_dict(saved["optimizer"])
        vars(self.best).update(saved["best"])
        self.history = [entry.cpu() for entry in saved["history"]]
