"""PUSB: the ascent rule, and the quantile that replaces the threshold."""

import numpy as np
import pytest
import torch
from learning.margins import begin, gradient, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.algorithms.pusb import PUSB
from noneg.learning.contract import PUData
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer

TASK = make_task(8, 8, setting="two-sample", prior=0.3)


def test_below_zero_the_gradient_is_that_of_minus_the_negative_risk():
    p, u = torch.linspace(3.0, 6.0, 8), torch.linspace(-6.0, -3.0, 8)
    _, ref = loss_and_gradient(begin("pusb", p, u, TASK), p, u)
    _, bench = loss_and_gradient(begin("pusb", p, u, TASK, variant="bench"), p, u)
    p, u = p.requires_grad_(), u.requires_grad_()
    negative = softplus(u).mean() - 0.3 * softplus(p).mean()
    assert negative < 0
    torch.testing.assert_close(ref, gradient(-negative, p, u))
    torch.testing.assert_close(bench, gradient(0.3 * softplus(-p).mean(), p, u))


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_a_share_equal_to_the_prior_is_called_positive(setting, world):
    draw = world.two_sample(200, 1000) if setting == "two-sample" else world.one_sample(1200, 0.4)
    data = draw[0]
    trainer = Trainer(steps=30, batch_size=64)
    fit = trainer.fit(PUSB(), lambda: MLP(3, (8,)), data, setting=setting, prior=world.prior)
    rows = data.unl if setting == "two-sample" else torch.cat([data.pos, data.unl])
    called = fit.algorithm.decision(rows.float()) > 0
    assert float(called.float().mean()) == pytest.approx(world.prior, abs=1.01 / len(rows))


def test_order_preserving_bias_keeps_the_ranking(world):
    """Positives are labeled at a rate that increases with the posterior: the ranking is
    preserved."""
    rng = np.random.default_rng(0)
    pos, _ = world.draw(20_000, 1.0, 1)
    pos = pos[rng.random(20_000) < world.posterior(pos) ** 2][:2000]
    unl, _ = world.draw(4000, world.prior, 2)
    trainer = Trainer(epochs=30, batch_size=256, lr=0.01)
    fit = trainer.fit(
        PUSB(),
        lambda: MLP(3, (8,)),
        PUData(torch.tensor(pos), torch.tensor(unl)),
        setting="two-sample",
        prior=world.prior,
    )
    # PUSB guarantees only the top share given by the prior: its accuracy with the true ranking.
    x, y = world.draw(20_000, world.prior, 3)
    q = world.posterior(x)
    best = ((q > np.quantile(q, 1 - world.prior)) == y).mean()
    assert world.accuracy(fit.algorithm) > best - 0.02
