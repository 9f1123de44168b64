"""What each criterion chooses, as rows to compare."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from noneg.bench import RunConfig, select

if TYPE_CHECKING:
    from collections.abc import Iterable

    from noneg.bench import Selected

    Record = dict[str, Any]

MAIN = (("usps", 1), ("usps", 2), ("letter", 1), ("letter", 2))
WORLD_NAMES = {"usps": "USPS", "letter": "Letter", "cifar10": "CIFAR-10"}
NEARLY = 0.9
NAMES = {
    "upu": "uPU", "nnpu": "nnPU", "nnpu-ga": "nnPU-GA", "pusb": "PUSB", "pubn": "PUbN",
    "vpu": "VPU", "pan": "PAN", "cvir": "CVIR", "tedn": "TEDn", "dist-pu": "Dist-PU",
    "p3mix-e": "P3MIX-E", "p3mix-c": "P3MIX-C", "lbe": "LBE", "count-loss": "Count Loss",
    "robust-pu": "Robust-PU", "holistic-pu": "Holistic-PU", "pue": "PUe", "glws": "GLWS",
    "elkan-noto": "Elkan-Noto", "naive": "P vs U",
}  # fmt: skip


def title(method: str) -> str:
    """Return the name in tables: "-c" is the paper's correction, "bench" its version."""
    algorithm, *rest = method.split("/")
    name = NAMES[algorithm]
    if "bench" not in rest:
        return name
    return f"{name}-c (bench)" if "batch" in rest else f"{name} (bench)"


def configs(records: Iterable[Record]) -> list[tuple[RunConfig, Record]]:
    return [(RunConfig.from_dict(r["run"]), r) for r in records]


def main_runs(records: Iterable[Record]) -> list[Record]:
    """One sample, 30 % labelled, the prior known: the paper's worlds."""
    return [
        r
        for run, r in configs(records)
        if (run.dataset, run.case) in MAIN
        and (run.setting, run.rate, run.given_prior) == ("one-sample", 0.3, None)
    ]


def common(records: list[Record]) -> list[Record]:
    """Keep configurations that nearly all methods have in every split of a world, and who has all.

    A method that lacks one of them would otherwise be judged by fewer tries than the others.
    """
    cells: dict[tuple, dict[str, dict[int, set[int]]]] = defaultdict(lambda: defaultdict(dict))
    for run, r in configs(records):
        if r["status"] == "done":
            splits = cells[_world(run)][run.method]
            splits.setdefault(run.split, set()).add(run.configuration)
    kept: dict[tuple, dict[str, set[int]]] = {}
    for world, methods in cells.items():
        having = {m: set.intersection(*splits.values()) for m, splits in methods.items()}
        many = Counter(number for found in having.values() for number in found)
        shared = {number for number, n in many.items() if n >= NEARLY * len(having)} or {0}
        kept[world] = {m: shared for m, found in having.items() if shared <= found}
    return [
        r
        for run, r in configs(records)
        if run.configuration in kept.get(_world(run), {}).get(run.method, ())
    ]


def _world(run: RunConfig) -> tuple:
    return run.dataset, run.case, run.setting, run.rate


def complete(records: list[Record]) -> list[Record]:
    """Keep splits of a world that nearly all methods have, so that all are judged on the same."""
    blocks: dict[tuple, set[str]] = defaultdict(set)
    for run, r in configs(records):
        if r["status"] == "done" and run.configuration == 0:
            blocks[run.dataset, run.case, run.split].add(run.method)
    most = max((len(found) for found in blocks.values()), default=0)
    kept = {block for block, found in blocks.items() if len(found) >= NEARLY * most}
    return [r for run, r in configs(records) if (run.dataset, run.case, run.split) in kept]


def chosen(records: list[Record], criterion: str) -> dict[tuple, Selected]:
    """Return what a criterion chooses by world, method and split."""
    return {(s.world, s.method, s.run.split): s for s in select(records, by=criterion)}


def defaults(records: Iterable[Record]) -> list[Record]:
    return [r for r in records if r["run"]["configuration"] == 0]
