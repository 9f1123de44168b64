"""Criteria for model selection: exact identities, and what they estimate."""

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg import PUScores
from noneg.performance.ordering import (
    CRITERIA,
    find_criterion,
    oracle_accuracy,
    oracle_accuracy_interval,
    placements,
    proxy_accuracy,
    proxy_accuracy_interval,
    proxy_auc,
    proxy_auc_interval,
    select,
)
from noneg.performance.paired import Differences, PairedRows
from noneg.performance.ranking import auroc, auroc_interval
from noneg.performance.thresholds import accuracy
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian(beta0=-0.5, beta1=1.5, prior=0.3)
T = 0.4


def definition_1(flags, s, prior, setting, threshold):
    rest = s if setting == "one-sample" else s[~flags]
    return 2.0 * prior * np.mean(s[flags] >= threshold) + np.mean(rest < threshold)


def published_code(flags, s, prior, threshold):
    """The one-sample branch of the benchmark's code: labeled positives with the opposite sign."""
    hits = (s[flags] >= threshold).sum() + (s[~flags] < threshold).sum()
    return 2.0 * prior * np.mean(s[flags] >= threshold) + hits / s.size


def definition_2(flags, s):
    one, other = s[flags][:, None], s[~flags][None, :]
    return np.mean((one > other) + (one == other) / 2.0)


@given(samples())
def test_definitions_hold_row_by_row(sample):
    scores = sample.build()
    assert proxy_auc(scores) == pytest.approx(definition_2(sample.flags, sample.score))
    assert proxy_accuracy(scores, threshold=0.5) == pytest.approx(
        accuracy(scores, threshold=0.5) + scores.prior
    )
    if sample.setting != "labeled":
        expected = definition_1(sample.flags, sample.score, sample.prior, sample.setting, 0.5)
        assert proxy_accuracy(scores) == pytest.approx(expected)


@given(samples(settings=("two-sample", "one-sample")))
def test_the_auc_is_a_linear_function_of_the_proxy_auc(sample):
    scores = sample.build()
    n_p, n_u, prior = scores.n_positive, scores.n_unlabeled, scores.prior
    beta = prior if sample.setting == "two-sample" else (prior * (n_p + n_u) - n_p) / n_u
    assert (proxy_auc(scores) - beta / 2.0) / (1.0 - beta) == pytest.approx(auroc(scores))


@given(samples())
def test_weights_count_rows(sample):
    weight = 1.0 + np.arange(sample.score.size) % 3
    repeated = sample.take(np.repeat(np.arange(weight.size), weight.astype(int)))
    if sample.setting == "one-sample" and repeated.flags.mean() > repeated.prior:
        return
    weighted, plain = sample.build(sample_weight=weight), repeated.build()
    for interval in (proxy_auc_interval, proxy_accuracy_interval):
        one, two = interval(weighted), interval(plain)
        assert [one.value, one.low, one.high] == pytest.approx([two.value, two.low, two.high])


def draw_one_sample(rng, n=400, n_labeled=60):
    s, y = WORLD.draw_rows(n, rng)
    labeled = np.zeros(n, dtype=bool)
    labeled[rng.choice(np.flatnonzero(y), n_labeled, replace=False)] = True
    return s, y, labeled


def test_in_one_sample_the_mean_less_the_prior_is_the_accuracy():
    rng = np.random.default_rng(0)
    ours, theirs, oracle = [], [], []
    for _ in range(400):
        s, y, labeled = draw_one_sample(rng)
        scores = PUScores.from_pu_labels(labeled, s, prior=0.3, setting="one-sample")
        ours.append(proxy_accuracy(scores, threshold=T) - 0.3)
        theirs.append(published_code(labeled, s, 0.3, T) - 0.3)
        oracle.append(oracle_accuracy(y, s, threshold=T, labeled=labeled, setting="one-sample"))
    ours, theirs, oracle = map(np.array, (ours, theirs, oracle))
    error = np.std(ours - oracle) / 20.0
    assert abs(np.mean(ours - oracle)) < 3.5 * error
    # The published code counts labeled positives above the threshold instead of those below it.
    tpr = WORLD.draw(20_000, 10, setting="two-sample", seed=1)
    shift = 60 / 400 * (2.0 * np.mean(tpr.in_order()[1][0] >= T) - 1.0)
    assert np.mean(theirs - oracle) == pytest.approx(shift, abs=0.01)
    assert shift > 10.0 * error


def test_proxy_auc_uses_unlabeled_rows_only_in_one_sample():
    flags = np.array([1, 1, 0, 0])
    s = np.array([0.9, 0.4, 0.5, 0.1])
    for setting in ("one-sample", "two-sample"):
        assert proxy_auc(PUScores.from_pu_labels(flags, s, prior=0.6, setting=setting)) == 0.75


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_intervals_cover(setting):
    rng = np.random.default_rng(5)
    big = WORLD.draw(n=400_000, setting="labeled", seed=9)
    truth = accuracy(big, threshold=T) + 0.3
    beta = 0.3 if setting == "two-sample" else (0.3 * 500 - 80) / 420
    area = (1.0 - beta) * auroc(big) + beta / 2.0
    misses = np.zeros(2)
    for _ in range(300):
        scores = WORLD.draw(80, 420, setting=setting, seed=rng)
        one = proxy_accuracy_interval(scores, threshold=T)
        two = proxy_auc_interval(scores)
        misses += [not one.low <= truth <= one.high, not two.low <= area <= two.high]
    # With 300 draws, a share of 5% has a standard error of 1.3%.
    assert (misses / 300 < 0.05 + 3.0 * 0.0126).all()
    assert misses.sum() > 5  # they are not trivially wide


