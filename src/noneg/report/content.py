"""Convert an `Evaluation` to a `Document`: the content of every report format, by section."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from noneg.checks import is_pooled
from noneg.evaluation import FIXED, Evaluation
from noneg.metrics import METRICS, RECOMMENDED
from noneg.recalibration.maps import Identity
from noneg.report import charts, words
from noneg.report.answers import audit_sections, group_section, terminal_section
from noneg.report.document import (
    About,
    Document,
    Number,
    Range,
    Section,
    Sentence,
    Table,
    asset,
    estimate_cells,
    interval_title,
)
from noneg.report.payload import Rows, curves, distribution, overlaid
from noneg.results import Estimate, at_most, fitting
from noneg.sentences import say
from noneg.verdict import headline, points, rejects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import Cell, Part


def document(
    evaluation: Evaluation, about: About | None = None, truth: Evaluation | None = None
) -> Document:
    """Return the content of the report.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
        The origin of the numbers.
    truth : Evaluation, optional
        Evaluation of the same rows with all their labels, if these are known.
    """
    about = about or About()
    return Document(
        title=about.title,
        subtitle=words.sample(evaluation),
        verdict=tuple(_verdict(evaluation)),
        code=evaluation.verdict.code,
        sample=Sentence(words.plain_sample(evaluation), "sample"),
        action=_action(evaluation, about),
        origin=about.origin(),
        facts=tuple(_facts(evaluation)),
        warnings=evaluation.warnings,
        sections=(
            _diagram(evaluation),
            _scores(evaluation),
            _curves(evaluation),
            _threshold(evaluation),
            _errors(evaluation),
            *_recalibration(evaluation),
            *([] if evaluation.groups is None else [group_section(evaluation.groups)]),
            *([] if evaluation.audit is None else audit_sections(evaluation.audit)),
            *prior_section(evaluation),
            *_noted(about),
            theory_section(evaluation),
            *([] if truth is None else [truth_section(evaluation, truth)]),
            computed_section(evaluation, about),
            glossary_section(),
        ),
    )


def _verdict(evaluation: Evaluation) -> Iterator[Sentence]:
    """Yield the verdict; if the prior is unknown, what follows from that comes first."""
    changes = [] if evaluation.is_labeled else [Sentence(words.depends(evaluation), "depends")]
    yield Sentence(evaluation.verdict.sentence, "verdict_title")
    if evaluation.prior_kind == "unknown":
        yield Sentence(words.verdict_estimate(evaluation))
        yield changes.pop()
    if evaluation.verdict.key == "verdict_contradicted":
        yield Sentence(say("where_impossible"), "verdict_where")
    else:
        where = words.verdict_where(points(evaluation), rejected=rejects(evaluation))
        error = words.verdict_error(headline(evaluation), evaluation.prior.value)
        yield Sentence(where, "verdict_where")
        yield Sentence(error, "verdict_error")
        yield from _selection(evaluation)
    yield from changes


def _action(evaluation: Evaluation, about: About) -> tuple[Sentence, Sentence]:
    rows = words.rows_options(evaluation, about.reading)
    told, command = words.action(evaluation, rows)
    return Sentence(told, "action"), Sentence(command, "command")


def _noted(about: About) -> Iterator[Section]:
    """Yield the rows that most need a closer look, if rows have names."""
    if not about.noted:
        return
    rows = [(one.name, Number(one.score), one.reason) for one in about.noted]
    table = Table(("row", "score", "why"), rows, "Rows", worded=True)
    yield Section.of("rows", "Which rows should we check?", say("rows_to_check"), table)


def _selection(evaluation: Evaluation) -> Iterator[Sentence]:
    """Return how much selection the verdict withstands; labeled data have no hidden positives."""
    if evaluation.selection_sums is not None:
        text = words.verdict_selection(evaluation.stands, evaluation.selection)
        yield Sentence(text, "verdict_selection")


def _facts(evaluation: Evaluation) -> Iterator[tuple[str, Number, Range]]:
    names = {
        RECOMMENDED: "Calibration error (0 is best)",
        "auroc": "Ranking, AUC (1 is best)",
        "average_precision": "Average precision (1 is best)",
        "brier": "Brier score (0 is best)",
    }
    for name, title in names.items():
        found = evaluation.metrics.get(name)
        if found is not None and math.isfinite(found.value):
            digits = words.decimals(evaluation.prior.value) if name == RECOMMENDED else 3
            yield (title, *_estimate(evaluation, name, found, digits))


def _estimate(
    evaluation: Evaluation, name: str, found: Estimate, digits: int = 4
) -> tuple[Number, Range]:
    moving = evaluation.sums.moving
    return (
        Number(found.value, digits, f"{name}.value" if name in moving else ""),
        Range(found.low, found.high, digits, name if moving.get(name) else ""),
    )


def _diagram(evaluation: Evaluation) -> Section:
    level = interval_title(evaluation.level)
    header = ("score from", "to", "mean score", "share of positives", level, "rows")
    rows = [
        (
            Number(point.left, 3),
            Number(point.right, 3),
            Number(point.score),
            Number(point.frequency),
            Range(point.low, point.high),
            f"{100 * point.marginal:.2f}%",
        )
        for point in points(evaluation)
    ]
    table = Table(header, rows, "Reliability diagram", name="reliability", folded=True)
    title, text = "What does a score mean?", say("diagram", percent=100 * evaluation.level)
    return Section.of("diagram", title, text, table, charts.reliability)


def _scores(evaluation: Evaluation) -> Section:
    rows_name = "all rows" if is_pooled(evaluation.setting) else "unlabeled rows"
    kind = "labeled" if evaluation.is_labeled else "hidden"
    kept = [row for row in distribution(evaluation) if row["marginal"] or row["positive"]]
    names = ("left", "right", "positive", "marginal", "negative")
    caption, known = "Share of rows in each score range", {"marginal": rows_name}
    table = _table("distribution", caption, names, kept, TITLES | known)
    title, text = "How are the scores distributed?", say(f"scores_{kind}", rows=rows_name)
    return Section.of("scores", title, text, table, charts.distribution, folded=True)


# Titles of the columns of chart data in tables.
TITLES = {
    "left": "score from",
    "right": "to",
    "positive": "positives",
    "negative": "negatives",
    "threshold": "threshold",
    "fpr": "false positive rate",
    "tpr": "recall",
    "ppr": "flagged",
    "precision": "precision",
    "f_beta": "F1",
}


def _table(
    name: str, caption: str, columns: tuple[str, ...], rows: Rows, titles: dict[str, str] = TITLES
) -> Table:
    """Return some columns of chart data as a table that follows the sliders."""
    cells = [[Number(row[key]) for key in columns] for row in rows]
    return Table([titles[key] for key in columns], cells, caption, name=name, folded=True)


def _curves(evaluation: Evaluation) -> Section:
    text = "The curves cover all thresholds on this page; the ring marks the selected one."
    names = ("threshold", "fpr", "tpr", "precision")
    table = _table("curves", "ROC and precision-recall curves", names, _at_tenths(evaluation))
    parts: tuple[Part, ...] = (text, *_bounds(evaluation), table, charts.roc, charts.pr)
    return Section.of("curves", "How well do the scores rank?", *parts, folded=True)


def _bounds(evaluation: Evaluation) -> Iterator[Sentence]:
    """Yield what the shaded region means, if there is one."""
    bounds = evaluation.sums.bounds
    if bounds is None:
        return
    (low, high), (least, most) = bounds.auroc, bounds.average_precision
    ends = {"low": low, "high": high, "least": least, "most": most}
    yield Sentence(say("rank_bounds", percent=100 * evaluation.level, **ends), "given")


def _at_tenths(evaluation: Evaluation) -> Rows:
    return [row for row in curves(evaluation) if row["threshold"] in words.TENTHS]


def _threshold(evaluation: Evaluation) -> Section:
    names = ("threshold", "ppr", "precision", "tpr", "f_beta")
    caption, rows = "Metrics at each threshold (shares)", _at_tenths(evaluation)
    table = _table("thresholds", caption, names, rows)
    parts = (say("threshold"), table, charts.threshold)
    return Section.of("threshold", "What threshold should we use?", *parts)


def _errors(evaluation: Evaluation) -> Section:
    evidence = "evidence" if evaluation.rejected else "no evidence"
    test = f"Test of perfect calibration: p = {evaluation.test.p_value:.3f}, {evidence} against it"
    test += f"{_tested(evaluation)}. Grouped chi-square: p = {evaluation.grouped.p_value:.3f}."
    titles = {"Calibration errors (lower is better)": _error_titles(evaluation)}
    titles |= {caption: _titles(family) for family, caption in FAMILIES.items()}
    header = ("", "value", interval_title(evaluation.level))
    tables = (Table(header, _rows(evaluation, some), title) for title, some in titles.items())
    told = Sentence(test, "given")
    return Section.of("metrics", "All metrics", told, *tables, folded=True)


# Captions of metrics other than calibration errors, by family.
FAMILIES = {
    "calibration line": "Slope, intercept and O:E ratio (ideally 1, 0 and 1)",
    "proper score": "Proper scores (lower is better)",
    "performance": "Performance",
}


def _tested(evaluation: Evaluation) -> str:
    """Return the priors at which the test was performed, as text."""
    prior = evaluation.prior
    if evaluation.is_labeled:
        return ""
    if prior.low == prior.high:
        return " (at the given prior)"
    _, low, high = fitting(prior.low, prior.low, prior.high)
    return f" (the largest p-value for priors from {low} to {high})"


def _error_titles(evaluation: Evaluation) -> dict[str, str]:
    held = evaluation.occupied_bins
    bins = f"{evaluation.bins} equal-mass bins"
    if held != evaluation.bins:
        bins += f", {held} of which contain rows"
    named = {
        RECOMMENDED: f"Debiased error (best guess), {bins}",
        "ece": f"Plain error, {bins}",
        "ece_width_15": "Plain error, 15 equal-width bins",
        "ece_mass_15": "Plain error, 15 equal-mass bins",
    }
    return named | _titles("calibration error") | named


def _titles(family: str) -> dict[str, str]:
    """Return the titles of the registered metrics of a family by name."""
    return {name: one.title for name, one in METRICS.items() if one.family == family}


def _rows(evaluation: Evaluation, titles: dict[str, str]) -> list[tuple[Cell, ...]]:
    """Return the rows of metrics, which may not be available for these data."""
    found = evaluation.metrics | {name: getattr(evaluation, name) for name in FIXED}
    return [
        (title, Number(None), "not available for these data")
        if (one := found.get(name)) is None
        else (title, *_estimate(evaluation, name, one))
        for name, title in titles.items()
    ]


def _recalibration(evaluation: Evaluation) -> Iterator[Section]:
    found = evaluation.recalibration
    if found is None:
        return
    title = "Can the scores be recalibrated?"
    if found.chosen == Identity.name:  # Before and after are the same.
        text = say("repair_none", folds=found.folds)
        yield Section.of("recalibration", title, text, *found.warnings, still=True)
        return
    before, after = found.errors[RECOMMENDED]
    change = found.change["brier"]
    numbers = {"folds": found.folds, "before": before, "after": after, "change": change.value}
    helps = say("repair_helps" if change.high < 0.0 else "repair_unclear")
    text = say("repair", **numbers, low=change.low, high=change.high, found=helps)
    rows = [
        (METRICS[name].title, Number(one), Number(other))
        for name, (one, other) in found.errors.items()
    ]
    prior = "" if evaluation.is_labeled else " Another prior needs another calibrator."
    use = say("repair_chosen", chosen=found.chosen, prior=prior)
    caption = "Before and after, on rows used for neither selection nor fitting"
    yield Section.of(
        "recalibration",
        title,
        *(text, *found.warnings, use),
        Table(("", "before", "after"), rows, caption),
        *_mapped(found, evaluation.level),
        charts.recalibration.of(overlaid(found.reliability)),
        code=found.calibrator.to_json(),
        still=True,
    )


def _mapped(found: HeldOut, level: float) -> Iterator[Table]:
    """Yield recalibrated values of some scores, with the band of the calibrator if it has one."""
    if not found.mapped:
        return
    ends = f"{100 * level:.6g}% band"
    rows = [
        (f"{s:g}", Number(one.value), Number(one.low), Number(one.high))
        for s, one in found.mapped.items()
    ]
    header = ("score", "calibrated probability", f"{ends}, from", "to")
    yield Table(header, rows, f"Scores after {found.chosen}", folded=True)


def prior_section(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the error as a function of the prior; nothing for labeled data."""
    if evaluation.is_labeled:
        return
    curve, prior = evaluation.prior_curve, evaluation.prior.value
    text = say("prior_curve", bins=evaluation.bins, best=curve.best)
    fits = f"Priors up to {at_most(evaluation.largest_prior)} are compatible with the scores."
    least = evaluation.sums.least_prior
    grid = sorted({*(round(x / 10, 1) for x in range(1, 10) if x / 10 > least), round(prior, 6)})
    rows = [(Number(x, 3), Number(float(curve(x)))) for x in grid]
    header, caption = ("prior", "calibration error"), "Calibration error by prior"
    table, title = Table(header, rows, caption, folded=True), "What if the prior were different?"
    yield Section.of("prior", title, text, fits, table, charts.prior_curve)


