"""Train the classifiers and keep their logits; what is there already is not trained again.

    NONEG_DATA=... python train.py mnist|cifar [--quick] [--trials 100] [--seconds 600] [--out OUT]

Work is cut into parts with a file each in the folder. With `--seconds` it stops by itself, keeps
the part in work, and goes on from there next time. `--out` names a folder that gets one file with
all logits after every part. Needs torch, numpy and noneg alone.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cifar
import mnist
import numpy as np
import torch
from ensemble import Clock, OutOfTime
from storage import header, merge, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from storage import Model

    Part = tuple[str, Callable[[Clock], list[Model]]]

QUICK_MNIST = mnist.Plan(sizes=(100, 1000), n_unlabeled=6000, epochs=10, n_test=2000)
QUICK_CIFAR = cifar.Plan(n_positive=400, n_unlabeled=2000, epochs=2, n_test=1000, small=True)
QUICK_TRIALS = {"mnist": 2, "cifar": 1}
MIB = 2**20
LARGEST = 12 * MIB  # of parts that share a file


def mnist_parts(options: argparse.Namespace, device: torch.device) -> Iterator[Part]:
    plan = QUICK_MNIST if options.quick else mnist.Plan()
    data = mnist.images(plan, device)
    for start in range(options.first, options.first + options.trials, options.block):
        stop = min(start + options.block, options.first + options.trials)
        block = mnist.Block(data, plan, range(start, stop))

        def labelled(clock: Clock, block: mnist.Block = block) -> list[Model]:
            return [m for n in plan.sizes for m in mnist.train_labelled(block, n, clock)]

        def unlabeled(clock: Clock, block: mnist.Block = block) -> list[Model]:
            return mnist.train_pu(block, clock)

        yield f"mnist-PN-{start:03d}", labelled

        def mixed(clock: Clock, block: mnist.Block = block) -> list[Model]:
            return mnist.train_mixed(block, clock)

        yield f"mnist-PU-{start:03d}", unlabeled
        yield f"mnist-PUmixed-{start:03d}", mixed


def cifar_parts(options: argparse.Namespace, device: torch.device) -> Iterator[Part]:
    plan = QUICK_CIFAR if options.quick else cifar.Plan()
    data = cifar.images(plan, device)
    for trial in range(options.first, options.first + options.trials):
        for name in cifar.ORDER:

            def one(clock: Clock, name: str = name, trial: int = trial) -> list[Model]:
                return [cifar.Training(data, plan, name, trial).run(clock)]

            yield f"cifar-{name}-{trial:03d}", one


PARTS = {"mnist": mnist_parts, "cifar": cifar_parts}


def collect(folder: Path, data: str, out: Path | None) -> None:
    """Put all parts into few files of the folder of results, each below `LARGEST`."""
    done = sorted(folder.glob(f"{data}-P*.npz"), key=lambda path: path.stem[-3:])
    if out is None or not done:
        return
    out.mkdir(parents=True, exist_ok=True)
    filled = np.cumsum([path.stat().st_size for path in done]) // LARGEST
    for number in np.unique(filled):
        path = out / f"{data}-{number + 1}.npz"
        merge([p for p, k in zip(done, filled, strict=True) if k == number], path)
        print(f"{path.name} {path.stat().st_size / MIB:.2f} MiB", flush=True)


def train(options: argparse.Namespace) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    options.folder.mkdir(parents=True, exist_ok=True)
    command = f"train.py {options.data} --first {options.first} --trials {options.trials}"
    made = header(options.first, command + " --quick" * options.quick)
    clock = Clock(options.started + options.seconds, options.folder)
    collect(options.folder, options.data, options.out)
    for label, work in PARTS[options.data](options, device):
        path = options.folder / f"{label}.npz"
        if path.exists():
            continue
        if clock.over():
            break
        try:
            save(path, work(clock), made)
        except OutOfTime:
            print(f"{label}: out of time, kept", flush=True)
            break
        print(f"{label} done at {time.time() - options.started:.0f} s", flush=True)
        collect(options.folder, options.data, options.out)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="minutes on two cores")
    parser.add_argument("--folder", type=Path, default=Path("build/pu_ece_neural"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--block", type=int, default=10, help="trials trained together")
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    options.started = time.time()
    options.trials = options.trials or (QUICK_TRIALS[options.data] if options.quick else 100)
    return options


if __name__ == "__main__":
    train(parse())
