"""The models that each criterion chooses, as data frames, and intervals over methods."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from experiments.training.plan import TWINS, WORLDS
from noneg.lab.bench import RunConfig, load_records, select
from noneg.lab.bench.measures import RECALIBRATED, TEST, Selected, best_checkpoint
from noneg.learning.algorithms import ALGORITHMS
from noneg.randomness import stream

Record = dict[str, Any]
DRAWS = 2000
NEARLY = 0.9
WORLD_NAMES = {"usps": "USPS", "letter": "Letter", "cifar10": "CIFAR-10"}
PLACE = ["world", "method", "split"]
# Methods that are equivalent to another one under this protocol, and the latter.
SAME = {"/".join(twin): "/".join(other) for twin, other in TWINS.items()}
CRITERIA = (
    "proxy_accuracy",
    "proxy_auc",
    "oracle_accuracy",
    "pu_log_loss",
    "pu_brier",
    "pu_ece",
    "proxy_accuracy_slip",
)
KEPT = ("step", *CRITERIA, "pu_ece_recalibrated", *TEST, *RECALIBRATED)


def title(method: str) -> str:
    """Return the name used in tables: "-c" is the paper's correction, and "bench" its version."""
    algorithm, *rest = method.split("/")
    name = ALGORITHMS[algorithm].title
    if "bench" not in rest:
        return name
    return f"{name}-c (bench)" if "batch" in rest else f"{name} (bench)"


@dataclass(frozen=True)
class Interval:
    """A mean, or another statistic, with its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    def text(self, scale: float = 1.0, digits: int = 2, *, sign: bool = True) -> str:
        plus = "+" if sign else ""
        ends = (self.value, self.low, self.high)
        value, low, high = (f"{scale * x:{plus}.{digits}f}" for x in ends)
        return f"{value} [{low}, {high}]"

    @property
    def points(self) -> str:
        return self.text(100)

    @property
    def plain(self) -> str:
        return self.text(1, 2, sign=False)

    @property
    def clear(self) -> bool:
        """Return whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


def interval(groups, values, statistic=np.mean) -> Interval:
    """Percentile bootstrap over whole groups, because runs of one method are not independent."""
    rows = np.asarray(values, dtype=float)
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    members = [np.flatnonzero(place == k) for k in range(names.size)]
    random, draws = stream(0, "benchmark"), []
    for _ in range(DRAWS):
        chosen_groups = random.integers(names.size, size=names.size)
        draws.append(statistic(rows[np.concatenate([members[k] for k in chosen_groups])]))
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return Interval(float(statistic(rows)), float(low), float(high), len(rows))


def over_methods(gaps: pd.Series) -> Interval:
    """Return the interval for the mean of paired differences."""
    gaps = gaps.dropna()
    return interval(gaps.index.get_level_values("method").to_numpy(str), gaps)


def sem(values: pd.Series) -> float:
    """Return the standard error of a mean; for a single value, it is unknown."""
    n = len(values)
    return float(np.std(values.to_numpy(), ddof=1) / n**0.5) if n > 1 else np.nan


def rank_correlation(pairs: np.ndarray) -> float:
    """Return Spearman's correlation of two columns."""
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def correlation(pairs: np.ndarray) -> float:
    """Return Pearson's correlation of two columns."""
    return float(np.corrcoef(pairs.T)[0, 1])


def frame(found: Iterable[Selected]) -> pd.DataFrame:
    """Return one row per selection: its run, the checkpoint, and the metrics there."""
    fields = ("dataset", "case", "setting", "rate", "given_prior", "algorithm", "variant")
    fields += ("correction", "split", "configuration", "steps")
    rows = [
        {name: getattr(s.run, name) for name in fields}
        | {"world": s.world, "method": s.method, "step": s.step}
        | {name: np.nan if value is None else value for name, value in s.metrics.items()}
        for s in found
    ]
    columns = [*fields, "world", "method", "step", *TEST, *RECALIBRATED]
    return pd.DataFrame(rows, columns=None if rows else columns)


def chosen(records: list[Record], criterion: str) -> pd.DataFrame:
    """Return the models that a criterion chooses, by problem, method and split."""
    return frame(select(records, by=criterion)).set_index(PLACE, drop=False).rename_axis(PLACE)


