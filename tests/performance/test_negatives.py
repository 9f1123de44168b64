"""Certified negatives: the false discovery rate holds, with ties and weights."""

import numpy as np
import pytest
from scipy.special import expit

from noneg import PUScores
from noneg.errors import InputError
from noneg.performance import certified_negatives, positive_p_values


def by_hand(p, u, level):
    """Benjamini and Hochberg on conformal p-values, row by row."""
    values = np.array([(1 + sum(s <= x for s in p)) / (len(p) + 1) for x in u])
    order = np.sort(values)
    passed = np.flatnonzero(order <= level * np.arange(1, len(u) + 1) / len(u))
    return values <= (order[passed[-1]] if passed.size else -1)


@pytest.mark.parametrize("ties", [False, True])
def test_it_is_benjamini_hochberg(ties):
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, u = rng.beta(4, 2, 60), rng.beta(1, 4, 80)
        if ties:
            p, u = np.round(p, 1), np.round(u, 1)
        found = certified_negatives(PUScores(p, u, setting="two-sample"), fdr=0.1)
        assert np.array_equal(u <= found.cutoff, by_hand(p, u, 0.1))
        assert found.certified == (u <= found.cutoff).sum()
        known = certified_negatives(PUScores(p, u, prior=0.2, setting="two-sample"), fdr=0.1)
        assert np.array_equal(u <= known.cutoff, by_hand(p, u, 0.1 / 0.2))


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("prior_known", [False, True])
def test_the_false_discovery_rate_is_kept(setting, prior_known):
    rng, prior, draws, q = np.random.default_rng(1), 0.3, 300, 0.05
    wrong, power = [], []
    for _ in range(draws):
        y = rng.random(1000) < prior
        x = rng.normal(size=1000) + 2 * y
        p, kept = rng.normal(2, 1, 200), np.ones(1000, dtype=bool)
        if setting == "one-sample":
            labeled = y & (rng.random(1000) < 0.5)
            p, kept = x[labeled], ~labeled
        scores = PUScores(
            expit(p), expit(x[kept]), setting=setting, prior=prior if prior_known else None
        )
        certified = expit(x[kept]) <= certified_negatives(scores, fdr=q).cutoff
        wrong.append((certified & y[kept]).sum() / max(certified.sum(), 1))
        power.append((certified & ~y[kept]).sum() / (~y[kept]).sum())
    assert np.mean(wrong) <= q + 3 * np.std(wrong) / np.sqrt(draws)
    if prior_known:  # neither too lenient nor too strict
        assert np.mean(wrong) > 0.7 * q
        assert np.mean(power) > 0.6


def test_selection_counts_hidden_positives_where_they_hurt():
    p = np.arange(1, 100) / 100
    plain = PUScores(p, [0.5], setting="two-sample")
    at = np.array([0.005, 0.2, 0.9])
    share = positive_p_values(plain, at)
    assert share == pytest.approx([0.01, 0.21, 0.91])
    robust = positive_p_values(plain.with_selection(2.0), at)
    assert robust == pytest.approx(np.minimum(2 * share, 1 - (1 - share) / 2))


def test_weights():
    rng = np.random.default_rng(2)
    p, u, f, g = (
        rng.random(50) ** 0.3,
        rng.random(80),
        rng.integers(1, 4, 50),
        rng.integers(1, 4, 80),
    )
    weights = {"positive_weight": f, "unlabeled_weight": g}
    counted = PUScores(p, u, prior=0.3, setting="two-sample", **weights)
    repeated = PUScores(np.repeat(p, f), np.repeat(u, g), prior=0.3, setting="two-sample")
    one, two = (certified_negatives(x, fdr=0.1) for x in (counted, repeated))
    assert (one.cutoff, one.certified) == (two.cutoff, two.certified)
    unequal = PUScores([0.2, 0.8], [0.5], setting="two-sample", propensity=[0.25, 1.0])
    assert positive_p_values(unequal, np.array([0.1, 0.3])) == pytest.approx([4 / 9, 8 / 9])


def test_refusals_and_nothing_to_certify():
    scores = PUScores([0.1, 0.2], [0.5, 0.6], setting="two-sample")
    found = certified_negatives(scores)
    assert (found.certified, found.cutoff) == (0.0, -np.inf)
    for fdr in (0, 1, 5, "much"):
        with pytest.raises(InputError, match="fdr"):
            certified_negatives(scores, fdr=fdr)
    with pytest.raises(InputError, match="unlabeled"):
        certified_negatives(PUScores.from_labels([1, 0], [0.9, 0.1]))
