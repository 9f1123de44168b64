r"""Is there a prior at which the scores are calibrated? The test of calibration over many priors.

The test of `noneg.calibration.interval` takes one prior. If only a set of priors is known, the
p-value is the largest over the set: calibration is rejected if it is rejected at every prior that
cannot be excluded. The priors at which it is not rejected need no prior at all; they lie around the
mean score, since the residuals add up to :math:`\pi - E\,s`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.scores import PUScores

    PValue = Callable[[float], float]

# Priors at which the search starts, over all that are possible and near the mean score.
COARSE, FINE = 17, 9
# Steps that halve the place of an end.
HALVINGS = 14
INSIDE = 1e-6


def possible_priors(scores: PUScores) -> tuple[float, float]:
    """Return the ends of the priors that the labeled share allows."""
    return max(scores.least_prior, INSIDE), 1.0 - INSIDE


def announced_prior(scores: PUScores) -> float:
    """Return the prior that the scores announce, their mean, inside of what is possible.

    Examples
    --------
    >>> from noneg import PUScores
    >>> announced_prior(PUScores([0.9], [0.8, 0.2], setting="two-sample"))
    0.5
    """
    sums = scores.sums_below(np.ones(1))[0]
    return float(np.clip(sums[2] / sums[1], *possible_priors(scores)))


def search_grid(scores: PUScores, low: float, high: float) -> list[float]:
    """Return priors from low to high: evenly on the logit scale, and around the mean score."""
    mean = announced_prior(scores)
    first, last = (float(np.log(x) - np.log1p(-x)) for x in (low, high))
    even = 1.0 / (1.0 + np.exp(-np.linspace(first, last, COARSE)))
    reach = min(mean, 1.0 - mean) * np.geomspace(1e-3, 0.5, FINE)
    near = np.concatenate([mean - reach, [mean], mean + reach])
    grid = np.unique(np.concatenate([[low], even[1:-1], near, [high]]))
    return [float(x) for x in grid[(grid >= low) & (grid <= high)]]


def best_in_set(scores: PUScores, p_value: PValue) -> tuple[float, float]:
    """Return the largest p-value over the priors that are not excluded, and its prior."""
    if scores.prior is not None and scores.prior_interval is None:
        return p_value(scores.prior), scores.prior
    low, high = scores.prior_interval or possible_priors(scores)
    grid = search_grid(scores, low, high)
    known = [] if scores.prior is None else [scores.prior]
    found = ((p_value(prior), prior) for prior in [*known, *grid])
    return max(found, key=lambda pair: pair[0])


def accepted_ends(scores: PUScores, p_value: PValue, alpha: float) -> tuple[float, float] | None:
    """Return the smallest and the largest possible prior with a p-value above alpha, if any."""
    grid = search_grid(scores, *possible_priors(scores))
    accepted = [k for k, prior in enumerate(grid) if p_value(prior) > alpha]
    if not accepted:
        return None
    first, last = accepted[0], accepted[-1]

    def end(inside: float, outside: float) -> float:
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2.0
            fits = p_value(middle) > alpha
            inside, outside = (middle, outside) if fits else (inside, middle)
        return inside

    low = grid[0] if first == 0 else end(grid[first], grid[first - 1])
    high = grid[-1] if last == len(grid) - 1 else end(grid[last], grid[last + 1])
    return low, high
