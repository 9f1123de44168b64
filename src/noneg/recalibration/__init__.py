"""Recalibration: repair probabilities from positives and unlabeled data.

calibrator = Platt().fit(scores)          # a PUScores, PU or labelled
better = calibrator.transform(s)          # same shape, in [0, 1]
text = calibrator.to_json()               # and load(text) restores it bit for bit
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noneg.recalibration.contract import (
    CalibrationWarning,
    Calibrator,
    check_content,
    read_object,
    refusal,
)
from noneg.recalibration.isotonic import Isotonic
from noneg.recalibration.platt import Platt

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METHODS", "CalibrationWarning", "Calibrator", "Isotonic", "Platt", "load"]

# Every method by its name in files and on the command line.
METHODS: dict[str, type[Calibrator]] = {method.name: method for method in (Platt, Isotonic)}


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
    method = METHODS.get(content["method"])
    if method is None:
        known = ", ".join(METHODS)
        raise refusal(f"its method {content['method']!r} is unknown (known are {known})")
    return method.from_dict(content)
