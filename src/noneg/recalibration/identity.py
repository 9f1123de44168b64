"""No recalibration at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.recalibration.contract import Calibrator, Floats, State, check_fields

if TYPE_CHECKING:
    from noneg.scores import PUScores


class Identity(Calibrator):
    """Leave the scores as they are: the candidate that can do no harm.

    Examples
    --------
    >>> from noneg import PUScores
    >>> Identity().fit(PUScores.from_labels([0, 1], [0.3, 0.6])).transform([0.25, 0.75])
    array([0.25, 0.75])
    """

    name = "identity"
    monotone = True

    def _fit(self, scores: PUScores) -> State:  # noqa: ARG002
        return {}

    def _map(self, s: Floats) -> Floats:
        return s

    def _check(self, state: State) -> None:
        check_fields(state)
