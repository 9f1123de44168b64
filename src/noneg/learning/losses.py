r"""Losses of a margin f, and the PU risks built from them.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch.nn.functional import softplus

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
    proper : bool
        Whether the population optimum is the class probability.
    logit : callable
        Log odds of the probability that the margin represents; by default, the margin itself.

    Examples
    --------
    >>> import torch
    >>> loss = find_loss("logistic")
    >>> bool(torch.isclose(loss.positive(torch.tensor(2.0)), loss.negative(torch.tensor(-2.0))))
    True
    """

    positive: Callable[[Tensor], Tensor]
    proper: bool
    logit: Callable[[Tensor], Tensor] = lambda f: f

    def negative(self, f: Tensor) -> Tensor:
        """Return the loss when the label is negative; all losses here are symmetric."""
        return self.positive(-f)


def _squared_logit(f: Tensor) -> Tensor:
    return (2.0 * torch.atanh(f.clamp(-1.0, 1.0))).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)


LOSSES: dict[str, MarginLoss] = {
    "logistic": MarginLoss(lambda f: softplus(-f), proper=True),
    "sigmoid": MarginLoss(lambda f: torch.sigmoid(-f), proper=False),
    "squared": MarginLoss(lambda f: (1.0 - f).square() / 4.0, proper=True, logit=_squared_logit),
    "double-hinge": MarginLoss(
        lambda f: torch.maximum(-f, torch.relu((1.0 - f) / 2.0)), proper=False
    ),
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


def non_negative(positive: Tensor, negative: Tensor) -> Tensor:
    """Return the risk with its negative part clipped at zero (Kiryo et al. 2017, Eq. 6).

    Examples
    --------
    >>> import torch
    >>> float(non_negative(torch.tensor(0.5), torch.tensor(-0.25)))
    0.5
    """
    return positive + torch.relu(negative)


def with_ascent(
    positive: Tensor, negative: Tensor, *, tolerance: float = 0.0, discount: float = 1.0
) -> Tensor:
    """Return a loss whose gradient is the step of Kiryo et al. (2017), Algorithm 1.

    Where the negative part is below minus the tolerance, the step ascends on that part alone; the
    value of the loss then has no meaning.

    Examples
    --------
    >>> import torch
    >>> float(with_ascent(torch.tensor(0.5), torch.tensor(-0.25)))
    0.25
    """
    ascent = negative < -tolerance
    return torch.where(ascent, -discount * negative, positive + negative)


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
