"""Every learning algorithm on two problems, compared with the PU benchmark paper.

Trains the runs that are missing in the stored table, each in a single-threaded process.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import md5
from operator import itemgetter

import numpy as np
import torch
from matplotlib import pyplot as plt
from scipy.special import expit

from experiments.drawing import panels
from experiments.study import Run, Study
from experiments.tables import Row, Tables, column, pick
from experiments.training.findings import printed
from noneg import PUScores, ece
from noneg.lab import datasets
from noneg.learning import networks
from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import PUData
from noneg.learning.training import Trainer
from noneg.learning.views import Turned
from noneg.performance import auroc, proxy_accuracy
from noneg.randomness import stream
from noneg.recalibration import Auto, Platt
from noneg.recalibration.base import fit_quietly

HELD_OUT = 0.1


@dataclass(frozen=True)
class World:
    """One draw in one sample; the labels of unlabeled rows are only for the oracles."""

    train: PUData
    train_labels: np.ndarray  # for the unlabeled rows
    held: PUData
    held_labels: np.ndarray
    test: torch.Tensor
    test_labels: np.ndarray
    prior: float


load = lru_cache(datasets.load)


def gaussians(split: int, *, prior: float = 0.4, c: float = 0.5, n: int = 5000) -> World:
    """Unit Gaussians around +1 and -1 on the first of five axes; a share c of the positives is
    labeled."""
    random = stream(split, "two Gaussians")

    def sample(size: int) -> tuple[np.ndarray, np.ndarray]:
        y = random.permutation(np.arange(size) < prior * size)
        x = random.normal(size=(size, 5))
        x[:, 0] += np.where(y, 1.0, -1.0)
        return x.astype(np.float32), y

    x, y = sample(n)
    labeled = np.flatnonzero(y)[: round(c * prior * n)]
    rest = np.setdiff1d(np.arange(n), labeled)
    test, labels = sample(20_000)
    return _held_out(x, y, labeled, rest, random, torch.from_numpy(test), labels, prior)


def usps(split: int) -> World:
    """USPS, case 1, 30% labeled: 400 rows of each digit, with 240 of each positive digit in P."""
    data, random = load("usps"), stream(split, "usps one-sample case 1")
    positive = np.array([4, 5, 7, 8, 9])
    labeled, rest = [], []
    for digit in range(10):
        rows = random.permutation(np.flatnonzero(data.y_train == digit))[:400]
        cut = 240 if digit in positive else 0
        labeled.append(rows[:cut])
        rest.append(rows[cut:])
    p, u = (random.permutation(np.concatenate(part)) for part in (labeled, rest))
    y = np.isin(data.y_train, positive)
    test = torch.from_numpy(_normal(data.X_test)), np.isin(data.y_test, positive)
    world = _held_out(_normal(data.X_train), y, p, u, random, *test, 0.5)
    turned = Turned(16, black=-0.1307 / 0.3081)
    return replace(world, train=replace(world.train, weak=turned, strong=turned))


def _normal(rows: np.ndarray) -> np.ndarray:
    """Gray levels in [0, 1], then standardized with the benchmark's mean and deviation."""
    return (((rows + 1.0) / 2.0 - 0.1307) / 0.3081).astype(np.float32)


def _held_out(x, y, labeled, rest, random, test, test_labels, prior) -> World:
    kept, held = [], []
    for rows in (labeled, rest):
        place = random.permutation(len(rows))[: int(HELD_OUT * len(rows))]
        kept.append(np.delete(rows, place))
        held.append(rows[place])
    train, validation = (PUData(*(torch.from_numpy(x[p]) for p in part)) for part in (kept, held))
    labels = y[kept[1]], y[held[1]]
    return World(train, labels[0], validation, labels[1], test, test_labels, prior)


# Methods whose benchmark runs have an additional warm-up of 2,000 steps.
WARMED = ("lbe", "pue", "holistic-pu")
# Learning rate and batch size of the benchmark's default configuration, the first of ten.
RATE, BATCH, CONFIGURATIONS = 1e-3, 64, 10
# Methods whose default is more than two points from the paper's best of ten, by the paper's names.
# PUSB is nnPU in the benchmark: the same loss and the same seeds, so the same runs.
_NNPU = ("nnpu", "bench", "none")
SEARCHED = {
    "nnpu": _NNPU,
    "pusb": _NNPU,
    "vpu": ("vpu", "bench", "none"),
    "p3mix-c": ("p3mix-c", "ref", "default"),
    "glws": ("glws", "bench", "default"),
    "pue": ("pue", "bench", "default"),
}
# Repeated with other seeds on the first split, because its risk has no lower bound.
REPEATED, REPEATS = ("pue", "bench", "default"), 9
# Additional configurations of the search space on the first split, for the method that differs
# most.
FARTHEST, FURTHER = ("vpu", "bench", "none"), ((1e-3, 16), (3e-3, 16))


