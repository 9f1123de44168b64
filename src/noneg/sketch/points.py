"""A sketch's table -> `PUScores`: one weighted point a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg import checks
from noneg.rows import SplitRows, WeightedRows
from noneg.scores import PUScores
from noneg.sketch.table import SUMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.checks import Setting, WeightKind

    Floats = NDArray[np.float64]


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
    unlabeled, positive = table[:, :k], table[:, k : 2 * k]
    place = _places(table, k, setting)
    rows = SplitRows(_group(unlabeled, place, kind), _group(positive, place, kind))
    given = None if prior is None else checks.check_prior(prior)
    return PUScores._build(rows, given, setting, prior_interval)  # noqa: SLF001 - rows are ready


def check_prior(
    setting: Setting, prior: float | None, interval: tuple[float, float] | None
) -> None:
    """Refuse a prior that labels determine, and ask for one that they do not."""
    if setting != "labelled":
        if prior is None:
            msg = (
                f"'prior' must be given with setting='{setting}': the share of positives in the "
                "population, a number in (0, 1), which these rows alone do not tell. Use what is "
                "known from elsewhere, such as a reviewed sample."
            )
            raise ValueError(msg)
        checks.check_prior(prior)
        if interval is not None:
            checks.check_prior_interval(interval, prior)
        return
    for name, value in (("prior", prior), ("prior_interval", interval)):
        if value is not None:
            msg = (
                f"'{name}' must not be given with setting='labelled', got {value!r}: labels of "
                "every row determine it. Leave it out, or choose another setting."
            )
            raise ValueError(msg)


def _places(table: Floats, k: int, setting: Setting) -> Floats:
    """Return one score a bucket: the mean of the marginal law there, which keeps its sums exact.

    Both groups share it. Two means would break ties between rows of one bucket all in the same
    direction, which areas and suprema feel at first order in the width; one mean leaves the
    positive law's sums wrong at second order only.
    """
    unlabeled, positive = table[:, :k], table[:, k : 2 * k]
    marginal = unlabeled + positive
    if setting == "two-sample":
        marginal = np.where(unlabeled[:, :1] > 0.0, unlabeled, positive)
    # The mass of a group is its number of rows, or the sum of its importance weights.
    mass, total = marginal[:, 0 if k == len(SUMS["frequency"]) else 1], marginal[:, -1]
    low, high = np.where(table[:, -1] >= 0.0, table[:, -2:].T, 0.0)
    mean = np.divide(total, mass, out=low.copy(), where=mass > 0.0)
    # Scores of exactly 0 share the first bucket with those below 2^-64, and decide its place.
    mean[0] = low[0]
    # Rounding must not move a bucket off the only score in it.
    return np.clip(mean, low, high)


def _group(sums: Floats, place: Floats, kind: WeightKind) -> WeightedRows:
    """Return one group as points whose nine sums are those of its rows.

    With importance weights a point stands for ``(sum w)^2 / sum w^2`` rows of equal mass, which has
    the right first and second moments; the number of rows is kept beside it.
    """
    there = sums[:, 0 if kind == "frequency" else 1] > 0.0
    s, n = place[there], sums[there, 0]
    if kind == "frequency":
        return WeightedRows(s, n, None, None)
    mass = sums[there, 2] / sums[there, 1]
    rows = WeightedRows(s, sums[there, 1] / mass, mass, mass)
    rows.counts = (float(sums[:, 0].sum()), 0.0)
    return rows
