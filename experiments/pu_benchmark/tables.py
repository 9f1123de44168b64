"""Tables of the page: the paper's worlds beside its numbers, CIFAR-10, and the cost."""

# ruff: noqa: E501 - the text is broken where the page breaks it

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from choices import WORLD_NAMES, chosen, configs, main_runs, title
from findings import THREE, fair
from noneg.bench.summaries import paper_name, paper_numbers
from noneg.bench.work import versions
from pages import percent, table
from plan import IMAGE_STEPS, SPLITS, STEPS

from noneg.bench import against_paper, summarise
from noneg.learning.algorithms import ALGORITHMS

if TYPE_CHECKING:
    Record = dict[str, Any]


def mean_error(values: list[float]) -> str:
    if len(values) < 2:
        return percent(values[0])
    return f"{percent(float(np.mean(values)))} ± {100 * np.std(values, ddof=1) / len(values) ** 0.5:.1f}"


def images(records: list[Record]) -> str:
    runs = [r for r in records if r["run"]["dataset"] == "cifar10"]
    done = [r for r in runs if r["status"] == "done"]
    if not done:
        return "\n## CIFAR-10\n\nNo runs yet.\n"
    body = _world_rows(runs)
    half = Counter(f"{r['device']}, {r['precision']}" for r in done)
    return f"""
## CIFAR-10, case 1

ResNet-32, {IMAGE_STEPS:,} steps, default hyperparameters; {len(done)} runs ({", ".join(f"{n} on {k}" for k, n in half.items())}), {np.median([r["seconds"] for r in done]):.0f} s each (median).
The paper trains four times as long, with ten configurations.

{table(_WORLD_HEAD, body, "lr")}"""


_WORLD_HEAD = [
    "method",
    "splits",
    "by PA",
    "by PAUC",
    "by OA",
    "paper, OA",
    "true ECE",
    "recalibrated",
]


def published(method: str) -> str | None:
    """Return the paper's name of a method; None for original methods of which it has a version."""
    algorithm, *rest = method.split("/")
    original = "bench" in ALGORITHMS[algorithm].variants and "bench" not in rest
    return None if original else paper_name(method)


def theirs(dataset: str, case: int) -> dict[str, float]:
    """The paper's accuracies, selected by OA, by its names of methods."""
    return {
        n["method"]: n["mean"]
        for n in paper_numbers()
        if (n["dataset"], n["case"], n["metric"], n["criterion"])
        == (dataset, case, "accuracy", "oracle_accuracy")
    }


def _world_rows(records: list[Record]) -> list[list[str]]:
    """One row a method: accuracy by three criteria, the paper's, and calibration."""
    found = {criterion: chosen(records, criterion) for criterion in THREE}
    methods = dict.fromkeys(method for _, method, _ in found["oracle_accuracy"])
    if not methods:
        return []
    dataset, _, case, *_ = next(iter(found["oracle_accuracy"]))[0]
    numbers = theirs(dataset, case)
    rows = []
    for method in methods:
        values = {
            c: [s for (_, m, _), s in chosen_ones.items() if m == method]
            for c, chosen_ones in found.items()
        }
        accuracy = [mean_error([s.metrics["accuracy"] for s in values[c]]) for c in THREE]
        errors = [
            f"{np.mean([s.metrics[k] for s in values['proxy_accuracy']]):.3f}"
            for k in ("ece", "ece_recalibrated")
        ]
        paper = numbers.get(published(method) or "")
        rows.append(
            [title(method), str(len(values["oracle_accuracy"])), *accuracy,
             "" if paper is None else f"{paper:.1f}", *errors]
        )  # fmt: skip
    return sorted(rows, key=lambda row: -float(row[4].split(" ")[0]))


def tables(records: list[Record]) -> str:
    """The paper's tables, ours beside its numbers."""
    text = ["", "## Like the paper's tables", "", _compared(records)]
    runs = fair(records)
    for dataset in ("usps", "letter"):
        for case in (1, 2):
            kept = [r for r in runs if (r["run"]["dataset"], r["run"]["case"]) == (dataset, case)]
            body = _world_rows(kept)
            if body:
                text += ["", f"### {WORLD_NAMES[dataset]}, case {case}: test accuracy in %", ""]
                text.append(table(_WORLD_HEAD, body, "lr") + "\n")
    return "\n".join(text)


def compared(runs: list[Record]) -> list[dict[str, Any]]:
    """Accuracies selected by OA beside the paper's, where both have the method."""
    cells = summarise(runs, metrics=["accuracy"], criteria=["oracle_accuracy"])
    return [row for row in against_paper(cells) if published(row["method"])]


def _compared(records: list[Record]) -> str:
    rows = compared(fair(records) + [r for r in records if r["run"]["dataset"] == "cifar10"])
    gaps: dict[str, list[float]] = {}
    for row in rows:
        gaps.setdefault(f"{WORLD_NAMES[row['dataset']]} {row['case']}", []).append(
            row["difference"]
        )
    body = [
        [world, str(len(found)), f"{np.mean(found):+.1f}", f"{np.median(np.abs(found)):.1f}"]
        for world, found in sorted(gaps.items())
    ]
    far = sorted(rows, key=lambda row: -abs(row["difference"]))[:8]
    listing = ", ".join(
        f"{title(r['method'])} on {WORLD_NAMES[r['dataset']]} {r['case']} {r['difference']:+.1f}"
        for r in far
    )
    return f"""Ours minus the paper's, points of accuracy selected by OA, where both have the method. ± is the standard error over splits.

{table(["data", "methods", "mean difference", "median of absolute differences"], body, "lr")}

Farthest: {listing}.
"""


def cost(records: list[Record]) -> str:
    groups: dict[str, list[Record]] = {}
    for run, r in configs(records):
        if r["status"] == "done":
            groups.setdefault(f"{WORLD_NAMES[run.dataset]}, {r['device']}", []).append(r)
    body = [
        [
            name,
            str(len(found)),
            f"{np.median([r['cpu_seconds'] for r in found]):.0f}",
            f"{sum(r['cpu_seconds'] for r in found) / 3600:.2f}",
        ]
        for name, found in sorted(groups.items())
    ]
    made = [
        r
        for run, r in configs(main_runs(records))
        if (run.dataset, run.case, run.configuration) == ("usps", 1, 0) and r["status"] == "done"
    ]
    hours, whole = sum(r["cpu_seconds"] for r in made) / 3600, SPLITS * len(versions())
    machines = Counter(
        f"Python {r['versions']['python']}, torch {r['versions']['torch']}"
        for r in records
        if r["status"] == "done"
    )
    return f"""
## Cost

{table(["runs", "number", "CPU seconds each (median)", "CPU hours"], body, "lr")}

USPS case 1, default hyperparameters: {len(made)} of the {whole} runs of the whole table (all versions of all methods, {SPLITS} splits) were made, in
{hours:.2f} CPU hours at {STEPS:,} steps; at their mean cost the whole table takes {hours / len(made) * whole:.1f} CPU hours. In one command:

    python experiments/pu_benchmark/run.py --full --jobs 8 --only dataset=usps case=1 setting=one-sample rate=0.3 given_prior=None configuration=0

Made with {", and ".join(f"{name} ({n} runs)" for name, n in machines.most_common())}.
"""
