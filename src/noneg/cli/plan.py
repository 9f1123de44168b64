"""``noneg plan``: how many rows to collect."""

from __future__ import annotations

import click

from noneg.cli import options


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
@options.as_json
def command(*, as_json: bool, **question: object) -> None:
    """Tell how many positives and unlabeled rows a wanted precision takes."""
    from noneg.cli.printable import to_json
    from noneg.cli.terminal import console, say, show_table
    from noneg.theory import plan

    answer = plan(**question)  # type: ignore[arg-type]
    if as_json:
        asked = {"eps": question["eps"], "prior": question["prior"]}
        click.echo(to_json("noneg.plan/1", {**asked, **answer.to_dict()}))
        return
    out = console()
    say(out, f"Error {question['eps']:g} at prior {question['prior']:g} takes", style="bold")
    rows = [
        ["  positives", f"{answer.n_positive:,}"],
        ["  unlabeled rows", f"{answer.n_unlabeled:,}"],
        ["  bins", f"{answer.bins:,}"],
        ["  error then", f"{answer.error:.6f}"],
    ]
    show_table(out, ["", ""], rows)
    kind = "a guarantee" if answer.method == "bound" else "an approximation"
    say(out, f"It is {kind}: {answer.assumes}.")
