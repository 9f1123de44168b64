r"""Losses of a margin f, the PU risks built from them, and soft labels for unlabeled rows.

============== =============================== =============================== ====================
name           positive                        negative                        probability
============== =============================== =============================== ====================
logistic       :math:`\log(1+e^{-f})`          :math:`\log(1+e^{f})`           :math:`\sigma(f)`
sigmoid        :math:`\sigma(-f)`              :math:`\sigma(f)`               none: only the sign
squared        :math:`(1-f)^2/4`               :math:`(1+f)^2/4`               :math:`(1+f)/2`
double-hinge   :math:`\max(-f, 0, (1-f)/2)`    :math:`\max(f, 0, (1+f)/2)`     none: only the sign
============== =============================== =============================== ====================

The logistic and squared losses are proper: their population optimum gives the class probability.
Everything here uses only tensor operations, so it works under ``torch.compile`` and
``torch.func.vmap``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch.nn.functional import logsigmoid, softplus

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from noneg.learning.task import Task


LossName = Literal["logistic", "sigmoid", "squared", "double-hinge"]

# Limit on the log odds when the squared loss gives probabilities at or beyond 0 or 1.
LARGEST_LOGIT = 16.0


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margin for each label.

    Attributes
    ----------
    positive : callable
        Loss when the label is positive, elementwise.
    logit : callable
        Log odds of the probability that the margin represents.
    proper : bool
        Whether the population optimum is the class probability.

    Examples
    --------
    >>> import torch
    >>> loss = find_loss("logistic")
    >>> bool(torch.isclose(loss.positive(torch.tensor(2.0)), loss.negative(torch.tensor(-2.0))))
    True
    """

    positive: Callable[[Tensor], Tensor]
    logit: Callable[[Tensor], Tensor]
    proper: bool

    def negative(self, f: Tensor) -> Tensor:
        """Return the loss when the label is negative; all losses here are symmetric."""
        return self.positive(-f)


def _same(f: Tensor) -> Tensor:
    return f


def _logistic(f: Tensor) -> Tensor:
    return softplus(-f)


def _sigmoid(f: Tensor) -> Tensor:
    return torch.sigmoid(-f)


def _squared(f: Tensor) -> Tensor:
    return (1.0 - f).square() / 4.0


def _squared_logit(f: Tensor) -> Tensor:
    return (2.0 * torch.atanh(f.clamp(-1.0, 1.0))).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)


def _double_hinge(f: Tensor) -> Tensor:
    return torch.maximum(-f, torch.relu((1.0 - f) / 2.0))


LOSSES: dict[str, MarginLoss] = {
    "logistic": MarginLoss(_logistic, _same, proper=True),
    "sigmoid": MarginLoss(_sigmoid, _same, proper=False),
    "squared": MarginLoss(_squared, _squared_logit, proper=True),
    "double-hinge": MarginLoss(_double_hinge, _same, proper=False),
}


def find_loss(name: str) -> MarginLoss:
    """Return a loss by name."""
    if name not in LOSSES:
        raise InputError("loss", f"must be one of {', '.join(LOSSES)}", value=name)
    return LOSSES[name]


def pu_risks(p: Tensor, u: Tensor, task: Task, loss: MarginLoss) -> tuple[Tensor, Tensor]:
    r"""Return the risk on positives and the estimated risk on negatives.

    .. math:: R_p = \pi\,\hat E_+[\ell(f, +1)], \qquad
        R_n = \hat E_p[\ell(f, -1)] - \pi\,\hat E_+[\ell(f, -1)]

    (du Plessis et al. 2015; Kiryo et al. 2017, Eq. 2). The population mean uses the task's
    one-sample correction; with ``weighted``, the sum is Eq. (8) of the PU benchmark paper.

    Examples
    --------
    >>> import torch
    >>> from noneg.learning.task import make_task
    >>> task = make_task(2, 2, setting="two-sample", prior=0.5)
    >>> p, u = torch.tensor([1.0, 3.0]), torch.tensor([0.0, -2.0])
    >>> risk = sum(pu_risks(p, u, task, find_loss("logistic")))
    >>> round(float(risk - (u.exp().log1p().mean() - 0.5 * p.mean())), 6)
    0.0
    """
    against = loss.negative(p)
    positive = task.prior * loss.positive(p).mean()
    return positive, task.mean(against, loss.negative(u)) - task.prior * against.mean()


def soft_cross_entropy(f: Tensor, target: Tensor) -> Tensor:
    r"""Return :math:`-t\log\sigma(f) - (1-t)\log(1-\sigma(f))`, elementwise, for any t in [0, 1].

    Examples
    --------
    >>> import torch
    >>> round(float(soft_cross_entropy(torch.tensor(0.0), torch.tensor(0.3))), 4)
    0.6931
    """
    return softplus(f) - target * f


