"""Bins: their edges, their contents, and their optimal number."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import Sample, samples

from noneg import PUScores
from noneg.bins import bin_scores, mass_edges, optimal_bin_count, square_roots
from noneg.simulation import LogisticGaussian


def marginal(sample: Sample) -> np.ndarray:
    """Return the marginal sample, from the definition of the setting."""
    return sample.score[~sample.flags] if sample.setting == "two-sample" else sample.score


def naive_residual(sample: Sample, edges: np.ndarray, prior: float) -> np.ndarray:
    """Compute residuals in a loop over bins, directly from the definition."""
    p, m = sample.score[sample.flags], marginal(sample)
    out = []
    for b in range(1, edges.size):
        low, high = edges[b - 1], edges[b]
        first, last = b == 1, b == edges.size - 1
        inside = [((x > low) | first) & ((x <= high) | last) for x in (p, m)]
        out.append(prior * inside[0].sum() / p.size - m[inside[1]].sum() / m.size)
    return np.array(out)


@given(samples(), st.integers(1, 30))
def test_mass_edges_are_order_statistics(sample, n_bins):
    scores = sample.build()
    n_bins = max(1, min(n_bins, int(scores.n_marginal) // 2))
    m = np.sort(marginal(sample))
    expected = [m[m.size * b // n_bins - 1] for b in range(1, n_bins)]
    assert np.array_equal(mass_edges(scores, n_bins), [0.0, *expected, 1.0])


@given(samples(), st.integers(1, 30), st.sampled_from(["width", "mass", "edges"]))
def test_residuals_are_the_definition(sample, n_bins, binning):
    scores = sample.build()
    if binning == "edges":
        inner = np.sort(np.random.default_rng(n_bins).random(n_bins - 1))
        binned = bin_scores(scores, edges=np.concatenate([[0.0], inner, [1.0]]))
    else:
        n_bins = max(1, min(n_bins, int(scores.n_marginal) // 2))
        binned = bin_scores(scores, bins=n_bins, binning=binning)
    distinct = np.concatenate([[True], np.diff(binned.edges[:-1]) > 0])
    if distinct.all():
        naive = naive_residual(sample, binned.edges, scores.prior)
        np.testing.assert_allclose(binned.residual, naive, atol=1e-13)
    assert binned.positive.sum() == pytest.approx(1)
    assert binned.marginal.sum() == pytest.approx(1)
    assert binned.residual.sum() == pytest.approx(scores.prior - marginal(sample).mean(), abs=1e-12)


@given(samples(), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    a, b = bin_scores(sample.build()), bin_scores(sample.take(order).build())
    assert np.array_equal(a.edges, b.edges)
    np.testing.assert_allclose(a.residual, b.residual, atol=1e-14)


def test_ties_stay_together_and_leave_empty_bins():
    scores = PUScores.from_labels([0, 1] * 50, [0.3] * 90 + [0.7] * 10)
    binned = bin_scores(scores, bins=10)
    assert binned.occupied.sum() == 2
    assert binned.n_bins == 10


def test_positives_above_every_marginal_score_belong_to_the_last_bin():
    scores = PUScores([0.99], [0.1, 0.2, 0.3, 0.4], prior=0.5, setting="two-sample")
    binned = bin_scores(scores, bins=2)
    assert binned.positive.tolist() == [0, 1]
    assert binned.residual[1] == pytest.approx(0.5 - 0.7 / 4)


def test_an_empty_marginal_bin_keeps_its_positives():
    scores = PUScores([0.9], [0.1, 0.2], prior=0.5, setting="two-sample")
    binned = bin_scores(scores, bins=2, binning="width")
    assert binned.residual[1] == 0.5
    assert np.isnan(binned.frequency[1])


@pytest.mark.parametrize(
    ("n_positive", "n_unlabeled", "prior", "expected"),
    [
        (8788, 35152, 0.5, 26),
        (1000, 10_000, 0.5, 15),
        (10, 1000, 0.1, 8),
        (1, 2, 0.5, 1),
        (4, 4, 0.1, 2),
    ],
)
def test_optimal_number_for_pu_data(n_positive, n_unlabeled, prior, expected):
    u = np.linspace(0, 1, n_unlabeled)
    scores = PUScores(u[:n_positive], u, prior=prior, setting="two-sample")
    assert optimal_bin_count(scores) == expected


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (7, 1), (8, 2), (999, 9), (1000, 10)])
def test_optimal_number_for_labeled_data(n, expected):
    scores = PUScores.from_labels(np.arange(n) % 2, np.full(n, 0.5))
    assert optimal_bin_count(scores) == expected


def test_infinite_samples_use_population_quantiles():
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    scores = world.draw(50, math.inf, setting="two-sample", seed=0)
    binned = bin_scores(scores, bins=8)
    np.testing.assert_allclose(binned.marginal, 1 / 8, atol=1e-9)
    assert scores.marginal_quantiles(np.array([0.5]))[0] == pytest.approx(binned.edges[4])
    other = world.draw(math.inf, 100, setting="two-sample", seed=0)
    assert bin_scores(other, bins=5).n_bins == 5


def test_variance_matches_the_spread_of_repeated_draws():
    world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    edges = np.linspace(0, 1, 6)
    v = np.array([1.0, -1.0, 0.5, 1.0, -0.3])
    draws = {
        "two-sample": lambda seed: world.draw(300, 900, setting="two-sample", seed=seed),
        "one-sample": lambda seed: world.draw(300, 900, setting="one-sample", seed=seed),
        "labeled": lambda seed: world.draw(n=900, setting="labeled", seed=seed),
    }
    for name, draw in draws.items():
        binned = [bin_scores(draw(seed), edges=edges) for seed in range(600)]
        spread = np.var([v @ b.residual for b in binned], ddof=1)
        claimed = np.mean([b.variance(v) for b in binned])
        # The relative standard error of a variance from 600 draws is sqrt(2 / 599) = 5.8%.
        assert abs(spread / claimed - 1) < 4 * math.sqrt(2 / 599), name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 0}, "positive integer or 'optimal', got 0"),
        ({"bins": 2.5}, "got 2.5"),
        ({"bins": True}, "got True"),
        ({"bins": "many"}, "got 'many'"),
        ({"bins": 3}, "at most half the 4 marginal rows"),
        ({"binning": "depth"}, "'mass'.*got 'depth'"),
        ({"edges": [0.0, 0.5]}, "increase from 0 to 1"),
        ({"edges": [0.0, 0.7, 0.5, 1.0]}, "increase"),
        ({"edges": [0.0, math.nan, 1.0]}, "got .*nan"),
    ],
    ids=str,
)
def test_bad_bins_get_a_sentence(options, words):
    scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    with pytest.raises(ValueError, match=words):
        bin_scores(scores, **options)


def test_two_bins_of_equal_mass_need_four_rows():
    scores = PUScores([0.9], [0.8, 0.3, 0.2], prior=0.4, setting="two-sample")
    assert bin_scores(scores, bins=1).n_bins == 1
    with pytest.raises(ValueError, match=r"half the 3 marginal rows .* got 2\. Use at most 1,"):
        bin_scores(scores, bins=2)


@given(st.integers(0, 1000), st.integers(1, 3))
def test_square_roots_restore_the_covariance(seed, rank):
    factor = np.random.default_rng(seed).normal(size=(4, 3, rank))
    matrices = factor @ np.swapaxes(factor, -1, -2)
    root = square_roots(matrices)
    np.testing.assert_allclose(root @ np.swapaxes(root, -1, -2), matrices, atol=1e-6)
    assert np.array_equal(root, np.tril(root))


def test_edges_of_fewer_weighty_rows_than_bins():
    """The lowest scores have no weight, and the first edges have rank zero."""
    scores = PUScores(
        [0.5],
        [1e-7, 0.3, 0.9, 0.9],
        prior=0.5,
        setting="two-sample",
        unlabeled_weight=[0.0, 0.0, 2.0, 2.0],
        weight_kind="importance",
    )
    assert mass_edges(scores, 5) == pytest.approx([0.0, 0.9, 0.9, 0.9, 0.9, 1.0])
