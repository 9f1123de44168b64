"""An audit and its plan as documents: what was learnt, what it cost, and how labeling compares."""

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
    """Return what ``noneg audit plan`` prints: the half-widths to expect."""
    expected = design.expected
    sizes = dict.fromkeys(expected.reviews.tolist())
    names = [str(target) for target in design.targets]
    found = {
        (str(name), int(n)): f"{width:.4f} ({simple:,.0f})"
        for name, n, width, simple in zip(*expected.columns().values(), strict=True)
    }
    rows = tuple((f"{n:,}", *(found[name, n] for name in names)) for n in sizes)
    words = (
        "Half-widths of 95 % intervals to expect if the guess behind the choice of rows is right. "
        "In brackets: reviews that a simple random sample needs for the same standard error."
    )
    table = Table(caption="", header=("reviews", *names), rows=rows)
    order = (
        "You may stop any time and look."
        if design.sequential
        else "If you stop early, the rows so far are a smaller sample."
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
                title="What to expect",
                sentences=(Sentence(text=words),),
                tables=(table,) if rows else (),
            ),
        ),
    )


def audit_document(audit: Audit) -> Document:
    """Return what ``noneg audit read`` prints."""
    return Document(
        title="",
        subtitle=_sample(audit),
        verdict=(Sentence(text=_verdict(audit)),),
        facts=(),
        warnings=audit.notes,
        sections=(*audit_sections(audit),),
    )


def audit_sections(audit: Audit, *, chart: bool = False) -> Iterator[Section]:
    """Yield what was learnt, how labeling compares and, if asked for, when to stop."""
    yield Section(
        name=AUDIT,
        title="What did the review say?",
        sentences=(Sentence(text=_sample(audit)), Sentence(text=_cost(audit))),
        charts=("audit",) if chart else (),
        tables=(_estimates(audit),),
    )
    yield Section(
        name="labelling",
        title="Are labeled positives like the others?",
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
    found = "no positive" if per is None else f"a positive in every {per:.1f} rows"
    return (
        f"The review found {found}. Its numbers are of the whole table and need neither a prior "
        "nor that labeling is at random."
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
    caption = "From reviewed rows alone"
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
    return Table(caption="Labeled positives beside the review", header=header, rows=rows)


def _labeling(audit: Audit) -> str:
    apart = [name for name, one in audit.agreements.items() if not one.agrees]
    if apart:
        return (
            f"No: labeled positives differ from those found by the review in {', '.join(apart)}. "
            "Numbers from labeled positives are wrong there; use the review's."
        )
    return (
        "The review does not contradict it. Where it does not, both together are shown: they are "
        "sharper, and right only if labeling is at random."
    )


def _selection(audit: Audit) -> str:
    one = audit.selection
    limit = f"at most {one.high:.3g}" if one.high < float("inf") else "without an upper limit"
    return (
        f"Selection factor {one.value:.3g}, {limit}: how many times more or less likely than a "
        "labeled positive a hidden one is to have scores in some third of their range."
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
        "Stop: every interval is short enough."
        if audit.is_done
        else "Go on: an interval is longer than wanted."
    )
    table = Table(
        caption="Intervals that hold at every look",
        header=("", _level(audit), "half-width", "wanted"),
        rows=rows,
    )
    return Section(
        name="stopping", title="Stop or go on?", sentences=(Sentence(text=words),), tables=(table,)
    )


def audit_rows(audit: Audit) -> list[dict[str, float | str | None]]:
    """Return the rows of the chart: each metric by the review, by labels and by both."""
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
    """Return what known negatives without a design tell."""
    first, *others = found.notes
    low, high = found.prior_limits
    rows: list[tuple[Cell, ...]] = [
        ("Share of positives in these rows", Range(low, high)),
        ("AUROC among reviewed rows alone", Number(found.reviewed_auroc)),
        ("Mean rank of known negatives", Number(found.rank)),
    ]
    if found.auroc is not None:
        rows.append(("AUROC, if labeling is at random", Range(*found.auroc)))
    return Document(
        title="",
        subtitle=f"{found.n_positive:,} labeled positives, {found.n_negative:,} known negatives, "
        f"{found.n_unlabeled:,} rows that nobody looked at",
        verdict=(Sentence(text=first),),
        facts=(),
        warnings=tuple(others),
        sections=(
            Section(
                name="negatives",
                title="What known negatives tell",
                tables=(Table(caption="", header=("", ""), rows=tuple(rows)),),
            ),
        ),
    )
