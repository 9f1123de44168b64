"""Everything that needs an optional package names the extra that provides it."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from noneg.extras import EXTRAS

# Each line is run on its own, with a package blocked.
PREPARE = """
import json, os, sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
os.environ.pop("NONEG_DATA", None)
import click, numpy as np
import noneg, noneg.lab.bench, noneg.lab.datasets, noneg.learning, noneg.plots
from noneg.cli import main

def cli(*arguments):
    try:
        main(arguments, standalone_mode=False)
    except click.ClickException as error:
        raise ImportError(error.format_message()) from error

rng = np.random.default_rng(0)
x = rng.random((60, 2))
flags = rng.random(60) < 0.4
scores = noneg.PUScores.from_labels(flags, x[:, 0])
pu = noneg.PUScores.from_pu_labels(flags, x[:, 0], prior=0.5, setting="two-sample")
sketch = noneg.Sketch.from_scores(scores)
run = noneg.lab.bench.RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu", steps=2)
from pathlib import Path
Path("s.csv").write_text("score,label\\n0.1,0\\n0.9,1\\n0.4,1\\n")
rows = ["s.csv", "--score", "score", "--label", "label", "--setting", "labeled"]
said = []
for line in sys.argv[2:]:
    try:
        exec(line)
        said.append(None)
    except ImportError as error:
        said.append(str(error))
print(json.dumps(said))
"""
DISPLAYS = ["PUPrecisionRecall", "PriorSensitivity", "Reliability", "PURoc", "ScoreDistribution"]
BENCH = '"bench", "run", "--dataset", "digits", "--setting", "one-sample", "--steps", "2"'
ASKED = {
    "torch": [
        "noneg.learning.PUClassifier('nnpu', setting='two-sample', prior=0.5).fit(x, flags)",
        *(
            f"noneg.learning.{name}"
            for name in ("ALGORITHMS", "SGLD", "Algorithm", "Annealing", "Fit", "PUData")
        ),
        *(f"noneg.learning.{name}" for name in ("Trainer", "algorithms", "networks", "train")),
        *(
            f"import noneg.learning.{name}"
            for name in ("algorithms", "networks", "views", "contract", "task", "training")
        ),
        "import noneg.lab.sgld",
        "noneg.torch",
        "from noneg.lab.bench.work import perform",
        f"cli({BENCH})",
    ],
    "torchmetrics": ["noneg.torch"],
    "matplotlib": [
        *(f"noneg.plots.{name}Display.from_scores(pu)" for name in DISPLAYS),
        "from noneg.lab.bench.ranks import _axes; _axes(None)",
    ],
    "pyspark": ["cli('evaluate', *rows, '--engine', 'spark', '--master', 'local[1]')"],
    "distributed": [
        "from noneg.lab.bench.engine import run_all; run_all([run], 'b', scheduler='tcp://127.0.0.1:1')"
    ],
    "pooch": ["noneg.lab.datasets.load('usps')"],
}


def answers(blocked, lines, folder):
    done = subprocess.run(
        [sys.executable, "-c", PREPARE, blocked, *lines],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("module", ASKED)
def test_what_is_missing_is_named_with_its_extra(module, tmp_path):
    for line, said in zip(ASKED[module], answers(module, ASKED[module], tmp_path), strict=True):
        assert said is not None, line
        assert module in said, (line, said)
        assert f"noneg[{EXTRAS[module]}]" in said, (line, said)


def test_an_unknown_learner_is_compared_with_those_that_need_no_extra(tmp_path):
    line = "noneg.learning.PUClassifier('bosted', setting='two-sample', prior=0.5).fit(x, flags)"
    [said] = answers("torch", [line], tmp_path)
    assert "'algorithm' must be one of auto, boosted, bagging, linear, weighted, or the" in said
    assert "got 'bosted'. Did you mean 'boosted'? For networks, noneg.learning needs torch" in said


def test_what_needs_no_extra_runs_without_any(tmp_path):
    lines = [
        "noneg.evaluate(pu)",
        "noneg.read('s.csv', score='score', label='label', setting='labeled')",
        "noneg.learning.LinearPU(setting='two-sample', prior=0.5).fit(x, flags)",
        "cli('report', *rows, '--no-recalibrate', '-o', 'r.html')",
    ]
    # scikit-learn includes joblib.
    assert answers(",".join(set(EXTRAS) - {"joblib"}), lines, tmp_path) == [None] * len(lines)


def test_every_optional_package_has_an_extra():
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        brought_by = {"distributed": "dask", "py4j": "pyspark"}.get(module, module)
        assert any(need.startswith(brought_by) for need in extras[extra]), module


def test_no_folder_of_tests_hides_a_package_that_is_not_installed():
    # Test folders are on the path. pytest itself provides `packaging`, which takes precedence.
    root = Path(__file__).parents[1]
    lines = (root / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines}
    folders = {path.name for path in (root / "tests").iterdir() if path.is_dir()}
    assert {"coverage", "packaging"} <= pinned
    assert folders & pinned <= {"packaging"}
