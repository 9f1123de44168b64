"""PUbN: unbiased for every threshold, two stages, and the benchmark's signs."""

import numpy as np
import pytest
import torch
from learning.margins import begin, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.algorithms.pubn import PUbN
from noneg.learning.contract import PUData
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("eta", [0.0, 0.3, 0.7, 1.0])
def test_with_the_true_posterior_the_risk_is_the_supervised_one(eta, setting, world):
    """In expectation, for any threshold; on 20 samples, within 4 standard errors."""
    gaps = []
    for seed in range(20):
        draw = (
            world.two_sample(2000, 2000, seed=2 * seed)
            if setting == "two-sample"
            else world.one_sample(4000, 0.5, seed=seed)
        )
        data = draw[0]
        f = lambda x: 1.5 * x[:, 0] - 0.2 + 0.3 * x[:, 1]  # noqa: E731
        p, u = f(data.pos), f(data.unl)
        task = make_task(len(p), len(u), setting=setting, prior=world.prior, correction="weighted")
        method = begin("pubn", p.float(), u.float(), task)
        method.state |= {"first_stage": False, "eta": eta}
        for name, x in (("pos", data.pos), ("unl", data.unl)):
            method.state[name] = torch.tensor(world.posterior(x.numpy()), dtype=torch.float32)
        value, _ = loss_and_gradient(method, p.float(), u.float())
        gaps.append(float(value))
    x, _ = world.draw(400_000, world.prior, 12)
    q, m = torch.tensor(world.posterior(x)), 1.5 * x[:, 0] - 0.2 + 0.3 * x[:, 1]
    m = torch.tensor(m)
    truth = float((q * softplus(-m) + (1 - q) * softplus(m)).mean())
    assert abs(np.mean(gaps) - truth) < 4 * np.std(gaps) / np.sqrt(20) + 0.002


def test_stage_two_starts_from_a_frozen_first_network(world):
    data, _ = world.two_sample(100, 400)
    seen = []

    class Watch(PUbN):
        def loss(self, player, batch):
            seen.append((player, batch.progress))
            return super().loss(player, batch)

    trainer = Trainer(epochs=10, batch_size=40)
    fit = trainer.fit(Watch(), lambda: MLP(3, (8,)), data, setting="two-sample", prior=0.4)
    assert {player for player, at in seen if at < 0.5} == {"first"}
    assert {player for player, at in seen if at >= 0.5} == {"net"}
    method = fit.algorithm
    sigma = torch.sigmoid(method.margins(data.unl.float(), method.frozen["sigma"]))
    torch.testing.assert_close(method.state["unl"], sigma)
    low = float((sigma <= method.state["eta"]).float().mean())
    assert low == pytest.approx(0.9 * 0.6, abs=1 / 400)


def test_the_better_first_network_is_kept():
    """On held-out rows, a factor of 1 separates positives from the others, and -1 does not."""
    p, u = torch.full((4,), 3.0), torch.tensor([3.0, -3.0, -3.0, -3.0])
    task = make_task(4, 4, setting="two-sample", prior=0.25)
    method, rows = begin("pubn", p, u, task), PUData(p[:, None], u[:, None])
    first = method.players["first"].factor.data
    for factor in (1.0, -1.0):
        first.fill_(factor)
        method._keep(rows)
    kept = method.frozen["sigma"].factor.data
    assert float(kept) == 1.0
    # Without held-out rows, the last one is used.
    method._keep(None)
    assert float(kept) == -1.0


def test_bench_loss_by_hand():
    p, u = torch.tensor([2.0, -1.0]), torch.tensor([0.5, -2.0])
    task = make_task(2, 200, setting="two-sample", prior=0.5)
    value, _ = loss_and_gradient(begin("pubn", p, u, task, variant="bench"), p, u)
    s = torch.sigmoid
    sure = (1 - s(p[0])) / s(p[0]) * softplus(p[0])  # the only one above the largest of U
    expected = 0.5 * softplus(-p).mean() + ((1 - s(u)) * softplus(u)).mean() - 0.5 * sure
    torch.testing.assert_close(value, expected)
