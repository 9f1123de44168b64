"""Holistic-PU: trends of predictions (Wang, Wan, Geng, Li and Chen, NeurIPS 2023)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Choice, Epoch, PUData, average, hyper
from noneg.learning.networks import margin, new_network
from noneg.learning.task import soft_cross_entropy

# Minimum number of records for a trend.
_RECORDS = 3
# Predictions with at least this confidence are targets for the strong view.
_CONFIDENT = math.log(0.9 / 0.1)


@dataclass(kw_only=True, eq=False)
class HolisticPU(Algorithm):
    r"""Holistic-PU: pseudo-labels from the trends of scores while U is trained as negative.

    During such training, the scores of hidden positives increase and those of negatives decrease.
    The first stage minimizes
    :math:`\tfrac12[\ell_\rho(P) + \ell_\rho(P_{\mathrm{strong}})] + \ell(U, 0)` with smoothed
    labels; before each epoch, a moving average of the network scores all unlabeled rows. The trend
    of each row's scores is then computed (see `trend`), and the two natural classes
    (Jenks) of the trends give the pseudo-labels :math:`\hat y`. The second stage trains a new
    network with targets 1 on P and :math:`\lambda\hat y` on U, where :math:`\lambda = t^{0.8}`
    grows with the progress t of the stage. Predictions with a confidence of at least 0.9 also serve
    as targets for the strong view (Wang, Wan, Geng, Li and Chen 2023, *Beyond Myopia: Learning from
    Positive and Unlabeled Data through Holistic Predictive Trends*, NeurIPS; the trend is defined
    as in their code). The learning rate follows :math:`\cos(7\pi t/16)` in each stage.

    Parameters
    ----------
    first_stage : float
        Share of training spent on the first stage, which has at least three epochs.
    smoothing : float
        Label smoothing on positives in the first stage.
    keep : float
        Weight of the past in the moving average.

    Examples
    --------
    >>> HolisticPU().needs_strong
    True
    """

    first_stage: float = 15.0 / 40.0
    smoothing: float = hyper(0.1, Choice(0.01, 0.1))
    keep: float = hyper(0.999, Choice(0.99, 0.999))

    name = "holistic-pu"
    title = "Holistic-PU"
    citation = "Wang, Wan, Geng, Li and Chen (NeurIPS 2023)"
    probability = (
        "A score: the probability of a pseudo-label, in batches with equal numbers of P and U rows."
    )
    needs_prior = False
    corrections = ()
    needs_strong = True

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the network, and keep a copy as its moving average."""
        self.frozen["average"] = copy.deepcopy(network).requires_grad_(requires_grad=False)
        return {"net": network}

    def prepare(self, data: PUData) -> None:
        """Start the first stage without records."""
        self.state |= {"records": torch.empty(0, data.n_unl, device=self.device), "begun": None}
        self.state["labels"] = torch.zeros(data.n_unl, device=self.device)

    def ready(self) -> bool:
        """Return whether the second stage has begun."""
        return self.state["begun"] is not None

    def start_epoch(self, epoch: Epoch) -> None:
        """Record scores in the first stage, and end the stage when it is over."""
        if not self.ready() and epoch.number:
            scores = torch.sigmoid(self.margins(epoch.data.unl, self.frozen["average"]))
            self.state["records"] = torch.cat([self.state["records"], scores[None]])
            if epoch.progress >= self.first_stage and len(self.state["records"]) >= _RECORDS:
                self._begin_second_stage(epoch)
        begun = self.state["begun"] if self.ready() else 0.0
        length = 1.0 - begun if self.ready() else self.first_stage
        t = min((epoch.progress - begun) / length, 1.0)
        epoch.scale_rate(math.cos(7.0 * math.pi * t / 16.0))

    def _begin_second_stage(self, epoch: Epoch) -> None:
        self.state |= {"begun": epoch.progress, "labels": pseudo_labels(self.state["records"])}
        network = self.players["net"]
        network.load_state_dict(new_network(network).state_dict())
        epoch.restart()

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss for the current stage."""
        strong = batch.unl.strong if self.ready() else batch.pos.strong
        n, m = len(batch.pos.x), len(batch.x)
        x = torch.cat([batch.x, batch.unl.x if strong is None else strong])
        f = margin(self.players[player](x)).float()
        p, u, strong_f = f[:n], f[n:m], f[m:]
        if self.ready():
            return self.second_loss(batch, p, u, strong_f)
        smooth = torch.ones_like(p) * (1.0 - self.smoothing / 2.0)
        on_pos = soft_cross_entropy(p, smooth) + soft_cross_entropy(strong_f, smooth)
        return on_pos.mean() / 2.0 + softplus(u).mean()

    def second_loss(self, batch: Batch, p: Tensor, u: Tensor, strong: Tensor) -> Tensor:
        """Return cross-entropies with labels, pseudo-labels and confident predictions."""
        target = self.ramp(batch.progress) * self.state["labels"][batch.unl.row]
        sure = (u.detach().abs() >= _CONFIDENT).float()
        taught = sure * softplus(-strong * torch.sign(u.detach()))
        return softplus(-p).mean() + soft_cross_entropy(u, target).mean() + taught.mean()

    def ramp(self, progress: float) -> Tensor:
        """Return the weight of the pseudo-labels, from 0 to 1."""
        begun = self.state["begun"]
        return torch.as_tensor((progress - begun) / (1.0 - begun)).clamp(0.0, 1.0) ** 0.8

    def after_step(self, batch: Batch) -> None:  # noqa: ARG002
        """Update the moving average."""
        if not self.ready():
            average(self.frozen["average"], self.players["net"], self.keep)


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
