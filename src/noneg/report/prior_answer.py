"""The answer of ``noneg prior`` as a document: estimates side by side, and whether they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.report.answers import as_document
from noneg.report.document import Document, Number, Section, Sentence, Table
from noneg.results import fitting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from noneg.prior import PriorEstimate
    from noneg.report.document import Cell

    Answers = Mapping[str, "PriorEstimate | str"]
    Estimates = dict[str, PriorEstimate]

OVERLAPS = (0.05, 0.1, 0.2)


def prior_answer(answers: Answers, level: float) -> Document:
    """Return what ``noneg prior`` prints: one estimate or several, and what they assume."""
    header = ("", "prior", f"{100 * level:.6g} % confidence", "")
    rows = tuple(_row(_title(name), found) for name, found in answers.items())
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    sentences = tuple(Sentence(text=text) for text in _sentences(estimates))
    assumed = Section(name="assumptions", title="Assumptions", sentences=sentences)
    return as_document(
        Section(name="estimates", title="", tables=(Table(caption="", header=header, rows=rows),)),
        *([assumed] if sentences else []),
        warnings=tuple(_notes(estimates)),
    )


def _title(name: str) -> str:
    from noneg.prior import ESTIMATORS
    from noneg.prior.sources import TITLES

    return TITLES[name] if name in TITLES else ESTIMATORS[name].title


def _row(title: str, found: PriorEstimate | str) -> tuple[Cell, ...]:
    if isinstance(found, str):
        return title, Number(None), "no answer", found
    value, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"[{low}, {high}]"
    if found.is_bound and found.labelled:
        known = f"{low} to {high}"
    kind = f"{found.kind}; see the note" if found.warnings else found.kind
    return title, value, known, kind


def _sentences(estimates: Estimates) -> Iterator[str]:
    if len(estimates) == 1:
        yield from _alone(next(iter(estimates.values())))
    elif estimates:
        yield _agreement(estimates)
        yield "Each method makes its own assumption, which it prints when asked alone."
        if any(found.is_bound for found in estimates.values()):
            yield (
                "An upper bound counts negatives that look exactly like positives as positives; no "
                "data of this kind tell how many there are."
            )


def _notes(estimates: Estimates) -> Iterator[str]:
    """Yield every warning once, with the methods that it is about if there are others."""
    about: dict[str, list[str]] = {}
    for name, found in estimates.items():
        for warning in found.warnings:
            about.setdefault(warning, []).append(_title(name))
    for warning, titles in about.items():
        yield warning if len(titles) == len(estimates) else f"{', '.join(titles)}: {warning}"


def _alone(found: PriorEstimate) -> Iterator[str]:
    yield f"Assumes that {found.assumption}."
    yield f"Interval: {found.interval}."
    if not found.is_bound:
        return
    parts = [
        f"{fitting(found.with_overlap(part), found.low, found.high)[0]} for {part:.0%}"
        for part in OVERLAPS
    ]
    yield (
        "No data of this kind tell whether a part of the negatives looks exactly like positives. "
        f"If one does, the prior is smaller: {', '.join(parts)} of the negatives. If you know a "
        "limit of that part, pass it as --overlap for an interval."
    )


def _agreement(estimates: Estimates) -> str:
    from noneg.prior import agreement

    shared = agreement(estimates.values())
    if shared is not None:
        _, low, high = fitting(shared[0], *shared)
        return f"They agree: all allow priors from {low} to {high}."
    least = max(estimates, key=lambda name: estimates[name].low)
    most = min(estimates, key=lambda name: estimates[name].high)
    one, other = estimates[least].low, estimates[most].high
    return (
        f"They disagree: {_title(least)} says at least {one:.3g}, {_title(most)} at most "
        f"{other:.3g}. An assumption of one of them does not hold."
    )
