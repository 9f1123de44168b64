"""An `Evaluation` as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.cli.terminal import say, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from noneg.evaluation import Evaluation
    from noneg.results import Estimate


def show_evaluation(
    out: Console, evaluation: Evaluation, truth: Mapping[str, float] | None = None
) -> None:
    """Print what was read, what was found, and what needs attention.

    Parameters
    ----------
    out : Console
    evaluation : Evaluation
    truth : mapping of str to float, optional
        What is known of the errors from elsewhere, shown beside them: by name of the attribute.
    """
    say(out, _sample(evaluation))
    out.print()
    header = ["", "value", f"{evaluation.level:.6g} interval"]
    rows = [*_errors(evaluation), *_test(evaluation), *_bounds(evaluation)]
    if truth is not None:
        header.append("with all labels")
        rows = [_beside(row, truth) for row in rows]
    out.print(table(header, [row for _, row in rows] if truth is None else [r for _, r in rows]))
    for warning in evaluation.warnings:
        out.print()
        say(out, f"Note: {warning}", style="yellow")
