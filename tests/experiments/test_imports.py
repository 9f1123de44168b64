"""Studies also import inside functions, so imported names are looked up without running them."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    file for folder in ("benchmarks", "experiments") for file in (ROOT / folder).rglob("*.py")
)


def imported(file):
    """Yield the modules and names that a file imports from noneg or the studies."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("noneg", "experiments")
        ):
            yield from ((node.module, alias.name) for alias in node.names)


def exists(module, name):
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_imported_name_exists(file):
    assert [(module, name) for module, name in imported(file) if not exists(module, name)] == []
