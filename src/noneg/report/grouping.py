"""What is shown of groups: the section of the report, and the answer of ``recalibrate --by``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.groups import ALWAYS, FEWEST_POSITIVES, FEWEST_ROWS, evidence
from noneg.metrics import METRICS
from noneg.report.document import (
    Document,
    Number,
    Range,
    Section,
    Table,
    estimate_cells,
    interval_title,
)
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noneg.groups import GroupTable
    from noneg.recalibration import HeldOutByGroup
    from noneg.report.document import Cell

# Number of groups that fit in the forest plot, and number shown on a terminal.
DRAWN, LISTED = 25, 20
EVIDENCE = 0.05


def group_section(groups: GroupTable) -> Section:
    """Return the section with every group and a forest plot; it goes when a slider moves."""
    title = f"Are the scores calibrated for every {' and '.join(groups.by)}?"
    table = _table(groups, range(len(groups.group)), groups.metrics, interval_title(groups.level))
    said = group_sentences(groups)
    sorted_by_click = replace(table, sortable=True)
    return Section.of("groups", title, *said, sorted_by_click, charts=("groups",), still=True)


def terminal_section(groups: GroupTable) -> Section:
    """Return a shorter section for a terminal: groups with the most evidence against them."""
    names = [*ALWAYS, *list(groups.metrics)[len(ALWAYS) :][:1]]
    chosen = _order(groups)[:LISTED].tolist()
    table = _table(groups, chosen, names, f"{100 * groups.level:.6g}%")
    if len(groups.group) > LISTED:
        more = f": {LISTED} of {len(groups.group):,} groups, most evidence first"
        table = replace(table, caption=table.caption + more)
    return Section.of("groups", f"By {', '.join(groups.by)}", *group_sentences(groups), table)


def _table(groups: GroupTable, chosen: Iterable[int], names: Iterable[str], level: str) -> Table:
    by, names = ", ".join(groups.by), list(names)
    titles = [words for name in names for words in (_title(name), level)]
    rows = (_cells(groups, k, names) for k in chosen)
    return Table.of((by, "rows", "positives", *titles), rows, f"By {by}")


def group_sentences(groups: GroupTable) -> Iterator[str]:
    """Yield the verdict on groups as sentences."""
    if groups.p_value is not None:
        found = groups.p_value <= EVIDENCE
        differ = "Groups differ" if found else "No evidence that groups differ"
        yield say("groups_equal", differ=differ, p=groups.p_value)
    if groups.worst_p_value is not None:
        bias = groups.estimate(groups.worst, "bias")
        side = "too low" if bias.value > 0.0 else "too high"
        ends = {"value": bias.value, "low": bias.low, "high": bias.high, "size": abs(bias.value)}
        yield say("groups_worst", worst=groups.worst, side=side, p=groups.worst_p_value, **ends)
    yield say("groups_intervals", percent=100 * groups.level)
    yield from _pool_words(groups.group, groups.pooled)


def _title(name: str) -> str:
    return ALWAYS.get(name) or METRICS[name].label


def _cells(groups: GroupTable, k: int, names: Iterable[str]) -> Iterator[Cell]:
    yield groups.group[k]
    yield Number(float(groups.rows[k]), 0)
    yield Number(float(groups.positives[k]), 0)
    for name in names:
        value, low, high = groups.metrics[name][:, k].tolist()
        yield Number(value, 3)
        yield Range(low, high, 3)


def _order(groups: GroupTable) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return groups sorted by the ratio of bias to interval width, largest first."""
    return np.argsort(-evidence(groups.metrics["bias"]), kind="stable")


def group_rows(groups: GroupTable) -> list[dict[str, float | str | None]]:
    """Return the rows of the forest plot: the groups with the most evidence, sorted by bias."""
    value, low, high = groups.metrics["bias"]
    chosen = _order(groups)[:DRAWN]
    return [
        {"group": groups.group[k], "value": value[k], "low": low[k], "high": high[k]}
        for k in chosen[np.argsort(value[chosen], kind="stable")].tolist()
    ]


def recalibration_by_group(title: str, found: HeldOutByGroup) -> Document:
    """Return the output of ``noneg recalibrate --by``: all rows, and each group."""
    level, made = f"{100 * found.level:.6g}%", found.calibrator
    models = [words for name in found.values for words in (name, level)]
    header = ("", *models, "by group minus one map", level)
    rows = (
        (
            METRICS[name].title,
            *estimate_cells(*(values[name] for values in found.values.values()), gap),
        )
        for name, gap in found.gain.items()
    )
    text = say("groups_held_out", folds=found.folds)
    tables = (Table.of(header, rows, "All rows"), _maps_table(found, level))
    said = [text, *_pool_words(made.groups_, len(made.small_))]
    section = Section.of("change", "Before and after", *said, *tables)
    return Document.of([found.verdict], section, subtitle=title, warnings=found.warnings)


def _maps_table(found: HeldOutByGroup, level: str) -> Table:
    """Return the groups with the largest changes of the Brier score."""
    table, made = found.before, found.calibrator
    chosen = np.argsort(-np.abs(found.brier_change[0]), kind="stable")[:LISTED]
    caption = "Groups"
    if len(table.group) > LISTED:
        caption += f": {LISTED} of {len(table.group):,}, largest changes first"
    rows = []
    for k in chosen.tolist():
        change, low, high = found.brier_change[:, k].tolist()
        before, _, after = (Number(x, 4) for x in found.brier[:, k].tolist())
        cells = (*_cells(table, k, ["prior"]), made.told(table.group[k]))
        rows.append((*cells, before, after, Number(change, 4), Range(low, high, 4)))
    header = ("group", "rows", "positives", "prior", level, "map", "Brier before", "after")
    return Table.of((*header, "change", level), rows, caption)


def _pool_words(groups: Iterable[str], pooled: int) -> Iterator[str]:
    if pooled:
        fewest = {"rows": FEWEST_ROWS, "positives": FEWEST_POSITIVES}
        yield say("groups_pooled", name=list(groups)[-1], **fewest)