def configuration(index: int, split: int) -> tuple[float, int]:
    """Return the learning rate and batch size of one of the paper's ten configurations for a split.

    The first is the default. The benchmark draws the others with generators whose seeds are hashes
    of the configuration number, the split number and the name, so they are identical to the
    paper's.
    """
    if index == 0:
        return RATE, BATCH
    base = _hashed(index, split)
    rate = np.random.RandomState(_hashed(base, "lr")).uniform(-4.5, -2.5)
    batch = np.random.RandomState(_hashed(base, "batch_size")).uniform(4, 7)
    return float(10**rate), 2 ** int(batch)


def _hashed(*parts: object) -> int:
    return int(md5(str(parts).encode(), usedforsecurity=False).hexdigest(), 16) % 2**31


@dataclass(frozen=True)
class Job:
    """One run of the grid.

    `correction` is the one-sample correction, "default" for the algorithm's own; steps of 0 mean
    30 epochs; `repeat` numbers the seeds of a split.
    """

    world: str
    algorithm: str
    variant: str
    correction: str
    split: int
    steps: int
    lr: float = RATE
    batch: int = BATCH
    repeat: int = 0

    @property
    def seed(self) -> int:
        return self.split + 100 * self.repeat


def grid(*, quick: bool) -> dict[str, list[Job]]:
    """Return all runs by part, the first split first."""
    steps, splits = (1000, 1) if quick else (20_000, 3)
    parts = {"gaussians": [], "usps": []}
    for split in range(splits):
        for name, kind in ALGORITHMS.items():
            ways = [("ref", "default")]
            if "bench" in kind.variants:
                ways += [("bench", c) for c in (kind.bench_corrections or ("default",))]
            size = length(name, steps)
            parts["usps"] += [Job("usps", name, *way, split, size) for way in ways]
            parts["gaussians"].append(Job("gaussians", name, "ref", "default", split, 0))
    return parts | {"search": search_grid(steps, splits)}


def search_grid(steps: int, splits: int) -> list[Job]:
    """The paper's configurations, one for all methods at a time; then seeds and rates."""
    jobs = []
    for index in range(CONFIGURATIONS if splits > 1 else 2):
        for way in dict.fromkeys(SEARCHED.values()):
            size = length(way[0], steps)
            jobs += [Job("usps", *way, s, size, *configuration(index, s)) for s in range(splits)]
    size, repeats = length(REPEATED[0], steps), REPEATS if splits > 1 else 1
    jobs += [Job("usps", *REPEATED, 0, size, repeat=r + 1) for r in range(repeats)]
    return jobs + [Job("usps", *FARTHEST, 0, steps, *other) for other in FURTHER]


