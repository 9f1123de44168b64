"""Networks and random numbers that a test can compute with."""

import torch


class Beta:
    """A generator whose beta law has one value."""

    def __init__(self, value):
        self.value = value

    def beta(self, *_):
        return self.value


class Table(torch.nn.Module):
    """One free margin a cell; inputs are numbers of cells."""

    def __init__(self, margins):
        super().__init__()
        self.margins = torch.nn.Parameter(torch.as_tensor(margins).double().clone())

    def forward(self, x):
        return self.margins[x[:, 0].long()]

    def double_gradient(self, value):
        return torch.autograd.grad(value, self.margins)[0]


def rows(counts):
    """Cell numbers, each as often as its count, a column."""
    return torch.repeat_interleave(torch.arange(len(counts)), torch.as_tensor(counts))[:, None]
