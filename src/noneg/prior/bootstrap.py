"""A stratified bootstrap that works on masses of points, so that it costs seconds at any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.prior.laws import ScoreLaws


def bootstrap_interval(
    estimate: Callable[[ScoreLaws], float],
    laws: ScoreLaws,
    value: float,
    *,
    level: float,
    resamples: int,
    seed: int,
) -> tuple[float, float]:
    """Return ``value -+ t r`` with r the root mean square distance of resampled estimates from it.

    t is Student's quantile with as many degrees of freedom as there are draws. The distance is from
    the estimate, not from the mean of the resampled ones: where resampling shows a bias, it widens
    the interval. Ends are clipped to [0, 1].

    Examples
    --------
    >>> from noneg.prior.best_bin import BestBin
    >>> from noneg.prior.laws import ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.8] * 50 + [0.9] * 50, setting="two-sample")
    >>> ends = bootstrap_interval(
    ...     lambda x: BestBin().find(x).share, laws, 0.5, level=0.95, resamples=200, seed=0
    ... )
    >>> [round(float(end), 1) for end in ends]
    [0.4, 0.6]
    """
    random = stream(seed, "prior bootstrap")
    draws = np.array([estimate(laws.resampled(random)) for _ in range(resamples)])
    return interval_of_draws(draws, value, level, laws.n_unlabeled)


def interval_of_draws(
    draws: NDArray[np.float64], value: float, level: float, n_unlabeled: float
) -> tuple[float, float]:
    """Return the interval of `bootstrap_interval` from the resampled estimates.

    It is no narrower than the one of a share counted in the unlabeled rows, which no estimate can
    know better; a share of 0 or 1 is as sure as half a row.
    """
    if draws.size < 2:
        raise ValueError(f"'resamples' must be at least 2 for an interval, got {draws.size}.")
    half = 0.5 / n_unlabeled
    share = min(max(value, half), 1.0 - half)
    counted = share * (1.0 - share) / n_unlabeled
    square = max(float(np.mean((draws - value) ** 2)), counted)
    reach = stdtrit(draws.size, 0.5 + level / 2.0) * np.sqrt(square)
    return max(0.0, float(value - reach)), min(1.0, float(value + reach))
