"""Metrics of a whole table from its totals: compared with scikit-learn, and influence by hand."""

import numpy as np
import pytest
from audit.worlds import answered, planned, table
from sklearn import metrics

from noneg import PUScores, audit
from noneg.audit.reading import estimate, read_answers
from noneg.audit.targets import Target
from noneg.calibration.errors import ece

NAMES = ("prior", "auroc", "ece", "brier", "log_loss")
AT = ("precision", "recall", "accuracy", "f_beta", "mcc", "specificity", "npv")


@pytest.fixture(scope="module")
def whole():
    """Every unlabeled row is reviewed, so nothing is random."""
    score, y, flags = table()
    targets = [*NAMES, *(f"{name}@0.4" for name in AT)]
    design = planned(score, flags, int((~flags).sum()), targets)
    return score, y, design, answered(design, y)


def test_a_review_of_every_row_is_the_labeled_data(whole):
    score, y, design, found = whole
    flagged = score >= 0.4
    truth = {
        "prior": y.mean(),
        "auroc": metrics.roc_auc_score(y, score),
        "brier": metrics.brier_score_loss(y, score),
        "log_loss": metrics.log_loss(y, score),
        "precision@0.4": metrics.precision_score(y, flagged),
        "recall@0.4": metrics.recall_score(y, flagged),
        "accuracy@0.4": metrics.accuracy_score(y, flagged),
        "f_beta@0.4": metrics.f1_score(y, flagged),
        "mcc@0.4": metrics.matthews_corrcoef(y, flagged),
        "specificity@0.4": metrics.recall_score(~y, ~flagged),
        "npv@0.4": metrics.precision_score(~y, ~flagged),
        "ece": ece(PUScores.from_labels(y, score), edges=design.census.edges),
    }
    assert set(truth) == set(found.estimates)
    for name, value in truth.items():
        one = found.estimates[name]
        assert (one.value, one.low, one.high) == pytest.approx((value,) * 3, abs=1e-9), name


def test_the_influence_on_the_area_is_the_textbooks(whole):
    score, y, design, _ = whole
    census, n = design.census, score.size
    ends = [np.searchsorted(np.sort(score), score, side) for side in ("left", "right")]
    rank = sum(ends) / (2 * n)
    features = census.features(score, rank)
    slope = features @ Target("auroc").gradient(census, y @ features)
    area, prior = metrics.roc_auc_score(y, score), y.mean()
    gap = score[:, None] - score[None]
    won = (gap > 0) + 0.5 * (gap == 0)
    minus, plus = won[:, ~y].mean(axis=1), won[:, y].mean(axis=1)
    textbook = ((minus - area) / prior - (1.0 - plus - area) / (1.0 - prior)) / n
    np.testing.assert_allclose(slope, textbook, rtol=1e-3, atol=1e-3 / n)


@pytest.mark.parametrize("name", ["prior", "precision@0.4", "recall@0.4", "auroc", "brier"])
def test_the_influence_is_what_one_label_changes(whole, name):
    score, y, design, _ = whole
    census, target = design.census, Target.parse(name)
    rank = np.linspace(0, 1, score.size)
    features = census.features(score, rank)
    totals = y @ features
    slope = features @ target.gradient(census, totals)
    for row in np.flatnonzero(~y)[:20]:
        moved = float(target.value(census, totals + features[row]) - target.value(census, totals))
        assert moved == pytest.approx(slope[row], rel=0.05, abs=2e-5)


def test_estimates_are_right_on_average():
    score, y, flags = table(2000, 1)
    names = ["prior", "precision@0.4", "recall@0.4", "brier"]
    found = []
    for seed in range(150):
        design = planned(score, flags, 120, names, prior=0.25, seed=seed)
        answers = [int(y[int(row)]) for row in design.id]
        read = read_answers({"id": list(design.id), "answer": answers}, design)
        totals = design.census.known + read.review(read.code == 1).totals
        found.append([float(Target.parse(name).value(design.census, totals)) for name in names])
    full = planned(score, flags, int((~flags).sum()), names)
    truth = [answered(full, y).estimates[name].value for name in names]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    # Recall is a ratio with a second-order bias; four standard errors allow for it.
    assert (np.abs(mean - truth) < 4 * error + 2e-3).all()


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_intervals_hold_about_as_often_as_they_say(setting):
    from experiments.audit.study import cover

    cells = (0.02, "good", "blind", setting, 50), (0.2, "poor", "selected", setting, 200)
    found = [(row["target"], row["coverage"]) for cell in cells for row in cover(*cell, 60)]
    # With 60 trials, a share of 93% has a standard deviation of 3.3%.
    assert min(share for _, share in found) > 0.93 - 3 * 0.033, found


def test_a_planned_review_beats_a_simple_random_sample():
    from experiments.audit.study import error

    for name in ("prior", "precision@0.3", "recall@0.3"):
        (ours,) = error(name, "selected labeling", 60)
        simple = {row["target"]: row["rmse"] for row in error("simple", "selected labeling", 60)}
        assert ours["rmse"] < 0.75 * simple[name]


def test_no_positive_found_gives_a_wide_interval_not_a_wrong_one():
    score, y, flags = table(3000, 3)
    design = planned(score, flags, 40, ["prior"], prior=0.2)
    none = audit.read({"id": list(design.id), "answer": [0] * 40}, design)
    hidden = (y & ~flags).mean()
    assert none.prior.low == pytest.approx(flags.mean())
    assert none.prior.high > flags.mean() + 2.0 / 40
    assert hidden > 0
    assert any("Only 0" in note for note in none.notes)


def test_estimate_needs_no_design_file():
    score, y, flags = table(500, 4)
    design = planned(score, flags, 60, ["prior"])
    said = [int(y[int(row)]) for row in design.id]
    answers = read_answers({"id": list(design.id), "answer": said}, design)
    assert estimate(answers, until={}).n_reviewed == 60
