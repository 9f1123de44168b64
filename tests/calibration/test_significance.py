"""The test of calibration keeps its level and finds what is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg import PUScores, estimate
from noneg.calibration import calibration_test
from noneg.simulation import LogisticGaussian


def draw(world, setting, n_positive, seed):
    if setting == "labelled":
        return world.draw(n=10 * n_positive, setting=setting, seed=seed)
    return world.draw(n_positive, 3 * n_positive, setting=setting, seed=seed)


@pytest.mark.parametrize("statistic", ["ece", "ks"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_size_is_the_level(statistic, setting, prior):
    world, trials = LogisticGaussian.calibrated(prior), 600
    n = 100 if prior == 0.5 else 40
    if setting == "one-sample":
        p = [
            calibration_test(
                world.draw(n // 2, int(n / prior), setting=setting, seed=seed),
                statistic=statistic,
                replicates=199,
                seed=seed,
            ).p_value
            for seed in range(trials)
        ]
    else:
        p = [
            calibration_test(
                draw(world, setting, n, seed), statistic=statistic, replicates=199, seed=seed
            ).p_value
            for seed in range(trials)
        ]
    # A full-size check is part of experiments/coverage; this one allows 3.4 standard errors.
    assert abs(np.mean(np.array(p) <= 0.05) - 0.05) < 3.4 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
def test_it_finds_miscalibration(setting):
    wrong = LogisticGaussian(beta0=-0.5, beta1=1.5)
    scores = draw(wrong, setting, 600, 0)
    for statistic in ("ece", "ks"):
        assert calibration_test(scores, statistic=statistic).p_value < 0.01


@given(samples())
def test_p_values_are_probabilities(sample):
    result = calibration_test(sample.build(), replicates=19)
    assert 1 / 20 <= result.p_value <= 1
    assert result.to_dict()["p_value"] == result.p_value


@pytest.mark.parametrize(
    ("options", "words"),
    [({"statistic": "chi"}, "'ece' or 'ks'"), ({"replicates": 0}, "at least 1, got 0")],
    ids=str,
)
def test_bad_options(options, words):
    scores = LogisticGaussian.calibrated().draw(n=100, setting="labelled", seed=0)
    with pytest.raises(ValueError, match=words):
        calibration_test(scores, **options)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("binning", ["mass", "width"])
@pytest.mark.parametrize("n", [1000, 200_000])  # with NumPy, and compiled
def test_a_constant_equal_to_the_prior_is_calibrated(setting, binning, n):
    for prior in (0.1, 0.3, 1 / 3):
        s = PUScores(np.full(n // 20, prior), np.full(n, prior), prior=prior, setting=setting)
        for statistic in ("ece", "ks"):
            found = calibration_test(s, statistic=statistic, binning=binning)
            assert (found.value, found.p_value) == (0.0, 1.0)
        for name in ("ece", "debiased_ece", "sweep_ece", "ks_error"):
            error = estimate(name, s)
            assert (error.value, error.low) == (0.0, 0.0)
            assert 0.0 <= error.high < 1e-6
        off = PUScores(
            np.full(n // 20, prior), np.full(n, prior), prior=prior + 1e-6, setting=setting
        )
        assert calibration_test(off, binning=binning).p_value == 0.001
