"""Venn-Abers compared with its definition, and in populations with a known truth."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from noneg import PUScores
from noneg.recalibration import Isotonic, VennAbers, load


def by_definition(y, s, at):
    """Isotonic regression on labeled rows and one additional row, with both labels."""
    ends = []
    for label in (0, 1):
        fit = IsotonicRegression().fit(np.append(s, at), np.append(y, label))
        ends.append(fit.predict([at])[0])
    return ends


def test_labeled_data_give_what_isotonic_regression_gives():
    rng = np.random.default_rng(0)
    s = np.sort(np.round(rng.random(60), 2))
    y = rng.random(60) < s
    found = VennAbers().fit(PUScores.from_labels(y, s))
    for at in np.unique(s)[::7]:
        assert found.probabilities([at])[0] == pytest.approx(by_definition(y, s, at), abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_both_probabilities_rise_and_close_around_isotonic_regression(setting):
    rng, widths = np.random.default_rng(1), []
    for n in (200, 5000):
        y = rng.random(10 * n) < 0.3
        x = rng.normal(size=10 * n) + 1.5 * y
        labeled = y & (rng.random(10 * n) < 0.5)
        p, u = expit(x[labeled]), expit(x if setting == "two-sample" else x[~labeled])
        scores = PUScores(p, u, prior=0.3, setting=setting)
        found, plain = VennAbers().fit(scores), Isotonic().fit(scores)
        grid = np.linspace(0.05, 0.95, 50)
        low, high = found.probabilities(grid).T
        assert (low <= high).all()
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        middle = found.transform(grid)
        assert ((low <= middle + 1e-12) & (middle <= high + 1e-12)).all()
        widths.append((high - low).mean())
        assert np.abs(middle - plain.transform(grid)).mean() < 0.05
    assert widths[1] < widths[0] / 4


def test_it_is_stored_and_restored():
    scores = PUScores([0.9, 0.7, 0.4], [0.5, 0.2, 0.1, 0.8], prior=0.4, setting="two-sample")
    fitted = VennAbers().fit(scores)
    again = load(fitted.to_json())
    assert np.array_equal(again.probabilities([0.1, 0.6]), fitted.probabilities([0.1, 0.6]))
