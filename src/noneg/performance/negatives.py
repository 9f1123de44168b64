r"""Certified negatives among unlabeled rows, with control of the false discovery rate.

The null hypothesis for a row is that it is positive. Under this hypothesis, the row is exchangeable
with the n labeled positives, so

.. math:: p_i = \frac{1 + \#\{j : s_j^+ \le s_i\}}{n + 1}

is a valid p-value without any model of the scores (Bates et al. 2023, Testing for Outliers with
Conformal p-values). The Benjamini-Hochberg procedure at level q keeps the expected share of
positives among certified rows at or below q times the share of positives among all unlabeled rows.
If the prior is known, so is an upper limit a for the latter share, and running the procedure at
level q / a still controls the false discovery rate at q.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_share
from noneg.errors import InputError
from noneg.performance.contingency import latent_fraction
from noneg.performance.guarantees import largest_weight, least_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CertifiedNegatives:
    """The unlabeled rows that are certified negative.

    Attributes
    ----------
    cutoff : float
        Unlabeled rows with a score of at most this are certified; minus infinity if none are.
    certified, unlabeled : float
        Number of certified rows, and of all unlabeled rows.
    fdr : float
        Upper bound on the expected share of positives among the certified rows.
    hidden : float
        Upper limit for the share of positives among unlabeled rows; 1 if nothing is known.
    """

    cutoff: float
    certified: float
    unlabeled: float
    fdr: float
    hidden: float

    def __str__(self) -> str:
        rows = f"{self.certified:,.0f} of {self.unlabeled:,.0f} unlabeled rows"
        return f"{rows} certified negative at a false discovery rate of {self.fdr:g}"

    def to_dict(self) -> dict[str, float]:
        """Return the fields as plain numbers."""
        return asdict(self)


def positive_p_values(scores: PUScores, at: Floats) -> Floats:
    """Return conformal p-values for the hypothesis that rows with these scores are positive.

    Positives count by their weights, and the tested row by the largest of these weights. If
    ``scores.selection`` is G, a share p of the labeled positives corresponds to a share of at most
    ``min(G p, 1 - (1 - p)/G)`` of the hidden ones.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7, 0.4], [0.5], setting="two-sample")
    >>> positive_p_values(scores, np.array([0.1, 0.5, 0.9]))
    array([0.25, 0.5 , 1.  ])
    """
    p, f, a, _ = scores.in_order()[1]
    one = largest_weight(a)
    below = np.concatenate([[0.0], np.cumsum(np.broadcast_to(f * a, p.shape))])
    share = (below[np.searchsorted(p, at, side="right")] + one) / (below[-1] + one)
    return 1.0 - least_share(1.0 - share, scores.selection)


def certified_negatives(scores: PUScores, *, fdr: float = 0.05) -> CertifiedNegatives:
    """Return the unlabeled rows that are certified negative.

    A prior is not required, but with one, more rows can be certified, because its upper end limits
    the number of positives among the unlabeled rows.

    Parameters
    ----------
    scores : PUScores
        Positives and unlabeled rows, in one sample or two.
    fdr : float
        Largest expected share of positives among the certified rows, in (0, 1).

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.1)
    >>> print(certified_negatives(world.draw(500, 5000, setting="two-sample", seed=0), fdr=0.02))
    3,763 of 5,000 unlabeled rows certified negative at a false discovery rate of 0.02
    """
    if scores.prior_is_estimated:
        raise InputError("scores", "must contain unlabeled rows, but every row has its label.")
    rate = check_share(fdr, "fdr", "a false discovery rate in (0, 1)")
    hidden = 1.0 if scores.prior is None else latent_fraction(scores)[1]
    (u, f, *_), (p, *_) = scores.in_order()
    upto = np.concatenate([[0.0], np.cumsum(np.broadcast_to(f, u.shape))])
    # The p-value increases only at positives, so the best cutoff is the last row before one.
    below = np.append(np.searchsorted(u, p), u.size)
    value = np.append(positive_p_values(scores, np.nextafter(p, -np.inf)), 1.0)
    passed = (value * hidden * upto[-1] <= rate * upto[below]) & (below > 0)
    last = int(below[passed].max(initial=0))
    return CertifiedNegatives(
        cutoff=float(u[last - 1]) if last else -np.inf,
        certified=float(upto[last]),
        unlabeled=float(upto[-1]),
        fdr=rate,
        hidden=hidden,
    )
