"""Results by group: coverage of simultaneous intervals, size of the test, and cost."""

import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.groups import worlds
from experiments.study import Run, Study, cells


def coverage(run: Run) -> None:
    every = [
        {**cell, "groups": groups, "trials": run.trials(trials, 3)}
        for groups, trials in ((5, 400), (20, 400), (200, 200))
        for cell in cells(
            law=list(worlds.LAWS),
            calibrated=[True, False],
            setting=["two-sample", "one-sample"],
        )
    ]
    run.resume("coverage", worlds.cover, every)


def size(run: Run) -> dict[str, list]:
    """Return how often the tests reject with many groups, in more draws."""
    settings = ["two-sample", "one-sample"]
    every = cells(
        law=list(worlds.LAWS), setting=settings, groups=[200], trials=[run.trials(400, 3)]
    )
    return {"size": run.rows(worlds.reject, every)}


def cost(run: Run) -> dict[str, list]:
    """Return the CPU time and memory for evaluating one file, with and without groups."""
    n = run.pick(10_000_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        worlds.write_rows(path, n)
        plain, *grouped = [_measured(path, groups) for groups in ("", "k", "wide")]
    rows = []
    for groups, found in zip((0, 1000, 10_000), (plain, *grouped), strict=True):
        rows.append(
            {"rows": n, "groups": groups, "ratio": found["seconds"] / plain["seconds"]} | found
        )
    return {"cost": rows}


def _measured(path: Path, by: str) -> dict[str, float]:
    words = [str(path), "--score", "p", "--label", "y", "--setting", "one-sample", "--json"]
    words += ["--prior", "0.3", *(["--by", by] if by else [])]
    command = [sys.executable, "-c", MEASURE, "evaluate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    seconds, megabytes = done.stderr.split()[-2:]
    return {"seconds": float(seconds), "megabytes": float(megabytes)}


MEASURE = """
import atexit, resource, sys
from noneg.cli import main
def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
atexit.register(tell)
main(sys.argv[1:])
"""

STUDY = Study("groups", (coverage, size, cost), page="experiments.groups.page", optional=("cost",))
