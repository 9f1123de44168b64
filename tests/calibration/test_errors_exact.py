"""The error as a function of the prior, against a grid; defaults are those of `ece`."""

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import ece_by_prior
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian(beta0=-0.5, beta1=1.5).draw(80, 400, setting="two-sample", seed=1)


@pytest.mark.parametrize("options", [{}, {"bins": 7}, {"bins": 4, "binning": "width"}], ids=str)
def test_the_curve_has_the_bins_that_are_asked_for(options):
    assert float(ece_by_prior(SCORES, **options)(SCORES.prior)) == pytest.approx(
        ece(SCORES, **options), abs=1e-12
    )


def test_frozen_edges_win():
    edges = [0.0, 0.3, 1.0]
    assert float(ece_by_prior(SCORES, edges=edges)(SCORES.prior)) == pytest.approx(
        ece(SCORES, edges=edges), abs=1e-12
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.6, 0.8), (0.1, 0.2), (0.3, 0.9)])
def test_the_range_is_that_of_a_fine_grid(low, high):
    curve = ece_by_prior(SCORES, bins=6)
    inside = curve.prior[(curve.prior >= low) & (curve.prior <= high)]
    grid = curve(np.concatenate([np.linspace(low, high, 5001), inside]))
    assert curve.range(low, high) == pytest.approx((grid.min(), grid.max()), abs=1e-12)


def test_priors_of_the_curve_rise_from_zero_to_one():
    """A bin whose scores outweigh its positives turns at a prior above one, which is none."""
    scores = PUScores([0.9, 0.1], [0.8, 0.9, 0.95], prior=0.4, setting="two-sample")
    curve = ece_by_prior(scores, bins=2, binning="width")
    assert curve.prior[0] == 0.0
    assert curve.prior[-1] == 1.0
    assert (np.diff(curve.prior) > 0.0).all()
    assert curve([0, 1]).tolist() == [curve(0), curve(1)]
    np.testing.assert_allclose(curve(1), abs(0.5) + abs(0.5 - 2.65 / 3))
