"""An audit and its plan as documents: findings, costs, and a comparison with labeling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.report.document import Document, Number, Range, Section, Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.audit import Audit, Design, KnownNegatives
    from noneg.report.document import Cell
    from noneg.results import Estimate

AUDIT = "audit"


def plan_document(design: Design) -> Document:
    """Return the output of ``noneg audit plan``: the expected half-widths."""
    expected = design.expected
    sizes = dict.fromkeys(expected.reviews.tolist())
    names = [str(target) for target in design.targets]
    found = {
        (str(name), int(n)): f"{width:.4f} ({simple:,.0f})"
        for name, n, width, simple in zip(*expected.columns().values(), strict=True)
    }
    rows = tuple((f"{n:,}", *(found[name, n] for name in names)) for n in sizes)
    words = (
        "Expected half-widths of 95 % intervals, if the guessed prior is right. In "
        "parentheses: the number of reviews that a simple random sample needs for "
        "the same standard error."
    )
    table = Table(caption="", header=("reviews", *names), rows=rows)
    order = (
        "You may look at the results and stop at any time."
        if design.sequential
        else "If you stop early, the rows reviewed so far are a smaller random sample."
    )
    return Document(
        title="",
        subtitle=f"{design.n_positive:,.0f} labeled positives, {design.n_unlabeled:,.0f} other "
        f"rows, {design.setting}",
        verdict=(
            Sentence(text=f"Review {design.budget:,} rows from the top of the list. {order}"),
        ),
        facts=(),
        warnings=(),
        sections=(
            Section(
                name="expected",
                title="Expected precision",
                sentences=(Sentence(text=words),),
                tables=(table,) if rows else (),
            ),
        ),
    )


def audit_document(audit: Audit) -> Document:
    """Return the output of ``noneg audit read``."""
    return Document(
        title="",
        subtitle=_sample(audit),
        verdict=(Sentence(text=_verdict(audit)),),
        facts=(),
        warnings=audit.notes,
        sections=(*audit_sections(audit),),
    )


def audit_sections(audit: Audit, *, chart: bool = False) -> Iterator[Section]:
    """Yield the findings, the comparison with labeling and, if requested, when to stop."""
    yield Section(
        name=AUDIT,
        title="What did the review find?",
        sentences=(Sentence(text=_sample(audit)), Sentence(text=_cost(audit))),
        charts=("audit",) if chart else (),
        tables=(_estimates(audit),),
    )
    yield Section(
        name="labeling",
        title="Are labeled positives representative?",
        sentences=(Sentence(text=_labeling(audit)), Sentence(text=_selection(audit))),
        tables=(_agreements(audit),),
    )
    if audit.sequences:
        yield _stopping(audit)


def _sample(audit: Audit) -> str:
    return (
        f"{audit.n_reviewed:,} of {audit.budget:,} rows reviewed, {audit.n_positive:,} of them "
        f"positive; {audit.n_labeled:,.0f} labeled positives and {audit.n_unlabeled:,.0f} other "
        "rows in the table."
    )


def _cost(audit: Audit) -> str:
    per = audit.n_reviewed / audit.n_positive if audit.n_positive else None
    found = "no positive" if per is None else f"one positive per {per:.1f} rows"
    return (
        f"The review found {found}. These results apply to the whole table. They "
        "need no prior and do not assume random labeling."
    )


def _verdict(audit: Audit) -> str:
    low, high = audit.prior.low, audit.prior.high
    return (
        f"Positives are {100 * audit.prior.value:.3g} % of the rows "
        f"({100 * low:.3g} to {100 * high:.3g} %)."
    )


def _cells(found: Estimate) -> tuple[Cell, Cell]:
    return Number(found.value), Range(found.low, found.high)


def _level(audit: Audit) -> str:
    return f"{100 * audit.level:.6g} % interval"


def _estimates(audit: Audit) -> Table:
    rows = tuple((name, *_cells(one)) for name, one in audit.estimates.items())
    caption = "From reviewed rows only"
    return Table(caption=caption, header=("", "value", _level(audit)), rows=rows)


def _agreements(audit: Audit) -> Table:
    rows = tuple(
        (
            name,
            Number(one.audit.value),
            Number(one.labeled),
            Number(one.p_value, 3),
            *((Number(None), Range(None, None)) if one.fused is None else _cells(one.fused)),
        )
        for name, one in audit.agreements.items()
    )
    header = ("", "review", "labeled", "p-value", "both", _level(audit))
    return Table(caption="Labeled positives compared with the review", header=header, rows=rows)


def _labeling(audit: Audit) -> str:
    apart = [name for name, one in audit.agreements.items() if not one.agrees]
    if apart:
        return (
            f"No: labeled positives differ from those found by the review in {', '.join(apart)}. "
            "Results from labeled positives are wrong there; use those from the review."
        )
    return (
        "The review does not contradict it. Combined results are shown where both "
        "agree. They are more precise, but correct only if positives were labeled at "
        "random."
    )


def _selection(audit: Audit) -> str:
    one = audit.selection
    limit = f"at most {one.high:.3g}" if one.high < float("inf") else "without an upper limit"
    return (
        f"Selection factor {one.value:.3g}, {limit}: the largest ratio between the "
        "shares of hidden and of labeled positives in any third of the score range."
    )


def _stopping(audit: Audit) -> Section:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            Range(one.last.low, one.last.high),
            Number(one.half_width),
            Number(audit.until[name]),
        )
        for name, one in audit.sequences.items()
    )
    words = (
        "Stop: every interval is narrow enough."
        if audit.is_done
        else "Continue: some interval is wider than requested."
    )
    table = Table(
        caption="Intervals that remain valid with repeated looks",
        header=("", _level(audit), "half-width", "wanted"),
        rows=rows,
    )
    return Section(
        name="stopping",
        title="Stop or continue?",
        sentences=(Sentence(text=words),),
        tables=(table,),
    )


def audit_rows(audit: Audit) -> list[dict[str, float | str | None]]:
    """Return the rows of the chart: each metric from the review, from labels and from both."""
    rows: list[dict[str, float | str | None]] = []
    for name, one in audit.agreements.items():
        review = {"value": one.audit.value, "low": one.audit.low, "high": one.audit.high}
        rows.append({"metric": name, "side": "review", **review})
        only = {"value": one.labeled, "low": one.labeled, "high": one.labeled}
        rows.append({"metric": name, "side": "labeled positives", **only})
        if one.fused is not None:
            both = {"value": one.fused.value, "low": one.fused.low, "high": one.fused.high}
            rows.append({"metric": name, "side": "both", **both})
    return rows


def negatives_document(found: KnownNegatives) -> Document:
    """Return a document on known negatives that were not drawn from a design."""
    first, *others = found.notes
    low, high = found.prior_limits
    rows: list[tuple[Cell, ...]] = [
        ("Share of positives in these rows", Range(low, high)),
        ("AUROC among reviewed rows only", Number(found.reviewed_auroc)),
        ("Mean rank of known negatives", Number(found.rank)),
    ]
    if found.auroc is not None:
        rows.append(("AUROC, if labeling is at random", Range(*found.auroc)))
    return Document(
        title="",
        subtitle=f"{found.n_positive:,} labeled positives, {found.n_negative:,} known negatives, "
        f"{found.n_unlabeled:,} rows without a review",
        verdict=(Sentence(text=first),),
        facts=(),
        warnings=tuple(others),
        sections=(
            Section(
                name="negatives",
                title="Evidence from known negatives",
                tables=(Table(caption="", header=("", ""), rows=tuple(rows)),),
            ),
        ),
    )
