"""Twelve tables, and the output of four commands for each, which refactoring must preserve.

``python tests/golden/cases.py FOLDER`` writes the output for one checkout, and `differences`
compares the output of two. ``python tests/golden/store.py`` writes the numbers that `test_golden`
compares with.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from scipy.special import expit

TWO = ("--setting", "two-sample", "--prior", "0.3")
ONE = ("--setting", "one-sample", "--prior", "0.3")
ALL = ("--setting", "labeled")
COUNTS = ("--weight", "count")
WEIGHTS = ("--weight", "weight", "--weight-kind", "importance")
WIDE = ("--prior-interval", "0.25", "0.36")
CASES: dict[str, tuple[str, ...]] = {
    "two-sample": TWO,
    "two-sample-counts-ties": (*TWO, *COUNTS),
    "two-sample-weights": (*TWO, *WEIGHTS),
    "two-sample-interval": (*TWO, *WIDE),
    "two-sample-sketch": (*TWO, "--sketch"),
    "one-sample": ONE,
    "one-sample-ties": ONE,
    "one-sample-weights-interval": (*ONE, *WEIGHTS, *WIDE),
    "one-sample-counts-sketch": (*ONE, *COUNTS, "--sketch"),
    "labeled": ALL,
    "labeled-weights-ties": (*ALL, *WEIGHTS),
    "labeled-counts-sketch": (*ALL, *COUNTS, "--sketch"),
}
METHODS = ("platt", "isotonic", "beta", "histogram")
ROWS, HELD_BACK = 900, 400
PAYLOAD = re.compile(r'<script type="application/json" id="[^"]*">(.*?)</script>', re.DOTALL)


def write_table(name: str, folder: Path) -> Path:
    """Write the rows of a case: a good and a worse score, labels, counts and weights."""
    # The stored rows were drawn when the setting was spelled with two l's.
    random = np.random.default_rng(sum(map(ord, name.replace("labeled", "label" + "led"))))
    positive = random.random(ROWS) < 0.3
    x = random.normal(np.where(positive, 1.2, -0.6), 1.0)
    good, worse = expit(1.4 * x - 0.7), expit(0.6 * x + random.normal(0.0, 0.5, ROWS))
    if "ties" in name:
        good, worse = np.round(good, 1), np.round(worse, 1)
    label = positive.copy()
    if not name.startswith("labeled"):
        label &= random.random(ROWS) < 0.5
    keep = np.ones(ROWS, dtype=np.bool_)
    if name.startswith("two-sample"):
        keep[:HELD_BACK] = label[:HELD_BACK]
        label[HELD_BACK:] = False
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["good", "worse", "label", "count", "weight"])
        count, weight = random.integers(1, 4, ROWS), random.uniform(0.5, 2.0, ROWS)
        columns = (good, worse, label.astype(int), count, weight)
        out.writerows([x[i].item() for x in columns] for i in np.flatnonzero(keep))
    return path


def answers(name: str, folder: Path) -> dict[str, Any]:
    """Return the commands' output for a case, and the sums in its page."""
    path, options = str(write_table(name, folder)), list(CASES[name])
    one = [path, "--score", "good", "--label", "label", *options]
    exact = [option for option in options if option != "--sketch"]
    two = [path, "--score", "good", "--score", "worse", "--label", "label", *exact]
    method = METHODS[sorted(CASES).index(name) % len(METHODS)]
    page = folder / f"{name}.html"
    _run("report", *one, "--title", name, "--no-recalibrate", "-o", str(page))
    found = PAYLOAD.search(page.read_text("utf-8"))
    return {
        "evaluate": json.loads(_run("evaluate", *one, "--json")),
        "compare": json.loads(_run("compare", *two, "--json")),
        "recalibrate": json.loads(_run("recalibrate", *one, "--method", method, "--json")),
        "report": json.loads(found[1]) if found else None,
    }


def _run(*arguments: str) -> str:
    from noneg.cli import main

    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    if result.exit_code != 0:
        raise RuntimeError(f"noneg {' '.join(arguments)}: {result.output}")
    return result.stdout


def differences(before: object, after: object, place: str = "") -> list[str]:
    """Return the differences between two outputs, with a relative tolerance of 1e-12 for
    numbers."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        missing = object()
        return [
            text
            for name in names
            for text in differences(
                before.get(name, missing), after.get(name, missing), f"{place}/{name}"
            )
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [text for k, (x, y) in pairs for text in differences(x, y, f"{place}/{k}")]
    if _is_number(before) and _is_number(after):
        same = math.isclose(before, after, rel_tol=1e-12, abs_tol=1e-12)
        return [] if same else [f"{place}: {before!r} -> {after!r}"]
    return [] if before == after else [f"{place}: {before!r} -> {after!r}"]


def _is_number(x: object) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def numbers(answer: object, place: str = "") -> dict[str, float]:
    """Return every number in an output by its path."""
    if isinstance(answer, dict):
        parts = [numbers(x, f"{place}/{name}") for name, x in answer.items()]
    elif isinstance(answer, list):
        parts = [numbers(x, f"{place}/{k}") for k, x in enumerate(answer)]
    else:
        return {place: answer} if _is_number(answer) else {}
    return {name: x for part in parts for name, x in part.items()}


if __name__ == "__main__":
    import tempfile

    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            found = answers(case, Path(scratch))
            (target / f"{case}.json").write_text(json.dumps(found, indent=1, sort_keys=True))
