"""Digits 5 to 9 against 0 to 4, many networks at once; vehicles against animals, one by one."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from experiments.pu_ece_neural import objectives
from experiments.pu_ece_neural.measures import Model
from experiments.pu_ece_neural.objectives import BATCH, MIXED, PN, Images, shuffled, split_size
from experiments.stacked import Stacked
from noneg.lab.datasets import load
from noneg.learning.networks import MLP, ResNet, margin, resnet18
from noneg.randomness import stream

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
    return torch.optim.AdamW(weights, lr=lr, weight_decay=objectives.WEIGHT_DECAY, fused=fused)


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
            share = objectives.rate(number * self.steps + step, total)
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


CHUNK = 1000  # rows per evaluation
VEHICLES = (0, 1, 8, 9)  # airplane, automobile, ship, truck
RATES = {"mnist": 1e-3, "cifar": 1e-5}  # Table 1 of the paper
# The settings shown in the paper come first.
ORDER = ("PU-sigmoid", "PU-logistic", *PN, *MIXED, "PU-GA-sigmoid", "PU-GA-logistic")
Part = tuple[str, Callable[[Clock], list[Model]]]


@dataclass(frozen=True)
class Plan:
    """How much to train: by default, the paper's numbers and the sizes in our Figure 1.

    For CIFAR-10, the paper has 10,000 positives and 50,000 unlabeled images. Only 20,000 are
    available, so we keep the share of labeled images: 4,000, which is half of the available
    vehicles.
    """

    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    n_unlabeled: int = 60_000
    epochs: int = objectives.EPOCHS
    n_test: int = 10_000
    small: bool = False  # a tiny network, to check that everything runs


PLANS = {"mnist": Plan(), "cifar": Plan((4000,), 20_000)}
QUICK = {
    "mnist": Plan((100, 1000), 6000, 10, 2000),
    "cifar": Plan((400,), 2000, 2, 1000, small=True),
}


def images(name: str, plan: Plan, device: torch.device) -> Images:
    """Return flat digits, or images as (rows, channels, height, width) with channels last."""
    data = load("mnist" if name == "mnist" else "cifar10")
    n, m = plan.n_unlabeled, plan.n_test
    pixels, labels = (
        np.concatenate([getattr(data, f"{x}_train")[:n], getattr(data, f"{x}_test")[:m]])
        for x in "Xy"
    )
    if name == "mnist":
        pixels = torch.from_numpy(pixels.reshape(-1, 784).astype(np.uint8)).to(device)
        return Images(pixels, labels >= 5, n)
    pixels = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2)
    return Images(pixels, np.isin(labels, VEHICLES), n)


def seeded(what: str, trial: int, make: Callable):
    """Create a network whose weights depend only on the trial."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(trial, f"{what} weights").integers(2**62)))
        return make()


def generator(what: str, trial: int, epoch: int, device: torch.device) -> torch.Generator:
    seed = int(stream(trial, f"{what} order {epoch}").integers(2**62))
    return torch.Generator(device=device).manual_seed(seed)


def first(rows: list[np.ndarray], n: int) -> np.ndarray:
    shortest = min(map(len, rows))
    if shortest < n:
        raise ValueError(f"'n' must be at most {shortest} rows here, got {n}.")
    return np.stack([r[:n] for r in rows])


