"""Is the choice between forest and curves as good as the forest, on rows that chose nothing?

    NONEG_DATA=... python experiments/prior/fresh_draw.py [--draw 2]

The rule was made looking at draws 0 and 1 of the study (see the README). Here it meets another draw
of the real mixtures, beside the forest by itself: same rows, same folds, the default estimator.
Writes ``fresh_draw.md``; about four minutes of one core.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
from pathlib import Path

import numpy as np
from mixtures import REAL, Cell, cells, draw
from run import FOLDS

from noneg.prior import Dedpul, FeatureSamples, ScoreLaws
from noneg.prior.discriminator import cross_fit, default_forest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from pages import table


def error(cell: Cell, samples: FeatureSamples, classifier: object) -> tuple[float, np.ndarray]:
    """Return the absolute error of the default estimator, and the scores it had."""
    p, u = cross_fit(samples, classifier, folds=FOLDS)
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit", discriminates=True)
    return abs(Dedpul().find(laws).share - cell.prior), u


def compare(cell: Cell) -> tuple[float, float, bool]:
    """Return the errors of the choice and of the forest, and whether curves were chosen."""
    positive, unlabeled, _ = draw(cell)
    samples = FeatureSamples(positive, unlabeled, "two-sample")
    (chosen, seen), (forest, by_forest) = (
        error(cell, samples, model) for model in (None, default_forest())
    )
    return chosen, forest, not np.array_equal(seen, by_forest)


def mean(values: np.ndarray) -> str:
    return f"{values.mean():.4f}" if values.size else "n/a"


def gap(values: np.ndarray) -> str:
    if values.size < 2:
        return mean(values)
    return f"{values.mean():+.4f} ± {values.std(ddof=1) / np.sqrt(values.size):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=int, default=2)
    asked = parser.parse_args()
    todo = [c for c in cells(asked.draw + 1) if c.seed == asked.draw and c.world in REAL]
    found = []
    for number, cell in enumerate(todo):
        found.append(compare(cell))
        print(f"{number + 1}/{len(todo)} {cell}", *found[-1], flush=True)
    worlds = np.array([cell.world for cell in todo])
    chosen, forest, curves = (np.array(column) for column in zip(*found, strict=True))
    rows = []
    for world in (*REAL, "all"):
        part = np.ones(worlds.size, dtype=bool) if world == "all" else worlds == world
        rows.append(
            [
                world,
                str(part.sum()),
                str(int(curves[part].sum())),
                mean(chosen[part]),
                mean(forest[part]),
                gap((chosen - forest)[part]),
            ]
        )
    head = ["world", "cells", "curves taken", "error", "error of the forest", "difference"]
    text = table(head, rows, "lr")
    (HERE / "fresh_draw.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
