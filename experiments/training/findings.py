"""Runs and the models that each criterion chooses, as data frames; the paper's three findings, the
error in its code, and calibration results, with intervals over methods."""

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
from experiments.training.plan import CORRECTED, TOLD, TWINS, WORLDS
from noneg.lab.bench import Ranks, RunConfig, load_records, rank_methods, select
from noneg.lab.bench.measures import RECALIBRATED, TEST, Selected, best_checkpoint
from noneg.lab.bench.summaries import Cell, paper_numbers
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
CELL = ["dataset", "case", "method"]
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


def world(dataset: str, case: int) -> str:
    return f"{WORLD_NAMES[dataset]} {case}"


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


def main_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    return defaults(done(main_runs(runs)))


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


WITHOUT_LABELS = ("proxy_accuracy", "proxy_auc", "pu_log_loss", "pu_brier", "pu_ece")
KINDS = ("batch", "ref", "two")


def ranks(runs: pd.DataFrame, metric: str, criterion: str) -> Ranks:
    """Rank methods in every split of every problem."""
    asked = {"metric": metric, "criterion": criterion}
    unknown = {"std": np.nan, "error": np.nan, "splits": 1}
    cells = [
        Cell(world=(*world, split), method=title(method), mean=float(value), **asked, **unknown)
        for (world, method, split), value in chosen(fair(runs), criterion)[metric].items()
    ]
    return rank_methods(cells, **asked)


