"""Input that commands reject before they start, and their messages."""

import io
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noneg
from noneg import PUScores
from noneg.cli import main, output
from noneg.cli.app import Refused
from noneg.tables import write

COLUMNS = ["--score", "score", "--label", "label"]
TWO_SAMPLE = [*COLUMNS, "--setting", "two-sample"]


@pytest.fixture(autouse=True)
def in_a_folder_with_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    s = rng.random(200)
    write(PUScores.from_labels(rng.random(200) < s, s), "scores.csv")


def refused(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    "command", ["evaluate", "report", "threshold", "recalibrate", "compare", "prior"]
)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--engine", "spark"],
            "--master must give the address of the cluster with --engine spark",
        ),
        (["--master", "local[1]"], "--master requires --engine spark, got 'local[1]'"),
        (["--table", "rows"], "--table requires --engine spark, got 'rows'"),
    ],
)
def test_all_cluster_options_are_required_together(command, options, words):
    wanted = ["--recall", "0.5"] if command == "threshold" else []
    prior = [] if command == "prior" else ["--prior", "0.5"]
    assert words in refused(command, "scores.csv", *TWO_SAMPLE, *prior, *options, *wanted)


def test_scores_that_a_cluster_reads_are_not_written_here():
    cluster = ["--engine", "spark", "--master", "local[1]", "--prior", "0.5"]
    said = refused("recalibrate", "scores.csv", *TWO_SAMPLE, *cluster, "--out", "o.csv")
    assert (
        "--out must not be given if the rows are not available on this machine. Pass --save" in said
    )


def test_an_estimated_prior_brings_its_own_interval():
    known = ["--prior", "estimate", "--prior-interval", "0.3", "0.6"]
    said = refused("evaluate", "scores.csv", *TWO_SAMPLE, *known)
    assert "--prior-interval must not be given with --prior estimate. Omit --prior." in said


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        (
            "evaluate",
            [*TWO_SAMPLE, "--prior", "estimate:guess"],
            "--prior must be an estimator of the prior",
        ),
        (
            "evaluate",
            [*TWO_SAMPLE[4:], "--prior", "0.5", "--from-sketch"],
            "FILE must end in .json or .parquet, got 'scores.csv'",
        ),
        (
            "evaluate",
            [*TWO_SAMPLE[4:], "--prior", "0.5", "--from-sql"],
            "noneg sketch --sql, but 'scores.csv' has no column 'flag'.",
        ),
        (
            "monitor",
            [*TWO_SAMPLE, "--prior", "0.5"],
            "besides the reference. Add a second period, or pass the first as --reference.",
        ),
    ],
)
def test_errors_name_what_was_given(command, options, words):
    assert words in refused(command, "scores.csv", *options)


@pytest.mark.parametrize("command", ["compare", "demo"])
def test_pages_are_html(command):
    question = ["scores.csv", "scores.csv", "--names", "a,b", *COLUMNS, "--setting", "labeled"]
    said = refused(command, *(question if command == "compare" else []), "-o", "page.md")
    assert "--out must end in .html, got 'page.md'. Choose a different name." in said


def test_ties_leave_bins_empty_and_are_counted():
    write(PUScores.from_labels([0, 1] * 50, [0.3] * 90 + [0.7] * 10), "ties.csv")
    shown = CliRunner().invoke(main, ["evaluate", "ties.csv", *COLUMNS, "--setting", "labeled"])
    assert "4 equal-mass bins, 2 of which contain rows" in shown.stdout


def test_a_caller_in_python_gets_exceptions():
    with pytest.raises(Refused, match=r"'no\.csv' does not exist"):
        main.main(["evaluate", "no.csv", *TWO_SAMPLE, "--prior", "0.5"], standalone_mode=False)


def test_streams_that_cannot_change_their_encoding_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(SystemExit) as caught:
        main.main(["--version"], prog_name="noneg")
    assert caught.value.code == 0
    assert sys.stdout.getvalue() == f"noneg {noneg.__version__}\n"


def test_a_bar_counts_rows(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.progress("Reading x[1] [red].csv") as advance:
        advance(12_345, 20_000)
        end = time.monotonic() + 20
        while "12,345 rows" not in screen.getvalue():
            assert time.monotonic() < end
            time.sleep(0.01)
    assert "Reading x[1] [red].csv" in screen.getvalue()


@pytest.mark.parametrize(("beta0", "beta1"), [("1e300", "-1"), ("0", "0"), ("2", "1e-300")])
def test_a_population_whose_score_is_constant_is_rejected_before_anything_is_written(beta0, beta1):
    world = ["--beta0", beta0, "--beta1", beta1, "--setting", "labeled", "--n", "9"]
    said = refused("simulate", *world, "--out", "new.csv")
    assert "--beta1 must be finite and at least" in said
    assert "a constant score has no density" in said
    assert not Path("new.csv").exists()


@pytest.mark.parametrize(
    "sizes", [["labeled", "--n"], ["two-sample", "--n-positive", "5", "--n-unlabeled"]]
)
def test_more_rows_than_memory_holds_are_rejected(sizes):
    said = refused("simulate", "--out", "new.csv", "--setting", *sizes, "9" * 16)
    assert "not enough memory: Unable to allocate" in said
    assert "Use fewer rows." in said
    assert not Path("new.csv").exists()


@pytest.mark.parametrize("command", ["simulate", "report"])
def test_names_rejected_by_the_system_are_reported_without_an_error_number(command):
    name = "x" * 300 + (".html" if command == "report" else ".csv")
    question = ["scores.csv", *COLUMNS] if command == "report" else ["--n", "9"]
    said = refused(command, *question, "--setting", "labeled", "--out", name)
    assert f"cannot use '{name}': File name too long." in said
    assert "Errno" not in said
