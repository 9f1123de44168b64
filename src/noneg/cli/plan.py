"""``noneg plan``, how many rows to collect, and ``noneg simulate``, rows with known truth."""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import answer, busy, console, say
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.checks import Setting
    from noneg.scores import PUScores
    from noneg.simulation import LogisticGaussian
    from noneg.theory import LabelPlan, Plan

WORLDS = ("less-calibrated", "better-calibrated", "calibrated")


GOALS = {
    "eps": "Goal: calibration error, with this half-width.",
    "precision": "Goal: precision of about this value, with --flagged.",
    "prior_within": "Goal: prior, with this half-width.",
    "difference": "Goal: detect this difference between the AUROC of two models.",
    "recall": "Goal: guarantee this recall.",
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
# Options that each goal accepts in addition to --level.
SIZES = ("ratio", "n_positive", "n_unlabeled")
TAKES = {
    "eps": (*SIZES, "prior", "method", "binning", "lipschitz", "delta", "mean_score"),
    "precision": (*SIZES, "prior", "flagged", "within", "level"),
    "prior_within": ("prior", "level"),
    "difference": (*SIZES, "prior", "auroc", "correlation", "power", "level"),
    "recall": ("within", "confidence"),
}
NEEDED = ("prior", "flagged", "auroc")


@main.command(
    "plan",
    short_help="Calculate how many labels you need.",
    epilog="\b\nnoneg plan --recall 0.9 --confidence 0.95\n"
    "noneg plan --precision 0.8 --flagged 0.05 --within 0.03 --prior 0.12",
)
@opt.alike(GOALS | DETAILS, type=float)
@opt.option("--n-positive", "Number of positives you have; solve for the unlabeled rows.", type=int)
@opt.option("--n-unlabeled", "Number of unlabeled rows you have.", type=int)
@opt.option(
    "--method",
    "With --eps: normal approximation of the interval, or a guarantee.  [default: normal]",
    type=click.Choice(["normal", "bound"]),
)
@opt.option(
    "--binning",
    "With --eps: equal-mass or equal-width bins, for the bound.  [default: mass]",
    type=click.Choice(["mass", "width"]),
)
@opt.alike(FOR_EPS, type=float)
@opt.as_json
def plan(**asked: Any) -> None:
    """Calculate how many labeled positives, unlabeled rows or reviewed rows you need.

    Choose one goal: --eps, --precision, --prior-within, --difference or --recall.
    """
    from noneg.report.answers import labels_answer, plan_answer
    from noneg.theory import Plan

    goal, given = _goal({name: value for name, value in asked.items() if value is not None})
    found = _plan(goal, given)
    if isinstance(found, Plan):
        shown = partial(plan_answer, found, given["eps"], given["prior"])
    else:
        shown = partial(labels_answer, found)
    answer("noneg.plan/1", given | found.to_dict(), shown)


def _goal(given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the single goal and its options."""
    named = {name: f"--{opt.dashed(name)}" for name in (*given, *NEEDED)}
    goal = opt.one_goal(GOALS, given)
    if extra := [named[name] for name in given if name not in (goal, *TAKES[goal])]:
        raise click.UsageError(f"{', '.join(extra)} cannot be given with {named[goal]}.")
    missing = [name for name in NEEDED if name in TAKES[goal] and name not in given]
    if missing:
        raise click.UsageError(f"Give {named[missing[0]]} with {named[goal]}.")
    return goal, given


def _plan(goal: str, given: dict[str, Any]) -> Plan | LabelPlan:
    from noneg import theory

    functions: dict[str, Callable[..., Plan | LabelPlan]] = {
        "eps": theory.plan,
        "precision": theory.plan_precision,
        "prior_within": theory.plan_prior,
        "difference": theory.plan_comparison,
        "recall": theory.plan_recall,
    }
    renamed = {"prior_within": "within"}
    return functions[goal](**{renamed.get(name, name): x for name, x in given.items()})


@main.command(
    "simulate",
    short_help="Simulate scores with a known calibration error.",
    epilog="\b\nnoneg simulate --world calibrated --setting labeled --n 1000 --out scores.csv",
)
@opt.option("--world", "Name of a simulated population.", type=click.Choice(WORLDS))
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
def simulate(
    world: str | None,
    beta0: float | None,
    beta1: float | None,
    prior: float,
    setting: Setting,
    out: str,
    **sizes: Any,
) -> None:
    """Draw labeled scores from a simulated population, and report its true calibration error.

    Classes are Gaussian, N(1, 1) and N(-1, 1); the score of x is the sigmoid of beta0 + beta1 x.
    """
    chosen = _world(world, beta0, beta1, prior)
    with busy("Drawing rows"):
        truth = chosen.tce()  # It is not defined in some worlds; nothing is written then.
        scores = chosen.draw(setting=setting, **sizes)
        _write(scores, out)
    terminal = console(error=out == "-")
    say(terminal, f"True calibration error: {truth:.9f}")
    if out != "-":
        say(terminal, f"Wrote {scores!r} to {out}. Now try:")
        say(terminal, f"  {_next(out, scores)}", style="bold")


def _world(
    world: str | None, beta0: float | None, beta1: float | None, prior: float
) -> LogisticGaussian:
    from noneg.simulation import LogisticGaussian

    if world is not None and (beta0 is not None or beta1 is not None):
        raise InputError("world", "must not be combined with --beta0 or --beta1.")
    if (beta0 is None) != (beta1 is None):
        name = "beta0" if beta0 is None else "beta1"
        raise InputError(
            name, "must also be given: --beta0 and --beta1 together define a population."
        )
    if beta0 is not None and beta1 is not None:
        return LogisticGaussian(beta0, beta1, prior)
    name = (world or WORLDS[0]).replace("-", "_")
    named: LogisticGaussian = getattr(LogisticGaussian, name)(prior)
    return named


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
