"""The three findings of the paper, its slip, and what calibration adds: numbers with intervals."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from choices import chosen, complete, defaults, main_runs, title
from intervals import correlation, interval, rank_correlation
from noneg.bench.selection import best_checkpoint
from noneg.bench.summaries import Cell
from plan import TWINS

from noneg.bench import rank_methods, summarise

if TYPE_CHECKING:
    from noneg.bench import Ranks

    Record = dict[str, Any]

THREE = ("proxy_accuracy", "proxy_auc", "oracle_accuracy")
WITHOUT_LABELS = ("proxy_accuracy", "proxy_auc", "pu_log_loss", "pu_brier", "pu_ece")
SHORT = {
    "proxy_accuracy": "PA", "proxy_auc": "PAUC", "oracle_accuracy": "OA",
    "pu_log_loss": "PU log loss", "pu_brier": "PU Brier", "pu_ece": "PU-ECE",
}  # fmt: skip
METRICS = ("accuracy", "auc", "f1")
_TWINS = {"/".join(m for m in twin if m) for twin in TWINS}


def single(records: list[Record]) -> list[Record]:
    """Leave methods out that are another one under this protocol."""
    return [r for r in records if _method(r) not in _TWINS]


def _method(record: Record) -> str:
    run = record["run"]
    return "/".join(x for x in (run["algorithm"], run["variant"], run["correction"]) if x)


def fair(records: list[Record]) -> list[Record]:
    """The paper's worlds with default hyperparameters: the same splits for every method."""
    return complete(single(main_runs(defaults(records))))


def winners(records: list[Record]) -> tuple[Counter, int]:
    """Return how often a method is first over worlds, metrics and criteria, and of how many."""
    cells = summarise(fair(records), metrics=METRICS, criteria=THREE)
    best: dict[tuple, Cell] = {}
    for cell in cells:
        place = (cell.world, cell.metric, cell.criterion)
        if not np.isnan(cell.mean) and (place not in best or cell.mean > best[place].mean):
            best[place] = cell
    return Counter(title(cell.method) for cell in best.values()), len(best)


def ranks(records: list[Record], metric: str, criterion: str) -> Ranks:
    """Rank methods in every split of every world."""
    found = chosen(fair(records), criterion)
    cells = [
        Cell(
            world=(*world, split),
            method=title(method),
            metric=metric,
            criterion=criterion,
            mean=np.nan if s.metrics[metric] is None else float(s.metrics[metric]),
            std=np.nan,
            error=np.nan,
            splits=1,
        )
        for (world, method, split), s in found.items()
    ]
    return rank_methods(cells, metric=metric, criterion=criterion)


def paired(records: list[Record], one: str, two: str, metric: str) -> tuple[list[str], list[float]]:
    """Return methods, and differences of a metric between what two criteria choose."""
    first, second = (chosen(records, criterion) for criterion in (one, two))
    groups, gaps = [], []
    for place in first.keys() & second.keys():
        a, b = (found[place].metrics[metric] for found in (first, second))
        if a is not None and b is not None:
            groups.append(place[1])
            gaps.append(a - b)
    return groups, gaps


def criteria(records: list[Record]) -> list[dict[str, Any]]:
    """Means of what each criterion chooses, and its difference to proxy accuracy."""
    runs = fair(records)
    rows = []
    for criterion in (*WITHOUT_LABELS, "oracle_accuracy"):
        found = chosen(runs, criterion).values()
        row: dict[str, Any] = {"criterion": SHORT[criterion], "n": len(found)}
        for metric in ("accuracy", "auc", "ece", "log_loss"):
            row[metric] = float(np.mean([s.metrics[metric] for s in found]))
            if criterion != "proxy_accuracy":
                groups, gaps = paired(runs, criterion, "proxy_accuracy", metric)
                row[f"{metric}_gap"] = interval(groups, gaps)
        rows.append(row)
    return rows


def against(records: list[Record], one: str, two: str, metric: str):
    """Interval of the difference between what two criteria choose."""
    return interval(*paired(fair(records), one, two, metric))


def spread(records: list[Record]) -> dict[str, float]:
    """How far the three criteria lead apart, over worlds, methods and splits."""
    runs = fair(records)
    found = [chosen(runs, criterion) for criterion in THREE]
    places = set.intersection(*(set(f) for f in found))
    values = np.array([[f[p].metrics["accuracy"] for f in found] for p in places])
    apart = np.ptp(values, axis=1)
    return {
        "n": len(places),
        "median": float(np.median(apart)),
        "over_one": float((apart > 0.01).mean()),
        "over_five": float((apart > 0.05).mean()),
        "largest": float(apart.max()),
    }


