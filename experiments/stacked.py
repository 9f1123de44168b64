"""Networks of the same shape trained side by side, as if alone, with one GPU call for all of them.

Their parameters are stacked and every layer runs over all of them (`torch.func.vmap`). They share
no weights, batches or statistics.
"""

import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import pad

from noneg.learning.networks import margin

Tensors = dict[str, Tensor]


class PatchConv2d(nn.Conv2d):
    """A convolution as one matrix product, which parallelizes better over networks than a grouped
    one."""

    def forward(self, x: Tensor) -> Tensor:
        k, stride, edge = self.kernel_size[0], self.stride[0], self.padding[0]
        x = pad(x, (edge,) * 4).unfold(2, k, stride).unfold(3, k, stride)
        rows, _, height, width = x.shape[:4]
        columns = x.permute(1, 4, 5, 0, 2, 3).reshape(-1, rows * height * width)
        out = self.weight.reshape(self.out_channels, -1) @ columns
        if self.bias is not None:
            out = out + self.bias[:, None]
        return out.reshape(-1, rows, height, width).transpose(0, 1)


class Stacked:
    """Networks whose parameters form one tensor per layer.

    `way` determines how convolutions are computed, with the same result: all in one grouped
    convolution ("group"), as matrix products with image patches ("patch"), or one network after the
    other ("loop").
    """

    def __init__(
        self, networks: Sequence[nn.Module], *, device: str | torch.device, way: str = "group"
    ) -> None:
        parameters, self.buffers = stack_module_state([n.to(device) for n in networks])
        self.parameters = {k: v.detach().requires_grad_() for k, v in parameters.items()}
        self.count, self.way = len(networks), way
        self.base = copy.deepcopy(networks[0])
        if way == "patch":
            for module in self.base.modules():
                if isinstance(module, nn.Conv2d):
                    module.__class__ = PatchConv2d

    def __call__(self, x: Tensor, parameters: Tensors | None = None) -> Tensor:
        """Map inputs (networks, rows, ...) to margins (networks, rows), optionally with other
        weights."""
        parameters = self.parameters if parameters is None else parameters
        if self.way == "loop":
            return torch.stack([self._one(*one) for one in self._apart(parameters, x)])
        return vmap(self._one)(parameters, self.buffers, x)

    def _apart(self, parameters: Tensors, x: Tensor) -> Iterator[tuple[Tensors, Tensors, Tensor]]:
        layers = {name: p.unbind() for name, p in parameters.items()}
        for k in range(self.count):
            yield (
                {name: p[k] for name, p in layers.items()},
                {name: b[k] for name, b in self.buffers.items()},
                x[k],
            )

    def _one(self, parameters: Tensors, buffers: Tensors, x: Tensor) -> Tensor:
        return margin(functional_call(self.base, (parameters, buffers), (x,)))
