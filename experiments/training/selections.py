"""Runs and the models that each criterion chooses, as data frames, and intervals over methods."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from experiments.tables import Row, pick
from experiments.training.plan import TWINS, WORLDS
from noneg.lab.bench import RunConfig, load_records, select
from noneg.lab.bench.measures import RECALIBRATED, TEST, Selected, best_checkpoint
from noneg.lab.bench.summaries import paper_numbers
from noneg.learning.algorithms import ALGORITHMS
from noneg.randomness import stream

Record = dict[str, Any]
DRAWS = 2000
NEARLY = 0.9
WORLD_NAMES = {
    "usps": "USPS",
    "letter": "Letter",
    "letter-standardized": "Letter, standardized",
    "cifar10": "CIFAR-10",
}
THREE = {"proxy_accuracy": "PA", "proxy_auc": "PAUC", "oracle_accuracy": "OA"}
METRICS = {"accuracy": "accuracy", "auc": "AUC", "f1": "F1"}
PLACE = ["world", "method", "split"]
# Methods that are equivalent to another one under this protocol, and the latter.
SAME = {"/".join(twin): "/".join(other) for twin, other in TWINS.items()}
CRITERIA = (*THREE, "pu_log_loss", "pu_brier", "pu_ece", "proxy_accuracy_slip")
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


def rank_correlation(pairs: np.ndarray) -> float:
    """Return Spearman's correlation of two columns."""
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def correlation(pairs: np.ndarray) -> float:
    """Return Pearson's correlation of two columns."""
    return float(np.corrcoef(pairs.T)[0, 1])


def all_runs(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per run: its configuration, what its record says about it, and the record."""
    rows = []
    for record in records:
        run = RunConfig.from_dict(record["run"])
        about = {
            name: value for name, value in record.items() if name not in ("run", "checkpoints")
        }
        rows.append(vars(run) | about | {"method": run.method, "record": record})
    return pd.DataFrame(rows)


def where(rows: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the rows that have these values."""
    for name, value in wanted.items():
        rows = rows[rows[name].to_numpy() == value]
    return rows


def done(runs: pd.DataFrame) -> pd.DataFrame:
    return where(runs, status="done")


def defaults(runs: pd.DataFrame) -> pd.DataFrame:
    return where(runs, configuration=0)


def main_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """One sample, 30% labeled, known prior: the paper's problems."""
    paper = runs.set_index(["dataset", "case"]).index.isin(WORLDS)
    return where(runs[paper & runs["given_prior"].isna()], setting="one-sample", rate=0.3)


def single(runs: pd.DataFrame) -> pd.DataFrame:
    """Omit methods that are equivalent to another one under this protocol."""
    return runs[~runs["method"].isin(SAME)]


def fair(runs: pd.DataFrame) -> pd.DataFrame:
    """The paper's problems with default hyperparameters: the same splits for every method."""
    return complete(single(main_runs(defaults(runs))))


def common(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep configurations that nearly all methods have in every split of a problem, and complete
    methods.

    A method without one of them would otherwise be evaluated on fewer tries than the others.
    """
    kept = []
    for _, part in done(runs).groupby(["dataset", "case", "setting", "rate"]):
        tried = pd.crosstab([part["method"], part["split"]], part["configuration"]) > 0
        tried = tried.groupby(level="method").all()
        shared = tried.columns[tried.mean() >= NEARLY]
        complete_ones = tried.index[tried[shared].all(axis=1)]
        kept.append(part[part["configuration"].isin(shared) & part["method"].isin(complete_ones)])
    return pd.concat(kept).sort_index()


def complete(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep splits of a problem that nearly all methods have, so that all are evaluated on the same
    ones."""
    block = ["dataset", "case", "split"]
    methods = defaults(done(runs)).groupby(block)["method"].nunique()
    kept = methods.index[methods >= NEARLY * methods.max()]
    return runs[runs.set_index(block).index.isin(kept)]


def frame(found: Iterable[Selected]) -> pd.DataFrame:
    """Return one row per selection: its run, the checkpoint, and the metrics there."""
    rows = [
        vars(s.run)
        | {"world": s.world, "method": s.method, "step": s.step}
        | {name: np.nan if value is None else value for name, value in s.metrics.items()}
        for s in found
    ]
    columns = [*RunConfig.__dataclass_fields__, "world", "method", "step", *TEST, *RECALIBRATED]
    return pd.DataFrame(rows, columns=None if rows else columns)


def chosen(runs: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Return the models that a criterion chooses, by problem, method and split."""
    found = frame(select(runs["record"], by=criterion)).assign(criterion=criterion)
    return found.set_index(PLACE, drop=False).rename_axis(PLACE)


def choices(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the models that each criterion chooses, in one table."""
    return pd.concat([chosen(runs, c) for c in CRITERIA], ignore_index=True)


def checkpoints(runs: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Return the best checkpoint of every run that has one."""
    found = (best_checkpoint(record, criterion) for record in done(runs)["record"])
    return frame(s for s in found if s is not None)


# The paper's first two findings, from any table of chosen models.


def winners(rows: pd.DataFrame, name: Callable[[str], str] = title) -> Counter:
    """Count how often a method is first over problems, metrics and the paper's criteria."""
    first: Counter = Counter()
    for criterion in THREE:
        for _, part in where(rows, criterion=criterion).groupby(["dataset", "case"]):
            by_method = part.groupby("method")[list(METRICS)]
            means = by_method.apply(lambda own: own.mean(skipna=False))
            first.update(map(name, means.idxmax()))
    return first


def _wide(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    place = ["dataset", "case", "method", "split"]
    return rows.pivot_table(index=place, columns="criterion", values=metric)


def against(rows: pd.DataFrame, one: str, two: str, metric: str = "accuracy") -> Interval:
    """Return the interval for the difference between the models chosen by two criteria."""
    wide = _wide(rows, metric)
    return over_methods(wide[one] - wide[two])


def spread(rows: pd.DataFrame) -> np.ndarray:
    """Return how much the paper's three criteria differ in accuracy, for each method and split."""
    return np.ptp(_wide(rows, "accuracy")[list(THREE)].dropna().to_numpy(), axis=1)


def printed(dataset: str, case: int) -> dict[str, Row]:
    """Return the accuracies in the paper's tables, selected by OA, keyed by its method names."""
    wanted = {"metric": "accuracy", "criterion": "oracle_accuracy"}
    found = pick(paper_numbers(), dataset=dataset, case=case, **wanted)
    return {number["method"]: number for number in found}


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
