"""Do scores of a row rise or fall in training? Trends of records, and their two natural classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def trend(scores: Tensor) -> Tensor:
    r"""Return :math:`\tfrac1T\sum_t \log(1 + d_t + d_t^2/2)` of the changes d, a column a row.

    Examples
    --------
    >>> import torch
    >>> [round(x, 4) for x in trend(torch.tensor([[0.5, 0.5], [0.6, 0.5], [0.7, 0.4]])).tolist()]
    [0.0998, -0.0499]
    """
    d = scores.diff(dim=0)
    return torch.log(1.0 + d + d.square() / 2.0).mean(0)


def natural_break(values: Tensor) -> float:
    """Return the largest value of the lower of two classes with the least sum of squares within.

    Examples
    --------
    >>> import torch
    >>> natural_break(torch.tensor([5.0, 1.0, 2.0, 6.0]))
    2.0
    """
    x = values.double().sort().values
    if len(x) < 2:
        return float(x[-1])
    # Within = all squares - between: the best split has the largest sum of (class total)^2 / size.
    size = torch.arange(1, len(x), device=x.device)
    centred = x - x.mean()
    lower = centred.cumsum(0)[:-1]
    between = lower.square() / size + lower.square() / (len(x) - size)
    return float(x[between.argmax()])


def pseudo_labels(scores: Tensor) -> Tensor:
    """Return 1 for rows whose recorded scores rise, 0 for those that fall.

    If the break is above 0, the steepest rows are left aside and the others split anew.
    """
    value = trend(scores)
    at = natural_break(value)
    rest = value[value < 0.2 / (len(scores) - 1)]
    if at > 0.0 and len(rest):
        at = natural_break(rest)
    return (value > at).float()
