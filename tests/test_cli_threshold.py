"""``noneg threshold`` and ``noneg demo --data``, against the labels that were hidden."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main
from noneg.performance import best_threshold

ASKED = ["--label", "confirmed", "--setting", "one-sample", "--prior", "0.4"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files():
    assert run("demo", "--data", ".").exit_code == 0


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def found(*wanted, score="score"):
    result = run("threshold", "scores.csv", "--score", score, *ASKED, *wanted, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def columns(file):
    with Path(file).open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def truth():
    hidden = columns("truth.csv")
    order = np.argsort(hidden["image"])
    return hidden["loop"][order][columns("scores.csv")["image"].astype(int)] == 1


@pytest.mark.usefixtures("files")
def test_the_tables_fit_together():
    today, tomorrow, hidden = (columns(f) for f in ("scores.csv", "tomorrow.csv", "truth.csv"))
    assert list(tomorrow) == ["image", "score", "other"]
    images = np.concatenate([today["image"], tomorrow["image"]])
    assert np.array_equal(np.sort(images), np.arange(1797))
    assert truth()[today["confirmed"] == 1].all()
    assert abs(hidden["loop"].mean() - 0.4) < 0.01
    before = Path("scores.csv").read_bytes()
    result = run("demo", "--data", ".")
    assert result.exit_code == 2
    assert "--data must be a new file" in result.stderr
    assert run("demo", "--data", ".", "--force").exit_code == 0
    assert Path("scores.csv").read_bytes() == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("score", ["score", "other"])
@pytest.mark.parametrize(("option", "rate"), [("--precision", "precision"), ("--recall", "recall")])
def test_the_wanted_rate_is_reached_and_its_interval_holds_the_hidden_one(score, option, rate):
    answer = found(option, 0.85, score=score)
    flagged = columns("scores.csv")[score] >= answer["threshold"]
    of = flagged if rate == "precision" else truth()
    hidden = (flagged & truth()).sum() / of.sum()
    assert answer["value"] >= 0.85
    assert answer[rate]["value"] == pytest.approx(answer["value"])
    assert answer[rate]["low"] <= hidden <= answer[rate]["high"]


@pytest.mark.usefixtures("files")
def test_the_threshold_is_that_of_the_library():
    scores = noneg.read(
        "scores.csv", score="score", label="confirmed", setting="one-sample", prior=0.4
    )
    answer = found("--cost", 1, 5)
    assert answer["schema"] == "noneg.threshold/1"
    assert answer["threshold"] == best_threshold(scores, cost=(1, 5)).threshold
    said = run("threshold", "scores.csv", "--score", "score", *ASKED, "--f-beta", 1).stdout
    best = best_threshold(scores, f_beta=1)
    assert f"Use threshold {best.threshold:.6g}: largest F with beta 1." in said


def test_never_to_act_can_be_best():
    Path("two.csv").write_text("score,label\n0.9,0\n0.2,1\n0.1,0\n")
    asked = ["two.csv", "--score", "score", "--label", "label", "--setting", "labelled"]
    result = run("threshold", *asked, "--cost", 5, 1)
    assert "Never act: smallest expected cost." in result.stdout
    answer = json.loads(run("threshold", *asked, "--cost", 5, 1, "--json").stdout)
    assert answer["threshold"] is None
    assert "precision" not in answer


@pytest.mark.usefixtures("files")
def test_a_given_threshold_is_measured():
    chosen, given = found("--recall", 0.8), found("--at", found("--recall", 0.8)["threshold"])
    assert given["criterion"] == "as given"
    for rate in ("precision", "recall", "f_beta", "accuracy"):
        assert given[rate] == chosen[rate]
    assert given["value"] == pytest.approx(chosen["precision"]["value"])
    said = run("threshold", "scores.csv", "--score", "score", *ASKED, "--at", 0.5).stdout
    assert "Use threshold 0.5: as given." in said
    assert "chosen on these rows" not in said


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("wanted", [[], ["--precision", 0.9, "--recall", 0.9]])
def test_exactly_one_wish_is_needed(wanted):
    result = run("threshold", "scores.csv", "--score", "score", *ASKED, *wanted)
    assert result.exit_code == 2
    assert "exactly one of --precision, --recall, --f-beta, --cost and --at" in result.stderr
