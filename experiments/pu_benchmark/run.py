"""The PU benchmark paper's study, with calibration: trains what has no record yet, writes the page.

    export NONEG_DATA=...
    python experiments/pu_benchmark/run.py --full --jobs 8
    python experiments/pu_benchmark/run.py --full --part images --device cuda --jobs 2
    python experiments/pu_benchmark/run.py --full --part page

Stop it whenever you like: the same command goes on where it was. ``--seconds`` stops by itself,
``--pack`` keeps all records in one file, which another machine may put into its folder, and
``--only dataset=usps case=1 rate=0.3`` trains a part of the runs. The page and its tables are made
from the records alone (``--part page``).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="one split, 60 steps, into a folder of its own"
    )
    size.add_argument("--full", action="store_true", help="three splits; the default")
    parser.add_argument("--part", choices=("tables", "images", "page"), default="tables")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--device", default="cpu", help="of torch")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/pu_benchmark"), help="of records"
    )
    parser.add_argument("--seconds", type=float, help="start no run after so many")
    parser.add_argument("--pack", type=Path, help="file to keep all records in")
    parser.add_argument("--backwards", action="store_true", help="the last split first")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="FIELD=VALUE,...", help="runs with these values"
    )
    return parser.parse_args()


def progress(folder: Path, pack: Path | None):
    """Return what prints a line a run now and then, and packs twice a minute."""
    from noneg.bench.records import pack_records

    start, told = time.time(), {"line": 0.0, "pack": time.time()}

    def tell(done: int, failed: int, total: int) -> None:
        now = time.time()
        if now - told["line"] > 10:
            told["line"] = now
            rate = (done + failed) / (now - start)
            print(
                f"{time.strftime('%H:%M:%S')} {done} done, {failed} failed of {total}, "
                f"{60 * rate:.1f} a minute",
                flush=True,
            )
        if pack is not None and now - told["pack"] > 30:
            told["pack"] = now
            pack_records(folder, pack)

    return tell


def kept(runs: list, rules: list[str]) -> list:
    """Return the runs that have one of the values of every rule, as ``given_prior=0.35,0.7``."""
    split = [rule.partition("=") for rule in rules]
    return [
        run
        for run in runs
        if all(str(getattr(run, name)) in values.split(",") for name, _, values in split)
    ]


def train(asked: argparse.Namespace, folder: Path) -> None:
    import plan
    from noneg.bench.engine import run_all
    from noneg.bench.records import pack_records

    runs = kept(getattr(plan, asked.part)(quick=asked.quick), asked.only)
    if asked.backwards:
        runs.sort(key=lambda r: (r.configuration, -r.split))
    half = asked.device.startswith("cuda")
    counts = run_all(
        runs,
        folder,
        jobs=asked.jobs,
        device=asked.device,
        precision="bfloat16" if half else "float32",
        seconds=asked.seconds,
        tell=progress(folder, asked.pack),
    )
    print(counts, flush=True)
    if asked.pack is not None:
        print(pack_records(folder, asked.pack), "records in", asked.pack, flush=True)


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    asked = options()
    folder = asked.folder / ("quick" if asked.quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    if asked.part != "page":
        train(asked, folder)
        return
    from page import write

    write(folder, folder if asked.quick else HERE)


if __name__ == "__main__":
    main()
