"""Recalibration: repair probabilities from positives and unlabeled data.

calibrator = Platt().fit(scores)          # a PUScores, PU or labelled
better = calibrator.transform(s)          # same shape, in [0, 1]
text = calibrator.to_json()               # and load(text) restores it bit for bit
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noneg.recalibration.base import (
    CalibrationWarning,
    Calibrator,
    check_content,
    read_object,
    refusal,
)
from noneg.recalibration.choose import Auto, HeldOut, held_out, out_of_fold
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

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "held_out",
    "load",
    "make",
    "out_of_fold",
]

# Every method by its name in files and on the command line.
METHODS: dict[str, type[Calibrator]] = {
    method.name: method
    for method in (
        Identity,
        PriorShift,
        Temperature,
        Platt,
        Beta,
        BPM,
        MixNMatch,
        Spline,
        Histogram,
        ScalingBinning,
        Isotonic,
        Auto,
    )
}


def make(name: str, **parameters: Any) -> Calibrator:  # noqa: ANN401
    """Return a calibrator, not fitted yet, by the name of its method.

    Parameters
    ----------
    name : str
        A key of `METHODS`, such as "platt" or "auto".
    **parameters
        Of its constructor.

    Examples
    --------
    >>> make("histogram", bins=10)
    Histogram(bins=10)
    """
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f"'name' must be a method of recalibration ({known}), got {name!r}.")
    return METHODS[name](**parameters)


def load(text: str) -> Calibrator:
    """Restore any calibrator from its JSON text; nothing in the text is executed.

    Parameters
    ----------
    text : str
        What `Calibrator.to_json` returned.

    Raises
    ------
    ValueError
        When the text is foreign, of another version, or was changed since it was written.

    Examples
    --------
    >>> from noneg import PUScores
    >>> platt = Platt().fit(PUScores.from_labels([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9]))
    >>> bool((load(platt.to_json()).transform([0.2, 0.7]) == platt.transform([0.2, 0.7])).all())
    True
    """
    return load_object(read_object(text))


def load_object(content: Mapping[str, Any]) -> Calibrator:
    """Restore any calibrator from the object that `Calibrator.to_dict` gives; see `load`."""
    check_content(content)
    method = METHODS.get(str(content["method"]))
    if method is None:
        known = ", ".join(METHODS)
        raise refusal(f"its method {content['method']!r} is unknown (known are {known})")
    return method.from_dict(content)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import what needs scikit-learn when it is asked for."""
    if name == "Recalibrated":
        from noneg.recalibration.recalibrated import Recalibrated

        return Recalibrated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
