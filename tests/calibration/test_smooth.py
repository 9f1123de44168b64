"""The smooth error: outside references, a slow oracle, and the laws of blurring."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import samples, scores

from noneg import PUScores, kernels, kernels_numba
from noneg.bins import bin_scores
from noneg.calibration import smooth_ece, smooth_ece_interval
from noneg.calibration.smooth import mean_size, triweight
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "smooth.json").read_text())
WIDTHS = st.sampled_from([0.02, 0.05, 0.1, 0.4, 2.0])


def reference_sample():
    """The sample of reference/make_smooth.py."""
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    truth = s + 0.15 * np.sin(2 * np.pi * s)
    return PUScores.from_labels(((i * 0.7548776662466927) % 1.0 < truth).astype(int), s)


def residuals(sample):
    """Each row's mass in the residual measure, from the definition."""
    positive, n = sample.flags, sample.score.size
    if sample.setting == "labelled":
        return sample.score, (positive - sample.score) / n
    everyone = ~positive if sample.setting == "two-sample" else np.ones(n, dtype=bool)
    mass = sample.prior * positive / positive.sum()
    return sample.score, mass - everyone * sample.score / everyone.sum()


def slow(points, masses, sigma, cells=20_000):
    """The definition: a sum of mirrored Gaussians at each point of a fine line."""
    x = (np.arange(cells) + 0.5) / cells
    f = np.zeros(cells)
    for shift in range(-1 - math.ceil(4.5 * sigma), 2 + math.ceil(4.5 * sigma)):
        for sign in (-1, 1):
            away = (x - (2 * shift + sign * points[:, None])) / sigma
            f += masses @ np.exp(-(away**2) / 2) / (sigma * math.sqrt(2 * math.pi))
    return np.abs(f).mean()


def test_relplot():
    labelled = reference_sample()
    assert smooth_ece(labelled) == pytest.approx(REFERENCE["relplot smECE"], abs=5e-4)
    for sigma, expected in REFERENCE["relplot smECE_sigma"].items():
        # relplot cuts its kernel off at a distance of 0.5.
        if float(sigma) < 0.2:
            assert smooth_ece(labelled, sigma=float(sigma)) == pytest.approx(expected, abs=5e-4)


@given(samples(max_size=12), WIDTHS)
@settings(max_examples=60)
def test_the_definition(sample, sigma):
    expected = slow(*residuals(sample), sigma)
    assert smooth_ece(sample.build(), sigma=sigma) == pytest.approx(expected, abs=3e-6)


def test_narrow_kernels_are_resolved():
    labels, s = np.array([1, 0, 1, 0]), np.array([0.3, 0.3005, 0.7, 0.70002])
    labelled = PUScores.from_labels(labels, s)
    for sigma in (3e-3, 1e-3, 3e-4):
        expected = slow(s, (labels - s) / 4, sigma, cells=400_000)
        assert smooth_ece(labelled, sigma=sigma) == pytest.approx(expected, abs=1e-6)


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


@given(samples(settings=("labelled",)), st.one_of(st.none(), WIDTHS))
def test_pu_error_is_the_labelled_error_when_nothing_is_hidden(sample, sigma):
    if sample.flags.all():
        return
    labelled = sample.build()
    prior = labelled.prior
    separate = PUScores(sample.score[sample.flags], sample.score, prior=prior, setting="two-sample")
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    expected = smooth_ece(labelled, sigma=sigma)
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
    """A library that samples its kernel at the ends counts them half."""
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
    labelled = PUScores.from_labels(labels, s)
    assert smooth_ece(labelled) == pytest.approx(expected, abs=1e-9)
    interval = smooth_ece_interval(labelled)
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
    many = world.draw(n=100_000, setting="labelled", seed=1)
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("sigma", [None, 0.05])
def test_nominal_95_percent_covers(name, setting, sigma):
    world, trials, covered = WORLDS[name], 60, 0
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    target = smooth_ece(law, sigma=sigma)
    for seed in range(trials):
        n = {"n": 1500} if setting == "labelled" else {"n_positive": 150, "n_unlabeled": 1500}
        interval = smooth_ece_interval(world.draw(**n, setting=setting, seed=seed), sigma=sigma)
        covered += interval.low <= target + 1e-9 <= interval.high + 1e-9
    # Fewer hits than this have a probability below 0.1 % if the coverage is 95 %.
    assert covered >= binom.ppf(0.001, trials, 0.95)


@given(samples(), st.randoms(use_true_random=False), st.one_of(st.none(), WIDTHS))
@settings(max_examples=25)
def test_the_interval_obeys_the_same_laws(sample, random, sigma):
    order = list(range(sample.score.size))
    random.shuffle(order)
    interval = smooth_ece_interval(sample.build(), sigma=sigma)
    assert 0 <= interval.low <= interval.value <= interval.high
    assert interval.value == smooth_ece(sample.build(), sigma=sigma)
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
    plain = kernels.node_sums_numpy(s, flags, axis)
    np.testing.assert_allclose(plain.sum(axis=(0, 1)), [s.size, s.sum()], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernels_numba.node_sums(s, flags, axis), plain, atol=1e-9)


def test_gathering_in_pieces_and_many_nodes():
    s = np.random.default_rng(0).random(2 * kernels.CHUNK + 17)
    flags = s > 0.7
    axis = kernels.Axis(2**18)
    total = kernels.node_sums_numpy(s, flags, axis)
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
