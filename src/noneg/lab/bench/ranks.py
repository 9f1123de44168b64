"""Whether methods differ over many worlds: Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from noneg.lab.bench.summaries import Cell


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Mean ranks of methods over worlds, best first.

    Attributes
    ----------
    methods : tuple of str
    mean_ranks : tuple of float
        1 is best; equal values share a rank.
    worlds : int
    p_value : float
        Of Friedman's test that all methods are alike.
    critical_difference : float
        Two mean ranks that differ by more differ significantly (Nemenyi; Demsar 2006).
    level : float
        Confidence level of the critical difference.
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    worlds: int
    p_value: float
    critical_difference: float
    level: float

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Largest groups of methods that do not differ significantly."""
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(self.mean_ranks):
            within = [k for k, r in enumerate(self.mean_ranks) if r - rank >= 0]
            last = max(k for k in within if self.mean_ranks[k] - rank <= self.critical_difference)
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return tuple(self.methods[first : last + 1] for first, last in found)


def rank_methods(
    cells: Iterable[Cell], *, metric: str, criterion: str, level: float = 0.95
) -> Ranks:
    r"""Rank methods in every world, and test whether they differ.

    The critical difference is :math:`q_\alpha \sqrt{k(k+1)/6N}` for k methods and N worlds, with
    the quantile of the studentized range divided by :math:`\sqrt 2`.

    Parameters
    ----------
    cells : iterable of Cell
        Of `summarise`; methods that miss in a world are left out.
    metric, criterion : str
        The metric is better when higher, except calibration errors and losses.
    level : float

    Examples
    --------
    >>> from noneg.lab.bench.summaries import Cell
    >>> rest = {"metric": "accuracy", "criterion": "pa", "std": 0.0, "error": 0.0, "splits": 1}
    >>> cells = [
    ...     Cell(world=(world,), method=method, mean=mean, **rest)
    ...     for world in range(10)
    ...     for method, mean in (("a", 0.9), ("b", 0.8), ("c", 0.7))
    ... ]
    >>> found = rank_methods(cells, metric="accuracy", criterion="pa")
    >>> found.mean_ranks, round(found.critical_difference, 3), found.groups
    ((1.0, 2.0, 3.0), 1.048, (('a', 'b'), ('b', 'c')))
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    chosen = [c for c in cells if (c.metric, c.criterion) == (metric, criterion)]
    worlds = list(dict.fromkeys(c.world for c in chosen))
    means = {(c.world, c.method): c.mean for c in chosen if not math.isnan(c.mean)}
    every = dict.fromkeys(c.method for c in chosen)
    methods = [m for m in every if all((w, m) in means for w in worlds)]
    if len(methods) < 3 or len(worlds) < 2:
        msg = (
            "'cells' must have at least three methods in at least two worlds to be ranked, got "
            f"{len(methods)} methods in {len(worlds)} worlds."
        )
        raise ValueError(msg)
    values = np.array([[means[w, m] for m in methods] for w in worlds])
    lower_is_better = metric.startswith(("ece", "brier", "log_loss", "pu_ece"))
    mean = rankdata(values if lower_is_better else -values, axis=1).mean(axis=0)
    order, k = np.argsort(mean, kind="stable"), len(methods)
    quantile = float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2.0)
    return Ranks(
        methods=tuple(methods[i] for i in order),
        mean_ranks=tuple(float(mean[i]) for i in order),
        worlds=len(worlds),
        p_value=float(friedmanchisquare(*values.T).pvalue),
        critical_difference=quantile * math.sqrt(k * (k + 1) / (6.0 * len(worlds))),
        level=level,
    )
