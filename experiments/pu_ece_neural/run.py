"""Calibration of networks trained without negatives: Figures 1 to 5 of the PU-ECE paper.

    NONEG_DATA=... python experiments/pu_ece_neural/run.py --quick | --full [--logits FILE ...]

Trains what is missing in ``build/pu_ece_neural``, measures, draws, and writes tables, pictures
and the numbers of the README beside this file (``--quick``: a few minutes on two cores, small
data, everything into ``build/pu_ece_neural/quick``). ``--logits`` takes files that ``train.py``
made on another machine, and trains nothing; ``--measured`` takes the folder that ``measure.py``
filled there; ``--redraw`` starts from the tables.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import measures
import normal
import pictures
import readme
import storage
from measure import SIZES, TABLES, Work, folder_of, shown, stored
from mixtures import SYNTHETIC, synthetic_experiment

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "pu_ece_neural"
TRIALS = {"mnist": 100, "cifar": 3}


def train(folder: Path, *, quick: bool) -> list[Path]:
    """Run the trainings in processes of their own; what is there already is kept."""
    for data, trials in TRIALS.items():
        command = [sys.executable, str(HERE / "train.py"), data, "--folder", str(folder)]
        command += ["--quick"] if quick else ["--trials", str(trials)]
        subprocess.run(command, check=True)  # noqa: S603
    return sorted(folder.glob("*-P*.npz"))


def load(paths: list[Path], out: Path) -> list[storage.Model]:
    """Return the models of all files, and write down how they and this run were made."""
    models: list[storage.Model] = []
    made: dict[str, int] = {}
    for path in paths:
        found, how = storage.load(path)
        models += found
        made[json.dumps(how)] = made.get(json.dumps(how), 0) + len(found)
    packages = ("noneg", "numpy", "scipy", "scikit-learn", "matplotlib")
    words = [Path(word).name for word in sys.argv]  # folders are those of one machine
    analysis = {"command": shlex.join(words), "python": platform.python_version()}
    analysis |= {p: version(p).partition("+")[0] for p in packages}
    training = [{"classifiers": count} | json.loads(how) for how, count in made.items()]
    text = json.dumps({"training": training, "analysis": analysis}, indent=1)
    (out / "made.json").write_text(text + "\n")
    return models


def measure(models: list[storage.Model], cache: Path, out: Path, *, quick: bool) -> None:
    """Measure what the cache does not hold, and write the tables behind the pictures."""
    with ProcessPoolExecutor(1) as pool:
        work = Work(cache, pool, quick=quick)
        work.add(models)
        while work.waiting or work.worlds:
            time.sleep(2)
            work.gather()
    found = stored(cache)
    rows = [found[k] for k in sorted(found)]
    measures.write_csv(out / "models.csv", rows)
    measures.write_csv(out / "summary.csv", measures.summary_rows(rows))
    measures.write_csv(out / "ordering.csv", measures.ordering_rows(rows))
    first = shown(models)
    measures.write_csv(out / "histograms.csv", measures.histogram_rows(first))
    worlds = [folder_of(cache, name) for name in first if folder_of(cache, name).exists()]
    for name in TABLES:
        parts = [measures.read_csv(world / f"{name}.csv") for world in worlds]
        measures.write_csv(out / f"{name}.csv", [row for part in parts for row in part])
    program = synthetic_experiment(normal.stored_worlds(out / "mixtures.csv"))
    measures.write_csv(out / "predicted.csv", normal.predicted_rows(program, SIZES))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true")
    size.add_argument("--full", action="store_true")
    parser.add_argument("--logits", type=Path, nargs="+", help="files of train.py; train nothing")
    parser.add_argument("--measured", type=Path, help="folder that measure.py filled before")
    parser.add_argument("--redraw", action="store_true", help="pictures and README alone")
    return parser.parse_args()


def main() -> None:
    options = parse()
    folder = BUILD / ("quick" if options.quick else "full")
    out = folder if options.quick else HERE
    folder.mkdir(parents=True, exist_ok=True)
    if options.quick:
        shutil.copy(HERE / "README.md", out)
    if not options.redraw:
        models = load(options.logits or train(folder, quick=options.quick), out)
        measure(models, options.measured or folder / "measured", out, quick=options.quick)
    pictures.draw_all(out, synthetic_experiment({}).figures, SYNTHETIC)
    readme.fill(out)


if __name__ == "__main__":
    main()
