"""Does calibration hold on new rows? Figures 1 to 5 and Table 1 of Futami & Fujisawa (2024).

    python experiments/information/run.py --quick            # minutes on two cores
    python experiments/information/run.py --full             # trains on a GPU, minutes

Draws Figure 1 from simulated rows; trains what the folder of margins (`--margins`) does not hold
yet, with the data of NONEG_DATA; computes gaps and bounds, draws the figures, and fills the tables
of the README. ``--no-training`` takes the margins that are there, ``--from-tables`` the csv files.
``--quick`` writes to ``build/information/quick``.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import analysis
import figures
import numpy as np
import readme
import synthetic

sys.path.append(str(Path(__file__).parents[1]))
import pages

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "information"
START = time.perf_counter()


def say(*words: object) -> None:
    print(f"[{time.perf_counter() - START:6.1f} s]", *words, flush=True)


def train(folder: Path, *, quick: bool) -> None:
    command = [sys.executable, str(HERE / "train.py"), str(folder), *(["--quick"] if quick else [])]
    subprocess.run(command, check=True)  # noqa: S603


def accuracies(folder: Path) -> list[dict[str, object]]:
    """Return mean accuracy and loss of each cell's networks."""
    found: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in pages.read(folder / "training.csv"):
        found.setdefault((row["group"], int(row["n"])), []).append(row)
    names = ("accuracy_seen", "accuracy_unseen", "loss_seen", "loss_unseen")
    return [
        {"group": group, "n": n, "networks": len(rows)}
        | {name: float(np.mean(pages.column(rows, name))) for name in names}
        for (group, n), rows in sorted(found.items())
    ]


def versions(command: str) -> str:
    packages = ("noneg", "numpy", "scipy", "scikit-learn", "matplotlib")
    found = [f"{p} {version(p).partition('+')[0]}" for p in packages]
    return ", ".join([f"`{command}`", f"Python {platform.python_version()}", *found])


def compute(out: Path, margins: Path, *, quick: bool, training: bool) -> None:
    """Write all tables."""
    say("Figure 1")
    sizes, trials = synthetic.SIZES, synthetic.TRIALS
    if quick:
        sizes, trials = sizes[:5:2], 10
    pages.write(out / "figure1.csv", synthetic.rows(sizes, trials))
    if training:
        train(margins, quick=quick)
    for name, rows in analysis.tables(margins, say).items():
        if rows:
            pages.write(out / f"{name}.csv", rows)
    pages.write(out / "training.csv", accuracies(margins))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true")
    size.add_argument("--full", action="store_true")
    parser.add_argument("--margins", type=Path, help="folder of the networks' margins")
    parser.add_argument(
        "--no-training", action="store_true", help="take the margins that are there"
    )
    parser.add_argument("--from-tables", action="store_true", help="draw the stored tables again")
    options = parser.parse_args()
    out = BUILD / "quick" if options.quick else HERE
    margins = options.margins or BUILD / ("quick-margins" if options.quick else "margins")
    if options.quick:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "README.md", out)
    if not options.from_tables:
        compute(out, margins, quick=options.quick, training=not options.no_training)
    figures.draw_all(out)
    command = " ".join(["python", *sys.argv])
    readme.fill(out, None if options.from_tables else versions(command))
    say("wrote", out)


if __name__ == "__main__":
    main()
