"""Commands that are killed, run out of disk space, or read a damaged file leave nothing
incomplete."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from noneg import PUScores
from noneg.cli import main
from noneg.recalibration import Platt
from noneg.tables import write

COLUMNS = ["--score", "score", "--label", "label"]
LABELED = [*COLUMNS, "--setting", "labeled"]
READING = {
    "evaluate": ["evaluate", "{file}", *LABELED],
    "report": ["report", "{file}", *LABELED, "-o", "new.html"],
    "recalibrate": ["recalibrate", "{file}", *LABELED, "--method", "platt", "--out", "new.csv"],
    "apply": ["apply", "platt.json", "{file}", "--score", "score", "--out", "new.csv"],
}
WRITING = {
    "report": ["report", "rows.csv", *LABELED, "-o", "new.html"],
    "recalibrate": [*READING["recalibrate"], "--save", "new.json"],
    "save alone": ["recalibrate", "rows.csv", *LABELED, "--method", "platt", "--save", "new.json"],
    "apply": ["apply", "platt.json", "rows.csv", "--score", "score", "--out", "new.parquet"],
}
COMMAND = "from noneg.cli import main; main(prog_name='noneg')"
SKETCH = "import noneg; noneg.Sketch().update([1, 0], [0.9, 0.2]).save(sys.argv[1])"
# The process kills itself with SIGKILL at a given moment: when a file is opened for writing, or
# when everything is written and only the rename is missing.
KILLED = """
import os, signal, sys
moment = sys.argv.pop(1)
def watch(event, arguments):
    if event == moment and ".partial." in str(arguments[0]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
"""


@pytest.fixture(autouse=True)
def in_a_folder_with_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    s = rng.random(3000)
    scores = PUScores.from_labels(rng.random(3000) < s, s)
    write(scores, "rows.csv")
    write(scores, "rows.parquet")
    Path("platt.json").write_text(Platt().fit(scores).to_json(), encoding="utf-8")


def python(code, *arguments, **options):
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def filled(arguments, file="rows.csv"):
    return [argument.format(file=file) for argument in arguments]


def visible():
    return {path.name for path in Path().iterdir() if not path.name.startswith(".")}


def killed(moment, code, *arguments):
    done = python(KILLED + code, moment, *arguments)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(Path().glob(".*.partial.*")) or moment == "open"


@pytest.mark.parametrize("command", WRITING)
def test_a_killed_command_leaves_nothing_under_the_final_name(command):
    before = visible()
    killed("os.rename", COMMAND, *filled(WRITING[command]))
    assert visible() == before


def test_a_command_killed_as_it_begins_to_write_leaves_nothing():
    before = visible()
    killed("open", COMMAND, *filled(WRITING["report"]))
    assert visible() == before


@pytest.mark.parametrize("name", ["new.json", "new.parquet"])
def test_a_killed_process_leaves_no_sketch(name):
    before = visible()
    killed("os.rename", SKETCH, name)
    assert visible() == before


def test_a_killed_command_leaves_the_old_file_as_it_was():
    Path("new.parquet").write_text("old")
    killed("os.rename", COMMAND, *filled(WRITING["apply"]), "--force")
    assert Path("new.parquet").read_text() == "old"
    assert python(COMMAND, *filled(WRITING["apply"]), "--force").returncode == 0
    assert Path("new.parquet").read_bytes().startswith(b"PAR1")


def test_a_command_killed_in_the_middle_of_its_rows():
    """A signal from outside, as soon as rows are in the file; there are many, so writing takes
    long."""
    rows = np.random.default_rng(0).random(600_000)
    np.savetxt("many.csv", rows, header="score", comments="")
    arguments = ["apply", "platt.json", "many.csv", "--score", "score", "--out", "new.csv"]
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *arguments])
    try:
        while not any(path.stat().st_size for path in Path().glob(".*.partial.*")):
            assert process.poll() is None
            time.sleep(0.0005)
    finally:
        process.kill()
        process.wait(60)
    assert process.returncode == -signal.SIGKILL
    assert "new.csv" not in visible()


BENCH = ["bench", "run", "--dataset", "digits", "--setting", "one-sample", "--steps", "200"]
STOPPED = {
    "report": ["report", "many.csv", *LABELED, "-o", "new.html"],
    "apply": ["apply", "platt.json", "many.csv", "--score", "score", "--out", "new.csv"],
    "recalibrate": ["recalibrate", "many.csv", *LABELED, "--method", "platt", "--out", "new.csv"],
    "bench run": [*BENCH, "--algorithm", "upu", "--algorithm", "nnpu", "--out", "new"],
}


def stopped(arguments, temporary, moment):
    """Run a command, send SIGTERM once `moment` holds, and return its exit code."""
    env = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], env=env, stderr=subprocess.PIPE
    )
    try:
        while process.poll() is None and not moment():
            time.sleep(0.001)
        process.terminate()
        said = process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.wait(60)
    assert b"Traceback" not in said, said
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("command", STOPPED)
def test_sigterm_leaves_nothing(command, tmp_path):
    """As soon as it has created something temporary, and later."""
    rng = np.random.default_rng(0)
    s = rng.random(200_000)
    write(PUScores.from_labels(rng.random(s.size) < s, s), "many.csv")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = visible()

    def begun():
        return any(temporary.glob("noneg-*")) or any(tmp_path.glob("new/*"))

    for wait in (0.0, 0.3, 1.0):
        started = []

        def moment(wait=wait, started=started):
            if not started and begun():
                started.append(time.monotonic())
            return started and time.monotonic() > started[0] + wait

        code = stopped(STOPPED[command], temporary, moment)
        # In its last moments, the command is finished, and the signal ends Python itself.
        assert code in (143, 0, -signal.SIGTERM)
        assert visible() - before <= {STOPPED[command][-1]}
        assert not [path for path in tmp_path.rglob("*") if "noneg-" in path.name]
        for path in tmp_path.glob("new*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_sigterm_sets_the_exit_code_and_a_second_one_changes_nothing(tmp_path):
    """By then, a command that waits for its input has a folder."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = os.environ | {"TMPDIR": str(temporary)}
    arguments = ["evaluate", "-", *LABELED]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], env=env, stdin=subprocess.PIPE
    ) as process:
        while not list(temporary.glob("noneg-*/*")):
            assert process.poll() is None
            time.sleep(0.005)
        process.terminate()
        process.terminate()
        assert process.wait(60) == 143
    assert not list(temporary.iterdir())


