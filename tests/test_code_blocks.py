"""Every code block in the readme and the documentation runs and prints the output shown."""

import re
import shutil
from pathlib import Path

import pytest
from code_blocks import (
    FENCE,
    OUTPUT,
    PAGES,
    ROOT,
    RUN,
    Block,
    Reader,
    blocks,
    demo_files,
    makes_its_files,
    matches,
)

# The steps of the YAML workflow are run by test_gates.py.
NOT_CODE = {"diff", "json", "yaml", "{include}", "{toctree}", "{paper}"}
INDENTED = re.compile(r"^(?: {4}|\t)\S.*$", re.MULTILINE)
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.|:) ", re.MULTILINE)


# What a page's own tools warn of: MLflow of its types, and it calls pandas in old ways.
IGNORED = {
    "mlflow.md": [
        "ignore:.*Any type hint is inferred as AnyType:UserWarning",
        "ignore:Hint. Inferred schema contains integer:UserWarning",
        "ignore:Starting with pandas version 4.0:DeprecationWarning",
        "ignore:The inplace keyword in DataFrame:DeprecationWarning",
    ]
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_pages():
    for page in PAGES:
        marks = [pytest.mark.filterwarnings(text) for text in IGNORED.get(page.name, [])]
        yield pytest.param(page, marks=marks, id=name(page))


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    demo_files(folder)
    return folder


@pytest.mark.parametrize("page", list(run_pages()))
def test_the_blocks_of_a_page_run(page, files, tmp_path):
    if not makes_its_files(page):
        shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    reader = Reader(page, tmp_path)
    for block in blocks(page.read_text(encoding="utf-8")):
        reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_code_escapes(page):
    text = page.read_text(encoding="utf-8")
    kinds = {block.kind for block in blocks(text)}
    assert kinds <= RUN | NOT_CODE | {OUTPUT}
    prose = FENCE.sub("", text)
    for paragraph in prose.split("\n\n"):
        if not LIST_ITEM.match(paragraph):
            assert not INDENTED.match(paragraph), f"an indented block is not run: {paragraph}"


def test_what_is_not_run_has_a_reason():
    skipped = [
        (name(page), block.skipped)
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.kind in RUN and block.skipped is not None
    ]
    assert all(len(reason.split()) >= 3 for _, reason in skipped)
    run = sum(block.kind in RUN for page in PAGES for block in blocks(page.read_text()))
    assert len(skipped) < run / 5


def test_wrong_output_on_a_page_is_caught(tmp_path):
    page = tmp_path / "page.md"

    def follow(text):
        reader = Reader(page, tmp_path)
        for block in blocks(text):
            reader.follow(block)

    follow("```sh\necho 1 2\n```\n\n```text\n1 ...\n```\n")
    for wrong in (
        "```sh\nfalse\n```",
        "```sh\necho 1\n```\n```text\n2\n```",
        "```python\nraise SystemExit\n```",
        "```python\nprint(1)\n```\n```text\n2\n```",
        "```{doctest}\n>>> 1\n2\n```",
    ):
        with pytest.raises((AssertionError, SystemExit)):
            follow(wrong)
    follow("*Not run by the tests: it fails, of course.*\n\n```sh\nfalse\n```")


def test_a_smaller_form_changes_only_the_named_options():
    text = "*The tests run it smaller: `2` for `2000`.*\n\n```sh\nrun --steps 2000\n```\n"
    (block,) = blocks(text)
    assert block.runnable == "run --steps 2\n"
    with pytest.raises(AssertionError):
        _ = Block("sh", "run", 1, "*The tests run it smaller: `2` for `20`.*").runnable


def test_dots_stand_for_anything():
    assert matches("a ... c\n", "a b c\n")
    assert not matches("a ... d\n", "a b c\n")
