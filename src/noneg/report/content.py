"""`Evaluation` -> `Document`: what every form of the report says, section by section."""

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
from noneg.report.payload import curves, distribution
from noneg.results import fitting
from noneg.sentences import say

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
    """Return what the report says.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
        Where the numbers come from.
    truth : Evaluation, optional
        Of the same rows with all their labels, where these are known.
    """
    about = about or About()
    return Document(
        title=about.title,
        subtitle=words.sample(evaluation),
        verdict=_verdict(evaluation),
        facts=tuple(_facts(evaluation)),
        warnings=evaluation.warnings,
        sections=(
            _diagram(evaluation),
            _scores(evaluation),
            _curves(evaluation),
            _threshold(evaluation),
            _errors(evaluation),
            *_recalibration(evaluation),
            *([] if evaluation.audit is None else audit_sections(evaluation.audit, chart=True)),
            *prior_section(evaluation),
            theory_section(evaluation),
            *([] if truth is None else [truth_section(evaluation, truth)]),
            computed_section(evaluation, about),
            glossary_section(),
        ),
    )


def _verdict(evaluation: Evaluation) -> tuple[Sentence, ...]:
    error = words.headline(evaluation)
    contradicted = any(
        check.name == "prior" and check.verdict == "contradicted"
        for check in evaluation.assumptions
    )
    # The test takes labels for random; under selection the interval decides.
    selected = evaluation.selection > 1.0
    prior, rejected = evaluation.prior.value, error.low > 0.0 if selected else evaluation.rejected
    title = words.verdict_title(
        error,
        prior=prior,
        contradicted=contradicted,
        rejected=rejected,
        at_prior=evaluation.at_prior,
    )
    where = words.verdict_where(words.points(evaluation), rejected=rejected)
    said = (
        Sentence(text=title, key="verdict_title"),
        Sentence(text=where, key="verdict_where"),
        Sentence(text=words.verdict_error(error, prior), key="verdict_error"),
        *_selection(evaluation),
    )
    if evaluation.is_labelled:
        return said
    consistent = Sentence(text=words.verdict_consistent(evaluation))
    if evaluation.prior_kind != "unknown":
        return (*said, consistent)
    return (consistent, Sentence(text=words.verdict_estimate(evaluation)), *said)


def _selection(evaluation: Evaluation) -> Iterator[Sentence]:
    """Say up to which selection the verdict stands; of labelled data none are hidden."""
    if evaluation.selection_sums is not None:
        text = words.verdict_selection(evaluation.stands, evaluation.selection)
        yield Sentence(text=text, key="verdict_selection")


def _facts(evaluation: Evaluation) -> Iterator[tuple[str, Number, Range]]:
    names = {
        RECOMMENDED: "Calibration error",
        "auroc": "Area under the ROC curve",
        "average_precision": "Average precision",
        "brier": "Brier score",
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
        f"Each point is a range of scores: how many of its rows are positive, with a {level} % "
        "interval. On the diagonal a score is the probability; below it scores promise too much. "
        "Shares above 1, which noise or too large a prior cause, are drawn as triangles at 1."
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
        for point in words.points(evaluation)
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
    text = f"Where the scores of positives and of {rows_name} lie"
    text += (
        ", and where those of the negatives do."
        if evaluation.is_labelled
        else ", and where negatives must lie if the prior is right. Fewer than none of them would "
        "be a contradiction."
    )
    header = ("score from", "to", "positives", rows_name, "negatives")
    caption = "Share of rows in each range of scores"
    kept = [row for row in distribution(evaluation) if row["marginal"] or row["positive"]]
    table = _table(
        caption, header, kept, ("left", "right", "positive", "marginal", "negative"), "distribution"
    )
    return Section(
        name="scores",
        title="Where are the scores?",
        sentences=(Sentence(text=text),),
        charts=("distribution",),
        tables=(table,),
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
            text="The curves run through the thresholds of the page; the ring marks the chosen one."
        )
    ]
    bounds = evaluation.sums.bounds
    if bounds is not None:
        (low, high), (least, most) = bounds.auroc, bounds.average_precision
        level = f"{100 * evaluation.level:.6g}"
        sentences.append(
            Sentence(
                text=f"The shaded region holds the curve whichever unlabeled rows are the hidden "
                f"positives ({level} % band on their ranks). At the given prior its areas are "
                f"{low:.3f} to {high:.3f} for ROC and {least:.3f} to {most:.3f} for precision and "
                "recall."
            )
        )
    header = ("threshold", "false positive rate", "recall", "precision")
    names = ("threshold", "fpr", "tpr", "precision")
    table = _table(
        "ROC and precision-recall curves", header, _at_tenths(evaluation), names, "curves"
    )
    return Section(
        name="curves",
        title="How well do they rank?",
        sentences=tuple(sentences),
        charts=("roc", "pr"),
        tables=(table,),
    )


