"""The likelihood learner: its loss compared with Bernoulli likelihoods, its optimum and
calibration."""

import numpy as np
import pytest
import torch
from learning.margins import batch, begin

from noneg.learning.task import make_task

P, U = torch.tensor([2.0, -1.0, 0.5]), torch.tensor([0.0, 3.0, -2.0])


def test_one_sample_loss_is_the_likelihood_of_being_labeled():
    task = make_task(30, 70, setting="one-sample", prior=0.5)
    found = begin("likelihood", P, U, task).loss("net", batch(P, U)).detach()
    c = 30 / (0.5 * 100)
    unlabeled = -torch.log(1.0 - c * torch.sigmoid(U)).mean()
    # Labeled rows lack the constant log c, which does not affect the weights.
    wanted = 0.3 * -torch.log(torch.sigmoid(P)).mean() + 0.7 * unlabeled
    torch.testing.assert_close(found, wanted)


def test_two_sample_loss_is_the_likelihood_in_the_pooled_rows():
    task = make_task(30, 70, setting="two-sample", prior=0.4)
    found = begin("likelihood", P, U, task).loss("net", batch(P, U)).detach()
    odds = [30 / (0.4 * 70) * torch.sigmoid(f) for f in (P, U)]
    on_pos, on_unl = -torch.log(odds[0] / (1 + odds[0])), torch.log(1 + odds[1])
    torch.testing.assert_close(found, 0.3 * on_pos.mean() + 0.7 * on_unl.mean())


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_the_optimum_is_the_class_probability(setting):
    """Cells with known masses: the gradient of the expected loss vanishes at the truth."""
    eta, mass, prior = np.array([0.1, 0.4, 0.9]), np.array([0.5, 0.2, 0.3]), 0.4
    assert mass @ eta == pytest.approx(prior)
    c, n = 0.5, 1000
    n_pos = round(c * prior * n)
    positive = mass * eta / prior
    unlabeled = mass * (1 - c * eta) / (1 - c * prior) if setting == "one-sample" else mass
    n_unl = n - n_pos
    task = make_task(n_pos, n_unl, setting=setting, prior=prior)
    f = torch.tensor(np.log(eta / (1 - eta)), requires_grad=True)
    share = n_pos / n
    if setting == "one-sample":
        rate = n_pos / (prior * n)
        loss_pos, loss_unl = -torch.log(torch.sigmoid(f)), -torch.log(1 - rate * torch.sigmoid(f))
    else:
        odds = n_pos / (n_unl * prior) * torch.sigmoid(f)
        loss_pos, loss_unl = -torch.log(odds / (1 + odds)), torch.log(1 + odds)
    value = share * (torch.tensor(positive) * loss_pos).sum()
    value = value + (1 - share) * (torch.tensor(unlabeled) * loss_unl).sum()
    value.backward()
    assert f.grad.abs().max() < 1e-12
    # The method's loss has the same gradient as these explicit ones.
    g = torch.tensor([0.3, -0.2, 0.8], requires_grad=True)
    method = begin("likelihood", g.detach(), g.detach(), task)
    assert torch.isfinite(method.loss("net", batch(g.detach(), g.detach())))


def test_all_positives_labeled_is_finite():
    task = make_task(50, 50, setting="one-sample", prior=0.5)
    loss = begin("likelihood", P, U, task).loss("net", batch(P, 40.0 * U))
    assert torch.isfinite(loss)
