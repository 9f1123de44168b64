"""The truth beside the estimates, where hidden labels can be revealed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noneg.metrics import METRICS, RECOMMENDED
from noneg.report.datasets import as_rows
from noneg.report.document import Number, Range, Section, Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.evaluation import Evaluation
    from noneg.report.datasets import Rows
    from noneg.report.document import Cell

SHOWN = (
    RECOMMENDED,
    "ece",
    "ks_error",
    "smooth_ece",
    "brier",
    "log_loss",
    "auroc",
    "average_precision",
    "accuracy",
    "precision",
    "recall",
    "f_beta",
)


def truth_section(evaluation: Evaluation, truth: Evaluation) -> Section:
    """Return the section that sets estimates beside what all labels give.

    Parameters
    ----------
    evaluation : Evaluation
        From positives and unlabeled rows.
    truth : Evaluation
        Of the same rows with all their labels.
    """
    rows = list(_rows(evaluation, truth))
    inside = sum(row[-1] == "yes" for row in rows)
    level = f"{100 * evaluation.level:.6g}"
    text = (
        "Here the hidden labels are known. The estimates above did not use them; this is what they "
        f"would have been with every label. {inside} of {len(rows)} intervals contain it."
    )
    header = ("", "positives and unlabeled", f"{level} % interval", "all labels", "inside")
    return Section(
        name="truth",
        title="The truth, revealed",
        sentences=(Sentence(text=text),),
        charts=("truth",),
        tables=(Table(caption="Estimate and truth", header=header, rows=tuple(rows)),),
    )


def _rows(evaluation: Evaluation, truth: Evaluation) -> Iterator[tuple[Cell, ...]]:
    for name in SHOWN:
        one, other = evaluation.metrics.get(name), truth.metrics.get(name)
        if one is None or other is None or not math.isfinite(one.value):
            continue
        inside = "yes" if one.low <= other.value <= one.high else "no"
        value = Number(one.value, 3), Range(one.low, one.high, 3), Number(other.value, 3)
        yield METRICS[name].title, *value, inside


def truth_rows(evaluation: Evaluation, truth: Evaluation) -> Rows:
    """Return both diagrams, one below the other."""
    names = ("score", "frequency", "low", "high")
    sides = {"positives and unlabeled": evaluation.reliability, "all labels": truth.reliability}
    return [
        {"side": side, **row}
        for side, diagram in sides.items()
        for row in as_rows({name: getattr(diagram, name) for name in names})
    ]
