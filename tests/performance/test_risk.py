"""Risks: scikit-learn's losses on labeled data, both forms, and intervals that cover."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from sklearn import metrics as sk
from strategies import samples

from noneg import PUScores, performance as pf
from noneg.calibration.proper import brier, brier_interval, log_loss
from noneg.losses import CLIP, check_cost, cost_threshold
from noneg.simulation import LogisticGaussian

LOSSES = ["zero-one", "cost-sensitive", "brier", "log", "hinge", "sigmoid", "logistic"]
SETTINGS = ["two-sample", "one-sample", "labeled"]


def margin(s):
    return logit(np.clip(s, CLIP, 1 - CLIP))


REFERENCES = {
    "zero-one": lambda y, s: sk.zero_one_loss(y, s >= 0.5),
    "cost-sensitive": lambda y, s: sk.zero_one_loss(y, s >= 0.5),
    "brier": sk.brier_score_loss,
    "log": lambda y, s: sk.log_loss(y, np.column_stack([1 - s, s]), labels=[0, 1]),
    "hinge": lambda y, s: sk.hinge_loss(y, margin(s), labels=[0, 1]),
    "sigmoid": lambda y, s: float(np.mean(1 / (1 + np.exp((2 * y - 1) * margin(s))))),
    "logistic": lambda y, s: float(np.mean(np.logaddexp(0, -(2 * y - 1) * margin(s)))),
}


@pytest.mark.parametrize("loss", LOSSES)
@given(sample=samples(settings=("labeled",)))
def test_labeled_risks_are_plain_means(loss, sample):
    y, s = sample.flags.astype(int), sample.score
    inside = np.clip(s, CLIP, 1 - CLIP)  # scikit-learn clips one of the two columns
    expected = REFERENCES[loss](y, inside if loss == "log" else s)
    tolerance = 1e-12 if loss != "sigmoid" else 1e-9
    assert_allclose(pf.risk(sample.build(), loss), expected, rtol=1e-12, atol=tolerance)
    assert_allclose(
        pf.risk(sample.build(), loss, form="non-negative"), expected, rtol=1e-12, atol=tolerance
    )


@given(sample=samples())
def test_losses_known_elsewhere_agree(sample):
    scores = sample.build()
    assert_allclose(pf.risk(scores, "brier"), brier(scores), atol=1e-12)
    assert_allclose(pf.risk(scores, "log"), log_loss(scores), atol=1e-10)
    assert_allclose(pf.risk(scores), 1 - pf.accuracy(scores), atol=1e-12)
    a, b = pf.risk_interval(scores, "brier"), brier_interval(scores)
    if min(scores.n_positive, scores.n_marginal) > 1:
        assert_allclose([a.low, a.high], [b.low, b.high], atol=1e-9)


@given(sample=samples(), threshold=st.floats(0.01, 0.99))
def test_a_function_of_score_and_label_is_a_loss(sample, threshold):
    def loss(s, label):
        return np.where(s >= threshold, 0.0, 3.0) if label else np.where(s >= threshold, 2.0, -1.0)

    named = {"loss": "cost-sensitive", "cost": [[-1, 2], [3, 0]], "threshold": threshold}
    scores = sample.build()
    assert_allclose(pf.risk(scores, loss), pf.risk(scores, **named), atol=1e-12)
    # For a function, neither its range nor whether it is a decision is known.
    free, bounded = pf.risk_interval(scores, loss), pf.risk_interval(scores, **named)
    assert_allclose(np.clip(free.value, -1.0, 3.0), bounded.value, atol=1e-12)
    assert -1.0 <= bounded.low <= bounded.value <= bounded.high <= 3.0


@given(sample=samples())
def test_costs_are_those_of_the_confusion_matrix(sample):
    scores = sample.build()
    cost = np.array([[0.5, 2.0], [3.0, 0.0]])
    t = cost_threshold(cost)
    matrix = pf.confusion(scores, threshold=t)
    expected = (cost * [[matrix.tn, matrix.fp], [matrix.fn, matrix.tp]]).sum()
    assert_allclose(pf.risk(scores, "cost-sensitive", cost=cost), expected, atol=1e-12)


@given(sample=samples(), loss=st.sampled_from(LOSSES), seed=st.integers(0, 99))
def test_row_order_is_irrelevant_and_a_row_twice_has_weight_two(sample, loss, seed):
    index = np.random.default_rng(seed).permutation(sample.score.size)
    twice = sample.take(np.repeat(index, 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = (pf.risk_interval(scores, loss) for scores in (twice, weighted))
    assert_allclose([a.value, a.low, a.high], [b.value, b.low, b.high], atol=1e-6)


@given(sample=samples(), loss=st.sampled_from(LOSSES))
def test_the_forms_differ_by_the_negative_part(sample, loss):
    scores = sample.build()
    plain = pf.risk_interval(scores, loss)
    raised = pf.risk_interval(scores, loss, form="non-negative")
    assert raised.value >= plain.value - 1e-12
    assert raised.low >= 0.0
    assert raised.low - 1e-12 <= raised.value <= raised.high + 1e-12
    raw = raised.value if raised.raw is None else raised.raw
    assert raw == pf.risk(scores, loss, form="non-negative")


def test_negatives_that_cannot_be_are_raised_to_nothing():
    scores = PUScores([0.9, 0.8], [0.2, 0.1], prior=0.5, setting="two-sample")
    assert pf.risk(scores) == -0.5
    assert pf.risk(scores, form="non-negative") == 0.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_an_interval_of_priors_is_covered_exactly(setting, loss):
    scores = LogisticGaussian.less_calibrated(0.4).draw(60, 300, setting=setting, seed=1)
    wide = pf.risk_interval(scores.with_prior(0.4, (0.3, 0.6)), loss)
    ends = [pf.risk_interval(scores.with_prior(p), loss) for p in np.linspace(0.3, 0.6, 31)]
    assert_allclose(wide.low, min(e.low for e in ends), atol=1e-12)
    assert_allclose(wide.high, max(e.high for e in ends), atol=1e-12)
    assert "every prior" in wide.method


def test_one_row_of_a_kind_carries_no_information_about_noise():
    scores = PUScores([0.9], [0.2, 0.4], prior=0.5, setting="two-sample")
    estimate = pf.risk_interval(scores, "brier")
    assert (estimate.low, estimate.high) == (0.0, 1.0)
    assert pf.risk_interval(scores, "brier", form="non-negative").low == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "absolute"}, "'loss' must be one of zero-one"),
        ({"form": "positive"}, "'form' must be"),
        ({"loss": "log", "clip": 0.0}, "'clip' must be"),
        ({"loss": "hinge", "clip": 0.5}, "'clip' must be"),
        ({"loss": "cost-sensitive", "cost": [1, 2, 3]}, "'cost' must be a pair"),
        ({"loss": "cost-sensitive", "cost": [-1, 2]}, "both mistakes more costly"),
        ({"threshold": "high"}, "'threshold' must be a number"),
    ],
)
def test_wrong_options_are_rejected_with_a_message(options, words):
    scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    with pytest.raises(ValueError, match=words):
        pf.risk(scores, **options)


def test_costs_come_as_a_pair_or_a_matrix():
    assert cost_threshold(check_cost((1, 3))) == 0.25
    assert_allclose(check_cost([[0, 1], [3, 0]]), check_cost((1, 3)))


def expected_loss(loss, prior):
    """Risk in the population of LogisticGaussian.less_calibrated, by a fine Riemann sum."""
    x = np.linspace(-12, 12, 200_001)
    s = expit(-0.5 + 1.5 * x)
    total = 0.0
    for label, share in ((1, prior), (0, 1 - prior)):
        density = np.exp(-((x - (2 * label - 1)) ** 2) / 2) / math.sqrt(2 * math.pi)
        value = {
            "zero-one": (s >= 0.5) != label,
            "brier": (s - label) ** 2,
            "log": np.logaddexp(0, -(2 * label - 1) * (-0.5 + 1.5 * x)),
            "hinge": np.maximum(0, 1 - (2 * label - 1) * (-0.5 + 1.5 * x)),
            "sigmoid": np.abs(s - label),
        }[loss]
        total += share * float((density * value).sum() * (x[1] - x[0]))
    return total


@pytest.mark.parametrize("setting", SETTINGS)
def test_risks_are_right_on_average_and_intervals_cover(setting):
    trials, names = 150, ["zero-one", "brier", "log", "hinge", "sigmoid"]
    covered = []
    for k, prior in enumerate((0.02, 0.1, 0.5)):
        world = LogisticGaussian.less_calibrated(prior)
        sizes = {
            "labeled": {"n": 2500},
            "two-sample": {"n_positive": 250, "n_unlabeled": 2250},
            "one-sample": {"n_positive": min(250, int(1000 * prior)), "n_unlabeled": 2250},
        }[setting]
        target = np.array([expected_loss(name, prior) for name in names])
        found = np.array(
            [
                [(e.value, e.low, e.high) for e in (pf.risk_interval(scores, n) for n in names)]
                for seed in range(trials)
                for scores in [world.draw(setting=setting, seed=1000 * k + seed, **sizes)]
            ]
        )
        value, low, high = np.moveaxis(found, -1, 0)
        error = value.mean(axis=0) - target
        assert (np.abs(error) < 4 * value.std(axis=0) / math.sqrt(trials)).all()
        covered.append(((low <= target) & (target <= high)).mean(axis=0))
    assert np.min(covered) > 0.95 - 4 * math.sqrt(0.95 * 0.05 / trials)
    assert 0.92 < np.mean(covered) < 0.98
