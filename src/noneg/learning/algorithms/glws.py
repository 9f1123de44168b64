"""GLWS: expected labels given the number of positives (Chen et al., ICML 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad
from torch.nn.functional import logsigmoid, softplus

from noneg.errors import InputError
from noneg.learning.algorithms.count_loss import log_count_law
from noneg.learning.contract import Algorithm, Batch
from noneg.learning.networks import margin
from noneg.learning.task import soft_cross_entropy


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
    term is wrong (see `released_posterior`), so the labels do not sum to k.

    Examples
    --------
    >>> GLWS().corrections
    ('shift', 'none')
    """

    name = "glws"
    title = "GLWS"
    citation = "Chen et al. (ICML 2024)"
    probability = (
        "The class probability, after a shift from the share of positives in a batch "
        "to the prior; overconfident with few rows, because q sharpens the scores "
        "and the scores sharpen q."
    )
    corrections = ("shift", "none")
    variants = ("ref", "bench")
    consistent = True
    needs_strong = True

    def labels(self, f: Tensor) -> Tensor:
        """Return q for unlabeled rows with log odds f; a fractional count is rounded at random."""
        expected = self.task.prior * len(f)
        whole = math.floor(expected)
        if self.bench:
            return released_posterior(f, whole)
        more = self.draw_uniform(1).to(f.device) < expected - whole
        return count_posterior(f, whole + more.long())

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


def count_posterior(f: Tensor, k: Tensor | int) -> Tensor:
    r"""Return the probability of each label given that k labels are positive.

    With independent :math:`y_i \sim \mathrm{Bernoulli}(\sigma(f_i))` and :math:`C = \sum_i y_i`,

    .. math:: q_i = P(y_i = 1 \mid C = k) = s_i + \frac{\partial \log P(C = k)}{\partial f_i}.

    Parameters
    ----------
    f : Tensor, shape (n,)
        Log odds of the labels.
    k : int or Tensor of one integer
        Number of positives, from 0 to n.

    Examples
    --------
    >>> import torch
    >>> q = count_posterior(torch.tensor([2.0, 0.0, -1.0]), 2)
    >>> [round(float(x), 4) for x in (*q, q.sum())]
    [0.9649, 0.7405, 0.2946, 2.0]
    """
    if isinstance(k, int) and not 0 <= k <= len(f):
        raise InputError("k", f"must be a number of rows from 0 to {len(f)}, got {k}.")
    place = torch.as_tensor(k, device=f.device).reshape(1)

    def log_chance(f: Tensor) -> Tensor:
        return log_count_law(f).index_select(0, place)[0]

    q = torch.sigmoid(f.double()) + grad(log_chance)(f.double())
    return q.clamp(0.0, 1.0).to(f.dtype)


def released_posterior(f: Tensor, k: int) -> Tensor:
    r"""Return the quantity that the released GLWS code uses instead of `count_posterior`.

    Its backward recursion over the rows uses :math:`1-s_t` instead of :math:`s_t` when row t is the
    last positive one and other rows follow. For row i, an outcome y with k positives, the last of
    them in row t, therefore has the weight

    .. math:: w_i(y) = P(y)\,\Bigl(\frac{1-s_t}{s_t}\Bigr)^{[i \le t < n]}

    and :math:`q_i` is the share of the weight on outcomes with :math:`y_i = 1`. If fewer than k
    rows look positive, the last rows of a batch are labeled positive, regardless of their scores.

    Examples
    --------
    >>> import torch
    >>> q = released_posterior(torch.tensor([2.0, 0.0, -1.0]), 2)
    >>> [round(float(x), 4) for x in (*q, q.sum())]
    [0.9649, 0.7405, 0.2946, 2.0]
    """
    n = len(f)
    if k in (0, n):
        return torch.full_like(f, float(k == n))
    yes, no = logsigmoid(f.double()), logsigmoid(-f.double())
    last = torch.cat([no[:-1], yes[-1:]])
    there, back = torch.stack([yes, no, yes]), torch.stack([yes, no, last]).flip(1)
    before, after = _log_laws(torch.stack([there, back]), k)
    after = after.flip(0, 1)
    own = torch.cat([yes[:, None].expand(n, k - 1), last[:, None]], 1)
    positive = torch.logsumexp(before[:, :-1] + after[:, 1:] + own, 1)
    negative = torch.logsumexp(before + after, 1) + no
    return torch.sigmoid(positive - negative).to(f.dtype)


def _log_laws(chains: Tensor, k: int) -> Tensor:
    """Return log probabilities of 0 to k positives among the rows before each row.

    A chain has three lines: the log probabilities of a positive label, those of a negative label,
    and the values used instead of the first line for the first positive row.
    """
    yes, no, first = chains.permute(1, 2, 0)[..., None]
    law = torch.cat([torch.zeros_like(yes[0]), yes[0].new_full((len(chains), k), -math.inf)], 1)
    laws = [law]
    step = torch.cat([first, yes.expand(-1, -1, k - 1)], 2)
    for i in range(len(yes) - 1):
        more = torch.logaddexp(law[:, 1:] + no[i], law[:, :-1] + step[i])
        law = torch.cat([law[:, :1] + no[i], more], 1)
        laws.append(law)
    return torch.stack(laws, 1)
