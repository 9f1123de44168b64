"""Losses under torch's transformations: many networks at once, and compilation."""

import copy

import pytest
import torch
from learning.margins import batch

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import PUData
from noneg.learning.networks import MLP
from noneg.learning.task import make_task

# Methods with one network whose loss needs nothing computed between steps.
NAMES = ["upu", "nnpu", "nnpu-ga", "pusb", "vpu", "dist-pu", "count-loss", "glws", "cvir", "naive"]
TWINS = ("upu", "nnpu")
CASES = [(name, variant) for name in NAMES for variant in ALGORITHMS[name].variants]


class Step(torch.nn.Module):
    """The loss of a step as a module: its parameters are those of the network."""

    def __init__(self, name, variant):
        super().__init__()
        rng = torch.Generator().manual_seed(4)
        p, u = (torch.randn(16, generator=rng) + shift for shift in (4.0, -3.0))
        self.batch, self.net = batch(p, u), MLP(1, (6,))
        self.algorithm = ALGORITHMS[name](variant=variant)
        task = make_task(16, 16, setting="two-sample", prior=0.37)
        self.algorithm.begin(self.net, task, PUData(p[:, None], u[:, None]), 0)
        self.start = copy.deepcopy((self.algorithm.random, self.algorithm.generator.get_state()))

    def forward(self):
        return self.algorithm.loss("net", self.batch)

    def at(self, weights):
        """Return the loss for given weights, always with the same random numbers."""
        self.algorithm.random = copy.deepcopy(self.start[0])
        self.algorithm.generator.set_state(self.start[1])
        return torch.func.functional_call(self, weights, ())


def networks(step, n=6):
    """Weights of several networks along a first axis."""
    rng = torch.Generator().manual_seed(0)
    return {k: torch.randn(n, *v.shape, generator=rng) for k, v in step.named_parameters()}


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_many_networks_at_once(name, variant):
    """vmap over weights gives the loss and the gradient of each network."""
    step = Step(name, variant)
    many, both = networks(step), torch.func.grad_and_value(step.at)
    slopes, values = torch.func.vmap(both, randomness="same")(many)
    for i, found in enumerate(values):
        slope, value = both({key: weights[i] for key, weights in many.items()})
        torch.testing.assert_close(found, value)
        for key, expected in slope.items():
            torch.testing.assert_close(slopes[key][i], expected, atol=1e-5, rtol=1e-4)


def test_the_clip_acts_on_some_of_them():
    """Ensures that the networks above take both branches of nnPU."""
    risks = [torch.func.vmap(Step(name, "ref").at)(networks(Step(name, "ref"))) for name in TWINS]
    clipped = risks[0] != risks[1]
    assert 0 < clipped.sum() < len(clipped)


@pytest.mark.parametrize("name", ["upu", "nnpu", "nnpu-ga", "pusb", "dist-pu", "count-loss"])
def test_the_whole_loss_is_one_graph(name):
    """There are no graph breaks; the capture-only back end needs no compiler."""
    step = Step(name, "ref")
    compiled = torch.compile(step.forward, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(), step())
