r"""What of a trained classifier the bounds measure: gaps between seen and unseen rows.

For bins :math:`I_b` made from the seen rows, and
:math:`\mathcal L(b) = \pi\mu_+(I_b) - \int_{I_b} s\,d\mu`, whose absolute sum is the ECE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import bin_scores
from noneg.lab.information.mutual import knn_information, plug_in_information
from noneg.lab.information.supersample import PUSupersample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noneg.bins import Binned, Binning
    from noneg.lab.information.runs import Runs

    Floats = NDArray[np.float64]


def seen_and_unseen(runs: Runs, *, bins: int, binning: Binning) -> Iterator[tuple[Binned, Binned]]:
    """Yield, draw by draw, seen and unseen rows in the bins of the seen ones."""
    for draw in range(runs.draws):
        seen = bin_scores(runs.seen(draw), bins=bins, binning=binning)
        yield seen, bin_scores(runs.unseen(draw), edges=seen.edges)


def ece_gap(seen: Binned, unseen: Binned) -> float:
    """Return the gap of one draw that `ece_gaps` is made of."""
    return float(abs(np.abs(seen.residual).sum() - np.abs(unseen.residual).sum()))


def bin_gap(seen: Binned, unseen: Binned) -> float:
    """Return the gap of one draw that `bin_gaps` is made of."""
    return float(np.abs(seen.residual - unseen.residual).sum())


def reused_error(seen: Binned, unseen: Binned) -> float:
    """Return the error on unseen rows when each bin is given its frequency of the seen ones."""
    # An empty bin of the seen rows has no frequency; its unseen rows keep their scores.
    frequency = np.where(seen.marginal > 0.0, seen.frequency, np.nan)
    given = np.where(np.isnan(frequency), unseen.score, frequency * unseen.marginal)
    return float(np.abs(unseen.prior * unseen.positive - given).sum())


def ece_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return \|ECE on unseen rows - ECE on seen rows\| of each draw (Futami & Fujisawa, Eq. 15).

    Of PU pairs it is the PU-ECE. Its mean estimates the left side of their Theorem 4.

    Parameters
    ----------
    runs : Runs
    bins : int
    binning : {"mass", "width"}

    Returns
    -------
    ndarray, shape (draws,)

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((30, 2)), rng.integers(0, 2, (30, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=2, seed=0)
    >>> ece_gaps(runs, bins=2, binning="width").shape
    (2,)
    """
    return np.array([ece_gap(*pair) for pair in seen_and_unseen(runs, bins=bins, binning=binning)])


