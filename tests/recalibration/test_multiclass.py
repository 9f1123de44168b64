"""Many classes: exact likelihoods, known populations, and probabilities that sum to one."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import log_softmax, softmax
from sklearn.exceptions import NotFittedError

from noneg import PUScores
from noneg.calibration import one_vs_rest
from noneg.recalibration import METHODS, CalibrationWarning, Platt
from noneg.recalibration.multiclass import (
    OneVsRest,
    TemperatureScaling,
    VectorScaling,
    _vector_loss,
)


def world(n, classes=4, seed=0):
    """Logits whose softmax is the label distribution."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)) * 1.5
    p = softmax(logits, axis=1)
    labels = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, classes - 1)
    return logits, labels, p


def loss(p, labels):
    return -np.log(p[np.arange(labels.size), labels]).mean()


class TestTemperature:
    def test_maximum_likelihood(self):
        logits, labels, _ = world(2000)
        found = TemperatureScaling().fit(2.5 * logits, labels)
        beta = 1.0 / found.temperature_
        z = 2.5 * logits
        slope = np.mean((softmax(beta * z, axis=1) * z).sum(1) - z[np.arange(2000), labels])
        assert abs(slope) < 1e-8
        # The inverse Fisher information gives the standard error of beta.
        p = softmax(beta * z, axis=1)
        information = ((p * z**2).sum(1) - (p * z).sum(1) ** 2).sum()
        assert abs(beta - 1 / 2.5) < 4 / np.sqrt(information)

    def test_two_classes_are_binary_logistic_without_intercept(self):
        """softmax((0, z) / T) is sigmoid(z / T), and the binary method solves the same problem."""
        rng = np.random.default_rng(1)
        z = rng.normal(size=500) * 3
        y = rng.random(500) < 1 / (1 + np.exp(-z / 2))
        found = TemperatureScaling().fit(np.stack([np.zeros(500), z], axis=1), y.astype(int))
        scores = PUScores.from_labels(y, 1 / (1 + np.exp(-z)))
        slope = METHODS["temperature"]().fit(scores).state_["slope"]
        assert 1 / found.temperature_ == pytest.approx(slope, rel=1e-6)

    def test_shift_of_all_logits_changes_nothing(self):
        logits, labels, _ = world(300)
        one = TemperatureScaling().fit(logits, labels)
        other = TemperatureScaling().fit(logits + 1000.0, labels)
        assert one.temperature_ == pytest.approx(other.temperature_, rel=1e-9)

    def test_separable_and_hopeless_rows_warn_and_stay_finite(self):
        with pytest.warns(CalibrationWarning, match="correct in every row"):
            found = TemperatureScaling().fit(np.eye(3), [0, 1, 2])
        assert np.isfinite(found.predict_proba(np.eye(3))).all()
        with pytest.warns(CalibrationWarning, match="no better than chance"):
            found = TemperatureScaling().fit(np.eye(3), [1, 2, 0])
        assert np.allclose(found.predict_proba(np.eye(3)), 1 / 3)


class TestVector:
    def test_gradient(self):
        logits, labels, _ = world(50)
        rng = np.random.default_rng(0)
        center = np.repeat([1.0, 0.0], 4)
        for theta in rng.normal(size=(5, 8)):
            error = check_grad(
                lambda t: _vector_loss(t, logits, labels, 0.1, center)[0],
                lambda t: _vector_loss(t, logits, labels, 0.1, center)[1],
                theta,
            )
            assert error < 1e-5

    def test_finds_what_was_done_to_the_logits(self):
        logits, labels, p = world(20_000)
        weight, bias = np.array([2.0, 1.0, 0.5, 3.0]), np.array([0.4, -0.2, 0.3, -0.5])
        found = VectorScaling().fit((logits - bias) / weight, labels)
        after = found.predict_proba((logits - bias) / weight)
        assert np.abs(after - p).mean() < 0.01
        assert found.bias_.sum() == pytest.approx(0.0, abs=1e-12)
        # Eight parameters fitted on n rows gain about 8 / 2n over the truth, and never lose.
        gain = loss(p, labels) - loss(after, labels)
        assert 0.0 < gain < 20 / 20_000

    def test_better_than_one_temperature_on_the_same_rows(self):
        logits, labels, _ = world(1000)
        z = logits * [3, 1, 1, 0.5]
        one = TemperatureScaling().fit(z, labels).predict_proba(z)
        many = VectorScaling().fit(z, labels).predict_proba(z)
        assert loss(many, labels) < loss(one, labels)

    def test_absurdly_large_logits_cause_a_warning(self):
        """Factors near 1e-9 are negligible in the steps of the search."""
        logits, labels, _ = world(60)
        with pytest.warns(CalibrationWarning, match="did not converge"):
            found = VectorScaling().fit(1e9 * logits, labels)
        assert np.isfinite(found.predict_proba(1e9 * logits)).all()

    def test_a_class_without_rows_stays_finite(self):
        logits, labels, _ = world(400)
        found = VectorScaling().fit(logits, labels % 3)
        assert np.isfinite(found.weight_).all()
        assert np.isfinite(found.bias_).all()


