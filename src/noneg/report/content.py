"""Convert an `Evaluation` to a `Document`: the content of every report format, by section."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from noneg.checks import is_pooled
from noneg.metrics import METRICS, RECOMMENDED
from noneg.report import words
from noneg.report.auditing import audit_sections
from noneg.report.document import (
    About,
    Document,
    Number,
    Range,
    Section,
    Sentence,
    Table,
    asset,
)
from noneg.report.grouping import group_section, terminal_section
from noneg.report.payload import curves, distribution
from noneg.results import at_most, fitting
from noneg.sentences import say
from noneg.verdict import headline, points, rejects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.evaluation import Evaluation
    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import Cell
    from noneg.report.payload import Rows
    from noneg.results import Estimate


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
        verdict=_verdict(evaluation),
        code=evaluation.verdict.code,
        sample=Sentence(text=words.plain_sample(evaluation), key="sample"),
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
            *_groups(evaluation),
            *([] if evaluation.audit is None else audit_sections(evaluation.audit, chart=True)),
            *prior_section(evaluation),
            *_noted(about),
            theory_section(evaluation),
            *([] if truth is None else [truth_section(evaluation, truth)]),
            computed_section(evaluation, about),
            glossary_section(),
        ),
    )


def _groups(evaluation: Evaluation) -> list[Section]:
    if evaluation.groups is None:
        return []
    return [group_section(evaluation.groups)]


def _verdict(evaluation: Evaluation) -> tuple[Sentence, ...]:
    error, prior = headline(evaluation), evaluation.prior.value
    where = (
        say("where_impossible")
        if evaluation.verdict.key == "verdict_contradicted"
        else words.verdict_where(points(evaluation), rejected=rejects(evaluation))
    )
    first = Sentence(text=evaluation.verdict.sentence, key="verdict_title")
    others = [Sentence(text=where, key="verdict_where")]
    if evaluation.verdict.key != "verdict_contradicted":
        others.append(Sentence(text=words.verdict_error(error, prior), key="verdict_error"))
        others.extend(_selection(evaluation))
    if evaluation.is_labeled:
        return (first, *others)
    changes = Sentence(text=words.depends(evaluation), key="depends")
    if evaluation.prior_kind != "unknown":
        return (first, *others, changes)
    estimate = Sentence(text=words.verdict_estimate(evaluation))
    return (first, estimate, changes, *others)


def _action(evaluation: Evaluation, about: About) -> tuple[Sentence, Sentence]:
    rows = words.rows_options(evaluation, about.reading)
    told, command = words.action(evaluation, rows)
    return Sentence(text=told, key="action"), Sentence(text=command, key="command")


def _noted(about: About) -> Iterator[Section]:
    """Yield the rows that most need a closer look, if rows have names."""
    if not about.noted:
        return
    text = (
        "Unlabeled rows with the highest scores are likely to be hidden positives. "
        "Labeled positives with the lowest scores are either mislabeled or missed by "
        "the model."
    )
    rows = tuple((one.name, Number(one.score), one.reason) for one in about.noted)
    table = Table(caption="Rows", header=("row", "score", "why"), rows=rows)
    yield Section(
        name="rows",
        title="Which rows should we check?",
        sentences=(Sentence(text=text),),
        tables=(table,),
    )


def _selection(evaluation: Evaluation) -> Iterator[Sentence]:
    """Return how much selection the verdict withstands; labeled data have no hidden positives."""
    if evaluation.selection_sums is not None:
        text = words.verdict_selection(evaluation.stands, evaluation.selection)
        yield Sentence(text=text, key="verdict_selection")


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
    level = f"{100 * evaluation.level:.6g}"
    text = (
        f"The curve shows how many rows with a given score are positive. On the diagonal a score "
        "is the probability; below it scores are too high. Points are ranges of scores. The "
        f"{level} % intervals hold at each score alone; the verdict allows for looking at all "
        "scores at once. Shares above 1, from noise or too large a prior, are triangles at 1."
    )
    header = ("score from", "to", "mean score", "share of positives", f"{level} % interval", "rows")
    rows = tuple(
        (
            Number(point.left, 3),
            Number(point.right, 3),
            Number(point.score),
            Number(point.frequency),
            Range(point.low, point.high),
            f"{100 * point.marginal:.2f} %",
        )
        for point in points(evaluation)
    )
    caption = "Reliability diagram"
    table = Table(caption=caption, header=header, rows=rows, name="reliability", folded=True)
    return Section(
        name="diagram",
        title="What does a score mean?",
        sentences=(Sentence(text=text),),
        charts=("reliability",),
        tables=(table,),
    )


def _scores(evaluation: Evaluation) -> Section:
    rows_name = "all rows" if is_pooled(evaluation.setting) else "unlabeled rows"
    text = f"Score distributions of positives and of {rows_name}"
    text += (
        ", and of negatives."
        if evaluation.is_labeled
        else ", and the implied distribution of negatives if the prior is right. Negative "
        "shares would contradict the prior."
    )
    header = ("score from", "to", "positives", rows_name, "negatives")
    caption = "Share of rows in each score range"
    kept = [row for row in distribution(evaluation) if row["marginal"] or row["positive"]]
    table = _table(
        caption, header, kept, ("left", "right", "positive", "marginal", "negative"), "distribution"
    )
    return Section(
        name="scores",
        title="How are the scores distributed?",
        sentences=(Sentence(text=text),),
        charts=("distribution",),
        tables=(table,),
        folded=True,
    )


def _table(
    caption: str, header: tuple[str, ...], rows: Rows, names: tuple[str, ...], name: str
) -> Table:
    cells = tuple(tuple(Number(_float(row[key])) for key in names) for row in rows)
    return Table(caption=caption, header=header, rows=cells, name=name, folded=True)


def _float(x: float | str | None) -> float | None:
    return None if x is None else float(x)


def _curves(evaluation: Evaluation) -> Section:
    sentences = [
        Sentence(
            text="The curves cover all thresholds on this page; the ring marks the selected one."
        )
    ]
    bounds = evaluation.sums.bounds
    if bounds is not None:
        (low, high), (least, most) = bounds.auroc, bounds.average_precision
        level = f"{100 * evaluation.level:.6g}"
        sentences.append(
            Sentence(
                text="The shaded region contains the curve no matter which unlabeled "
                f"rows are the hidden positives ({level} % band on their ranks). At "
                "the given prior, the area under the curve is "
                f"{low:.3f} to {high:.3f} for ROC and {least:.3f} to {most:.3f} for precision and "
                "recall.",
                key="given",
            )
        )
    header = ("threshold", "false positive rate", "recall", "precision")
    names = ("threshold", "fpr", "tpr", "precision")
    table = _table(
        "ROC and precision-recall curves", header, _at_tenths(evaluation), names, "curves"
    )
    return Section(
        name="curves",
        title="How well do the scores rank?",
        sentences=tuple(sentences),
        charts=("roc", "pr"),
        tables=(table,),
        folded=True,
    )


def _at_tenths(evaluation: Evaluation) -> Rows:
    return [row for row in curves(evaluation) if row["threshold"] in words.TENTHS]


def _threshold(evaluation: Evaluation) -> Section:
    text = (
        "Rows whose score is at or above the threshold are flagged. Move the "
        "threshold, or enter the costs of a false alarm and of a missed positive, to "
        "see the effect. Thresholds apply to the original scores, not to "
        "recalibrated ones."
    )
    header = ("threshold", "flagged", "precision", "recall", "F1")
    names = ("threshold", "ppr", "precision", "tpr", "f_beta")
    caption = "Metrics at each threshold (shares)"
    table = _table(caption, header, _at_tenths(evaluation), names, "thresholds")
    return Section(
        name="threshold",
        title="What threshold should we use?",
        sentences=(Sentence(text=text),),
        charts=("threshold",),
        tables=(table,),
    )


def _errors(evaluation: Evaluation) -> Section:
    level = f"{100 * evaluation.level:.6g} % interval"
    p_value = evaluation.test.p_value
    evidence = "evidence" if evaluation.rejected else "no evidence"
    test = f"Test of perfect calibration: p = {p_value:.3f}, {evidence} against it"
    test += f"{_tested(evaluation)}. Grouped chi-square: p = {evaluation.grouped.p_value:.3f}."
    tables = tuple(
        Table(caption=caption, header=("", "value", level), rows=tuple(rows))
        for caption, rows in (
            ("Calibration errors (lower is better)", _calibration_rows(evaluation)),
            (
                "Slope, intercept and O:E ratio (ideally 1, 0 and 1)",
                _family(evaluation, "calibration line"),
            ),
            ("Proper scores (lower is better)", _family(evaluation, "proper score")),
            ("Performance", _family(evaluation, "performance")),
        )
    )
    return Section(
        name="metrics",
        title="All metrics",
        sentences=(Sentence(text=test, key="given"),),
        tables=tables,
        folded=True,
    )


def _tested(evaluation: Evaluation) -> str:
    """Return the priors at which the test was performed, as text."""
    prior = evaluation.prior
    if evaluation.is_labeled:
        return ""
    if prior.low == prior.high:
        return " (at the given prior)"
    _, low, high = fitting(prior.low, prior.low, prior.high)
    return f" (the largest p-value for priors from {low} to {high})"


def _calibration_rows(evaluation: Evaluation) -> Iterator[tuple[Cell, ...]]:
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
    found = evaluation.metrics | {name: getattr(evaluation, name) for name in [*named][2:]}
    titles = named | {
        name: title for name, title in _titles("calibration error") if name not in named
    }
    yield from (_metric(evaluation, name, title, found.get(name)) for name, title in titles.items())


def _titles(family: str) -> list[tuple[str, str]]:
    """Return the names and titles of the registered metrics of a family."""
    return [(name, one.title) for name, one in METRICS.items() if one.family == family]


def _family(evaluation: Evaluation, family: str) -> Iterator[tuple[Cell, ...]]:
    for name, title in _titles(family):
        yield _metric(evaluation, name, title, evaluation.metrics.get(name))


def _metric(
    evaluation: Evaluation, name: str, title: str, found: Estimate | None
) -> tuple[Cell, ...]:
    if found is None:
        return title, Number(None), "not available for these data"
    return (title, *_estimate(evaluation, name, found))


def _recalibration(evaluation: Evaluation) -> Iterator[Section]:
    found = evaluation.recalibration
    if found is None:
        return
    before, after = found.errors[RECOMMENDED]
    change = found.change["brier"]
    text = (
        f"On rows used neither to choose nor to fit the map ({found.folds} folds), the "
        f"calibration error goes from {before:.3f} to {after:.3f}, and "
        f"the Brier score changes by {change.value:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"
    )
    text += (
        ", a significant improvement."
        if change.high < 0.0
        else ", which is not significant: these rows do not show that recalibration helps."
    )
    rows = tuple(
        (METRICS[name].title, Number(one), Number(other))
        for name, (one, other) in found.errors.items()
    )
    caption = "Before and after, on rows used for neither selection nor fitting"
    yield Section(
        name="recalibration",
        title="Can the scores be recalibrated?",
        sentences=tuple(
            Sentence(text=one) for one in (text, *found.warnings, _use(evaluation, found))
        ),
        charts=("recalibration",),
        tables=(
            Table(caption=caption, header=("", "before", "after"), rows=rows),
            *_mapped(found, evaluation.level),
        ),
        code=found.calibrator.to_json(),
        still=True,
    )


def _use(evaluation: Evaluation, found: HeldOut) -> str:
    """Say which map was chosen, what it holds for, and how to apply it."""
    prior = "" if evaluation.is_labeled else " Another prior needs another calibrator."
    return (
        f"Chosen by held-out likelihood: {found.chosen}.{prior} Apply the calibrator with "
        "noneg.recalibration.load(text).transform(scores)."
    )


def _mapped(found: HeldOut, level: float) -> Iterator[Table]:
    """Yield recalibrated values of some scores, with the band of the calibrator if it has one."""
    if not found.mapped:
        return
    ends = f"{100 * level:.6g} % band"
    rows = tuple(
        (f"{s:g}", Number(one.value), Number(one.low), Number(one.high))
        for s, one in found.mapped.items()
    )
    header = ("score", "calibrated probability", f"{ends}, from", "to")
    yield Table(caption=f"Scores after {found.chosen}", header=header, rows=rows, folded=True)


def prior_section(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the error as a function of the prior; nothing for labeled data."""
    if evaluation.is_labeled:
        return
    curve, prior = evaluation.prior_curve, evaluation.prior.value
    text = (
        f"The calibration error over the same {evaluation.bins} bins for other "
        "values of the prior (the share of positives). An error in the prior "
        "changes the calibration error by at most the same amount. The calibration "
        "error is "
        f"smallest at a prior of {curve.best:.3f}. The scores imply this prior, but "
        "that does not make it "
        "true."
    )
    fits = f"Priors up to {at_most(evaluation.sums.largest_prior)} are compatible with the scores."
    least = evaluation.sums.least_prior
    grid = sorted({*(round(x / 10, 1) for x in range(1, 10) if x / 10 > least), round(prior, 6)})
    rows = tuple((Number(x, 3), Number(float(curve(x)))) for x in grid)
    header = ("prior", "calibration error")
    table = Table(caption="Calibration error by prior", header=header, rows=rows, folded=True)
    yield Section(
        name="prior",
        title="What if the prior were different?",
        sentences=(Sentence(text=text), Sentence(text=fits)),
        charts=("prior_curve",),
        tables=(table,),
    )


