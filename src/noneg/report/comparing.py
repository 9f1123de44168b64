"""The page that compares models: overlaid diagrams, differences, and the ranking at each prior."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from noneg.report import charts
from noneg.report.document import (
    About,
    Document,
    Number,
    Section,
    Table,
    estimate_cells,
    estimate_row,
    interval_cells,
    interval_title,
)
from noneg.report.html import page
from noneg.report.payload import Rows, overlaid
from noneg.report.words import sample
from noneg.sentences import in_sentence, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noneg.comparison import Compared, Comparison
    from noneg.performance import Ordering
    from noneg.report.document import Cell, Part
    from noneg.results import Estimate

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
    return page(comparison_document(comparison, about, warnings))


def comparison_document(comparison: Comparison, about: About, warnings: Sequence[str]) -> Document:
    """Return the content of the page."""
    return Document.of(
        _verdict(comparison),
        _diagrams(comparison),
        *(_criterion(comparison, found) for found in comparison.criteria.values()),
        *_groups(comparison),
        about.section(),
        title=about.title,
        subtitle=_sample(comparison),
        warnings=tuple(warnings),
    )


def comparison_summary(comparison: Comparison, warnings: Sequence[str] = ()) -> Document:
    """Return a comparison without charts, as ``noneg compare`` prints it."""
    level = interval_title(comparison.level)
    tables = (
        Table(
            ("", "value", level, "", "difference", level),
            [_brief_row(found, name) for name in comparison.models],
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
    rows = [
        (group, found.title, *_leader(found))
        for group, criteria in comparison.groups.items()
        for found in criteria.values()
    ]
    table = Table.of_estimates(
        ("group", "criterion", "best", "next", "difference"),
        rows,
        interval_title(comparison.level),
        first=4,
        caption="Best model by group",
        sortable=True,
    )
    return (Section.of("groups", "By group", say("compared_groups"), table),)


def _leader(found: Compared) -> tuple[str, str, Estimate | None]:
    """Return the winner, if there is one, and the difference from the closest other model."""
    gaps = found.differences
    close = min(gaps, key=lambda name: abs(gaps[name].value), default="")
    return found.winner or "no clear winner", close, gaps.get(close)


def _sample(comparison: Comparison) -> str:
    return f"{len(comparison.models)} models on the same rows: {sample(comparison)}"


def _verdict(comparison: Comparison) -> Iterator[str]:
    wins: dict[str, list[str]] = {}
    for found in comparison.criteria.values():
        if found.winner is not None:
            wins.setdefault(found.winner, []).append(in_sentence(found.title))
    ties = [
        in_sentence(found.title)
        + (f" (differences below {found.visible:.4f} are not detectable)" if _hidden(found) else "")
        for found in comparison.criteria.values()
        if len(found.leaders) > 1
    ]
    yield _first(wins, everything=all(x.winner for x in comparison.criteria.values()))
    if len(wins) > 1:
        yield from (f"{name} is best by {_listed(titles)}." for name, titles in wins.items())
    if ties:
        yield f"No significant difference: {_listed(ties)}."
    for found in comparison.criteria.values():
        yield from (f"{name}: {why} It was not compared." for name, why in found.unranked.items())
    orders = [(x.title, x.ordering) for x in comparison.criteria.values() if x.ordering]
    turning = [in_sentence(title) for title, order in orders if order.crossings]
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


def _diagrams(comparison: Comparison) -> Section:
    data = overlaid(comparison.diagrams, "model")
    rows = [
        (
            row["model"],
            Number(row["score"], 3),
            *interval_cells(row["frequency"], row["low"], row["high"], digits=3),
        )
        for row in data
    ]
    header = ("model", "mean score", "share of positives", interval_title(comparison.level))
    table = Table(header, rows, "Reliability diagrams", folded=True)
    title, text = "What does each model's score mean?", say("compared_diagrams")
    return Section.of("diagram", title, text, table, _overlay(list(comparison.models), data))


def _tipping(found: Compared) -> Iterator[str]:
    """Yield the selection factor up to which the winner still beats its closest rival."""
    if not found.tipping:
        return
    rival = min(found.tipping, key=lambda name: found.tipping[name])
    factor = found.tipping[rival]
    key = "lead_up_to" if isfinite(factor) else "lead_always"
    yield say(key, winner=found.winner, rival=rival, factor=f"{factor:.2f}")


def _criterion(comparison: Comparison, found: Compared) -> Section:
    level, names = interval_title(comparison.level), list(comparison.models)
    header = ("", "value", level, f"minus {found.reference}", level)
    table = Table(header, [_row(found, name) for name in names], found.title)
    title = f"{found.title} ({found.better} is better)"
    parts: list[Part] = [_judgement(found), *_tipping(found), table, _difference(found, names)]
    if found.ordering is not None:
        parts.append(_order(found.ordering))
        parts.append(_order_chart(found, found.ordering, comparison))
    return Section.of(found.name, title, *parts)


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


def _order(ordering: Ordering) -> str:
    if not ordering.crossings:
        return "The ranking is the same for all priors shown."
    return f"Best first: {_stretches(ordering)}."


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


def _overlay(names: list[str], data: Rows) -> charts.Drawing:
    legend = [
        ("dashed" if k else "stroke", f"model-{k % len(charts.LOOKS)}", f"{name} ({look.shape})")
        for k, (name, look) in enumerate(zip(names, cycle(charts.LOOKS), strict=False))
    ]
    return charts.Drawing(
        name="models",
        build=partial(charts.overlay, "models", "model", names, "mean score in each range"),
        description="Reliability diagrams of all models, overlaid.",
        legend=(*legend, charts.PERFECT),
        height=320,
        rows={"models": data},
    )


def _difference(found: Compared, names: list[str]) -> charts.Drawing:
    name = f"difference_{found.name}"
    return charts.Drawing(
        name=name,
        build=partial(charts.difference, name, found.title, names),
        description=f"{found.title}: differences with intervals.",
        title="Difference",
        height=max(90, 42 * (len(names) - 1) + 30),
        rows={name: [{"model": m} | estimate_row(gap) for m, gap in found.differences.items()]},
    )


def _order_chart(found: Compared, ordering: Ordering, comparison: Comparison) -> charts.Drawing:
    name, crossing = f"order_{found.name}", f"crossing_{found.name}"
    turns, models = [{"prior": x} for x in ordering.crossings], list(comparison.models)
    return charts.Drawing(
        name=name,
        build=partial(charts.order, name, crossing if turns else "", found.title, models),
        description=f"{found.title} of each model against the class prior.",
        title="Effect of the prior",
        height=260,
        rows={
            name: list(_lines(ordering)),
            crossing: turns,
            "now": [{"prior": comparison.prior.value}],
        },
    )


def _lines(ordering: Ordering) -> Iterator[dict[str, float | str | None]]:
    low, high = ordering.priors
    grid = np.unique(np.concatenate([np.linspace(low, high, PRIORS), ordering.crossings]))
    for model, curve in zip(ordering.models, ordering.curves, strict=True):
        for prior, value in zip(grid.tolist(), curve(grid).tolist(), strict=True):
            yield {"model": model, "prior": prior, "value": value}
