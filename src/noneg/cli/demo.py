"""``noneg demo``: the whole story on bundled data, with the truth beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from noneg.demo import Demo
    from noneg.scores import PUScores


@click.command(short_help="Show it on bundled data.")
@click.option(
    "--out",
    default="noneg-demo.png",
    show_default=True,
    metavar="FILE",
    help="Where to draw the reliability diagram: .png, .svg or .pdf.",
)
def demo(out: str) -> None:
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
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return "For the reliability diagram install matplotlib: pip install 'noneg[plot]'"
    from noneg.plots import ReliabilityDisplay

    def draw(scores: PUScores, name: str, ax: Axes | None = None) -> ReliabilityDisplay:
        return ReliabilityDisplay.from_scores(scores, bins=bins, binning="mass", name=name, ax=ax)

    display = draw(data.scores, "positives and unlabeled")
    draw(data.truth, "all labels", display.ax_)
    plt.gcf().savefig(out, dpi=150)
    plt.close()
    return f"Drew the reliability diagram: {out}"