def length(name: str, steps: int) -> int:
    return steps + (steps // 10 if name in WARMED else 0)


def make_trainer(job: Job) -> Trainer:
    """The benchmark's protocol for digits; the defaults for Gaussians."""
    if job.world == "gaussians":
        return Trainer(seed=job.seed, device="cpu")
    size = {"steps": job.steps, "batch_size": job.batch, "lr": job.lr, "seed": job.seed}
    every = 100 if job.steps >= 5000 else 20
    return Trainer(**size, optimizer="sgd", checkpoint_every=every, device="cpu")


def learn(**cell: object) -> Iterator[Row]:
    """Train a run, and yield test metrics where each criterion is best, and calibration errors.

    A run that diverges before its first checkpoint has no row.
    """
    torch.set_num_threads(1)
    job = Job(**cell)
    world = usps(job.split) if job.world == "usps" else gaussians(job.split)
    kind, width = ALGORITHMS[job.algorithm], world.test.shape[1]
    extra = {"truth": torch.as_tensor(world.train_labels)} if job.algorithm == "pn-oracle" else {}
    watch, start, diverged = Watch(world), time.process_time(), False
    asked = {"setting": "one-sample", "prior": world.prior, "monitor": watch}
    asked["correction"] = None if job.correction == "default" else job.correction
    asked["validation"] = world.held if kind.needs_validation else None
    algorithm = kind(variant=job.variant, **extra)
    try:
        make_trainer(job).fit(algorithm, lambda: networks.MLP(width), world.train, **asked)
    except FloatingPointError:
        diverged = True  # risks without a lower bound diverge; the earlier checkpoints count
    seconds = time.process_time() - start
    if watch.rows:
        last = watch.rows[-1]
        yield watch.chosen() | {
            "last_accuracy": last["accuracy"],
            "diverged_after": last["step"] if diverged else "",
            **calibration(job, world.test_labels, watch.kept),
            "cpu_seconds": seconds,
        }


class Watch:
    """Takes measurements at checkpoints, and keeps the scores where the proxy accuracy is best."""

    def __init__(self, world: World):
        self.world, self.best = world, -np.inf
        self.rows: list[Row] = []
        self.kept: dict[str, np.ndarray] = {}

    def __call__(self, algorithm, step: int) -> dict[str, float]:
        if not algorithm.ready():
            return {}
        world = self.world
        parts = {"held_pos": world.held.pos, "held_unl": world.held.unl, "test": world.test}
        scores = {name: expit(algorithm.decision(x).double().numpy()) for name, x in parts.items()}
        truth = np.concatenate([np.ones(len(scores["held_pos"]), bool), world.held_labels])
        called = np.concatenate([scores["held_pos"], scores["held_unl"]]) > 0.5
        held = (scores["held_pos"], scores["held_unl"])
        proxy = proxy_accuracy(PUScores(*held, prior=world.prior, setting="one-sample"))
        accuracy = ((scores["test"] > 0.5) == world.test_labels).mean()
        auc = auroc(PUScores.from_labels(world.test_labels.astype(int), scores["test"]))
        found = {"oracle": (called == truth).mean(), "proxy": proxy}
        self.rows.append({"step": step, "accuracy": accuracy, "auc": auc} | found)
        if proxy > self.best:
            self.best, self.kept = proxy, scores
        return {}

    def chosen(self) -> Row:
        """Return the metrics at the best checkpoints by the oracle and by the proxy accuracy."""
        oracle, proxy = (max(self.rows, key=itemgetter(name)) for name in ("oracle", "proxy"))
        return {
            "oracle_step": oracle["step"],
            "oracle": oracle["oracle"],
            "oracle_accuracy": oracle["accuracy"],
            "oracle_auc": oracle["auc"],
            "proxy_step": proxy["step"],
            "accuracy": proxy["accuracy"],
            "auc": proxy["auc"],
        }


def runs(run: Run) -> None:
    parts = grid(quick=run.quick)
    asked = dict.fromkeys(job for name in run.options.worlds for job in parts[name])
    run.resume("runs", learn, [asdict(job) for job in asked])


def arguments(parser: argparse.ArgumentParser) -> None:
    add, every = parser.add_argument, ("gaussians", "usps", "search")
    add("--worlds", nargs="+", choices=every, default=every, help="train these only")


# Prior of each population, and the share of its positives that is labeled.
PRIOR = {"gaussians": (0.4, 0.5), "usps": (0.5, 0.6)}
STAGES = {"before": ("#D55E00", "o"), "platt": ("#0072B2", "s"), "auto": ("#009E73", "^")}


def calibration(job: Job, labels: np.ndarray, scores: dict[str, np.ndarray]) -> dict[str, float]:
    """Return PU-ECE and true ECE of the test rows, before and after repair with held-out PU rows.

    Test rows are subsampled to the prior of the population; then a share of the positives is
    labeled for the PU estimate, and the true error uses all labels.
    """
    prior, c = PRIOR[job.world]
    random = stream(job.split, "test rows")
    positive, negative = (random.permutation(np.flatnonzero(labels == y)) for y in (1, 0))
    n = int(min(positive.size / prior, negative.size / (1 - prior)))
    positive, negative = positive[: round(prior * n)], negative[: n - round(prior * n)]
    cut = round(c * positive.size)
    labeled, rest = positive[:cut], np.concatenate([positive[cut:], negative])
    y = np.repeat([1, 0], [positive.size, negative.size])
    held = PUScores(scores["held_pos"], scores["held_unl"], prior=prior, setting="one-sample")
    found = {}
    for stage, repair in repairs(held).items():
        s = repair(scores["test"])
        pu = PUScores(s[labeled], s[rest], prior=prior, setting="one-sample")
        true = PUScores.from_labels(y, s[np.concatenate([positive, negative])])
        found |= {f"pu_ece_{stage}": ece(pu), f"ece_{stage}": ece(true)}
    return found


def repairs(held: PUScores):
    # The fit is finite even for separable scores.
    platt, auto = fit_quietly(Platt(), held), fit_quietly(Auto(), held)
    return {"before": lambda s: s, "platt": platt.transform, "auto": auto.transform}


def mean(rows: list[Row], name: str) -> float:
    return float(column(rows, name).mean()) if rows else np.nan


def chosen(rows: list[Row], **wanted: object) -> list[Row]:
    return pick(rows, **({"lr": RATE, "batch": BATCH, "repeat": 0} | wanted))


def acceptance(tables: Tables) -> Iterator[dict]:
    """Yield our runs and the paper's accuracy, for each method and correction."""
    published, usps = printed("usps", 1), chosen(tables("runs"), world="usps")
    for name, kind in ALGORITHMS.items():
        ran = chosen(usps, algorithm=name)
        for correction in dict.fromkeys(["none", *kind.bench_corrections]) if ran else ():
            with_c, own = correction == "batch", "bench" in kind.variants
            asked = correction if kind.bench_corrections else "default"
            bench = chosen(ran, variant="bench", correction=asked)
            ref = chosen(ran, variant="ref")
            if own or not with_c:
                yield {
                    "title": f"{kind.title}{'-c' if with_c else ''}",
                    "paper": published.get(f"{name}+c" if with_c else name),
                    "bench": bench,
                    "compared": bench if own else ref,
                    "ref": [] if with_c else ref,
                }


def search(tables: Tables) -> Iterator[dict]:
    """Yield the paper's protocol for each method: the best configuration by OA in each split."""
    published = printed("usps", 1)
    for name, way in SEARCHED.items():
        runs = [tried(tables("runs"), split, way) for split in range(3)]
        if all(runs):
            yield {
                "title": ALGORITHMS[name].title,
                "paper": published[name],
                "default": [split[0] for split in runs],
                "same": [best_run(pick(split, batch=BATCH)) for split in runs],
                "best": [best_run(split) for split in runs],
                "numbers": [len(split) for split in runs],
            }


def tried(rows: list[Row], split: int, way: tuple[str, str, str]) -> list[Row]:
    """Return the runs of the paper's configurations on a split, the default first."""
    own = pick(named(rows, way), split=split)
    grid = [configuration(index, split) for index in range(CONFIGURATIONS)]
    found = [chosen(own, lr=lr, batch=batch) for lr, batch in grid]
    return [run for part in found for run in part] if found[0] else []


def best_run(runs: list[Row]) -> Row:
    """Return the run with the best accuracy on held-out rows, as the paper does."""
    return max(runs, key=lambda row: row["oracle"])


def named(rows: list[Row], way: tuple[str, str, str]) -> list[Row]:
    names = ("algorithm", "variant", "correction")
    return pick(rows, world="usps", **dict(zip(names, way, strict=True)))


def repeated(tables: Tables) -> list[Row]:
    """Return the runs of one configuration on one split that differ only in their seed."""
    return pick(named(tables("runs"), REPEATED), split=0, lr=RATE, batch=BATCH)


def farthest(tables: Tables) -> list[Row]:
    """Return all configurations of the method that differs most, on the first split."""
    runs = pick(named(tables("runs"), FARTHEST), split=0)
    return sorted(runs, key=lambda r: (-r["batch"], r["lr"]))


def draw_calibration(tables: Tables) -> plt.Figure:
    """Plot the true error before and after, one line per method, one panel per population."""
    figure, axes = panels(1, 2, size=(11, 6.2), shade=None, layout=None, sharey=True)
    names = [n for n in ALGORITHMS if chosen(tables("runs"), algorithm=n)][::-1]
    for ax, world in zip(axes, PRIOR, strict=True):
        mine = [chosen(tables("runs"), world=world, algorithm=n, variant="ref") for n in names]
        for stage, (color, marker) in STAGES.items():
            label = stage if stage == "before" else f"after {stage.title()}"
            x = [mean(rows, f"ece_{stage}") for rows in mine]
            ax.plot(x, range(len(names)), marker, color=color, label=label)
        ax.set(title={"gaussians": "two Gaussians", "usps": "USPS"}[world], xlabel="true ECE")
        ax.set_xlim(left=0.0)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_yticks(range(len(names)), [ALGORITHMS[n].title for n in names])
    axes[-1].legend(frameon=False)
    figure.tight_layout()
    return figure


STUDY = Study(
    "learners",
    parts=(runs,),
    style={"savefig.dpi": 110},
    arguments=arguments,
    digits=None,
)
