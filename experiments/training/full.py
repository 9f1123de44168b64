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

from experiments.study import Run, Study
from experiments.training import benchmark, plan
from noneg.lab.bench import RunConfig, load_records, select
from noneg.lab.bench.measures import best_checkpoint

CRITERIA = ("proxy_accuracy", "proxy_auc", "oracle_accuracy")
METRICS = ("accuracy", "auc", "f1", "ece", "ece_recalibrated")
folder = partial(benchmark.folder, name="pu_protocol")


def train(run: Run, runs: list[RunConfig]) -> None:
    if run.quick:
        runs = [replace(r, steps=40, every=20) for r in runs if r.configuration + r.split == 0][:6]
    benchmark.train(run, runs, folder(run), population=run.options.population)


def protocol(run: Run) -> None:
    train(run, plan.protocol())


def rates(run: Run) -> None:
    train(run, plan.rates())


def selections(run: Run) -> None:
    train(run, plan.selections())


def tables(run: Run) -> dict[str, list[dict]]:
    """Return the models that the criteria choose, from all records in the folder."""
    records = [r for r in load_records(folder(run)) if r["status"] == "done"]
    parts: dict[str, list[dict]] = {"chosen": [], "rates": [], "selection": []}
    for record in records:
        named = "options" in record["run"]
        two = record["run"]["setting"] == "two-sample"
        parts["rates" if named else "selection" if two else "chosen"].append(record)
    return {
        "chosen": _chosen(parts["chosen"], CRITERIA),
        "rates": _chosen(parts["rates"], ("oracle_accuracy",)),
        "selection": _chosen(parts["selection"], ("proxy_accuracy",)),
        "configurations": [row for r in parts["chosen"] for row in _configuration(r)],
        "time": _time(parts),
    }


def _chosen(records: list[dict], criteria: tuple[str, ...]) -> list[dict]:
    """Return one row for each problem, method, split and criterion."""
    return [
        {
            "dataset": found.run.dataset,
            "case": found.run.case,
            "told": found.run.given_prior or "",
            "method": found.method,
            "split": found.run.split,
            "criterion": criterion,
            "configuration": found.run.configuration,
            "step": found.step,
            **{name: found.metrics[name] for name in METRICS},
        }
        for criterion in criteria
        for found in select(records, by=criterion)
    ]


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


def _time(parts: dict[str, list[dict]]) -> list[dict]:
    """Return the runs, steps and device minutes of each part."""
    paper = plan.paper_methods()
    rows: dict[tuple[str, str], list[dict]] = {}
    for part, records in parts.items():
        for r in records:
            run = RunConfig.from_dict(r["run"])
            kind = "paper" if run.method in paper else "other"
            data = run.dataset if part == "chosen" else ""
            rows.setdefault((part, f"{data} {kind}".strip()), []).append(r)
    return [
        {
            "part": part,
            "what": what,
            "runs": len(found),
            "steps": sum(r["run"]["steps"] for r in found),
            "minutes": sum(r["seconds"] for r in found) / 60.0,
            "diverged": sum(bool(r["diverged"]) for r in found),
            **{f"{k} version": found[0]["versions"][k] for k in ("python", "numpy", "torch")},
        }
        for (part, what), found in rows.items()
    ]


def speed(run: Run) -> dict[str, list[dict]]:
    """Return the steps per second of one run and of a population."""
    from experiments.training.speed import measure

    versions = run.pick(plan.paper_versions(), plan.paper_versions()[:1])
    return {"speed": [measure(method, run.options.device) for method in versions]}


def arguments(parser: argparse.ArgumentParser) -> None:
    benchmark.common_arguments(parser)
    parser.add_argument("--population", type=int, default=300, help="runs to train at once")


STUDY = Study(
    "pu_protocol",
    parts=(protocol, rates, selections, tables, speed),
    page="experiments.training.full_page",
    named=("speed",),
    arguments=arguments,
    digits=5,
)
