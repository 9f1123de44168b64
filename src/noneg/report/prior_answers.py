"""The output of ``noneg prior``: one or more estimates, their agreement, and their assumptions."""

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
    """Return the estimates by method as a document; a string explains a missing estimate."""
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
    return f"The prior is {known} with {100 * level:.6g} % confidence."


def _agreement(estimates: Estimates) -> str:
    shared = agreement(estimates.values())
    if shared is not None:
        _, low, high = fitting(shared[0], *shared)
        return f"The methods agree: all allow priors from {low} to {high}."
    least = max(estimates, key=lambda name: estimates[name].low)
    most = min(estimates, key=lambda name: estimates[name].high)
    one, other = estimates[least].low, estimates[most].high
    return (
        f"The methods disagree: {_title(least)} estimates at least {one:.3g}, "
        f"{_title(most)} at most {other:.3g}. An assumption of one of them is "
        "violated."
    )


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
    bounds = [found for found in estimates.values() if found.is_bound]
    if len(estimates) > 1:
        yield "Each method has its own assumptions. Run a single method to see them."
        if bounds:
            yield (
                "An upper bound counts negatives that look exactly like positives as "
                "positives. Data of this kind cannot show how many there are."
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
        "Data of this kind cannot show whether some negatives look exactly like "
        f"positives. If so, the prior is smaller: {parts} of the negatives. If you "
        "know an upper limit for this share, pass it as --overlap to get an interval."
    )
