"""Gates: what passes, fails or cannot be decided, exit codes, and the documented example."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from code_blocks import ROOT, blocks, demo_files

from noneg import PUScores, evaluate
from noneg.cli import main
from noneg.errors import InputError
from noneg.gates import KEPT, Gate, compare_with, failing
from noneg.performance import precision
from noneg.results import Estimate
from noneg.simulation import LogisticGaussian

ASKED = ["--score", "score", "--label", "confirmed", "--setting", "one-sample", "--prior", "0.4"]


def estimate(low, high):
    return Estimate(value=(low + high) / 2, low=low, high=high, level=0.95, method="")


@pytest.mark.parametrize(
    ("fails", "low", "high", "state"),
    [
        ("above", 0.06, 0.08, "failed"),
        ("above", 0.04, 0.06, "cannot tell"),
        ("above", 0.02, 0.05, "passed"),
        ("below", 0.02, 0.04, "failed"),
        ("below", 0.04, 0.06, "cannot tell"),
        ("below", 0.05, 0.06, "passed"),
    ],
)
def test_the_whole_interval_decides(fails, low, high, state):
    outcome = Gate.parse("debiased_ece = 0.05", fails).judge(estimate(low, high))
    assert outcome.state == state
    assert failing([outcome]) == (state == "failed")
    assert failing([outcome], strict=True) == (state != "passed")


def test_a_missing_metric_cannot_be_decided():
    outcome = Gate.parse("auroc=0.5", "below").judge(None)
    assert outcome.state == "cannot tell"
    assert "not available" in str(outcome)


def test_a_gate_has_its_own_threshold():
    scores = LogisticGaussian.calibrated().draw(300, 3000, setting="two-sample", seed=0)
    gate = Gate.parse("precision@0.7=0.8", "below")
    assert gate.title == "Precision at 0.7"
    assert gate.estimate(scores, 0.95).value == pytest.approx(precision(scores, threshold=0.7))
    assert Gate.parse("f1=0.5", "below").metric == "f_beta"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("auroc", "must be METRIC=LIMIT"),
        ("auroc=high", "must be METRIC=LIMIT"),
        ("auroc=nan", "must be METRIC=LIMIT"),
        ("precision@x=0.5", "must be METRIC=LIMIT"),
        ("auroc@0.5=0.5", "must not include a threshold: 'auroc' does not use one"),
        ("nonsense=0.5", "must be a registered metric"),
    ],
)
def test_invalid_gates_are_rejected(text, message):
    with pytest.raises(InputError, match=message):
        Gate.parse(text, "above")


def stored(path, **metrics):
    path.write_text(
        json.dumps(
            {
                "schema": "noneg.evaluation/1",
                "metrics": {name: one and one.to_dict() for name, one in metrics.items()},
            }
        )
    )
    return path


def test_a_baseline_allows_for_the_noise_of_both(tmp_path):
    """For two normal estimates, it is the z-test of their difference, at a shared level."""
    one = {"auroc": estimate(0.80, 0.90), "brier": estimate(0.1, 0.2), "log_loss": None}
    base = stored(tmp_path / "base.json", **one)
    # 2.2414 is the quantile of 1 - 0.05 / 2 / 2; half-widths are 1.96 standard errors.
    reach = np.hypot(0.05, 0.05) * 2.241403 / 1.959964
    for fall, state in ((0.99 * reach, "passed"), (1.01 * reach, "failed")):
        new = {"auroc": estimate(0.80 - fall, 0.90 - fall), "brier": estimate(0.1, 0.2)}
        auroc = {outcome.title: outcome for outcome in compare_with(base, new)}
        assert auroc["Area under the ROC curve"].state == state
        assert auroc["Brier score"].state == "passed"
    assert compare_with(base, {"auroc": estimate(0.97, 0.99)})[0].state == "passed"


def test_chance_rarely_fails_a_model_that_did_not_change(tmp_path):
    """The level is shared by all metrics: at most 5% of 60 pairs, standard error 2.8%."""
    world, failed = LogisticGaussian.calibrated(), 0
    draws = (world.draw(200, 1000, setting="two-sample", seed=k) for k in range(120))
    gates = [Gate.parse(f"{name}=0", "above") for name in ("brier", "auroc", "log_loss")]
    assert {gate.metric for gate in gates} < set(KEPT)
    found = [{gate.metric: gate.estimate(scores, 0.95) for gate in gates} for scores in draws]
    for before, after in zip(found[::2], found[1::2], strict=True):
        base = stored(tmp_path / "base.json", **before)
        failed += failing(compare_with(base, after))
    assert failed / 60 <= 0.05 + 3 * 0.028


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "noneg.sketch/2"}'])
def test_another_file_is_not_a_baseline(tmp_path, text):
    path = tmp_path / "base.json"
    path.write_text(text)
    with pytest.raises(InputError, match="must be a file written by noneg evaluate --json"):
        compare_with(path, {"auroc": estimate(0.8, 0.9)})
    with pytest.raises(InputError, match="must contain at least one of the metrics"):
        compare_with(stored(path, auroc=None), {"auroc": estimate(0.8, 0.9)})


def test_a_baseline_with_another_prior_is_pointed_out(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    base = tmp_path / "base.json"
    base.write_text(run("evaluate", "scores.csv", *ASKED, "--json").stdout)
    other = [*ASKED[:-1], "0.3"]
    words = f"The baseline assumes a prior of {ASKED[-1]}, these rows 0.3"
    told = run("evaluate", "scores.csv", *other, "--baseline", base, "--json")
    assert words in told.stderr
    assert json.loads(told.stdout)["gates"]["note"].startswith(words)
    same = run("evaluate", "scores.csv", *ASKED, "--baseline", base, "--json")
    assert "The baseline assumes" not in same.stderr
    assert "note" not in json.loads(same.stdout)["gates"]
    # An interval that contains the baseline's prior may well be the same prior.
    around = run("evaluate", "scores.csv", *ASKED[:-1], "0.1:0.4", "--baseline", base)
    assert "The baseline assumes" not in around.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    demo_files(folder)
    return folder


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_exit_codes(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    result = run("evaluate", "scores.csv", *ASKED, "--fail-below", "auroc=0.5", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["gates"]["outcomes"][0]["state"] == "passed"
    assert found["verdict"]["code"] in ("ok", "check", "stop", "unknown")
    base = tmp_path / "base.json"
    base.write_text(result.stdout)
    auroc = found["metrics"]["auroc"]
    inside = f"auroc={(auroc['low'] + auroc['high']) / 2}"
    told = run("evaluate", "scores.csv", *ASKED, "--fail-below", inside, "--baseline", base)
    assert told.exit_code == 0
    assert "Gate cannot tell: Area under the ROC curve" in told.stderr
    assert "Gate passed: Brier score must not be above the baseline's" in told.stderr
    strict = ["--strict", "--fail-below", inside, "-o", tmp_path / "page.txt", "--no-recalibrate"]
    assert run("report", "scores.csv", *ASKED, *strict).exit_code == 3
    assert (tmp_path / "page.txt").exists()
    unknown = [*ASKED[:-1], "unknown", "--fail-below", "recall@0.2=0.999"]
    assert run("evaluate", "scores.csv", *unknown).exit_code == 3
    assert run("evaluate", "scores.csv", *ASKED, "--fail-below", "auroc").exit_code == 2


def test_the_action_of_the_documentation_runs(files, tmp_path):
    """Every step of the workflow that runs something is run, except for the installation."""
    text = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    (workflow,) = (block.code for block in blocks(text) if block.kind == "yaml")
    steps = yaml.safe_load(workflow)["jobs"]["scores"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[0] == "pip install noneg"
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    bash, paths = shutil.which("bash"), (str(Path(sys.executable).parent), os.environ["PATH"])
    env = os.environ | {"PATH": os.pathsep.join(paths)}
    for command in commands[1:]:
        done = subprocess.run([bash, "-e", "-c", command], cwd=tmp_path, check=False, env=env)
        assert done.returncode == 0, command
    kept = [step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")]
    assert all((tmp_path / name).exists() for name in kept[0].split())


def test_gates_agree_with_the_evaluation():
    scores = PUScores.from_labels([0, 1] * 50, np.linspace(0, 1, 100))
    found = evaluate(scores).metrics["accuracy"]
    assert Gate.parse("accuracy=0.1", "below").estimate(scores, 0.95) == found
