"""``noneg audit``: from a table to a list, to answers, to every other command; and errors."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from noneg.audit import Audit
from noneg.cli import main
from noneg.report.answers import audit_rows
from noneg.report.charts import CHARTS, REVIEWED
from noneg.report.payload import data_names

COLUMNS = ["--score", "p", "--label", "checked", "--setting", "one-sample"]
THREE = [*COLUMNS, "--unlabeled-is-empty"]
PLAN = ["audit", "plan", "table.csv", *THREE, "--id", "key"]
ROWS = 30_000


def labels():
    rng = np.random.default_rng(0)
    score = 1 / (1 + np.exp(4 - 2 * rng.normal(size=ROWS)))
    y = rng.random(ROWS) < score
    known, looked = y & (rng.random(ROWS) < 0.3), rng.random(ROWS) < 0.3 * score
    return score, y, known | (y & looked), ~y & looked


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 30,000 rows labeled 1, 0 or nothing, its review list, and the answers."""
    path = tmp_path_factory.mktemp("audit")
    score, y, known, negative = labels()
    with (path / "table.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["key", "p", "q", "checked", "group"])
        for k in range(ROWS):
            label = 1 if known[k] else 0 if negative[k] else ""
            writer.writerow([f"k{k}", score[k], score[k] ** 1.2, label, "ab"[k % 2]])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        done(*PLAN, "--budget", "200", "--for", "prior", "--for", "precision@0.5", "--for", "auroc")
        fill("to_review.csv", y, "filled.csv")
        done("audit", "read", "filled.csv", "--design", "to_review.design.json", "-o", "audit.json")
    return path


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def done(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(path):
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def fill(path, y, out, words=("0", "1")):
    rows = listed(path)
    for row in rows:
        row["answer"] = words[int(y[int(row["id"][1:])])]
    with Path(out).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_plan_predicts_its_error_and_the_size_of_an_equivalent_simple_sample():
    said = done(*PLAN, "--budget", "50", "--for", "precision@0.5", "-o", "other.csv", "--force")
    assert "Review 50 rows from the top" in said
    assert "reviews  precision@0.5" in said
    for size in ("50", "100", "200", "500", "1,000"):
        assert f"\n{size} " in said
    first = Path("other.csv").read_text().splitlines()
    assert first[0] == "review,id,probability,answer"
    assert len(first) == 51
    plan = json.loads(done(*PLAN, "--budget", "50", "-o", "other.csv", "--force", "--json"))
    assert plan["schema"] == "noneg.audit-plan/1"
    assert plan["expected"]["reviews"] == [50, 100, 200, 500, 1000]


def test_answers_tell_of_the_whole_table():
    _, y, *_ = labels()
    found = json.loads(done(*READ, "--json"))
    prior = found["estimates"]["prior"]
    assert prior["low"] <= y.mean() <= prior["high"]
    said = done(*READ)
    assert "200 of 200 rows reviewed" in said
    assert "Selection factor" in said
    assert json.loads(Path("audit.json").read_text())["schema"] == "noneg.audit/1"


def test_a_table_of_three_labels_goes_through_the_other_commands():
    counted = "rows are known negatives. They count as rows that are not labeled positive"
    prior = ["--prior", "0.066"]
    assert counted in done("evaluate", "table.csv", *THREE, *prior)
    assert counted in done("compare", "table.csv", *THREE, "--score", "q", *prior)
    report = ["-o", "report.txt", "--no-recalibrate", "--force"]
    done("report", "table.csv", *THREE, *prior, *report)
    text = " ".join(Path("report.txt").read_text().split())
    assert counted in text
    assert "rows were not reviewed at random" in text
    alone = done("audit", "read", "table.csv", *THREE, *prior)
    assert counted in alone
    assert "AUROC, if labeling is at random" in alone
    _, _, known, negative = labels()
    plain = json.loads(done("audit", "read", "table.csv", *THREE, "--json"))
    assert (plain["n_positive"], plain["n_negative"]) == (known.sum(), negative.sum())
    assert plain["prior_limits"] == pytest.approx([known.mean(), 1 - negative.mean()])


def test_an_audit_brings_prior_interval_and_selection_to_every_command():
    known = json.loads(Path("audit.json").read_text())
    low, high = (known["estimates"]["prior"][end] for end in ("low", "high"))
    audit = [*THREE, "--audit", "audit.json"]
    found = json.loads(done("evaluate", "table.csv", *audit, "--json"))
    assert (found["prior"]["low"], found["prior"]["high"]) == pytest.approx((low, high))
    assert found["audit"]["n_reviewed"] == 200
    assert "from a review of 200 rows" in done("compare", "table.csv", *audit, "--score", "q")
    told = CliRunner().invoke(main, ["threshold", "table.csv", *audit, "--at", "0.5"])
    assert "from a review of 200 rows" in told.stderr
    recalibrated = CliRunner().invoke(
        main, ["recalibrate", "table.csv", *audit, "--method", "platt", "--json"]
    )
    assert recalibrated.exit_code == 0, recalibrated.output
    done("report", "table.csv", *audit, "-o", "audit.md", "--no-recalibrate", "--force")
    text = Path("audit.md").read_text()
    assert "What did the review find?" in text
    assert "Are labeled positives representative?" in text


def test_the_page_draws_the_review_next_to_the_labels():
    found = Audit.load("audit.json")
    rows = audit_rows(found)
    assert {row["metric"] for row in rows} == set(found.agreements)
    assert {row["side"] for row in rows} <= set(REVIEWED)
    assert data_names(CHARTS["audit"].spec) == {"audit"}


def test_a_sequential_review_goes_on_batch_by_batch_until_it_may_stop():
    _, y, *_ = labels()
    options = ["--budget", "120", "--for", "prior", "--sequential", "-o", "steps.csv", "--force"]
    assert "You may look at the results and stop" in done(*PLAN, *options)
    done("audit", "next", "steps.csv", "--rows", "40", "-o", "one.csv", "--force")
    fill("one.csv", y, "one.csv")
    said = done(
        "audit", "read", "one.csv", "--design", "steps.design.json", "--until", "prior=0.01"
    )
    assert "Continue: some interval is wider than requested." in said
    files = ["one.csv", "--design", "steps.design.json"]
    done("audit", "next", *files, "--rows", "100", "-o", "two.csv", "--force")
    assert len(Path("two.csv").read_text().splitlines()) == 81
    fill("two.csv", y, "two.csv")
    both = ["one.csv", "two.csv", "--design", "steps.design.json"]
    assert "Stop: every interval" in done("audit", "read", *both, "--until", "prior=0.3")


DESIGN = ["--design", "to_review.design.json"]
READ = ["audit", "read", "filled.csv", *DESIGN]
NEW = [*PLAN, "--budget", "9", "-o", "new.csv"]
OTHER = ["table.csv", "--score", "p", "--label", "checked", "--unlabeled-is-empty", "--setting"]
MISTAKES = {
    "three labels, unsaid": (
        ["evaluate", "table.csv", *COLUMNS, "--prior", "0.1"],
        "or pass unlabeled_is_empty (--unlabeled-is-empty)",
    ),
    "a label that is not there": (
        ["evaluate", "table.csv", *THREE, "--unlabeled-label", "x", "--prior", "0.1"],
        "--unlabeled-label must be a value of column 'checked'",
    ),
    "unlabeled is positive": (
        ["evaluate", "table.csv", *THREE, "--unlabeled-label", "1", "--prior", "0.1"],
        "--unlabeled-label must differ from the positive label",
    ),
    "labeled setting": (
        ["audit", "plan", *OTHER, "labeled", "--budget", "9", "-o", "new.csv"],
        "--setting must not be 'labeled': every row has its label",
    ),
    "no budget": (PLAN, "Missing option '--budget'"),
    "a budget of one": ([*NEW, "--budget", "1"], "--budget must be"),
    "a budget of too many": ([*NEW, "--budget", "99999"], "--budget must be at most"),
    "an unknown number": ([*NEW, "--for", "precison@0.5"], "--for must be one of prior"),
    "no threshold": (
        [*NEW, "--for", "precision"],
        "--for must include the threshold of 'precision', a score in [0, 1], got 'precision'",
    ),
    "a threshold in percent": (
        [*NEW, "--for", "recall@90"],
        "--for must include the threshold of 'recall'",
    ),
    "a threshold of nothing": (
        [*NEW, "--for", "prior@0.5"],
        "--for must not include a threshold for 'prior'",
    ),
    "nobody flagged": (
        [*NEW, "--for", "precision@1"],
        "--for must split the rows, but no row has a score of 1 or more. Scores lie between",
    ),
    "an identifier that is none": (
        [*NEW, "--id", "group"],
        "--id must name a column that identifies a row, but 'a' appears 15000 times",
    ),
    "a column that is not there": ([*NEW, "--id", "kye"], "--id must name a column of"),
    "a list that is not a list": ([*NEW, "-o", "x.xlsx"], "--out must end in .csv"),
    "a list that exists": (
        [*NEW, "-o", "to_review.csv"],
        "--out must be a new file, but 'to_review.csv' exists",
    ),
    "no answers": (
        ["audit", "read", "to_review.csv"],
        "--answer must contain at least one answer, got none. Fill in the column",
    ),
    "no design": (
        ["audit", "read", "filled.csv"],
        "--design must be an existing file, got 'filled.design.json'",
    ),
    "another design": (
        ["audit", "read", "table.csv", "--id", "key", "--answer", "checked", *DESIGN],
        "--id must contain rows of the list, but 'k0' is not one of them",
    ),
    "a design that is none": (
        ["audit", "read", "filled.csv", "--design", "audit.json"],
        "--design must be a design written by noneg audit plan",
    ),
    "an answer that nobody knows": (
        [*READ, "--answer", "probability"],
        "--answer must contain 1 (yes), 0 (no), 'unsure'",
    ),
    "until without a width": (
        [*READ, "--until", "prior"],
        "--until must be a metric in the table and a half-width",
    ),
    "until without a sequence": (
        [*READ, "--until", "prior=0.1"],
        "--until needs a sequential design",
    ),
    "two priors": (
        ["evaluate", "table.csv", *THREE, "--audit", "audit.json", "--prior", "0.1"],
        "--audit must not be given with --prior",
    ),
    "an audit that is none": (
        ["evaluate", "table.csv", *THREE, "--audit", "to_review.design.json"],
        "--audit must be a file written by noneg audit read -o",
    ),
    "an audit of another setting": (
        ["evaluate", *OTHER, "two-sample", "--audit", "audit.json"],
        "--audit must use the same setting, but 'audit.json' is from one-sample rows",
    ),
    "a table without unlabeled rows": (
        ["audit", "read", "table.csv", *COLUMNS],
        "--unlabeled-label must specify which rows were not reviewed",
    ),
    "estimates from rows chosen anyhow": (
        ["audit", "read", "table.csv", *THREE, "-o", "new.json"],
        "known negatives that were not drawn at random",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_an_answer(mistake):
    arguments, words = MISTAKES[mistake]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.output.split())


def test_two_answers_about_one_row_are_rejected():
    rows = listed("filled.csv")
    first = rows[0] | {"answer": "1" if rows[0]["answer"] == "0" else "0"}
    with Path("twice.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, first)
        writer.writeheader()
        writer.writerows([*rows, first])
    result = CliRunner().invoke(main, ["audit", "read", "twice.csv", *READ[3:]])
    assert "--answer must have one answer per row" in result.output
