"""Losses at given margins: the network is the identity."""

import torch

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import Batch, PUData, View


class Direct(torch.nn.Module):
    """Inputs are the margins themselves."""

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.factor * x[:, 0]


def batch(p, u, progress=0.0):
    """A batch whose rows are numbered consecutively."""
    x = torch.cat([p, u])[:, None]
    n = len(p)
    return Batch(x, View(x[:n], torch.arange(n)), View(x[n:], torch.arange(len(u))), progress)


def begin(name, p, u, task, **options):
    """An algorithm in its first step, on rows that are margins."""
    algorithm = ALGORITHMS[name](**options)
    algorithm.begin(Direct(), task, PUData(p.detach()[:, None], u.detach()[:, None]), 0)
    return algorithm


def loss_and_gradient(algorithm, p, u, player="net"):
    """Return the loss and its gradient with respect to every margin."""
    p, u = p.clone().requires_grad_(), u.clone().requires_grad_()
    value = algorithm.loss(player, batch(p, u))
    return value.detach(), gradient(value, p, u)


def gradient(value, p, u):
    return torch.cat(torch.autograd.grad(value, (p, u), materialize_grads=True))
