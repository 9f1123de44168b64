"""Objectives of the classifiers in the PU-ECE paper, and the images they use (its Appendix F)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from noneg.learning.algorithms import NNPU, NNPUGA
from noneg.learning.contract import Algorithm, Batch, View
from noneg.learning.task import find_loss, make_task
from noneg.randomness import stream

EPOCHS, BATCH, WEIGHT_DECAY = 100, 256, 2.5e-4
WARM_UP = 0.05  # share of the steps; the paper does not state its length
HELD_OUT = 0.1
LOSSES = ("logistic", "sigmoid")
PN = {f"PN-{loss}": loss for loss in LOSSES}
# PU is the paper's Eq. (3), GA is Algorithm 1 of Kiryo et al. (2017).
PU = {f"PU-{loss}": (NNPU, loss) for loss in LOSSES}
PU |= {f"PU-GA-{loss}": (NNPUGA, loss) for loss in LOSSES}
# Algorithm 1 in batches from both samples mixed, as in the code of Kiryo et al.
MIXED = {f"PU-mixed-{loss}": loss for loss in LOSSES}


def rate(step: int, total: int) -> float:
    """Return the learning-rate factor: a linear warm-up, then half a cosine."""
    warm = max(1, round(WARM_UP * total))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


@dataclass(frozen=True)
class Images:
    """Images on a device, training images first, and which of them are positive."""

    pixels: Tensor
    positive: np.ndarray
    n_train: int

    @property
    def device(self) -> torch.device:
        return self.pixels.device

    @property
    def prior(self) -> float:
        return float(self.positive[: self.n_train].mean())

    @property
    def test(self) -> Tensor:
        return torch.arange(self.n_train, len(self.positive), device=self.device)

    def tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    def tagged(self, rows: np.ndarray) -> np.ndarray:
        """Return the row numbers tagged as labeled positives, to distinguish them from unlabeled
        rows."""
        return rows + len(self.positive)

    def labeled(self, rows: Tensor) -> Tensor:
        """Return which of the rows are tagged."""
        return rows >= len(self.positive)

    def take(self, rows: Tensor) -> Tensor:
        """Return flat pixels in [0, 1] for rows with any leading axes; tags are ignored."""
        flat = self.pixels.index_select(0, rows.flatten() % len(self.positive))
        return flat.float().div_(255.0).reshape(*rows.shape, -1)


@dataclass(frozen=True)
class Rows:
    """Rows of one trial. The positives of a smaller size are a subset of those of a larger one."""

    train: np.ndarray
    held: np.ndarray
    train_pos: np.ndarray
    held_pos: np.ndarray

    def labeled(self, n: int) -> np.ndarray:
        """Return which held-out rows are labeled positives when n images are labeled."""
        return np.isin(self.held, self.held_pos[: split_size(n)[1]])

    def grouped(self, data: Images, on_test: np.ndarray, on_held: np.ndarray, n: int):
        """Return logits by group; the labeled held-out positives are those for this size."""
        on_labeled, positive = self.labeled(n), data.positive[self.held]
        tested = data.positive[data.n_train :]
        return {
            "test_neg": on_test[~tested],
            "test_pos": on_test[tested],
            "held_neg": on_held[~positive],
            "held_pos": on_held[positive & ~on_labeled],
            "held_labeled": on_held[on_labeled],
        }


def draw_rows(positive: np.ndarray, trial: int, name: str) -> Rows:
    """Split the training images; the labeled positives of each part come from that part.

    Every image is unlabeled, as in the paper, whose unlabeled sample is the whole data set.
    """
    order = stream(trial, f"{name} rows").permutation(positive.size)
    held, train = np.split(order, [round(HELD_OUT * positive.size)])
    return Rows(train, held, train[positive[train]], held[positive[held]])


def split_size(n: int) -> tuple[int, int]:
    """Return how many of n labeled rows are for training, and how many are held out."""
    held = max(1, round(HELD_OUT * n))
    return n - held, held


def shuffled(rows: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """Return consecutive random orders of the rows for each trial, truncated to a given length."""
    trials, n = rows.shape
    rounds = math.ceil(length / n)
    keys = torch.rand(trials, rounds, n, generator=generator, device=rows.device)
    order = keys.argsort(dim=-1).reshape(trials, -1)[:, :length]
    return rows.gather(1, order)


def pu_loss(algorithm: Algorithm, prior: float) -> Callable[[Tensor], Tensor]:
    """Return a method of noneg as a loss of logits: a batch of positives, then of unlabeled rows.

    In two samples, the loss does not depend on the sample sizes.
    """
    algorithm.task = make_task(BATCH, BATCH, setting="two-sample", prior=prior)
    algorithm.players = {"net": torch.nn.Identity()}  # the logits are already computed

    def loss(f: Tensor) -> Tensor:
        p, u = f[:BATCH], f[BATCH:]
        return algorithm.loss("net", Batch(f, View(p, p), View(u, u), 0.0))

    return loss


def labeled_loss(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the mean loss for logits and their labels, along the last axis."""
    margin_loss = find_loss(name)

    def loss(f: Tensor, positive: Tensor) -> Tensor:
        return torch.where(positive, margin_loss.positive(f), margin_loss.negative(f)).mean(-1)

    return loss


def mixed_loss(name: str, prior: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the loss of `NNPUGA` for batches in which positives and unlabeled rows are mixed.

    The share of positives in a batch is random; a batch may contain none.
    """
    margin_loss = find_loss(name)

    def mean(values: Tensor, of: Tensor) -> Tensor:
        return torch.where(of, values, 0.0).sum(-1) / of.sum(-1).clamp(min=1)

    def loss(f: Tensor, labeled: Tensor) -> Tensor:
        against = margin_loss.negative(f)
        negative = mean(against, ~labeled) - prior * mean(against, labeled)
        positive = prior * mean(margin_loss.positive(f), labeled)
        return torch.where(negative < 0.0, -negative, positive + negative)

    return loss


def loss_of(name: str, data: Images) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the loss of a classifier as a function of its logits and their rows."""
    if name in PN:
        head, positive = labeled_loss(PN[name]), data.tensor(data.positive)
        return lambda f, rows: head(f, positive[rows])
    if name in MIXED:
        head = mixed_loss(MIXED[name], data.prior)
        return lambda f, rows: head(f, data.labeled(rows))
    make, loss = PU[name]
    head = pu_loss(make(loss_name=loss), data.prior)
    return lambda f, _: head(f)


def pu_error(said: Tensor, labeled: Tensor, prior: float) -> Tensor:
    r"""Return the unbiased PU risk of the 0-1 loss on unlabeled rows, along the last axis.

    :math:`\pi\,(1 - 2\,\mathrm{TPR}) + \mathrm{PPR}` (PU-ECE paper, Eq. 2). `said` is 1 for rows
    predicted positive, and `labeled` is 1 for rows that are also labeled positives.
    """
    tpr = (said * labeled).sum(-1) / labeled.sum(-1)
    return prior * (1.0 - 2.0 * tpr) + said.mean(-1)
