"""The metadata of the package."""

import re
import tomllib
from importlib.metadata import entry_points, metadata
from pathlib import Path

import noneg

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_is_typed():
    assert Path(noneg.__file__).with_name("py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_every_dependency_has_a_lower_bound_and_no_upper_one():
    extras = PROJECT["optional-dependencies"]
    for name in [*PROJECT["dependencies"], *(x for extra in extras.values() for x in extra)]:
        if not name.startswith("noneg["):
            assert re.fullmatch(r"[\w.-]+(\[\w+\])?>=[\d.]+", name), name


def test_all_extras_are_in_all():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    named = set(everything.removeprefix("noneg[").removesuffix("]").split(","))
    assert named == set(PROJECT["optional-dependencies"]) - {"all"}


def test_the_command_is_installed():
    (command,) = (x for x in entry_points(group="console_scripts") if x.name == "noneg")
    assert command.value == "noneg.cli:main"
    assert noneg.__version__ == metadata("noneg")["Version"]


def test_the_version_comes_from_the_tag():
    assert "version" in PROJECT["dynamic"]
    assert re.match(r"\d+\.\d+\.\d+", noneg.__version__)
