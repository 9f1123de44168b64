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

# Shares of `scale`.
SMALL = 0.1  # an error that hardly matters
LARGE = 0.25  # an error that changes decisions
WIDE = 0.5  # an upper end that leaves everything open
COMMON = 0.2  # share of the rarer class from which errors are judged as they are
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
    diagram, prior = evaluation.sums.diagram, evaluation.prior
    scaled = {
        "frequency": prior.value,
        "low": prior.low,
        "high": prior.high,
        "low_all": prior.low,
        "high_all": prior.high,
    }
    columns = {name: getattr(diagram, name) for name in ("left", "right", "score", "marginal")}
    columns |= {name: (by or 1.0) * getattr(diagram, name) for name, by in scaled.items()}
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


def scale(prior: float) -> float:
    """Return what errors are compared with: the share of the rarer class, at most `COMMON`."""
    return min(COMMON, prior, 1.0 - prior)


def decimals(prior: float) -> int:
    """Return the decimals that errors need at this prior: 3, more where positives are rare.

    Examples
    --------
    >>> decimals(0.3), decimals(0.005)
    (3, 5)
    """
    return 2 - math.floor(math.log10(scale(prior) or COMMON))


def verdict_title(  # noqa: PLR0911 - one sentence each
    error: Estimate,
    diagram: Sequence[Point],
    *,
    prior: float,
    contradicted: bool,
    rejected: bool | None = None,
    at_prior: Estimate | None = None,
) -> str:
    """Say in a line whether the scores can be read as probabilities.

    Parameters
    ----------
    error : Estimate
        The calibration error.
    diagram : sequence of Point
    prior : float
        An error matters in proportion to the rarer class.
    contradicted : bool
        Whether the prior contradicts the scores.
    rejected : bool, optional
        Whether the test rejects calibration; None where it was not made.
    at_prior : Estimate, optional
        The error with the interval that the rows alone give; by default `error`.
    """
    if contradicted:
        return "The prior and the scores contradict each other: settle that first."
    off, unit = any(point.side for point in diagram), scale(prior)
    if error.high <= SMALL * unit:
        sure = rejected is False and not off
        return f"These scores {'can be read as' if sure else 'are nearly'} probabilities."
    if error.low <= 0.0:
        cause = _cause(error, at_prior or error)
        doubt = f", but {cause} to rule it out" * int(error.high > WIDE * unit)
        if off or rejected:
            return f"Some scores are off, but {cause} to say how much in all."
        return f"No miscalibration shows{doubt}."
    if error.value < SMALL * unit:
        return "These scores are nearly probabilities."
    if error.value < LARGE * unit:
        return "These scores are somewhat off: adjust them before you use them as probabilities."
    return "Do not read these scores as probabilities."


def _cause(error: Estimate, at_prior: Estimate) -> str:
    """Say what makes the interval wide: few rows, or a prior that is not known well."""
    rows = at_prior.high - at_prior.low
    if rows < error.high - error.low - rows:
        return "the prior is not known well enough"
    return "these rows are too few"


def verdict_error(error: Estimate, prior: float) -> str:
    """Say how large the calibration error is."""
    value, low, high = (f"{x:.{decimals(prior)}f}" for x in (error.value, error.low, error.high))
    level = f"{100 * error.level:.6g}"
    return f"Calibration error {value}, between {low} and {high} with {level} % confidence."


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
