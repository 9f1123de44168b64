"""Training classifiers from positives and unlabeled rows.

`PUClassifier` uses boosted trees for tables and networks for images. `BoostedPU`, `WeightedPU`,
`BaggingPU` and `LinearPU` are learners for tables and do not need torch. `train` and `Trainer` run
every algorithm in `ALGORITHMS` on networks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from noneg._moved import find_moved
from noneg.extras import optional

if TYPE_CHECKING:
    from noneg.learning import algorithms as algorithms, networks as networks
    from noneg.learning.algorithms import ALGORITHMS as ALGORITHMS
    from noneg.learning.boosting import BoostedPU as BoostedPU
    from noneg.learning.contract import Algorithm as Algorithm, PUData as PUData
    from noneg.learning.estimator import PUClassifier as PUClassifier
    from noneg.learning.propensity import (
        PropensityEstimate as PropensityEstimate,
        estimate_propensity as estimate_propensity,
    )
    from noneg.learning.saving import (
        load_model as load_model,
        save_model as save_model,
        save_onnx as save_onnx,
    )
    from noneg.learning.tabular import (
        BaggingPU as BaggingPU,
        LinearPU as LinearPU,
        WeightedPU as WeightedPU,
    )
    from noneg.learning.training import Fit as Fit, Trainer as Trainer, train as train

# Imported on first use, so that estimators that do not need torch never load it.
_NAMES = {
    "algorithms": ("ALGORITHMS", "algorithms"),
    "boosting": ("BoostedPU",),
    "contract": ("Algorithm", "PUData"),
    "estimator": ("PUClassifier",),
    "networks": ("networks",),
    "propensity": ("PropensityEstimate", "estimate_propensity"),
    "saving": ("load_model", "save_model", "save_onnx"),
    "tabular": ("BaggingPU", "LinearPU", "WeightedPU"),
    "training": ("Fit", "Trainer", "train"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        return find_moved(__name__, name)
    with optional("noneg.learning"):
        module = import_module(f"noneg.learning.{_HOME[name]}")
    return module if name == _HOME[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
