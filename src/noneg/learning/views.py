"""Random views of training images, for `PUData.weak` and `PUData.strong`.

A view is a function of a batch and a generator; evaluation never uses one.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch.nn.functional import pad

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Cropped", "Turned"]

_ANGLES = 41


class Turned:
    """Flat square images, mirrored by chance and turned by up to some degrees.

    The nearest pixel is taken; what comes from outside is black. It is the training view of the PU
    benchmark for USPS, at ten degrees.

    Parameters
    ----------
    side : int
        Of the images; rows have ``side ** 2`` pixels.
    black : float
        What to put in from outside.
    degrees : float
        Largest angle.

    Examples
    --------
    >>> view = Turned(2, degrees=0.0)
    >>> x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> seen = {tuple(view(x, torch.Generator().manual_seed(k))[0].tolist()) for k in range(20)}
    >>> sorted(seen)
    [(1.0, 2.0, 3.0, 4.0), (2.0, 1.0, 4.0, 3.0)]
    """

    def __init__(self, side: int, *, black: float = 0.0, degrees: float = 10.0) -> None:
        self.side, self.black, self.degrees = side, black, degrees

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the batch seen anew."""
        which = torch.randint(len(self.sources), (len(x),), generator=generator)
        black = x.new_full((len(x), 1), self.black)
        return torch.cat([x, black], 1).gather(1, self.sources[which].to(x.device))

    @cached_property
    def sources(self) -> Tensor:
        """Where each pixel comes from, an angle a row, then the same mirrored."""
        side, middle = self.side, (self.side - 1) / 2.0
        row, column = np.mgrid[0:side, 0:side] - middle
        table = []
        for mirror in (1.0, -1.0):
            for angle in np.deg2rad(np.linspace(-self.degrees, self.degrees, _ANGLES)):
                c, s = math.cos(angle), math.sin(angle)
                from_row, from_column = c * row + s * column, mirror * (c * column - s * row)
                r, k = (np.rint(v + middle).astype(int) for v in (from_row, from_column))
                inside = (r >= 0) & (r < side) & (k >= 0) & (k < side)
                table.append(np.where(inside, side * r + k, side**2).ravel())
        return torch.from_numpy(np.array(table))


class Cropped:
    """Images with channels, mirrored by chance and shifted by up to some pixels.

    What a shift leaves free is the reflected image. It is the training view of the PU benchmark
    for CIFAR-10, at four pixels.

    Parameters
    ----------
    padding : int
        Largest shift.

    Examples
    --------
    >>> view = Cropped(1)
    >>> view(torch.rand(5, 3, 8, 8), torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3, 8, 8])
    """

    def __init__(self, padding: int = 4) -> None:
        self.padding = padding

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the batch seen anew."""
        n, _, rows, columns = x.shape
        shift = torch.randint(2 * self.padding + 1, (2, n, 1), generator=generator)
        mirror = torch.randint(2, (n, 1), generator=generator) == 1
        row, column = shift[0] + torch.arange(rows), shift[1] + torch.arange(columns)
        column = torch.where(mirror, column.flip(1), column)
        wide = pad(x, (self.padding,) * 4, mode="reflect")
        which, row, column = (
            part.to(x.device) for part in (torch.arange(n)[:, None, None], row, column)
        )
        return wide[which, :, row[:, :, None], column[:, None, :]].movedim(-1, 1)