class Block:
    """Trials that are trained together, and what they share."""

    kind, data_set = "mnist", "mnist"  # in file names, and in tables

    def __init__(self, data: Images, plan: Plan, trials: range) -> None:
        self.data, self.plan, self.trials = data, plan, trials
        positive = data.positive[: data.n_train]
        self.rows = [objectives.draw_rows(positive, t, self.data_set) for t in trials]
        self.held = data.tensor(np.stack([r.held for r in self.rows]))

    def networks(self, copies: int) -> Ensemble:
        """Return networks that start from the weights of their trial, for any classifier."""
        fresh = [seeded("mnist", t, lambda: MLP(784, (100, 100), outputs=1)) for t in self.trials]
        return Ensemble(fresh * copies, lr=RATES["mnist"], device=self.data.device)

    def order(self, label: str, epoch: int) -> torch.Generator:
        """Return the source of the random order of the rows in an epoch."""
        return generator(f"mnist {label}", self.trials[0], epoch, self.data.device)

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

    def train(self, label: str, names, sizes, steps: int, order, risk, clock: Clock) -> list[Model]:
        """Train classifiers at several sizes; the networks are indexed by (classifier, size,
        trial).

        `order` returns the rows of an epoch (size and trial, steps, rows) from a generator, and
        `risk` returns the held-out risk of an ensemble.
        """
        heads = [torch.func.vmap(objectives.loss_of(name, self.data)) for name in names]
        copies = len(heads)

        def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
            return self.steps(order(self.order(label, epoch)), copies)

        def losses(f: Tensor, rows: Tensor) -> Tensor:
            parts = zip(heads, f.chunk(copies), rows.chunk(copies), strict=True)
            return torch.cat([head(*own) for head, *own in parts])

        ensemble = self.networks(copies * len(sizes))
        self.fit = Fit(ensemble, self.plan.epochs, steps, batches, losses, risk(ensemble))
        self.fit.run(clock, f"{self.kind}-{label}-{self.trials[0]:03d}".replace(" ", "-"))
        return self.models(self.fit, list(product(names, sizes)))

    def models(self, fit: Fit, named: list[tuple[str, int]]) -> list[Model]:
        """Return the stored results for the networks (name and size, trial)."""
        test = self.data.test.expand(len(self.trials), -1)
        on_test, on_held = (
            self.evaluate(fit.ensemble, fit.best.weights, rows).cpu().numpy()
            for rows in (test, self.held)
        )
        risks, losses = torch.stack(fit.history).permute(1, 2, 0).numpy()
        out = []
        for k, ((name, n), t) in enumerate(product(named, range(len(self.trials)))):
            logits = self.rows[t].grouped(self.data, on_test[k], on_held[k], n)
            about = (self.data_set, name, n, self.trials[t], int(fit.best.epoch[k]) + 1)
            out.append(Model(*about, self.data.prior, risks[k], losses[k], logits))
        return out

    def labeled(self, clock: Clock) -> list[Model]:
        """Train on n labeled images, a tenth of them held out, with both losses."""
        return [model for n in self.plan.sizes for model in self.at_size(n, PN, clock)]

    def at_size(self, n: int, names, clock: Clock) -> list[Model]:
        n_train, n_held = split_size(n)
        rows = self.data.tensor(first([r.train for r in self.rows], n_train))
        size = min(BATCH, n_train)
        steps, held = n_train // size, self.held[:, :n_held]
        truth = self.data.tensor(self.data.positive)[held].repeat(len(names), 1)

        def order(chance: torch.Generator) -> Tensor:
            return shuffled(rows, steps * size, chance).reshape(len(self.trials), steps, size)

        def risk(ensemble: Ensemble) -> Callable:
            return lambda w: ((self.evaluate(ensemble, w, held) >= 0) != truth).float().mean(-1)

        return self.train(f"labeled {n}", names, [n], steps, order, risk, clock)

    def unlabeled(self, clock: Clock, names=objectives.PU) -> list[Model]:
        """Train PU classifiers at all sizes.

        An epoch has as many batches as the unlabeled rows fill. Mixed batches of 256 come from both
        samples together; the others have 256 rows from each.
        """
        data, sizes, mixed = self.data, self.plan.sizes, set(names) <= set(MIXED)
        unlabeled = np.stack([r.train for r in self.rows])
        known = [first([r.train_pos for r in self.rows], split_size(n)[0]) for n in sizes]
        steps = unlabeled.shape[1] // BATCH
        groups = [unlabeled, *known]
        if mixed:
            groups = [np.concatenate([data.tagged(p), unlabeled], axis=1) for p in known]
        groups = [data.tensor(rows) for rows in groups]

        def order(chance: torch.Generator) -> Tensor:
            parts = [
                shuffled(rows, steps * BATCH, chance).reshape(len(self.trials), steps, BATCH)
                for rows in groups
            ]
            if mixed:
                return torch.cat(parts)
            return torch.cat([torch.cat([own, parts[0]], dim=2) for own in parts[1:]])

        label = "mixed" if mixed else "pu"
        return self.train(label, names, sizes, steps, order, self.pu_risk, clock)

    def mixed(self, clock: Clock) -> list[Model]:
        return self.unlabeled(clock, MIXED)

    def pu_risk(self, ensemble: Ensemble) -> Callable[[dict[str, Tensor]], Tensor]:
        """Return the uPU 0-1 risk of networks (classifier, size, trial) on held-out rows."""
        masks = [[r.labeled(n) for r in self.rows] for n in self.plan.sizes]
        labeled = self.data.tensor(np.array(masks)).float()

        def risk(weights: dict[str, Tensor]) -> Tensor:
            said = (self.evaluate(ensemble, weights, self.held) >= 0).float()
            said = said.reshape(-1, *labeled.shape)
            return objectives.pu_error(said, labeled, self.data.prior).flatten()

        return risk


