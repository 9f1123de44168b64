"""PUe: weights, constant propensities, and the result of its propensity network."""

import pytest
import torch
from learning.margins import begin, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.algorithms.pue import LEAST_PROPENSITY, PUe, inverse_weights
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer

TASK = make_task(8, 8, setting="two-sample", prior=0.3)


@pytest.fixture
def margins():
    rng = torch.Generator().manual_seed(2)
    return torch.randn(8, generator=rng), torch.randn(8, generator=rng)


def test_weights_sum_to_one_and_are_bounded():
    e = torch.tensor([1e-9, 0.02, 0.5, 1.0])
    w = inverse_weights(e)
    assert float(w.sum()) == pytest.approx(1.0)
    assert w[0] == w[1]
    assert float(w[0]) == pytest.approx(float(w[3]) / LEAST_PROPENSITY)


@pytest.mark.parametrize("up", [0.0, 5.0])
def test_constant_propensity_is_nnpu(up, margins):
    p, u = margins[0] + up, margins[1] - up
    method = begin("pue", p, u, TASK)
    method.state["weight"] = len(p) * inverse_weights(torch.full((8,), 0.3))
    got = loss_and_gradient(method, p, u)
    torch.testing.assert_close(got, loss_and_gradient(begin("nnpu", p, u, TASK), p, u))


def test_constant_propensity_in_the_benchmark_is_upu(margins):
    p, u = margins[0] + 5.0, margins[1] - 5.0
    method = begin("pue", p, u, TASK, variant="bench")
    torch.nn.init.zeros_(method.players["propensity"].factor)  # e = 1/2 everywhere
    got = loss_and_gradient(method, p, u)
    torch.testing.assert_close(got, loss_and_gradient(begin("upu", p, u, TASK), p, u))


def test_optimum_under_random_labeling_is_nearly_flat():
    """With exact labeling rates among all rows, s = pi m / p, where m is the distribution of all
    rows.

    Three cells, 8 labeled rows and 40 unlabeled ones, 16 of them positive.
    """
    pos, unl = torch.tensor([1, 2, 5]), torch.tensor([16, 12, 12])
    pooled, whole = (pos + unl) / 48, unl / 40
    f = torch.logit(0.4 * pooled / whole)
    p, u = f.repeat_interleave(pos), f.repeat_interleave(unl)
    method = begin("pue", p, u, make_task(8, 40, setting="two-sample", prior=0.4))
    e = (pos / (pos + unl)).repeat_interleave(pos)
    method.state["weight"] = 8 * inverse_weights(e)
    _, grad = loss_and_gradient(method, p, u)
    cells = torch.arange(3)
    by_cell = torch.zeros(3).index_add(
        0, torch.cat([cells.repeat_interleave(pos), cells.repeat_interleave(unl)]), grad
    )
    torch.testing.assert_close(by_cell, torch.zeros(3), atol=1e-6, rtol=0)
    posterior, found = 0.4 * pos / 8 / whole, torch.sigmoid(f)
    assert float(found.max() - found.min()) < 0.2 < 0.7 * float(posterior.max() - posterior.min())
    assert (found.argsort() == posterior.argsort()).all()


def test_propensity_losses_by_hand(margins):
    p, u = margins
    s = torch.sigmoid
    task = make_task(8, 24, setting="two-sample", prior=0.3)
    value, _ = loss_and_gradient(begin("pue", p, u, task), p, u, "propensity")
    fit = 0.25 * softplus(-p).mean() + 0.75 * softplus(u).mean()
    rate = 0.25 * s(p).mean() + 0.75 * s(u).mean()
    torch.testing.assert_close(value, fit + 15.0 * (rate - 0.25).abs())
    value, _ = loss_and_gradient(begin("pue", p, u, task, variant="bench"), p, u, "propensity")
    fit = torch.cat([softplus(-p), softplus(u)]).mean()
    torch.testing.assert_close(value, fit + 0.1 * (s(p).sum() + s(u).sum() - 8).abs())


def test_mean_propensity_is_the_labeled_share(world):
    data, _ = world.two_sample(300, 900)
    trainer = Trainer(epochs=30, batch_size=100, lr=0.01)
    fit = trainer.fit(
        PUe(first_stage=0.9), lambda: MLP(3, (8,)), data, setting="two-sample", prior=0.4
    )
    method = fit.algorithm
    e = torch.sigmoid(
        method.margins(torch.cat([data.pos, data.unl]).float(), method.players["propensity"])
    )
    assert float(e.mean()) == pytest.approx(0.25, abs=0.02)
    assert float(method.state["weight"].mean()) == pytest.approx(1.0, abs=1e-5)
