"""Stored tables, and how pages show them."""

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np

Row = dict[str, object]
SINGLE = str | int | float | np.generic | None
_RULES = {"l": "---", "r": "---:"}


def merged(path: Path, rows: list[Row], *keys: str, digits: int | None = 6) -> list[Row]:
    """Return the stored rows followed by new ones, which replace those with the same keys.

    A key that is text remains what it is, even if it looks like a number: 007, or 1e3.
    """
    stored = read(path, raw=True) if path.exists() else []
    new = {place(row, keys, digits) for row in rows}
    kept = [row for row in stored if place(row, keys, digits) not in new]
    texts = [
        {k: row[k] for k in keys if stored_text(parsed(row[k]), digits) != row[k]} for row in kept
    ]
    return [numbers(row) | text for row, text in zip(kept, texts, strict=True)] + rows


def place(row: Mapping[str, object], keys: Iterable[str], digits: int | None) -> tuple[str, ...]:
    """Return the texts by which a stored table identifies a row, before or after it is stored."""
    return tuple(stored_text(row[key], digits) for key in keys)


def stored_text(value: object, digits: int | None = 6) -> str:
    """Return the text of a value in a stored table, which for a text is the text itself.

    >>> stored_text(1 / 3), stored_text(1.0), stored_text(1.0, None), stored_text("1.0")
    ('0.333333', '1', '1.0', '1.0')
    """
    if value is None:
        return ""
    number = digits is not None and isinstance(value, float | np.floating)
    return f"{value:.{digits}g}" if number else str(value)


def write(path: Path, rows: Sequence[Mapping[str, object]], digits: int | None = 6) -> None:
    """Store a table with the columns of all rows; six digits are more than any page shows."""
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(chain(*rows))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: stored_text(value, digits) for name, value in row.items()} for row in rows
        )
    part.replace(path)


def read(path: Path, *, raw: bool = False) -> list[Row]:
    """Return the rows of a stored table, with cells converted to numbers unless `raw`."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return rows if raw else list(map(numbers, rows))


def numbers(row: Mapping[str, str]) -> Row:
    return {name: parsed(text) for name, text in row.items()}


@cache
def parsed(text: str) -> object:
    """Return the value of a table cell.

    >>> parsed("3"), parsed("0.5"), parsed("True"), parsed("D1")
    (3, 0.5, True, 'D1')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)


class Tables:
    """The tables in a folder by name, with a fallback folder; a missing table has no rows."""

    def __init__(self, folder: Path, *others: Path) -> None:
        self.folder, self.others, self.known = folder, others, {}

    def __call__(self, name: str) -> list[Row]:
        if name not in self.known:
            paths = (folder / f"{name}.csv" for folder in (self.folder, *self.others))
            path = next((path for path in paths if path.exists()), None)
            self.known[name] = [] if path is None else read(path)
        return self.known[name]


def pick(rows: Iterable[Row], /, **wanted: object) -> list[Row]:
    """Return the rows that have these values.

    >>> pick([{"n": 10, "m": 1}, {"n": 20, "m": 2}], n=20)
    [{'n': 20, 'm': 2}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def column(rows: Iterable[Row], name: str) -> np.ndarray:
    """Return a column of numbers.

    >>> column([{"n": 10}, {"n": 20}], "n")
    array([10., 20.])
    """
    return np.array([row[name] for row in rows], dtype=float)


def distinct(rows: Iterable[Row], *names: str) -> list:
    """Return the distinct values of one or several columns, in order of first appearance.

    >>> distinct([{"n": 10, "m": 1}, {"n": 20, "m": 1}], "m")
    [1]
    >>> distinct([{"n": 10, "m": 1}, {"n": 20, "m": 1}], "n", "m")
    [(10, 1), (20, 1)]
    """
    return list(dict.fromkeys(map(itemgetter(*names), rows)))


def records(**columns: object) -> list[Row]:
    """Return the rows of a table from its columns; a single value is the same in all rows.

    >>> records(n=[1, 2], world="a")
    [{'n': 1, 'world': 'a'}, {'n': 2, 'world': 'a'}]
    """
    every = [repeat(x) if isinstance(x, SINGLE) else x for x in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*every, strict=False)]


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; for a single value, it is unknown.

    >>> standard_error([1.0, 3.0]), standard_error([1.0])
    (1.0, nan)
    """
    n = len(values)
    return float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan


def mean_and_sd(name: str, values: np.ndarray) -> Row:
    """Return the mean and the standard deviation of repeated measurements."""
    return {name: np.mean(values), f"{name}_sd": np.std(values, ddof=1)}


def means(rows: Iterable[Row], *keys: str, count: str | None = None) -> list[Row]:
    """Return one row for each combination of the keys: the means of all other columns.

    `count` names a column for the number of rows.

    >>> means([{"n": 1, "x": 0.0}, {"n": 2, "x": 5.0}, {"n": 1, "x": 1.0}], "n", count="rows")
    [{'n': 1, 'x': 0.5, 'rows': 2}, {'n': 2, 'x': 5.0, 'rows': 1}]
    """
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [
        {name: one if name in keys else float(column(group, name).mean())
         for name, one in group[0].items()} | ({count: len(group)} if count else {})
        for group in groups.values()
    ]  # fmt: skip


def averaged(*keys: str, count: str | None = None) -> Callable:
    """Let a worker that yields one row or more for every draw return their `means`."""

    def average(draws: Callable[..., Iterable[Row]]) -> Callable[..., list[Row]]:
        @wraps(draws)
        def rows(*args: object, **cell: object) -> list[Row]:
            return means(draws(*args, **cell), *keys, count=count)

        return rows

    return average


def table(head: str | Sequence[str], rows: Iterable[Sequence[str]], align: str = "l") -> str:
    """Return a Markdown table, without a newline at its end.

    `align` has one letter per column, "l" or "r"; the last one applies to all remaining columns.

    >>> print(table("metric | mean", [["ece", "0.02"]], "lr"))
    | metric | mean |
    |---|---:|
    | ece | 0.02 |
    """
    head = head.split(" | ") if isinstance(head, str) else head
    rule = [_RULES[align[min(k, len(align) - 1)]] for k in range(len(head))]
    lines = [_line(head), f"|{'|'.join(rule)}|"]
    for row in rows:
        if len(row) != len(head):
            msg = f"a row has {len(row)} cells, the header {len(head)}: {row!r}"
            raise ValueError(msg)
        lines.append(_line(row))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def percent(share: float | None, digits: int = 1, missing: str = "n/a") -> str:
    """Return a share as a percentage, without the percent sign.

    >>> percent(0.5), percent(0.123, 0), percent(None)
    ('50.0', '12', 'n/a')
    """
    return missing if share is None or math.isnan(share) else f"{100 * share:.{digits}f}"


def with_error(mean: float, error: float, digits: int = 4, missing: str = "") -> str:
    """Return a mean with its standard error, if there is one.

    >>> with_error(0.5, 0.01, 2), with_error(0.5, math.nan, 2)
    ('0.50 ± 0.01', '0.50')
    """
    if math.isnan(mean):
        return missing
    text = f"{mean:.{digits}f}"
    return text if math.isnan(error) else f"{text} ± {error:.{digits}f}"


def fill(page: Path, parts: Mapping[str, str]) -> None:
    """Replace the text between ``<!-- name -->`` and the next ``<!-- end -->``.

    A missing or duplicate name is an error, because a page must not silently keep old numbers.
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
