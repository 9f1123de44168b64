"""Maximum likelihood: optimality, references, hard problems."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hard_problems import problems
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from noneg import PUScores
from noneg.recalibration import (
    METHODS,
    Beta,
    CalibrationWarning,
    MixNMatch,
    Platt,
    Temperature,
)
from noneg.recalibration.logistic import clip_limits
from noneg.simulation import LogisticGaussian

FAMILY = (Platt, Temperature, Beta)
REFERENCE = Path(__file__).parents[1] / "reference" / "betacal.json"


def free_gradient(calibrator, scores, *, held=False):
    """Return the gradient of the PU log loss at the fitted coefficients, from its definition."""
    problem = calibrator._problem(scores, calibrator.state_)
    theta = np.array([calibrator.state_[name] for name in calibrator.coefficients])
    if held:
        n = min(scores.effective_marginal, scores.effective_positive / max(scores.prior, 1e-6))
        problem = replace(problem, ridge=1.0 / (4.0 * max(n, 1.0)))
    with np.errstate(over="ignore"):
        share = 1.0 / (1.0 + np.exp(-theta @ problem.features))
    gradient = problem.features @ (problem.weight * share) - problem.target
    gradient += problem.holding * (theta - problem.center)
    at_bound = np.array(calibrator.bounded) & (theta == 0.0) & (gradient > 0.0)
    return np.linalg.norm(gradient[~at_bound])


def labeled(seed, n, a, b, power):
    rng = np.random.default_rng(seed)
    s = rng.beta(a, b, int(n))
    return rng.random(int(n)) < s**power, s


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_pu_fits_reach_the_optimum(method, setting):
    scores = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(500, 5000, setting=setting, seed=1)
    assert free_gradient(method(fit="risk").fit(scores), scores) < 1e-8


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("n", [3000, 400_000])
def test_labeled_fits_reach_the_optimum(method, n):
    y, s = labeled(5, n, 2.0, 5.0, 1.5)
    scores = PUScores.from_labels(y, s)
    assert free_gradient(method().fit(scores), scores) < 1e-8


def test_platt_is_logistic_regression_on_the_logit():
    y, s = labeled(0, 4000, 2.0, 5.0, 1.5)
    w = np.random.default_rng(1).integers(0, 4, s.size)
    reference = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    reference.fit(logit(s)[:, None], y, sample_weight=w)
    platt = Platt().fit(PUScores.from_labels(y, s, sample_weight=w))
    assert platt.slope_ == pytest.approx(reference.coef_[0, 0], abs=1e-8)
    assert platt.intercept_ == pytest.approx(reference.intercept_[0], abs=1e-8)


def test_temperature_is_logistic_regression_without_intercept():
    y, s = labeled(0, 4000, 2.0, 2.0, 1.0)
    s = 1.0 / (1.0 + np.exp(-3.0 * logit(s)))  # overconfident by a factor of three
    options = {"C": np.inf, "tol": 1e-12, "fit_intercept": False, "solver": "newton-cholesky"}
    reference = LogisticRegression(**options).fit(logit(s)[:, None], y)
    fitted = Temperature().fit(PUScores.from_labels(y, s))
    assert fitted.temperature_ == pytest.approx(1.0 / reference.coef_[0, 0], rel=1e-8)
    assert fitted.temperature_ == pytest.approx(3.0, abs=0.3)


@pytest.mark.parametrize("problem", json.loads(REFERENCE.read_text())["problems"])
def test_beta_agrees_with_betacal(problem):
    """betacal 1.1.0 stops at a gradient of 1e-4 (scikit-learn's default), we at 1e-12."""
    y, s = labeled(*problem["recipe"])
    scores = PUScores.from_labels(y, s)
    beta = Beta().fit(scores)
    assert free_gradient(beta, scores) < 1e-8
    assert beta.alpha_ == pytest.approx(problem["alpha"], abs=1e-2)
    assert beta.beta_ == pytest.approx(problem["beta"], abs=1e-2)
    assert np.abs(beta.transform(problem["at"]) - problem["predicted"]).max() < 1e-3
    half = problem["predicted"][problem["at"].index(0.5)]
    theirs = [problem["alpha"], problem["beta"]]
    theirs.append(logit(half) + (theirs[0] - theirs[1]) * np.log(2.0))
    loss = beta._problem(scores, beta.state_)
    ours = np.array([beta.alpha_, beta.beta_, beta.intercept_])
    assert loss.at(ours)[0] <= loss.at(np.array(theirs))[0]
    assert np.abs(loss.at(np.array(theirs))[1]).max() < 5e-4


def test_beta_is_logistic_regression_on_both_logarithms():
    y, s = labeled(1, 5000, 1.0, 1.0, 0.5)
    x = np.stack([np.log(s), -np.log1p(-s)], axis=-1)
    reference = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(x, y)
    beta = Beta().fit(PUScores.from_labels(y, s))
    np.testing.assert_allclose([beta.alpha_, beta.beta_], reference.coef_[0], atol=1e-7)
    assert beta.intercept_ == pytest.approx(reference.intercept_[0], abs=1e-7)


def test_bounds_hold_where_scores_rank_the_wrong_way():
    y, s = labeled(2, 2000, 2.0, 2.0, 1.0)
    scores = PUScores.from_labels(~y, s)
    beta = Beta().fit(scores)
    assert beta.alpha_ == beta.beta_ == 0.0
    assert beta.transform(0.3) == pytest.approx((~y).mean(), abs=1e-9)
    assert free_gradient(beta, scores) < 1e-8
    assert Temperature().fit(scores).temperature_ == np.inf
    assert Platt().fit(scores).slope_ < 0.0


def survives(calibrator, scores):
    """Fit without an overflow (warnings are errors); return whether the data determine the fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", CalibrationWarning)
        q = calibrator.fit(scores).transform([0.0, 1e-300, 1e-9, 0.3, 0.5, 0.9, 1.0])
    assert np.isfinite(q).all(), scores
    assert all(np.isfinite(v) for v in calibrator.state_.values() if isinstance(v, float))
    return bool(caught)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])
def test_hard_problems(name):
    """Every fit terminates, and nothing overflows."""
    for scores in problems(60):
        survives(METHODS[name](), scores)


@pytest.mark.parametrize("method", FAMILY)
def test_hard_problems_of_the_log_loss(method):
    """The fits are optimal."""
    for scores in problems(500):
        held = survives(calibrator := method(fit="risk"), scores)
        assert free_gradient(calibrator, scores, held=held) < 1e-8, scores


@pytest.mark.parametrize("method", FAMILY)
def test_separable_data_gives_finite_coefficients_and_a_warning(method):
    s = np.concatenate([np.linspace(0.05, 0.4, 50), np.linspace(0.6, 0.95, 50)])
    scores = PUScores.from_labels(s > 0.5, s)
    with pytest.warns(CalibrationWarning, match="no finite coefficients"):
        fitted = method().fit(scores)
    assert all(abs(v) < 100.0 for v in fitted.state_.values())
    q = fitted.transform([0.1, 0.9])
    assert q[0] < 0.05
    assert q[1] > 0.95


def test_a_prior_too_large_for_the_data_is_reported():
    positive = np.random.default_rng(0).uniform(0.7, 1.0, 50)
    scores = PUScores(positive, np.linspace(0.001, 0.999, 200), prior=0.6, setting="two-sample")
    for fit in ("likelihood", "risk"):
        with pytest.warns(CalibrationWarning, match=r"prior 0\.6 is too large"):
            Platt(fit=fit).fit(scores)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Platt(fit=fit).fit(scores.with_prior(0.05))


def test_ends_count_as_half_the_distance_of_the_next_score():
    scores = PUScores.from_labels([0, 1, 0, 1], [0.0, 0.002, 0.996, 1.0])
    assert clip_limits(scores) == {"low": 0.001, "high": pytest.approx(0.002)}
    low, high = clip_limits(PUScores.from_labels([0, 1], [0.2, 0.9])).values()
    assert low < 1e-200
    assert high < 1e-16


@pytest.mark.parametrize("method", [*FAMILY, MixNMatch])
def test_labeled_rows_without_positives(method):
    """Unit weights change nothing, although the empty group of positives is stored differently."""
    y, s = np.zeros(6), [0.0, 0.1, 0.2, 0.3, 0.4, 0.45]
    plain = PUScores.from_labels(y, s)
    weighted = PUScores.from_labels(y, s, sample_weight=np.ones(6), weight_kind="importance")
    grid = np.linspace(0, 1, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        one, two = (method().fit(scores).transform(grid) for scores in (plain, weighted))
    np.testing.assert_allclose(one, two, atol=1e-9)
    # All rows are negative and score below one half: the likelihood never favors higher scores.
    assert method is MixNMatch or (one[1:4] <= grid[1:4] + 1e-12).all()
