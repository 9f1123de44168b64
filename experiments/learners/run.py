"""Every learning algorithm on two worlds, and beside the numbers of the PU benchmark paper.

    NONEG_DATA=... python experiments/learners/run.py [--quick | --full] [--jobs 1]

Trains what is not yet in the folder of runs, and writes ``runs.csv``, ``gaussians.md``,
``usps.md``, ``acceptance.md``, ``search.md``, ``calibration.png`` and the tables of the README
beside this file (``--quick``: one split, 1,000 steps, into the folder of runs).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).parent


def train(jobs, folder: Path, workers: int) -> None:
    from training import perform

    start, left = time.time(), [job for job in jobs if not job.path(folder).exists()]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for done, future in enumerate(
            as_completed([pool.submit(perform, job, folder) for job in left]), 1
        ):
            name, seconds = future.result().stem, time.time() - start
            print(f"{done}/{len(left)} {seconds:.0f} s {name}", flush=True)


def machine() -> str:
    import numpy as np
    import torch

    return (
        f"Python {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}, "
        f"{platform.machine()}, one thread a run"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="one split, 1,000 steps")
    size.add_argument("--full", action="store_true", help="three splits, 20,000 steps; the default")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=Path("build/learners"), help="of runs")
    parser.add_argument("--part", choices=("gaussians", "usps", "search"), help="train these only")
    parser.add_argument("--match", nargs="+", default=[""], help="only runs with this in the name")
    parser.add_argument("--train-only", action="store_true", help="write no tables")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    folder = options.folder / ("quick" if options.quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    from training import grid

    parts = grid(quick=options.quick)
    jobs = list(dict.fromkeys(job for part in parts.values() for job in part))
    asked = parts[options.part] if options.part else jobs
    named = [job for job in asked if any(text in job.path(folder).stem for text in options.match)]
    train(named, folder, options.jobs)
    (folder / "machine.txt").write_text(machine() + "\n")
    if not options.train_only:
        from tables import write

        write(jobs, folder, folder if options.quick else HERE)


if __name__ == "__main__":
    main()
