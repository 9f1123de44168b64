"""The page on scores over time: what has changed, and every metric with its band."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import exp, isfinite
from typing import TYPE_CHECKING

from noneg.metrics import METRICS
from noneg.monitoring import NAMED, TESTS, Monitoring, spent
from noneg.report.charts import Drawing, over_time
from noneg.report.document import (
    About,
    Document,
    Number,
    Section,
    Sentence,
    Table,
    estimate_row,
)
from noneg.report.html import notebook_cell, page
from noneg.results import count
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.report.document import Cell

TITLE = "What changed?"
TITLES = {"prior": "Share of positives"}
LEGEND = (
    ("stroke", "positive", "value and band"),
    ("stroke", "negative", "alarm"),
    ("dashed", "faint", "reference"),
)


def monitoring_to_html(
    monitoring: Monitoring, about: About | None = None, *, notes: Sequence[str] = ()
) -> str:
    """Return scores over time as one HTML page that works without a network.

    Parameters
    ----------
    monitoring : Monitoring
    about : About, optional
        The origin of the numbers: title, files, command.
    notes : sequence of str
        Notes for the reader.

    Examples
    --------
    >>> from noneg.monitoring import monitor
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.calibrated(0.2)
    >>> draws = (world.draw(200, 3000, setting="two-sample", seed=k) for k in range(3))
    >>> page = monitoring_to_html(monitor(zip("abc", draws)))
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    return page(monitoring_document(monitoring, about or About(title=TITLE), notes))


def monitoring_to_notebook(monitoring: Monitoring) -> str:
    """Return the verdict and charts for a notebook."""
    content = monitoring_document(monitoring, About(title=TITLE))
    return notebook_cell(content, content.drawings)


def monitoring_document(
    monitoring: Monitoring, about: About, notes: Sequence[str] = (), *, brief: bool = False
) -> Document:
    """Return the content of the page, or the shorter output of ``noneg monitor``."""
    tests, warnings = _moved(monitoring), (*notes, *_left_out(monitoring))
    shared = {"subtitle": _sample(monitoring), "warnings": warnings}
    if brief:
        return Document.of(verdict(monitoring), _numbers(monitoring), tests, **shared)
    return Document.of(
        verdict(monitoring),
        *(_metric(monitoring, name) for name in _watched(monitoring)),
        replace(tests, folded=True),
        about.section(),
        title=about.title,
        code="check" if monitoring.moved else "ok",
        action=_action(monitoring, about),
        origin=about.origin(),
        **shared,
    )


def verdict(monitoring: Monitoring) -> list[str]:
    """Return sentences on what has changed, since when, and what to do."""
    if not monitoring.moved:
        first = monitoring.reference.name
        return [f"No significant change in {_periods(monitoring)} after {first}."]
    last = monitoring.alarmed[-1]
    old, now = monitoring.reference.prior, monitoring.now
    new = last.prior if now is None else now.prior
    numbers = {"old": old.value, "new": new.value, "low": new.low, "high": new.high}
    unsure = last.moved == ("shape",) and not last.p_values["shape"] <= NAMED
    names = ("shape_or_prior",) if unsure else last.moved
    alone = f" {say('moved_prior_alone')}" * (last.moved == ("prior",))
    told = [f"{say(f'moved_{name}', **numbers)}{alone}" for name in names]
    back = "" if monitoring.looks[-1].alarms else f", but not after {last.name}"
    told.append(f"The change is visible from {monitoring.since} on{back}.")
    if monitoring.calibrator is not None:
        told.append(say("moved_repair", factor=exp(monitoring.calibrator.shift_)))
    return told


def _action(monitoring: Monitoring, about: About) -> tuple[Sentence, Sentence] | None:
    """Return what to do if the prior alone moved: save the calibrator that follows it."""
    if monitoring.calibrator is None or not about.command:
        return None
    told = "Save the calibrator that follows the share of positives. noneg apply uses it."
    return Sentence(told), Sentence(f"{about.command} --save shifted.json")


def _periods(monitoring: Monitoring) -> str:
    return count(len(monitoring.looks), "period")


def _sample(monitoring: Monitoring) -> str:
    first = monitoring.reference
    return say(
        "moved_sample",
        periods=_periods(monitoring),
        first=first.name,
        positives=first.n_positive,
        rows=first.n_marginal,
        setting=monitoring.setting,
        percent=100 * monitoring.level,
    )


def _watched(monitoring: Monitoring) -> tuple[str, ...]:
    return ("prior", *monitoring.metrics)


def _title(monitoring: Monitoring, name: str) -> str:
    title = TITLES.get(name) or METRICS[name].title
    at = name in METRICS and METRICS[name].has_threshold
    return f"{title.split(' at ')[0]} at {monitoring.threshold:g}" if at else title


def _left_out(monitoring: Monitoring) -> list[str]:
    every = (monitoring.reference, *monitoring.looks)
    return [f"{look.name}: {why}" for look in every for why in look.left_out.values()]


def _moved(monitoring: Monitoring) -> Section:
    header = ("", "rows", "labeled", *(f"p, {name}" for name in TESTS), "alarm below", "moved")
    rows: list[tuple[Cell, ...]] = [
        (
            look.name,
            Number(look.n_marginal, 0),
            Number(look.n_positive, 0),
            *(f"{look.p_values[name]:.2g}" for name in TESTS),
            f"{spent(number, monitoring.level) / len(TESTS):.2g}",
            ", ".join(look.moved),
        )
        for number, look in enumerate(monitoring.looks, 1)
    ]
    table = Table(header, rows, "Tests")
    return Section.of("moved", "What was tested?", say("moved_tests"), table)


def _numbers(monitoring: Monitoring) -> Section:
    """Return all metrics in one table, for a terminal."""
    names = _watched(monitoring)
    rows = [
        (look.name, *(look.found(name) for name in names))
        for look in (monitoring.reference, *monitoring.looks)
    ]
    header = ("", *(_title(monitoring, name) for name in names))
    return Section.of("numbers", "Over time", Table.of_estimates(header, rows, "band"))


def _metric(monitoring: Monitoring, name: str) -> Section:
    """Return a metric at the reference and in each period, as a chart and a table."""
    title, looks = _title(monitoring, name), (monitoring.reference, *monitoring.looks)
    rows = [(look.name, look.found(name)) for look in looks]
    ends = f"{100 * monitoring.level:.6g}% band"
    table = Table.of_estimates(("", "value"), rows, ends, caption=title)
    over = [
        {"period": look.name, **estimate_row(one), "moved": ", ".join(look.moved)}
        for look in looks
        if (one := look.found(name)) is not None and isfinite(one.value)
    ]
    start = monitoring.reference.found(name)
    reference = [] if start is None else [{"value": start.value}]
    chart = Drawing(
        name=f"time_{name}",
        build=partial(over_time, name, title),
        description=f"{title} in each period, with its band.",
        legend=LEGEND,
        height=240,
        rows={f"start_{name}": reference, f"time_{name}": over},
    )
    return Section.of(name, title, table, chart)