class Residual(Block):
    """One ResNet-18, in the form of a block: one trial, one classifier, one size."""

    kind, data_set = "cifar", "cifar10"

    def __init__(self, data: Images, plan: Plan, name: str, trial: int) -> None:
        super().__init__(data, plan, range(trial, trial + 1))
        self.name = name
        pixels = data.pixels[: data.n_train].float()
        self.mean, self.sd = (f((0, 2, 3), keepdim=True) for f in (pixels.mean, pixels.std))

    def networks(self, _: int) -> Ensemble:
        small = partial(ResNet, (8, 16), (1, 1), outputs=1)
        net = seeded(
            "cifar10", self.trials[0], small if self.plan.small else partial(resnet18, outputs=1)
        )
        self.net = net.to(self.data.device, memory_format=torch.channels_last)
        return Single(self.net, self.logits, lr=RATES["cifar"], device=self.data.device)

    def order(self, _: str, epoch: int) -> torch.Generator:
        return generator("cifar10", self.trials[0], epoch, self.data.device)

    def train(self, _: str, *work) -> list[Model]:
        return super().train(self.name, *work)

    def steps(self, rows: Tensor, _: int) -> Iterator[tuple[Tensor, Tensor]]:
        self.net.train()
        return ((chosen, chosen) for chosen in rows.unbind(1))

    def logits(self, rows: Tensor) -> Tensor:
        """Return the logits of rows (1, rows); tags are ignored."""
        x = (self.data.pixels[rows[0] % len(self.data.positive)].float() - self.mean) / self.sd
        cuda = self.data.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16) if cuda else nullcontext():
            return margin(self.net(x.contiguous(memory_format=torch.channels_last))).float()[None]

    @torch.no_grad()
    def evaluate(self, _: Ensemble, weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        self.net.load_state_dict({name: weight[0] for name, weight in weights.items()})
        self.net.eval()
        return torch.cat([self.logits(part) for part in rows.split(CHUNK, dim=1)], dim=1)

    def model(self, clock: Clock) -> list[Model]:
        if self.name in PN:
            return self.at_size(self.plan.sizes[0], [self.name], clock)
        return self.unlabeled(clock, [self.name])


def mnist_parts(data: Images, plan: Plan, trials: range, block: int) -> Iterator[Part]:
    for start in trials[::block]:
        own = Block(data, plan, range(start, min(start + block, trials.stop)))
        yield f"mnist-PN-{start:03d}", own.labeled
        yield f"mnist-PU-{start:03d}", own.unlabeled
        yield f"mnist-PUmixed-{start:03d}", own.mixed


def cifar_parts(data: Images, plan: Plan, trials: range, _: int) -> Iterator[Part]:
    for trial, name in product(trials, ORDER):
        yield f"cifar-{name}-{trial:03d}", Residual(data, plan, name, trial).model
