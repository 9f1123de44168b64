"""The sums of a sketch as tensors, on any device that knows doubles."""

from __future__ import annotations

import torch

from noneg.kernels import FINE_GRID, FIRST_TAIL_KEY, MANTISSA_BITS, TAIL_EDGE

N_BUCKETS = FINE_GRID.size


def bucket_of(scores: torch.Tensor) -> torch.Tensor:
    """Return the bucket of a sketch that each score lies in, on its device.

    Equal to `noneg.kernels.bucket_of` of the grid of sketches.

    Examples
    --------
    >>> import torch
    >>> bucket_of(torch.tensor([0.0, 0.5, 1.0])).tolist()
    [0, 93697, 187393]
    """
    s = scores.double()
    middle = (s * FINE_GRID.scale).long() + FINE_GRID.offset
    upper = torch.where(s < 1.0 - TAIL_EDGE, middle, N_BUCKETS - 1 - _tail_bucket(1.0 - s))
    return torch.where(s < TAIL_EDGE, _tail_bucket(s), upper)


def _tail_bucket(distance: torch.Tensor) -> torch.Tensor:
    key = distance.contiguous().view(torch.int64) >> (52 - MANTISSA_BITS)
    return (key - (FIRST_TAIL_KEY - 1)).clamp(min=0)


def add_rows(
    count: torch.Tensor,
    total: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    scores: torch.Tensor,
    flags: torch.Tensor,
) -> None:
    """Add rows to the sums of buckets, in place: unlabeled rows first, then positives.

    Parameters
    ----------
    count, total : Tensor, shape (2 N_BUCKETS,)
        Number of rows (int64) and sum of scores (float64).
    low, high : Tensor, shape (N_BUCKETS,)
        Smallest and largest score of both groups.
    scores, flags : Tensor
        Scores in [0, 1], and 1 for positives.
    """
    s = scores.double()
    bucket = bucket_of(s)
    cell = bucket + N_BUCKETS * (flags == 1)
    count += torch.bincount(cell, minlength=2 * N_BUCKETS)
    total.index_add_(0, cell, s)
    low.scatter_reduce_(0, bucket, s, "amin")
    high.scatter_reduce_(0, bucket, s, "amax")
