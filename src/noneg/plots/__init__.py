"""Results drawn with matplotlib, in the manner of scikit-learn's displays.

A display is built from results, or by its `from_scores` from a `PUScores`; `plot` only draws.
Global settings of matplotlib are read, never written.
"""

from noneg._moved import find_moved
from noneg.plots.displays import (
    PriorSensitivityDisplay,
    PUPrecisionRecallDisplay,
    PURocDisplay,
    ScoreDistributionDisplay,
)
from noneg.plots.promises import PromisedPrecisionDisplay
from noneg.plots.reliability import ReliabilityDisplay

__all__ = [
    "PUPrecisionRecallDisplay",
    "PURocDisplay",
    "PriorSensitivityDisplay",
    "PromisedPrecisionDisplay",
    "ReliabilityDisplay",
    "ScoreDistributionDisplay",
]


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
