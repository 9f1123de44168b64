"""Resolve every extra on its own, with lowest and highest versions, and test the small ones.

``make extras`` runs this. Torch and Spark are large, so their extras are only resolved; if an extra
is missing, the error must name it.
"""

import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
UV = Path(sys.executable).with_name("uv")
CORE = ""
LARGE = {"learn", "spark", "all"}
# What a user who installs an extra wants to run.
PROMISES = {
    CORE: "import noneg, noneg.report, noneg.cli",
    "fast": "from noneg.kernels import fast_kernels; fast_kernels(10**7).sums",
    "plot": "from noneg import PUScores, plots; "
    "plots.ReliabilityDisplay.from_scores(PUScores.from_labels([0, 1], [0.2, 0.7]))",
    "learn": "import noneg.torch",
    "boost": "from noneg.learning import BoostedPU; import numpy as np; "
    "BoostedPU(setting='one-sample', prior=0.5, engine='lightgbm').fit("
    "np.arange(40.0)[:, None], np.arange(40) < 9)",
    "serve": "import safetensors.numpy, skops.io",
    "spark": "from noneg.tables.engines import spark_table; "
    "spark_table('local', ['scores.csv'], None).__enter__()",
    "cluster": "from noneg.lab.bench import engine, sweep; "
    "runs = sweep(dataset=['digits'], setting=['one-sample'], algorithm=['upu'], split=[0]); "
    "assert len(list(engine._on_cluster(runs, repr, None))) == 1",
    "data": "from noneg.lab import datasets; datasets._pooch().create",
}


def resolve(extra, resolution):
    """Return the names of all packages that an extra requires, including those of the core."""
    command = [UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "pyproject.toml"]
    options = ["--resolution", resolution, "--python", sys.executable]
    options += ["--extra", extra] if extra else []
    done = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{extra}, {resolution}: {done.stderr}"
    return {line.split("==")[0] for line in done.stdout.splitlines() if "==" in line}


def install(extra, resolution, folder):
    """Return the interpreter of a new environment with only this extra."""
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    command = [UV, "pip", "install", "--quiet", "--python", python, "--resolution", resolution]
    # From its folder: the dependencies of a wheel are not direct and would not be the lowest
    # versions.
    subprocess.run([*command, f"{ROOT}[{extra}]" if extra else ROOT], check=True)
    return python


def try_out(python, extra):
    """Return the errors when an environment runs what an extra provides."""
    done = subprocess.run(
        [python, "-c", PROMISES[extra]], capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def check_missing(python):
    """Without extras, each error names the missing one; without `fast`, there are no errors."""
    for extra in set(PROMISES) - {CORE, "fast"}:
        error = try_out(python, extra)
        assert f"pip install 'noneg[{extra}]'" in error, (extra, error)


def megabytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def told(extra, resolution, core):
    """Resolve an extra, install it unless it is large, and describe it."""
    start, brought = time.monotonic(), resolve(extra, resolution)
    words = [f"{len(brought):3} packages, {len(brought - core):2} of them new"]
    if extra not in LARGE:
        with tempfile.TemporaryDirectory() as place:
            python = install(extra, resolution, Path(place) / "venv")
            assert not (error := try_out(python, extra)), (extra, resolution, error)
            words += [f"{megabytes(Path(place)):4.0f} MB", "runs"]
            if extra == CORE:
                check_missing(python)
    return ", ".join([*words, f"{time.monotonic() - start:.0f} s"])


def main():
    for resolution in ("lowest-direct", "highest"):
        core = resolve(CORE, resolution)
        for extra in (CORE, *EXTRAS):
            words = told(extra, resolution, core)
            print(f"{resolution:13}  {extra or 'no extra':8}  {words}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
