"""Means with intervals over pairs that share a method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noneg.randomness import stream

DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A mean, or another statistic, with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int

    def text(self, scale: float = 1.0, digits: int = 2, *, sign: bool = True) -> str:
        plus = "+" if sign else ""
        value, low, high = (
            f"{scale * x:{plus}.{digits}f}" for x in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"

    @property
    def clear(self) -> bool:
        """Whether 0 is outside."""
        return self.low > 0.0 or self.high < 0.0


def interval(groups, values, statistic=np.mean, purpose: str = "benchmark") -> Interval:
    """Percentile bootstrap of whole groups: runs of one method are no independent evidence."""
    rows = np.asarray(values, dtype=float)
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    members = [np.flatnonzero(place == k) for k in range(names.size)]
    random = stream(0, purpose)
    draws = [
        statistic(
            rows[np.concatenate([members[k] for k in random.integers(names.size, size=names.size)])]
        )
        for _ in range(DRAWS)
    ]
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return Interval(float(statistic(rows)), float(low), float(high), len(rows))


def rank_correlation(pairs) -> float:
    """Spearman's correlation of two columns."""
    from scipy.stats import spearmanr

    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def correlation(pairs) -> float:
    """Pearson's correlation of two columns."""
    return float(np.corrcoef(pairs.T)[0, 1])
