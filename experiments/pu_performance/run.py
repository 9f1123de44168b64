"""Bounds on performance without negatives, and proxies of it, against the papers' claims.

    python experiments/pu_performance/run.py [--quick] [--workers 2]

Figures 2 to 5 and Tables 1 and 2 of Claesen et al. (2015), and Propositions 1 and 2 and the
internal label shift of the PU benchmark paper. Tables are written beside this file, pictures drawn
from them, and the tables of the README filled in. Figure 5 and the tables need ``covtype.npz``, the
propositions ``usps.npz``, both in the folder that the variable NONEG_DATA names; parts whose data
is not at hand are skipped with a message. ``--quick`` takes few trials and writes to
``build/pu_performance``.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import covtype
import figures
import proxies
import ranks
import readme

HERE = Path(__file__).parent
QUICK = HERE.parents[1] / "build" / "pu_performance"
PARTS = ("ranks", "covtype", "proxies")


def data_folder(name: str) -> Path | None:
    """Folder that holds a data set, or None and a message."""
    folder = os.environ.get("NONEG_DATA")
    if folder and (Path(folder) / name).exists():
        return Path(folder)
    print(f"SKIPPED what needs {name}: NONEG_DATA names no folder that holds it.", file=sys.stderr)
    return None


def versions() -> str:
    packages = ("noneg", "numpy", "scipy", "scikit-learn", "matplotlib")
    found = [f"{p} {version(p).partition('+')[0]}" for p in packages]
    return ", ".join([f"Python {platform.python_version()}", *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    out = QUICK if options.quick else HERE
    if options.quick:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "README.md", out)
    if "ranks" in options.parts:
        ranks.run(out, quick=options.quick, workers=options.workers)
    if "covtype" in options.parts and (folder := data_folder("covtype.npz")):
        covtype.run(out, folder, quick=options.quick)
    if "proxies" in options.parts and (folder := data_folder("usps.npz")):
        proxies.run(out, folder, quick=options.quick)
    figures.draw_all(out)
    readme.fill(out, versions())


if __name__ == "__main__":
    main()
