"""How tables and pages are written, and whether stored pages match the stored tables."""

import argparse
import doctest
import importlib
import inspect
import shutil

import numpy as np
import pytest

from experiments import STUDIES, study, tables
from experiments.study import Run


@pytest.mark.parametrize("module", [study, tables])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_a_row_with_a_missing_cell_is_rejected():
    with pytest.raises(ValueError, match="a row has 1 cells, the header 2"):
        tables.table("a | b", [["1"]])


def test_filling_replaces_one_place_and_keeps_the_rest(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "before\n\n<!-- one -->\n\nold\n\n<!-- end -->\n\n<!-- two -->\nx\n<!-- end -->\n"
    )
    tables.fill(page, {"one": "new \\1\n"})
    wanted = "before\n\n<!-- one -->\n\nnew \\1\n\n<!-- end -->\n\n<!-- two -->\nx\n<!-- end -->\n"
    assert page.read_text() == wanted
    tables.fill(page, {"one": "new \\1"})
    assert page.read_text() == wanted
    with pytest.raises(ValueError, match="0 places for 'three'"):
        tables.fill(page, {"three": ""})


def test_a_table_comes_back_as_it_was_written(tmp_path):
    rows = [{"world": "D1", "n": 10, "share": 1 / 3, "clear": True}]
    tables.write(tmp_path / "a.csv", rows)
    assert tables.read(tmp_path / "a.csv") == [rows[0] | {"share": 0.333333}]
    tables.write(tmp_path / "a.csv", rows, digits=None)
    assert tables.read(tmp_path / "a.csv") == rows
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def squares(n):
    yield {"square": n * n}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_stopped_study_goes_on_where_it_was(tmp_path, processes):
    options = argparse.Namespace(processes=processes, minutes=float("inf"))
    run = Run(tmp_path, options=options)
    cells = study.cells(n=range(4))
    run.resume("squares", squares, cells[:2])
    (tmp_path / "squares.csv").write_text("n,square\n0,changed\n1,1\n")
    run.resume("squares", squares, cells)
    found = tables.read(tmp_path / "squares.csv")
    assert found == [{"n": 0, "square": "changed"}, *({"n": n, "square": n * n} for n in (1, 2, 3))]
    options.minutes = -1.0
    run.resume("others", squares, cells)
    assert len(tables.read(tmp_path / "others.csv")) == 1


SETTINGS = [0.1, 1.0, 1 / 3, np.float64(0.02), 1234567.0, 5, None, True, "0.50", "007", "1e3", "x"]


def same_setting(setting):
    yield {"found": str(setting)}


@pytest.mark.parametrize("digits", [6, 5, None])
def test_a_stored_cell_is_found_again_by_its_text(tmp_path, digits):
    options = argparse.Namespace(processes=1, minutes=float("inf"))
    run = Run(tmp_path, options=options, digits=digits)
    run.resume("settings", same_setting, study.cells(setting=SETTINGS))
    path = tmp_path / "settings.csv"
    stored = path.read_text()
    assert stored.count("\n") == 1 + len(SETTINGS)
    run.resume("settings", pytest.fail, study.cells(setting=SETTINGS))
    assert path.read_text() == stored


@pytest.mark.parametrize("digits", [6, 5, None])
def test_merging_replaces_rows_and_doubles_none(tmp_path, digits):
    path = tmp_path / "settings.csv"
    rows = [{"setting": setting, "found": 1} for setting in SETTINGS]
    tables.write(path, rows, digits)
    stored = path.read_text()
    for row in [*rows, rows[0]]:
        found = tables.merged(path, [row], "setting", digits=digits)
        assert found[-1] == row
        tables.write(path, found, digits)
    assert sorted(path.read_text().split()) == sorted(stored.split())
    assert tables.merged(path, rows, "setting", digits=digits) == rows


@pytest.mark.parametrize("name", STUDIES)
def test_pages_and_texts_are_what_stored_tables_give(name, tmp_path):
    for package in ("torch", "matplotlib", "pandas"):
        pytest.importorskip(package)
    made = importlib.import_module(STUDIES[name]).STUDY
    no_pictures = shutil.ignore_patterns("*.png", "*.py", "__pycache__")
    copy = shutil.copytree(made.home, tmp_path / name, ignore=no_pictures)
    stored = {path.name: path.read_text(encoding="utf-8") for path in copy.glob("*.md")}
    made.render(copy, pictures=False)
    assert stored == {path.name: path.read_text(encoding="utf-8") for path in copy.glob("*.md")}


@pytest.mark.parametrize("name", STUDIES)
def test_every_picture_needs_the_tables_alone(name):
    """A function of a study's module that is called draw_x must draw the picture x.png."""
    for package in ("torch", "matplotlib", "pandas"):
        pytest.importorskip(package)
    made = importlib.import_module(STUDIES[name]).STUDY
    for picture, draw in made.made("draw_", made.home).items():
        assert draw is None or next(iter(inspect.signature(draw).parameters)) == "tables", picture
        assert draw is None or (made.home / f"{picture}.png").exists(), picture


@pytest.mark.parametrize(
    "page", sorted(study.HERE.glob("*/README.md")), ids=lambda page: page.parent.name
)
def test_a_page_that_names_versions_has_one_place_for_them(page, tmp_path):
    copy = tmp_path / page.name
    shutil.copy(page, copy)
    if "<!-- versions -->" in copy.read_text(encoding="utf-8"):
        tables.fill(copy, {"versions": "Python 3"})
        assert "<!-- versions -->\n\nPython 3\n\n<!-- end -->" in copy.read_text(encoding="utf-8")
