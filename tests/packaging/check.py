"""Install the wheel into an empty environment, and run it as a new user would.

``make dist`` builds wheel and source archive, and runs this.
"""

import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST_SOURCE = 20_000_000


def contents(wheel, source):
    """The package is typed, contains its templates and topics, and is not too large."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for wanted in ("noneg/py.typed", "noneg/cli/topics/prior.md", "noneg/report/assets/page.js"):
        assert wanted in names, wanted
    assert not [name for name in names if name.startswith(("tests", "experiments", "docs"))]
    with tarfile.open(source) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "Makefile", "tests/conftest.py"} <= inside
    assert source.stat().st_size < LARGEST_SOURCE, source.stat().st_size


def installed(wheel, folder):
    """Return the commands of an environment that contains the wheel and its dependencies."""
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", wheel], check=True)
    return folder / "bin"


def run(*command, folder):
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return done.stdout


def main(dist):
    start = time.monotonic()
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    contents(wheel, source)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        commands = installed(wheel, folder / "empty")
        version = run(commands / "noneg", "--version", folder=folder).split()[1]
        assert f"noneg-{version}-" in wheel.name, (version, wheel.name)
        assert "Calibration error" in run(commands / "noneg", "demo", folder=folder)
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>")
        assert "settings" in run(commands / "noneg", "help", folder=folder)
        run(commands / "python", "-c", "import noneg; noneg.PUScores", folder=folder)
    print(f"{wheel.name} installs and runs: {time.monotonic() - start:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
