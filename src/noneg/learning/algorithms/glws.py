"""GLWS: expected labels given the number of positives (Chen et al., ICML 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn.functional import softplus

from noneg.learning.contract import Algorithm, Variant
from noneg.learning.losses import count_posterior, released_posterior, soft_cross_entropy
from noneg.learning.networks import margin

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.learning.contract import Batch
    from noneg.learning.task import Correction


@dataclass(kw_only=True, eq=False)
class GLWS(Algorithm):
    r"""GLWS, the general framework for weak supervision, for positives and unlabeled rows.

    .. math:: \hat E_+[-\log s] + \hat E_U\bigl[-q\log s - (1-q)\log(1-s)\bigr],
        \qquad q_i = P(y_i = 1 \mid C = k)

    Here q is held fixed, C is the number of positives in the unlabeled batch, and k is the batch
    size times the prior of the unlabeled rows (Chen et al. 2024, *A General Framework for Learning
    from Weak Supervision*, ICML, Section 3). The computation of q is exact, and a fractional k is
    rounded at random. With a strong view, q is computed from the first view and the loss from the
    second.

    Let a be the share of positives among unlabeled rows. For large batches,
    :math:`q = a\,p_+/p_U` and :math:`s = (p_+ + q\,p_U)/(p_+ + p_U)` solve both equations at once:
    s is the class probability in batches with a share :math:`(1+a)/2` of positives, and the log
    odds of q differ from those of s by a constant, as conditioning on the count requires. The log
    odds are therefore shifted from that share to the prior.

    ``variant="bench"`` applies no shift, uses one view, rounds k down, and uses the prior of the
    population even in the one-sample setting. It computes q by the released recursion, in which a
    term is wrong (see `noneg.learning.losses.released_posterior`), so the labels do not sum to k.

    Examples
    --------
    >>> GLWS().corrections
    ('shift', 'none')
    """

    name: ClassVar[str] = "glws"
    title: ClassVar[str] = "GLWS"
    citation: ClassVar[str] = "Chen et al. (ICML 2024)"
    probability: ClassVar[str] = (
        "The class probability, after a shift from the share of positives in a batch "
        "to the prior; overconfident with few rows, because q sharpens the scores "
        "and the scores sharpen q."
    )
    corrections: ClassVar[tuple[Correction, ...]] = ("shift", "none")
    bench_corrections: ClassVar[tuple[Correction, ...]] = ()
    variants: ClassVar[tuple[Variant, ...]] = ("ref", "bench")
    consistent: ClassVar[bool] = True
    needs_strong: ClassVar[bool] = True

    def labels(self, f: Tensor) -> Tensor:
        """Return q for unlabeled rows with log odds f; a fractional count is rounded at random."""
        expected = self.task.prior * len(f)
        whole = math.floor(expected)
        if self.bench:
            return released_posterior(f, whole)
        more = self.draw_uniform(1).to(f.device) < expected - whole
        above = count_posterior(f, min(whole + 1, len(f)))
        return torch.where(more, above, count_posterior(f, whole))

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the cross-entropy with the expected labels given the count."""
        p, u = self.scores(batch, player)
        q = self.labels(u.detach())
        if not self.bench and batch.unl.strong is not None and batch.unl.strong is not batch.unl.x:
            u = margin(self.players[player](batch.unl.strong)).float()
        return softplus(-p).mean() + soft_cross_entropy(u, q).mean()

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds, shifted from the share of positives in a batch to the prior."""
        return self.margins(x) + (0.0 if self.bench else self.task.balanced_shift)
