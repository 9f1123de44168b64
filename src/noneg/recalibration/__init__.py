"""Recalibration: correct probabilities with positive and unlabeled data.

calibrator = Platt().fit(scores)          # a PUScores, PU or labeled
better = calibrator.transform(s)          # same shape, in [0, 1]
text = calibrator.to_json()               # and load(text) restores it bit for bit
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noneg.recalibration.base import (
    CalibrationWarning as CalibrationWarning,
    Calibrator as Calibrator,
    mapped_range as mapped_range,
    probability_range as probability_range,
)
from noneg.recalibration.choose import (
    METHODS as METHODS,
    Auto as Auto,
    HeldOut as HeldOut,
    held_out as held_out,
    load as load,
    make as make,
    out_of_fold as out_of_fold,
)
from noneg.recalibration.grouped import (
    ByGroup as ByGroup,
    HeldOutByGroup as HeldOutByGroup,
    held_out_by_group as held_out_by_group,
)
from noneg.recalibration.logistic import (
    BPM as BPM,
    Beta as Beta,
    Platt as Platt,
    Temperature as Temperature,
)
from noneg.recalibration.maps import (
    Histogram as Histogram,
    Identity as Identity,
    Isotonic as Isotonic,
    MixNMatch as MixNMatch,
    PriorShift as PriorShift,
    ScalingBinning as ScalingBinning,
    Spline as Spline,
    VennAbers as VennAbers,
)
from noneg.recalibration.multiclass import (
    OneVsRest as OneVsRest,
    TemperatureScaling as TemperatureScaling,
    VectorScaling as VectorScaling,
)

if TYPE_CHECKING:
    from noneg.recalibration.multi import (
        FoundGroups as FoundGroups,
        Multi as Multi,
        find_groups as find_groups,
    )
    from noneg.recalibration.recalibrated import Recalibrated as Recalibrated

# Names that need scikit-learn, and the modules that define them.
_LATER = {
    "FoundGroups": "multi",
    "Multi": "multi",
    "Recalibrated": "recalibrated",
    "find_groups": "multi",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import names that need scikit-learn on first use."""
    if name in _LATER:
        return getattr(import_module(f"noneg.recalibration.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
