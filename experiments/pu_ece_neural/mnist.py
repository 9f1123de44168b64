"""Digits 5 to 9 against 0 to 4: all classifiers, sizes and trials of a block trained at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from ensemble import Clock, Ensemble, Fit
from objectives import BATCH, EPOCHS, MIXED, PN, PU, labelled_loss, mixed_loss, pu_error, pu_loss
from rows import Images, draw_rows, grouped, split_size
from storage import Model

from noneg.datasets import load
from noneg.learning.networks import MLP
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

SIZES = (100, 300, 1000, 3000, 10_000)
LEARNING_RATE = 1e-3  # Table 1 of the paper
CHUNK = 1000  # rows of an evaluation at once


@dataclass(frozen=True)
class Plan:
    """How much to train: the paper's numbers by default, and the sizes of our Figure 1."""

    sizes: tuple[int, ...] = SIZES
    n_unlabeled: int = 60_000
    epochs: int = EPOCHS
    n_test: int = 10_000


def images(plan: Plan, device: torch.device) -> Images:
    data = load("mnist")
    n, m = plan.n_unlabeled, plan.n_test
    pixels = np.concatenate([data.X_train[:n], data.X_test[:m]]).reshape(-1, 784)
    labels = np.concatenate([data.y_train[:n], data.y_test[:m]])
    return Images(torch.from_numpy(pixels.astype(np.uint8)).to(device), labels >= 5, n)


