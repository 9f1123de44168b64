"""Steps per second of one run and of a population of 30, by method, on USPS.

A single run is the plain training loop; the population trains ten configurations on three splits of
the same method.
"""

import time

import torch

from experiments.training.plan import NUMBERS, PAPER_STEPS, on_splits, run
from noneg.lab.bench.engine import Crew, families, rows_of
from noneg.lab.bench.work import started
from noneg.learning.training import find_device

EVERY = 100
# Steps of the single run, and chunks of 100 steps of the population.
STEPS, CHUNKS = 150, 5


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def alone(method, device: torch.device, steps: int) -> float:
    """Return the steps per second of the plain loop; a third of the steps are warm-up."""
    one = run(method, "usps", 1, 0, steps=PAPER_STEPS, every=EVERY)
    start = 0.0
    with started(one, rows_of(one), device=str(device)) as begun:
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
    runs = list(on_splits([method], ["usps"], numbers=NUMBERS, steps=PAPER_STEPS, every=EVERY))
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


def measure(method, name: str) -> dict[str, object]:
    """Return both speeds on the device with this name."""
    device = find_device(name)
    one, many = alone(method, device, STEPS), together(method, device, CHUNKS)
    kind = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    row = {"method": "/".join(part for part in method if part), "device": kind}
    return row | {"single": round(one), "population": round(many), "times": round(many / one, 1)}
