"""VPU: the variational approach (Chen, Liu, Wang, Zhao and Wu, NeurIPS 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from noneg.learning.contract import Algorithm, Batch, Choice, PUData, hyper
from noneg.learning.networks import margin
from noneg.learning.task import LARGEST_LOGIT

# A mixing coefficient of 0 or 1 would make a logarithm infinite.
_EDGE = 1e-8


@dataclass(kw_only=True, eq=False)
class VPU(Algorithm):
    r"""VPU, a variational method that needs no prior.

    With :math:`\phi = \sigma(f)`, the loss is :math:`L_{\mathrm{var}} + \lambda L_{\mathrm{reg}}`,

    .. math:: L_{\mathrm{var}} = \log \hat E_p[\phi] - \hat E_+[\log\phi], \qquad
        L_{\mathrm{reg}} = \hat E\bigl[(\log\tilde y - \log\phi(\tilde x))^2\bigr]

    where :math:`\tilde x = \gamma x_U + (1-\gamma)x_P`,
    :math:`\tilde y = \gamma\phi(x_U) + 1-\gamma` and
    :math:`\gamma \sim \mathrm{Beta}(\alpha, \alpha)` (Chen, Liu, Wang, Zhao and Wu 2020, *A
    Variational Approach for Learning from Positive and Unlabeled Data*, NeurIPS). The first part is
    invariant to multiplying :math:`\phi` by a constant, so the class probability is :math:`\phi`
    divided by its largest value on the training rows. This assumes that some rows are certain to be
    positive.

    ``variant="bench"`` computes no gradient for :math:`\tilde y`, uses the *logit* of the positive
    class instead of :math:`\log\phi(\tilde x)`, and does not divide by the largest value.

    Parameters
    ----------
    regularizer : float
        Weight :math:`\lambda`; the paper uses 1e-4 to 0.3, depending on the data set.
    alpha : float
        Parameter of the mixing coefficient's beta distribution.

    Examples
    --------
    >>> VPU().needs_prior
    False
    """

    regularizer: float = hyper(0.03, Choice(1e-4, 0.03, 0.1, 0.3))
    alpha: float = 0.3

    name = "vpu"
    title = "VPU"
    citation = "Chen, Liu, Wang, Zhao and Wu (NeurIPS 2020)"
    probability = (
        "The class probability if some training rows are certain to be positive, "
        "because its largest value is set to 1; the benchmark's version has an "
        "arbitrary scale."
    )
    needs_prior = False
    corrections = ("weighted", "batch", "none")
    bench_corrections = ("batch", "none")
    variants = ("ref", "bench")

    def prepare(self, data: PUData) -> None:  # noqa: ARG002
        """Start without rescaling."""
        self.state["log_largest"] = torch.zeros((), device=self.device)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the variational loss plus the mixup term."""
        p, u = (logsigmoid(f) for f in self.scores(batch, player))
        return self.variational(p, u) + self.regularizer * self.consistency(player, batch, u)

    def variational(self, p: Tensor, u: Tensor) -> Tensor:
        """Return the first part of the loss, given log phi."""
        on_pos, on_unl = self.task.marginal
        log_mean = torch.logsumexp(u, 0) + math.log(on_unl / len(u))
        if on_pos:
            rest = torch.logsumexp(p, 0) + math.log(on_pos / len(p))
            log_mean = torch.logaddexp(log_mean, rest)
        return log_mean - p.mean()

    def consistency(self, player: str, batch: Batch, u: Tensor) -> Tensor:
        """Return the mean squared difference between log phi and its target on mixed rows."""
        g = self.draw_beta(self.alpha).to(u.device).clamp(_EDGE, 1.0 - _EDGE)
        order = self.draw_order(len(batch.pos.x)).to(u.device)
        out = self.players[player](g * batch.unl.x + (1.0 - g) * batch.pos.x[order]).float()
        target = torch.logaddexp(u + torch.log(g), torch.log1p(-g).to(u.dtype))
        if self.bench:
            return (target.detach() - out.reshape(len(u), -1)[:, -1]).square().mean()
        return (target - logsigmoid(margin(out))).square().mean()

    def before_scoring(self, data: PUData) -> None:
        """Find the largest log phi on the training rows."""
        if not self.bench:
            largest = torch.maximum(self.margins(data.pos).max(), self.margins(data.unl).max())
            self.state["log_largest"] = logsigmoid(largest)

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds of phi divided by its largest value."""
        if self.bench:
            return self.margins(x)
        log_phi = logsigmoid(self.margins(x)) - self.state["log_largest"]
        log_phi = log_phi.clamp(max=-math.exp(-LARGEST_LOGIT))
        return log_phi - torch.log(-torch.expm1(log_phi))
