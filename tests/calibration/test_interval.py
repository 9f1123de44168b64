"""The interval covers, bounds, and obeys the same laws as the error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import samples

from noneg import PUScores, ece, estimate
from noneg.bins import bin_scores
from noneg.calibration import ece_interval
from noneg.simulation import LogisticGaussian

WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}


def draw(world, setting, n, seed):
    if setting == "labelled":
        return world.draw(n=11 * n, setting=setting, seed=seed)
    return world.draw(n, 10 * n, setting=setting, seed=seed)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", WORLDS)
def test_nominal_95_percent_covers(name, setting):
    """A small version of experiments/coverage."""
    world, trials, covered = WORLDS[name], 150, 0
    for seed in range(trials):
        scores = draw(world, setting, 200, seed)
        target = world.binned_tce(bin_scores(scores).edges)
        interval = ece_interval(scores)
        covered += interval.low <= target <= interval.high
    # Fewer hits than this have a probability below 0.1 % if the coverage is 95 %.
    assert covered >= binom.ppf(0.001, trials, 0.95)


@pytest.mark.parametrize("p", [2, math.inf])
def test_other_norms_cover(p):
    world, trials, covered = WORLDS["less"], 100, 0
    edges = np.linspace(0, 1, 9)
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    target = ece(law, edges=edges, p=p)
    for seed in range(trials):
        interval = ece_interval(draw(world, "two-sample", 500, seed), edges=edges, p=p)
        covered += interval.low <= target <= interval.high
    assert covered >= binom.ppf(0.001, trials, 0.95)


def test_hoeffding_always_covers_and_is_wider():
    world = WORLDS["less"]
    for setting in ("two-sample", "one-sample", "labelled"):
        for seed in range(20):
            scores = draw(world, setting, 500, seed)
            safe = ece_interval(scores, method="hoeffding", bins=10, binning="width")
            quick = ece_interval(scores, bins=10, binning="width")
            assert safe.low <= world.binned_tce(np.arange(11) / 10) <= safe.high
            assert safe.low <= quick.low
            assert quick.high <= safe.high


@given(samples(), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_holds_the_estimate(sample, level):
    interval = ece_interval(sample.build(), level=level)
    assert 0 <= interval.low <= interval.value + 1e-12
    assert interval.value <= interval.high + 1e-12
    assert interval.value == ece(sample.build())


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a, b = ece_interval(sample.build()), ece_interval(sample.take(order).build())
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)


@given(samples())
def test_a_row_twice_is_a_row_of_weight_two(sample):
    edges = [0, 0.25, 0.5, 0.75, 1]
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = ece_interval(twice, edges=edges), ece_interval(weighted, edges=edges)
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)


def test_higher_levels_are_wider():
    scores = draw(WORLDS["less"], "two-sample", 300, 0)
    intervals = [ece_interval(scores, level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    assert all(b.low <= a.low and a.high <= b.high for a, b in zip(intervals, intervals[1:]))  # noqa: B905, RUF007


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("p", [1, 2])
def test_an_unknown_prior_widens_the_interval_to_hold_for_each(setting, p):
    scores = draw(WORLDS["less"], setting, 400, 3)
    edges = bin_scores(scores).edges
    unsure = ece_interval(scores.with_prior(0.5, interval=(0.4, 0.58)), edges=edges, p=p)
    for prior in np.linspace(0.4, 0.58, 23):
        sure = ece_interval(scores.with_prior(prior), edges=edges, p=p)
        assert unsure.low <= sure.low + 1e-12
        assert sure.high <= unsure.high + 1e-12
    assert "every prior in [0.4, 0.58]" in unsure.method


def test_one_positive_gives_an_honest_answer():
    scores = PUScores([0.7], np.linspace(0, 1, 50), prior=0.5, setting="two-sample")
    interval = ece_interval(scores)
    assert interval.low == 0
    assert interval.high >= interval.value


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_a_residual_of_zero_can_still_vary(p):
    scores = PUScores.from_labels([0, 1] * 20, [0.5] * 40)
    interval = ece_interval(scores, bins=1, p=p)
    assert interval.value == interval.low == 0
    assert interval.high == pytest.approx(1.96 * math.sqrt(0.25 / 40), rel=1e-3)


def test_estimate_takes_a_name_or_a_function():
    scores = draw(WORLDS["less"], "two-sample", 100, 0)
    assert estimate("ece", scores, bins=5) == estimate(ece, scores, bins=5)
    with pytest.raises(ValueError, match="registered metric"):
        estimate("nonsense", scores)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.5}, "confidence level"),
        ({"level": "x"}, "confidence level"),
        ({"method": "bootstrap"}, "'normal' or 'hoeffding'"),
        ({"method": "hoeffding", "p": 2}, "'p' must be 1"),
    ],
    ids=str,
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        ece_interval(draw(WORLDS["less"], "two-sample", 100, 0), **options)
