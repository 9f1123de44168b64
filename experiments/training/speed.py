"""Steps per second of one run and of a population of 30, by method, on USPS.

``python -m experiments.training.speed --device cuda --out speed.csv``. A single run is the plain
training loop; the population trains ten configurations on three splits of the same method.
"""

import argparse
import csv
import time
from pathlib import Path

import torch

from experiments.training.plan import PAPER_STEPS, SPLITS, paper_versions, run
from noneg.lab.bench.together import Crew, families, rows_of
from noneg.lab.bench.work import arguments, make_trainer, set_up
from noneg.learning.training import find_device, seeded

EVERY = 100


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def alone(method, device: torch.device, steps: int) -> float:
    """Return the steps per second of the plain loop; a third of the steps are warm-up."""
    one = run(method, "usps", 1, 0, steps=PAPER_STEPS, every=EVERY)
    setup = set_up(one)
    trainer, start = make_trainer(one, setup, device=str(device)), 0.0
    with seeded(trainer.seed, device):
        begun = trainer.begin(**arguments(one, rows_of(one), setup))
        for step in range(steps):
            if step == steps // 3:
                wait(device)
                start = time.perf_counter()
            begun.advance()
        wait(device)
    return (steps - steps // 3) / (time.perf_counter() - start)


def together(method, device: torch.device, chunks: int) -> float:
    """Return the member steps per second of a population of 30, including checkpoints; the fastest
    chunk."""
    runs = [
        run(method, "usps", 1, split, steps=PAPER_STEPS, every=EVERY, configuration=number)
        for number in range(10)
        for split in range(SPLITS)
    ]
    crew, best = Crew(".", device=str(device)), 0.0
    for family in families(runs):
        crew.begin(family)
    for _ in range(chunks):
        start = time.perf_counter()
        for _, population in crew.going:
            population.advance()
        wait(device)
        best = max(best, EVERY * crew.size / (time.perf_counter() - start))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=150, help="of the single run")
    parser.add_argument("--chunks", type=int, default=5, help="of 100 steps of the population")
    parser.add_argument("--only", nargs="*", default=[], help="names of algorithms")
    asked = parser.parse_args()
    device = find_device(asked.device)
    with asked.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "device", "single", "population", "times"])
        for method in paper_versions():
            if asked.only and method[0] not in asked.only:
                continue
            one, many = alone(method, device, asked.steps), together(method, device, asked.chunks)
            name = "/".join(part for part in method if part)
            kind = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
            writer.writerow([name, kind, round(one), round(many), round(many / one, 1)])
            file.flush()
            print(f"{name:24s} {one:8.0f} {many:10.0f} {many / one:8.1f}", flush=True)


if __name__ == "__main__":
    main()
