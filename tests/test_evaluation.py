"""The complete evaluation."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from scipy.special import ndtr
from strategies import samples

from noneg import PUScores, ece, evaluate
from noneg.recalibration import load
from noneg.simulation import LogisticGaussian


@given(samples(min_size=2, max_size=40))
def test_any_data_gives_plain_numbers(sample):
    result = evaluate(sample.build())
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = json.loads(text)
    assert back["ece"]["low"] <= back["ece"]["value"] <= back["ece"]["high"]
    assert back["n_marginal"] == result.n_marginal


def test_parts_are_the_functions():
    scores = LogisticGaussian.less_calibrated().draw(500, 2000, setting="one-sample", seed=0)
    result = evaluate(scores, level=0.9)
    assert result.ece.value == ece(scores)
    assert result.ece_width_15.value == ece(scores, bins=15, binning="width")
    assert result.ece_mass_15.value == ece(scores, bins=15)
    assert float(result.prior_curve(scores.prior)) == pytest.approx(result.ece.value)
    assert result.level == result.ece.level == 0.9
    assert result.bounds["expected"].value < result.bounds["probable"].value


def test_warnings_say_what_is_wrong():
    world = LogisticGaussian.calibrated(0.3)
    scores = world.draw(2000, 8000, setting="two-sample", seed=0)
    assert evaluate(scores).warnings == ()
    text = " ".join(evaluate(scores.with_prior(0.6)).warnings)
    assert "contradicts the scores" in text
    assert "there would be more positives than rows" in text
    assert "the prior is 0.6" in text
    few = world.draw(5, 20, setting="two-sample", seed=0)
    text = " ".join(evaluate(few).warnings)
    assert "With 5 labeled positives, sampling noise alone" in text
    assert "20 marginal rows are too few" in text
    assert evaluate(few).ece_mass_15 is None


def test_scores_of_the_other_class_and_swapped_labels_are_named():
    words = "The score may belong to the other class, or the labels may be swapped"
    score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    labeled = label & (np.arange(label.size) % 2)
    right = PUScores.from_labels(label, score)
    wrong = PUScores.from_labels(label, 1.0 - score)
    pu = PUScores.from_pu_labels(labeled, 1.0 - score, prior=0.3, setting="one-sample")
    swapped = PUScores.from_pu_labels(1 - labeled, score, prior=0.9, setting="one-sample")
    assert words not in " ".join(evaluate(right).warnings)
    for scores in (wrong, pu, swapped):
        assert words in " ".join(evaluate(scores).warnings)


def test_unlabeled_rows_taken_for_negatives_are_named():
    words = "If the other rows are unlabeled rather than negative"
    score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    hidden = label & (np.arange(label.size) % 2)
    assert words in " ".join(evaluate(PUScores.from_labels(hidden, score)).warnings)
    assert words not in " ".join(evaluate(PUScores.from_labels(label, score)).warnings)
    pu = PUScores.from_pu_labels(hidden, score, prior=0.3, setting="one-sample")
    assert words not in " ".join(evaluate(pu).warnings)


def test_too_many_labeled_rows_are_reported():
    score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    prior = 0.98 * float(label.mean())
    scores = PUScores.from_pu_labels(label, score, prior=prior, setting="one-sample")
    assert "102% of the positives" in " ".join(evaluate(scores).warnings)
    assert "within sampling error" in " ".join(evaluate(scores).warnings)


def test_labels_at_odds_with_the_setting_are_named():
    score, label = LogisticGaussian.calibrated(0.3).draw_rows(4000, seed=0)
    words = "If no positives are hidden, use the setting 'labeled'"
    for setting in ("two-sample", "one-sample"):
        prior = float(label.mean())
        found = PUScores.from_pu_labels(label, score, prior=prior, setting=setting)
        assert words in " ".join(evaluate(found).warnings)
        hidden = label & (np.arange(label.size) % 2 == 0)
        found = PUScores.from_pu_labels(hidden, score, prior=prior, setting=setting)
        assert words not in " ".join(evaluate(found).warnings)


def test_frozen_edges_repeat_an_evaluation_at_another_prior():
    scores = LogisticGaussian.less_calibrated().draw(300, 3000, setting="two-sample", seed=0)
    first = evaluate(scores)
    other = evaluate(scores.with_prior(0.2), edges=first.edges)
    assert other.bins == first.bins
    assert other.ece.value == pytest.approx(float(first.prior_curve(0.2)))
    assert other.ece.value == ece(scores.with_prior(0.2), edges=first.edges)


def test_recalibration_is_measured_on_held_out_rows():
    scores = LogisticGaussian.less_calibrated().draw(500, 3000, setting="two-sample", seed=0)
    assert evaluate(scores).recalibration is None
    found = evaluate(scores, recalibrate=True).recalibration
    before, after = found.errors["brier"]
    assert after - before == pytest.approx(found.change["brier"].value)
    assert load(found.calibrator.to_json()).transform([0.2]).shape == (1,)
    single = PUScores([0.9], [0.8, 0.3], prior=0.4, setting="two-sample")
    assert evaluate(single, recalibrate=True).recalibration is None


def test_infinite_samples():
    scores = LogisticGaussian.less_calibrated().draw(math.inf, 500, setting="two-sample", seed=0)
    result = evaluate(scores)
    assert np.isfinite(result.ece.high)


@pytest.mark.parametrize("known", ["positive", "unlabeled"])
def test_a_known_distribution_represents_infinitely_many_rows(known):
    """Metrics that need individual rows are omitted; rates of the known distribution follow its
    formula."""
    world = LogisticGaussian.less_calibrated(0.3)
    sizes = (math.inf, 500) if known == "positive" else (500, math.inf)
    found = evaluate(world.draw(*sizes, setting="two-sample", seed=0))
    assert not {"auroc", "average_precision", "ks_error"} & set(found.metrics)
    if known == "positive":
        # Scores above one half correspond to points above -beta0 / beta1, and positives are N(1,
        # 1).
        expected = ndtr(1.0 + world.beta0 / world.beta1)
        assert found.metrics["recall"].value == pytest.approx(expected, abs=1e-9)
    else:
        # The threshold scores on the page are quantiles of the known distribution.
        tails = found.sums.tails
        x = (
            np.log(tails.threshold[1:-1] / (1 - tails.threshold[1:-1])) - world.beta0
        ) / world.beta1
        above = 0.3 * ndtr(1.0 - x) + 0.7 * ndtr(-1.0 - x)
        np.testing.assert_allclose(tails.ppr[1:-1], above, atol=1e-9)
