"""The diffs in CONTRIBUTING apply, and the additions appear where the page says."""

import subprocess
import sys

import pytest
from contributing import apply, diffs, rewritten

DIFFS = diffs()
FINDS = {
    "metric": """
from noneg import PUScores, evaluate
from noneg.report import to_html
from noneg.sklearn import scorer
scores = PUScores([0.9, 0.6] * 9, [0.8, 0.3, 0.2, 0.1] * 9, prior=0.4, setting="two-sample")
found = evaluate(scores)
assert found.metrics["false_discovery_rate"].value == 1.0 - found.metrics["precision"].value
assert "False discovery rate" in to_html(found)
scorer("false_discovery_rate", setting="labeled")
from noneg.lab.bench.measures import criteria
assert criteria()["pu_false_discovery_rate"] == "false_discovery_rate"
""",
    "calibrator": """
from noneg import PUScores
from noneg.recalibration import load, make
calibrator = make("line").fit(PUScores.from_labels([0, 1], [0.25, 0.5]))
assert load(calibrator.to_json()).transform([0.375]).tolist() == [0.5]
""",
    "prior estimator": """
from noneg import PUScores
from noneg.prior import estimate_prior
scores = PUScores([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
assert abs(estimate_prior(scores, method="top-tenth").value - 0.3) < 1e-9
""",
    "learner": """
import numpy as np
from noneg.learning import PUClassifier
rng = np.random.default_rng(0)
X, labeled = rng.normal(size=(200, 2)), rng.random(200) < 0.3
PUClassifier("capped", setting="two-sample", prior=0.5, epochs=1).fit(X, labeled)
""",
    "table learner": """
from noneg.learning import PUClassifier
X, labeled = [[0.0], [1.0], [4.0], [5.0], [4.0]], [0, 0, 1, 1, 0]
model = PUClassifier("means", setting="one-sample", prior=0.6).fit(X, labeled)
assert model.predict([[0.5], [4.5]]).tolist() == [0, 1]
""",
    "chart": """
from noneg.report.charts import flagged
assert flagged.spec["encoding"]["y"]["field"] == "ppr"
""",
}


def test_every_kind_of_part_has_an_example():
    assert DIFFS.keys() == FINDS.keys()


@pytest.mark.parametrize("kind", FINDS)
def test_an_example_applies_and_shows(kind, tmp_path):
    complaint = apply(DIFFS[kind], tmp_path)
    assert not complaint, f"{complaint}Run: python tests/contributing.py"
    script = f"import sys; sys.path.insert(0, {str(tmp_path / 'src')!r})\n{FINDS[kind]}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_rewritten_example_finds_its_lines_again():
    moved = DIFFS["metric"].replace("@@ -", "@@ -1", 1)
    assert rewritten(moved) == rewritten(DIFFS["metric"])
    assert rewritten(rewritten(moved)) == rewritten(moved)
