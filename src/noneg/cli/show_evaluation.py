"""An `Evaluation` as a table for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noneg.cli.output import say, show_table
from noneg.metrics import METRICS, RECOMMENDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from noneg.evaluation import Evaluation
    from noneg.results import Estimate

    Row = list[str]


def show_evaluation(
    out: Console, evaluation: Evaluation, truth: Mapping[str, float] | None = None
) -> None:
    """Print what was read, what was found, and what needs attention.

    Parameters
    ----------
    out : Console
    evaluation : Evaluation
    truth : mapping of str to float, optional
        Errors known from elsewhere, by the name of the attribute; shown in a column of their own.
    """
    say(out, _sample(evaluation))
    out.print()
    header = ["", "value", f"{100 * evaluation.level:.6g} % interval"]
    rows = [
        *_errors(evaluation, truth or {}),
        *_others(evaluation),
        *_test(evaluation),
        *_bounds(evaluation),
    ]
    show_table(out, [*header, "all labels"] if truth else header, rows)
    for warning in evaluation.warnings:
        out.print()
        say(out, f"Note: {warning}", style="yellow")


def _sample(evaluation: Evaluation) -> str:
    prior = f"prior {evaluation.prior.value:.6g}"
    if evaluation.setting == "labelled":
        rows = _count(evaluation.n_marginal, "labelled row")
        return f"{rows}, {evaluation.n_positive:,.0f} positive; {prior}"
    if evaluation.prior.low < evaluation.prior.high:
        prior += f" in [{evaluation.prior.low:.6g}, {evaluation.prior.high:.6g}]"
    positive = _count(evaluation.n_positive, "positive")
    rows = _count(evaluation.n_unlabeled, "unlabeled row")
    return f"{positive} and {rows}; {evaluation.setting}; {prior}"


def _count(number: float, what: str) -> str:
    return f"{number:,.0f} {what}{'s' * (number != 1)}"


def _errors(evaluation: Evaluation, truth: Mapping[str, float]) -> Iterator[Row]:
    yield ["Calibration error"]
    yield _metric("  best guess: debiased", evaluation.headline)
    names = {
        "ece": f"  {_bins(evaluation)}, the optimal number",
        "ece_width_15": "  15 bins of equal width",
        "ece_mass_15": "  15 bins of equal mass",
    }
    for key, name in names.items():
        estimate: Estimate | None = getattr(evaluation, key)
        row = [name, "-", "too few rows"]
        if estimate is not None:
            row[1:] = [f"{estimate.value:.4f}", f"[{estimate.low:.4f}, {estimate.high:.4f}]"]
        yield [*row, f"{truth[key]:.4f}"] if key in truth else row


def _others(evaluation: Evaluation) -> Iterator[Row]:
    headings = {
        "calibration error": "Other calibration errors",
        "proper score": "Proper scores",
        "performance": "Performance",
    }
    for family, heading in headings.items():
        yield [heading]
        for name, metric in METRICS.items():
            if metric.family == family and name not in ("ece", RECOMMENDED):
                yield _metric(f"  {metric.title}", evaluation.metrics.get(name))


def _metric(title: str, found: Estimate | None) -> Row:
    if found is None or math.isnan(found.value):
        return [title, "-", "not from these rows"]
    return [title, f"{found.value:.4f}", f"[{found.low:.4f}, {found.high:.4f}]"]


def _bins(evaluation: Evaluation) -> str:
    bins = _count(evaluation.bins, "bin")
    if evaluation.occupied_bins == evaluation.bins:
        return bins
    return f"{bins} ({evaluation.occupied_bins} hold rows)"


def _test(evaluation: Evaluation) -> Iterator[Row]:
    p_value = evaluation.test.p_value
    evidence = "evidence" if evaluation.rejected else "no evidence"
    yield ["Test of calibration"]
    yield ["  p-value", f"{p_value:.3f}", f"{evidence} against it"]


def _bounds(evaluation: Evaluation) -> Iterator[Row]:
    if evaluation.bounds:
        yield ["Theory: distance to the true error"]
    words = {
        "expected": "  on average at most",
        "probable": f"  with probability {100 * evaluation.level:.6g} % at most",
    }
    for name, bound in evaluation.bounds.items():
        remark = "promises nothing" if bound.vacuous else "for slopes up to 1"
        yield [words.get(name, f"  {name}"), f"{bound.value:.4f}", remark]
