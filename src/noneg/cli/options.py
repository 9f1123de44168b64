"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.evaluation import Evaluation
    from noneg.prior import PriorEstimate
    from noneg.scores import PUScores


class SettingChoice(click.Choice[str]):
    """The sampling settings; whoever leaves them out or misspells one reads what each one means."""

    def __init__(self) -> None:
        super().__init__(["two-sample", "one-sample", "labelled"])

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Return a sentence a setting."""
        from noneg.checks import explain_settings

        return f"It says how the rows were sampled. {explain_settings()}."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting, or explain all of them."""
        from noneg.checks import SETTINGS, explain_settings

        if value not in SETTINGS:
            self.fail(f"{value!r} is not a setting. {explain_settings()}.", param, ctx)
        return value


setting = click.option(
    "--setting", type=SettingChoice(), required=True, help="How the rows were sampled."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")


class EstimatedPrior(str):
    """A prior to be estimated from the scores; the text is the method, empty for the default."""

    __slots__ = ()


class PriorChoice(click.ParamType[Any]):
    """A number, or ``estimate``, or ``estimate:METHOD``."""

    name = "prior"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return what the help shows."""
        return "NUMBER|estimate[:METHOD]"

    def convert(
        self,
        value: str,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float | EstimatedPrior:
        """Return the number or the method."""
        word, _, method = value.partition(":")
        if word == "estimate":
            return EstimatedPrior(method)
        try:
            return float(value)
        except ValueError:
            from noneg.checks import number_advice

            advice = number_advice(value, "Pass the share of positives, such as 0.05.")
            self.fail(f"{value!r} is neither a number nor 'estimate'. {advice}", param, ctx)


prior = click.option(
    "--prior",
    type=PriorChoice(),
    help="Share of positives in the population, in (0, 1); or have it estimated from the scores.",
)

# Rows are read under some prior before theirs is estimated; this one suits every sample.
PROVISIONAL = 1.0 - 1e-9


def settle_prior(
    read: Callable[[dict[str, Any]], PUScores], question: dict[str, Any], level: float
) -> tuple[PUScores, PriorEstimate | None]:
    """Read rows, and estimate their prior where ``--prior estimate`` was asked for.

    Parameters
    ----------
    read : callable
        Reads the rows with the options it is given.
    question : dict
        Options, with `prior`, `prior_interval` and `setting` among them.
    level : float
        Of the prior's interval, which widens every number made of the scores.

    Returns
    -------
    scores : PUScores
    found : PriorEstimate or None
        How the prior was estimated; None where it was given.
    """
    method = asked_method(question)
    if method is None:
        return read(question), None
    from noneg.prior import estimate_prior

    scores = read(question | {"prior": PROVISIONAL})
    found = estimate_prior(scores, method=method, level=level)
    return found.apply(scores), found


def asked_method(question: dict[str, Any]) -> str | None:
    """Return the method that ``--prior estimate`` asks for, None where a prior is given."""
    asked = question["prior"]
    if not isinstance(asked, EstimatedPrior):
        return None
    if question["setting"] == "labelled":
        raise ValueError(
            "'prior' must not be given with setting='labelled', got 'estimate': labels of every "
            "row determine it. Leave it out, or choose another setting."
        )
    if question["prior_interval"]:
        raise ValueError(
            "'prior_interval' must not be given with --prior estimate, which brings its own."
        )
    from noneg.prior import DEFAULT

    return str(asked) or DEFAULT


def tell_prior(evaluation: Evaluation, found: PriorEstimate | None) -> Evaluation:
    """Write into an evaluation how its prior was estimated, and what speaks against it."""
    from dataclasses import replace

    if found is None:
        return evaluation
    # The ends that were used, which lie inside (0, 1).
    ends = evaluation.prior
    prior = replace(found.to_estimate(), low=ends.low, high=ends.high)
    warnings = (*evaluation.warnings, *found.warnings, f"Estimated prior: {found.assumption}.")
    return replace(evaluation, prior=prior, warnings=warnings)
