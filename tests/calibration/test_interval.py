"""The interval compared with its definition for each split, its coverage, and the calibration
test."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import bisect
from scipy.special import ndtri
from scipy.stats import binom, foldnorm
from strategies import samples

from noneg import PUScores, ece, estimate
from noneg.bins import bin_scores, square_roots
from noneg.calibration import calibration_test, ece_interval
from noneg.calibration.interval import (
    INVERTED,
    METHOD,
    PRIOR_GRID,
    SPLITS,
    ZERO,
    Noise,
    Norm,
    error_limits,
    power_norm,
)
from noneg.randomness import stream
from noneg.simulation import LogisticGaussian

WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}


def draw(world, setting, n, seed):
    if setting == "labeled":
        return world.draw(n=11 * n, setting=setting, seed=seed)
    return world.draw(n, 10 * n, setting=setting, seed=seed)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", WORLDS)
def test_nominal_95_percent_covers(name, setting):
    """A small version of experiments/coverage."""
    world, trials, covered = WORLDS[name], 150, 0
    for seed in range(trials):
        scores = draw(world, setting, 200, seed)
        target = world.binned_tce(bin_scores(scores).edges)
        interval = ece_interval(scores)
        covered += interval.low <= target <= interval.high
    # If the coverage is 95%, the probability of fewer hits than this is below 0.1%.
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
    for setting in ("two-sample", "one-sample", "labeled"):
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
    expected = 1.96 * math.sqrt(0.25 / 40)
    if p == 1:
        expected = own_inversion(bin_scores(scores, bins=1), 0.0, expected / 1.96, 1.96)
    assert interval.high == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("world", ["calibrated", "less"])
def test_the_inverted_end_is_never_above_the_normal_one(world):
    """For good calibration, it is at least 12% shorter."""
    shares = []
    for seed in range(20):
        scores = draw(WORLDS[world], "two-sample", 300, seed)
        binned = bin_scores(scores)
        error = power_norm(binned.marginal, 1)
        plain = error_limits(scores, binned, Norm(error.dual), 0.95)
        inverted = error_limits(scores, binned, error, 0.95)
        assert inverted[1] <= plain[1] + 1e-12
        shares.append(inverted[1] / plain[1])
    assert world == "less" or np.mean(shares) < 0.88


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


# Far from calibrated, so that the lower end is above zero.
WORLD = LogisticGaussian(beta0=-2.0, beta1=3.0)


SETTINGS = ["two-sample", "one-sample", "labeled"]


def rows(setting, seed=1):
    sizes = {"n": 300} if setting == "labeled" else {"n_positive": 80, "n_unlabeled": 400}
    return WORLD.draw(**sizes, setting=setting, seed=seed)


def own_noise(binned, seed):
    """Return the noise of the residuals in one split: that of each sum, minus the effect of its
    normalizer."""
    normal = stream(seed, "split").standard_normal((SPLITS, binned.n_bins, 3))
    root = square_roots(binned.second)
    out = np.empty((SPLITS, binned.n_bins))
    for r in range(SPLITS):
        a, w, ws = np.array([root[b] @ normal[r, b] for b in range(binned.n_bins)]).T
        if binned.prior_is_estimated:
            # rho = (sum y - s) / n: one normalizer for all.
            out[r] = binned.prior * a - ws - binned.residual * w.sum()
        else:
            positive = a - binned.positive * a.sum()
            out[r] = binned.prior * positive - (ws - binned.score * w.sum())
    return out


def own_dual(d, mass, p):
    """Return the gradient of the L_p error, by cases."""
    if p == 1:
        return np.where(np.abs(d) > 1e-12, np.sign(d), 1.0)
    gap = np.where(mass > 0, d / np.where(mass > 0, mass, 1.0), 0.0)
    if p == np.inf:
        top = int(np.argmax(np.abs(gap)))
        return np.sign(gap) * (np.arange(d.size) == top) / np.where(mass > 0, mass, 1.0)
    size = (mass * np.abs(gap) ** p).sum() ** (1 / p)
    return np.sign(gap) * (np.abs(gap) / size) ** (p - 1)


def own_inversion(binned, value, sd, z):
    """Return the largest error with k standard errors in each bin that the plug-in error does not
    reject."""
    own = np.sqrt([binned.variance(row) for row in np.eye(binned.n_bins)])
    most, near = max(sd**2, (own**2).sum()), 1 - 2 / np.pi

    def refuted(k):
        spread = foldnorm.var(k)
        far = (spread - near) / (1 - near)
        mean = own.sum() * foldnorm.mean(k)
        return mean - z * np.sqrt((1 - far) * near * most + far * sd**2) - value

    top = (value + z * np.sqrt(most)) / own.sum()
    k = 0.0 if refuted(0.0) >= 0.0 else bisect(refuted, 0.0, top, xtol=1e-14)
    return min(own.sum() * k, value + z * sd)


def own_ends(binned, level, p, seed=0):
    """Return the two ends as defined in the module docstring."""
    d, mass = binned.residual, binned.marginal
    v = own_dual(d, mass, p)
    upper = v @ d + ndtri(0.5 + level / 2) * np.sqrt(binned.variance(v))
    if p == 1:
        upper = own_inversion(binned, v @ d, np.sqrt(binned.variance(v)), ndtri(0.5 + level / 2))
    found = []
    for shift in own_noise(binned, seed):
        halves = d + shift, d - shift
        neighbors = np.abs(np.subtract.outer(np.arange(d.size), np.arange(d.size))) <= 1
        smooth = [neighbors @ half if p == 1 and d.size >= 6 else half for half in halves]
        duals = [own_dual(half, mass, p) for half in smooth]
        e = (duals[1] @ halves[0] + duals[0] @ halves[1]) / 2
        # A half has twice the variance of the whole.
        se2 = sum(2 * binned.variance(v) for v in duals) / 4
        found.append(e - ndtri(0.75 + level / 4) * np.sqrt(se2))
    return max(0.0, np.median(found)), upper


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_the_ends_are_the_definition(setting, p):
    scores = rows(setting)
    found = ece_interval(scores, bins=6, p=p, level=0.9)
    low, high = own_ends(bin_scores(scores, bins=6), 0.9, p)
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(max(high, found.value), abs=1e-10)
    assert p == np.inf or found.low > 0.0
    assert (found.method, found.level) == (INVERTED if p == 1 else METHOD, 0.9)
    other = ece_interval(scores, bins=6, p=p, level=0.9, seed=5)
    assert other.low == pytest.approx(own_ends(bin_scores(scores, bins=6), 0.9, p, 5)[0])
    assert p in (1, np.inf) or other.low != found.low  # stable signs do not depend on chance


def test_splits_use_seed_zero_by_default():
    scores = rows("two-sample")
    binned = bin_scores(scores, bins=6)
    error = power_norm(binned.marginal, 1)
    limits = {seed: error_limits(scores, binned, error, 0.9, seed=seed) for seed in (0, 1)}
    assert error_limits(scores, binned, error, 0.9) == limits[0] != limits[1]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_noise_of_splits_has_the_variance_of_the_residuals(setting):
    """Checked over many draws in several directions; the relative deviation is at most 5 standard
    errors."""
    binned = bin_scores(rows(setting), bins=5)
    shift = Noise.draw(binned, 20_000, seed=3).of_residual(binned)
    for seed in range(4):
        v = np.random.default_rng(seed).normal(size=5)
        found = (shift @ v).var()
        assert found == pytest.approx(binned.variance(v), rel=5 * np.sqrt(2 / 20_000))


@pytest.mark.parametrize("p", [1, 2])
def test_an_unknown_prior_takes_the_widest_of_a_grid_and_what_lies_between(p):
    scores = rows("two-sample").with_prior(0.5, (0.42, 0.56))
    found = ece_interval(scores, bins=5, p=p)
    priors = np.linspace(0.42, 0.56, PRIOR_GRID)
    ends, speed = [], 0.0
    for prior in priors:
        binned = bin_scores(scores.with_prior(prior), edges=bin_scores(scores, bins=5).edges)
        ends.append(own_ends(binned, 0.95, p))
        v = own_dual(binned.residual, binned.marginal, p)
        speed = max(speed, abs(v @ binned.positive))
    slack = speed * (priors[1] - priors[0]) / 2
    assert found.low == pytest.approx(max(0.0, min(low for low, _ in ends) - slack), abs=1e-12)
    assert found.high == pytest.approx(max(high for _, high in ends) + slack, abs=1e-10)
    assert found.method == f"{INVERTED if p == 1 else METHOD}, for every prior in [0.42, 0.56]"


def test_two_rows_have_a_spread_and_one_has_none():
    one = PUScores([0.9], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    found = ece_interval(one, bins=2)
    assert (found.low, found.high) == (0.0, 1.0)
    two = PUScores([0.9, 0.8], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    found = ece_interval(two, bins=2)
    assert found.high == pytest.approx(own_ends(bin_scores(two, bins=2), 0.95, 1)[1])


def test_one_row_may_have_an_error_above_one():
    scores = PUScores([0.0], [1.0, 0.9, 0.95], prior=0.99, setting="two-sample")
    found = ece_interval(scores, bins=2, binning="width")
    assert found.raw > 1.0
    assert found.high == found.value == 1.0


@pytest.mark.parametrize("setting", SETTINGS)
def test_hoeffding_is_its_formula(setting):
    sizes = {"n": 90_000}
    if setting != "labeled":
        sizes = {"n_positive": 30_000, "n_unlabeled": 60_000}
    scores = WORLD.draw(**sizes, setting=setting, seed=0)
    found = ece_interval(scores, bins=3, method="hoeffding", level=0.9)
    n_p, n_m = scores.n_positive, scores.n_marginal
    rate = 1 / n_m if setting == "labeled" else scores.prior**2 / n_p + 1 / n_m
    lower = found.value - np.sqrt(2 * rate * (3 * np.log(2) + np.log(20)))
    assert found.low == pytest.approx(lower)
    assert found.low > 0.0
    assert found.high == pytest.approx(found.value + np.sqrt(2 * rate * np.log(20)))
    assert found.method == "Hoeffding"


def test_hoeffding_with_an_unknown_prior_takes_the_largest_one():
    scores = WORLD.draw(30_000, 60_000, setting="two-sample", seed=0).with_prior(0.5, (0.45, 0.6))
    found = ece_interval(scores, bins=3, method="hoeffding")
    edges = bin_scores(scores, bins=3).edges
    curve = [ece(scores.with_prior(prior), edges=edges) for prior in (0.45, 0.6)]
    rate = 0.36 / 30_000 + 1 / 60_000
    assert found.high == pytest.approx(max(curve) + np.sqrt(2 * rate * np.log(40)))


MASS = np.array([0.5, 0.0, 0.25, 0.25])


@pytest.mark.parametrize("p", [1, 1.5, 2, 4, np.inf])
def test_duals_reach_the_norm_and_nothing_beats_it(p):
    """Includes bins without mass, zero residuals and two equal gaps."""
    rng = np.random.default_rng(0)
    d = rng.normal(size=(50, 4)) * (MASS > 0)
    d[0], d[1], d[2, 0] = 0.0, [0.2, 0.0, 0.1, -0.1], 0.0

    def norm(x):
        gap = np.abs(x[:, MASS > 0]) / MASS[MASS > 0]
        if p == np.inf:
            return gap.max(axis=1)
        return (MASS[MASS > 0] * gap**p).sum(axis=1) ** (1 / p)

    v = power_norm(MASS, p).dual(d)
    np.testing.assert_allclose((v * d).sum(axis=1), norm(d), atol=1e-12)
    assert ((v[1:] @ d.T) <= norm(d)[None] * (1 + 1e-12) + 1e-12).all()
    assert (v[0] == 1.0).all()
    assert np.isfinite(v).all()


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_residuals_up_to_rounding_are_zero_and_any_sign_will_do(p):
    """Compared with a real residual, they do not count in norms that weight by size."""
    dual = power_norm(MASS, p).dual
    assert (dual(np.array([[-ZERO, 0.0, ZERO, -ZERO / 2]])) == 1.0).all()
    (v,) = dual(np.array([[-1.0, 0.0, -ZERO, ZERO]]))
    np.testing.assert_array_equal(v[2:], 1.0 if p == 1 else 0.0)
    assert v[0] == pytest.approx({1: -1.0, 2: -(0.5**-0.5), np.inf: -2.0}[p])


@pytest.mark.parametrize("p", [2, np.inf])
def test_bins_without_mass_do_not_count_in_higher_norms(p):
    dual = power_norm(MASS, p).dual
    (v,) = dual(np.array([[0.1, 5.0, 0.0, 0.0]]))
    np.testing.assert_allclose(v, dual(np.array([[0.1, 0.0, 0.0, 0.0]]))[0])


def significance_draw(world, setting, n_positive, seed):
    if setting == "labeled":
        return world.draw(n=10 * n_positive, setting=setting, seed=seed)
    return world.draw(n_positive, 3 * n_positive, setting=setting, seed=seed)


@pytest.mark.parametrize("statistic", ["ece", "ks"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
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
                significance_draw(world, setting, n, seed),
                statistic=statistic,
                replicates=199,
                seed=seed,
            ).p_value
            for seed in range(trials)
        ]
    # A full-size check is part of experiments/coverage; this one allows 3.4 standard errors.
    assert abs(np.mean(np.array(p) <= 0.05) - 0.05) < 3.4 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_it_finds_miscalibration(setting):
    wrong = LogisticGaussian(beta0=-0.5, beta1=1.5)
    scores = significance_draw(wrong, setting, 600, 0)
    for statistic in ("ece", "ks"):
        assert calibration_test(scores, statistic=statistic).p_value < 0.01


@given(samples())
def test_p_values_are_probabilities(sample):
    result = calibration_test(sample.build(), replicates=19)
    assert 1 / 20 <= result.p_value <= 1
    assert result.to_dict()["p_value"] == result.p_value


@pytest.mark.parametrize(
    ("options", "words"),
    [({"statistic": "chi"}, "'ks', 'both', 'grouped'"), ({"replicates": 0}, "at least 1, got 0")],
    ids=str,
)
def test_significance_bad_options(options, words):
    scores = LogisticGaussian.calibrated().draw(n=100, setting="labeled", seed=0)
    with pytest.raises(ValueError, match=words):
        calibration_test(scores, **options)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("binning", ["mass", "width"])
@pytest.mark.parametrize("n", [1000, 200_000])  # with NumPy, and with compiled code
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
