"""One-sample corrections, and which of them leave probabilities calibrated."""

import numpy as np
import pytest
import torch

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer


@pytest.fixture(scope="module")
def gaps(world):
    """Return the mean distance between nnPU's probability and the posterior, by correction."""
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
    """The optima are known: underconfident with batches, overconfident without a correction."""
    assert gaps["batch"] > 0.04
    assert gaps["none"] > 0.04


def test_the_default_is_a_calibrated_one():
    for kind in ALGORITHMS.values():
        assert kind.corrections[:1] in ((), ("weighted",), ("shift",))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_corrections_that_make_no_sense_are_rejected(name, world):
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


def test_labeled_rows_are_rejected(world):
    data, _ = world.one_sample(100, 0.5)
    with pytest.raises(ValueError, match="for positives and unlabeled rows"):
        Trainer(steps=1).fit(
            ALGORITHMS["upu"](), lambda: MLP(3), data, setting="labeled", prior=0.4
        )


def test_corrections_are_checked():
    with pytest.raises(ValueError, match="'correction' must be one of"):
        make_task(3, 7, setting="one-sample", prior=0.5, correction="other")
    with pytest.raises(ValueError, match="every positive is labeled"):
        make_task(5, 5, setting="one-sample", prior=0.5, correction="shift")
    # By chance, a fold may contain more labeled rows than the prior implies positives.
    assert make_task(34, 33, setting="one-sample", prior=0.5).unlabeled_prior == 0.0
    with pytest.raises(ValueError, match="'prior' must be at least the labeled share"):
        make_task(80, 33, setting="one-sample", prior=0.5)
    # Prior of the unlabeled rows in the benchmark's settings (10% to 50% labeled).
    for share, rest in zip((1, 2, 3, 4, 5), (4 / 9, 3 / 8, 2 / 7, 1 / 6, 0.0), strict=True):
        task = make_task(share * 100, 1000 - share * 100, setting="one-sample", prior=0.5)
        assert task.unlabeled_prior == pytest.approx(rest)
