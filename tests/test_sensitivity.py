"""Any metric as a function of the prior."""

import numpy as np
import pytest

from noneg import PUScores, ece
from noneg.calibration import ece_by_prior
from noneg.metrics import METRICS, estimate
from noneg.sensitivity import (
    forced_selection,
    prior_curve,
    selection_curve,
    tipping_selection,
)
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
    # A wrong prior changes the error by at most the error in the prior.
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
    with pytest.raises(ValueError, match=r"the labels determine the prior, 0\.5"):
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


SELECTED = LogisticGaussian.less_calibrated().draw(400, 4000, setting="two-sample", seed=3)


def test_selection_curve_repeats_estimates():
    curve = selection_curve("precision", SELECTED, [1, 1.5, 2], threshold=0.6)
    for k, factor in enumerate((1.0, 1.5, 2.0)):
        one = estimate("precision", SELECTED.with_selection(factor), threshold=0.6)
        assert (curve.low[k], curve.high[k]) == (one.low, one.high)
        assert (curve.least[k], curve.most[k]) == (one.identified or (one.value, one.value))
    assert curve.to_dict()["value"] == curve.value == curve.least[0]


def test_a_selection_curve_needs_a_factor():
    with pytest.raises(ValueError, match="'selections' must contain at least one factor"):
        selection_curve("auroc", SCORES, [])


@pytest.mark.parametrize("level", [0.95, None])
def test_a_claim_falls_at_the_tipping_selection(level):
    target = 0.6 * estimate("recall", SELECTED).value
    factor = tipping_selection("recall", SELECTED, target, level=level)
    just, almost = (
        estimate("recall", SELECTED.with_selection(g)) for g in (factor, factor * (1 - 3e-4))
    )
    if level is None:
        assert just.identified[0] <= target < almost.identified[0]
    else:
        assert just.low <= target < almost.low
    assert tipping_selection("recall", SELECTED, estimate("recall", SELECTED).value) == 1.0
    assert tipping_selection("recall", SELECTED, 1.5) == np.inf


def test_forced_selection_is_the_smallest_feasible_factor():
    """With two cells, the result is known: more labeled positives at the top than there are
    rows."""
    scores = PUScores(
        [0.9] * 80 + [0.1] * 20, [0.9] * 20 + [0.1] * 180, prior=0.3, setting="two-sample"
    )
    # The top cell can contain at most 0.1 / 0.3 of the positives, but has 0.8 of the labeled ones.
    assert forced_selection(scores).value == pytest.approx((2 / 3) / 0.2, rel=1e-3)


def test_random_labels_are_seldom_called_selected():
    """The lower limit exceeds 1 in at most 5% of draws if labels are random."""
    world = LogisticGaussian.calibrated(0.3)
    for setting in ("two-sample", "one-sample"):
        found = [
            forced_selection(world.draw(200, 2000, setting=setting, seed=seed)).low > 1
            for seed in range(60)
        ]
        assert np.mean(found) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)
