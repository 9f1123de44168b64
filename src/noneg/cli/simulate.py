"""``noneg simulate``: scores from a world whose truth is known."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from noneg.cli import options
from noneg.cli.writing import check_outputs, force

if TYPE_CHECKING:
    from noneg.scores import PUScores
    from noneg.simulation import LogisticGaussian

WORLDS = ("less-calibrated", "better-calibrated", "calibrated")


@click.command(
    "simulate",
    short_help="Draw scores whose true error is known.",
    epilog="\b\nnoneg simulate --world calibrated --setting labelled --n 1000 --out scores.csv",
)
@click.option("--world", type=click.Choice(WORLDS), help="A world by name.")
@click.option("--beta0", type=float, help="Intercept of the score on the logit scale.")
@click.option("--beta1", type=float, help="Slope of the score on the logit scale.")
@options.setting
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
def command(
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
    from noneg.cli.terminal import busy, console, say

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
        raise ValueError("'world' must not be combined with --beta0 and --beta1. Choose either.")
    if (beta0 is None) != (beta1 is None):
        name = "beta0" if beta0 is None else "beta1"
        raise ValueError(f"'{name}' must be given too: --beta0 and --beta1 together make a world.")
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
    prior = "" if scores.setting == "labelled" else f" --prior {scores.prior!r}"
    file = shlex.quote(out)
    return f"noneg evaluate {file} --score score --label label --setting {scores.setting}{prior}"
