"""Smoothed and cumulative errors: outside references, slow oracles, and properties of smoothing."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit, logit
from scipy.stats import binom
from strategies import samples, scores, scores as score_lists

from noneg import PUScores, ece, kernels, kernels_numba
from noneg.bins import bin_scores
from noneg.calibration import (
    kernel_ece,
    kernel_ece_interval,
    logit_smoothed_ece,
    logit_smoothed_ece_interval,
    smooth,
    smooth_ece,
    smooth_ece_interval,
)
from noneg.calibration.smooth import ks_error, ks_error_interval, mean_size, triweight
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "smooth.json").read_text())


WIDTHS = st.sampled_from([0.02, 0.05, 0.1, 0.4, 2.0])


def reference_sample():
    """The sample from reference/make_smooth.py."""
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    truth = s + 0.15 * np.sin(2 * np.pi * s)
    return PUScores.from_labels(((i * 0.7548776662466927) % 1.0 < truth).astype(int), s)


def residuals(sample):
    """Return the mass of each row in the residual measure, from the definition."""
    positive, n = sample.flags, sample.score.size
    if sample.setting == "labeled":
        return sample.score, (positive - sample.score) / n
    everyone = ~positive if sample.setting == "two-sample" else np.ones(n, dtype=bool)
    mass = sample.prior * positive / positive.sum()
    return sample.score, mass - everyone * sample.score / everyone.sum()


def slow(points, masses, sigma, cells=20_000):
    """Compute the definition: a sum of reflected Gaussians at each point of a fine grid."""
    x = (np.arange(cells) + 0.5) / cells
    f = np.zeros(cells)
    for shift in range(-1 - math.ceil(4.5 * sigma), 2 + math.ceil(4.5 * sigma)):
        for sign in (-1, 1):
            away = (x - (2 * shift + sign * points[:, None])) / sigma
            f += masses @ np.exp(-(away**2) / 2) / (sigma * math.sqrt(2 * math.pi))
    return np.abs(f).mean()


def test_relplot():
    labeled = reference_sample()
    assert smooth_ece(labeled) == pytest.approx(REFERENCE["relplot smECE"], abs=5e-4)
    for sigma, expected in REFERENCE["relplot smECE_sigma"].items():
        # relplot truncates its kernel at a distance of 0.5.
        if float(sigma) < 0.2:
            assert smooth_ece(labeled, sigma=float(sigma)) == pytest.approx(expected, abs=5e-4)


@given(samples(max_size=12), WIDTHS)
@settings(max_examples=60)
def test_the_definition(sample, sigma):
    expected = slow(*residuals(sample), sigma)
    assert smooth_ece(sample.build(), sigma=sigma) == pytest.approx(expected, abs=3e-6)


def test_narrow_kernels_are_resolved():
    labels, s = np.array([1, 0, 1, 0]), np.array([0.3, 0.3005, 0.7, 0.70002])
    labeled = PUScores.from_labels(labels, s)
    for sigma in (3e-3, 1e-3, 3e-4):
        expected = slow(s, (labels - s) / 4, sigma, cells=400_000)
        assert smooth_ece(labeled, sigma=sigma) == pytest.approx(expected, abs=1e-6)


@given(samples())
@settings(max_examples=50)
def test_the_default_width_is_its_own_error(sample):
    built = sample.build()
    value = smooth_ece(built)
    if value > 1e-3:
        assert smooth_ece(built, sigma=value) == pytest.approx(value, abs=1e-6)


@given(samples(), WIDTHS)
def test_blurring_only_cancels(sample, sigma):
    built = sample.build()
    points, masses = residuals(sample)
    _, place = np.unique(points, return_inverse=True)
    total = np.abs(np.bincount(place, weights=masses)).sum()
    errors = [smooth_ece(built, sigma=width) for width in (sigma, 1.5 * sigma, 20.0)]
    assert errors[0] <= total + 1e-6
    assert errors[1] <= errors[0] + 1e-6
    assert errors[2] <= errors[1] + 1e-6
    assert errors[2] == pytest.approx(abs(masses.sum()), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=50)
def test_a_narrow_kernel_leaves_separate_points_alone(rows):
    place, labels = (np.array(x) for x in zip(*rows, strict=True))
    labels[0] = True
    s = place / 20
    total = np.abs(np.bincount(place, weights=(labels - s) / s.size)).sum()
    assert smooth_ece(PUScores.from_labels(labels, s), sigma=1e-3) == pytest.approx(total, abs=1e-6)


@given(samples(settings=("labeled",)), st.one_of(st.none(), WIDTHS))
def test_pu_error_is_the_labeled_error_when_nothing_is_hidden(sample, sigma):
    if sample.flags.all():
        return
    labeled = sample.build()
    prior = labeled.prior
    separate = PUScores(sample.score[sample.flags], sample.score, prior=prior, setting="two-sample")
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    expected = smooth_ece(labeled, sigma=sigma)
    assert smooth_ece(separate, sigma=sigma) == pytest.approx(expected, abs=1e-10)
    assert smooth_ece(one, sigma=sigma) == pytest.approx(expected, abs=1e-10)


@given(samples(), st.randoms(use_true_random=False), st.one_of(st.none(), WIDTHS))
@settings(max_examples=50)
def test_row_order_and_copies_are_irrelevant(sample, random, sigma):
    order = list(range(sample.score.size))
    random.shuffle(order)
    expected = smooth_ece(sample.build(), sigma=sigma)
    assert smooth_ece(sample.take(order).build(), sigma=sigma) == pytest.approx(expected, abs=1e-10)
    twice = sample.take(np.repeat(order, 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    assert smooth_ece(twice, sigma=sigma) == pytest.approx(expected, abs=1e-10)
    assert smooth_ece(weighted, sigma=sigma) == pytest.approx(expected, abs=1e-10)


@given(samples(settings=("two-sample",)), st.floats(0.01, 0.99), WIDTHS)
@settings(max_examples=50)
def test_a_wrong_prior_moves_the_error_by_no_more_than_itself(sample, other, sigma):
    built = sample.build()
    gap = smooth_ece(built, sigma=sigma) - smooth_ece(built.with_prior(other), sigma=sigma)
    assert abs(gap) <= abs(sample.prior - other) + 1e-6


def test_importance_weights_are_masses():
    rng = np.random.default_rng(0)
    s, labels, weight = rng.random(40), rng.random(40) < 0.4, rng.random(40) + 0.1
    weighted = PUScores.from_labels(labels, s, sample_weight=weight, weight_kind="importance")
    expected = slow(s, weight * (labels - s) / weight.sum(), 0.1)
    assert smooth_ece(weighted, sigma=0.1) == pytest.approx(expected, abs=3e-6)


def test_rows_at_the_ends_count_fully():
    """A library that samples its kernel at the ends gives them half weight."""
    ends = PUScores.from_labels([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0])
    assert smooth_ece(ends, sigma=0.05) == pytest.approx(0.5, abs=1e-6)
    assert smooth_ece(PUScores.from_labels([1, 1], [0.0, 0.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("labels", "s", "expected"),
    [
        ([1, 0, 0, 0], [0.4] * 4, 0.15),
        ([1, 0], [0.5, 0.5], 0.0),
        ([1, 1, 0], [1.0, 1.0, 0.0], 0.0),
        ([0, 0], [0.25, 0.25], 0.25),
    ],
)
def test_degenerate_data(labels, s, expected):
    labeled = PUScores.from_labels(labels, s)
    assert smooth_ece(labeled) == pytest.approx(expected, abs=1e-9)
    interval = smooth_ece_interval(labeled)
    assert 0 <= interval.low <= interval.value <= interval.high


def test_one_row_of_each():
    scores = PUScores([0.7], [0.2], prior=0.5, setting="two-sample")
    assert smooth_ece(scores, sigma=0.01) == pytest.approx(0.7)
    interval = smooth_ece_interval(scores)
    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize("sigma", [0, -1, 1e-7, math.nan, math.inf, "a"], ids=str)
def test_bad_widths(sigma):
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=r"'sigma' must be the width of a kernel, at least 1e-05"):
        smooth_ece(scores, sigma=sigma)


def test_infinite_samples_are_the_limit():
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    many = world.draw(n=100_000, setting="labeled", seed=1)
    assert smooth_ece(many) == pytest.approx(smooth_ece(law), abs=5e-3)
    fine = bin_scores(law, bins=2000, binning="width")
    expected = slow((fine.edges[1:] + fine.edges[:-1]) / 2, fine.residual, 0.05, cells=2000)
    assert smooth_ece(law, sigma=0.05) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_hidden_labels_do_not_matter_on_average(setting):
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    errors = [
        smooth_ece(world.draw(2000, 8000, setting=setting, seed=seed), sigma=0.1)
        for seed in range(40)
    ]
    spread = np.std(errors) / math.sqrt(40)
    assert np.mean(errors) == pytest.approx(smooth_ece(law, sigma=0.1), abs=4 * spread + 1e-3)


WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("sigma", [None, 0.05])
def test_nominal_95_percent_covers(name, setting, sigma):
    world, trials, covered = WORLDS[name], 60, 0
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    target = smooth_ece(law, sigma=sigma)
    for seed in range(trials):
        n = {"n": 1500} if setting == "labeled" else {"n_positive": 150, "n_unlabeled": 1500}
        interval = smooth_ece_interval(world.draw(**n, setting=setting, seed=seed), sigma=sigma)
        covered += interval.low <= target + 1e-9 <= interval.high + 1e-9
    # Fewer hits than this have a probability below 0.1% if the coverage is 95%.
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples(), st.randoms(use_true_random=False), st.one_of(st.none(), WIDTHS))
@settings(max_examples=25)
def test_the_interval_has_the_same_properties(sample, random, sigma):
    order = list(range(sample.score.size))
    random.shuffle(order)
    interval = smooth_ece_interval(sample.build(), sigma=sigma)
    assert 0 <= interval.low <= interval.value <= interval.high
    assert (interval.raw or interval.value) == smooth_ece(sample.build(), sigma=sigma)
    other = smooth_ece_interval(sample.take(order).build(), sigma=sigma)
    assert (interval.low, interval.high) == pytest.approx((other.low, other.high), abs=1e-7)
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = smooth_ece_interval(twice, sigma=sigma), smooth_ece_interval(weighted, sigma=sigma)
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-7)


def test_an_unknown_prior_widens_the_interval_to_hold_for_each():
    scores = WORLDS["less"].draw(400, 2000, setting="two-sample", seed=3)
    unsure = smooth_ece_interval(scores.with_prior(0.5, interval=(0.45, 0.55)), sigma=0.1)
    for prior in np.linspace(0.45, 0.55, 7):
        sure = smooth_ece_interval(scores.with_prior(prior), sigma=0.1)
        assert unsure.low <= sure.low + 1e-9
        assert sure.high <= unsure.high + 1e-9
    assert "every prior in [0.45, 0.55]" in unsure.method


AXES = [kernels.Axis(64), kernels.Axis(1), kernels.Axis(200, 1e-6, 15.0)]


@given(scores(max_size=200), st.sampled_from(AXES), st.booleans(), st.integers(0, 10))
def test_gathering_keeps_mass_and_numba_agrees(s, axis, flagged, seed):
    flags = np.random.default_rng(seed).random(s.size) < 0.4 if flagged else None
    plain = kernels.node_sums.__wrapped__(s, flags, axis)
    np.testing.assert_allclose(plain.sum(axis=(0, 1)), [s.size, s.sum()], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernels_numba.node_sums(s, flags, axis), plain, atol=1e-9)


def test_gathering_in_pieces_and_many_nodes():
    s = np.random.default_rng(0).random(2 * kernels.CHUNK + 17)
    flags = s > 0.7
    axis = kernels.Axis(2**18)
    total = kernels.node_sums.__wrapped__(s, flags, axis)
    np.testing.assert_allclose(kernels_numba.node_sums(s, flags, axis), total, atol=1e-9)
    whole = kernels.spread(axis, s[flags], (np.ones(flags.sum()), s[flags]))
    np.testing.assert_allclose(total[1], whole, atol=1e-9)


def test_axes_go_there_and_back():
    for axis in AXES:
        inner = axis.edges[1:-1]
        place = axis.place(inner)
        inside = (inner > 1e-6) & (inner < 1 - 1e-6)
        np.testing.assert_allclose(place[inside], np.arange(1, axis.n)[inside], atol=1e-9)
        assert (axis.edges[0], axis.edges[-1]) == (0.0, 1.0)
        assert (np.diff(axis.edges) >= 0).all()
        assert axis.place(np.array([0.0])) >= 0
        assert axis.place(np.array([1.0])) <= axis.n


def test_integral_of_a_size_sees_kinks():
    for n in (50, 51, 400):
        x = (np.arange(n) + 0.5) / n
        for k in (1, 2, 3):
            assert mean_size(np.cos(np.pi * k * x)) == pytest.approx(2 / np.pi, abs=3 / n**3)
    assert mean_size(np.zeros(5)) == 0


def test_triweight_is_the_transform_of_its_kernel():
    u = (np.arange(200_000) + 0.5) / 100_000 - 1
    kernel = 35 / 32 * (1 - u**2) ** 3
    for frequency in (0.0, 1e-3, 0.3, 2.0, 11.0):
        expected = (kernel * np.cos(3 * frequency * u)).mean() * 2
        assert triweight(np.array([frequency]))[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_residuals_of_one_sign_have_a_fixed_point(seed):
    """The error is then the same at all widths, and rounding must not hide the fixed point."""
    rng = np.random.default_rng(seed)
    data = PUScores.from_labels(np.zeros(50, dtype=int), rng.random(50) * rng.random())
    assert smooth_ece(data) == pytest.approx(float(bin_scores(data, bins=1).score[0]), rel=1e-6)


ERRORS = {"kernel": kernel_ece, "logit": logit_smoothed_ece}


INTERVALS = {"kernel": kernel_ece_interval, "logit": logit_smoothed_ece_interval}


def laws(sample):
    """Return the scores of both distributions and the prior, from the definition of the setting."""
    positive = sample.score[sample.flags]
    if sample.setting == "two-sample":
        return positive, sample.score[~sample.flags], sample.prior
    prior = sample.flags.mean() if sample.setting == "labeled" else sample.prior
    return positive, sample.score, prior


def slow_kernel(positive, marginal, prior, bandwidth, p=1):
    """The definition, row by row."""
    x = (np.arange(4000) + 0.5) / 4000

    def density(s):
        images = np.concatenate([2 * k + sign * s for k in (-1, 0, 1) for sign in (-1, 1)])
        u = (x - images[:, None]) / (3 * bandwidth)
        inside = np.abs(u) < 1
        return (35 / 32 * (1 - u**2) ** 3 * inside).sum(axis=0) / (3 * bandwidth * s.size)

    f, g = density(marginal), prior * density(positive)
    if p == 1:
        return np.abs(g - x * f).mean()
    full = f > 0
    return ((f * np.abs(g / np.where(full, f, 1) - x) ** p)[full].sum() / x.size) ** (1 / p)


def slow_logit(positive, marginal, prior, sigma, clip):
    """The definition, row by row."""
    t = np.linspace(logit(clip) - 9 * sigma, -logit(clip) + 9 * sigma, 40_001)

    def density(s):
        away = (t - logit(np.clip(s, clip, 1 - clip))[:, None]) / sigma
        return np.exp(-(away**2) / 2).mean(axis=0) / (sigma * math.sqrt(2 * math.pi))

    gap = prior * density(positive) - expit(t) * density(marginal)
    return np.abs(gap).sum() * (t[1] - t[0])


@pytest.mark.parametrize("p", [1, 2])
def test_kdepy(p):
    for bandwidth, expected in REFERENCE[f"KDEpy triweight, p = {p}"].items():
        found = kernel_ece(reference_sample(), bandwidth=float(bandwidth), p=p)
        assert found == pytest.approx(expected, abs=1e-7)


def test_the_authors_sample_what_is_integrated_here():
    expected = REFERENCE["sampled logit-smoothed ECE"]
    found = logit_smoothed_ece(reference_sample())
    assert found == pytest.approx(expected["value"], abs=4 * expected["standard error"])


@given(samples(max_size=12), st.sampled_from([0.02, 0.05, 0.2]))
@settings(max_examples=25)
def test_the_definition_on_scores(sample, bandwidth):
    expected = slow_kernel(*laws(sample), bandwidth)
    assert kernel_ece(sample.build(), bandwidth=bandwidth) == pytest.approx(expected, abs=3e-5)


@given(samples(settings=("labeled",), max_size=12), st.sampled_from([1.5, 2, 5]))
@settings(max_examples=15)
def test_the_definition_of_other_norms(sample, p):
    expected = slow_kernel(*laws(sample), 0.1, p)
    assert kernel_ece(sample.build(), bandwidth=0.1, p=p) == pytest.approx(expected, abs=3e-5)


@given(samples(max_size=12), st.sampled_from([1 / 15, 0.5]), st.sampled_from([1e-6, 1e-3]))
@settings(max_examples=25)
def test_the_definition_on_logits(sample, sigma, clip):
    expected = slow_logit(*laws(sample), sigma, clip)
    found = logit_smoothed_ece(sample.build(), sigma=sigma, clip=clip)
    assert found == pytest.approx(expected, abs=3e-5)


def test_the_rule_of_thumb():
    scores = reference_sample()
    i = np.arange(1, REFERENCE["rows"] + 1)
    bandwidth = 1.06 * np.std((i * 0.6180339887498949) % 1.0) * i.size**-0.2
    expected = kernel_ece(scores, bandwidth=bandwidth)
    assert kernel_ece(scores) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("name", ERRORS)
@given(sample=samples(settings=("labeled",)))
@settings(max_examples=15)
def test_kernel_pu_error_is_the_labeled_error_when_nothing_is_hidden(name, sample):
    if sample.flags.all():
        return
    labeled = sample.build()
    prior = labeled.prior
    separate = PUScores(sample.score[sample.flags], sample.score, prior=prior, setting="two-sample")
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    expected = ERRORS[name](labeled)
    assert ERRORS[name](separate) == pytest.approx(expected, abs=1e-10)
    assert ERRORS[name](one) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", ERRORS)
@given(sample=samples(), random=st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_kernel_row_order_and_copies_are_irrelevant(name, sample, random):
    options = {"bandwidth": 0.05} if name == "kernel" else {"sigma": 0.3}
    order = list(range(sample.score.size))
    random.shuffle(order)
    expected = ERRORS[name](sample.build(), **options)
    shuffled, twice = sample.take(order).build(), sample.take(np.repeat(order, 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    for same in (shuffled, twice, weighted):
        assert ERRORS[name](same, **options) == pytest.approx(expected, abs=1e-10)


def test_the_rule_of_thumb_counts_weights():
    rng = np.random.default_rng(0)
    s, labels = rng.random(30), np.arange(30) % 3 == 0
    weighted = PUScores.from_labels(labels, s, sample_weight=np.full(30, 2))
    twice = PUScores.from_labels(np.tile(labels, 2), np.tile(s, 2))
    assert kernel_ece(weighted) == pytest.approx(kernel_ece(twice), abs=1e-10)


@given(samples(settings=("one-sample", "labeled")))
@settings(max_examples=15)
def test_norms_are_ordered(sample):
    scores = sample.build()
    errors = [kernel_ece(scores, bandwidth=0.05, p=p) for p in (1, 1.5, 2, 10)]
    assert all(a <= b + 1e-6 for a, b in pairwise(errors))


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=10)
def test_kernel_a_narrow_kernel_leaves_separate_points_alone(rows):
    place, labels = (np.array(x) for x in zip(*rows, strict=True))
    labels[0] = True
    s = place / 20
    total = np.abs(np.bincount(place, weights=(labels - s) / s.size)).sum()
    labeled = PUScores.from_labels(labels, s)
    assert kernel_ece(labeled, bandwidth=4e-3) == pytest.approx(total, abs=4e-3)
    assert logit_smoothed_ece(labeled, sigma=1e-2) == pytest.approx(total, abs=1e-2)


@given(samples(), st.sampled_from([1e-4, 1e-6, 1e-8]))
@settings(max_examples=15)
def test_the_clip_moves_the_error_by_no_more_than_itself(sample, clip):
    scores = sample.build()
    gap = logit_smoothed_ece(scores, clip=clip) - logit_smoothed_ece(scores, clip=1e-12)
    assert abs(gap) <= 3 * clip + 1e-5


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize(
    ("labels", "s", "expected"),
    [
        ([1, 0, 0, 0], [0.4] * 4, 0.15),
        ([1, 1, 0], [1.0, 1.0, 0.0], 0.0),
        ([1, 0], [0.0, 1.0], 1.0),
        ([0, 0], [0.25, 0.25], 0.25),
    ],
)
def test_kernel_degenerate_data(name, labels, s, expected):
    labeled = PUScores.from_labels(labels, s)
    options = {"bandwidth": 1e-3} if name == "kernel" else {"sigma": 1e-2}
    assert ERRORS[name](labeled, **options) == pytest.approx(expected, abs=3e-3)
    assert np.isfinite(ERRORS[name](labeled))
    interval = INTERVALS[name](labeled)
    assert 0 <= interval.low <= interval.value <= interval.high


@pytest.mark.parametrize("name", ERRORS)
def test_kernel_one_row_of_each(name):
    scores = PUScores([0.7], [0.2], prior=0.5, setting="two-sample")
    interval = INTERVALS[name](scores)
    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("error", "options", "words"),
    [
        (kernel_ece, {"bandwidth": 0}, "'bandwidth' must be the width of a kernel, at least 1e-05"),
        (kernel_ece, {"p": math.inf}, "'p' must be finite"),
        (kernel_ece, {"p": 0.5}, "'p' must be the order of a norm"),
        (kernel_ece, {"p": 2, "bandwidth": 0.01}, "positives lie near 0.9"),
        (logit_smoothed_ece, {"sigma": 1e-4}, "'sigma' must be the width of a kernel"),
        (logit_smoothed_ece, {"clip": 0.0}, "'clip' must be a probability in"),
        (logit_smoothed_ece, {"clip": 0.5}, "'clip' must be a probability in"),
    ],
)
def test_bad_options(error, options, words):
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    with pytest.raises(ValueError, match=words):
        error(scores, **options)


def test_a_population_needs_a_bandwidth():
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="'bandwidth' must be given for a population"):
        kernel_ece(law)
    many = world.draw(n=100_000, setting="labeled", seed=1)
    for p in (1, 2):
        expected = kernel_ece(law, bandwidth=0.05, p=p)
        assert kernel_ece(many, bandwidth=0.05, p=p) == pytest.approx(expected, abs=5e-3)
    assert logit_smoothed_ece(many) == pytest.approx(logit_smoothed_ece(law), abs=5e-3)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", ERRORS)
def test_kernel_hidden_labels_do_not_matter_on_average(name, setting):
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    options = {"bandwidth": 0.1} if name == "kernel" else {"sigma": 0.5}
    errors = [
        ERRORS[name](world.draw(2000, 8000, setting=setting, seed=seed), **options)
        for seed in range(25)
    ]
    spread = np.std(errors) / 5
    expected = ERRORS[name](law, **options)
    assert np.mean(errors) == pytest.approx(expected, abs=4 * spread + 1e-3)


OPTIONS = {
    "kernel": {"bandwidth": 0.05},
    "kernel, p = 2": {"bandwidth": 0.05, "p": 2},
    "logit": {"sigma": 0.3},
}


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_kernel_nominal_95_percent_covers(name, world, setting):
    world, trials, options = WORLDS[world], 30, OPTIONS[name]
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    error, interval = ERRORS[name.split(",")[0]], INTERVALS[name.split(",")[0]]
    target, covered, below = error(law, **options), 0, 0
    for seed in range(trials):
        n = {"n": 1500} if setting == "labeled" else {"n_positive": 150, "n_unlabeled": 1500}
        found = interval(world.draw(**n, setting=setting, seed=seed), **options)
        covered += found.low <= target <= found.high
        below += found.low <= (world.tce() if name != "kernel, p = 2" else target)
    # Fewer hits than this have a probability below 0.1% if the coverage is 95%.
    assert covered >= binom.ppf(0.001, trials, 0.95)
    assert below >= binom.ppf(0.001, trials, 0.975)


@pytest.mark.parametrize("name", ERRORS)
@given(sample=samples(), random=st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_kernel_the_interval_has_the_same_properties(name, sample, random):
    options = {"bandwidth": 0.05} if name == "kernel" else {"sigma": 0.3}
    order = list(range(sample.score.size))
    random.shuffle(order)
    interval = INTERVALS[name](sample.build(), **options)
    assert 0 <= interval.low <= interval.value <= interval.high
    assert (interval.raw or interval.value) == ERRORS[name](sample.build(), **options)
    other = INTERVALS[name](sample.take(order).build(), **options)
    assert (interval.low, interval.high) == pytest.approx((other.low, other.high), abs=1e-7)
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = (INTERVALS[name](x, **options) for x in (twice, weighted))
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-7)


@pytest.mark.parametrize("p", [1, 2])
def test_kernel_an_unknown_prior_widens_the_interval_to_hold_for_each(p):
    scores = WORLDS["less"].draw(400, 2000, setting="two-sample", seed=3)
    options = {"bandwidth": 0.1, "p": p}
    unsure = kernel_ece_interval(scores.with_prior(0.5, interval=(0.45, 0.55)), **options)
    for prior in np.linspace(0.45, 0.55, 7):
        sure = kernel_ece_interval(scores.with_prior(prior), **options)
        assert unsure.low <= sure.low + 1e-9
        assert sure.high <= unsure.high + 1e-9
    assert "every prior in [0.45, 0.55]" in unsure.method
    assert "smoothing bias" in unsure.method


KS_REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())


def draw(world, setting, seed, n=200):
    if setting == "labeled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


def truth(world):
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    return np.abs(np.cumsum(bin_scores(law, edges=np.linspace(0, 1, 2001)).residual)).max()


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labeled_error_is_that_of_other_libraries(kind):
    i = np.arange(1, KS_REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    y = ((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int)
    values, got = KS_REFERENCE["values"][kind], ks_error(PUScores.from_labels(y, s))
    assert got == pytest.approx(values["probcal ecce stat_max"], abs=1e-12)
    # MAPIE adds a little noise to the scores.
    peer = values["MAPIE kolmogorov_smirnov_statistic times length_scale"]
    assert got == pytest.approx(peer, abs=1e-8)


def by_definition(sample, prior):
    positive = sample.score[sample.flags]
    marginal = sample.score[~sample.flags] if sample.setting == "two-sample" else sample.score
    return max(
        abs(prior * (positive <= t).mean() - (marginal * (marginal <= t)).mean())
        for t in sample.score
    )


@given(samples())
def test_ks_the_definition(sample):
    scores = sample.build()
    assert ks_error(scores) == pytest.approx(by_definition(sample, scores.prior), abs=1e-12)


@pytest.fixture(params=["numpy", "numba"])
def buckets(request, monkeypatch):
    """Force a few rows to take the code path for very many rows."""
    monkeypatch.setattr(smooth, "FEW_ROWS", 0)
    if request.param == "numba":
        monkeypatch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        monkeypatch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)


def near(sample, bits):
    """The same rows with scores so close that several share a bucket."""
    return type(sample)(sample.setting, sample.flags, 0.3 + sample.score * 2.0**-bits, sample.prior)


@pytest.mark.usefixtures("buckets")
def test_buckets_give_the_same_error():
    # Hypothesis does not work with function-scoped fixtures, so the property is defined inside.
    @settings(max_examples=40)
    @given(samples(), st.sampled_from([0, 1, 10, 14, 18]), st.booleans())
    def property_(sample, bits, weighted):
        if bits:
            sample = near(sample, bits)
        options = {}
        if weighted:
            options["sample_weight"] = np.random.default_rng(0).integers(1, 4, sample.score.size)
        try:
            scores = sample.build(**options)
        except ValueError:
            return
        expected = sample
        if weighted:
            expected = sample.take(
                np.repeat(np.arange(sample.score.size), options["sample_weight"])
            )
        assert ks_error(scores) == pytest.approx(by_definition(expected, scores.prior), abs=1e-12)

    property_()


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_many_rows_take_the_path_of_buckets(setting):
    for name, world in WORLDS.items():
        scores = draw(world, setting, 0, n=80_000)
        assert scores.n_unlabeled + scores.n_positive > smooth.FEW_ROWS
        quick = ks_error(scores)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(smooth, "FEW_ROWS", math.inf)
            assert ks_error(scores) == pytest.approx(quick, abs=1e-13), name


@settings(max_examples=30)
@given(score_lists(), st.booleans())
def test_bucket_sums_of_numpy_and_numba_agree(s, flagged):
    from noneg import kernels_numba

    flags = np.arange(s.size) % 3 == 0 if flagged else None
    plain = kernels.bucket_triples.__wrapped__(s, flags)
    fast = kernels_numba.bucket_triples(s, flags)
    used = np.flatnonzero(plain[:, :, 0].sum(axis=0))
    assert np.array_equal(used, np.unique(kernels.bucket_of(s)))
    np.testing.assert_allclose(fast[:, used], plain[:, used], atol=1e-12)
    assert fast.sum() == pytest.approx(plain.sum())


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a, b = ks_error(sample.build()), ks_error(sample.take(order).build())
    assert a == pytest.approx(b, abs=1e-12)


@given(samples(), st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_rows_repeated_are_rows_with_weights(sample, counts):
    weight = np.array(counts[: sample.score.size])
    weight[:2] = np.maximum(weight[:2], 1)
    try:
        repeated = sample.take(np.repeat(np.arange(sample.score.size), weight)).build()
    except ValueError:
        return
    weighted = sample.build(sample_weight=weight)
    assert ks_error(weighted) == pytest.approx(ks_error(repeated), abs=1e-12)


@given(samples(), st.floats(0.1, 10.0))
def test_importance_weights_have_no_scale(sample, scale):
    w = np.random.default_rng(0).random(sample.score.size) + 0.1
    a = sample.build(sample_weight=w, weight_kind="importance")
    b = sample.build(sample_weight=scale * w, weight_kind="importance")
    assert ks_error(a) == pytest.approx(ks_error(b), abs=1e-12)


@given(samples(settings=("labeled",)))
def test_ks_pu_error_is_the_labeled_error_when_nothing_is_hidden(sample):
    labeled = sample.build()
    if not sample.flags.all():
        separate = PUScores(
            sample.score[sample.flags], sample.score, prior=labeled.prior, setting="two-sample"
        )
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labeled.prior, setting="one-sample"
        )
        for scores in (separate, one):
            assert ks_error(scores) == pytest.approx(ks_error(labeled), abs=1e-12)


@given(samples())
def test_bounds(sample):
    scores = sample.build()
    finest = np.concatenate([[0.0], np.unique(sample.score), [1.0]])
    mean = bin_scores(scores, bins=1).score[0]
    value = ks_error(scores)
    assert abs(scores.prior - mean) - 1e-12 <= value <= max(scores.prior, mean) + 1e-12
    assert value <= ece(scores, edges=finest) + 1e-12
    assert ece(scores, edges=finest) <= 2 * value * (finest.size - 1) + 1e-12


@given(samples(settings=("two-sample", "one-sample")), st.floats(0.01, 0.99))
def test_ks_a_wrong_prior_moves_the_error_by_no_more_than_itself(sample, other):
    scores = sample.build()
    if sample.setting == "one-sample":
        other = min(max(other, sample.flags.mean() + 1e-6), 1 - 1e-6)
    gap = abs(ks_error(scores) - ks_error(scores.with_prior(other)))
    assert gap <= abs(scores.prior - other) + 1e-12


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_error_converges_from_above(name, setting):
    world, target = WORLDS[name], truth(WORLDS[name])
    few = [ks_error(draw(world, setting, seed)) for seed in range(40)]
    many = [ks_error(draw(world, setting, seed, n=4000)) for seed in range(40)]
    error = np.std(many, ddof=1) / math.sqrt(len(many))
    assert np.mean(few) > target - 4 * np.std(few, ddof=1) / math.sqrt(len(few))
    # A maximum of noise around the truth is biased by about one standard deviation.
    assert -4 * error < np.mean(many) - target < 4 * error + 0.02


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_interval_covers(name, setting):
    world, trials, covered = WORLDS[name], 60, 0
    target = truth(world)
    for seed in range(trials):
        interval = ks_error_interval(draw(world, setting, seed))
        covered += interval.low <= target <= interval.high
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples(), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_holds_the_estimate(sample, level):
    scores = sample.build()
    interval = ks_error_interval(scores, level=level)
    assert 0 <= interval.low <= interval.value <= interval.high + 1e-12
    assert interval.value == ks_error(scores)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_ks_an_unknown_prior_widens_the_interval_to_hold_for_each(setting):
    scores = draw(WORLDS["less"], setting, 3)
    unsure = ks_error_interval(scores.with_prior(0.5, interval=(0.4, 0.58)))
    for prior in np.linspace(0.4, 0.58, 7):
        sure = ks_error_interval(scores.with_prior(prior))
        assert unsure.low <= sure.low + 1e-12
        assert sure.high <= unsure.high + 1e-3
    assert "every prior in [0.4, 0.58]" in unsure.method


DEGENERATE = {
    "all equal": (PUScores.from_labels([0, 1, 1, 0], [0.3] * 4), 0.2),
    "zeros and ones": (PUScores.from_labels([0, 1, 1, 0], [0, 1, 0, 1]), 0.25),
    "right zeros and ones": (PUScores.from_labels([0, 1, 1, 0], [0, 1, 1, 0]), 0.0),
    "no positive": (PUScores.from_labels([0, 0, 0], [0.1, 0.2, 0.3]), 0.2),
    "one row": (PUScores.from_labels([1], [0.4]), 0.6),
    "one positive": (PUScores([0.7], [0.1, 0.9], prior=0.5, setting="two-sample"), 0.45),
    "one unlabeled": (PUScores([0.7, 0.8], [0.5], prior=0.5, setting="two-sample"), 0.5),
}


@pytest.mark.parametrize(("scores", "value"), DEGENERATE.values(), ids=DEGENERATE)
def test_poor_data_has_a_value(scores, value):
    interval = ks_error_interval(scores)
    assert interval.value == pytest.approx(value, abs=1e-12)
    assert 0 <= interval.low <= interval.value <= interval.high < math.inf


def test_a_population_is_rejected_with_a_message():
    scores = WORLDS["less"].draw(100, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must contain rows for this metric"):
        ks_error(scores)


def test_bad_level():
    with pytest.raises(ValueError, match="confidence level"):
        ks_error_interval(draw(WORLDS["less"], "labeled", 0), level=1)
