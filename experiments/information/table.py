"""Tables as csv files."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, str]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


def read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def pick(rows: list[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[k] == str(v) for k, v in wanted.items())]


def column(rows: list[Row], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])
