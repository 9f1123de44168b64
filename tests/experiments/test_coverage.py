"""The figures in the readme agree with the stored table."""

import re

from experiments.study import HERE
from experiments.tables import Tables, column


def test_coverage_of_intervals():
    said = re.search(
        r"covers the true value in at least (\d+)% of samples in each of (\d+) simulated cells, "
        r"where the percentile bootstrap covers it in (\d+)% to (\d+)%",
        " ".join((HERE.parent / "README.md").read_text(encoding="utf-8").split()),
    )
    rows = Tables(HERE / "coverage")("coverage")
    ours, theirs = (100 * column(rows, name) for name in ("coverage", "bootstrap_coverage"))
    least, cells, low, high = map(int, said.groups())
    assert (least, cells) == (int(ours.min()), len(rows))
    assert (low, high) == (round(theirs.min()), round(theirs.max()))
