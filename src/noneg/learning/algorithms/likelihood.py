"""The likelihood of the labels with a known labeling rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from noneg.learning.contract import Algorithm, Batch

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

    name = "likelihood"
    title = "Likelihood"
    citation = "Ward, Hastie, Barry, Elith and Leathwick (Biometrics 2009)"
    probability = "The class probability, if positives are labeled at random."
    corrections = ()
    consistent = True

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the cross-entropy of the labels."""
        p, u = self.scores(batch, player)
        task = self.task
        if task.pooled:
            rate = task.labeled_share / task.prior
            return task.row_mean(softplus(-p), -_log_unlabeled(u, rate))
        odds = math.log(task.n_pos / (task.n_unl * task.prior))
        return task.row_mean(softplus(-logsigmoid(p) - odds), softplus(logsigmoid(u) + odds))


def _log_unlabeled(f: Tensor, rate: float) -> Tensor:
    """Return log(1 - c s), the log probability that a row with log odds f is unlabeled."""
    rest = math.log(max(1.0 - rate, _EDGE))
    return torch.logaddexp(logsigmoid(-f), rest + logsigmoid(f))
