"""Command output as documents, and the sections about groups and audits, which reports share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.report import charts
from noneg.report.document import (
    Document,
    Number,
    Range,
    Section,
    Table,
    estimate_cells,
    estimate_row,
    interval_cells,
    interval_title,
)
from noneg.results import Estimate, fitting
from noneg.sentences import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from noneg.audit import Audit, Design, KnownNegatives
    from noneg.groups import GroupTable
    from noneg.performance import CertifiedNegatives
    from noneg.prior import PriorEstimate
    from noneg.recalibration import HeldOut, HeldOutByGroup
    from noneg.report.document import Cell
    from noneg.report.payload import Rows
    from noneg.scores import PUScores
    from noneg.theory import LabelPlan, Plan

    Estimates = Mapping[str, PriorEstimate]


GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}
# Shares of negatives that might look exactly like positives.
OVERLAPS = (0.05, 0.1, 0.2)
# Number of groups that fit in the forest plot, and numbers of groups and of their metrics on a
# terminal: the prior, the bias and the first other one.
DRAWN, LISTED, BRIEF = 25, 20, 3
EVIDENCE = 0.05


def threshold_answer(
    scores: PUScores,
    found: Mapping[str, Any],
    rates: Mapping[str, Estimate],
    level: float,
    groups: Mapping[str, Mapping[str, Any]],
) -> Document:
    """Return the output of ``noneg threshold``: the threshold, and the rates it achieves.

    `found` contains the threshold, the criterion, the share of flagged rows, notes and, for a
    workload, the number of flagged rows among the next rows; `groups` contains a threshold for each
    group, and the effect of the overall threshold in that group.
    """
    never = math.isinf(found["threshold"])
    use = "Flag no rows" if never else f"Use threshold {found['threshold']:.6g}"
    rows: list[tuple[Cell, ...]] = [("Rows flagged", Number(found["flagged"]), "of everyone")]
    rows += [(SHOWN[name], *estimate_cells(rate)) for name, rate in rates.items()]
    if "next" in found:
        count = found["next"]
        cells = Number(count["expected"], 0), Range(count["low"], count["high"], 0)
        rows.append((f"Flagged in the next {count['rows']:,} rows", *cells))
    return Document.of(
        [f"{use}: {found['criterion']}."],
        Section.of("rates", "", Table(("", "value", interval_title(level)), rows)),
        *_threshold_groups(groups, level),
        subtitle=f"{scores!r}",
        warnings=tuple(found["notes"]),
    )


def _threshold_groups(groups: Mapping[str, Mapping[str, Any]], level: float) -> list[Section]:
    """Return the threshold of each group alongside the effect of the overall threshold."""
    if not groups:
        return []
    rows = [
        (group, Number(one["threshold"]), Number(one["prior"].value, 3), *rates.values())
        for group, one in groups.items()
        for rates in (one["with_overall_threshold"],)
    ]
    header = ("group", "own threshold", "prior", "precision", "recall")
    table = Table.of_estimates(header, rows, interval_title(level), first=3, digits=3)
    text = "Precision and recall are for the single threshold above; intervals hold simultaneously."
    return [Section.of("groups", "By group", text, table)]


def negatives_answer(scores: PUScores, found: CertifiedNegatives, notes: Sequence[str]) -> Document:
    """Return the output of ``noneg negatives``: the number of certified rows and the cutoff."""
    rows = (
        ("Unlabeled rows", Number(found.unlabeled, 0)),
        ("Certified negative", Number(found.certified, 0)),
        ("Remaining rows", Number(found.unlabeled - found.certified, 0)),
        ("Largest share of positives among unlabeled rows", Number(found.hidden)),
    )
    said = say("certified_none", fdr=found.fdr)
    if found.certified:
        said = say("certified_up_to", cutoff=found.cutoff, percent=100 * found.fdr)
    return Document.of(
        [said],
        Section.of("rows", "", Table(("", ""), rows)),
        subtitle=f"{scores!r}",
        warnings=tuple(notes),
    )


def recalibration_answer(title: str, found: HeldOut) -> Document:
    """Return the output of ``noneg recalibrate``: metrics before and after, on held-out rows."""
    sides = {"before": found.before, "after": found.after, "change": found.change}
    text = say("repair_held_out", folds=found.folds)
    table = _held_out(sides, interval_title(found.level))
    return Document.of(
        [found.reason or f"Method: {found.method}."],
        Section.of("change", "Before and after", text, table),
        subtitle=title,
        warnings=tuple(found.warnings),
    )


def _held_out(sides: Mapping[str, Mapping[str, Estimate]], ends: str, caption: str = "") -> Table:
    """Return metrics on held-out rows; the last side is the difference that has all of them."""
    from noneg.metrics import METRICS

    *_, difference = sides.values()
    rows = [(METRICS[name].title, *(one[name] for one in sides.values())) for name in difference]
    return Table.of_estimates(("", *sides), rows, ends, caption=caption)


def plan_answer(answer: Plan, eps: float, prior: float) -> Document:
    """Return the output of ``noneg plan``: the number of rows needed for a precision."""
    rows = (
        ("positives", Number(answer.n_positive, 0)),
        ("unlabeled rows", Number(answer.n_unlabeled, 0)),
        ("bins", Number(answer.bins, 0)),
        ("resulting error", Number(answer.error, 6)),
    )
    kind = "a guarantee" if answer.method == "bound" else "an approximation"
    title = f"For an error of {eps:g} at a prior of {prior:g}, you need"
    return _needed(title, rows, f"This is {kind}: {answer.assumes}.")


def labels_answer(answer: LabelPlan) -> Document:
    """Return the output of ``noneg plan`` for other goals: the number of labels needed."""
    rows = [(name, Number(n, 0)) for name, n in answer.rows.items()]
    rows.append(("resulting error", Number(answer.error)))
    return _needed(f"To {answer.question}, you need", rows, f"Assumes: {answer.assumes}.")


def _needed(title: str, rows: Sequence[tuple[Cell, ...]], assumed: str) -> Document:
    table = Section.of("rows", "", Table(("", ""), rows))
    return Document.of([], table, Section.of("kind", "", assumed), title=title)


def prior_answer(answers: Mapping[str, PriorEstimate | str], level: float) -> Document:
    """Return the estimates by method as a document; a string explains a missing estimate."""
    rows = [_row(_prior_title(name), found) for name, found in answers.items()]
    table = Table(("", "prior", f"{100 * level:.6g}% confidence", ""), rows)
    estimates = {name: x for name, x in answers.items() if not isinstance(x, str)}
    said = list(_assumptions(estimates))
    return Document.of(
        [_verdict(estimates, level)],
        Section.of("estimates", "", table),
        *([Section.of("assumptions", "Assumptions", *said)] if said else []),
        warnings=tuple(_notes(estimates)),
    )


def _prior_title(name: str) -> str:
    from noneg.prior import ESTIMATORS
    from noneg.prior.sources import TITLES

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
    return f"The prior is {known} with {100 * level:.6g}% confidence."


def _agreement(estimates: Estimates) -> str:
    from noneg.prior import agreement

    shared = agreement(estimates.values())
    if shared is not None:
        _, low, high = fitting(shared[0], *shared)
        return f"The methods agree: all allow priors from {low} to {high}."
    least = max(estimates, key=lambda name: estimates[name].low)
    most = min(estimates, key=lambda name: estimates[name].high)
    ends = {"low": estimates[least].low, "high": estimates[most].high}
    return say("methods_disagree", least=_prior_title(least), most=_prior_title(most), **ends)


def _notes(estimates: Estimates) -> Iterator[str]:
    """Yield each warning once, prefixed with its methods unless it applies to all of them."""
    about: dict[str, list[str]] = {}
    for name, found in estimates.items():
        for warning in found.warnings:
            about.setdefault(warning, []).append(_prior_title(name))
    for warning, titles in about.items():
        whose = "" if len(titles) == len(estimates) else f"{', '.join(titles)}: "
        yield f"{whose}{warning}"


def _assumptions(estimates: Estimates) -> Iterator[str]:
    if len(estimates) > 1:
        yield say("methods_assume")
        if any(found.is_bound for found in estimates.values()):
            yield say("methods_bound")
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
    return say("prior_overlap", parts=parts)


def plan_document(design: Design) -> Document:
    """Return the output of ``noneg audit plan``: the expected half-widths."""
    expected = design.expected
    reviews = dict.fromkeys(expected.reviews.tolist())
    names = [str(target) for target in design.targets]
    found = {
        (str(name), int(n)): f"{width:.4f} ({simple:,.0f})"
        for name, n, width, simple in zip(*expected.columns().values(), strict=True)
    }
    rows = [(f"{n:,}", *(found[name, n] for name in names)) for n in reviews]
    tables = [Table(("reviews", *names), rows)] if rows else []
    order = say("audit_any_time" if design.sequential else "audit_early")
    sizes = {"positives": design.n_positive, "unlabeled": design.n_unlabeled}
    return Document.of(
        [say("audit_plan", budget=design.budget, order=order)],
        Section.of("expected", "Expected precision", say("audit_expected"), *tables),
        subtitle=say("audit_plan_sample", **sizes, setting=design.setting),
    )


def audit_document(audit: Audit) -> Document:
    """Return the output of ``noneg audit read``."""
    ends = {name: 100 * getattr(audit.prior, name) for name in ("value", "low", "high")}
    verdict, sections = [say("audit_prior", **ends)], audit_sections(audit)
    return Document.of(verdict, *sections, subtitle=_sample(audit), warnings=audit.notes)


def audit_sections(audit: Audit) -> Iterator[Section]:
    """Yield the findings, the comparison with labeling and, if requested, when to stop."""
    title, chart = "What did the review find?", charts.audit.of(audit_rows(audit))
    yield Section.of("audit", title, _sample(audit), _cost(audit), _estimates(audit), chart)
    title, told = "Are labeled positives representative?", (_labeling(audit), _selection(audit))
    yield Section.of("labeling", title, *told, _agreements(audit))
    if audit.sequences:
        yield _stopping(audit)


def _sample(audit: Audit) -> str:
    names = ("reviewed", "positive", "labeled", "unlabeled")
    counts = {name: getattr(audit, f"n_{name}") for name in names}
    return say("audit_sample", budget=audit.budget, **counts)


def _cost(audit: Audit) -> str:
    per = audit.n_reviewed / audit.n_positive if audit.n_positive else None
    found = "no positive" if per is None else f"one positive per {per:.1f} rows"
    return say("audit_cost", found=found)


def _estimates(audit: Audit) -> Table:
    rows, ends = audit.estimates.items(), interval_title(audit.level)
    return Table.of_estimates(("", "value"), rows, ends, caption="From reviewed rows only")


def _agreements(audit: Audit) -> Table:
    rows = [
        (name, Number(one.audit.value), Number(one.labeled), Number(one.p_value, 3), one.fused)
        for name, one in audit.agreements.items()
    ]
    header, ends = ("", "review", "labeled", "p-value", "both"), interval_title(audit.level)
    caption = "Labeled positives compared with the review"
    return Table.of_estimates(header, rows, ends, first=4, caption=caption)


def _labeling(audit: Audit) -> str:
    apart = [name for name, one in audit.agreements.items() if not one.agrees]
    return say("audit_differs", metrics=", ".join(apart)) if apart else say("audit_agrees")


def _selection(audit: Audit) -> str:
    one = audit.selection
    limit = f"at most {one.high:.3g}" if one.high < float("inf") else "without an upper limit"
    return say("audit_selection", value=one.value, limit=limit)


def _stopping(audit: Audit) -> Section:
    rows = [
        (name, estimate_cells(one.last)[1], Number(one.half_width), Number(audit.until[name]))
        for name, one in audit.sequences.items()
    ]
    words = say("audit_stop" if audit.is_done else "audit_continue")
    header = ("", interval_title(audit.level), "half-width", "wanted")
    table = Table(header, rows, "Intervals that remain valid with repeated looks")
    return Section.of("stopping", "Stop or continue?", words, table)


def audit_rows(audit: Audit) -> Rows:
    """Return the rows of the chart: each metric from the review, from labels and from both."""
    rows: Rows = []
    for name, one in audit.agreements.items():
        sides = {"review": estimate_row(one.audit)}
        sides["labeled positives"] = dict.fromkeys(("value", "low", "high"), one.labeled)
        if one.fused is not None:
            sides["both"] = estimate_row(one.fused)
        rows += [{"metric": name, "side": side, **row} for side, row in sides.items()]
    return rows


def negatives_document(found: KnownNegatives) -> Document:
    """Return a document on known negatives that were not drawn from a design."""
    first, *others = found.notes
    low, high = found.prior_limits
    counts = {name: getattr(found, f"n_{name}") for name in ("positive", "negative", "unlabeled")}
    rows: list[tuple[Cell, ...]] = [
        ("Share of positives in these rows", Range(low, high)),
        ("AUROC among reviewed rows only", Number(found.reviewed_auroc)),
        ("Mean rank of known negatives", Number(found.rank)),
    ]
    if found.auroc is not None:
        rows.append(("AUROC, if labeling is at random", Range(*found.auroc)))
    return Document.of(
        [first],
        Section.of("negatives", "Evidence from known negatives", Table(("", ""), rows)),
        subtitle=say("negatives_sample", **counts),
        warnings=tuple(others),
    )


def group_section(groups: GroupTable) -> Section:
    """Return the section with every group and a forest plot; it goes when a slider moves."""
    title = f"Are the scores calibrated for every {' and '.join(groups.by)}?"
    table = _table(groups, range(len(groups.group)), groups.metrics, interval_title(groups.level))
    parts = replace(table, sortable=True), charts.groups.of(_group_rows(groups))
    return Section.of("groups", title, *_group_sentences(groups), *parts, still=True)


def terminal_section(groups: GroupTable) -> Section:
    """Return a shorter section for a terminal: groups with the most evidence against them."""
    chosen, names = _order(groups)[:LISTED].tolist(), [*groups.metrics][:BRIEF]
    table = _table(groups, chosen, names, f"{100 * groups.level:.6g}%")
    if len(groups.group) > LISTED:
        more = f": {LISTED} of {len(groups.group):,} groups, most evidence first"
        table = replace(table, caption=table.caption + more)
    return Section.of("groups", f"By {', '.join(groups.by)}", *_group_sentences(groups), table)


def _table(groups: GroupTable, chosen: Iterable[int], names: Iterable[str], level: str) -> Table:
    from noneg.groups import ALWAYS
    from noneg.metrics import METRICS

    by, names = ", ".join(groups.by), list(names)
    titles = [words for name in names for words in (ALWAYS.get(name) or METRICS[name].label, level)]
    rows = [_cells(groups, k, names) for k in chosen]
    return Table((by, "rows", "positives", *titles), rows, f"By {by}")


def _group_sentences(groups: GroupTable) -> Iterator[str]:
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


def _cells(groups: GroupTable, k: int, names: Iterable[str]) -> tuple[Cell, ...]:
    """Return the name of a group, its numbers of rows and labeled positives, and its metrics."""
    sizes = Number(groups.rows[k], 0), Number(groups.positives[k], 0)
    found = (groups.metrics[name][:, k].tolist() for name in names)
    cells = [cell for ends in found for cell in interval_cells(*ends, digits=3)]
    return groups.group[k], *sizes, *cells


def _order(groups: GroupTable) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return groups sorted by the ratio of bias to interval width, largest first."""
    from noneg.groups import evidence

    return np.argsort(-evidence(groups.metrics["bias"]), kind="stable")


def _group_rows(groups: GroupTable) -> Rows:
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
    sides = found.values | {"by group minus one map": found.gain}
    whole = _held_out(sides, level, "All rows")
    text = say("groups_held_out", folds=found.folds)
    said = [text, *_pool_words(made.groups_, len(made.small_))]
    section = Section.of("change", "Before and after", *said, whole, _maps_table(found, level))
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
        before, _, after = map(Number, found.brier[:, k].tolist())
        change = interval_cells(*found.brier_change[:, k].tolist())
        told = made.told(table.group[k])
        rows.append((*_cells(table, k, ["prior"]), told, before, after, *change))
    header = ("group", "rows", "positives", "prior", level, "map", "Brier before", "after")
    return Table((*header, "change", level), rows, caption)


def _pool_words(groups: Iterable[str], pooled: int) -> Iterator[str]:
    from noneg.groups import FEWEST_POSITIVES, FEWEST_ROWS

    if pooled:
        fewest = {"rows": FEWEST_ROWS, "positives": FEWEST_POSITIVES}
        yield say("groups_pooled", name=list(groups)[-1], **fewest)
