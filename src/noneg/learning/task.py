r"""The sampling setting of a training run: the prior, and how to average over the population.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from noneg.checks import Setting, check_one_sample, check_prior, check_pu_setting, is_pooled
from noneg.errors import InputError

if TYPE_CHECKING:
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
