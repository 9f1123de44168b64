"""What ``noneg prior`` prints: one answer or several, whether they agree, and what they assume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.prior import ESTIMATORS, agreement
from noneg.prior.sources import TITLES
from noneg.report.document import Document, Number, Section, Sentence, Table
from noneg.results import fitting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from noneg.prior import PriorEstimate
    from noneg.report.document import Cell

    Estimates = Mapping[str, PriorEstimate]

OVERLAPS = (0.05, 0.1, 0.2)


def prior_answer(answers: Mapping[str, PriorEstimate | str], level: float) -> Document:
    """Return the answers by method as a document; a text says why there is none."""
    rows = tuple(_row(_title(name), found) for name, found in answers.items())
    header = ("", "prior", f"{100 * level:.6g} % confidence", "")
    table = Table(caption="", header=header, rows=rows)
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    said = tuple(Sentence(text=text) for text in _assumptions(estimates))
    assumed = Section(name="assumptions", title="Assumptions", sentences=said)
    return Document(
        title="",
        subtitle="",
        verdict=(Sentence(text=_verdict(estimates, level)),),
        facts=(),
        warnings=tuple(_notes(estimates)),
        sections=(
            Section(name="estimates", title="", tables=(table,)),
            *([assumed] if said else []),
        ),
    )


def _title(name: str) -> str:
    return TITLES[name] if name in TITLES else ESTIMATORS[name].title


def _row(title: str, found: PriorEstimate | str) -> tuple[Cell, ...]:
    if isinstance(found, str):
        return title, Number(None), "no answer", found
    value, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"[{low}, {high}]"
    if found.is_bound and found.labelled:
        known = f"{low} to {high}"
    return title, Number(found.value, len(value.partition(".")[2])), known, found.kind


def _verdict(estimates: Estimates, level: float) -> str:
    if not estimates:
        return "No method has an answer."
    if len(estimates) > 1:
        return _agreement(estimates)
    (found,) = estimates.values()
    _, low, high = fitting(found.value, found.low, found.high)
    known = f"at most {high}" if found.is_bound else f"between {low} and {high}"
    return f"The prior is {known} with {100 * level:.6g} % confidence."


def _agreement(estimates: Estimates) -> str:
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


def _notes(estimates: Estimates) -> Iterator[str]:
    """Yield every warning once, after the methods that it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for name, found in estimates.items():
        for warning in found.warnings:
            about.setdefault(warning, []).append(_title(name))
    for warning, titles in about.items():
        whose = "" if len(titles) == len(estimates) else f"{', '.join(titles)}: "
        yield f"{whose}{warning}"


def _assumptions(estimates: Estimates) -> Iterator[str]:
    bounds = [found for found in estimates.values() if found.is_bound]
    if len(estimates) > 1:
        yield "Each method assumes its own, which it prints when asked alone."
        if bounds:
            yield (
                "An upper bound counts negatives that look exactly like positives as positives; no "
                "data of this kind tell how many there are."
            )
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
    return (
        "No data of this kind tell whether a part of the negatives looks exactly like positives. "
        f"If one does, the prior is smaller: {parts} of the negatives. If you know a limit of that "
        "part, pass it as --overlap for an interval."
    )
