"""DEDPUL: its fixed point, its density, and populations with a known share."""

from types import SimpleNamespace

import numpy as np
import pytest
from prior.worlds import gaussian
from scipy.stats import gaussian_kde

from noneg.prior import Dedpul
from noneg.prior.dedpul import _density, _fixed_point, _Posterior


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("far", [3, 2])
def test_close_at_a_thousand_positives(share, far):
    found = [Dedpul().find(gaussian(share, far, 1000, 2000, seed)).share for seed in range(5)]
    assert np.mean(np.abs(np.array(found) - share)) < 0.05


def test_the_density_is_that_of_scipy():
    x = np.sort(np.random.default_rng(0).normal(size=200))
    ours = _density(x, np.full(200, 1 / 200), 0.1 * x.std(ddof=1), x)
    np.testing.assert_allclose(ours, gaussian_kde(x, 0.1)(x), rtol=1e-9)


def test_the_mean_posterior_and_its_fixed_point():
    ratio = np.array([0.0, 0.5, 2.0, 4.0])
    weight = np.array([0.4, 0.2, 0.2, 0.2])
    posterior = _Posterior(ratio, weight)
    for a in (0.1, 0.3, 0.6, 1.0):
        exact = weight @ np.minimum(1, a * ratio)
        assert posterior(np.array([a]))[0] == pytest.approx(exact)
    a = _fixed_point(posterior)
    assert weight @ np.minimum(1, a * ratio) == pytest.approx(a, abs=1e-4)


def test_the_interval_covers_sampling():
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(40):
        hidden = rng.binomial(1500, 0.3) / 1500
        found = Dedpul(resamples=20, seed=seed).fit(gaussian(hidden, 4, 400, 1500, seed))
        inside += found.low <= 0.3 <= found.high
    assert inside / 40 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


class Creeping(SimpleNamespace):
    """A posterior mean that always lies a little below its share."""

    def __call__(self, share):
        return share - self.step


def test_a_fixed_point_that_is_never_reached_ends_after_a_thousand_steps():
    found = _fixed_point(Creeping(step=1e-4, ratio=np.array([1e9])))
    assert found == pytest.approx(1.0 - 1000 * 1e-4)