def theory_section(evaluation: Evaluation) -> Section:
    """Return the theoretical bound, and the number of additional positives that would help."""
    sentences = [
        Sentence(
            text=f"For samples of this size, {evaluation.bins} equal-mass bins balance "
            "the bias of coarse bins against the noise of fine ones."
        )
    ]
    if evaluation.bounds:
        expected, probable = (evaluation.bounds[key].value for key in ("expected", "probable"))
        text = words.bound_sentence(expected, probable, evaluation.level, evaluation.bins)
        sentences.append(Sentence(text=text, key="bound"))
    if not evaluation.is_labeled and math.isfinite(evaluation.n_positive):
        floor = evaluation.sums.noise_floor * evaluation.prior.value
        text = say("floor", n_positive=evaluation.sums.effective_positive, floor=floor)
        sentences.append(Sentence(text=text, key="floor"))
        needed = words.positives_needed(evaluation)
        text = words.plan_sentence(needed, evaluation.n_positive, words.EPS)
        sentences.append(Sentence(text=text, key="plan"))
    return Section(
        name="theory",
        title="How certain are these numbers?",
        sentences=tuple(sentences),
        folded=True,
    )


def computed_section(evaluation: Evaluation, about: About) -> Section:
    """Return settings, files, versions and the command."""
    settings = (
        ("Setting", evaluation.setting),
        ("Prior", _prior_origin(evaluation)),
        ("Confidence level", f"{100 * evaluation.level:.6g} %"),
        ("Calibration error interval", evaluation.ece.method),
        ("Reliability intervals", f"{evaluation.reliability.band}"),
    )
    held = (
        "Your browser updates this page from sums stored in this file; no data are "
        "sent anywhere. The bins stay fixed at those for the given prior, so each "
        "number equals the result of noneg for these bins at the slider's prior. "
        "Results that are available only at the given prior are hidden."
    )
    sentences = () if evaluation.is_labeled else (Sentence(text=held),)
    table = Table(caption="Settings", header=("", ""), rows=(*settings, *about.rows()))
    return Section(
        name="computed",
        title="How was this computed?",
        sentences=sentences,
        tables=(table,),
        code=about.command,
        folded=True,
    )


