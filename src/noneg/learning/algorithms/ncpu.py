"""NcPU: aligned representations and labels with regret (Zhao et al., ICLR 2026)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from noneg.errors import InputError
from noneg.learning.contract import Algorithm, Batch, Choice, PUData, average, hyper
from noneg.learning.networks import margin
from noneg.learning.task import soft_cross_entropy

# The slope of the square root is infinite at 0.
_LEAST_DISTANCE = 1e-6


class _Aligned(nn.Module):
    """A network split before its last linear layer, with a projector and a predictor."""

    def __init__(self, network: nn.Module, width: int) -> None:
        super().__init__()
        # A network that is itself a layer has no parent to take the layer from.
        network = nn.Sequential(network) if isinstance(network, nn.Linear) else network
        linear = [name for name, part in network.named_modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise InputError("network", "must have a linear layer: NcPU aligns its inputs.")
        place, _, last = linear[-1].rpartition(".")
        parent = network.get_submodule(place)
        self.head = cast("nn.Linear", getattr(parent, last))
        setattr(parent, last, nn.Identity())
        sizes, device = (self.head.in_features, width, width), self.head.weight.device
        self.embed = nn.Sequential(network, _two_layers(*sizes)).to(device)
        self.predictor = _two_layers(width, width, width).to(device)

    def forward(self, x: Tensor) -> Tensor:
        return self.both(x)[0]

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the network's outputs and the predicted representations, of length 1."""
        network, projector = self.embed
        inner = network(x)
        return self.head(inner), normalize(self.predictor(projector(inner)).float())


def _two_layers(inputs: int, hidden: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def alignment(q: Tensor, k: Tensor, positive: Tensor) -> Tensor:
    r"""Return the mean of :math:`2\sqrt{1-\langle q_i,k_j\rangle}` over rows j of row i's class."""
    same = (positive[:, None] == positive[None]).float()
    distance = 2.0 * (1.0 - q @ k.T).clamp(min=_LEAST_DISTANCE).sqrt()
    return ((same * distance).sum(1) / same.sum(1)).mean()


@dataclass(kw_only=True, eq=False)
class NcPU(Algorithm):
    r"""NcPU: non-contrastive alignment of representations, and phantom labels.

    The loss is the cross-entropy on P, plus that on U with labels :math:`s`, plus a weight times

    .. math:: \tilde L_r = \frac1n \sum_i \frac1{|Q_i|} \sum_{j \in Q_i}
        2\sqrt{1 - \langle\tilde q_i, \tilde k_j\rangle}

    where q are predicted representations of one view, k are a target network's representations of
    the other view, and :math:`Q_i` are the rows in the batch that the classifier assigns to the
    class of row i. The square root gives pairs that are close, and so probably of the same class,
    the largest gradients. The target network is a moving average (as in BYOL).

    The prototype of a class is a moving average of its q. The label :math:`s'` of an unlabeled row
    is a moving average of whether its q is closer to the positive prototype. A row whose negative
    probability is at least :math:`\tau` gets :math:`s = 0`, a phantom label: :math:`s'` goes on
    underneath, so that the row returns to it when the classifier regrets. The threshold adapts,
    :math:`\tau = \tilde\tau\,\tilde\rho_-/\max(\tilde\rho_-, \tilde\rho_+)`, where
    :math:`\tilde\tau` and :math:`\tilde\rho` are moving averages of the confidence and of the class
    probabilities on U (Zhao, Tu, Zheng, Wang, Wang, Feagin and Jiao 2026, *Noisy-Pair Robust
    Representation Alignment for Positive-Unlabeled Learning*, ICLR).

    Written from descriptions of the paper, not from its code: the two-layer projector and
    predictor without batch normalization, the target's rate and the start of the moving averages
    are ours, one of the two views is predicted, and the entropy regularization is left out. The
    paper trains for more than a thousand epochs; in a short run, labels that move by 1% per
    epoch hardly leave 1/2.

    Parameters
    ----------
    weight : float
        Weight of the alignment.
    keep : float
        Weight of the past in the prototypes, the threshold and the target network.
    keep_label : float
        Weight of the past in the label of a row, which changes once per epoch.
    width : int
        Number of dimensions of the representations.

    Examples
    --------
    >>> NcPU().needs_strong
    True
    """

    weight: float = hyper(50.0, Choice(5.0, 50.0))
    keep: float = 0.99
    keep_label: float = hyper(0.99, Choice(0.9, 0.99))
    width: int = 128

    name = "ncpu"
    title = "NcPU"
    citation = "Zhao, Tu, Zheng, Wang, Wang, Feagin and Jiao (ICLR 2026)"
    probability = (
        "A score: the probability of a label that is set to 0 where the score is already low."
    )
    needs_prior = False
    corrections = ()
    needs_strong = True

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the network with its heads, and keep a copy without predictor as the target."""
        net = _Aligned(network, self.width)
        self.frozen["target"] = copy.deepcopy(net.embed).requires_grad_(requires_grad=False)
        return {"net": net}

    def prepare(self, data: PUData) -> None:
        """Start with labels and a threshold of 1/2, and without prototypes."""
        self.state["labels"] = torch.full((data.n_unl,), 0.5, device=self.device)
        self.state["prototypes"] = torch.zeros(2, self.width, device=self.device)
        # The confidence, and the probabilities of the negative and of the positive class.
        self.state["means"] = torch.full((3,), 0.5, device=self.device)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss, and update the labels of the batch."""
        net, n = cast("Any", self.players[player]), len(batch.pos.x)
        out, q = net.both(batch.x)
        f = margin(out).float()
        with torch.no_grad():
            parts = (batch.pos, batch.unl)
            other = torch.cat([p.x if p.strong is None else p.strong for p in parts])
            k = normalize(self.frozen["target"](other).float())
            positive = torch.cat([torch.ones_like(f[:n]), (f[n:] >= 0.0).float()])
            labels = self.labels(q, torch.sigmoid(f[n:]), positive, batch.unl.row)
        cross = softplus(-f[:n]).mean() + soft_cross_entropy(f[n:], labels).mean()
        return cross + self.weight * alignment(q, k, positive)

    def labels(self, q: Tensor, score: Tensor, positive: Tensor, row: Tensor) -> Tensor:
        """Update prototypes, threshold and labels in place, and return the gated labels."""
        state, members = self.state, torch.stack([1.0 - positive, positive])
        found = members @ q / members.sum(1, keepdim=True).clamp(min=1.0)
        state["prototypes"].copy_(normalize(self._moved(state["prototypes"], found)))
        near = q[len(q) - len(row) :] @ state["prototypes"].T
        old = self.keep_label * state["labels"][row]
        label = old + (1.0 - self.keep_label) * (near[:, 1] > near[:, 0]).float()
        state["labels"].copy_(state["labels"].scatter(0, row, label))
        sure = torch.maximum(score, 1.0 - score)
        means = torch.stack([sure, 1.0 - score, score]).mean(1)
        state["means"].copy_(self._moved(state["means"], means))
        confidence, negative, other = state["means"].unbind()
        threshold = confidence * negative / torch.maximum(negative, other)
        return torch.where(1.0 - score >= threshold, 0.0, label)

    def _moved(self, old: Tensor, new: Tensor) -> Tensor:
        return self.keep * old + (1.0 - self.keep) * new

    def after_step(self, batch: Batch) -> None:  # noqa: ARG002
        """Update the target network."""
        average(self.frozen["target"], cast("Any", self.players["net"]).embed, self.keep)
