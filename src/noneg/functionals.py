r"""Means under the two laws, with their joint covariance.

Every metric that is no norm of the residuals is a smooth function of a few means
:math:`E_+[f_j]` and :math:`E[g_j]` and of the prior. One pass over the rows gives them and their
covariance in any setting: rows of both laws are counted jointly, the prior of labelled data is a
mean like the others, and weights enter as in `noneg.rows`. The delta method does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

    Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class LawMeans:
    """Means under both laws.

    Attributes
    ----------
    positive : ndarray
        Estimates of ``E_plus[f_j]``.
    marginal : ndarray
        Estimates of ``E[g_j]``.
    prior : float
    covariance : ndarray
        Of all of them in this order; the prior's row is zero unless it is estimated.
    """

    positive: NDArray[np.float64]
    marginal: NDArray[np.float64]
    prior: float
    covariance: NDArray[np.float64]

    def variance(self, gradient: ArrayLike) -> float:
        """Return the variance of a function with this gradient (means first, prior last)."""
        g = np.asarray(gradient, dtype=np.float64)
        return max(0.0, float(g @ self.covariance @ g))

    def estimate(self, value: float, gradient: ArrayLike, level: float) -> Estimate:
        """Return a function of the means with its normal interval (delta method)."""
        reach = float(ndtri(0.5 + level / 2.0)) * float(np.sqrt(self.variance(gradient)))
        return Estimate(
            value=value, low=value - reach, high=value + reach, level=level, method="delta method"
        )


def law_means(
    scores: PUScores, positive: Sequence[Function] = (), marginal: Sequence[Function] = ()
) -> LawMeans:
    """Return means of functions of the score under the positive and the marginal law.

    Parameters
    ----------
    scores : PUScores
    positive, marginal : sequence of callables
        Each maps an array of scores to an array of values.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7], [0.8, 0.2], prior=0.4, setting="two-sample")
    >>> means = law_means(scores, [lambda s: s], [lambda s: s])
    >>> print(round(float(means.positive[0]), 3), round(float(means.marginal[0]), 3))
    0.8 0.5
    """
    p, m = len(positive), len(marginal)
    # One row's contribution: a f_1 .. a f_p, a, w g_1 .. w g_m, w.
    first = np.zeros(p + m + 2)
    second = np.zeros((p + m + 2, p + m + 2))
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        row = np.zeros((p + m + 2, s.size))
        if in_positive:
            row[: p + 1] = [*(function(s) for function in positive), np.ones_like(s)]
            row[: p + 1] *= a
        if in_marginal:
            row[p + 1 :] = [*(function(s) for function in marginal), np.ones_like(s)]
            row[p + 1 :] *= w
        first += (row * f).sum(axis=1)
        second += (row * f) @ row.T
    return normalise(scores, first, second, p)


def tail_means(scores: PUScores, thresholds: ArrayLike) -> LawMeans:
    """Return the shares of both laws with ``s >= threshold``, from the sums kept in order.

    The same as `law_means` of these indicators, but without a pass over the rows once they are in
    order; laws that are known exactly (populations) work too and have no variance.

    Parameters
    ----------
    scores : PUScores
    thresholds : array-like
        Falling, so that each share contains the one before.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7], [0.8, 0.2], prior=0.4, setting="two-sample")
    >>> print(tail_means(scores, [0.8, 0.5]).positive)
    [0.5 1. ]
    """
    t = np.asarray(thresholds, dtype=np.float64)
    cuts = np.clip(np.nextafter(t, -np.inf), 0.0, 1.0)
    below = scores.sums_below(np.append(cuts, 1.0)).copy()
    total = below[-1].copy()
    below[np.append(t <= 0.0, True)] = 0.0
    above = total - below
    # Of two nested tails the smaller one holds the rows that count in both.
    smaller = np.minimum.outer(np.arange(t.size + 1), np.arange(t.size + 1))
    aa, aw, ww = (above[:, column][smaller] for column in (3, 4, 6))
    first = np.concatenate([above[:, 0], above[:, 1]])
    return normalise(scores, first, np.block([[aa, aw], [aw, ww]]), t.size)


def normalise(
    scores: PUScores, first: NDArray[np.float64], second: NDArray[np.float64], p: int
) -> LawMeans:
    """Return means and their covariance from sums over rows.

    A row contributes ``a f_1 .. a f_p, a, w g_1 .. w g_m, w``; `first` holds the sums of these, and
    `second` those of their products.
    """
    total_positive, total_marginal = first[p] or 1.0, first[-1]
    means_positive = first[:p] / total_positive
    means_marginal = first[p + 1 : -1] / total_marginal
    k, m = first.size, means_marginal.size
    influence = np.zeros((p + m + 1, k))
    influence[:p, :p] = np.eye(p) / total_positive
    influence[:p, p] = -means_positive / total_positive
    influence[p:-1, p + 1 : -1] = np.eye(m) / total_marginal
    influence[p:-1, -1] = -means_marginal / total_marginal
    if scores.prior_is_estimated:
        influence[-1, p] = 1.0 / total_marginal
        influence[-1, -1] = -scores.prior / total_marginal
    covariance = influence @ second @ influence.T
    return LawMeans(means_positive, means_marginal, scores.prior, covariance)
