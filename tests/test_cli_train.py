"""``noneg train`` and ``noneg predict``: from a table with missing values and strings to a
report."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

from noneg.cli import main
from noneg.tables import read
from noneg.tables.frames import read_table


def make(n, seed):
    """Ages with missing values, cities, and codes that look like numbers; the class is hidden."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + y),
            "city": np.where(y ^ (rng.random(n) < 0.2), "Rome", "Oslo"),
            "code": np.where(rng.random(n) < 0.5, "007", np.where(y, "x1", "x2")),
        }
    )
    labeled = np.where(y & (rng.random(n) < 0.5), "fraud", "unknown")
    return frame, labeled, y


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    frame, labeled, _ = make(1500, 0)
    frame.assign(id=range(1500), confirmed=labeled).to_csv(folder / "table.csv", index=False)
    columns = ["--label", "confirmed", "--positive-label", "fraud", "--ignore", "id"]
    setting = ["--setting", "one-sample", "--prior", 0.3, "-o", folder / "model"]
    return folder, run("train", folder / "table.csv", *columns, *setting), [*columns, *setting]


def test_train_writes_model_scores_and_report(trained):
    folder, done, _ = trained
    assert done.exit_code == 0, done.output
    assert "1,500 rows, 3 features: PUScores(" in done.output
    assert "On held-out rows: " in done.output
    page = (folder / "model" / "report.html").read_text(encoding="utf-8")
    assert "Can the model trained on" in page
    scores = folder / "model" / "scores.parquet"
    found = read(scores, score="probability", label="labeled", setting="one-sample", prior=0.3)
    assert found.n_marginal == 1500
    report = run(
        *("report", scores, "--score", "probability", "--label", "labeled", "--prior", 0.3),
        *("--setting", "one-sample", "--out", folder / "again.html", "--no-recalibrate"),
    )
    assert report.exit_code == 0, report.output


def test_predict_adds_probabilities(trained):
    """Rows in which every code looks like a number, with a new city."""
    folder, *_ = trained
    frame, _, y = make(800, 1)
    frame.assign(id=range(800)).to_csv(folder / "new.csv", index=False)
    done = run("predict", folder / "model", folder / "new.csv", "--out", folder / "out.parquet")
    assert done.exit_code == 0, done.output
    out = pd.read_parquet(folder / "out.parquet")
    assert roc_auc_score(y, out["probability"]) > 0.85
    assert out["probability"].mean() == pytest.approx(0.3, abs=0.05)
    part = frame[frame["code"] == "007"].assign(city="Paris")
    part.to_csv(folder / "part.csv", index=False)
    done = run("predict", folder / "model", folder / "part.csv", "--out", folder / "part-out.csv")
    assert done.exit_code == 0, done.output
    alone = pd.read_csv(folder / "part-out.csv", dtype={"code": str})
    assert list(alone["code"].unique()) == ["007"]
    known = frame[frame["code"] == "007"].assign(city=None)
    known.to_parquet(folder / "gap.parquet")
    run("predict", folder / "model", folder / "gap.parquet", "--out", folder / "gap-out.csv")
    gap = pd.read_csv(folder / "gap-out.csv")
    np.testing.assert_allclose(alone["probability"], gap["probability"])


def test_refusals(trained):
    folder, _, options = trained
    table = folder / "table.csv"
    assert "exists. Pass --force" in run("train", table, *options).output
    other = [*options[:-1], folder / "other"]
    assert "--weight must be a column of" in run("train", table, *other, "--weight", "w").output
    for wrong in ("--weight", "--feature"):
        said = run("train", table, *other, "--feature", "age", wrong, "w").output
        assert f"{wrong} must name a column of" in said
    assert "'estimate:bbe'" in run("train", table, *other, "--prior", "estimate:bbe").output
    new = folder / "lacking.csv"
    new.write_text("age,city\n1,Rome\n")
    done = run("predict", folder / "model", new, "--out", folder / "x.csv")
    assert done.exit_code == 2
    assert "code" in done.output
    done = run("predict", folder / "model", table, "--out", folder / "x.txt")
    assert "must end in .csv or .parquet" in done.output
    done = run("predict", folder / "model", table, "--out", folder / "x.csv", "--column", "city")
    assert "must be a new name" in done.output
    new.write_text("age,city,code\nold,Rome,x1\n")
    done = run("predict", folder / "model", new, "--out", folder / "x.csv")
    assert "must not contain text in column 'age', which had none in training" in done.output
    unnamed = [word for word in other if word not in ("--positive-label", "fraud")]
    assert "--label contains 'fraud' and 'unknown'" in run("train", table, *unnamed).output
    new.write_text("id,age,city,code,confirmed\n")
    assert "must contain at least one labeled positive" in run("train", new, *other).output
    gaps = folder / "gaps.csv"
    pd.read_csv(table).replace({"confirmed": {"unknown": None}}).to_csv(gaps, index=False)
    assert "--label must contain a label in every row" in run("train", gaps, *other).output


def test_json_and_an_estimated_prior(tmp_path):
    frame, labeled, _ = make(600, 2)
    frame = frame.assign(confirmed=labeled == "fraud", w=1.0 + np.arange(600) % 2)
    frame.to_parquet(tmp_path / "t.parquet")
    done = run(
        *("train", tmp_path / "t.parquet", "--label", "confirmed", "--setting", "one-sample"),
        *("--prior", "estimate", "--weight", "w", "--feature", "city", "--feature", "age"),
        *("-o", tmp_path / "model", "--json"),
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["features"] == ["city", "age"]
    assert 0.1 < found["prior"] < 0.7
    assert found["texts"] == ["city"]
    # The stored scores are enough to write the same report again.
    stored = pd.read_parquet(tmp_path / "model" / "scores.parquet")
    np.testing.assert_array_equal(stored["weight"], frame["w"])


def test_files_of_one_table_must_agree(tmp_path):
    for name, head in (("a.csv", "x,y"), ("b.csv", "x,z")):
        (tmp_path / name).write_text(f"{head}\n1,2\n")
    with pytest.raises(ValueError, match="must contain files with the same columns"):
        read_table([tmp_path / "a.csv", tmp_path / "b.csv"])
