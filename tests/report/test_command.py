"""noneg report and noneg compare -o, as users run them."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from markupsafe import escape

from noneg.cli import main
from noneg.simulation import LogisticGaussian
from noneg.tables import write

OPTIONS = ["--score", "score", "--label", "label", "--setting", "two-sample", "--prior", "0.3"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = LogisticGaussian.less_calibrated(0.3)
    write(world.draw(200, 2000, setting="two-sample", seed=0), "scores.csv")


def run(*arguments):
    return CliRunner().invoke(main, [str(x) for x in arguments])


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.html", "<!DOCTYPE html>"), ("r.md", "# Can"), ("r.txt", "Can the"), ("r.json", "{")],
)
def test_the_name_determines_the_format(name, start):
    result = run("report", "scores.csv", *OPTIONS, "-o", name, "--no-recalibrate")
    assert result.exit_code == 0, result.output
    assert Path(name).read_text().startswith(start)
    assert "On average, scores are off by 0." in result.stdout
    assert result.stdout.endswith(f"Wrote {name}\n")


def test_a_dash_prints():
    result = run("report", "scores.csv", *OPTIONS, "-o", "-", "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema"] == "noneg.report/1"
    assert found["recalibration"]["folds"] == 5
    assert len(found["source"]["SHA-256 of scores.csv"]) == 64


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "r.xlsx"], ["--out", "'r.xlsx'", ".html"]),
        (["-o", "x/r.html"], ["--out", "folder"]),
        (["--level", "2"], ["--level", "2.0"]),
    ],
)
def test_wrong_options_are_explained(arguments, words):
    result = run("report", "scores.csv", *OPTIONS, *arguments)
    assert result.exit_code != 0
    message = str(result.exception) + result.stderr
    for word in words:
        assert word in message or word.replace("--", "'").replace("out", "path") in message


def test_compare_writes_a_page():
    rng = np.random.default_rng(0)
    score, label = LogisticGaussian.calibrated().draw_rows(1500, seed=0)
    lines = [
        f"{a},{a**2},{int(b)}" for a, b in zip(score, label & (rng.random(1500) < 0.4), strict=True)
    ]
    Path("m.csv").write_text("\n".join(["a,<b>,label", *lines]))
    models = ["--score", "a", "--score", "<b>", "--label", "label"]
    said = run(
        "compare", "m.csv", *models, "--setting", "one-sample", "--prior", 0.5, "-o", "c.html"
    )
    assert said.exit_code == 0, said.output
    page = Path("c.html").read_text()
    assert escape("What does each model's score mean?") in page
    assert "Effect of the prior" in page
    assert "&lt;b&gt; (square)" in page
    assert said.stdout.endswith("Wrote c.html\n")


def write_named(path, n=400):
    """Rows with names; the name contains the row number, and the score increases with it."""
    rng = np.random.default_rng(0)
    lines = ["name,score,label"]
    labeled = rng.random(n) < 0.2
    score = np.sort(rng.random(n))
    lines += [f"row {k},{score[k]},{int(labeled[k])}" for k in rng.permutation(n)]
    Path(path).write_text("\n".join(lines))
    return labeled


def test_rows_that_deserve_a_look_are_named():
    labeled = write_named("named.csv")
    columns = ["--score", "score", "--label", "label", "--setting", "two-sample", "--prior", 0.3]
    asked = ["--no-recalibrate", "--model", "risk <7>", "--id", "name", "-o", "r.html"]
    result = run("report", "named.csv", *columns, *asked)
    assert result.exit_code == 0, result.output
    page = Path("r.html").read_text()
    rows = re.findall(r"<bdi>row (\d+)</bdi>", page)
    unlabeled, positive = np.flatnonzero(~labeled)[::-1][:5], np.flatnonzero(labeled)[:5]
    assert [int(row) for row in rows] == [*unlabeled, *positive]
    assert "Can the scores of risk &lt;7&gt; be trusted?" in page
    assert "contains sums and the rows named above" in page
    refused = run("report", "-", *columns, *asked, "--force")
    assert refused.exit_code != 0
    assert "read only once" in str(refused.exception) + refused.stderr


@pytest.mark.parametrize("prior", ["0.3", "0.9", "0.05"])
def test_the_proposed_command_runs(prior):
    options = [*OPTIONS[:-1], prior, "--no-recalibrate", "-o", "r.json"]
    assert run("report", "scores.csv", *options).exit_code == 0
    _, command = json.loads(Path("r.json").read_text())["action"]
    result = run(*shlex.split(command)[1:])
    assert result.exit_code == 0, (command, result.output)
