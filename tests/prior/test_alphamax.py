"""AlphaMax: the likelihood compared with a general solver, the elbow, and noisy labels."""

import numpy as np
import pytest
from prior.worlds import gaussian
from scipy.optimize import minimize

from noneg.prior import AlphaMax, AlphaMaxNoise, ScoreLaws
from noneg.prior.alphamax import SHARES, _slopes_below, elbow, likelihoods


def test_the_likelihood_is_the_maximum_that_a_solver_finds():
    rng = np.random.default_rng(0)
    w, v = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    ours = likelihoods(w, v)
    for k in (10, 40, 80):
        c = SHARES[k]

        def minus(u, c=c):
            u = np.clip(u, 1e-12, None)
            return -(w @ np.log(w - u + c * v) + v @ np.log(u / c))

        total = {"type": "eq", "fun": lambda u, c=c: u.sum() - c}
        found = minimize(minus, c * w, bounds=[(1e-12, x) for x in w], constraints=total, tol=1e-12)
        # The curve is the maximum from here on, so it is never below the solver's.
        assert ours[k] >= -found.fun - 1e-6
        if (np.diff(ours)[k:] < -1e-9).all():
            assert ours[k] == pytest.approx(-found.fun, abs=1e-4)


def test_the_curve_never_rises():
    rng = np.random.default_rng(1)
    curve = likelihoods(rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20)))
    assert (np.diff(curve) <= 1e-12).all()


@pytest.mark.parametrize("knee", [0.05, 0.3, 0.8])
def test_the_elbow_of_a_bent_line_is_its_bend(knee):
    curve = -np.maximum(0.0, SHARES - knee)
    assert elbow(curve, 0.0) == pytest.approx(knee, abs=0.03)


def test_a_flat_curve_means_all_positive():
    assert elbow(np.zeros(SHARES.size), 0.0) == SHARES[-1]


def test_lines_below_all_points_by_brute_force():
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.random((1, 11))), rng.random((1, 11))
    tried = np.linspace(-5, 5, 20_001)
    rest = y - tried[:, None] * x
    rest -= rest.min(axis=1, keepdims=True)
    best = (rest**2).sum(axis=1).min()
    slope = _slopes_below(x, y, -5.0)[0]
    ours = y[0] - slope * x[0]
    assert ((ours - ours.min()) ** 2).sum() == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_separated_classes_are_recovered(share):
    found = [AlphaMax().find(gaussian(share, 4, 1000, 2000, seed)).share for seed in range(3)]
    assert abs(np.mean(found) - share) < 0.05


def test_noisy_labels_are_found_out():
    rng = np.random.default_rng(3)
    p = np.append(rng.normal(5, 1, 800), rng.normal(0, 1, 200))
    u = np.append(rng.normal(5, 1, 1500), rng.normal(0, 1, 1500))
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit")
    plain, noisy = AlphaMax().find(laws).share, AlphaMaxNoise().find(laws)
    # If the labels are assumed to be right, .5 / .8 of the rows are found.
    assert plain == pytest.approx(0.625, abs=0.06)
    assert noisy.share == pytest.approx(0.5, abs=0.06)
    assert noisy.diagnostics["purity"] == pytest.approx(0.8, abs=0.06)