def _prior_origin(evaluation: Evaluation) -> str:
    """Return the prior, and whether it was given, counted or estimated."""
    prior = evaluation.prior
    if evaluation.prior_kind in ("upper bound", "unknown"):
        return f"{prior.value:.6g} (estimated)"
    return f"{prior.value!r} ({prior.method})"


def glossary_section() -> Section:
    """Return a sentence and a citation for each term."""
    terms = tuple(map(tuple, json.loads(asset("glossary.json"))))
    table = Table(caption="Terms", header=("term", "meaning", "read more"), rows=terms)
    return Section(name="glossary", title="Glossary", tables=(table,), folded=True)


SHOWN = (
    RECOMMENDED,
    "ece",
    "ks_error",
    "smooth_ece",
    "brier",
    "log_loss",
    "auroc",
    "average_precision",
    "accuracy",
    "precision",
    "recall",
    "f_beta",
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
    rows = list(_rows(evaluation, truth))
    inside = sum(row[-1] == "yes" for row in rows)
    level = f"{100 * evaluation.level:.6g}"
    text = (
        "The hidden labels of this example are known. The estimates above did not "
        "use them; this table compares them with the results from all labels. "
        f"{inside} of {len(rows)} intervals contain the true value."
    )
    header = ("", "positives and unlabeled", f"{level} % interval", "all labels", "inside")
    return Section(
        name="truth",
        title="The truth, revealed",
        sentences=(Sentence(text=text),),
        charts=("truth",),
        tables=(Table(caption="Estimate and truth", header=header, rows=tuple(rows)),),
        still=True,
    )


def _rows(evaluation: Evaluation, truth: Evaluation) -> Iterator[tuple[Cell, ...]]:
    for name in SHOWN:
        one, other = evaluation.metrics.get(name), truth.metrics.get(name)
        if one is None or other is None or not math.isfinite(one.value):
            continue
        inside = "yes" if one.low <= other.value <= one.high else "no"
        value = Number(one.value, 3), Range(one.low, one.high, 3), Number(other.value, 3)
        yield METRICS[name].title, *value, inside


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
