"""The range of calibrated probabilities under selection."""

import numpy as np
import pytest

from noneg import PUScores
from noneg.recalibration import Isotonic, Platt, probability_range
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian.calibrated(0.3).draw(500, 5000, setting="two-sample", seed=0)


def test_the_range_meets_the_map_and_widens():
    grid, calibrator = np.linspace(0, 1, 21), Isotonic().fit(SCORES)
    value = calibrator.transform(grid)
    low, high = probability_range(calibrator, grid, SCORES)
    np.testing.assert_allclose([low, high], [value, value])
    for factor in (1.5, 3.0):
        least, most = probability_range(calibrator, grid, SCORES.with_selection(factor))
        np.testing.assert_allclose(least, value / factor)
        np.testing.assert_allclose(most, np.minimum(factor * value, 1.0))


def test_what_is_labeled_is_certain():
    """In one sample, only hidden positives are uncertain: half of the positives, half of the
    range."""
    score = np.linspace(0.05, 0.35, 1000)
    labeled = np.arange(1000) % 10 == 0
    scores = PUScores.from_pu_labels(labeled, score, prior=0.2, setting="one-sample", selection=2)
    low, high = probability_range(Platt().fit(scores), [0.3], scores)
    value = float(Platt().fit(scores).transform([0.3])[0])
    assert low[0] == pytest.approx(0.75 * value)
    assert high[0] == pytest.approx(min(1.5 * value, 1.0))


def test_the_truth_of_a_selected_population_lies_inside():
    """Labels that favor high scores twofold; the true curve stays within the factor."""
    random = np.random.default_rng(0)
    score, y = LogisticGaussian.calibrated(0.3).draw_rows(60_000, seed=1)
    positive = score[np.asarray(y, dtype=bool)]
    rate = np.where(positive > np.median(positive), 2.0, 1.0)
    labeled = positive[random.random(positive.size) < 0.05 * rate]
    scores = PUScores(labeled, score, prior=0.3, setting="two-sample", selection=2.0)
    grid = np.linspace(0.1, 0.9, 9)
    low, high = probability_range(Isotonic().fit(scores), grid, scores)
    assert (low <= grid + 0.03).all()
    assert (high >= grid - 0.03).all()
