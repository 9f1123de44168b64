"""Results by group: coverage of simultaneous intervals, size of the test, and cost.

A population has a distribution of the logit score in each group, on a grid shared by all groups,
and a probability of being positive at each score: either the score itself, or one with a different
slope and a separate shift for each group.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import expit

from experiments.study import SETTINGS, Run, Study, cells, seeded
from experiments.tables import Row, averaged, means
from noneg import PUScores
from noneg.groups import BY_DEFAULT, Group, GroupTable, by_group
from noneg.metrics import RECOMMENDED
from noneg.tables.groups import Grouping

GRID = np.linspace(-6.0, 6.0, 400)
SCORES = expit(GRID)
# Mean and spread of the logit: rare positives, common positives, and well-separated classes.
LAWS = {"rare": (-3.0, 1.0), "common": (-0.5, 1.0), "separated": (-1.5, 2.5)}
# Number of rows and labeled positives in a group of average size.
ROWS, POSITIVES = 600, 60
LABELED = 0.4
# The interval of the calibration error takes most of the time, and has room: it is measured in the
# first draws only.
ERROR_DRAWS = 30


@dataclass(frozen=True, eq=False)
class World:
    """Group shares, the score distribution in each group, and the probability of being positive."""

    share: np.ndarray
    law: np.ndarray
    positive: np.ndarray

    @classmethod
    def made(cls, law: str, groups: int, *, calibrated: bool) -> "World":
        """Return a population whose groups differ in size, mean score and, optionally,
        calibration."""
        random, (mean, spread) = seeded("world of groups", law, groups, calibrated), LAWS[law]
        share = random.gamma(3.0, size=groups)
        center = mean + 0.5 * random.standard_normal(groups)
        density = np.exp(-(((GRID - center[:, None]) / spread) ** 2) / 2.0)
        shift = 0.0 if calibrated else 0.6 * random.standard_normal((groups, 1))
        logit = GRID + np.zeros((groups, 1)) if calibrated else 0.7 * GRID + shift
        return cls(share / share.sum(), density / density.sum(1, keepdims=True), expit(logit))

    @cached_property
    def marginal(self) -> np.ndarray:
        """Probability mass of each group and score."""
        return self.share[:, None] * self.law

    @property
    def prior(self) -> float:
        return float((self.marginal * self.positive).sum())

    def draw(self, setting: str, random: np.random.Generator) -> tuple[PUScores, object]:
        """Return scores, and the same rows by group."""
        mass, n = self.marginal.ravel(), ROWS * self.share.size
        unlabeled = random.multinomial(n, mass / mass.sum())
        chance = self.positive.ravel()
        if setting == "two-sample":
            law = mass * chance / self.prior
            labeled = random.multinomial(POSITIVES * self.share.size, law / law.sum())
        else:
            positive = random.binomial(unlabeled, chance)
            labeled = random.binomial(positive, LABELED if setting == "one-sample" else 1.0)
            unlabeled = unlabeled - labeled
        s, flags = np.tile(SCORES, 2 * self.share.size), np.repeat([False, True], mass.size)
        weight = np.concatenate([unlabeled, labeled]).astype(float)
        grouping = Grouping(["group"])
        codes = np.repeat(grouping.codes([np.arange(self.share.size)]), GRID.size)
        grouping.add(np.tile(codes, 2), s, flags, weight)
        if setting == "labeled":
            return PUScores.from_labels(flags, s, sample_weight=weight), grouping.finished()
        known = {"prior": self.prior, "setting": setting}
        scores = PUScores.from_pu_labels(flags, s, sample_weight=weight, **known)
        return scores, grouping.finished()

    def truth(self, members: list[int], ends: np.ndarray) -> dict[str, float]:
        """Return the metrics for several groups together; `ends` are the bin edges for the
        error."""
        m = self.marginal[members].sum(axis=0)
        x = (self.marginal * self.positive)[members].sum(axis=0)
        gap, above = x - m * SCORES, SCORES >= 0.5
        bins = np.minimum(np.searchsorted(ends, SCORES), ends.size - 1)
        negative = m - x
        below = np.cumsum(negative) - negative / 2.0
        return {
            "prior": x.sum() / m.sum(),
            "bias": gap.sum() / m.sum(),
            "debiased_ece": np.abs(np.bincount(bins, gap)).sum() / m.sum(),
            "auroc": x @ below / (x.sum() * negative.sum()),
            "precision": x[above].sum() / m[above].sum(),
            "recall": x[above].sum() / x.sum(),
        }


def cover(
    *, law: str, calibrated: bool, setting: str, groups: int, trials: int
) -> list[dict[str, object]]:
    """Return how often all groups are covered, one row per metric, and the size of the test."""
    world = World.made(law, groups, calibrated=calibrated)
    found, rejected = {}, []
    for trial in range(trials):
        random = seeded("new draws of groups", law, calibrated, setting, groups, trial)
        scores, sums = world.draw(setting, random)
        metrics = [x for x in BY_DEFAULT if x != RECOMMENDED or trial < ERROR_DRAWS]
        table = by_group(scores, sums, metrics=metrics)
        rejected.append(rejections(table))
        for name, *held in _inside(world, scores, sums, table):
            found.setdefault(name, []).append(held)
    (tests,) = means(rejected)
    rows = []
    for name, held in found.items():
        covered, width = np.mean(held, axis=0)
        rows.append({"metric": name, "draws": len(held), "covered": covered, "width": width})
    return [row | tests for row in rows]


def rejections(table: GroupTable) -> Row:
    return {"test": table.p_value <= 0.05, "largest": table.worst_p_value <= 0.05}


@averaged()
def reject(*, law: str, setting: str, groups: int, trials: int) -> Iterator[Row]:
    """Yield whether the tests reject in a calibrated population, in draws of their own."""
    world = World.made(law, groups, calibrated=True)
    for trial in range(trials):
        random = seeded("draws for the tests of groups", law, setting, groups, trial)
        yield rejections(by_group(*world.draw(setting, random), metrics=()))


def _inside(world: World, scores: PUScores, sums: object, table: object) -> list[tuple]:
    """Return, for each metric, whether all groups are covered, and the mean width."""
    small = [name for name in sums.names if name not in table.group]
    pooled = sums.pooled(np.isin(sums.names, small), "other")
    members = [[int(name)] for name in table.group[: sums.n_groups - len(small)]]
    members += [[int(name) for name in small]] * bool(small)
    total = pooled.of_laws(scores, pooled.table.sum(axis=(0, 1)))
    truths = []
    for k, group in enumerate(members):
        own = Group(scores, pooled.ends, pooled.of_laws(scores, pooled.table[k]), total)
        ends = own.coarse().edges if RECOMMENDED in table.metrics else np.ones(1)
        truths.append(world.truth(group, ends))
    found = []
    for name, (_, low, high) in table.metrics.items():
        true = np.array([truth[name] for truth in truths])
        inside = bool(((low <= true + 1e-12) & (true <= high + 1e-12)).all())
        found.append((name, inside, float(np.mean(high - low))))
    return found


def write_rows(path: Path, n: int) -> None:
    """Write calibrated rows of one sample, in 1,000 groups (k) and in 10,000 groups (wide)."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    random = seeded("rows", n)
    score = expit(random.normal(-1.2, 1.5, n))
    labeled = (random.random(n) < score) & (random.random(n) < 0.4)
    wide = random.integers(0, 10_000, n, dtype=np.int32)
    columns = {"p": score, "y": labeled, "k": wide // 10, "wide": wide}
    write_table(pa.table(columns), path)


def coverage(run: Run) -> None:
    every = [
        {**cell, "groups": groups, "trials": run.trials(trials, 3)}
        for groups, trials in ((5, 400), (20, 400), (200, 200))
        for cell in cells(law=LAWS, calibrated=(True, False), setting=SETTINGS)
    ]
    run.resume("coverage", cover, every)


def size(run: Run) -> dict[str, list]:
    """Return how often the tests reject with many groups, in more draws."""
    every = cells(law=LAWS, setting=SETTINGS, groups=200, trials=run.trials(400, 3))
    return {"size": run.rows(reject, every)}


def cost(run: Run) -> dict[str, list]:
    """Return the CPU time and memory for evaluating one file, with and without groups."""
    n, found = run.pick(10_000_000, 100_000), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, n)
        for by, groups in (("", 0), ("k", 1000), ("wide", 10_000)):
            used = _measured(path, by)
            first = found[0] if found else used
            ratio = used["seconds"] / first["seconds"]
            found.append({"rows": n, "groups": groups, "ratio": ratio} | used)
    return {"cost": found}


def _measured(path: Path, by: str) -> dict[str, float]:
    words = [str(path), "--score", "p", "--label", "y", "--setting", "one-sample", "--json"]
    words += ["--prior", "0.3", *(["--by", by] if by else [])]
    command = [sys.executable, "-m", "noneg", "evaluate", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return {"seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}


# For the page.
TITLES = {
    "prior": "prior",
    "bias": "prior minus mean score",
    "debiased_ece": "calibration error",
    "auroc": "AUROC",
    "precision": "precision at 0.5",
    "recall": "recall at 0.5",
}
GROUPS = (5, 20, 200)
STUDY = Study("groups", (coverage, size, cost), optional=("cost",))
