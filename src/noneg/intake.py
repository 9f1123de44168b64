"""Arrays that people pass, checked and turned into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg import checks
from noneg.rows import FlaggedRows, Population, PopulationRows, Rows, SplitRows, WeightedRows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import WeightKind


def sample_rows(
    scores: ArrayLike | Population,
    name: str,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None = None,
) -> Rows:
    """Return one sample: an array, with weights or without, or a population."""
    if isinstance(scores, Population):
        return PopulationRows(scores)
    return _rows(checks.check_scores(scores, name), f"{name}_weight", weight, kind, propensity)


def _rows(
    scores: NDArray[np.float64],
    name: str,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None,
) -> Rows:
    if weight is None and propensity is None:
        return FlaggedRows(scores, None)
    w = None if weight is None else checks.check_weights(weight, kind, scores.size, name)
    count, mass = (w, None) if kind == "frequency" else (None, w)
    positive_mass = mass
    if propensity is not None:
        rate = checks.check_propensity(propensity, scores.size)
        positive_mass = 1.0 / rate if mass is None else mass / rate
    if w is not None and w.size and not w.any():
        msg = f"'{name}' must not be zero in every row."
        raise ValueError(msg)
    return WeightedRows(scores, count, positive_mass, mass)


def flagged_rows(
    flags: NDArray[np.bool_],
    scores: NDArray[np.float64],
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None,
) -> Rows:
    """Return the rows of one table, flags marking the labelled positives."""
    if weight is None and propensity is None:
        return FlaggedRows(scores, flags)
    w = (
        np.ones(scores.size)
        if weight is None
        else checks.check_weights(weight, kind, scores.size, "sample_weight")
    )
    e = None if propensity is None else np.asarray(propensity)
    if e is not None:
        checks.check_same_length(y_score=scores.size, propensity=e.size)
    return SplitRows(
        _rows(scores[~flags], "sample_weight", w[~flags], kind, None),
        _rows(scores[flags], "sample_weight", w[flags], kind, None if e is None else e[flags]),
    )


def labelled_columns(
    labels: ArrayLike, y_score: ArrayLike, name: str, positive_label: object
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return labels as flags, and scores of the same length."""
    scores = checks.check_scores(y_score, "y_score")
    flags = checks.check_flags(labels, name, positive_label)
    checks.check_same_length(y_score=scores.size, **{name: flags.size})
    return flags, scores
