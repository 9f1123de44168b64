"""Count Loss: the number of positives in a batch (Shukla et al., NeurIPS 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad, softplus

from noneg.errors import InputError
from noneg.learning.contract import Algorithm, Batch, Choice, hyper

# Log odds of the rows added to pad to a power of two; these rows are never positive.
_NEVER = -1e30


def log_count_law(f: Tensor) -> Tensor:
    r"""Return :math:`\log P(C = j)`, j = 0 to n, for the number C of positives among n rows.

    Labels are independent with log odds f. The distributions for pairs of halves are combined in
    log space in :math:`\log_2 n` rounds, so nothing underflows and there is no loop over rows.

    Parameters
    ----------
    f : Tensor, shape (n,)

    Examples
    --------
    >>> import torch
    >>> log_count_law(torch.zeros(3)).exp().mul(8).round().tolist()
    [1.0, 3.0, 3.0, 1.0]
    """
    n = len(f)
    f = pad(f, (0, (1 << max(n - 1, 0).bit_length()) - n), value=_NEVER)
    law = torch.stack([logsigmoid(-f), logsigmoid(f)], dim=1)
    while len(law) > 1:
        law = _log_convolve(law[0::2], law[1::2])
    return law[0, : n + 1]


def _log_convolve(a: Tensor, b: Tensor) -> Tensor:
    """Return the log distributions of sums, one per row, from log distributions of equal length."""
    rows, size = a.shape
    sums = pad(a[:, :, None] + b[:, None, :], (0, size), value=-math.inf)
    # Reshaping to lines one element shorter shifts line i by i, so each column has a constant sum.
    shifted = sums.reshape(rows, -1)[:, :-size].reshape(rows, size, 2 * size - 1)
    return torch.logsumexp(shifted, dim=1)


@dataclass(kw_only=True, eq=False)
class CountLoss(Algorithm):
    r"""Count Loss: match the number of positives in the unlabeled batch to the prior.

    Let C be the number of positives if row i is positive with probability :math:`s_i`,
    independently of the others. The loss is

    .. math:: w\,\hat E_+[-\log s] + \frac{w}{n+1}\,
        \mathrm{KL}\bigl(\mathrm{Binomial}(n, \pi_U) \,\|\, P(C = \cdot)\bigr)

    (Shukla, Zeng, Ahmed and Van den Broeck 2023, *A Unified Approach to Count-Based
    Weakly-Supervised Learning*, NeurIPS; the divisor n + 1 comes from their code). :math:`\pi_U` is
    the prior of the unlabeled rows. The positives and the count have equal influence, so the scores
    converge to the class probabilities in batches with equal numbers of P and U rows (see `GLWS`),
    and the log odds are then shifted to the prior.
    ``target="exact"`` uses :math:`-w\log P(C = k)` instead, with :math:`k = n\pi_U` rounded. Its
    gradient with respect to :math:`f_i` is :math:`w(s_i - P(y_i = 1 \mid C = k))`, n times as large
    as the gradient from the positives, so the only shift needed is from the prior of the unlabeled
    rows to the prior of the population.

    ``variant="bench"`` uses the exact count, rounded down, with w = 1, and the prior of the
    population even in the one-sample setting.

    Parameters
    ----------
    weight : float
        The weight w of both parts.
    target : {"binomial", "exact"}
        The target that the count is compared with.

    Examples
    --------
    >>> CountLoss().target, CountLoss(variant="bench").target
    ('binomial', 'exact')
    """

    weight: float = hyper(10.0, Choice(1.0, 10.0), bench=1.0)
    target: Literal["binomial", "exact"] = hyper(
        "binomial", Choice("binomial", "exact"), bench="exact"
    )

    name = "count-loss"
    title = "Count Loss"
    citation = "Shukla, Zeng, Ahmed and Van den Broeck (NeurIPS 2023)"
    probability = (
        "The class probability, after a shift from the share of positives in a batch "
        "to the prior; underconfident with the binomial target in small batches, "
        "overconfident with the exact target, which favors scores of 0 and 1."
    )
    corrections = ("shift", "none")
    variants = ("ref", "bench")
    consistent = True
    clip_norm = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target not in ("binomial", "exact"):
            raise InputError("target", "must be 'binomial' or 'exact'", value=self.target)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss on the positives plus the loss on the count."""
        p, u = self.scores(batch, player)
        log_law = log_count_law(u)
        if self.target == "exact":
            on_count = -log_law[self.count(len(u))]
        else:
            wanted = _log_binomial(len(u), self.task.prior, u.device).to(log_law.dtype)
            on_count = (wanted.exp() * (wanted - log_law)).sum() / (len(u) + 1)
        return self.weight * (softplus(-p).mean() + on_count)

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds, shifted to the prior of the population."""
        if self.target == "exact":
            return super().decision(x)
        return self.margins(x) + self.task.balanced_shift

    def count(self, n: int) -> int:
        """Return the expected number of positives among n unlabeled rows, as an integer."""
        return int(n * self.task.prior) if self.bench else round(n * self.task.prior)


def _log_binomial(n: int, q: float, device: torch.device) -> Tensor:
    """Return the log binomial distribution; impossible counts get a tiny probability, not 0."""
    j = torch.arange(n + 1, dtype=torch.float64, device=device)
    ways = math.lgamma(n + 1) - torch.lgamma(j + 1) - torch.lgamma(n - j + 1)
    q = min(max(q, 1e-12), 1.0 - 1e-12)
    return ways + j * math.log(q) + (n - j) * math.log1p(-q)
