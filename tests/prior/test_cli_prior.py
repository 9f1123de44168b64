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
    labeled = positive & (rng.random(1200) < 0.4)
    path = tmp_path_factory.mktemp("prior") / "rows.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["p", "q", "a", "b", "y"])
        for (a, b), y in zip(x, labeled, strict=True):
            p, q = 1 / (1 + np.exp(-2 * (a - 2))), 1 / (1 + np.exp(2 - a - 3 * b))
            writer.writerow([p, q, a, b, "yes" if y else "no"])
    return path


YES = ["--positive-label", "yes"]


def test_one_method_states_its_assumption(file):
    said = good("prior", file, *COLUMNS, *YES)
    assert "Tightest bound" in said
    assert "upper bound" in said
    assert "Assumes that labeled positives are a random sample" in said
    assert "If so, the prior is smaller" in said
    out = json.loads(good("prior", file, *COLUMNS, *YES, "--json"))
    assert out["schema"] == "noneg.prior/1"
    scores = read(file, score="p", label="y", setting="one-sample", prior=0.9, positive_label="yes")
    found = estimate_prior(scores)
    told = out["estimates"][DEFAULT]
    assert (told["value"], told["high"]) == pytest.approx((found.value, found.high))
    assert told["kind"] == "upper bound"
    assert found.value == pytest.approx(0.4, abs=0.06)
    sure = json.loads(good("prior", file, *COLUMNS, *YES, "--overlap", 0, "--json"))
    assert sure["estimates"][DEFAULT]["overlap"] == 0.0


def test_all_methods_side_by_side(file):
    said = good("prior", file, *COLUMNS, *YES, "--method", "all")
    for title in ("DEDPUL", "Best bin (BBE)", "AlphaMax-N", "Elkan-Noto e3", "Regrouping"):
        assert title in said
    words = " ".join(said.split())
    assert "The methods agree: all allow priors from" in words
    assert words.count("Treat the estimate as an upper bound.") <= 1
    assert "An upper bound counts negatives that look exactly like positives" in words


def test_the_help_names_every_method_and_what_no_method_can_see():
    said = " ".join(good("prior", "--help").replace("-\n", "-").split()).replace("- ", "-")
    listed = said.split("From scores: ")[1].split(" [default: ")[0]
    scores, features = listed.rstrip(".").split(". From features also ")
    assert scores.split(", ") == list(FROM_SCORES)
    assert features.split(", ") == list(FROM_FEATURES)
    assert f"[default: {DEFAULT}]" in said
    assert "the data cannot reveal this" in said


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
    assert prior["method"].startswith("upper bound by bbe")
    assert shown["prior_kind"] == "upper bound"
    assert any(
        text.startswith("The estimated prior assumes that labeled") for text in shown["warnings"]
    )
    exact = json.loads(good("evaluate", file, *COLUMNS, *YES, "--prior", prior["value"], "--json"))
    for name in ("auroc", "accuracy", "ece"):
        wide, narrow = shown["metrics"][name], exact["metrics"][name]
        assert wide["value"] == pytest.approx(narrow["value"])
        assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    compared = json.loads(
        good("compare", file, *COLUMNS, "--score", "q", *YES, "--prior", "estimate", "--json")
    )
    assert compared["prior"]["method"].startswith(f"upper bound by {DEFAULT}")
    assert compared["prior"]["low"] < compared["prior"]["high"]
    said = good("compare", file, *COLUMNS, "--score", "q", *YES, "--prior", "estimate")
    assert "The prior was estimated from the scores of 'p'" in said


