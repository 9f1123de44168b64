"""Options that turn a number into an exit code: limits, and a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.output import say

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation
    from noneg.gates import Gate, Outcome
    from noneg.scores import PUScores

# Exit code when a metric fails its limit or has changed from the baseline.
NOT_GOOD_ENOUGH = 3

_LIMITS = (
    opt.option(
        "--fail-above",
        "Exit with code 3 if the entire interval of a metric lies above a limit, such as "
        "debiased_ece=0.05.",
        multiple=True,
        metavar="METRIC=LIMIT",
    ),
    opt.option(
        "--fail-below",
        "Exit with code 3 if the entire interval lies below a limit, such as "
        "precision=0.8, or precision@0.3=0.8 at threshold 0.3. A limit inside the "
        "interval is reported as 'cannot tell'.",
        multiple=True,
        metavar="METRIC=LIMIT",
    ),
    opt.flag(
        "--strict",
        "Exit with code 3 unless the entire interval lies on the right side of each limit.",
    ),
)
_BASELINE = opt.file(
    "--baseline",
    "Output of an earlier noneg evaluate --json: exit with code 3 if a metric is "
    "significantly worse.",
)


@dataclass
class Gates:
    """The gates of a command, and their outcomes."""

    fail_above: tuple[str, ...]
    fail_below: tuple[str, ...]
    strict: bool
    baseline: str | None = None

    def __post_init__(self) -> None:
        from noneg.gates import Gate

        self.gates: list[Gate] = [
            *(Gate.parse(text, "above") for text in self.fail_above),
            *(Gate.parse(text, "below") for text in self.fail_below),
        ]
        self.outcomes: list[Outcome] = []
        self.note = ""

    def judge(self, evaluation: Evaluation, scores: PUScores) -> None:
        """Apply the gates to an evaluation of these scores."""
        from noneg.gates import compare_with, other_prior

        prior = evaluation.prior
        if scores.prior is None:
            scores = scores.with_prior(prior.value, (prior.low, prior.high))
        for gate in self.gates:
            found = evaluation.metrics.get(gate.metric)
            if gate.threshold is not None:
                found = gate.estimate(scores, evaluation.level)
            self.outcomes.append(gate.judge(found))
        if self.baseline is not None:
            level = evaluation.level
            self.outcomes += compare_with(self.baseline, evaluation.metrics, level=level)
            self.note = other_prior(self.baseline, prior)

    @property
    def failed(self) -> bool:
        """Whether a gate failed."""
        from noneg.gates import failing

        return failing(self.outcomes, strict=self.strict)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcomes for JSON under their key; empty if there are no gates."""
        if not self.outcomes:
            return {}
        gates = {"failed": self.failed, "strict": self.strict, "outcomes": self.outcomes}
        return {"gates": gates | ({"note": self.note} if self.note else {})}

    def close(self, *, failed: bool = False) -> None:
        """Print the outcomes to standard error, and exit with code 3 if a gate failed."""
        for outcome in self.outcomes:
            say(f"Gate {outcome}.", error=True)
        if self.note:
            say(f"{self.note}.", error=True)
        if failed or self.failed:
            click.get_current_context().exit(NOT_GOOD_ENOUGH)


limited = opt.given_as(Gates, *_LIMITS)
gated = opt.given_as(Gates, *_LIMITS, _BASELINE)
