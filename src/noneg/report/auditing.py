"""An audit and its plan as documents: findings, costs, and a comparison with labeling."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.audit import Audit, Design, KnownNegatives
    from noneg.report.document import Cell


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
    sections, verdict = audit_sections(audit), [_verdict(audit)]
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


def _verdict(audit: Audit) -> str:
    prior = audit.prior
    return say("audit_prior", value=100 * prior.value, low=100 * prior.low, high=100 * prior.high)


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
