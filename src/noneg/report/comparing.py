"""The page that compares models: overlaid diagrams, differences, and the ranking at each prior."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from noneg.report.charts import DIAGRAM, LOOKS, Drawing, difference, models, order
from noneg.report.document import (
    About,
    Document,
    Number,
    Range,
    Section,
    Table,
    estimate_cells,
    estimate_row,
    interval_title,
)
from noneg.report.html import render_still
from noneg.report.payload import overlaid
from noneg.report.words import sample
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noneg.comparison import Compared, Comparison
    from noneg.performance import Ordering
    from noneg.report.document import Cell
    from noneg.report.payload import Rows

PRIORS = 61  # Number of points on the curves over the prior.


def comparison_to_html(
    comparison: Comparison, about: About | None = None, *, warnings: Sequence[str] = ()
) -> str:
    """Return a comparison as one HTML page that works without a network.

    Parameters
    ----------
    comparison : Comparison
    about : About, optional
        The origin of the numbers: title, files, command.
    warnings : sequence of str
        Warnings for the reader.

    Examples
    --------
    >>> from noneg import compare
    >>> from noneg.simulation import LogisticGaussian
    >>> score, label = LogisticGaussian.calibrated().draw_rows(2000, seed=0)
    >>> found = compare({"plain": score, "squared": score**2}, label, setting="labeled")
    >>> comparison_to_html(found).startswith("<!DOCTYPE html>")
    True
    """
    about = about or About(title="Which model is best?")
    content = comparison_document(comparison, about, tuple(warnings))
    return render_still(
        content,
        _drawings(comparison),
        scripts=("sort.js", "compare.js"),
        headed=comparison.criteria,
    )


def comparison_document(
    comparison: Comparison, about: About, warnings: tuple[str, ...]
) -> Document:
    """Return the content of the page."""
    return Document.of(
        _verdict(comparison),
        _diagrams(comparison),
        *(_criterion(comparison, found) for found in comparison.criteria.values()),
        *_groups(comparison),
        about.section(),
        title=about.title,
        subtitle=_sample(comparison),
        warnings=warnings,
    )


def comparison_summary(comparison: Comparison, warnings: Sequence[str] = ()) -> Document:
    """Return a comparison without charts, as ``noneg compare`` prints it."""
    level = interval_title(comparison.level)
    tables = (
        Table.of(
            ("", "value", level, "", "difference", level),
            (_brief_row(found, name) for name in comparison.models),
            f"{found.title} ({found.better} is better), difference from {found.reference}",
        )
        for found in comparison.criteria.values()
    )
    leads = (f"{x.title}: {text}" for x in comparison.criteria.values() for text in _tipping(x))
    return Document.of(
        _verdict(comparison),
        Section.of("numbers", "All metrics", *_orders(comparison), *leads, *tables),
        *_groups(comparison),
        subtitle=_sample(comparison),
        warnings=tuple(warnings),
    )


def _groups(comparison: Comparison) -> tuple[Section, ...]:
    """Return the best model in each group under each criterion, with its lead over the next."""
    if not comparison.groups:
        return ()
    rows = (
        (group, found.title, *_leader(found))
        for group, criteria in comparison.groups.items()
        for found in criteria.values()
    )
    level = interval_title(comparison.level)
    header = ("group", "criterion", "best", "next", "difference", level)
    table = Table.of(header, rows, "Best model by group", sortable=True)
    return (Section.of("groups", "By group", say("compared_groups"), table),)


def _leader(found: Compared) -> tuple[Cell, ...]:
    """Return the winner, if there is one, and the difference from the closest other model."""
    best = found.winner or "no clear winner"
    if not found.differences:
        return best, "", *estimate_cells(None)
    close = min(found.differences, key=lambda name: abs(found.differences[name].value))
    return best, close, *estimate_cells(found.differences[close])


def _sample(comparison: Comparison) -> str:
    return f"{len(comparison.models)} models on the same rows: {sample(comparison)}"


def _verdict(comparison: Comparison) -> Iterator[str]:
    wins: dict[str, list[str]] = {}
    for found in comparison.criteria.values():
        if found.winner is not None:
            wins.setdefault(found.winner, []).append(_in_sentence(found.title))
    tied = [found for found in comparison.criteria.values() if len(found.leaders) > 1]
    ties = [
        _in_sentence(found.title)
        + (f" (differences below {found.visible:.4f} are not detectable)" if _hidden(found) else "")
        for found in tied
    ]
    yield _first(wins, everything=all(x.winner for x in comparison.criteria.values()))
    if len(wins) > 1:
        yield from (f"{name} is best by {_listed(titles)}." for name, titles in wins.items())
    if ties:
        yield f"No significant difference: {_listed(ties)}."
    for found in comparison.criteria.values():
        yield from (f"{name}: {why} It was not compared." for name, why in found.unranked.items())
    orders = [(x.title, x.ordering) for x in comparison.criteria.values() if x.ordering]
    turning = [_in_sentence(title) for title, order in orders if order.crossings]
    if turning:
        yield f"The ranking may change with the prior: {_listed(turning)}."


def _first(wins: dict[str, list[str]], *, everything: bool) -> str:
    if not wins:
        return "No model is significantly better than the others."
    if len(wins) > 1:
        return "The best model depends on the metric."
    name, titles = next(iter(wins.items()))
    return f"{name} is best by {'every metric' if everything else _listed(titles)}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _in_sentence(title: str) -> str:
    """Return a title in the form used within a sentence."""
    return title if title.startswith("Brier") else title[0].lower() + title[1:]


def _diagrams(comparison: Comparison) -> Section:
    rows = (
        (
            name,
            Number(float(diagram.score[b]), 3),
            Number(float(diagram.frequency[b]), 3),
            Range(float(diagram.low[b]), float(diagram.high[b]), 3),
        )
        for name, diagram in comparison.diagrams.items()
        for b in range(diagram.score.size)
    )
    header = ("model", "mean score", "share of positives", interval_title(comparison.level))
    table = Table.of(header, rows, "Reliability diagrams", folded=True)
    title, text = "What does each model's score mean?", say("compared_diagrams")
    return Section.of("diagram", title, text, table, charts=(DIAGRAM,))


def _tipping(found: Compared) -> Iterator[str]:
    """Yield the selection factor up to which the winner still beats its closest rival."""
    if not found.tipping:
        return
    rival = min(found.tipping, key=lambda name: found.tipping[name])
    factor = found.tipping[rival]
    key = "lead_up_to" if isfinite(factor) else "lead_always"
    yield say(key, winner=found.winner, rival=rival, factor=f"{factor:.2f}")


def _criterion(comparison: Comparison, found: Compared) -> Section:
    level = interval_title(comparison.level)
    header = ("", "value", level, f"minus {found.reference}", level)
    table = Table.of(header, (_row(found, name) for name in comparison.models), found.title)
    charts, told = [f"difference_{found.name}"], [_judgement(found), *_tipping(found)]
    if found.ordering is not None:
        charts.append(f"order_{found.name}")
        told.append(_order(found))
    title = f"{found.title} ({found.better} is better)"
    return Section.of(found.name, title, *told, table, charts=tuple(charts))


def _row(found: Compared, name: str) -> tuple[Cell, ...]:
    gap = found.differences.get(name)
    cells = ("", "") if gap is None else estimate_cells(gap)
    return name, *estimate_cells(found.estimates[name]), *cells


def _judgement(found: Compared) -> str:
    if found.winner is not None:
        return f"{found.winner} is significantly better than the others."
    if len(found.leaders) < 2:
        return "No winner: some values are outside their possible range and cannot be compared."
    tie = f"Tie between {_listed(list(found.leaders))}"
    if not _hidden(found):
        return f"{tie}."
    return f"{tie}; these rows cannot show differences below {found.visible:.4f}."


def _hidden(found: Compared) -> bool:
    """Return whether a tie could conceal a difference of known size."""
    return bool(found.visible) and found.visible != np.inf


def _brief_row(found: Compared, name: str) -> tuple[Cell, ...]:
    _, value, interval, *gap = _row(found, name)
    return name, value, interval, found.place(name), *gap


def _order(found: Compared) -> str:
    if found.ordering is None or not found.ordering.crossings:
        return "The ranking is the same for all priors shown."
    return f"Best first: {_stretches(found.ordering)}."


def _stretches(ordering: Ordering) -> str:
    return "; ".join(
        f"{' before '.join(order)} for priors from {low:.3f} to {high:.3f}"
        for (low, high), order in zip(ordering.intervals, ordering.orders, strict=True)
    )


def _orders(comparison: Comparison) -> Iterator[str]:
    """Yield the priors at which the order changes, for each criterion."""
    orders = [(x.title, x.ordering) for x in comparison.criteria.values() if x.ordering]
    for title, found in orders:
        if found.crossings:
            yield f"{title}, best first: {_stretches(found)}."
    steady = [title for title, found in orders if not found.crossings]
    if steady:
        low, high = orders[0][1].priors
        yield say("compared_steady", low=low, high=high, titles=", ".join(steady))


def _drawings(comparison: Comparison) -> dict[str, Drawing]:
    names = list(comparison.models)
    looks = [(k, LOOKS[k % len(LOOKS)]) for k in range(len(names))]
    legend = [
        ("stroke" if k == 0 else "dashed", f"model-{k % len(LOOKS)}", f"{names[k]} ({look.shape})")
        for k, look in looks
    ]
    now: Rows = [{"prior": comparison.prior.value}]
    drawn = {
        DIAGRAM: Drawing(
            build=partial(models, names),
            description="Reliability diagrams of all models, overlaid.",
            legend=(*legend, ("dashed", "faint", "perfect calibration")),
            height=320,
            rows={DIAGRAM: overlaid(comparison.diagrams, "model"), "now": now},
        )
    }
    for found in comparison.criteria.values():
        drawn[f"difference_{found.name}"] = _difference(found, names)
        if found.ordering is not None:
            drawn[f"order_{found.name}"] = _order_drawing(found, found.ordering, names)
    return drawn


def _difference(found: Compared, names: list[str]) -> Drawing:
    gaps: Rows = [{"model": model, **estimate_row(gap)} for model, gap in found.differences.items()]
    return Drawing(
        build=partial(difference, found.name, found.title, names),
        description=f"{found.title}: differences with intervals.",
        title="Difference",
        height=max(90, 42 * (len(names) - 1) + 30),
        rows={f"difference_{found.name}": gaps},
    )


def _order_drawing(found: Compared, ordering: Ordering, names: list[str]) -> Drawing:
    turns: Rows = [{"prior": x} for x in ordering.crossings]
    return Drawing(
        build=partial(order, found.name, found.title, names, turns=bool(turns)),
        description=f"{found.title} of each model against the class prior.",
        title="Effect of the prior",
        height=260,
        rows={f"order_{found.name}": list(_lines(ordering)), f"crossing_{found.name}": turns},
    )


def _lines(ordering: Ordering) -> Iterator[dict[str, float | str | None]]:
    low, high = ordering.priors
    grid = np.unique(np.concatenate([np.linspace(low, high, PRIORS), ordering.crossings]))
    for model, curve in zip(ordering.models, ordering.curves, strict=True):
        for prior, value in zip(grid.tolist(), curve(grid).tolist(), strict=True):
            yield {"model": model, "prior": prior, "value": value}
