"""What an estimate states: a valid set of priors, which every result uses."""

import numpy as np
import pytest

import noneg
from noneg import PUScores, compare, evaluate
from noneg.knowledge import NOTHING
from noneg.performance.assumptions import check_assumptions, largest_prior
from noneg.prior import FROM_SCORES, ScoreLaws, estimate_prior
from noneg.recalibration import Recalibrated, make, mapped_range
from noneg.report.content import document
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian.calibrated(0.2)


def alike(rng, prior=0.2, n=400, m=4000):
    """A fifth of the negatives are drawn like positives, which no data can reveal."""
    hidden = rng.binomial(m, prior)
    far = np.r_[np.ones(hidden), rng.random(m - hidden) < 0.2]
    return ScoreLaws.from_arrays(
        rng.normal(4, 1, n), rng.normal(4 * far, 1), setting="two-sample", scale="logit"
    )


@pytest.mark.parametrize("name", [n for n in FROM_SCORES if n not in ("recpe", "alphamax-n")])
def test_negatives_that_look_like_positives_are_allowed_for(name):
    rng = np.random.default_rng(0)
    estimator = FROM_SCORES[name](resamples=3)
    for _ in range(4):
        found = estimator.fit(alike(rng))
        assert found.is_bound
        assert found.low <= 0.2 <= found.high
        assert estimator.fit(alike(rng), overlap=0.25).low <= 0.2


def test_an_estimate_never_contradicts_the_scores():
    rare = LogisticGaussian.calibrated(0.01)
    for seed in range(3):
        scores = rare.draw(300, 6000, setting="two-sample", seed=seed)
        for name in ("tightest", "dedpul", "elkan-noto-e1"):
            found = estimate_prior(scores, method=name).apply(scores)
            assert found.prior <= found.prior_interval[1] <= largest_prior(scores)
            assert check_assumptions(found)[0].verdict == "holds"


def test_a_prior_is_estimated_while_reading():
    score, label = WORLD.draw_rows(3000, seed=1)
    labeled = (label == 1) & (np.arange(label.size) % 3 == 0)
    table = {"score": score, "y": labeled.astype(int)}
    options = {"score": "score", "label": "y", "setting": "one-sample"}
    scores = noneg.read(table, **options, prior="estimate")
    plain = noneg.read(table, **options)
    assert scores.knowledge == estimate_prior(plain).apply(plain).knowledge
    assert scores.knowledge.kind == "upper bound"
    third = {"score": score, "y": np.where(labeled, "yes", np.where(label == 1, "", "no"))}
    found = noneg.read(
        third, **options, prior="estimate", positive_label="yes", unlabeled_is_empty=True
    )
    assert found.knowledge == scores.knowledge
    with pytest.raises(ValueError, match="'prior_interval' must not be given"):
        noneg.read(table, **options, prior="estimate", prior_interval=(0.1, 0.2))
    with pytest.raises(ValueError, match="it is determined by the labels"):
        noneg.read(table, score="score", label="y", setting="labeled", prior="estimate")
    models = {"as it is": score, "squared": score**2}
    found = compare(models, labeled, setting="one-sample", prior="estimate", criteria=["auroc"])
    assert (found.prior.low, found.prior.high) == scores.prior_interval


def test_a_classifier_is_recalibrated_at_an_estimated_prior():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    y = rng.random(1500) < 0.3
    X = rng.normal(size=(1500, 1)) + 3 * y[:, None]
    labeled = y & (rng.random(1500) < 0.5)
    model = Recalibrated(
        LogisticRegression(), setting="one-sample", prior="estimate", method="platt"
    ).fit(X, labeled)
    assert model.out_of_fold_.knowledge.kind == "upper bound"
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(model.out_of_fold_.prior, abs=0.02)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_a_report_without_a_prior_names_the_consistent_ones(setting):
    scores = WORLD.draw(400, 3000, setting=setting, seed=3).with_knowledge(NOTHING)
    found = evaluate(scores)
    assert found.prior_kind == "unknown"
    low, high = found.consistent
    assert low < 0.2 < high
    first, second, third, *_ = document(found).verdict
    assert str(first) == found.verdict.sentence
    assert str(second).startswith("The share of positives is estimated as")
    assert "the share of positives is between" in str(third)
    assert not found.rejected
    assert found.to_dict()["consistent_priors"] == [low, high]


def test_maps_at_the_ends_enclose_the_map_itself():
    scores = WORLD.draw(500, 4000, setting="two-sample", seed=4).with_prior(0.2, (0.15, 0.3))
    fitted, at = make("isotonic").fit(scores), np.linspace(0, 1, 11)
    low, high = mapped_range(fitted, scores, at)
    assert (low <= fitted.transform(at)).all()
    assert (fitted.transform(at) <= high).all()
    exact = PUScores.with_prior(scores, 0.2)
    same = mapped_range(make("isotonic").fit(exact), exact, at)
    np.testing.assert_allclose(same[0], same[1])
