"""Measure classifiers and mixtures while others are still trained; keep what is measured.

    python measure.py FOLDER --out OUT [--quick] [--processes 2] [--seconds 600]

FOLDER holds the parts that `train.py` writes. OUT gets `measured.csv`, a row a classifier, and a
folder for each mixture. With `--seconds` it watches for new parts until then or until a file
`trained` is in FOLDER, else it ends when all parts that are there are measured. Needs no
matplotlib.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import measures
import storage
from mixtures import measure_mixture, mixture_world

SIZES = [round(10 ** (1 + k / 4)) for k in range(13)]  # 10 to 10,000
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
# Which of these the paper took, it does not say.
MIXED = {
    "mnist": ("PU-sigmoid", "PU-logistic", "PU-GA-sigmoid", "PU-GA-logistic"),
    "cifar10": ("PU-sigmoid", "PU-logistic"),
}
TRAINED = "trained"
TABLES = ("figure4", "figure5", "slopes", "floors", "mixtures", "worlds")


def key(row: dict) -> tuple[str, str, int, int]:
    return row["data"], row["name"], int(row["n"]), int(row["trial"])


def stored(out: Path) -> dict[tuple, dict]:
    path = out / "measured.csv"
    return {key(r): r for r in measures.read_csv(path)} if path.exists() else {}


def shown(models: list[storage.Model]) -> dict[str, storage.Model]:
    """Return the first trial of each classifier at its largest size."""
    found: dict[str, storage.Model] = {}
    for model in sorted(models, key=lambda m: (-m.n, m.trial)):
        found.setdefault(f"{TITLES[model.data]}, {model.name}", model)
    return found


def folder_of(out: Path, world: str) -> Path:
    return out / world.replace(", ", "-")


def measure_world(name: str, model: storage.Model, out: Path, *, quick: bool) -> str:
    sizes, trials = (SIZES[::4], 10) if quick else (SIZES, 100)
    measure_mixture(name, mixture_world(model), sizes, trials, folder_of(out, name))
    return name


class Work:
    """What is measured, what is being measured, and what was seen."""

    def __init__(self, out: Path, pool: ProcessPoolExecutor, *, quick: bool) -> None:
        self.out, self.pool, self.quick = out, pool, quick
        out.mkdir(parents=True, exist_ok=True)
        self.rows, self.waiting, self.worlds = stored(out), [], []

    def add(self, models: list[storage.Model]) -> None:
        """Hand what is not measured yet to the processes; first trials are there from the start."""
        for name, model in shown(models).items():
            wanted = model.name in MIXED[model.data] and model.trial == 0
            if wanted and not (folder_of(self.out, name) / "worlds.csv").exists():
                task = (measure_world, name, model, self.out)
                self.worlds.append(self.pool.submit(*task, quick=self.quick))
        left = [m for m in models if (m.data, m.name, m.n, m.trial) not in self.rows]
        self.waiting += [self.pool.submit(measures.measure, m) for m in left]

    def gather(self) -> None:
        """Write down what the processes have finished."""
        for world in [future for future in self.worlds if future.done()]:
            print(f"{world.result()} measured", flush=True)
            self.worlds.remove(world)
        done = [future for future in self.waiting if future.done()]
        if done:
            found = [future.result() for future in done]
            self.rows |= {key(row): row for row in found}
            self.waiting = [future for future in self.waiting if future not in done]
            order = sorted(self.rows)
            measures.write_csv(self.out / "measured.csv", [self.rows[k] for k in order])
            print(f"{len(self.rows)} classifiers measured", flush=True)


def watch(folder: Path, work: Work, deadline: float | None) -> None:
    """Measure parts as they come until the deadline, or those that are there."""
    seen: set[Path] = set()
    while True:
        for path in sorted(set(folder.glob("*-P*.npz")) - seen):
            work.add(storage.load(path)[0])
            seen.add(path)
        work.gather()
        over = (folder / TRAINED).exists() and not (work.waiting or work.worlds)
        if deadline is None or time.time() > deadline or over:
            return
        time.sleep(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    deadline = None if options.seconds is None else time.time() + options.seconds
    pool = ProcessPoolExecutor(options.processes)
    work = Work(options.out, pool, quick=options.quick)
    watch(options.folder, work, deadline)
    pool.shutdown(cancel_futures=deadline is not None)
    for futures in (work.waiting, work.worlds):
        futures[:] = [future for future in futures if not future.cancelled()]
    work.gather()


if __name__ == "__main__":
    main()
