"""Run a study by its name, or list them: python -m experiments [NAME] [--quick] [--help]."""

import os

# Use one thread per process; this must be set before NumPy is loaded.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import ast
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

from experiments import STUDIES


def listing() -> str:
    """List every study with the first line of its docstring, without importing any."""
    lines = []
    for name, module in STUDIES.items():
        source = Path(find_spec(module).origin).read_text(encoding="utf-8")
        lines.append(f"  {name:15} {ast.get_docstring(ast.parse(source)).splitlines()[0]}")
    return "\n".join(["python -m experiments NAME [--quick] [--help]", "", *lines])


def main(words: list[str]) -> None:
    if not words or words[0] not in STUDIES:
        print(listing())
        sys.exit(0 if words in ([], ["--help"]) else f"\nThere is no study {words[0]!r}.")
    importlib.import_module(STUDIES[words[0]]).STUDY.main(words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
