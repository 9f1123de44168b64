"""Measurements at a checkpoint, and selection by criteria."""

import math
from dataclasses import replace

import numpy as np
import pytest
from lab.bench.made import RUN, record

from noneg.lab.bench import select
from noneg.lab.bench.measures import MEASURED, columns, criteria, on_test, on_validation
from noneg.metrics import METRICS
from noneg.recalibration import Platt
from noneg.scores import PUScores


def test_proxy_accuracy_is_accuracy_plus_prior_and_the_slip_is_not():
    """With every row of a finite population, the expectations are sums."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], 500)
    s = np.clip(rng.normal(0.5 + 0.2 * (2 * y - 1), 0.2), 0, 1)
    labeled = np.arange(1000) < 300  # 30 percent of one sample, all of them positives
    # The labeled positives have the scores of the unlabeled ones, so nothing is random.
    s[300:500] = s[:200]
    s[200:300] = s[:100]
    true_rate = (s[:300] >= 0.5).mean()
    found, _ = on_validation(s[labeled], s[~labeled], y[~labeled], prior=0.5, setting="one-sample")
    accuracy = ((s >= 0.5) == y).mean()
    recall_of_all = (s[:500] >= 0.5).mean()
    assert found["oracle_accuracy"] == pytest.approx(accuracy)
    expected = accuracy + 0.5 + (true_rate - recall_of_all)
    assert found["proxy_accuracy"] == pytest.approx(expected, abs=1e-12)
    # The published code counts labeled positives above the threshold, not below: share 0.3.
    assert found["proxy_accuracy_slip"] - found["proxy_accuracy"] == pytest.approx(
        0.3 * (2 * true_rate - 1)
    )


def test_two_samples_have_no_slip():
    found, _ = on_validation(
        np.array([0.9, 0.4]), np.array([0.2, 0.7, 0.1]), np.array([0, 1, 0]), prior=0.4,
        setting="two-sample",
    )  # fmt: skip
    assert found["proxy_accuracy_slip"] == found["proxy_accuracy"]
    assert found["oracle_accuracy"] == 1.0


def test_probabilities_are_judged_at_the_true_prior():
    labels, scores = np.array([1, 1, 1, 0]), np.array([0.5, 0.5, 0.5, 0.5])
    weight = np.where(labels == 1, 0.5 / 0.75, 0.5 / 0.25)
    identity = Platt().fit(PUScores.from_labels([0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4))
    found = on_test(scores, labels, weight, identity)
    assert found["ece"] == pytest.approx(0.0, abs=1e-12)
    assert found["log_loss"] == pytest.approx(math.log(2))
    assert found["accuracy"] == 0.75


def test_the_best_checkpoint_is_the_first_of_the_best():
    one = record(proxy_auc=[0.7, 0.9, 0.9, None], accuracy=[0.1, 0.2, 0.3, 0.4])
    (found,) = select([one], by="proxy_auc")
    assert (found.step, found.value, found.metrics["accuracy"]) == (200, 0.9, 0.2)


def test_losses_are_better_when_lower():
    one = record(pu_log_loss=[0.7, 0.2, 0.5], accuracy=[0.1, 0.2, 0.3])
    (found,) = select([one], by="pu_log_loss")
    assert (found.step, found.value) == (200, 0.2)


def test_the_best_configuration_of_a_split_is_taken_whatever_the_order():
    runs = [replace(RUN, configuration=k) for k in range(3)]
    columns = ([0.7], [0.9], [0.9])
    records = [
        record(run, proxy_auc=x, accuracy=[0.5]) for run, x in zip(runs, columns, strict=True)
    ]
    for order in (records, records[::-1]):
        (found,) = select(order, by="proxy_auc")
        assert found.run.configuration == 1


def test_failed_runs_and_runs_without_the_criterion_are_left_out():
    records = [record(status="failed"), record(replace(RUN, split=1), proxy_auc=[None])]
    assert select(records, by="proxy_auc") == []


def test_an_unknown_criterion_is_rejected():
    with pytest.raises(ValueError, match="'by' must be one of pu_ece, pu_brier"):
        select([], by="luck")


def test_every_column_has_the_direction_of_its_metric():
    assert set(columns()) == {*criteria(), *MEASURED}
    lower = {column for column, metric in columns().items() if METRICS[metric].better == "lower"}
    errors = {
        f"{name}{after}" for name in ("ece", "brier", "log_loss") for after in ("", "_recalibrated")
    }
    assert lower & {*MEASURED} == errors | {"pu_ece", "pu_ece_recalibrated"}
    assert {"pu_brier", "pu_log_loss", "pu_risk", "pu_false_positive_rate"} < lower
    assert lower.isdisjoint({"pu_accuracy", "pu_auroc", "proxy_auc", "oracle_accuracy"})
