"""The figures of the readme are those of the commands that it names."""

import re
from pathlib import Path

from noneg.demo import handwritten_loops

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_rows_of_the_demo():
    said = re.search(r"([\d,]+) labelled positives and ([\d,]+) unlabeled images", README)
    scores = handwritten_loops().scores
    assert said.groups() == (f"{scores.n_positive:,.0f}", f"{scores.n_unlabeled:,.0f}")


def test_coverage_of_intervals():
    said = re.search(
        r"covers in at least (\d+) % of samples in each of (\d+) simulated cells, where the "
        r"percentile bootstrap covers (\d+) % to (\d+) %",
        README,
    )
    table = (ROOT / "experiments/coverage/coverage.md").read_text(encoding="utf-8")
    rates = re.findall(r"([\d.]+)% \| ([\d.]+)% \|$", table, re.MULTILINE)
    ours, theirs = zip(*rates, strict=True)
    least, cells, low, high = map(int, said.groups())
    assert (least, cells) == (int(min(map(float, ours))), len(ours))
    assert (low, high) == (round(min(map(float, theirs))), round(max(map(float, theirs))))