def criteria(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means for the models that each criterion chooses, and differences from proxy
    accuracy."""
    found = []
    for criterion in (*WITHOUT_LABELS, "oracle_accuracy"):
        own = where(rows, criterion=criterion)
        row: dict[str, Any] = {"criterion": criterion, "n": len(own)}
        for metric in ("accuracy", "auc", "ece", "log_loss"):
            row[metric] = float(own[metric].mean())
            if criterion != "proxy_accuracy":
                row[f"{metric}_gap"] = against(rows, criterion, "proxy_accuracy", metric)
        found.append(row)
    return found


def twins_agree(runs: pd.DataFrame) -> tuple[int, int]:
    """Return how many pairs of equivalent runs choose the same model with the same score, and the
    total."""
    found = checkpoints(runs, "oracle_accuracy")
    found = found[found["given_prior"].isna()]
    twins = found[found["method"].isin(SAME)].copy()
    twins["method"] = twins["method"].map(SAME)
    keys = ["method", "dataset", "case", "setting", "rate", "configuration", "split"]
    both = twins.merge(found, on=keys)
    same = (both["accuracy_x"] == both["accuracy_y"]) & (both["step_x"] == both["step_y"])
    return int(same.sum()), len(both)


def more_labels(runs: pd.DataFrame, few: float = 0.1, many: float = 0.5) -> dict[str, Interval]:
    """Return the effect of more labeled rows on accuracy, uncorrected and corrected, paired over
    splits."""
    found = chosen(defaults(runs), "oracle_accuracy")
    found = found[(found["variant"] == "bench") & ~found["method"].isin(SAME)]
    keys = ["correction", "dataset", "algorithm", "case", "setting", "split"]
    at = {rate: found[found["rate"] == rate].set_index(keys)["accuracy"] for rate in (few, many)}
    gaps = (at[many] - at[few]).dropna()
    return {
        kind: interval([" ".join(place[1:3]) for place in own.index], own)
        for kind, own in gaps.groupby(level="correction")
    }


def slip(runs: pd.DataFrame) -> dict[str, Any]:
    """Return how often the published criterion chooses a different checkpoint or run, and the
    cost."""
    pair = ("proxy_accuracy", "proxy_accuracy_slip")
    kept, keys = single(main_runs(runs)), [*PLACE, "configuration"]
    a, b = (checkpoints(kept, criterion).set_index(keys)["step"] for criterion in pair)
    first, second = (chosen(fair(runs), criterion) for criterion in pair)
    models = (first[["configuration", "step"]] != second[["configuration", "step"]]).any(axis=1)
    return {
        "changed": float((a != b).mean()),
        "runs": len(a),
        "models_changed": float(models.mean()),
        "models": len(models),
        **{
            metric: over_methods(second[metric] - first[metric])
            for metric in ("accuracy", "recall", "precision", "f1", "ece")
        },
    }


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the calibration and scoring errors of every method, before and after recalibration."""
    names = ["accuracy", "ece", "pu_ece", "ece_recalibrated", "pu_ece_recalibrated"]
    found = where(rows, criterion="proxy_accuracy").groupby("method")
    return found[names].mean().sort_values("ece", kind="stable")


def known_prior(runs: pd.DataFrame) -> pd.DataFrame:
    found = checkpoints(single(runs), "proxy_accuracy")
    return found[found["given_prior"].isna()]


def agreement(runs: pd.DataFrame, *, varied: bool = False) -> dict[str, Any]:
    """Return the correlation of PU-ECE with the true error over all runs.

    `varied` omits runs that assign every test row to the same class.
    """
    found = known_prior(runs)
    if varied:
        found = found[~found["recall"].isin((0.0, 1.0))]
    groups, values = found["method"].to_numpy(str), found[["pu_ece", "ece"]].to_numpy(float)
    return {
        "pairs": values,
        "pearson": interval(groups, values, correlation),
        "spearman": interval(groups, values, rank_correlation),
        "gap": interval(groups, values[:, 0] - values[:, 1]),
    }


def constant(runs: pd.DataFrame) -> Counter:
    """Return runs whose chosen model assigns all test rows to one class, by data set and method."""
    found = known_prior(runs)
    found = found[found["recall"].isin((0.0, 1.0))]
    return Counter(f"{title(r.method)} on {r.dataset}" for r in found.itertuples())


def recalibration_gain(rows: pd.DataFrame) -> Interval:
    """Return the interval for the effect of recalibration on the true error."""
    found = where(rows, criterion="proxy_accuracy").set_index("method")
    return over_methods(found["ece_recalibrated"] - found["ece"])


def shift(runs: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Two-sample methods: in two samples, uncorrected in one sample, corrected, and original."""
    runs = where(defaults(runs), rate=0.3)
    runs = runs[runs["algorithm"].isin(CORRECTED) & runs["given_prior"].isna()]
    found = chosen(runs, criterion)
    keys = ["dataset", "case", "algorithm", "split"]
    one = found[found["setting"] == "one-sample"]
    batch = one[one["correction"] == "batch"]
    # Instead of a corrected method, the equivalent one that was run on all splits.
    alike = [
        where(batch, method=same).assign(algorithm=original(twin)) for twin, same in SAME.items()
    ]
    parts = {
        "none": one[(one["correction"] == "none") & ~one["method"].isin(SAME)],
        "ref": one[one["variant"] == "ref"],
        "two": found[(found["setting"] == "two-sample") & (found["variant"] == "bench")],
        "batch": pd.concat([*alike, batch]).drop_duplicates(keys),
    }
    wide = pd.DataFrame({k: part.set_index(keys)["accuracy"] for k, part in parts.items()})
    wide = wide.dropna(subset="none")
    means = wide.groupby(level=keys[:3]).mean()
    gaps = wide[list(KINDS)].sub(wide["none"], axis=0)
    groups = [" ".join(map(str, place[:3])) for place in wide.index]
    there = [kind for kind in KINDS if gaps[kind].notna().any()]
    return {
        "rows": means,
        "gaps": {k: _interval(groups, gaps[k]) for k in there},
        "medians": {k: gaps[k].dropna().groupby(level=keys[:3]).mean() for k in there},
    }


def _interval(groups: list[str], gaps: pd.Series) -> Interval:
    known = gaps.notna().to_numpy()
    return interval(np.array(groups)[known], gaps[known])


def both_samples(runs: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Return the accuracies on USPS, case 1, by version and split: in two samples, and uncorrected
    in one."""
    found = chosen(defaults(runs), criterion).drop(columns=PLACE).reset_index()
    found = found[found["correction"].fillna("none") == "none"]
    found["method"] = found["method"].str.removesuffix("/none")
    found["given_prior"] = found["given_prior"].fillna(-1.0)
    keys = ["method", "split", "dataset", "case", "rate", "given_prior"]
    wide = found.pivot_table(index=keys, columns="setting", values="accuracy")
    wide = wide.reindex(columns=["two-sample", "one-sample"]).dropna()
    return wide.set_axis(["two", "one"], axis=1).drop("pusb/bench", level="method", errors="ignore")


def losses(runs: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Return the loss in one sample: for the paper's versions that use a prior, and their
    originals."""
    rows = both_samples(runs, criterion)
    gaps = rows["two"] - rows["one"]
    stats = gaps.groupby(level="method").agg(["mean", "sem", "size"])
    told = [m for m in stats.index if m.endswith("/bench") and needs_prior(m)]
    clear = [m for m in told if stats["mean"][m] > 2.0 * stats["sem"].fillna(np.inf)[m]]
    paired = [m for m in told if original(m) in stats.index]
    beyond = gaps - gaps.index.get_level_values("method").map(
        lambda m: stats["mean"].get(original(m), np.nan)
    )
    return {
        "means": rows.groupby(level="method").mean(),
        "lost": stats,
        "told": told,
        "clear": sorted(clear, key=lambda m: -stats["mean"][m]),
        "bench": _over(gaps, told),
        "original": _over(gaps, [original(m) for m in paired]),
        "beyond": _over(beyond, paired),
    }


def original(method: str) -> str:
    return method.split("/", maxsplit=1)[0]


def needs_prior(method: str) -> bool:
    return ALGORITHMS[original(method)].needs_prior


def _over(gaps: pd.Series, methods: list[str]) -> Interval | None:
    own = gaps[gaps.index.get_level_values("method").isin(methods)]
    return over_methods(own) if len(own) else None


def several(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs for problems with several configurations, limited to those that every method
    has."""
    kept = common(complete(single(main_runs(runs))))
    many = kept.groupby(["dataset", "case"])["configuration"].transform("nunique")
    return kept[many > 1]


def shared(runs: pd.DataFrame) -> dict[tuple[str, int], set[int]]:
    """Return the configurations that every method has, for problems with several of them."""
    found = several(runs).groupby(["dataset", "case"])["configuration"]
    return {world: set(numbers) for world, numbers in found}


def gains(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the gain from choosing configurations by each criterion, and how often it differs."""
    runs, rows = several(runs), []
    for criterion in (*WITHOUT_LABELS, "oracle_accuracy"):
        best, first = chosen(runs, criterion), chosen(defaults(runs), criterion)
        rows.append(
            {
                "criterion": criterion,
                "n": len(first),
                "default": float(first["accuracy"].mean()),
                "best": float(best["accuracy"].mean()),
                "gap": over_methods(best["accuracy"] - first["accuracy"]),
                "other": float((best["configuration"] > 0).mean()),
            }
        )
    return rows


def by_oracle(runs: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the default runs on the main problems at the checkpoint that the oracle chooses."""
    return chosen(where(defaults(single(main_runs(runs))), **wanted), "oracle_accuracy")


def late(runs: pd.DataFrame, dataset: str, share: float = 0.8) -> float:
    """Return how many runs with default hyperparameters are best, by OA, near the end of
    training."""
    own = by_oracle(runs, dataset=dataset)
    return float((own["step"] > share * own["steps"]).mean())


def stuck(runs: pd.DataFrame, method: str) -> tuple[int, int, float]:
    """Return the default runs on Letter that predict only positives, the total, and their smallest
    error."""
    own = by_oracle(runs, dataset="letter", method=method)
    # If every row is predicted positive, accuracy and precision equal the share of positives.
    alike = own[(own["recall"] == 1.0) & (own["accuracy"] == own["precision"])]
    return len(alike), len(own), float(alike["ece"].min())


def first_letter(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs on the first split of Letter, case 1."""
    return where(single(main_runs(runs)), dataset="letter", case=1, split=0)


def tried(runs: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Return the accuracy by OA of each configuration on Letter 1, split 0, for methods with more
    than two."""
    own = checkpoints(first_letter(runs), "oracle_accuracy")
    cells = {
        m: dict(zip(p["configuration"], p["accuracy"], strict=True))
        for m, p in own.groupby("method", sort=False)
    }
    return {method: values for method, values in cells.items() if len(values) > 2}


def rate_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy and its standard error, in %, by data set, method, correction and
    rate.

    Methods that are equivalent to another one under this protocol have its numbers.
    """
    runs = where(defaults(runs), variant="bench", setting="one-sample", case=1)
    known = runs["algorithm"].isin(CORRECTED) & runs["given_prior"].isna()
    found = chosen(runs[known & (runs["dataset"] != "cifar10")], "oracle_accuracy")
    keys = ["dataset", "algorithm", "correction", "rate"]
    cells = found.set_index(keys)["accuracy"].groupby(level=keys).agg(["mean", "sem"])
    return 100 * cells.fillna({"sem": 0.0})


def rate_line(cells: pd.DataFrame, dataset: str, name: str, correction: str) -> pd.DataFrame:
    """Return means and errors by rate, from the equivalent method if there is one."""
    own = SAME.get(f"{name}/bench/{correction}", f"{name}/bench/{correction}").split("/")
    place = (dataset, own[0], own[2])
    return cells.loc[place] if place in cells.index else cells.iloc[:0].droplevel([0, 1, 2])


def told_cells(runs: pd.DataFrame) -> dict[str, dict[float, pd.DataFrame]]:
    """Return metrics by method and given prior, one row per split, for priors that all methods
    have."""
    runs = where(defaults(runs), dataset="usps", setting="one-sample", case=1, rate=0.3)
    found = chosen(runs[runs["method"].isin([name for name, *_ in TOLD])], "proxy_accuracy")
    told = found["given_prior"].astype(float).fillna(0.5).to_numpy()
    cells = {
        m: dict(list(p.groupby(told[found["method"] == m])))
        for m, p in found.groupby(level="method")
    }
    whole = sorted(set.intersection(*map(set, cells.values()))) if cells else []
    return {method: {prior: own[prior] for prior in whole} for method, own in cells.items()}
