"""An `Evaluation` on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from noneg.evaluation import Evaluation


def show_evaluation(out: Console, evaluation: Evaluation, truth: Evaluation | None = None) -> None:
    """Print the summary of the report: the sample, the verdict, and all numbers.

    Parameters
    ----------
    out : Console
    evaluation : Evaluation
    truth : Evaluation, optional
        Of the same rows with all their labels, to be set beside the estimates.
    """
    from noneg.report.content import summary
    from noneg.report.document import text

    colour = out.is_terminal and out.color_system is not None
    shown = text(
        summary(evaluation, truth), width=out.width if out.is_terminal else None, colour=colour
    )
    out.file.write(shown)
