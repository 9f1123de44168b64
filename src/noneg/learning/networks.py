"""Networks for small images and tables; any other ``torch.nn.Module`` works as well.

A network maps a batch to one or two logits per row (negative, positive). With two, the margin is
their difference, which changes twice as fast at the same learning rate; the PU benchmark uses two.
"""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CNN", "MLP", "ResNet", "margin", "new_network", "resnet18", "resnet32", "resnet50"]

Norm = Literal["batch", "group"]


def margin(out: Tensor) -> Tensor:
    """Return one margin per row from an output of shape (n,), (n, 1) or (n, 2).

    Examples
    --------
    >>> import torch
    >>> margin(torch.tensor([[1.0, 3.0], [0.0, -1.0]])).tolist()
    [2.0, -1.0]
    """
    if out.ndim == 1:
        return out
    if out.ndim == 2 and out.shape[1] == 1:
        return out[:, 0]
    if out.ndim == 2 and out.shape[1] == 2:
        return out[:, 1] - out[:, 0]
    msg = f"must output one or two logits per row, got shape {tuple(out.shape)}."
    raise InputError("network", msg)


def new_network(network: nn.Module | Callable[[], nn.Module]) -> nn.Module:
    """Return a network with the same architecture and new random weights.

    A module is copied, and each layer that has ``reset_parameters`` is reinitialized. If some of
    its layers lack that method, pass a function that builds the module instead.

    Examples
    --------
    >>> one = MLP(3)
    >>> bool((new_network(one)[1].weight == one[1].weight).any())
    False
    """
    if not isinstance(network, nn.Module):
        return network()
    made = copy.deepcopy(network)
    made.apply(_reset)
    return made


def _reset(module: nn.Module) -> None:
    reset = getattr(module, "reset_parameters", None)
    if callable(reset):
        reset()


class MLP(nn.Sequential):
    """Fully connected network with ReLU activations.

    ``MLP(d)`` is the PU benchmark's network for tables, with one layer of 500 units;
    ``MLP(784, (100, 100), outputs=1)`` is the PU-ECE paper's network for MNIST.

    Examples
    --------
    >>> import torch
    >>> MLP(16)(torch.zeros(3, 16)).shape
    torch.Size([3, 2])
    """

    def __init__(self, inputs: int, hidden: Sequence[int] = (500,), *, outputs: int = 2) -> None:
        sizes = (inputs, *hidden)
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        super().__init__(*layers, nn.Linear(sizes[-1], outputs))


class CNN(nn.Sequential):
    """The ECE bias paper's network for 28 x 28 images (Table 2, after Harutyunyan et al.).

    It has four convolutions with normalization and ReLU, followed by 128 units.

    Examples
    --------
    >>> import torch
    >>> CNN()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 2])
    """

    def __init__(self, channels: int = 1, *, outputs: int = 2, norm: Norm = "batch") -> None:
        plan = [(32, 4, 2, 1), (32, 4, 2, 1), (64, 3, 2, 0), (256, 3, 1, 0)]
        layers: list[nn.Module] = []
        for out, kernel, stride, padding in plan:
            conv = nn.Conv2d(channels, out, kernel, stride, padding)
            layers += [conv, _norm(norm, out), nn.ReLU()]
            channels = out
        super().__init__(
            *layers, nn.Flatten(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, outputs)
        )


def _norm(norm: Norm, channels: int) -> nn.Module:
    """Return a normalization layer; with "group", a row's output does not depend on other rows."""
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    if norm == "group":
        return nn.GroupNorm(math.gcd(channels, 8), channels)
    raise InputError("norm", "must be 'batch' or 'group'", value=norm)


