"""PAN: the predictive adversarial network (Hu et al., AAAI 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from noneg.learning.contract import Algorithm, Batch, LogUniform, hyper
from noneg.learning.networks import new_network

# Added inside every logarithm.
_EPS = 0.01


@dataclass(kw_only=True, eq=False)
class PAN(Algorithm):
    r"""PAN: a classifier C trained against a discriminator D between P and U.

    D maximizes and C minimizes, with :math:`\epsilon = 0.01`,

    .. math:: V = \sum_P \log(D+\epsilon) + \sum_U \log(1-D+\epsilon)
        + \lambda \sum_U \log\frac{1-C+\epsilon}{C+\epsilon}\,(2D - 1)

    (Hu, Le, Liu, Ji, Ma, Zhao and Yan 2021, *Predictive Adversarial Learning from Positive and
    Unlabeled Data*, AAAI). D is updated first, then C against the new D. This implementation uses
    means instead of sums, and C minimizes its part without :math:`\lambda`: Adam, the authors'
    optimizer, is invariant to such factors, and plain gradient descent would otherwise stall. The
    unlabeled sample should follow the population, so in the one-sample setting it includes the
    labeled rows.

    ``variant="bench"`` uses sums and multiplies C's part by :math:`\lambda`. As in the authors'
    code, the second term is :math:`\max\{\log(1-D+\epsilon) - \log(1-\bar D+\epsilon),\, 0\}`,
    where :math:`\bar D` is the mean of D, so that D is not pushed down where it is above its mean.

    Parameters
    ----------
    weight : float
        The weight :math:`\lambda`.

    Examples
    --------
    >>> PAN().weight
    0.0001
    """

    weight: float = hyper(1e-4, LogUniform(1e-5, 1e-2))

    name = "pan"
    title = "PAN"
    citation = "Hu, Le, Liu, Ji, Ma, Zhao and Yan (AAAI 2021)"
    probability = "A score: the sign of the discriminator drives the classifier toward 0 and 1."
    needs_prior = False
    corrections = ("weighted", "none")
    variants = ("ref", "bench")

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the discriminator and the classifier, in the order of their updates."""
        return {"discriminator": new_network(network), "net": network}

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the negated value for the discriminator, or the value for the classifier."""
        n = len(batch.pos.x) if self.bench else 1
        if player == "net":
            with torch.no_grad():
                judged = tuple(torch.sigmoid(f) for f in self.scores(batch, "discriminator"))
            factor = self.weight if self.bench else 1.0
            return n * factor * self.agreement(judged, self.scores(batch))
        d_pos, d_unl = (torch.sigmoid(f) for f in self.scores(batch, player))
        with torch.no_grad():
            classified = self.scores(batch)
        last = self.weight * self.agreement((d_pos, d_unl), classified)
        return -n * (torch.log(d_pos + _EPS).mean() + self.against(d_pos, d_unl) + last)

    def against(self, d_pos: Tensor, d_unl: Tensor) -> Tensor:
        """Return the population mean of log(1 - D); the benchmark clips it at the mean of D."""
        if not self.bench:
            return self.task.mean(*(torch.log(1.0 - d + _EPS) for d in (d_pos, d_unl)))
        level = torch.log(1.0 - self.task.mean(d_pos, d_unl).detach() + _EPS)
        return self.task.mean(
            *(torch.relu(torch.log(1.0 - d + _EPS) - level) for d in (d_pos, d_unl))
        )

    def agreement(self, judged: tuple[Tensor, ...], margins: tuple[Tensor, ...]) -> Tensor:
        """Return the term that involves both players, which is low when C follows D."""
        parts = []
        for d, f in zip(judged, margins, strict=True):
            c = torch.sigmoid(f)
            parts.append((torch.log(1.0 - c + _EPS) - torch.log(c + _EPS)) * (2.0 * d - 1.0))
        return self.task.mean(*parts)
