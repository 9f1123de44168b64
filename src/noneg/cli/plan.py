"""``noneg plan``, how many rows to collect, and ``noneg simulate``, rows with known truth."""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import click

import noneg
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import answer, busy, say
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.scores import PUScores
    from noneg.simulation import LogisticGaussian
    from noneg.theory import LabelPlan, Plan

WORLDS = ("less-calibrated", "better-calibrated", "calibrated")
# The function of `noneg.theory` for each goal; its parameters are the options that a goal accepts.
GOALS = {
    "eps": ("plan", "Goal: calibration error, with this half-width."),
    "precision": ("plan_precision", "Goal: precision of about this value, with --flagged."),
    "prior_within": ("plan_prior", "Goal: prior, with this half-width."),
    "difference": (
        "plan_comparison",
        "Goal: detect this difference between the AUROC of two models.",
    ),
    "recall": ("plan_recall", "Goal: guarantee this recall."),
}
DETAILS = {
    "prior": "Share of positives, in (0, 1).",
    "within": "Half-width for a precision; margin for a recall.",
    "flagged": "Share of rows predicted positive.",
    "auroc": "Approximate AUROC of the models.",
    "correlation": "Correlation between the models' rankings.  [default: 0.5]",
    "power": "Statistical power.  [default: 0.8]",
    "confidence": "Confidence of a guaranteed recall.  [default: 0.95]",
    "level": "Confidence level.  [default: 0.95]",
    "ratio": "Unlabeled rows per positive, if neither number is fixed.  [default: 10]",
}
FOR_EPS = {
    "lipschitz": "With --eps: maximum slope of the calibration curve, for the bound.  [default: 1]",
    "delta": "With --eps: allowed probability of a larger error.",
    "mean_score": "With --eps: largest expected mean score, for the normal method.  [default: 1]",
}


@main.command(short_help="Calculate how many labels you need.")
@opt.alike({goal: text for goal, (_, text) in GOALS.items()} | DETAILS, type=float)
@opt.option("--n-positive", "Number of positives you have; solve for the unlabeled rows.", type=int)
@opt.option("--n-unlabeled", "Number of unlabeled rows you have.", type=int)
@opt.choice(
    "--method",
    "With --eps: normal approximation of the interval, or a guarantee.  [default: normal]",
    among=["normal", "bound"],
)
@opt.choice(
    "--binning",
    "With --eps: equal-mass or equal-width bins, for the bound.  [default: mass]",
    among=["mass", "width"],
)
@opt.alike(FOR_EPS, type=float)
@opt.as_json
def plan(**asked: Any) -> None:
    """Calculate how many labeled positives, unlabeled rows or reviewed rows you need.

    Choose one goal: --eps, --precision, --prior-within, --difference or --recall.

    Examples
    --------
    noneg plan --recall 0.9 --confidence 0.95
    noneg plan --precision 0.8 --flagged 0.05 --within 0.03 --prior 0.12
    """
    from noneg.report.answers import labels_answer, plan_answer

    given = {name: value for name, value in asked.items() if value is not None}
    found = _plan(given)
    if isinstance(found, noneg.theory.Plan):
        shown = partial(plan_answer, found, given["eps"], given["prior"])
    else:
        shown = partial(labels_answer, found)
    answer("noneg.plan/1", given | found.to_dict(), shown)


def _plan(given: dict[str, Any]) -> Plan | LabelPlan:
    """Return the plan for the single goal among the options."""
    goal = opt.one_goal(GOALS, given)
    function: Callable[..., Plan | LabelPlan] = getattr(noneg.theory, GOALS[goal][0])
    argument = "within" if goal == "prior_within" else goal
    takes = signature(function).parameters
    others = {name: x for name, x in given.items() if name != goal}
    if extra := [name for name in others if name not in takes or name == argument]:
        named = ", ".join(f"--{opt.dashed(name)}" for name in extra)
        raise click.UsageError(f"{named} cannot be given with --{opt.dashed(goal)}.")
    for name, parameter in takes.items():
        if parameter.default is parameter.empty and name not in (argument, *others):
            raise click.UsageError(f"Give --{name} with --{opt.dashed(goal)}.")
    return function(**{argument: given[goal]}, **others)


@main.command(short_help="Simulate scores with a known calibration error.")
@opt.choice("--world", "Name of a simulated population.", among=WORLDS)
@opt.number("--beta0", "Intercept of the score on the logit scale.")
@opt.number("--beta1", "Slope of the score on the logit scale.")
@opt.setting
@opt.option("--n-positive", "Number of labeled positives, in the PU settings.", type=int)
@opt.option("--n-unlabeled", "Number of unlabeled rows, in the PU settings.", type=int)
@opt.option("--n", "Number of rows, in the labeled setting.", type=int)
@opt.option("--prior", "Share of positives.", default=0.5)
@opt.option("--seed", "Random seed.", default=0)
@opt.written(
    "--out",
    "Output file: .csv, .csv.gz, .csv.zst, .tsv or .parquet; a dash prints CSV.",
    required=True,
)
@opt.force
def simulate(out: str, **asked: Any) -> None:
    """Draw labeled scores from a simulated population, and report its true calibration error.

    Classes are Gaussian, N(1, 1) and N(-1, 1); the score of x is the sigmoid of beta0 + beta1 x.

    Examples
    --------
    noneg simulate --world calibrated --setting labeled --n 1000 --out scores.csv
    """
    names = ("world", "beta0", "beta1", "prior")
    chosen = _world(**{name: asked.pop(name) for name in names})
    with busy("Drawing rows"):
        truth = chosen.tce()  # It is not defined in some worlds; nothing is written then.
        scores = chosen.draw(**asked)
        _write(scores, out)
    say(f"True calibration error: {truth:.9f}", error=out == "-")
    if out != "-":
        say(f"Wrote {scores!r} to {out}. Now try:")
        say(f"  {_next(out, scores)}", style="bold")


def _world(
    world: str | None, beta0: float | None, beta1: float | None, prior: float
) -> LogisticGaussian:
    if world is not None and (beta0 is not None or beta1 is not None):
        raise InputError("world", "must not be combined with --beta0 or --beta1.")
    if beta0 is not None and beta1 is not None:
        return noneg.simulation.LogisticGaussian(beta0, beta1, prior)
    if beta0 is not None or beta1 is not None:
        name = "beta0" if beta0 is None else "beta1"
        rule = "must also be given: --beta0 and --beta1 together define a population."
        raise InputError(name, rule)
    named = getattr(noneg.simulation.LogisticGaussian, (world or WORLDS[0]).replace("-", "_"))
    return cast("LogisticGaussian", named(prior))


def _write(scores: PUScores, out: str) -> None:
    from noneg.atomic import scratch
    from noneg.tables import write

    if out != "-":
        write(scores, out)
        return
    with scratch() as folder:
        path = folder / "scores.csv"
        write(scores, path)
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)


def _next(out: str, scores: PUScores) -> str:
    prior = f" --prior {scores.known_prior!r}" if scores.hidden else ""
    file = shlex.quote(out)
    return f"noneg evaluate {file} --score score --label label --setting {scores.setting}{prior}"
