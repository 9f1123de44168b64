"""Complete sweeps: every algorithm once, killed and resumed, and on a cluster that loses a
worker."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from noneg.cli import main
from noneg.lab.bench import RunConfig, load_records, paper_numbers, render, summarize, sweep
from noneg.lab.bench.engine import run_all
from noneg.lab.bench.protocol import pack_records, record_path
from noneg.lab.bench.summaries import paper_name
from noneg.lab.bench.work import (
    METHODS,
    _network,
    _varied,
    is_possible,
    perform,
    perform_and_write,
    set_up,
    versions,
    versions_used,
)
from noneg.learning.views import Cropped, Turned

DIGITS = {"dataset": ["digits"], "setting": ["one-sample"]}
BUDGET = {"steps": [40], "every": [20]}
FEW = sweep(**DIGITS, **BUDGET, algorithm=["upu", "nnpu", "pusb"], split=range(2))
COMMAND = [
    *(sys.executable, "-c", "from noneg.cli import main; main()", "bench", "run"),
    *("--dataset", "digits", "--setting", "one-sample", "--steps", "40", "--every", "20"),
    *("--algorithm", "upu", "--algorithm", "nnpu", "--algorithm", "pusb", "--splits", "2"),
]


def counted(**some):
    return {"done": 0, "failed": 0, "kept": 0, "damaged": 0, "left": 0, **some}


def table(folder):
    return render(summarize(load_records(folder), metrics=["accuracy", "auc", "ece"]), "csv")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The table from an uninterrupted sweep."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_all(FEW, folder) == counted(done=6)
    return table(folder)


def wait_for(folder, records, process=None):
    deadline = time.monotonic() + 120
    while sum(1 for _ in folder.glob("[!.]*.json")) < records:
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.02)


def test_every_algorithm_runs(tmp_path):
    runs = sweep(**DIGITS, **BUDGET, algorithm=METHODS)
    counts = run_all(runs, tmp_path)
    failed = {r["run"]["algorithm"]: r["error"] for r in load_records(tmp_path) if "error" in r}
    assert not failed
    assert counts["done"] == len(METHODS) >= 17
    # A method with stages may still be in its first one, and then has nothing to select.
    assert len(render(summarize(load_records(tmp_path))).splitlines()) >= 17 + 2


def test_a_killed_sweep_resumes_to_the_same_table(tmp_path, expected):
    folder = tmp_path / "records"
    folder.mkdir()
    with subprocess.Popen([*COMMAND, "--out", str(folder)]) as process:
        wait_for(folder, 2, process)
        process.send_signal(signal.SIGKILL)
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("[!.]*.json")}
    assert 2 <= len(before) < 6
    again = subprocess.run(
        [*COMMAND, "--out", str(folder)], check=True, capture_output=True, text=True
    )
    assert (
        f"{6 - len(before)} done, 0 failed, {len(before)} kept from an earlier sweep"
        in again.stdout
    )
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("[!.]*.json")}
    assert {name: after[name] for name in before} == before
    assert table(folder) == expected


def test_a_cluster_that_loses_a_worker_gives_the_same_table(tmp_path, expected):
    from distributed import LocalCluster

    folder = tmp_path / "records"
    folder.mkdir()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**options, dashboard_address=None, silence_logs=50) as cluster:
        victim = next(iter(cluster.workers.values())).process.process.pid
        killed = []

        def tell(done, failed, total):
            del failed, total
            if done == 1:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        counts = run_all(FEW, folder, scheduler=cluster.scheduler_address, tell=tell)
    assert killed
    assert counts == counted(done=6)
    assert table(folder) == expected


def test_a_sweep_stops_in_time_and_goes_on(tmp_path, expected):
    assert run_all(FEW, tmp_path, seconds=-1.0) == counted(left=6)
    run_all(FEW[:2], tmp_path)
    assert run_all(FEW, tmp_path, seconds=600.0) == counted(done=4, kept=2)
    assert table(tmp_path) == expected


def test_a_pack_of_another_machine_is_not_done_again(tmp_path, expected):
    there, here = tmp_path / "there", tmp_path / "here"
    run_all(FEW[:4], there)
    here.mkdir()
    assert pack_records(there, here / "theirs.jsonl") == 4
    assert run_all(FEW, here) == counted(done=2, kept=4)
    assert table(here) == expected
    assert pack_records(here, tmp_path / "all.jsonl") == 6
    assert table(tmp_path / "all.jsonl") == expected


def test_processes_give_the_same_table(tmp_path, expected):
    run_all(FEW, tmp_path, jobs=2)
    assert table(tmp_path) == expected


def test_a_failing_run_is_recorded_and_does_not_stop_the_rest(tmp_path, monkeypatch):
    from noneg.learning.algorithms.nnpu import NNPU

    def broken(*_):
        raise FloatingPointError("the loss is lost")

    monkeypatch.setattr(NNPU, "loss", broken)
    assert run_all(FEW, tmp_path) == counted(done=4, failed=2)
    errors = {r["error"] for r in load_records(tmp_path) if r["status"] == "failed"}
    assert errors == {"FloatingPointError: the loss is lost"}
    monkeypatch.undo()
    assert run_all(FEW, tmp_path) == counted(kept=6)
    assert run_all(FEW, tmp_path, retry_failed=True) == counted(done=2, kept=4)


def test_a_run_with_a_truncated_record_is_repeated_and_reported(tmp_path):
    arguments = ["bench", "run", "--dataset", "digits", "--setting", "one-sample", "--steps", "20"]
    arguments += ["--algorithm", "upu", "--splits", "2", "--out", str(tmp_path)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    path = min(tmp_path.glob("*.json"))
    path.write_bytes(path.read_bytes()[:-30])
    result = CliRunner().invoke(main, arguments)
    assert result.stdout.splitlines() == [
        f"1 done, 0 failed, 1 kept from an earlier sweep, in {tmp_path}",
        "1 record was damaged and its run done again.",
    ]
    assert [record["status"] for record in load_records(tmp_path)] == ["done", "done"]


def test_configurations_are_drawn_alike_for_all_algorithms():
    runs = [
        RunConfig(dataset="digits", setting="one-sample", algorithm=name, configuration=4)
        for name in ("upu", "cvir")
    ]
    one, two = (set_up(run) for run in runs)
    assert (one.lr, one.batch) == (two.lr, two.batch)
    assert 10**-4.5 <= one.lr <= 10**-2.5
    default = set_up(RunConfig(dataset="digits", setting="one-sample", algorithm="upu"))
    assert (default.lr, default.batch, default.drawn) == (1e-3, 32, {})


def test_a_run_is_the_same_whenever_it_is_done(tmp_path):
    torch.rand(3)
    for place in ("one", "two"):
        perform_and_write(FEW[0], tmp_path / place)
    one, two = (load_records(tmp_path / place)[0]["checkpoints"] for place in ("one", "two"))
    assert one == two
    assert set(one) >= {"proxy_accuracy", "proxy_auc", "oracle_accuracy", "pu_log_loss", "pu_ece"}
    assert set(one) >= {"accuracy", "auc", "f1", "precision", "recall", "ece", "brier", "log_loss"}


def test_training_images_are_augmented_by_default():
    if not os.environ.get("NONEG_DATA"):
        pytest.skip("NONEG_DATA names no folder with the data sets")
    options = {"setting": "one-sample", "algorithm": "upu", "steps": 20, "every": 20}
    run = RunConfig(dataset="usps", **options)
    losses = [
        perform(one, device="cpu")["checkpoints"]["loss"]
        for one in (run, run, replace(run, augmented=False))
    ]
    assert losses[0] == losses[1] != losses[2]
    digits = RunConfig(dataset="digits", **options)
    plain = [
        perform(one)["checkpoints"]["loss"] for one in (digits, replace(digits, augmented=False))
    ]
    assert plain[0] == plain[1]


def test_half_precision_is_noted_in_the_record():
    found = perform(FEW[0], device="cpu", precision="bfloat16")
    assert (found["device"], found["precision"], found["diverged"]) == ("cpu", "bfloat16", False)
    assert found["cpu_seconds"] > 0.0


def test_a_wrong_prior_is_passed_to_the_method_and_the_criteria(tmp_path):
    runs = sweep(
        **DIGITS, **BUDGET, algorithm=["nnpu"], given_prior=[None, 0.6], correction=["weighted"]
    )
    run_all(runs, tmp_path)
    plain, told = (load_records(tmp_path)[k] for k in (0, 1))
    assert plain["checkpoints"]["loss"] != told["checkpoints"]["loss"]


def test_variants_and_corrections_that_a_method_lacks_are_known():
    options = {"dataset": "digits", "setting": "one-sample"}
    assert is_possible(RunConfig(**options, algorithm="upu", variant="bench", correction="batch"))
    assert not is_possible(RunConfig(**options, algorithm="holistic-pu", variant="bench"))


def test_all_versions_are_the_rows_of_the_papers_tables():
    named = {
        paper_name(
            RunConfig(
                dataset="usps", setting="one-sample", algorithm=a, variant=v, correction=c
            ).method
        )
        for a, v, c in versions()
    }
    theirs = {n["method"] for n in paper_numbers(15)}
    assert theirs <= named
    assert len(versions()) == len(set(versions()))
    published = [version for version in versions() if version[1] == "bench"]
    assert len(published) == 20, (
        'a method that the benchmark did not publish has variants = ("ref",)'
    )
    assert len(versions()) == len(published) + len(METHODS)


def test_the_command_runs_all_versions(tmp_path):
    folder = str(tmp_path / "records")
    options = ["--algorithm", "vpu", "--algorithm", "cvir", "--versions", "--splits", "1"]
    base = ["bench", "run", "--dataset", "digits", "--setting", "one-sample", "--out", folder]
    run = CliRunner().invoke(main, [*base, *options, "--steps", "20", "--every", "20"])
    assert "5 done, 0 failed" in run.output
    assert {RunConfig.from_dict(r["run"]).method for r in load_records(folder)} == {
        "vpu", "vpu/bench/batch", "vpu/bench/none", "cvir", "cvir/bench",
    }  # fmt: skip


def test_a_command_with_a_limit_reports_the_remaining_runs(tmp_path):
    options = ["--setting", "one-sample", "--algorithm", "upu", "--splits", "2"]
    base = ["bench", "run", "--dataset", "digits", "--out", str(tmp_path), "--minutes", "-1"]
    assert "0 done, 0 failed, 0 kept from an earlier sweep, 2 left" in (
        CliRunner().invoke(main, [*base, *options]).output
    )


def test_commands_print_tables_and_the_paper(tmp_path):
    folder = str(tmp_path / "records")
    options = ["--setting", "one-sample", "--algorithm", "upu", "--steps", "20", "--every", "20"]
    run = CliRunner().invoke(
        main, ["bench", "run", "--dataset", "digits", *options, "--splits", "1", "--out", folder]
    )
    assert run.exit_code == 0
    assert "1 done, 0 failed, 0 kept" in run.output
    shown = CliRunner().invoke(
        main, ["bench", "table", folder, "--metric", "ece", "--by", "pu_ece"]
    )
    assert "| data | method | ece by pu_ece |" in shown.output
    compared = CliRunner().invoke(main, ["bench", "compare", folder])
    assert "No record matches a setup and method" in compared.output
    like = CliRunner().invoke(main, ["bench", "table", folder, "--like", "paper-15"])
    assert like.output.count("\n") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--algorithm", "luck"], "--algorithm must be among upu, "),
        (
            ["--algorithm", "cvir", "--correction", "batch"],
            "must include a method with the requested variant",
        ),
        (["--algorithm", "upu", "--rate", "2"], "--rate must be a share"),
    ],
)
def test_wrong_questions_are_rejected(tmp_path, options, words):
    base = ["bench", "run", "--dataset", "digits", "--setting", "one-sample"]
    command = [sys.executable, "-c", "from noneg.cli import main; main()", *base, *options]
    found = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert words in found.stderr
    assert not list(tmp_path.iterdir())


def test_records_have_the_names_of_their_runs(tmp_path):
    perform_and_write(FEW[0], tmp_path)
    assert record_path(tmp_path, FEW[0]).exists()


def test_the_command_reports_failures(tmp_path, monkeypatch):
    from noneg.learning.algorithms.nnpu import NNPU

    def broken(*_):
        raise FloatingPointError("the loss is lost")

    monkeypatch.setattr(NNPU, "loss", broken)
    options = ["--setting", "one-sample", "--algorithm", "nnpu", "--steps", "20", "--every", "20"]
    found = CliRunner().invoke(
        main, ["bench", "run", "--dataset", "digits", *options, "--splits", "1", "--out", tmp_path]
    )
    assert "0 done, 1 failed, 0 kept" in found.stdout
    assert (
        "Records of failed runs contain the error; --retry-failed repeats these runs."
        in found.stdout
    )
    assert "nnpu failed: FloatingPointError: the loss is lost\n" in found.stdout


def test_failures_of_an_earlier_sweep_are_shown_again(tmp_path):
    options = ["--setting", "one-sample", "--splits", "2", "--rate", "0.7", "--out", str(tmp_path)]
    base = ["bench", "run", "--dataset", "digits", "--algorithm", "nnpu", *options]
    for counts in ("0 done, 2 failed, 0 kept", "0 done, 0 failed, 2 kept"):
        found = CliRunner().invoke(main, base)
        assert counts in found.stdout
        assert "nnpu failed 2 times: InputError: 'rate' must leave enough rows" in found.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--correction", "luck"], "Invalid value for '--correction': 'luck'"),
        (["--configurations", "0"], "--configurations must be an integer of at least 1, got 0"),
        (["--splits", "0"], "--splits must be an integer of at least 1, got 0"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--device", "abacus"], "--device must be a torch device that works on this machine"),
        (
            ["--device", "abacus", "--population", "2"],
            "--device must be a torch device that works on this machine",
        ),
        (["--prior", "0.3"], "--prior cannot be given without --data"),
        (["--data", "mine.csv"], "--dataset, --out cannot be given with --data"),
    ],
)
def test_options_that_cannot_be_used_are_rejected(tmp_path, options, words):
    base = ["bench", "run", "--dataset", "digits", "--setting", "one-sample"]
    found = CliRunner().invoke(main, [*base, "--out", str(tmp_path), *options])
    assert found.exit_code == 2
    assert words in found.stderr
    assert not list(tmp_path.iterdir())


def test_an_unknown_method_is_rejected_by_name():
    with pytest.raises(ValueError, match=r"'algorithm' must be one of upu, .*nnpu, .*got 'luck'"):
        set_up(RunConfig(dataset="digits", setting="one-sample", algorithm="luck"))


def test_images_get_the_views_and_the_network_of_their_plan():
    def rows(*shape):
        part = np.linspace(-1.5, 2.0, 4 * math.prod(shape), dtype=np.float32).reshape(4, *shape)
        return SimpleNamespace(training=SimpleNamespace(positive=part, unlabeled=part))

    options = {"setting": "one-sample", "algorithm": "upu"}
    flat, color = RunConfig(dataset="usps", **options), RunConfig(dataset="cifar10", **options)
    view = _varied(flat, rows(256)).weak
    assert isinstance(view, Turned)
    assert (view.side, view.black) == (16, -1.5)
    assert isinstance(_varied(color, rows(3, 32, 32)).strong, Cropped)
    plain = _varied(replace(color, augmented=False), rows(3, 32, 32))
    assert plain.weak is plain.strong is None
    images = torch.from_numpy(rows(3, 32, 32).training.positive)
    assert _network(color, rows(3, 32, 32))()(images).shape[0] == 4
    assert _network(flat, rows(256))()(torch.zeros(4, 256)).shape[0] == 4


def test_versions_of_a_source_folder(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    assert versions_used()["noneg"] == "not installed"
