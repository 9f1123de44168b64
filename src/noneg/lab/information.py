r"""Optimism of calibration measured on training rows: gaps, information, and bounds on them.

`noneg.lab.supersample` has the pairs of a seen and an unseen row, and the runs on them.

Gaps use bins :math:`I_b` made from the seen rows, and
:math:`\mathcal L(b) = \pi\mu_+(I_b) - \int_{I_b} s\,d\mu`, whose absolute sum is the ECE.

Information is measured between a classifier's output and a coin, in nats: `knn_information` is for
real values, and `plug_in_information` for values that repeat. Both take one coin. The coins of all
rows together are a vector of n bits, and no estimator can learn much about 2^n memberships from a
few draws; `draw_limit` gives the limit.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import Binned, Binning, bin_scores
from noneg.errors import InputError
from noneg.lab.supersample import PUSupersample, Runs, Supersample, draw_membership, run
from noneg.theory import (
    Bound,
    generalization_bound as pu_bound,
    labeled_generalization_bound,
    reuse_bound as theory_reuse_bound,
    training_statistical_bound,
)
from noneg.theory.bounds import FUTAMI, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats
    from noneg.theory import Form

__all__ = [
    "GapAndBound", "Information", "PUSupersample", "Runs", "Supersample", "bin_gaps",
    "binned_information", "covering_information", "draw_limit", "draw_membership", "ece_gaps",
    "entropy_bound", "generalization_bound", "knn_information", "label_gaps", "mass_gaps",
    "measure_information", "membership_noise", "plug_in_information", "printed_information",
    "reuse_bound", "run", "samplewise_information",
]  # fmt: skip


def knn_information(
    values: ArrayLike, membership: ArrayLike, *, neighbors: int = 3, seed: int = 0
) -> float:
    r"""Return a nearest-neighbor estimate of I(V; U) for a real value and a discrete one.

    This is the estimator of Ross (2014) in scikit-learn's ``mutual_info_classif``, which Futami &
    Fujisawa (2024, App. G.2) use with three neighbors. Values are scaled, and a tiny amount of
    noise is added, which requires the seed. The result is never below zero.

    **Memberships that occur only once are dropped.** With a few draws of an n-bit vector, each
    occurs once, nothing is left, and the result is zero no matter how much the classifier has
    memorized. This is why the published bounds equal the bounds at zero information. Pass one coin
    from many draws.

    Parameters
    ----------
    values : array-like, shape (draws,)
    membership : array-like, shape (draws,)
        The coin of one row, or an integer for each vector of coins.
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
        # Memberships are classes even if most of them occur only once.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        found = mutual_info_classif(
            v[:, None], u, discrete_features=False, n_neighbors=neighbors, random_state=seed
        )
    return float(found[0])


