"""Results drawn with matplotlib, in the manner of scikit-learn's displays.

A display is built from results, or by its `from_scores` from a `PUScores`; `plot` only draws.
Global settings of matplotlib are read, never written.
"""

from noneg.plots.displays import (
    PriorSensitivityDisplay,
    PUPrecisionRecallDisplay,
    PURocDisplay,
    ScoreDistributionDisplay,
)
from noneg.plots.ranks import CriticalDifferenceDisplay
from noneg.plots.reliability import ReliabilityDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "PUPrecisionRecallDisplay",
    "PURocDisplay",
    "PriorSensitivityDisplay",
    "ReliabilityDisplay",
    "ScoreDistributionDisplay",
]
