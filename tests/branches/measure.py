"""Run the tests under coverage, one process per part, and enforce the required coverage.

``make coverage`` prints the table. Loops compiled by numba cannot be traced and are excluded; a
separate test compares them with their NumPy counterparts. Processes started by tests are traced as
well, except those that are killed or cannot write to disk, which leave no record.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "coverage"
TOTAL = 95
STATISTICS = (
    "bins.py",
    "functionals.py",
    "results.py",
    "scores.py",
    "theory.py",
    "calibration/*",
    "lab/information.py",
    "lab/supersample.py",
    "performance/*",
    "prior/*",
    "recalibration/*",
    "sketch/*",
)
COVERAGE = [sys.executable, "-m", "coverage"]


def parts():
    """Folders and files of tests, each run in its own process to release memory."""
    tests = ROOT / "tests"
    own = {"branches", "fuzz", "mutation", "reference", "__pycache__"}
    folders = [x for x in sorted(tests.iterdir()) if x.is_dir() and x.name not in own]
    return [ROOT / "src", tests / "fuzz", *folders, *sorted(tests.glob("test_*.py"))]


def measure(part):
    """Run a part, print its output, and return whether its tests pass."""
    environment = os.environ | {"COVERAGE_FILE": str(WORK / f".coverage.{part.stem}")}
    command = [*COVERAGE, "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(part)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    sys.stdout.write(f"{part.relative_to(ROOT)}\n{done.stdout}{done.stderr}")
    sys.stdout.flush()
    # 5 means that no tests were collected.
    return done.returncode in (0, 5)


def report(*options):
    place = f"--data-file={WORK / 'all'}"
    return subprocess.run([*COVERAGE, "report", place, *options], cwd=ROOT, check=False).returncode


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    if "--report" not in sys.argv:
        for old in WORK.glob(".coverage.*"):
            old.unlink()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            passed = list(pool.map(measure, parts()))
        if not all(passed):
            failed = [str(p) for p, fine in zip(parts(), passed, strict=True) if not fine]
            sys.exit(f"tests fail in {', '.join(failed)}")
    found = [str(x) for x in WORK.glob(".coverage.*")]
    target = f"--data-file={WORK / 'all'}"
    subprocess.run([*COVERAGE, "combine", "--keep", "-q", target, *found], cwd=ROOT, check=True)
    statistics = ",".join(f"src/noneg/{name}" for name in STATISTICS)
    all_of_it = report("--ignore-errors", f"--fail-under={TOTAL}")
    sys.exit(report("--ignore-errors", f"--include={statistics}", "--fail-under=100") or all_of_it)


if __name__ == "__main__":
    main()
