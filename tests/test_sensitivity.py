"""Any metric as a function of the prior."""

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import ece_by_prior
from noneg.metrics import METRICS
from noneg.sensitivity import prior_curve
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian.calibrated(0.3).draw(300, 1500, setting="two-sample", seed=0)


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_has_a_curve(name):
    priors = [0.25, 0.3, 0.4]
    curve = prior_curve(name, SCORES, priors=priors)
    direct = [METRICS[name].function(SCORES.with_prior(p)) for p in priors]
    np.testing.assert_allclose(curve.value, direct, equal_nan=True)
    assert METRICS[name].needs_prior == (np.ptp(curve.value) > 1e-12)


def test_the_error_follows_its_exact_curve():
    exact = ece_by_prior(SCORES, bins=10)
    curve = prior_curve(ece, SCORES, bins=10)
    assert curve.prior.size == 41
    np.testing.assert_allclose(curve.value, exact(curve.prior), atol=1e-12)
    # A wrong prior moves the error by at most as much as the prior is wrong.
    assert (np.abs(np.diff(curve.value)) <= np.diff(curve.prior) + 1e-12).all()


def test_what_is_known_of_the_prior_is_looked_at():
    curve = prior_curve("auroc", SCORES.with_prior(0.3, (0.28, 0.33)), level=0.9)
    assert (curve.prior[0], curve.prior[-1]) == (0.28, 0.33)
    assert (curve.low < curve.value).all()
    assert (curve.value < curve.high).all()
    assert set(curve.to_dict()) == {"metric", "title", "level", "prior", "value", "low", "high"}
    assert curve.frame("pandas").shape == (41, 4)
    assert curve.range == (curve.value.min(), curve.value.max())


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match=r"labels of every row determine a prior, 0\.5"):
        prior_curve("ece", PUScores.from_labels([0, 1], [0.2, 0.7]))
    with pytest.raises(ValueError, match=r"'priors'.*got 1.5"):
        prior_curve("ece", SCORES, priors=[0.2, 1.5])
    with pytest.raises(ValueError, match=r"'priors' must be a list"):
        prior_curve("ece", SCORES, priors=[])
    with pytest.raises(ValueError, match=r"'metric' must be a registered"):
        prior_curve("guess", SCORES)


def test_without_a_level_there_are_no_limits():
    curve = prior_curve("ece", SCORES, priors=[0.25, 0.3], bins=5)
    assert list(curve.columns()) == ["prior", "value"]
    assert curve.frame("pandas").shape == (2, 2)
