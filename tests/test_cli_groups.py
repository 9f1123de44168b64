"""Groups on the command line: JSON, terminal output and page."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit

from noneg.cli import main

FACTS = ["--score", "p", "--label", "y", "--setting", "one-sample", "--prior", "0.35"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Calibrated rows, except that scores in the south are too low."""
    random = np.random.default_rng(0)
    n = 3000
    region = random.choice(["north", "south", "west"], n)
    score = expit(random.normal(-1.2, 1.5, n))
    truth = random.random(n) < np.where(region == "south", np.sqrt(score), score)
    seen = truth & (random.random(n) < 0.5)
    path = tmp_path_factory.mktemp("groups") / "scores.csv"
    rows = zip(score, seen.astype(int), region, strict=True)
    lines = [f"{p:.6f},{y},{r}" for p, y, r in rows]
    path.write_text("p,y,region\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_evaluate_names_the_group_that_is_wrong(table):
    text = run("evaluate", table, *FACTS, "--by", "region")
    assert "Groups differ in calibration (p = 0.001" in text
    assert "The strongest evidence is against 'south': its scores are too low" in text
    found = json.loads(run("evaluate", table, *FACTS, "--by", "region", "--json"))
    assert found["source"]["by"] == ["region"]
    groups = found["groups"]
    assert groups["table"]["group"] == ["north", "south", "west"]
    assert groups["worst"] == "south"
    shares = np.array(groups["table"]["rows"]) / 3000
    assert shares @ groups["table"]["prior"] == pytest.approx(0.35)


def test_the_report_has_a_section_on_groups(table, tmp_path):
    out = tmp_path / "report.html"
    run("report", table, *FACTS, "--by", "region", "--no-recalibrate", "-o", out)
    page = out.read_text(encoding="utf-8")
    assert "Are the scores calibrated for every region?" in page
    assert "data-sortable" in page
    assert '"groups":[{"group":"' in page


def test_a_column_that_is_not_there_is_named(table):
    done = CliRunner().invoke(main, ["evaluate", table, *FACTS, "--by", "regoin"])
    assert done.exit_code == 2
    assert "--by must name a column" in done.output
    assert "Did you mean 'region'?" in done.output


def test_each_group_gets_a_threshold_and_sees_the_overall_one(table):
    wish = ["--f-beta", "1"]
    found = json.loads(run("threshold", table, *FACTS, *wish, "--by", "region", "--json"))
    assert list(found["groups"]) == ["north", "south", "west"]
    # Scores in the south are too low, so the same precision is reached at a lower threshold.
    assert found["groups"]["south"]["threshold"] < found["threshold"]
    there = found["groups"]["south"]["with_overall_threshold"]["precision"]
    assert there["value"] > found["precision"]["value"]
    text = run("threshold", table, *FACTS, *wish, "--by", "region")
    assert "own threshold" in text


def test_a_guarantee_is_split_among_groups(table):
    wish = ["--recall", "0.8", "--confidence", "0.9"]
    found = json.loads(run("threshold", table, *FACTS, *wish, "--by", "region", "--json"))
    alone = json.loads(run("threshold", table, *FACTS, *wish, "--json"))
    assert found["threshold"] == alone["threshold"]
    assert all(0.0 < one["threshold"] < 0.5 for one in found["groups"].values())


def test_a_workload_is_not_shared_out_by_group(table):
    words = ["threshold", table, *FACTS, "--top", "5%", "--by", "region"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "groups share one workload" in done.output


def test_compare_reports_the_winner_in_each_group(table, tmp_path):
    """The second model is better in the south and worse in the west."""
    lines = Path(table).read_text(encoding="utf-8").splitlines()
    made = [f"{lines[0]},q"]
    for line in lines[1:]:
        p, _, region = line.split(",")
        power = {"south": 0.5, "west": 3.0}.get(region, 1.0)
        made.append(f"{line},{float(p) ** power:.6f}")
    path = tmp_path / "two.csv"
    path.write_text("\n".join(made) + "\n", encoding="utf-8")
    words = [path, *FACTS, "--score", "q", "--criteria", "brier", "--by", "region"]
    found = json.loads(run("compare", *words, "--json"))["groups"]
    winners = {group: criteria["brier"]["winner"] for group, criteria in found.items()}
    assert winners == {"north": None, "south": "q", "west": "p"}
    page = tmp_path / "page.html"
    text = run("compare", *words, "-o", page)
    assert "Best model by group" in text
    assert "data-sortable" in page.read_text(encoding="utf-8")


def test_recalibrate_fits_a_map_for_each_group(table, tmp_path):
    out, maps = tmp_path / "better.csv", tmp_path / "maps.json"
    words = ["recalibrate", table, *FACTS, "--by", "region", "--folds", "2"]
    text = run(*words, "--out", out, "--save", maps)
    assert "Maps by group are better than one map for all rows" in text
    assert "all rows, log odds +" in text
    found = json.loads(run(*words, "--json"))
    assert found["helps"] is True
    assert set(found) >= {"before", "one_map", "after", "change", "gain", "groups"}
    assert found["groups"]["group"] == ["north", "south", "west"]
    south = found["groups"]["brier_change_high"][1]
    assert south < 0.0
    again = tmp_path / "again.csv"
    said = run("apply", maps, out, "--score", "p", "--out", again, "--column", "again")
    assert "mapped by one map for each group" in said
    header, *lines = again.read_text(encoding="utf-8").splitlines()
    assert header == "p,y,region,calibrated,again"
    assert all(line.split(",")[3] == line.split(",")[4] for line in lines)


def test_apply_tells_of_groups_that_are_new(table, tmp_path):
    maps, new = tmp_path / "maps.json", tmp_path / "new.csv"
    words = ["recalibrate", table, *FACTS, "--by", "region", "--folds", "2", "--method", "platt"]
    run(*words, "--save", maps)
    new.write_text("p,region\n0.3,north\n0.3,east\n0.4,east\n", encoding="utf-8")
    said = run("apply", maps, new, "--score", "p", "--out", tmp_path / "o.csv", "--json")
    [warning] = json.loads(said)["warnings"]
    assert warning.startswith("2 of 3 rows belong to groups that the calibrator was not fitted on")
    assert "'east'" in warning
    new.write_text("p,place\n0.3,north\n", encoding="utf-8")
    words = ["apply", str(maps), str(new), "--score", "p", "--out", str(tmp_path / "p.csv")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "'by' must name a column" in done.output


@pytest.mark.parametrize("words", [["--selection", "2"], ["--sketch"]])
def test_maps_by_group_need_rows_and_random_labels(table, words):
    done = CliRunner().invoke(main, ["recalibrate", table, *FACTS, "--by", "region", *words])
    assert done.exit_code == 2
    assert words[0] in done.output
