"""The calibration test over sets of priors, and the priors at which it does not reject."""

import numpy as np
import pytest
from scipy.stats import binom

from noneg import PUScores
from noneg.bins import bin_scores
from noneg.calibration import calibration_test, consistent_priors
from noneg.calibration.testing import null_residuals
from noneg.knowledge import NOTHING, Knowledge
from noneg.simulation import LogisticGaussian

SETTINGS = ("two-sample", "one-sample")
WORLD = LogisticGaussian.calibrated(0.3)
every_setting = pytest.mark.parametrize("setting", SETTINGS)


def draw(setting, seed=0, n=300, m=2000):
    return WORLD.draw(n, m, setting=setting, seed=seed)


@every_setting
def test_one_prior_is_the_test_itself(setting):
    """Compared with the redraws by hand."""
    scores = draw(setting)
    binned = bin_scores(scores)
    null = np.abs(null_residuals(scores, binned, 999, 0)).sum(axis=1)
    beaten = (null >= np.abs(binned.residual).sum() * (1 - 1e-9)).sum()
    assert calibration_test(scores).p_value == pytest.approx((1 + beaten) / 1000, abs=0.0011)


@every_setting
def test_a_set_has_the_largest_p_value_in_it(setting):
    scores = draw(setting)
    edges = bin_scores(scores).edges
    wide = scores.with_prior(0.3, (0.2, 0.45))
    found = calibration_test(wide, edges=edges)
    alone = [
        calibration_test(scores.with_prior(prior), edges=edges).p_value
        for prior in (0.2, 0.27, found.prior, 0.3, 0.45)
    ]
    assert found.p_value == alone[2] >= max(alone) - 0.05
    assert found.p_value >= max(alone[0], alone[3], alone[4])


@every_setting
def test_consistent_priors_are_those_that_are_not_rejected(setting):
    scores = draw(setting)
    edges = bin_scores(scores).edges
    low, high = consistent_priors(scores, edges=edges)

    def p_value(prior):
        return calibration_test(scores.with_prior(prior), edges=edges).p_value

    assert low < 0.3 < high
    inside, outside = np.linspace(low, high, 7)[1:-1], (0.93 * low, 1.07 * high)
    assert all(p_value(prior) > 0.05 for prior in inside)
    assert all(p_value(prior) <= 0.05 for prior in outside)


def test_the_prior_of_the_scores_does_not_matter():
    scores = draw("two-sample")
    edges = bin_scores(scores).edges
    found = {consistent_priors(scores.with_prior(p), edges=edges) for p in (0.1, 0.3, 0.6)}
    assert len(found) == 1
    unknown = scores.with_knowledge(NOTHING)
    assert consistent_priors(unknown) is not None
    assert calibration_test(unknown).p_value > 0.2


def test_scores_that_fit_no_prior():
    wrong = LogisticGaussian(beta0=-0.5, beta1=3).draw(1000, 5000, setting="two-sample", seed=0)
    assert consistent_priors(wrong) is None
    assert calibration_test(wrong.with_knowledge(NOTHING)).p_value <= 0.01


@every_setting
def test_a_set_that_holds_the_truth_keeps_the_level(setting):
    """With the prior known up to [.9, 1.2] of the truth, the test rejected four of ten calibrated
    models."""
    known = Knowledge.given(0.315, (0.27, 0.36))
    draws = (draw(setting, seed, 500, 4000).with_knowledge(known) for seed in range(60))
    rejected = sum(calibration_test(one, replicates=199).p_value <= 0.05 for one in draws)
    assert rejected <= binom.ppf(0.99, 60, 0.05)


def test_scores_of_nothing_but_zero():
    scores = PUScores([0.0] * 5, [0.0] * 20, setting="two-sample")
    assert consistent_priors(scores, replicates=99) in (None, pytest.approx((1e-6, 1e-6), abs=0.2))