def binary_entropy(f: Tensor) -> Tensor:
    r"""Return the entropy of a Bernoulli variable with log odds f, finite for every f.

    Examples
    --------
    >>> import torch
    >>> [round(float(h), 4) for h in binary_entropy(torch.tensor([0.0, 500.0]))]
    [0.6931, 0.0]
    """
    return softplus(f) - torch.sigmoid(f) * f


# Bisection steps for the constant; the initial interval is at most a few hundred wide.
_HALVINGS = 40


def count_posterior(f: Tensor, k: int) -> Tensor:
    r"""Return the probability of each label given that k labels are positive.

    With independent :math:`y_i \sim \mathrm{Bernoulli}(\sigma(f_i))` and :math:`C = \sum_i y_i`,

    .. math:: q_i = P(y_i = 1 \mid C = k) = s_i \, \frac{P(C_{-i} = k-1)}{P(C = k)}.

    Adding a constant to all logits does not change q (the probability of every outcome with k
    positives is multiplied by the same factor), so we add the constant that makes the expected
    count k. The count k is then the most likely one, nothing underflows, and the distributions of
    the sums follow from their Fourier transforms, which are products, without a loop over rows.

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
        raise InputError("k", f"must be a number of rows from 0 to {n}, got {k}.")
    if k in (0, n):
        return torch.full_like(f, float(k == n))
    s = torch.sigmoid(_centered(f.double(), k))
    # An odd length avoids the angle pi, where a factor could be zero. The transform of a real
    # sequence is conjugate-symmetric, so half of the angles are enough.
    length = n + 1 + n % 2
    angle = 2.0 * math.pi / length * torch.arange(length // 2 + 1, device=f.device).double()
    turn = torch.polar(torch.ones_like(angle), angle)
    factor = 1.0 + s[:, None] * (turn - 1.0)
    whole = factor.prod(0) * torch.polar(torch.where(angle > 0.0, 2.0, 1.0).double(), -k * angle)
    without = (whole * turn / factor).real.sum(1)
    return (s * without / whole.real.sum()).clamp(0.0, 1.0).to(f.dtype)


def _centered(f: Tensor, k: int) -> Tensor:
    """Return the logits plus the constant that makes the expected count k."""
    reach = math.log(len(f)) + 1.0
    low, high = -f.max() - reach, -f.min() + reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        many = torch.sigmoid(f + middle).sum() > k
        low, high = torch.where(many, low, middle), torch.where(many, middle, high)
    return f + middle


def released_posterior(f: Tensor, k: int) -> Tensor:
    r"""Return the quantity that the released GLWS code uses instead of `count_posterior`.

    Its backward recursion over the rows uses :math:`1-s_t` instead of :math:`s_t` when row t is the
    last positive one and other rows follow. For row i, an outcome y with k positives, the last of
    them in row t, therefore has the weight

    .. math:: w_i(y) = P(y)\,\Bigl(\frac{1-s_t}{s_t}\Bigr)^{[i \le t < n]}

    and :math:`q_i` is the share of the weight on outcomes with :math:`y_i = 1`. If fewer than k
    rows look positive, the last rows of a batch are labeled positive, regardless of their scores.

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
    """Return log probabilities of 0 to k positives among the rows before each row.

    A chain has three lines: the log probabilities of a positive label, those of a negative label,
    and the values used instead of the first line for the first positive row.
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


def trend(scores: Tensor) -> Tensor:
    r"""Return :math:`\tfrac1T\sum_t \log(1 + d_t + d_t^2/2)` of the changes d in each column.

    Examples
    --------
    >>> import torch
    >>> [round(x, 4) for x in trend(torch.tensor([[0.5, 0.5], [0.6, 0.5], [0.7, 0.4]])).tolist()]
    [0.0998, -0.0499]
    """
    d = scores.diff(dim=0)
    return torch.log(1.0 + d + d.square() / 2.0).mean(0)


def natural_break(values: Tensor) -> float:
    """Return the top of the lower class in the split with the least within-class squares.

    Examples
    --------
    >>> import torch
    >>> natural_break(torch.tensor([5.0, 1.0, 2.0, 6.0]))
    2.0
    """
    x = values.double().sort().values
    if len(x) < 2:
        return float(x[-1])
    # The within sum is the total minus the between sum, so maximize sum of (class total)^2 / size.
    size = torch.arange(1, len(x), device=x.device)
    centered = x - x.mean()
    lower = centered.cumsum(0)[:-1]
    between = lower.square() / size + lower.square() / (len(x) - size)
    return float(x[between.argmax()])


def pseudo_labels(scores: Tensor) -> Tensor:
    """Return 1 for rows whose recorded scores increase, and 0 for the other rows.

    If the break is above 0, the rows with the steepest trends are set aside and the rest are split
    again.
    """
    value = trend(scores)
    at = natural_break(value)
    rest = value[value < 0.2 / (len(scores) - 1)]
    if at > 0.0 and len(rest):
        at = natural_break(rest)
    return (value > at).float()
