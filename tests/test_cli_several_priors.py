"""``noneg prior`` with several methods, some of which have no result."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from noneg.cli import main

QUESTION = ["prior", "same.csv", "--label", "y", "--setting", "two-sample"]
REFUSAL = "must differ between positives and unlabeled rows, but all are the same."


@pytest.fixture(autouse=True)
def rows_that_do_not_differ(tmp_path, monkeypatch):
    """Kernel means fail on such rows; to a classifier, they all look positive."""
    monkeypatch.chdir(tmp_path)
    Path("same.csv").write_text("a,y\n" + "0.5,1\n" * 12 + "0.5,0\n" * 24)


def good(*methods, options=()):
    named = [word for method in methods for word in ("--method", method)]
    result = CliRunner().invoke(main, [*QUESTION, *named, *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_one_that_has_no_answer_says_why_next_to_the_others():
    shown = " ".join(good("km1", "elkan-noto-e1", "elkan-noto-e2").split())
    assert f"\N{EN DASH} no estimate 'X' {REFUSAL}" in shown
    assert "The methods agree: all allow priors from" in shown
    found = json.loads(good("km1", "elkan-noto-e1", options=["--json"]))["estimates"]
    assert REFUSAL in found["km1"]
    assert found["elkan-noto-e1"]["value"] == pytest.approx(1.0, abs=0.05)


def test_where_none_has_an_answer_nothing_is_compared():
    shown = good("km1", "km2")
    assert " ".join(shown.split()).count(REFUSAL) == 2
    assert "differ by" not in shown


def test_a_single_method_without_an_answer_is_an_error():
    result = CliRunner().invoke(main, [*QUESTION, "--method", "km1"])
    assert result.exit_code == 2
    assert REFUSAL in result.stderr
