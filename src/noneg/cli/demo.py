"""``noneg demo``: the whole story on bundled data, with the truth beside it."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noneg.demo import Demo


@click.command("demo", short_help="Show it on bundled data.")
@click.option(
    "--out",
    default="noneg-demo.png",
    show_default=True,
    metavar="FILE",
    help="Where to draw the reliability diagram: .png, .svg or .pdf.",
)
def command(out: str) -> None:
    """Evaluate a classifier from positives and unlabeled data, then reveal the hidden labels."""
    from noneg.calibration.errors import ece
    from noneg.cli.show_evaluation import show_evaluation
    from noneg.cli.terminal import busy, console, say
    from noneg.demo import handwritten_loops
    from noneg.evaluation import evaluate

    if not Path(out).parent.is_dir():
        raise ValueError(f"'path' must lie in a folder that exists, got {out!r}. Make it first.")
    with busy("Training naive Bayes"):
        data = handwritten_loops()
        evaluation = evaluate(data.scores)
    truth = {
        "ece": ece(data.truth, bins=evaluation.bins),
        "ece_width_15": ece(data.truth, bins=15, binning="width"),
        "ece_mass_15": ece(data.truth, bins=15),
    }
    terminal = console()
    say(terminal, data.story)
    terminal.print()
    show_evaluation(terminal, evaluation, truth)
    terminal.print()
    say(terminal, _draw(data, evaluation.bins, out), style="bold")


def _draw(data: Demo, bins: int, out: str) -> str:
    """Draw both diagrams into one picture, and say where it is."""
    if find_spec("matplotlib") is None:
        return "For the reliability diagram install matplotlib: pip install 'noneg[plot]'"
    from noneg.plots import ReliabilityDisplay

    draw = partial(ReliabilityDisplay.from_scores, bins=bins, binning="mass")
    display = draw(data.scores, name="positives and unlabeled")
    draw(data.truth, name="all labels", ax=display.ax_)
    display.figure_.savefig(out, dpi=150)  # type: ignore[union-attr]  # it is a figure of its own
    return f"Drew the reliability diagram: {out}"
