"""What recalibration would change: errors and diagrams before and after, on rows not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.calibration.reliability import Reliability


@dataclass(frozen=True, kw_only=True, eq=False)
class Repair:
    """Recalibration, measured by cross-fitting.

    Attributes
    ----------
    method : str
        Name of the method that was chosen.
    folds : int
        Each fold was mapped by a calibrator fitted on the others.
    errors : dict of str to (float, float)
        Metrics by name, before and after.
    before, after : Reliability
    calibrator : str
        The calibrator fitted on all rows, as JSON.
    """

    method: str
    folds: int
    errors: dict[str, tuple[float, float]]
    before: Reliability
    after: Reliability
    calibrator: str

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return {
            "method": self.method,
            "folds": self.folds,
            "errors": {name: list(pair) for name, pair in self.errors.items()},
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "calibrator": self.calibrator,
        }
