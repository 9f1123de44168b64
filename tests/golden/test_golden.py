"""The numbers from four commands on twelve tables do not change."""

import json

import pytest
from golden.cases import CASES, answers, numbers
from golden.store import COMMANDS, STORED

# Sums of a few hundred doubles agree to 1e-12 on one machine; other processors sum in a different
# order, and iterative fits stop at 1e-10.
CLOSE = 1e-9


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_stay(case, tmp_path):
    stored = json.loads(STORED.read_text("utf-8"))[case]
    found = answers(case, tmp_path)
    for command in COMMANDS:
        want, told = stored[command], numbers(found[command])
        # New numbers may be added; existing ones must not change.
        kept = {place: told.get(place) for place in want}
        assert kept == pytest.approx(want, rel=CLOSE, abs=CLOSE), command


def test_a_moved_number_would_be_noticed(tmp_path):
    case = next(iter(CASES))
    stored = json.loads(STORED.read_text("utf-8"))[case]["evaluate"]
    moved = stored | {"/ece/value": stored["/ece/value"] + 1e-8}
    found = numbers(answers(case, tmp_path)["evaluate"])
    assert found != pytest.approx(moved, rel=CLOSE, abs=CLOSE)
