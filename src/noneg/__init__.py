"""noneg: how good and how calibrated is a classifier, from positives and unlabeled data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg import (
        audit,
        calibration,
        learning,
        performance,
        plots,
        prior,
        recalibration,
        simulation,
        sklearn,
        theory,
        torch,
    )
    from noneg.calibration.errors import ece
    from noneg.comparison import compare
    from noneg.evaluation import evaluate
    from noneg.metrics import estimate
    from noneg.results import Estimate
    from noneg.scores import PUScores
    from noneg.sketch import Sketch
    from noneg.tables import read, read_sketch

__all__ = [
    "Estimate",
    "PUScores",
    "Sketch",
    "__version__",
    "audit",
    "calibration",
    "compare",
    "ece",
    "estimate",
    "evaluate",
    "learning",
    "performance",
    "plots",
    "prior",
    "read",
    "read_sketch",
    "recalibration",
    "simulation",
    "sklearn",
    "theory",
    "torch",
]

# Names are fetched when they are first used: `import noneg` and `noneg --help` stay light.
_HOME = {
    "Estimate": "noneg.results",
    "PUScores": "noneg.scores",
    "Sketch": "noneg.sketch",
    "compare": "noneg.comparison",
    "ece": "noneg.calibration.errors",
    "estimate": "noneg.metrics",
    "evaluate": "noneg.evaluation",
    "read": "noneg.tables",
    "read_sketch": "noneg.tables",
}
_MODULES = {
    "audit": "noneg.audit",
    "calibration": "noneg.calibration",
    "learning": "noneg.learning",
    "performance": "noneg.performance",
    "plots": "noneg.plots",
    "prior": "noneg.prior",
    "recalibration": "noneg.recalibration",
    "simulation": "noneg.simulation",
    "sklearn": "noneg.sklearn",
    "theory": "noneg.theory",
    "torch": "noneg.torch",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("noneg")
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    msg = f"module 'noneg' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