def _at_tenths(evaluation: Evaluation) -> Rows:
    return [row for row in curves(evaluation) if row["threshold"] in words.TENTHS]


def _threshold(evaluation: Evaluation) -> Section:
    text = (
        "Flag every row whose score reaches the threshold. Move it, set what a false alarm and a "
        "missed positive cost, and read what follows."
    )
    header = ("threshold", "flagged", "precision", "recall", "F1")
    names = ("threshold", "ppr", "precision", "tpr", "f_beta")
    caption = "What follows from a threshold (shares)"
    table = _table(caption, header, _at_tenths(evaluation), names, "thresholds")
    return Section(
        name="threshold",
        title="Where to draw the line?",
        sentences=(Sentence(text=text),),
        charts=("threshold",),
        tables=(table,),
    )


def _errors(evaluation: Evaluation) -> Section:
    level = f"{100 * evaluation.level:.6g} % interval"
    p_value = evaluation.test.p_value
    evidence = "evidence" if evaluation.rejected else "no evidence"
    test = f"Test of perfect calibration: p = {p_value:.3f}, {evidence} against it"
    test += f"{_tested(evaluation)}."
    tables = tuple(
        Table(caption=caption, header=("", "value", level), rows=tuple(rows))
        for caption, rows in (
            ("Calibration errors (lower is better)", _calibration_rows(evaluation)),
            ("Proper scores (lower is better)", _family(evaluation, "proper score")),
            ("Performance", _family(evaluation, "performance")),
        )
    )
    return Section(
        name="metrics",
        title="All numbers",
        sentences=(Sentence(text=test),),
        tables=tables,
    )


def _tested(evaluation: Evaluation) -> str:
    """Say at which priors the test was made."""
    prior = evaluation.prior
    if evaluation.is_labelled:
        return ""
    if prior.low == prior.high:
        return " (at the given prior)"
    _, low, high = fitting(prior.low, prior.low, prior.high)
    return f" (the largest p-value for priors from {low} to {high})"


def _calibration_rows(evaluation: Evaluation) -> Iterator[tuple[Cell, ...]]:
    held = evaluation.occupied_bins
    bins = f"{evaluation.bins} bins of equal mass"
    if held != evaluation.bins:
        bins += f", {held} of which hold rows"
    named = {
        RECOMMENDED: f"Debiased error (best guess), {bins}",
        "ece": f"Plain error, {bins}",
        "ece_width_15": "Plain error, 15 bins of equal width",
        "ece_mass_15": "Plain error, 15 bins of equal mass",
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
        f"The method chosen by held-out likelihood is {found.chosen}. On rows used neither to "
        f"choose nor to fit ({found.folds} folds), the calibration error goes from {before:.3f} "
        f"to {after:.3f}, and "
        f"the Brier score changes by {change.value:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"
    )
    text += (
        ", an improvement beyond chance."
        if change.high < 0.0
        else ", which may be chance: recalibration is not needed for certain."
    )
    prior = (
        ""
        if evaluation.is_labelled
        else "All of it at the given prior; another prior needs another calibrator. "
    )
    use = f"{prior}Apply the calibrator with noneg.recalibration.load(text).transform(scores)."
    rows = tuple(
        (METRICS[name].title, Number(one), Number(other))
        for name, (one, other) in found.errors.items()
    )
    caption = "Before and after, on rows used neither to choose nor to fit the map"
    yield Section(
        name="recalibration",
        title="Can they be repaired?",
        sentences=tuple(Sentence(text=one) for one in (text, *found.warnings, use)),
        charts=("recalibration",),
        tables=(
            Table(caption=caption, header=("", "before", "after"), rows=rows),
            *_mapped(found, evaluation.level),
        ),
        code=found.calibrator.to_json(),
    )


def _mapped(found: HeldOut, level: float) -> Iterator[Table]:
    """Yield what some scores become, with the band of the calibrator, if it has one."""
    if not found.mapped:
        return
    ends = f"{100 * level:.6g} % band"
    rows = tuple(
        (f"{s:g}", Number(one.value), Number(one.low), Number(one.high))
        for s, one in found.mapped.items()
    )
    header = ("score", "calibrated probability", f"{ends}, from", "to")
    yield Table(caption=f"Scores after {found.chosen}", header=header, rows=rows)


