"""The figures in the readme agree with the commands that it names."""

import re
from pathlib import Path

from noneg.demo import handwritten_loops

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_rows_of_the_demo():
    said = re.search(r"([\d,]+) labeled positives and ([\d,]+) unlabeled images", README)
    scores = handwritten_loops().scores
    assert said.groups() == (f"{scores.n_positive:,.0f}", f"{scores.n_unlabeled:,.0f}")
