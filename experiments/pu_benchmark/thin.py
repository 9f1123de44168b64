"""Records cut down to the checkpoints that some criterion chooses: all that the page needs.

Selection, tables and ranks of ``noneg.bench`` work on them as on whole records.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from noneg.bench.measures import CRITERIA, RECALIBRATED, TEST
from noneg.bench.selection import best_checkpoint

from noneg.bench import load_records

if TYPE_CHECKING:
    from pathlib import Path

KEPT = ("step", *CRITERIA, "pu_ece_recalibrated", *TEST, *RECALIBRATED)


def thin(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the chosen checkpoints only."""
    plain = {name: record[name] for name in ("format", "key", "run", "status", "versions")}
    if record["status"] != "done":
        return plain | {"error": record["error"], "checkpoints": {}}
    columns = record["checkpoints"]
    chosen = (best_checkpoint(record, criterion) for criterion in CRITERIA)
    steps = {found.step for found in chosen if found is not None}
    places = [k for k, step in enumerate(columns["step"]) if int(step) in steps]
    rest = {name: record[name] for name in ("seconds", "cpu_seconds", "device", "precision")}
    kept = {name: [_short(columns[name][k]) for k in places] for name in KEPT if name in columns}
    return plain | rest | {"diverged": record["diverged"], "checkpoints": kept}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def collect(folder: Path, out: Path) -> None:
    """Write what the records of a folder give, beside what is there from before."""
    path = out / "records.jsonl"
    before = {record["key"]: record for record in load_records(path)} if path.exists() else {}
    found = before | {record["key"]: thin(record) for record in load_records(folder)}
    lines = (json.dumps(found[key], separators=(",", ":")) for key in sorted(found))
    path.write_text("".join(line + "\n" for line in lines))
