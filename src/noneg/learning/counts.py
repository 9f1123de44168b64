r"""Labels given how many of them are positive.

With independent :math:`y_i \sim \mathrm{Bernoulli}(\sigma(f_i))` and :math:`C = \sum_i y_i`,

.. math:: q_i = P(y_i = 1 \mid C = k) = s_i \, \frac{P(C_{-i} = k-1)}{P(C = k)}.

Adding a constant to all logits leaves q as it is (it multiplies every outcome with k positives by
the same factor), so we add the one for which the expected count is k. There the count k is the
likeliest, nothing underflows, and the laws of sums follow from their Fourier transform, a product,
without a loop over rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

# Bisections of the constant; each halves an interval of at most a few hundred.
_HALVINGS = 40


def count_posterior(f: Tensor, k: int) -> Tensor:
    """Return the probability of each label given that k labels are positive.

    Parameters
    ----------
    f : Tensor, shape (n,)
        Log odds of the labels.
    k : int
        Number of positives, from 0 to n.

    Examples
    --------
    >>> import torch
    >>> q = count_posterior(torch.tensor([2.0, 0.0, -1.0]), 2)
    >>> [round(float(x), 4) for x in (*q, q.sum())]
    [0.9649, 0.7405, 0.2946, 2.0]
    """
    n = len(f)
    if not 0 <= k <= n:
        raise ValueError(f"'k' must be a number of rows from 0 to {n}, got {k}.")
    if k in (0, n):
        return torch.full_like(f, float(k == n))
    s = torch.sigmoid(_centred(f.double(), k))
    # An odd length keeps the angle pi out, where a factor could be zero; the transform of a real
    # law is symmetric, so half of the angles do.
    length = n + 1 + n % 2
    angle = 2.0 * math.pi / length * torch.arange(length // 2 + 1, device=f.device).double()
    turn = torch.polar(torch.ones_like(angle), angle)
    factor = 1.0 + s[:, None] * (turn - 1.0)
    whole = factor.prod(0) * torch.polar(torch.where(angle > 0.0, 2.0, 1.0).double(), -k * angle)
    without = (whole * turn / factor).real.sum(1)
    return (s * without / whole.real.sum()).clamp(0.0, 1.0).to(f.dtype)


def _centred(f: Tensor, k: int) -> Tensor:
    """Return the logits plus the constant at which the expected count is k."""
    reach = math.log(len(f)) + 1.0
    low, high = -f.max() - reach, -f.min() + reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        many = torch.sigmoid(f + middle).sum() > k
        low, high = torch.where(many, low, middle), torch.where(many, middle, high)
    return f + middle