PRINTING = {
    "a command": ["evaluate", "rows.csv", *LABELED],
    "much": ["simulate", "--setting", "labeled", "--n", "20000", "--out", "-"],
    "help": ["--help"],
}


@pytest.mark.parametrize("what", PRINTING)
def test_a_standard_output_without_room_is_named(what):
    command = [sys.executable, "-c", COMMAND, *PRINTING[what]]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=unmeasured()
        )
    assert done.returncode == 2
    words = "cannot write to standard output: No space left on device."
    assert done.stderr.endswith(f"{words}\n")
    assert done.stderr.count("\n") == 1 + ("True calibration error" in done.stderr)


@pytest.mark.parametrize("what", PRINTING)
def test_a_closed_standard_output_is_named(what):
    done = python(COMMAND, *PRINTING[what], preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    words = "noneg: standard output is closed. Redirect it to a file or to /dev/null.\n"
    assert done.stderr == words


def test_a_closed_standard_error_stops_nothing():
    done = python(COMMAND, *PRINTING["a command"], preexec_fn=lambda: os.close(2))
    assert done.returncode == 0
    assert done.stdout.startswith("rows.csv: score 'score', label 'label'\n")


def refused(*arguments, **options):
    """Run a command that must fail: one paragraph on stderr, no traceback, no new files."""
    before = visible()
    done = python(COMMAND, *arguments, **options)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == before
    return done.stderr


def unmeasured():
    """The environment of a process whose full disk has no space for a coverage record."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def small_disk(n_bytes):
    """Limit the file size to a few bytes, as on a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return {"preexec_fn": limit, "env": unmeasured()}


def test_a_full_disk_under_a_report():
    words = refused(*filled(WRITING["report"]), **small_disk(50_000))
    assert "--out cannot be written: 'new.html': File too large. No file was created." in words


def test_a_full_disk_under_a_calibrator():
    words = refused(*filled(WRITING["save alone"]), **small_disk(100))
    assert "cannot be written: 'new.json': File too large. No file was created." in words


def test_a_full_disk_under_the_rows():
    s = np.random.default_rng(0).random(20_000)
    np.savetxt("many.csv", s, header="score", comments="")
    arguments = ["apply", "platt.json", "many.csv", "--score", "score", "--out", "new.csv"]
    words = refused(*arguments, **small_disk(600_000))
    assert "--out cannot be written: 'new.csv': File too large. No file was created." in words


def test_a_full_disk_under_the_temporary_folder():
    words = refused(*filled(WRITING["apply"]), **small_disk(8192))
    assert "temporary folder" in words
    assert "cannot be written: File too large. Set TMPDIR" in words


def refused_here(*arguments):
    """Run a command that must fail, in this process."""
    before = visible()
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert {path.name for path in Path().iterdir()} == before
    return result.stderr


@pytest.mark.parametrize("command", READING)
def test_a_truncated_parquet_file_is_named(command):
    content = Path("rows.parquet").read_bytes()
    Path("cut.parquet").write_bytes(content[: len(content) // 2])
    words = refused_here(*filled(READING[command], "cut.parquet"))
    assert "FILE cannot be read: 'cut.parquet' is truncated" in words


@pytest.mark.parametrize("command", READING)
def test_a_bad_row_in_the_middle_of_a_csv_file_is_named(command):
    lines = Path("rows.csv").read_text().splitlines()
    lines[1501] = "high,0"
    Path("bad.csv").write_text("\n".join([*lines, ""]))
    words = refused_here(*filled(READING[command], "bad.csv"))
    assert "'score' must contain numbers, got 'high' in line 1502 of 'bad.csv'" in words


@pytest.mark.parametrize("command", READING)
def test_a_row_with_a_field_too_many_is_named(command):
    lines = Path("rows.csv").read_text().splitlines()
    lines[1501] += ",7"
    Path("bad.csv").write_text("\n".join([*lines, ""]))
    words = refused_here(*filled(READING[command], "bad.csv"))
    assert "'bad.csv' is malformed: line 1502 has 3 fields, but the header has 2" in words
