"""Vehicles against animals with a ResNet-18, one classifier after the other."""

from __future__ import annotations

import copy
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from ensemble import Clock, OutOfTime
from mnist import shuffled
from objectives import (
    BATCH,
    EPOCHS,
    MIXED,
    PN,
    PU,
    WEIGHT_DECAY,
    labelled_loss,
    mixed_loss,
    pu_error,
    pu_loss,
    rate,
)
from rows import Images, draw_rows, grouped, split_size
from storage import Model

from noneg.datasets import load
from noneg.learning.networks import ResNet, margin, resnet18
from noneg.randomness import stream

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

VEHICLES = (0, 1, 8, 9)  # airplane, automobile, ship, truck
LEARNING_RATE = 1e-5  # Table 1 of the paper
CHUNK = 1000
# What the paper shows comes first.
ORDER = ("PU-sigmoid", "PU-logistic", *PN, *MIXED, "PU-GA-sigmoid", "PU-GA-logistic")


@dataclass(frozen=True)
class Plan:
    """How much to train.

    The paper has 10,000 positives and 50,000 unlabeled images. 20,000 are at hand, so we keep the
    share of labelled images: 4,000. They are then half of the vehicles there are.
    """

    n_positive: int = 4000
    n_unlabeled: int = 20_000
    epochs: int = EPOCHS
    n_test: int = 10_000
    small: bool = False  # a tiny network, to see that everything runs


def images(plan: Plan, device: torch.device) -> Images:
    """Return images as (rows, channels, height, width) of bytes, stored with channels last."""
    data = load("cifar10")
    n, m = plan.n_unlabeled, plan.n_test
    pixels = torch.from_numpy(np.concatenate([data.X_train[:n], data.X_test[:m]]))
    labels = np.concatenate([data.y_train[:n], data.y_test[:m]])
    return Images(pixels.to(device).permute(0, 3, 1, 2), np.isin(labels, VEHICLES), n)


class Training:
    """One classifier: its network, the rows of its trial, and how far it is."""

    def __init__(self, data: Images, plan: Plan, name: str, trial: int) -> None:
        self.data, self.plan, self.name, self.trial = data, plan, name, trial
        self.rows = draw_rows(data.positive[: data.n_train], trial, "cifar10")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(trial, "cifar10 weights").integers(2**62)))
            net = ResNet((8, 16), (1, 1), outputs=1) if plan.small else resnet18(outputs=1)
        self.net = net.to(data.device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(),
            lr=LEARNING_RATE,
            weight_decay=WEIGHT_DECAY,
            fused=data.device.type == "cuda",
        )
        pixels = data.pixels[: data.n_train].float()
        self.mean = pixels.mean((0, 2, 3), keepdim=True)
        self.sd = pixels.std((0, 2, 3), keepdim=True)
        self.history: list[tuple[float, float]] = []
        self.best = {"risk": float("inf"), "epoch": 0, "state": None}
        self._prepare(*split_size(plan.n_positive))
        rows = self.rows.train if name not in PN else self.parts[0][0]
        self.steps = max(1, len(rows) // BATCH)

    def _prepare(self, n_train: int, n_held: int) -> None:
        """Choose rows, loss and held-out risk of the classifier."""
        data, rows = self.data, self.rows
        positive = data.tensor(data.positive)
        held = data.tensor(rows.held)
        if self.name in PN:
            head = labelled_loss(PN[self.name])
            self.parts = [data.tensor(rows.train[None, :n_train])]
            self.loss = lambda f, chosen: head(f, positive[chosen])
            self.held = held[:n_held]
            self.risk = lambda said: (said != positive[self.held]).float().mean()
            return
        labelled = data.tensor(rows.labelled(self.plan.n_positive)).float()
        self.held = held
        self.risk = lambda said: pu_error(said.float(), labelled, data.prior)
        positives = rows.train_pos[:n_train]
        if self.name in PU:
            make, loss = PU[self.name]
            head = pu_loss(make(loss_name=loss), data.prior)
            self.parts = [data.tensor(r[None]) for r in (positives, rows.train)]
            self.loss = lambda f, chosen: head(f)  # noqa: ARG005
        else:
            head = mixed_loss(MIXED[self.name], data.prior)
            both = np.concatenate([data.tagged(positives), rows.train])
            self.parts = [data.tensor(both[None])]
            self.loss = lambda f, chosen: head(f, data.labelled(chosen))

    def logits(self, rows: Tensor) -> Tensor:
        x = (self.data.pixels[rows % len(self.data.positive)].float() - self.mean) / self.sd
        cuda = self.data.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16) if cuda else nullcontext():
            return margin(self.net(x.contiguous(memory_format=torch.channels_last))).float()

    @torch.no_grad()
    def evaluate(self, rows: Tensor) -> Tensor:
        self.net.eval()
        return torch.cat([self.logits(part) for part in rows.split(CHUNK)])

    def epoch(self) -> None:
        number, steps = len(self.history), self.steps
        seed = int(stream(self.trial, f"cifar10 order {number}").integers(2**62))
        generator = torch.Generator(device=self.data.device).manual_seed(seed)
        length = steps * BATCH
        order = [shuffled(r, length, generator).reshape(steps, BATCH) for r in self.parts]
        self.net.train()
        total = 0.0
        for step, chosen in enumerate(torch.cat(order, dim=1)):
            share = rate(number * steps + step, self.plan.epochs * steps)
            for group in self.optimizer.param_groups:
                group["lr"] = share * LEARNING_RATE
            loss = self.loss(self.logits(chosen), chosen)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
        found = float(self.risk(self.evaluate(self.held) >= 0))
        if found < self.best["risk"]:
            state = copy.deepcopy(self.net.state_dict())
            self.best = {"risk": found, "epoch": number, "state": state}
        self.history.append((found, float(total) / steps))

    def run(self, clock: Clock) -> Model:
        label, begun = f"cifar-{self.name}-{self.trial:03d}", time.time()
        state = clock.folder / f"{label}.pt"
        if state.exists():
            self.restore(state)
        while len(self.history) < self.plan.epochs:
            if clock.over():
                self.keep(state)
                raise OutOfTime
            self.epoch()
            done = len(self.history)
            if done % 10 == 0 or done == 1:
                risk, loss = self.history[-1]
                passed = f"{time.time() - begun:.0f} s"
                print(f"{label} epoch {done} risk {risk:.4f} loss {loss:.4f} {passed}", flush=True)
        state.unlink(missing_ok=True)
        return self.model()

    def keep(self, path: Path) -> None:
        saved = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(saved | {"best": self.best, "history": self.history}, path)

    def restore(self, path: Path) -> None:
        saved = torch.load(path, map_location=self.data.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.best, self.history = saved["best"], saved["history"]

    def model(self) -> Model:
        self.net.load_state_dict(self.best["state"])
        n, everything = self.data.n_train, len(self.data.positive)
        test = torch.arange(n, everything, device=self.data.device)
        on_test, on_held = (
            self.evaluate(rows).cpu().numpy() for rows in (test, self.data.tensor(self.rows.held))
        )
        size = self.plan.n_positive
        risks, losses = np.array(self.history).T
        return Model(
            data="cifar10",
            name=self.name,
            n=size,
            trial=self.trial,
            epoch=self.best["epoch"] + 1,
            prior=self.data.prior,
            risks=risks,
            losses=losses,
            logits=grouped(self.data, on_test, on_held, self.rows, size),
        )
