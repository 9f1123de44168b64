"""nnPU and nnPU-GA: the non-negative risk (Kiryo, Niu, du Plessis and Sugiyama, NIPS 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from noneg.learning.algorithms.upu import Risk
from noneg.learning.contract import Batch, Uniform, hyper
from noneg.learning.task import non_negative, with_ascent


@dataclass(kw_only=True, eq=False)
class NNPU(Risk):
    r"""nnPU: the estimated risk on negatives is clipped at zero.

    .. math:: \tilde R = \pi\,\hat E_+[\ell(f,+1)]
        + \max\{0,\; \hat E_p[\ell(f,-1)] - \pi\,\hat E_+[\ell(f,-1)]\}

    (Kiryo et al. 2017, *Positive-Unlabeled Learning with Non-Negative Risk Estimator*, NIPS,
    Eq. 6). This is the estimator itself, without the gradient ascent of the paper's Algorithm 1;
    for that, see `NNPUGA`. The PU benchmark uses the two names in the same way, and its nnPU loss
    is this one. The paper's experiments use ``loss_name="sigmoid"``; the default here is a proper
    loss.

    Parameters
    ----------
    loss_name : {"logistic", "sigmoid", "squared", "double-hinge"}
        Loss of the margin.

    Examples
    --------
    >>> NNPU().variants
    ('ref', 'bench')
    """

    name = "nnpu"
    title = "nnPU"
    citation = "Kiryo, Niu, du Plessis and Sugiyama (NIPS 2017)"
    probability = (
        "The class probability with the logistic and squared losses, biased if small "
        "batches clip the risk; with the other losses, only the side of 1/2 is "
        "meaningful."
    )

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return the non-negative risk."""
        return non_negative(*self.risks(batch))


@dataclass(kw_only=True, eq=False)
class NNPUGA(Risk):
    r"""nnPU with gradient ascent when the risk on negatives is too low.

    With :math:`R_p, R_n` as in `NNPU`, it descends on :math:`R_p + R_n` while
    :math:`R_n \ge -\beta`, and otherwise on :math:`-\gamma R_n` alone (Kiryo et al. 2017, Algorithm
    1).

    ``variant="bench"`` is the version used in the benchmark: when the *whole* risk is negative, the
    sign of the *whole* gradient is flipped, which minimizes :math:`|R_p + R_n|`.

    Parameters
    ----------
    beta : float
        Tolerance, at least 0.
    gamma : float
        Discount factor of the ascent, in [0, 1].
    loss_name : {"logistic", "sigmoid", "squared", "double-hinge"}
        Loss of the margin.

    Examples
    --------
    >>> NNPUGA().gamma
    1.0
    """

    beta: float = hyper(0.0, Uniform(0.0, 0.1))
    gamma: float = hyper(1.0, Uniform(0.0, 1.0))

    name = "nnpu-ga"
    title = "nnPU-GA"
    citation = "Kiryo, Niu, du Plessis and Sugiyama (NIPS 2017), Algorithm 1"
    probability = (
        "Only the side of 1/2 is meaningful. With the logistic loss, the ascent "
        "keeps clear positives away from 1 (on MNIST, they stop near 0.9), so "
        "recalibrate, or use nnPU."
    )

    def loss(self, player: str, batch: Batch) -> Tensor:  # noqa: ARG002
        """Return a loss whose gradient is the update; during ascent, its value has no meaning."""
        positive, negative = self.risks(batch)
        if self.bench:
            return (positive + negative).abs()
        return with_ascent(positive, negative, tolerance=self.beta, discount=self.gamma)