class TestOneVsRest:
    @pytest.mark.parametrize("method", list(METHODS))
    def test_rows_sum_to_one(self, method):
        logits, labels, _ = world(600, classes=3)
        prob = softmax(2 * logits, axis=1)
        after = OneVsRest(method).fit(one_vs_rest(labels, prob)).predict_proba(prob)
        assert np.allclose(after.sum(axis=1), 1.0)
        assert after.min() >= 0.0

    def test_pu_classes_repair_overconfidence(self):
        """500 rows of each class are known, and the rest of the population is unlabeled."""
        logits, labels, p = world(20_000, classes=3, seed=2)
        prob = softmax(3 * logits, axis=1)
        more, their_labels, _ = world(20_000, classes=3, seed=3)
        theirs = softmax(3 * more, axis=1)
        classes = [
            PUScores(
                theirs[their_labels == k, k][:500],
                prob[:10_000, k],
                prior=float(np.mean(labels == k)),
                setting="two-sample",
            )
            for k in range(3)
        ]
        after = OneVsRest("platt").fit(classes).predict_proba(prob[10_000:])
        before = np.abs(prob[10_000:] - p[10_000:]).mean()
        # Most of the distance disappears; the rest is due to the information that one score lacks.
        assert np.abs(after - p[10_000:]).mean() < 0.6 * before
        held = labels[10_000:]
        assert loss(after, held) < loss(prob[10_000:], held)

    def test_a_row_with_no_probability_in_any_class_keeps_its_shares(self):
        classes = [PUScores.from_labels([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])] * 2
        found = OneVsRest("isotonic").fit(classes)
        assert np.allclose(found.predict_proba([[0.15, 0.05]]), [[0.75, 0.25]])
        assert np.allclose(found.predict_proba([[0.0, 0.0]]), [[0.5, 0.5]])

    def test_priors_that_do_not_fit_are_mentioned(self):
        classes = [PUScores([0.9, 0.8], [0.1, 0.7, 0.3], prior=0.8, setting="two-sample")] * 2
        with pytest.warns(CalibrationWarning, match="sum to 1.6"):
            OneVsRest("histogram").fit(classes)

    def test_parameters_of_a_calibrator_are_used(self):
        logits, labels, _ = world(300, classes=3)
        prob = softmax(logits, axis=1)
        found = OneVsRest(METHODS["histogram"](bins=2)).fit(one_vs_rest(labels, prob))
        assert all(one.n_bins_ == 2 for one in found.calibrators_)
        assert isinstance(OneVsRest(Platt()).fit(one_vs_rest(labels, prob)), OneVsRest)


def test_log_softmax_agrees():
    logits, labels, p = world(100)
    assert loss(p, labels) == pytest.approx(
        -log_softmax(logits, axis=1)[np.arange(100), labels].mean()
    )


def test_refusals():
    logits, labels, _ = world(10)
    with pytest.raises(ValueError, match="'logits' must have one row per sample"):
        TemperatureScaling().fit(logits[:, 0], labels)
    with pytest.raises(ValueError, match="'y_true' must contain class numbers from 0 to 3"):
        VectorScaling().fit(logits, labels + 4)
    with pytest.raises(ValueError, match="'y_true' must have one entry per row"):
        VectorScaling().fit(logits, labels[:5])
    bad = logits.copy()
    bad[3, 1] = -np.inf
    with pytest.raises(ValueError, match=r"'logits' must be finite, got .* in row 3"):
        TemperatureScaling().fit(bad, labels)
    with pytest.raises(ValueError, match="'classes' must be a sequence of at least two PUScores"):
        OneVsRest().fit(PUScores.from_labels([0, 1], [0.1, 0.9]))
    found = OneVsRest("isotonic").fit([PUScores.from_labels([0, 1], [0.1, 0.9])] * 2)
    with pytest.raises(ValueError, match="a column for each of 2 classes, got 3"):
        found.predict_proba([[0.1, 0.2, 0.7]])


@pytest.mark.parametrize("kind", [OneVsRest, TemperatureScaling, VectorScaling])
def test_unfitted_models_raise_an_error(kind):
    with pytest.raises(NotFittedError, match=f"this {kind.__name__} is not fitted yet. Call fit"):
        kind().predict_proba([[0.2, 0.8]])


def test_no_row_has_no_temperature():
    with pytest.raises(ValueError, match="at least one row"):
        TemperatureScaling().fit(np.zeros((0, 3)), np.zeros(0, dtype=int))