class _Block(nn.Module):
    """Residual block: ``relu(body(x) + shortcut(x))``."""

    def __init__(self, before: int, width: int, stride: int, norm: Norm, *, narrow: bool) -> None:
        super().__init__()
        after = 4 * width if narrow else width
        sizes = [(before, width, 1, 1), (width, width, 3, stride), (width, after, 1, 1)]
        plain = [(before, width, 3, stride), (width, width, 3, 1)]
        layers: list[nn.Module] = []
        for inputs, outputs, kernel, step in sizes if narrow else plain:
            layers += [_conv(inputs, outputs, kernel, step), _norm(norm, outputs), nn.ReLU()]
        self.body = nn.Sequential(*layers[:-1])
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(_conv(before, after, 1, stride), _norm(norm, after))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def _conv(before: int, after: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)


class ResNet(nn.Module):
    r"""Residual network for small images, with a 3 x 3 stem and no pooling before the blocks.

    Convolution weights are initialized from :math:`\mathcal N(0, 2/(k^2 \cdot \mathrm{out}))` (He
    et al. 2016).

    Parameters
    ----------
    widths : sequence of int
        Number of channels in each stage; every stage but the first halves the image size.
    blocks : sequence of int
        Number of blocks in each stage.
    pool : int or None
        Side of the average pooling before the last layer; None averages over the whole image.
    narrow : bool
        Whether blocks are bottlenecks (1 x 1, 3 x 3, 1 x 1 with four times the channels).
    size : int
        Side of the images; it matters only if more than one position remains after pooling.

    Examples
    --------
    >>> import torch
    >>> net = ResNet((8, 16), (1, 1), channels=1)
    >>> net(torch.zeros(3, 1, 16, 16)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        widths: Sequence[int],
        blocks: Sequence[int],
        *,
        channels: int = 3,
        outputs: int = 2,
        pool: int | None = None,
        narrow: bool = False,
        size: int = 32,
        norm: Norm = "batch",
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            _conv(channels, widths[0], 3, 1),
            _norm(norm, widths[0]),
            nn.ReLU(),
        ]
        before = widths[0]
        for stage, (width, count) in enumerate(zip(widths, blocks, strict=True)):
            for block in range(count):
                stride = 2 if stage and not block else 1
                layers.append(_Block(before, width, stride, norm, narrow=narrow))
                before = 4 * width if narrow else width
        side = size // 2 ** (len(widths) - 1)
        layers.append(nn.AdaptiveAvgPool2d(1) if pool is None else nn.AvgPool2d(pool))
        places = 1 if pool is None else (side // pool) ** 2
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(before * places, outputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the convolutions."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                count = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, std=math.sqrt(2.0 / count))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        return self.layers(x)


def resnet32(
    *, channels: int = 3, outputs: int = 2, size: int = 32, norm: Norm = "batch"
) -> ResNet:
    """Return the PU benchmark's network for images: 3 stages of 5 blocks, 16 to 64 channels.

    The paper calls it ResNet-34, but its code has this network.

    Examples
    --------
    >>> 0.46e6 < sum(p.numel() for p in resnet32().parameters()) < 0.47e6
    True
    """
    widths = (16, 32, 64)
    return ResNet(
        widths, (5, 5, 5), channels=channels, outputs=outputs, pool=8, size=size, norm=norm
    )


def resnet18(*, channels: int = 3, outputs: int = 2, norm: Norm = "batch") -> ResNet:
    """Return a ResNet-18 for small images.

    Examples
    --------
    >>> 11.1e6 < sum(p.numel() for p in resnet18(outputs=10).parameters()) < 11.2e6
    True
    """
    widths = (64, 128, 256, 512)
    return ResNet(widths, (2, 2, 2, 2), channels=channels, outputs=outputs, norm=norm)


def resnet50(*, channels: int = 3, outputs: int = 2, norm: Norm = "batch") -> ResNet:
    """Return a ResNet-50 for small images.

    Examples
    --------
    >>> 23.5e6 < sum(p.numel() for p in resnet50(outputs=10).parameters()) < 23.6e6
    True
    """
    widths = (64, 128, 256, 512)
    return ResNet(widths, (3, 4, 6, 3), channels=channels, outputs=outputs, narrow=True, norm=norm)