def checkpoints(records: Iterable[Record], criterion: str) -> pd.DataFrame:
    """Return the best checkpoint of every run that has one."""
    found = (best_checkpoint(r, criterion) for r in records if r["status"] == "done")
    return frame(s for s in found if s is not None)


def configs(records: Iterable[Record]) -> list[tuple[RunConfig, Record]]:
    return [(RunConfig.from_dict(r["run"]), r) for r in records]


def main_runs(records: Iterable[Record]) -> list[Record]:
    """One sample, 30% labeled, known prior: the paper's problems."""
    return [
        r
        for run, r in configs(records)
        if (run.dataset, run.case) in WORLDS
        and (run.setting, run.rate, run.given_prior) == ("one-sample", 0.3, None)
    ]


def single(records: list[Record]) -> list[Record]:
    """Omit methods that are equivalent to another one under this protocol."""
    return [r for run, r in configs(records) if run.method not in SAME]


def defaults(records: Iterable[Record]) -> list[Record]:
    return [r for r in records if r["run"]["configuration"] == 0]


def fair(records: list[Record]) -> list[Record]:
    """The paper's problems with default hyperparameters: the same splits for every method."""
    return complete(single(main_runs(defaults(records))))


def common(records: list[Record]) -> list[Record]:
    """Keep configurations that nearly all methods have in every split of a problem, and complete
    methods.

    A method without one of them would otherwise be evaluated on fewer tries than the others.
    """
    tries: dict[tuple, dict[str, dict[int, set]]] = defaultdict(lambda: defaultdict(dict))
    for run, r in configs(records):
        if r["status"] == "done":
            splits = tries[_world(run)][run.method]
            splits.setdefault(run.split, set()).add(run.configuration)
    kept = {}
    for world, methods in tries.items():
        having = {m: set.intersection(*splits.values()) for m, splits in methods.items()}
        many = Counter(number for found in having.values() for number in found)
        shared = {number for number, n in many.items() if n >= NEARLY * len(having)} or {0}
        kept |= {(world, m): shared for m, found in having.items() if shared <= found}
    return [
        r
        for run, r in configs(records)
        if run.configuration in kept.get((_world(run), run.method), ())
    ]


def _world(run: RunConfig) -> tuple:
    return run.dataset, run.case, run.setting, run.rate


def complete(records: list[Record]) -> list[Record]:
    """Keep splits of a problem that nearly all methods have, so that all are evaluated on the same
    ones."""
    blocks: dict[tuple, set[str]] = defaultdict(set)
    for run, r in configs(records):
        if r["status"] == "done" and run.configuration == 0:
            blocks[run.dataset, run.case, run.split].add(run.method)
    most = max((len(found) for found in blocks.values()), default=0)
    kept = {block for block, found in blocks.items() if len(found) >= NEARLY * most}
    return [r for run, r in configs(records) if (run.dataset, run.case, run.split) in kept]


def thin(record: Record) -> Record:
    """Return a record with the checkpoints that some criterion chooses, which is all that the page
    needs.

    The selection, tables and ranks of ``noneg.lab.bench`` accept it like a complete record.
    """
    plain = {name: record[name] for name in ("format", "key", "run", "status", "versions")}
    if record["status"] != "done":
        return plain | {"error": record["error"], "checkpoints": {}}
    columns = record["checkpoints"]
    best = (best_checkpoint(record, criterion) for criterion in CRITERIA)
    steps = {found.step for found in best if found is not None}
    places = [k for k, step in enumerate(columns["step"]) if int(step) in steps]
    rest = ("seconds", "cpu_seconds", "device", "precision", "diverged")
    kept = {name: [_short(columns[name][k]) for k in places] for name in KEPT if name in columns}
    return plain | {name: record[name] for name in rest} | {"checkpoints": kept}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def collect(folder: Path, out: Path) -> list[Record]:
    """Add the records of a folder to the stored ones, and return all."""
    path = out / "records.jsonl"
    before = {record["key"]: record for record in load_records(path)} if path.exists() else {}
    found = before | {record["key"]: thin(record) for record in load_records(folder)}
    lines = (json.dumps(found[key], separators=(",", ":")) for key in sorted(found))
    path.write_text("".join(line + "\n" for line in lines))
    return load_records(path)
