"""Every command that reads scores has the same options and uses the same reader."""

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noneg
from noneg import PUScores
from noneg.checks import check_setting
from noneg.cli import main
from noneg.simulation import LogisticGaussian
from noneg.sketch import Sketch
from noneg.sklearn import scorer
from noneg.tables import write
from noneg.tables.reading import read_rows

ASKED = {
    "evaluate": [],
    "report": ["-o", "-", "--no-recalibrate"],
    "threshold": ["--recall", "0.5"],
    "recalibrate": ["--method", "platt"],
    "compare": ["--score", "other"],
    "prior": ["--method", "bbe"],
}
COLUMNS = ["--score", "score", "--label", "label", "--setting", "two-sample"]
TABLE = ["--engine", "spark", "--master", "local[1]", "--table", "loans"]


@pytest.fixture(autouse=True)
def in_a_folder_with_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = LogisticGaussian.less_calibrated().draw(400, 2000, setting="two-sample", seed=0)
    write(scores, "plain.csv")
    lines = Path("plain.csv").read_text().splitlines()
    place = lines[0].split(",").index("score")
    other = [f"{line},{float(line.split(',')[place]) ** 2!r}" for line in lines[1:]]
    Path("scores.csv").write_text("\n".join([f"{lines[0]},other", *other, ""]))


def arguments(command, *more):
    prior = [] if command == "prior" else ["--prior", "0.5"]
    return [command, *COLUMNS, *prior, *ASKED[command], *more]


def run(*asked):
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*asked):
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.fixture
def cluster(monkeypatch):
    """A substitute for Spark: a lazy frame with the same rows."""
    polars = pytest.importorskip("polars")
    opened = []

    @contextmanager
    def spark_table(master, files=(), table=None):
        opened.append((master, tuple(files), table))
        yield polars.scan_csv("scores.csv")

    monkeypatch.setattr("noneg.tables.engines.spark_table", spark_table)
    return opened


def names_of(command):
    parameters = main.commands[command].params
    return {name for one in parameters for name in (*one.opts, *one.secondary_opts)}


def test_commands_that_read_scores_share_their_options():
    shared = set.intersection(*map(names_of, ASKED))
    wanted = "score label setting positive-label weight weight-kind exact sketch engine master"
    assert {f"--{name}" for name in (*wanted.split(), "table", "level")} <= shared
    assert all({"--prior", "--prior-interval"} <= names_of(one) for one in ASKED if one != "prior")


@pytest.mark.parametrize("command", ASKED)
def test_rows_are_kept_if_asked_for(command):
    few = arguments(command, "scores.csv")
    assert run(*few, "--exact") == run(*few)


@pytest.mark.parametrize("command", ["evaluate", "report", "threshold", "recalibrate", "prior"])
def test_rows_are_sketched_if_asked_for(command, monkeypatch):
    seen = []

    def note(source, wanted, **options):
        found = read_rows(source, wanted, **options)
        seen.append((type(found), found.n_unlabeled))
        return found

    monkeypatch.setattr("noneg.tables.reading.read_rows", note)
    run(*arguments(command, "scores.csv", "--sketch"))
    assert seen == [(Sketch, 2000)]


def test_a_prior_from_buckets_is_that_of_the_rows():
    found = [
        json.loads(run(*arguments("prior", "scores.csv", how, "--json")))["estimates"]["bbe"]
        for how in ("--sketch", "--exact")
    ]
    # Buckets are far finer than the uncertainty of the estimate.
    width = found[1]["high"] - found[1]["low"]
    assert abs(found[0]["value"] - found[1]["value"]) < 0.05 * width


def test_buckets_cannot_be_paired():
    said = refused(*arguments("compare", "scores.csv", "--sketch"))
    assert "--sketch must not be given: differences between models are computed row by row" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sketch"], "--sketch requires --score: features are not counted"),
        (
            TABLE,
            "--engine must be local without --score, because features are read on this machine",
        ),
        (["--weight", "other"], "--weight must not be given without --score."),
    ],
)
def test_features_are_read_here_and_whole(options, words):
    asked = ["prior", "--label", "label", "--setting", "two-sample", *options]
    assert words in refused(*asked, *([] if "--table" in options else ["scores.csv"]))


@pytest.mark.parametrize("command", ASKED)
def test_a_table_of_a_cluster_is_read_and_named(command, cluster):
    shown = run(*arguments(command, *TABLE))
    assert cluster == [("local[1]", (), "loans")]
    if command == "report":
        assert shown.startswith("Can the scores in loans be trusted?")
        assert "table" in shown
    elif command != "threshold":
        assert shown.startswith("loans: ")


@pytest.mark.parametrize("command", [one for one in ASKED if one != "report"])
def test_json_names_the_table(command, cluster):
    source = json.loads(run(*arguments(command, *TABLE, "--json")))["source"]
    both = ["score", "other"] if command == "compare" else "score"
    assert source == {
        "files": [],
        "score": both,
        "label": "label",
        "positive_label": None,
        "weight": None,
        "table": "loans",
    }
    assert len(cluster) == 1


def test_models_of_a_cluster_are_columns_of_one_table(cluster):
    here = json.loads(run(*arguments("compare", "scores.csv", "--json")))
    there = json.loads(run(*arguments("compare", *TABLE, "--json")))
    assert there["criteria"] == here["criteria"]
    assert len(cluster) == 1
    one = ["compare", *COLUMNS, "--prior", "0.5", *TABLE]
    assert "FILE must name at least two models. Give several --score." in refused(*one)
    missing = refused(*one, "--score", "no")
    assert "--score must name a column of the frame, got 'no'" in missing


@pytest.mark.parametrize("command", ASKED)
def test_something_must_be_read(command):
    assert "Missing argument 'FILE...'" in refused(*arguments(command))


def test_both_spellings_of_labeled_are_one_setting():
    assert check_setting("labeled") == check_setting("labeled") == "labeled"
    rows = {"score": [0.9, 0.2, 0.4, 0.6], "label": [1, 0, 0, 1]}
    columns = {"score": "score", "label": "label"}
    for found in (
        noneg.read(rows, **columns, setting="labeled"),
        noneg.read(rows, **columns, setting="labeled", exact=False),
        LogisticGaussian.calibrated().draw(n=50, setting="labeled", seed=0),
    ):
        assert isinstance(found, PUScores)
        assert found.setting == "labeled"
    models = {"a": rows["score"], "b": np.square(rows["score"])}
    assert noneg.compare(models, rows["label"], setting="labeled").setting == "labeled"
    assert "setting=labeled" in str(scorer("brier", setting="labeled"))
    shown = [
        run("evaluate", "scores.csv", *COLUMNS[:4], "--setting", setting, "--json")
        for setting in ("labeled", "labeled")
    ]
    assert shown[0] == shown[1]
