"""noneg report and noneg compare -o, as people type them."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

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
def test_the_name_says_the_format(name, start):
    result = run("report", "scores.csv", *OPTIONS, "-o", name, "--no-recalibrate")
    assert result.exit_code == 0, result.output
    assert Path(name).read_text().startswith(start)
    assert "Calibration error 0." in result.stdout
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
    assert "What does a score mean, model by model?" in page
    assert "Over the prior" in page
    assert "&lt;b&gt; (square)" in page
    assert said.stdout.endswith("Wrote c.html\n")
