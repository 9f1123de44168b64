r"""Elkan and Noto's three estimators of how often a positive is labelled.

Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data, Section 2. With
:math:`G(x) = p(\text{labelled} \mid x)` in the pooled sample,

.. math:: e_1 = E_+[G], \qquad e_2 = \frac{\sum_P G}{\sum_{P \cup U} G}, \qquad e_3 = \max G,

each an estimate of c, from which the share follows by `noneg.prior.conversion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import isotonic_regression

from noneg.prior.contract import Found, ScoreEstimator
from noneg.prior.conversion import share_of_frequency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.prior.laws import ScoreLaws

# A maximum is the noisiest of statistics: the quantile that stands for it.
TOP = 0.95


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMean(ScoreEstimator):
    """Elkan and Noto's e1: the mean of G over the positives.

    G is an isotonic regression of "labelled" on the score, which makes any scores with the right
    order fit for it; then e1 and e2 are the same number. Without it the scores themselves are
    taken, which must tell positives from unlabeled rows (`ScoreLaws.discriminates`).

    Parameters
    ----------
    calibrate : bool

    Examples
    --------
    >>> from noneg.prior import ElkanNotoMean, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoMean().fit(laws).value, 6)
    0.3
    """

    name: ClassVar[str] = "elkan-noto-e1"
    title: ClassVar[str] = "Elkan-Noto e1, mean"
    citation: ClassVar[str] = "Elkan and Noto (2008), Learning classifiers from only PU data"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, and the classes do not overlap; "
        "overlap makes the answer too large"
    )

    calibrate: bool = True

    def find(self, laws: ScoreLaws) -> Found:
        """Return the share that follows from the label frequency."""
        g = balanced_posterior(laws, calibrate=self.calibrate)
        # Everything is written for samples in their own proportion, n_P : n_U.
        labelled = laws.n_positive / (laws.n_positive + laws.n_unlabeled)
        pooled = labelled * g / (labelled * g + (1.0 - labelled) * (1.0 - g))
        frequency = self.frequency(pooled, laws, labelled)
        share = share_of_frequency(frequency, labelled)
        return Found(min(1.0, share), {"label_frequency": frequency, "clipped": float(share > 1.0)})

    def frequency(self, g: NDArray[np.float64], laws: ScoreLaws, labelled: float) -> float:  # noqa: ARG002
        """Return how often a positive is labelled in the pooled sample."""
        return float(laws.positive @ g)


@dataclass(frozen=True, kw_only=True)
class ElkanNotoRatio(ElkanNotoMean):
    """Elkan and Noto's e2: the sum of G over the positives by its sum over everyone.

    Examples
    --------
    >>> from noneg.prior import ElkanNotoRatio, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoRatio().fit(laws).value, 6)
    0.3
    """

    name: ClassVar[str] = "elkan-noto-e2"
    title: ClassVar[str] = "Elkan-Noto e2, ratio"

    def frequency(self, g: NDArray[np.float64], laws: ScoreLaws, labelled: float) -> float:
        """Return how often a positive is labelled in the pooled sample."""
        of_positives = labelled * float(laws.positive @ g)
        return of_positives / (of_positives + (1.0 - labelled) * float(laws.unlabeled @ g))


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMax(ElkanNotoMean):
    """Elkan and Noto's e3: the largest G, here its 95 % quantile among the positives.

    Examples
    --------
    >>> from noneg.prior import ElkanNotoMax, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoMax().fit(laws).value, 6)
    0.3
    """

    name: ClassVar[str] = "elkan-noto-e3"
    title: ClassVar[str] = "Elkan-Noto e3, maximum"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, some score has only positives, "
        "and G is not over-confident there"
    )

    def frequency(self, g: NDArray[np.float64], laws: ScoreLaws, labelled: float) -> float:  # noqa: ARG002
        """Return how often a positive is labelled in the pooled sample."""
        order = np.argsort(g, kind="stable")
        reached = np.cumsum(laws.positive[order])
        return float(g[order][min(int(np.searchsorted(reached, TOP)), g.size - 1)])


def balanced_posterior(laws: ScoreLaws, *, calibrate: bool) -> NDArray[np.float64]:
    """Return the probability of being a positive rather than unlabeled, both weighted equally."""
    if not calibrate:
        if not laws.discriminates:
            msg = (
                "'calibrate' must be True for scores that were not made to tell positives from "
                "unlabeled rows. Leave it out, or score the rows by noneg.prior.discriminate."
            )
            raise ValueError(msg)
        return np.clip(laws.probabilities, 1e-9, 1.0 - 1e-9)
    total = laws.positive + laws.unlabeled
    fitted = isotonic_regression(laws.positive / total, weights=total)
    return np.clip(fitted.x, 1e-9, 1.0 - 1e-9)