def plug_in_information(
    values: ArrayLike, membership: ArrayLike, *, correct: bool = False
) -> float:
    r"""Return I(V; U) for two discrete values, from their frequencies.

    .. math:: \sum_{v,u} \hat p(v,u) \log\frac{\hat p(v,u)}{\hat p(v)\,\hat p(u)}

    The estimate is biased upward by about :math:`(|V|-1)(|U|-1)/2k` for k draws, and is never above
    log k.

    Parameters
    ----------
    values, membership : array-like, shape (draws,)
    correct : bool
        Subtract that bias (Miller & Madow), down to zero at most.

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
        # Occupied cells minus rows minus columns plus one: each entropy has its own bias.
        excess = int(there.sum()) - levels.size - coins.size + 1
        value -= excess / (2.0 * v.size)
    return max(value, 0.0)


def draw_limit(draws: int, n: int) -> tuple[float, float]:
    """Return the largest possible estimate from a number of draws, and the largest possible value.

    An estimate from k memberships is at most log k nats. The information itself can be as large as
    n log 2, a value reached by a classifier that memorizes every row.

    Examples
    --------
    >>> draw_limit(10, 4000)
    (2.302585092994046, 2772.588722239781)
    """
    return math.log(draws), n * math.log(2.0)


def covering_information(dimension: int, lipschitz: float, radius: float) -> float:
    r"""Bound the fCMI of a parametric classifier, rounded to a cover, by the cover's entropy.

    If the parameters are in :math:`[0,1]^d` and scores change by at most L times the largest change
    in a parameter, there is a cover of :math:`\lceil L/2\epsilon \rceil^d` classifiers, with one
    within :math:`\epsilon` of any classifier. The logarithm of its size bounds the information in
    the rounded classifier (Futami & Fujisawa 2024, Section 4.2; the PU-ECE paper, Section 4.2, has
    :math:`d \log(L/\epsilon)`).

    Parameters
    ----------
    dimension : int
        Number d of parameters.
    lipschitz : float
        The constant L.
    radius : float
        Largest change in a score due to rounding.

    Examples
    --------
    >>> round(covering_information(2, lipschitz=1.0, radius=0.01), 2)
    7.82
    """
    if dimension < 1 or not lipschitz > 0.0 or not radius > 0.0:
        msg = (
            "must be at least 1, 'lipschitz' and 'radius' above 0, got "
            f"{dimension!r}, {lipschitz!r} and {radius!r}."
        )
        raise InputError("dimension", msg)
    return dimension * math.log(math.ceil(lipschitz / (2.0 * radius)))


def _columns(values: ArrayLike, membership: ArrayLike) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    v, u = np.asarray(values), np.asarray(membership)
    if v.ndim != 1 or v.shape != u.shape or v.size < 1:
        msg = (
            f"and 'membership' must be columns of the same length, got shapes {v.shape} and "
            f"{u.shape}."
        )
        raise InputError("values", msg)
    return v, u


def seen_and_unseen(runs: Runs, *, bins: int, binning: Binning) -> Iterator[tuple[Binned, Binned]]:
    """Yield the seen and unseen rows of each draw, in bins made from the seen rows."""
    for draw in range(runs.draws):
        seen = bin_scores(runs.seen(draw), bins=bins, binning=binning)
        yield seen, bin_scores(runs.unseen(draw), edges=seen.edges)


def _ece_gap(seen: Binned, unseen: Binned) -> float:
    return float(abs(np.abs(seen.residual).sum() - np.abs(unseen.residual).sum()))


def _bin_gap(seen: Binned, unseen: Binned) -> float:
    return float(np.abs(seen.residual - unseen.residual).sum())


def reused_error(seen: Binned, unseen: Binned) -> float:
    """Return the error on unseen rows when each bin gets the frequency among its seen rows."""
    # A bin without seen rows has no frequency, so its unseen rows keep their scores.
    frequency = np.where(seen.marginal > 0.0, seen.frequency, np.nan)
    given = np.where(np.isnan(frequency), unseen.score, frequency * unseen.marginal)
    return float(np.abs(unseen.prior * unseen.positive - given).sum())


def ece_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return \|ECE on unseen rows - ECE on seen rows\| for each draw (Futami & Fujisawa, Eq. 15).

    For PU pairs, the PU-ECE is used. The mean estimates the left side of their Theorem 4.

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
    return np.array([_ece_gap(*pair) for pair in seen_and_unseen(runs, bins=bins, binning=binning)])


def bin_gaps(runs: Runs, *, bins: int, binning: Binning) -> Floats:
    r"""Return :math:`\sum_b |\mathcal L_{seen}(b) - \mathcal L_{unseen}(b)|` for each draw.

    This is the quantity in the PU-ECE paper's Lemma 4 and in the corrected Theorem 4 of Futami &
    Fujisawa; it is never below `ece_gaps`.

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
    return np.array([_bin_gap(*pair) for pair in seen_and_unseen(runs, bins=bins, binning=binning)])


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
    r"""Return Futami & Fujisawa's (2024) estimate of I(gap; U \| Z), which is generally zero.

    The estimator treats the coins of all rows as one class and drops classes that occur only once;
    see `knn_information`. It is included only to reproduce their figures; do not rely on it.

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
    r"""Return the information in each pair's scores about its own coin, in nats.

    The information is estimated from the difference between the two scores, by nearest neighbors,
    or from frequencies if there are few distinct values. Coins are independent, so the sum over
    pairs is at most the fCMI,

    .. math:: \sum_m I(s_{m0} - s_{m1}; U_m \mid \tilde Z) \le I(f(\tilde X); U \mid \tilde Z),

    which is the quantity in the bounds. The sum is thus a lower bound on the fCMI: if a bound is
    vacuous with the sum, it is vacuous with the fCMI; otherwise, nothing is proved. No estimate is
    negative, so noise accumulates over the pairs; `membership_noise` measures it.

    Parameters
    ----------
    runs : Runs
    unlabeled_only : bool
        For PU pairs, use only the unlabeled pairs, for fCMI_U.
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
    n = runs.supersample.n
    if unlabeled_only:
        if not isinstance(runs.supersample, PUSupersample):
            msg = "'unlabeled_only' requires the runs of a PUSupersample, got labeled pairs."
            raise TypeError(msg)
        n = runs.supersample.n_unlabeled
    found = []
    for values, coin in zip(-np.diff(runs.found)[:, :n, 0].T, runs.membership.T, strict=False):
        # Repeated values have no density; require at least a third of the values to be distinct.
        few = np.unique(values).size <= values.size / 3
        kind = plug_in_information if few else partial(knn_information, seed=seed)
        found.append(kind(values, coin))
    return np.array(found)


