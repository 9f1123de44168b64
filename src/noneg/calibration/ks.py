r"""The Kolmogorov-Smirnov calibration error: no bins at all.

:math:`\rho((-\infty, t])` is the share of positives with a score up to t minus the sum of these
scores; it stays at zero when calibration is perfect. Its largest absolute value is found without
sorting: sums in narrow buckets of scores bound what can happen inside each, and only the rows of
buckets that can beat the largest value at the end of a bucket are put in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg import kernels
from noneg.bins import Binned, bin_scores
from noneg.calibration.interval import METHOD, norm_limits
from noneg.calibration.significance import KS_BINS
from noneg.checks import check_level
from noneg.intervals import prior_words
from noneg.registry import Metric, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    # Scores, and masses in the positive and in the marginal law.
    Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

# Below this number of rows all are put in order.
FEW_ROWS = 1 << 16


def ks_error(scores: PUScores) -> float:
    r"""Return the Kolmogorov-Smirnov calibration error.

    .. math:: \sup_t\,\lvert \rho((-\infty, t])\rvert
        = \sup_t\,\Bigl\lvert \pi\,\mu_+(s \le t) - \int_{s \le t} s\,d\mu \Bigr\rvert

    over the scores t in the data; equal scores count together. It needs no bins, and is no larger
    than the ECE over any bins of which that t is an edge.

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float

    References
    ----------
    Gupta et al. (2021), Calibration of Neural Networks using Splines; Arrieta-Ibarra et al. (2022),
    Metrics of Calibration for Probabilistic Predictions, whose ECCE-MAD is this value for labelled
    data.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> round(ks_error(scores), 4)
    0.125
    """
    return _largest(scores, scores.prior)


def ks_error_interval(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the Kolmogorov-Smirnov error with an interval for its population value.

    The ends are those of `noneg.calibration.ece_interval`, with the largest cumulative sum of
    residuals in place of their sum, over up to 256 bins of equal mass; what the error gains
    between the ends of bins is added to the upper end.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    seed : int
        Seed of the random splits of the lower end.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> print(ks_error_interval(world.draw(1000, 10_000, setting="two-sample", seed=1)))
    0.0732 [0.0571, 0.0797]
    """
    level = check_level(level)
    value = ks_error(scores)
    binned = bin_scores(scores, bins=int(max(1, min(KS_BINS, scores.n_marginal // 2))))
    low, high = norm_limits(scores, binned, _dual, level=level, seed=seed)
    priors = {scores.prior, *(scores.prior_interval or ())}
    between = max(_largest(scores, prior) - _at_ends(binned, prior) for prior in priors)
    return Estimate(
        value=value,
        low=min(low, value),
        high=high + max(0.0, between),
        level=level,
        method=METHOD + prior_words(scores),
    )


def _dual(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign of the largest cumulative sum, up to where it is reached."""
    sums = np.cumsum(d, axis=1)
    last = np.abs(sums).argmax(axis=1)[:, None]
    return np.sign(np.take_along_axis(sums, last, axis=1)) * (np.arange(d.shape[1]) <= last)


def _at_ends(binned: Binned, prior: float) -> float:
    return float(np.abs(np.cumsum(prior * binned.positive - binned.score)).max())


def _largest(scores: PUScores, prior: float) -> float:
    # Both laws rise to at most one; what rounding alone can make of zero is zero.
    height = _height(scores, prior)
    return height if height > 2.0 * scores.rounding else 0.0


def _height(scores: PUScores, prior: float) -> float:
    if scores.n_unlabeled + scores.n_positive <= FEW_ROWS:
        s, a, w = _rows(scores)
        jumps = a * (prior / (a.sum() or 1.0)) - w * s / w.sum()
        return _highest(s, jumps, np.zeros(s.size, dtype=np.int64), np.zeros(1))
    sums = scores.sums_by_bucket()
    up, down = prior / (sums[:, 0].sum() or 1.0), 1.0 / sums[:, 1].sum()
    positive, score = np.cumsum(sums[:, 0]) * up, np.cumsum(sums[:, 2]) * down
    before_positive, before_score = (np.concatenate([[0.0], x[:-1]]) for x in (positive, score))
    at_ends = float(np.abs(positive - score).max())
    # Inside a bucket all positives may come first, or all marginal rows.
    inside = np.maximum(positive - before_score, score - before_positive) > at_ends
    s, a, w = _rows(scores, inside)
    start = before_positive - before_score
    return max(at_ends, _highest(s, a * up - w * s * down, kernels.bucket_of(s), start))


def _rows(scores: PUScores, marked: NDArray[np.bool_] | None = None) -> Columns:
    """Return the rows of marked buckets: scores, and masses in the positive and marginal law."""
    pieces = []
    for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
        keep = slice(None) if marked is None else marked[kernels.bucket_of(s)]
        columns = s, f * a * in_positive, f * w * in_marginal
        # Unweighted rows share one mass.
        kept = [x[keep] if isinstance(x, np.ndarray) else x for x in columns]
        pieces.append(np.stack(np.broadcast_arrays(*kept)))
    s, a, w = np.concatenate(pieces, axis=1)
    return s, a, w


def _highest(
    s: NDArray[np.float64],
    jumps: NDArray[np.float64],
    bucket: NDArray[np.int64],
    start: NDArray[np.float64],
) -> float:
    """Return the largest height at the end of a tie; each bucket starts at a height of its own."""
    if s.size == 0:
        return 0.0
    order = np.argsort(s, kind="stable")
    s, bucket = s[order], bucket[order]
    height = np.cumsum(jumps[order])
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    shift = start[bucket[first]] - np.concatenate([[0.0], height])[first]
    height += np.repeat(shift, np.diff(first, append=s.size))
    last_of_tie = np.diff(s, append=2.0) > 0.0
    return float(np.abs(height[last_of_tie]).max())


register(
    Metric(
        name="ks_error",
        title="Kolmogorov-Smirnov calibration error",
        function=ks_error,
        interval=ks_error_interval,
        citation="Gupta et al. (2021), Calibration of neural networks using splines",
        family="calibration error",
        better="lower",
    )
)
