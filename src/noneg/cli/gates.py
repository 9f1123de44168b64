"""Options that turn a number into an exit code: limits, and a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.output import console, say

if TYPE_CHECKING:
    from collections.abc import Callable

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
    shell_complete=opt.file_names,
)


def gated(*, baseline: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the gate options, which are passed to `Gates`."""
    return opt.all_of(*_LIMITS, *((_BASELINE,) if baseline else ()))


class Gates:
    """The gates of a command, and their outcomes."""

    def __init__(self, asked: dict[str, Any]) -> None:
        from noneg.gates import Gate

        self.gates: list[Gate] = [
            *(Gate.parse(text, "above") for text in asked.pop("fail_above")),
            *(Gate.parse(text, "below") for text in asked.pop("fail_below")),
        ]
        self.strict = asked.pop("strict")
        self.baseline = asked.pop("baseline", None)
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
        outcomes = [outcome.to_dict() for outcome in self.outcomes]
        gates = {"failed": self.failed, "strict": self.strict, "outcomes": outcomes}
        return {"gates": gates | ({"note": self.note} if self.note else {})}

    def tell(self) -> None:
        """Print the outcomes of the gates to standard error, separately from any JSON."""
        for outcome in self.outcomes:
            say(console(error=True), f"Gate {outcome}.")
        if self.note:
            say(console(error=True), f"{self.note}.")

    def close(self, *, failed: bool = False) -> None:
        """Print the outcomes of the gates, and exit with code 3 if one of them failed."""
        self.tell()
        if failed or self.failed:
            click.get_current_context().exit(NOT_GOOD_ENOUGH)
