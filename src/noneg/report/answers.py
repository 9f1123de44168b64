"""Command output as documents: a threshold, negatives, a map, a plan, a prior, an audit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from noneg.report.document import (
    Document,
    Number,
    Range,
    Section,
    Table,
    estimate_cells,
    estimate_row,
    interval_title,
)
from noneg.results import fitting
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from noneg.audit import Audit, Design, KnownNegatives
    from noneg.performance import CertifiedNegatives
    from noneg.prior import PriorEstimate
    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import Cell
    from noneg.results import Estimate
    from noneg.scores import PUScores
    from noneg.theory import LabelPlan, Plan

    Estimates = Mapping[str, PriorEstimate]


GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}
# Shares of negatives that might look exactly like positives.
OVERLAPS = (0.05, 0.1, 0.2)


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
    rows: list[tuple[Cell, ...]] = [("Rows flagged", Number(found["flagged"]), "of everyone")]
    rows += [(SHOWN[name], *estimate_cells(rate)) for name, rate in rates.items()]
    if "next" in found:
        count = found["next"]
        cells = Number(count["expected"], 0), Range(count["low"], count["high"], 0)
        rows.append((f"Flagged in the next {count['rows']:,} rows", *cells))
    return Document.of(
        [f"{use}: {found['criterion']}."],
        Section.of("rates", "", Table.of(("", "value", interval_title(level)), rows)),
        *_threshold_groups(groups or {}, level),
        subtitle=f"{scores!r}",
        warnings=tuple(found["notes"]),
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
        rows.append(row)
    interval = interval_title(level)
    header = ("group", "own threshold", "prior", "precision", interval, "recall", interval)
    text = "Precision and recall are for the single threshold above; intervals hold simultaneously."
    return [Section.of("groups", "By group", text, Table.of(header, rows))]


def negatives_answer(
    scores: PUScores, found: CertifiedNegatives, notes: Sequence[str] = ()
) -> Document:
    """Return the output of ``noneg negatives``: the number of certified rows and the cutoff."""
    rows = (
        ("Unlabeled rows", Number(found.unlabeled, 0)),
        ("Certified negative", Number(found.certified, 0)),
        ("Remaining rows", Number(found.unlabeled - found.certified, 0)),
        ("Largest share of positives among unlabeled rows", Number(found.hidden)),
    )
    said = say("certified_none", fdr=found.fdr)
    if found.certified:
        said = say("certified_up_to", cutoff=found.cutoff, percent=100 * found.fdr)
    return Document.of(
        [said],
        Section.of("rows", "", Table.of(("", ""), rows)),
        subtitle=f"{scores!r}",
        warnings=tuple(notes),
    )


def recalibration_answer(title: str, found: HeldOut) -> Document:
    """Return the output of ``noneg recalibrate``: metrics before and after, on held-out rows."""
    from noneg.metrics import METRICS

    level, sides = interval_title(found.level), (found.before, found.after, found.change)
    rows = (
        (METRICS[name].title, *estimate_cells(*(side[name] for side in sides)))
        for name in found.change
    )
    header = ("", "before", level, "after", level, "change", level)
    text = say("repair_held_out", folds=found.folds)
    return Document.of(
        [found.reason or f"Method: {found.method}."],
        Section.of("change", "Before and after", text, Table.of(header, rows)),
        subtitle=title,
        warnings=tuple(found.warnings),
    )


def plan_answer(answer: Plan, eps: float, prior: float) -> Document:
    """Return the output of ``noneg plan``: the number of rows needed for a precision."""
    rows = (
        ("positives", Number(answer.n_positive, 0)),
        ("unlabeled rows", Number(answer.n_unlabeled, 0)),
        ("bins", Number(answer.bins, 0)),
        ("resulting error", Number(answer.error, 6)),
    )
    kind = "a guarantee" if answer.method == "bound" else "an approximation"
    title = f"For an error of {eps:g} at a prior of {prior:g}, you need"
    return _needed(title, rows, f"This is {kind}: {answer.assumes}.")


def labels_answer(answer: LabelPlan) -> Document:
    """Return the output of ``noneg plan`` for other goals: the number of labels needed."""
    rows = [(name, Number(n, 0)) for name, n in answer.rows.items()]
    rows.append(("resulting error", Number(answer.error)))
    return _needed(f"To {answer.question}, you need", rows, f"Assumes: {answer.assumes}.")


def _needed(title: str, rows: Sequence[tuple[Cell, ...]], assumed: str) -> Document:
    table = Section.of("rows", "", Table.of(("", ""), rows))
    return Document.of([], table, Section.of("kind", "", assumed), title=title)


def prior_answer(answers: Mapping[str, PriorEstimate | str], level: float) -> Document:
    """Return the estimates by method as a document; a string explains a missing estimate."""
    rows = (_row(_title(name), found) for name, found in answers.items())
    table = Table.of(("", "prior", f"{100 * level:.6g}% confidence", ""), rows)
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    said = list(_assumptions(estimates))
    return Document.of(
        [_verdict(estimates, level)],
        Section.of("estimates", "", table),
        *([Section.of("assumptions", "Assumptions", *said)] if said else []),
        warnings=tuple(_notes(estimates)),
    )


def _title(name: str) -> str:
    from noneg.prior import ESTIMATORS
    from noneg.prior.sources import TITLES

    return TITLES[name] if name in TITLES else ESTIMATORS[name].title


def _row(title: str, found: PriorEstimate | str) -> tuple[Cell, ...]:
    if isinstance(found, str):
        return title, Number(None), "no estimate", found
    value, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"[{low}, {high}]"
    if found.is_bound and found.labeled:
        known = f"{low} to {high}"
    return title, Number(found.value, len(value.partition(".")[2])), known, found.kind


def _verdict(estimates: Estimates, level: float) -> str:
    if not estimates:
        return "No method produced an estimate."
    if len(estimates) > 1:
        return _agreement(estimates)
    (found,) = estimates.values()
    _, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"between {low} and {high}"
    return f"The prior is {known} with {100 * level:.6g}% confidence."


def _agreement(estimates: Estimates) -> str:
    from noneg.prior import agreement

    shared = agreement(estimates.values())
    if shared is not None:
        _, low, high = fitting(shared[0], *shared)
        return f"The methods agree: all allow priors from {low} to {high}."
    least = max(estimates, key=lambda name: estimates[name].low)
    most = min(estimates, key=lambda name: estimates[name].high)
    ends = {"low": estimates[least].low, "high": estimates[most].high}
    return say("methods_disagree", least=_title(least), most=_title(most), **ends)


def _notes(estimates: Estimates) -> Iterator[str]:
    """Yield each warning once, prefixed with its methods unless it applies to all of them."""
    about: dict[str, list[str]] = {}
    for name, found in estimates.items():
        for warning in found.warnings:
            about.setdefault(warning, []).append(_title(name))
    for warning, titles in about.items():
        whose = "" if len(titles) == len(estimates) else f"{', '.join(titles)}: "
        yield f"{whose}{warning}"


def _assumptions(estimates: Estimates) -> Iterator[str]:
    if len(estimates) > 1:
        yield say("methods_assume")
        if any(found.is_bound for found in estimates.values()):
            yield say("methods_bound")
        return
    for found in estimates.values():
        yield f"Assumes that {found.assumption}."
        yield f"Interval: {found.interval}."
        if found.is_bound:
            yield _if_overlap(found)


def _if_overlap(found: PriorEstimate) -> str:
    parts = ", ".join(
        f"{fitting(found.with_overlap(part), found.low, found.high)[0]} for {part:.0%}"
        for part in OVERLAPS
    )
    return say("prior_overlap", parts=parts)


def plan_document(design: Design) -> Document:
    """Return the output of ``noneg audit plan``: the expected half-widths."""
    expected = design.expected
    reviews = dict.fromkeys(expected.reviews.tolist())
    names = [str(target) for target in design.targets]
    found = {
        (str(name), int(n)): f"{width:.4f} ({simple:,.0f})"
        for name, n, width, simple in zip(*expected.columns().values(), strict=True)
    }
    rows = [(f"{n:,}", *(found[name, n] for name in names)) for n in reviews]
    tables = [Table.of(("reviews", *names), rows)] if rows else []
    order = say("audit_any_time" if design.sequential else "audit_early")
    sizes = {"positives": design.n_positive, "unlabeled": design.n_unlabeled}
    return Document.of(
        [say("audit_plan", budget=design.budget, order=order)],
        Section.of("expected", "Expected precision", say("audit_expected"), *tables),
        subtitle=say("audit_plan_sample", **sizes, setting=design.setting),
    )


def audit_document(audit: Audit) -> Document:
    """Return the output of ``noneg audit read``."""
    ends = {name: 100 * getattr(audit.prior, name) for name in ("value", "low", "high")}
    verdict, sections = [say("audit_prior", **ends)], audit_sections(audit)
    return Document.of(verdict, *sections, subtitle=_sample(audit), warnings=audit.notes)


def audit_sections(audit: Audit, *, chart: bool = False) -> Iterator[Section]:
    """Yield the findings, the comparison with labeling and, if requested, when to stop."""
    title, charts = "What did the review find?", ("audit",) if chart else ()
    yield Section.of("audit", title, _sample(audit), _cost(audit), _estimates(audit), charts=charts)
    title, told = "Are labeled positives representative?", (_labeling(audit), _selection(audit))
    yield Section.of("labeling", title, *told, _agreements(audit))
    if audit.sequences:
        yield _stopping(audit)


def _sample(audit: Audit) -> str:
    names = ("reviewed", "positive", "labeled", "unlabeled")
    counts = {name: getattr(audit, f"n_{name}") for name in names}
    return say("audit_sample", budget=audit.budget, **counts)


def _cost(audit: Audit) -> str:
    per = audit.n_reviewed / audit.n_positive if audit.n_positive else None
    found = "no positive" if per is None else f"one positive per {per:.1f} rows"
    return say("audit_cost", found=found)


def _estimates(audit: Audit) -> Table:
    rows = ((name, *estimate_cells(one)) for name, one in audit.estimates.items())
    header = ("", "value", interval_title(audit.level))
    return Table.of(header, rows, "From reviewed rows only")


def _agreements(audit: Audit) -> Table:
    rows = (
        (
            name,
            Number(one.audit.value),
            Number(one.labeled),
            Number(one.p_value, 3),
            *estimate_cells(one.fused),
        )
        for name, one in audit.agreements.items()
    )
    header = ("", "review", "labeled", "p-value", "both", interval_title(audit.level))
    return Table.of(header, rows, "Labeled positives compared with the review")


def _labeling(audit: Audit) -> str:
    apart = [name for name, one in audit.agreements.items() if not one.agrees]
    return say("audit_differs", metrics=", ".join(apart)) if apart else say("audit_agrees")


def _selection(audit: Audit) -> str:
    one = audit.selection
    limit = f"at most {one.high:.3g}" if one.high < float("inf") else "without an upper limit"
    return say("audit_selection", value=one.value, limit=limit)


def _stopping(audit: Audit) -> Section:
    rows = (
        (name, estimate_cells(one.last)[1], Number(one.half_width), Number(audit.until[name]))
        for name, one in audit.sequences.items()
    )
    words = say("audit_stop" if audit.is_done else "audit_continue")
    header = ("", interval_title(audit.level), "half-width", "wanted")
    table = Table.of(header, rows, "Intervals that remain valid with repeated looks")
    return Section.of("stopping", "Stop or continue?", words, table)


def audit_rows(audit: Audit) -> list[dict[str, float | str | None]]:
    """Return the rows of the chart: each metric from the review, from labels and from both."""
    rows: list[dict[str, float | str | None]] = []
    for name, one in audit.agreements.items():
        sides = {"review": estimate_row(one.audit)}
        sides["labeled positives"] = dict.fromkeys(("value", "low", "high"), one.labeled)
        if one.fused is not None:
            sides["both"] = estimate_row(one.fused)
        rows += [{"metric": name, "side": side, **row} for side, row in sides.items()]
    return rows


def negatives_document(found: KnownNegatives) -> Document:
    """Return a document on known negatives that were not drawn from a design."""
    first, *others = found.notes
    low, high = found.prior_limits
    counts = {name: getattr(found, f"n_{name}") for name in ("positive", "negative", "unlabeled")}
    rows: list[tuple[Cell, ...]] = [
        ("Share of positives in these rows", Range(low, high)),
        ("AUROC among reviewed rows only", Number(found.reviewed_auroc)),
        ("Mean rank of known negatives", Number(found.rank)),
    ]
    if found.auroc is not None:
        rows.append(("AUROC, if labeling is at random", Range(*found.auroc)))
    return Document.of(
        [first],
        Section.of("negatives", "Evidence from known negatives", Table.of(("", ""), rows)),
        subtitle=say("negatives_sample", **counts),
        warnings=tuple(others),
    )
