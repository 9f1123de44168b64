"""Contradictions are found, and false alarms are very rare."""

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg import PUScores, ece
from noneg.performance.assumptions import check_assumptions, largest_prior, noise_floor
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian.calibrated(0.3)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_the_truth_is_rarely_contradicted(setting):
    wrong = 0
    for seed in range(200):
        scores = WORLD.draw(150, 1000, setting=setting, seed=seed)
        wrong += any(c.verdict == "contradicted" for c in check_assumptions(scores))
    # Two families of checks at 5% each; 3.4 standard errors of a share of 10% among 200.
    assert wrong / 200 <= 0.10 + 3.4 * np.sqrt(0.1 * 0.9 / 200)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_true_prior_of_rare_positives_is_rarely_contradicted(weighted):
    """Scores that separate the classes leave no slack: PPR / TPR is the prior at every cut."""
    wrong, runs, prior = 0, 200, 0.005
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        hidden = rng.random(5000) < prior
        unlabeled = np.where(hidden, 0.5, 0.0) + rng.uniform(0.0, 0.5, 5000)
        positive = rng.uniform(0.5, 1.0, 500)
        options = {}
        if weighted:
            weight = rng.choice([1.0, 4.0], 5500)
            kept = rng.random(5500) < 1.0 / weight
            positive, unlabeled = positive[kept[:500]], unlabeled[kept[500:]]
            options = {
                "positive_weight": weight[:500][kept[:500]],
                "unlabeled_weight": weight[500:][kept[500:]],
                "weight_kind": "importance",
            }
        scores = PUScores(positive, unlabeled, prior=prior, setting="two-sample", **options)
        wrong += check_assumptions(scores)[0].verdict == "contradicted"
    # At most 5%; 3 standard errors of that share among 200.
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_too_large_a_prior_is_contradicted(setting):
    scores = WORLD.draw(2000, 10_000, setting=setting, seed=1)
    assert 0.3 <= largest_prior(scores) < 0.42
    verdicts = {c.name: c.verdict for c in check_assumptions(scores.with_prior(0.55))}
    assert verdicts["prior"] == verdicts["negatives"] == "contradicted"


def test_biased_positives_are_contradicted():
    rng = np.random.default_rng(0)
    unlabeled = WORLD.draw_rows(20_000, seed=0)[0]
    easy = np.sort(WORLD.draw_rows(20_000, seed=1)[0])[-500:]
    scores = PUScores(rng.permutation(easy), unlabeled, prior=0.3, setting="two-sample")
    assert check_assumptions(scores)[0].verdict == "contradicted"


def test_the_floor_is_what_calibrated_scores_show():
    world = LogisticGaussian.calibrated()
    errors, floors = [], []
    for seed in range(200):
        scores = world.draw(60, 60_000, setting="two-sample", seed=seed)
        errors.append(ece(scores))
        floors.append(noise_floor(scores))
    error = np.std(errors, ddof=1) / np.sqrt(200)
    # The floor uses the normal approximation for counts of about five per bin.
    assert abs(np.mean(errors) - np.mean(floors)) < 4 * error + 0.03 * np.mean(floors)


@given(samples())
def test_any_data_gets_sentences(sample):
    checks = check_assumptions(sample.build())
    assert len(checks) == (0 if sample.setting == "labeled" else 3)
    for check in checks:
        assert check.sentence.endswith(".")
        assert check.to_dict()["verdict"] in ("holds", "doubtful", "contradicted")


def test_the_largest_prior_grows_with_the_selection_factor():
    """Labeled positives favor high scores twofold: random labels would rule out the true prior."""
    rng = np.random.default_rng(0)
    prior, n = 0.4, 20_000
    positive, negative = rng.beta(4, 2, n), rng.beta(1, 6, n)
    unlabeled = np.where(rng.random(n) < prior, rng.permutation(positive), negative)
    fresh = rng.beta(4, 2, 4 * n)
    # Densities relative to all positives are 4/3 above the median and 2/3 below it.
    kept = fresh[rng.random(fresh.size) < np.where(fresh > np.median(fresh), 1.0, 0.5)]
    scores = PUScores(kept[:5000], unlabeled, prior=prior, setting="two-sample")
    limits = [largest_prior(scores.with_selection(factor)) for factor in (1.0, 1.5, 2.0, 10.0)]
    assert limits == sorted(limits)
    assert limits[0] < prior < limits[1]
    assert limits[-1] == 1.0
    assert check_assumptions(scores)[0].verdict == "contradicted"
    assert check_assumptions(scores.with_selection(1.5))[0].verdict == "holds"
