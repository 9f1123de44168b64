"""Training classifiers from positives and unlabeled rows.

`PUClassifier` is the scikit-learn estimator over every algorithm in `ALGORITHMS`; `train` and
`Trainer` are what it stands on. `WeightedPU`, `BaggingPU` and `LinearPU` need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from noneg._moved import find_moved
from noneg.extras import optional

if TYPE_CHECKING:
    from noneg.learning import algorithms, networks
    from noneg.learning.algorithms import ALGORITHMS
    from noneg.learning.bagging import BaggingPU
    from noneg.learning.contract import Algorithm
    from noneg.learning.data import PUData
    from noneg.learning.estimator import PUClassifier
    from noneg.learning.linear import LinearPU
    from noneg.learning.trainer import Fit, Trainer, train
    from noneg.learning.weighted import WeightedPU

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "BaggingPU",
    "Fit",
    "LinearPU",
    "PUClassifier",
    "PUData",
    "Trainer",
    "WeightedPU",
    "algorithms",
    "networks",
    "train",
]

# Fetched when first used: the estimators without torch must not load it.
_HOME = {
    "ALGORITHMS": "algorithms",
    "Algorithm": "contract",
    "BaggingPU": "bagging",
    "Fit": "trainer",
    "LinearPU": "linear",
    "PUClassifier": "estimator",
    "PUData": "data",
    "Trainer": "trainer",
    "WeightedPU": "weighted",
    "train": "trainer",
}


def __getattr__(name: str) -> object:
    if name in ("algorithms", "networks"):
        return _load(name)
    if name in _HOME:
        return getattr(_load(_HOME[name]), name)
    return find_moved(__name__, name)


def _load(module: str) -> object:
    with optional("noneg.learning"):
        return import_module(f"noneg.learning.{module}")


def __dir__() -> list[str]:
    return sorted(__all__)
