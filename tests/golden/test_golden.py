"""The numbers from four commands on twelve tables do not change."""

import json

import pytest
from golden.cases import CASES, answers, numbers
from golden.store import CLOSE, COMMANDS, STORED, updated


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_stay(case, tmp_path):
    stored = json.loads(STORED.read_text("utf-8"))[case]
    found = answers(case, tmp_path)
    for command in COMMANDS:
        want, told = stored[command], numbers(found[command])
        # New numbers may be added; existing ones must not change.
        kept = {place: told.get(place) for place in want}
        message = f"{command}: if the change is intended, run python -m golden.store in tests/"
        assert kept == pytest.approx(want, rel=CLOSE, abs=CLOSE), message


def test_rounding_leaves_stored_numbers_as_they_are():
    stored, found = {"/a": 0.1, "/b": 1.0, "/gone": 3.0}, {"/a": 0.1 + 1e-15, "/b": 1.1, "/new": 2}
    assert updated(stored, found) == {"/a": 0.1, "/b": 1.1, "/new": 2}


def test_a_moved_number_would_be_noticed(tmp_path):
    case = next(iter(CASES))
    stored = json.loads(STORED.read_text("utf-8"))[case]["evaluate"]
    moved = stored | {"/ece/value": stored["/ece/value"] + 1e-8}
    found = numbers(answers(case, tmp_path)["evaluate"])
    assert found != pytest.approx(moved, rel=CLOSE, abs=CLOSE)
