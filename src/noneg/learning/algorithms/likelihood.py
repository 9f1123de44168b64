"""The likelihood of the labels with a known labeling rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn.functional import logsigmoid, softplus

from noneg.learning.contract import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch
    from noneg.learning.task import Correction

# A rate of exactly 1 would make the log odds of an unlabeled row infinite.
_EDGE = 1e-6


@dataclass(kw_only=True, eq=False)
class Likelihood(Algorithm):
    r"""Maximum likelihood for the labels, given the prior.

    With :math:`\eta(x) = p(y=1 \mid x)` and positives labeled at random, a row in the one-sample
    setting is labeled with probability :math:`c\,\eta(x)`, where :math:`c = n_P/(\pi n)`. In the
    two-sample setting, a row from the pooled samples is labeled with probability
    :math:`r\eta/(1 + r\eta)`, where :math:`r = n_P/(\pi n_U)` (Ward, Hastie, Barry, Elith and
    Leathwick 2009, *Presence-Only Data and the EM Algorithm*, Biometrics 65(2)). The network's
    :math:`\eta = \sigma(f)` minimizes the cross-entropy of the labels, with every row counted once.
    This is a proper loss that is bounded below, and its optimum is the class probability.

    Examples
    --------
    >>> Likelihood().corrections
    ()
    """

    name: ClassVar[str] = "likelihood"
    title: ClassVar[str] = "Likelihood"
    citation: ClassVar[str] = "Ward, Hastie, Barry, Elith and Leathwick (Biometrics 2009)"
    probability: ClassVar[str] = "The class probability, if positives are labeled at random."
    corrections: ClassVar[tuple[Correction, ...]] = ()
    bench_corrections: ClassVar[tuple[Correction, ...]] = ()
    consistent: ClassVar[bool] = True

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the cross-entropy of the labels."""
        p, u = self.scores(batch, player)
        task = self.task
        share = task.n_pos / (task.n_pos + task.n_unl)
        if task.setting == "one-sample":
            on_pos, on_unl = softplus(-p), -_log_unlabeled(u, share / task.prior)
        else:
            odds = math.log(task.n_pos / (task.n_unl * task.prior))
            on_pos, on_unl = softplus(-logsigmoid(p) - odds), softplus(logsigmoid(u) + odds)
        return share * on_pos.mean() + (1.0 - share) * on_unl.mean()


def _log_unlabeled(f: Tensor, rate: float) -> Tensor:
    """Return log(1 - c s), the log probability that a row with log odds f is unlabeled."""
    rest = math.log(max(1.0 - rate, _EDGE))
    return torch.logaddexp(logsigmoid(-f), rest + logsigmoid(f))
