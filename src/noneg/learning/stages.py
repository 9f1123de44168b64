"""What methods in stages do to an optimizer or a network between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


def scale_rate(optimizer: Optimizer, factor: float) -> None:
    """Set the learning rate to `factor` times the one the optimizer was made with.

    Examples
    --------
    >>> import torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    >>> scale_rate(optimizer, 0.1)
    >>> scale_rate(optimizer, 0.2)
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """
    for group in optimizer.param_groups:
        group["lr"] = factor * group.setdefault("initial_lr", group["lr"])


def restart(optimizer: Optimizer) -> None:
    """Forget momentum and moments, as a new optimizer would."""
    optimizer.state.clear()


def average(into: nn.Module, network: nn.Module, keep: float) -> None:
    """Move the parameters of `into` to ``keep`` of themselves plus the rest of the network's.

    Buffers, such as the statistics of batch normalization, are copied.

    Examples
    --------
    >>> from torch import nn
    >>> old, new = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    >>> _ = old.requires_grad_(False).weight.fill_(1.0), new.requires_grad_(False).weight.fill_(3.0)
    >>> average(old, new, 0.75)
    >>> old.weight.item()
    1.5
    """
    for mine, theirs in zip(into.parameters(), network.parameters(), strict=True):
        mine.lerp_(theirs.detach(), 1.0 - keep)
    for buffer, other in zip(into.buffers(), network.buffers(), strict=True):
        buffer.copy_(other)
