"""Errors from kernel densities: outside references, slow oracles, laws and intervals."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import binom
from strategies import samples

from noneg import PUScores
from noneg.calibration import (
    kernel_ece,
    kernel_ece_interval,
    logit_smoothed_ece,
    logit_smoothed_ece_interval,
)
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "smooth.json").read_text())
ERRORS = {"kernel": kernel_ece, "logit": logit_smoothed_ece}
INTERVALS = {"kernel": kernel_ece_interval, "logit": logit_smoothed_ece_interval}


def reference_sample():
    """The sample of reference/make_smooth.py."""
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    truth = s + 0.15 * np.sin(2 * np.pi * s)
    return PUScores.from_labels(((i * 0.7548776662466927) % 1.0 < truth).astype(int), s)


def laws(sample):
    """Scores of both laws and the prior, from the definition of the setting."""
    positive = sample.score[sample.flags]
    if sample.setting == "two-sample":
        return positive, sample.score[~sample.flags], sample.prior
    prior = sample.flags.mean() if sample.setting == "labelled" else sample.prior
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


@given(samples(settings=("labelled",), max_size=12), st.sampled_from([1.5, 2, 5]))
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
@given(sample=samples(settings=("labelled",)))
@settings(max_examples=15)
def test_pu_error_is_the_labelled_error_when_nothing_is_hidden(name, sample):
    if sample.flags.all():
        return
    labelled = sample.build()
    prior = labelled.prior
    separate = PUScores(sample.score[sample.flags], sample.score, prior=prior, setting="two-sample")
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    expected = ERRORS[name](labelled)
    assert ERRORS[name](separate) == pytest.approx(expected, abs=1e-10)
    assert ERRORS[name](one) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", ERRORS)
@given(sample=samples(), random=st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_row_order_and_copies_are_irrelevant(name, sample, random):
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


@given(samples(settings=("one-sample", "labelled")))
@settings(max_examples=15)
def test_norms_are_ordered(sample):
    scores = sample.build()
    errors = [kernel_ece(scores, bandwidth=0.05, p=p) for p in (1, 1.5, 2, 10)]
    assert all(a <= b + 1e-6 for a, b in pairwise(errors))


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=10)
def test_a_narrow_kernel_leaves_separate_points_alone(rows):
    place, labels = (np.array(x) for x in zip(*rows, strict=True))
    labels[0] = True
    s = place / 20
    total = np.abs(np.bincount(place, weights=(labels - s) / s.size)).sum()
    labelled = PUScores.from_labels(labels, s)
    assert kernel_ece(labelled, bandwidth=4e-3) == pytest.approx(total, abs=4e-3)
    assert logit_smoothed_ece(labelled, sigma=1e-2) == pytest.approx(total, abs=1e-2)


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
def test_degenerate_data(name, labels, s, expected):
    labelled = PUScores.from_labels(labels, s)
    options = {"bandwidth": 1e-3} if name == "kernel" else {"sigma": 1e-2}
    assert ERRORS[name](labelled, **options) == pytest.approx(expected, abs=3e-3)
    assert np.isfinite(ERRORS[name](labelled))
    interval = INTERVALS[name](labelled)
    assert 0 <= interval.low <= interval.value <= interval.high


@pytest.mark.parametrize("name", ERRORS)
def test_one_row_of_each(name):
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
    many = world.draw(n=100_000, setting="labelled", seed=1)
    for p in (1, 2):
        expected = kernel_ece(law, bandwidth=0.05, p=p)
        assert kernel_ece(many, bandwidth=0.05, p=p) == pytest.approx(expected, abs=5e-3)
    assert logit_smoothed_ece(many) == pytest.approx(logit_smoothed_ece(law), abs=5e-3)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", ERRORS)
def test_hidden_labels_do_not_matter_on_average(name, setting):
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


WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}
OPTIONS = {
    "kernel": {"bandwidth": 0.05},
    "kernel, p = 2": {"bandwidth": 0.05, "p": 2},
    "logit": {"sigma": 0.3},
}


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_nominal_95_percent_covers(name, world, setting):
    world, trials, options = WORLDS[world], 30, OPTIONS[name]
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    error, interval = ERRORS[name.split(",")[0]], INTERVALS[name.split(",")[0]]
    target, covered, below = error(law, **options), 0, 0
    for seed in range(trials):
        n = {"n": 1500} if setting == "labelled" else {"n_positive": 150, "n_unlabeled": 1500}
        found = interval(world.draw(**n, setting=setting, seed=seed), **options)
        covered += found.low <= target <= found.high
        below += found.low <= (world.tce() if name != "kernel, p = 2" else target)
    # Fewer hits than this have a probability below 0.1 % if the coverage is 95 %.
    assert covered >= binom.ppf(0.001, trials, 0.95)
    assert below >= binom.ppf(0.001, trials, 0.975)


@pytest.mark.parametrize("name", ERRORS)
@given(sample=samples(), random=st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_the_interval_obeys_the_same_laws(name, sample, random):
    options = {"bandwidth": 0.05} if name == "kernel" else {"sigma": 0.3}
    order = list(range(sample.score.size))
    random.shuffle(order)
    interval = INTERVALS[name](sample.build(), **options)
    assert 0 <= interval.low <= interval.value <= interval.high
    assert interval.value == ERRORS[name](sample.build(), **options)
    other = INTERVALS[name](sample.take(order).build(), **options)
    assert (interval.low, interval.high) == pytest.approx((other.low, other.high), abs=1e-7)
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = (INTERVALS[name](x, **options) for x in (twice, weighted))
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-7)


@pytest.mark.parametrize("p", [1, 2])
def test_an_unknown_prior_widens_the_interval_to_hold_for_each(p):
    scores = WORLDS["less"].draw(400, 2000, setting="two-sample", seed=3)
    options = {"bandwidth": 0.1, "p": p}
    unsure = kernel_ece_interval(scores.with_prior(0.5, interval=(0.45, 0.55)), **options)
    for prior in np.linspace(0.45, 0.55, 7):
        sure = kernel_ece_interval(scores.with_prior(prior), **options)
        assert unsure.low <= sure.low + 1e-9
        assert sure.high <= unsure.high + 1e-9
    assert "every prior in [0.45, 0.55]" in unsure.method
    assert "smoothing bias" in unsure.method
