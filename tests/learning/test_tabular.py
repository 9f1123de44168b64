"""LinearPU: optimality conditions, external solvers, and the truth in a known population."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit

from noneg.learning import LinearPU, tabular
from noneg.learning.tabular import double_hinge_minimum, logistic_minimum


def problem(seed, n, d, prior):
    rng = np.random.default_rng(seed)
    z = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    c = rng.random(n) + 0.1
    q = prior * np.append(rng.normal(size=d) * 0.2, 1.0)
    return z, c / c.sum(), q


PROBLEMS = {
    "seed": st.integers(0, 1000),
    "n": st.integers(3, 40),
    "d": st.integers(1, 4),
    "prior": st.floats(0.05, 0.95),
    "alpha": st.sampled_from([1e-3, 0.1, 10.0]),
}


@given(**PROBLEMS)
def test_logistic_gradient_is_zero(seed, n, d, prior, alpha):
    z, c, q = problem(seed, n, d, prior)
    theta, steps = logistic_minimum(z, c, q, alpha)
    ridge = alpha * np.append(theta[:-1], 0.0)
    assert np.abs(ridge - q + z.T @ (c * expit(z @ theta))).max() < 1e-9
    assert steps < 60


@given(**PROBLEMS)
def test_double_hinge_has_a_zero_subgradient(seed, n, d, prior, alpha):
    """The slopes are 0, 1/2 or 1 away from kinks; at a kink, some slope in between makes the sum
    vanish."""
    z, c, q = problem(seed, n, d, prior)
    theta, _ = double_hinge_minimum(z, c, q, alpha)
    f = z @ theta
    low = 0.5 * (f > -1 + 1e-5) + 0.5 * (f > 1 + 1e-5)
    high = 0.5 * (f > -1 - 1e-5) + 0.5 * (f > 1 - 1e-5)
    rest = q - alpha * np.append(theta[:-1], 0.0) - z.T @ (c * low)
    # Is the rest a combination of rows at kinks, within their ranges? A linear program decides.
    d1 = z.shape[1]
    found = linprog(
        np.r_[np.zeros(n), np.ones(2 * d1)],
        A_eq=np.hstack([(z * c[:, None]).T, np.eye(d1), -np.eye(d1)]),
        b_eq=rest,
        bounds=[(0, w) for w in high - low] + [(0, None)] * (2 * d1),
    )
    assert found.fun < 1e-5


def test_double_hinge_against_a_general_solver():
    z, c, q = problem(5, 30, 3, 0.4)

    def value(theta):
        f = z @ theta
        h = np.maximum(np.maximum(0.0, (1 + f) / 2), f)
        return 0.05 * theta[:-1] @ theta[:-1] - q @ theta + c @ h

    theta, steps = double_hinge_minimum(z, c, q, 0.1)
    best = min(
        minimize(value, x0, method="Nelder-Mead", options={"maxiter": 20_000, "fatol": 1e-13}).fun
        for x0 in (np.zeros(4), theta + 0.1)
    )
    assert value(theta) <= best + 1e-9
    assert steps < 40


@pytest.mark.parametrize("loss", ["logistic", "double-hinge"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_close_to_the_bayes_rule(loss, setting, world):
    draw = world.two_sample(1000, 4000) if setting == "two-sample" else world.one_sample(5000, 0.5)
    x = np.concatenate([draw[0].pos.numpy(), draw[0].unl.numpy()])
    labeled = np.arange(len(x)) < draw[0].n_pos
    model = LinearPU(setting=setting, prior=world.prior, loss=loss).fit(x, labeled)
    rows, y = world.draw(20_000, world.prior, 7)
    assert (model.predict(rows) == y).mean() > world.bayes_accuracy() - 0.02
    if loss == "logistic":
        gap = np.abs(model.predict_proba(rows)[:, 1] - world.posterior(rows)).mean()
        assert gap < 0.05


def test_scale_and_place_of_columns_do_not_matter(world):
    data, _ = world.two_sample(200, 600)
    x = np.concatenate([data.pos.numpy(), data.unl.numpy()])
    labeled = np.arange(800) < 200
    model = LinearPU(setting="two-sample", prior=0.4)
    one = model.fit(x, labeled).decision_function(x)
    other = 1e3 * x + 5.0
    np.testing.assert_allclose(model.fit(other, labeled).decision_function(other), one, atol=1e-6)


def test_a_constant_column_is_harmless(world):
    data, _ = world.two_sample(100, 300)
    x = np.concatenate([data.pos.numpy(), data.unl.numpy()])
    model = LinearPU(setting="two-sample", prior=0.4)
    model.fit(np.column_stack([x, np.ones(400)]), np.arange(400) < 100)
    assert model.coef_[-1] == 0.0


@pytest.mark.parametrize("loss", ["logistic", "double-hinge"])
def test_a_nearly_unbounded_risk_is_named(loss):
    """More positives are claimed than the unlabeled rows can contain, with almost no penalty."""
    x = np.repeat([3.0, -3.0, 3.0], [20, 30, 10])[:, None]
    labeled = np.arange(60) < 20
    model = LinearPU(setting="two-sample", prior=0.5, loss=loss, alpha=1e-8)
    with pytest.raises(ArithmeticError, match=r"Increase 'alpha' \(now 1e-08\), or decrease"):
        model.fit(x, labeled)
    model.set_params(alpha=1e-3).fit(x, labeled)


def test_bad_options_are_rejected():
    x, labeled = np.zeros((4, 1)), [1, 0, 0, 0]
    with pytest.raises(ValueError, match="'alpha' must be 'auto' or above 0"):
        LinearPU(setting="two-sample", prior=0.4, alpha=0.0).fit(x, labeled)
    with pytest.raises(ValueError, match="'loss' must be one of logistic, double-hinge"):
        LinearPU(setting="two-sample", prior=0.4, loss="hinge").fit(x, labeled)


def test_a_search_that_does_not_end_is_named(monkeypatch):
    """One step is too few for any problem; the message recommends a larger alpha."""
    monkeypatch.setattr(tabular, "_MOST_STEPS", 1)
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for loss in ("logistic", "double-hinge"):
        with pytest.raises(ArithmeticError, match="alpha"):
            LinearPU(setting="two-sample", prior=0.5, loss=loss).fit(x, y)
