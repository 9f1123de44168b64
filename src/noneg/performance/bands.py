r"""Bands on the rank CDF of a partially known class (Claesen et al., Section 4.2).

A band is a table: entry j bounds the share of the class ranked at or above its j-th best known row.
A cutoff only looks up an entry, so the cost depends on the number of known rows alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from noneg.calibration.reliability import clopper_pearson
from noneg.errors import InputError
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Limits = tuple[NDArray[np.float64], NDArray[np.float64]]

Band = Literal["pointwise", "exact", "dkw", "bootstrap", "prediction"]
BANDS: Final[dict[str, str]] = {
    "pointwise": "binomial quantiles, the limit of infinitely many bootstrap resamples",
    "exact": "Clopper-Pearson limits at each cutoff",
    "dkw": "one margin for all cutoffs together (Dvoretzky, Kiefer, Wolfowitz and Massart)",
    "bootstrap": "percentiles of resampled known rows",
    "prediction": "'exact', widened by the sampling error of the latent rows themselves",
}


_MANY: Final = 20_000  # Longer tables are evaluated at nodes and interpolated.
_ENDS: Final = 1000  # Number of entries next to both ends that are always evaluated.
_NODES: Final = 4001
_RESAMPLED: Final = 4_000_000  # Number of resampled counts held in memory at a time.


def check_band(band: object) -> Band:
    """Return the kind of band, or raise an error that explains each kind.

    Examples
    --------
    >>> check_band("dkw")
    'dkw'
    """
    if band not in get_args(Band):
        kinds = "; ".join(f"'{name}': {text}" for name, text in BANDS.items())
        raise InputError("band", "must be one of the kinds below", value=band, remedy=f"{kinds}.")
    return band  # type: ignore[return-value]


def band_limits(
    share: NDArray[np.float64],
    n: float,
    *,
    band: Band,
    level: float,
    latent: float = np.inf,
    resamples: int = 2000,
    seed: int = 0,
) -> Limits:
    r"""Return T_lb and T_ub around a rank CDF (Claesen et al., Eq. 14).

    Parameters
    ----------
    share : ndarray
        The rank CDF after 0, 1, 2, ... known rows, best first: from 0 to 1.
    n : float
        Number of known rows; Kish's effective number if their weights are unequal.
    band : {"pointwise", "exact", "dkw", "bootstrap", "prediction"}
        "pointwise": quantiles of Binomial(n, share). "exact": Clopper-Pearson. "dkw": share
        :math:`\pm \sqrt{\log(2/\alpha) / 2n}`. "bootstrap": percentiles of `resamples` resamples.
        "prediction": like "exact", but for the share among `latent` further rows from the same
        distribution rather than for the distribution itself.
    level : float
        Nominal coverage: simultaneous over all cutoffs for "dkw", at each cutoff otherwise.
    latent : float
        Number of rows whose share is predicted; used only by "prediction".
    resamples, seed : int
        For "bootstrap".

    Examples
    --------
    >>> low, high = band_limits(np.linspace(0, 1, 5), 4, band="exact", level=0.95)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.006, 0.068, 0.194, 0.398]), array([0.602, 0.806, 0.932, 0.994, 1.   ]))
    """
    alpha = 1.0 - level
    if band == "dkw":
        margin = np.sqrt(np.log(2.0 / alpha) / (2.0 * n))
        return np.maximum(share - margin, 0.0), np.minimum(share + margin, 1.0)
    if band == "bootstrap":
        return _resampled(share, int(n), alpha, resamples, seed)
    return _at_nodes(share, _pointwise(band, n, alpha, latent))


def _pointwise(
    band: Band, n: float, alpha: float, latent: float
) -> Callable[[NDArray[np.float64]], Limits]:
    if band == "pointwise":
        return lambda p: (_quantile(alpha / 2, n, p), _quantile(1.0 - alpha / 2, n, p))
    if band == "prediction":
        return lambda p: _prediction(p, n, alpha, latent)
    return lambda p: clopper_pearson(p, n, alpha)


def _quantile(q: float, n: float, share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(binom.ppf(q, n, share), 0.0, n) / n


def _prediction(share: NDArray[np.float64], n: float, alpha: float, latent: float) -> Limits:
    """Return prediction limits for the share among latent rows.

    Given the known rows, the number of latent rows above the k-th best of them is beta-binomial
    with parameters k and n + 1 - k; it is approximated by a beta distribution with the same mean
    and variance.
    """
    size = max(latent, 1.0 + 1e-6)
    shrunk = 1.0 if np.isinf(size) else (size - 1.0) / (size + n + 1.0)
    hits, misses = share * n, (1.0 - share) * n
    few = 1e-9  # Replaces zero, where the limit is known exactly.
    low = betaincinv(np.maximum(hits, few) * shrunk, (misses + 1.0) * shrunk, alpha / 2)
    high = betaincinv((hits + 1.0) * shrunk, np.maximum(misses, few) * shrunk, 1.0 - alpha / 2)
    return np.where(hits > few, low, 0.0), np.where(misses > few, high, 1.0)


def _at_nodes(
    share: NDArray[np.float64], limits: Callable[[NDArray[np.float64]], Limits]
) -> Limits:
    """Evaluate limits at every entry, or at nodes with interpolation in between.

    On the arcsin(sqrt(share)) scale, the margins are close to a sine, so linear interpolation
    between 4,001 nodes is off by less than 1e-9.
    """
    if share.size <= _MANY:
        return limits(share)
    angle = np.arcsin(np.sqrt(share))
    even = np.searchsorted(angle, np.linspace(0.0, np.pi / 2, _NODES)).clip(0, share.size - 1)
    ends = np.arange(_ENDS)
    nodes = np.unique(np.concatenate([ends, even, share.size - 1 - ends]))
    return _spread(angle, share, nodes, limits(share[nodes]))


def _spread(
    angle: NDArray[np.float64], share: NDArray[np.float64], nodes: NDArray[Any], at: Limits
) -> Limits:
    low, high = (np.interp(angle, angle[nodes], end - share[nodes]) + share for end in at)
    return low.clip(0.0, 1.0), high.clip(0.0, 1.0)


def _resampled(
    share: NDArray[np.float64], n: int, alpha: float, resamples: int, seed: int
) -> Limits:
    """Return percentiles of the rank CDF of resampled rows, computed one block of ranks at a time.

    Given the resampled rows above a rank, the rows below it are a multinomial draw over the
    remaining ranks, so only one block of ranks is ever held in memory.
    """
    rng = stream(seed, "rank band")
    low, high = np.zeros_like(share), np.zeros_like(share)
    seen = np.zeros(resamples, dtype=np.int64)
    step = max(1, _RESAMPLED // resamples)
    for start in range(0, share.size - 1, step):
        stop = min(start + step, share.size - 1)
        rest = max(1.0 - share[start], 1e-300)
        chance = np.append(np.diff(share[start : stop + 1]) / rest, 0.0)
        chance[-1] = max(0.0, 1.0 - chance.sum())
        drawn = rng.multinomial(n - seen, chance / chance.sum())[:, :-1]
        counts = np.cumsum(drawn, axis=1) + seen[:, None]
        ends = np.quantile(counts, [alpha / 2, 1.0 - alpha / 2], axis=0, method="inverted_cdf")
        low[start + 1 : stop + 1], high[start + 1 : stop + 1] = ends / n
        seen = counts[:, -1]
    return low, high
