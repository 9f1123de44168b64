"""A metric is one function and one call, and then appears wherever metrics are shown."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from noneg import compare, estimate, evaluate
from noneg.cli import main
from noneg.performance import select
from noneg.performance.ordering import ordering
from noneg.performance.thresholds import at_threshold
from noneg.registry import METRICS
from noneg.report import to_html, to_json, to_markdown
from noneg.rules import Rule
from noneg.sensitivity import prior_curve
from noneg.simulation import LogisticGaussian
from noneg.tables import write

RULE = Rule(lambda tpr, ppr: (0.0, tpr, ppr, 1.0 - tpr))
TITLE = "Threat score at 0.5"
SCORES = LogisticGaussian.less_calibrated(0.3).draw(300, 3000, setting="two-sample", seed=0)


def threat_score(scores, *, threshold=0.5):
    """Return the share of true positives among all rows that are positive or predicted positive."""
    return RULE.value(scores, threshold)


@pytest.fixture(autouse=True)
def _registered():
    at_threshold(threat_score, TITLE, RULE)
    yield
    del METRICS["threat_score"]


@pytest.fixture
def value():
    """TP / (TP + FP + FN)."""
    tpr = METRICS["recall"].function(SCORES)
    ppr = 0.3 * tpr / METRICS["precision"].function(SCORES)
    return 0.3 * tpr / (ppr + 0.3 - 0.3 * tpr)


def test_it_is_evaluated(value):
    found = evaluate(SCORES)
    one = found.metrics["threat_score"]
    assert one.value == pytest.approx(value)
    assert one == estimate("threat_score", SCORES)
    assert one.low < value < one.high
    assert found.to_dict()["metrics"]["threat_score"]["value"] == one.value
    assert TITLE in repr(found)


def test_it_is_in_every_form_of_the_report(value):
    found = evaluate(SCORES)
    assert f"| {TITLE} | {value:.4f} |" in to_markdown(found)
    assert json.loads(to_json(found))["evaluation"]["metrics"]["threat_score"]["value"] == (
        pytest.approx(value)
    )
    page = to_html(found)
    assert f'data-number="threat_score.value" data-digits="4">{value:.4f}<' in page
    assert 'data-range="threat_score"' in page
    data = json.loads(re.search(r'id="noneg-data">(.*?)</script>', page, re.DOTALL)[1])
    expected = {"matrix": RULE.matrix, "by_odds": False, "range": [0.0, 1.0]}
    assert data["rules"]["threat_score"] == expected


def test_it_is_on_the_terminal(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(SCORES, "scores.csv")
    told = ["--score", "score", "--label", "label", "--setting", "two-sample", "--prior", "0.3"]
    shown = CliRunner().invoke(main, ["evaluate", "scores.csv", *told])
    assert re.search(rf"{TITLE} +{value:.4f}  \[", shown.stdout)
    found = CliRunner().invoke(main, ["evaluate", "scores.csv", *told, "--json"])
    assert json.loads(found.stdout)["metrics"]["threat_score"]["value"] == pytest.approx(value)


def test_models_are_compared_by_it():
    rng = np.random.default_rng(0)
    score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    models = {"good": score, "noise": rng.permutation(score)}
    labeled = label & (rng.random(label.size) < 0.5)
    told = {"setting": "one-sample", "prior": 0.3}
    one = compare(models, labeled, criteria=["threat_score"], **told).criteria["threat_score"]
    assert one.winner == "good"
    assert one.differences["noise"].high < 0.0
    assert one.ordering.orders[0] == ("good", "noise")
    wide = compare(
        models, labeled, criteria=["threat_score"], prior_interval=(0.25, 0.35), **told
    ).criteria["threat_score"]
    assert wide.differences["noise"].low < one.differences["noise"].low
    assert wide.differences["noise"].high > one.differences["noise"].high


def test_it_selects_orders_and_follows_the_prior(value):
    noise = LogisticGaussian(beta0=-1.0, beta1=0.1).draw(300, 3000, setting="two-sample", seed=0)
    models = {"noise": noise.with_prior(0.3), "good": SCORES}
    assert select(models, by="threat_score") == "good"
    assert ordering(models, metric="threat_score").orders[0] == ("good", "noise")
    assert prior_curve("threat_score", SCORES, priors=[0.3]).value[0] == pytest.approx(value)


def test_it_is_a_scorer():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    from noneg.sklearn import scorer

    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    x = rng.normal(size=(400, 1)) + y[:, None]
    model = LogisticRegression().fit(x, y)
    predicted = model.predict_proba(x)[:, 1] >= 0.5
    expected = np.count_nonzero(predicted & y) / np.count_nonzero(predicted | y)
    assert scorer("threat_score", setting="labeled")(model, x, y) == pytest.approx(expected)


def test_checkpoints_of_the_benchmark_are_chosen_by_it(value):
    from noneg.lab.bench import RunConfig, select
    from noneg.lab.bench.measures import on_validation

    (unlabeled, *_), (positive, *_) = SCORES.in_order()
    nobody = np.zeros(unlabeled.size, dtype=np.int64)
    found, _ = on_validation(positive, unlabeled, nobody, prior=0.3, setting="two-sample")
    assert found["pu_threat_score"] == pytest.approx(value)
    run = RunConfig(dataset="digits", setting="two-sample", algorithm="nnpu").to_dict()
    columns = {"step": [100, 200], "pu_threat_score": [value, value / 2]}
    records = [{"run": run, "status": "done", "checkpoints": columns}]
    assert [one.step for one in select(records, by="pu_threat_score")] == [100]


def test_it_is_a_metric_of_training_loops():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from noneg.torch import PUMetric

    metric = PUMetric("threat_score", setting="labeled")
    metric.update(torch.tensor([0.9, 0.2, 0.7]), torch.tensor([1, 0, 0]))
    metric.update(torch.tensor([0.3, 0.8]), torch.tensor([1, 1]))
    assert metric.compute().item() == pytest.approx(2 / 4)
