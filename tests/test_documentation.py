"""Every public name has a place in the reference."""

import re
from importlib import import_module
from pathlib import Path

import pytest

API = Path(__file__).parents[1] / "docs" / "api.rst"
# Types that only annotations use.
MODULES = [
    "noneg",
    "noneg.bench",
    "noneg.calibration",
    "noneg.datasets",
    "noneg.information",
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
ALIASES = {"Binning", "Form", "__version__"}


def documented(module: str) -> set[str]:
    """Names listed under a ``currentmodule``."""
    names: set[str] = set()
    for block in API.read_text().split(".. currentmodule:: ")[1:]:
        if block.split("\n", 1)[0].strip() == module:
            listing = block.split(".. autosummary::", 1)[1]
            names |= set(re.findall(r"^   ([A-Za-z]\w*)$", listing, re.MULTILINE))
    return names


def is_module(parent: str, name: str) -> bool:
    return type(getattr(import_module(parent), name)).__name__ == "module"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module):
    public = set(import_module(module).__all__) - ALIASES
    public = {name for name in public if not is_module(module, name)}
    assert public == documented(module)


def test_every_documented_name_has_an_example():
    for module in MODULES:
        for name in documented(module):
            item = getattr(import_module(module), name)
            assert item.__doc__, name
            if callable(item) and not isinstance(item, type):
                # A twin may point at the function whose example serves it too.
                shown = ">>>" in item.__doc__ or "; see `" in item.__doc__
                assert shown, f"{module}.{name} shows no example"
