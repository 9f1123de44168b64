"""Selection criteria for many members at once, on their device.

`noneg.lab.bench.measures` measures the checkpoint of a single run with the library's own metrics. A
population has hundreds of members and hundreds of checkpoints, so only the criteria are computed
here, for all members together; the selected checkpoints are kept and measured afterward.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import optimal_bin_count, ranks
from noneg.checks import Setting, is_pooled
from noneg.extras import optional
from noneg.lab.bench.measures import THRESHOLD, criteria, find_sign
from noneg.losses import CLIP
from noneg.scores import PUScores

with optional("noneg bench run"):
    import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor


# Criteria computed for all members at once.
CRITERIA = (
    *("proxy_accuracy", "proxy_auc", "oracle_accuracy", "pu_log_loss", "pu_brier", "pu_ece"),
    "proxy_accuracy_slip",
)

# Larger logits would overflow the exponential.
_LIMIT = 700.0


def probabilities(logits: Tensor) -> Tensor:
    """Return scores in double precision, so that large logits remain distinct."""
    return 1.0 / (1.0 + torch.exp(-logits.double().clamp(-_LIMIT, _LIMIT)))


@dataclass(frozen=True)
class Criteria:
    """Criteria on validation rows, as functions of stacked scores.

    Attributes
    ----------
    n_pos, n_unl : int
        Numbers of positive and unlabeled validation rows.
    prior : float
        Prior given to the methods.
    setting : {"one-sample", "two-sample"}
    """

    n_pos: int
    n_unl: int
    prior: float
    setting: Setting

    @cached_property
    def bins(self) -> int:
        """Number of bins for the calibration error, which depends only on the sample sizes."""
        p, u = np.linspace(0.1, 0.9, self.n_pos), np.linspace(0.1, 0.9, self.n_unl)
        return optimal_bin_count(PUScores(p, u, prior=self.prior, setting=self.setting))

    def __call__(self, p: Tensor, u: Tensor, labels: Tensor) -> Tensor:
        """Return all criteria, one row per criterion (as in `CRITERIA`) and one column per member.

        Parameters
        ----------
        p, u : Tensor, shape (members, n_pos), (members, n_unl)
            Scores.
        labels : Tensor, shape (members, n_unl)
            Hidden labels, used only for the oracle criterion.
        """
        one = is_pooled(self.setting)
        marginal = torch.cat([p, u], 1) if one else u
        above = (p >= THRESHOLD).double().mean(1)
        proxy = 2.0 * self.prior * above + (marginal < THRESHOLD).double().mean(1)
        share = self.n_pos / (self.n_pos + self.n_unl) if one else 0.0
        right = ((u >= THRESHOLD) == (labels > 0)).double().mean(1)
        found = {
            "proxy_accuracy": proxy,
            "proxy_auc": _wins(p, u),
            "oracle_accuracy": share * above + (1.0 - share) * right,
            "pu_log_loss": self._log_loss(p, marginal),
            "pu_brier": self.prior * (1.0 - 2.0 * p).mean(1) + marginal.square().mean(1),
            "pu_ece": self._calibration_error(p, marginal),
            "proxy_accuracy_slip": proxy + share * (2.0 * above - 1.0),
        }
        return torch.stack([found[name] for name in CRITERIA])

    def _log_loss(self, p: Tensor, marginal: Tensor) -> Tensor:
        p, marginal = p.clamp(CLIP, 1.0 - CLIP), marginal.clamp(CLIP, 1.0 - CLIP)
        on_pos = (torch.log1p(-p) - torch.log(p)).mean(1)
        return self.prior * on_pos - torch.log1p(-marginal).mean(1)

    def _calibration_error(self, p: Tensor, marginal: Tensor) -> Tensor:
        """Return the error over bins with equal marginal mass."""
        n, bins = marginal.shape[1], self.bins
        places = [max(int(rank), 1) - 1 for rank in ranks(float(n), bins)]
        ordered = marginal.sort(1).values
        edges = torch.stack([ordered[:, k] for k in places], 1) if places else ordered[:, :0]
        residual = p.new_zeros(len(p), bins)
        for values, weight in ((p, torch.full_like(p, self.prior / p.shape[1])),
                               (marginal, -marginal / n)):  # fmt: skip
            residual = residual.scatter_add(
                1, torch.searchsorted(edges, values.contiguous()), weight
            )
        return residual.abs().sum(1)


def _wins(p: Tensor, u: Tensor) -> Tensor:
    """Return the share of pairs in which the positive row ranks higher; a tie counts as half."""
    ordered, p = u.sort(1).values, p.contiguous()
    below = torch.searchsorted(ordered, p) + torch.searchsorted(ordered, p, right=True)
    return below.double().mean(1) / (2.0 * u.shape[1])


class Checkpoints:
    """The best checkpoint of each member so far, for each criterion.

    Tensors are updated in place, because captured programs refer to them.

    Attributes
    ----------
    best, chosen : tensor, shape (criteria, members)
        Value of the best checkpoint, with a sign that makes larger values better, and its step.
    kept : tensor, shape (criteria, members, rows)
        Log odds of the held-out rows at the best checkpoint.
    finite, ended : tensor, shape (members,)
        Whether loss and weights have been finite so far, and the step at which they were not.
    """

    def __init__(self, values: Criteria, labels: Tensor, n_rows: int) -> None:
        self.values, self.labels = values, labels
        signs = [[find_sign(name, criteria(), "by")] for name in CRITERIA]
        self.signs = labels.new_tensor(signs, dtype=torch.float64)
        self.best = torch.full_like(self.signs.expand(-1, len(labels)), -torch.inf)
        self.chosen = torch.zeros_like(self.best, dtype=torch.int64)
        self.kept = torch.zeros(*self.best.shape, n_rows, device=labels.device)
        self.now = torch.zeros_like(self.chosen[0, 0])
        self.ended = torch.zeros_like(self.chosen[0])
        self.finite = torch.ones_like(self.ended, dtype=torch.bool)

    def begin(self, step: int, loss: Tensor, weights: Iterable[Tensor]) -> None:
        """Start a checkpoint, and note which members have diverged."""
        self.now.fill_(step)
        parts = [w.detach().flatten(1).isfinite().all(1) for w in weights]
        finite = torch.stack([loss.isfinite(), *parts]).all(0)
        self.ended.copy_(torch.where(self.finite & ~finite, self.now, self.ended))
        self.finite &= finite

    def keep(self, logits: Tensor) -> None:
        """Keep the log odds of members that are better than at their earlier checkpoints."""
        sizes = [self.values.n_pos, self.values.n_unl]
        p, u = torch.split(probabilities(logits[:, : sum(sizes)]), sizes, 1)
        value = self.signs * self.values(p, u, self.labels)
        better = (value > self.best) & self.finite
        self.best.copy_(torch.where(better, value, self.best))
        self.chosen.copy_(torch.where(better, self.now, self.chosen))
        self.kept.copy_(torch.where(better[..., None], logits, self.kept))
