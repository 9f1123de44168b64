r"""Mutual information between what a classifier says and a coin, in nats.

`knn_information` is for real values, `plug_in_information` for values that repeat. Both take one
coin; the coins of all rows together are a vector of n bits, and no estimator learns much about
2^n memberships from a few draws of them. `draw_limit` says how much.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

NEIGHBORS = 3


def knn_information(
    values: ArrayLike, membership: ArrayLike, *, neighbors: int = NEIGHBORS, seed: int = 0
) -> float:
    r"""Return I(V; U) of a real value and a discrete one, by nearest neighbours.

    The estimator of Ross (2014) in scikit-learn's ``mutual_info_classif``, which Futami & Fujisawa
    (2024, App. G.2) use with three neighbours. Values are scaled and get a tiny noise, whence the
    seed. It never returns less than zero.

    **A membership that occurs once is left out.** With a few draws of an n-bit vector each occurs
    once, nothing is left, and the answer is zero whatever the classifier has memorised: that is
    how the published bounds come to be those at zero information. Pass one coin of many draws.

    Parameters
    ----------
    values : array-like, shape (draws,)
    membership : array-like, shape (draws,)
        The coin of one row, or a number for each vector of coins.
    neighbors : int
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> coin = rng.integers(0, 2, 400)
    >>> round(knn_information(coin + 0.1 * rng.normal(size=400), coin), 2)
    0.69
    >>> knn_information(rng.normal(size=10), np.arange(10))
    0.0
    """
    v, u = _columns(values, membership)
    if np.unique(u).size == u.size:
        return 0.0
    from sklearn.feature_selection import mutual_info_classif

    with warnings.catch_warnings():
        # Memberships are classes even where most of them occur once.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        found = mutual_info_classif(
            v[:, None], u, discrete_features=False, n_neighbors=neighbors, random_state=seed
        )
    return float(found[0])


def plug_in_information(
    values: ArrayLike, membership: ArrayLike, *, correct: bool = False
) -> float:
    r"""Return I(V; U) of two discrete values, from their frequencies.

    .. math:: \sum_{v,u} \hat p(v,u) \log\frac{\hat p(v,u)}{\hat p(v)\,\hat p(u)}

    It is too large by about :math:`(|V|-1)(|U|-1)/2k` for k draws, and never above log k.

    Parameters
    ----------
    values, membership : array-like, shape (draws,)
    correct : bool
        Take off that bias (Miller & Madow), down to zero.

    Examples
    --------
    >>> plug_in_information([0, 0, 1, 1], [0, 0, 1, 1])
    0.6931471805599453
    >>> plug_in_information([0, 1, 0, 1], [0, 0, 1, 1])
    0.0
    """
    v, u = _columns(values, membership)
    levels, row = np.unique(v, return_inverse=True)
    coins, column = np.unique(u, return_inverse=True)
    joint = np.zeros((levels.size, coins.size))
    np.add.at(joint, (row, column), 1.0 / v.size)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0.0
    value = float((joint[there] * np.log(joint[there] / apart[there])).sum())
    if correct:
        # Cells that occur, less rows and columns, plus one: each entropy has its own bias.
        excess = int(there.sum()) - levels.size - coins.size + 1
        value -= excess / (2.0 * v.size)
    return max(value, 0.0)


def draw_limit(draws: int, n: int) -> tuple[float, float]:
    """Return the most that a number of draws can show, and the most that there can be.

    An estimate from k memberships is at most log k nats; the information itself may be as large
    as n log 2, and is for a classifier that remembers every row.

    Examples
    --------
    >>> draw_limit(10, 4000)
    (2.302585092994046, 2772.588722239781)
    """
    return math.log(draws), n * math.log(2.0)


def covering_information(dimension: int, lipschitz: float, radius: float) -> float:
    r"""Bound the fCMI of a parametric classifier, rounded to a cover, by the cover's entropy.

    Parameters in :math:`[0,1]^d` and scores that move by at most L times their largest change have
    a cover of :math:`\lceil L/2\epsilon \rceil^d` classifiers, one within :math:`\epsilon` of
    each, and its logarithm bounds any information the rounded one can carry (Futami & Fujisawa
    2024, Section 4.2; PU-ECE paper, Section 4.2, has :math:`d \log(L/\epsilon)`).

    Parameters
    ----------
    dimension : int
        Number d of parameters.
    lipschitz : float
        The constant L.
    radius : float
        How far a score may be moved by the rounding.

    Examples
    --------
    >>> round(covering_information(2, lipschitz=1.0, radius=0.01), 2)
    7.82
    """
    if dimension < 1 or not lipschitz > 0.0 or not radius > 0.0:
        msg = (
            "'dimension' must be at least 1, 'lipschitz' and 'radius' above 0, got "
            f"{dimension!r}, {lipschitz!r} and {radius!r}."
        )
        raise ValueError(msg)
    return dimension * math.log(math.ceil(lipschitz / (2.0 * radius)))


def _columns(values: ArrayLike, membership: ArrayLike) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    v, u = np.asarray(values), np.asarray(membership)
    if v.ndim != 1 or v.shape != u.shape or v.size < 1:
        msg = (
            "'values' and 'membership' must be columns of one length, got shapes "
            f"{v.shape} and {u.shape}."
        )
        raise ValueError(msg)
    return v, u
