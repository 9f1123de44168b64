"""What the pages of all experiments share: stored tables, how they are shown, and where.

Each experiment is a folder of scripts; its page is made of its stored tables by commands that it
names. Import this file from there with the folder above on the path.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

Row = dict[str, str]
_RULES = {"l": "---", "r": "---:"}


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Store a table: six digits of every number are more than any page shows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


def read(path: Path) -> list[Row]:
    """Return the rows of a stored table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pick(rows: list[Row], **wanted: object) -> list[Row]:
    """Return the rows that have these values.

    >>> pick([{"n": "10", "m": "1"}, {"n": "20", "m": "2"}], n=20)
    [{'n': '20', 'm': '2'}]
    """
    return [row for row in rows if all(row[name] == str(v) for name, v in wanted.items())]


def column(rows: list[Row], name: str) -> np.ndarray:
    """Return a column of numbers.

    >>> column([{"n": "10"}, {"n": "20"}], "n")
    array([10., 20.])
    """
    return np.array([float(row[name]) for row in rows])


def table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str = "l") -> str:
    """Return a Markdown table, without a newline at its end.

    `align` has a letter a column, "l" or "r"; its last one holds for all that follow.

    >>> print(table(["metric", "mean"], [["ece", "0.02"]], "lr"))
    | metric | mean |
    |---|---:|
    | ece | 0.02 |
    """
    rule = [_RULES[align[min(k, len(align) - 1)]] for k in range(len(header))]
    lines = [_line(header), f"|{'|'.join(rule)}|"]
    for row in rows:
        if len(row) != len(header):
            msg = f"a row has {len(row)} cells, the header {len(header)}: {row!r}"
            raise ValueError(msg)
        lines.append(_line(row))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def percent(share: float | str | None, digits: int = 1, missing: str = "n/a") -> str:
    """Return a share as a number of percent, without its sign.

    >>> percent(0.5), percent("0.123", 0), percent(None)
    ('50.0', '12', 'n/a')
    """
    value = math.nan if share is None else float(share)
    return missing if math.isnan(value) else f"{100 * value:.{digits}f}"


def with_error(mean: float | str, error: float | str, digits: int = 4, missing: str = "") -> str:
    """Return a mean with its standard error, where there is one.

    >>> with_error(0.5, "0.01", 2), with_error(0.5, math.nan, 2)
    ('0.50 ± 0.01', '0.50')
    """
    value, spread = float(mean), float(error)
    if math.isnan(value):
        return missing
    text = f"{value:.{digits}f}"
    return text if math.isnan(spread) else f"{text} ± {spread:.{digits}f}"


def fill(page: Path, parts: Mapping[str, str]) -> None:
    """Replace what stands between ``<!-- name -->`` and the next ``<!-- end -->``.

    A name without a place, or with two, is an error: a page must not keep old numbers in silence.
    """
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        place = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)"
        inside = part.strip("\n")
        text, count = re.subn(
            place, lambda m, new=inside: f"{m[1]}\n{new}\n\n{m[2]}", text, flags=re.DOTALL
        )
        if count != 1:
            msg = f"{page} has {count} places for {name!r}, not one."
            raise ValueError(msg)
    page.write_text(text, encoding="utf-8")
