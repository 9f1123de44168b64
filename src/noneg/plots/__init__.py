"""Results drawn with matplotlib, in the manner of scikit-learn's displays.

A display is built from results, or by its `from_scores` from a `PUScores`; `plot` only draws.
Global settings of matplotlib are read, never written.
"""

from noneg._moved import find_moved
from noneg.plots.precision_recall import PUPrecisionRecallDisplay
from noneg.plots.prior import PriorSensitivityDisplay
from noneg.plots.reliability import ReliabilityDisplay
from noneg.plots.roc import PURocDisplay
from noneg.plots.scores import ScoreDistributionDisplay

__all__ = [
    "PUPrecisionRecallDisplay",
    "PURocDisplay",
    "PriorSensitivityDisplay",
    "ReliabilityDisplay",
    "ScoreDistributionDisplay",
]


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