def bin_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return :math:`\sum_b |\mathcal L_{seen}(b) - \mathcal L_{unseen}(b)|` of each draw.

    The quantity of the PU-ECE paper's Lemma 4, and of the corrected Theorem 4 of Futami & Fujisawa;
    it is never below `ece_gaps`.

    Parameters
    ----------
    runs, bins, binning
        As for `ece_gaps`.

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((30, 2)), rng.integers(0, 2, (30, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=2, seed=0)
    >>> bin_gaps(runs, bins=2, binning="width").shape
    (2,)
    """
    return np.array([bin_gap(*pair) for pair in seen_and_unseen(runs, bins=bins, binning=binning)])


def label_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return :math:`\sum_b |\pi\mu_+(I_b)_{unseen} - \pi\mu_+(I_b)_{seen}|` (their Eq. 142).

    Parameters
    ----------
    runs, bins, binning
        As for `ece_gaps`.

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((30, 2)), rng.integers(0, 2, (30, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=2, seed=0)
    >>> label_gaps(runs, bins=2, binning="width").shape
    (2,)
    """
    pairs = seen_and_unseen(runs, bins=bins, binning=binning)
    change = (a.prior * a.positive - b.prior * b.positive for a, b in pairs)
    return np.array([np.abs(x).sum() for x in change])


def mass_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return :math:`\sum_b |\mu(I_b)_{unseen} - \mu(I_b)_{seen}|` of each draw (their Eq. 143).

    Parameters
    ----------
    runs, bins, binning
        As for `ece_gaps`.

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((30, 2)), rng.integers(0, 2, (30, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=2, seed=0)
    >>> mass_gaps(runs, bins=2, binning="width").shape
    (2,)
    """
    pairs = seen_and_unseen(runs, bins=bins, binning=binning)
    return np.array([np.abs(a.marginal - b.marginal).sum() for a, b in pairs])


def printed_information(runs: Runs, gaps: Floats, *, seed: int = 0) -> float:
    r"""Return I(gap; U \| Z) as Futami & Fujisawa (2024) estimate it: zero, see `knn_information`.

    The coins of all rows are one class of the estimator, and classes that occur once are left out.
    It is here so that their figures can be made again, and must not be relied on.

    Parameters
    ----------
    runs : Runs
    gaps : ndarray, shape (draws,)
        Such as `ece_gaps`.
    seed : int

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((30, 2)), rng.integers(0, 2, (30, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.isin(rows, X) * 0.9
    >>> runs = run(pairs, memory, draws=8, seed=0)
    >>> printed_information(runs, ece_gaps(runs, bins=3, binning="width"))
    0.0
    """
    _, vector = np.unique(runs.membership, axis=0, return_inverse=True)
    return knn_information(gaps, vector.ravel(), seed=seed)


def samplewise_information(runs: Runs, *, unlabeled_only: bool = False, seed: int = 0) -> Floats:
    r"""Return the information of each pair's scores about its own coin, in nats.

    The scores enter as the difference of the pair, by nearest neighbours, or by their frequencies
    where they take few values. Coins are independent, so the sum over pairs is at most the fCMI,

    .. math:: \sum_m I(s_{m0} - s_{m1}; U_m \mid \tilde Z) \le I(f(\tilde X); U \mid \tilde Z),

    and the bounds need at least that. It is a lower limit: where it makes a bound vacuous, the
    bound is vacuous; where not, nothing is proved. Each estimate is zero or above, so that noise
    adds up over the pairs; `membership_noise` says how much.

    Parameters
    ----------
    runs : Runs
    unlabeled_only : bool
        Of PU pairs, take the unlabeled ones alone, for fCMI_U.
    seed : int

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((5, 2)), rng.integers(0, 2, (5, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.isin(rows, X) * 0.9
    >>> runs = run(pairs, memory, draws=60, seed=0)
    >>> bool((samplewise_information(runs) > 0.6).all())
    True
    """
    return _samplewise(runs, runs.membership, unlabeled_only=unlabeled_only, seed=seed)


def binned_information(
    runs: Runs, *, bins: int, binning: Binning, seed: int | None = None
) -> Floats:
    r"""Return the information of each pair's bins about its own coin, in nats.

    As `samplewise_information`, of the bins that both rows of the pair fall into, by their
    frequencies. The sum over pairs is at most the eCMI of Futami & Fujisawa (2024, Eqs. 138, 139),
    :math:`I(\mathbf 1\{f(\tilde X) \in I_b\}_b; U \mid \tilde Z)`, which is at most the fCMI. Its
    positive bias is taken off as far as it is known (`plug_in_information`, ``correct=True``).

    Parameters
    ----------
    runs, bins, binning
        As for `ece_gaps`.
    seed : int, optional
        Shuffle the coins of each pair over the draws with this seed: what is left is noise.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((5, 2)), rng.integers(0, 2, (5, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=60, seed=0)
    >>> bool((binned_information(runs, bins=2, binning="width") > 0.6).all())
    True
    """
    coins = runs.membership if seed is None else _shuffled(runs, seed)
    cells = np.empty(runs.membership.shape, dtype=np.int64)
    for draw in range(runs.draws):
        edges = bin_scores(runs.seen(draw), bins=bins, binning=binning).edges
        place = np.searchsorted(edges[1:-1], runs.found[draw], side="left")
        cells[draw] = place[:, 0] * bins + place[:, 1]
    pairs = zip(cells.T, coins.T, strict=True)
    return np.array([plug_in_information(v, u, correct=True) for v, u in pairs])


def membership_noise(runs: Runs, *, unlabeled_only: bool = False, seed: int = 0) -> Floats:
    """Return `samplewise_information` about coins of another draw, which is noise alone.

    Parameters
    ----------
    runs, unlabeled_only, seed
        As for `samplewise_information`.

    Examples
    --------
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((5, 2)), rng.integers(0, 2, (5, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=60, seed=0)
    >>> bool(membership_noise(runs).mean() < samplewise_information(runs).mean())
    True
    """
    return _samplewise(runs, _shuffled(runs, seed), unlabeled_only=unlabeled_only, seed=seed)


def _shuffled(runs: Runs, seed: int) -> NDArray[np.bool_]:
    """Return each pair's coins in another order of the draws."""
    return np.random.default_rng(seed).permuted(runs.membership, axis=0)


def _samplewise(
    runs: Runs, membership: NDArray[np.bool_], *, unlabeled_only: bool, seed: int
) -> Floats:
    n = runs.found.shape[1]
    if unlabeled_only:
        if not isinstance(runs.supersample, PUSupersample):
            msg = "'unlabeled_only' needs the runs of a PUSupersample, got labelled pairs."
            raise TypeError(msg)
        n = runs.supersample.n_unlabeled
    difference = runs.found[:, :n, 0] - runs.found[:, :n, 1]
    return np.array([_of_pair(difference[:, m], membership[:, m], seed) for m in range(n)])


def _of_pair(values: Floats, coin: NDArray[np.bool_], seed: int) -> float:
    # Values that repeat have no density; a third of them all different is taken for one.
    if np.unique(values).size <= values.size / 3:
        return plug_in_information(values, coin)
    return knn_information(values, coin, seed=seed)
