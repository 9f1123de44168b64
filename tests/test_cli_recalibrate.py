"""``noneg recalibrate`` and ``noneg apply``: what they write, print and reject."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main
from noneg.recalibration import METHODS, Platt, load
from noneg.recalibration.base import checksum
from noneg.recalibration.choose import held_out
from noneg.simulation import LogisticGaussian
from noneg.tables import files, write
from noneg.tables.writing import map_scores

COLUMNS = ["--score", "score", "--label", "label"]
TWO_SAMPLE = [*COLUMNS, "--setting", "two-sample", "--prior", "0.5"]
LABELED = [*COLUMNS, "--setting", "labeled"]
WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def scores():
    return WORLD.draw(500, 5000, setting="two-sample", seed=3)


@pytest.fixture
def file(scores):
    write(scores, "scores.csv")
    return "scores.csv"


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def good(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def table(path, columns="*"):
    return duckdb.sql(f"SELECT {columns} FROM '{path}'")  # noqa: S608


def no_partial_file():
    return not [file for file in Path().iterdir() if "partial" in file.name]


def test_scores_calibrator_and_table_agree_with_the_library(file, scores):
    out = good(
        "recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--out", "o.parquet", "--save", "c"
    )
    platt = Platt().fit(scores)
    platt.fitted_on_["score_column"] = "score"
    assert load(Path("c").read_text(encoding="utf-8")).to_json() == platt.to_json()
    found = held_out("platt", scores)
    for part in (found.before, found.after, found.change):
        for estimate in part.values():
            assert str(estimate) in " ".join(out.split())
    assert "held-out rows in 5 folds" in out
    rows = table("o.parquet").fetchnumpy()
    assert list(rows) == ["score", "label", "calibrated"]
    assert np.array_equal(rows["calibrated"], platt.transform(rows["score"]))
    original = noneg.read(file, score="score", label="label", setting="two-sample", prior=0.5)
    assert original.n_marginal == (rows["label"] == 0).sum()
    assert no_partial_file()


def test_apply_gives_what_recalibrate_wrote(file):
    good("recalibrate", file, *TWO_SAMPLE, "--out", "a.parquet", "--save", "c.json")
    said = good("apply", "c.json", file, "--score", "score", "--out", "b.csv")
    chosen = load(Path("c.json").read_text()).chosen_.name
    words = f"Wrote 5,500 rows to b.csv; column 'calibrated' is 'score' mapped by {chosen}.\n"
    assert said == words
    one, other = (table(path).fetchnumpy()["calibrated"] for path in ("a.parquet", "b.csv"))
    assert np.array_equal(one, other)


def test_json(file):
    answer = json.loads(
        good("recalibrate", file, *TWO_SAMPLE, "--json", "--save", "c.json", "--folds", 3)
    )
    assert answer["schema"] == "noneg.recalibration/1"
    assert answer["folds"] == 3
    assert answer["method"] == "auto"
    assert answer["chosen"] in METHODS
    assert answer["reason"].startswith(answer["chosen"])
    assert set(answer["change"]) == {"ece", "log_loss", "brier"}
    assert answer["change"]["brier"]["value"] < 0.0
    applied = json.loads(
        good("apply", "c.json", file, "--score", "score", "--out", "o.tsv", "--json")
    )
    assert applied["n_rows"] == 5500
    assert applied["fitted_on"]["n_positive"] == 500


def test_report_and_recalibrate_agree(file):
    one = json.loads(good("recalibrate", file, *TWO_SAMPLE, "--json", "--save", "c.json"))
    good("report", file, *TWO_SAMPLE, "-o", "r.json")
    other = json.loads(Path("r.json").read_text(encoding="utf-8"))["recalibration"]
    assert other["brier_change"] == one["change"]["brier"]
    for name in ("brier", "log_loss"):
        assert other["errors"][name] == [one[side][name]["value"] for side in ("before", "after")]
    assert (other["method"], other["reason"]) == (one["chosen"], one["reason"])
    assert other["calibrator"] == Path("c.json").read_text(encoding="utf-8")


class TestOtherScores:
    """A calibrator is for the scores it was fitted on."""

    @pytest.fixture(autouse=True)
    def calibrator(self, file):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--save", "c.json")

    def test_another_column_must_be_asked_for(self):
        Path("new.csv").write_text("other\n0.5\n0.6\n", encoding="utf-8")
        said = refused("apply", "c.json", "new.csv", "--score", "other", "--out", "o.csv")
        assert "--score must be 'score', the column that the calibrator was fitted on" in said
        assert "Pass --any-column" in said
        assert not Path("o.csv").exists()
        good("apply", "c.json", "new.csv", "--score", "other", "--out", "o.csv", "--any-column")
        assert table("o.csv").columns == ["other", "calibrated"]

    def test_scores_outside_the_range_are_reported(self):
        rows = ["score,label", "0.2,0", "0.4,1", "0.5,0", "0.75,1", "0.3,0"]
        Path("middle.csv").write_text("\n".join(rows), encoding="utf-8")
        good(
            *("recalibrate", "middle.csv", *LABELED, "--method", "prior-shift", "--folds", 2),
            *("--save", "c.json", "--force"),
        )
        Path("new.csv").write_text("score\n0.2\n0.75\n0.76\n0.1\n0\n", encoding="utf-8")
        command = ["apply", "c.json", "new.csv", "--score", "score", "--force", "--out", "o.csv"]
        words = (
            "3 of 5 scores lie outside [0.2, 0.75], the range on which the calibrator was fitted."
        )
        assert good(*command).endswith(f"Warning: {words}\n")
        assert json.loads(good(*command, "--json"))["warnings"] == [words]

    def test_an_older_file_is_read_as_before(self):
        content = json.loads(Path("c.json").read_text(encoding="utf-8"))
        for name in ("score_column", "score_range"):
            del content["fitted_on"][name]
        content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
        Path("old.json").write_text(json.dumps(content), encoding="utf-8")
        Path("new.csv").write_text("other\n0\n1\n", encoding="utf-8")
        out = good("apply", "old.json", "new.csv", "--score", "other", "--out", "o.csv")
        assert "Warning" not in out


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_goes_through_a_file(file, scores, method):
    good("recalibrate", file, *TWO_SAMPLE, "--method", method, "--save", "c.json")
    good("apply", "c.json", file, "--score", "score", "--out", "o.parquet")
    rows = table("o.parquet").fetchnumpy()
    expected = METHODS[method]().fit(scores).transform(rows["score"])
    assert np.array_equal(rows["calibrated"], expected)


def test_help_lists_every_method():
    # Lines may break after a hyphen.
    shown = " ".join(good("recalibrate", "--help").split()).replace("- ", "-")
    for name, method in METHODS.items():
        assert f"{name} ({method.learns})" in shown


class TestFiles:
    def test_order_and_other_columns_stay(self, monkeypatch):
        """Many chunks and several files; every row keeps its position."""
        monkeypatch.setattr(files, "BATCH", 1000)
        rng = np.random.default_rng(0)
        for number, n in enumerate((2500, 1, 4321)):
            s = rng.random(n)
            with Path(f"part-{number}.csv").open("w", encoding="utf-8") as stream:
                stream.write("id;name;score\n")
                stream.writelines(f'{i:05d};"a;{i}";{x!r}\n' for i, x in enumerate(s.tolist()))
        n = map_scores("part-*.csv", "o.parquet", lambda x: x / 2, score="score", column="h")
        assert n == 6822
        rows = table("o.parquet").fetchnumpy()
        assert np.array_equal(rows["score"], rows["h"] * 2)
        ids = np.concatenate([np.arange(2500), [0], np.arange(4321)])
        # A leading zero would be lost in a number, so the column remains text.
        assert list(rows["id"]) == [f"{i:05d}" for i in ids]
        assert list(rows["name"]) == [f"a;{i}" for i in ids]

    def test_texts_become_numbers_where_nothing_is_lost(self):
        with Path("a.csv").open("w", encoding="utf-8") as stream:
            stream.write("p,whole,truth,mixed,empty,long\n")
            stream.write("0.5,1,true,1,,1e400\n1,-20,False,x,,2\n0.25,,true,2,,3\n")
        map_scores("a.csv", "o.parquet", lambda x: x, score="p", column="q")
        relation = table("o.parquet")
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        assert types["p"] == types["q"] == "DOUBLE"
        assert types["whole"] == "BIGINT"
        assert types["truth"] == "BOOLEAN"
        assert types["mixed"] == types["empty"] == types["long"] == "VARCHAR"
        assert relation.project("whole").fetchall() == [(1,), (-20,), (None,)]

    def test_types_of_parquet_stay(self):
        query = "SELECT 0.5::FLOAT AS p, 3::UTINYINT AS n, DATE '2020-01-02' AS day, [1, 2] AS l"
        duckdb.sql(query).write_parquet("a.parquet")
        map_scores(["a.parquet"], "o.parquet", lambda x: 1 - x, score="p", column="q")
        one, two = table("a.parquet"), table("o.parquet")
        assert two.types[:-1] == one.types
        assert two.fetchall() == [(*one.fetchall()[0], 0.5)]

    @pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst", "parquet"])
    def test_every_format_comes_back(self, file, ending):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--out", f"o.{ending}")
        before = noneg.read(file, score="score", label="label", setting="two-sample", prior=0.5)
        again = noneg.read(
            f"o.{ending}", score="score", label="label", setting="two-sample", prior=0.5
        )
        assert noneg.ece(again) == noneg.ece(before)

    def test_a_sketch_gives_the_same_map(self, file):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--save", "rows.json")
        rows = noneg.read(file, score="score", label="label", setting="two-sample", prior=0.5)
        sketched = noneg.Sketch.from_scores(rows).scores()
        fitted = load(Path("rows.json").read_text(encoding="utf-8"))
        grid = np.linspace(0, 1, 101)
        assert np.abs(Platt().fit(sketched).transform(grid) - fitted.transform(grid)).max() < 1e-4


class TestRefusals:
    def test_existing_files_unless_forced(self, file):
        Path("o.csv").write_text("mine", encoding="utf-8")
        for option in ("--out", "--save"):
            said = refused("recalibrate", file, *TWO_SAMPLE, option, "o.csv")
            assert f"{option} must be a new file, but 'o.csv' exists" in said
        assert Path("o.csv").read_text(encoding="utf-8") == "mine"
        good("recalibrate", file, *TWO_SAMPLE, "--save", "o.csv", "--force", "--method", "platt")
        assert json.loads(Path("o.csv").read_text(encoding="utf-8"))["method"] == "platt"

    def test_paths_that_cannot_be_written(self, file):
        assert "--out must end in one of" in refused(
            "recalibrate", file, *TWO_SAMPLE, "--out", "o.txt"
        )
        assert "an existing folder" in refused(
            "recalibrate", file, *TWO_SAMPLE, "--save", "no/c.json"
        )

    def test_unknown_method_and_folds(self, file):
        said = refused("recalibrate", file, *TWO_SAMPLE, "--method", "plat")
        assert "--method must be" in said
        assert "platt" in said
        assert "--folds must be at most the number of positives, which is 500" in refused(
            "recalibrate", file, *TWO_SAMPLE, "--folds", 501
        )
        assert "--level" in refused("recalibrate", file, *TWO_SAMPLE, "--level", 95)

    def test_standard_input_cannot_be_read_twice(self):
        said = refused("recalibrate", "-", *TWO_SAMPLE, "--out", "o.csv")
        assert "standard input" in said

    def test_a_column_that_exists(self, file):
        said = refused("recalibrate", file, *TWO_SAMPLE, "--out", "o.csv", "--column", "label")
        assert "--column must be a new name, but 'scores.csv' already has a column 'label'" in said
        assert not Path("o.csv").exists()
        assert no_partial_file()

    def test_foreign_and_changed_calibrators(self, file):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--save", "c.json")
        text = Path("c.json").read_text(encoding="utf-8")
        Path("changed.json").write_text(text.replace("two-sample", "one-sample"), encoding="utf-8")
        Path("bytes.json").write_bytes(b"\xff\xfe\x00")
        for name, words in (
            ("changed.json", "checksum"),
            ("bytes.json", "not text in UTF-8"),
            ("scores.csv", "not valid JSON"),
            ("none.json", "No such file"),
        ):
            said = refused("apply", name, file, "--score", "score", "--out", "o.csv")
            assert words in said
        assert not Path("o.csv").exists()

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("1.5", "must contain scores in [0, 1], got 1.5 in line 3 of"),
            ("x", "'x' in line 3 of"),
            ("", "line 3 of"),
            ("nan", "got nan in line 3 of"),
        ],
    )
    def test_a_bad_score_is_named_with_its_row_and_leaves_no_file(self, file, value, words):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--save", "c.json")
        Path("one.csv").write_text("score,x\n0.1,1\n0.2,2\n", encoding="utf-8")
        Path("two.csv").write_text(f"score,x\n0.1,1\n{value},2\n", encoding="utf-8")
        said = refused(
            "apply", "c.json", "one.csv", "two.csv", "--score", "score", "--out", "o.csv"
        )
        assert words in said
        assert "two.csv" in said
        assert not Path("o.csv").exists()
        assert no_partial_file()

    def test_files_that_differ(self, file):
        good("recalibrate", file, *TWO_SAMPLE, "--method", "platt", "--save", "c.json")
        Path("one.csv").write_text("score,x\n0.1,1\n", encoding="utf-8")
        said = refused("apply", "c.json", "one.csv", file, "--score", "score", "--out", "o.csv")
        one, other = repr("one.csv"), repr(str(file))
        assert f"same columns, but {other} differs from {one}. Write them one by one." in said
        Path("two.csv").write_text("score,x,x\n0.1,1,2\n", encoding="utf-8")
        said = refused("apply", "c.json", "two.csv", "--score", "score", "--out", "o.csv")
        assert "'x' appears twice" in said
        Path("empty.csv").write_text("score\n", encoding="utf-8")
        said = refused("apply", "c.json", "empty.csv", "--score", "score", "--out", "o.csv")
        assert "only a header" in said


def test_what_a_fit_warns_of_is_shown():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    write(noneg.PUScores.from_labels(y, 0.4 * rng.random(40) + 0.5 * y), "s.csv")
    out = good("recalibrate", "s.csv", *LABELED, "--method", "platt")
    assert "Note: Platt" in out
