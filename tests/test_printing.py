"""Printed results: the numbers, aligned, and no arrays."""

from __future__ import annotations

import pytest

import noneg
from noneg.performance import best_threshold
from noneg.recalibration import held_out
from noneg.simulation import LogisticGaussian
from noneg.theory import plan


@pytest.fixture(scope="module")
def scores():
    return LogisticGaussian.less_calibrated().draw(200, 1000, setting="two-sample", seed=1)


@pytest.fixture(scope="module")
def answers(scores):
    models = {"old": [0.9, 0.2, 0.4, 0.1], "new": [0.8, 0.3, 0.3, 0.2]}
    return {
        "evaluation": noneg.evaluate(scores),
        "comparison": noneg.compare(models, [1, 0, 0, 0], setting="one-sample", prior=0.4),
        "held out": held_out("platt", scores),
    }


@pytest.mark.parametrize("name", ["evaluation", "comparison", "held out"])
def test_tables_are_short_lines_without_arrays(answers, name):
    text = repr(answers[name])
    assert str(answers[name]) == text
    assert "array(" not in text
    assert max(map(len, text.splitlines())) < 200
    assert len(text.splitlines()) < 50


def test_evaluation_shows_every_metric_and_warning(answers):
    found = answers["evaluation"]
    lines = repr(found).splitlines()
    starts = {
        line.rindex(str(x)) for x in found.metrics.values() for line in lines if str(x) in line
    }
    assert len(lines) == 2 + len(found.metrics) + len(found.warnings)
    assert len(starts) == 1


def test_comparison_names_the_reference_and_the_leaders(answers):
    found = answers["comparison"]
    for criterion in found.criteria.values():
        rows = [line for line in repr(found).splitlines() if line.startswith(criterion.title + " ")]
        assert sum("reference" in row for row in rows) == 1
        assert sum(row.endswith(("wins", "tie")) for row in rows) == len(criterion.leaders)


def test_held_out_shows_before_after_and_change(answers):
    found = answers["held out"]
    row = next(line for line in repr(found).splitlines() if line.startswith("ece"))
    for part in (found.before, found.after, found.change):
        assert str(part["ece"]) in row


def test_threshold_and_plan_are_sentences(scores):
    best = best_threshold(scores, precision=0.8)
    assert str(best).startswith(f"{best.threshold:.4g} for precision at least 0.8: ")
    assert f"tp {best.confusion.tp:.3f}" in str(best)
    needed = plan(0.05, prior=0.2, method="normal")
    assert str(needed).startswith(f"{needed.n_positive:,} positives and ")
