r"""The task of a training run: the prior, how to average over the population, and the losses.

The risk of a two-sample method contains a mean over the marginal distribution :math:`p(x)`. In the
one-sample setting, the unlabeled rows do not follow that distribution: their share of positives is

.. math:: \bar\pi = \frac{\pi n - n_P}{n_U} < \pi, \qquad c = \frac{n_P}{\pi n}

(PU benchmark paper, Definition 4). Three corrections adapt such a method to the one-sample setting:

``weighted``
    The default: :math:`E_p[g] = c\pi\,E_+[g] + (1 - c\pi)\,E_{\bar p}[g]`, which is the mean over
    all rows, including the labeled ones (Eq. 8, Theorem 1). The optimum of a proper loss is
    :math:`p(y=1 \mid x)`, so probabilities stay calibrated.
``shift``
    The method runs on the two samples unchanged, with the prior :math:`\bar\pi` of the unlabeled
    rows, and :math:`\mathrm{logit}\,\pi - \mathrm{logit}\,\bar\pi` is then added to the logits.
    This is also calibrated, but undefined when no positive is left unlabeled.
``batch``
    As published (Algorithm 1): the batch of positives is appended to the unlabeled batch of the
    same size. Each then has weight one half in the mean for any :math:`n_P : n_U`, so the mean is
    unbiased only if the two are equal; otherwise, probabilities are underconfident.
``none``
    The unmodified two-sample method with the prior :math:`\pi`, which is overconfident in the
    one-sample setting.

Losses act on a margin f:

============== =============================== =============================== ====================
name           positive                        negative                        probability
============== =============================== =============================== ====================
logistic       :math:`\log(1+e^{-f})`          :math:`\log(1+e^{f})`           :math:`\sigma(f)`
sigmoid        :math:`\sigma(-f)`              :math:`\sigma(f)`               none: only the sign
squared        :math:`(1-f)^2/4`               :math:`(1+f)^2/4`               :math:`(1+f)/2`
double-hinge   :math:`\max(-f, 0, (1-f)/2)`    :math:`\max(f, 0, (1+f)/2)`     none: only the sign
============== =============================== =============================== ====================

The logistic and squared losses are proper: their population optimum gives the class probability.
All of them are tensor operations, so they work under ``torch.compile`` and ``torch.func.vmap``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from noneg.checks import Setting, check_one_sample, check_prior, check_pu_setting, is_pooled
from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch.nn.functional import softplus

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


Correction = Literal["weighted", "shift", "batch", "none"]


@dataclass(frozen=True)
class Task:
    """Sampling setting, sizes and priors of one training run.

    Attributes
    ----------
    setting : {"two-sample", "one-sample"}
    n_pos, n_unl : int
        Labeled positives and unlabeled rows in training.
    population_prior : float or None
        Share of positives in the population; None if the method needs none.
    prior : float
        The prior to use in the loss, after the correction; nan without a prior.
    unlabeled_prior : float
        Share of positives among the unlabeled rows; nan without a prior.
    marginal : (float, float)
        Weights of the positive and unlabeled means in a mean over the population.
    shift : float
        Added to the logits at prediction.

    Examples
    --------
    >>> task = make_task(300, 700, setting="one-sample", prior=0.5, correction="weighted")
    >>> task.marginal, round(task.unlabeled_prior, 4)
    ((0.3, 0.7), 0.2857)
    >>> round(make_task(300, 700, setting="one-sample", prior=0.5, correction="shift").shift, 4)
    0.9163
    """

    setting: Setting
    n_pos: int
    n_unl: int
    population_prior: float | None
    prior: float
    unlabeled_prior: float
    marginal: tuple[float, float]
    shift: float
    correction: Correction

    @property
    def pooled(self) -> bool:
        """Whether labeled positives are part of the population sample (the one-sample setting)."""
        return is_pooled(self.setting)

    @property
    def labeled_share(self) -> float:
        """Share of the training rows that are labeled positives."""
        return self.n_pos / (self.n_pos + self.n_unl)

    def row_mean(self, pos: Tensor, unl: Tensor) -> Tensor:
        """Return the mean over all training rows, given the values on both batches."""
        share = self.labeled_share
        return share * pos.mean() + (1.0 - share) * unl.mean()

    @property
    def balanced_shift(self) -> float:
        r"""Log odds of the prior minus the log odds in batches with equal numbers of P and U rows.

        If the loss assumes a share a of positives among the unlabeled rows, the share in such a
        batch is :math:`(1+a)/2`. Add this shift to log odds that were fitted to such batches.
        """
        if self.population_prior is None:
            return 0.0
        return logit(self.population_prior) - logit((1.0 + self.prior) / 2.0)

    def mean(self, pos: Tensor, unl: Tensor) -> Tensor:
        """Return the population mean of a quantity, given its values on both batches."""
        on_pos, on_unl = self.marginal
        return on_unl * unl.mean() + on_pos * pos.mean() if on_pos else unl.mean()


def make_task(
    n_pos: int, n_unl: int, *, setting: object, prior: float | None, correction: Correction = "none"
) -> Task:
    """Return the task of a run; `correction` is ignored in the two-sample setting."""
    named = check_pu_setting(setting)
    if correction not in get_args(Correction):
        msg = f"must be one of {', '.join(get_args(Correction))}, got {correction!r}."
        raise InputError("correction", msg)
    pi = math.nan if prior is None else check_prior(prior)
    if is_pooled(named):
        rest = _unlabeled_prior(n_pos, n_unl, pi)
    else:
        rest, correction = pi, "none"
    used, marginal, shift = pi, (0.0, 1.0), 0.0
    if correction == "weighted":
        marginal = (n_pos / (n_pos + n_unl), n_unl / (n_pos + n_unl))
    elif correction == "batch":
        marginal = (0.5, 0.5)
    elif correction == "shift":
        used, shift = rest, _shift(rest, pi)
    return Task(named, n_pos, n_unl, prior, used, rest, marginal, shift, correction)


def _unlabeled_prior(n_pos: int, n_unl: int, prior: float) -> float:
    if math.isnan(prior):
        return prior
    n = n_pos + n_unl
    check_one_sample(prior, n_pos / n, n)
    return max(0.0, (prior * n - n_pos) / n_unl)


def _shift(prior_from: float, prior_to: float) -> float:
    if prior_from == 0.0:
        msg = (
            "must not be 'shift' if every positive is labeled, because the unlabeled "
            "rows then contain no positives. Use another correction, such as "
            "'weighted'."
        )
        raise InputError("correction", msg)
    return logit(prior_to) - logit(prior_from)


def logit(p: float) -> float:
    """Return the log odds."""
    return math.log(p) - math.log1p(-p)


LossName = Literal["logistic", "sigmoid", "squared", "double-hinge"]

# Limit on the log odds when the squared loss gives probabilities at or beyond 0 or 1.
LARGEST_LOGIT = 16.0


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margin for each label.

    Attributes
    ----------
    positive : callable
        Loss when the label is positive, elementwise.
    proper : bool
        Whether the population optimum is the class probability.
    logit : callable
        Log odds of the probability that the margin represents; by default, the margin itself.

    Examples
    --------
    >>> import torch
    >>> loss = find_loss("logistic")
    >>> bool(torch.isclose(loss.positive(torch.tensor(2.0)), loss.negative(torch.tensor(-2.0))))
    True
    """

    positive: Callable[[Tensor], Tensor]
    proper: bool
    logit: Callable[[Tensor], Tensor] = lambda f: f

    def negative(self, f: Tensor) -> Tensor:
        """Return the loss when the label is negative; all losses here are symmetric."""
        return self.positive(-f)


