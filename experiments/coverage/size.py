"""Size of the calibration test: how often it rejects scores that are calibrated.

    python experiments/coverage/size.py [--trials 4000]

Writes ``size.csv`` and ``size.md`` beside this file.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from noneg.calibration import calibration_test
from noneg.simulation import LogisticGaussian

sys.path.append(str(Path(__file__).parents[1]))
from pages import table, write

HERE = Path(__file__).parent
PRIORS = (0.5, 0.1)
SETTINGS = ("two-sample", "one-sample", "labelled")
STATISTICS = ("ece", "ks")
N_POSITIVE = 100
RATIO = 10
REPLICATES = 199


def p_value(seed: int, *, prior: float, setting: str, statistic: str) -> float:
    world = LogisticGaussian.calibrated(prior)
    if setting == "labelled":
        scores = world.draw(n=(1 + RATIO) * N_POSITIVE, setting=setting, seed=seed)
    else:
        unlabeled = int(RATIO * N_POSITIVE * 0.5 / prior)
        scores = world.draw(N_POSITIVE, unlabeled, setting=setting, seed=seed)
    return calibration_test(scores, statistic=statistic, replicates=REPLICATES, seed=seed).p_value


def markdown(rows: list[dict[str, object]]) -> str:
    levels = (1, 5, 10)
    lines = [
        [
            *(str(row[name]) for name in ("prior", "setting", "statistic")),
            *(f"{row[f'size at {level}%']:.1%}" for level in levels),
        ]
        for row in rows
    ]
    head = ["prior", "setting", "statistic", *(f"size at {level} %" for level in levels)]
    return table(head, lines, "lllr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    rows = []
    with ProcessPoolExecutor() as pool:
        for prior, setting, statistic in product(PRIORS, SETTINGS, STATISTICS):
            one = partial(p_value, prior=prior, setting=setting, statistic=statistic)
            p = np.array(list(pool.map(one, range(trials), chunksize=50)))
            row = {"prior": prior, "setting": setting, "statistic": statistic}
            row |= {f"size at {a:.0%}": float((p <= a).mean()) for a in (0.01, 0.05, 0.1)}
            rows.append(row | {"trials": trials})
    write(HERE / "size.csv", rows)
    (HERE / "size.md").write_text(markdown(rows) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
