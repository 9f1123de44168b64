"""Random augmentations ("views") of training images, for `PUData.weak` and `PUData.strong`.

A view is a function of a batch and a generator. Views are never used in evaluation.
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

    def __init__(self, side: int, *, black: float = 0.0, degrees: float = 10.0) -> None:
        self.side, self.black, self.degrees = side, black, degrees

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the augmented batch."""
        which = torch.randint(len(self.sources), (len(x),), generator=generator)
        black = x.new_full((len(x), 1), self.black)
        return torch.cat([x, black], 1).gather(1, self.sources[which].to(x.device))

    @cached_property
    def sources(self) -> Tensor:
        """Source index of each pixel, one row per angle, first unflipped and then flipped."""
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

    def __init__(self, padding: int = 4) -> None:
        self.padding = padding

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the augmented batch."""
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
