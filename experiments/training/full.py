"""The whole protocol of the PU benchmark paper on USPS and Letter, trained as populations.

Ten configurations, three splits, 20,000 steps, all methods with and without correction; the same on
standardized letters; the original methods for comparison; learning rates; labels that favor
high-scoring positives. A GPU does it in half an hour: ``--device cuda --population 300``. It can be
stopped at any time; the same command resumes where it stopped. The tables contain the models that
the criteria choose.
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from experiments.study import Run, Study
from experiments.tables import merged, read
from experiments.training import benchmark, plan
from experiments.training.selections import THREE, all_runs, chosen, done, where
from experiments.training.trees import LEARNERS, table_learner
from noneg.lab.bench import RunConfig, load_records
from noneg.lab.bench.measures import best_checkpoint

COLUMNS = ["dataset", "case", "told", "method", "split", "criterion", "configuration", "step"]
COLUMNS += ["accuracy", "auc", "f1", "ece", "ece_recalibrated"]
folder = partial(benchmark.folder, name="pu_protocol")


def train(run: Run, runs: list[RunConfig]) -> set[str]:
    """Train the runs without a record, and return the names of all."""
    if run.quick:
        runs = [replace(r, steps=40, every=20) for r in runs if r.configuration + r.split == 0][:6]
    benchmark.train(run, runs, folder(run))
    return {one.key for one in runs}


def finished(run: Run, asked: set[str]) -> pd.DataFrame:
    """Return the runs with these names that are done."""
    runs = done(all_runs(load_records(folder(run))))
    return runs[[record["key"] in asked for record in runs["record"]]]


def protocol(run: Run) -> None:
    train(run, plan.protocol())


def rates(run: Run) -> None:
    train(run, plan.rates())


def selections(run: Run) -> None:
    train(run, plan.selections())


def features(run: Run) -> dict[str, list[dict]]:
    """Train with labels that favor a feature or a class."""
    runs = finished(run, train(run, plan.features()))
    return {"features": _chosen(runs, "proxy_accuracy"), "time": times(run, "features", runs)}


def later(run: Run) -> dict[str, list[dict]]:
    """Train methods that were published after the benchmark."""
    return {"later": _chosen(finished(run, train(run, plan.later())), *THREE)}


def trees(run: Run) -> dict[str, list[dict]]:
    """Fit learners for tables to the same rows, on processors."""
    worlds = run.pick(plan.WORLDS, plan.WORLDS[:1])
    cells = [
        {"dataset": dataset, "case": case, "method": method, "split": split}
        for dataset, case in worlds
        for method in LEARNERS
        for split in range(run.pick(plan.SPLITS, 1))
    ]
    return {"trees": run.rows(table_learner, cells)}


def two_samples(run: Run) -> dict[str, list[dict]]:
    """Train the methods that the paper corrects in two samples, where they need no correction."""
    runs = finished(run, train(run, plan.two_samples()))
    rows = zip(runs["setting"], runs["record"], strict=True)
    return {
        "two_samples": [{"setting": s} | row for s, r in rows for row in _configuration(r)],
        "time": times(run, "two samples", runs),
    }


def times(run: Run, part: str, runs: pd.DataFrame) -> list[dict]:
    """Return the stored times, with those of one part replaced."""
    return merged(run.out / "time.csv", _time(runs.assign(part=part)), "part", digits=run.digits)


def tables(run: Run) -> dict[str, list[dict]]:
    """Return the models that the criteria choose, from all records in the folder."""
    runs = done(all_runs(load_records(folder(run))))
    runs = runs[(runs["setting"] == "one-sample") | (runs["variant"] != "bench")].copy()
    two = np.where(runs["setting"] == "two-sample", "selection", "chosen")
    runs["part"] = np.where(runs["options"].map(bool), "rates", two)
    parts = {name: where(runs, part=name) for name in ("chosen", "rates", "selection")}
    return {
        "chosen": _chosen(parts["chosen"], *THREE),
        "rates": _chosen(parts["rates"], "oracle_accuracy"),
        "selection": _chosen(parts["selection"], "proxy_accuracy"),
        "configurations": [row for r in parts["chosen"]["record"] for row in _configuration(r)],
        "time": _time(runs.sort_values("part", kind="stable")),
    }


def _chosen(runs: pd.DataFrame, *criteria: str) -> list[dict]:
    """Return one row for each problem, method, split and criterion."""
    rows = pd.concat([chosen(runs, criterion) for criterion in criteria])
    rows["told"] = rows["given_prior"].astype(object).fillna("")
    return rows[COLUMNS].to_dict("records")


def _configuration(record: dict) -> list[dict]:
    """Return validation and test accuracy of one configuration at its best checkpoint, by OA."""
    found = best_checkpoint(record, "oracle_accuracy")
    if found is None:
        return []
    drawn = {k: v for k, v in record["hyperparameters"].items() if k not in ("lr", "batch")}
    return [
        {
            "dataset": found.run.dataset,
            "case": found.run.case,
            "method": found.method,
            "configuration": found.run.configuration,
            "split": found.run.split,
            "lr": record["hyperparameters"]["lr"],
            "drawn": " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                              for k, v in drawn.items()),
            "value": found.value,
            "accuracy": found.metrics["accuracy"],
        }
    ]  # fmt: skip


def _time(runs: pd.DataFrame) -> list[dict]:
    """Return the runs, steps and device minutes of each part."""
    data = runs["dataset"].where(runs["part"] == "chosen", "")
    kind = np.where(runs["method"].isin(plan.paper_methods()), "paper", "other")
    return [
        {
            "part": part,
            "what": what.strip(),
            "runs": len(found),
            "steps": found["steps"].sum(),
            "minutes": found["seconds"].sum() / 60.0,
            "diverged": found["diverged"].astype(bool).sum(),
            **{f"{k} version": found["versions"].iloc[0][k] for k in ("python", "numpy", "torch")},
        }
        for (part, what), found in runs.groupby(["part", data + " " + kind], sort=False)
    ]


def speed(run: Run) -> dict[str, list[dict]]:
    """Return the steps per second of one run and of a population; other devices keep their rows."""
    from experiments.training.speed import measure

    versions, path = (
        run.pick(plan.paper_versions(), plan.paper_versions()[:1]),
        run.out / "speed.csv",
    )
    found = [measure(method, run.options.device) for method in versions]
    kept = read(path) if path.exists() else []
    return {"speed": [row for row in kept if row["device"] != found[0]["device"]] + found}


def arguments(parser: argparse.ArgumentParser) -> None:
    benchmark.common_arguments(parser, population=300)


STUDY = Study(
    "pu_protocol",
    parts=(protocol, rates, selections, features, later, trees, two_samples, tables, speed),
    page="experiments.training.full_page",
    named=("features", "later", "trees", "two_samples", "speed"),
    arguments=arguments,
    digits=5,
)
