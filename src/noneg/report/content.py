"""`Evaluation` -> `Document`: what every form of the report says, section by section."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noneg.metrics import METRICS, RECOMMENDED
from noneg.report import words
from noneg.report.about import About
from noneg.report.background import (
    computed_section,
    glossary_section,
    prior_section,
    theory_section,
)
from noneg.report.datasets import curves, distribution
from noneg.report.document import Document, Number, Range, Section, Sentence, Table
from noneg.report.truth import truth_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noneg.evaluation import Evaluation
    from noneg.report.datasets import Rows
    from noneg.report.document import Cell
    from noneg.results import Estimate

# Metrics that the page recomputes; the others are only known at the given prior.
MOVING = frozenset(
    {
        "ece",
        "debiased_ece",
        "ece_width_15",
        "ece_mass_15",
        "ks_error",
        "brier",
        "log_loss",
        "risk",
        "auroc",
        "average_precision",
        "accuracy",
        "balanced_accuracy",
        "precision",
        "recall",
        "specificity",
        "false_positive_rate",
        "npv",
        "f_beta",
        "mcc",
        "cohen_kappa",
        "precision_at",
        "proxy_accuracy",
    }
)
# Metrics whose value moves while their interval stays that of the given prior.
VALUE_ONLY = frozenset({"ks_error", "average_precision"})
# Metrics in which the prior does not enter.
FREE = frozenset(name for name, metric in METRICS.items() if not metric.needs_prior)
SHOWN_THRESHOLDS = tuple(k / 10 for k in range(1, 10))


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
        subtitle=sample(evaluation),
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
            *prior_section(evaluation),
            theory_section(evaluation),
            *([] if truth is None else [truth_section(evaluation, truth)]),
            computed_section(evaluation, about),
            glossary_section(),
        ),
    )


def sample(evaluation: Evaluation) -> str:
    """Say what the rows are."""
    prior = f"prior {evaluation.prior.value:.6g}"
    if evaluation.prior.low < evaluation.prior.high and evaluation.setting != "labelled":
        prior += f" in [{evaluation.prior.low:.6g}, {evaluation.prior.high:.6g}]"
    if evaluation.setting == "labelled":
        rows = _count(evaluation.n_marginal, "labelled row")
        return f"{rows}, {_number(evaluation.n_positive)} positive; {prior}"
    positive = _count(evaluation.n_positive, "labelled positive")
    rows = _count(evaluation.n_unlabeled, "unlabeled row")
    return f"{positive} and {rows}; {evaluation.setting}; {prior}"


def _number(n: float) -> str:
    return "infinitely many" if math.isinf(n) else f"{n:,.0f}"


def _count(n: float, what: str) -> str:
    return f"{_number(n)} {what}{'s' * (n != 1)}"


def headline(evaluation: Evaluation) -> Estimate:
    """Return the calibration error of the verdict."""
    return evaluation.headline or evaluation.ece


def _verdict(evaluation: Evaluation) -> tuple[Sentence, ...]:
    error = headline(evaluation)
    contradicted = any(
        check.name == "prior" and check.verdict == "contradicted"
        for check in evaluation.assumptions
    )
    diagram = words.points(evaluation)
    prior = evaluation.prior.value
    title = words.verdict_title(
        error,
        diagram,
        prior=prior,
        contradicted=contradicted,
        rejected=evaluation.rejected,
        at_prior=evaluation.at_prior,
    )
    where = words.verdict_where(diagram)
    return (
        Sentence(text=title, key="verdict_title"),
        Sentence(text=where, key="verdict_where"),
        Sentence(text=words.verdict_error(error, prior), key="verdict_error"),
    )


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
            yield (title, *_estimate(name, found, digits=digits))


def _estimate(name: str, found: Estimate, *, digits: int = 4) -> tuple[Number, Range]:
    key = name if name in MOVING else ""
    return (
        Number(found.value, digits, f"{key}.value" if key else ""),
        Range(found.low, found.high, digits, "" if name in VALUE_ONLY else key),
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
    rows_name = "unlabeled rows" if evaluation.setting == "two-sample" else "all rows"
    text = f"Where the scores of positives and of {rows_name} lie"
    text += (
        ", and where those of the negatives do."
        if evaluation.setting == "labelled"
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
    return [row for row in curves(evaluation) if row["threshold"] in SHOWN_THRESHOLDS]


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
    where = "" if evaluation.setting == "labelled" else " (at the given prior)"
    test = f"Test of perfect calibration: p = {p_value:.3f}, {evidence} against it{where}."
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
    for name, title in named.items():
        found = evaluation.metrics.get(name) or getattr(evaluation, name, None)
        yield _metric(name, title, found)
    yield from _family(evaluation, "calibration error", leave_out=named)


def _family(
    evaluation: Evaluation, family: str, leave_out: Iterable[str] = ()
) -> Iterator[tuple[Cell, ...]]:
    for name, metric in METRICS.items():
        if metric.family == family and name not in leave_out:
            yield _metric(name, metric.title, evaluation.metrics.get(name))


def _metric(name: str, title: str, found: Estimate | None) -> tuple[Cell, ...]:
    if found is None:
        return title, Number(None), "not from these rows"
    return (title, *_estimate(name, found))


def _recalibration(evaluation: Evaluation) -> Iterator[Section]:
    found = evaluation.recalibration
    if found is None:
        return
    before, after = found.errors[RECOMMENDED]
    change = found.change["brier"]
    text = (
        f"The method chosen by held-out loss is {found.chosen}. On rows used neither to choose nor "
        f"to fit ({found.folds} folds), the calibration error goes from {before:.3f} to "
        f"{after:.3f}, and "
        f"the Brier score changes by {change.value:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"
    )
    text += (
        ", an improvement beyond chance."
        if change.high < 0.0
        else ", which may be chance: recalibration is not needed for certain."
    )
    prior = (
        ""
        if evaluation.setting == "labelled"
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
        tables=(Table(caption=caption, header=("", "before", "after"), rows=rows),),
        code=found.calibrator.to_json(),
    )