def binned_information(
    runs: Runs, *, bins: int, binning: Binning, seed: int | None = None
) -> Floats:
    r"""Return the information in each pair's bins about its own coin, in nats.

    This is like `samplewise_information`, but for the bins of the pair's two rows, estimated from
    frequencies. The sum over pairs is at most the eCMI of Futami & Fujisawa (2024, Eqs. 138, 139),
    :math:`I(\mathbf 1\{f(\tilde X) \in I_b\}_b; U \mid \tilde Z)`, which is at most the fCMI. The
    known part of the positive bias is subtracted (`plug_in_information`, ``correct=True``).

    Parameters
    ----------
    runs, bins, binning
        As for `ece_gaps`.
    seed : int, optional
        Shuffle the coins of each pair over the draws with this seed, so that only noise is left.

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
    """Return `samplewise_information` about shuffled coins, which is pure noise.

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
    shuffled = replace(runs, membership=_shuffled(runs, seed))
    return samplewise_information(shuffled, unlabeled_only=unlabeled_only, seed=seed)


def _shuffled(runs: Runs, seed: int) -> Flags:
    """Return each pair's coins, shuffled over the draws."""
    return np.random.default_rng(seed).permuted(runs.membership, axis=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Information:
    r"""Conditional mutual information between classifiers' outputs and the coins, in nats.

    Attributes
    ----------
    fcmi, fcmi_unlabeled, ecmi : float
        Sums over pairs of the information in the pair's scores, in the scores of unlabeled pairs
        only (nan for labeled data), and in the pair's bins. The quantities with these names in the
        papers are at least as large as the expectations of these sums.
    fcmi_noise, fcmi_unlabeled_noise, ecmi_noise : float
        The same with shuffled coins: the size of the estimates when there is no information.
    ece_gap, label_gap, mass_gap, bin_gap : float
        Information in one number per draw about the coins of all rows, by nearest neighbors: Futami
        & Fujisawa (2024), Eqs. 15, 142 and 143, and Lemma 4 of the PU-ECE paper. Zero unless a
        membership was drawn twice (`knn_information`).
    most_shown : float
        Largest possible estimate of those four: the logarithm of the number of draws.
    most : float
        Largest possible value of any information: n log 2.
    draws : int
    """

    fcmi: float
    fcmi_noise: float
    fcmi_unlabeled: float
    fcmi_unlabeled_noise: float
    ecmi: float
    ecmi_noise: float
    ece_gap: float
    label_gap: float
    mass_gap: float
    bin_gap: float
    most_shown: float
    most: float
    draws: int

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)


def measure_information(runs: Runs, *, bins: int, binning: Binning, seed: int = 0) -> Information:
    """Estimate all the information quantities that appear in the bounds.

    Parameters
    ----------
    runs : Runs
        At least a few dozen draws; see `Information` for the limits with fewer.
    bins : int
    binning : {"mass", "width"}
    seed : int

    Returns
    -------
    Information

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((5, 2)), rng.integers(0, 2, (5, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=31, seed=0)
    >>> found = measure_information(runs, bins=2, binning="width")
    >>> found.fcmi > 0.9 * found.most, found.most_shown < found.most
    (True, True)
    """
    kinds = {"ece": ece_gaps, "label": label_gaps, "mass": mass_gaps, "bin": bin_gaps}
    gaps = {
        f"{name}_gap": printed_information(runs, gap(runs, bins=bins, binning=binning), seed=seed)
        for name, gap in kinds.items()
    }
    scores, noise = samplewise_information(runs, seed=seed), membership_noise(runs, seed=seed)
    # The unlabeled pairs come first.
    pu = runs.supersample.n_unlabeled if isinstance(runs.supersample, PUSupersample) else None
    shown, most = draw_limit(runs.draws, runs.supersample.n)
    return Information(
        fcmi=float(scores.sum()),
        fcmi_noise=float(noise.sum()),
        fcmi_unlabeled=float("nan") if pu is None else float(scores[:pu].sum()),
        fcmi_unlabeled_noise=float("nan") if pu is None else float(noise[:pu].sum()),
        ecmi=float(binned_information(runs, bins=bins, binning=binning).sum()),
        ecmi_noise=float(binned_information(runs, bins=bins, binning=binning, seed=seed).sum()),
        most_shown=shown,
        most=most,
        draws=runs.draws,
        **gaps,
    )


