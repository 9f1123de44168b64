"""What commands may write: never an input, and an existing file only with --force."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from noneg.cli import main
from noneg.lab.bench import RunConfig
from noneg.lab.bench.protocol import write_record
from noneg.recalibration import Platt
from noneg.simulation import LogisticGaussian
from noneg.tables import write

COLUMNS = ["--score", "score", "--label", "label"]
ROWS = [*COLUMNS, "--setting", "labeled"]
# Each command writes to the name that comes last.
WRITERS = {
    "report": ["report", "rows.csv", *ROWS, "--no-recalibrate", "-o", "new.html"],
    "compare": ["compare", "rows.csv", "copy.csv", *ROWS, "-o", "new.html"],
    "recalibrate": ["recalibrate", "rows.csv", *ROWS, "--method", "platt", "--out", "new.csv"],
    "save": ["recalibrate", "rows.csv", *ROWS, "--method", "platt", "--save", "new.json"],
    "apply": ["apply", "platt.json", "rows.csv", "--score", "score", "--out", "new.csv"],
    "simulate": ["simulate", "--setting", "labeled", "--n", "20", "--out", "new.csv"],
    "demo": ["demo", "-o", "new.html"],
    "bench table": ["bench", "table", "runs", "--metric", "accuracy", "--plot", "new.png"],
}
READERS = [name for name in WRITERS if name not in ("simulate", "demo", "bench table")]


@pytest.fixture(autouse=True)
def in_a_folder_with_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = LogisticGaussian.less_calibrated().draw(n=200, setting="labeled", seed=0)
    for name in ("rows.csv", "copy.csv"):
        write(scores, name)
    Path("platt.json").write_text(Platt().fit(scores).to_json(), encoding="utf-8")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def records():
    """Records of three methods on two data sets, which can be ranked in a diagram."""
    for dataset in ("digits", "usps"):
        for accuracy, name in enumerate(("upu", "nnpu", "pusb")):
            one = RunConfig(dataset=dataset, setting="one-sample", algorithm=name)
            columns = {"step": [1], "proxy_accuracy": [0.5], "accuracy": [0.5 + 0.1 * accuracy]}
            columns |= {"proxy_auc": [0.5], "oracle_accuracy": [0.5]}
            write_record("runs", one, {"status": "done", "checkpoints": columns})


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_that_exists_is_replaced_only_if_forced_and_keeps_its_permissions(command):
    records()
    *arguments, name = WRITERS[command]
    path = Path(name)
    path.write_text("precious")
    path.chmod(0o600)
    refusal = run(*arguments, name)
    assert refusal.exit_code == 2
    assert f"must be a new file, but {name!r} exists. Pass --force" in refusal.stderr
    assert path.read_text() == "precious"
    forced = run(*arguments, name, "--force")
    assert forced.exit_code == 0, forced.output
    assert path.read_bytes() != b"precious"
    assert path.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("command", WRITERS)
def test_a_new_file_needs_no_force(command):
    records()
    assert run(*WRITERS[command]).exit_code == 0
    assert Path(WRITERS[command][-1]).stat().st_size > 0


def own_name(name):
    Path("rows.csv").rename(name)
    return name


def absolute(name):
    return Path(own_name(name)).absolute()


def linked(name):
    Path(name).symlink_to("rows.csv")
    return "rows.csv"


def hard_linked(name):
    os.link("rows.csv", name)
    return "rows.csv"


def globbed(name):
    own_name(name)
    return f"{name[:3]}*{Path(name).suffix}"


WAYS = [own_name, absolute, linked, hard_linked, globbed]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", READERS)
def test_an_input_is_never_replaced(command, way):
    name = WRITERS[command][-1]
    rows = Path("rows.csv").read_bytes()
    source = way(name)
    arguments = [source if word == "rows.csv" else word for word in WRITERS[command]]
    for force in ([], ["--force"]):
        result = run(*arguments, *force)
        assert result.exit_code == 2
        assert f"must not be an input, but {name!r} is read as" in result.stderr
        assert Path(name).read_bytes() == rows


def test_a_calibrator_that_is_applied_is_an_input():
    content = Path("platt.json").read_bytes()
    Path("platt.json").rename("platt.csv")
    command = ["apply", "platt.csv", "rows.csv", "--score", "score", "--out", "platt.csv"]
    assert "must not be an input" in run(*command, "--force").stderr
    assert Path("platt.csv").read_bytes() == content


def test_a_file_that_an_option_names_is_an_input():
    Path("audit.json").write_text("precious")
    files = ["--audit", "audit.json", "--save", "audit.json", "--force"]
    refusal = run("recalibrate", "rows.csv", *ROWS, *files)
    assert "must not be an input, but 'audit.json' is read as 'audit.json'" in refusal.stderr
    assert Path("audit.json").read_text() == "precious"


def test_standard_input_is_an_input_where_it_is_a_file():
    Path("rows.csv").rename("rows.txt")
    rows = Path("rows.txt").read_bytes()
    code = "from noneg.cli import main; main(prog_name='noneg')"
    command = [sys.executable, "-c", code, "report", "-", *ROWS, "-o", "rows.txt", "--force"]
    with Path("rows.txt").open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "must not be an input" in done.stderr
    assert Path("rows.txt").read_bytes() == rows


def test_files_of_a_folder_are_inputs():
    """Spark reads folders."""
    Path("table").mkdir()
    Path("rows.csv").rename("table/rows.html")
    rows = Path("table/rows.html").read_bytes()
    spark = ["--engine", "spark", "--master", "local[1]"]
    for source in ("table", f"file://{Path('table').absolute()}"):
        result = run("report", source, *ROWS, *spark, "-o", "table/rows.html", "--force")
        assert "must not be an input" in result.stderr
    assert Path("table/rows.html").read_bytes() == rows


def test_two_outputs_are_two_files():
    command = ["recalibrate", "rows.csv", *ROWS, "--out", "a.csv", "--save", "./a.csv"]
    result = run(*command)
    assert "--save must be a separate file, but './a.csv' is written twice" in result.stderr
    assert not Path("a.csv").exists()


def test_a_device_can_be_written_again_and_again():
    assert run(*WRITERS["report"][:-1], "/dev/null", "--format", "text").exit_code == 0
