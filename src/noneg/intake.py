"""Arrays that people pass, checked and turned into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg import checks
from noneg.rows import FlaggedRows, Population, PopulationRows, Rows, SplitRows, WeightedRows

if TYPE_CHECKING:
    import numpy as np
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
    plain = weight is None and propensity is None
    s = checks.check_scores(scores, name, keep=plain)
    if plain:
        return FlaggedRows(s, None)
    return WeightedRows(s, *_masses(s.size, f"{name}_weight", weight, kind, propensity))


def _masses(
    n: int,
    name: str,
    weight: ArrayLike | None,
    kind: WeightKind,
    propensity: ArrayLike | None,
    flags: NDArray[np.bool_] | None = None,
) -> list[NDArray[np.float64] | None]:
    """Return counts, masses in the positive law and masses in the marginal law; None for ones."""
    w = None if weight is None else checks.check_weights(weight, kind, n, name)
    if w is not None and w.size and not w.any():
        raise ValueError(f"'{name}' must not be zero in every row.")
    count, mass = (w, None) if kind == "frequency" else (None, w)
    if propensity is None:
        return [count, mass, mass]
    rate = checks.check_propensity(propensity, n, flags)
    return [count, (1.0 if mass is None else mass) / rate, mass]


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
    masses = _masses(scores.size, "sample_weight", weight, kind, propensity, flags)
    return SplitRows(*(_part(scores, masses, group) for group in (~flags, flags)))


def _part(
    scores: NDArray[np.float64],
    masses: list[NDArray[np.float64] | None],
    group: NDArray[np.bool_],
) -> WeightedRows:
    return WeightedRows(scores[group], *(None if x is None else x[group] for x in masses))


def labelled_columns(
    labels: ArrayLike, y_score: ArrayLike, name: str, positive_label: object, *, keep: bool = False
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return labels as flags, and scores of the same length, safe from others if they are kept."""
    scores = checks.check_scores(y_score, "y_score", keep=keep)
    flags = checks.check_flags(labels, name, positive_label)
    checks.check_same_length(y_score=scores.size, **{name: flags.size})
    return flags, scores