def _squared_logit(f: Tensor) -> Tensor:
    return (2.0 * torch.atanh(f.clamp(-1.0, 1.0))).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)


LOSSES: dict[str, MarginLoss] = {
    "logistic": MarginLoss(lambda f: softplus(-f), proper=True),
    "sigmoid": MarginLoss(lambda f: torch.sigmoid(-f), proper=False),
    "squared": MarginLoss(lambda f: (1.0 - f).square() / 4.0, proper=True, logit=_squared_logit),
    "double-hinge": MarginLoss(
        lambda f: torch.maximum(-f, torch.relu((1.0 - f) / 2.0)), proper=False
    ),
}


def find_loss(name: str) -> MarginLoss:
    """Return a loss by name."""
    if name not in LOSSES:
        raise InputError("loss", f"must be one of {', '.join(LOSSES)}", value=name)
    return LOSSES[name]


def pu_risks(p: Tensor, u: Tensor, task: Task, loss: MarginLoss) -> tuple[Tensor, Tensor]:
    r"""Return the risk on positives and the estimated risk on negatives.

    .. math:: R_p = \pi\,\hat E_+[\ell(f, +1)], \qquad
        R_n = \hat E_p[\ell(f, -1)] - \pi\,\hat E_+[\ell(f, -1)]

    (du Plessis et al. 2015; Kiryo et al. 2017, Eq. 2). The population mean uses the task's
    one-sample correction; with ``weighted``, the sum is Eq. (8) of the PU benchmark paper.

    Examples
    --------
    >>> import torch
    >>> task = make_task(2, 2, setting="two-sample", prior=0.5)
    >>> p, u = torch.tensor([1.0, 3.0]), torch.tensor([0.0, -2.0])
    >>> risk = sum(pu_risks(p, u, task, find_loss("logistic")))
    >>> round(float(risk - (u.exp().log1p().mean() - 0.5 * p.mean())), 6)
    0.0
    """
    against = loss.negative(p)
    positive = task.prior * loss.positive(p).mean()
    return positive, task.mean(against, loss.negative(u)) - task.prior * against.mean()


