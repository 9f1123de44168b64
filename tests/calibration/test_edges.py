"""Corner cases of the calibration modules that ordinary data do not reach."""

import numpy as np
import pytest

from noneg import PUScores
from noneg.calibration import calibration_test, smooth_ece
from noneg.simulation import LogisticGaussian
from noneg.theory import plan

WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5)
ROWS = WORLD.draw(200, 1000, setting="two-sample", seed=0)


def test_the_number_of_bins_of_the_test_can_be_given():
    given = calibration_test(ROWS, bins=7, replicates=19)
    assert given.value != calibration_test(ROWS, replicates=19).value
    assert given.value == pytest.approx(calibration_test(ROWS, bins=7, replicates=9).value)


def test_a_known_marginal_distribution_adds_no_noise_to_the_null():
    """With a known marginal distribution, only the redraws of positives vary."""
    scores = WORLD.draw(200, np.inf, setting="two-sample", seed=0)
    assert calibration_test(scores, replicates=19).p_value == pytest.approx(1 / 20)


def test_finer_nodes_are_tried_for_a_small_fixed_point():
    """Scores calibrated up to rounding: the error is far below the coarsest grid."""
    n = 4000
    s = (np.arange(n) + 0.5) / n
    # Labels whose running sum stays within one of the running sum of the scores.
    y = np.diff(np.floor(np.cumsum(s) + 0.5), prepend=0.0)
    value = smooth_ece(PUScores.from_labels(y, s))
    assert 0.0 < value < 0.02


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4, 2e-5, 1e-5, 1e-6])
def test_one_residual_is_the_fixed_point_at_every_resolution(gap):
    """Rows at a single score have one smoothed residual, whose integral equals the gap at any
    width.

    Small gaps need finer grids, and a gap below 1.5e-5 ends the search at the finest one.
    """
    half, shift = 5_000_000, round(gap * 10_000_000)
    scores = PUScores.from_labels([0, 1], [0.5, 0.5], sample_weight=[half - shift, half + shift])
    assert smooth_ece(scores) == pytest.approx(gap, rel=1e-9)


def test_scores_that_equal_their_labels_have_no_error():
    assert smooth_ece(PUScores.from_labels([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])) < 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_positive": 10.5}, "'n_positive' must be an integer"),
        ({"mean_score": 0.0}, "'mean_score' must lie in"),
        ({"method": "x"}, "'method' must be 'bound' or 'normal'"),
        ({"ratio": 0.0}, r"'ratio' must lie in \[1e-09, 1e.09\], got 0.0"),
        ({"ratio": 1e300}, r"'ratio' must lie in .*got 1e\+300"),
        ({"n_unlabeled": 10**400}, "'n_unlabeled' must be an integer up to 9007199254740992"),
        (
            {"eps": 1e-300},
            "'eps' must be above .*, got 1e-300: this error remains even with 9.0e.15 rows",
        ),
    ],
)
def test_plans_that_have_no_answer(options, words):
    with pytest.raises(ValueError, match=words):
        plan(**{"eps": 0.2, "prior": 0.3} | options)


@pytest.mark.parametrize("method", ["bound", "normal"])
@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_the_smallest_error_of_a_plan_is_what_countable_rows_reach(method, ratio):
    with pytest.raises(ValueError, match="'eps' must be above") as caught:
        plan(1e-12, 0.3, method=method, ratio=ratio)
    floor = float(str(caught.value).split("above ")[1].split(",")[0])
    found = plan(1.01 * floor, 0.3, method=method, ratio=ratio)
    assert 2**52 < max(found.n_positive, found.n_unlabeled) <= 2**53
    with pytest.raises(ValueError, match="'eps' must be above"):
        plan(0.99 * floor, 0.3, method=method, ratio=ratio)


def test_a_plan_with_fewer_unlabeled_rows_than_positives():
    """With a ratio below one, single unlabeled rows are tried, which form no equal-mass bins."""
    found = plan(eps=0.5, prior=0.01, ratio=0.01)
    assert found.n_unlabeled >= 2
    assert found.error <= 0.5
