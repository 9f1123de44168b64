"""PUbN: unlabeled rows weighted by a first network (Hsieh, Niu and Sugiyama, ICML 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Choice, Epoch, PUData, hyper
from noneg.learning.networks import new_network
from noneg.learning.task import find_loss, pu_risks, with_ascent

# Value that the benchmark's code uses for 1 - prior - rho on all data sets.
_BENCH_REST = 0.3


@dataclass(kw_only=True, eq=False)
class PUbN(Algorithm):
    r"""PUbN without biased negatives (the paper's PUbN\\N).

    Stage 1 learns :math:`\sigma(x) \approx p(y=1 \mid x)` with nnPU-GA. Stage 2 trains a new
    network on

    .. math:: \pi\,\hat E_+\Bigl[\ell(f,+1) + 1\{\sigma > \eta\}\tfrac{1-\sigma}{\sigma}\ell(f,-1)
        \Bigr] + \hat E_p\bigl[1\{\sigma \le \eta\}\,(1-\sigma)\,\ell(f,-1)\bigr],

    where :math:`\eta` is the quantile of :math:`\sigma` over unlabeled rows at level
    :math:`\tau(1-\pi)` (Hsieh, Niu and Sugiyama 2019, *Classification from Positive, Unlabeled and
    Biased Negative Data*, ICML, Theorem 1 with :math:`\rho = 0`). With the true :math:`\sigma`,
    this is the supervised risk for any :math:`\eta`. With validation rows, the stage 1 network is
    taken from the epoch that minimizes :math:`\hat E_p[\sigma^2] - 2\pi\hat E_+[\sigma]`.

    ``variant="bench"`` has one network, whose own detached output serves as :math:`\sigma`. The
    term for confident positives has a minus sign and is averaged over those rows only. The
    threshold :math:`\eta` is a quantile of the batch at a level that is 1 unless the data are tiny,
    so :math:`\tau` has no effect.

    Parameters
    ----------
    tau : float
        Share of the expected negatives that stage 2 takes from the unlabeled rows.
    first_stage : float
        Share of training spent on stage 1.

    Examples
    --------
    >>> PUbN().tau, PUbN(variant="bench").tau
    (0.9, 0.5)
    """

    tau: float = hyper(0.9, Choice(0.5, 0.7, 0.9), bench=0.5)
    first_stage: float = 0.5

    name = "pubn"
    title = "PUbN"
    citation = "Hsieh, Niu and Sugiyama (ICML 2019)"
    probability = (
        "The class probability, limited by the accuracy of the first network; "
        "'bench' has a wrong sign, which makes confident positives overconfident."
    )
    variants = ("ref", "bench")
    consistent = True

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return both networks."""
        if self.bench:
            return {"net": network}
        self.frozen["sigma"] = new_network(network)
        return {"first": new_network(network), "net": network}

    def prepare(self, data: PUData) -> None:
        """Start with stage 1."""
        self.state |= {"first_stage": not self.bench, "least": float("inf"), "eta": 1.0}
        for name, x in (("pos", data.pos), ("unl", data.unl)):
            self.state[name] = torch.zeros(len(x), device=self.device)

    def turns(self) -> tuple[str, ...]:
        """Return the network trained in this stage."""
        return ("first",) if self.state["first_stage"] else ("net",)

    def start_epoch(self, epoch: Epoch) -> None:
        """Keep the best stage 1 network; at the end of stage 1, use it to weight the rows."""
        if not self.state["first_stage"]:
            return
        self._keep(epoch.validation)
        if epoch.after(self.first_stage):
            sigma = self.frozen["sigma"]
            self.state["pos"] = torch.sigmoid(self.margins(epoch.data.pos, sigma))
            self.state["unl"] = torch.sigmoid(self.margins(epoch.data.unl, sigma))
            level = self.tau * (1.0 - self.task.prior)
            self.state["eta"] = float(_quantile(self.state["unl"], level))
            self.state["first_stage"] = False

    def _keep(self, validation: PUData | None) -> None:
        first, value = self.players["first"], -float("inf")
        if validation is not None:
            p, u = (torch.sigmoid(self.margins(x, first)) for x in (validation.pos, validation.unl))
            value = float(self.task.mean(p**2, u**2) - 2.0 * self.task.prior * p.mean())
        if value <= self.state["least"] or validation is None:
            self.frozen["sigma"].load_state_dict(first.state_dict())
            self.state["least"] = value

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the risk for the current stage."""
        p, u = self.scores(batch, player)
        if player == "first":
            return with_ascent(*pu_risks(p, u, self.task, find_loss("logistic")))
        if self.bench:
            return self._bench_loss(p, u)
        sigma_p, sigma_u = self.state["pos"][batch.pos.row], self.state["unl"][batch.unl.row]
        return second_risk(p, u, sigma_p, sigma_u, self)

    def _bench_loss(self, p: Tensor, u: Tensor) -> Tensor:
        sigma_p, sigma_u = torch.sigmoid(p).detach(), torch.sigmoid(u).detach()
        level = min(self.tau * _BENCH_REST * self.task.n_unl / len(u), 1.0)
        eta = _quantile(sigma_u, level)
        sure = (sigma_p > eta).float()
        odds = (sure * (1.0 - sigma_p) / sigma_p * softplus(p)).sum() / sure.sum().clamp(min=1.0)
        low = (sigma_u <= eta).float()
        unlabeled = (low * (1.0 - sigma_u) * softplus(u)).sum() / low.sum().clamp(min=1.0)
        return self.task.prior * (softplus(-p).mean() - odds) + unlabeled


def second_risk(p: Tensor, u: Tensor, sigma_p: Tensor, sigma_u: Tensor, method: PUbN) -> Tensor:
    """Return the stage 2 risk from margins and stage 1 probabilities."""
    task, eta = method.task, method.state["eta"]
    against_p, against_u = softplus(p), softplus(u)
    sure = torch.where(sigma_p > eta, (1.0 - sigma_p) / sigma_p.clamp(min=1e-12), 0.0)
    on_pos = torch.where(sigma_p <= eta, 1.0 - sigma_p, 0.0) * against_p
    on_unl = torch.where(sigma_u <= eta, 1.0 - sigma_u, 0.0) * against_u
    return task.prior * (softplus(-p) + sure * against_p).mean() + task.mean(on_pos, on_unl)


def _quantile(values: Tensor, level: float) -> Tensor:
    """Return an order statistic as the quantile; `torch.quantile` rejects large samples."""
    place = min(max(round(level * len(values)), 1), len(values))
    return values.kthvalue(place).values
