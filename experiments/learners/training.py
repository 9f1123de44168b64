"""One run: train, measure at checkpoints, keep what the tables need."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import expit
from worlds import World, gaussians, usps

from noneg import PUScores
from noneg.learning import networks
from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.trainer import Trainer
from noneg.performance import auroc, proxy_accuracy

if TYPE_CHECKING:
    from pathlib import Path

# Methods whose benchmark runs have a warm-up of 2,000 steps more.
WARMED = ("lbe", "pue", "holistic-pu")
# Learning rate and batch of the benchmark's default configuration, and others of its search.
RATE, BATCH = 1e-3, 64
OTHERS = ((1e-3, 16), (3e-3, 16))
# The default is a poor choice for these.
SEARCHED = (("nnpu", "bench", "none"), ("vpu", "bench", "none"), ("p3mix-c", "ref", "default"))


@dataclass(frozen=True)
class Job:
    """One run of the grid.

    `correction` is the one-sample correction, "default" for the algorithm's own; steps of 0 mean
    30 epochs.
    """

    world: str
    algorithm: str
    variant: str
    correction: str
    split: int
    steps: int
    lr: float = RATE
    batch: int = BATCH

    def path(self, folder: Path) -> Path:
        return folder / ("_".join(str(v) for v in asdict(self).values()) + ".npz")

    @property
    def default(self) -> bool:
        return (self.lr, self.batch) == (RATE, BATCH)

    @property
    def correction_asked(self) -> str | None:
        return None if self.correction == "default" else self.correction


def grid(*, quick: bool) -> list[Job]:
    """All runs, the first split first."""
    steps, splits = (1000, 1) if quick else (20_000, 3)
    jobs = []
    for name, kind in ALGORITHMS.items():
        ways = [("ref", "default")]
        if "bench" in kind.variants:
            ways += [("bench", c) for c in (kind.bench_corrections or ("default",))]
        more = steps // 10 if name in WARMED else 0
        for split in range(splits):
            jobs += [Job("usps", name, *way, split, steps + more) for way in ways]
            jobs.append(Job("gaussians", name, "ref", "default", split, 0))
    search = [Job("usps", *way, 0, steps, *other) for way in SEARCHED for other in OTHERS]
    return sorted(jobs + search, key=lambda job: job.split)


def network(world: World):
    width = world.test.shape[1]
    return lambda: networks.MLP(width)


def make_trainer(job: Job) -> Trainer:
    """The benchmark's protocol for digits; the defaults for Gaussians."""
    if job.world == "gaussians":
        return Trainer(seed=job.split, device="cpu")
    every = 100 if job.steps >= 5000 else 20
    return Trainer(
        steps=job.steps,
        batch_size=job.batch,
        optimizer="sgd",
        lr=job.lr,
        checkpoint_every=every,
        seed=job.split,
        device="cpu",
    )


def perform(job: Job, folder: Path) -> Path:
    """Train a run unless its file is there."""
    path = job.path(folder)
    if path.exists():
        return path
    torch.set_num_threads(1)
    world = usps(job.split) if job.world == "usps" else gaussians(job.split)
    kind = ALGORITHMS[job.algorithm]
    extra = {"truth": torch.as_tensor(world.train_labels)} if job.algorithm == "pn-oracle" else {}
    algorithm = kind(variant=job.variant, **extra)
    watch = Watch(world)
    start = time.process_time()
    diverged = False
    try:
        make_trainer(job).fit(
            algorithm,
            network(world),
            world.train,
            setting="one-sample",
            prior=world.prior,
            correction=job.correction_asked,
            validation=world.held if kind.needs_validation else None,
            monitor=watch,
        )
    except FloatingPointError:
        diverged = True  # risks without a lower bound do; the checkpoints before count
    part, seconds = path.with_suffix(".part.npz"), time.process_time() - start
    np.savez_compressed(part, **watch.record(), diverged=diverged, seconds=seconds)
    part.rename(path)
    return path


class Watch:
    """Measures at checkpoints, and keeps the scores where the proxy accuracy is best."""

    def __init__(self, world: World):
        self.world, self.rows, self.best = world, [], -np.inf
        self.kept: dict[str, np.ndarray] = {}

    def __call__(self, algorithm, step: int) -> dict[str, float]:
        if not algorithm.ready():
            return {}
        world = self.world
        parts = {"held_pos": world.held.pos, "held_unl": world.held.unl, "test": world.test}
        scores = {name: expit(algorithm.decision(x).double().numpy()) for name, x in parts.items()}
        truth = np.concatenate([np.ones(len(scores["held_pos"]), bool), world.held_labels])
        called = np.concatenate([scores["held_pos"], scores["held_unl"]]) > 0.5
        proxy = proxy_accuracy(
            PUScores(
                scores["held_pos"], scores["held_unl"], prior=world.prior, setting="one-sample"
            )
        )
        accuracy = ((scores["test"] > 0.5) == world.test_labels).mean()
        auc = auroc(PUScores.from_labels(world.test_labels.astype(int), scores["test"]))
        self.rows.append((step, (called == truth).mean(), proxy, accuracy, auc))
        if proxy > self.best:
            self.best, self.kept = proxy, scores
        return {}

    def record(self) -> dict[str, np.ndarray]:
        names = ("step", "oracle", "proxy", "accuracy", "auc")
        columns = dict(zip(names, np.array(self.rows).T, strict=True))
        return columns | self.kept | {"labels": self.world.test_labels}