def non_negative(positive: Tensor, negative: Tensor) -> Tensor:
    """Return the risk with its negative part clipped at zero (Kiryo et al. 2017, Eq. 6).

    Examples
    --------
    >>> import torch
    >>> float(non_negative(torch.tensor(0.5), torch.tensor(-0.25)))
    0.5
    """
    return positive + torch.relu(negative)


def with_ascent(
    positive: Tensor, negative: Tensor, *, tolerance: float = 0.0, discount: float = 1.0
) -> Tensor:
    """Return a loss whose gradient is the step of Kiryo et al. (2017), Algorithm 1.

    Where the negative part is below minus the tolerance, the step ascends on that part alone; the
    value of the loss then has no meaning.

    Examples
    --------
    >>> import torch
    >>> float(with_ascent(torch.tensor(0.5), torch.tensor(-0.25)))
    0.25
    """
    ascent = negative < -tolerance
    return torch.where(ascent, -discount * negative, positive + negative)


def soft_cross_entropy(f: Tensor, target: Tensor) -> Tensor:
    r"""Return :math:`-t\log\sigma(f) - (1-t)\log(1-\sigma(f))`, elementwise, for any t in [0, 1].

    Examples
    --------
    >>> import torch
    >>> round(float(soft_cross_entropy(torch.tensor(0.0), torch.tensor(0.3))), 4)
    0.6931
    """
    return softplus(f) - target * f


def binary_entropy(f: Tensor) -> Tensor:
    r"""Return the entropy of a Bernoulli variable with log odds f, finite for every f.

    Examples
    --------
    >>> import torch
    >>> [round(float(h), 4) for h in binary_entropy(torch.tensor([0.0, 500.0]))]
    [0.6931, 0.0]
    """
    return softplus(f) - torch.sigmoid(f) * f
