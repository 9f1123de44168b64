"""Answers of commands as documents: a threshold, a prior, a recalibration and a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noneg.report.document import Document, Number, Range, Section, Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from noneg.performance import BestThreshold
    from noneg.prior import PriorEstimate
    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import Cell
    from noneg.results import Estimate
    from noneg.scores import PUScores
    from noneg.theory import Plan

    Answers = Mapping[str, "PriorEstimate | str"]

GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}
OVERLAPS = (0.05, 0.1, 0.2)
CHOSEN_HERE = (
    "The threshold was chosen on these rows, so it looks a little better than it is; intervals "
    "take it as given. Measure it on other rows, with --at, before you promise anything."
)


def threshold_answer(
    scores: PUScores, best: BestThreshold, rates: Mapping[str, Estimate], level: float
) -> Document:
    """Return what ``noneg threshold`` prints: the threshold, and the rates from it on."""
    use = f"Use threshold {best.threshold:.6g}" if rates else "Never act"
    flagged: tuple[Cell, ...] = "Rows flagged", Number(float(best.confusion.ppr)), "of everyone"
    rows = (flagged, *((SHOWN[name], *_cells(rate)) for name, rate in rates.items()))
    table = Table(caption="", header=("", "value", _interval(level)), rows=rows)
    return _document(
        Section(name="rates", title="", tables=(table,)),
        subtitle=f"{scores!r}",
        verdict=f"{use}: {best.criterion}.",
        warnings=() if best.criterion == GIVEN else (CHOSEN_HERE,),
    )


def recalibration_answer(title: str, found: HeldOut) -> Document:
    """Return what ``noneg recalibrate`` prints: metrics before and after, on held-out rows."""
    from noneg.metrics import METRICS

    level = _interval(found.level)
    rows = tuple(
        (METRICS[name].title, *_cells(found.before[name]), *_cells(found.after[name]), *_cells(gap))
        for name, gap in found.change.items()
    )
    header = ("", "before", level, "after", level, "change", level)
    text = f"On held-out rows of {found.folds} folds; lower is better. Intervals do not include "
    sentence = Sentence(text=f"{text}how the map itself varies.")
    table = Table(caption="", header=header, rows=rows)
    return _document(
        Section(name="change", title="Before and after", sentences=(sentence,), tables=(table,)),
        subtitle=title,
        verdict=found.reason or f"Method: {found.method}.",
        warnings=found.warnings,
    )


def prior_answer(answers: Answers, level: float) -> Document:
    """Return what ``noneg prior`` prints: one estimate or several, and what they assume."""
    from noneg.prior import ESTIMATORS

    titles = {name: ESTIMATORS[name].title for name in answers}
    rows = tuple(_prior_row(titles[name], found) for name, found in answers.items())
    table = Table(caption="", header=("", "prior", _interval(level), ""), rows=rows)
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    sentences = tuple(Sentence(text=text) for text in _assumptions(list(estimates.values())))
    assumed = Section(name="assumptions", title="Assumptions", sentences=sentences)
    return _document(
        Section(name="estimates", title="", tables=(table,)),
        *([assumed] if sentences else []),
        warnings=tuple(_prior_notes(estimates, titles)),
    )


def _prior_row(title: str, found: PriorEstimate | str) -> tuple[Cell, ...]:
    if isinstance(found, str):
        return title, Number(None), "no answer", found
    return title, Number(found.value), Range(found.low, found.high), ""


def _prior_notes(
    estimates: Mapping[str, PriorEstimate], titles: Mapping[str, str]
) -> dict[str, None]:
    """Return the warnings, each once; those of several methods begin with its name."""
    several = len(estimates) > 1
    return dict.fromkeys(
        f"{titles[name]}: {warning}" if several else warning
        for name, found in estimates.items()
        for warning in found.warnings
    )


def _assumptions(estimates: Sequence[PriorEstimate]) -> Iterator[str]:
    overlap = "No data of this kind tell whether a part of the negatives looks exactly like "
    if len(estimates) == 1:
        (found,) = estimates
        parts = ", ".join(f"{found.with_overlap(part):.4f} for {part:.0%}" for part in OVERLAPS)
        yield f"Assumes that {found.assumption}."
        yield f"Interval: {found.interval}."
        yield f"{overlap}positives. If one does, the prior is smaller: {parts} of the negatives."
    elif estimates:
        values = [found.value for found in estimates]
        differ = f"The methods differ by {max(values) - min(values):.4f}"
        yield f"{differ}; each assumes its own, which it prints when asked alone."
        yield f"{overlap}positives. If one does, all methods count it as positive."


def plan_answer(answer: Plan, eps: float, prior: float) -> Document:
    """Return what ``noneg plan`` prints: how many rows a precision takes."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("positives", Number(answer.n_positive, 0)),
        ("unlabeled rows", Number(answer.n_unlabeled, 0)),
        ("bins", Number(answer.bins, 0)),
        ("error then", Number(answer.error, 6)),
    )
    kind = "a guarantee" if answer.method == "bound" else "an approximation"
    sentence = Sentence(text=f"It is {kind}: {answer.assumes}.")
    table = Table(caption="", header=("", ""), rows=rows)
    return _document(
        Section(name="rows", title="", tables=(table,)),
        Section(name="kind", title="", sentences=(sentence,)),
        title=f"Error {eps:g} at prior {prior:g} takes",
    )


def _document(
    *sections: Section,
    title: str = "",
    subtitle: str = "",
    verdict: str = "",
    warnings: Sequence[str] = (),
) -> Document:
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
