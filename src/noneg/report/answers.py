"""Command output as documents: a threshold, negatives, a recalibration, a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from noneg.report.document import Document, Number, Range, Section, Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noneg.performance import CertifiedNegatives
    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import Cell
    from noneg.results import Estimate
    from noneg.scores import PUScores
    from noneg.theory import LabelPlan, Plan


GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}
CHOSEN_HERE = (
    "The threshold was chosen on these rows, so its metrics are slightly optimistic; "
    "intervals treat it as fixed. Add --confidence 0.95 for a threshold with a "
    "guarantee, or"
    " evaluate this one on other rows with --at."
)


def threshold_answer(
    scores: PUScores,
    found: Mapping[str, Any],
    rates: Mapping[str, Estimate],
    level: float,
    groups: Mapping[str, Mapping[str, Any]] | None = None,
) -> Document:
    """Return the output of ``noneg threshold``: the threshold, and the rates it achieves.

    `found` contains the threshold, the criterion, the share of flagged rows, notes and, for a
    workload, the number of flagged rows among the next rows; `groups` contains a threshold for each
    group, and the effect of the overall threshold in that group.
    """
    never = math.isinf(found["threshold"])
    use = "Flag no rows" if never else f"Use threshold {found['threshold']:.6g}"
    flagged: tuple[Cell, ...] = "Rows flagged", Number(found["flagged"]), "of everyone"
    rows = (flagged, *((SHOWN[name], *_cells(rate)) for name, rate in rates.items()))
    if "next" in found:
        count = found["next"]
        cells = Number(count["expected"], 0), Range(count["low"], count["high"], 0)
        rows = (*rows, (f"Flagged in the next {count['rows']:,} rows", *cells))
    table = Table(caption="", header=("", "value", _interval(level)), rows=rows)
    return as_document(
        Section(name="rates", title="", tables=(table,)),
        *_threshold_groups(groups or {}, level),
        subtitle=f"{scores!r}",
        verdict=f"{use}: {found['criterion']}.",
        warnings=found["notes"],
    )


def _threshold_groups(groups: Mapping[str, Mapping[str, Any]], level: float) -> list[Section]:
    """Return the threshold of each group alongside the effect of the overall threshold."""
    if not groups:
        return []
    rows = []
    for group, one in groups.items():
        row: list[Cell] = [group, Number(one["threshold"]), Number(one["prior"]["value"], 3)]
        for name in ("precision", "recall"):
            there = one["with_overall_threshold"][name]
            row += [Number(there["value"], 3), Range(there["low"], there["high"], 3)]
        rows.append(tuple(row))
    interval = _interval(level)
    header = ("group", "own threshold", "prior", "precision", interval, "recall", interval)
    text = "Precision and recall are for the single threshold above; intervals hold simultaneously."
    table = Table(caption="", header=header, rows=tuple(rows))
    sentence = Sentence(text=text)
    return [Section(name="groups", title="By group", sentences=(sentence,), tables=(table,))]


def negatives_answer(
    scores: PUScores, found: CertifiedNegatives, notes: Sequence[str] = ()
) -> Document:
    """Return the output of ``noneg negatives``: the number of certified rows and the cutoff."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Unlabeled rows", Number(found.unlabeled, 0)),
        ("Certified negative", Number(found.certified, 0)),
        ("Remaining rows", Number(found.unlabeled - found.certified, 0)),
        ("Largest share of positives among unlabeled rows", Number(found.hidden)),
    )
    most = f"at most {100 * found.fdr:.6g} % of them are positive on average"
    up_to = (
        f"Unlabeled rows with scores of at most {found.cutoff:.6g} are certified negative: {most}."
    )
    none = f"No row can be certified negative at a false discovery rate of {found.fdr:g}."
    return as_document(
        Section(name="rows", title="", tables=(Table(caption="", header=("", ""), rows=rows),)),
        subtitle=f"{scores!r}",
        verdict=up_to if found.certified else none,
        warnings=notes,
    )


def recalibration_answer(title: str, found: HeldOut) -> Document:
    """Return the output of ``noneg recalibrate``: metrics before and after, on held-out rows."""
    from noneg.metrics import METRICS

    level = _interval(found.level)
    rows = tuple(
        (METRICS[name].title, *_cells(found.before[name]), *_cells(found.after[name]), *_cells(gap))
        for name, gap in found.change.items()
    )
    header = ("", "before", level, "after", level, "change", level)
    text = f"On held-out rows in {found.folds} folds; lower is better. Intervals do not include "
    sentence = Sentence(text=f"{text}the variability of the map itself.")
    table = Table(caption="", header=header, rows=rows)
    return as_document(
        Section(name="change", title="Before and after", sentences=(sentence,), tables=(table,)),
        subtitle=title,
        verdict=found.reason or f"Method: {found.method}.",
        warnings=found.warnings,
    )


def plan_answer(answer: Plan, eps: float, prior: float) -> Document:
    """Return the output of ``noneg plan``: the number of rows needed for a precision."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("positives", Number(answer.n_positive, 0)),
        ("unlabeled rows", Number(answer.n_unlabeled, 0)),
        ("bins", Number(answer.bins, 0)),
        ("resulting error", Number(answer.error, 6)),
    )
    kind = "a guarantee" if answer.method == "bound" else "an approximation"
    sentence = Sentence(text=f"This is {kind}: {answer.assumes}.")
    table = Table(caption="", header=("", ""), rows=rows)
    return as_document(
        Section(name="rows", title="", tables=(table,)),
        Section(name="kind", title="", sentences=(sentence,)),
        title=f"For an error of {eps:g} at a prior of {prior:g}, you need",
    )


def labels_answer(answer: LabelPlan) -> Document:
    """Return the output of ``noneg plan`` for other goals: the number of labels needed."""
    rows = tuple((name, Number(n, 0)) for name, n in answer.rows.items())
    table = Table(
        caption="", header=("", ""), rows=(*rows, ("resulting error", Number(answer.error)))
    )
    sentence = Sentence(text=f"Assumes: {answer.assumes}.")
    return as_document(
        Section(name="rows", title="", tables=(table,)),
        Section(name="kind", title="", sentences=(sentence,)),
        title=f"To {answer.question}, you need",
    )


def as_document(
    *sections: Section,
    title: str = "",
    subtitle: str = "",
    verdict: str = "",
    warnings: Sequence[str] = (),
) -> Document:
    """Return the document for a command that answers a single question."""
    return Document(
        title=title,
        subtitle=subtitle,
        verdict=(Sentence(text=verdict),) if verdict else (),
        facts=(),
        warnings=tuple(warnings),
        sections=sections,
    )


def _cells(found: Estimate) -> tuple[Number, Range]:
    return Number(found.value), Range(found.low, found.high)


def _interval(level: float) -> str:
    return f"{100 * level:.6g} % interval"
