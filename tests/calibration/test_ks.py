"""The Kolmogorov-Smirnov error: its definition, other libraries' values, buckets and intervals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import samples
from strategies import scores as score_lists

from noneg import PUScores, ece, kernels
from noneg.bins import bin_scores
from noneg.calibration import smooth
from noneg.calibration.smooth import ks_error, ks_error_interval
from noneg.simulation import LogisticGaussian

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "errors.json").read_text())
WORLDS = {
    "less": LogisticGaussian(beta0=-0.5, beta1=1.5),
    "calibrated": LogisticGaussian(beta0=0.0, beta1=2.0),
}


def draw(world, setting, seed, n=200):
    if setting == "labelled":
        return world.draw(n=5 * n, setting=setting, seed=seed)
    return world.draw(n, 4 * n, setting=setting, seed=seed)


def truth(world):
    law = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    return np.abs(np.cumsum(bin_scores(law, edges=np.linspace(0, 1, 2001)).residual)).max()


@pytest.mark.parametrize("kind", ["even", "rough"])
def test_labelled_error_is_that_of_other_libraries(kind):
    i = np.arange(1, REFERENCE["rows"] + 1)
    s = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    y = ((step * 0.7548776662466927) % 1.0 < s**1.5).astype(int)
    values, got = REFERENCE["values"][kind], ks_error(PUScores.from_labels(y, s))
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
def test_the_definition(sample):
    scores = sample.build()
    assert ks_error(scores) == pytest.approx(by_definition(sample, scores.prior), abs=1e-12)


@pytest.fixture(params=["numpy", "numba"])
def buckets(request, monkeypatch):
    """Make a few rows take the path of very many."""
    monkeypatch.setattr(smooth, "FEW_ROWS", 0)
    if request.param == "numba":
        monkeypatch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        monkeypatch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)


def near(sample, bits):
    """The same rows with scores so close that several share a bucket."""
    return type(sample)(sample.setting, sample.flags, 0.3 + sample.score * 2.0**-bits, sample.prior)


@pytest.mark.usefixtures("buckets")
def test_buckets_give_the_same_error():
    # Hypothesis does not mix with function-scoped fixtures: the property is inside.
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


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
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
    plain = kernels.bucket_triples_numpy(s, flags)
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


@given(samples(settings=("labelled",)))
def test_pu_error_is_the_labelled_error_when_nothing_is_hidden(sample):
    labelled = sample.build()
    if not sample.flags.all():
        separate = PUScores(
            sample.score[sample.flags], sample.score, prior=labelled.prior, setting="two-sample"
        )
        one = PUScores.from_pu_labels(
            sample.flags, sample.score, prior=labelled.prior, setting="one-sample"
        )
        for scores in (separate, one):
            assert ks_error(scores) == pytest.approx(ks_error(labelled), abs=1e-12)


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
def test_a_wrong_prior_moves_the_error_by_no_more_than_itself(sample, other):
    scores = sample.build()
    if sample.setting == "one-sample":
        other = min(max(other, sample.flags.mean() + 1e-6), 1 - 1e-6)
    gap = abs(ks_error(scores) - ks_error(scores.with_prior(other)))
    assert gap <= abs(scores.prior - other) + 1e-12


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_error_converges_from_above(name, setting):
    world, target = WORLDS[name], truth(WORLDS[name])
    few = [ks_error(draw(world, setting, seed)) for seed in range(40)]
    many = [ks_error(draw(world, setting, seed, n=4000)) for seed in range(40)]
    error = np.std(many, ddof=1) / math.sqrt(len(many))
    assert np.mean(few) > target - 4 * np.std(few, ddof=1) / math.sqrt(len(few))
    # The largest of noise around the truth: a bias of the order of one standard deviation is left.
    assert -4 * error < np.mean(many) - target < 4 * error + 0.02


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labelled"])
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
def test_an_unknown_prior_widens_the_interval_to_hold_for_each(setting):
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


def test_a_population_is_refused_in_words():
    scores = WORLDS["less"].draw(100, math.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="must hold rows for this metric"):
        ks_error(scores)


def test_bad_level():
    with pytest.raises(ValueError, match="confidence level"):
        ks_error_interval(draw(WORLDS["less"], "labelled", 0), level=1)
