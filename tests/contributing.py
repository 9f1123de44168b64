"""The diffs in CONTRIBUTING. ``python tests/contributing.py`` rewrites them for the current code.

Each diff is applied to a copy of ``src/``. The result, compared with the original again, gives the
current line numbers and surrounding lines. A diff that no longer applies is an error.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
EXAMPLE = re.compile(r"### An? ([\w ]+)\n.*?```diff\n(.*?)```", re.DOTALL)


def diffs() -> dict[str, str]:
    """Return the diff below each heading that names a kind of component."""
    return dict(EXAMPLE.findall(PAGE.read_text("utf-8")))


def apply(diff: str, folder: Path, *options: str) -> str:
    """Apply a diff to a copy of ``src/`` in a folder, and return the complaints of git."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    # To recount its lines, git needs the files one at a time.
    parts = re.split(r"^(?=--- \S+\n\+\+\+ )", diff, flags=re.MULTILINE)[1:]
    return "".join(_complaint(part, folder, options) for part in parts)


def _complaint(part: str, folder: Path, options: tuple[str, ...]) -> str:
    command = ["git", "apply", "-p0", *options, "-"]
    run = subprocess.run(
        command, input=part, text=True, capture_output=True, check=False, cwd=folder
    )
    return run.stderr if run.returncode else ""


def rewritten(diff: str) -> str:
    """Return the diff with current line numbers and context."""
    with tempfile.TemporaryDirectory() as name:
        # One line of context is enough to find the place, and lines edited by hand are counted.
        if complaint := apply(diff, folder := Path(name), "-C1", "--recount"):
            raise SystemExit(f"{complaint}Edit the diff in {PAGE.name} by hand:\n{diff}")
        files = re.findall(r"^\+\+\+ (\S+)$", diff, re.MULTILINE)
        return "".join(_difference(file, folder) for file in files)


def _difference(file: str, folder: Path) -> str:
    old = file if (ROOT / file).exists() else "/dev/null"
    command = ["git", "diff", "--no-index", "--no-color", "-U2", old, str(folder / file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    hunks = run.stdout[run.stdout.index("\n@@ ") :]
    # Without the function that git appends.
    return f"--- {old}\n+++ {file}" + re.sub(r"^(@@ .* @@).*", r"\1", hunks, flags=re.MULTILINE)


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    for shown in diffs().values():
        text = text.replace(shown, rewritten(shown))
    PAGE.write_text(text, "utf-8")