def prior_section(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the error over the prior; nothing for labelled data."""
    if evaluation.is_labelled:
        return
    curve, prior = evaluation.prior_curve, evaluation.prior.value
    text = (
        f"The calibration error over the same {evaluation.bins} bins if the prior were another. A "
        "prior that is wrong by some amount moves the error by at most as much. The error is "
        f"smallest at a prior of {curve.best:.3f}, which says what the scores expect, not what is "
        "true."
    )
    fits = f"Priors up to {evaluation.sums.largest_prior:.3f} are compatible with the scores."
    least = evaluation.sums.least_prior
    grid = sorted({*(round(x / 10, 1) for x in range(1, 10) if x / 10 > least), round(prior, 6)})
    rows = tuple((Number(x, 3), Number(float(curve(x)))) for x in grid)
    header = ("prior", "calibration error")
    table = Table(caption="Error over the prior", header=header, rows=rows, folded=True)
    yield Section(
        name="prior",
        title="And if the prior were another?",
        sentences=(Sentence(text=text), Sentence(text=fits)),
        charts=("prior_curve",),
        tables=(table,),
    )


def theory_section(evaluation: Evaluation) -> Section:
    """Return what theory promises, and how many more positives would help."""
    sentences = [
        Sentence(
            text=f"{evaluation.bins} bins of equal mass balance the error of coarse bins against "
            "the noise of fine ones for samples of this size."
        )
    ]
    if evaluation.bounds:
        expected, probable = (evaluation.bounds[key].value for key in ("expected", "probable"))
        text = words.bound_sentence(expected, probable, evaluation.level, evaluation.bins)
        sentences.append(Sentence(text=text, key="bound"))
    if not evaluation.is_labelled and math.isfinite(evaluation.n_positive):
        floor = evaluation.sums.noise_floor * evaluation.prior.value
        text = say("floor", n_positive=evaluation.sums.effective_positive, floor=floor)
        sentences.append(Sentence(text=text, key="floor"))
        needed = words.positives_needed(evaluation)
        text = words.plan_sentence(needed, evaluation.n_positive, words.EPS)
        sentences.append(Sentence(text=text, key="plan"))
    return Section(
        name="theory", title="How sure can these rows make us?", sentences=tuple(sentences)
    )


def computed_section(evaluation: Evaluation, about: About) -> Section:
    """Return settings, files, versions and the command."""
    settings = (
        ("Setting", evaluation.setting),
        ("Prior", f"{evaluation.prior.value!r} ({evaluation.prior.method})"),
        ("Level of intervals", f"{100 * evaluation.level:.6g} %"),
        ("Interval of the calibration error", evaluation.ece.method),
        ("Reliability intervals", f"{evaluation.reliability.band}"),
    )
    held = (
        "The page moves in your browser, from sums inside this file; nothing is sent anywhere. "
        "Bins stay those of the given prior, so each number equals what noneg gives for these bins "
        "at the prior of the slider. Numbers in grey are only known at the given prior."
    )
    sentences = () if evaluation.is_labelled else (Sentence(text=held),)
    table = Table(caption="Settings", header=("", ""), rows=(*settings, *about.rows()))
    return Section(
        name="computed",
        title="How was this computed?",
        sentences=sentences,
        tables=(table,),
        code=about.command,
    )


def glossary_section() -> Section:
    """Return a sentence and a citation for each term."""
    terms = tuple(map(tuple, json.loads(asset("glossary.json"))))
    table = Table(caption="Terms", header=("term", "meaning", "read more"), rows=terms)
    return Section(name="glossary", title="Glossary", tables=(table,))


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
    """Return the section that sets estimates beside what all labels give.

    Parameters
    ----------
    evaluation : Evaluation
        From positives and unlabeled rows.
    truth : Evaluation
        Of the same rows with all their labels.
    """
    rows = list(_rows(evaluation, truth))
    inside = sum(row[-1] == "yes" for row in rows)
    level = f"{100 * evaluation.level:.6g}"
    text = (
        "Here the hidden labels are known. The estimates above did not use them; this is what they "
        f"would have been with every label. {inside} of {len(rows)} intervals contain it."
    )
    header = ("", "positives and unlabeled", f"{level} % interval", "all labels", "inside")
    return Section(
        name="truth",
        title="The truth, revealed",
        sentences=(Sentence(text=text),),
        charts=("truth",),
        tables=(Table(caption="Estimate and truth", header=header, rows=tuple(rows)),),
    )


def _rows(evaluation: Evaluation, truth: Evaluation) -> Iterator[tuple[Cell, ...]]:
    for name in SHOWN:
        one, other = evaluation.metrics.get(name), truth.metrics.get(name)
        if one is None or other is None or not math.isfinite(one.value):
            continue
        inside = "yes" if one.low <= other.value <= one.high else "no"
        value = Number(one.value, 3), Range(one.low, one.high, 3), Number(other.value, 3)
        yield METRICS[name].title, *value, inside


# What a terminal shows of a report.
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
    return replace(whole, sections=kept)
