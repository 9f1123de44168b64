"""Plots of results with matplotlib, in the style of scikit-learn's displays.

A display is built from results, or from a `PUScores` with `from_scores`; `plot` only draws. The
global settings of matplotlib are never modified.
"""

from noneg._moved import find_moved
from noneg.plots.displays import (
    PriorSensitivityDisplay as PriorSensitivityDisplay,
    PromisedPrecisionDisplay as PromisedPrecisionDisplay,
    PUPrecisionRecallDisplay as PUPrecisionRecallDisplay,
    PURocDisplay as PURocDisplay,
    ScoreDistributionDisplay as ScoreDistributionDisplay,
)
from noneg.plots.reliability import ReliabilityDisplay as ReliabilityDisplay


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
