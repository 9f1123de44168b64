"""Calibration of networks trained without negatives: Figures 1 to 5 of the PU-ECE paper.

    NONEG_DATA=... python experiments/pu_ece_neural/run.py --quick | --full [--logits FILE ...]

Trains what is missing in ``build/pu_ece_neural``, measures, draws, and writes tables, pictures
and the numbers of the README beside this file (``--quick``: a few minutes on two cores, small
data, everything into ``build/pu_ece_neural/quick``). ``--logits`` takes files that ``train.py``
made on another machine, and trains nothing; ``--redraw`` starts from the tables.
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
from importlib.metadata import version
from pathlib import Path

import measures
import pictures
import readme
import storage
from mixtures import component_rows, measure_mixtures, mixture_world, synthetic_experiment

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "pu_ece_neural"
SIZES = [round(10 ** (1 + k / 4)) for k in range(13)]  # 10 to 10,000
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
MIXED = ("PU-sigmoid", "PU-logistic")  # which of the two the paper took, it does not say
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
    analysis = {"command": shlex.join(["python", *sys.argv]), "python": platform.python_version()}
    analysis |= {p: version(p).partition("+")[0] for p in packages}
    training = [{"classifiers": count} | json.loads(how) for how, count in made.items()]
    text = json.dumps({"training": training, "analysis": analysis}, indent=1)
    (out / "made.json").write_text(text + "\n")
    return models


def measure_models(models: list[storage.Model], out: Path) -> None:
    rows, start = [], time.time()
    for k, model in enumerate(models, 1):
        rows.append(measures.measure(model))
        if k % 100 == 0 or k == len(models):
            print(f"{k}/{len(models)} classifiers, {time.time() - start:.0f} s", flush=True)
    measures.write_csv(out / "models.csv", rows)
    measures.write_csv(out / "summary.csv", measures.summary_rows(rows))
    measures.write_csv(out / "ordering.csv", measures.ordering_rows(rows))


def shown(models: list[storage.Model]) -> dict[str, storage.Model]:
    """Return the first trial of each classifier at its largest size."""
    found = {}
    for model in sorted(models, key=lambda m: (-m.n, m.trial)):
        found.setdefault(f"{TITLES[model.data]}, {model.name}", model)
    return found


def measure_benchmark(models: list[storage.Model], out: Path, *, quick: bool) -> None:
    """Figures 2 to 5."""
    first = shown(models)
    measures.write_csv(out / "histograms.csv", measures.histogram_rows(first))
    names = [f"{title}, {name}" for title in TITLES.values() for name in MIXED]
    worlds = {name: mixture_world(first[name]) for name in names if name in first}
    measures.write_csv(out / "mixtures.csv", component_rows(worlds))
    measure_mixtures(worlds, SIZES[::4] if quick else SIZES, 10 if quick else 100, out)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true")
    size.add_argument("--full", action="store_true")
    parser.add_argument("--logits", type=Path, nargs="+", help="files of train.py; train nothing")
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
        measure_models(models, out)
        measure_benchmark(models, out, quick=options.quick)
    pictures.draw_all(out, synthetic_experiment({}).figures)
    readme.fill(out)


if __name__ == "__main__":
    main()
