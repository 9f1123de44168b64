"""CVIR and TEDn: drop the most positive-looking unlabeled rows (Garg et al., NeurIPS 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Batch, Epoch, PUData, Variant
from noneg.learning.task import logit

# Estimated shares of exactly 0 or 1 would make the log odds of the prior infinite.
_EDGE = 1e-3


@dataclass(kw_only=True, eq=False)
class CVIR(Algorithm):
    r"""CVIR (conditional value ignoring risk).

    Before each epoch, the :math:`\lfloor \alpha n_U \rfloor` unlabeled rows with the largest scores
    are dropped, and the rest are treated as negatives:
    :math:`\tfrac12 \hat E_+[\ell(f,+1)] + \tfrac12 \hat E_{\mathrm{kept}}[\ell(f,-1)]`
    (Garg, Wu, Smola, Balakrishnan and Lipton 2021, *Mixture Proportion Estimation and PU Learning:
    A Modern Approach*, NeurIPS, Algorithm 2). :math:`\alpha` is the share of positives among
    unlabeled rows, so both settings work without a correction.

    ``variant="bench"`` drops a share :math:`\pi` even in the one-sample setting, where fewer
    unlabeled rows are positive, and weights the two means by :math:`\pi` and :math:`1-\pi`.

    Examples
    --------
    >>> CVIR().corrections
    ()
    """

    name = "cvir"
    title = "CVIR"
    citation = "Garg, Wu, Smola, Balakrishnan and Lipton (NeurIPS 2021)"
    probability = (
        "The class probability if the dropped rows are the positives and the classes "
        "do not overlap; overconfident where they overlap, because hard negatives "
        "are dropped as well."
    )
    corrections = ()
    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")

    def prepare(self, data: PUData) -> None:
        """Keep every row until the first epoch."""
        self.state["keep"] = torch.ones(data.n_unl, device=self.device)

    def share(self) -> float:
        """Return the share of unlabeled rows to drop."""
        return self.task.prior if self.bench else self.task.unlabeled_prior

    def start_epoch(self, epoch: Epoch) -> None:
        """Drop the rows with the largest scores."""
        scores = self.margins(epoch.data.unl)
        dropped = scores.topk(int(self.share() * len(scores))).indices
        self.state["keep"] = torch.ones_like(scores).index_fill(0, dropped, 0.0)

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the weighted sum of the means over positives and over kept rows."""
        p, u = self.scores(batch)
        keep = self.state["keep"][batch.unl.row]
        count = keep.sum()
        on_pos, on_kept = softplus(-p).mean(), (keep * softplus(u)).sum() / count.clamp(min=1.0)
        if self.bench:
            prior = self.task.prior
            return torch.where(count > 0, prior * on_pos + (1.0 - prior) * on_kept, on_pos)
        return torch.where(count > 0, (on_pos + on_kept) / 2.0, 0.0 * on_pos)

    def population_prior(self) -> float:
        """Return the population prior for the predicted probabilities."""
        return self.task.prior

    def decision(self, x: Tensor) -> Tensor:
        """Return the margin, shifted from the loss's prior of 1/2 to the population prior."""
        return self.margins(x) + (0.0 if self.bench else logit(self.population_prior()))


@dataclass(kw_only=True, eq=False)
class TEDn(CVIR):
    r"""TEDn: CVIR with the share of positives estimated on held-out rows by BBE.

    After a warm-up on P against U, each epoch estimates :math:`\alpha` from the current scores of
    validation rows by best bin estimation (BBE) and drops that share (Garg et al. 2021, Algorithm
    3). It needs validation rows but no prior.

    Parameters
    ----------
    warm_up : float
        Share of training before rows are dropped.

    Examples
    --------
    >>> TEDn().needs_prior, TEDn().needs_validation
    (False, True)
    """

    warm_up: float = 0.1

    name = "tedn"
    title = "TEDn"
    needs_prior = False
    needs_validation = True
    variants = ("ref",)

    def prepare(self, data: PUData) -> None:
        """Start the warm-up."""
        super().prepare(data)
        self.state |= {"share": 0.5, "first_stage": True}

    def share(self) -> float:
        """Return the estimated share, or 0 during the warm-up."""
        return 0.0 if self.state["first_stage"] else float(self.state["share"])

    def start_epoch(self, epoch: Epoch) -> None:
        """Estimate the share on held-out rows, then drop that many."""
        from noneg.prior import BestBin, ScoreLaws

        self.state["first_stage"] = not epoch.after(self.warm_up)
        if epoch.number and epoch.validation is not None:
            held = (epoch.validation.pos, epoch.validation.unl)
            p, u = (self.margins(x).cpu().double().numpy() for x in held)
            setting = self.task.setting
            laws = ScoreLaws.from_arrays(p, u, setting=setting, scale="logit")
            self.state["share"] = BestBin().find(laws).share
        super().start_epoch(epoch)

    def population_prior(self) -> float:
        """Return the estimated prior of the population."""
        a, task = float(self.state["share"]), self.task
        n = task.n_pos + task.n_unl
        prior = (task.n_pos + a * task.n_unl) / n if task.pooled else a
        return min(max(prior, _EDGE), 1.0 - _EDGE)
