"""Separate random streams for separate purposes."""

from __future__ import annotations

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return a generator for one purpose.

    Without the purpose, data simulated with ``default_rng(0)`` and a test run with ``seed=0`` would
    share their random numbers.

    Examples
    --------
    >>> bool(stream(0, "split").random() != np.random.default_rng(0).random())
    True
    """
    return np.random.default_rng([seed, *purpose.encode()])
