"""Which sentences the report says; `assets/words.js` chooses in the same way in the browser.

The words are in ``noneg/sentences.json``, which both fill with the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noneg.page_selection import bands
from noneg.results import fitting
from noneg.sentences import say
from noneg.theory import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.comparison import Comparison
    from noneg.evaluation import Evaluation
    from noneg.results import Estimate

EPS = 0.01  # the precision that the report plans for
TENTHS = tuple(k / 10 for k in range(1, 10))  # thresholds in the tables
# Shares of `scale`.
SMALL = 0.1  # an error that hardly matters
LARGE = 0.25  # an error that changes decisions
WIDE = LARGE  # an upper end beyond which an error that changes decisions would be missed
COMMON = 0.2  # share of the rarer class from which errors are judged as they are
SECOND = 0.25  # share of the largest deviation from which another one is worth a sentence


def sample(evaluation: Evaluation | Comparison) -> str:
    """Say what the rows are."""
    prior = known_prior(evaluation)
    if evaluation.is_labelled:
        rows = _count(evaluation.n_marginal, "labelled row")
        return f"{rows}, {_number(evaluation.n_positive)} positive; {prior}"
    positive = _count(evaluation.n_positive, "labelled positive")
    rows = _count(evaluation.n_unlabeled, "unlabeled row")
    return f"{positive} and {rows}; {evaluation.setting}; {prior}"


def known_prior(evaluation: Evaluation | Comparison) -> str:
    """Say what is known of the prior."""
    found = evaluation.prior
    if evaluation.is_labelled or not found.low < found.high:
        return f"prior {found.value:.6g}"
    kind = getattr(evaluation, "prior_kind", "interval")
    if kind == "interval":
        return f"prior {found.value:.6g} in [{found.low:.6g}, {found.high:.6g}]"
    value, low, high = fitting(found.value, found.low, found.high)
    least = f"at least {low} and " if float(low) > 0.0 else ""
    return f"prior {'unknown, ' * (kind == 'unknown')}{least}at most {high} (estimate {value})"


def _number(n: float) -> str:
    return "infinitely many" if math.isinf(n) else f"{n:,.0f}"


def _count(n: float, what: str) -> str:
    return f"{_number(n)} {what}{'s' * (n != 1)}"


def headline(evaluation: Evaluation) -> Estimate:
    """Return the calibration error of the verdict."""
    return evaluation.headline or evaluation.ece


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
    if evaluation.selection > 1.0 and evaluation.selection_sums is not None:
        priors = prior.value, prior.low, prior.high
        kind = evaluation.sums.first_diagram
        columns |= bands(evaluation.selection_sums, kind, priors, evaluation.selection)
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


def verdict_key(error: Estimate, *, prior: float, contradicted: bool, rejected: bool) -> str:
    """Return which verdict holds; the test decides between fine and off, the error how far.

    Parameters
    ----------
    error : Estimate
        The calibration error.
    prior : float
        An error matters in proportion to the rarer class.
    contradicted : bool
        Whether the prior contradicts the scores.
    rejected : bool
        Whether the test rejects calibration.
    """
    unit = scale(prior)
    if contradicted:
        return "verdict_contradicted"
    if not rejected and error.high <= SMALL * unit:
        return "verdict_probabilities"
    if not rejected:
        return "verdict_unsure" if error.high > WIDE * unit else "verdict_none"
    if error.high <= SMALL * unit or (error.low > 0.0 and error.value < SMALL * unit):
        return "verdict_nearly"
    if error.low <= 0.0:
        return "verdict_off"
    return "verdict_somewhat" if error.value < LARGE * unit else "verdict_no"


def verdict_title(
    error: Estimate,
    *,
    prior: float,
    contradicted: bool,
    rejected: bool,
    at_prior: Estimate | None = None,
) -> str:
    """Say in a line whether the scores can be read as probabilities.

    Parameters
    ----------
    error, prior, contradicted, rejected
        As in `verdict_key`.
    at_prior : Estimate, optional
        The error with the interval that the rows alone give; by default `error`.
    """
    key = verdict_key(error, prior=prior, contradicted=contradicted, rejected=rejected)
    return say(key, cause=_cause(error, at_prior or error))


def _cause(error: Estimate, at_prior: Estimate) -> str:
    """Say what makes the interval wide: few rows, or a prior that is not known well."""
    rows = at_prior.high - at_prior.low
    return say("cause_prior" if rows < error.high - error.low - rows else "cause_rows")


def verdict_consistent(evaluation: Evaluation) -> str:
    """Say at which priors the scores pass for calibrated."""
    if evaluation.consistent is None:
        return say("consistent_none")
    low, high = evaluation.consistent
    _, least, most = fitting(low, low, high)
    return say("consistent", low=least, high=most)


def verdict_estimate(evaluation: Evaluation) -> str:
    """Say what the rows tell of a prior that nobody knows."""
    prior = evaluation.prior
    value, _, high = fitting(prior.value, prior.low, prior.high)
    return say("estimate_bound", value=value, high=high, percent=100 * evaluation.level)


def verdict_error(error: Estimate, prior: float) -> str:
    """Say how large the calibration error is."""
    value, low, high = (f"{x:.{decimals(prior)}f}" for x in (error.value, error.low, error.high))
    return say("error", value=value, low=low, high=high, percent=100 * error.level)


def verdict_selection(stands: float | None, selection: float) -> str:
    """Say up to which selection factor miscalibration is certain, and for which intervals hold."""
    parts = [say("selected_labels", factor=selection)] if selection > 1.0 else []
    if stands is None:
        return " ".join(parts or [say("random_labels")])
    parts.append(say("stands_up_to", factor=stands) if stands > 1.0 else say("stands_not"))
    return " ".join(parts)


def verdict_where(diagram: Sequence[Point], *, rejected: bool = True) -> str:
    """Say which scores are over- or under-confident beyond chance, and give an example.

    Neighbouring points on the same side of the diagonal are named together if one of them deviates
    beyond what chance does to all points at once.
    """
    runs = _runs(diagram)
    if not runs:
        return say("where_nowhere")
    runs.sort(key=_weight, reverse=True)
    first, *others = runs
    worst = max((point for point in first if point.side), key=lambda point: point.gap)
    text = say(
        "where",
        **_named(first, diagram),
        score=short(worst.score),
        frequency=_clipped(worst.frequency),
        low=_clipped(worst.low),
        high=_clipped(worst.high),
    )
    if others and _weight(others[0]) >= SECOND * _weight(first):
        text += f" {say('where_also', **_named(others[0], diagram))}"
    return text if rejected else f"{text} {say('where_weak')}"


def _named(run: list[Point], diagram: Sequence[Point]) -> dict[str, str]:
    return {"range": _range(run, diagram), "direction": _direction(run)}


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
    kinds = {(1, 1): "whole", (0, 1): "above", (1, 0): "up_to", (0, 0): "between"}
    kind = kinds[from_start, to_end]
    return say(f"range_{kind}", left=short(run[0].left), right=short(run[-1].right))


def bound_sentence(expected: float, probable: float, level: float, bins: int) -> str:
    """Say what theory promises."""
    key = "bound_vacuous" if expected > 1.0 else "bound"
    return say(key, bins=bins, expected=expected, probable=probable, percent=100 * level)


def plan_sentence(needed: float | None, n_positive: float, eps: float) -> str:
    """Say how many more positives make the interval narrow."""
    if needed is None:
        return say("plan_rows", eps=eps)
    key = "plan_done" if needed <= n_positive else "plan"
    return say(key, eps=eps, more=needed - n_positive, needed=needed)


def positives_needed(evaluation: Evaluation) -> int | None:
    """Return the positives that bring the half-width of the interval to `EPS`, if any do."""
    sums, n = evaluation.sums, evaluation.n_marginal
    mean = sums.mean_score
    if not mean > 0.0 or sums.z**2 * mean / n >= EPS**2:
        return None
    return plan(
        EPS,
        evaluation.prior.value,
        n_unlabeled=None if math.isinf(n) else int(n),
        method="normal",
        delta=1.0 - evaluation.level,
        mean_score=min(mean, 1.0),
    ).n_positive
