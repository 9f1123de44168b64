"""Every public name is in the reference, and every statement in the papers is covered."""

import csv
import re
from functools import reduce
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from noneg._moved import HOMES
from noneg.learning.estimator import TABLE_LEARNERS
from noneg.metrics import METRICS
from noneg.prior import ESTIMATORS
from noneg.recalibration import METHODS

ROOT = Path(__file__).parents[1]
API = ROOT / "docs" / "api.rst"
PAPERS = sorted((ROOT / "docs" / "papers").glob("*.csv"))
STATUS = {"done", "differs", "partly", "not covered"}
MODULES = [
    "noneg",
    "noneg.audit",
    "noneg.calibration",
    "noneg.lab.bench",
    "noneg.lab.datasets",
    "noneg.lab.information",
    "noneg.lab.sgld",
    "noneg.learning",
    "noneg.learning.algorithms",
    "noneg.learning.networks",
    "noneg.learning.views",
    "noneg.performance",
    "noneg.plots",
    "noneg.prior",
    "noneg.recalibration",
    "noneg.report",
    "noneg.sensitivity",
    "noneg.simulation",
    "noneg.sklearn",
    "noneg.theory",
]
# Types that are used only in annotations.
ALIASES = {"Binning", "Form", "__version__"}


def documented(module: str) -> set[str]:
    """Names listed under a ``currentmodule``."""
    names: set[str] = set()
    for block in API.read_text().split(".. currentmodule:: ")[1:]:
        if block.split("\n", 1)[0].strip() == module:
            listing = block.split(".. autosummary::", 1)[1]
            names |= set(re.findall(r"^   ([A-Za-z]\w*)$", listing, re.MULTILINE))
    return names


def exported(module: str) -> set[str]:
    """Names in ``__all__``, or else those imported under their own name."""
    if hasattr(found := import_module(module), "__all__"):
        return set(found.__all__)
    return set(re.findall(r"\b(\w+) as \1\b", Path(found.__file__).read_text("utf-8")))


def is_module(parent: str, name: str) -> bool:
    return type(getattr(import_module(parent), name)).__name__ == "module"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module):
    public = {name for name in exported(module) - ALIASES if not is_module(module, name)}
    listed = documented(module)
    assert public <= listed, f"list under {module} in docs/api.rst: {sorted(public - listed)}"
    assert listed <= public, f"{module} does not export: {sorted(listed - public)}"


def registered() -> dict[str, set[str]]:
    """Names of the registered components, by the package that exports them."""
    named = {
        "noneg.prior": {kind.__name__ for kind in ESTIMATORS.values()},
        "noneg.recalibration": {kind.__name__ for kind in METHODS.values()},
        "noneg.learning": {kind.__name__ for kind in TABLE_LEARNERS.values()},
    }
    for metric in METRICS.values():
        package = metric.function.__module__.rpartition(".")[0]
        named.setdefault(package, set()).update({metric.name, metric.interval.__name__})
    return named


@pytest.mark.parametrize("module", registered())
def test_every_registered_component_is_exported(module):
    missing = registered()[module] - exported(module)
    assert not missing, f"export from the __init__.py of {module}: {sorted(missing)}"


def test_every_documented_name_has_an_example():
    for module in MODULES:
        for name in documented(module):
            item = getattr(import_module(module), name)
            assert item.__doc__, name
            if callable(item) and not isinstance(item, type):
                # A variant may refer to the function whose example also covers it.
                shown = ">>>" in item.__doc__ or "; see `" in item.__doc__
                assert shown, f"{module}.{name} shows no example"


def statements(paper: Path) -> list[dict[str, str]]:
    with paper.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def imported(name: str) -> object:
    """Return the object with a dotted name."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            module = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[split:], module)
    raise AssertionError(name)


def test_there_are_five_papers():
    page = (ROOT / "docs" / "papers.md").read_text()
    shown = set(re.findall(r"^```\{paper\} (\w+)$", page, re.MULTILINE))
    assert shown == {paper.stem for paper in PAPERS}
    assert len(PAPERS) == 5


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.stem)
def test_statements_in_papers_are_covered_as_listed(paper):
    items = [row["item"] for row in statements(paper)]
    assert len(set(items)) == len(items)
    for row in statements(paper):
        places = row["where"].split("; ") if row["where"] else []
        assert row["status"] in STATUS, row
        assert places or row["status"] == "not covered", row
        assert row["note"] or row["status"] == "done", row
        # If a named result is missing, the page states this.
        assert not row["evidence"] or Path(row["evidence"]).parent.as_posix() in places, row
        for place in places:
            if place.startswith("noneg."):
                assert imported(place) is not None
            else:
                assert (ROOT / place).is_dir(), place
                assert place.startswith("experiments/"), place


def test_the_index_of_papers_names_documented_functions_only():
    known = {f"{module}.{name}" for module in MODULES for name in documented(module)}
    named = {
        place
        for paper in PAPERS
        for row in statements(paper)
        for place in row["where"].split("; ")
        if place.startswith("noneg.")
    }
    assert named <= known, named - known


def test_the_drawing_shows_the_layers_and_every_module():
    path = ROOT / "docs" / "house.py"
    spec = spec_from_file_location("house", path)
    house = module_from_spec(spec)
    spec.loader.exec_module(house)
    assert (ROOT / "docs" / "house.svg").read_text() == house.picture()
    there = {p.stem for p in (ROOT / "src" / "noneg").iterdir() if p.suffix in ("", ".py")}
    there = {name for name in there if not name.startswith("_") and f"noneg.{name}" not in HOMES}
    # The demo is used only by its own command.
    assert set(house.layers()) == there - {"demo"}


def test_files_named_in_the_architecture_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split("## Where is it?")[1].split("##")[0]
    named = re.findall(r"`([\w/]+(?:\.py|\.js|/))`", table)
    assert len(named) > 20
    folders = [ROOT / "src" / "noneg", ROOT / "src" / "noneg" / "report"]
    folders += [p for p in folders[0].rglob("*") if p.is_dir()]
    for name in named:
        assert any((folder / name).exists() for folder in folders), name
