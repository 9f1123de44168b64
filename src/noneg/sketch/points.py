"""A sketch's table -> `PUScores`: a few weighted points a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg import checks
from noneg.laws import SplitRows, WeightedRows
from noneg.scores import PUScores
from noneg.sketch.cells import Cells
from noneg.sketch.table import SUMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.checks import Setting, WeightKind

    Floats = NDArray[np.float64]

# What lies closer to 0 shares a bucket with it.
SMALLEST = 2.0**-64


def pu_scores(
    table: Floats,
    kind: WeightKind,
    setting: Setting,
    prior: float | None,
    prior_interval: tuple[float, float] | None,
) -> PUScores:
    """Return the rows of a table as points with weights."""
    check_prior(setting, prior, prior_interval)
    k = len(SUMS[kind])
    table = table[table[:, -1] >= 0.0]
    groups = table[:, :k], table[:, k : 2 * k]
    cells = _cells(table, k)
    counts = [cells.counts(group[:, 0], _mean(group, cells.low)) for group in groups]
    place = _places(table, cells, counts, setting)
    pairs = zip(groups, counts, strict=True)
    rows = SplitRows(*(_group(sums, cells, n, place) for sums, n in pairs))
    given = None if prior is None else checks.check_prior(prior)
    return PUScores._build(rows, given, setting, prior_interval)  # noqa: SLF001 - rows are ready


def check_prior(
    setting: Setting, prior: float | None, interval: tuple[float, float] | None
) -> None:
    """Refuse a prior that labels determine, and ask for one that they do not."""
    if setting != "labelled":
        if prior is None:
            raise checks.missing_prior(setting)
        checks.check_prior(prior)
        if interval is not None:
            checks.check_prior_interval(interval, prior)
        return
    for name, value in (("prior", prior), ("prior_interval", interval)):
        if value is not None:
            raise checks.determined(name, value)


def _cells(table: Floats, k: int) -> Cells:
    """Cut the buckets that hold much of either group."""
    groups = [_mass(table[:, part : part + k]) for part in (0, k)]
    shares = np.max([mass / (mass.sum() or 1.0) for mass in groups], axis=0)
    # Scores of exactly 0 share the first bucket with those below 2^-64, and decide its place.
    low, high = table[:, -2], np.where(table[:, -2] < SMALLEST, table[:, -2], table[:, -1])
    return Cells.cut(low, high, shares)


def _places(table: Floats, cells: Cells, counts: list[Floats], setting: Setting) -> Floats:
    """Return one score a cell; those of a bucket keep the sum of the marginal law's scores there.

    Both groups share it. Two means would break ties between rows of one cell all in the same
    direction, which areas and suprema feel at first order in the width; one mean leaves the
    positive law's sums wrong at second order only.
    """
    k = (table.shape[1] - 2) // 2
    unlabeled, positive = table[:, :k], table[:, k : 2 * k]
    if setting == "two-sample":
        alone = unlabeled[:, 0] == 0.0
        marginal = np.where(alone[:, None], positive, unlabeled)
        counted = np.where(alone[cells.bucket], counts[1], counts[0])
    else:
        marginal, counted = unlabeled + positive, counts[0] + counts[1]
    return cells.places(counted, _mean(marginal, cells.low))


def _mass(sums: Floats) -> Floats:
    """Return the rows of a group in each bucket, or the sum of their importance weights."""
    return sums[:, 0 if sums.shape[1] == len(SUMS["frequency"]) else 1]


def _mean(sums: Floats, otherwise: Floats) -> Floats:
    mass = _mass(sums)
    return np.divide(sums[:, -1], mass, out=otherwise.copy(), where=mass > 0.0)


def _group(sums: Floats, cells: Cells, counts: Floats, place: Floats) -> WeightedRows:
    """Return one group as points whose nine sums are those of its rows.

    With importance weights a point stands for ``(sum w)^2 / sum w^2`` rows of equal mass, which has
    the right first and second moments; the number of rows is kept beside it.
    """
    there = np.flatnonzero(counts)
    s, n, bucket = place[there], counts[there], cells.bucket[there]
    if sums.shape[1] == len(SUMS["frequency"]):
        return WeightedRows(s, n, None, None)
    total, weight, square, _ = sums[bucket].T
    mass = np.divide(square, weight, out=np.ones_like(weight), where=weight > 0.0)
    rows = WeightedRows(s, weight / mass * (n / total), mass, mass)
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows
