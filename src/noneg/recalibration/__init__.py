"""Recalibration: repair probabilities from positives and unlabeled data.

calibrator = Platt().fit(scores)          # a PUScores, PU or labelled
better = calibrator.transform(s)          # same shape, in [0, 1]
text = calibrator.to_json()               # and load(text) restores it bit for bit
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noneg.recalibration.base import CalibrationWarning, Calibrator
from noneg.recalibration.choose import METHODS, Auto, HeldOut, held_out, load, make, out_of_fold
from noneg.recalibration.logistic import Beta, Platt, Temperature
from noneg.recalibration.maps import (
    BPM,
    Histogram,
    Identity,
    Isotonic,
    MixNMatch,
    PriorShift,
    ScalingBinning,
    Spline,
)
from noneg.recalibration.multiclass import OneVsRest, TemperatureScaling, VectorScaling
from noneg.recalibration.over_priors import mapped_range
from noneg.recalibration.selection import probability_range
from noneg.recalibration.venn_abers import VennAbers

if TYPE_CHECKING:
    from noneg.recalibration.recalibrated import Recalibrated

__all__ = [
    "BPM",
    "METHODS",
    "Auto",
    "Beta",
    "CalibrationWarning",
    "Calibrator",
    "HeldOut",
    "Histogram",
    "Identity",
    "Isotonic",
    "MixNMatch",
    "OneVsRest",
    "Platt",
    "PriorShift",
    "Recalibrated",
    "ScalingBinning",
    "Spline",
    "Temperature",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "held_out",
    "load",
    "make",
    "mapped_range",
    "out_of_fold",
    "probability_range",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import what needs scikit-learn when it is asked for."""
    if name == "Recalibrated":
        from noneg.recalibration.recalibrated import Recalibrated

        return Recalibrated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