@dataclass(frozen=True, kw_only=True)
class GapAndBound:
    r"""A gap between training and test rows, with its theoretical bound.

    Attributes
    ----------
    gap : float
        Mean over draws of \|ECE on unseen rows - ECE on seen rows\|; from `reuse_bound`, the mean
        ECE of recalibrated scores on unseen rows.
    gap_error : float
        Standard error of that mean; nan for one draw.
    bin_gap : float
        Mean over draws of the sum over bins, which the corrected bound covers.
    bound : Bound
        Bound on the gap, or with `lipschitz`, on the distance between the ECE and the TCE.
    draws : int
    """

    gap: float
    gap_error: float
    bin_gap: float
    bound: Bound
    draws: int

    @property
    def vacuous(self) -> bool:
        """Whether the bound is vacuous because it exceeds one."""
        return self.bound.vacuous

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and strings."""
        return asdict(self) | {"vacuous": self.vacuous, "bound": self.bound.to_dict()}


def generalization_bound(
    runs: Runs,
    *,
    bins: int,
    binning: Binning,
    information: float,
    edge_information: float | None = None,
    lipschitz: float | None = None,
    form: Form = "corrected",
) -> GapAndBound:
    r"""Return the ECE gap of the runs with its bound.

    Without `lipschitz`, this is the bound on the gap: Futami & Fujisawa (2024), Theorem 4, or, for
    PU pairs, Lemma 5 of the PU-ECE paper. With `lipschitz`, it is the bound on \|ECE - TCE\|:
    Theorems 5 and 3, respectively.

    Parameters
    ----------
    runs : Runs
    bins : int
    binning : {"mass", "width"}
    information : float
        Upper bound on the fCMI in nats, such as `noneg.theory.vc_information` or ``n * log(2)``.
        The sum of `samplewise_information` is a lower bound on the fCMI instead; with it, the
        result is the smallest value that the theorem could give, not a guarantee.
    edge_information : float, optional
        The information about the training rows in the scores that determine the edges of mass bins
        (fCMI, or fCMI_U for PU pairs); by default, `information`.
    lipschitz : float, optional
        Largest slope of the calibration curve.
    form : {"corrected", "printed"}
        Form of the bound for labeled pairs; see `noneg.theory.training_statistical_bound`.

    Returns
    -------
    GapAndBound

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.lab.information import Supersample, run
    >>> from noneg.theory import vc_information
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> pairs = Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=0)
    >>> runs = run(pairs, LogisticRegression(), draws=4, seed=0)
    >>> nats = vc_information(2, 2000, 0)
    >>> found = generalization_bound(runs, bins=12, binning="width", information=nats)
    >>> found.gap < found.bin_gap < found.bound.value, found.vacuous
    (True, False)
    """
    pairs = runs.supersample
    if isinstance(pairs, PUSupersample):
        sizes = pairs.n_positive, pairs.n_unlabeled, pairs.prior
        bound = pu_bound(
            *sizes,
            bins=bins,
            # Lemma 5 is the statistical part of Theorem 3, which is the same for both binnings.
            binning="width" if lipschitz is None else binning,
            lipschitz=lipschitz or 0.0,
            fcmi=information,
            fcmi_unlabeled=edge_information,
        )
        if lipschitz is None:
            bound = replace(bound, binning=0.0, reference="PU-ECE, Lemma 5")
    elif lipschitz is None:
        bound = training_statistical_bound(pairs.n, bins=bins, ecmi=information, form=form)
    else:
        bound = labeled_generalization_bound(
            pairs.n,
            bins=bins,
            binning=binning,
            lipschitz=lipschitz,
            ecmi=information,
            fcmi=information if edge_information is None else edge_information,
            form=form,
        )
    return _beside(bound, runs, _ece_gap, bins, binning)


def reuse_bound(
    runs: Runs,
    *,
    bins: int,
    information: float,
    label_information: float | None = None,
    mass_information: float | None = None,
    form: Form = "corrected",
) -> GapAndBound:
    r"""Return the error that remains after recalibration on the training rows, with its bound.

    The map is histogram binning (Futami & Fujisawa 2024, Eq. 21) with mass bins and frequencies
    from the seen rows. On the unseen rows, its error is
    :math:`\sum_b |\pi\mu_+(I_b) - y_b\,\mu(I_b)|`. Their Theorem 7 bounds this error, and Corollary
    4 bounds it with smaller information terms.

    Parameters
    ----------
    runs : Runs
        Runs of labeled pairs; no such theorem has been published for PU pairs.
    bins : int
    information : float
        As for `generalization_bound`.
    label_information, mass_information : float, optional
        For Corollary 4, the information in the bins of the positive labels (their Eq. 142) and in
        the bins of all rows (Eq. 143); by default, `information`.
    form : {"corrected", "printed"}
        See `noneg.theory.reuse_bound`.

    Returns
    -------
    GapAndBound

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> pairs = Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=0)
    >>> runs = run(pairs, LogisticRegression(), draws=4, seed=0)
    >>> found = reuse_bound(runs, bins=12, information=0.0)
    >>> round(found.bound.value, 3), found.gap < found.bound.value
    (0.365, True)
    """
    if isinstance(runs.supersample, PUSupersample):
        msg = (
            "'runs' must be those of a Supersample, got PU pairs, for which no bound after "
            "recalibration has been published. Use generalization_bound."
        )
        raise TypeError(msg)
    bound = theory_reuse_bound(
        runs.supersample.n,
        bins=bins,
        fcmi=information,
        delta1_information=label_information,
        delta2_information=mass_information,
        form=form,
    )
    return _beside(bound, runs, reused_error, bins, "mass")


def entropy_bound(
    n: float,
    *,
    bins: int,
    lipschitz: float,
    entropy: float,
    radius: float = 0.0,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE\| on training rows by a metric entropy (Futami & Fujisawa, Theorem 6).

    *Corrected*: the classifier is rounded to the nearest member of a finite cover, and the scores,
    bins, ECE and TCE are computed from the rounded classifier. Its information is at most the
    logarithm of the size of the cover, so Theorem 5 gives
    :math:`\tfrac{1+L}{B} + \sqrt{8(\log N + B \log 2)/n}` for width bins.

    *Printed*, with the entropy at radius :math:`\delta/B`:
    :math:`\tfrac{1+L}{B} + (2+L)\delta + \sqrt{8B(\log N + \log 2)/n}` for the unrounded
    classifier. This bound does not hold: the proof counts the rounded scores but not the bins of
    the unrounded scores, which may contain arbitrary information. As a counterexample, let the
    labels be fair coins, and let all scores lie within :math:`\delta` of 1/2, above 1/2 where a
    seen label was 1. One classifier covers them all and the TCE is nearly 0, but with four bins the
    ECE is 1/2, while the bound tends to 1/4.

    Parameters
    ----------
    n : float
        Number of training rows.
    bins : int
        Number of equal-width bins.
    lipschitz : float
        Largest slope of the calibration curve.
    entropy : float
        Logarithm of the number N of classifiers in the cover, such as `covering_information`.
    radius : float
        The radius :math:`\delta` in the printed form, at most 1/B.
    form : {"corrected", "printed"}

    Returns
    -------
    Bound

    Examples
    --------
    >>> from noneg.lab.information import covering_information
    >>> nats = covering_information(2, lipschitz=1.0, radius=0.01)
    >>> round(entropy_bound(4000, bins=15, lipschitz=1.0, entropy=nats).value, 3)
    0.324
    """
    check(form=form)
    if not 0.0 <= radius <= 1.0 / bins:
        raise InputError("radius", f"must lie in [0, 1/bins], got {radius!r} for {bins!r} bins.")
    printed = form == "printed"
    nats, rounding = (bins * entropy, (2.0 + lipschitz) * radius) if printed else (entropy, 0.0)
    plain = labeled_generalization_bound(
        n, bins=bins, binning="width", lipschitz=lipschitz, ecmi=nats
    )
    binning = plain.binning + rounding
    return replace(plain, binning=binning, form=form, reference=f"{FUTAMI}, Theorem 6")


def _beside(
    bound: Bound,
    runs: Runs,
    gap: Callable[[Binned, Binned], float],
    bins: int,
    binning: Binning,
) -> GapAndBound:
    pairs = list(seen_and_unseen(runs, bins=bins, binning=binning))
    gaps = np.array([gap(*pair) for pair in pairs])
    return GapAndBound(
        gap=float(gaps.mean()),
        gap_error=float(gaps.std(ddof=1) / np.sqrt(gaps.size)) if gaps.size > 1 else float("nan"),
        bin_gap=float(np.mean([_bin_gap(*pair) for pair in pairs])),
        bound=bound,
        draws=gaps.size,
    )
