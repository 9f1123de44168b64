"""The yardsticks."""

import numpy as np
import pytest
import torch

from noneg.learning.algorithms.baselines import ElkanNoto, Naive, PNOracle
from noneg.learning.contract import PUData
from noneg.learning.networks import MLP
from noneg.learning.training import Trainer

TRAINER = Trainer(epochs=40, batch_size=250, lr=0.01)


def linear():
    return MLP(3, (), outputs=1)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_elkan_noto_weights_are_the_posterior_of_unlabeled_rows(setting, world):
    draw = world.two_sample(2000, 5000) if setting == "two-sample" else world.one_sample(7000, 0.5)
    data = draw[0]
    fit = TRAINER.fit(ElkanNoto(), lambda: MLP(3, (16,)), data, setting=setting, prior=world.prior)
    method = fit.algorithm
    a = method.task.unlabeled_prior
    x = data.unl[:, 0].numpy()
    odds = a / (1 - a) * np.exp(2 * x)
    gap = np.abs(method.state["label"].numpy() - odds / (1 + odds)).mean()
    assert gap < 0.05  # for a label with standard deviation .4


def test_naive_estimates_the_probability_of_being_labeled(world):
    data, _ = world.one_sample(8000, 0.5, seed=3)
    fit = TRAINER.fit(Naive(), lambda: MLP(3, (16,)), data, setting="one-sample")
    x, _ = world.draw(5000, world.prior, 4)
    got = torch.sigmoid(fit.algorithm.decision(torch.tensor(x, dtype=torch.float32))).numpy()
    assert np.abs(got - 0.5 * world.posterior(x)).mean() < 0.03


def test_oracle_needs_a_label_for_every_row(world):
    data, hidden = world.two_sample(50, 100)
    with pytest.raises(
        ValueError, match="'truth' must contain one label per unlabeled row, got 99"
    ):
        TRAINER.fit(PNOracle(truth=torch.tensor(hidden[:99])), linear, data, setting="two-sample")


def test_oracle_is_calibrated_in_one_sample(world):
    data, hidden = world.one_sample(8000, 0.5, seed=5)
    oracle = PNOracle(truth=torch.tensor(hidden))
    fit = TRAINER.fit(oracle, linear, data, setting="one-sample", prior=world.prior)
    x, _ = world.draw(5000, world.prior, 6)
    got = torch.sigmoid(fit.algorithm.decision(torch.tensor(x, dtype=torch.float32))).numpy()
    assert np.abs(got - world.posterior(x)).mean() < 0.02


def test_elkan_noto_labels_rows_that_its_network_has_not_seen(world):
    """Each unlabeled row has a column of its own, so a network that saw the row would recognize
    it."""
    data, _ = world.two_sample(40, 40)
    own = torch.cat([torch.zeros(40, 40), torch.eye(40) * 20.0])
    pos, unl = torch.cat([torch.cat([data.pos, data.unl]).float(), own], 1).split(40)
    trainer = Trainer(steps=600, batch_size=40, lr=0.01)
    network = MLP(43, (), outputs=1)
    fit = trainer.fit(ElkanNoto(), network, PUData(pos, unl), setting="two-sample", prior=0.4)
    method = fit.algorithm
    seen, unseen = (
        method.margins(unl[half::2], method.players[name]).mean()
        for half, name in ((0, "even"), (0, "odd"))
    )
    assert seen < unseen - 1.0
    label = torch.clamp(0.4 * method.margins(unl[::2], method.players["odd"]).exp(), max=1.0)
    torch.testing.assert_close(method.state["label"][::2], label)
