"""The rows of the benchmark of peers, and what noneg makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import noneg

FIRST = "from the arrays, checks included"


@dataclass(frozen=True)
class Data:
    """Calibrated scores with their labels; half of the positives are labeled in the PU table."""

    scores: np.ndarray
    labels: np.ndarray
    labeled: np.ndarray
    prior: float = 2.0 / 7.0

    @classmethod
    def draw(cls, n, seed):
        rng = np.random.default_rng(seed)
        scores = rng.beta(2.0, 5.0, n)
        labels = (rng.random(n) < scores).astype(np.int64)
        return cls(scores, labels, labels * (rng.random(n) < 0.5))


def labeled_scores(data):
    return noneg.PUScores.from_labels(data.labels, data.scores)


def pu_scores(data):
    return noneg.PUScores.from_pu_labels(
        data.labeled, data.scores, prior=data.prior, setting="one-sample"
    )


def ours(data, *, function, scores=labeled_scores, **options):
    """Return a call from the arrays to a number, or to an estimate with a value."""

    def call():
        found = function(scores(data), **options)
        return getattr(found, "value", found)

    return call
