"""Run the quick tests with every installed Python version from 3.11 up.

It searches the path and the pyenv versions; each version gets its own environment in
build/versions, without torch and Spark, which the next run reuses.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAST = (3, 11)
NEEDS = (
    ".[fast,plot,cluster,sql]",
    "hypothesis>=6.100",
    "pandas>=2.2",
    "polars>=1.31",
    "pytest-benchmark>=5.0",
    "pytest-xdist>=3.6",
    "pytest>=9.0",
)


def interpreters():
    """Return one interpreter per version, keyed by version."""
    folders = [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = {}
    for folder in (*sorted(pyenv.glob("versions/*/bin")), *folders):
        for path in sorted(folder.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and (version := _version(path)):
                found.setdefault(version, path)
    return dict(sorted(found.items()))


def _version(path):
    """Return the major and minor version of an interpreter that runs and is recent enough."""
    ask = [str(path), "-c", "import sys; print(*sys.version_info[:2])"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    if answer.returncode:
        return None
    version = tuple(map(int, answer.stdout.split()))
    return version if version >= LEAST else None


def run(version, interpreter):
    """Return whether the quick tests pass."""
    place = ROOT / "build" / "versions" / ".".join(map(str, version))
    python = str(place / "bin" / "python")
    steps = (
        [str(interpreter), "-m", "venv", str(place)],
        [python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", *NEEDS],
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--quick", "tests"],
    )
    return all(subprocess.run(step, cwd=ROOT, check=False).returncode == 0 for step in steps)


if __name__ == "__main__":
    results = {version: run(version, path) for version, path in interpreters().items()}
    for version, passed in results.items():
        print(f"Python {version[0]}.{version[1]}: {'passed' if passed else 'FAILED'}")  # noqa: T201
    sys.exit(0 if results and all(results.values()) else 1)
