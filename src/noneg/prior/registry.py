"""The estimators by name, and `estimate_prior`: any of them on scores or on features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.prior.alphamax import AlphaMax, AlphaMaxNoise
from noneg.prior.best_bin import BestBin
from noneg.prior.contract import ScoreEstimator
from noneg.prior.dedpul import Dedpul
from noneg.prior.elkan_noto import ElkanNotoMax, ElkanNotoMean, ElkanNotoRatio
from noneg.prior.quick import Quick

if TYPE_CHECKING:
    from noneg.prior.laws import ScoreLaws
    from noneg.prior.result import PriorEstimate
    from noneg.scores import PUScores

# The estimator with the smallest error over many worlds: experiments/prior.
DEFAULT = "dedpul"

ESTIMATORS: dict[str, type[ScoreEstimator]] = {
    kind.name: kind
    for kind in (
        Dedpul,
        BestBin,
        Quick,
        AlphaMax,
        AlphaMaxNoise,
        ElkanNotoMean,
        ElkanNotoRatio,
        ElkanNotoMax,
    )
}


def find_estimator(method: str | ScoreEstimator) -> ScoreEstimator:
    """Return an estimator given by name, or itself.

    Examples
    --------
    >>> find_estimator("bbe").title
    'Best bin (BBE)'
    """
    if isinstance(method, ScoreEstimator):
        return method
    if method not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise ValueError(f"'method' must be an estimator of the prior ({known}), got {method!r}.")
    return ESTIMATORS[method]()


def estimate_prior(
    scores: PUScores | ScoreLaws,
    *,
    method: str | ScoreEstimator = DEFAULT,
    level: float = 0.95,
) -> PriorEstimate:
    """Estimate the class prior."""
    return find_estimator(method).fit(scores, level=level)
