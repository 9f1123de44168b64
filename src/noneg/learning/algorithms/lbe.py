"""LBE: jointly estimate the labeling bias and the classifier (Gong et al., TPAMI 2022)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Epoch
from noneg.learning.networks import new_network
from noneg.learning.task import logit, soft_cross_entropy


@dataclass(kw_only=True, eq=False)
class LBE(Algorithm):
    r"""LBE: a method in which the labeling probability may depend on the row.

    The model is :math:`h(x) = p(y=1 \mid x)` and
    :math:`\eta(x) = p(\text{labeled} \mid y=1, x)`, so an unlabeled row has the likelihood
    :math:`(1-\eta)h + 1-h` and a labeled one :math:`\eta h`. After a warm-up of h on P against U,
    EM alternates its two steps (Gong, Wang, Liu, Han, You, Yang and Tao 2022,
    *Instance-Dependent Positive and Unlabeled Learning With Labeling Bias Estimation*, IEEE
    TPAMI 44(8)). In every epoch, copies of both networks give

    .. math:: g = \frac{(1-\eta)h}{(1-\eta)h + 1-h}

    on unlabeled rows and g = 1 on labeled ones. Then h is fitted to g by cross-entropy, and
    :math:`\eta` minimizes :math:`\sum_P -\log\eta + \sum_U -g\log(1-\eta)`. P and U are weighted by
    their numbers of rows, as in the likelihood. All pairs with the same product :math:`h\eta` have
    the same likelihood, so the solution depends on the initialization and the network: treat h as a
    score.

    ``variant="bench"`` fits :math:`\eta` to the labels with weight 1 instead of g, weights P and U
    equally, sums the losses after the warm-up, and initializes both networks identically. After t
    rounds, the log odds of h are then the log odds of P against U plus :math:`\log(t+1)`, so
    eventually every row is predicted positive.

    Parameters
    ----------
    warmup : float
        Share of training before the first round.

    Examples
    --------
    >>> LBE().needs_prior
    False
    """

    warmup: float = 1.0 / 11.0

    name = "lbe"
    title = "LBE"
    citation = "Gong, Wang, Liu, Han, You, Yang and Tao (TPAMI 2022)"
    probability = (
        "The class probability in theory, but the likelihood does not identify it: "
        "it depends on the initialization and on when training stops."
    )
    needs_prior = False
    selected = True
    corrections = ()
    variants = ("ref", "bench")

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return both networks; the output of a new one is about 1/2 everywhere."""
        other = copy.deepcopy(network) if self.bench else new_network(network)
        players = {"net": network, "bias": other}
        self.frozen |= {name: copy.deepcopy(module) for name, module in players.items()}
        self.state["rounds"] = 0
        return players

    def start_epoch(self, epoch: Epoch) -> None:
        """Start a round after the warm-up by copying both networks."""
        if epoch.number and epoch.after(self.warmup):
            self.state["rounds"] += 1
            for name, module in self.players.items():
                self.frozen[name].load_state_dict(module.state_dict())

    def turns(self) -> tuple[str, ...]:
        """Return both players, or only the classifier during the warm-up."""
        return tuple(self.players) if self.state["rounds"] else ("net",)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return a player's cross-entropy with the expected labels from the last round."""
        p, u = self.scores(batch, player)
        g = self.expected(batch.unl.x) if self.state["rounds"] else torch.zeros_like(u)
        if player == "net":
            return self.total(softplus(-p), soft_cross_entropy(u, g))
        return self.total(softplus(-p), softplus(u) if self.bench else g * softplus(u))

    def expected(self, x: Tensor) -> Tensor:
        """Return g, whose log odds are the log odds of h plus log(1 - eta)."""
        h, eta = (self.margins(x, self.frozen[name]) for name in ("net", "bias"))
        return torch.sigmoid(h - softplus(eta))

    def total(self, on_pos: Tensor, on_unl: Tensor) -> Tensor:
        """Return the mean loss over all rows; the benchmark adds P and U means, and later sums."""
        if self.bench and not self.state["rounds"]:
            return on_pos.mean() + on_unl.mean()
        if self.bench:
            return on_pos.sum() + on_unl.sum()
        return self.task.row_mean(on_pos, on_unl)

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds of h, shifted from the training rows to the population."""
        return self.margins(x) + (0.0 if self.bench else self.shift)

    @property
    def shift(self) -> float:
        """Log odds of the prior minus log odds in all training rows; 0 if they are one sample."""
        task = self.task
        if task.population_prior is None or task.pooled:
            return 0.0
        among = (task.n_pos + task.unlabeled_prior * task.n_unl) / (task.n_pos + task.n_unl)
        return logit(task.population_prior) - logit(among)
