"""The verdict: whether the scores can be read as probabilities.

The page, the terminal and the JSON all show this verdict. `assets/words.js` applies the same rules
with the same limits at other priors.

The calibration test decides whether the scores are off. The interval of the calibration error
decides how far off they are, or whether a relevant error is ruled out. If the test, the interval
and the bands of the diagram disagree, the verdict is inconclusive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noneg.page_state import bands
from noneg.results import Estimate, Record
from noneg.sentences import say

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation

Code = Literal["ok", "check", "stop", "unknown"]

# Limits, as multiples of `scale`.
SMALL = 0.1  # An error that hardly matters.
LARGE = 0.25  # An error that changes decisions; it must be ruled out before scores are called fine.
COMMON = 0.2  # Share of the rarer class above which limits no longer scale.

# The code of each verdict, for programs.
CODES: dict[str, Code] = {
    "verdict_probabilities": "ok",
    "verdict_none": "ok",
    "verdict_nearly": "ok",
    "verdict_unsure": "check",
    "verdict_mixed": "check",
    "verdict_off": "check",
    "verdict_contradicted": "check",
    "verdict_somewhat": "check",
    "verdict_no": "stop",
    "verdict_unknown": "unknown",
}


@dataclass(frozen=True, kw_only=True)
class Verdict(Record):
    """Whether the scores can be read as probabilities.

    Attributes
    ----------
    code : {"ok", "check", "stop", "unknown"}
        "ok": no relevant error was detected, and one would have been. "check": the rows are
        inconclusive, contradict the prior, or show an error worth correcting. "stop": the error
        changes decisions. "unknown": too little is known about the prior for a verdict.
    key : str
        Key of the sentence in ``sentences.json``.
    sentence : str

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> found = evaluate(world.draw(2000, 10_000, setting="two-sample", seed=0)).verdict
    >>> print(found.code, found.sentence)
    stop Do not read these scores as probabilities.
    """

    code: Code
    key: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the reliability diagram, with pointwise and simultaneous intervals."""

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
        """1 if significantly more rows are positive than the score indicates, -1 if fewer."""
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
    columns = diagram.columns()
    del columns["positive"]
    ends = dict.fromkeys(("low", "low_all"), prior.low)
    ends |= dict.fromkeys(("high", "high_all"), prior.high)
    for name, by in (ends | {"frequency": prior.value}).items():
        columns[name] = (by or 1.0) * columns[name]
    if evaluation.selection > 1.0 and evaluation.selection_sums is not None:
        priors = prior.value, prior.low, prior.high
        kind = evaluation.sums.first_diagram
        columns |= bands(evaluation.selection_sums, kind, priors, evaluation.selection)
    return [
        Point(**{name: float(column[b]) for name, column in columns.items()})
        for b in range(diagram.score.size)
    ]


def headline(evaluation: Evaluation) -> Estimate:
    """Return the calibration error of the verdict."""
    return evaluation.headline or evaluation.ece


def rejects(evaluation: Evaluation) -> bool:
    """Whether calibration is rejected; under selection, the interval replaces the test."""
    if evaluation.selection > 1.0:
        return headline(evaluation).low > 0.0
    return evaluation.rejected


def decide(evaluation: Evaluation) -> Verdict:
    """Return the verdict of an evaluation."""
    error = headline(evaluation)
    key = verdict_key(
        error,
        prior=evaluation.prior.value,
        contradicted=any(
            check.name == "prior" and check.verdict == "contradicted"
            for check in evaluation.assumptions
        ),
        rejected=rejects(evaluation),
        deviates=any(point.side for point in points(evaluation)),
    )
    # The reason for a wide interval: too few rows, or an uncertain prior.
    rows = evaluation.at_prior.high - evaluation.at_prior.low
    by_prior = rows < error.high - error.low - rows
    code = "unknown" if by_prior and key == "verdict_unsure" else CODES[key]
    cause = "selection" if evaluation.selection > 1.0 else "prior" if by_prior else "rows"
    return Verdict(code=code, key=key, sentence=say(key, cause=say(f"cause_{cause}")))


def verdict_key(
    error: Estimate, *, prior: float, contradicted: bool, rejected: bool, deviates: bool = False
) -> str:
    """Return the key of the verdict at a prior.

    Parameters
    ----------
    error : Estimate
        The calibration error.
    prior : float
        Limits are proportional to the share of the rarer class.
    contradicted : bool
        Whether the prior contradicts the scores.
    rejected : bool
        Whether the test rejects calibration.
    deviates : bool
        Whether the diagram deviates significantly in some score range, by its simultaneous bands.
    """
    unit = scale(prior)
    if contradicted:
        return "verdict_contradicted"
    if not math.isfinite(error.value + error.high):
        return "verdict_unknown"
    if rejected:
        return _off(error, unit)
    if deviates or error.low > 0.0:
        return "verdict_mixed"
    if error.high > LARGE * unit:
        return "verdict_unsure"
    return "verdict_probabilities" if error.high <= SMALL * unit else "verdict_none"


def _off(error: Estimate, unit: float) -> str:
    """Return the verdict on scores that the test rejects, by the size of the error."""
    if error.high <= SMALL * unit or (error.low > 0.0 and error.value < SMALL * unit):
        return "verdict_nearly"
    if error.low <= 0.0:
        return "verdict_off"
    return "verdict_somewhat" if error.value < LARGE * unit else "verdict_no"


def scale(prior: float) -> float:
    """Return the unit for the limits: the share of the rarer class, at most `COMMON`."""
    return min(COMMON, prior, 1.0 - prior)
