"""The page on learning says what the code says."""

from pathlib import Path

import pytest

from noneg.learning import ALGORITHMS

PAGE = (Path(__file__).parents[2] / "docs" / "learning.md").read_text()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_its_row(name):
    kind = ALGORITHMS[name]
    needs = "yes" if kind.needs_prior else "no"
    row = f"| `{name}` | {kind.title}, {kind.citation} | {needs} | {kind.probability} |"
    assert row in PAGE
