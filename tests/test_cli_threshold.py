"""``noneg threshold`` and ``noneg demo --data``, compared with the hidden labels."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main
from noneg.performance import best_threshold, recall_threshold

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
    asked = ["two.csv", "--score", "score", "--label", "label", "--setting", "labeled"]
    result = run("threshold", *asked, "--cost", 5, 1)
    assert "Flag no rows: smallest expected cost." in result.stdout
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
    assert (
        "exactly one of --precision, --recall, --f-beta, --cost, --budget, --top and --at"
        in result.stderr
    )


SCORES = ["scores.csv", "--score", "score", "--label", "confirmed", "--setting", "one-sample"]


def asked(*options):
    result = run("threshold", *SCORES, *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("files")
def test_a_guaranteed_recall_needs_no_prior():
    answer = asked("--recall", 0.8, "--confidence", 0.9)
    scores = noneg.read("scores.csv", score="score", label="confirmed", setting="one-sample")
    expected = recall_threshold(scores, recall=0.8, confidence=0.9)
    assert answer["promise"] == expected.to_dict()
    assert "precision" not in answer
    flagged = columns("scores.csv")["score"] >= answer["threshold"]
    assert flagged[truth()].mean() >= 0.8
    assert asked("--recall", 0.8, "--on-average")["threshold"] > answer["threshold"]
    robust = asked("--recall", 0.8, "--confidence", 0.9, "--selection", 1.5)
    assert robust["threshold"] < answer["threshold"]
    said = run("threshold", *SCORES, "--recall", 0.999, "--confidence", 0.95).stdout
    assert "Too few labeled positives" in said
    assert "recall at least 0.999 with 95% confidence" in said


@pytest.mark.usefixtures("files")
def test_a_guaranteed_precision_holds_for_the_hidden_labels():
    answer = asked("--prior", 0.4, "--precision", 0.7, "--confidence", 0.95)
    flagged = columns("scores.csv")["score"] >= answer["threshold"]
    assert truth()[flagged].mean() >= 0.7
    assert answer["criterion"] == "precision at least 0.7 with 95% confidence"
    assert answer["confusion"]["ppr"] == pytest.approx(flagged.mean())
    result = run("threshold", *SCORES, "--prior", 0.4, "--precision", 0.99, "--confidence", 0.95)
    assert result.exit_code == 2
    assert "--precision can be guaranteed up to" in result.stderr
    assert "four times as many rows" in result.stderr
    cost = asked("--prior", 0.4, "--cost", 1, 5, "--confidence", 0.95)
    assert cost["promise"]["promised"] == "cost"


@pytest.mark.usefixtures("files")
def test_a_workload_is_planned():
    answer = asked("--budget", 100, "--next", 1400)
    score = columns("scores.csv")["score"]
    assert (score >= answer["threshold"]).sum() <= 100
    assert answer["next"]["low"] < answer["next"]["expected"] <= 100 < answer["next"]["high"]
    assert asked("--top", "5%")["threshold"] == asked("--top", "0.05")["threshold"]
    sure = asked("--top", "5%", "--confidence", 0.95)
    assert sure["threshold"] > asked("--top", "5%")["threshold"]
    said = run("threshold", *SCORES, "--prior", 0.4, "--top", "5%").stdout
    assert "Flagged in the next 1,400 rows" in said
    assert "Precision" in said


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--f-beta", 1, "--confidence", 0.9], "--confidence is available for"),
        (["--precision", 0.9, "--on-average"], "Give --on-average with --recall"),
        (["--recall", 0.9, "--next", 10], "Give --next with"),
        (["--budget", 5, "--next", 0], "--next must be an integer of at least 1, got 0"),
        (["--f-beta", -1, "--prior", 0.4], "--f-beta must be a weight of recall"),
        (["--cost", 1], "noneg threshold: Option '--cost' requires 2 arguments"),
        (["--top", "most"], "not a share in (0, 1]"),
        (["--recall", 0.9, "--confidence", 95], "--confidence must be"),
        (["--precision", 0.9, "--confidence", 0.9], "--prior must be given"),
        (["--budget", 11, "--next", 10], "--budget must be at most"),
    ],
)
def test_incompatible_options_are_rejected(options, words):
    result = run("threshold", *SCORES, *options)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.usefixtures("files")
def test_negatives_are_certified():
    result = run("negatives", *SCORES, "--prior", 0.4, "--json", "--out", "out.csv")
    answer = json.loads(result.stdout)
    assert answer["schema"] == "noneg.negatives/1"
    rows = columns("out.csv")
    certified = (rows["score"] <= answer["cutoff"]) & (rows["confirmed"] == 0)
    assert certified.sum() == answer["certified"] > 0
    assert truth()[certified].mean() < 0.1
    order = np.argsort(rows["score"])
    assert (np.diff(rows["p_positive"][order]) >= 0).all()
    said = run("negatives", *SCORES, "--fdr", 0.001).stdout
    assert "No row can be certified negative" in said
    refused = run("negatives", *SCORES[:-1], "labeled")
    assert refused.exit_code == 2
    assert "nothing to certify" in refused.stderr


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", [["threshold", "--f-beta", "1"], ["recalibrate"]])
def test_an_estimated_prior_says_what_it_assumes(command):
    asked = ["scores.csv", "--score", "score", *ASKED[:-1]]
    result = run(command[0], *asked, "estimate", *command[1:])
    assert result.exit_code == 0, result.output
    assert "Note: The estimated prior assumes that " in result.stderr
    assert "assumes" not in run(command[0], *asked, "0.4", *command[1:]).stderr