def test_an_unknown_prior(file):
    shown = json.loads(good("evaluate", file, *COLUMNS, *YES, "--prior", "unknown", "--json"))
    assert shown["prior_kind"] == "unknown"
    high = (shown["consistent_priors"] or (0.0, 0.0))[1]
    said = good("evaluate", file, *COLUMNS, *YES, "--prior", "unknown")
    between = "the share of positives is between"
    changes = "for every possible share of positives" if high == 0.0 else between
    assert changes in said
    assert "The share of positives is estimated as" in said
    interval = ["--prior-interval", 0.3, 0.5]
    shown = json.loads(good("evaluate", file, *COLUMNS, *YES, *interval, "--json"))
    assert [shown["prior"][key] for key in ("value", "low", "high")] == [0.4, 0.3, 0.5]
    good("compare", file, *COLUMNS, "--score", "q", *YES, *interval, "--json")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two periods with two views, two labels, and a review with empty cells."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("sources")
    for name, prior in (("now", 0.2), ("then", 0.3)):
        y = rng.random(3000) < prior
        views = rng.normal(size=(2, y.size)) + 1.5 * y
        score = 1 / (1 + np.exp(2 - views.sum(axis=0)))
        labeled, other = (y & (rng.random(y.size) < 0.4) for _ in range(2))
        judged = rng.random(y.size) < 0.1
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["p", "v", "w", "y", "z", "audit", "high"])
            for row in zip(score, *views, labeled, other, judged, y, strict=True):
                p, v, w, known, also, seen, truth = row
                audit = int(truth) if seen and not known else ""
                writer.writerow([p, v, w, int(known), int(also), audit, int(p > 0.4)])
    return folder


def test_more_ways_to_the_prior_side_by_side(sources):
    options = ["--view", "v", "--view", "w", "--second-label", "z", "--reviewed", "audit"]
    period = ["--earlier", sources / "then.csv", "--earlier-prior", 0.3]
    said = good("prior", sources / "now.csv", *COLUMNS, *options, *period)
    for title in ("Two views", "Two sources", "Reviewed rows", "Earlier period", "Tightest bound"):
        assert title in said
    assert "The methods agree: all allow priors from" in said
    asked = ["prior", sources / "now.csv", *COLUMNS, *options, *period, "--json"]
    found = json.loads(good(*asked))["estimates"]
    for name in ("two-views", "two-sources", "review", "earlier"):
        assert found[name]["kind"] == "interval"
        assert found[name]["low"] - 0.02 < 0.2 < found[name]["high"] + 0.02
    strata = ["--label", "y", "--setting", "one-sample", "--reviewed", "audit", "--stratum", "high"]
    found = json.loads(good("prior", sources / "now.csv", *strata, "--json"))["estimates"]
    assert list(found) == ["review"]
    assert found["review"]["diagnostics"]["strata"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--view", "v"], "--view must be given twice"),
        (["--stratum", "high"], "--stratum requires --reviewed"),
        (["--earlier", "x.csv"], "--earlier requires --earlier-prior"),
        (["--earlier-prior", "0.1"], "--earlier-prior requires --earlier"),
    ],
)
def test_ways_that_lack_something_are_rejected(sources, options, words):
    result = run("prior", sources / "now.csv", *COLUMNS, *options)
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["threshold", *COLUMNS, "--prior", "unknown", "--recall", "0.5"], ["must be known here"]),
        (
            ["evaluate", *COLUMNS, "--prior", "unknown", "--prior-interval", "0.1", "0.2"],
            ["--prior-interval must not be given with --prior unknown"],
        ),
        (["prior", *COLUMNS, "--method", "km2"], ["--method must work on scores", "omit"]),
        (["prior", *COLUMNS, "--method", "guess"], ["must be an estimator", "'guess'"]),
        (["prior", *COLUMNS[:4], "--setting", "labeled"], ["--setting must be 'two-sample'"]),
        (["prior", *COLUMNS, "--feature", "a"], ["--feature must not be combined with --score"]),
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


def test_an_estimate_above_the_largest_compatible_prior_is_told_as_it_is_used(tmp_path):
    path, rng = tmp_path / "rows.csv", np.random.default_rng(268)
    unlabeled = np.concatenate([rng.normal(0.65, 0.2, 300), rng.normal(0.35, 0.2, 300)])
    scores = np.concatenate([unlabeled, rng.normal(0.65, 0.2, 150)]).clip(0, 1).tolist()
    rows = zip(scores, [0] * 600 + [1] * 150, strict=True)
    path.write_text("p,y\n" + "".join(f"{p!r},{y}\n" for p, y in rows), encoding="utf-8")
    columns = ("--score", "p", "--label", "y", "--setting", "two-sample")
    estimate = ("--prior", "estimate:elkan-noto-e1", "--json")
    prior = json.loads(good("evaluate", path, *columns, *estimate))["prior"]
    assert prior["low"] <= prior["value"] <= prior["high"] < 0.68
