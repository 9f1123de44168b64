"""Make small changes to the most important modules, and count how many the tests detect.

``make mutation`` runs mutmut in ``build/mutation`` on copies of `src` and of the tests named here,
resumes where it stopped, and writes ``tests/mutation/results.md``. Properties are not changed,
because mutmut skips decorated functions, and neither are error messages.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "mutation"
MODULES = ("scores", "bins", "calibration/errors", "calibration/interval")
TESTS = (
    "test_scores.py",
    "test_scores_exact.py",
    "test_bins.py",
    "calibration/test_errors.py",
    "calibration/test_interval.py",
)
HELPERS = ("conftest.py", "strategies.py", "reference")
WANTED = 0.85
KILLED, SURVIVED, NO_TEST, TIMEOUTS = (1, 3), 0, 33, (36, 24, 152, 255, -24)
# A property needs only a few examples to fail; surviving changes would otherwise take long.
PROFILE = """
settings.register_profile("mutation", settings.get_profile("noneg"), max_examples=25, database=None)
settings.load_profile("mutation")
"""


def prepare() -> None:
    """Copy the modules to change and the tests that must detect the changes."""
    WORK.mkdir(parents=True, exist_ok=True)
    for folder in ("src", "tests"):
        shutil.rmtree(WORK / folder, ignore_errors=True)
    shutil.copytree(ROOT / "src", WORK / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*TESTS, *HELPERS):
        source, target = ROOT / "tests" / name, WORK / "tests" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    with (WORK / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(PROFILE)
    config = {
        "source_paths": ["src"],
        "only_mutate": [f"src/noneg/{module}.py" for module in MODULES],
        "pytest_add_cli_args_test_selection": [f"tests/{test}" for test in TESTS],
        "do_not_mutate_patterns": [r"^\s*msg = ", "raise ValueError", r'^\s*f?"'],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in config.items()]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text += "\n[tool.mutmut]\n" + "\n".join(lines) + "\n"
    (WORK / "pyproject.toml").write_text(text, encoding="utf-8")


def mutate() -> None:
    """Run mutmut, one process at a time; earlier results are kept."""
    # As in continuous integration, use the same examples for every change.
    environment = os.environ | {
        "PYTHONPATH": str(WORK / "tools"),
        "CI": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
    subprocess.run(command, cwd=WORK, env=environment, check=True)


class Mutant(NamedTuple):
    """One change to the code, and the test result."""

    module: str
    function: str
    before: str
    after: str
    code: int | None


def mutants(module: str) -> list[Mutant]:
    """Return every change to a module."""
    place = WORK / "mutants" / "src" / "noneg" / f"{module}.py"
    verdicts = json.loads(place.with_name(f"{place.name}.meta").read_text())["exit_code_by_key"]
    tree = ast.parse(place.read_text(encoding="utf-8"))
    functions = {x.name: x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef)}
    prefix = f"noneg.{module.replace('/', '.')}."
    found = []
    for name, code in verdicts.items():
        changed = name.removeprefix(prefix)
        stem = changed.rsplit("__mutmut_", 1)[0]
        before, after = difference(functions[f"{stem}__mutmut_orig"], functions[changed])
        function = stem.replace("xǁ", "").replace("ǁ", ".").removeprefix("x_")
        found.append(Mutant(module, function, before, after, code))
    return found


def difference(one: ast.FunctionDef, other: ast.FunctionDef) -> tuple[str, str]:
    """Return the lines that differ."""
    sides = ["", ""]
    for side, function in enumerate((one, other)):
        function.name = "f"
        sides[side] = ast.unparse(function)
    lines = list(difflib.ndiff(*(side.splitlines() for side in sides)))
    return tuple(" ".join(x[2:].strip() for x in lines if x.startswith(sign)) for sign in "-+")


def reasons() -> dict[str, str]:
    """Return why a change makes no difference, by the changed line."""
    with (Path(__file__).parent / "equivalent.toml").open("rb") as stream:
        entries = tomllib.load(stream)["change"]
    return {f"{x['function']}: {x['after']}": x["why"] for x in entries}


def table(all_mutants: list[Mutant], known: dict[str, str]) -> tuple[str, float]:
    """Return the stored page, and the share of changes that the tests detect."""
    rows = ["| module | changes | noticed | not noticed | of these equivalent | noticed |"]
    rows.append("|---|---:|---:|---:|---:|---:|")
    alive = [x for x in all_mutants if x.code in (SURVIVED, NO_TEST)]
    for module in (*MODULES, ""):
        here = [x for x in all_mutants if module in (x.module, "")]
        killed = sum(x.code in KILLED or x.code in TIMEOUTS for x in here)
        left = [x for x in alive if module in (x.module, "")]
        same = sum(key(x) in known for x in left)
        share = f"{killed / len(here):.1%}"
        counts = f"{len(here)} | {killed} | {len(left)} | {same} | {share}"
        rows.append(f"| {f'`{module}`' if module else 'all'} | {counts} |")
    lines = ["\n## Not noticed\n"]
    for x in alive:
        why = known.get(key(x), "**a test is missing**")
        lines.append(f"- `{x.module}` `{x.function}`: `{x.before}` -> `{x.after}`: {why}")
    return "\n".join([HEAD, *rows, *lines, ""]), killed / len(all_mutants)


HEAD = """# Mutation test

Written by `make mutation`: small changes to the code (another operator, number, argument or
text), and whether the tests detect them. Properties and error messages are not changed.
"""


def key(mutant: Mutant) -> str:
    """Return an identifier for a change that does not depend on line numbers."""
    return f"{mutant.function}: {mutant.after}"


def main() -> None:
    """Run everything, or with --report only count again."""
    if "--report" not in sys.argv:
        prepare()
        mutate()
    found = [mutant for module in MODULES for mutant in mutants(module)]
    if open_ones := sum(x.code is None for x in found):
        print(f"{open_ones} of {len(found)} changes are not decided yet")  # noqa: T201
    page, share = table(found, reasons())
    if open_ones:
        page += f"\n{open_ones} changes were not decided yet; they count as not noticed above.\n"
    if "--report" not in sys.argv or "--store" in sys.argv:
        (Path(__file__).parent / "results.md").write_text(page, encoding="utf-8")
    print(page)  # noqa: T201
    if share < WANTED:
        sys.exit(f"only {share:.1%} of the changes are noticed, {WANTED:.0%} are wanted")


if __name__ == "__main__":
    main()
