"""What the classifiers of the PU-ECE paper minimize, and how they are trained (its Appendix F)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from noneg.learning.algorithms import NNPU, NNPUGA
from noneg.learning.contract import Batch, View
from noneg.learning.losses import find_loss
from noneg.learning.task import make_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from noneg.learning.contract import Algorithm

EPOCHS, BATCH, WEIGHT_DECAY = 100, 256, 2.5e-4
WARM_UP = 0.05  # share of the steps; the paper does not say how long it is

LOSSES = ("logistic", "sigmoid")
PN = {f"PN-{loss}": loss for loss in LOSSES}
# PU is the paper's Eq. (3), GA is Algorithm 1 of Kiryo et al. (2017).
PU = {f"PU-{loss}": (NNPU, loss) for loss in LOSSES}
PU |= {f"PU-GA-{loss}": (NNPUGA, loss) for loss in LOSSES}
# Algorithm 1 in batches from both samples mixed, as the code of Kiryo et al. has it.
MIXED = {f"PU-mixed-{loss}": loss for loss in LOSSES}


def rate(step: int, total: int) -> float:
    """Return the share of the learning rate: up in a line, then down along half a cosine."""
    warm = max(1, round(WARM_UP * total))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def pu_loss(algorithm: Algorithm, prior: float) -> Callable[[Tensor], Tensor]:
    """Return a method of noneg as a loss of logits: a batch of positives, then of unlabeled rows.

    In two samples the loss does not depend on their sizes.
    """
    algorithm.task = make_task(BATCH, BATCH, setting="two-sample", prior=prior)
    algorithm.players = {"net": torch.nn.Identity()}  # the logits are there already

    def loss(f: Tensor) -> Tensor:
        p, u = f[:BATCH], f[BATCH:]
        return algorithm.loss("net", Batch(f, View(p, p), View(u, u), 0.0))

    return loss


def labelled_loss(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the mean loss of logits with their labels, along the last axis."""
    margin_loss = find_loss(name)

    def loss(f: Tensor, positive: Tensor) -> Tensor:
        return torch.where(positive, margin_loss.positive(f), margin_loss.negative(f)).mean(-1)

    return loss


def mixed_loss(name: str, prior: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the loss of `NNPUGA` for batches in which positives and unlabeled rows are mixed.

    The share of positives in a batch is left to chance; a batch may hold none.
    """
    margin_loss = find_loss(name)

    def mean(values: Tensor, of: Tensor) -> Tensor:
        return torch.where(of, values, 0.0).sum(-1) / of.sum(-1).clamp(min=1)

    def loss(f: Tensor, labelled: Tensor) -> Tensor:
        against = margin_loss.negative(f)
        negative = mean(against, ~labelled) - prior * mean(against, labelled)
        positive = prior * mean(margin_loss.positive(f), labelled)
        return torch.where(negative < 0.0, -negative, positive + negative)

    return loss


def pu_error(said: Tensor, labelled: Tensor, prior: float) -> Tensor:
    r"""Return the unbiased PU risk of the 0-1 loss on unlabeled rows, along the last axis.

    :math:`\pi\,(1 - 2\,\mathrm{TPR}) + \mathrm{PPR}` (PU-ECE paper, Eq. 2). `said` is 1 where a
    row was called positive, `labelled` is 1 for those that are labelled positives as well.
    """
    tpr = (said * labelled).sum(-1) / labelled.sum(-1)
    return prior * (1.0 - 2.0 * tpr) + said.mean(-1)