def theory_section(evaluation: Evaluation) -> Section:
    """Return the theoretical bound, and the number of additional positives that would help."""
    balance = "balance the bias of coarse bins against the noise of fine ones."
    first = f"For samples of this size, {evaluation.bins} equal-mass bins {balance}"
    sentences: list[str | Sentence] = [first]
    if evaluation.bounds:
        expected, probable = (evaluation.bounds[key].value for key in ("expected", "probable"))
        text = words.bound_sentence(expected, probable, evaluation.level, evaluation.bins)
        sentences.append(Sentence(text, "bound"))
    if not evaluation.is_labeled and math.isfinite(evaluation.n_positive):
        floor = evaluation.sums.noise_floor * evaluation.prior.value
        text = say("floor", n_positive=evaluation.sums.effective_positive, floor=floor)
        plan = words.plan_sentence(words.positives_needed(evaluation), evaluation.n_positive)
        sentences += [Sentence(text, "floor"), Sentence(plan, "plan")]
    return Section.of("theory", "How certain are these numbers?", *sentences, folded=True)


def computed_section(evaluation: Evaluation, about: About) -> Section:
    """Return settings, files, versions and the command."""
    settings = (
        ("Setting", evaluation.setting),
        ("Prior", _prior_origin(evaluation)),
        ("Confidence level", f"{100 * evaluation.level:.6g}%"),
        ("Calibration error interval", evaluation.ece.method),
        ("Reliability intervals", f"{evaluation.reliability.band}"),
    )
    held = [] if evaluation.is_labeled else [say("page_follows")]
    return about.section(*held, settings=settings)


