r"""What a loss must know about the sampling: the prior, and how to average over the population.

A two-sample method writes a risk with a mean over the marginal law :math:`p(x)`. In one sample the
unlabeled rows do not follow it: their share of positives is

.. math:: \bar\pi = \frac{\pi n - n_P}{n_U} < \pi, \qquad c = \frac{n_P}{\pi n}

(PU benchmark paper, Definition 4). Three corrections turn such a method into a one-sample one:

``weighted``
    :math:`E_p[g] = c\pi\,E_+[g] + (1 - c\pi)\,E_{\bar p}[g]`, that is, the mean over all rows, the
    labelled ones included (Eq. 8, Theorem 1). The optimum of a proper loss is
    :math:`p(y=1 \mid x)`: probabilities stay calibrated. The default.
``shift``
    The method runs on the two samples as they are with the prior :math:`\bar\pi` of its unlabeled
    rows; the logits then move by :math:`\mathrm{logit}\,\pi - \mathrm{logit}\,\bar\pi`. Calibrated
    too, but undefined when no positive is left unlabeled.
``batch``
    As published (Algorithm 1): the batch of positives is appended to the unlabeled batch of the
    same size. The mean is then half of each, whatever :math:`n_P : n_U` is, so it is unbiased only
    when the two are equal; elsewhere probabilities are under-confident.
``none``
    The two-sample method as it is, with the prior :math:`\pi`: over-confident in one sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from noneg.checks import check_one_sample, check_prior, check_pu_setting, is_pooled
from noneg.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from noneg.checks import Setting

Correction = Literal["weighted", "shift", "batch", "none"]


@dataclass(frozen=True)
class Task:
    """Sampling setting, sizes and priors of one training run.

    Attributes
    ----------
    setting : {"two-sample", "one-sample"}
    n_pos, n_unl : int
        Labelled positives and unlabeled rows in training.
    population_prior : float or None
        Share of positives in the population; None if the method needs none.
    prior : float
        The prior to write into the loss, after the correction; nan without a prior.
    unlabeled_prior : float
        Share of positives among the unlabeled rows; nan without a prior.
    marginal : (float, float)
        Weights of the means over positives and unlabeled rows in a mean over the population.
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
        """Whether labeled positives belong to the sample of everyone, as in one sample."""
        return is_pooled(self.setting)

    @property
    def balanced_shift(self) -> float:
        r"""Log odds of the prior less those in batches of as many P as U rows.

        With the share a of positives among the unlabeled rows that the loss is told, such batches
        hold a share :math:`(1+a)/2`: to be added to log odds that were fitted to them.
        """
        if self.population_prior is None:
            return 0.0
        return logit(self.population_prior) - logit((1.0 + self.prior) / 2.0)

    def mean(self, pos: Tensor, unl: Tensor) -> Tensor:
        """Return the mean over the population of a quantity given on both batches."""
        on_pos, on_unl = self.marginal
        return on_unl * unl.mean() + on_pos * pos.mean() if on_pos else unl.mean()


def make_task(
    n_pos: int, n_unl: int, *, setting: object, prior: float | None, correction: Correction = "none"
) -> Task:
    """Return the task of a run; two samples need no correction, so there it is ignored."""
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
            "must not be 'shift' when every positive is labelled (none is left among "
            "the unlabeled rows). Use another correction, such as 'weighted'."
        )
        raise InputError("correction", msg)
    return logit(prior_to) - logit(prior_from)


def logit(p: float) -> float:
    """Return the log odds."""
    return math.log(p) - math.log1p(-p)
