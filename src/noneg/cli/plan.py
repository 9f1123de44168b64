"""``noneg plan``, how many rows to collect, and ``noneg simulate``, rows whose truth is known."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from noneg.cli.options import as_json, setting
from noneg.cli.output import busy, check_outputs, console, force, print_json, say, show
from noneg.errors import InputError

if TYPE_CHECKING:
    from noneg.scores import PUScores
    from noneg.simulation import LogisticGaussian

WORLDS = ("less-calibrated", "better-calibrated", "calibrated")


@click.command(
    "plan",
    short_help="Tell how many rows a precision takes.",
    epilog="\b\nnoneg plan --eps 0.05 --prior 0.12 --method normal",
)
@click.option("--eps", type=float, required=True, help="Error that you can accept, in (0, 1).")
@click.option("--prior", type=float, required=True, help="Share of positives, in (0, 1).")
@click.option(
    "--ratio",
    type=float,
    default=10.0,
    show_default=True,
    help="Unlabeled rows for each positive, when neither number is fixed.",
)
@click.option("--n-positive", type=int, help="Positives that you have; solve for the others.")
@click.option("--n-unlabeled", type=int, help="Unlabeled rows that you have.")
@click.option(
    "--method",
    type=click.Choice(["bound", "normal"]),
    default="bound",
    show_default=True,
    help="A guarantee, or the half-width of the interval.",
)
@click.option(
    "--binning",
    type=click.Choice(["mass", "width"]),
    default="mass",
    show_default=True,
    help="Bins of equal mass or width, for the bound.",
)
@click.option(
    "--lipschitz",
    type=float,
    default=1.0,
    show_default=True,
    help="Largest slope of the calibration curve, for the bound.",
)
@click.option("--delta", type=float, help="Probability that the error may be larger.")
@click.option(
    "--mean-score",
    type=float,
    default=1.0,
    show_default=True,
    help="Largest mean score to expect, for the normal method.",
)
@as_json
def plan(*, as_json: bool, **question: object) -> None:
    """Tell how many positives and unlabeled rows a wanted precision takes."""
    from noneg.report.answers import plan_answer
    from noneg.theory import plan

    answer = plan(**question)  # type: ignore[arg-type]
    if as_json:
        asked = {"eps": question["eps"], "prior": question["prior"]}
        print_json("noneg.plan/1", **asked, **answer.to_dict())
        return
    show(console(), plan_answer(answer, question["eps"], question["prior"]))  # type: ignore[arg-type]


@click.command(
    "simulate",
    short_help="Draw scores whose true error is known.",
    epilog="\b\nnoneg simulate --world calibrated --setting labelled --n 1000 --out scores.csv",
)
@click.option("--world", type=click.Choice(WORLDS), help="A world by name.")
@click.option("--beta0", type=float, help="Intercept of the score on the logit scale.")
@click.option("--beta1", type=float, help="Slope of the score on the logit scale.")
@setting
@click.option("--n-positive", type=int, help="Labelled positives, in the PU settings.")
@click.option("--n-unlabeled", type=int, help="Unlabeled rows, in the PU settings.")
@click.option("--n", type=int, help="Rows, in the labelled setting.")
@click.option("--prior", type=float, default=0.5, show_default=True, help="Share of positives.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same rows.")
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    help="Where to write: .csv, .csv.gz, .csv.zst, .tsv or .parquet; a dash prints CSV.",
)
@force
def simulate(
    world: str | None,
    beta0: float | None,
    beta1: float | None,
    prior: float,
    setting: str,
    out: str,
    *,
    force: bool,
    **sizes: int,
) -> None:
    """Draw scores with labels from a world, and tell its true calibration error.

    Classes are Gaussian, N(1, 1) and N(-1, 1); the score of x is the sigmoid of beta0 + beta1 x.
    """
    check_outputs({"path": None if out == "-" else out}, force=force)
    chosen = _world(world, beta0, beta1, prior)
    with busy("Drawing rows"):
        truth = chosen.tce()  # some worlds have none that is a number: nothing is written then
        scores = chosen.draw(setting=setting, **sizes)  # type: ignore[arg-type]
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
        raise InputError("world", "must not be combined with --beta0 and --beta1. Choose either.")
    if (beta0 is None) != (beta1 is None):
        name = "beta0" if beta0 is None else "beta1"
        raise InputError(name, "must be given too: --beta0 and --beta1 together make a world.")
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
