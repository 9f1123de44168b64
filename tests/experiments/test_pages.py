"""What experiments share to write their pages, and that pages are what stored tables give."""

import csv
import doctest
import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    yield importlib.import_module("pages")
    sys.modules.pop("pages", None)


def test_examples(pages):
    assert doctest.testmod(pages).failed == 0


def test_a_row_with_a_cell_too_few_is_refused(pages):
    with pytest.raises(ValueError, match="a row has 1 cells, the header 2"):
        pages.table(["a", "b"], [["1"]])


def test_filling_replaces_one_place_and_keeps_the_rest(pages, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "before\n\n<!-- one -->\n\nold\n\n<!-- end -->\n\n<!-- two -->\nx\n<!-- end -->\n"
    )
    pages.fill(page, {"one": "new \\1\n"})
    wanted = "before\n\n<!-- one -->\n\nnew \\1\n\n<!-- end -->\n\n<!-- two -->\nx\n<!-- end -->\n"
    assert page.read_text() == wanted
    pages.fill(page, {"one": "new \\1"})
    assert page.read_text() == wanted
    with pytest.raises(ValueError, match="0 places for 'three'"):
        pages.fill(page, {"three": ""})


@pytest.fixture
def load(monkeypatch):
    """Import a file of an experiment, and forget all that came with it."""
    before = set(sys.modules)

    def imported(folder, name):
        monkeypatch.syspath_prepend(str(EXPERIMENTS / folder))
        return importlib.import_module(name)

    yield imported
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(EXPERIMENTS)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("folder", "module", "fill"),
    [
        ("bpm", "figures", "fill_readme"),
        ("pu_ece", "figures", "fill_readme"),
        ("pu_performance", "readme", "fill"),
        ("information", "readme", "fill"),
    ],
)
def test_a_page_is_what_its_tables_give(load, tmp_path, monkeypatch, folder, module, fill):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "path", list(sys.path))
    copy = shutil.copytree(
        EXPERIMENTS / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.png")
    )
    page = copy / "README.md"
    stored = page.read_text(encoding="utf-8")
    made_with = re.search(r"<!-- versions -->\n\n(.*?)\n\n<!-- end -->", stored, re.DOTALL)
    getattr(load(folder, module), fill)(copy, made_with[1])
    assert page.read_text(encoding="utf-8") == stored


def numbers(path):
    """The rows of a stored table, with numbers where there are some."""

    def parsed(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    with path.open(newline="", encoding="utf-8") as file:
        return [{k: parsed(v) for k, v in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("folder", "module", "made", "stored", "page"),
    [
        ("coverage", "run", "markdown", "coverage.csv", "coverage.md"),
        ("coverage", "size", "markdown", "size.csv", "size.md"),
        ("pu_performance", "cover", "markdown", "coverage.csv", "coverage.md"),
        ("metric_study", "run", "summary", "study.csv", "summary.md"),
    ],
)
def test_a_table_is_what_its_rows_give(load, monkeypatch, folder, module, made, stored, page):
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = getattr(load(folder, module), made)(numbers(EXPERIMENTS / folder / stored))
    assert text.strip() == (EXPERIMENTS / folder / page).read_text(encoding="utf-8").strip()
