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
from torch.nn.functional import logsigmoid

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


def released_posterior(f: Tensor, k: int) -> Tensor:
    r"""Return what the released code of GLWS puts in the place of `count_posterior`.

    Its recursion from the last row to the first has :math:`1-s_t` instead of :math:`s_t` where row
    t is the last positive one and others follow. So an outcome y with k positives, of which t is
    the last, has in row i the weight

    .. math:: w_i(y) = P(y)\,\Bigl(\frac{1-s_t}{s_t}\Bigr)^{[i \le t < n]}

    and :math:`q_i` is the share of the weight with :math:`y_i = 1`. When fewer rows look positive
    than k, the last rows of a batch become positive, whatever they are.

    Examples
    --------
    >>> import torch
    >>> q = released_posterior(torch.tensor([2.0, 0.0, -1.0]), 2)
    >>> [round(float(x), 4) for x in (*q, q.sum())]
    [0.9649, 0.7405, 0.2946, 2.0]
    """
    n = len(f)
    if k in (0, n):
        return torch.full_like(f, float(k == n))
    yes, no = logsigmoid(f.double()), logsigmoid(-f.double())
    last = torch.cat([no[:-1], yes[-1:]])
    there, back = torch.stack([yes, no, yes]), torch.stack([yes, no, last]).flip(1)
    before, after = _log_laws(torch.stack([there, back]), k)
    after = after.flip(0, 1)
    own = torch.cat([yes[:, None].expand(n, k - 1), last[:, None]], 1)
    positive = torch.logsumexp(before[:, :-1] + after[:, 1:] + own, 1)
    negative = torch.logsumexp(before + after, 1) + no
    return torch.sigmoid(positive - negative).to(f.dtype)


def _log_laws(chains: Tensor, k: int) -> Tensor:
    """Return log laws of the number of positives, up to k, among the rows before each row.

    A chain has three lines: log probabilities of a positive label, of a negative one, and what
    stands for the former in the first positive row.
    """
    yes, no, first = chains.permute(1, 2, 0)[..., None]
    law = torch.cat([torch.zeros_like(yes[0]), yes[0].new_full((len(chains), k), -math.inf)], 1)
    laws = [law]
    step = torch.cat([first, yes.expand(-1, -1, k - 1)], 2)
    for i in range(len(yes) - 1):
        more = torch.logaddexp(law[:, 1:] + no[i], law[:, :-1] + step[i])
        law = torch.cat([law[:, :1] + no[i], more], 1)
        laws.append(law)
    return torch.stack(laws, 1)
