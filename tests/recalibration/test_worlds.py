"""Populations with a known posterior: every method comes closer to it, with and without labels."""

from functools import cache

import numpy as np
import pytest

from noneg.recalibration import (
    METHODS,
    Isotonic,
    Platt,
    make,
)
from noneg.simulation import BinomialProcess, LogisticGaussian

WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)


@cache
def population(world, n=10_000):
    """Scores that represent equal shares of the population, and their posterior."""
    s = world.marginal_law().quantiles((np.arange(n) + 0.5) / n)
    return s, world.posterior(s)


def distance(calibrator, world):
    """L1 distance to the posterior."""
    s, posterior = population(world)
    return float(np.abs(calibrator.transform(s) - posterior).mean())


def test_distance_to_the_posterior_over_thirty_seeds():
    draws = [WORLD.draw(1000, 10_000, setting="two-sample", seed=seed) for seed in range(30)]
    mean = {m: np.mean([distance(m().fit(d), WORLD) for d in draws]) for m in (Platt, Isotonic)}
    before = distance(make("identity").fit(draws[0]), WORLD)
    assert before == pytest.approx(0.0846, abs=0.001)
    assert WORLD.tce() == pytest.approx(0.0846, abs=1e-4)
    assert mean[Platt] <= 0.014
    assert mean[Isotonic] <= 0.034


# Other populations for maps that cannot follow the curve of WORLD: temperatures keep 1/2 fixed.
WORLDS = dict.fromkeys(("temperature", "mix-n-match"), BinomialProcess("D4"))


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
@pytest.mark.parametrize("name", [n for n in METHODS if n not in ("identity", "prior-shift")])
def test_every_method_comes_closer(name, setting):
    sizes = {"n": 10_000} if setting == "labeled" else {"n_positive": 2000, "n_unlabeled": 10_000}
    world = WORLDS.get(name, WORLD)
    closer = make(name).fit(world.draw(**sizes, setting=setting, seed=2))
    before = make("identity").fit(world.draw(**sizes, setting=setting, seed=2))
    wanted = f"if {name} cannot follow this curve, choose a population that it can in WORLDS"
    assert distance(closer, world) < 0.6 * distance(before, world), wanted


def test_labels_help_but_are_not_needed():
    """With very many positives, the PU fit is as good as the labeled one."""
    pu = Platt().fit(WORLD.draw(200_000, 200_000, setting="two-sample", seed=0))
    labeled = Platt().fit(WORLD.draw(n=200_000, setting="labeled", seed=0))
    s = np.linspace(0.01, 0.99, 99)
    assert np.abs(pu.transform(s) - labeled.transform(s)).max() < 0.02