def twins_agree(records: list[Record]) -> tuple[int, int]:
    """Return in how many pairs of runs a twin chooses and scores the same, and of how many."""
    found = {
        (
            _method(r),
            *(
                r["run"][k]
                for k in ("dataset", "case", "setting", "rate", "configuration", "split")
            ),
        ): r
        for r in records
        if r["status"] == "done" and r["run"]["given_prior"] is None
    }
    same = total = 0
    for key, record in found.items():
        if key[0] not in _TWINS:
            continue
        algorithm, variant, correction = key[0].split("/")
        other = found.get(("/".join(TWINS[algorithm, variant, correction]), *key[1:]))
        if other is not None:
            total += 1
            a, b = (best_checkpoint(r, "oracle_accuracy") for r in (record, other))
            same += a.metrics["accuracy"] == b.metrics["accuracy"] and a.step == b.step
    return same, total


def more_labels(records: list[Record], few: float = 0.1, many: float = 0.5) -> dict[str, Any]:
    """What more labelled rows do to accuracy, as it is and corrected, paired over splits."""
    found = chosen(defaults(records), "oracle_accuracy")
    gaps: dict[str, tuple[list[str], list[float]]] = {"none": ([], []), "batch": ([], [])}
    for (world, method, split), s in found.items():
        dataset, setting, case, rate, prior = world
        name, *rest = method.split("/")
        if rate != few or rest[:1] != ["bench"] or method in _TWINS:
            continue
        other = found.get(((dataset, setting, case, many, prior), method, split))
        if other is not None:
            gaps[rest[1]][0].append(f"{dataset} {name}")
            gaps[rest[1]][1].append(other.metrics["accuracy"] - s.metrics["accuracy"])
    return {kind: interval(*pairs) for kind, pairs in gaps.items() if pairs[1]}


def slip(records: list[Record]) -> dict[str, Any]:
    """How often the published criterion chooses another checkpoint or run, and what it costs."""
    kept = single(main_runs(records))
    changed = total = 0
    for record in kept:
        if record["status"] == "done":
            a, b = (best_checkpoint(record, c) for c in ("proxy_accuracy", "proxy_accuracy_slip"))
            if a is not None and b is not None:
                total += 1
                changed += a.step != b.step
    runs = fair(records)
    first, second = (chosen(runs, c) for c in ("proxy_accuracy", "proxy_accuracy_slip"))
    models = [(first[p].run, first[p].step) != (second[p].run, second[p].step) for p in first]
    return {
        "changed": changed / total,
        "runs": total,
        "models_changed": float(np.mean(models)),
        "models": len(models),
        **{
            metric: interval(*paired(runs, "proxy_accuracy_slip", "proxy_accuracy", metric))
            for metric in ("accuracy", "recall", "precision", "f1", "ece")
        },
    }


def calibration(records: list[Record], criterion: str = "proxy_accuracy") -> list[dict[str, Any]]:
    """Errors of probabilities of every method, before and after recalibration."""
    names = ("accuracy", "ece", "pu_ece", "ece_recalibrated", "pu_ece_recalibrated")
    groups: dict[str, list[dict]] = {}
    for (_, method, _), s in chosen(fair(records), criterion).items():
        groups.setdefault(method, []).append(s.metrics)
    rows = [
        {
            "method": title(method),
            "n": len(found),
            **{k: float(np.mean([f[k] for f in found])) for k in names},
        }
        for method, found in groups.items()
    ]
    return sorted(rows, key=lambda row: row["ece"])


def agreement(
    records: list[Record], criterion: str = "proxy_accuracy", *, varied: bool = False
) -> dict[str, Any]:
    """Correlation of PU-ECE with the true error over all runs, one point a run.

    `varied` leaves runs out that call every test row the same.
    """
    groups, pairs = [], []
    for record in single(records):
        found = best_checkpoint(record, criterion) if record["status"] == "done" else None
        if found is None or found.run.given_prior is not None:
            continue
        if varied and found.metrics["recall"] in (0.0, 1.0):
            continue
        groups.append(found.method)
        pairs.append((found.metrics["pu_ece"], found.metrics["ece"]))
    values = np.array(pairs, dtype=float)
    return {
        "pairs": values,
        "pearson": interval(groups, values, correlation),
        "spearman": interval(groups, values, rank_correlation),
        "gap": interval(groups, values[:, 0] - values[:, 1]),
    }


def constant(records: list[Record], criterion: str = "proxy_accuracy") -> Counter:
    """Runs whose choice calls every test row the same, by data set and method."""
    found = (best_checkpoint(r, criterion) for r in single(records) if r["status"] == "done")
    return Counter(
        f"{title(s.method)} on {s.run.dataset}"
        for s in found
        if s is not None and s.run.given_prior is None and s.metrics["recall"] in (0.0, 1.0)
    )


def recalibration_gain(records: list[Record]):
    """Interval of what recalibration does to the true error."""
    runs = fair(records)
    groups, gaps = [], []
    for (_, method, _), s in chosen(runs, "proxy_accuracy").items():
        groups.append(method)
        gaps.append(s.metrics["ece_recalibrated"] - s.metrics["ece"])
    return interval(groups, gaps)
