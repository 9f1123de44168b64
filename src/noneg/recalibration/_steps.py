"""Maps that are constant in bins of equal mass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.bins import Binned, bin_scores
from noneg.recalibration.contract import Calibrator, Floats, State, check_fields

if TYPE_CHECKING:
    from noneg.scores import PUScores


class StepCalibrator(Calibrator):
    """One value a bin; bins hold equal shares of the marginal sample and are right-closed.

    Parameters
    ----------
    bins : int or "optimal"
        Number of bins; "optimal" is that of `noneg.ece`. Coinciding edges make it smaller.
    """

    monotone = False

    def __init__(self, bins: int | Literal["optimal"] = "optimal") -> None:
        self.bins = bins

    def _map(self, s: Floats) -> Floats:
        return self.values_[np.searchsorted(self.inner_edges_, s)]

    def _check(self, state: State) -> None:
        check_fields(state, inner_edges=list, values=list)
        inner, values = np.array(state["inner_edges"]), np.array(state["values"])
        if values.size != inner.size + 1 or (np.diff(inner, prepend=-1.0, append=1.0) <= 0.0).any():
            raise ValueError("'inner_edges' must rise in [0, 1), one fewer than 'values'")
        if values.min() < 0.0 or values.max() > 1.0:
            raise ValueError("'values' must lie in [0, 1]")

    @property
    def inner_edges_(self) -> Floats:
        """Ends of all bins but the last."""
        return np.array(self.state_["inner_edges"], dtype=np.float64)

    @property
    def values_(self) -> Floats:
        """Probability in each bin."""
        return np.array(self.state_["values"])

    @property
    def n_bins_(self) -> int:
        """Bins that hold rows."""
        return len(self.state_["values"])


def full_bins(scores: PUScores, bins: int | Literal["optimal"]) -> Binned:
    """Return bins of equal mass that all hold marginal rows.

    Edges that coincide count once, and positives above the largest marginal score belong to the
    last bin.
    """
    inner = np.unique(bin_scores(scores, bins=bins).edges[1:-1])
    binned = _with_inner(scores, inner[inner < 1.0])
    while binned.n_bins > 1 and not (full := binned.marginal > 0.0).all():
        # An empty bin joins the one above, the last one that below.
        inner = binned.edges[1:-1]
        binned = _with_inner(scores, inner[full[:-1]] if full[-1] else inner[:-1])
    return binned


def _with_inner(scores: PUScores, inner: Floats) -> Binned:
    return bin_scores(scores, edges=np.concatenate([[0.0], inner, [1.0]]))
