"""One-sample corrections: which of them leave probabilities calibrated."""

import numpy as np
import pytest
import torch

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import space
from noneg.learning.networks import MLP
from noneg.learning.training import Trainer
from noneg.randomness import stream


@pytest.fixture(scope="module")
def gaps(world):
    """Mean distance of nnPU's probability from the posterior, by correction."""
    data, _ = world.one_sample(12_000, 0.6, seed=8)
    x, _ = world.draw(5000, world.prior, 9)
    rows, posterior = torch.tensor(x, dtype=torch.float32), world.posterior(x)
    found = {}
    for correction in ("weighted", "shift", "batch", "none"):
        fit = Trainer(epochs=15, batch_size=250, lr=0.01).fit(
            ALGORITHMS["nnpu"](),
            lambda: MLP(3, (16,), outputs=1),
            data,
            setting="one-sample",
            prior=world.prior,
            correction=correction,
        )
        found[correction] = np.abs(
            torch.sigmoid(fit.algorithm.decision(rows)).numpy() - posterior
        ).mean()
    return found


def test_weighted_and_shift_are_calibrated(gaps):
    assert gaps["weighted"] < 0.03
    assert gaps["shift"] < 0.03


def test_the_others_are_not(gaps):
    """The optima are known: under-confident by batches, over-confident without a correction."""
    assert gaps["batch"] > 0.04
    assert gaps["none"] > 0.04


def test_the_default_is_a_calibrated_one():
    for kind in ALGORITHMS.values():
        assert kind.corrections[:1] in ((), ("weighted",), ("shift",))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_corrections_that_make_no_sense_are_refused(name, world):
    kind = ALGORITHMS[name]
    unknown = {"weighted", "shift", "batch"} - set(kind.corrections)
    data, hidden = world.one_sample(100, 0.5)
    options = {"truth": torch.tensor(hidden)} if name == "pn-oracle" else {}
    for correction in unknown:
        with pytest.raises(ValueError, match=f"'correction' of {kind.__name__} must be one of"):
            Trainer(steps=1).fit(
                kind(**options),
                lambda: MLP(3),
                data,
                setting="one-sample",
                prior=0.4,
                correction=correction,
                validation=data,
            )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_searched_value_makes_an_algorithm(name):
    kind = ALGORITHMS[name]
    for field, search in space(kind).items():
        for seed in range(3):
            value = search.draw(stream(seed, field))
            assert getattr(kind(**{field: value}), field) == value


def test_labelled_rows_are_refused(world):
    data, _ = world.one_sample(100, 0.5)
    with pytest.raises(ValueError, match="this learns without negatives"):
        Trainer(steps=1).fit(
            ALGORITHMS["upu"](), lambda: MLP(3), data, setting="labelled", prior=0.4
        )