def test_the_interval_is_delongs_when_all_is_labeled():
    scores = WORLD.draw(n=300, setting="labeled", seed=0)
    one, two = proxy_auc_interval(scores), auroc_interval(scores)
    assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_the_prior_does_not_move_the_proxy_auc():
    scores = WORLD.draw(50, 200, setting="two-sample", seed=0)
    assert proxy_auc_interval(scores.with_prior(0.6, (0.4, 0.7))) == proxy_auc_interval(scores)


def test_undefined_and_single_rows():
    empty = PUScores.from_labels([0, 0], [0.1, 0.2])
    assert np.isnan(proxy_auc(empty))
    assert (proxy_auc_interval(empty).low, proxy_auc_interval(empty).high) == (0.0, 1.0)
    single = proxy_auc_interval(PUScores([0.9], [0.1, 0.2], prior=0.3, setting="two-sample"))
    assert (single.value, single.low, single.high) == (1.0, 0.0, 1.0)


def test_placements_weigh_and_split_ties():
    group, mass = np.array([0.1, 0.2, 0.2]), np.array([1.0, 2.0, 1.0])
    np.testing.assert_allclose(placements(np.array([0.0, 0.2, 0.3]), group, mass), [0, 0.625, 1])


def test_oracle_accuracy_follows_definition_3():
    y, s = np.array([1, 1, 0, 0, 1]), np.array([0.9, 0.5, 0.6, 0.1, 0.2])
    labeled = np.array([1, 0, 0, 0, 0])
    assert oracle_accuracy(y, s) == 0.6
    assert oracle_accuracy(y, s, labeled=labeled, setting="one-sample") == 0.6
    assert oracle_accuracy(y, s, labeled=labeled, setting="two-sample") == 0.5
    assert oracle_accuracy(y, s, sample_weight=[0, 1, 1, 1, 1]) == 0.5
    one = oracle_accuracy_interval(y, s, labeled=labeled, setting="two-sample", level=0.9)
    assert one.low < 0.5 < one.high
    weighted = oracle_accuracy_interval(y, s, sample_weight=[0, 1, 1, 1, 1])
    assert weighted.value == 0.5
    words = oracle_accuracy_interval(np.where(y, "yes", "no"), s, positive_label="yes")
    assert words.value == 0.6
    with pytest.raises(ValueError, match="'setting' must specify"):
        oracle_accuracy(y, s, labeled=labeled)
    with pytest.raises(ValueError, match="'labeled' must have one entry per row"):
        oracle_accuracy(y, s, labeled=[1], setting="one-sample")


def test_the_table_of_criteria_has_values_intervals_and_directions():
    good = LogisticGaussian.calibrated(0.3).draw(400, 4000, setting="two-sample", seed=0)
    noise = np.random.default_rng(0).random(4400)
    bad = PUScores(noise[:400], noise[400:], prior=0.3, setting="two-sample")
    models = {"bad": bad, "good": good}
    for name, criterion in CRITERIA.items():
        found = criterion.interval(good, level=0.9)
        assert found.value == criterion.function(good)
        assert found.low <= found.value <= found.high
        assert criterion.merit(1.0) == {"higher": 1.0, "lower": -1.0}[criterion.better]
        assert select(models, by=name) == "good"
    assert select(models, by="proxy_accuracy", threshold=0.3) == "good"


def test_wrong_criteria_are_explained():
    with pytest.raises(
        ValueError, match=r"'criteria' must be a registered metric .*proxy_accuracy.*got 'x'"
    ):
        find_criterion("x")
    empty = PUScores.from_labels([0, 0], [0.1, 0.2])
    with pytest.raises(
        ValueError, match="'models' must include a model for which proxy_auc is defined"
    ):
        select({"a": empty})


def test_rows_of_weight_zero_are_not_compared():
    models = {"a": [0.9, 0.6, 0.4, 0.2, 0.7], "b": [0.9, 0.6, 0.4, 0.2, 0.1]}
    options = {"setting": "two-sample", "sample_weight": [1, 1, 1, 1, 0]}
    rows = PairedRows.checked(models, [1, 1, 0, 0, 1], **options)
    found = Differences(rows, rows.scores(0.4, None), threshold=0.5, level=0.95)
    assert found.estimate(CRITERIA["brier"], "a", "b").method == "equal scores"
    with pytest.raises(ValueError, match="'label' must contain at least one labeled positive"):
        PairedRows.checked(models, [0, 0, 0, 0, 1], **options)