def _prior_origin(evaluation: Evaluation) -> str:
    """Return the prior, and whether it was given, counted or estimated."""
    prior = evaluation.prior
    if evaluation.prior_kind in ("upper bound", "unknown"):
        return f"{prior.value:.6g} (estimated)"
    return f"{prior.value!r} ({prior.method})"


def glossary_section() -> Section:
    """Return a sentence and a citation for each term."""
    terms = json.loads(asset("glossary.json"))
    table = Table(("term", "meaning", "read more"), terms, "Terms", worded=True)
    return Section.of("glossary", "Glossary", table, folded=True)


SHOWN = (
    *(RECOMMENDED, "ece", "ks_error", "smooth_ece", "brier", "log_loss", "auroc"),
    *("average_precision", "accuracy", "precision", "recall", "f_beta"),
)


def truth_section(evaluation: Evaluation, truth: Evaluation) -> Section:
    """Return the section that compares estimates with the results from all labels.

    Parameters
    ----------
    evaluation : Evaluation
        From positives and unlabeled rows.
    truth : Evaluation
        From the same rows with all their labels.
    """
    rows = list(_compared(evaluation, truth))
    inside = sum(row[-1] == "yes" for row in rows)
    text = say("truth", inside=inside, all=len(rows))
    level = interval_title(evaluation.level)
    header = ("", "positives and unlabeled", level, "all labels", "inside")
    table = Table(header, rows, "Estimate and truth")
    sides = {"positives and unlabeled": evaluation.reliability, "all labels": truth.reliability}
    chart = charts.truth.of(overlaid(sides))
    return Section.of("truth", "The truth, revealed", text, table, chart, still=True)


def _compared(evaluation: Evaluation, truth: Evaluation) -> Iterator[tuple[Cell, ...]]:
    for name in SHOWN:
        one, other = evaluation.metrics.get(name), truth.metrics.get(name)
        if one is None or other is None or not math.isfinite(one.value):
            continue
        inside = "yes" if one.low <= other.value <= one.high else "no"
        yield METRICS[name].title, *estimate_cells(one, digits=3), Number(other.value, 3), inside


# Sections of a report that are shown on a terminal.
BRIEF = ("metrics", "theory", "truth")


def summary(evaluation: Evaluation, truth: Evaluation | None = None) -> Document:
    """Return the report without its title, origin and long tables, as ``noneg evaluate`` prints it.

    Parameters
    ----------
    evaluation : Evaluation
    truth : Evaluation, optional
        As in `document`.
    """
    whole = document(evaluation, About(title=""), truth)
    kept = tuple(section for section in whole.sections if section.name in BRIEF)
    groups = () if evaluation.groups is None else (terminal_section(evaluation.groups),)
    return replace(whole, sections=(*kept, *groups), action=None)
