"""Random augmentations ("views") of training images, for `PUData.weak` and `PUData.strong`.

A view is a function of a batch and a generator. Views are never used in evaluation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from noneg.extras import optional

with optional("noneg.learning"):
    import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["Cropped", "Turned"]

_ANGLES = 41


class _Rearranged(ABC):
    """A view that takes each pixel from another place, one of a number of such views."""

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the augmented batch."""
        source = self.sources(self.draw(len(x), generator), x.shape[1:])
        return rearrange(x, source.to(x.device), self.black)

    # Value of pixels from outside the image.
    black: float = 0.0

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of views."""

    @abstractmethod
    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw a view for each of n rows."""

    @abstractmethod
    def sources(self, which: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the source of each pixel of a row of this shape, one line for each given view.

        Pixels are numbered row by row; the number after the last stands for black.
        """


def rearrange(x: Tensor, source: Tensor, black: Tensor | float) -> Tensor:
    """Return rows with each pixel taken from its source, the same one for all channels.

    Examples
    --------
    >>> rearrange(torch.tensor([[5.0, 6.0]]), torch.tensor([[1, 2]]), -1.0).tolist()
    [[6.0, -1.0]]
    """
    rows, pixels = source.shape[:-1], source.shape[-1]
    flat = x.reshape(*rows, x.shape[len(rows) :].numel() // pixels, pixels)
    edge = (flat.new_ones(*flat.shape[:-1], 1) * black).to(x.dtype)
    places = source.unsqueeze(-2).expand_as(flat)
    return torch.cat([flat, edge], -1).gather(-1, places).reshape(x.shape)


@dataclass(frozen=True)
class Turned(_Rearranged):
    """Randomly flip and rotate flattened square images.

    Rotation uses the nearest pixel, and pixels from outside the image are black. With ten degrees,
    this is the PU benchmark's training view for USPS.

    Parameters
    ----------
    side : int
        Side of the images; rows have ``side ** 2`` pixels.
    black : float
        Value for pixels from outside the image.
    degrees : float
        Maximum angle in either direction.

    Examples
    --------
    >>> view = Turned(2, degrees=0.0)
    >>> x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> seen = {tuple(view(x, torch.Generator().manual_seed(k))[0].tolist()) for k in range(20)}
    >>> sorted(seen)
    [(1.0, 2.0, 3.0, 4.0), (2.0, 1.0, 4.0, 3.0)]
    """

    side: int
    _: KW_ONLY
    black: float = 0.0
    degrees: float = 10.0

    @property
    def count(self) -> int:
        """Number of views: each angle, first unflipped and then flipped."""
        return 2 * _ANGLES

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw a view for each of n rows."""
        return torch.randint(self.count, (n,), generator=generator)

    def sources(self, which: Tensor, shape: Sequence[int]) -> Tensor:  # noqa: ARG002
        """Return the source of each pixel, one line for each given view."""
        return _turns(self.side, self.degrees)[which]


@cache
def _turns(side: int, degrees: float) -> Tensor:
    middle = (side - 1) / 2.0
    row, column = np.mgrid[0:side, 0:side] - middle
    table = []
    for mirror in (1.0, -1.0):
        for angle in np.deg2rad(np.linspace(-degrees, degrees, _ANGLES)):
            c, s = math.cos(angle), math.sin(angle)
            from_row, from_column = c * row + s * column, mirror * (c * column - s * row)
            r, k = (np.rint(v + middle).astype(int) for v in (from_row, from_column))
            inside = (r >= 0) & (r < side) & (k >= 0) & (k < side)
            table.append(np.where(inside, side * r + k, side**2).ravel())
    return torch.from_numpy(np.array(table))


@dataclass(frozen=True)
class Cropped(_Rearranged):
    """Randomly flip and shift images with channels.

    The border exposed by a shift is filled by reflection. With four pixels, this is the PU
    benchmark's training view for CIFAR-10.

    Parameters
    ----------
    padding : int
        Maximum shift in pixels.

    Examples
    --------
    >>> view = Cropped(1)
    >>> view(torch.rand(5, 3, 8, 8), torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3, 8, 8])
    """

    padding: int = 4

    @property
    def count(self) -> int:
        """Number of views: each shift, unflipped and flipped."""
        return 2 * (2 * self.padding + 1) ** 2

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw a view for each of n rows."""
        shifts = 2 * self.padding + 1
        down, right = torch.randint(shifts, (2, n), generator=generator)
        return 2 * (shifts * down + right) + torch.randint(2, (n,), generator=generator)

    def sources(self, which: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the source of each pixel, one line for each given view."""
        down, right = which // 2 // (2 * self.padding + 1), which // 2 % (2 * self.padding + 1)
        row, column = (_shifted(length, self.padding) for length in shape[-2:])
        line = torch.where(which[:, None] % 2 > 0, column[right].flip(1), column[right])
        return (shape[-1] * row[down][:, :, None] + line[:, None]).flatten(1)


@cache
def _shifted(length: int, padding: int) -> Tensor:
    """Return the sources along one axis for each shift, reflected at the ends."""
    wide = np.pad(np.arange(length), padding, mode="reflect")
    return torch.from_numpy(wide).unfold(0, length, 1)