def shuffled(rows: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """Return, for each trial, one random order of its rows after the other, cut at a length."""
    trials, n = rows.shape
    rounds = math.ceil(length / n)
    keys = torch.rand(trials, rounds, n, generator=generator, device=rows.device)
    order = keys.argsort(dim=-1).reshape(trials, -1)[:, :length]
    return rows.gather(1, order)


def first(rows: list[np.ndarray], n: int) -> np.ndarray:
    shortest = min(map(len, rows))
    if shortest < n:
        raise ValueError(f"'n' must be at most {shortest} rows here, got {n}.")
    return np.stack([r[:n] for r in rows])


class Block:
    """Trials that are trained together, and what all of their trainings share."""

    def __init__(self, data: Images, plan: Plan, trials: range) -> None:
        self.data, self.plan, self.trials = data, plan, trials
        self.rows = [draw_rows(data.positive[: data.n_train], t, "mnist") for t in trials]
        self.held = data.tensor(np.stack([r.held for r in self.rows]))

    def networks(self, copies: int) -> Ensemble:
        """Return networks that start from the weights of their trial, whatever the classifier."""
        fresh = []
        for trial in self.trials:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(stream(trial, "mnist weights").integers(2**62)))
                fresh.append(MLP(784, (100, 100), outputs=1))
        return Ensemble(fresh * copies, lr=LEARNING_RATE, device=self.data.device)

    def generator(self, what: str, epoch: int) -> torch.Generator:
        seed = int(stream(self.trials[0], f"mnist {what} order {epoch}").integers(2**62))
        return torch.Generator(device=self.data.device).manual_seed(seed)

    def steps(self, rows: Tensor, copies: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs and row numbers of rows (units, steps, rows), repeated for copies."""
        for step in range(rows.shape[1]):
            chosen = rows[:, step].repeat(copies, 1)
            yield self.data.take(chosen), chosen

    @torch.no_grad()
    def evaluate(self, ensemble: Ensemble, weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        """Return logits (networks, rows) of each trial's rows; trials are the fastest axis."""
        copies = len(next(iter(weights.values()))) // len(self.trials)
        parts = [
            ensemble.logits(self.data.take(part.repeat(copies, 1)), weights)
            for part in rows.split(CHUNK, dim=1)
        ]
        return torch.cat(parts, dim=1)

    def models(self, fit: Fit, named: list[tuple[str, int]]) -> list[Model]:
        """Return what is kept of the networks (name and size, trial)."""
        n_train, n_all = self.data.n_train, len(self.data.positive)
        test = torch.arange(n_train, n_all, device=self.data.device).expand(len(self.trials), -1)
        on_test, on_held = (
            self.evaluate(fit.ensemble, fit.best.weights, rows).cpu().numpy()
            for rows in (test, self.held)
        )
        risks, losses = torch.stack(fit.history).permute(1, 2, 0).numpy()
        return [
            Model(
                data="mnist",
                name=name,
                n=n,
                trial=self.trials[t],
                epoch=int(fit.best.epoch[k]) + 1,
                prior=self.data.prior,
                risks=risks[k],
                losses=losses[k],
                logits=grouped(self.data, on_test[k], on_held[k], self.rows[t], n),
            )
            for k, ((name, n), t) in enumerate(product(named, range(len(self.trials))))
        ]


def train_labelled(block: Block, n: int, clock: Clock) -> list[Model]:
    """Train on n labelled images, a tenth of them held out, with both losses."""
    n_train, n_held = split_size(n)
    rows = block.data.tensor(first([r.train for r in block.rows], n_train))
    size = min(BATCH, n_train)
    steps = n_train // size
    heads = [labelled_loss(loss) for loss in PN.values()]
    positive = block.data.tensor(block.data.positive)
    truth = positive[block.held[:, :n_held]].repeat(len(PN), 1)

    def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        order = shuffled(rows, steps * size, block.generator(f"labelled {n}", epoch))
        return block.steps(order.reshape(len(block.trials), steps, size), len(PN))

    def losses(f: Tensor, chosen: Tensor) -> Tensor:
        parts = zip(heads, f.chunk(len(PN)), positive[chosen].chunk(len(PN)), strict=True)
        return torch.cat([head(own, y) for head, own, y in parts])

    def risk(weights: dict[str, Tensor]) -> Tensor:
        said = block.evaluate(ensemble, weights, block.held[:, :n_held]) >= 0
        return (said != truth).float().mean(-1)

    ensemble = block.networks(len(PN))
    fit = Fit(ensemble, block.plan.epochs, steps, batches, losses, risk)
    fit.run(clock, f"mnist-PN-{n}-{block.trials[0]:03d}")
    return block.models(fit, [(name, n) for name in PN])


def train_pu(block: Block, clock: Clock) -> list[Model]:
    """Train all PU classifiers at all sizes: networks are (classifier, size, trial)."""
    plan, data, trials = block.plan, block.data, len(block.trials)
    unlabeled = data.tensor(np.stack([r.train for r in block.rows]))
    positives = [
        data.tensor(first([r.train_pos for r in block.rows], split_size(n)[0])) for n in plan.sizes
    ]
    steps = unlabeled.shape[1] // BATCH
    heads = [
        torch.func.vmap(pu_loss(make(loss_name=loss), data.prior)) for make, loss in PU.values()
    ]

    def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        generator = block.generator("pu", epoch)
        u, *p = (
            shuffled(rows, steps * BATCH, generator).reshape(trials, steps, BATCH)
            for rows in (unlabeled, *positives)
        )
        return block.steps(torch.cat([torch.cat([own, u], dim=2) for own in p]), len(PU))

    def losses(f: Tensor, _: Tensor) -> Tensor:
        return torch.cat([head(own) for head, own in zip(heads, f.chunk(len(PU)), strict=True)])

    ensemble = block.networks(len(PU) * len(plan.sizes))
    fit = Fit(ensemble, plan.epochs, steps, batches, losses, held_out_risk(block, ensemble))
    fit.run(clock, f"mnist-PU-{block.trials[0]:03d}")
    return block.models(fit, list(product(PU, plan.sizes)))


def train_mixed(block: Block, clock: Clock) -> list[Model]:
    """Train as `train_pu`, in batches of 256 from both samples together.

    An epoch has as many batches as the unlabeled rows fill, at every size.
    """
    plan, data, trials = block.plan, block.data, len(block.trials)
    unlabeled = np.stack([r.train for r in block.rows])
    both = []
    for n in plan.sizes:
        positives = first([r.train_pos for r in block.rows], split_size(n)[0])
        both.append(data.tensor(np.concatenate([data.tagged(positives), unlabeled], axis=1)))
    steps = unlabeled.shape[1] // BATCH
    heads = [mixed_loss(loss, data.prior) for loss in MIXED.values()]

    def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        generator = block.generator("mixed", epoch)
        order = [shuffled(rows, steps * BATCH, generator) for rows in both]
        units = torch.cat([rows.reshape(trials, steps, BATCH) for rows in order])
        return block.steps(units, len(MIXED))

    def losses(f: Tensor, chosen: Tensor) -> Tensor:
        labelled = data.labelled(chosen).chunk(len(MIXED))
        parts = zip(heads, f.chunk(len(MIXED)), labelled, strict=True)
        return torch.cat([head(own, y) for head, own, y in parts])

    ensemble = block.networks(len(MIXED) * len(plan.sizes))
    fit = Fit(ensemble, plan.epochs, steps, batches, losses, held_out_risk(block, ensemble))
    fit.run(clock, f"mnist-PUmixed-{block.trials[0]:03d}")
    return block.models(fit, list(product(MIXED, plan.sizes)))


def held_out_risk(block: Block, ensemble: Ensemble) -> Callable[[dict[str, Tensor]], Tensor]:
    """Return the uPU 0-1 risk of networks (classifier, size, trial) on held-out rows."""
    masks = [[r.labelled(n) for r in block.rows] for n in block.plan.sizes]
    labelled = block.data.tensor(np.array(masks)).float()

    def risk(weights: dict[str, Tensor]) -> Tensor:
        said = (block.evaluate(ensemble, weights, block.held) >= 0).float()
        return pu_error(said.reshape(-1, *labelled.shape), labelled, block.data.prior).flatten()

    return risk
