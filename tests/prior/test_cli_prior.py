"""``noneg prior`` and ``--prior estimate``, from files."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from noneg import read
from noneg.cli import main
from noneg.prior import DEFAULT, FROM_FEATURES, FROM_SCORES, estimate_prior

COLUMNS = ["--score", "p", "--label", "y", "--setting", "one-sample"]


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def good(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    positive = rng.random(1200) < 0.4
    x = rng.normal(size=(1200, 2)) + 4 * positive[:, None] * [1, 0]
    labelled = positive & (rng.random(1200) < 0.4)
    path = tmp_path_factory.mktemp("prior") / "rows.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["p", "q", "a", "b", "y"])
        for (a, b), y in zip(x, labelled, strict=True):
            p, q = 1 / (1 + np.exp(-2 * (a - 2))), 1 / (1 + np.exp(2 - a - 3 * b))
            writer.writerow([p, q, a, b, "yes" if y else "no"])
    return path


YES = ["--positive-label", "yes"]


def test_one_method_says_what_it_assumes(file):
    said = good("prior", file, *COLUMNS, *YES)
    assert "DEDPUL" in said
    assert "Assumes that labelled positives are a random sample" in said
    assert "If one does, the prior is smaller" in said
    out = json.loads(good("prior", file, *COLUMNS, *YES, "--json"))
    assert out["schema"] == "noneg.prior/1"
    scores = read(file, score="p", label="y", setting="one-sample", prior=0.9, positive_label="yes")
    found = estimate_prior(scores)
    assert out["estimates"]["dedpul"]["value"] == pytest.approx(found.value)
    assert found.value == pytest.approx(0.4, abs=0.05)


def test_all_methods_side_by_side(file):
    said = good("prior", file, *COLUMNS, *YES, "--method", "all")
    for title in ("DEDPUL", "Best bin (BBE)", "AlphaMax-N", "Elkan-Noto e3", "Regrouping"):
        assert title in said
    assert "The methods differ by" in said
    assert "If one does, all methods count it as positive." in " ".join(said.split())


def test_the_help_names_every_method_and_what_no_method_can_see():
    said = " ".join(good("prior", "--help").replace("-\n", "-").split()).replace("- ", "-")
    listed = said.split("From scores: ")[1].split(" [default: ")[0]
    scores, features = listed.rstrip(".").split(". From features also ")
    assert scores.split(", ") == list(FROM_SCORES)
    assert features.split(", ") == list(FROM_FEATURES)
    assert f"[default: {DEFAULT}]" in said
    assert "nothing in the data can show it" in said


def test_features_need_no_score(file):
    arguments = [
        "--label",
        "y",
        *YES,
        "--setting",
        "one-sample",
        "--feature",
        "a",
        "--feature",
        "b",
    ]
    out = json.loads(
        good("prior", file, *arguments, "--method", "bbe", "--method", "penl1", "--json")
    )["estimates"]
    assert out["bbe"]["value"] == pytest.approx(0.4, abs=0.08)
    assert 0 < out["penl1"]["value"] < 1


def test_evaluate_and_compare_take_an_estimate(file):
    shown = json.loads(good("evaluate", file, *COLUMNS, *YES, "--prior", "estimate:bbe", "--json"))
    prior = shown["prior"]
    assert prior["low"] < prior["value"] < prior["high"]
    assert prior["method"].startswith("estimated by bbe")
    assert any(text.startswith("Estimated prior: labelled") for text in shown["warnings"])
    exact = json.loads(good("evaluate", file, *COLUMNS, *YES, "--prior", prior["value"], "--json"))
    for name in ("auroc", "accuracy", "ece"):
        wide, narrow = shown["metrics"][name], exact["metrics"][name]
        assert wide["value"] == pytest.approx(narrow["value"])
        assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    compared = json.loads(
        good("compare", file, *COLUMNS, "--score", "q", *YES, "--prior", "estimate", "--json")
    )
    assert compared["prior"]["method"].startswith("estimated by dedpul")
    assert compared["prior"]["low"] < compared["prior"]["high"]
    said = good("compare", file, *COLUMNS, "--score", "q", *YES, "--prior", "estimate")
    assert "The prior was estimated from the scores of 'p'" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prior", *COLUMNS, "--method", "km2"], ["--method must work on scores", "leave out"]),
        (["prior", *COLUMNS, "--method", "guess"], ["must be an estimator", "'guess'"]),
        (["prior", *COLUMNS[:4], "--setting", "labelled"], ["--setting must be 'two-sample'"]),
        (["prior", *COLUMNS, "--feature", "a"], ["--feature must not be given with --score"]),
        (["prior", *COLUMNS[2:], "--weight", "a"], ["--weight must not be given without"]),
        (["prior", "--label", "y", "--setting", "one-sample", "--feature", "c"], ["'c'"]),
        (["evaluate", *COLUMNS, "--prior", "estimate:km2"], ["must work on scores"]),
        (
            ["evaluate", *COLUMNS, "--prior", "estimate", "--prior-interval", "0.1", "0.2"],
            ["--prior-interval must not be given with --prior estimate"],
        ),
    ],
)
def test_mistakes_are_explained(file, arguments, words):
    command, *rest = arguments
    result = run(command, file, *rest, *YES)
    assert result.exit_code == 2
    for word in words:
        assert word in result.output
