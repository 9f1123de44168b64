"""CVIR and TEDn: which rows are kept, and what is estimated."""

import numpy as np
import pytest
import torch
from learning.margins import begin, loss_and_gradient
from torch.nn.functional import softplus

from noneg.learning.algorithms.cvir import CVIR, TEDn
from noneg.learning.contract import Epoch, PUData
from noneg.learning.networks import MLP
from noneg.learning.task import make_task
from noneg.learning.training import Trainer


def epoch(p, u):
    return Epoch(0, 0.0, PUData(p[:, None], u[:, None]), None, {})


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_exactly_the_lowest_scores_are_kept(variant, setting):
    rng = torch.Generator().manual_seed(1)
    p, u = torch.randn(150, generator=rng), torch.randn(333, generator=rng).round(decimals=1)
    task = make_task(150, 333, setting=setting, prior=0.5)
    method = begin("cvir", p, u, task, variant=variant)
    method.start_epoch(epoch(p, u))
    keep = method.state["keep"].bool()
    share = task.unlabeled_prior if variant == "ref" else 0.5
    assert keep.sum() == 333 - int(share * 333)
    assert u[keep].max() <= u[~keep].min()


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_loss_by_hand(variant):
    p, u = torch.tensor([1.0, -0.5]), torch.tensor([3.0, 0.2, -1.0, -2.0])
    task = make_task(2, 4, setting="two-sample", prior=0.25)
    method = begin("cvir", p, u, task, variant=variant)
    method.start_epoch(epoch(p, u))
    value, grad = loss_and_gradient(method, p, u)
    on_pos, on_kept = softplus(-p).mean(), softplus(u[1:]).mean()
    weights = (0.5, 0.5) if variant == "ref" else (0.25, 0.75)
    torch.testing.assert_close(value, weights[0] * on_pos + weights[1] * on_kept)
    assert grad[2] == 0.0


@pytest.mark.parametrize("variant", ["ref", "bench"])
def test_nothing_kept(variant):
    p, u = torch.tensor([1.0]), torch.tensor([3.0, 0.2])
    method = begin("cvir", p, u, make_task(1, 2, setting="two-sample", prior=0.5), variant=variant)
    method.state["keep"][:] = 0.0
    value, grad = loss_and_gradient(method, p, u)
    expected = softplus(-p[0]) if variant == "bench" else torch.tensor(0.0)
    torch.testing.assert_close(value, expected)
    assert (grad == 0.0).all() == (variant == "ref")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_tedn_finds_the_share_of_separated_classes(share):
    """Estimated by the method itself from its own scores, without a given prior."""
    rng = np.random.default_rng(0)

    def draw(n_pos, n_unl):
        unl = rng.normal(size=(n_unl, 2)) - 3.0
        unl[: round(share * n_unl)] += 6.0
        pos = rng.normal(size=(n_pos, 2)) + 3.0
        return PUData(torch.tensor(pos), torch.tensor(unl))

    trainer = Trainer(epochs=6, batch_size=200, lr=0.01)
    fit = trainer.fit(
        TEDn(),
        lambda: MLP(2, (8,)),
        draw(1000, 2000),
        setting="two-sample",
        validation=draw(2000, 4000),
    )
    # BBE's penalty avoids cuts with few positives; at these sizes it costs at most .02.
    assert fit.algorithm.state["share"] == pytest.approx(share, abs=0.02)


def test_separated_classes_are_distinguished():
    rng = np.random.default_rng(3)
    y = rng.random(2000) < 0.3
    x = rng.normal(size=(2000, 3)) + np.where(y, 2.5, -2.5)[:, None]
    data = PUData(torch.tensor(rng.normal(size=(500, 3)) + 2.5), torch.tensor(x))
    trainer = Trainer(epochs=20, batch_size=200, lr=0.01)
    fit = trainer.fit(CVIR(), lambda: MLP(3, (8,)), data, setting="two-sample", prior=0.3)
    called = fit.algorithm.decision(data.unl.float()).numpy() >= 0
    assert (called == y).mean() > 0.99


def test_tedn_needs_held_out_rows(world):
    data, _ = world.two_sample(50, 100)
    with pytest.raises(ValueError, match="'validation' must be given: TEDn"):
        Trainer(steps=2).fit(TEDn(), lambda: MLP(3), data, setting="two-sample")
