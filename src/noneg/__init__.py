"""noneg: evaluate and calibrate classifiers from positive and unlabeled data."""

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

# Names are loaded on first use, so that `import noneg` and `noneg --help` stay fast.
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


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("noneg")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"noneg.{name}")
    msg = f"module 'noneg' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
