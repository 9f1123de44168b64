"""Sentences that follow the prior; `assets/words.js` says the same in the browser.

Numbers are written with a fixed number of decimals, so that both write the same text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.evaluation import Evaluation
    from noneg.results import Estimate

SMALL = 0.02  # an error that hardly matters
LARGE = 0.05  # an error that changes decisions
WIDE = 0.1  # an upper end that leaves everything open
SECOND = 0.25  # share of the largest deviation from which another one is worth a sentence


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the reliability diagram, with its own and with the simultaneous interval."""

    left: float
    right: float
    score: float
    frequency: float
    low: float
    high: float
    low_all: float
    high_all: float
    marginal: float

    @property
    def side(self) -> int:
        """1 where more are positive than the score says, -1 where fewer are, beyond chance."""
        return (self.low_all > self.score) - (self.high_all < self.score)

    @property
    def gap(self) -> float:
        """Distance from the diagonal."""
        return abs(self.frequency - self.score)

    @property
    def weight(self) -> float:
        """Share of the rows times the distance from the diagonal."""
        return self.marginal * self.gap


def points(evaluation: Evaluation) -> list[Point]:
    """Return the diagram that is shown first, at the prior of the evaluation."""
    diagram, prior = evaluation.sums.diagram, evaluation.prior.value or 1.0
    fixed = ("left", "right", "score", "marginal")
    scaled = ("frequency", "low", "high", "low_all", "high_all")
    columns = {name: getattr(diagram, name) for name in fixed}
    columns |= {name: prior * getattr(diagram, name) for name in scaled}
    return [
        Point(**{name: float(column[b]) for name, column in columns.items()})
        for b in range(diagram.score.size)
    ]


def short(x: float) -> str:
    """Write a share with two decimals, or two digits if it is small.

    Examples
    --------
    >>> short(0.8512), short(0.00123)
    ('0.85', '0.0012')
    """
    places = 2 if x >= 0.1 or x <= 0.0 else 1 - math.floor(math.log10(x))  # noqa: PLR2004
    return f"{x:.{places}f}"


def verdict_title(error: Estimate, diagram: Sequence[Point], *, contradicted: bool) -> str:
    """Say in a line whether the scores can be read as probabilities."""
    if contradicted:
        return "The prior and the scores contradict each other: settle that first."
    if error.high <= SMALL:
        return "These scores can be read as probabilities."
    if error.low <= 0.0:
        return _uncertain(error, diagram)
    if error.value < SMALL:
        return "These scores are nearly probabilities."
    if error.value < LARGE:
        return "These scores are somewhat off: adjust them before you use them as probabilities."
    return "Do not read these scores as probabilities."


def _uncertain(error: Estimate, diagram: Sequence[Point]) -> str:
    if any(point.side for point in diagram):
        return "Some scores are off, but these rows cannot say how much in all."
    doubt = ", but these rows are too few to rule it out." if error.high > WIDE else "."
    return f"No miscalibration shows{doubt}"


def verdict_error(error: Estimate) -> str:
    """Say how large the calibration error is."""
    level = f"{100 * error.level:.6g}"
    return (
        f"Calibration error {error.value:.3f}, between {error.low:.3f} and {error.high:.3f} "
        f"with {level} % confidence."
    )


def verdict_where(diagram: Sequence[Point]) -> str:
    """Say which scores are over- or under-confident beyond chance, and give an example.

    Neighbouring points on the same side of the diagonal are named together if one of them deviates
    beyond what chance does to all points at once.
    """
    runs = _runs(diagram)
    if not runs:
        return "In no range of scores is the deviation beyond sampling error."
    runs.sort(key=_weight, reverse=True)
    first, *others = runs
    worst = max((point for point in first if point.side), key=lambda point: point.gap)
    means = f"a score of {short(worst.score)} means about {_clipped(worst.frequency)}"
    ends = f"[{_clipped(worst.low)}, {_clipped(worst.high)}]"
    text = f"{_range(first, diagram)} are {_direction(first)}-confident: {means} {ends}."
    if others and _weight(others[0]) >= SECOND * _weight(first):
        text += f" {_range(others[0], diagram)} are {_direction(others[0])}-confident."
    return text


def _clipped(x: float) -> str:
    return short(min(x, 1.0))


def _runs(diagram: Sequence[Point]) -> list[list[Point]]:
    """Return neighbours that lie on the same side of the diagonal, one of them beyond chance."""
    runs: list[list[Point]] = []
    previous = 0
    for point in diagram:
        side = 1 if point.frequency > point.score else -1
        if side == previous:
            runs[-1].append(point)
        else:
            runs.append([point])
        previous = side
    return [_trimmed(run) for run in runs if any(point.side for point in run)]


def _trimmed(run: list[Point]) -> list[Point]:
    """Leave out points at both ends that chance explains."""
    sure = [i for i, point in enumerate(run) if point.side]
    return run[sure[0] : sure[-1] + 1]


def _weight(run: list[Point]) -> float:
    return sum(point.weight for point in run)


def _direction(run: list[Point]) -> str:
    return "under" if run[0].frequency > run[0].score else "over"


def _range(run: list[Point], diagram: Sequence[Point]) -> str:
    from_start, to_end = run[0] is diagram[0], run[-1] is diagram[-1]
    if from_start and to_end:
        return "Scores in the whole range"
    if to_end:
        return f"Scores above {short(run[0].left)}"
    if from_start:
        return f"Scores up to {short(run[-1].right)}"
    return f"Scores between {short(run[0].left)} and {short(run[-1].right)}"


def floor_sentence(n_positive: float, floor: float) -> str:
    """Say which error the noise of the positives alone produces."""
    return (
        f"{n_positive:,.0f} labelled positives alone produce an error of about {floor:.3f} by "
        "noise, however many unlabeled rows there are."
    )


def bound_sentence(expected: float, probable: float, level: float, bins: int) -> str:
    """Say what theory promises."""
    words = f"Over {bins} bins theory promises an error"
    if expected > 1.0:
        return f"{words} bound above 1, which says nothing: there are too few rows for it."
    return (
        f"{words} within {expected:.3f} of the true one on average, and within {probable:.3f} with "
        f"probability {100 * level:.6g} %, whatever the classifier (calibration curves of slope up "
        "to 1)."
    )


def plan_sentence(needed: float | None, n_positive: float, eps: float) -> str:
    """Say how many more positives make the interval narrow."""
    if needed is None:
        return (
            f"No number of positives brings the upper half of the interval to {eps:g}: more "
            "unlabeled rows are needed first."
        )
    if needed <= n_positive:
        return f"The upper half of the interval is no wider than {eps:g} already."
    more = needed - n_positive
    return (
        f"For an interval that ends at most {eps:g} above the error, about {more:,.0f} more "
        f"labelled positives are needed ({needed:,.0f} in all)."
    )
