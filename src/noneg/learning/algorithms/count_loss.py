"""Count Loss: the number of positives in a batch (Shukla et al., NeurIPS 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch.nn.functional import logsigmoid, pad, softplus

from noneg.errors import InputError
from noneg.learning.contract import Algorithm, Choice, Variant, hyper

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch
    from noneg.learning.task import Correction

# Log odds of rows that are added to make their number a power of two: never positive.
_NEVER = -1e30


def log_count_law(f: Tensor) -> Tensor:
    r"""Return :math:`\log P(C = j)`, j = 0 to n, of the number of positives among n rows.

    Labels are independent with log odds f. Laws of halves are combined, in log space, in
    :math:`\log_2 n` rounds, so nothing underflows and no loop runs over rows.

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
    """Return the laws of sums, a row each, from log laws of equal length."""
    rows, size = a.shape
    sums = pad(a[:, :, None] + b[:, None, :], (0, size), value=-math.inf)
    # Cut into lines that are one shorter, line i has moved by i: a column is a sum of numbers.
    shifted = sums.reshape(rows, -1)[:, :-size].reshape(rows, size, 2 * size - 1)
    return torch.logsumexp(shifted, dim=1)


@dataclass(kw_only=True, eq=False)
class CountLoss(Algorithm):
    r"""Count Loss: positives in the unlabeled batch must be as many as the prior says.

    With C the number of positives when row i is one with probability :math:`s_i`, independently,

    .. math:: w\,\hat E_+[-\log s] + \frac{w}{n+1}\,
        \mathrm{KL}\bigl(\mathrm{Binomial}(n, \pi_U) \,\|\, P(C = \cdot)\bigr)

    (Shukla, Zeng, Ahmed and Van den Broeck 2023, *A Unified Approach to Count-Based
    Weakly-Supervised Learning*, NeurIPS; the divisor n + 1 is that of their code). :math:`\pi_U` is
    the prior of the unlabeled rows. Positives and the count pull equally, so the scores settle
    where batches of as many P as U rows put them (see `GLWS`), and the log odds are moved from
    there to the prior.
    ``target="exact"`` has :math:`-w\log P(C = k)` with :math:`k = n\pi_U` rounded instead; its
    gradient in :math:`f_i` is :math:`w(s_i - P(y_i = 1 \mid C = k))`, n times as strong as that of
    the positives, so that only the prior of the unlabeled rows is to be changed for that of the
    population.

    ``variant="bench"``: the exact count, rounded down, w = 1, and the prior of the population even
    in one sample.

    Parameters
    ----------
    weight : float
        w, of both parts.
    target : {"binomial", "exact"}
        What the count is compared with.

    Examples
    --------
    >>> CountLoss().target, CountLoss(variant="bench").target
    ('binomial', 'exact')
    """

    weight: float = hyper(10.0, Choice(1.0, 10.0), bench=1.0)
    target: Literal["binomial", "exact"] = hyper(
        "binomial", Choice("binomial", "exact"), bench="exact"
    )

    name: ClassVar[str] = "count-loss"
    title: ClassVar[str] = "Count Loss"
    citation: ClassVar[str] = "Shukla, Zeng, Ahmed and Van den Broeck (NeurIPS 2023)"
    probability: ClassVar[str] = (
        "The class probability, once moved from the share of positives in a batch to the prior; "
        "under-confident with the binomial target in small batches, over-confident with the exact "
        "one, which wants scores of 0 and 1."
    )
    corrections: ClassVar[tuple[Correction, ...]] = ("shift", "none")
    bench_corrections: ClassVar[tuple[Correction, ...]] = ()
    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")
    consistent: ClassVar[bool] = True
    clip_norm: ClassVar[float | None] = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target not in ("binomial", "exact"):
            raise InputError("target", "must be 'binomial' or 'exact'", value=self.target)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss on positives and that on the count."""
        p, u = self.scores(batch, player)
        log_law = log_count_law(u)
        if self.target == "exact":
            on_count = -log_law[self.count(len(u))]
        else:
            wanted = _log_binomial(len(u), self.task.prior, u.device).to(log_law.dtype)
            on_count = (wanted.exp() * (wanted - log_law)).sum() / (len(u) + 1)
        return self.weight * (softplus(-p).mean() + on_count)

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds, moved to the prior of the population."""
        if self.target == "exact":
            return super().decision(x)
        return self.margins(x) + self.task.balanced_shift

    def count(self, n: int) -> int:
        """Return the number of positives among n unlabeled rows."""
        return int(n * self.task.prior) if self.bench else round(n * self.task.prior)


def _log_binomial(n: int, q: float, device: torch.device) -> Tensor:
    """Return the log law of a binomial count; impossible counts get a very small one, not 0."""
    j = torch.arange(n + 1, dtype=torch.float64, device=device)
    ways = math.lgamma(n + 1) - torch.lgamma(j + 1) - torch.lgamma(n - j + 1)
    q = min(max(q, 1e-12), 1.0 - 1e-12)
    return ways + j * math.log(q) + (n - j) * math.log1p(-q)
